"""Answers inside a database: a fitted tree as columns of a relation, and its accuracy by counts."""

from __future__ import annotations

from typing import Any, Literal

import narwhals as nw
import numpy as np

from treebound._validation import invalid
from treebound.data.targets import read_classes
from treebound.exchange import to_sql
from treebound.exchange.code import columns_used
from treebound.exchange.sql_code import nodes_to_sql
from treebound.model import Model
from treebound.sql.relation import Relation, labels_array, texts
from treebound.sql.stores import ROWS, store_of
from treebound.tree.split import plain

__all__ = ["accuracy", "with_answers"]

_NAME = "prediction"


def with_answers(model: Model, X: Any, output: Literal["label", "proba", "node"]) -> Any:
    """A lazy frame of the database, of the type of X, with the answers as further columns."""
    relation = X if isinstance(X, Relation) else Relation(X)
    names = relation.frame.collect_schema().names()
    missing = [
        c for c in (model.columns[j].name for j in columns_used(model.tree)) if c not in names
    ]
    if missing:
        raise ValueError(f"The relation has no column {missing[0]!r}, which the tree asks.")
    if any(name == _NAME or name.startswith(f"{_NAME} ") for name in names):
        raise ValueError(f"The relation has a column {_NAME!r} already. Hint: rename it.")
    store = store_of(relation.frame)
    if output == "node":
        text = nodes_to_sql(model.tree, unknown=model.unknown, dialect=store.dialect)
    else:
        text = to_sql(model, output=output, name=_NAME, dialect=store.dialect)
    more = {f"{_NAME} {plain(label)}": "float64" for label in model.classes.tolist()}
    if output != "proba":
        text = f"{text} AS {_NAME}"
        kind = "i" if output == "node" else model.classes.dtype.kind
        more = {
            _NAME: {"b": "boolean", "i": "int64", "u": "int64", "f": "float64"}.get(kind, "string")
        }
    query, native = f"SELECT *, {text} FROM {ROWS}", relation.frame.to_native()
    answers = store.relation(query, native, more, inside=True)
    return nw.from_native(answers) if isinstance(X, nw.LazyFrame) else answers


def accuracy(model: Model, X: Any, y: Any, sample_weight: Any = None) -> float:
    """The share of rows, by weight, whose class is predicted; counted in the database."""
    relation = X if isinstance(X, Relation) else Relation(X)
    types = relation.frame.collect_schema()
    for parameter, name in (("y", y), ("sample_weight", sample_weight)):
        if not (isinstance(name, str) and name in types) and (name is not None or parameter == "y"):
            must = "the name of a column of the relation"
            raise invalid(parameter, "score", must, name if isinstance(name, str) else type(name))
    store = store_of(relation.frame)
    weight = nw.lit(1.0) if sample_weight is None else nw.col(sample_weight).cast(nw.Float64)
    frame = nw.from_native(with_answers(model, relation, "label"))
    native = frame.select(answer=nw.col(_NAME), y=nw.col(y), w=weight).to_native()
    if types[y] == nw.String:
        native = store.bytes_of(native, ["y"])
    found = store.fetch(f"SELECT answer, y, SUM(w) AS w FROM {ROWS} GROUP BY answer, y", native)
    truth, answers = ([texts(value) for value in found[name].tolist()] for name in ("y", "answer"))
    codes = [read_classes(labels_array(values), model.classes) for values in (truth, answers)]
    weights = found["w"].astype(np.float64)
    return float(weights[codes[0] == codes[1]].sum() / weights.sum())
