"""Groups of tables that are not in memory, by the name of their column."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import treebound as tb
from treebound.data.groups import group_codes
from treebound.engines.sql import Relation

pa = pytest.importorskip("pyarrow")
pds = pytest.importorskip("pyarrow.dataset")
dd = pytest.importorskip("dask.dataframe")
dask_array = pytest.importorskip("dask.array")
duckdb = pytest.importorskip("duckdb")


def visits(n=600, seed=0):
    rng = np.random.default_rng(seed)
    patient = rng.integers(0, n // 4, n)
    table = pd.DataFrame({"a": rng.normal(size=n).round(2), "b": np.sin(patient)})
    table["label"] = (table.a + table.b + 0.3 * rng.normal(size=n) > 0).astype(int)
    table["y"] = (table.a + table.b + 0.3 * rng.normal(size=n)).round(2)
    return table.assign(patient=[f"p{k}" for k in patient], w=rng.integers(0, 3, n).astype(float))


def sources(table):
    yield "stream", pds.dataset(pa.Table.from_pandas(table).to_batches(max_chunksize=77))
    yield "Dask", dd.from_pandas(table, npartitions=3)
    yield "DuckDB", Relation(duckdb.from_df(table.assign(id=np.arange(len(table)))), id="id")


@pytest.mark.parametrize("certificate", ["auto", "held-out", "folds"])
@pytest.mark.parametrize("weight", [None, "w"])
def test_classes_have_the_tree_and_certificate_of_memory(certificate, weight, monkeypatch):
    monkeypatch.setattr("treebound.engines.sql.relation.MAX_FETCHED_ROWS", 50)
    table = visits()
    clf = tb.BoundTreeClassifier(certificate=certificate)
    given = None if weight is None else table.w
    expected = clf.fit(table[["a", "b"]], table.label, given, table.patient).model_
    assert expected.provenance.groups
    for name, source in sources(table):
        model = clf.fit(source, "label", weight, "patient", columns=["a", "b"]).model_
        assert model.provenance.draw == expected.provenance.draw, name
        assert model.provenance.groups == expected.provenance.groups
        assert model.evidence.estimate == expected.evidence.estimate
        assert str(model.certificate) == str(expected.certificate)
        np.testing.assert_array_equal(model.grown.threshold, expected.grown.threshold)
        np.testing.assert_array_equal(model.tree.counts, expected.tree.counts)


def test_a_dask_array_has_an_array_of_groups():
    table = visits()
    chunks = (200, 200, 200)
    X = dask_array.from_array(table[["a", "b"]].to_numpy(), chunks=(chunks, 2))
    y = dask_array.from_array(table.y.to_numpy(), chunks=(chunks,))
    codes = table.patient.str[1:].astype(int).to_numpy()
    groups = dask_array.from_array(codes, chunks=(chunks,))
    expected = tb.BoundTreeRegressor().fit(table[["a", "b"]].to_numpy(), table.y, groups=codes)
    reg = tb.BoundTreeRegressor().fit(X, y, groups=groups)
    assert reg.estimate_ == expected.estimate_
    with pytest.raises(ValueError, match="'groups' parameter of fit must be a Dask array"):
        reg.fit(X, y, groups=codes)


@pytest.mark.parametrize("estimator", [tb.BoundTreeClassifier, tb.BoundTreeRegressor])
def test_errors_of_groups(estimator):
    target = "label" if estimator is tb.BoundTreeClassifier else "y"
    table = visits()
    gaps = table.assign(patient=table.patient.where(table.index > 2))
    for name, source in sources(gaps):
        with pytest.raises(ValueError, match=r"'patient' of groups has \d+ rows without"):
            estimator().fit(source, target, groups="patient")
        with pytest.raises(ValueError, match="'groups' parameter of fit must be the name"):
            estimator().fit(source, target, groups="case")
        assert name


def test_groups_of_classes_need_rows_in_memory(monkeypatch):
    monkeypatch.setattr("treebound.pruning.bound.MAX_VALUES", 300)
    words = "'groups' parameter of fit must be None for rows that"
    for name, source in sources(visits()):
        if name == "DuckDB":
            source = Relation(source.frame, id="id", max_fetched_rows=9)
        with pytest.raises(ValueError, match=words):
            tb.BoundTreeClassifier().fit(source, "label", groups="patient")


def test_few_groups_of_a_large_table_leave_calibration_rows(monkeypatch):
    monkeypatch.setattr("treebound.pruning.bound.MAX_VALUES", 300)
    table = visits()
    for seed in range(4):
        for estimator, y in ((tb.BoundTreeClassifier, "label"), (tb.BoundTreeRegressor, "y")):
            model = estimator(certificate="held-out", random_state=seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(table[["a", "b"]], table[y], groups=np.arange(600) % 3)
            assert model.certificate_.m == 1


@pytest.fixture
def visits_are_large(monkeypatch):
    """600 rows of two columns are too many to be read into memory."""
    monkeypatch.setattr("treebound.pruning.bound.MAX_VALUES", 300)
    monkeypatch.setattr("treebound.engines.sql.relation.MAX_FETCHED_ROWS", 20)


def assert_all_are_fitted_as_in_memory(table, certificate=None):
    """Return the regression model of memory, which is that of all sources."""
    reg = tb.BoundTreeRegressor(certificate=certificate)
    expected = reg.fit(table[["a", "b"]], table.y, groups=table.patient).model_
    for name, source in sources(table):
        model = reg.fit(source, "y", groups="patient", columns=["a", "b"]).model_
        assert model.provenance.draw == expected.provenance.draw, name
        assert model.pruning.choice == expected.pruning.choice, name
        assert model.evidence.estimate == expected.evidence.estimate, name
        assert str(model.certificate) == str(expected.certificate), name
        np.testing.assert_array_equal(model.grown.threshold, expected.grown.threshold, name)
        np.testing.assert_array_equal(model.tree.value, expected.tree.value, name)
    return expected


@pytest.mark.parametrize("certificate", [None, "held-out"])
def test_categories_are_numbered_by_their_texts_not_by_their_order(visits_are_large, certificate):
    table = visits()
    order = np.random.default_rng(1).permutation(table.patient.unique())
    table["patient"] = pd.Categorical(table.patient, order, ordered=True)
    expected = assert_all_are_fitted_as_in_memory(table, certificate)
    assert expected.estimate is not None


@pytest.mark.parametrize("n_groups", [2, 3, 4, 7, 12, 30])
@pytest.mark.parametrize("certificate", [None, "held-out"])
def test_few_groups_leave_at_least_two_to_choose_the_size_or_none(
    visits_are_large, n_groups, certificate
):
    """The spread of one group would be an error of zero."""
    table = visits()
    table["patient"] = np.arange(len(table)) % n_groups
    model = assert_all_are_fitted_as_in_memory(table, certificate)
    left = n_groups if certificate is None else n_groups - model.certificate.m
    assert (model.estimate is None) == (left < 3)
    if model.estimate is not None:
        assert model.estimate.mae.standard_error > 1e-4


def test_codes_of_parts_are_those_of_all_rows():
    rng = np.random.default_rng(0)
    labels = rng.choice(["b", "a", "aa", "Z", "é"], 90).astype(object)
    expected = np.unique(labels, return_inverse=True)[1]
    np.testing.assert_array_equal(group_codes([labels]), expected)
    np.testing.assert_array_equal(group_codes([labels[:4], labels[4:4], labels[4:]]), expected)
    assert group_codes([np.arange(3), np.arange(3, 9)]) is None
