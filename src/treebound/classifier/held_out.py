"""Rows set aside inside ``fit``, and what they certify of each tree on the pruning path."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from treebound.certificate import Assumption, Certificate, certify_holdout
from treebound.data import Sample
from treebound.pruning import PruningPath
from treebound.tree.model import Tree

__all__ = ["HeldOut", "set_aside"]


def set_aside(sample: Sample, seed: int | None) -> tuple[Sample, Sample]:
    """Rows to learn from, and rows to certify by: a tenth, but at least 150, at most 30 %.

    Which rows these are depends on the seed and the row numbers alone. Drawn by label, the
    certificate would not hold.
    """
    rows = sample.n_rows
    size = round(min(0.3 * rows, max(150.0, 0.1 * rows)))
    if size < 1:
        raise ValueError(
            f"certify='holdout' needs at least 2 rows to set some aside. Got {rows} instead."
        )
    aside = np.zeros(rows, dtype=bool)
    aside[np.random.default_rng(seed).permutation(rows)[:size]] = True
    return sample.part(~aside), sample.part(aside)


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What the rows set aside say.

    Attributes
    ----------
    m : int
        Number of rows set aside.
    errors : int
        How many of them the tree that ``fit`` returned gets wrong.
    counts : ndarray of int64, shape (n_nodes, n_classes)
        How many of them, of each class, reach each node of the grown tree.
    """

    m: int
    errors: int
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, aside: Sample, tree: Tree, grown: Tree) -> HeldOut:
        """Count the rows set aside; each counts once, whatever its weight."""
        once = replace(aside, weight=None)
        errors = int((tree.label[tree.apply(once.X)] != once.y).sum())
        counts, _ = grown.counts_on(once)
        return cls(once.n_rows, errors, counts.astype(np.int64))

    def certificate(self, delta: float) -> Certificate:
        """The certificate of the tree that ``fit`` returned."""
        return self._with(certify_holdout(self.errors, self.m, delta), 1)

    def certificate_at(self, path: PruningPath, step: int, delta: float) -> Certificate | None:
        """The certificate of another step of the path, at a level shared by all steps."""
        cuts = path.cuts(step)
        if cuts is None:
            return None
        grown = path.first
        inside = np.zeros(grown.n_nodes, dtype=bool)
        for node in cuts.tolist():
            inside[node + 1 : node + grown.size[node]] = True
        leaf = grown.is_leaf & ~inside
        leaf[cuts] = True
        wrong = self.counts.sum(axis=1) - self.counts[np.arange(grown.n_nodes), grown.label]
        found = certify_holdout(int(wrong[leaf].sum()), self.m, delta / path.n_considered)
        return replace(self._with(found, path.n_considered), delta=delta)

    @staticmethod
    def _with(certificate: Certificate, steps: int) -> Certificate:
        """The assumptions of rows that were set aside by ``fit``."""
        others = [
            Assumption("the rows set aside were drawn by number, not by label", True),
            Assumption("rows are independent draws, as the new ones will be", False),
            Assumption("fit was not repeated with another random_state or other parameters after "
                       "a certificate was seen", False),
        ]  # fmt: skip
        if steps > 1:
            text = f"the tree is one of the {steps:,} steps of the pruning path, which share delta"
            others.append(Assumption(text, True))
        return replace(certificate, assumptions=tuple(others))
