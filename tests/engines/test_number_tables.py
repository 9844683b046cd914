"""Regression trees of large tables that are not in memory are those of memory, in every array."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import treebound as tb

pa = pytest.importorskip("pyarrow")
pds = pytest.importorskip("pyarrow.dataset")
dd = pytest.importorskip("dask.dataframe")
polars = pytest.importorskip("polars")


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
        "thresholds": str(rng.choice(["decimal", "midpoint"])),
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
    columns = [name for name in table.columns if name not in ("y", "w")]
    return fitted(parameters, table[columns], table["y"], table.get("w"))


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
        expected = in_memory(parameters, table)
        actual = fitted(parameters, partitions(rng, table), "y", "w" if "w" in table else None)
        assert_same_models(actual, expected, f"{seed} {parameters}", recorded=False)
