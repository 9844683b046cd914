"""What every pruner is: a grown tree in, a smaller tree out, and every decision on record."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from treebound.pruning.path import PruningPath, number
from treebound.tree.model import Tree

__all__ = ["BasePruner", "Examples", "Found", "Grow", "Pruner", "PruningResult", "examples_of"]

Floats = NDArray[np.float64]


class Grow(Protocol):
    """How a pruner that cross-validates grows a tree on part of the data."""

    def __call__(
        self, X: NDArray[np.float64], y: NDArray[np.int64], sample_weight: Any = None
    ) -> Tree: ...


@runtime_checkable
class Pruner(Protocol):
    """Anything that turns a grown tree into a smaller one."""

    def prune(
        self,
        tree: Tree,
        X: Any = None,
        y: Any = None,
        *,
        sample_weight: ArrayLike | None = None,
        grow: Grow | None = None,
    ) -> PruningResult:
        """Prune a tree; the tree that goes in is not changed."""
        ...


@dataclass(frozen=True)
class PruningResult:
    """What a pruner decided.

    Attributes
    ----------
    tree : Tree
        The pruned tree.
    path : PruningPath
        Every step that was possible: ``len(path)``, ``path.table()``, ``path.tree(step)``.
    score : float
        The score of the pruned tree, the smaller the better.
    fit_time : float
        Seconds the pruning took.
    gap : float
        By how much, at most, the score lies above the least score any pruning of this kind can
        have; 0 where the search is exact, NaN where nothing is known.
    """

    tree: Tree
    path: PruningPath
    score: float
    fit_time: float
    gap: float = np.nan

    def explain(self) -> str:
        """In words, why the tree has this size: what the neighbouring ones gain and pay."""
        words = self.path.explain()
        if self.gap > 0.0:
            words += f"\nNo pruning has a score more than {number(self.gap)} below this one."
        return words


class Found(NamedTuple):
    """What the search of a pruner hands over."""

    tree: Tree
    path: PruningPath
    score: float
    gap: float = np.nan


class BasePruner(BaseEstimator, ABC):
    """Parameters as scikit-learn has them, the clock, and the data made ready for the search."""

    def prune(
        self,
        tree: Tree,
        X: Any = None,
        y: Any = None,
        *,
        sample_weight: ArrayLike | None = None,
        grow: Grow | None = None,
    ) -> PruningResult:
        """Prune a tree; the tree that goes in is not changed.

        Parameters
        ----------
        tree : Tree
            A grown tree.
        X : table or encoded matrix, optional
            The examples, for pruners that look at them again. A float64 array is taken as encoded
            already; any other table is encoded with the columns of the tree.
        y : array, optional
            The class of every example: integers are codes into ``tree.classes`` (where they can
            be), anything else labels.
        sample_weight : array, optional
        grow : callable, optional
            ``grow(X, y, sample_weight) -> Tree``: how to grow a tree on part of the examples, for
            pruners that cross-validate.

        Returns
        -------
        PruningResult
        """
        start = perf_counter()
        examples = None if X is None else examples_of(tree, X, y, sample_weight)
        found = self._search(tree, examples, grow)
        seconds = perf_counter() - start
        return PruningResult(found.tree, found.path, float(found.score), seconds, found.gap)

    @abstractmethod
    def _search(self, tree: Tree, examples: Examples | None, grow: Grow | None) -> Found:
        """Find the pruned tree."""

    def _needs(self, examples: Examples | None, why: str) -> Examples:
        """The examples, or an error that says what they are for."""
        if examples is None:
            raise ValueError(f"{type(self).__name__} needs X and y to {why}. Got None instead.")
        return examples

    def _to_validate(self, examples: Examples | None, grow: Grow | None) -> tuple[Examples, Grow]:
        """What cross-validation needs, or an error that says so."""
        if examples is None or grow is None:
            raise ValueError(
                f"{type(self).__name__} needs X, y and grow to validate on part of the examples. "
                "Hint: use it as the 'pruning' of BoundTreeClassifier or through treebound.prune, "
                "which know how to grow a tree, or give the constant it would look for."
            )
        return examples, grow

    def _bad(self, name: str, must: str, value: Any) -> ValueError:
        return ValueError(
            f"The {name!r} parameter of {type(self).__name__} must be {must}. "
            f"Got {value!r} instead."
        )

    def _one_of(self, name: str, *allowed: str) -> str:
        value = getattr(self, name)
        if not isinstance(value, str) or value not in allowed:
            listed = ", ".join(repr(one) for one in allowed)
            raise self._bad(name, f"one of {listed}", value)
        return value


# -- examples --------------------------------------------------------------------------------------


class Examples(NamedTuple):
    """Encoded rows, class codes and weights."""

    X: Floats
    y: NDArray[np.int64]
    weight: Floats | None

    def part(self, rows: NDArray[np.intp]) -> Examples:
        """Some of the examples."""
        weight = None if self.weight is None else self.weight[rows]
        return Examples(self.X[rows], self.y[rows], weight)

    @property
    def total(self) -> float:
        """The sum of the weights."""
        return float(len(self.y)) if self.weight is None else float(self.weight.sum())

    @property
    def weights(self) -> Floats:
        """The weights, one each where none were given."""
        return np.ones(len(self.y)) if self.weight is None else self.weight


def examples_of(tree: Tree, X: Any, y: Any, sample_weight: Any = None) -> Examples:
    """Examples in the encoding of a tree, checked."""
    if y is None:
        raise ValueError("The 'y' parameter must be given with X. Got None instead.")
    if isinstance(X, np.ndarray) and X.dtype == np.float64:
        matrix = X
    else:
        from treebound.tree.columns import encode

        matrix = encode(X, tree.columns)
    if matrix.ndim != 2 or matrix.shape[1] != len(tree.columns):
        raise ValueError(
            f"The 'X' parameter must have {len(tree.columns)} columns, as the tree has. "
            f"Got shape {matrix.shape} instead."
        )
    classes = np.asarray(y)
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    for name, values in (("y", classes), ("sample_weight", weight)):
        if values is not None and values.shape != (len(matrix),):
            raise ValueError(
                f"The {name!r} parameter must have one value a row of X, {len(matrix)}. "
                f"Got shape {values.shape} instead."
            )
    return Examples(matrix, _codes(tree, classes, weight), weight)


def _codes(tree: Tree, y: NDArray[Any], weight: Floats | None) -> NDArray[np.int64]:
    """Class codes from codes or labels; integers are codes unless they can only be labels."""
    classes = tree.classes.tolist()
    if _are_codes(y, len(classes)):
        codes = y.astype(np.int64, copy=False)
        if classes == list(range(len(classes))) or _counted_as(tree, codes, weight):
            return codes
    else:
        codes = None
    place = {label: code for code, label in enumerate(classes)}
    found = [place.get(label, -1) for label in y.tolist()]
    if -1 not in found:
        labels = np.array(found, dtype=np.int64)
        # Both readings fit: the counts of the tree tell them apart where y is what it was grown
        # on; else integers are codes, as everywhere below the classifier.
        if codes is None or _counted_as(tree, labels, weight):
            return labels
    if codes is None:
        wrong = next(label for label in y.tolist() if label not in place)
        raise ValueError(
            f"The 'y' parameter must hold classes of the tree, {classes!r}. Got {wrong!r} instead."
        )
    return codes


def _are_codes(y: NDArray[Any], n_classes: int) -> bool:
    integer = y.dtype.kind in "iu"
    return integer and (not len(y) or (int(y.min()) >= 0 and int(y.max()) < n_classes))


def _counted_as(tree: Tree, codes: NDArray[np.int64], weight: Floats | None) -> bool:
    """Whether the tree was grown on classes that count like these."""
    counts = np.bincount(codes, weights=weight, minlength=tree.n_classes)
    return bool(np.allclose(counts, tree.counts[0]))
