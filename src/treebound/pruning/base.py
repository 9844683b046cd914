"""What every pruner is: a grown tree in, a smaller tree out, and every decision on record."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np

from treebound._params import Parameters
from treebound._validation import Constraint, check
from treebound.data import Sample
from treebound.pruning.path import PruningPath, number
from treebound.tree.model import Tree

__all__ = ["BasePruner", "Found", "Grow", "Pruner", "PruningResult"]

# How a pruner that cross-validates grows a tree on part of the sample.
Grow = Callable[[Sample], Tree]


@runtime_checkable
class Pruner(Protocol):
    """Anything that turns a grown tree into a smaller one."""

    def prune(
        self,
        tree: Tree,
        sample: Sample | None = None,
        *,
        validation: Sample | None = None,
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
        Seconds the pruning took; NaN in a copy or a stored one.
    gap : float
        By how much, at most, the score lies above the least score any pruning of this kind can
        have; 0 where the search is exact, NaN where nothing is known.
    """

    tree: Tree
    path: PruningPath
    score: float
    fit_time: float
    gap: float = np.nan

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "fit_time": np.nan}  # two equal fits are stored alike

    def within(self, leaves: int) -> PruningResult:
        """The best tree with at most so many leaves: this one, or another step of its path.

        A path that ends before is carried on by the prunings with the least training errors.
        """
        if self.tree.n_leaves <= leaves:
            return self
        path = self.path.within(leaves)
        return replace(self, tree=path.tree(), path=path, score=float(path.scores[path.chosen]))

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


class BasePruner(Parameters, ABC):
    """Parameters as scikit-learn has them, checked, and the clock.

    A pruner declares what its parameters may be in ``_constraints`` and finds the pruned tree in
    ``_search``.
    """

    _constraints: ClassVar[dict[str, Constraint]] = {}

    @property
    def needs_rows(self) -> bool:
        """Whether pruning looks at rows again; else the counts in the tree are enough."""
        return False

    def prune(
        self,
        tree: Tree,
        sample: Sample | None = None,
        *,
        validation: Sample | None = None,
        grow: Grow | None = None,
    ) -> PruningResult:
        """Prune a tree; the tree that goes in is not changed.

        Parameters
        ----------
        tree : Tree
            A grown tree.
        sample : Sample, optional
            The rows that the counts and labels of the tree come from, for pruners that look at
            them again. Use ``tree.recounted(sample)`` for other rows.
        validation : Sample, optional
            Rows that only judge, for reduced-error pruning.
        grow : callable, optional
            ``grow(sample) -> Tree``: how to grow a tree on part of the sample, for pruners that
            cross-validate.

        Returns
        -------
        PruningResult
        """
        start = perf_counter()
        self._check()
        if sample is not None:
            _check_counts(tree, sample)
        found = self._search(tree, sample, validation, grow)
        seconds = perf_counter() - start
        return PruningResult(found.tree, found.path, float(found.score), seconds, found.gap)

    def _check(self) -> None:
        check(type(self).__name__, vars(self), self._constraints)

    @abstractmethod
    def _search(
        self, tree: Tree, sample: Sample | None, validation: Sample | None, grow: Grow | None
    ) -> Found:
        """Find the pruned tree."""

    def _needs(self, sample: Sample | None, which: str, why: str) -> Sample:
        """The sample, or an error that says what it is for."""
        if sample is None:
            raise ValueError(f"{type(self).__name__} needs {which} to {why}. Got None instead.")
        return sample

    def _to_validate(self, sample: Sample | None, grow: Grow | None) -> tuple[Sample, Grow]:
        """What cross-validation needs, or an error that says so."""
        if sample is None or grow is None:
            raise ValueError(
                f"{type(self).__name__} needs a sample and grow to validate on part of the rows. "
                "Hint: use it as the 'pruning' of BoundTreeClassifier or through treebound.prune, "
                "which know how to grow a tree, or give the constant it would look for."
            )
        return sample, grow


def _check_counts(tree: Tree, sample: Sample) -> None:
    """Raise a ValueError unless the counts of the tree can be those of the sample."""
    counts = sample.counts
    same = np.array_equal(counts, tree.counts[0])
    if not same and not np.allclose(counts, tree.counts[0], rtol=1e-9, atol=1e-9):
        raise ValueError(
            "The 'sample' parameter of prune must be the rows the tree was counted on, with class "
            f"weights {tree.counts[0].tolist()}. Got {counts.tolist()} instead. "
            "Hint: prune tree.recounted(sample), or give rows that only judge as 'validation'."
        )
