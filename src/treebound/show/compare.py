"""Regions in which the predictions of two trees differ, with errors and a significance test."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from treebound._utils.extras import require
from treebound._utils.validation import invalid
from treebound.data.sample import same_length
from treebound.data.targets import learn_classes, read_classes
from treebound.model import Model, RegressionModel
from treebound.model.methods import as_any_model, as_model
from treebound.show.as_rules import Region, to_rules
from treebound.show.compare_numbers import compare_numbers
from treebound.show.compared import ComparedTrees
from treebound.show.figure import TreeDisplay
from treebound.show.subgroups import compare_subgroups
from treebound.show.words import counted, p_value_in_words
from treebound.tree.split import one_line, plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Disagreement:
    """A region in which the predictions of two trees differ.

    Attributes
    ----------
    rule : str
        The conditions, in the words of :class:`treebound.show.Rules`.
    a, b : object
        The predictions of the two trees.
    rows : int
        Number of rows in the region.
    errors_a, errors_b : int
        How many of them each tree misclassifies; none if it abstains there.
    """

    rule: str
    a: Any
    b: Any
    rows: int
    errors_a: int
    errors_b: int

    def __str__(self) -> str:
        return (
            f"if {self.rule}: a {one_line(self.a)}, b {one_line(self.b)}  "
            f"# {counted(self.rows, 'row')}, errors {self.errors_a:,} and {self.errors_b:,}"
        )


@dataclass(frozen=True)
class Comparison(ComparedTrees[Disagreement]):
    """Two trees on the same rows; made by :func:`treebound.compare`.

    Attributes
    ----------
    a, b : Model
        The models.
    rows : int
        Number of rows.
    errors_a, errors_b : int
        Number of rows that each tree misclassifies. An abstention is not an error.
    abstained_a, abstained_b : int
        Number of rows for which each tree abstains.
    only_a, only_b : int
        Number of rows that only one of the trees predicts correctly, of those for which neither
        abstains.
    p_value : float
        McNemar's exact test: how probable so uneven a pair ``only_a``, ``only_b`` is if the trees
        err equally often on new rows for which neither abstains.
    regions : tuple of Disagreement
        The regions with rows whose predictions differ, those with most rows first.
    seen : tuple of str
        The trees that were fitted on some of these rows: the test then does not apply to new rows.
    mean_costs : tuple of float, or None
        The mean cost of the predictions of a and b, if one was fitted with costs or both with the
        same.
    """

    a: Model
    b: Model
    rows: int
    errors_a: int
    errors_b: int
    only_a: int
    only_b: int
    p_value: float
    regions: tuple[Disagreement, ...]
    seen: tuple[str, ...] = ()
    mean_costs: tuple[float, float] | None = None
    abstained_a: int = 0
    abstained_b: int = 0
    _region: ClassVar[type[Disagreement]] = Disagreement

    def __str__(self) -> str:
        share = 100 * self.differing / self.rows
        abstained = self.a.abstention is not None or self.b.abstention is not None
        both = ", of the rows with two predictions" if abstained else ""
        lines = [
            f"The predictions differ for {self.differing:,} of {counted(self.rows, 'row')} "
            f"({share:.1f} %).",
            f"a: {self._tree_in_words('a')}; b: {self._tree_in_words('b')}.",
            f"Right in a alone: {self.only_a:,}, in b alone: {self.only_b:,}{both} "
            f"(McNemar's exact test: {p_value_in_words(self.p_value)}).",
        ]
        if self.mean_costs is not None:  # they matter more than the errors
            cost_a, cost_b = self.mean_costs
            lines.insert(1, f"Mean cost per row: {cost_a:.4g} of a, {cost_b:.4g} of b.")
        if self.seen:
            lines.append(
                f"Some of these rows were used for fitting {' and '.join(self.seen)}, so the test "
                "does not apply to new rows."
            )
        return self._with_regions(lines)

    __repr__ = __str__

    def _tree_in_words(self, name: str) -> str:
        """The leaves and errors of a tree, and the share of rows for which it abstains."""
        a = name == "a"
        model, errors = (self.a, self.errors_a) if a else (self.b, self.errors_b)
        words = f"{counted(model.tree.n_leaves, 'leaf')}, {counted(errors, 'error')}"
        if model.abstention is None:
            return words
        abstained = self.abstained_a if a else self.abstained_b
        predicted = self.rows - abstained
        rate = f" ({100 * errors / predicted:.1f} %)" if predicted else ""
        return (
            f"{words} in {counted(predicted, 'prediction')}{rate}, abstains on "
            f"{counted(abstained, 'row')} ({100 * abstained / self.rows:.1f} %)"
        )

    def plot(self) -> Figure:
        """Draw the two trees side by side."""
        pyplot = require("matplotlib.pyplot", extra="plot", why="Drawing a tree")
        leaves = [self.a.tree.n_leaves, self.b.tree.n_leaves]
        depth = max(self.a.tree.depth, self.b.tree.depth)
        size = (max(8.0, min(1.3 * sum(leaves), 40.0)), max(3.0, min(1.2 * (depth + 1), 20.0)))
        figure, axes = pyplot.subplots(1, 2, figsize=size, width_ratios=leaves)
        for name, model, ax in zip("ab", (self.a, self.b), axes, strict=True):
            unnamed = replace(model, reading=replace(model.reading, target=None))
            TreeDisplay.from_estimator(unnamed, ax=ax)
            errors = self.errors_a if name == "a" else self.errors_b
            ax.set_title(f"{name}: {counted(errors, 'error')} on {counted(self.rows, 'row')}")
        return figure  # type: ignore[no-any-return]


def compare(
    a: Any, b: Any, X: Any, y: Any = None, *, subgroups: Any = None, delta: float = 0.05
) -> Any:
    """Compare two trees: the rows whose predictions differ, and which tree is right.

    With ``compare(models, X, y, subgroups="sex")``, compare the error rates and selection rates of
    several models in subgroups instead. An abstention is counted as such, not as an error: the
    error rate of a model that abstains is that of its predictions.

    Parameters
    ----------
    a, b : BoundTreeClassifier, BoundTreeRegressor, model or tree
        The trees, both of classes or both of numbers; their columns may differ, each reads its own.
    X : table
        Rows with the columns that both trees split on.
    y : array-like of shape (n_rows,)
        The labels of the rows, classes of one of the trees; or the numbers.
    subgroups : str or array-like of shape (n_rows,), optional
        A column of the table, or the subgroup of each row. The rows should be test rows: no model
        was fitted on them.
    delta : float
        With subgroups: all intervals hold at once with probability ``1 - delta``. They are those of
        Clopper and Pearson, two-sided, at ``delta`` divided by their number.

    Returns
    -------
    Comparison, NumberComparison or SubgroupComparison
        ``print`` it; ``to_frame()`` gives the regions as a data frame, ``plot()`` draws both trees
        of classes.

    Raises
    ------
    ValueError
        If the trees have no class in common, one predicts classes and the other numbers, or there
        are no rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import treebound as tb
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = tb.BoundTreeClassifier(max_leaves=3).fit(X, y)
    >>> comparison = tb.compare(clf, clf.prune_to(2), X, y)
    >>> comparison.differing, comparison.only_a, comparison.only_b
    (46, 45, 1)
    >>> rates = tb.compare([clf, clf.prune_to(2)], X, y, subgroups=X[:, 0] > 5.8)
    >>> rate = rates.rates[0]
    >>> rate.subgroup, rate.count, f"{rate.low:.3f} to {rate.high:.3f}"
    ('False', 1, '0.000 to 0.104')
    """
    if subgroups is not None:
        return compare_subgroups(a, b, X, subgroups, delta)
    if y is None:
        raise invalid("y", "compare", "the labels of the rows", None)
    models = [as_any_model(source, "compare") for source in (a, b)]
    numbers = [model for model in models if isinstance(model, RegressionModel)]
    if len(numbers) == 2:
        return compare_numbers((numbers[0], X), (numbers[1], X), y)
    if numbers:
        raise ValueError(
            "compare needs two trees of classes or two regression trees. Got one of each."
        )
    return compare_read((as_model(a, "compare"), X), (as_model(b, "compare"), X), y)


def compare_read(a: tuple[Model, Any], b: tuple[Model, Any], y: Any) -> Comparison:
    """The same for two tables, the same rows as each of the models reads them."""
    models = [a[0], b[0]]
    labels = list(dict.fromkeys(label for model in models for label in model.classes.tolist()))
    if len(labels) == sum(len(model.classes) for model in models):
        raise ValueError(
            "The trees have no class in common: they predict "
            f"{models[0].classes.tolist()!r:.80} and {models[1].classes.tolist()!r:.80}."
        )
    codes = read_classes(y, np.array(labels, dtype=object))
    if not len(codes):
        raise ValueError("compare needs at least 1 row. Got 0 instead.")
    ends, predictions, predicted = [], [], []
    for model, X in (a, b):
        reached = model.apply(X)
        same_length(len(reached), len(codes))
        place = np.array([labels.index(label) for label in model.classes.tolist()])
        ends.append(reached)
        predictions.append(place[model.tree.label[reached]])
        abstains = None if model.abstention is None else labels.index(model.abstention.label)
        predicted.append(predictions[-1] != abstains)
    wrong = [label != codes for label in predictions]
    both = predicted[0] & predicted[1]
    only_a, only_b = (int((both & this & ~other).sum()) for this, other in (wrong[::-1], wrong))
    wrong = [errors & rows for errors, rows in zip(wrong, predicted, strict=True)]
    return Comparison(
        a[0],
        b[0],
        rows=len(codes),
        errors_a=int(wrong[0].sum()),
        errors_b=int(wrong[1].sum()),
        only_a=only_a,
        only_b=only_b,
        p_value=_mcnemar(only_a, only_b),
        regions=_regions(models, labels, ends, predictions, wrong),
        seen=tuple(
            name
            for name, (model, X) in zip("ab", (a, b), strict=True)
            if _was_fitted_on(model, X, y)
        ),
        mean_costs=_mean_costs(models, codes, predictions),
        abstained_a=int((~predicted[0]).sum()),
        abstained_b=int((~predicted[1]).sum()),
    )


def _mean_costs(
    models: Sequence[Model], codes: NDArray[Any], predictions: Sequence[NDArray[Any]]
) -> tuple[float, float] | None:
    """The mean costs of the predictions; None if the models have no costs, or differ in them."""
    a, b = models
    if a.abstention is not None or b.abstention is not None:  # an abstention has no cost
        return None
    matrix = b.costs if a.costs is None else a.costs
    differ = a.costs is not None and b.costs is not None and not np.array_equal(a.costs, b.costs)
    if matrix is None or differ or a.classes.tolist() != b.classes.tolist():
        return None
    cost_a, cost_b = (float(matrix[codes, predicted].mean()) for predicted in predictions)
    return cost_a, cost_b


def _regions(
    models: Sequence[Model],
    labels: Sequence[Any],
    ends: Sequence[NDArray[Any]],
    predictions: Sequence[NDArray[Any]],
    wrong: Sequence[NDArray[np.bool_]],
) -> tuple[Disagreement, ...]:
    """The pairs of ends with different predictions, those with most rows first."""
    rules = [{rule.node: rule.regions for rule in to_rules(model)} for model in models]
    pairs, inverse = np.unique(np.stack(ends, axis=1), axis=0, return_inverse=True)
    regions = []
    for at, (end_a, end_b) in enumerate(pairs.tolist()):
        inside = np.flatnonzero(inverse.ravel() == at)
        label_a, label_b = (plain(labels[codes[inside[0]]]) for codes in predictions)
        if label_a != label_b:
            counts = (int(errors[inside].sum()) for errors in wrong)
            rule = joined(rules[0][end_a], rules[1][end_b])
            regions.append(Disagreement(rule, label_a, label_b, len(inside), *counts))
    return tuple(sorted(regions, key=lambda region: -region.rows))


def _mcnemar(only_a: int, only_b: int) -> float:
    """McNemar's exact test: two-sided, of a fair coin."""
    from scipy.stats import binomtest

    total = only_a + only_b
    return float(binomtest(only_a, total, 0.5).pvalue) if total else 1.0


