"""Routing rows through a tree, and splits in the form that the kernel reads."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from treebound._utils._pool import each, threads_in_context
from treebound._utils.arrays import Codes
from treebound._utils.jobs import effective_jobs
from treebound._utils.validation import invalid
from treebound.data.matrix import MatrixPart
from treebound.tree._route import SPLIT, STEP, route, walk
from treebound.tree._structure import COLUMN

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from treebound.data import Column, Matrix
    from treebound.tree.base import BaseTree


# The policies for unknown categories that routing handles; reading handles the others.
ROUTED = ("other", "majority", "stop")
_NO_CODE = -1
_ROWS_A_THREAD = 20_000
_FEW_ROWS = 1000  # fewer are not worth the preparation of a walk of many together
_BLOCK = 8192  # rows of mixed columns copied into one array at a time


def apply(
    tree: BaseTree, X: Matrix, handle_unknown: str = "other", n_jobs: int | None = None
) -> Codes:
    """The node that each row reaches; see `Tree.apply`."""
    if len(X.columns) != len(tree.columns):
        must = f"a Matrix of {len(tree.columns)} columns"
        raise invalid("X", "Tree.apply", must, len(X.columns))
    if handle_unknown not in ROUTED:
        must = f"one of {', '.join(map(repr, ROUTED))}"
        hint = "'missing' and 'error' take effect when a table is read."
        raise invalid("handle_unknown", "Tree.apply", must, handle_unknown, hint)
    if tree.n_nodes == 1:
        return np.zeros(X.n_rows, dtype=np.int32)
    if isinstance(X, MatrixPart):
        X = X.copied(_used(tree))
    reached = np.empty(X.n_rows, dtype=np.int32)
    few = X.n_rows < _FEW_ROWS and "steps" not in tree._splits
    if X.dense is None and handle_unknown != "other" and _any_unknown(tree, X):
        route(float_rows(tree, X), splits(tree, handle_unknown), reached)
    elif few and X.dense is not None:
        route(X.dense, splits(tree), reached)
    elif X.n_rows < 2 * _ROWS_A_THREAD or (jobs := _jobs(n_jobs)) == 1:
        _walk_rows(tree, X, reached, 0, X.n_rows)
    else:
        parts = min(4 * jobs, X.n_rows // _ROWS_A_THREAD + 1)  # some threads are faster than others
        ends = np.linspace(0, X.n_rows, parts + 1).astype(int).tolist()
        each(lambda span: _walk_rows(tree, X, reached, *span), pairwise(ends), jobs)
    return reached


def _jobs(n_jobs: int | None) -> int:
    """Return the number of threads; by default, inside a fit, those of the fit."""
    return max(effective_jobs(n_jobs), threads_in_context() if n_jobs is None else 1)


def _used(tree: BaseTree) -> Codes:
    """The columns of the splits."""
    return np.unique(tree.feature[tree.feature >= 0])


def _walk_rows(tree: BaseTree, X: Matrix, reached: Codes, start: int, stop: int) -> None:
    """Route the rows from start to stop; mixed columns are copied block by block."""
    if X.dense is not None:
        rows = X.dense[start:stop]
        complete = X.complete and rows.flags.c_contiguous
        walk(rows, _steps(tree), reached[start:stop], False, complete)
        return
    steps, used = _steps(tree).copy(), _used(tree)
    steps["column"] = np.searchsorted(used, steps["column"])  # among those that are used
    columns = [X.values[at] for at in used.tolist()]
    side_by_side = np.empty((min(_BLOCK, stop - start), len(columns)))
    for first in range(start, stop, _BLOCK):
        last = min(first + _BLOCK, stop)
        rows = side_by_side[: last - first]
        for at, column in enumerate(columns):
            values = column[first:last]
            rows[:, at] = values
            if values.dtype.kind != "f" and values.size and values.min() < 0:
                rows[values == -1, at] = np.nan
        walk(rows, steps, reached[first:last], True, False)


def _any_unknown(tree: BaseTree, X: Matrix) -> bool:
    codes = (X.values[at] for at in _used(tree).tolist())
    return any(c.dtype.kind != "f" and c.size and bool(c.min() < -1) for c in codes)


def _steps(tree: BaseTree) -> NDArray[np.void]:
    """The nodes in the layout of ``_walk.h``, siblings next to each other."""
    if "steps" in tree._splits:
        return tree._splits["steps"]
    records = splits(tree, "other")
    inner = np.flatnonzero(~tree.is_leaf)
    place = np.zeros(tree.n_nodes, dtype=np.int32)
    place[tree.left[inner]] = 1 + 2 * np.arange(len(inner))
    place[tree.right[inner]] = 2 + 2 * np.arange(len(inner))
    steps = np.zeros(tree.n_nodes, dtype=STEP)
    steps["id"][place] = np.arange(tree.n_nodes)
    # a leaf is its own child and accepts any value
    steps["low"], steps["high"], steps["child"] = -np.inf, np.inf, np.arange(tree.n_nodes)
    steps["column"] = tree.feature[inner[0]]
    at = place[inner]
    steps["low"][at] = np.maximum(records["low"][inner], records["least"][inner])
    steps["high"][at] = records["high"][inner]
    steps["column"][at] = tree.feature[inner]
    steps["child"][at] = place[tree.left[inner]]
    steps["missing"][at] = records["missing"][inner] == 0
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
    return to_nodes[apply(tree, X, handle_unknown)]


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
