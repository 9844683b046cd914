"""Reading a single row."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from treebound.data.frames import Table, read_table
from treebound.data.raw import column_of, empty_column, some_names


def read_row(row: Any, names: Sequence[str], needed: Collection[str] | None = None) -> Table:
    """Read one row: a mapping by column name, values in order, or a table of one row.

    Columns that are not ``needed`` (by default all are) may be absent, which reads as missing; a
    mapping may have others.
    """
    needed = names if needed is None else needed
    if getattr(row, "ndim", 0) == 1 and hasattr(row, "to_dict"):  # a row of a pandas frame
        row = row.to_dict()
    if isinstance(row, Mapping):
        lacking = [name for name in names if name not in row and name in needed]
        if lacking:
            raise ValueError(
                f"The row has no value for column {lacking[0]!r}. Hint: give a value, or None "
                f"where it is missing, for each of {some_names(needed)}."
            )
        values = [row.get(name) for name in names]
    elif isinstance(row, list | tuple | np.ndarray) and not any(map(_has_many, row)):
        values = list(row)
    elif row is None or isinstance(row, str | bytes | set):
        raise ValueError(
            "The 'row' must be a mapping, the values in order, or a table of one row. "
            f"Got {row!r} instead."
        )
    else:
        table = read_table(row)
        if table.shape[0] != 1:
            raise ValueError(
                f"The 'row' must be one row. Got {table.shape[0]} rows instead. Hint: choose one, "
                "such as X.iloc[0] or X[0]."
            )
        if table.names is None:
            return table
        have = [name for name in names if name in table.names or name in needed]
        held = dict(zip(have, map(table.select(have).column, range(len(have))), strict=True))
        raw = tuple(held.get(name) or empty_column(1) for name in names)
        return Table(tuple(names), (1, len(names)), raw=raw)
    if len(values) != len(names):
        raise ValueError(
            f"The row has {len(values)} values, but there are {len(names)} columns. Hint: give one "
            f"for each, in this order: {some_names(names)}."
        )
    columns = tuple(
        column_of([value], f"Column {name!r}") for name, value in zip(names, values, strict=True)
    )
    return Table(tuple(names), (1, len(names)), raw=columns)


def _has_many(value: Any) -> bool:
    return isinstance(value, list | tuple | np.ndarray | Mapping)
