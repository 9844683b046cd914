"""certificate="auto": calibration rows, which choose nothing, from 10,000 rows on; all engines."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from random_samples import ARRAYS

import treebound as tb
from treebound.engines.sql import Relation
from treebound.exchange import dumps, loads
from treebound.model.parameters import AUTO_ROWS
from treebound.pruning import BoundPruner, SquaredErrorPruner

pa = pytest.importorskip("pyarrow")
pds = pytest.importorskip("pyarrow.dataset")


@pytest.fixture
def few_rows(monkeypatch):
    """Tables of 1,500 rows or more have calibration rows."""
    monkeypatch.setattr("treebound.model.parameters.AUTO_ROWS", 1500)


@pytest.fixture(params=[False, True], ids=["small", "large"])
def few_values(request, monkeypatch):
    """Tables of more than 400 values are large, or none is."""
    if request.param:
        monkeypatch.setattr("treebound.pruning.bound.MAX_VALUES", 400)
    return request.param


def frame(n, seed=0):
    """A table that is sorted by class."""
    rng = np.random.default_rng(seed)
    real = rng.normal(size=n).round(6)
    colour = rng.choice(["red", "green", "blue"], n)
    score = real + (colour == "red") + rng.normal(size=n)
    rows = pd.DataFrame({"real": real, "colour": colour, "label": np.where(score > 0, "y", "n")})
    return rows.sort_values("label", ignore_index=True)


def in_memory(rows, **options):
    clf = tb.BoundTreeClassifier(**options)
    return clf.fit(rows.drop(columns=["label", "id"], errors="ignore"), rows["label"])


def assert_same(model, expected):
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(model.tree, name), getattr(expected.tree, name))
    counts, expected_counts = model.evidence.calibration, expected.evidence.calibration
    assert (counts is None) == (expected_counts is None)
    if counts is not None:
        assert (counts.m, counts.errors) == (expected_counts.m, expected_counts.errors)
    assert model.evidence.kind == expected.evidence.kind
    assert model.provenance.draw.calibration == expected.provenance.draw.calibration


def test_the_threshold_in_memory():
    assert AUTO_ROWS == 10_000
    rows = frame(AUTO_ROWS)
    assert in_memory(rows).certificate_.kind == "held-out"
    assert in_memory(rows[1:]).certificate_.kind == "training"


@pytest.mark.usefixtures("few_rows")
def test_rows_of_positive_weight_and_groups_count():
    rows = frame(1500)
    X, y = rows.drop(columns="label"), rows["label"]
    weight, groups = np.ones(1500), np.arange(1500)
    clf = tb.BoundTreeClassifier()
    assert clf.fit(X, y, weight, groups).certificate_.kind == "held-out"
    weight[7] = 0.0
    assert clf.fit(X, y, weight).certificate_.kind == "training"
    groups[0] = 1
    assert clf.fit(X, y, groups=groups).model_.evidence.kind == "training"


@pytest.mark.usefixtures("few_rows")
def test_auto_is_what_it_chose_in_all_other_respects(few_values):
    for n, kind in ((1500, "held-out"), (1499, "training")):
        rows = frame(n)
        auto, chosen = in_memory(rows), in_memory(rows, certificate=kind)
        assert_same(auto.model_, chosen.model_)
        assert str(auto.certificate_) == str(chosen.certificate_)
        assert auto.certificate == "auto"
        again = loads(dumps(auto.model_))
        assert again.provenance.parameters["certificate"] == "auto"
        assert again.evidence.kind == again.certificate.kind == kind


@pytest.mark.usefixtures("few_rows")
@pytest.mark.parametrize("n", [1499, 1800])
def test_streams_and_dask_follow_the_rule(few_values, n):
    dd = pytest.importorskip("dask.dataframe")
    rows = frame(n)
    expected = in_memory(rows).model_
    assert expected.evidence.kind == ("training" if n < 1500 else "held-out")
    draws_validation = few_values and expected.provenance.draw.validation is not None
    assert draws_validation == few_values
    table = pa.Table.from_pandas(rows, preserve_index=False)
    for there in (
        pds.dataset(table.to_batches(max_chunksize=311)),
        dd.from_pandas(rows, npartitions=3),
    ):
        assert_same(tb.BoundTreeClassifier().fit(there, "label").model_, expected)


@pytest.mark.usefixtures("few_rows")
@pytest.mark.parametrize("n", [1499, 1800])
def test_a_database_follows_the_rule(n):
    duckdb = pytest.importorskip("duckdb")
    rows = frame(n).assign(id=np.arange(n))
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register("rows", rows)
        relation = connection.sql("SELECT * FROM rows")
        for max_fetched_rows in (0, 1 << 16):
            there = Relation(relation, id="id", max_fetched_rows=max_fetched_rows)
            model = tb.BoundTreeClassifier().fit(there, "label").model_
            assert model.evidence.kind == ("training" if n < 1500 else "held-out")
            if n >= 1500:
                assert model.evidence.calibration.m == in_memory(rows).model_.evidence.calibration.m


@pytest.mark.usefixtures("few_rows")
def test_a_database_without_temporary_tables_has_the_training_certificate(monkeypatch):
    duckdb = pytest.importorskip("duckdb")
    monkeypatch.setattr("treebound.engines.sql.rows.RelationRows.can_draw", False)
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register("rows", frame(1800))
        relation = connection.sql("SELECT * FROM rows")
        there = Relation(relation, max_fetched_rows=0)
        with pytest.warns(UserWarning, match="computed from the training rows: calibration rows"):
            clf = tb.BoundTreeClassifier().fit(there, "label")
        assert clf.certificate_.kind == "training"
        with pytest.raises(ValueError, match="none can be written here"):
            tb.BoundTreeClassifier(certificate="held-out").fit(there, "label")


@pytest.mark.usefixtures("few_rows")
@pytest.mark.parametrize("source", ["memory", "stream"])
def test_calibration_rows_choose_nothing(few_values, source):
    """With other labels of these rows, in the same numbers, the tree is the same."""
    rows = frame(2000)
    expected = in_memory(rows).model_
    inside = expected.provenance.draw.calibration.mask(len(rows))
    labels = rows["label"].to_numpy(copy=True)
    labels[inside] = np.random.default_rng(1).permutation(labels[inside])
    rows["label"] = labels
    if source == "memory":
        model = in_memory(rows).model_
    else:
        table = pa.Table.from_pandas(rows, preserve_index=False)
        dataset = pds.dataset(table.to_batches(max_chunksize=311))
        model = tb.BoundTreeClassifier().fit(dataset, "label").model_
    assert model.provenance.draw == expected.provenance.draw
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(model.tree, name), getattr(expected.tree, name))
    assert model.pruning.choice == expected.pruning.choice
    assert model.evidence.calibration.errors > expected.evidence.calibration.errors


@pytest.mark.usefixtures("few_rows")
def test_a_wide_search_follows_the_rule():
    clf = in_memory(frame(1500), search="wide", size="small", max_leaves=4)
    assert clf.certificate_.kind == "held-out"


@pytest.mark.usefixtures("few_rows")
def test_an_edited_tree_has_the_training_certificate_unless_no_figure_was_seen():
    rows = frame(1500)
    X, y = rows.drop(columns="label"), rows["label"]
    clf = tb.BoundTreeClassifier().fit(X, y)
    for unseen, kind in ((False, "training"), (True, "held-out")):
        with pytest.warns(UserWarning, match="computed from the training rows"):
            editor = clf.edit(X, y)
        editor.collapse("L")
        assert editor.done(calibration_unseen=unseen).certificate_.kind == kind


@pytest.mark.parametrize("kind", [tb.BoundTreeClassifier, tb.BoundTreeRegressor])
def test_listed_folds_are_of_the_whole_table(kind, monkeypatch):
    monkeypatch.setattr("treebound.model.parameters.AUTO_ROWS", 100)
    monkeypatch.setattr("treebound.model.regression_parameters.AUTO_ROWS", 100)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 2)), rng.integers(0, 2, 300)
    folds = [(np.arange(150), np.arange(150, 300)), (np.arange(150, 300), np.arange(150))]
    pruner = BoundPruner if kind is tb.BoundTreeClassifier else SquaredErrorPruner
    for options in ({"cv": folds}, {"pruning": pruner(folds=folds, rule="small")}):
        model = kind(**options).fit(X, y).model_
        assert model.tree.rows[0] == 300  # none is held out
        (name,) = options
        refusal = rf"'{name}' parameter.*splitter,? with certificate='held-out'.*are held out"
        with pytest.raises(ValueError, match=refusal):
            kind(**options, certificate="held-out").fit(X, y)


@pytest.mark.parametrize("kind", [tb.BoundTreeClassifier, tb.BoundTreeRegressor])
def test_listed_folds_of_a_pruner_count_rows_of_weight_zero(kind):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(300, 2)), rng.integers(0, 2, 300)
    y[X[:, 0] > 0] = 1
    halves = [np.arange(0, 300, 2), np.arange(1, 300, 2)]
    weight = (np.arange(300) % 3 > 0).astype(float)
    present = np.flatnonzero(weight)
    places = [np.flatnonzero(np.isin(present, half)) for half in halves]
    pruner = BoundPruner if kind is tb.BoundTreeClassifier else SquaredErrorPruner

    def fitted(first, second, *rows):
        folds = [(first, second), (second, first)]
        return kind(pruning=pruner(folds=folds, rule="small")).fit(*rows)

    expected = fitted(*places, X[present], y[present])
    weighted = fitted(*halves, X, y, weight)
    assert weighted.to_text() == expected.to_text()
    assert weighted.pruning_result_.choice == expected.pruning_result_.choice
