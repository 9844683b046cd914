"""Regression trees of large tables that are not in memory are those of memory, in every array."""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold

import treebound as tb
from treebound.data import Sample
from treebound.data.draws import Draw
from treebound.data.encoding import read_matrix
from treebound.data.frames import read_table
from treebound.data.number_sample import NumberSample
from treebound.data.weights import relative_weights
from treebound.engines.sql import Relation
from treebound.estimators.number_fitting import clip_range, fit_training_rows, with_calibration
from treebound.growing import grow_numbers

pa = pytest.importorskip("pyarrow")
pds = pytest.importorskip("pyarrow.dataset")
dd = pytest.importorskip("dask.dataframe")
dask_array = pytest.importorskip("dask.array")
duckdb = pytest.importorskip("duckdb")


def random_numbers(rng, score):
    """A target: decimals, floats, few values, a large mean, a constant."""
    kinds = [
        lambda: score.round(2),
        lambda: score,
        lambda: np.round(score),
        lambda: 1e9 + score,
        lambda: np.exp(score),
        lambda: 1e-9 * score,
        lambda: np.full(len(score), 2.5) if rng.random() < 0.2 else score.round(1),
    ]
    return kinds[rng.integers(len(kinds))]()


def random_table(rng, n=None):
    """Real, nominal and ordinal columns, an identifier, missing values, a target and weights."""
    n = int(rng.integers(60, 400)) if n is None else n
    table = pd.DataFrame({"a": rng.normal(size=n).round(int(rng.integers(1, 6)))})
    table["b"] = np.exp(2 * rng.normal(size=n))
    table["k"] = rng.integers(0, 9, n)
    table["s"] = rng.choice(["u", "v", "w"], n).astype(object)
    levels = pd.CategoricalDtype(["low", "mid", "high"], ordered=True)
    table["o"] = pd.Series(rng.choice(["low", "mid", "high"], n)).astype(levels)
    if rng.random() < 0.3:
        table["name"] = [f"n{k}" for k in rng.permutation(n)]
    score = table.a + (table.s == "u") + 0.3 * table.k + rng.choice([0.1, 1.0]) * rng.normal(size=n)
    table.loc[rng.random(n) < rng.choice([0.0, 0.02, 0.2]), "a"] = np.nan
    table.loc[rng.random(n) < 0.1, "s"] = None
    table.loc[rng.random(n) < 0.02, "s"] = "rare"
    table["y"] = random_numbers(rng, score.to_numpy())
    weights = [None, rng.integers(0, 4, n).astype(float), rng.random(n) + 0.01]
    weight = weights[rng.integers(3)]
    if weight is not None:
        table["w"] = weight
    return table


def random_parameters(rng, table):
    parameters = {
        "certificate": [None, "held-out", "auto"][rng.integers(3)],
        "cv": [5, 5, None][rng.integers(3)],
        "pruning": ["bound", "bound", "cost-complexity", None][rng.integers(4)],
        "min_samples_leaf": ["auto", "auto", 1, 7][rng.integers(4)],
        "size": [None, "accurate", "small", "readable"][rng.integers(4)],
        "thresholds": str(rng.choice(["decimal", "midpoint", "observed"])),
        "max_leaves": [None, None, 6][rng.integers(3)],
        "random_state": int(rng.integers(9)),
    }
    if parameters["pruning"] is None:
        parameters["size"] = None
    if rng.random() < 0.3:
        parameters["monotonic_cst"] = {"a": int(rng.choice([-1, 1])), "k": 1}
    elif rng.random() < 0.3:
        parameters["forced_splits"] = ["k <= 4"]
    if rng.random() < 0.2:
        parameters["y_range"] = (float(table.y.min()) - 1.0, float(table.y.max()) + 1.0)
    return parameters


def assert_same_trees(actual, expected, context):
    for name in expected.node_arrays:
        np.testing.assert_array_equal(
            getattr(actual, name), getattr(expected, name), err_msg=f"{name} {context}"
        )
    assert actual.columns == expected.columns, context
    assert (actual.weighted, actual.monotone) == (expected.weighted, expected.monotone)


