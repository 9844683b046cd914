"""fit on tables that are read batch by batch: the model of the same rows in memory."""

from __future__ import annotations

import re
import threading

import numpy as np
import pytest
from random_samples import ARRAYS

from treebound import BoundTreeClassifier, BoundTreeRegressor
from treebound.data import arrow_dataset, streams
from treebound.estimators import not_in_memory as fitting
from treebound.growing import Limits

pa = pytest.importorskip("pyarrow")
pds = pytest.importorskip("pyarrow.dataset")
pq = pytest.importorskip("pyarrow.parquet")


def table(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=n), rng.normal(size=n).astype(np.float32)
    count = rng.integers(0, 50, n)
    colour = rng.choice(["red", "green", "blue"], n).astype(object)
    flag = rng.random(n) < 0.5
    score = a + (colour == "red") - 0.05 * count + 0.3 * rng.normal(size=n)
    a[rng.random(n) < 0.1] = np.nan
    colour[rng.random(n) < 0.1] = None
    return pa.table(
        {
            "a": a,
            "b": b,
            "count": count,
            "colour": pa.array(colour),
            "flag": flag,
            "label": np.where(score > 0, "yes", np.where(score < -1, "no", "perhaps")),
            "weight": rng.integers(0, 3, n) * 0.7,
        }
    )


@pytest.fixture
def small(monkeypatch):
    """Batches and limits so small that all of the machinery is used."""
    monkeypatch.setattr(streams, "BATCH_ROWS", 512)
    limits = Limits(gather_rows=40, gather_values=500, max_values=100, few_values=9)
    plain = fitting.fit_engine

    def limited(*args, **options):
        return plain(*args, **{**options, "limits": limits})

    monkeypatch.setattr(fitting, "fit_engine", limited)


def assert_same(model, expected):
    for one in ("grown_tree_", "tree_"):
        for name in ARRAYS:
            np.testing.assert_array_equal(
                getattr(getattr(model, one), name), getattr(getattr(expected, one), name)
            )
    assert model.tree_.columns == expected.tree_.columns
    assert model.classes_.tolist() == expected.classes_.tolist()
    assert model.certificate_ == expected.certificate_
    assert model.n_features_in_ == expected.n_features_in_
    assert model.feature_names_in_.tolist() == expected.feature_names_in_.tolist()


OPTIONS = [
    {},
    {"thresholds": "observed", "max_leaves": 7, "n_jobs": 2},
    {"class_weight": "balanced", "pruning": "pessimistic"},
    {"class_weight": {"yes": 2.5}, "criterion": "gini"},
    {"categorical_features": ["count"]},
    {"ordinal_features": {"colour": ["red", "green", "blue"]}, "pruning": None, "max_leaves": 40},
]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("weight", [None, "weight"])
def test_a_folder_of_parquet_gives_the_model_of_memory(tmp_path, options, weight):
    rows = table()
    given = rows if weight else rows.drop_columns("weight")
    for k in range(3):
        part = given.slice(1000 * k, 1000)
        pa.parquet.write_table(part, tmp_path / f"{k}.parquet", row_group_size=300)
    model = BoundTreeClassifier(**options).fit(pds.dataset(tmp_path), "label", weight)
    X = rows.drop_columns(["label", "weight"])
    weights = None if weight is None else rows["weight"].to_numpy()
    assert_same(model, BoundTreeClassifier(**options).fit(X, rows["label"], weights))
    assert model.target_name_ == "label"


@pytest.mark.usefixtures("small")
def test_csv_files_and_lazy_frames(tmp_path):
    pl = pytest.importorskip("polars")
    csv = pytest.importorskip("pyarrow.csv")
    rows = table(1200).drop_columns(["weight", "colour"])
    csv.write_csv(rows, tmp_path / "rows.csv")
    dataset = pds.dataset(tmp_path / "rows.csv", format="csv")
    memory = dataset.to_table()
    expected = BoundTreeClassifier().fit(memory.drop_columns("label"), memory["label"])
    assert_same(BoundTreeClassifier().fit(dataset, "label"), expected)
    lazy = pl.from_arrow(memory).lazy()
    assert_same(BoundTreeClassifier().fit(lazy, "label"), expected)


def test_all_numbers_need_no_first_reading(tmp_path, monkeypatch):
    """Columns of Parquet that need no second look are read once."""
    rng = np.random.default_rng(0)
    rows = pa.table({"x": rng.normal(size=900), "k": np.arange(900), "y": np.arange(900) % 3 > 1})
    pa.parquet.write_table(rows, tmp_path / "rows.parquet")
    read = []
    plain = arrow_dataset.DatasetBatches.read

    def noted(self, columns=None):
        read.append(columns)
        return plain(self, columns)

    monkeypatch.setattr(arrow_dataset.DatasetBatches, "read", noted)
    model = BoundTreeClassifier().fit(pds.dataset(tmp_path), "y")
    assert read == [["y"], ["x", "k", "y"]]
    assert_same(model, BoundTreeClassifier().fit(rows.drop_columns("y"), rows["y"]))


