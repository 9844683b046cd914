"""SQL text is executed, in SQLite, DuckDB and PostgreSQL, and must predict as the tree does."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_trees import (
    Case,
    cases,
    decoded,
    random_rows,
    random_tree,
    regression_tree,
    route,
    used_categories,
)
from support import collapsed_root

from treebound.data import Column
from treebound.exchange import to_sql
from treebound.exchange.sql_code import _Writer, dialects
from treebound.model import (
    Model,
    PredictionOptions,
    Provenance,
    ReadingOptions,
    RegressionModel,
)
from treebound.tree import Tree
from treebound.tree.smoothing import probabilities

POLICIES = ["other", "majority", "stop", "missing"]
TYPES = {str: "VARCHAR", int: "BIGINT", float: "DOUBLE PRECISION", bool: "BOOLEAN"}


class Database:
    """One table of rows, and the values of expressions on it."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.dialects = (None, kind)
        if kind == "sqlite":
            self.connection: Any = sqlite3.connect(":memory:")
        else:
            self.connection = pytest.importorskip("duckdb").connect(":memory:")

    def fill(self, tree: Tree, rows: list[dict]) -> None:
        self.create(tree)
        marks = ", ".join("?" * (len(tree.columns) + 1))
        filled = [[i, *row.values()] for i, row in enumerate(rows)]
        self.connection.executemany(f"INSERT INTO data VALUES ({marks})", filled)

    def create(self, tree: Tree) -> None:
        parts = ['"row number" INTEGER']
        for column in tree.columns:
            kind = float if column.kind == "real" else type(column.categories[0])
            quoted = column.name.replace('"', '""')
            parts.append(f'"{quoted}" {TYPES[kind]}')
        self.execute("DROP TABLE IF EXISTS data")
        self.execute(f"CREATE TABLE data ({', '.join(parts)})")

    def execute(self, statement: str) -> None:
        self.connection.execute(statement)

    def values(self, expression: str, source: str = "data") -> list[tuple]:
        query = f'SELECT {expression} FROM {source} ORDER BY "row number"'
        return self.connection.execute(query).fetchall()

    def row(self, query: str) -> list:
        return list(self.connection.execute(query).fetchone())

    def names(self, query: str) -> list[str]:
        return [field[0] for field in self.connection.execute(query).description]


class Postgres(Database):
    """A server of its own in a folder, read through psql; results come as JSON."""

    def __init__(self, folder: Path) -> None:
        self.kind = "postgres"
        self.dialects = (None, "postgres")
        self.folder = folder
        installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
        initdb = shutil.which("initdb") or (str(installed[-1]) if installed else None)
        if initdb is None or shutil.which("psql") is None:
            pytest.skip("needs PostgreSQL")
        self.bin = Path(initdb).parent
        # the server refuses to run as root
        self.user = {"user": "postgres"} if os.geteuid() == 0 else {}
        if self.user:
            shutil.chown(folder, "postgres")
        self.run(initdb, "-D", folder / "data", "-U", "tester", "-A", "trust", "-E", "UTF8")
        options = f"-k {folder} -c listen_addresses='' -c fsync=off"
        self.run(self.bin / "pg_ctl", "-D", folder / "data", "-w", "-o", options, "start")

    def run(self, *command: object) -> None:
        texts = [str(part) for part in command]
        subprocess.run(texts, check=True, stdout=subprocess.DEVNULL, cwd=self.folder, **self.user)

    def stop(self) -> None:
        self.run(self.bin / "pg_ctl", "-D", self.folder / "data", "-m", "immediate", "stop")

    def execute(self, statement: str) -> str:
        command = ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"]
        command += ["-h", str(self.folder), "-U", "tester", "-d", "postgres"]
        ran = subprocess.run(command, input=statement, capture_output=True, encoding="utf-8")
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    def fill(self, tree: Tree, rows: list[dict]) -> None:
        self.create(tree)
        numbered = [{"row number": at, **row} for at, row in enumerate(rows)]
        for row in numbered:
            row.update({name: str(v) for name, v in row.items() if isinstance(v, float)})
        text = json.dumps(numbered).replace("'", "''")
        self.execute(
            f"INSERT INTO data SELECT * FROM json_populate_recordset(NULL::data, '{text}');"
        )

    def values(self, expression: str, source: str = "data") -> list[tuple]:
        query = f'SELECT {expression} FROM {source} ORDER BY "row number"'
        return [tuple(row) for row in self.rows(query)]

    def rows(self, query: str) -> list[list]:
        text = self.execute(f"SELECT row_to_json(result) FROM ({query}) AS result;")
        return [[value for _, value in json.loads(line, object_pairs_hook=list)]
                for line in text.split("\n") if line]  # fmt: skip

    def row(self, query: str) -> list:
        return self.rows(query)[0]

    def names(self, query: str) -> list[str]:
        text = self.execute(f"SELECT row_to_json(result) FROM ({query} LIMIT 1) AS result;")
        return list(json.loads(text))


