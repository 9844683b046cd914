"""Figures of a tree while it is edited: leaves, errors, cost, certificate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from treebound.data import Sample
from treebound.edit.nodes import DefaultLabels, majority
from treebound.model import Model
from treebound.pruning.costs import Costs, probable_labels


@dataclass(frozen=True)
class Figures:
    """The figures of a tree.

    Those of the tree as it is now are in :attr:`Editor.figures`.

    Attributes
    ----------
    leaves : int
        Number of leaves.
    training_error : float
        Share of the training weight that is misclassified.
    test_error : float or None
        Share of the test rows that are misclassified; None without test rows.
    cost : float or None
        Cost of the errors on the training rows, as a share of the cost of the worst predictions;
        None without costs or class weights.
    certificate : float or None
        The certified error; None if there is none, or not before the edits end.
    """

    leaves: int
    training_error: float
    test_error: float | None
    cost: float | None
    certificate: float | None

    def lines(self, before: Figures) -> list[tuple[str, str, str]]:
        """Name, value before and value now of each figure, in words.

        Parameters
        ----------
        before : Figures
            Those of another tree.

        Returns
        -------
        list of (str, str, str)
            Without those that neither tree has.
        """
        shares = (
            ("training error", before.training_error, self.training_error),
            ("test error", before.test_error, self.test_error),
            ("cost", before.cost, self.cost),
            ("certificate", before.certificate, self.certificate),
        )
        return [
            ("leaves", f"{before.leaves:,}", f"{self.leaves:,}"),
            *(
                (name, _percent(was), _percent(now))
                for name, was, now in shares
                if was is not None or now is not None
            ),
        ]

    def compared_with(self, before: Figures) -> str:
        """The figures, each after its value before.

        Parameters
        ----------
        before : Figures
            Those of another tree.

        Returns
        -------
        str
            One line for each figure.
        """
        return "\n".join(f"{name:<15} {was} -> {now}" for name, was, now in self.lines(before))


def _percent(share: float | None) -> str:
    return "none" if share is None else f"{100 * share:.1f} %"


def figures_of(model: Model, test: Sample | None, costs: Costs | None) -> Figures:
    """The figures of a model that is being edited."""
    tree = model.tree
    wrong = None
    if test is not None:
        wrong = float((tree.label[model.apply(test.X)] != test.y).mean())
    limit = None if model.certificate is None else model.certificate.risk
    error = tree.errors / float(tree.weight[0])
    cost = None
    if costs is not None:
        worst = float(tree.counts[0] @ costs.worst)
        cost = float(costs.losses(tree)[tree.leaves].sum()) / worst if worst else 0.0
    return Figures(tree.n_leaves, error, wrong, cost, limit)


def costs_of(model: Model) -> Costs | None:
    """The costs of the pruner, or of class weights; None if all errors cost the same."""
    chosen = model.costs
    if chosen is None and model.tree.factors is None:
        return None
    return Costs.of(model.tree, chosen)


def as_frame(rows: list[dict[str, Any]], columns: Sequence[str]) -> Any:
    """A pandas frame of these columns if pandas is installed, else the list."""
    try:
        import pandas
    except ModuleNotFoundError:
        return rows
    return pandas.DataFrame(rows, columns=list(columns))


def default_labels(model: Model, costs: Costs | None) -> DefaultLabels:
    """Return the rule for labels that are not set by hand: least cost, most probable, majority."""
    strength = model.prediction.smoothing
    if model.prediction.free_shrinkage and isinstance(strength, float):
        return lambda tree: probable_labels(tree, strength, costs)
    if costs is not None and costs.chosen:
        return lambda tree: costs.labels(tree.counts)
    return majority
