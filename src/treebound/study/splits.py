"""Seeds and splits: the training, validation and test rows of a draw.

The rule is that of the paper's authors, so that draws have the same examples as theirs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from treebound._utils.validation import Whole, check

ROOT_SEED = 37
Part = Literal["train", "test", "growing", "validation"]


def seeds_of(n_draws: int, root: int = ROOT_SEED) -> tuple[int, ...]:
    """The seeds of the draws."""
    check("", {"draws": n_draws}, {"draws": Whole(1)})
    # The legacy generator and its default dtype are part of the rule of the paper's code.
    generator = np.random.RandomState(root)
    return tuple(int(generator.randint(2**31)) for _ in range(n_draws))


def split(n: int, seed: int, fraction: float = 0.15) -> dict[Part, NDArray[np.int64]]:
    """The rows of the parts of a draw.

    The rows are shuffled by the seed, and the last ``round(fraction * n)`` are the test part. The
    training rows, sorted and shuffled once more by the same seed, are the growing and the
    validation part, for models that prune on it: again the last ``round(fraction * n)``.
    """
    held_out = round(fraction * n)
    if held_out < 1 or n - 2 * held_out < 1:
        raise ValueError(
            f"A table of {n} rows cannot be split with {held_out} rows each for test and "
            f"validation. Hint: use more rows or another 'test_fraction' than {fraction!r}."
        )
    rows = np.arange(n, dtype=np.int64)
    np.random.default_rng(seed).shuffle(rows)
    train, test = rows[:-held_out], rows[-held_out:]
    again = np.sort(train)
    np.random.default_rng(seed).shuffle(again)
    growing, validation = again[:-held_out], again[-held_out:]
    return {"train": train, "test": test, "growing": growing, "validation": validation}


@dataclass(frozen=True)
class RowFolds:
    """Stratified folds of rows, for the paper protocol.

    The rows of each class are shuffled and assigned to the folds in turn. Unlike the folds of the
    pruners, these depend on the order of the rows and of the classes, and equal rows may be
    separated.
    """

    k: int  # number of folds
    seed: int = 0  # of the order of the rows

    def split(self, X: Any, y: NDArray[Any]) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
        """Yield the places of the rows outside and inside each fold."""
        shuffled = np.random.default_rng(self.seed).permutation(len(y))
        by_class = shuffled[np.argsort(y[shuffled], kind="stable")]
        k = min(self.k, len(y))
        fold = np.empty(len(y), dtype=np.int64)
        fold[by_class] = np.arange(len(y)) % k
        for at in range(k):
            yield np.flatnonzero(fold != at), np.flatnonzero(fold == at)