@pytest.fixture(
    scope="module",
    params=["sqlite", "duckdb", pytest.param("postgres", marks=pytest.mark.heavy)],
)
def database(request: pytest.FixtureRequest) -> Iterator[Database]:
    if request.param != "postgres":
        yield Database(request.param)
        return
    with TemporaryDirectory() as folder:  # a short path: sockets allow about 100 characters
        server = Postgres(Path(folder))
        yield server
        server.stop()


@pytest.mark.parametrize("handle_unknown", POLICIES)
def test_sql_predicts_as_the_tree(database: Database, handle_unknown: str) -> None:
    @given(case=cases())
    @settings(max_examples=40 if database.kind == "sqlite" else 20)
    def check(case: Case) -> None:
        database.fill(case.tree, case.rows)
        labels = case.labels(route(case.tree, case.X, handle_unknown))
        for dialect in database.dialects:
            predicted = database.values(
                to_sql(Model(case.tree, reading=ReadingOptions(handle_unknown)), dialect=dialect)
            )
            assert [label for (label,) in predicted] == labels

    check()


@pytest.mark.parametrize("handle_unknown", POLICIES)
def test_sql_gives_the_very_numbers_of_a_regression_tree(database, handle_unknown) -> None:
    @given(case=cases(leaves=12), seed=st.integers(0, 10**6))
    @settings(max_examples=10)
    def check(case: Case, seed: int) -> None:
        tree = regression_tree(case.tree, seed)
        model = RegressionModel(tree, reading=ReadingOptions(handle_unknown))
        database.fill(case.tree, case.rows)
        wanted = tree.value[route(case.tree, case.X, handle_unknown)].tolist()
        for dialect in database.dialects:
            predicted = database.values(to_sql(model, dialect=dialect))
            assert [float(value) for (value,) in predicted] == wanted

    check()


def threshold_tree(*thresholds: float) -> Tree:
    """A chain of splits on one column."""
    n = len(thresholds)
    inner = np.arange(2 * n + 1) % 2 == 0
    inner[-1] = False
    counts = np.zeros((2 * n + 1, 2))
    counts[~inner, np.arange(n + 1) % 2] = 1.0
    for node in range(2 * n - 2, -1, -2):
        counts[node] = counts[node + 1] + counts[node + 2]
    threshold = np.full(2 * n + 1, np.nan)
    threshold[inner] = sorted(thresholds)
    nodes = np.arange(2 * n + 1)
    return Tree(
        feature=np.where(inner, 0, -1), threshold=threshold, category=np.full(len(nodes), -1),
        missing_left=np.zeros(len(nodes), dtype=bool), left=np.where(inner, nodes + 1, -1),
        right=np.where(inner, nodes + 2, -1), counts=counts, rows=counts.sum(axis=1),
        columns=(Column("x"),), classes=["no", "yes"],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("thresholds", "written"),
    [
        ((47.0, 206.5), ["47.0", "206.5"]),
        ((43.4, 47.0, 206.5), ["43.4e0", "47.0e0", "206.5e0"]),
    ],
)
def test_the_thresholds_of_a_tree_are_written_in_one_style(thresholds, written) -> None:
    text = to_sql(threshold_tree(*thresholds), dialect="duckdb")
    assert sorted(set(re.findall(r"(?:<=|>) (\S+)", text)), key=lambda t: float(t)) == written