def assert_same_models(actual, expected, context, *, recorded=True):
    """Everything but the time that pruning took, and the types of the columns as they were read."""
    assert_same_trees(actual.tree, expected.tree, context)
    assert_same_trees(actual.grown, expected.grown, context)
    assert (actual.pruning is None) == (expected.pruning is None)
    if expected.pruning is not None:
        assert actual.pruning.choice == expected.pruning.choice, context
        np.testing.assert_array_equal(actual.path.leaves, expected.path.leaves)
        np.testing.assert_array_equal(actual.path.scores, expected.path.scores)
    assert actual.options == expected.options
    assert actual.clip == expected.clip
    assert actual.provenance.draw == expected.provenance.draw, context
    one, other = actual.evidence, expected.evidence
    assert one.estimate == other.estimate
    assert one.sizes == other.sizes
    np.testing.assert_array_equal(one.residuals, other.residuals)
    assert (one.calibration is None) == (other.calibration is None), context
    if other.calibration is not None:
        np.testing.assert_array_equal(one.calibration.y, other.calibration.y)
        np.testing.assert_array_equal(one.calibration.nodes, other.calibration.nodes)
        assert one.calibration.tolerance == other.calibration.tolerance
        assert actual.certificate == expected.certificate
    if recorded:
        sketches = expected.provenance.row_record.sketches
        assert actual.provenance.row_record.sketches.keys() == sketches.keys()
        for role, sketch in sketches.items():
            mine = actual.provenance.row_record.sketches[role]
            np.testing.assert_array_equal(mine.hashes, sketch.hashes)


def fitted(parameters, *args, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tb.BoundTreeRegressor(**parameters).fit(*args, **more).model_


def in_memory(parameters, table):
    columns = [name for name in table.columns if name not in ("y", "w", "g")]
    return fitted(parameters, table[columns], table["y"], table.get("w"), table.get("g"))


def names(table):
    """The arguments of fit for a table that is not in memory."""
    groups = {"groups": "g"} if "g" in table else {}
    return "y", "w" if "w" in table else None, groups


def with_groups(rng, table):
    """Groups with names or numbers, whose rows share a column."""
    groups = rng.integers(0, max(2, len(table) // int(rng.choice([1, 3, 10]))), len(table))
    labels = rng.permutation(len(table))[groups]
    kind = rng.integers(3)
    names = [labels, labels + 0.5, np.array([f"g{k}" for k in labels], dtype=object)]
    return table.assign(b=np.sin(groups), g=names[kind])


def dataset(rng, table):
    """Batches of random sizes."""
    there = pa.Table.from_pandas(table, preserve_index=False)
    cuts = np.unique([0, *rng.integers(0, len(table), rng.integers(0, 5)), len(table)])
    batches = []
    for start, stop in pairwise(cuts):
        batches += there.slice(start, stop - start).to_batches()
    return pds.dataset(batches)


def partitions(rng, table):
    return dd.from_pandas(table, npartitions=int(rng.integers(1, 5)))


@pytest.fixture(autouse=True)
def tables_are_large(monkeypatch):
    """Tables of a few hundred values count as large."""
    monkeypatch.setattr("treebound.pruning.bound.MAX_VALUES", 300)


@pytest.mark.parametrize("part", range(2))
def test_streams_give_the_model_of_memory(part):
    for seed in range(20):
        rng = np.random.default_rng([part, seed])
        table = random_table(rng)
        parameters = random_parameters(rng, table)
        if rng.random() < 0.2:
            parameters["clip"] = (0.05, 0.9)
        expected = in_memory(parameters, table)
        weight = "w" if "w" in table else None
        source = dataset(rng, table)
        actual = fitted(parameters, source, "y", weight)
        assert_same_models(actual, expected, f"{part} {seed} {parameters}")


@pytest.mark.parametrize("large", [True, False])
def test_groups_of_streams_and_partitions_are_those_of_memory(large, monkeypatch, client):
    if not large:
        monkeypatch.setattr("treebound.pruning.bound.MAX_VALUES", 10**7)
    certified = 0
    for seed in range(16):
        rng = np.random.default_rng([13, seed, large])
        table = with_groups(rng, random_table(rng))
        kinds = [None, "held-out", "auto" if large else "folds"]
        parameters = random_parameters(rng, table) | {"certificate": kinds[seed % 3]}
        expected = in_memory(parameters, table)
        y, w, groups = names(table)
        source = (dataset if seed % 4 else partitions)(rng, table)
        actual = fitted(parameters, source, y, w, **groups)
        context = f"{seed} {parameters}"
        assert_same_models(actual, expected, context, recorded=bool(seed % 4))
        assert actual.provenance.groups == expected.provenance.groups, context
        certified += actual.certificate is not None and actual.provenance.groups > 0
    assert certified > 2


def test_partitions_without_a_cluster_give_the_model_of_memory():
    for seed in range(10):
        rng = np.random.default_rng([7, seed])
        table = random_table(rng)
        parameters = random_parameters(rng, table)
        expected = in_memory(parameters, table)
        actual = fitted(parameters, partitions(rng, table), "y", "w" if "w" in table else None)
        assert_same_models(actual, expected, f"{seed} {parameters}", recorded=False)


def test_a_cluster_gives_the_model_of_memory(client, monkeypatch):
    for seed in range(12):
        rng = np.random.default_rng([8, seed])
        monkeypatch.setattr("treebound.growing.engine.Engine.gather_rows", int(rng.choice([5, 50])))
        table = random_table(rng)
        parameters = random_parameters(rng, table)
        if seed % 3 == 0:
            parameters["clip"] = (0.05, [0.9, 1.0][seed % 2])
        expected = in_memory(parameters, table)
        actual = fitted(parameters, partitions(rng, table), "y", "w" if "w" in table else None)
        assert_same_models(actual, expected, f"{seed} {parameters}", recorded=False)


def test_separate_collections_and_arrays_of_dask(client):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3)).round(2)
    y = (X[:, 0] > 0) + 0.2 * rng.normal(size=300)
    expected = fitted({}, X, y)
    arrays = dask_array.from_array(X, chunks=(100, 3)), dask_array.from_array(y, chunks=100)
    assert_same_models(fitted({}, *arrays), expected, "arrays", recorded=False)
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y)
    frame = dd.from_pandas(table, npartitions=3)
    model = fitted({}, frame[["a", "b", "c"]], frame["y"])
    expected = fitted({}, table[["a", "b", "c"]], table["y"])
    assert_same_models(model, expected, "series", recorded=False)
    assert model.reading.target == "y"


