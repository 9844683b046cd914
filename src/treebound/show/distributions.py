"""Histograms, by class, of the column that each node splits on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound.data import Sample
from treebound.data.number_sample import NumberSample
from treebound.data.raw import MISSING
from treebound.show.words import number
from treebound.tree import Tree
from treebound.tree.regression import RegressionTree
from treebound.tree.split import Split, one_line

Counted = Callable[[NDArray[Any], int], NDArray[np.float64]]

_BINS = 16
_MAX_CATEGORIES = 8


@dataclass(frozen=True)
class Distribution:
    """A small histogram."""

    counts: NDArray[np.float64]  # weight of each class in each bar
    cut: int | None  # bars that go left, the first ones; None if the split is outside
    left: tuple[bool, ...]  # which bars go left, for categories
    ends: tuple[str, ...]  # the smallest and largest value, or the name of each category
    edges: tuple[float, ...] = ()  # the ends of the bars of a real column


@dataclass(frozen=True)
class Boxplot:
    """The numbers of a leaf: quartiles, and the outermost values within 1.5 box lengths of them."""

    values: tuple[float, float, float, float, float]  # whisker, quartile, median, quartile, whisker
    ends: tuple[float, float]  # of the common axis of all leaves


def boxplots(tree: RegressionTree, sample: NumberSample) -> dict[int, Boxplot]:
    """The boxplot of each leaf that rows of a sample reach, on a common axis."""
    reached = tree.apply(sample.X)
    drawn = {}
    for leaf in np.unique(reached).tolist():
        numbers = sample.y[reached == leaf]
        low, median, high = np.quantile(numbers, (0.25, 0.5, 0.75)).tolist()
        reach = 1.5 * (high - low)
        inside = numbers[(numbers >= low - reach) & (numbers <= high + reach)]
        drawn[leaf] = (float(inside.min()), low, median, high, float(inside.max()))
    ends = min(box[0] for box in drawn.values()), max(box[4] for box in drawn.values())
    return {leaf: Boxplot(box, ends) for leaf, box in drawn.items()}


def distributions(
    tree: Tree, splits: list[Split | None], sample: Sample
) -> dict[int, Distribution]:
    """The histogram of each inner node that rows of a sample reach."""
    reached = tree.apply(sample.X)
    order = np.argsort(reached, kind="stable")
    at = reached[order]
    histograms = {}
    for node, split in enumerate(splits):
        if split is None:
            continue
        # the subtree of a node is a run of nodes in pre-order
        first, last = np.searchsorted(at, [node, node + int(tree.size[node])])
        rows = order[first:last]
        if len(rows):
            values, weights = sample.X.values[split.feature][rows], sample.weights[rows]
            drawn = histogram(split, values, sample.y[rows], weights, tree.n_classes)
            if drawn is not None:
                histograms[node] = drawn
    return histograms


def histogram(
    split: Split,
    values: NDArray[Any],
    labels: NDArray[np.int32],
    weights: NDArray[np.float64],
    classes: int,
) -> Distribution | None:
    """The histogram of values by class, divided by a split; None if there are none."""
    # unknown categories have no bar
    drawn = ~np.isnan(values) if split.is_real else values >= MISSING
    values, labels, weights = values[drawn], labels[drawn], weights[drawn]
    if not len(values):
        return None

    def counted(bars: NDArray[Any], size: int) -> NDArray[np.float64]:
        cells = bars.astype(np.int32) * np.int32(classes) + labels
        counts = np.bincount(cells, weights, minlength=size * classes)
        return counts.astype(np.float64).reshape(size, classes)

    return (_numbers if split.is_real else _categories)(split, values, counted)


def _numbers(split: Split, values: NDArray[Any], counted: Counted) -> Distribution:
    """Bins from the smallest to the largest value; the threshold is a bin edge."""
    numbers = values.astype(np.float64)
    low, high = float(numbers.min()), float(numbers.max())
    cut = None
    edges = np.linspace(low, high, _BINS + 1 if low < high else 2)
    if split.kind == "threshold" and low <= split.threshold < high:
        share = (split.threshold - low) / (high - low)
        cut = min(max(round(_BINS * share), 1), _BINS - 1)
        below = np.linspace(low, split.threshold, cut + 1)
        edges = np.concatenate([below, np.linspace(split.threshold, high, _BINS - cut + 1)[1:]])
    # bins include their upper edge, as values at the threshold go left
    counts = counted(np.searchsorted(edges[1:-1], numbers), len(edges) - 1)
    return Distribution(counts, cut, (), (_short(low), _short(high)), tuple(edges.tolist()))


def _categories(split: Split, values: NDArray[Any], counted: Counted) -> Distribution | None:
    """A bar for each category: ordinal ones in order, others with the left ones first."""
    column = split.column
    size = len(column.categories or ())
    counts = counted(np.where(values < 0, size, values), size + 1)  # the last is of missing values
    total = counts.sum(axis=1)
    left = np.zeros(size + 1, dtype=bool)
    left[list(split.codes)] = True
    left[size] = split.missing_left
    shown = np.flatnonzero(total > 0)
    if column.kind == "nominal":
        shown = shown[np.lexsort((-total[shown], ~left[shown]))][:_MAX_CATEGORIES]
    if not len(shown):
        return None
    names = [*map(one_line, column.categories or ()), "missing"]
    bars = tuple(left[shown].tolist())
    return Distribution(counts[shown], None, bars, tuple(names[code] for code in shown))


def _short(value: float) -> str:
    return number(float(f"{value:.4g}"))
