"""Predictions inside a database as columns of a relation, and counts of rows at the nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from treebound._utils.choices import Unknown
from treebound._utils.validation import invalid
from treebound.certificate.row_record import RowComparison
from treebound.data.targets import read_classes
from treebound.data.weights import check_rows
from treebound.engines.sql.relation import Relation, fetch_table, is_number
from treebound.engines.sql.stores import ROWS, SqlStore, store_of
from treebound.exchange.code import columns_used, predictions
from treebound.exchange.sql_code import case_of
from treebound.model import Model, RegressionModel
from treebound.model.number_errors import NumberErrors
from treebound.model.regression import ENDS
from treebound.model.rows import Tested, accuracy
from treebound.tree.base import BaseTree
from treebound.tree.model import Tree
from treebound.tree.regression import RegressionTree
from treebound.tree.split import plain

_NAME, _NODE, _LABEL, _WEIGHT = (
    "prediction", "treebound_node", "treebound_label", "treebound_weight",
)  # fmt: skip


Output = Literal["label", "proba", "value", "interval", "node"]


def with_predictions(
    model: Model | RegressionModel, X: Any, output: Output, *, coverage: float = 0.9
) -> Any:
    """Return a lazy frame of the type of X, with the predictions as further columns."""
    frame = Relation.of(X).frame
    columns = frame.collect_schema()
    _check_columns(model.tree, columns.names())
    if any(name == _NAME or name.startswith(f"{_NAME} ") for name in columns.names()):
        raise ValueError(f"The relation has a column {_NAME!r} already. Hint: rename it.")
    store, tree = store_of(frame), model.tree
    values = _node_values(model, output, coverage)
    types = {bool: "boolean", int: "int64", float: "float64"}
    more = {name: types.get(type(plain(column[0])), "string") for name, column in values.items()}
    text = case_of(
        tree, values, model.reading.handle_unknown, store.dialect, store.suffixes(columns)
    )
    relation = store.relation(f"SELECT *, {text} FROM {ROWS}", frame.to_native(), **more)
    return nw.from_native(relation) if isinstance(X, nw.LazyFrame) else relation


def _node_values(
    model: Model | RegressionModel, output: Output, coverage: float
) -> dict[str, Sequence[Any]]:
    """Return the columns of predictions: a value for each node."""
    if output == "node":
        return {_NAME: range(model.tree.n_nodes)}
    if isinstance(model, RegressionModel):
        if output == "value":
            return {_NAME: predictions(model, "label")}
        ends = model.node_intervals(coverage).T.tolist()
        return {f"{_NAME} {name}": end for name, end in zip(ENDS, ends, strict=True)}
    if output == "label":
        return {_NAME: predictions(model, "label")}
    shares = zip(*predictions(model, "proba"), strict=True)
    labels = model.classes.tolist()
    return {f"{_NAME} {plain(k)}": share for k, share in zip(labels, shares, strict=True)}


def _check_columns(tree: BaseTree, names: list[str]) -> None:
    """Raise an error if a relation lacks a column of a tree."""
    missing = [
        tree.columns[j].name for j in columns_used(tree) if tree.columns[j].name not in names
    ]
    if missing:
        raise ValueError(f"The relation has no column {missing[0]!r}, which the tree uses.")


def rows_at_nodes(frame: Any, tree: Tree, label: str, handle_unknown: Unknown) -> NDArray[np.int64]:
    """Count the rows of each class that stop at each node of a tree."""
    nodes, labels, n = _labels_at_nodes(frame, tree, label, handle_unknown)
    codes = read_classes(labels, tree.classes)
    return _counts_at_nodes(tree, nodes, codes, n)[:, :-1].astype(np.int64)


def _labels_at_nodes(
    frame: Any, tree: Tree, label: str, handle_unknown: Unknown, weight: str | None = None
) -> tuple[NDArray[np.intp], NDArray[Any], NDArray[Any]]:
    """Nodes and labels that occur together, and how many rows have them, or their weight."""
    store, types = store_of(frame), frame.collect_schema()
    _check_columns(tree, types.names())
    weights = nw.lit(1.0) if weight is None else nw.col(weight).cast(nw.Float64)
    suffixes = store.suffixes(types)
    nodes = case_of(tree, {_NODE: range(tree.n_nodes)}, handle_unknown, store.dialect, suffixes)
    each = "COUNT(*)" if weight is None else f"SUM({_WEIGHT})"
    inside = f"{nodes}, {_LABEL}{suffixes.get(label, '')} AS y, {_WEIGHT}"
    counted = store.fetch(
        f"SELECT {_NODE}, y, {each} AS n FROM (SELECT {inside} FROM {ROWS}) AS s GROUP BY "
        f"{_NODE}, y",
        frame.with_columns(nw.col(label).alias(_LABEL), weights.alias(_WEIGHT)).to_native(),
    )
    if any(value is None for value in counted["y"].tolist()):
        raise ValueError(f"The column {label!r} has rows without a label. Hint: leave them out.")
    return counted[_NODE].astype(np.intp), counted["y"], counted["n"]


def _counts_at_nodes(
    tree: Tree, nodes: NDArray[np.intp], codes: NDArray[np.int32], n: NDArray[Any]
) -> NDArray[Any]:
    """Rows or weights of each class at each node; the last column is of classes not known."""
    whole = n.dtype.kind in "iu"
    counts = np.zeros((tree.n_nodes, tree.n_classes + 1), np.int64 if whole else np.float64)
    np.add.at(counts, (nodes, codes), n.astype(counts.dtype))
    return counts


def nodes_in_order(
    store: SqlStore, frame: Any, tree: RegressionTree, *, handle_unknown: Unknown, by: str
) -> NDArray[np.int32]:
    """Return the node of a tree at which each row ends, in the order of a column of numbers."""
    types = frame.collect_schema()
    _check_columns(tree, types.names())
    suffixes = store.suffixes(types)
    nodes = case_of(tree, {_NODE: range(tree.n_nodes)}, handle_unknown, store.dialect, suffixes)
    fetched = store.fetch(f"SELECT {by}, {nodes} FROM {ROWS}", frame.to_native())
    return fetched[_NODE][np.argsort(fetched[by])].astype(np.int32)


def accuracy_in_database(model: Model, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Return the accuracy, by weight; rows are counted in the database."""
    relation = Relation.of(X)
    relation.types("score", y=y, sample_weight=sample_weight)
    tree = model.tree
    unknown = model.reading.handle_unknown
    nodes, labels, n = _labels_at_nodes(relation.frame, tree, y, unknown, sample_weight)
    codes = read_classes(labels, tree.classes, other_labels=True)
    return accuracy(tree, _counts_at_nodes(tree, nodes, codes, n))