def test_what_cannot_be_streamed_is_refused_before_reading(monkeypatch):
    dataset = pds.dataset(table(50))
    monkeypatch.setattr(arrow_dataset.DatasetBatches, "read", None)
    with pytest.raises(ValueError, match=r"'y' parameter.*'a', 'b'.*Got 'nothing'"):
        BoundTreeClassifier().fit(dataset, "nothing")
    with pytest.raises(ValueError, match="'y' parameter"):
        BoundTreeClassifier().fit(dataset, np.zeros(50))
    with pytest.raises(ValueError, match="'sample_weight' parameter"):
        BoundTreeClassifier().fit(dataset, "label", np.ones(50))


@pytest.fixture
def few_values(monkeypatch):
    """Tables of more than 400 values are large."""
    monkeypatch.setattr("treebound.pruning.bound.MAX_VALUES", 400)


@pytest.mark.usefixtures("few_values")
def test_a_large_table_is_not_read_again():
    words = r"ReducedErrorPruner.*'bound', 'pessimistic', 'mdl', None"
    with pytest.raises(ValueError, match=words):
        BoundTreeClassifier(pruning="reduced-error").fit(pds.dataset(table(300)), "label")


def test_a_small_table_is_pruned_as_in_memory():
    rows = table(300).drop_columns("weight")
    X, y = rows.drop_columns("label"), rows["label"]
    for options in ({"pruning": "reduced-error"}, {"size": "small"}):
        model = BoundTreeClassifier(**options).fit(pds.dataset(rows), "label")
        assert_same(model, BoundTreeClassifier(**options).fit(X, y))


@pytest.mark.usefixtures("few_values")
def test_a_large_table_is_estimated_on_its_validation_rows_as_in_memory():
    rows = table(3000).drop_columns("weight")
    X, y = rows.drop_columns("label"), rows["label"]
    streamed = BoundTreeClassifier().fit(pds.dataset(rows), "label")
    estimate = streamed.estimate_
    assert estimate.method == "validation rows"
    expected = BoundTreeClassifier().fit(X, y).estimate_
    assert (estimate.confusion, estimate.sizes) == (expected.confusion, expected.sizes)
    unpruned = BoundTreeClassifier(pruning=None).fit(pds.dataset(rows), "label")
    assert unpruned.estimate_ is None
    words = "No estimate: the rows are not in memory, and none of them are validation rows"
    assert unpruned.summary().startswith(words)


def rare_categories(n=3000):
    """A table whose column of keys has categories of single rows, some of them held out."""
    rows = table(n)
    keys = np.where(np.arange(n) % 40 == 0, [f"k{i}" for i in range(n)], "common").astype(object)
    keys[::77] = None
    return rows.append_column("key", pa.array(keys))


def assert_same_held_out(model, expected):
    counted, other = model.model_.evidence.calibration, expected.model_.evidence.calibration
    assert (counted.m, counted.errors, counted.folds) == (other.m, other.errors, other.folds)
    np.testing.assert_array_equal(counted.counts, other.counts)
    if model.pruning_result_ is not None:
        assert model.pruning_result_.choice == expected.pruning_result_.choice
    sketches, expected_sketches = (
        model.model_.provenance.row_record.sketches,
        expected.model_.provenance.row_record.sketches,
    )
    assert sketches.keys() == expected_sketches.keys()
    for role, sketch in sketches.items():
        np.testing.assert_array_equal(sketch.hashes, expected_sketches[role].hashes)
        assert sketch.rows == expected_sketches[role].rows


@pytest.mark.usefixtures("small", "few_values")
@pytest.mark.parametrize("options", [*OPTIONS, {"handle_unknown": "stop"}, {"pruning": "mdl"}])
@pytest.mark.parametrize("weight", [None, "weight"])
def test_rows_held_out_of_a_large_table(options, weight):
    rows = rare_categories()
    given = rows if weight else rows.drop_columns("weight")
    X = rows.drop_columns(["label", "weight"])
    weights = None if weight is None else rows["weight"].to_numpy()
    dataset = pds.dataset(given.to_batches(max_chunksize=700))
    options = {**options, "certificate": "held-out", "random_state": 3}
    model = BoundTreeClassifier(**options).fit(dataset, "label", weight)
    expected = BoundTreeClassifier(**options).fit(X, rows["label"], weights)
    assert_same(model, expected)
    assert_same_held_out(model, expected)
    positive = X.num_rows if weight is None else (weights > 0).sum()
    rest = positive - model.model_.evidence.calibration.m
    if model.model_.provenance.draw.validation is None:
        assert model.grown_tree_.rows[0] == rest
    else:  # a tenth of the other rows chose the weight
        assert 0.85 * rest < model.grown_tree_.rows[0] < 0.95 * rest
    assert model.certificate_.kind == "held-out"
    known = model.model_.columns[-1].categories
    assert len(known) < len(set(rows["key"].to_pylist()) - {None})