def test_what_is_not_offered_for_large_tables_is_named(client):
    rng = np.random.default_rng(0)
    table = random_table(rng, 200)
    for parameters in ({"certificate": "folds"}, {"cv": KFold(3)}):
        (name,) = parameters
        for source in (partitions(rng, table), dataset(rng, table)):
            with pytest.raises(ValueError, match=f"'{name}' parameter"):
                fitted(parameters, source, "y")
    for source in (partitions(rng, table), dataset(rng, table)):
        with pytest.raises(ValueError, match="'y_range' parameter"):
            fitted({"y_range": (1e8, 1e9)}, source, "y")
        with pytest.raises(ValueError, match="y must hold a number for each row"):
            fitted({}, source, "s", columns=["a"])
    near = table.assign(y=1e-70 * np.arange(200))
    for source in (partitions(rng, near), dataset(rng, near), relation(rng, near)):
        with pytest.raises(ValueError, match="have a range of at least 1e-60"):
            fitted({}, source, "y")


# -- in a database ---------------------------------------------------------------------------------


def relation(rng, table, max_fetched_rows="random"):
    """The rows in any order."""
    rows = table.assign(id=np.arange(len(table))).iloc[rng.permutation(len(table))]
    connection = duckdb.connect(config={"threads": 1})
    connection.register("rows", rows)
    most = int(rng.choice([0, 5, 50])) if max_fetched_rows == "random" else max_fetched_rows
    return Relation(connection.sql("SELECT * FROM rows"), id="id", max_fetched_rows=most)


