"""Why rows get their predictions: ``treebound explain``."""

from __future__ import annotations

from json import dumps
from typing import TYPE_CHECKING

from treebound._validation import as_int, invalid
from treebound.cli.app import command, console
from treebound.cli.messages import print_message, print_result
from treebound.cli.options import Data, FileOptions, Model, Switch

if TYPE_CHECKING:
    from treebound.show import Explanation

# Rows read at a time: few, since the first ones are wanted.
_CHUNK = 1000


@command(
    "treebound explain model.json new.csv",
    "treebound explain model.json new.csv --row 7",
    "treebound explain model.json new.csv --rows 100 --json",
)
def explain(
    model: Model,
    data: Data,
    /,
    *,
    row: int | None = None,
    rows: int = 10,
    json: Switch = False,
    options: FileOptions = FileOptions(),  # noqa: B008  # frozen
) -> None:
    """Say why rows get their predictions, and what would have to change for another one.

    Parameters
    ----------
    row
        Explain this row alone; the first is 1.
    rows
        Explain at most this many rows, the first ones.
    json
        Print a JSON object for each row, one on a line.
    """
    import numpy as np

    from treebound.cli.models import loaded_model, schema_of
    from treebound.data.files import Source
    from treebound.show import explain as explain_row

    for name, value in (("row", row), ("rows", rows)):
        if value is not None:
            as_int(name, "", value, 1)
    loaded = loaded_model(model, data)
    first, last = (0, rows) if row is None else (row - 1, row)
    count = 0
    source = Source(str(data), schema_of(loaded, options), unknown="keep", complete=False)
    for chunk in source.chunks(_CHUNK):
        wanted = range(max(first, count), min(last, count + len(chunk)))
        table, places = chunk.table(), count + np.arange(len(chunk))
        for at in wanted:
            explanation = explain_row(loaded, table.rows(places == at))
            _print(at + 1, explanation, json=json, spaced=at > first)
        count += len(chunk)
        if count > last:  # there is no need to read on
            break
    if not count:
        raise ValueError(f"{data} has no rows, only the names of its columns.")
    if row is not None and row > count:
        raise invalid("row", "", f"from 1 to {count:,}, the rows of {data}", row)
    if row is None and count > last:
        print_message(f"{data} has more rows. Hint: --rows or --row.")


def _print(row: int, explanation: Explanation, *, json: bool, spaced: bool) -> None:
    if json:
        print_result(dumps({"row": row, **explanation.to_dict()}))
        return
    if spaced:
        console.print()
    console.print(f"Row {row}", style="dim", highlight=False)
    if console.is_terminal:
        console.print(explanation, highlight=False)
    else:
        print_result(str(explanation))