@pytest.mark.parametrize("certify", ["held-out", "folds", "prior"])
@pytest.mark.parametrize("weight", [None, "weight"])
def test_certificates_of_a_small_table_are_those_of_memory(certify, weight):
    rows = rare_categories(900)
    given = rows if weight else rows.drop_columns("weight")
    X = rows.drop_columns(["label", "weight"])
    weights = None if weight is None else rows["weight"].to_numpy()
    dataset = pds.dataset(given.to_batches(max_chunksize=200))
    options = {"certificate": certify, "random_state": 3}
    model = BoundTreeClassifier(**options).fit(dataset, "label", weight)
    expected = BoundTreeClassifier(**options).fit(X, rows["label"], weights)
    assert_same(model, expected)
    assert model.target_name_ == "label"
    if certify != "prior":
        assert_same_held_out(model, expected)


@pytest.mark.usefixtures("few_values")
@pytest.mark.parametrize("certify", ["folds", "prior"])
def test_what_needs_all_rows_of_a_large_table_is_refused(certify):
    with pytest.raises(ValueError, match=rf"'certificate' .* 'held-out' .* Got '{certify}'"):
        BoundTreeClassifier(certificate=certify).fit(pds.dataset(table(1500)), "label")


@pytest.mark.usefixtures("small", "few_values")
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("weight", [None, "weight"])
def test_validation_rows_of_a_large_table_are_drawn_by_number(options, weight):
    rows = table()
    given = rows if weight else rows.drop_columns("weight")
    X = rows.drop_columns(["label", "weight"])
    weights = None if weight is None else rows["weight"].to_numpy()
    dataset = pds.dataset(given.to_batches(max_chunksize=700))
    model = BoundTreeClassifier(**options).fit(dataset, "label", weight)
    expected = BoundTreeClassifier(**options).fit(X, rows["label"], weights)
    assert_same(model, expected)
    if "pruning" not in options:
        assert model.grown_tree_.rows[0] < (X.num_rows if weight is None else (weights > 0).sum())
        assert model.pruning_result_.choice == expected.pruning_result_.choice


def test_a_pruner_that_is_given_its_constant_needs_no_rows():
    from treebound.pruning import CostComplexityPruner

    rows = table(600).drop_columns("weight")
    pruner = CostComplexityPruner(alpha=0.01)
    model = BoundTreeClassifier(pruning=pruner).fit(pds.dataset(rows), "label")
    X = rows.drop_columns("label")
    assert_same(model, BoundTreeClassifier(pruning=pruner).fit(X, rows["label"]))


def test_an_error_names_the_batch(monkeypatch):
    monkeypatch.setattr(streams, "BATCH_ROWS", 128)
    rows = table(600)
    values = rows["a"].to_numpy().copy()
    values[300] = np.inf
    rows = rows.set_column(0, "a", [values])
    with pytest.raises(ValueError, match=r"Batch 2 of the table: .*infinity"):
        BoundTreeClassifier().fit(pds.dataset(rows.to_batches(max_chunksize=128)), "label")


def test_growth_without_a_limit_is_stopped_with_a_warning(monkeypatch):
    monkeypatch.setattr(fitting, "MAX_GROWN_LEAVES", 8)
    dataset = pds.dataset(table(600))
    with pytest.warns(UserWarning, match="stopped at 8 leaves.*min_samples_leaf"):
        model = BoundTreeClassifier(pruning="mdl").fit(dataset, "label")
    assert model.grown_tree_.n_leaves == 8


def test_no_rows_are_an_error():
    empty = pds.dataset(table(50).slice(0, 0))
    with pytest.raises(ValueError, match="no rows"):
        BoundTreeClassifier().fit(empty, "label")


def test_a_failed_fit_changes_nothing():
    model = BoundTreeClassifier().fit(pds.dataset(table(200)), "label")
    before = dict(vars(model))
    with pytest.raises(ValueError, match="'y' parameter"):
        model.fit(pds.dataset(table(200)), "nothing")
    assert vars(model) == before


class Stopped(Exception):
    pass


