"""A regressor predicts and scores on Dask, in batches and in a database as in memory."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import r2_score

import treebound as tb
from treebound.exchange import write_predictions

pa = pytest.importorskip("pyarrow")
pds = pytest.importorskip("pyarrow.dataset")
dd = pytest.importorskip("dask.dataframe")
dask_array = pytest.importorskip("dask.array")
duckdb = pytest.importorskip("duckdb")


def table(seed, n=300):
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame({"a": rng.normal(size=n), "k": rng.integers(0, 9, n).astype(float)})
    rows["s"] = rng.choice(["u", "v", "w"], n)
    rows["y"] = np.exp(rows.a) + (rows.s == "u") * rows.k + 0.1 * rng.normal(size=n)
    rows["w"] = rng.random(n) + 0.1
    rows.loc[rng.random(n) < 0.1, "a"] = np.nan
    rows.loc[rng.random(n) < 0.1, "s"] = None
    return rows


def new_rows(seed):
    rows = table([seed, 1], 200)
    rows.loc[:9, "s"] = "new"
    return rows


NAMES = ["a", "k", "s"]


def fitted(seed, handle_unknown="other"):
    rows = table(seed)
    return tb.BoundTreeRegressor(handle_unknown=handle_unknown).fit(rows[NAMES], rows.y, rows.w)


def in_order(relation):
    return relation.order("id").df()


@pytest.mark.parametrize("handle_unknown", ["other", "majority", "stop", "missing"])
@pytest.mark.parametrize("seed", range(3))
def test_predictions_in_a_database_are_those_of_memory(seed, handle_unknown):
    reg, rows = fitted(seed, handle_unknown), new_rows(seed).assign(id=range(200))
    there = duckdb.from_df(rows)
    np.testing.assert_array_equal(in_order(reg.predict(there)).prediction, reg.predict(rows[NAMES]))
    np.testing.assert_array_equal(in_order(reg.apply(there)).prediction, reg.apply(rows[NAMES]))
    intervals = in_order(reg.predict_interval(there, coverage=0.8))
    np.testing.assert_array_equal(
        intervals[["prediction lower", "prediction upper"]],
        reg.predict_interval(rows[NAMES], coverage=0.8),
    )
    with pytest.raises(ValueError, match="has a column 'prediction' already"):
        reg.predict(reg.predict(there))
    with pytest.raises(ValueError, match="no column"):
        reg.predict(duckdb.from_df(rows[["k"]]))


@pytest.mark.parametrize("seed", range(3))
def test_predictions_on_dask_are_those_of_memory(seed):
    reg, rows = fitted(seed), new_rows(seed)
    frame = dd.from_pandas(rows, npartitions=3)
    lazy = reg.predict(frame[NAMES])
    assert not isinstance(lazy, np.ndarray)
    predicted = lazy.compute()
    np.testing.assert_array_equal(predicted, reg.predict(rows[NAMES]))
    assert (predicted.name, predicted.dtype) == ("y", np.float64)
    assert (lazy.name, lazy.dtype) == ("y", np.float64)
    np.testing.assert_array_equal(predicted.index, rows.index)
    np.testing.assert_array_equal(reg.apply(frame[NAMES]).compute(), reg.apply(rows[NAMES]))
    intervals = reg.predict_interval(frame[NAMES], coverage=0.8).compute()
    assert list(intervals.columns) == ["lower", "upper"]
    with pytest.raises(ValueError, match="'coverage'"):
        reg.predict_interval(frame[NAMES], coverage=2.0)
    with pytest.raises(ValueError, match="no residuals for an interval"):
        reg.prune_to(2).predict_interval(frame[NAMES])
    np.testing.assert_array_equal(intervals, reg.predict_interval(rows[NAMES], coverage=0.8))


def test_predictions_for_dask_arrays_and_empty_partitions():
    rows = table(5)
    reg = tb.BoundTreeRegressor().fit(rows[["a", "k"]].to_numpy(), rows.y)
    X = rows[["a", "k"]].to_numpy()
    lazy = dask_array.from_array(X, chunks=(70, 1))
    np.testing.assert_array_equal(reg.predict(lazy).compute(), reg.predict(X))
    np.testing.assert_array_equal(reg.predict_interval(lazy).compute(), reg.predict_interval(X))
    named = tb.BoundTreeRegressor().fit(rows[["a", "k"]], rows.y)
    frame = dd.from_pandas(rows[["a", "k"]], npartitions=4)
    np.testing.assert_array_equal(named.predict(frame[frame.k < 0]).compute(), np.empty(0))


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_scores_are_those_of_memory(weight, offset):
    rows = table(2)
    rows["y"] += offset
    reg = tb.BoundTreeRegressor().fit(rows[NAMES], rows.y)
    unseen = new_rows(2)
    unseen["y"] += offset
    given = None if weight is None else unseen.w
    expected = r2_score(unseen.y, reg.predict(unseen[NAMES]), sample_weight=given)
    assert reg.score(unseen[NAMES], unseen.y, given) == pytest.approx(expected, rel=1e-9)
    batches = pa.Table.from_pandas(unseen, preserve_index=False).to_batches(max_chunksize=33)
    for there in (
        pds.dataset(batches),
        dd.from_pandas(unseen, npartitions=3),
        duckdb.from_df(unseen),
    ):
        assert reg.score(there, "y", weight) == pytest.approx(expected, rel=1e-9)


def test_scores_of_tables_elsewhere_name_what_is_wrong():
    rows = table(3)
    reg = tb.BoundTreeRegressor().fit(rows[NAMES], rows.y)
    there = duckdb.from_df(rows)
    with pytest.raises(ValueError, match="name of a column"):
        reg.score(there, "z")
    with pytest.raises(ValueError, match="column of numbers"):
        reg.score(there, "s")
    with pytest.raises(ValueError, match="rows without a number"):
        reg.score(duckdb.from_df(rows.assign(y=rows.y.where(rows.a > 0))), "y")
    batches = pa.Table.from_pandas(rows, preserve_index=False).to_batches()
    with pytest.raises(ValueError, match="name of a column"):
        reg.score(pds.dataset(batches), "z")


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_predictions_of_batches_are_written(form, tmp_path):
    reg, rows, path = fitted(6), new_rows(6), tmp_path / f"predictions.{form}"
    read = pd.read_csv if form == "csv" else pd.read_parquet
    batches = pa.Table.from_pandas(rows, preserve_index=False).to_batches(max_chunksize=33)
    reg.write_predictions(pds.dataset(batches), path)
    np.testing.assert_array_equal(read(path)["y"], reg.predict(rows[NAMES]))
    reg.write_predictions(rows[NAMES], path, keep=True)
    assert list(read(path).columns) == [*NAMES, "y"]
    with pytest.raises(ValueError, match="'proba' parameter"):
        write_predictions(reg, rows[NAMES], path, proba=True)


def test_rows_without_a_weight_have_no_score():
    rows = table(3)
    reg = tb.BoundTreeRegressor().fit(rows[NAMES], rows.y)
    rows["w"] = 0.0
    batches = pa.Table.from_pandas(rows, preserve_index=False).to_batches()
    for there in (pds.dataset(batches), dd.from_pandas(rows, npartitions=3), duckdb.from_df(rows)):
        with pytest.raises(ValueError, match="no rows of a weight above zero"):
            reg.score(there, "y", "w")
    with pytest.raises(ValueError, match="no rows of a weight above zero"):
        reg.score(rows[NAMES], rows.y, rows.w)


def test_a_constant_target_has_no_variance_to_explain():
    rows = table(4)
    rows["y"] = 2.5
    with pytest.warns(UserWarning, match="2.5"):
        reg = tb.BoundTreeRegressor().fit(rows[NAMES], rows.y)
    assert reg.score(duckdb.from_df(rows), "y") == reg.score(rows[NAMES], rows.y) == 1.0
    other = rows.assign(y=3.0)
    assert reg.score(duckdb.from_df(other), "y") == reg.score(other[NAMES], other.y) == 0.0
