"""Classification trees: class counts and a label for each node."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from treebound._utils.frozen import set_fields
from treebound.data.weights import heaviest
from treebound.tree._structure import add_up
from treebound.tree.base import ROUNDING, BaseTree, frozen
from treebound.tree.monotone import Monotone

if TYPE_CHECKING:
    from treebound.data import Matrix, Sample


@dataclass(frozen=True, eq=False, kw_only=True)
class Tree(BaseTree):
    """A classification tree: a structure of arrays, one entry per node, in pre-order.

    The splits are those of :class:`~treebound.tree.base.BaseTree`.

    Attributes
    ----------
    feature, threshold, category, missing_left, left, right, rows, columns, weighted
        See :class:`~treebound.tree.base.BaseTree`.
    counts : ndarray of float64, shape (n_nodes, n_classes)
        Sample weight of the training rows of each class at each node.
    label : ndarray of int32
        The class of each node, an index into ``classes``: the class of the largest mass, the
        first one on ties, unless costs, shrunk probabilities or the user chose another.
    classes : ndarray
        The class labels, sorted.
    counted : bool
        Counts, rows and labels come from one sample. False after a subtree was raised without a
        sample to recount; such a tree predicts, but has no certificate.
    names : ndarray of int64, or None
        The training row that names the split of each node: the last one of its left child,
        by value, then by a hash of all values; -1 if there is none. None if not known.
    factors : ndarray of float64, or None
        The class weights: ``masses`` are the counts times them.
    monotone : Monotone, or None
        The columns in which probabilities only rise or fall, if there are any.

    Raises
    ------
    ValueError
        If nodes are not in pre-order, the counts of two children do not sum to their parent's,
        or a label, column or category does not exist.
    """

    counts: NDArray[np.float64]
    classes: NDArray[Any]
    label: NDArray[np.int32] = field(default=None)  # type: ignore[arg-type]
    counted: bool = True
    names: NDArray[np.int64] | None = None
    factors: NDArray[np.float64] | None = None
    monotone: Monotone | None = None
    node_arrays: ClassVar[dict[str, Any]] = {
        **BaseTree.node_arrays, "counts": np.float64, "label": np.int32, "names": np.int64,
    }  # fmt: skip

    def __post_init__(self) -> None:
        self._freeze()
        set_fields(self, classes=frozen(np.array(self.classes), None))
        if self.factors is not None:
            set_fields(self, factors=frozen(self.factors, np.float64))
        by_counts = self.label is None
        if by_counts:
            label = heaviest(self.masses) if self.weighted else self.counts.argmax(axis=1)
            set_fields(self, label=frozen(label, np.int32))
        self._check()
        if by_counts and self.monotone is not None:
            label = self.monotone.labels(self, self.label)
            set_fields(self, label=frozen(label, np.int32))

    def _check(self) -> None:
        """Raise a ValueError if the arrays are inconsistent."""
        n_classes = len(self.classes)
        if self.counts.ndim == 2 and (self.counts.shape[1] != n_classes or not n_classes):
            raise ValueError(
                f"The 'counts' of a Tree must have a column for each of the {n_classes:,} classes. "
                f"Got shape {self.counts.shape} instead."
            )
        order = self.monotone
        if order is not None and (
            len(order.signs) != len(self.columns) or sorted(order.order) != list(range(n_classes))
        ):
            raise ValueError(
                "The 'monotone' of a Tree must have a sign for each column and order all classes. "
                f"Got {order} instead."
            )
        wrong = np.flatnonzero((self.label < 0) | (self.label >= n_classes))
        if len(wrong):
            raise ValueError(
                f"The 'label' of node {wrong[0]} of a Tree must be a class from 0 to "
                f"{n_classes - 1}. Got {self.label[wrong[0]]} instead."
            )
        rounded = len(self.counts) and (self.weighted or not self.counted)
        slack = ROUNDING * float(self.counts[0].sum()) if rounded else 0.0
        self._check_structure(self.counts, slack=slack, amount="counts")

    def __repr__(self) -> str:
        leaves = "1 leaf" if self.n_leaves == 1 else f"{self.n_leaves:,} leaves"
        return (
            f"<Tree: {leaves}, depth {self.depth}, {len(self.columns):,} columns, "
            f"{self.n_classes:,} classes>"
        )

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.counts.shape[1])

    # -- training counts -------------------------------------------------------------------

    @cached_property
    def weight(self) -> NDArray[np.float64]:
        """Weight of the training examples at each node; ``weight[0]`` is m."""
        return np.asarray(self.counts.sum(axis=1))

    @cached_property
    def masses(self) -> NDArray[np.float64]:
        """The counts times the class weights: what labels, pruning and probabilities go by."""
        return self.counts if self.factors is None else self.counts * self.factors

    @cached_property
    def mass(self) -> NDArray[np.float64]:
        """The mass of each node; ``mass[0]`` is the effective number of examples."""
        return self.weight if self.factors is None else np.asarray(self.masses.sum(axis=1))

    @cached_property
    def node_losses(self) -> NDArray[np.float64]:
        """Mass that each node would misclassify as a leaf."""
        if self.factors is None:
            return self.node_errors
        return self.mass - self.masses[np.arange(self.n_nodes), self.label]

    @cached_property
    def node_errors(self) -> NDArray[np.float64]:
        """Weight of the training examples that each node would misclassify as a leaf."""
        return self.weight - self.counts[np.arange(self.n_nodes), self.label]

    @property
    def errors(self) -> float:
        """Weight of the training examples that the tree misclassifies."""
        return float(self.node_errors[self.is_leaf].sum())

    # -- rows --------------------------------------------------------------------------------

    def counts_on(
        self, sample: Sample, handle_unknown: str | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Count the rows of a sample at each node.

        Parameters
        ----------
        sample : Sample
            Rows in the columns and classes of the tree.
        handle_unknown : {"other", "majority", "stop"}, optional
            See :meth:`apply`. With ``"stop"`` an inner node may have more rows than its children.

        Returns
        -------
        counts : ndarray of float64, shape (n_nodes, n_classes)
            Weight of each class.
        rows : ndarray of int64, shape (n_nodes,)
            Number of rows.
        """
        reached = self.apply(sample.X, handle_unknown).astype(np.int64)
        cells = reached * self.n_classes + sample.y
        size = self.n_nodes * self.n_classes
        counts = np.bincount(cells, weights=sample.weight, minlength=size).astype(np.float64)
        counts = counts.reshape(self.n_nodes, self.n_classes)
        rows = np.bincount(reached, minlength=self.n_nodes).astype(np.int64)
        add_up(self.left, self.right, counts)
        add_up(self.left, self.right, rows[:, None])
        return counts, rows

    def predict(self, X: Matrix, handle_unknown: str | None = None) -> NDArray[Any]:
        """Predict the class label of each row.

        Parameters
        ----------
        X, handle_unknown
            See :meth:`apply`.
        """
        return self.values_at(self.classes[self.label], X, handle_unknown)

    # -- new trees from this one -----------------------------------------------------------

    def by_majority(self) -> Tree:
        """Return the tree that predicts the class of the largest mass at each node."""
        return replace(self, label=None)  # type: ignore[arg-type]  # from the counts

    def recounted(self, sample: Sample) -> Tree:
        """A tree with the same splits and the counts, rows and labels of a sample.

        Columns with missing values in the sample are marked as such.

        Parameters
        ----------
        sample : Sample
            Rows in the columns and classes of the tree.
        """
        # a tree has no rows that stop above its leaves
        policy = "other" if sample.X.handle_unknown == "stop" else sample.X.handle_unknown
        counts, rows = self.counts_on(sample, policy)
        return replace(
            self,
            columns=self._columns_with_missing(sample.columns),
            counts=counts,
            rows=rows,
            label=None,  # type: ignore[arg-type]  # from the counts
            factors=sample.factors,
            weighted=sample.weight is not None or sample.factors is not None,
            counted=True,
            names=None,
        )
