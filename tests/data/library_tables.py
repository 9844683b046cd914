"""Tables of every library, and encoded columns as one array of floats."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from treebound.data import learn_matrix, read_matrix

PANDAS = {
    "pandas": lambda data: pd.DataFrame(data),
    "pandas object": lambda data: pd.DataFrame(
        {k: pd.Series(v, dtype=object if isinstance(v[0], str) else None) for k, v in data.items()}
    ),
    "pandas nullable": lambda data: pd.DataFrame(data).convert_dtypes(),
    "pandas pyarrow": lambda data: pd.DataFrame(data).convert_dtypes(dtype_backend="pyarrow"),
}
BACKENDS = {**PANDAS, "polars": pl.DataFrame, "pyarrow": pa.table}


def as_floats(matrix):
    """One array: real values, codes, NaN where missing, -2 for a category that is not known."""
    columns = []
    for column, values in zip(matrix.columns, matrix.values, strict=True):
        if column.kind != "real":
            assert values.dtype == _smallest(len(column.categories))
            values = np.where(values == -1, np.nan, values)
        columns.append(np.asarray(values, dtype=np.float64))
    return np.column_stack(columns)


def _smallest(n_categories):
    return next(t for t in (np.int8, np.int16, np.int32) if n_categories <= np.iinfo(t).max)


def learned(X, **options):
    """Columns and values of a training table."""
    matrix = learn_matrix(X, **options)
    return matrix.columns, as_floats(matrix)


def encode(X, columns, **options):
    """The values of a later table."""
    return as_floats(read_matrix(X, columns, named=True, **options))
