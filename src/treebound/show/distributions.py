"""Histograms, by class, of the column that each node splits on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound.data import Sample
from treebound.data.raw import MISSING
from treebound.show.words import number, one_line
from treebound.tree import Tree
from treebound.tree.split import Split

__all__ = ["Distribution", "distributions", "histogram"]

_BINS = 16
_MOST_CATEGORIES = 8


@dataclass(frozen=True)
class Distribution:
    """A small histogram.

    Attributes
    ----------
    counts : ndarray of shape (n_bars, n_classes)
        Weight of each class in each bar.
    cut : int or None
        Number of bars that go left, the first ones; None if the split lies outside the values, or
        for categories.
    left : tuple of bool
        Which bars go left, for categories; empty for a real column.
    ends : tuple of str
        The smallest and largest value; for categories, the name of each bar.
    edges : tuple of float
        The ends of the bars of a real column, from the smallest value to the largest.
    """

    counts: NDArray[np.float64]
    cut: int | None
    left: tuple[bool, ...]
    ends: tuple[str, ...]
    edges: tuple[float, ...] = ()


def distributions(
    tree: Tree, splits: list[Split | None], sample: Sample
) -> dict[int, Distribution]:
    """The histogram of each inner node that rows of a sample reach."""
    reached = tree.apply(sample.X)
    order = np.argsort(reached, kind="stable")
    at = reached[order]
    found = {}
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
                found[node] = drawn
    return found


def histogram(
    split: Split,
    values: NDArray[Any],
    labels: NDArray[np.int32],
    weights: NDArray[np.float64],
    classes: int,
) -> Distribution | None:
    """The histogram of values by class, divided by a split; None if there are none."""
    draw = _numbers if split.is_real else _categories
    return draw(split, values, labels, weights, classes)


def _numbers(
    split: Split,
    values: NDArray[Any],
    labels: NDArray[np.int32],
    weights: NDArray[np.float64],
    classes: int,
) -> Distribution | None:
    """Bins from the smallest to the largest value; the threshold is a bin edge."""
    known = ~np.isnan(values)
    numbers = values[known].astype(np.float64)
    if not len(numbers):
        return None
    low, high = float(numbers.min()), float(numbers.max())
    cut = None
    edges = np.linspace(low, high, _BINS + 1 if low < high else 2)
    if split.kind == "threshold" and low <= split.threshold < high:
        share = (split.threshold - low) / (high - low)
        cut = min(max(round(_BINS * share), 1), _BINS - 1)
        below = np.linspace(low, split.threshold, cut + 1)
        edges = np.concatenate([below, np.linspace(split.threshold, high, _BINS - cut + 1)[1:]])
    # bins include their upper edge, as values at the threshold go left
    place = np.searchsorted(edges[1:-1], numbers, side="left")
    counts = _counted(place, labels[known], weights[known], (len(edges) - 1, classes))
    return Distribution(counts, cut, (), (_short(low), _short(high)), tuple(edges.tolist()))


def _counted(
    bars: NDArray[Any],
    labels: NDArray[np.int32],
    weights: NDArray[np.float64],
    shape: tuple[int, int],
) -> NDArray[np.float64]:
    """The weight of each class in each bar."""
    place = bars.astype(np.intp) * shape[1] + labels
    counts = np.bincount(place, weights, minlength=shape[0] * shape[1])
    return counts.astype(np.float64).reshape(shape)


def _categories(
    split: Split,
    values: NDArray[Any],
    labels: NDArray[np.int32],
    weights: NDArray[np.float64],
    classes: int,
) -> Distribution | None:
    """A bar for each category: ordinal ones in order, others with the left ones first."""
    column = split.column
    size = len(column.categories or ())
    known = values >= MISSING  # unknown categories have no bar
    codes = np.where(values[known] < 0, size, values[known])  # missing values have the last bar
    counts = _counted(codes, labels[known], weights[known], (size + 1, classes))
    total = counts.sum(axis=1)
    left = np.zeros(size + 1, dtype=bool)
    left[list(split.codes)] = True
    left[size] = split.missing_left
    shown = np.flatnonzero(total > 0)
    if column.kind == "nominal":
        shown = shown[np.lexsort((-total[shown], ~left[shown]))][:_MOST_CATEGORIES]
    if not len(shown):
        return None
    names = [*map(one_line, column.categories or ()), "missing"]
    return Distribution(
        counts[shown],
        None,
        tuple(bool(left[code]) for code in shown),
        tuple(names[code] for code in shown),
    )


def _short(value: float) -> str:
    return number(float(f"{value:.4g}"))
