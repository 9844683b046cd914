"""Integers and facts of a target of numbers in DuckDB, against those of memory."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from treebound.data.numeric_target import NumberFacts, NumericTarget
from treebound.data.roles import ColumnRoles
from treebound.data.summaries import TargetSummary
from treebound.data.weights import WeightTotal, relative_weights
from treebound.engines.sql import Relation, RelationRows
from treebound.engines.sql.numbers import number_facts, target_summary

duckdb = pytest.importorskip("duckdb")


def random_numbers(rng, n):
    kinds = [
        lambda: rng.normal(size=n).round(int(rng.integers(0, 8))),
        lambda: rng.normal(size=n) * 10.0 ** rng.integers(-58, 57),
        lambda: rng.integers(-5, 5, n) + 0.5,
        lambda: rng.standard_cauchy(n) ** 3,
        lambda: rng.integers(-(2**40), 2**40, n) / 100.0,
        lambda: 1e15 + rng.integers(0, 9, n) / 8.0,
        lambda: np.full(n, rng.choice([0.0, np.pi, -2.5])),
        lambda: np.exp(30 * rng.normal(size=n)),
        lambda: np.nextafter(rng.integers(-9, 9, n) + 0.5, rng.choice([-100.0, 100.0])),
    ]
    return kinds[rng.integers(len(kinds))]()


def random_weight(rng, n):
    kinds = [
        lambda: None,
        lambda: rng.integers(1, 5, n).astype(float),
        lambda: rng.random(n) + 0.01,
        lambda: np.exp(3 * rng.normal(size=n)),
    ]
    return kinds[rng.integers(len(kinds))]()


def sorted_rows(table):
    return table[np.lexsort(table.T)]


@pytest.mark.parametrize("part", range(2))
def test_integers_facts_and_sums_are_those_of_memory(part):
    for seed in range(25):
        rng = np.random.default_rng([part, seed])
        n = int(rng.integers(1, 60))
        y, weight = random_numbers(rng, n), random_weight(rng, n)
        rows = pd.DataFrame({"a": np.arange(n, dtype=float), "target": y})
        if weight is not None:
            rows["w"] = weight
        connection = duckdb.connect(config={"threads": 1})
        connection.register("rows", rows)
        relation = Relation(connection.sql("SELECT * FROM rows"))
        name = None if weight is None else "w"
        scaled = relative_weights(weight)
        total = WeightTotal.of(scaled, n)
        facts = NumberFacts.of(y, scaled)
        target = NumericTarget.part_of(y, scaled, facts, total)
        with RelationRows(relation, ColumnRoles("target", name), numeric=True) as there:
            native = there._read_target()
            actual = number_facts(there._store, native, facts.min_weight)
            assert (actual.least, actual.greatest) == (facts.least, facts.greatest)
            summary = target_summary(there._store, native, "target")
            assert summary == TargetSummary.of(y), seed
            coded = there.code(categorical_features="from_dtype", ordinal_features=None)
            fetched = coded.store.fetch(
                f"SELECT {', '.join(coded.channels)} FROM {coded.table} AS t"
            )
            assert coded.total == total
            assert coded.numbers.min_weight == facts.min_weight
        units = fetched.get("units", np.ones(n, dtype=np.int64))
        channels = np.column_stack([units, fetched["q"], fetched["q2"]]).astype(np.int64)
        np.testing.assert_array_equal(
            sorted_rows(channels), sorted_rows(target.channels[:, :3]), err_msg=str(seed)
        )
