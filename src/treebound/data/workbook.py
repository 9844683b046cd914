"""Sheets of Excel workbooks, as tables of texts: their types are inferred as those of CSV files."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import pyarrow as pa

from treebound._utils.extras import require
from treebound._utils.validation import Setting, WordedError
from treebound.data.raw import no_duplicates, some_names
from treebound.data.schema import Schema
from treebound.data.text import sliced

SHEET = Setting("sheet", python="[read] sheet in the schema")


def workbook_tables(
    source: Path | bytes, schema: Schema, rows: int | None, name: str
) -> Iterator[pa.Table]:
    """The rows of a sheet as tables of texts, ``rows`` at a time (None: all); at least one.

    Dates are texts such as ``2024-12-31``. Columns without a name and without values, and rows
    without values, are dropped.
    """
    layout = schema.layout
    cells = _cells(source, layout.sheet, name)[layout.skip_rows :]
    names = [_text(cell, ".").strip() for cell in (cells[0] if cells else ())]
    body = cells[1:]
    if not layout.header:
        names, body = list(schema.order), cells
    body = [record for record in body if any(cell != "" for cell in record)]
    if not names:
        raise ValueError(f"{name} is empty: there is no line of column names.")
    used = [at for at, text in enumerate(names) if text or any(r[at] != "" for r in body)]
    for at in used:
        if not names[at]:
            raise ValueError(f"{name} has no name for column {at + 1}. Hint: name it in the sheet.")
    names = [names[at] for at in used]
    no_duplicates(names, name)
    columns = [pa.array([_text(r[at], layout.decimal) for r in body], pa.string()) for at in used]
    table = pa.table(dict(zip(names, columns, strict=True)))
    yield from sliced(iter([table]), rows) if len(table) else [table]


def _cells(source: Path | bytes, sheet: str | None, name: str) -> Sequence[Sequence[Any]]:
    """The cells of the sheet of a name, or of the only one that is not empty."""
    calamine = require("python_calamine", extra="excel", why="An Excel workbook")
    try:
        opened = source if isinstance(source, Path) else io.BytesIO(source)
        workbook = calamine.load_workbook(opened)
        sheets = list(workbook.sheet_names)
        if sheet is not None and sheet not in sheets:
            raise WordedError(
                f"{name} has no sheet {sheet!r} (", SHEET, f"). Hint: it has {some_names(sheets)}."
            )
        chosen = [sheet] if sheet is not None else sheets
        filled = {each: workbook.get_sheet_by_name(each).to_python() for each in chosen}
    except (calamine.CalamineError, OSError) as error:
        raise ValueError(f"{name} is not an Excel workbook, or is damaged: {error}") from None
    filled = {each: cells for each, cells in filled.items() if cells or each == sheet}
    if len(filled) != 1:
        raise WordedError(
            f"{name} has {len(filled)} sheets with rows, {some_names(filled)}. Hint: name one (",
            SHEET,
            ").",
        )
    return next(iter(filled.values()))


def _text(cell: Any, decimal: str) -> str:
    """A cell as a text file would have it."""
    if isinstance(cell, float):
        text = f"{cell:.0f}" if cell.is_integer() and abs(cell) < 2**53 else repr(cell)
        return text.replace(".", decimal)
    if isinstance(cell, datetime) and cell.time() == time():
        cell = cell.date()
    return cell.isoformat() if isinstance(cell, date | time) else str(cell)
