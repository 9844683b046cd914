"""Several good trees to choose from, and the best tree without a column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from treebound._utils.validation import Constraint, Number, Whole, check, invalid
from treebound.certificate.certificate import bound_percent
from treebound.certificate.held_out import HeldOut
from treebound.data import Matrix, Sample
from treebound.data.draws import folds
from treebound.data.sample import LabelledRows
from treebound.edit.classes import ClassKind
from treebound.edit.rows import EditedRows, read_rows
from treebound.estimators.fitting import fit_sample
from treebound.growing.graph import search
from treebound.model import Model
from treebound.model.model import row_counts
from treebound.model.parameters import FitParameters, checked_parameters, leaf_limit
from treebound.pruning import BoundPruner
from treebound.pruning.alternatives import columns_of, differing_trees
from treebound.pruning.bound import is_large
from treebound.pruning.costs import Costs
from treebound.pruning.scores import objective_of
from treebound.pruning.searched import BestOfGraph
from treebound.show.report_words import mean_cost
from treebound.tree.model import Tree

# Folds that estimate the difference that a column makes.
_FOLDS = 5


@dataclass(frozen=True)
class Difference:
    """The estimated difference in error, or with costs in mean cost, without a column.

    Attributes
    ----------
    column : str
        The column that the second tree does not use.
    difference : float
        Error without the column minus error with it, as a share of rows, on folds that were not
        used for fitting. If the tree was fitted with costs: the same of the mean cost per row.
    standard_error : float
        The standard error of the difference over the folds.
    of_cost : bool
        Whether it is a difference in mean cost.
    """

    column: str
    difference: float
    standard_error: float
    of_cost: bool = False

    def __str__(self) -> str:
        if self.of_cost:
            difference, error = self.difference, self.standard_error
            return f"without {self.column}: {difference:+.3g} ± {error:.2g} of mean cost"
        points, error = 100 * self.difference, 100 * self.standard_error
        return f"without {self.column}: {points:+.1f} ± {error:.1f} points of error"


@dataclass(frozen=True, eq=False)
class Alternatives(Sequence[Model]):
    """Trees to choose from; made by :meth:`treebound.BoundTreeClassifier.alternatives`.

    A sequence of :class:`~treebound.model.Model`, the fitted tree first, then the others by their
    score. The certificates hold for all of them at once, however one of them is chosen.

    Attributes
    ----------
    models : tuple of Model
        The models.
    disagreement : tuple of float
        Share of the training rows for which each model and the fitted one, which is the first,
        predict other classes.
    effect : Difference or None
        The estimated effect of the column that ``without=`` names.
    """

    models: tuple[Model, ...]
    disagreement: tuple[float, ...]
    effect: Difference | None = None

    @overload
    def __getitem__(self, at: int) -> Model: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Model, ...]: ...
    def __getitem__(self, at: int | slice) -> Model | tuple[Model, ...]:
        return self.models[at]

    def __len__(self) -> int:
        return len(self.models)

    def __iter__(self) -> Iterator[Model]:
        return iter(self.models)

    def table(self) -> list[dict[str, Any]]:
        """One row per tree.

        Returns
        -------
        list of dict
            For each tree: columns (the names of those that it splits on), leaves, training_error,
            mean_cost (of the training rows; only with costs), certified_error (None without a
            certificate) and disagreement with the fitted tree, which is the first, as shares of
            rows.
        """
        rows = []
        for model, share in zip(self.models, self.disagreement, strict=True):
            tree = model.tree
            used = [tree.columns[at].name for at in sorted(columns_of(tree))]
            certificate, cost = model.certificate, mean_cost(model)
            rows.append({
                "columns": used,
                "leaves": tree.n_leaves,
                "training_error": float(tree.errors) / float(tree.weight[0]),
                **({} if cost is None else {"mean_cost": cost.cost}),
                "certified_error": None if certificate is None else certificate.risk,
                "disagreement": share,
            })  # fmt: skip
        return rows

    def __str__(self) -> str:
        rows = self.table()
        heading = "  mean cost" if "mean_cost" in rows[0] else ""
        lines = [f"     leaves{heading}  training error  certified error  disagreement  columns"]
        for number, row in enumerate(rows):
            certified, columns = row["certified_error"], ", ".join(row["columns"]) or "none"
            bound = "none" if certified is None else bound_percent(certified)
            cost = f"  {row['mean_cost']:9.4g}" if heading else ""
            lines.append(
                f"[{number}]  {row['leaves']:6d}{cost}  {100 * row['training_error']:12.1f} %  "
                f"{bound:>15}  {100 * row['disagreement']:10.1f} %  {columns}"
            )
        lines.append("[0] is the fitted tree, and 'disagreement' that with its predictions.")
        return "\n".join([*lines, *([] if self.effect is None else [str(self.effect)])])

    __repr__ = __str__


def find_alternatives(
    parameters: FitParameters,
    model: Model,
    fitted_on: LabelledRows,
    *,
    k: int,
    within: float = 0.01,
    without: str | None,
) -> Alternatives:
    """Return good trees that differ; see ``BoundTreeClassifier.alternatives``."""
    limits: dict[str, Constraint] = {"k": Whole(1), "within": Number(0.0)}
    check("alternatives", {"k": k, "within": within}, limits)
    pruner, options = checked_parameters(parameters)
    if not isinstance(pruner, BoundPruner) or not pruner.searches:
        must = "the bound pruner with its code length for alternatives"
        raise invalid("pruning", "", must, parameters.pruning)
    if model.evidence.proof is not None:
        must = "'training', 'held-out' or 'folds' for alternatives"
        raise invalid("certificate", "", must, parameters.certificate)
    rows = read_rows(ClassKind(model), fitted_on)
    sample = rows.sample.without_identifiers()
    if is_large(sample.n_rows, len(sample.columns)):
        raise ValueError(
            "alternatives searches tables of at most 10^7 values in memory. "
            f"Got {sample.n_rows * len(sample.columns):,} instead."
        )
    choice = None if model.pruning is None else model.pruning.choice
    if without is not None:
        if choice is not None:  # the weight of the fitted tree, which folds may have chosen
            pruner = copy(pruner).set_params(weight=choice.weight, rule=None)
        return _without(parameters, pruner, model, rows, sample, without)
    graph = search(sample, options)
    costs = Costs.of(graph.root, pruner.costs)
    weight = pruner.objective(graph.root).weight if choice is None else choice.weight
    objective = objective_of(graph.root, costs, weight=weight, delta=pruner.delta)
    trees = differing_trees(
        BestOfGraph(graph, costs),
        sample,
        objective,
        first=model.tree,
        k=k,
        within=within,
        max_leaves=leaf_limit(parameters),
    )
    return _of_trees(model, [candidate.tree for candidate in trees], rows, sample)


def _of_trees(
    model: Model, trees: Sequence[Tree], rows: EditedRows[Sample], sample: Sample
) -> Alternatives:
    """Trees as models, with certificates that hold for all of them at once."""
    calibration, models, labels = model.evidence.calibration, [], []
    for tree in trees:
        counts = row_counts(sample, tree)
        evidence = model.evidence.of_counts(counts, model.evidence.no_certificate)
        if calibration is not None and rows.calibration is not None:
            counted = HeldOut.of(rows.calibration, tree, tree)
            evidence = replace(
                evidence,
                calibration=replace(
                    counted,
                    folds=calibration.folds,
                    grouped=calibration.grouped,
                    alternatives=len(trees),
                ),
            )
        models.append(model.with_tree(tree, evidence=evidence, abstention=None))
        labels.append(tree.label[tree.apply(sample.X)])
    shares = tuple(float((label != labels[0]).mean()) for label in labels)
    return Alternatives(tuple(models), shares)


# -- without a column ------------------------------------------------------------------------------


def _without(
    parameters: FitParameters,
    pruner: BoundPruner,
    model: Model,
    rows: EditedRows[Sample],
    sample: Sample,
    name: str,
) -> Alternatives:
    """The fitted tree and the best one without a column, with the difference by folds."""
    names = [column.name for column in sample.columns]
    if name not in names:
        raise invalid("without", "alternatives", f"a column: one of {names!r:.200}", name)
    size = parameters.size if parameters.size == "readable" else None
    alone = copy(parameters).set_params(
        certificate="training", cv=None, search=model.search, size=size, pruning=pruner, costs=None
    )
    blank = _blanked(sample, names.index(name))
    tree = fit_sample(alone, blank).tree
    tree = replace(tree, columns=model.tree.columns)
    changes, sizes = [], []
    at, costs = names.index(name), replace(model, abstention=None).costs
    of_cost, costs = costs is not None, _zero_one(model) if costs is None else costs
    for outside, inside in folds(sample, _FOLDS, parameters.random_state):
        lost = [
            _losses(fit_sample(alone, grown).tree, validation, costs)
            for grown, validation in (
                (outside, inside),
                (_blanked(outside, at), _blanked(inside, at)),
            )
        ]
        sizes.append(float(inside.weights.sum()))
        changes.append(float(((lost[1] - lost[0]) * inside.weights).sum()))
    total = sum(sizes)
    share = np.array(changes) / np.array(sizes)
    error = float(share.std(ddof=1) / np.sqrt(len(share))) if len(share) > 1 else np.nan
    result = _of_trees(model, [model.tree, tree], rows, sample)
    return replace(result, effect=Difference(name, sum(changes) / total, error, of_cost))


def _zero_one(model: Model) -> NDArray[np.float64]:
    """Costs that count errors."""
    return 1.0 - np.eye(len(model.classes))


def _losses(tree: Tree, rows: Sample, costs: NDArray[np.float64]) -> NDArray[np.float64]:
    """The cost of the prediction for each row."""
    return np.asarray(costs[rows.y, tree.label[tree.apply(rows.X)]])


def _blanked(sample: Sample, column: int) -> Sample:
    """The sample with a column whose values are all missing, so that no tree splits on it."""
    matrix = sample.X
    values = list(matrix.values)
    real = matrix.columns[column].kind == "real"
    values[column] = np.full_like(values[column], np.nan if real else -1)
    columns = list(matrix.columns)
    columns[column] = columns[column].with_missing(True)
    return replace(
        sample,
        X=Matrix(tuple(columns), tuple(values), handle_unknown=matrix.handle_unknown),
    )