def test_edits_are_listed_in_a_comment_that_they_cannot_end() -> None:
    pytest.importorskip("sqlglot")
    edits = (collapsed_root("a", "*/ DROP /* it", "A"), collapsed_root("line\nbreak"))
    model = Model(threshold_tree(0.5), provenance=Provenance(edits=edits))
    for dialect in (None, "mysql"):
        text = to_sql(model, dialect=dialect)
        assert text.startswith(
            "/* Edited by hand:\n   - At the root: 2 leaves collapsed to a. By A. Note: * / DROP"
        )
        assert text.count("*/") == text.count("/*") == 1
        assert "line\\nbreak. */\nCASE" in text


def test_sql_gives_the_very_probabilities(database: Database) -> None:
    @given(case=cases(leaves=8))
    @settings(max_examples=15)
    def check(case: Case) -> None:
        database.fill(case.tree, case.rows)
        model = Model(case.tree, prediction=PredictionOptions("laplace"))
        predicted = database.values(to_sql(model, output="proba"))
        wanted = probabilities(case.tree, "laplace")[route(case.tree, case.X)]
        assert np.array(predicted).tolist() == wanted.tolist()

    check()


def test_sql_is_null_for_a_category_never_seen_that_is_an_error(database: Database) -> None:
    @given(case=cases())
    @settings(max_examples=15)
    def check(case: Case) -> None:
        kinds = used_categories(case.tree)
        unseen = (case.X[:, kinds] == -1).any(axis=1)
        database.fill(case.tree, case.rows)
        predicted = database.values(to_sql(Model(case.tree, reading=ReadingOptions("error"))))
        labels = case.labels(route(case.tree, case.X))
        wanted = [None if gone else label for gone, label in zip(unseen, labels, strict=True)]
        assert [label for (label,) in predicted] == wanted

    check()


@pytest.mark.parametrize("chain", [True, False])
def test_sql_of_a_large_or_very_deep_tree_runs(database: Database, chain: bool) -> None:
    tree = random_tree(7, 3000 if chain else 800, chain=chain)
    X = random_rows(tree, 7, 40)
    database.fill(tree, decoded(X, tree.columns))
    predicted = database.values(to_sql(tree))
    assert [label for (label,) in predicted] == tree.classes[tree.label[route(tree, X)]].tolist()


def test_numbers_are_read_to_the_last_bit(database: Database) -> None:
    numbers = st.one_of(
        st.floats(allow_nan=False, allow_infinity=False),
        st.decimals(-(10**6), 10**6, places=4).map(float),
    )

    @given(st.lists(numbers, min_size=50, max_size=50))
    @settings(max_examples=40)
    def check(values: list[float]) -> None:
        for dialect in database.dialects:
            written = [f"{_Writer(dialect).real(v)} AS v{at}" for at, v in enumerate(values)]
            read = database.row(f"SELECT {', '.join(written)}")
            assert [float(value) for value in read] == values

    check()


def test_a_whole_query_names_the_table_and_the_result(database: Database) -> None:
    tree = random_tree(11, 4)
    X = random_rows(tree, 11, 10)
    database.fill(tree, decoded(X, tree.columns))
    query = to_sql(tree, table="data", name='my "class"')
    assert database.names(query)[-1] == 'my "class"'
    predicted = database.values('"my ""class"""', f"({query}) AS predicted")
    assert [label for (label,) in predicted] == tree.classes[tree.label[route(tree, X)]].tolist()