def test_a_database_gives_the_model_of_memory():
    for seed in range(8):
        rng = np.random.default_rng([9, seed])
        table = random_table(rng)
        parameters = random_parameters(rng, table) | {"cv": None, "certificate": None}
        if seed % 2:
            parameters["clip"] = (0.03, [0.9, 1.0][seed // 2 % 2])
        expected = in_memory(parameters, table)
        actual = fitted(parameters, relation(rng, table), "y", "w" if "w" in table else None)
        assert_same_models(actual, expected, f"{seed} {parameters}", recorded=False)


def drawn_in_memory(parameters, table, draw):
    """The model of the rows of a draw, in memory: training, validation and calibration rows."""
    if "w" in table:
        table = table[table.w > 0].reset_index(drop=True)
    columns = [name for name in table.columns if name not in ("y", "w")]
    held_out = np.zeros(len(table), dtype=bool)
    if draw.calibration is not None:
        held_out = draw.calibration.mask(len(table))
    rest = table[~held_out].reset_index(drop=True)
    inside = np.zeros(len(rest), dtype=bool)
    if draw.validation is not None:
        inside = draw.validation.mask(len(rest))
    training = rest[~inside]
    learned = Sample.learn(training[columns], np.zeros(len(training)))
    weight, training_weight = None, None
    if "w" in table:  # one scale of training and validation rows
        weight = relative_weights(rest.w[inside].to_numpy(), rest.w.to_numpy())
        training_weight = relative_weights(training.w.to_numpy(), rest.w.to_numpy())
    learned = replace(learned, weight=training_weight)

    def matrix(rows):
        unknown = learned.without_identifiers().columns
        return read_matrix(read_table(rows[columns]), unknown, named=True, handle_unknown="other")

    sample = NumberSample.of(learned, training.y.to_numpy()).without_identifiers()
    validation = None
    if draw.validation is not None:
        validation = NumberSample(matrix(rest[inside]), rest.y[inside].to_numpy(), weight)
    estimator = tb.BoundTreeRegressor(**parameters)

    clip = clip_range(estimator, rest.y.to_numpy())

    def grow(rows, options, min_weight):
        rows = rows if clip is None else rows.clipped(*clip)
        return grow_numbers(rows.X, rows.target, options, min_weight=min_weight)

    first = replace(draw, calibration=None)
    model = fit_training_rows(estimator, sample, grow, first, validation, clip)
    if draw.calibration is None:
        return model
    rows = table[held_out]
    nodes = model.grown.apply(matrix(rows))
    return with_calibration(estimator, model, draw, rows.y.to_numpy(), nodes)


@pytest.mark.parametrize("grouped", [False, True])
def test_a_large_relation_draws_the_rows_of_memory(grouped, monkeypatch):
    monkeypatch.setattr("treebound.engines.sql.relation.MAX_FETCHED_ROWS", 20)
    drawn = 0
    for seed in range(8):
        rng = np.random.default_rng([14, seed])
        table = random_table(rng, int(rng.integers(200, 400)))
        if grouped:
            table = with_groups(rng, table)
        certificate = ["held-out", None][seed % 2]
        parameters = random_parameters(rng, table) | {"certificate": certificate}
        if seed // 2 % 2:
            parameters["clip"] = (0.02, 0.93)
        expected = in_memory(parameters, table)
        y, w, groups = names(table)
        most = [None, 0, 7][seed % 3]
        actual = fitted(parameters, relation(rng, table, most), y, w, **groups)
        context = f"{seed} {most} {parameters}"
        assert_same_models(actual, expected, context, recorded=False)
        assert actual.provenance.groups == expected.provenance.groups
        drawn += expected.provenance.draw.validation is not None
    assert drawn > 2


@pytest.mark.parametrize("seed", range(4))
def test_a_relation_that_is_small_without_calibration_rows_is_fetched(seed, monkeypatch):
    """In memory the folds of its training rows choose the size of the tree."""
    monkeypatch.setattr("treebound.engines.sql.relation.MAX_FETCHED_ROWS", 20)
    rng = np.random.default_rng([15, seed])
    table = random_table(rng, 55).drop(columns=["name"], errors="ignore")
    table = table.assign(y=table.k + rng.normal(size=55))
    parameters = {"certificate": "held-out", "random_state": seed}
    expected = in_memory(parameters, table)
    assert expected.estimate.by == "cross-validated"
    weight = "w" if "w" in table else None
    actual = fitted(parameters, relation(rng, table, None), "y", weight)
    assert_same_models(actual, expected, str(seed), recorded=False)


def test_drawn_rows_of_a_small_relation_choose_the_size_and_certify_as_in_memory(monkeypatch):
    monkeypatch.setattr("treebound.pruning.bound.MAX_VALUES", 10**7)
    validated = 0
    for seed in range(6):
        rng = np.random.default_rng([10, seed])
        table = random_table(rng)
        certificate = ["held-out", None][seed % 2]
        parameters = random_parameters(rng, table) | {"cv": 5, "certificate": certificate}
        if seed // 2 % 2:
            parameters["clip"] = (0.02, 0.93)
        # drawn rows are fetched, or their nodes
        there = relation(rng, table, [0, 50][seed // 2 % 2])
        actual = fitted(parameters, there, "y", "w" if "w" in table else None)
        draw = actual.provenance.draw
        expected = drawn_in_memory(parameters, table, draw)
        assert_same_models(actual, expected, f"{seed} {parameters}", recorded=False)
        assert (actual.certificate is None) == (certificate is None)
        validated += draw.validation is not None
    assert validated > 2


@pytest.mark.parametrize("certificate", [None, "held-out"])
def test_a_model_of_a_database_with_fractional_weights_can_be_edited(certificate):
    rng = np.random.default_rng(3)
    table = random_table(rng, 300).drop(columns=["name"], errors="ignore")
    table["y"], table["w"] = table.k + 0.1 * rng.normal(size=300), rng.random(300) + 0.01
    columns = [name for name in table.columns if name not in ("y", "w")]
    there = relation(rng, table, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reg = tb.BoundTreeRegressor(certificate=certificate).fit(there, "y", "w", columns=columns)
    assert reg.model_.provenance.draw.validation is not None
    editor = reg.edit(table[columns], table.y, sample_weight=table.w)
    editor.collapse("L")
    assert editor.done().n_leaves_ < reg.n_leaves_
    with pytest.raises(ValueError, match="must be the rows that the tree was trained on"):
        reg.edit(table[columns], table.y, sample_weight=table.w + 0.5)


@pytest.mark.parametrize("n", [1, 2, 3, 9])
def test_few_rows_in_a_database_that_none_is_fetched_from(n):
    rng = np.random.default_rng(n)
    table = pd.DataFrame({"a": np.arange(n) * 1.0, "y": np.arange(n) ** 2 * 0.5})
    expected = in_memory({"cv": None, "certificate": None}, table)
    assert_same_trees(fitted({}, relation(rng, table, 0), "y").tree, expected.tree, n)
    if n == 1:
        with pytest.raises(ValueError, match="needs at least 2 rows to calibrate on"):
            fitted({"certificate": "held-out"}, relation(rng, table, 0), "y")
    else:
        assert fitted({"certificate": "held-out"}, relation(rng, table, 0), "y").certificate


def test_a_constant_is_named_wherever_it_is():
    rng = np.random.default_rng(4)
    table = random_table(rng, 200).assign(y=2.5)
    for source in (dataset(rng, table), partitions(rng, table), relation(rng, table, 0)):
        with pytest.warns(UserWarning, match=r"'y' is 2\.5 in every row") as caught:
            reg = tb.BoundTreeRegressor().fit(source, "y", columns=["a", "k"])
        assert reg.n_leaves_ == 1
        (named,) = (w for w in caught if "2.5" in str(w.message))
        assert named.filename == __file__


def test_draws_of_a_database_are_those_of_the_summary_of_memory():
    for seed in range(6):
        rng = np.random.default_rng([11, seed])
        table = random_table(rng)
        weight = "w" if "w" in table else None
        actual = fitted({"certificate": "held-out"}, relation(rng, table), "y", weight)
        rows = table if weight is None else table[table.w > 0]
        columns = [name for name in table.columns if name not in ("y", "w")]
        sample = Sample.learn(rows[columns], np.zeros(len(rows)), rows.get("w"))
        key = Draw.start(0).key_of(NumberSample.of(sample, rows.y.to_numpy()).summary)
        assert actual.provenance.draw.key == key


def test_what_is_not_offered_in_a_database_is_named():
    rng = np.random.default_rng(0)
    table = random_table(rng, 100)
    for parameters in (
        {"certificate": "folds"},
        {"cv": KFold(3)},
    ):
        (name,) = parameters
        with pytest.raises(ValueError, match=f"'{name}' parameter"):
            fitted(parameters, relation(rng, table, 0), "y")
    for change, words in (
        ({"y": table.s}, "has the type .*, not numbers"),
        ({"y": table.y.where(table.index > 3)}, "has 4 rows without a number"),
        ({"y": table.y.where(table.index > 3, np.inf)}, "leave out rows without a finite number"),
    ):
        with pytest.raises(ValueError, match=words):
            fitted({}, relation(rng, table.assign(**change), 0), "y")
    with pytest.raises(ValueError, match="'y_range' parameter"):
        fitted({"y_range": (1e8, 1e9)}, relation(rng, table, 0), "y")


def test_a_database_that_nothing_is_written_to_draws_no_rows(monkeypatch):
    monkeypatch.setattr("treebound.engines.sql.rows.RelationRows.can_draw", False)
    rng = np.random.default_rng(3)
    table = random_table(rng, 120)
    weight = "w" if "w" in table else None
    expected = in_memory({"cv": None, "certificate": None}, table)
    actual = fitted({}, relation(rng, table, 0), "y", weight)
    assert_same_models(actual, expected, "", recorded=False)
    monkeypatch.setattr("treebound.model.regression_parameters.AUTO_ROWS", 50)
    with pytest.warns(UserWarning, match="none can be written in this database"):
        tb.BoundTreeRegressor().fit(relation(rng, table, 0), "y", weight)
    with pytest.raises(ValueError, match="temporary table"):
        fitted({"certificate": "held-out"}, relation(rng, table, 0), "y", weight)


# -- all of them -----------------------------------------------------------------------------------


@pytest.mark.parametrize("large", [False, True])
def test_the_default_fit_is_the_same_everywhere(large, client, monkeypatch):
    monkeypatch.setattr("treebound.growing.engine.Engine.gather_rows", 20)
    monkeypatch.setattr("treebound.engines.sql.relation.MAX_FETCHED_ROWS", 20)
    monkeypatch.setattr("treebound.model.regression_parameters.AUTO_ROWS", 100)
    if not large:
        monkeypatch.setattr("treebound.pruning.bound.MAX_VALUES", 10**7)
    estimated = certified = 0
    for seed in range(6):
        rng = np.random.default_rng([15, seed])
        table = random_table(rng)
        if seed % 2:
            table = with_groups(rng, table)
        y, w, groups = names(table)
        expected = in_memory({}, table)
        sources = {
            "stream": dataset(rng, table),
            "Dask": partitions(rng, table),
            "DuckDB": relation(rng, table, None),
        }
        for name, source in sources.items():
            model = fitted({}, source, y, w, **groups)
            assert_same_models(model, expected, f"{name} {seed}", recorded=False)
            assert model.provenance.groups == expected.provenance.groups
        estimated += expected.estimate is not None
        certified += expected.certificate is not None
    assert estimated > 2
    assert certified > 2


def assert_same_everywhere(seed):
    """Memory, a stream, Dask and DuckDB, the rows in another order in each."""
    rng = np.random.default_rng(seed)
    table = random_table(rng)
    parameters = random_parameters(rng, table) | {"cv": None, "certificate": None}
    expected = in_memory(parameters, table)
    weight = "w" if "w" in table else None

    def moved():
        return table.iloc[rng.permutation(len(table))].reset_index(drop=True)

    models = {
        "memory": in_memory(parameters, moved()),
        "stream": fitted(parameters, dataset(rng, moved()), "y", weight),
        "Dask": fitted(parameters, partitions(rng, moved()), "y", weight),
        "DuckDB": fitted(parameters, relation(rng, moved()), "y", weight),
    }
    for name, model in models.items():
        assert_same_models(model, expected, f"{name} {seed} {parameters}", recorded=False)
    return expected.grown.n_leaves


def test_random_tables_give_one_tree_everywhere(client, monkeypatch):
    monkeypatch.setattr("treebound.growing.engine.Engine.gather_rows", 20)
    assert sum(assert_same_everywhere([20, seed]) for seed in range(5)) > 50


@pytest.mark.heavy
@pytest.mark.parametrize("part", range(4))
def test_a_hundred_random_tables_give_one_tree_everywhere(client, monkeypatch, part):
    monkeypatch.setattr("treebound.growing.engine.Engine.gather_rows", 20)
    for seed in range(25):
        assert_same_everywhere([21, part, seed])
