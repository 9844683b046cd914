"""A model file, and tables read in the columns of its model."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from treebound.classifier.model import TreeModel
from treebound.cli.output import write_result
from treebound.data.schema import Schema

if TYPE_CHECKING:
    from treebound.cli.options import FileOptions
    from treebound.data.files import RawTable

__all__ = ["labelled_rows", "leaves", "loaded_model", "save_model", "schema_of", "summary"]


def loaded_model(model: Path, data: Path | None = None) -> TreeModel:
    """The model of a file or of standard input, where the table does not come from there too."""
    if str(model) != "-":
        return TreeModel.load(model)
    if str(data) == "-":
        raise ValueError("The model and the table cannot both come on standard input.")
    from treebound.classifier.storage import restored
    from treebound.exchange import loads

    piped: TreeModel = restored(TreeModel, loads(sys.stdin.buffer.read()))
    return piped


def schema_of(model: TreeModel, options: FileOptions, target: str | None = None) -> Schema:
    """The columns as the model knows them, in a file laid out as the options say."""
    given = options.as_schema()
    columns = tuple(replace(column, declared=True) for column in model.columns_)
    classes = None if target is None else tuple(model.classes_.tolist())
    known = {column.name for column in columns} | {target}
    named = set(given.order)
    # Without a header the schema's own order says which column is which.
    order = given.order if known - {None} <= named else ()
    ignored = tuple(name for name in given.order if name not in known)
    return Schema(columns, target, classes, ignored, given.missing, "ignore", given.layout, order)


def labelled_rows(
    model: TreeModel, data: Path, options: FileOptions, target: str | None
) -> RawTable:
    """Rows with their labels, in the columns and classes of a model."""
    from treebound.data.files import read_raw

    name = target or model.target_name_
    if name is None:
        raise ValueError("The model does not name its target. Hint: name the column with --target.")
    rows = read_raw(str(data), schema_of(model, options, name), unknown="keep")
    if not len(rows):
        raise ValueError(f"{data} has no rows, only the names of its columns.")
    return rows


def save_model(model: TreeModel, path: Path) -> None:
    """Write a model to a file or to standard output."""
    if str(path) == "-":
        from treebound.classifier.storage import model_of
        from treebound.exchange import dumps

        write_result(dumps(model_of(model)), None)
    else:
        model.save(path)


def summary(model: TreeModel) -> str:
    """What there is to say of a fitted model, in two lines."""
    grown, tree = model.grown_tree_, model.tree_
    verb = "is" if tree.errors == 1 else "are"
    first = (
        f"{leaves(grown.n_leaves)} grown, {tree.n_leaves:,} kept; {_number(tree.errors)} of "
        f"{_number(tree.weight[0])} training examples {verb} misclassified."
    )
    certificate = model.certificate_
    reason = f"No certificate: {model.certificate_reason_}"
    return f"{first}\n{reason if certificate is None else certificate}"


def leaves(count: int) -> str:
    """A number of leaves in words."""
    return "1 leaf" if count == 1 else f"{count:,} leaves"


def _number(value: float) -> str:
    """A whole number in full, any other to six digits."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.6g}"
