"""Regression trees of tables that are not in memory: those of memory, or a clear error."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import treebound as tb
from treebound.engines.sql import Relation

pa = pytest.importorskip("pyarrow")
pds = pytest.importorskip("pyarrow.dataset")
dd = pytest.importorskip("dask.dataframe")
duckdb = pytest.importorskip("duckdb")
polars = pytest.importorskip("polars")


def table(seed, n=240):
    """Numbers, categories, missing values, and weights."""
    rng = np.random.default_rng(seed)
    x, colour = rng.normal(size=n).round(2), rng.choice(["red", "green", "blue"], n)
    y = 3.0 * x + 2.0 * (colour == "red") + rng.normal(size=n)
    x[rng.random(n) < 0.1] = np.nan
    columns = {"x": x, "colour": colour, "z": rng.integers(0, 9, n), "y": y.round(3)}
    return pd.DataFrame({"id": np.arange(n), **columns, "w": rng.integers(0, 3, n)})


def sources(rows):
    """The table in every engine."""
    there = pa.Table.from_pandas(rows, preserve_index=False)
    yield pds.dataset(there.to_batches(max_chunksize=101))
    yield polars.from_arrow(there).lazy()
    yield dd.from_pandas(rows, npartitions=3)
    connection = duckdb.connect(config={"threads": 1})
    connection.register("rows", rows)
    yield Relation(connection.sql("SELECT * FROM rows"), id="id")


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("seed", range(2))
def test_random_tables_give_the_tree_of_memory(seed, weight):
    rows, columns = table(seed), ["x", "colour", "z"]
    weights = None if weight is None else rows["w"]
    expected = tb.BoundTreeRegressor().fit(rows[columns], rows["y"], weights)
    for source in sources(rows):
        model = tb.BoundTreeRegressor().fit(source, "y", weight, columns=columns)
        for name in model.tree_.node_arrays:
            np.testing.assert_array_equal(
                getattr(model.tree_, name), getattr(expected.tree_, name), err_msg=name
            )
        assert model.target_name_ == "y"
        assert model.predict(rows[columns]).tolist() == expected.predict(rows[columns]).tolist()


def test_numbers_and_weights_of_other_tables_are_named():
    rows = table(0)
    for source in sources(rows):
        with pytest.raises(ValueError, match="'y' parameter"):
            tb.BoundTreeRegressor().fit(source, rows["y"])
        with pytest.raises(ValueError, match="'groups' parameter"):
            tb.BoundTreeRegressor().fit(source, "y", groups=rows["z"])