def errors_in_database(
    model: RegressionModel, X: Any, y: Any, sample_weight: Any = None
) -> NumberErrors:
    """Return the sums of squares by which predictions are scored; the database adds them."""
    relation = Relation.of(X)
    types = relation.types("score", y=y, sample_weight=sample_weight)
    if not is_number(types[y], y):
        raise invalid("y", "score", "the name of a column of numbers", y)
    frame, tree = relation.frame, model.tree
    _check_columns(tree, types.names())
    store = store_of(frame)
    weight = nw.lit(1.0) if sample_weight is None else nw.col(sample_weight)
    numbers = {_LABEL: nw.col(y).cast(nw.Float64), _WEIGHT: weight.cast(nw.Float64)}
    native = frame.with_columns(**numbers).to_native()
    fetched = store.fetch(
        f"SELECT COUNT(*) AS n, COUNT({_LABEL}) AS known, SUM({_WEIGHT}) AS total, "
        f"SUM({_WEIGHT} * {_LABEL}) AS numbers FROM {ROWS}",
        native,
    )
    check_rows(int(fetched["n"][0]))
    if fetched["known"][0] != fetched["n"][0]:
        raise ValueError(f"The column {y!r} has rows without a number. Hint: leave them out.")
    total = float(fetched["total"][0])
    check_rows(total)
    mean = float(fetched["numbers"][0]) / total
    values, suffixes = {_NODE: predictions(model, "label")}, store.suffixes(types)
    case = case_of(tree, values, model.reading.handle_unknown, store.dialect, suffixes)
    squares = [
        f"SUM({_WEIGHT} * ({_LABEL} - {x}) * ({_LABEL} - {x})) AS {name}"
        for name, x in (("squares", store.number(mean)), ("errors", _NODE))
    ]
    fetched = store.fetch(
        f"SELECT {', '.join(squares)} FROM (SELECT {case}, {_LABEL}, {_WEIGHT} FROM {ROWS}) AS s",
        native,
    )
    return NumberErrors(total, mean, float(fetched["squares"][0]), float(fetched["errors"][0]))


def tested(model: Model, X: Any, y: Any) -> Tested:
    """Count labelled rows at the nodes; compare them with the rows of ``fit`` if they are few."""
    relation = Relation.of(X)
    types = relation.types("certify", y=y)
    counts = rows_at_nodes(relation.frame, model.tree, y, model.reading.handle_unknown)
    check_rows(counts.sum())
    if model.provenance.row_record is not None and counts.sum() <= relation.max_fetched_rows:
        table = fetch_table(relation.frame, types)
        return model.tested(table.drop_columns([y]), table.column(y))
    reason = f"more than {relation.max_fetched_rows:,} rows are counted in the database"
    if model.provenance.row_record is None:
        reason = "the model has no record of its rows"
    return Tested(counts, RowComparison(int(counts.sum()), not_compared=reason))
