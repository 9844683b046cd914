"""Datasets and lazy frames after fit, and datasets whose files differ."""

import gc
import os

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import treebound as tb
from treebound.data import spill, streams


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(streams, "BATCH_ROWS", 100)


def rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.normal(size=n).round(2), "k": rng.integers(0, 9, n)})
    frame["s"] = rng.choice(["u", "v", "w"], n)
    frame["extra"] = rng.normal(size=n)
    frame["label"] = np.where(frame.a + (frame.s == "u") > 0.3, "yes", "no")
    return frame


def model_of(frame, **options):
    X = frame.drop(columns="label")
    return tb.BoundTreeClassifier(max_leaves=8, pruning=None, **options).fit(X, frame.label)


def streams_of(frame, folder):
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), folder / "rows.parquet")
    dataset = ds.dataset(folder / "rows.parquet")
    return [dataset, dataset.filter(ds.field("k") >= 0), pl.scan_parquet(folder / "rows.parquet")]


def test_streams_are_answered_as_the_table_is(tmp_path):
    frame = rows()
    clf, new = model_of(frame), rows(350, seed=1)
    X = new.drop(columns="label")
    for stream in streams_of(new, tmp_path):
        assert clf.predict(stream).tolist() == clf.predict(X).tolist()
        np.testing.assert_array_equal(clf.predict_proba(stream), clf.predict_proba(X))
        np.testing.assert_array_equal(clf.apply(stream), clf.apply(X))
        assert clf.score(stream, "label") == pytest.approx(clf.score(X, new.label))
        assert tb.certify(clf, stream, "label").risk == tb.certify(clf, X, new.label).risk


def test_training_rows_are_refused_in_batches_and_after_a_streamed_fit(tmp_path):
    frame = rows()
    for stream in streams_of(frame, tmp_path):
        with pytest.raises(ValueError, match="comparable rows equal training rows"):
            tb.certify(model_of(frame), stream, "label")
        streamed = tb.BoundTreeClassifier(max_leaves=8, pruning=None).fit(stream, "label")
        with pytest.raises(ValueError, match="comparable rows equal training rows"):
            tb.certify(streamed, frame.drop(columns="label"), frame.label)
        new = rows(seed=2)
        assert tb.certify(streamed, new.drop(columns="label"), new.label).kind == "held-out"


def test_only_the_columns_that_the_tree_uses_are_needed(tmp_path):
    frame = rows()
    clf = model_of(frame)
    used = [frame.columns[at] for at in np.unique(clf.tree_.feature) if at >= 0]
    for stream in streams_of(frame[[*used, "k"]], tmp_path):
        assert clf.predict(stream).tolist() == clf.predict(frame.drop(columns="label")).tolist()
    for stream in streams_of(frame[["k", "extra"]], tmp_path):
        with pytest.raises(ValueError, match=r"X has no column '[as]', which the tree needs"):
            clf.predict(stream)


def test_what_batches_do_not_have_is_named(tmp_path):
    frame = rows()
    clf = model_of(frame)
    stream = streams_of(frame, tmp_path)[0]
    with pytest.raises(ValueError, match=r"'y' parameter .* name of a column .*Got 'lable'"):
        clf.score(stream, "lable")
    with pytest.raises(ValueError, match="'sample_weight' parameter of score must be None"):
        clf.score(stream, "label", np.ones(400))
    with pytest.raises(ValueError, match=r"'kind' parameter of certify .* rows in batches"):
        tb.certify(clf, stream, "label", kind="training")
    with pytest.raises(TypeError, match="X must be a table in memory"):
        clf.decision_path(stream)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_predictions_are_written_in_batches(tmp_path, suffix):
    frame = rows()
    clf, X = model_of(frame), frame.drop(columns="label")
    read = pd.read_csv if suffix == "csv" else pd.read_parquet
    for number, table in enumerate([X, *streams_of(frame, tmp_path)]):
        path = tmp_path / f"{number}.{suffix}"
        clf.write_predictions(table, path)
        assert read(path)["label"].tolist() == clf.predict(X).tolist()
        clf.write_predictions(table, path, proba=True, keep=True)
        table = read(path)
        assert table["s"].tolist() == frame["s"].tolist()
        labels = table["label" if number == 0 else "predicted label"]
        assert labels.tolist() == clf.predict(X).tolist()
        shares = clf.predict_proba(X)[:, 1]
        shares = shares.round(6) if suffix == "csv" else shares  # as text
        assert table["P(yes)"].tolist() == shares.tolist()
    numbers = tb.BoundTreeClassifier().fit(X[["a", "k"]].to_numpy(), frame.label)
    with pytest.raises(TypeError, match="Only the columns of a data frame can be kept"):
        numbers.write_predictions(X[["a", "k"]].to_numpy(), path, keep=True)


