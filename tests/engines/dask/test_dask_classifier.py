"""Dask collections give the model of memory, whatever the partitions."""

from __future__ import annotations

import pickle
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow.dataset
import pytest
from random_samples import ARRAYS

from treebound import BoundTreeClassifier
from treebound.data import streams

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pytest.importorskip("distributed")

from dask import delayed  # noqa: E402


def frame(n=1200, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n).astype(np.float32)})
    table["count"] = rng.integers(0, 9, n)
    table["colour"] = rng.choice(["red", "green", "blue"], n)
    table["size"] = pd.Categorical(
        rng.choice(["s", "m", "l"], n), categories=["s", "m", "l", "xl"], ordered=True
    )
    table["flag"] = rng.random(n) < 0.5
    table.loc[rng.random(n) < 0.1, "a"] = np.nan
    table.loc[rng.random(n) < 0.1, "colour"] = None
    score = table["a"].fillna(1.0) + (table["colour"] == "red") - (table["size"] == "l")
    table["label"] = np.where(score + 0.3 * rng.normal(size=n) > 0.3, "yes", "no")
    table["weight"] = rng.integers(0, 3, n) * 0.7
    return table


def assert_same(model, expected):
    for name in ARRAYS:
        for one in ("grown_tree_", "tree_"):
            np.testing.assert_array_equal(
                getattr(getattr(model, one), name), getattr(getattr(expected, one), name)
            )
    assert model.tree_.columns == expected.tree_.columns
    assert model.classes_.tolist() == expected.classes_.tolist()
    assert model.certificate_ == expected.certificate_


OPTIONS = [
    {},
    {"thresholds": "observed", "max_leaves": 6},
    {"class_weight": "balanced", "pruning": "mdl"},
    {"criterion": "gini", "pruning": None, "max_leaves": 9},
    {"monotonic_cst": {"a": -1, "size": 1}, "forced_splits": ["flag = False"], "pruning": None},
]


@pytest.mark.parametrize(
    ("options", "with_client", "weight"),
    [
        *((options, True, "weight") for options in OPTIONS),
        (OPTIONS[0], True, None),
        (OPTIONS[0], False, None),
        (OPTIONS[1], False, "weight"),
    ],
)
def test_frames_give_the_model_of_memory(client, monkeypatch, options, with_client, weight):
    if not with_client:
        monkeypatch.setattr("treebound.engines.dask.table.current_client", lambda: None)
    table = frame()
    rows = table.drop(columns=["label", "weight"])
    weights = None if weight is None else table[weight]
    expected = BoundTreeClassifier(**options).fit(rows, table["label"], weights)
    lazy = dd.from_pandas(table, npartitions=5, sort=False)
    lazy = lazy if weight else lazy.drop(columns=["weight"])
    model = BoundTreeClassifier(**options).fit(lazy, "label", weight)
    assert_same(model, expected)
    assert model.target_name_ == "label"
    assert model.feature_names_in_.tolist() == rows.columns.tolist()


def test_probabilities_learned_on_dask_keep_their_order(client):
    table = frame().drop(columns="weight")
    rules = {"monotonic_cst": {"a": -1}, "pruning": None}
    lazy = dd.from_pandas(table, npartitions=5, sort=False)
    model = BoundTreeClassifier(**rules).fit(lazy, "label")
    rows, steps = table.drop(columns="label"), np.linspace(-3.0, 3.0, 25)
    for at in range(0, len(rows), 60):
        same = rows.iloc[[at] * len(steps)].assign(a=steps)
        assert (np.diff(model.predict_proba(same)[:, 1]) <= 1e-12).all()
    assert model.n_leaves_ > 20


def test_arrays_give_the_model_of_memory(client):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(900, 5))
    y = (X[:, 0] > X[:, 1]).astype(int) + (X[:, 2] > 1)
    expected = BoundTreeClassifier().fit(X, y)
    lazy = da.from_array(X, chunks=(250, 2)), da.from_array(y, chunks=250)
    model = BoundTreeClassifier().fit(*lazy)
    assert_same(model, expected)
    for method in ("predict", "predict_proba", "predict_log_proba", "apply"):
        predicted = getattr(model, method)(lazy[0])
        assert isinstance(predicted, da.Array)
        np.testing.assert_array_equal(predicted.compute(), getattr(expected, method)(X))
    assert model.score(*lazy) == expected.score(X, y)


def many_lazy(table, folder):
    dd.from_pandas(table, npartitions=18).to_parquet(folder)
    return dd.read_parquet(folder, split_row_groups=True)


