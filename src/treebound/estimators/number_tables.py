"""Relations of a database for a regression tree: small ones are read, large ones refused."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from treebound._utils.validation import invalid
from treebound.data.raw import columns_to_learn
from treebound.data.streams import in_database
from treebound.pruning.bound import MAX_VALUES, is_large


class NumberTable(NamedTuple):
    """Columns, numbers and weights in memory, and the name of the numbers."""

    X: Any
    y: Any
    weight: Any
    target: str | None = None


def read_number_table(X: Any, y: Any, weight: Any, columns: Any = None) -> NumberTable:
    """Read a table into memory; y, weight and the columns are named if it is in a database."""
    if not in_database(X):
        if columns is not None:
            hint = "choose them before: X[columns]."
            raise invalid("columns", "fit", "None for a table in memory", columns, hint)
        return NumberTable(X, y, weight)
    for name, value in (("y", y), ("sample_weight", weight)):
        if not isinstance(value, str) and (name == "y" or value is not None):
            must = "the name of a column of a table that is not in memory"
            raise invalid(name, "fit", must, type(value))
    table, key = _from_database(X)
    chosen = columns_to_learn(table.column_names, "the table", columns, y, weight, key)
    weights = None if weight is None else table.column(weight).cast("float64").to_numpy()
    return NumberTable(table.select(chosen), table.column(y), weights, y)


def _check_size(rows: int, columns: int) -> None:
    """Raise a ValueError for a relation that is not read into memory."""
    if is_large(rows, columns):
        raise ValueError(
            f"BoundTreeRegressor is not offered for relations of more than {MAX_VALUES:,} values. "
            f"Got {rows:,} rows of {columns:,} columns. Hint: fit it on a sample of the rows, or "
            "export them to Parquet files, which are read in batches."
        )


def _from_database(X: Any) -> tuple[Any, str | None]:
    """Read a relation of a database; return also the column that identifies its rows."""
    import narwhals as nw

    from treebound.engines.sql.relation import Relation, fetch_table

    relation = Relation.of(X)
    frame, types = relation.frame, relation.frame.collect_schema()
    counted = frame.select(n=nw.len()).collect("pyarrow").to_native()
    _check_size(int(np.asarray(counted.column("n"))[0]), len(types.names()))
    if relation.id is not None:
        frame = frame.sort(relation.id)
    return fetch_table(frame, types), relation.id
