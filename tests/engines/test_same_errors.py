"""Errors of tables and parameters are the same in every engine."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import treebound as tb
from treebound.engines.sql import Relation

dd = pytest.importorskip("dask.dataframe")
duckdb = pytest.importorskip("duckdb")


def table(n=60):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=n), "s": rng.choice(["u", "v"], n)})
    frame["label"] = np.where(frame.a > 0, "yes", "no")
    return frame


def engines(frame):
    """The frame with labels as X and y of each engine."""
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    duck = duckdb.from_arrow(arrow)
    yield frame.drop(columns="label"), frame.label
    yield pl.from_arrow(arrow).lazy(), "label"
    yield ds.dataset(arrow), "label"
    yield dd.from_pandas(frame, npartitions=2), "label"
    yield duck, "label"
    yield Relation(duck, max_fetched_rows=0), "label"


@pytest.mark.parametrize("class_weight", [{"sick": 2.0}, {"yes": 1.0, "sick": 2.0}])
@pytest.mark.parametrize("certificate", ["training", "held-out"])
def test_a_class_weight_of_an_unknown_class_is_refused(class_weight, certificate):
    words = r"'class_weight' .* classes of y as keys \('no', 'yes'\). Got 'sick' instead"
    for X, y in engines(table()):
        with pytest.raises(ValueError, match=words):
            tb.BoundTreeClassifier(class_weight=class_weight, certificate=certificate).fit(X, y)


@pytest.mark.parametrize("certificate", ["held-out", "folds"])
def test_a_class_weight_of_a_class_without_training_rows_is_accepted(certificate):
    frame = table()
    frame.loc[7, "label"] = "rare"
    for seed in range(6):  # it is drawn as a calibration row with some of them
        options = {"class_weight": {"rare": 3.0}, "certificate": certificate, "random_state": seed}
        for X, y in engines(frame):
            if certificate == "folds" and isinstance(X, Relation):
                continue
            clf = tb.BoundTreeClassifier(**options).fit(X, y)
            assert clf.classes_.tolist() == ["no", "rare", "yes"]


def test_no_rows_are_refused():
    clf = tb.BoundTreeClassifier().fit(*next(engines(table())))
    for X, y in engines(table()[:0]):
        with pytest.raises(ValueError, match=r"minimum of 1 is required|no rows"):
            tb.BoundTreeClassifier().fit(X, y)
        with pytest.raises(ValueError, match="minimum of 1 is required"):
            clf.score(X, y)


def test_rows_of_classes_that_were_not_fitted_are_errors():
    clf = tb.BoundTreeClassifier().fit(*next(engines(table())))
    frame = table()
    frame.loc[frame.index[::4], "label"] = "sick"
    right = (clf.predict(frame.drop(columns="label")) == frame.label).mean()
    assert right <= 0.75
    for X, y in engines(frame):
        assert clf.score(X, y) == pytest.approx(right)
    for X, y in engines(frame.assign(label=7)):
        with pytest.raises(ValueError, match="y must hold classes of the tree"):
            clf.score(X, y)


def test_no_rows_certify_nothing():
    clf = tb.BoundTreeClassifier().fit(*next(engines(table())))
    for X, y in engines(table()[:0]):
        if not isinstance(X, dd.DataFrame):
            with pytest.raises(ValueError, match="minimum of 1 is required"):
                tb.certify(clf, X, y)
