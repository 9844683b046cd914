"""A regression tree is grown in memory only: other tables are refused, with the reason."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import treebound as tb

TABLE = pd.DataFrame({"x": np.arange(40.0), "y": np.arange(40.0) ** 2})


def stream():
    pds = pytest.importorskip("pyarrow.dataset")
    return pds.dataset(pytest.importorskip("pyarrow").Table.from_pandas(TABLE))


def dask():
    return pytest.importorskip("dask.dataframe").from_pandas(TABLE, npartitions=2)


def database():
    return pytest.importorskip("duckdb").from_df(TABLE)


@pytest.mark.parametrize("source", [stream, dask, database])
def test_fit_takes_tables_in_memory(source):
    words = "fit of BoundTreeRegressor takes tables in memory. Got .* Hint: collect the rows"
    with pytest.raises(TypeError, match=words):
        tb.BoundTreeRegressor().fit(source(), "y")
