"""Routing rows through a tree, and splits in the form that the kernel reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils._pool import threads_in_context
from treebound._utils.arrays import Codes
from treebound._utils.jobs import effective_jobs
from treebound._utils.validation import invalid
from treebound.data.matrix import MatrixPart
from treebound.tree._route import SPLIT, STEP, TYPES, route, set_steps, walk, walk_columns
from treebound.tree._structure import COLUMN

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from treebound.data import Column, Matrix
    from treebound.tree.base import BaseTree


# The policies for unknown categories that routing handles; reading handles the others.
ROUTED = ("other", "majority", "stop")
_NO_CODE = -1
_ROWS_A_THREAD = 10_000
_FEW_ROWS = 1000  # fewer are not worth the preparation of a walk of many together


def values_at(
    tree: BaseTree,
    values: NDArray[Any] | None,
    X: Matrix,
    handle_unknown: str = "other",
    n_jobs: int | None = None,
) -> NDArray[Any]:
    """The value of the node that each row reaches; see `BaseTree.values_at`."""
    if len(X.columns) != len(tree.columns):
        must = f"a Matrix of {len(tree.columns)} columns"
        raise invalid("X", "Tree.apply", must, len(X.columns))
    if handle_unknown not in ROUTED:
        must = f"one of {', '.join(map(repr, ROUTED))}"
        hint = "'missing' and 'error' take effect when a table is read."
        raise invalid("handle_unknown", "Tree.apply", must, handle_unknown, hint)
    if values is not None and values.dtype == object:
        return values.take(values_at(tree, None, X, handle_unknown, n_jobs), axis=0)
    if isinstance(X, MatrixPart):
        X = X.copied(_used(tree))
    shape, dtype = ((), np.int32) if values is None else (values.shape[1:], values.dtype)
    results = np.empty((X.n_rows, *shape), dtype=dtype)
    if tree.n_nodes == 1 or not X.n_rows:
        X.checked()
        results[:] = 0 if values is None else values[0]
        return results
    few = X.n_rows < _FEW_ROWS and "steps" not in tree._splits
    unknown = X.dense is None and handle_unknown != "other" and _any_unknown(tree, X)
    if not unknown and not (few and X.dense is not None):
        _walk(tree, X, _bytes(values), _bytes(results), _jobs(n_jobs))
        return results
    reached = np.empty(X.n_rows, dtype=np.int32)
    route(float_rows(tree, X.checked()), splits(tree, handle_unknown), reached)
    return reached if values is None else values.take(reached, axis=0)


def _jobs(n_jobs: int | None) -> int:
    """Return the number of threads; by default, inside a fit, those of the fit."""
    return max(effective_jobs(n_jobs), threads_in_context() if n_jobs is None else 1)


def _bytes(values: NDArray[Any] | None) -> NDArray[np.uint8] | None:
    """The bytes of each value."""
    if values is None:
        return None
    return np.ascontiguousarray(values).view(np.uint8).reshape(len(values), -1)


def _used(tree: BaseTree) -> Codes:
    """The columns of the splits."""
    return np.unique(tree.feature[tree.feature >= 0])


def _walk(
    tree: BaseTree, X: Matrix, values: NDArray[np.uint8] | None, results: Any, jobs: int
) -> None:
    """Route many rows, and write the bytes of their results."""
    jobs = max(1, min(jobs, X.n_rows // _ROWS_A_THREAD))
    if X.dense is not None:
        check = bool(X.unchecked)
        if not walk(X.dense, _steps(tree), values, results, X.complete, check, jobs):
            X.checked()  # some are missing: raises an error if others are infinite
        return
    steps, used = _steps(tree).copy(), _used(tree)
    steps["column"] = np.searchsorted(used, steps["column"])  # among those that are used
    walk_columns([_plain(X.values[at]) for at in used.tolist()], steps, values, results, jobs)


def _plain(values: NDArray[Any]) -> NDArray[Any]:
    """Values in a type that the kernel reads."""
    if values.dtype in TYPES and values.flags.aligned:
        return values
    return values.astype(np.int32 if values.dtype.kind in "iub" else np.float64)


def _any_unknown(tree: BaseTree, X: Matrix) -> bool:
    codes = (X.values[at] for at in _used(tree).tolist())
    return any(c.dtype.kind != "f" and c.size and bool(c.min() < -1) for c in codes)


def _steps(tree: BaseTree) -> NDArray[np.void]:
    """The nodes in the layout of ``_walk.h``, siblings next to each other."""
    if "steps" in tree._splits:
        return tree._splits["steps"]
    steps = np.empty(tree.n_nodes, dtype=STEP)
    low, high, missing_left = None, tree.threshold, tree.missing_left.view(np.uint8)
    if any(column.kind != "real" for column in tree.columns):
        records = splits(tree, "other")
        low, high = np.maximum(records["low"], records["least"]), records["high"].copy()
        missing_left = (records["missing"] != 0).astype(np.uint8)
    set_steps(steps, tree.left, tree.right, tree.feature, low, high, missing_left)
    tree._splits["steps"] = steps
    return steps


def float_rows(tree: BaseTree, X: Matrix) -> NDArray[np.floating]:
    """The columns that the tree uses as one float array: NaN is missing, -2 unknown."""
    if X.dense is not None:
        return X.dense
    rows = np.empty((X.n_rows, len(X.columns)), order="F")
    for at in _used(tree).tolist():
        column = X.values[at]
        rows[:, at] = column
        if column.dtype.kind != "f":
            rows[column == -1, at] = np.nan
    return rows


def decision_path(tree: BaseTree, X: Matrix, handle_unknown: str = "other") -> csr_matrix:
    """The nodes on the path of each row; see `Tree.decision_path`."""
    from scipy.sparse import csr_matrix

    paths: list[list[int]] = []
    for node, parent in enumerate(parents(tree).tolist()):
        paths.append([*paths[parent], node] if node else [0])
    ends = np.concatenate([[0], np.cumsum(tree.node_depth + 1)])
    nodes = np.concatenate(paths)
    to_nodes = csr_matrix((np.ones_like(nodes), nodes, ends), shape=(len(paths), len(paths)))
    return to_nodes[values_at(tree, None, X, handle_unknown)]


def path_to(tree: BaseTree, node: int) -> list[int]:
    """The nodes from the root to a node, both included."""
    parent, way = parents(tree), [node]
    while way[-1]:
        way.append(int(parent[way[-1]]))
    return way[::-1]


def parents(tree: BaseTree) -> Codes:
    """The parent of each node, -1 for the root."""
    parent = np.full(tree.n_nodes, -1, dtype=np.int32)
    inner = np.flatnonzero(~tree.is_leaf)
    parent[tree.left[inner]] = inner
    parent[tree.right[inner]] = inner
    return parent


def splits(tree: BaseTree, handle_unknown: str = "other") -> NDArray[np.void]:
    """The splits of all nodes, with the sides of missing and unknown values filled in."""
    if handle_unknown in tree._splits:
        return tree._splits[handle_unknown]
    records = np.zeros(tree.n_nodes, dtype=SPLIT)
    records["column"], records["high"], records["missing"] = (
        tree.feature, tree.threshold, tree.missing_left,
    )  # fmt: skip
    children = records["child"]
    children[:, 0], children[:, 1], children[:, 2] = tree.right, tree.left, np.arange(tree.n_nodes)
    records["low"] = records["least"] = -np.inf
    if any(column.kind != "real" for column in tree.columns):
        column = records_of(tree.columns)[tree.feature]
        nominal = np.flatnonzero(column["nominal"])
        codes = tree.category[nominal]
        records["low"][nominal] = records["high"][nominal] = codes
        records["least"][column["real"] == 0] = 0.0
        own_code = column["missing"][nominal]
        as_category = own_code != _NO_CODE
        records["missing"][nominal[as_category]] = (codes == own_code)[as_category]
    if handle_unknown == "majority":
        records["unknown"] = tree.weight[tree.left] >= tree.weight[tree.right]
    else:
        records["unknown"] = 2 if handle_unknown == "stop" else 0
    tree._splits[handle_unknown] = records
    return records


# Records of recent columns: many trees share their columns. A cache, which changes no result.
_recent: dict[int, tuple[tuple[Column, ...], NDArray[np.void]]] = {}


def records_of(columns: tuple[Column, ...]) -> NDArray[np.void]:
    """Return columns in the form that the kernel reads."""
    cached = _recent.get(id(columns))
    if cached is not None and cached[0] is columns:
        return cached[1]
    records = np.zeros(max(len(columns), 1), dtype=COLUMN)
    for at, column in enumerate(columns):
        # missing training values of a nominal column have the code after the last category
        size = len(column.categories or ())
        last = size if column.missing else _NO_CODE
        kind = column.kind
        records[at] = kind == "real", kind == "nominal", size + column.missing, last
    if len(_recent) > 32:
        _recent.clear()
    _recent[id(columns)] = columns, records
    return records
