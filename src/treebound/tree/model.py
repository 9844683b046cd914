"""The learned object: a tree as named arrays, never changed in place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treebound.landscape import Landscape
from treebound.shapes import TreeShape
from treebound.tree import route
from treebound.tree.columns import Column, landscape_of

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["Tree"]


@dataclass(frozen=True, eq=False)
class Tree:
    """A decision tree: a structure of arrays, one entry a node, in pre-order.

    Node 0 is the root; the left child of an inner node ``i`` is ``i + 1`` and its subtree is the
    contiguous slice ``i : i + size[i]``, so a bottom-up pass is a plain reversed loop.
    An example goes left when ``x <= threshold`` (real and ordinal columns; an ordinal value is the
    rank of its category) or ``x == category`` (nominal columns).

    Attributes
    ----------
    feature : ndarray of int32
        Column tested by the node; -1 for a leaf.
    threshold : ndarray of float64
        Threshold of a real or ordinal test; NaN elsewhere.
    category : ndarray of int32
        Category code of a nominal test; -1 elsewhere. In a column with missing values the code
        ``len(categories)`` stands for missing.
    missing_left : ndarray of bool
        Where a missing value goes. Learned where values were missing in training, else towards
        the larger child.
    left, right : ndarray of int32
        The children; -1 for a leaf.
    counts : ndarray of float64, shape (n_nodes, n_classes)
        Weight of the training examples of each class that reach each node.
    rows : ndarray of int64
        Number of training rows (of positive weight) that reach each node.
    label : ndarray of int32
        The answer of each node, an index into ``classes``: the class with the greatest count, the
        first one of a tie, unless a pruner counted errors by cost.
    columns : tuple of Column
        What the tree knows of its input columns.
    classes : ndarray
        The class labels, sorted.
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

    def __post_init__(self) -> None:
        dtypes = {
            "feature": np.int32, "threshold": np.float64, "category": np.int32,
            "missing_left": np.bool_, "left": np.int32, "right": np.int32,
            "counts": np.float64, "rows": np.int64,
        }  # fmt: skip
        for name, dtype in dtypes.items():
            self._freeze(name, np.ascontiguousarray(getattr(self, name), dtype=dtype))
        label = self.counts.argmax(axis=1) if self.label is None else self.label
        self._freeze("label", np.ascontiguousarray(label, dtype=np.int32))
        self._freeze("classes", np.array(self.classes))
        object.__setattr__(self, "columns", tuple(self.columns))

    def _freeze(self, name: str, array: NDArray[Any]) -> None:
        array = array if array.base is None and not array.flags.writeable else array.view()
        array.flags.writeable = False
        object.__setattr__(self, name, array)

    def __getstate__(self) -> dict[str, Any]:
        return {item.name: getattr(self, item.name) for item in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.__post_init__()  # arrays that were stored come back writeable

    # -- size and form ---------------------------------------------------------------------

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
        return self.counts.shape[1]

    @property
    def is_leaf(self) -> NDArray[np.bool_]:
        """Which nodes are leaves."""
        return self.left < 0

    @property
    def leaves(self) -> NDArray[np.intp]:
        """The leaf nodes, from left to right."""
        return np.flatnonzero(self.is_leaf)

    @cached_property
    def depth(self) -> NDArray[np.int32]:
        """Depth of every node; the root has 0."""
        depth = np.zeros(self.n_nodes, dtype=np.int32)
        for node in np.flatnonzero(~self.is_leaf):
            depth[self.left[node]] = depth[self.right[node]] = depth[node] + 1
        return depth

    @property
    def height(self) -> int:
        """Longest path from the root to a leaf."""
        return int(self.depth.max())

    @cached_property
    def size(self) -> NDArray[np.int32]:
        """Number of nodes in the subtree of every node."""
        size = np.ones(self.n_nodes, dtype=np.int32)
        left, right = self.left.tolist(), self.right.tolist()
        for node in range(self.n_nodes - 1, -1, -1):
            if left[node] >= 0:
                size[node] += size[left[node]] + size[right[node]]
        return size

    @cached_property
    def shape(self) -> TreeShape:
        """The unordered shape of the tree."""
        return self.subtree_shapes()[0]

    def subtree_shapes(self) -> list[TreeShape]:
        """The shape of the subtree at every node."""
        shapes = [TreeShape.leaf()] * self.n_nodes
        for node in np.flatnonzero(~self.is_leaf)[::-1].tolist():
            shapes[node] = TreeShape.node(shapes[self.left[node]], shapes[self.right[node]])
        return shapes

    @cached_property
    def landscape(self) -> Landscape:
        """The landscape of the columns; undeclared categories count as unbounded."""
        return landscape_of(self.columns)

    # -- training counts -------------------------------------------------------------------

    @cached_property
    def weight(self) -> NDArray[np.float64]:
        """Weight of the training examples that reach every node; ``weight[0]`` is m."""
        return self.counts.sum(axis=1)

    @cached_property
    def node_errors(self) -> NDArray[np.float64]:
        """Weight of the training examples that every node, as a leaf, would get wrong."""
        return self.weight - self.counts[np.arange(self.n_nodes), self.label]

    @property
    def errors(self) -> float:
        """Weight of the training examples that the tree gets wrong."""
        return float(self.node_errors[self.is_leaf].sum())

    # -- rows of an encoded matrix -----------------------------------------------------------

    def apply(self, X: NDArray[np.float64], unknown: str = "majority") -> NDArray[np.int32]:
        """The node that every row of an encoded matrix reaches.

        Parameters
        ----------
        X : ndarray of float64 or float32, shape (n_rows, n_columns)
            Values of real columns, category codes of the others; NaN is missing, -1 in an ordinal
            or nominal column a category that the tree does not know.
        unknown : {"majority", "stop"}
            An unknown category goes to the child with more training weight (left on a tie), or
            stays at the node that asks for it, which then is not a leaf.
        """
        return route.apply(self, X, unknown)

    @cached_property
    def _tests(self) -> dict[str, NDArray[np.void]]:
        """What routing has prepared, for each rule about unknown categories."""
        return {}

    def predict_codes(self, X: NDArray[np.float64], unknown: str = "majority") -> NDArray[np.int32]:
        """The answer for every row of an encoded matrix, an index into ``classes``."""
        return self.label[self.apply(X, unknown)]

    def decision_path(self, X: NDArray[np.float64], unknown: str = "majority") -> csr_matrix:
        """Which nodes every row of an encoded matrix passes: an indicator (n_rows, n_nodes)."""
        return route.decision_path(self, X, unknown)

    def recounted(
        self, X: NDArray[np.float64], y: NDArray[Any], sample_weight: ArrayLike | None = None
    ) -> Tree:
        """The same tests, with counts, rows and labels of other data.

        Parameters
        ----------
        X : ndarray of float64, shape (n_rows, n_columns)
            An encoded matrix.
        y : ndarray of int, shape (n_rows,)
            Codes into ``classes``.
        sample_weight : array-like of shape (n_rows,), optional
        """
        return route.recounted(self, X, y, sample_weight)

    # -- new trees from this one -----------------------------------------------------------

    def preorder(self) -> Iterator[int]:
        """The nodes in pre-order: simply 0, 1, 2, ..."""
        return iter(range(self.n_nodes))

    def collapsed(self, nodes: NDArray[np.intp] | list[int]) -> Tree:
        """The tree with the subtree of each of ``nodes`` replaced by a leaf."""
        cut = np.zeros(self.n_nodes, dtype=bool)
        cut[np.asarray(nodes, dtype=np.intp)] = True
        keep = np.ones(self.n_nodes, dtype=bool)
        for node in np.flatnonzero(cut):
            keep[node + 1 : node + self.size[node]] = False
        return self._select(keep, cut)

    def _select(self, keep: NDArray[np.bool_], cut: NDArray[np.bool_]) -> Tree:
        """Keep some nodes; the kept ones that are ``cut`` become leaves."""
        new = np.cumsum(keep) - 1
        inner = keep & ~cut & ~self.is_leaf

        def child(link: NDArray[np.int32]) -> NDArray[np.int32]:
            return np.where(inner, new[link], -1)[keep].astype(np.int32)

        def field_of(values: NDArray[Any], blank: Any) -> NDArray[Any]:
            return np.where(inner, values, blank)[keep]

        return Tree(
            feature=field_of(self.feature, -1),
            threshold=field_of(self.threshold, np.nan),
            category=field_of(self.category, -1),
            missing_left=field_of(self.missing_left, False),
            left=child(self.left),
            right=child(self.right),
            counts=self.counts[keep],
            rows=self.rows[keep],
            label=self.label[keep],
            columns=self.columns,
            classes=self.classes,
        )