def test_columns_of_a_stream_can_be_chosen(tmp_path):
    frame = rows()
    for stream in streams_of(frame, tmp_path):
        clf = tb.BoundTreeClassifier().fit(stream, "label", columns=["s", "k"])
        assert clf.feature_names_in_.tolist() == ["s", "k"]
        with pytest.raises(ValueError, match=r"'columns' parameter of fit .* Got 'b'"):
            tb.BoundTreeClassifier().fit(stream, "label", columns=["b"])
    with pytest.raises(ValueError, match=r"None for a table in memory.*X\[columns\]"):
        tb.BoundTreeClassifier().fit(frame, frame.label, columns=["a"])


# -- files that differ -----------------------------------------------------------------------------


def write(folder, **frames):
    for name, frame in frames.items():
        pq.write_table(
            pa.Table.from_pandas(frame, preserve_index=False), folder / f"{name}.parquet"
        )
    return ds.dataset(folder)


def test_types_of_files_are_unified(tmp_path):
    frame = rows()
    frame["gap"] = np.where(np.arange(400) < 200, np.nan, frame.extra)
    first, second = frame[:200].astype({"k": "int32"}), frame[200:].assign(k=frame.k[200:] + 0.5)
    dataset = write(tmp_path, p=first.assign(gap=None), q=second)
    whole = pd.concat([first, second])
    expected = model_of(whole)
    clf = tb.BoundTreeClassifier(max_leaves=8, pruning=None).fit(dataset, "label")
    assert clf.columns_ == expected.columns_
    np.testing.assert_array_equal(clf.tree_.threshold, expected.tree_.threshold)
    assert clf.predict(dataset).tolist() == expected.predict(whole.drop(columns="label")).tolist()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda frame: frame.assign(more=1), "q.parquet has 'more' besides"),
        (lambda frame: frame.drop(columns="k"), "q.parquet lacks 'k'"),
        (lambda frame: frame.assign(k="text"), "one type in every file.*p.parquet and .*q.parquet"),
    ],
)
def test_other_columns_and_types_that_do_not_fit_are_refused(tmp_path, change, words):
    frame = rows()
    dataset = write(tmp_path, p=frame[:200], q=change(frame[200:]))
    with pytest.raises(ValueError, match=words):
        tb.BoundTreeClassifier().fit(dataset, "label")


def test_a_schema_that_the_user_chose_is_taken(tmp_path):
    frame = rows()
    write(tmp_path, p=frame[:200], q=frame[200:].assign(more=1))
    schema = pa.schema([("a", "double"), ("label", "string")])
    clf = tb.BoundTreeClassifier().fit(ds.dataset(tmp_path, schema=schema), "label")
    assert clf.feature_names_in_.tolist() == ["a"]


def test_csv_datasets_are_tables_as_in_memory(tmp_path):
    frame = rows(3000)
    frame["s"] = frame.s.where(np.arange(3000) % 5 > 0)
    frame["k"] = frame.k.astype(object)
    frame.loc[2990, "k"] = 3.5
    frame.to_csv(tmp_path / "rows.csv", index=False)
    form = ds.CsvFileFormat(read_options=pa.csv.ReadOptions(block_size=20_000))
    dataset = ds.dataset(tmp_path / "rows.csv", format=form)
    assert dataset.schema.field("k").type == pa.int64()  # of the first block
    clf = tb.BoundTreeClassifier(max_leaves=8, pruning=None).fit(dataset, "label")
    memory = pd.read_csv(tmp_path / "rows.csv")
    assert clf.columns_ == model_of(memory).columns_
    predicted = clf.predict(ds.dataset(tmp_path / "rows.csv", format=form))
    assert predicted.tolist() == clf.predict(memory.drop(columns="label")).tolist()


def test_a_file_that_is_replaced_between_two_readings_is_named(tmp_path, monkeypatch):
    frame = rows()
    dataset = write(tmp_path, p=frame[:200], q=frame[200:])
    plain = streams.merge_facts

    def replaced(*args, **options):
        write(tmp_path, q=frame[:150])
        os.utime(tmp_path / "q.parquet", ns=(1, 1))
        return plain(*args, **options)

    monkeypatch.setattr(streams, "merge_facts", replaced)
    with pytest.raises(ValueError, match=r"q.parquet changed while the table was read"):
        tb.BoundTreeClassifier().fit(dataset, "label")


# -- the temporary file ----------------------------------------------------------------------------


@pytest.mark.filterwarnings(
    "error::ResourceWarning", "error::pytest.PytestUnraisableExceptionWarning"
)
def test_the_temporary_file_is_closed(tmp_path):
    clf = tb.BoundTreeClassifier(max_leaves=8, pruning=None)
    clf.fit(streams_of(rows(), tmp_path)[0], "label")
    gc.collect()


def test_a_full_disk_names_the_folder_and_its_variable(tmp_path, monkeypatch):
    if not os.path.exists("/dev/full"):
        pytest.skip("needs /dev/full")
    full = lambda **options: open("/dev/full", "wb", buffering=0)  # noqa: E731, SIM115
    monkeypatch.setattr(spill.tempfile, "TemporaryFile", full)
    clf = tb.BoundTreeClassifier(max_leaves=8, pruning=None)
    with pytest.raises(OSError, match=r"temporary file in /.*: No space left.*TMPDIR"):
        clf.fit(streams_of(rows(), tmp_path)[0], "label")