MANY = {
    "lazy": many_lazy,
    "on the workers": lambda table, _: dd.from_pandas(table, npartitions=18).persist(),
    "of other tasks": lambda table, _: dd.from_pandas(table, npartitions=24).repartition(
        npartitions=18
    ),
    "shared": lambda table, _: (lambda rows: rows.assign(b=rows["b"] + 0 * rows["b"].sum()))(
        dd.from_pandas(table, npartitions=18)
    ),
}


@pytest.mark.parametrize("form", MANY)
def test_many_small_partitions(client, tmp_path, form):
    table, options = frame(900), OPTIONS[1]
    rows, labels, weights = table.drop(columns=["label", "weight"]), table["label"], table["weight"]
    expected = BoundTreeClassifier(**options).fit(rows, labels, weights)
    lazy = MANY[form](table, tmp_path / "rows")
    assert_same(BoundTreeClassifier(**options).fit(lazy, "label", "weight"), expected)


def test_many_small_partitions_take_few_tasks(client):
    from treebound.engines.dask.partitions import partitions

    lazy = dd.from_pandas(frame(600), npartitions=60)
    groups = partitions(client, lazy, "label", None).groups(range(60))
    assert sorted(k for group in groups for k in group) == list(range(60))
    assert len(groups) <= 8  # four for each of two threads
    barrier = partitions(client, lazy.shuffle("count", npartitions=60), "label", None)
    assert len(barrier.groups(range(60))) == 60  # tasks of a shuffle are Dask's own


def test_predictions_for_frames_are_lazy_and_keep_the_index(client):
    table = frame()
    rows = table.drop(columns=["label", "weight"])
    lazy = dd.from_pandas(rows, npartitions=3)
    labelled = dd.from_pandas(table, npartitions=3)
    model = BoundTreeClassifier(max_leaves=6).fit(labelled, "label", columns=list(rows))
    local = BoundTreeClassifier(max_leaves=6).fit(rows, table["label"])
    predicted = model.predict(lazy)
    assert isinstance(predicted, dd.Series)
    pd.testing.assert_series_equal(
        predicted.compute(), pd.Series(local.predict(rows), rows.index, name="label")
    )
    shares = model.predict_proba(lazy).compute()
    np.testing.assert_array_equal(shares.to_numpy(), local.predict_proba(rows))
    assert shares.columns.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(model.apply(lazy).compute(), local.apply(rows))
    np.testing.assert_array_equal(model.predict(rows), local.predict(rows))
    expected = local.score(rows, table["label"], table["weight"])
    assert model.score(labelled, "label", "weight") == pytest.approx(expected, rel=1e-12)
    separate = (dd.from_pandas(table[name], npartitions=3) for name in ("label", "weight"))
    assert model.score(lazy, *separate) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_uneven_weights_and_unused_categories_are_the_same_everywhere(client, monkeypatch, seed):
    """Weights as exp(8 z), and rows of no weight with categories that no other row has."""
    rng = np.random.default_rng(seed)
    n, used = 400, rng.random(400) < 0.8
    table = pd.DataFrame({"x": rng.normal(size=n), "y": rng.normal(size=n)})
    table["name"] = np.where(
        used, rng.choice(["a", "b", "c"], n), rng.integers(0, 40, n).astype(str)
    )
    table["label"] = (table.x + (table.name == "a") + rng.normal(size=n) > 0).astype(int)
    table["weight"] = np.where(used, np.exp(8 * rng.normal(size=n)), 0.0)
    options = {"max_depth": 5, "class_weight": [None, "balanced"][seed % 2]}
    rows = table.drop(columns=["label", "weight"])
    expected = BoundTreeClassifier(**options).fit(rows, table["label"], table["weight"])
    assert expected.columns_[2].categories == ("a", "b", "c")
    monkeypatch.setattr(streams, "BATCH_ROWS", 64)
    dataset = pyarrow.dataset.dataset(pyarrow.Table.from_pandas(table))
    streamed = BoundTreeClassifier(**options).fit(dataset, "label", "weight")
    lazy = dd.from_pandas(table, npartitions=5, sort=False)
    model = BoundTreeClassifier(**options).fit(lazy, "label", "weight")
    for fitted in (streamed, model):
        assert_same(fitted, expected)
        assert fitted.columns_ == expected.columns_


