"""A tree's arrays as plain JSON values, and back again, checked.

The arrays are written as they are, one list a field. In pre-order the pattern of leaves alone fixes
the whole form, so the links are redundant: they are written for the reader and must agree with that
pattern when read, which rules out cycles, orphans and missing children in one linear pass.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound.data import Column
from treebound.exchange.errors import FormatError
from treebound.tree import Tree

__all__ = ["MAX_NODES", "nodes_from_json", "nodes_to_json"]

MAX_NODES = 20_000_000
_FIELDS = (
    "feature", "threshold", "category", "missing_left", "left", "right", "counts", "rows", "label",
)  # fmt: skip


def nodes_to_json(tree: Tree) -> dict[str, list[Any]]:
    """The node arrays of a tree as lists: null for none, "inf" for an infinite threshold."""

    def threshold(value: float) -> float | str | None:
        if math.isnan(value):
            return None
        return "inf" if math.isinf(value) else value

    return {
        "feature": tree.feature.tolist(),
        "threshold": [threshold(value) for value in tree.threshold.tolist()],
        "category": tree.category.tolist(),
        "missing_left": tree.missing_left.tolist(),
        "left": tree.left.tolist(),
        "right": tree.right.tolist(),
        "counts": [[_plain(count) for count in row] for row in tree.counts.tolist()],
        "rows": tree.rows.tolist(),
        "label": tree.label.tolist(),
    }


def nodes_from_json(
    nodes: Any, columns: tuple[Column, ...], classes: NDArray[Any], where: str = "nodes"
) -> Tree:
    """Read and check node arrays.

    Raises
    ------
    FormatError
        Naming the path of the first thing that is wrong.
    """
    if not isinstance(nodes, dict):
        raise FormatError(where, f"must be an object, found {_kind(nodes)}")
    for name in _FIELDS:
        if not isinstance(nodes.get(name), list):
            raise FormatError(f"{where}.{name}", f"must be a list, found {_kind(nodes.get(name))}")
    for name in nodes:
        if name not in _FIELDS:
            raise FormatError(f"{where}.{name}", "is not a field of version 1")
    size = len(nodes["feature"])
    if not 1 <= size <= MAX_NODES:
        raise FormatError(f"{where}.feature", f"must have 1 to {MAX_NODES} entries, found {size}")
    for name in _FIELDS:
        if len(nodes[name]) != size:
            raise FormatError(
                f"{where}.{name}",
                f"must have one entry for each of the {size} nodes, found {len(nodes[name])}",
            )
    feature = _integers(nodes["feature"], f"{where}.feature", -1, len(columns) - 1)
    left, right = _links(feature, nodes, where)
    counts = _counts(nodes["counts"], len(classes), f"{where}.counts")
    rows = _integers(nodes["rows"], f"{where}.rows", 0, 2**62)
    fields: dict[str, Any] = {
        "threshold": _thresholds(nodes["threshold"], feature, columns, f"{where}.threshold"),
        "category": _categories(nodes["category"], feature, columns, f"{where}.category"),
        "missing_left": _booleans(nodes["missing_left"], f"{where}.missing_left"),
        "label": _integers(nodes["label"], f"{where}.label", 0, len(classes) - 1),
        "weighted": bool((counts.sum(axis=1) != rows).any()),
    }
    try:
        return Tree(
            feature=feature.astype(np.int32), left=left, right=right, counts=counts, rows=rows,
            columns=columns, classes=classes, **fields,
        )  # fmt: skip
    except ValueError as error:
        raise FormatError(where, f"is not a tree: {error}".rstrip(".")) from None


def _links(
    feature: NDArray[np.int64], nodes: dict[str, list[Any]], where: str
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The children that the pattern of leaves implies; the written ones must be the same."""
    size = len(feature)
    left = np.full(size, -1, dtype=np.int32)
    right = np.full(size, -1, dtype=np.int32)
    # Nodes whose right child is still to come; the next node after a leaf belongs to the last one.
    waiting: list[int] = []
    after_leaf = False
    for node, tested in enumerate(feature.tolist()):
        if after_leaf:
            if not waiting:
                raise FormatError(
                    f"{where}.feature[{node}]", "stands after the end of the tree: an orphan"
                )
            right[waiting.pop()] = node
        if tested >= 0:
            left[node] = node + 1
            waiting.append(node)
        after_leaf = tested < 0
    if waiting:
        raise FormatError(
            f"{where}.feature[{waiting[-1]}]", "is an inner node whose children are missing"
        )
    for name, derived in (("left", left), ("right", right)):
        written = _integers(nodes[name], f"{where}.{name}", -1, size - 1)
        wrong = np.flatnonzero(written != derived)
        if len(wrong):
            node = int(wrong[0])
            raise FormatError(
                f"{where}.{name}[{node}]",
                f"must be {derived[node]} (nodes stand in pre-order), found {written[node]}",
            )
    return left, right


