"""The structure of a tree as named arrays: checked when created, immutable."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from treebound._utils.arrays import Bools, Codes, Floats
from treebound._utils.frozen import set_fields
from treebound._utils.versions import checked_state, state_with_version
from treebound.data.columns import Column, landscape_of
from treebound.landscape import Landscape
from treebound.shapes import TreeShape
from treebound.tree import _structure, route
from treebound.tree._structure import collapsed, first_fault, sizes_and_depths

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from treebound.data import Matrix

# The fields of a leaf in place of a split.
NO_SPLIT = {"feature": -1, "threshold": np.nan, "category": -1, "missing_left": False, "names": -1}
# The fields of a split by the kind of its column; blank in the splits of other columns.
SPLIT_FIELDS = {"threshold": ("real", "ordinal"), "category": ("nominal",)}
# Relative tolerance for sums of weights that are not integers.
ROUNDING = 1e-9
_STRUCTURE = {
    "feature": np.int32, "threshold": np.float64, "category": np.int32, "missing_left": np.bool_,
    "left": np.int32, "right": np.int32, "rows": np.int64,
}  # fmt: skip


@dataclass(frozen=True, eq=False, kw_only=True)
class SplitArrays:
    """Splits as arrays, and the nodes that each of them leads to."""

    feature: Codes
    threshold: Floats
    category: Codes
    missing_left: Bools
    left: Codes
    right: Codes


@dataclass(frozen=True, eq=False, kw_only=True)
class BaseTree(SplitArrays, ABC):
    """The splits of a tree: a structure of arrays, one entry per node, in pre-order.

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
        Missing values go left. Learned if values were missing in training; otherwise they go to
        the larger child.
    left, right : ndarray of int32
        The children; -1 for a leaf.
    rows : ndarray of int64
        Number of training rows (of positive weight) at each node.
    columns : tuple of Column
        The input columns.
    weighted : bool
        The rows had weights.
    """

    rows: NDArray[np.int64]
    columns: tuple[Column, ...]
    weighted: bool = False
    # Derived: number of nodes in the subtree of each node, and its depth (0 for the root).
    size: NDArray[np.int32] = field(init=False, repr=False)
    node_depth: NDArray[np.int32] = field(init=False, repr=False)
    # The arrays with an entry for each node; those that may be None are not converted if they are.
    node_arrays: ClassVar[Mapping[str, Any]] = _STRUCTURE

    def _freeze(self) -> None:
        """Convert the arrays of the nodes to their types and make them read-only."""
        arrays = {
            name: frozen(values, dtype)
            for name, dtype in self.node_arrays.items()
            if (values := getattr(self, name)) is not None
        }
        set_fields(self, **arrays, columns=tuple(self.columns))

    def _check_structure(self, amounts: Floats, *, slack: float, amount: str) -> None:
        """Raise a ValueError if the arrays are inconsistent.

        ``amounts`` are non-negative and add up from the children, up to ``slack``; ``amount`` is
        the name of the field that they come from.
        """
        state, kind = vars(self), type(self).__name__
        lengths = {len(state[name]) for name in self.node_arrays if state[name] is not None}
        if len(self.feature) == 0 or len(lengths) > 1 or amounts.ndim != 2:
            raise ValueError(
                f"The arrays of a {kind} must have one entry for each node, at least 1."
            )
        sizes, depths, wrong = sizes_and_depths(self.left, self.right)
        set_fields(self, size=sizes, node_depth=depths)
        if wrong >= 0:
            raise ValueError(f"The nodes of a {kind} must be in pre-order. Node {wrong} is not.")
        fault, node = first_fault(self, route.records_of(self.columns), amounts, slack)
        if fault:
            raise ValueError(self._fault(fault, node, amount, amounts))

    def _fault(self, fault: str, node: int, amount: str, amounts: Floats) -> str:
        """Describe what is wrong with a node."""
        kind = type(self).__name__
        if fault == "feature":
            return (
                f"The 'feature' of node {node} of a {kind} must be a column from 0 to "
                f"{len(self.columns) - 1}. Got {self.feature[node]} instead."
            )
        if fault == "split":
            column = self.columns[self.feature[node]]
            return (
                f"Node {node} of a {kind} splits on column {column.name!r}: a nominal column needs "
                "one of its categories, any other a threshold."
            )
        if fault == "negative":
            return f"The {amount} of node {node} of a {kind} must be finite numbers >= 0."
        left, right = int(self.left[node]), int(self.right[node])
        values: NDArray[Any] = amounts
        if self.rows[node] != self.rows[left] + self.rows[right]:
            amount, values = "rows", self.rows
        return (
            f"The {amount} of the children of node {node} of a {kind} must add up to those of the "
            f"node, {values[node].tolist()}. "
            f"Got {values[left].tolist()} and {values[right].tolist()} instead."
        )

    def __getstate__(self) -> dict[str, Any]:
        return state_with_version(
            {
                attribute.name: getattr(self, attribute.name)
                for attribute in fields(self)
                if attribute.init
            }
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        set_fields(self, **checked_state(state))
        self.__post_init__()  # unpickled arrays are writeable

    @abstractmethod
    def __post_init__(self) -> None:
        """Check the arrays and make them read-only."""

    @property
    @abstractmethod
    def node_losses(self) -> Floats:
        """Training loss of each node as a leaf: what pruning weighs against leaves."""

    @property
    @abstractmethod
    def weight(self) -> Floats:
        """Weight of the training rows at each node."""

    @property
    def mass(self) -> Floats:
        """The weight of the training rows at each node, times the class weights if any."""
        return self.weight

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
            Path of an unknown category: right, like any other category; to the child with more
            training rows (left on ties); or nowhere, so that the row stays at the inner node. By
            default as the rows were read (``X.handle_unknown``).
        n_jobs : int, optional
            Number of threads; None means 1, -1 all processors.

        Returns
        -------
        ndarray of int32, shape (n_rows,)
        """
        return self.values_at(None, X, handle_unknown, n_jobs)

    def values_at(
        self,
        values: NDArray[Any] | None,
        X: Matrix,
        handle_unknown: str | None = None,
        n_jobs: int | None = None,
    ) -> NDArray[Any]:
        """The value of the node that each row reaches.

        Parameters
        ----------
        values : ndarray of shape (n_nodes,) or (n_nodes, ...), or None
            A value for each node; None for its index.
        X, handle_unknown, n_jobs
            See :meth:`apply`.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, ...)
        """
        unknown = X.handle_unknown if handle_unknown is None else handle_unknown
        return route.values_at(self, values, X, unknown, n_jobs)

    @cached_property
    def _splits(self) -> dict[str, NDArray[Any]]:
        """Cache of routing, by policy for unknown categories."""
        return {}

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

    def _columns_with_missing(self, columns: tuple[Column, ...]) -> tuple[Column, ...]:
        """The columns, marked as having missing values where those of a sample have.

        A nominal column is marked only if its missing values go right everywhere, as they do where
        missing is a category of its own: marking a column changes the path of no row.
        """
        if columns == self.columns:
            return self.columns
        sent_left = set(self.feature[self.missing_left & ~self.is_leaf].tolist())
        return tuple(
            column.with_missing(
                column.missing
                or (new.missing and not (column.kind == "nominal" and at in sent_left))
            )
            for at, (column, new) in enumerate(zip(self.columns, columns, strict=True))
        )

    def collapsed(self, nodes: NDArray[np.intp] | list[int]) -> Self:
        """Replace subtrees by leaves.

        Parameters
        ----------
        nodes : sequence of int
            Roots of the subtrees.
        """
        cuts = np.ascontiguousarray(nodes, dtype=np.intp)
        return arranged(self, *collapsed(self.left, self.right, self.size, cuts))