def test_odd_partitions(client):
    """Empty, of one class, all missing, of other categories, int here and float there."""
    table = frame(600).drop(columns=["weight", "size"])
    table = table.sort_values(["label", "colour"], ignore_index=True)
    table.loc[:99, "a"] = np.nan
    cuts = [0, 100, 100, 101, 350, 600]
    parts = [table.iloc[a:b].copy() for a, b in pairwise(cuts)]
    parts[3]["count"] = parts[3]["count"].astype(float)
    meta = table.iloc[:0]
    lazy = dd.from_delayed([delayed(part) for part in parts], meta=meta, verify_meta=False)
    model = BoundTreeClassifier().fit(lazy, "label")
    expected = BoundTreeClassifier().fit(table.drop(columns="label"), table["label"])
    assert_same(model, expected)
    assert len(model.predict(lazy.drop(columns="label")).compute()) == 600


def test_labels_of_another_index_are_not_taken_by_place():
    frame = pd.DataFrame({"x": np.arange(40.0)})
    labels = pd.Series(["no", "yes"] * 20, index=[f"row {i:02d}" for i in range(40)])
    X, y = dd.from_pandas(frame, npartitions=4), dd.from_pandas(labels, npartitions=4)
    with pytest.raises(ValueError, match=r"by their index: .*Hint: make them from one DataFrame"):
        BoundTreeClassifier().fit(X, y)


def test_categories_that_are_not_known_beforehand(client):
    """A dtype that differs from partition to partition declares nothing."""
    table = frame(400)[["a", "colour", "label"]]
    lazy = dd.from_pandas(table.sort_values("colour"), npartitions=4, sort=False)
    lazy = lazy.map_partitions(lambda part: part.astype({"colour": "category"}))
    model = BoundTreeClassifier().fit(lazy, "label")
    expected = BoundTreeClassifier().fit(
        table.sort_values("colour").drop(columns="label"), table.sort_values("colour")["label"]
    )
    assert_same(model, expected)


def test_arrow_columns(client):
    pytest.importorskip("pyarrow")
    table = frame(400)[["a", "count", "colour", "flag", "label"]]
    arrow = table.convert_dtypes(dtype_backend="pyarrow")
    model = BoundTreeClassifier().fit(dd.from_pandas(arrow, npartitions=3), "label")
    assert_same(model, BoundTreeClassifier().fit(table.drop(columns="label"), table["label"]))


def test_labels_that_are_read_separately(client, tmp_path):
    table = frame(400).drop(columns=["weight", "size"])
    for k in range(4):  # every file counts its rows from zero
        part = table.iloc[100 * k : 100 * k + 100].reset_index(drop=True)
        for name, columns in (("X", part.drop(columns="label")), ("y", part[["label"]])):
            (tmp_path / name).mkdir(exist_ok=True)
            columns.to_parquet(tmp_path / name / f"{k}.parquet")
    X, y = (dd.read_parquet(tmp_path / name) for name in "Xy")
    options = {"pruning": None, "max_leaves": 12}
    expected = BoundTreeClassifier(**options).fit(table.drop(columns="label"), table["label"])
    for labels in (y["label"], dd.from_pandas(table["label"], npartitions=4)):
        model = BoundTreeClassifier(**options).fit(X, labels)
        assert_same(model, expected)
        assert model.score(X, labels) == expected.score(table.drop(columns="label"), table["label"])


@pytest.mark.parametrize("known", [False, True])
def test_labels_and_weights_beside_a_frame(client, known):
    """In other divisions, in none, by name or as a collection, and as an array."""
    table = frame(600).drop(columns="size")
    X, label, weight = table.drop(columns=["label", "weight"]), table["label"], table["weight"]
    options = {"pruning": None, "max_leaves": 12}
    expected = BoundTreeClassifier(**options).fit(X, label, weight)
    accuracy = expected.score(X, label, weight)
    lazy = dd.from_pandas(table, npartitions=3)
    if known:  # rows are found by their index
        labels = dd.from_pandas(label, npartitions=4)
        weights = dd.from_pandas(weight, npartitions=5)
    else:
        lazy, labels = lazy.clear_divisions(), dd.from_pandas(label, npartitions=3)
        weights = dd.from_pandas(weight.reset_index(drop=True), npartitions=3)
    rows = lazy[list(X)]
    for given in (
        (rows, labels, weights),
        (lazy[[*X, "label"]], "label", weights),
        (lazy[[*X, "weight"]], labels, "weight"),
        (rows, lazy["label"].to_dask_array(), lazy["weight"]),
    ):
        model = BoundTreeClassifier(**options).fit(*given)
        assert_same(model, expected)
        assert model.target_name_ == (None if hasattr(given[1], "rechunk") else "label")
        assert model.score(*given) == pytest.approx(accuracy, rel=1e-12)
    model = BoundTreeClassifier(**options).fit(lazy, labels, weights, columns=["a", "count"])
    few = BoundTreeClassifier(**options).fit(X[["a", "count"]], label, weight)
    assert_same(model, few)