REAL = Column("x y")
FLOATS = Column("x y", "nominal", (0.5, 1.5, 2.5))
ORDERED = Column("x y", "ordinal", (0.5, 1.5, 2.5))
FLAG = Column("x y", "nominal", (False, True))


def stump(column: Column, *, missing_left: bool, threshold: float = 1.5, label=("a", "b")) -> Tree:
    category = 0 if column.kind == "nominal" else -1
    threshold = math.nan if column.kind == "nominal" else threshold
    return Tree(
        feature=[0, -1, -1], threshold=[threshold, np.nan, np.nan], category=[category, -1, -1],
        missing_left=[missing_left, False, False], left=[1, -1, -1], right=[2, -1, -1],
        counts=[[3, 2], [3, 0], [0, 2]], rows=[5, 3, 2], columns=(column,), classes=list(label),
    )  # fmt: skip


@pytest.mark.parametrize("handle_unknown", [*POLICIES, "error"])
@pytest.mark.parametrize("missing_left", [True, False])
@pytest.mark.parametrize("small_left", [True, False])
@pytest.mark.parametrize("column", [REAL, FLOATS, ORDERED], ids=lambda column: column.kind)
def test_nan_and_null_take_the_same_way(
    database: Database, column: Column, small_left: bool, missing_left: bool, handle_unknown: str
) -> None:
    """NaN is above all numbers in DuckDB and PostgreSQL; both sides are written once."""
    tree = stump(column, missing_left=missing_left)
    if not small_left:  # the larger side is the one that is not written
        tree = deeper_left(tree)
    values = [None, math.nan, 0.5, 1.5, 2.5]
    database.fill(tree, [{"x y": value} for value in values])
    X = np.array([[math.nan if v is None else v] for v in values])
    if column.kind != "real":
        X -= 0.5
    labels = tree.classes[
        tree.label[route(tree, X, "other" if handle_unknown == "error" else handle_unknown)]
    ]
    for dialect in database.dialects:
        predicted = database.values(
            to_sql(Model(tree, reading=ReadingOptions(handle_unknown)), dialect=dialect)
        )
        assert [label for (label,) in predicted] == labels.tolist()


def deeper_left(tree: Tree) -> Tree:
    """The stump with one more split on its left, so that the right side is written first."""
    (column,) = tree.columns
    threshold = [*tree.threshold[:1], -9.0, math.nan, math.nan, math.nan]
    category = [*tree.category[:1], 2, -1, -1, -1]
    if column.kind == "nominal":
        threshold[1] = math.nan
    else:
        category[1] = -1
    return Tree(
        feature=[0, 0, -1, -1, -1], threshold=threshold, category=category,
        missing_left=[bool(tree.missing_left[0]), False, False, False, False],
        left=[1, 2, -1, -1, -1], right=[4, 3, -1, -1, -1],
        counts=[[3, 2], [3, 0], [0, 0], [3, 0], [0, 2]], rows=[5, 3, 0, 3, 2],
        columns=tree.columns, classes=tree.classes,
    )  # fmt: skip


def test_booleans_are_not_read_as_columns(database: Database) -> None:
    """Older SQLite reads TRUE as a column of that name."""
    tree = stump(FLAG, missing_left=False, label=(False, True))
    database.fill(tree, [{"x y": False}, {"x y": True}, {"x y": None}])
    for dialect in database.dialects:
        text = to_sql(tree, dialect=dialect)
        assert "TRUE" not in text
        assert [bool(label) for (label,) in database.values(text)] == [False, True, True]


