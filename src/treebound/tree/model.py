"""A tree as named arrays: checked when created, immutable."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils.versions import checked_state, state_with_version
from treebound.data.columns import Column, landscape_of
from treebound.data.weights import heaviest
from treebound.landscape import Landscape
from treebound.shapes import TreeShape
from treebound.tree import route
from treebound.tree._structure import add_up, collapsed, first_fault, sizes_and_depths
from treebound.tree.monotone import Monotone

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from treebound.data import Matrix, Sample

_DTYPES = {
    "feature": np.int32, "threshold": np.float64, "category": np.int32, "missing_left": np.bool_,
    "left": np.int32, "right": np.int32, "counts": np.float64, "rows": np.int64,
}  # fmt: skip
# What a leaf has in place of a split.
NO_SPLIT = {"feature": -1, "threshold": np.nan, "category": -1, "missing_left": False, "names": -1}
# What a split is made of, by the kind of its column; blank in the splits of other columns.
SPLIT_FIELDS = {"threshold": ("real", "ordinal"), "category": ("nominal",)}
# Relative tolerance for sums of weights that are not integers.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Tree:
    """A decision tree: a structure of arrays, one entry per node, in pre-order.

    Node 0 is the root; the left child of an inner node ``i`` is ``i + 1`` and its subtree is the
    contiguous slice ``i : i + size[i]``, so a bottom-up pass is a plain reversed loop.
    An example goes left when ``x <= threshold`` (real and ordinal columns; an ordinal value is the
    rank of its category) or ``x == category`` (nominal columns).

    Attributes
    ----------
    feature : ndarray of int32
        Column that the node splits on; -1 for a leaf.
    threshold : ndarray of float64
        Threshold of a real or ordinal split; NaN elsewhere.
    category : ndarray of int32
        Category code of a nominal split; -1 elsewhere. In a column with missing values the code
        ``len(categories)`` stands for missing.
    missing_left : ndarray of bool
        Whether missing values go left. Learned if values were missing in training; otherwise
        they go to the larger child.
    left, right : ndarray of int32
        The children; -1 for a leaf.
    counts : ndarray of float64, shape (n_nodes, n_classes)
        Sample weight of the training rows of each class at each node.
    rows : ndarray of int64
        Number of training rows (of positive weight) at each node.
    label : ndarray of int32
        The class of each node, an index into ``classes``: the class of the largest mass, the
        first one on ties, unless costs, shrunk probabilities or someone chose another.
    columns : tuple of Column
        The input columns.
    classes : ndarray
        The class labels, sorted.
    weighted : bool
        Whether the rows had weights.
    counted : bool
        Whether counts, rows and labels come from one sample. False after a subtree was raised
        without a sample to recount; such a tree predicts, but has no certificate.
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

    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    category: NDArray[np.int32]
    missing_left: NDArray[np.bool_]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    counts: NDArray[np.float64]
    rows: NDArray[np.int64]
    columns: tuple[Column, ...]
    classes: NDArray[Any]
    label: NDArray[np.int32] = field(default=None)  # type: ignore[arg-type]
    weighted: bool = False
    counted: bool = True
    names: NDArray[np.int64] | None = None
    factors: NDArray[np.float64] | None = None
    monotone: Monotone | None = None
    # Derived: number of nodes in the subtree of each node, and its depth (0 for the root).
    size: NDArray[np.int32] = field(init=False, repr=False)
    node_depth: NDArray[np.int32] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        state = vars(self)  # how a frozen dataclass can set its fields
        for name, dtype in _DTYPES.items():
            state[name] = _frozen(state[name], dtype)
        if self.factors is not None:
            state["factors"] = _frozen(self.factors, np.float64)
        by_counts = self.label is None
        label = self.label
        if by_counts:
            label = heaviest(self.masses) if self.weighted else self.counts.argmax(axis=1)
        state["label"] = _frozen(label, np.int32)
        state["classes"] = _frozen(np.array(self.classes), None)
        if self.names is not None:
            state["names"] = _frozen(self.names, np.int64)
        state["columns"] = tuple(self.columns)
        self._check()
        if by_counts and self.monotone is not None:
            state["label"] = _frozen(self.monotone.labels(self, self.label), np.int32)

    def _check(self) -> None:
        """Raise a ValueError if the arrays are inconsistent."""
        n, n_classes = len(self.feature), len(self.classes)
        state = vars(self)
        lengths = {len(state[name]) for name in _DTYPES} | {len(self.label)}
        if n == 0 or len(lengths) > 1 or self.counts.ndim != 2:
            raise ValueError("The arrays of a Tree must have one entry for each node, at least 1.")
        if self.counts.shape[1] != n_classes or not n_classes:
            raise ValueError(
                f"The 'counts' of a Tree must have a column for each of the {n_classes} classes. "
                f"Got shape {self.counts.shape} instead."
            )
        state["size"], state["node_depth"], wrong = sizes_and_depths(self.left, self.right)
        if wrong >= 0:
            raise ValueError(f"The nodes of a Tree must be in pre-order. Node {wrong} is not.")
        order = self.monotone
        if order is not None and (
            len(order.signs) != len(self.columns) or sorted(order.order) != list(range(n_classes))
        ):
            raise ValueError(
                "The 'monotone' of a Tree must have a sign for each column and order all classes. "
                f"Got {order} instead."
            )
        rounded = self.weighted or not self.counted
        slack = _ROUNDING * float(self.counts[0].sum()) if rounded else 0.0
        fault, node = first_fault(self, route.records_of(self.columns), slack)
        if fault:
            raise ValueError(self._fault(fault, node))

    def _fault(self, fault: str, node: int) -> str:
        """Describe what is wrong with a node."""
        if fault in ("label", "feature"):
            last = len(self.classes if fault == "label" else self.columns) - 1
            what = f"a {'class' if fault == 'label' else 'column'} from 0 to {last}"
            return (
                f"The {fault!r} of node {node} of a Tree must be {what}. "
                f"Got {vars(self)[fault][node]} instead."
            )
        if fault == "split":
            column = self.columns[self.feature[node]]
            return (
                f"Node {node} of a Tree splits on column {column.name!r}: a nominal column needs "
                "one of its categories, any other a threshold."
            )
        if fault == "negative":
            return f"The counts of node {node} of a Tree must be finite numbers >= 0."
        left, right = int(self.left[node]), int(self.right[node])
        of_rows = self.rows[node] != self.rows[left] + self.rows[right]
        what, held = ("rows", self.rows) if of_rows else ("counts", self.counts)
        return (
            f"The {what} of the children of node {node} of a Tree must add up to its own, "
            f"{held[node].tolist()}. Got {held[left].tolist()} and {held[right].tolist()} instead."
        )

    def __repr__(self) -> str:
        leaves = "1 leaf" if self.n_leaves == 1 else f"{self.n_leaves} leaves"
        return (
            f"<Tree: {leaves}, depth {self.depth}, {len(self.columns)} columns, "
            f"{self.n_classes} classes>"
        )

    def __getstate__(self) -> dict[str, Any]:
        return state_with_version(
            {own.name: getattr(self, own.name) for own in fields(self) if own.init}
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(checked_state(state))
        self.__post_init__()  # unpickled arrays are writeable

    # -- size and shape --------------------------------------------------------------------

    @property
    def n_nodes(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.feature)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return (self.n_nodes + 1) // 2

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.counts.shape[1])

    @property
    def is_leaf(self) -> NDArray[np.bool_]:
        """Mask of the leaves."""
        return self.left < 0

    @property
    def leaves(self) -> NDArray[np.intp]:
        """Indices of the leaves, from left to right."""
        return np.flatnonzero(self.is_leaf)

    @property
    def depth(self) -> int:
        """Length of the longest path from the root to a leaf."""
        return int(self.node_depth.max())

    @cached_property
    def shape(self) -> TreeShape:
        """The unordered shape of the tree."""
        shapes = [TreeShape.leaf()] * self.n_nodes
        for node in np.flatnonzero(~self.is_leaf)[::-1].tolist():
            shapes[node] = TreeShape.node(shapes[self.left[node]], shapes[self.right[node]])
        return shapes[0]

    @cached_property
    def landscape(self) -> Landscape:
        """The landscape of the columns; undeclared categories count as unbounded."""
        return landscape_of(self.columns)

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

    def apply(
        self, X: Matrix, handle_unknown: str | None = None, n_jobs: int | None = None
    ) -> NDArray[np.int32]:
        """The node that each row reaches.

        Parameters
        ----------
        X : Matrix
            Rows in the columns of the tree.
        handle_unknown : {"other", "majority", "stop"}, optional
            Where an unknown category goes: right, like any other category; to the child with more
            training rows (left on ties); or nowhere, so that the row stays at the inner node. By
            default as the rows were read (``X.handle_unknown``).
        n_jobs : int, optional
            Number of threads; None means 1, -1 all processors.

        Returns
        -------
        ndarray of int32, shape (n_rows,)
        """
        return route.apply(
            self, X, X.handle_unknown if handle_unknown is None else handle_unknown, n_jobs
        )

    @cached_property
    def _splits(self) -> dict[str, NDArray[Any]]:
        """Cache of routing, by policy for unknown categories."""
        return {}

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
        return self.classes[self.label][self.apply(X, handle_unknown)]

    def decision_path(self, X: Matrix, handle_unknown: str | None = None) -> csr_matrix:
        """The nodes on the path of each row.

        Parameters
        ----------
        X, handle_unknown
            See :meth:`apply`.

        Returns
        -------
        csr_matrix of shape (n_rows, n_nodes)
        """
        return route.decision_path(
            self, X, X.handle_unknown if handle_unknown is None else handle_unknown
        )

    # -- new trees from this one -----------------------------------------------------------

    def by_majority(self) -> Tree:
        """The tree that answers the class of the largest mass at each node."""
        return replace(self, label=None)  # type: ignore[arg-type]  # from the counts

    def recounted(self, sample: Sample) -> Tree:
        """A tree with the same splits and the counts, rows and labels of a sample.

        Parameters
        ----------
        sample : Sample
            Rows in the columns and classes of the tree.

        Returns
        -------
        Tree
            Columns with missing values in the sample are marked as such.
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

    def _columns_with_missing(self, columns: tuple[Column, ...]) -> tuple[Column, ...]:
        """The columns, marked as having missing values where those of a sample have.

        A nominal column is marked only if its missing values go right everywhere, as they do where
        missing is a category of its own: marking a column changes the path of no row.
        """
        if columns == self.columns:
            return self.columns
        beside = set(self.feature[self.missing_left & ~self.is_leaf].tolist())
        return tuple(
            own.with_missing(
                own.missing or (new.missing and not (own.kind == "nominal" and at in beside))
            )
            for at, (own, new) in enumerate(zip(self.columns, columns, strict=True))
        )

    def collapsed(self, nodes: NDArray[np.intp] | list[int]) -> Tree:
        """Replace subtrees by leaves.

        Parameters
        ----------
        nodes : sequence of int
            Roots of the subtrees.
        """
        cuts = np.ascontiguousarray(nodes, dtype=np.intp)
        return arranged(self, *collapsed(self.left, self.right, self.size, cuts))


def nodes_left(tree: Tree, cuts: NDArray[np.intp]) -> NDArray[np.intp]:
    """The nodes that are left where others become leaves, in pre-order."""
    return collapsed(tree.left, tree.right, tree.size, cuts)[0]


def topmost(tree: Tree, nodes: NDArray[np.intp]) -> NDArray[np.intp]:
    """Those of some nodes that are below none of the others, in pre-order."""
    left = nodes_left(tree, nodes)
    return left[np.isin(left, nodes)]


def rows_at_rest(tree: Tree, counts: NDArray[Any]) -> NDArray[Any]:
    """The counts of the rows that end at each node, of those that come to it."""
    rest, inner = np.array(counts), ~tree.is_leaf
    rest[inner] -= rest[tree.left[inner]] + rest[tree.right[inner]]
    return rest


def arranged(
    tree: Tree, nodes: NDArray[Any], left: NDArray[Any], right: NDArray[Any], **changed: Any
) -> Tree:
    """Some nodes of a tree, in pre-order, with other children; leaves lose their splits.

    Fields that change have an entry for each node of the old tree.
    """
    old = {**vars(tree), **changed}
    fields = {
        name: old[name][nodes] for name in (*_DTYPES, "label", "names") if old[name] is not None
    }
    for name, blank in NO_SPLIT.items():
        if name in fields:
            fields[name][left < 0] = blank
    return replace(tree, **{**changed, **fields, "left": left, "right": right})


def _frozen(values: Any, dtype: Any) -> NDArray[Any]:
    """A read-only array."""
    array = np.ascontiguousarray(values, dtype=dtype)
    if array.base is not None or array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return array
