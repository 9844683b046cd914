"""A table cut into parts, however odd, gives the model of the same rows in memory."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from random_samples import ARRAYS

from treebound import BoundTreeClassifier
from treebound.data.streams import Batches
from treebound.estimators import not_in_memory
from treebound.growing import Limits
from treebound.pruning import PRUNERS, BoundPruner, make_pruner

ODD_PARTS = ("empty", "weightless", "one class", "ones", "missing")
BY_COUNTS = [name for name, kind in PRUNERS.items() if not kind().needs_rows]


class CutTable(Batches):
    """The parts of a table as a stream."""

    def __init__(self, parts):
        self.parts = parts

    @property
    def names(self):
        return list(self.parts[0].columns)

    def read(self, columns=None):
        for part in self.parts:
            yield part if columns is None else part[columns]


def cut_table(rng, weights, n=240):
    """A table and where it is cut: odd parts are first, last and in the middle of others.

    A class and a category occur in one part only.
    """
    n_parts = int(rng.integers(3, 6))
    kinds = ["rows"] * n_parts
    for at in sorted(rng.choice([0, n_parts // 2, n_parts], size=2, replace=False))[::-1]:
        kinds.insert(at, str(rng.choice(ODD_PARTS)))
    sizes = [0 if kind == "empty" else int(rng.integers(2, 2 * n // n_parts)) for kind in kinds]
    part_of = np.repeat(np.arange(len(kinds)), sizes)
    n = len(part_of)
    table = pd.DataFrame({"a": rng.normal(size=n).round(1), "k": rng.integers(0, 9, n)})
    table["b"] = rng.normal(size=n)
    table["s"] = rng.choice(["u", "v", "w"], n).astype(object)
    table["void"] = np.nan
    score = table.a + (table.s == "u") + 0.5 * rng.normal(size=n)
    label = np.where(score > 0.8, "yes", "no").astype(object)
    late = part_of == int(rng.choice([at for at, kind in enumerate(kinds) if kind == "rows"]))
    table.loc[late & (rng.random(n) < 0.2), "s"] = "late"
    label[late & (rng.random(n) < 0.3)] = "rare"
    label[np.isin(part_of, [at for at, kind in enumerate(kinds) if kind == "one class"])] = "no"
    table.loc[rng.random(n) < 0.1, "a"] = np.nan
    table.loc[rng.random(n) < 0.1, "s"] = None
    missing = np.isin(part_of, [at for at, kind in enumerate(kinds) if kind == "missing"])
    table.loc[missing, ["a", "b"]] = np.nan
    table.loc[missing, "s"] = None
    table["label"] = label
    if weights is not None:
        table["weight"] = rng.integers(0, 4, n) * weights
        for kind, weight in (("weightless", 0.0), ("ones", 1.0)):
            odd = np.isin(part_of, [at for at, part_kind in enumerate(kinds) if part_kind == kind])
            table.loc[odd, "weight"] = weight
    cuts = np.cumsum([0, *sizes])
    return table, [table.iloc[start:stop] for start, stop in pairwise(cuts)]


def random_options(rng, table, in_database):
    """Parameters, and whether the table counts as large.

    What looks at the rows again does so in memory, if the table is small. In a database, other rows
    choose the weight of a pruner than in memory, so it is given, and no table counts as large.
    """
    certificates = ["training", "held-out"] if in_database else ["training", "held-out", "folds"]
    classes = sorted(set(table.label[table.weight > 0] if "weight" in table else table.label))
    class_weight = [None, "balanced", dict.fromkeys(classes[-1:], 7.5)][rng.integers(3)]
    certificate = str(rng.choice(certificates))
    large = bool(rng.integers(2)) and certificate != "folds" and not in_database
    names = BY_COUNTS if large or in_database else PRUNERS
    pruning = [None, *map(make_pruner, names)][rng.integers(1 + len(names))]
    if in_database and isinstance(pruning, BoundPruner):
        pruning.set_params(weight=float(rng.choice([0.5, 2.0])))
    options = {"class_weight": class_weight, "certificate": certificate, "pruning": pruning}
    return {**options, "random_state": int(rng.integers(9)), "max_leaves": 9}, large


def assert_same(model, expected):
    for one in ("grown_tree_", "tree_"):
        for name in ARRAYS:
            np.testing.assert_array_equal(
                getattr(getattr(model, one), name), getattr(getattr(expected, one), name)
            )
    assert model.tree_.columns == expected.tree_.columns
    assert model.classes_.tolist() == expected.classes_.tolist()
    assert (model.tree_.factors is None) == (expected.tree_.factors is None)
    if model.tree_.factors is not None:
        np.testing.assert_array_equal(model.tree_.factors, expected.tree_.factors)
    assert model.certificate_ == expected.certificate_


@contextmanager
def settings(rounds, large):
    """Limits so small that nodes are grown in rounds; what makes a table large."""
    limits = Limits(gather_rows=30, gather_values=300, max_values=60, few_values=9)
    plain = not_in_memory.fit_engine

    def limited(*args, **options):
        return plain(*args, **{**options, "limits": limits})

    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if rounds:
            patch.setattr(not_in_memory, "fit_engine", limited)
        if large:
            patch.setattr("treebound.pruning.bound.MAX_VALUES", 200)
        yield patch


def check(seed, fit, *, in_database=False):
    """Fit a random table whole and in parts."""
    rng = np.random.default_rng(seed)
    weights = [None, 1.0, 0.7][seed % 3]
    table, parts = cut_table(rng, weights)
    options, large = random_options(rng, table, in_database)
    weight = None if weights is None else "weight"
    X = table.drop(columns=["label", "weight"], errors="ignore")
    with settings(bool(rng.integers(2)) and not in_database, large) as patch:
        expected = BoundTreeClassifier(**options).fit(
            X, table.label, None if weight is None else table.weight
        )
        clf = BoundTreeClassifier(**options)
        try:
            assert_same(fit(clf, parts, weight, patch), expected)
        except BaseException as error:
            error.add_note(f"seed {seed}, {options}, large: {large}")
            raise


def streamed(clf, parts, weight, patch):
    return clf.fit(CutTable(parts), "label", weight)


@pytest.mark.parametrize("seeds", [90, pytest.param(5000, marks=pytest.mark.heavy)])
def test_batches_of_a_stream(seeds):
    for seed in range(seeds):
        check(seed, streamed)


def on_dask(clf, parts, weight, patch, client=None):
    import dask.dataframe as dd

    if client is None:
        patch.setattr("treebound.engines.dask.table.current_client", lambda: None)
    lazy = dd.from_map(lambda at: parts[at], range(len(parts)), meta=parts[0].iloc[:0])
    return clf.fit(lazy, "label", weight)


@pytest.mark.parametrize("seeds", [20, pytest.param(1000, marks=pytest.mark.heavy)])
def test_partitions_of_dask_without_a_cluster(seeds):
    pytest.importorskip("dask.dataframe")
    for seed in range(seeds):
        check(seed, on_dask)


@pytest.mark.parametrize("seeds", [24, pytest.param(1000, marks=pytest.mark.heavy)])
def test_partitions_of_dask_on_a_cluster(client, seeds):
    def on_cluster(*args):
        return on_dask(*args, client=client)

    for seed in range(seeds):
        check(seed, on_cluster)


@pytest.mark.parametrize("seeds", [24, pytest.param(1000, marks=pytest.mark.heavy)])
def test_tables_of_duckdb(seeds):
    duckdb = pytest.importorskip("duckdb")
    from treebound.engines.sql import Relation

    def in_duckdb(clf, parts, weight, patch):
        with duckdb.connect(config={"threads": 1}) as connection:
            for number, part in enumerate(parts):
                rows = pa.Table.from_pandas(part.assign(id=part.index), preserve_index=False)
                schema = pa.schema([*rows.schema.remove(rows.schema.get_field_index("s")),
                                    pa.field("s", pa.string())])  # fmt: skip
                connection.register("part", rows.select(schema.names).cast(schema))
                start = "INSERT INTO cut" if number else "CREATE TABLE cut AS"
                connection.execute(f"{start} SELECT * FROM part")
            relation = Relation(connection.table("cut"), id="id", max_fetched_rows=0)
            return clf.fit(relation, "label", weight, columns=parts[0].columns[:5].tolist())

    for seed in range(seeds):
        check(seed, in_duckdb, in_database=True)