@pytest.mark.parametrize("threshold", [2.0**53, -(2.0**53), 206.5, 0.1])
@pytest.mark.parametrize("kind", ["BIGINT", "REAL", "DOUBLE PRECISION", "NUMERIC(30, 3)"])
def test_columns_of_every_number_type_compare_as_float64(
    database: Database, threshold: float, kind: str
) -> None:
    values = [2**53 + 1, -(2**53) - 1, 207, 206, 0, 1]
    if kind != "BIGINT":
        values += [206.5, 0.1, 0.25]
    for missing_left in (True, False):
        tree = stump(REAL, missing_left=missing_left, threshold=threshold)
        database.execute("DROP TABLE IF EXISTS data")
        database.execute(f'CREATE TABLE data ("row number" INTEGER, "x y" {kind})')
        for at, value in enumerate(values):
            database.execute(f"INSERT INTO data VALUES ({at}, {value})")
        rounded = [float(v) for v in values]
        if kind == "REAL" and database.kind != "sqlite":
            rounded = [float(np.float32(v)) for v in values]
        labels = tree.classes[tree.label[route(tree, np.array(rounded)[:, None])]].tolist()
        for dialect in database.dialects:
            predicted = database.values(to_sql(tree, dialect=dialect))
            assert [label for (label,) in predicted] == labels


def test_sql_is_readable() -> None:
    tree = stump(replace(REAL, name="weight"), missing_left=True, threshold=206.5)
    assert "WHEN \"weight\" > 206.5 THEN 'b'" in to_sql(tree, dialect="sqlite")
    assert 'WHEN "weight" > 206.5 AND "weight" - "weight" = 0 THEN \'b\'' in to_sql(tree)
    assert "WHEN \"weight\" <= 206.5 THEN 'a'" in to_sql(replace(tree, missing_left=[False] * 3))


@pytest.mark.parametrize("dialect", dialects() if find_spec("sqlglot") else ["sqlite"])
def test_every_dialect_parses_to_the_same_values_and_names(dialect: str) -> None:
    sqlglot = pytest.importorskip("sqlglot")
    words = ("it's", "back\\slash", 'quote"', "ünï", "")
    columns = (Column('a "b` c]', "nominal", words), Column("flag", "nominal", (False, True)))
    tree = Tree(
        feature=[0, -1, 1, -1, -1], threshold=[np.nan] * 5, category=[1, -1, 1, -1, -1],
        missing_left=[False] * 5, left=[1, -1, 3, -1, -1], right=[2, -1, 4, -1, -1],
        counts=[[3, 2, 1], [3, 0, 0], [0, 2, 1], [0, 2, 0], [0, 0, 1]], rows=[6, 3, 3, 2, 1],
        columns=columns, classes=["it's", "back\\slash", "z"],
    )  # fmt: skip
    shares = to_sql(tree, output="proba", dialect=dialect)
    assert len(sqlglot.parse_one(f"SELECT {shares}", read=dialect).expressions) == 3
    text = to_sql(Model(tree, reading=ReadingOptions("error")), table="data", dialect=dialect)
    parsed = sqlglot.parse_one(text, read=dialect)
    expressions = sqlglot.expressions
    literals = {node.this for node in parsed.find_all(expressions.Literal) if node.is_string}
    assert literals == {*words, "it's", "back\\slash", "z"}
    mentioned = parsed.find_all(expressions.Column)
    names = {node.this.this for node in mentioned if not node.is_star}  # data.*
    assert names == {column.name for column in columns}
    assert len(list(parsed.find_all(expressions.If))) == 4
    assert len(parsed.find(expressions.Case).args["ifs"]) == 4


def test_a_dialect_that_does_not_exist_is_refused() -> None:
    pytest.importorskip("sqlglot")
    for dialect in ("quel", "dax", "prql"):
        words = rf"'dialect' parameter of to_sql must be .*'bigquery'.* Got '{dialect}'"
        with pytest.raises(ValueError, match=words):
            to_sql(stump(REAL, missing_left=True), dialect=dialect)


def test_sql_refuses_the_character_nul() -> None:
    tree = Tree(
        feature=[-1], threshold=[np.nan], category=[-1], missing_left=[False], left=[-1],
        right=[-1], counts=[[1, 1]], rows=[2], columns=(), classes=["a\0b", "c"],
    )  # fmt: skip
    with pytest.raises(ValueError, match="cannot hold the character NUL"):
        to_sql(tree)
