"""Rows that fit draws: the same in every engine, and drawn again from what the model keeps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import treebound as tb
from treebound.data.draws import Slice, Stratified, Tenth
from treebound.edit import Editor
from treebound.exchange import dumps, loads
from treebound.pruning import BoundPruner, ReducedErrorPruner

pa = pytest.importorskip("pyarrow")
pds = pytest.importorskip("pyarrow.dataset")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def few_values(monkeypatch):
    """Tables of more than 400 values are large."""
    monkeypatch.setattr("treebound.pruning.bound.MAX_VALUES", 400)


def table(n=2000, seed=0):
    """Every type of column, both zeros, and missing values; sorted by class."""
    rng = np.random.default_rng(seed)
    real = rng.normal(size=n).round(2)
    single = np.maximum(rng.normal(size=n), 0.0).astype(np.float32)
    single[0] = -0.0
    score = real + 0.5 * rng.normal(size=n)
    real[rng.random(n) < 0.1] = np.nan
    words = rng.choice(["red", "green", "Blue", "a'b"], n).astype(object)
    words[rng.random(n) < 0.1] = None
    rows = pa.table(
        {
            "real": pa.array(real, from_pandas=True),
            "single": single,
            "whole": rng.integers(-5, 50, n),
            "code": rng.integers(0, 4, n),
            "word": pa.array(words),
            "flag": rng.random(n) < 0.5,
            "label": np.where(score > 0, "yes", "no"),
            "weight": rng.integers(0, 3, n) * 0.7,
        }
    )
    return rows.sort_by("label")


OPTIONS = {"categorical_features": ["code"], "max_depth": 4}


def sources(rows, tmp_path):
    """The table in every engine, with the names of label and weight."""
    pq.write_table(rows.slice(0, 700), tmp_path / "0.parquet")
    pq.write_table(rows.slice(700), tmp_path / "1.parquet")
    yield "batches", pds.dataset(rows.to_batches(max_chunksize=311))
    yield "parquet", pds.dataset(tmp_path)
    polars = pytest.importorskip("polars")
    yield "polars", polars.from_arrow(rows).lazy()
    dd = pytest.importorskip("dask.dataframe")
    yield "dask", dd.from_pandas(rows.to_pandas(), npartitions=4)


@pytest.mark.usefixtures("few_values")
@pytest.mark.parametrize("certify", ["training", "held-out"])
@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("by_type", [True, False])
def test_the_key_is_the_same_in_every_engine(certify, weight, by_type, tmp_path):
    rows = table() if weight else table().drop_columns("weight")
    options = {**OPTIONS, "certificate": certify}
    if by_type:  # numbers of Parquet files and Dask frames are left unread at first
        del options["categorical_features"]
    weights = None if weight is None else rows["weight"].to_numpy()
    X = rows.drop_columns([name for name in ("label", "weight") if name in rows.column_names])
    expected = tb.BoundTreeClassifier(**options).fit(X, rows["label"], weights).model_
    frame = X.to_pandas()
    again = tb.BoundTreeClassifier(**options).fit(frame, rows["label"].to_pylist(), weights)
    assert again.model_.provenance.draw == expected.provenance.draw
    selection = expected.provenance.draw.calibration or expected.provenance.draw.validation
    assert isinstance(selection, Tenth)
    for name, source in sources(rows, tmp_path):
        model = tb.BoundTreeClassifier(**options).fit(source, "label", weight).model_
        assert model.provenance.draw == expected.provenance.draw, name
        np.testing.assert_array_equal(model.grown.rows, expected.grown.rows)


@pytest.mark.parametrize("certify", ["training", "held-out"])
def test_the_key_in_a_database_is_that_of_memory(certify):
    duckdb = pytest.importorskip("duckdb")
    from treebound.engines.sql import Relation

    rows = table().drop_columns("weight")
    rows = rows.append_column("id", pa.array(np.arange(rows.num_rows)))
    options = {**OPTIONS, "certificate": certify}
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register("rows", rows)
        there = Relation(connection.sql("SELECT * FROM rows"), id="id", max_fetched_rows=0)
        clf = tb.BoundTreeClassifier(**options).fit(there, "label")
    draw, X, y = clf.model_.provenance.draw, rows.drop_columns(["label", "id"]), rows["label"]
    key = (
        tb.BoundTreeClassifier(**{**options, "certificate": "folds"})
        .fit(X, y)
        .model_.provenance.draw.key
    )
    assert draw.key == key
    assert isinstance(draw.validation, Slice)
    assert (draw.calibration is None) == (certify == "training")
    editor = clf.edit(X, y)  # the rows of fit, in the order of the key
    assert editor.tree.rows[0] == (1800 if certify == "training" else 1620)


def test_another_order_draws_the_same_numbers_and_another_content_others():
    X, y = np.random.default_rng(0).normal(size=(300, 2)), np.arange(300) % 2

    def key(X, y, **options):
        options = {"certificate": "held-out", **options}
        return tb.BoundTreeClassifier(**options).fit(X, y).model_.provenance.draw.key

    order = np.random.default_rng(1).permutation(300)
    assert key(X[order], y[order]) == key(X, y) == key(X.astype(np.longdouble), y + 5)
    assert key(pd.DataFrame(X), y) == key(X, y)
    least = np.where(X.min() == X, X - 1e-9, X)
    missing = np.where(np.median(X[:, 0]) == X, np.nan, X)
    missing[0, 0] = np.nan
    keys = {key(least, y), key(missing, y), key(X, (y * order) % 2), key(X[1:], y[1:])}
    keys |= {key(X, y, random_state=1), key(X[:, ::-1], y)}
    assert len(keys | {key(X, y)}) == 7
    words = np.where(X > 0, "a", "b").astype(object)
    swapped = words.copy()
    swapped[0] = np.where(words[0] == "a", "b", "a")
    assert key(words, y) != key(swapped, y)


def test_without_a_seed_the_key_is_drawn_once():
    rng = np.random.default_rng(0)
    X = rng.random((200, 2))
    y = (X[:, 0] > rng.random(200)).astype(int)
    for certify in ("training", "prior", "held-out"):
        clf = tb.BoundTreeClassifier(random_state=None, certificate=certify).fit(X, y)
        again = tb.BoundTreeClassifier(random_state=None, certificate=certify).fit(X, y)
        assert clf.model_.provenance.draw.salt != again.model_.provenance.draw.salt
        risks = {clf.model_.certify(X, y, kind="prior").risk for _ in range(3)}
        loaded = loads(dumps(clf.model_))
        assert risks == {loaded.certify(X, y, kind="prior").risk}


# -- the rows of fit, given to the editor ------------------------------------------------------


def sample_table(n=2400, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "z": rng.integers(0, 9, n).astype(float),
            "c": rng.choice(["u", "v", "w"], n),
        }
    )
    y = np.where(X["x"] + (X["c"] == "u") + 0.6 * rng.normal(size=n) > 0, "yes", "no")
    order = np.argsort(y, kind="stable")
    return X.iloc[order].reset_index(drop=True), y[order], rng


PRUNERS = {
    "bound": {},
    "reduced-error": {"pruning": "reduced-error"},
    "another share": {"pruning": ReducedErrorPruner(validation_fraction=0.3, random_state=None)},
    "a seed of its own": {"pruning": BoundPruner(random_state=7)},
}


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("pruner", PRUNERS)
@pytest.mark.parametrize("certify", ["training", "held-out", "folds"])
def test_the_editor_takes_the_rows_of_fit(certify, pruner, grouped, large, monkeypatch):
    if large:
        monkeypatch.setattr("treebound.pruning.bound.MAX_VALUES", 400)
    X, y, rng = sample_table()
    weight = rng.integers(0, 3, len(y)).astype(float)
    groups = rng.integers(0, 300, len(y)) if grouped else None
    parameters = {**PRUNERS[pruner], "certificate": certify, "random_state": None, "max_leaves": 6}
    clf = tb.BoundTreeClassifier(**parameters).fit(X, y, weight, groups=groups)
    editor = clf.edit(X, y, sample_weight=weight, groups=groups)
    assert editor._rows.sample.n_rows == clf.tree_.rows[0]
    if clf.model_.evidence.calibration is not None:
        calibration = editor._rows.calibration
        assert calibration.n_rows == clf.model_.evidence.calibration.m
        nodes = clf.tree_.apply(calibration.X)
        assert (
            clf.tree_.label[nodes] != calibration.y
        ).sum() == clf.model_.evidence.calibration.errors
    loaded = loads(dumps(clf.model_))
    assert loaded.provenance.draw == clf.model_.provenance.draw
    again = Editor(loaded, X, y, sample_weight=weight, groups=groups)
    np.testing.assert_array_equal(again._rows.sample.y, editor._rows.sample.y)
    # in a large table, validation rows choose the weight of a bound pruner
    draws_validation = pruner in ("reduced-error", "another share")
    assert (loaded.provenance.draw.validation is not None) == (draws_validation or large)
    if certify != "training":
        reverse = slice(None, None, -1)
        with pytest.raises(ValueError, match="the rows that the tree was trained on"):
            clf.edit(X[reverse], y[reverse], sample_weight=weight[reverse])


@pytest.mark.usefixtures("few_values")
def test_the_editor_takes_rows_that_were_streamed():
    X, y, _ = sample_table()
    rows = pa.Table.from_pandas(X.assign(label=y))
    for certify in ("training", "held-out"):
        clf = tb.BoundTreeClassifier(certificate=certify).fit(pds.dataset(rows), "label")
        assert clf.edit(X, y)._rows.sample.n_rows == clf.tree_.rows[0] < len(y)


def with_draw(model, draw):
    return replace(model, provenance=replace(model.provenance, draw=draw))


def test_selections_are_kept_in_a_file():
    X, y, _ = sample_table(200)
    model = tb.BoundTreeClassifier().fit(X, y).model_
    drawn = model.provenance.draw
    for selection in (Slice(5, 2, 9), Tenth(2**53 - 1), Stratified(3, 0.25), None):
        draw = replace(drawn, key=7, validation=selection)
        assert loads(dumps(with_draw(model, draw))).provenance.draw == draw
    text = dumps(with_draw(model, replace(drawn, calibration=Tenth(1))))
    for old, new in (("tenth", "stratified"), ("tenth", "other")):
        with pytest.raises(ValueError, match="draw"):
            loads(text.replace(f'"{old}"', f'"{new}"'))
    huge = tb.BoundTreeClassifier(random_state=2**70).fit(X, y).model_
    assert huge.provenance.draw.salt < 2**53


# -- progress and checkpoints ------------------------------------------------------------------


class Stopped(Exception):
    pass


def given(rows, streamed):
    if streamed:
        return pds.dataset(rows.to_batches(max_chunksize=200)), "label"
    return rows.drop_columns("label"), rows["label"]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("certify", ["held-out", "folds", "prior"])
def test_progress_is_reported_with_every_certificate(certify, streamed, capsys):
    rows = table(600).drop_columns("weight")
    states, options = [], {"certificate": certify, "pruning": "bound"}
    clf = tb.BoundTreeClassifier(**options)
    clf.fit(*given(rows, streamed), callback=states.append, verbose=1)
    phases = list(dict.fromkeys(state.phase for state in states))
    last = "searching" if certify == "prior" else "growing"
    assert phases == (["learning", "coding", last] if streamed else [last])
    grown = [state.fold for state in states if state.phase == "growing"]
    folds = {"held-out": [0, 1, 2, 3, 4, 5], "folds": [1, 2, 3, 4], "prior": []}[certify]
    assert list(dict.fromkeys(grown)) == folds
    printed = capsys.readouterr().out
    assert ("fold 3 of 4: growing: pass 1, " in printed) == (certify == "folds")
    assert ("fold 3 of 5: growing: pass 1, " in printed) == (certify == "held-out")
    assert ("searching: 2 runs so far" in printed) == (certify == "prior")


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("certify", ["training", "held-out", "folds"])
def test_checkpoints_are_written_with_every_certificate(certify, streamed, tmp_path, monkeypatch):
    monkeypatch.setattr("treebound.growing.engine.LocalEngine.gather_values", 150)
    monkeypatch.setattr("treebound.growing.engine.QUICK_VALUES", 150)
    rows, path = table(600).drop_columns("weight"), tmp_path / "tree"
    options = {"certificate": certify, "pruning": "reduced-error", "max_depth": 5}
    last = 2 if certify == "folds" else 0

    def stop(state):
        if state.phase == "growing" and state.rounds >= 2 and state.fold == last:
            raise Stopped

    clf = tb.BoundTreeClassifier(**options)
    with pytest.raises(Stopped):
        clf.fit(*given(rows, streamed), callback=stop, checkpoint=path)
    assert [file.name for file in tmp_path.iterdir()] == ["tree" + ".fold2" * (last == 2)]
    rounds = []
    for _ in range(2):  # from the checkpoint, and from the start
        states = []
        clf.fit(*given(rows, streamed), callback=states.append, checkpoint=path)
        assert list(tmp_path.iterdir()) == []
        rounds.append(sum(state.phase == "growing" and state.fold == last for state in states))
        plain = tb.BoundTreeClassifier(**options).fit(*given(rows, False))
        assert clf.to_text() == plain.to_text()
        np.testing.assert_array_equal(clf.tree_.counts, plain.tree_.counts)
    assert rounds[0] < rounds[1]


@pytest.mark.parametrize("streamed", [False, True])
def test_a_search_has_no_checkpoint(streamed, tmp_path):
    rows = table(600).drop_columns("weight")
    with pytest.raises(ValueError, match="'checkpoint' parameter of fit must be None with"):
        tb.BoundTreeClassifier(certificate="prior").fit(
            *given(rows, streamed), checkpoint=tmp_path / "tree"
        )
