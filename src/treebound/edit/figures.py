"""What a tree is worth: its figures while it is edited."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from treebound.data import Sample
from treebound.model import Model

__all__ = ["Figures", "as_frame", "figures_of"]


@dataclass(frozen=True)
class Figures:
    """The figures of a tree.

    Attributes
    ----------
    leaves : int
        Number of leaves.
    training_error : float
        Share of the training weight that is misclassified.
    test_error : float or None
        Share of the test rows that are misclassified; None without test rows.
    certificate : float or None
        The limit on the risk; None if there is none, or not before the edits end.
    """

    leaves: int
    training_error: float
    test_error: float | None
    certificate: float | None

    def beside(self, before: Figures) -> str:
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
        lines = [f"leaves          {before.leaves:,} -> {self.leaves:,}"]
        for name, was, now in (
            ("training error", before.training_error, self.training_error),
            ("test error", before.test_error, self.test_error),
            ("certificate", before.certificate, self.certificate),
        ):
            if was is not None or now is not None:
                lines.append(f"{name:<15} {_percent(was)} -> {_percent(now)}")
        return "\n".join(lines)


def _percent(share: float | None) -> str:
    return "none" if share is None else f"{100 * share:.1f} %"


def figures_of(model: Model, test: Sample | None) -> Figures:
    """The figures of a model that is being edited."""
    tree = model.tree
    wrong = None
    if test is not None:
        wrong = float((tree.label[model.apply(test.X)] != test.y).mean())
    limit = None if model.certificate is None else model.certificate.risk
    return Figures(tree.n_leaves, tree.errors / float(tree.weight[0]), wrong, limit)


def as_frame(rows: list[dict[str, Any]], columns: Sequence[str]) -> Any:
    """A pandas frame of these columns if pandas is installed, else the list."""
    try:
        import pandas
    except ModuleNotFoundError:
        return rows
    return pandas.DataFrame(rows, columns=list(columns))
