"""Tables of a regression tree that are not in memory: small ones are read, large ones refused.

A classifier, too, reads tables of at most 10^7 values into memory. Shards, workers and databases do
not grow regression trees, so there is no other way for larger ones.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from treebound._utils.validation import invalid
from treebound.data.raw import columns_to_learn
from treebound.data.streams import in_database, is_on_dask, is_stream
from treebound.pruning.bound import MAX_VALUES, is_large


class NumberTable(NamedTuple):
    """Columns, numbers and weights in memory, and the name of the numbers."""

    X: Any
    y: Any
    weight: Any
    target: str | None = None


def read_number_table(X: Any, y: Any, weight: Any, columns: Any = None) -> NumberTable:
    """Read a table into memory; y, weight and the columns are named if it is elsewhere."""
    if not (is_stream(X) or in_database(X) or is_on_dask(X)):
        if columns is not None:
            hint = "choose them before: X[columns]."
            raise invalid("columns", "fit", "None for a table in memory", columns, hint)
        return NumberTable(X, y, weight)
    for name, value in (("y", y), ("sample_weight", weight)):
        if not isinstance(value, str) and (name == "y" or value is not None):
            must = "the name of a column of a table that is not in memory"
            raise invalid(name, "fit", must, type(value))
    key = None
    if in_database(X):
        table, key = _from_database(X)
    else:
        table = _from_dask(X) if is_on_dask(X) else _stream(X)
    chosen = columns_to_learn(table.column_names, "the table", columns, y, weight, key)
    weights = None if weight is None else table.column(weight).cast("float64").to_numpy()
    return NumberTable(table.select(chosen), table.column(y), weights, y)


def _check_size(rows: int, columns: int) -> None:
    """Raise a ValueError for a table that is not read into memory."""
    if is_large(rows, columns):
        raise ValueError(
            "BoundTreeRegressor is not offered for tables of more than "
            f"{MAX_VALUES:,} values that are not in memory. Got {rows:,} rows of {columns:,} "
            "columns. Hint: fit it on a sample of the rows, or on a table in memory."
        )


def _stream(X: Any) -> Any:
    """Read a pyarrow dataset or a lazy polars frame."""
    if hasattr(X, "count_rows"):
        _check_size(X.count_rows(), len(X.schema.names))
        return X.to_table()
    if type(X).__name__ != "LazyFrame":
        raise TypeError(
            f"fit of BoundTreeRegressor does not read {type(X).__name__}. Hint: give it a table in "
            "memory, a pyarrow dataset or a lazy polars frame."
        )
    import polars

    rows = int(X.select(polars.len()).collect().item())
    _check_size(rows, len(X.collect_schema().names()))
    return X.collect().to_arrow()


def _from_dask(X: Any) -> Any:
    """Read a Dask DataFrame."""
    if not hasattr(X, "columns"):
        raise TypeError(
            f"fit of BoundTreeRegressor does not read {type(X).__name__} of Dask. Hint: give it a "
            "Dask DataFrame that has the numbers as a column, or a table in memory."
        )
    import pyarrow

    _check_size(len(X), len(X.columns))
    return pyarrow.Table.from_pandas(X.compute(), preserve_index=False)


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