def _thresholds(
    values: list[Any], feature: NDArray[np.int64], columns: tuple[Column, ...], where: str
) -> NDArray[np.float64]:
    threshold = np.full(len(values), np.nan)
    for node, (value, tested) in enumerate(zip(values, feature.tolist(), strict=True)):
        needed = tested >= 0 and columns[tested].kind != "nominal"
        if not needed:
            if value is not None:
                raise FormatError(f"{where}[{node}]", f"must be null here, found {value!r:.60}")
            continue
        if value == "inf" and isinstance(value, str):
            threshold[node] = np.inf
            continue
        threshold[node] = number(value, f"{where}[{node}]")
    return threshold


def _categories(
    values: list[Any], feature: NDArray[np.int64], columns: tuple[Column, ...], where: str
) -> NDArray[np.int64]:
    category = _integers(values, where, -1, 2**31 - 1)
    for node, (code, tested) in enumerate(zip(category.tolist(), feature.tolist(), strict=True)):
        if tested < 0 or columns[tested].kind != "nominal":
            if code != -1:
                raise FormatError(f"{where}[{node}]", f"must be -1 here, found {code}")
            continue
        column = columns[tested]
        known = len(column.categories or ()) + column.missing
        if not 0 <= code < known:
            raise FormatError(
                f"{where}[{node}]",
                f"must be a category of column {column.name!r}, 0 to {known - 1}, found {code}",
            )
    return category


def _counts(rows: list[Any], n_classes: int, where: str) -> NDArray[np.float64]:
    for node, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != n_classes:
            raise FormatError(
                f"{where}[{node}]", f"must be a list of {n_classes} numbers, one for each class"
            )
        for at, value in enumerate(row):
            if number(value, f"{where}[{node}][{at}]") < 0:
                raise FormatError(f"{where}[{node}][{at}]", f"must not be negative, found {value}")
    return np.array(rows, dtype=np.float64).reshape(len(rows), n_classes)


def _integers(values: list[Any], where: str, least: int, most: int) -> NDArray[np.int64]:
    for at, value in enumerate(values):
        if type(value) is not int or not least <= value <= most:
            raise FormatError(
                f"{where}[{at}]", f"must be an integer from {least} to {most}, found {value!r:.60}"
            )
    return np.array(values, dtype=np.int64)


def _booleans(values: list[Any], where: str) -> NDArray[np.bool_]:
    for at, value in enumerate(values):
        if type(value) is not bool:
            raise FormatError(f"{where}[{at}]", f"must be true or false, found {value!r:.60}")
    return np.array(values, dtype=bool)


def number(value: Any, where: str) -> float:
    """A finite number, or a FormatError that names the place."""
    if type(value) not in (int, float):
        raise FormatError(where, f"must be a number, found {_kind(value)}")
    try:
        read = float(value)
    except OverflowError:
        read = math.inf
    if not math.isfinite(read):
        raise FormatError(where, "must be a finite number that a double can hold")
    return read


def _plain(value: float) -> int | float:
    """Whole counts are written without a fraction; both read back as the same double."""
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a truth value"}
    if value is None:
        return "nothing"
    return names.get(type(value), "a number")
