"""Why rows were answered as they were: ``treebound explain``."""

from __future__ import annotations

from json import dumps
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from treebound.cli.app import app, console
from treebound.cli.models import loaded_model, schema_of
from treebound.datasets import iter_table
from treebound.show import Explanation

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
    for name, value in (("row", row), ("rows", rows)):
        if value is not None and value < 1:
            raise ValueError(f"The option --{name} must be an int >= 1. Got {value} instead.")
    classifier = loaded_model(model, data)
    first, last = (0, rows) if row is None else (row - 1, row)
    count = 0
    for frame in iter_table(str(data), schema_of(classifier, schema), _CHUNK):
        for at in range(max(first, count), min(last, count + len(frame))):
            one = frame.iloc[[at - count]][[column.name for column in classifier.columns_]]
            _print(at + 1, classifier.explain(one), json=json, spaced=at > first)
        count += len(frame)
        if count > last:  # there is no need to read on
            break
    if not count:
        raise ValueError(f"{data} has no rows, only the names of its columns.")
    if row is not None and row > count:
        raise ValueError(
            f"The option --row must be from 1 to {count:,}, the rows of {data}. Got {row} instead."
        )
    if row is None and count > last:
        _aside.print(f"{data} has more rows. Hint: --rows or --row.", highlight=False)


# Rows read at a time: few, since the first ones are wanted.
_CHUNK = 1000
_aside = Console(stderr=True)


def _print(row: int, found: Explanation, *, json: bool, spaced: bool) -> None:
    if json:
        _say(dumps({"row": row, **found.to_dict()}))
        return
    if spaced:
        console.print()
    console.print(f"Row {row}", style="dim", highlight=False)
    if console.is_terminal:
        console.print(found, highlight=False)
    else:
        _say(str(found))


def _say(text: str) -> None:
    console.print(text, highlight=False, soft_wrap=True, markup=False)