def test_a_client_that_is_not_the_default(client):
    distributed = pytest.importorskip("distributed")
    table = frame(400).drop(columns="weight")
    rows = table.drop(columns="label")
    lazy = dd.from_pandas(table, npartitions=3)
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
    ) as cluster:
        other = distributed.Client(cluster, set_as_default=False)
        try:
            with other.as_current():
                persisted = lazy.persist()
                model = BoundTreeClassifier(max_leaves=6).fit(
                    persisted[list(rows)], persisted["label"]
                )
                accuracy = model.score(persisted, "label")
        finally:
            other.close()
    expected = BoundTreeClassifier(max_leaves=6).fit(rows, table["label"])
    assert_same(model, expected)
    assert accuracy == expected.score(rows, table["label"])


def test_a_model_of_dask_needs_no_dask(client, tmp_path):
    table = frame(300).drop(columns="weight")
    rows = table.drop(columns="label")
    lazy = dd.from_pandas(table, npartitions=2)
    model = BoundTreeClassifier(max_leaves=5).fit(lazy, "label")
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copied.predict(rows), model.predict(rows))
    model.save(tmp_path / "model.json")
    again = BoundTreeClassifier.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    assert model.prune_to(2).n_leaves_ == 2


def test_labels_of_the_same_files_are_read_with_their_rows(client, tmp_path):
    """Also if divisions are unknown, and if the same rows were chosen of both."""
    from treebound.engines.dask.partitions import partitions, with_labels

    table = frame(400).drop(columns=["weight", "size"])
    for k in range(4):
        part = table.iloc[100 * k : 100 * k + 100].reset_index(drop=True)
        for name, columns in (("rows", part), ("labels", part[["label"]])):
            (tmp_path / name).mkdir(exist_ok=True)
            columns.to_parquet(tmp_path / name / f"{k}.parquet")
    lazy = dd.read_parquet(tmp_path / "rows")
    X, y = lazy.drop(columns="label"), lazy["label"]
    assert not X.known_divisions
    some = X["count"] > 3
    other = dd.read_parquet(tmp_path / "labels")["label"]  # read by other tasks
    for rows, labels, n_pieces in ((X, y, 1), (X[some], y[some], 1), (X, other, 2)):
        parts = partitions(None, *with_labels(rows, labels, None))
        assert len(parts._parts[0].keys) == n_pieces
    options = {"pruning": None, "max_leaves": 12}
    for chosen, rows, labels in ((slice(None), X, y), (table["count"] > 3, X[some], y[some])):
        part = table.loc[chosen]
        expected = BoundTreeClassifier(**options).fit(part.drop(columns="label"), part["label"])
        assert_same(BoundTreeClassifier(**options).fit(rows, labels), expected)


def test_validation_rows_of_a_large_table_are_drawn_by_number(client, monkeypatch):
    monkeypatch.setattr("treebound.pruning.bound.MAX_VALUES", 400)
    table = frame(2000)
    rows = table.drop(columns=["label", "weight"])
    expected = BoundTreeClassifier().fit(rows, table["label"], table["weight"])
    lazy = dd.from_pandas(table, npartitions=3)
    model = BoundTreeClassifier().fit(lazy, "label", "weight")
    assert_same(model, expected)
    assert model.pruning_result_.choice == expected.pruning_result_.choice
    assert model.grown_tree_.rows[0] < (table["weight"] > 0).sum()
    for name in ("reduced-error", "cost-complexity", "kearns-mansour"):
        with pytest.raises(ValueError, match=r"'bound'.*'pessimistic', 'mdl', None"):
            BoundTreeClassifier(pruning=name).fit(lazy, "label")


