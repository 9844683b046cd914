"""Why rows were answered as they were: ``treebound explain``."""

from __future__ import annotations

from json import dumps
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from treebound.cli.app import app, console
from treebound.cli.models import check_rows, loaded_model, schema_of
from treebound.datasets import read_table

__all__: list[str] = []

Data = Annotated[Path, Parameter(allow_leading_hyphen=True)]


@app.command
def explain(
    model: Data,
    data: Data,
    /,
    *,
    row: int | None = None,
    rows: int = 10,
    schema: Path | None = None,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Say why rows are answered as they are, and what would have to change for another answer.

    Examples: 'treebound explain model.json new.csv' explains the first rows of the table,
    'treebound explain model.json new.csv --row 7' the seventh alone.

    Parameters
    ----------
    model
        A model that 'treebound fit' wrote, or '-' for one on standard input.
    data
        The rows: a CSV or Parquet file, or '-' for one on standard input.
    row
        Explain this row alone; the first is 1.
    rows
        Explain at most so many rows, the first ones.
    schema
        A TOML file that says how the file is laid out and which texts are missing values.
    json
        Print a JSON object for each row, one on a line.
    """
    classifier = loaded_model(model, data)
    table = read_table(str(data), schema_of(classifier, schema), unknown="keep")
    check_rows(table, data)
    frame = table.frame[[column.name for column in classifier.columns_]]
    count = len(frame)
    if row is not None and not 1 <= row <= count:
        raise ValueError(
            f"The option --row must be from 1 to {count:,}, the rows of {data}. Got {row} instead."
        )
    if rows < 1:
        raise ValueError(f"The option --rows must be an int >= 1. Got {rows} instead.")
    chosen = range(min(rows, count)) if row is None else [row - 1]
    for at in chosen:
        found = classifier.explain(frame.iloc[[at]])
        if json:
            _say(dumps({"row": at + 1, **found.to_dict()}))
            continue
        if count > 1:
            console.print(f"Row {at + 1}", style="dim", highlight=False)
        if console.is_terminal:
            console.print(found, highlight=False)
        else:
            _say(str(found))
        if at != chosen[-1]:
            console.print()
    if row is None and count > rows and not json:
        console.print(f"\n{count - rows:,} more rows are in {data}. Hint: --rows or --row.")


def _say(text: str) -> None:
    console.print(text, highlight=False, soft_wrap=True, markup=False)
