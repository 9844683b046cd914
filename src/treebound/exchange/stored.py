"""Columns, classes, trees and pruning paths in a model file, and back.

Each list is converted once, so that time and memory are linear in the size of the file;
:class:`~treebound.Tree` checks that the arrays form a tree.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from treebound._utils.choices import Unknown
from treebound.data.columns import Column
from treebound.exchange import document as doc
from treebound.exchange.document import FormatError, NodesDocument, PathDocument
from treebound.model.edits import Edit, NodeState, Remark, check_time
from treebound.pruning import PruningPath
from treebound.pruning.path import ListedPath
from treebound.tree import Tree
from treebound.tree.base import NO_SPLIT, SPLIT_FIELDS, BaseTree
from treebound.tree.monotone import Monotone
from treebound.tree.recoding import listed_columns, new_codes
from treebound.tree.regression import RegressionTree

D = TypeVar("D", bound=msgspec.Struct)
T = TypeVar("T", Tree, RegressionTree)
# Steps with more leaves than this are not stored: the file size grows with their square.
MAX_LEAVES = 200
_DTYPES = {"O": "object", "U": "str"}
_VALUES: dict[type, Any] = {
    str: doc.Strings, int: doc.Integers, float: doc.Numbers, bool: doc.Booleans,
}  # fmt: skip


class Listing:
    """The columns of a file: of categories only those that the trees in it need."""

    def __init__(
        self, columns: Sequence[Column], trees: Sequence[BaseTree], unknown: Unknown
    ) -> None:
        self.columns = listed_columns(columns, trees, unknown)

    @property
    def documents(self) -> list[doc.ColumnDocument]:
        """The columns as the file has them."""
        return [_column_document(column) for column in self.columns]

    def codes(self, tree: BaseTree) -> list[int]:
        """Return the categories of splits as codes of these columns."""
        return list(new_codes(tree, self.columns).tolist())

    def nodes(self, tree: Tree) -> NodesDocument:
        """The nodes of a tree, with the codes of these columns."""
        return nodes_of(tree, new_codes(tree, self.columns))


def _column_document(column: Column) -> doc.ColumnDocument:
    document = doc.ColumnDocument(
        column.name, column.kind, column.declared, column.missing, identifier=column.identifier
    )
    if not column.is_read:
        document.categories = column.unlisted
    elif column.kind != "real":
        where = f"columns[{column.name!r}].categories"
        document.categories = _values(list(column.categories or ()), where)
        document.unlisted = column.unlisted
    return document


def columns_of(columns: list[doc.ColumnDocument]) -> tuple[Column, ...]:
    """The columns of a document; their names must differ."""
    read = []
    for at, stored in enumerate(columns):
        where, categories = f"columns[{at}].categories", stored.categories
        if (categories is None) != (stored.kind == "real"):
            raise FormatError(where, "must be null exactly when the kind is 'real'")
        column = Column(
            stored.name, stored.kind, None, stored.declared, stored.missing, stored.unlisted
        )
        if stored.unlisted and (stored.kind != "nominal" or isinstance(categories, int)):
            must = "must be 0 unless the column is nominal and lists categories"
            raise FormatError(f"columns[{at}].unlisted", must)
        if stored.identifier:
            if stored.kind != "nominal" or not isinstance(categories, int):
                must = "must be false unless the column is nominal and lists no categories"
                raise FormatError(f"columns[{at}].identifier", must)
            column = replace(column, identifier=True)
        if isinstance(categories, int):
            column = replace(column, unlisted=categories)
        elif categories is not None:
            if categories.dtype is not msgspec.UNSET:
                raise FormatError(f"{where}.dtype", "is only for classes")
            column = replace(column, categories=tuple(_distinct(categories, where)))
        read.append(column)
    names = [column.name for column in read]
    twice = doc.first_repeated(names)
    if twice is not None:
        at = len(names) - 1 - names[::-1].index(twice)
        raise FormatError(f"columns[{at}].name", f"{twice!r:.60} is given twice")
    return tuple(read)


def classes_document(classes: NDArray[Any]) -> doc.Values:
    """The classes: the values, and the numpy type that the labels had."""
    document = _values(classes.tolist(), "classes")
    document.dtype = msgspec.convert(
        _DTYPES.get(classes.dtype.kind, classes.dtype.name), doc.ClassType
    )
    return document


def classes_of(classes: doc.Values) -> NDArray[Any]:
    """The classes of a document, in the type that the labels had."""
    values, dtype = _distinct(classes, "classes"), classes.dtype or "object"
    if not values:
        raise FormatError("classes.values", "must have at least one class")
    longest = max(map(len, values)) if isinstance(classes, doc.Strings) else 0
    # a text array allocates the longest label for every entry: too much for a single long one
    if dtype == "str" and longest * len(values) > 2**18 + 16 * sum(map(len, values)):
        raise FormatError("classes.dtype", "takes too much memory, use 'object'")
    try:
        typed = np.array(values, dtype=dtype)
    except (ValueError, TypeError, OverflowError):
        typed = np.empty(0)
    if typed.tolist() != values:
        raise FormatError("classes.dtype", f"{dtype!r} cannot hold the values")
    return typed


def _values(values: list[Any], where: str) -> doc.Values:
    """Categories or labels with their JSON type, to distinguish 1, 1.0, "1" and true."""
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    kinds = {type(value) for value in plain} or {str}
    kind = _VALUES.get(kinds.pop()) if len(kinds) == 1 else None
    if kind is None:
        types = ", ".join(sorted({type(value).__name__ for value in plain}))
        raise ValueError(
            "A model file can hold strings, integers, finite numbers or booleans, all of one "
            f"kind, in {where}. Found {types} instead. Hint: convert them before fitting."
        )
    if kind is doc.Numbers and not all(map(math.isfinite, plain)):
        raise ValueError(f"A model file cannot hold NaN or infinity in {where}.")
    document: doc.Values = kind(plain)
    return document


def _distinct(values: doc.Values, where: str) -> list[Any]:
    """The values, which must differ; integers of 64 bits."""
    listed: list[Any] = values.values
    if isinstance(values, doc.Integers):
        for at, value in enumerate(listed):
            if not -(2**63) <= value < 2**64:
                raise FormatError(f"{where}.values[{at}]", "must fit in 64 bits")
    if len(set(listed)) != len(listed):
        raise FormatError(f"{where}.values", "must be distinct")
    return listed


# -- trees ----------------------------------------------------------------------------------------


def nodes_of(tree: Tree, category: NDArray[np.int32]) -> NodesDocument:
    """The nodes of a tree as lists: null for none, "inf" for an infinite threshold."""
    order = tree.monotone
    return document_of(
        NodesDocument,
        tree,
        threshold=thresholds(tree),
        category=category.tolist(),
        counts=_short(tree.counts).tolist(),
        monotone=None if order is None else document_of(doc.MonotoneDocument, order),
    )


def thresholds(tree: BaseTree) -> list[Any]:
    """Return the thresholds of a tree: null for none, "inf" for an infinite one."""
    return [
        None if math.isnan(value) else "inf" if math.isinf(value) else value
        for value in tree.threshold.tolist()
    ]


def document_of(kind: type[D], source: object, **fields: Any) -> D:
    """The document with the attributes of a source that its fields name, arrays as lists."""
    given = {name: getattr(source, name) for name in kind.__struct_fields__ if name not in fields}
    plain = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in given.items()}
    return kind(**plain, **fields)


def _short(counts: NDArray[np.float64]) -> NDArray[Any]:
    """Integral counts as integers: shorter, and read back as the same doubles."""
    whole = bool((counts == np.floor(counts)).all()) and counts.max(initial=0.0) < 2**53
    return counts.astype(np.int64) if whole else counts


def tree_of(
    nodes: NodesDocument, columns: tuple[Column, ...], classes: NDArray[Any], where: str = "nodes"
) -> Tree:
    """The tree of a document; a FormatError names the place of the first problem."""
    fields, size = splits_of(nodes, columns, where), len(nodes.feature)
    same_size(nodes.factors, len(classes), f"{where}.factors")
    for name in ("label", "names"):
        same_size(getattr(nodes, name), size, f"{where}.{name}")
    counts = table_of(nodes.counts, f"{where}.counts", (size, len(classes)), np.float64)
    label = np.array(nodes.label)
    refuse(label >= len(classes), f"{where}.label", f"must be less than {len(classes)}, a class")
    order = nodes.monotone
    try:
        return Tree(
            **fields,
            counts=counts,
            classes=classes,
            label=label,
            names=None if nodes.names is None else np.array(nodes.names),
            counted=nodes.counted,
            factors=None if nodes.factors is None else np.array(nodes.factors),
            monotone=None if order is None else Monotone(order.signs, order.order),
        )
    except ValueError as error:
        raise FormatError(where, f"is not a tree: {error}".rstrip(".")) from None


def splits_of(nodes: Any, columns: tuple[Column, ...], where: str) -> dict[str, Any]:
    """Return the fields that all trees share; a FormatError names the place of a problem."""
    size, most = len(nodes.feature), len(columns) - 1
    names = ("category", "missing_left", "right", "rows")
    fields: dict[str, Any] = {name: np.array(getattr(nodes, name)) for name in names}
    fields["threshold"] = np.array([math.nan if v is None else float(v) for v in nodes.threshold])
    for name in ("missing_left", "right", "rows", *SPLIT_FIELDS):
        same_size(fields[name], size, f"{where}.{name}")
    feature = fields["feature"] = np.array(nodes.feature, dtype=np.int64)
    refuse(feature > most, f"{where}.feature", f"must be at most {most}, the last column")
    kinds = np.array([*(column.kind for column in columns), "leaf"])[feature]
    for name, kinds_of_field in SPLIT_FIELDS.items():
        used, blank, empty = np.isin(kinds, kinds_of_field), *_blank(name, fields[name])
        refuse(used & blank, f"{where}.{name}", f"must not be {empty} here")
        refuse(~used & ~blank, f"{where}.{name}", f"must be {empty} here")
    refuse((feature < 0) & (fields["right"] != -1), f"{where}.right", "must be -1 here")
    _check_listed(columns, np.unique(feature[feature >= 0]))
    left = np.where(feature >= 0, np.arange(1, size + 1), -1)
    return {**fields, "left": left, "columns": columns, "weighted": nodes.weighted}


def _blank(name: str, values: NDArray[Any]) -> tuple[NDArray[np.bool_], str]:
    """Return a mask of the nodes without a value of a field, and how JSON writes that."""
    if values.dtype.kind == "f":
        return np.isnan(values), "null"
    return values == NO_SPLIT[name], str(NO_SPLIT[name])


def _check_listed(columns: tuple[Column, ...], used: NDArray[np.int64]) -> None:
    for at in used.tolist():
        if not columns[at].is_read:
            raise FormatError(f"columns[{at}].categories", "must be listed: the tree splits on it")


# -- the grown tree, and the cuts of each step ----------------------------------------------------


def stored_steps(path: PruningPath[Any], step: int | None) -> NDArray[np.intp]:
    """The steps of a path that a file has."""
    steps = np.flatnonzero(path.leaves <= MAX_LEAVES)
    return np.union1d(steps, [path.chosen, path.chosen if step is None else step])


def stored_trees(path: PruningPath | None, step: int | None) -> list[Tree]:
    """The trees of a path that a file has as they are: no prunings of its first tree."""
    steps = [] if path is None else stored_steps(path, step).tolist()
    return [path.tree(at) for at in steps if path is not None and path.cuts(at) is None]


def rows_of_stored(path: PruningPath, step: int | None) -> NDArray[np.intp]:
    """The rows of a table of counts (``counted_trees``) for the trees that a file has."""
    rows = np.arange(path.first.n_nodes)
    if not path.searched:
        return rows
    steps = [path.rows_of_counts(at) for at in stored_steps(path, step).tolist()]
    return np.concatenate([rows, *(at for at in steps if at is not None)])


def path_document(path: PruningPath, step: int | None, listing: Listing) -> PathDocument:
    """The document of a path, and the step selected by ``prune_to``, if any."""
    steps = stored_steps(path, step)
    errors, scores = path.measured(steps)
    cuts = [path.cuts(at) for at in steps.tolist()]
    return PathDocument(
        grown=listing.nodes(path.first),
        unit=path.unit,
        chosen=int(np.searchsorted(steps, path.chosen)),
        step=None if step is None else int(np.searchsorted(steps, step)),
        n_steps=path.n_considered,
        errors=errors.tolist(),
        scores=[score if math.isfinite(score) else None for score in scores.tolist()],
        cuts=[
            listing.nodes(path.tree(at)) if cut is None else cut.tolist()
            for at, cut in zip(steps.tolist(), cuts, strict=True)
        ],
    )


def stored_path(
    document: PathDocument, columns: tuple[Column, ...], classes: NDArray[np.generic]
) -> ListedPath:
    """The checked path of a document."""
    first = tree_of(document.grown, columns, classes, "pruning.grown")
    return listed_path(document, first)


def listed_path(document: Any, first: T) -> ListedPath[T]:
    """Return the checked path of a document whose first tree was read."""
    size = len(document.cuts)
    for name in ("errors", "scores"):
        same_size(getattr(document, name), size, f"pruning.{name}")
    if document.n_steps < size:
        raise FormatError("pruning.n_steps", f"must be at least {size}")
    for name in ("chosen", "step"):
        if (getattr(document, name) or 0) >= size:
            raise FormatError(f"pruning.{name}", "must be the number of a step")
    return ListedPath(
        first,
        [_step(cut, first, f"pruning.cuts[{at}]") for at, cut in enumerate(document.cuts)],
        np.array(document.errors, dtype=np.float64),
        np.array(document.scores, dtype=np.float64),  # None is NaN
        chosen=document.chosen,
        n_considered=document.n_steps,
        unit=document.unit,
        searched=all(isinstance(cut, NodesDocument) for cut in document.cuts),
    )


def _step(cut: list[int] | NodesDocument, first: Any, where: str) -> NDArray[np.intp] | Tree:
    """One step: nodes of the first tree, none of them below another, or a whole tree."""
    if isinstance(cut, NodesDocument):
        return tree_of(cut, first.columns, first.classes, where)
    nodes = np.array(cut, dtype=np.intp)
    refuse(nodes >= first.n_nodes, where, "must be a node of the grown tree")
    refuse(first.left[nodes] < 0, where, "must be an inner node of the grown tree")
    nodes.sort()
    if (nodes[1:] < (nodes + first.size[nodes])[:-1]).any():
        raise FormatError(where, "has a node twice, or one below another")
    return nodes


# -- checks of lists ------------------------------------------------------------------------------


def table_of(
    rows: list[list[Any]], where: str, shape: tuple[int, int], dtype: type
) -> NDArray[Any]:
    """A list of rows of equal length as an array."""
    same_size(rows, shape[0], where)
    must = f"must be a list of {shape[1]} numbers"
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


# -- edits ----------------------------------------------------------------------------------------


def edit_documents(edits: Sequence[Edit]) -> tuple[doc.EditDocument, ...]:
    """Return the changes by hand as the file has them."""
    return tuple(
        document_of(
            doc.EditDocument,
            edit,
            before=document_of(doc.NodeStateDocument, edit.before),
            after=document_of(doc.NodeStateDocument, edit.after),
            **vars(edit.remark),
        )
        for edit in edits
    )


def read_edits(edits: Sequence[doc.EditDocument]) -> tuple[Edit, ...]:
    """Return the changes by hand of a document."""
    read = []
    for at, edit in enumerate(edits):
        fields: dict[str, Any] = msgspec.structs.asdict(edit)
        problem = check_time(edit.time)
        if problem:
            raise FormatError(f"edits[{at}].time", f"{problem}, found {edit.time!r:.40}")
        remark = Remark(**{name: fields.pop(name) for name in ("note", "author", "time")})
        for side in ("before", "after"):
            fields[side] = NodeState(**msgspec.structs.asdict(fields[side]))
        read.append(Edit(**fields, remark=remark))
    return tuple(read)
