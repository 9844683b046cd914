"""A tree's arrays in a model file, and back.

Each list is converted once, so that time and memory are linear in the size of the file;
:class:`~treebound.Tree` checks that the arrays form a tree.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain
from typing import Any, TypeVar

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from treebound.data import Column
from treebound.exchange.document import FormatError, MonotoneDocument, NodesDocument
from treebound.tree import Tree
from treebound.tree.model import NO_SPLIT, SPLIT_FIELDS
from treebound.tree.monotone import Monotone

D = TypeVar("D", bound=Struct)


def nodes_of(tree: Tree) -> NodesDocument:
    """The nodes of a tree as lists: null for none, "inf" for an infinite threshold."""
    threshold: list[Any] = [
        None if math.isnan(value) else "inf" if math.isinf(value) else value
        for value in tree.threshold.tolist()
    ]
    order = tree.monotone
    return document_of(
        NodesDocument,
        tree,
        threshold=threshold,
        counts=_short(tree.counts).tolist(),
        monotone=None if order is None else MonotoneDocument(list(order.signs), list(order.order)),
    )


def document_of(kind: type[D], source: object, **others: Any) -> D:
    """The document with the attributes of a source that its fields name, arrays as lists."""
    own = {name: getattr(source, name) for name in kind.__struct_fields__ if name not in others}
    plain = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in own.items()}
    return kind(**plain, **others)


def _short(counts: NDArray[np.float64]) -> NDArray[Any]:
    """Integral counts as integers: shorter, and read back as the same doubles."""
    whole = bool((counts == np.floor(counts)).all()) and counts.max(initial=0.0) < 2**53
    return counts.astype(np.int64) if whole else counts


def tree_of(
    nodes: NodesDocument, columns: tuple[Column, ...], classes: NDArray[Any], where: str = "nodes"
) -> Tree:
    """The tree of a document; a FormatError names the place of the first problem."""
    size, most = len(nodes.feature), len(columns) - 1
    fields: dict[str, Any] = {
        name: np.array(value) if isinstance(value, list) else value
        for name, value in structs.asdict(nodes).items()
        if name not in ("threshold", "counts", "monotone")
    }
    fields["threshold"] = np.array([math.nan if v is None else float(v) for v in nodes.threshold])
    same_size(nodes.factors, len(classes), f"{where}.factors")
    for name in ("missing_left", "right", "rows", "label", "names", *SPLIT_FIELDS):
        same_size(fields[name], size, f"{where}.{name}")
    counts = table_of(nodes.counts, f"{where}.counts", (size, len(classes)), np.float64)
    feature = fields["feature"] = np.array(nodes.feature, dtype=np.int64)
    refuse(feature > most, f"{where}.feature", f"must be at most {most}, the last column")
    beyond = fields["label"] >= len(classes)
    refuse(beyond, f"{where}.label", f"must be less than {len(classes)}, a class")
    kinds = np.array([*(column.kind for column in columns), "leaf"])[feature]
    for name, own in SPLIT_FIELDS.items():
        used, blank, empty = np.isin(kinds, own), *_blank(name, fields[name])
        refuse(used & blank, f"{where}.{name}", f"must not be {empty} here")
        refuse(~used & ~blank, f"{where}.{name}", f"must be {empty} here")
    refuse((feature < 0) & (fields["right"] != -1), f"{where}.right", "must be -1 here")
    _check_listed(columns, np.unique(feature[feature >= 0]))
    order = nodes.monotone
    try:
        return Tree(
            **fields,
            left=np.where(feature >= 0, np.arange(1, size + 1), -1),
            counts=counts,
            columns=columns,
            classes=classes,
            monotone=None if order is None else Monotone(tuple(order.signs), tuple(order.order)),
        )
    except ValueError as error:
        raise FormatError(where, f"is not a tree: {error}".rstrip(".")) from None


def _blank(name: str, values: NDArray[Any]) -> tuple[NDArray[np.bool_], str]:
    """Where a field of splits has no value, and how JSON writes that."""
    if values.dtype.kind == "f":
        return np.isnan(values), "null"
    return values == NO_SPLIT[name], str(NO_SPLIT[name])


def _check_listed(columns: tuple[Column, ...], asked: NDArray[np.int64]) -> None:
    for at in asked.tolist():
        if columns[at].unlisted:
            raise FormatError(f"columns[{at}].categories", "must be listed: the tree splits on it")


def table_of(
    rows: list[list[Any]], where: str, shape: tuple[int, int], dtype: type
) -> NDArray[Any]:
    """A list of rows of equal length as an array."""
    same_size(rows, shape[0], where)
    must = f"must be a list of {shape[1]} numbers, one for each class"
    refuse([len(row) != shape[1] for row in rows], where, must)
    return np.array(list(chain.from_iterable(rows)), dtype=dtype).reshape(shape)


def same_size(values: Sequence[Any] | None, size: int, where: str) -> None:
    """Raise unless a list, if any, has so many entries."""
    if values is not None and len(values) != size:
        raise FormatError(where, f"must have {size} entries, found {len(values)}")


def refuse(wrong: Sequence[Any] | NDArray[Any], where: str, must: str) -> None:
    """Raise an error for the first wrong entry, if any."""
    if np.any(wrong):
        raise FormatError(f"{where}[{int(np.argmax(wrong))}]", must)
