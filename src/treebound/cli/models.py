"""A model file, and tables read in the columns of its model."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from treebound.cli.output import write_result
from treebound.datasets.reading import read_raw
from treebound.datasets.schema import Schema
from treebound.model import Model

if TYPE_CHECKING:
    from treebound.cli.options import FileOptions
    from treebound.datasets.reading import RawTable

__all__ = ["labelled_rows", "leaves", "loaded_model", "save_model", "schema_of", "summary"]


def loaded_model(model: Path, data: Path | None = None) -> Model:
    """The model of a file or of standard input, where the table does not come from there too."""
    from treebound.exchange import load, loads

    if str(model) != "-":
        return load(model)
    if str(data) == "-":
        raise ValueError("The model and the table cannot both come on standard input.")
    return loads(sys.stdin.buffer.read())


def schema_of(model: Model, options: FileOptions, target: str | None = None) -> Schema:
    """The columns as the model knows them, in a file laid out as the options say."""
    given = options.as_schema()
    columns = tuple(replace(column, declared=True) for column in model.columns)
    classes = None if target is None else tuple(model.classes.tolist())
    known = {column.name for column in columns} | {target}
    named = set(given.order)
    # Without a header the schema's own order says which column is which.
    order = given.order if known - {None} <= named else ()
    ignored = tuple(name for name in given.order if name not in known)
    return Schema(columns, target, classes, ignored, given.missing, "ignore", given.layout, order)


def labelled_rows(model: Model, data: Path, options: FileOptions, target: str | None) -> RawTable:
    """Rows with their labels, in the columns and classes of a model."""
    name = target or model.target
    if name is None:
        raise ValueError("The model does not name its target. Hint: name the column with --target.")
    rows = read_raw(str(data), schema_of(model, options, name), unknown="keep")
    if not len(rows):
        raise ValueError(f"{data} has no rows, only the names of its columns.")
    return rows


def save_model(model: Model, path: Path) -> None:
    """Write a model to a file or to standard output."""
    from treebound.exchange import dumps, save

    if str(path) == "-":
        write_result(dumps(model), None)
    else:
        save(model, path)


def summary(model: Model) -> str:
    """What there is to say of a fitted model, in two lines."""
    grown, tree = model.grown, model.tree
    verb = "is" if tree.errors == 1 else "are"
    first = (
        f"{leaves(grown.n_leaves)} grown, {tree.n_leaves:,} kept; {_number(tree.errors)} of "
        f"{_number(tree.weight[0])} training examples {verb} misclassified."
    )
    certificate = model.certificate
    reason = f"No certificate: {model.certificate_reason}"
    return f"{first}\n{reason if certificate is None else certificate}"


def leaves(count: int) -> str:
    """A number of leaves in words."""
    return "1 leaf" if count == 1 else f"{count:,} leaves"


def _number(value: float) -> str:
    """A whole number in full, any other to six digits."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.6g}"