AnyTree = TypeVar("AnyTree", bound=BaseTree)


def nodes_left(tree: BaseTree, cuts: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the nodes that remain if some nodes become leaves, in pre-order."""
    return collapsed(tree.left, tree.right, tree.size, cuts)[0]


def standing_nodes(tree: BaseTree, cuts: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return for each node the one that stands for it if some nodes become leaves."""
    return _structure.standing_nodes(tree.size, np.ascontiguousarray(cuts, dtype=np.intp))


def topmost(tree: BaseTree, nodes: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the nodes that are below no other one of them, in pre-order."""
    left = nodes_left(tree, nodes)
    return left[np.isin(left, nodes)]


def rows_at_rest(tree: BaseTree, counts: NDArray[Any]) -> NDArray[Any]:
    """Return the counts of the rows that end at each node, from the counts of all its rows."""
    rest, inner = np.array(counts), ~tree.is_leaf
    rest[inner] -= rest[tree.left[inner]] + rest[tree.right[inner]]
    return rest


def arranged(
    tree: AnyTree, nodes: NDArray[Any], left: NDArray[Any], right: NDArray[Any], **changed: Any
) -> AnyTree:
    """Return some nodes of a tree, in pre-order, with other children; leaves lose their splits.

    Fields that change have an entry for each node of the old tree.
    """
    old = {**vars(tree), **changed}
    arrays = {name: old[name][nodes] for name in tree.node_arrays if old[name] is not None}
    for name, blank in NO_SPLIT.items():
        if name in arrays:
            arrays[name][left < 0] = blank
    return replace(tree, **{**changed, **arrays, "left": left, "right": right})


def frozen(values: Any, dtype: Any) -> NDArray[Any]:
    """Return a read-only array."""
    array = np.ascontiguousarray(values, dtype=dtype)
    if array.base is not None or array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return array