@pytest.mark.parametrize("in_memory", [True, False])
def test_progress_and_checkpoints(in_memory, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("treebound.growing.engine.LocalEngine.gather_values", 150)
    monkeypatch.setattr("treebound.growing.engine.QUICK_VALUES", 150)
    rows = table(900).drop_columns("weight")
    X, y = rows.drop_columns("label"), rows["label"]
    given = (X, y) if in_memory else (pds.dataset(rows), "label")
    options, path, states = {"pruning": None, "max_leaves": 9}, tmp_path / "tree", []

    def stop(state):
        states.append(state)
        if state.rounds >= 2:
            raise Stopped

    model = BoundTreeClassifier(**options)
    with pytest.raises(Stopped):
        model.fit(*given, callback=stop, checkpoint=path)
    assert path.exists()
    model.fit(*given, verbose=1, checkpoint=path)
    assert_same(model, BoundTreeClassifier(**options).fit(X, y))
    assert "growing: pass 1, " in capsys.readouterr().out
    assert not path.exists()
    phases = [state.phase for state in states]
    assert phases[-1] == "growing"
    assert in_memory or phases[:2] == ["learning", "coding"]


def test_files_of_a_dataset_may_hold_texts_or_dictionaries(tmp_path):
    texts = pa.table({"c": ["a", "b"] * 20, "x": [1, 2] * 20, "y": ["u", "v"] * 20})
    coded = texts.set_column(0, "c", pa.array(["b", "c"] * 20).dictionary_encode())
    for at, table in enumerate([texts, coded]):
        pq.write_table(table, tmp_path / f"{at}.parquet")
    clf = BoundTreeClassifier(pruning=None).fit(pds.dataset(tmp_path), "y")
    assert clf.columns_[0].categories == ("a", "b", "c")
    pq.write_table(texts.set_column(1, "x", pa.array(["t"] * 40)), tmp_path / "2.parquet")
    with pytest.raises(ValueError, match=r"'x' must be of one type.*0\.parquet.*2\.parquet"):
        BoundTreeClassifier().fit(pds.dataset(tmp_path), "y")


class Table(streams.Batches):
    """A table in memory that is read in batches, and what happens while it is read."""

    def __init__(self, rows, size=128, fails_at=None):
        self._rows, self._size, self._fails_at = rows, size, fails_at
        self.threads = set()

    @property
    def names(self):
        return list(self._rows.column_names)

    def read(self, columns=None):
        rows = self._rows if columns is None else self._rows.select(columns)
        for number, start in enumerate(range(0, len(rows), self._size)):
            self.threads.add(threading.current_thread().name)
            if number == self._fails_at:
                raise OSError(f"the file ends at batch {number}")
            yield rows.slice(start, self._size)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("estimator", [BoundTreeClassifier, BoundTreeRegressor])
@pytest.mark.parametrize("certificate", ["training", "held-out"])
@pytest.mark.parametrize("weight", [None, "weight"])
def test_any_number_of_threads_gives_the_same_model(
    estimator, certificate, weight, monkeypatch, tmp_path
):
    monkeypatch.setattr("treebound.pruning.bound.MAX_VALUES", 1000)  # a large table
    rows = table(2500)
    if weight is None:
        rows = rows.drop_columns("weight")
    target = "label" if estimator is BoundTreeClassifier else "b"
    if estimator is BoundTreeRegressor and certificate == "training":
        certificate = None
    files = []
    for n_jobs in (None, 2, 4):
        stream = Table(rows)
        model = estimator(certificate=certificate, random_state=0, n_jobs=n_jobs)
        model.fit(stream, target, weight)
        assert ("MainThread" in stream.threads) == (n_jobs is None)
        model.save(tmp_path / f"{n_jobs}.json")  # the tree, its path, the certificate, the record
        files.append(re.sub(r'"n_jobs":\w+', "", (tmp_path / f"{n_jobs}.json").read_text()))
    assert files[1:] == files[:1] * 2


@pytest.mark.parametrize("n_jobs", [None, 3])
def test_an_error_of_reading_is_raised_in_the_caller(n_jobs):
    with pytest.raises(OSError, match="the file ends at batch 3"):
        BoundTreeClassifier(n_jobs=n_jobs).fit(Table(table(900), fails_at=3), "label")


@pytest.mark.parametrize("phase", ["learning", "coding"])
def test_progress_may_stop_reading_ahead(phase):
    seen = []

    def stop(state):
        seen.append((threading.current_thread(), state.phase, state.done))
        if state.phase == phase and state.done > 256:
            raise Stopped

    model = BoundTreeClassifier(n_jobs=2, pruning=None)
    with pytest.raises(Stopped):
        model.fit(Table(table(900)), "label", callback=stop)
    assert {thread for thread, *_ in seen} == {threading.main_thread()}
    assert [rows for _, some, rows in seen if some == phase] == [128, 256, 384]