@pytest.mark.parametrize("here", [False, True])
@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("certify", ["held-out", "folds"])
def test_certificates_from_calibration_rows(client, monkeypatch, certify, weight, here):
    """In a large table (held-out) and a small one (folds), on a cluster and without one."""
    if here:
        monkeypatch.setattr("treebound.engines.dask.table.current_client", lambda: None)
    if certify == "held-out":
        monkeypatch.setattr("treebound.pruning.bound.MAX_VALUES", 400)
    table = frame(2000)
    table["colour"] = np.where(np.arange(2000) % 50 == 7, [f"c{i}" for i in range(2000)], "red")
    table = table if weight else table.drop(columns="weight")
    rows = table.drop(columns=["label", "weight"], errors="ignore")
    options = {"certificate": certify, "random_state": 1, "handle_unknown": "majority"}
    weights = table["weight"] if weight else None
    expected = BoundTreeClassifier(**options).fit(rows, table["label"], weights)
    lazy = dd.from_pandas(table, npartitions=3)
    model = BoundTreeClassifier(**options).fit(lazy, "label", weight)
    assert_same(model, expected)
    counted, other = model.model_.evidence.calibration, expected.model_.evidence.calibration
    assert (counted.m, counted.errors, counted.folds) == (other.m, other.errors, other.folds)
    np.testing.assert_array_equal(counted.counts, other.counts)
    assert model.certificate_.kind == certify


def test_partitions_must_fit(client):
    X, y = da.zeros((8, 2), chunks=(4, 2)), da.zeros(8, chunks=3)
    with pytest.raises(ValueError, match="same partitions"):
        BoundTreeClassifier().fit(X, y)
    for labels in (np.zeros(8), None):
        with pytest.raises(ValueError, match=r"'y'.*Dask"):
            BoundTreeClassifier().fit(X, labels)
    lazy = dd.from_pandas(frame(20), npartitions=2)
    for labels in (np.zeros(20), "none", None):
        with pytest.raises(ValueError, match="'y' parameter of fit must be the name of a column"):
            BoundTreeClassifier().fit(lazy, labels)
    short = dd.from_pandas(frame(10)["label"].reset_index(drop=True), npartitions=2)
    with pytest.raises(ValueError, match=r"Partition 0: .*numbers of samples"):
        BoundTreeClassifier().fit(lazy.clear_divisions(), short)
    with pytest.raises(ValueError, match="'columns'"):
        BoundTreeClassifier().fit(lazy, "label", columns=["none"])
    with pytest.raises(ValueError, match="'groups'"):
        BoundTreeClassifier().fit(X, y.rechunk(4), groups=np.zeros(8))


def test_a_column_of_two_types_is_refused_with_its_partition(client):
    parts = [
        pd.DataFrame({"x": [1.0, 2.0], "y": [0, 1]}),
        pd.DataFrame({"x": ["a", "b"], "y": [0, 1]}),
    ]
    lazy = dd.from_delayed([delayed(p) for p in parts], meta=parts[0], verify_meta=False)
    with pytest.raises(ValueError, match=r"Partition 1: Column 'x' changed its type"):
        BoundTreeClassifier().fit(lazy, "y")


def test_parquet_files_whose_columns_dask_reads_in_other_partitions(client, tmp_path):
    """Dask puts small partitions together; rows, labels and weights must stay side by side."""
    table = frame(2000)
    for k in range(4):
        part = table.iloc[500 * k : 500 * k + 500]
        part.to_parquet(tmp_path / f"{k}.parquet", row_group_size=250)
    lazy = dd.read_parquet(tmp_path, split_row_groups=True)
    X = table.drop(columns=["label", "weight"])
    expected = BoundTreeClassifier().fit(X, table["label"], table["weight"])
    accuracy = expected.score(X, table["label"], table["weight"])
    rows, label, weight = lazy.drop(columns=["label", "weight"]), lazy["label"], lazy["weight"]
    for given in ((lazy, "label", "weight"), (rows, label, weight)):
        model = BoundTreeClassifier().fit(*given)
        assert_same(model, expected)
        assert model.target_name_ == "label"
        assert model.score(*given) == pytest.approx(accuracy, rel=1e-12)


def test_workers_load_no_scikit_learn():
    code = (
        "import sys, treebound.engines.dask.partitions\n"
        "import treebound.engines.dask.engine\n"
        "assert not {'sklearn', 'scipy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_progress_and_checkpoints(client, tmp_path, capsys):
    table = frame(900).drop(columns="weight")
    rows, options = table.drop(columns="label"), {"pruning": None, "max_leaves": 9}
    expected = BoundTreeClassifier(**options).fit(rows, table["label"])
    lazy, path, states = dd.from_pandas(table, npartitions=3), tmp_path / "tree", []
    model = BoundTreeClassifier(**options)
    model.fit(lazy, "label", verbose=1, callback=states.append, checkpoint=path)
    assert_same(model, expected)
    assert states[-1].phase == "growing"
    assert "growing: pass 1, " in capsys.readouterr().out
    assert not path.exists()
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        model.fit(lazy, "label", checkpoint=tmp_path / "none" / "tree")
