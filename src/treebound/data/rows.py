"""Reading a single row."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from treebound.data.encoding import some_names
from treebound.data.frames import Table, read_table

__all__ = ["read_row"]


def read_row(row: Any, names: Sequence[str], needed: Collection[str]) -> Table:
    """One row: a mapping with the needed columns, values in order, or a table of one row.

    Examples
    --------
    >>> read_row({"colour": "red", "age": 3}, ["age", "colour", "size"], ["colour"]).names
    ('age', 'colour')
    """
    if getattr(row, "ndim", 0) == 1 and hasattr(row, "to_dict"):  # a row of a pandas frame
        row = row.to_dict()
    if isinstance(row, Mapping):
        lacking = [name for name in names if name in needed and name not in row]
        if lacking:
            raise ValueError(
                f"The row has no value for column {lacking[0]!r}. Hint: give a value, or None "
                f"where it is missing, for each of {some_names([*needed])}."
            )
        names = [name for name in names if name in row]
        values = [row[name] for name in names]
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
        return table
    if len(values) != len(names):
        raise ValueError(
            f"The row has {len(values)} values, but there are {len(names)} columns. Hint: give one "
            f"for each, in this order: {some_names(names)}."
        )
    cells = [np.array([[value]], dtype=object) for value in values]
    raw = []
    for name, cell in zip(names, cells, strict=True):
        try:
            raw.append(read_table(cell).column(0))
        except ValueError as error:
            raise ValueError(str(error).replace("'x0'", repr(name))) from None
    return Table(tuple(names), (1, len(names)), raw=tuple(raw))


def _has_many(value: Any) -> bool:
    return isinstance(value, list | tuple | np.ndarray | Mapping)
