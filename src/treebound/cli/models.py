"""A model file, and tables read in the columns of its model."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import treebound as tb
from treebound.cli.output import write_result
from treebound.datasets import Schema, read_schema, read_table

if TYPE_CHECKING:
    import pandas as pd

    from treebound.datasets import Dataset

__all__ = [
    "answers_for", "check_rows", "labelled_rows", "loaded_model", "save_model", "schema_of",
]  # fmt: skip


def loaded_model(model: Path, data: Path | None = None) -> tb.BoundTreeClassifier:
    """The model of a file or of standard input, where the table does not come from there too."""
    if str(model) != "-":
        return tb.BoundTreeClassifier.load(model)
    if str(data) == "-":
        raise ValueError("The model and the table cannot both come on standard input.")
    from treebound.classifier.storage import restored
    from treebound.exchange import loads

    piped: tb.BoundTreeClassifier = restored(tb.BoundTreeClassifier, loads(sys.stdin.buffer.read()))
    return piped


def schema_of(
    classifier: tb.BoundTreeClassifier, layout: Path | None = None, target: str | None = None
) -> Schema:
    """The columns as the model knows them, in a file laid out as a schema says."""
    given = Schema() if layout is None else read_schema(layout)
    columns = tuple(replace(column, declared=True) for column in classifier.columns_)
    classes = None if target is None else tuple(classifier.classes_.tolist())
    known = {column.name for column in columns} | {target}
    named = set(given.order)
    # Without a header the schema's own order says which column is which.
    order = given.order if known - {None} <= named else ()
    ignored = tuple(name for name in given.order if name not in known)
    return Schema(columns, target, classes, ignored, given.missing, "ignore", given.layout, order)


def labelled_rows(
    classifier: tb.BoundTreeClassifier, data: Path, schema: Path | None, target: str | None
) -> Dataset:
    """Rows with their labels, in the columns and classes of a model."""
    name = target or classifier.target_name_
    if name is None:
        raise ValueError("The model does not name its target. Hint: name the column with --target.")
    table = read_table(str(data), schema_of(classifier, schema, name), unknown="keep")
    check_rows(table, data)
    return table


def answers_for(
    classifier: tb.BoundTreeClassifier, frame: pd.DataFrame, *, proba: bool, keep: bool
) -> pd.DataFrame:
    """The answers for a table, beside its columns if they are kept."""
    import pandas as pd

    known = frame[[column.name for column in classifier.columns_]]
    name = classifier.target_name_ or "prediction"
    if keep and name in frame.columns:
        name = f"predicted {name}"
    answers = frame.copy() if keep else pd.DataFrame(index=frame.index)
    if not len(frame):
        answers[name] = pd.Series(dtype=classifier.classes_.dtype)
    else:
        answers[name] = classifier.predict(known)
    if proba:
        width = len(classifier.classes_)
        given = classifier.predict_proba(known) if len(frame) else np.empty((0, width))
        for at, label in enumerate(classifier.classes_.tolist()):
            answers[f"P({label})"] = given[:, at]
    return answers


def save_model(classifier: tb.BoundTreeClassifier, path: Path) -> None:
    """Write a model to a file or to standard output."""
    if str(path) == "-":
        from treebound.classifier.storage import model_of
        from treebound.exchange import dumps

        write_result(dumps(model_of(classifier)), None)
    else:
        classifier.save(path)


def check_rows(table: Dataset, data: Path) -> None:
    """Raise if a table has no rows."""
    if not len(table.frame):
        raise ValueError(f"{data} has no rows, only the names of its columns.")
