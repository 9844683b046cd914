"""Parts of the examples: folds for cross-validation, and a part to validate on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

import treebound.pruning._dp as _dp
from treebound.pruning.base import Examples
from treebound.tree.model import Tree

__all__ = ["errors_on", "fold_numbers", "folds", "held_out"]

Floats = NDArray[np.float64]


def fold_numbers(y: NDArray[np.int64], k: int, seed: int | None) -> NDArray[np.int64]:
    """The fold of every example: every class dealt out evenly, in random order.

    Works with classes of fewer members than folds.
    """
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(len(y))
    by_class = shuffled[np.argsort(y[shuffled], kind="stable")]
    number = np.empty(len(y), dtype=np.int64)
    number[by_class] = np.arange(len(y)) % k
    return number


def folds(examples: Examples, k: int, seed: int | None) -> Iterator[tuple[Examples, Examples]]:
    """For each fold, the examples outside it and those inside it."""
    k = min(k, len(examples.y))
    number = fold_numbers(examples.y, k, seed)
    for fold in range(k):
        yield (
            examples.part(np.flatnonzero(number != fold)),
            examples.part(np.flatnonzero(number == fold)),
        )


def held_out(examples: Examples, fraction: float, seed: int | None) -> tuple[Examples, Examples]:
    """A part to grow on, and a random part of this fraction to judge by."""
    order = np.random.default_rng(seed).permutation(len(examples.y))
    size = min(max(1, round(fraction * len(order))), len(order) - 1)
    return examples.part(np.sort(order[size:])), examples.part(np.sort(order[:size]))


def errors_on(tree: Tree, examples: Examples) -> Floats:
    """Weight of the examples that every node, as a leaf, would get wrong."""
    reached = tree.apply(examples.X).astype(np.int64)
    shape = tree.n_nodes, tree.n_classes
    cells = reached * tree.n_classes + examples.y
    counts = np.bincount(cells, weights=examples.weight, minlength=shape[0] * shape[1])
    counts = counts.reshape(shape).astype(np.float64)
    _dp.add_up(tree.left, tree.right, counts)
    wrong: Floats = counts.sum(axis=1) - counts[np.arange(tree.n_nodes), tree.label]
    return wrong
