"""Regions in which the values of two regression trees differ, with errors and a test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from treebound._utils.arrays import Floats
from treebound._utils.quantities import quantity
from treebound.data.sample import same_length
from treebound.model import RegressionModel
from treebound.show.as_rules import to_rules
from treebound.show.compared import ComparedTrees
from treebound.show.words import counted, p_value_in_words


@dataclass(frozen=True)
class NumberDisagreement:
    """A region in which the values of two regression trees differ.

    Attributes
    ----------
    rule : str
        The conditions, in the words of :class:`treebound.show.Rules`.
    a, b : float
        The values of the two trees.
    rows : int
        Number of rows in the region.
    mae_a, mae_b : float
        Mean absolute error of each tree in the region.
    """

    rule: str
    a: float
    b: float
    rows: int
    mae_a: float
    mae_b: float

    def __str__(self) -> str:
        return (
            f"if {self.rule}: a {quantity(self.a)}, b {quantity(self.b)}  # "
            f"{counted(self.rows, 'row')}, mean absolute errors {quantity(self.mae_a)} and "
            f"{quantity(self.mae_b)}"
        )


@dataclass(frozen=True)
class NumberComparison(ComparedTrees[NumberDisagreement]):
    """Two regression trees on the same rows; made by :func:`treebound.compare`.

    Attributes
    ----------
    a, b : RegressionModel
        The models.
    rows : int
        Number of rows.
    rmse_a, rmse_b : float
        Root mean squared error of each tree.
    mae_a, mae_b : float
        Mean absolute error of each tree.
    difference : float
        Mean absolute difference of the two predictions.
    p_value : float
        Wilcoxon's signed-rank test of the absolute errors: how probable so uneven errors are if
        the trees are equally good on new rows; 1 if all errors are equal.
    regions : tuple of NumberDisagreement
        The regions whose values differ, those with the largest total difference first.
    """

    a: RegressionModel
    b: RegressionModel
    rows: int
    rmse_a: float
    rmse_b: float
    mae_a: float
    mae_b: float
    difference: float
    p_value: float
    regions: tuple[NumberDisagreement, ...]
    _region: ClassVar[type[NumberDisagreement]] = NumberDisagreement

    def __str__(self) -> str:
        lines = [
            f"The values differ for {self.differing:,} of {counted(self.rows, 'row')}, by "
            f"{quantity(self.difference)} on average.",
            f"a: {counted(self.a.tree.n_leaves, 'leaf')}, RMSE {quantity(self.rmse_a)}, mean "
            f"absolute error {quantity(self.mae_a)}; b: {counted(self.b.tree.n_leaves, 'leaf')}, "
            f"RMSE {quantity(self.rmse_b)}, mean absolute error {quantity(self.mae_b)}.",
            "Wilcoxon's signed-rank test of the absolute errors: "
            f"{p_value_in_words(self.p_value)}.",
        ]
        return self._with_regions(lines)

    __repr__ = __str__


def compare_numbers(
    a: tuple[RegressionModel, Any], b: tuple[RegressionModel, Any], y: Any
) -> NumberComparison:
    """Compare two regression trees on the same rows, as each of them reads them."""
    truth = np.asarray(y, dtype=np.float64).ravel()
    if not len(truth):
        raise ValueError("compare needs at least 1 row. Got 0 instead.")
    if not np.isfinite(truth).all():
        raise ValueError(
            "The 'y' parameter of compare must be finite numbers for regression trees."
        )
    ends = []
    models = (a[0], b[0])
    for model, X in (a, b):
        reached = model.apply(X)
        same_length(len(reached), len(truth))
        ends.append(reached)
    values = [model.tree.value[reached] for model, reached in zip(models, ends, strict=True)]
    errors = [np.abs(value - truth) for value in values]
    return NumberComparison(
        *models,
        rows=len(truth),
        rmse_a=float(np.sqrt((errors[0] ** 2).mean())),
        rmse_b=float(np.sqrt((errors[1] ** 2).mean())),
        mae_a=float(errors[0].mean()),
        mae_b=float(errors[1].mean()),
        difference=float(np.abs(values[0] - values[1]).mean()),
        p_value=_wilcoxon(errors[0] - errors[1]),
        regions=_regions(*models, ends, values, errors),
    )


def _wilcoxon(differences: Floats) -> float:
    from scipy.stats import wilcoxon

    return float(wilcoxon(differences).pvalue) if (differences != 0.0).any() else 1.0


def _regions(
    a: RegressionModel,
    b: RegressionModel,
    ends: list[NDArray[np.int32]],
    values: list[Floats],
    errors: list[Floats],
) -> tuple[NumberDisagreement, ...]:
    """The pairs of ends with different values."""
    from treebound.show.compare import joined

    rules = [{rule.node: rule.regions for rule in to_rules(model)} for model in (a, b)]
    pairs, inverse = np.unique(np.stack(ends, axis=1), axis=0, return_inverse=True)
    regions = []
    for at, (end_a, end_b) in enumerate(pairs.tolist()):
        inside = np.flatnonzero(inverse.ravel() == at)
        value_a, value_b = (float(value[inside[0]]) for value in values)
        if value_a != value_b:
            means = (float(error[inside].mean()) for error in errors)
            rule = joined(rules[0][end_a], rules[1][end_b])
            regions.append(NumberDisagreement(rule, value_a, value_b, len(inside), *means))
    return tuple(sorted(regions, key=lambda region: -region.rows * abs(region.a - region.b)))
