"""Identifiers: columns with another value in almost every row are not learned from."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest

import treebound as tb
from treebound.data import Sample
from treebound.data.columns import is_identifier, landscape_of
from treebound.exchange import dumps
from treebound.show import to_text

NOTICE = r"Column 'key' identifies rows .* and is not learned from"


def _table(n: int = 300, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({
        "key": [f"P{at:05d}" for at in rng.permutation(n)],
        "size": rng.normal(size=n).round(2),
        "colour": rng.choice(["blue", "green", "red"], n),
    })  # fmt: skip
    frame["y"] = ((frame["size"] > 0) ^ (frame["colour"] == "red") ^ (rng.random(n) < 0.1)) * 1
    return frame


def _notices(caught: list[warnings.WarningMessage]) -> list[str]:
    return [str(one.message) for one in caught if "identifies rows" in str(one.message)]


@pytest.mark.parametrize(
    ("n_categories", "n_rows", "identifies"),
    [(50, 50, True), (49, 49, False), (45, 50, False), (46, 50, True), (901, 1000, True),
     (900, 1000, False)],
)  # fmt: skip
def test_the_rule_needs_50_rows_and_more_than_90_percent_distinct_values(
    n_categories: int, n_rows: int, identifies: bool
) -> None:
    assert is_identifier("nominal", False, n_categories, n_rows) is identifies
    assert not is_identifier("nominal", True, n_categories, n_rows)
    assert not is_identifier("ordinal", False, n_categories, n_rows)


@pytest.mark.parametrize("certify", ["training", "held-out", "folds", "prior"])
@pytest.mark.parametrize("pruning", ["bound", None])
def test_an_identifier_is_never_split_on_and_fit_warns_once(certify: str, pruning: str) -> None:
    frame = _table()
    clf = tb.BoundTreeClassifier(certificate=certify, pruning=pruning)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clf.fit(frame.drop(columns="y"), frame["y"])
    assert len(_notices(caught)) == 1
    assert 0 not in clf.grown_tree_.feature
    assert clf.n_features_in_ == 3
    assert "P00000" not in repr(clf.model_.columns)
    new = frame.drop(columns="y").assign(key="never seen")
    assert (clf.predict(new) == clf.predict(frame.drop(columns="y"))).all()


def test_new_identifiers_are_accepted_where_new_categories_are_errors() -> None:
    frame = _table()
    with pytest.warns(UserWarning, match=NOTICE):
        clf = tb.BoundTreeClassifier(handle_unknown="error").fit(
            frame.drop(columns="y"), frame["y"]
        )
    clf.predict(frame.drop(columns="y").assign(key="never seen"))
    with pytest.raises(ValueError, match="'never seen'"):
        clf.predict(frame.drop(columns="y").assign(colour="never seen"))


@pytest.mark.parametrize("pruning", ["mdl", "kearns-mansour", "pessimistic", None])
def test_the_tree_is_that_of_the_table_without_the_column(pruning: str | None) -> None:
    frame = _table()
    with pytest.warns(UserWarning, match=NOTICE):
        clf = tb.BoundTreeClassifier(pruning=pruning).fit(frame.drop(columns="y"), frame["y"])
    other = tb.BoundTreeClassifier(pruning=pruning).fit(frame[["size", "colour"]], frame["y"])
    assert to_text(clf) == to_text(other)


def test_categorical_features_insists() -> None:
    frame = _table()
    X, y = frame.drop(columns="y"), frame["y"]
    for chosen in (["key"], [0], np.array([True, False, False])):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            clf = tb.BoundTreeClassifier(pruning=None, categorical_features=chosen).fit(X, y)
        assert not _notices(caught)
        assert 0 in clf.tree_.feature
    declared = X.assign(key=X["key"].astype("category"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clf = tb.BoundTreeClassifier(pruning=None).fit(declared, y)
    assert not _notices(caught)
    assert 0 in clf.tree_.feature


def test_a_pruning_score_does_not_count_identifiers_and_a_certificate_does() -> None:
    frame = _table()
    columns = Sample.learn(frame.drop(columns="y"), frame["y"]).columns
    assert columns[0].identifier
    assert landscape_of(columns, observed=True) == landscape_of(columns[1:], observed=True)
    assert landscape_of(columns).nominal == (None, None)


def test_numbers_written_as_text_keep_their_own_hint() -> None:
    frame = _table().assign(key=lambda frame: [f"{1000 + at:,}" for at in range(len(frame))])
    with pytest.warns(UserWarning, match=r"numbers written as text.*not learned from.*convert"):
        tb.BoundTreeClassifier().fit(frame.drop(columns="y"), frame["y"])


@pytest.mark.parametrize("options", [{"pruning": None}, {"certificate": "held-out"}, {}])
@pytest.mark.parametrize("insisted", [False, True])
def test_every_engine_grows_the_tree_of_memory(options: dict[str, object], insisted: bool) -> None:
    duckdb, dd = pytest.importorskip("duckdb"), pytest.importorskip("dask.dataframe")
    pl, ds = pytest.importorskip("polars"), pytest.importorskip("pyarrow.dataset")
    import pyarrow as pa

    from treebound.engines.sql import Relation

    frame, documents = _table(), {}
    tables = {
        "polars": pl.from_pandas(frame).lazy(),
        "arrow": ds.dataset(pa.Table.from_pandas(frame, preserve_index=False)),
        "dask": dd.from_pandas(frame, npartitions=3),
        "duckdb": Relation(duckdb.from_df(frame), max_fetched_rows=50),
    }
    if insisted:
        options = {**options, "categorical_features": ["key"]}
    for name, table in {"memory": None, **tables}.items():
        clf = tb.BoundTreeClassifier(**options)
        if name == "duckdb" and options.get("pruning", "") is not None:
            continue  # calibration rows are drawn by number, and those of a relation have none
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if table is None:
                clf.fit(frame.drop(columns="y"), frame["y"])
            else:
                clf.fit(table, "y")
        assert len(_notices(caught)) == (not insisted), name
        documents[name] = json.loads(dumps(clf.model_, row_record=False))
    for document in documents.values():
        if document.pop("estimate") is None:  # it needs the rows, here
            assert "not in memory" in document.pop("no_estimate")
        else:
            assert document.pop("no_estimate") == ""
    assert all(document == documents["memory"] for document in documents.values())


def test_a_database_counts_the_values_of_an_identifier_and_fetches_none() -> None:
    duckdb = pytest.importorskip("duckdb")
    from treebound.engines.sql import Relation

    n = 70_000  # more values than codes of categories
    relation = duckdb.sql(
        f"SELECT 'P' || range AS key, (range * 7919 % 1000) / 1000 AS size, "
        f"CASE WHEN range * 7919 % 1000 > 500 THEN 'a' ELSE 'b' END AS y FROM range({n})"
    )
    clf = tb.BoundTreeClassifier(pruning=None, certificate="training")
    with pytest.warns(UserWarning, match=NOTICE):
        clf.fit(Relation(relation), "y")
    assert clf.tree_.columns[0].unlisted == n
    assert clf.n_leaves_ == 2
