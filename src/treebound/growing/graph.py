"""A graph of candidate trees: several splits at the top, greedy growth below each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils.jobs import effective_jobs
from treebound._utils.progress import Report, growth_report
from treebound.data import Column, Sample
from treebound.data.weights import WeightTotal, is_whole, sample_sums
from treebound.growing._wide import search_arrays
from treebound.growing.kernel_types import column_facts
from treebound.growing.options import GrowOptions
from treebound.growing.rules import kernel_rules, monotone_of
from treebound.tree.base import SplitArrays
from treebound.tree.model import Tree
from treebound.tree.monotone import Monotone

# Candidate splits at the root, and at each of its children.
WIDTHS = (8, 4)


@dataclass(frozen=True, eq=False, kw_only=True)
class CandidateGraph(SplitArrays):
    """Nodes with candidate splits; every tree in it starts at the last node, the root.

    Nodes are listed after their children. The candidates of node i are ``first[i]`` to
    ``first[i + 1]``, the best first; a node without candidates is a leaf in every tree.

    Attributes
    ----------
    first : ndarray of int32, shape (n_nodes + 1,)
        Start of the candidates of each node.
    counts, rows : ndarray
        Weight of each class, and number of rows, at each node.
    feature, threshold, category, missing_left, left, right : ndarray
        The split of each candidate and the nodes that it leads to.
    columns : tuple of Column
        The input columns.
    classes : ndarray
        The class labels.
    weighted : bool
        Whether the rows had weights.
    factors : ndarray or None
        The class weights.
    monotone : Monotone or None
        Columns in which probabilities of higher classes only rise or fall.
    """

    first: NDArray[np.int32]
    counts: NDArray[np.float64]
    rows: NDArray[np.int64]
    columns: tuple[Column, ...]
    classes: NDArray[Any]
    weighted: bool = False
    factors: NDArray[np.float64] | None = None
    monotone: Monotone | None = None

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.rows)

    @cached_property
    def root(self) -> Tree:
        """The tree of one leaf."""
        return self.tree(np.array([[self.n_nodes - 1], [-1], [-1], [-1]], dtype=np.int32))

    def ordered_labels(self, label: NDArray[np.int32]) -> NDArray[np.int32]:
        """The labels that monotone columns allow, as in a :class:`~treebound.tree.Tree`.

        Nodes are shared only under equal limits, so the limits of each node are those of any tree.
        """
        if self.monotone is None:
            return label
        masses = self.counts if self.factors is None else self.counts * self.factors
        total = masses.sum(axis=1, keepdims=True)
        even = np.full_like(masses, 1.0 / masses.shape[1])
        shares = np.divide(masses, total, out=even, where=total > 0.0)
        signs = np.array(self.monotone.signs)[self.feature]
        signs[(self.category >= 0) | np.isinf(self.threshold)] = 0
        return self.monotone.labels_in_graph(
            shares, label, self.first, self.left, self.right, signs
        )

    def tree(self, nodes: NDArray[np.int32], label: NDArray[np.int32] | None = None) -> Tree:
        """Return a tree of the graph.

        Parameters
        ----------
        nodes : ndarray of int32, shape (4, n)
            For each node of the tree, in pre-order: the node of the graph, its candidate (-1 for a
            leaf), and its left and right child in the tree.
        label : ndarray of int32, optional
            The class of each node of the graph; by default the one of largest weight.
        """
        at, split, left, right = nodes
        labels: Any = None if label is None else label[at]

        def splits(values: NDArray[Any], of_leaf: Any) -> NDArray[Any]:
            padded = np.append(values, of_leaf).astype(values.dtype)  # a leaf has split -1
            return np.asarray(padded[split])

        return Tree(
            feature=splits(self.feature, -1),
            threshold=splits(self.threshold, np.nan),
            category=splits(self.category, -1),
            missing_left=splits(self.missing_left, False),
            left=left,
            right=right,
            counts=self.counts[at],
            rows=self.rows[at],
            columns=self.columns,
            classes=self.classes,
            label=labels,
            weighted=self.weighted,
            factors=self.factors,
            monotone=self.monotone,
        )


def search(
    sample: Sample,
    options: GrowOptions,
    *,
    widths: Sequence[int] = WIDTHS,
    progress: Report | None = None,
) -> CandidateGraph:
    """Grow every tree that starts with one of the best splits.

    Parameters
    ----------
    sample : Sample
        The training rows.
    options : GrowOptions
        How to grow; limits on leaves are ignored.
    widths : sequence of int
        Number of candidate splits at depth 0, 1, ...: the best split of each real or ordinal
        column, and every category of a nominal column, in the order of their gains.
    progress : callable, optional
        Called about once a second.

    Notes
    -----
    Subproblems with equal rows under the same rules are solved once, below the searched levels at
    any depth unless depth is limited. There a subtree is that of :func:`~treebound.growing.grow`,
    under the same rules. Threads solve independent subproblems; the graph does not depend on how
    many threads there are. Memory in addition to the sample: one copy of the sorted rows and two
    more for each thread, 8 bytes per value each, and the nodes of at most 32 greedy trees: with
    pruning 2 to 10 KB per row if the labels are noise, so that every row ends in a leaf of its own,
    and little if trees are small.

    Examples
    --------
    >>> from treebound.data import Sample
    >>> from treebound.growing import GrowOptions
    >>> rows = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    >>> graph = search(Sample.learn(rows, ["no", "yes", "yes", "no"]), GrowOptions("entropy"))
    >>> int(graph.first[-1] - graph.first[-2])  # candidates at the root
    2
    """
    sample = sample.without_identifiers()
    masses, columns = sample.masses, sample.columns
    total = WeightTotal.of(masses, sample.n_rows)
    monotone = monotone_of(options, columns, sample.classes)

    report = growth_report(progress, sample.n_rows)
    arrays: dict[str, Any] = {
        **search_arrays(
            sample.X.values,
            np.ascontiguousarray(sample.y, dtype=np.int32),
            total.integers(masses, sample.n_rows),
            sample.n_classes,
            *column_facts(columns),
            options=options.for_kernels(kernel_rules(options, columns, monotone)),
            widths=list(widths),
            n_threads=effective_jobs(options.n_jobs),
            progress=report,
        )
    }
    report(len(arrays["rows"]) - int((np.diff(arrays["first"]) > 0).sum()), 0)
    arrays["counts"] = sample_sums(
        arrays["counts"] * total.unit, sample.factors, is_whole(sample.weight)
    )
    return CandidateGraph(
        **arrays,
        columns=columns,
        classes=sample.classes,
        weighted=masses is not None,
        factors=sample.factors,
        monotone=monotone,
    )
