"""SQL text is executed, in SQLite and in DuckDB, and must reach the node the tree reaches."""

from __future__ import annotations

import math
import sqlite3
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_trees import Case, cases, decoded, random_rows, random_tree, route

from treebound.exchange import to_sql
from treebound.exchange.sql_code import _real
from treebound.tree import Tree
from treebound.tree.smoothing import probabilities

POLICIES = ["other", "majority", "stop", "missing"]
TYPES = {str: "VARCHAR", int: "BIGINT", float: "DOUBLE", bool: "BOOLEAN"}


class Database:
    """One table of rows in either database, and the answers to expressions on it."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        if kind == "sqlite":
            self.connection: Any = sqlite3.connect(":memory:")
        else:
            self.connection = pytest.importorskip("duckdb").connect(":memory:")

    def fill(self, tree: Tree, rows: list[dict]) -> None:
        parts = ['"row number" INTEGER']
        for column in tree.columns:
            kind = float if column.kind == "real" else type(column.categories[0])
            quoted = column.name.replace('"', '""')
            parts.append(f'"{quoted}" {TYPES[kind]}')
        self.connection.execute("DROP TABLE IF EXISTS data")
        self.connection.execute(f"CREATE TABLE data ({', '.join(parts)})")
        marks = ", ".join("?" * len(parts))
        filled = [[i, *row.values()] for i, row in enumerate(rows)]
        self.connection.executemany(f"INSERT INTO data VALUES ({marks})", filled)

    def answers(self, expression: str) -> list[tuple]:
        query = f'SELECT {expression} FROM data ORDER BY "row number"'
        return self.connection.execute(query).fetchall()


@pytest.fixture(scope="module", params=["sqlite", "duckdb"])
def database(request: pytest.FixtureRequest) -> Database:
    return Database(request.param)


@pytest.mark.parametrize("unknown", POLICIES)
def test_sql_answers_as_the_tree(database: Database, unknown: str) -> None:
    @given(case=cases())
    @settings(max_examples=40 if database.kind == "sqlite" else 20)
    def check(case: Case) -> None:
        database.fill(case.tree, case.rows)
        found = database.answers(to_sql(case.tree, unknown=unknown))
        assert [label for (label,) in found] == case.labels(route(case.tree, case.X, unknown))

    check()


def test_sql_gives_the_very_probabilities(database: Database) -> None:
    @given(case=cases(leaves=8))
    @settings(max_examples=15)
    def check(case: Case) -> None:
        database.fill(case.tree, case.rows)
        found = database.answers(to_sql(case.tree, output="proba", smoothing="laplace"))
        wanted = probabilities(case.tree, "laplace")[route(case.tree, case.X)]
        assert np.array(found).tolist() == wanted.tolist()

    check()


def test_sql_is_null_for_a_category_never_seen_that_is_an_error(database: Database) -> None:
    @given(case=cases())
    @settings(max_examples=15)
    def check(case: Case) -> None:
        kinds = np.array([column.kind != "real" for column in case.tree.columns])
        unseen = (case.X[:, kinds] == -1).any(axis=1)
        database.fill(case.tree, case.rows)
        found = database.answers(to_sql(case.tree, unknown="error"))
        labels = case.labels(route(case.tree, case.X))
        wanted = [None if gone else label for gone, label in zip(unseen, labels, strict=True)]
        assert [label for (label,) in found] == wanted

    check()


@pytest.mark.parametrize("chain", [True, False])
def test_sql_of_a_large_or_very_deep_tree_runs(database: Database, chain: bool) -> None:
    tree = random_tree(7, 3000 if chain else 800, chain=chain)
    X = random_rows(tree, 7, 40)
    database.fill(tree, decoded(X, tree.columns))
    found = database.answers(to_sql(tree))
    assert [label for (label,) in found] == tree.classes[tree.label[route(tree, X)]].tolist()


def test_numbers_are_read_to_the_last_bit(database: Database) -> None:
    numbers = st.one_of(
        st.floats(allow_nan=False, allow_infinity=False),
        st.decimals(-(10**6), 10**6, places=4).map(float),
    )

    @given(st.lists(numbers, min_size=50, max_size=50))
    @settings(max_examples=40)
    def check(values: list[float]) -> None:
        found = database.connection.execute(f"SELECT {', '.join(map(_real, values))}").fetchone()
        assert [float(value) for value in found] == values

    check()


def test_a_whole_query_names_the_table_and_the_result(database: Database) -> None:
    tree = random_tree(11, 4)
    X = random_rows(tree, 11, 10)
    database.fill(tree, decoded(X, tree.columns))
    cursor = database.connection.execute(to_sql(tree, table="data", name='my "answer"'))
    assert cursor.description[-1][0] == 'my "answer"'
    found = sorted((row[0], row[-1]) for row in cursor.fetchall())
    assert [label for _, label in found] == tree.classes[tree.label[route(tree, X)]].tolist()


def test_nan_and_null_take_the_same_way_in_duckdb() -> None:
    tree = next(
        t for t in (random_tree(s, 10) for s in range(99)) if t.columns[t.feature[0]].kind == "real"
    )
    database = Database("duckdb")
    rows = [
        {column.name: gone if column.kind == "real" else None for column in tree.columns}
        for gone in (None, math.nan)
    ]
    database.fill(tree, rows)
    (first,), (second,) = database.answers(to_sql(tree))
    assert first == second


def test_sql_refuses_the_character_nul() -> None:
    tree = Tree(
        feature=[-1], threshold=[np.nan], category=[-1], missing_left=[False], left=[-1],
        right=[-1], counts=[[1, 1]], rows=[2], columns=(), classes=["a\0b", "c"],
    )  # fmt: skip
    with pytest.raises(ValueError, match="cannot hold the character NUL"):
        to_sql(tree)