def _was_fitted_on(model: Model, X: Any, y: Any) -> bool:
    """Return True if rows were used for fitting a model, by its record of rows."""
    record, classes = model.provenance.row_record, {*model.classes.tolist()}
    if record is None or not {*learn_classes(y)[0].tolist()} <= classes:
        return False
    return bool(record.compare(model.hashes(X, y), len(y)).used)


def joined(first: Iterable[Region], second: Iterable[Region]) -> str:
    """The conditions of two rules at once; regions of the same column are intersected."""
    regions = {region.column.name: region for region in first}
    both = []
    for region in second:
        first_region, kind = regions.get(region.column.name), region.column.kind
        if first_region is None:
            regions[region.column.name] = region
        elif (first_region.column.kind, first_region.column.categories) == (
            kind,
            region.column.categories,
        ):
            regions[region.column.name] = _intersection(first_region, region)
        else:  # the trees know other categories
            both.append(str(region))
    return " and ".join([*map(str, regions.values()), *both]) or "true"


def _intersection(region: Region, other: Region) -> Region:
    return replace(
        region,
        low=max(region.low, other.low),
        high=min(region.high, other.high),
        codes=region.codes & other.codes,
        missing=region.missing and other.missing,
        unknown=region.unknown and other.unknown,
        names_missing=region.names_missing or other.names_missing,
    )
