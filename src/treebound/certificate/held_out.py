"""Rows held out by ``fit``, and certificates from them for the trees on the pruning path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from treebound.certificate.certificate import (
    CLASSES_AS_FOUND,
    Assumption,
    Certificate,
    CertificateKind,
    certify_counts,
)
from treebound.data import Sample, Unknown
from treebound.data.frames import read_table
from treebound.data.row_hashes import row_hashes
from treebound.data.sample import same_length
from treebound.data.targets import learn_classes
from treebound.data.weights import row_weights
from treebound.pruning import PruningPath
from treebound.tree.model import Tree

__all__ = ["HeldOut", "drawn_apart", "learn_apart"]


def learn_apart(
    learn: Callable[..., Sample], X: Any, y: Any, sample_weight: Any, seed: int | None,
    unknown: Unknown,
) -> tuple[Sample, Sample, NDArray[np.uint64]]:  # fmt: skip
    """Split into training rows and held-out rows: a tenth, at least 150, at most 30 %.

    Also returns the hashes of the held-out rows, whose categories the sample may not know.

    The split depends only on the seed and the row numbers; with a stratified split the certificate
    would not hold. Nothing is learned from the held-out rows: categories and missing values that
    only they have are unknown to the columns. Only the types of the columns and the set of classes
    come from all rows.

    Parameters
    ----------
    learn : callable
        ``learn(X, y, sample_weight) -> Sample``.
    X, y, sample_weight
        The arguments of ``fit``.
    seed : int or None
    unknown : str
        How to handle unknown categories.
    """
    table, (classes, codes) = read_table(X), learn_classes(y)
    same_length(table.shape[0], len(codes))
    weight = row_weights(sample_weight, len(codes))
    rows = np.arange(len(codes)) if weight is None else np.flatnonzero(weight)
    training, apart = drawn_apart(rows, seed)
    present = np.unique(codes[rows])

    def part(chosen: NDArray[np.intp]) -> tuple[Any, ...]:
        mask = np.zeros(len(codes), dtype=bool)
        mask[chosen] = True
        return table.rows(mask), classes[codes[mask]], None if weight is None else weight[mask]

    sample = _with_classes(learn(*part(training)), classes[present])
    rows, labels, weights = part(apart)
    aside = Sample.read(
        rows,
        labels,
        weights,
        columns=sample.columns,
        classes=sample.classes,
        named=False,
        unknown="other" if unknown == "error" else unknown,
    )
    names = None if table.names is None else [column.name for column in sample.columns]
    return sample, aside, row_hashes(rows, sample.classes, aside.y, names=names)


def drawn_apart(
    rows: NDArray[np.intp], seed: int | None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The numbers of the training rows and of the held-out rows, drawn from all."""
    size = round(min(0.3 * len(rows), max(150.0, 0.1 * len(rows))))
    if size < 1:
        raise ValueError(
            f"certify='held-out' needs at least 2 rows to set some aside. Got {len(rows)} instead."
        )
    drawn = np.random.default_rng(seed).permutation(rows)
    return drawn[size:], drawn[:size]


def _with_classes(sample: Sample, classes: NDArray[Any]) -> Sample:
    """The sample with more classes, of which it has no row."""
    code = np.searchsorted(classes, sample.classes).astype(np.int32)
    factors = sample.class_factors
    if factors is not None:
        all_factors = np.ones(len(classes))
        all_factors[code] = factors
        factors = tuple(all_factors.tolist())
    return Sample(sample.X, code[sample.y], sample.weight, classes, factors)


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Results on the held-out rows.

    Attributes
    ----------
    m : int
        Number of held-out rows.
    errors : int
        Number that the fitted tree misclassifies.
    counts : ndarray of int64, shape (n_nodes, n_classes)
        Number of each class at each node of the grown tree.
    """

    m: int
    errors: int
    counts: NDArray[np.int64]
    kind: ClassVar[CertificateKind] = "held-out"

    @classmethod
    def of(cls, aside: Sample, tree: Tree, grown: Tree) -> HeldOut:
        """Count the held-out rows, ignoring their weights."""
        errors = int((tree.label[tree.apply(aside.X)] != aside.y).sum())
        counts, _ = grown.counts_on(replace(aside, weight=None))
        return cls(aside.n_rows, errors, counts.astype(np.int64))

    def certificate(self, delta: float, path: PruningPath | None) -> Certificate:
        """The certificate of the fitted tree."""
        return self._with(certify_counts(self.errors, self.m, delta), _alone(path))

    def certificate_at(self, path: PruningPath, step: int, delta: float) -> Certificate | None:
        """The certificate of another step of the path; all steps share delta."""
        cuts = path.cuts(step)
        if cuts is None:
            return None
        grown = path.first
        alive = np.ones(grown.n_nodes, dtype=bool)
        for node in cuts.tolist():
            alive[node + 1 : node + grown.size[node]] = False
        inner = alive & ~grown.is_leaf
        inner[cuts] = False
        at_rest = self.counts.copy()
        at_rest[inner] -= self.counts[grown.left[inner]] + self.counts[grown.right[inner]]
        wrong = at_rest.sum(axis=1) - at_rest[np.arange(grown.n_nodes), grown.label]
        share = delta / path.n_considered
        text = f"it is one of {path.n_considered:,} steps of the pruning path, which share delta"
        certificate = certify_counts(int(wrong[alive].sum()), self.m, share)
        return replace(self._with(certificate, (Assumption(text, True),)), delta=delta)

    def _with(self, certificate: Certificate, more: tuple[Assumption, ...]) -> Certificate:
        """The certificate with the assumptions of rows that fit held out."""
        others = (
            Assumption("the rows set aside were drawn by number, not by label", True),
            Assumption("rows are independent draws, as the new ones will be", False),
            Assumption("every example and every error counts once, weighted or not", False),
            Assumption("no preprocessing of the columns used the classes", False),
            Assumption("fit was not repeated with another random_state or other parameters after "
                       "a certificate was seen", False),
            Assumption(CLASSES_AS_FOUND, False),
        )  # fmt: skip
        constant = 1.0 - float(self.counts[0].max()) / self.m
        return replace(certificate, assumptions=others + more, constant_error=constant)


def _alone(path: PruningPath | None) -> tuple[Assumption, ...]:
    """The fitted tree has delta to itself; the other steps of its path share a second one."""
    if path is None or path.n_considered < 2:
        return ()
    text = (
        "only the fitted tree is certified: looked at together with the other steps of the pruning "
        "path, the limits hold with probability 1 - 2 delta"
    )
    return (Assumption(text, False),)
