"""Calibration rows held out by ``fit``, in one part or in folds, and certificates from them.

Split the row numbers into K folds, as good as at random (:mod:`treebound.data.draws`). Tree i is
any function of the rows outside fold i. Given these rows its errors on the fold are binomial, so
that each bound fails with probability at most ``delta / K``, and all of them hold together. One
held-out tenth is one fold. Other trees that ``prune_to`` can reach share a second delta.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treebound._utils.arrays import Ints
from treebound._utils.choices import CertificateKind
from treebound.bounds.risk import risk_upper
from treebound.certificate.by_class import by_class_on_rows
from treebound.certificate.certificate import (
    DRAWN_APART,
    Assumption,
    Certificate,
    certify_counts,
    errors_by_class,
)
from treebound.data import Sample
from treebound.pruning import PruningPath
from treebound.tree.base import rows_at_rest
from treebound.tree.model import Tree
from treebound.tree.node_sums import summed_up


class BestFold(NamedTuple):
    """The model fitted without the chosen fold, the number of that fold, and the bounds of all."""

    fitted: Any
    chosen: int
    bounds: list[float]


def best_of_folds(
    fit: Callable[[NDArray[np.intp]], tuple[Any, int]],
    folds: Sequence[NDArray[np.intp]],
    delta: float = 0.05,
) -> BestFold:
    """Fit without each fold and keep the tree of the least bound; on ties the first.

    ``fit(fold)`` fits on the other rows, and gives what was fitted and its errors on the fold.
    """
    fits, level = [fit(fold) for fold in folds], log(delta / len(folds))
    bounds = [
        risk_upper(len(fold), errors, level) for fold, (_, errors) in zip(folds, fits, strict=True)
    ]
    chosen = bounds.index(min(bounds))
    return BestFold(fits[chosen][0], chosen, bounds)


_DRAWN = (
    Assumption("the calibration rows were drawn by number, not by label", True),
    Assumption("rows are independent draws, as the new ones will be", False),
)
_ALONE = Assumption(
    "only the fitted tree is certified: looked at together with trees of other sizes, the "
    "bounds hold with probability 1 - 2 delta",
    False,
)


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Results on the m calibration rows: the errors of the fitted tree, and counts."""

    m: int
    errors: int
    counts: Ints  # of each class at each node of the grown tree, or of every tree of a search
    folds: int = 1  # of which this one was the best; its bound has this part of delta
    grouped: bool = False  # there is one row of each group
    alternatives: int = 1  # trees that were offered at once, of which this is one; they share delta

    @property
    def kind(self) -> CertificateKind:
        """Kind of the certificates from these rows."""
        return "held-out" if self.folds == 1 else "folds"

    @classmethod
    def of(cls, calibration: Sample, tree: Tree, *trees: Tree) -> HeldOut:
        """Count the calibration rows, ignoring their weights; see :meth:`by_counts`."""
        rows = replace(calibration, weight=None)

        def counted(tree: Tree) -> Ints:
            return rows_at_rest(tree, tree.counts_on(rows)[0]).astype(np.int64)

        return cls.by_counts(counted, tree, *trees)

    @classmethod
    def by_counts(cls, counted: Callable[[Tree], Ints], tree: Tree, *trees: Tree) -> HeldOut:
        """Return the results from the rows of each class that come to rest at each node.

        ``trees`` are those from whose counts the ones of all steps follow: the grown tree or, after
        a search, also the tree of every step (``PruningPath.counted_trees``).
        """
        resting = counted(tree)
        right = resting[np.arange(tree.n_nodes), tree.label].sum()
        m = int(resting.sum())
        tables = [summed_up(each, counted(each)) for each in trees]
        return cls(m, m - int(right), np.concatenate(tables).astype(np.int64))

    def at(self, path: PruningPath | None, step: int | None) -> tuple[Ints | None, int]:
        """Return the counts at the nodes of a step's tree, or None, and how many trees share delta.

        The fitted tree has delta to itself; the other trees that ``prune_to`` reaches share a
        second one.
        """
        if path is None:
            return self.counts, self.folds * self.alternatives
        step = path.chosen if step is None else step
        share = 1 if step == path.chosen else path.n_considered
        return counts_at(path, step, self.counts), self.folds * share

    def certificate(
        self, delta: float, tree: Tree, path: PruningPath | None, step: int | None = None
    ) -> Certificate | None:
        """Return the certificate of the fitted tree, or of another step of its path."""
        counts, shares = self.at(path, step)
        errors, more = self.errors, []
        if path is not None and step not in (None, path.chosen):
            if counts is None:
                return None
            errors = int(errors_by_class(tree, counts)[1].sum())
            trees = f"{path.n_considered:,} trees that prune_to can reach"
            more = [Assumption(f"it is one of {trees}, which share delta", True)]
        else:
            more = [_ALONE] * (path is not None and path.n_considered > 1)
            if self.alternatives > 1:
                trees = f"{self.alternatives} alternatives"
                more = [Assumption(f"it is one of {trees}, which share delta", True)]
        certificate = replace(
            certify_counts(errors, self.m, delta / shares),
            delta=delta,
            kind=self.kind,
            folds=self.folds,
            assumptions=(*_DRAWN, *DRAWN_APART, *more),
            constant_error=1.0 - float(self.counts[0].max()) / self.m,
        )
        certificate = certificate.about_groups() if self.grouped else certificate
        if counts is None:
            return certificate
        of_classes = errors_by_class(tree, counts)
        return certificate.of_tree(
            tree, partial(by_class_on_rows, tree.classes.tolist(), *of_classes, log(delta / shares))
        )


def counts_at(path: PruningPath, step: int, counts: Ints) -> Ints | None:
    """Return counts at the nodes of the tree of a step, from those at ``path.counted_trees``.

    None if its nodes were not counted: subtrees were raised.
    """
    rows = path.rows_of_counts(step)
    return None if rows is None else counts[rows]
