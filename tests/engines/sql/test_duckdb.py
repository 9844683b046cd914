"""Growing, predicting and certifying inside DuckDB: the tree of the same rows in memory."""

from __future__ import annotations

import numpy as np
import pytest
from random_tables import assert_same, in_memory, people, random_parameters, random_table

from treebound import BoundTreeClassifier, certify
from treebound.engines.sql import Relation, engine, relation, rows

duckdb = pytest.importorskip("duckdb")


@pytest.fixture
def connection():
    with duckdb.connect(config={"threads": 1}) as connection:
        yield connection


def stored(connection, table, name="t"):
    """A table of the database with some rows."""
    connection.register("arrow", table)
    connection.execute(f'CREATE OR REPLACE TABLE "{name}" AS SELECT * FROM arrow')
    return connection.table(f'"{name}"')


def left_behind(connection):
    names = "SELECT table_name FROM duckdb_tables() UNION ALL SELECT view_name FROM duckdb_views()"
    return [name for (name,) in connection.sql(names).fetchall() if "treebound" in name]


@pytest.mark.parametrize("part", range(4))
def test_200_random_tables_give_the_tree_of_memory(connection, monkeypatch, part):
    for seed in range(50 * part, 50 * part + 50):
        rng = np.random.default_rng(seed)
        monkeypatch.setattr(relation, "CELLS", int(rng.choice([2, 5, 255])))
        table, parameters = random_table(rng), random_parameters(rng)
        most = int(rng.choice([0, 0, 0, 10]))
        weight = "weight" if "weight" in table.column_names else None
        model = BoundTreeClassifier(**parameters)
        model.fit(Relation(stored(connection, table), max_fetched_rows=most), "label", weight)
        assert_same(model, in_memory(table, parameters))
    assert left_behind(connection) == []


PARAMETERS = {"max_depth": 4}


def test_pruning_certificate_and_predictions_are_those_of_memory(connection):
    table = people()
    there = stored(connection, table.drop(["id"]))
    model = BoundTreeClassifier(**PARAMETERS).fit(there, "label")  # few rows: fetched
    expected = in_memory(table.drop(["id"]), PARAMETERS)
    assert_same(model, expected)
    assert model.certificate_ == expected.certificate_
    inside = BoundTreeClassifier(**PARAMETERS).fit(Relation(there, max_fetched_rows=0), "label")
    assert_same(inside, expected)
    assert model.target_name_ == "label"
    predicted = model.predict(there)
    assert isinstance(predicted, type(there))
    assert predicted.columns == [*there.columns, "prediction"]
    X = table.drop(["id", "label"])
    fetched = predicted.to_arrow_table()
    np.testing.assert_array_equal(
        fetched["prediction"].to_pylist(), expected.predict(fetched.select(X.column_names))
    )
    nodes = model.apply(there).to_arrow_table()
    np.testing.assert_array_equal(
        nodes["prediction"].to_numpy(), expected.apply(nodes.select(X.column_names))
    )
    shares = model.predict_proba(there).to_arrow_table()
    np.testing.assert_allclose(
        np.column_stack([shares["prediction no"], shares["prediction yes"]]),
        expected.predict_proba(shares.select(X.column_names)),
        rtol=1e-15,
    )
    assert model.score(there, "label") == pytest.approx(expected.score(X, table["label"]))


def test_narwhals_frames_are_relations(connection):
    nw = pytest.importorskip("narwhals")
    there = nw.from_native(stored(connection, people()))
    model = BoundTreeClassifier(**PARAMETERS).fit(Relation(there, id="id"), y="label")
    assert isinstance(model.predict(there), nw.LazyFrame)
    assert "id" not in model.feature_names_in_


@pytest.mark.parametrize("most", [0, 599])
@pytest.mark.parametrize("unknown", ["error", "missing", "other"])
def test_held_out_rows_are_drawn_by_the_key(connection, monkeypatch, most, unknown):
    if most:  # the drawn rows are fetched: no query has a tree in it
        monkeypatch.setattr(rows, "rows_at_nodes", None)
    table = people()
    parameters = {**PARAMETERS, "certificate": "held-out", "random_state": 5}
    parameters["handle_unknown"] = unknown
    there = Relation(stored(connection, table), id="id", max_fetched_rows=most)
    model = BoundTreeClassifier(**parameters).fit(there, "label")
    expected = in_memory(table.sort_by("id").drop(["id"]), parameters)
    assert_same(model, expected)
    counted, expected_rows = model.model_.evidence.calibration, expected.model_.evidence.calibration
    assert (counted.m, counted.errors) == (expected_rows.m, expected_rows.errors)
    np.testing.assert_array_equal(counted.counts, expected_rows.counts)
    assert model.certificate_ == expected.certificate_
    assert left_behind(connection) == []


def test_held_out_rows_are_drawn_by_row_numbers_without_a_key(connection, monkeypatch):
    monkeypatch.setattr(rows, "MAX_SELECTED", 40)
    there = Relation(stored(connection, people().drop(["id"])), max_fetched_rows=9)
    model = BoundTreeClassifier(**PARAMETERS, certificate="held-out").fit(there, "label")
    assert (model.model_.evidence.calibration.m, model.tree_.rows[0]) == (40, 560)
    assert model.certificate_.kind == "held-out"


def test_no_row_is_fetched_if_none_may_be(connection, monkeypatch):
    there = stored(connection, people().drop(["id"]))
    monkeypatch.setattr(engine.SqlEngine, "finish", None)
    BoundTreeClassifier(**PARAMETERS).fit(Relation(there, max_fetched_rows=0), "label")


def test_the_file_may_be_read_only(tmp_path):
    path, table = str(tmp_path / "people.db"), people().drop(["id"])
    with duckdb.connect(path) as connection:
        stored(connection, table)
    with duckdb.connect(path, read_only=True) as connection:
        there = Relation(connection.table("t"), max_fetched_rows=9)
        model = BoundTreeClassifier(**PARAMETERS).fit(there, "label")
    assert_same(model, in_memory(table, PARAMETERS))


def test_text_is_compared_by_its_bytes(connection):
    connection.execute("CREATE TABLE t (word VARCHAR COLLATE NOCASE, label VARCHAR COLLATE NOCASE)")
    connection.execute(
        "INSERT INTO t SELECT 'a', 'x' FROM range(9) UNION ALL SELECT 'A', 'X' FROM range(8)"
    )
    there = Relation(connection.table("t"), max_fetched_rows=0)
    model = BoundTreeClassifier(pruning=None).fit(there, "label")
    assert model.classes_.tolist() == ["X", "x"]
    assert model.columns_[0].categories == ("A", "a")
    assert model.tree_.counts.tolist() == [[8, 9], [8, 0], [0, 9]]
    predicted = (
        model.predict(connection.table("t")).aggregate("word, prediction, count(*)").fetchall()
    )
    assert sorted(predicted) == [("A", "X", 8), ("a", "x", 9)]
    assert model.score(connection.table("t"), "label") == 1.0


@pytest.mark.parametrize("most", [0, 1 << 16])
def test_other_rows_certify_by_their_counts(connection, most):
    table = people(900).drop(["id"])
    model = in_memory(table.slice(0, 500), PARAMETERS)
    test = table.slice(500)
    expected = certify(model, test.drop(["label"]), test["label"], kind="held-out")
    there = Relation(stored(connection, test), max_fetched_rows=most)
    certificate = certify(model, there, "label", kind="held-out")
    assert (certificate.risk, certificate.m) == (expected.risk, expected.m)
    assert certificate.class_lines() == expected.class_lines()
    assert certificate == expected or most == 0
    mine = Relation(stored(connection, table.slice(0, 500), "own"), max_fetched_rows=most)
    if most:  # these rows are fetched and compared
        with pytest.raises(ValueError, match="comparable rows equal training rows"):
            certify(model, mine, "label")
        return
    assert "more than 0 rows are counted in the database" in str(certify(model, mine, "label"))
    with pytest.raises(ValueError, match="None or 'held-out' for rows of a database"):
        certify(model, mine, "label", kind="training")


def test_rows_without_a_label_are_not_scored(connection):
    model = in_memory(people().drop(["id"]), PARAMETERS)
    stored(connection, people())
    there = connection.sql("SELECT * REPLACE (NULLIF(label, 'no') AS label) FROM t")
    with pytest.raises(ValueError, match="'label' has rows without a label"):
        model.score(there, "label")
    with pytest.raises(ValueError, match="the name of a column of the relation"):
        model.score(there, "nothing")


def test_decimals_booleans_and_enums(connection):
    connection.execute(
        "CREATE TABLE t AS SELECT CAST(i / 8 AS DECIMAL(9, 3)) AS price, i % 3 = 0 AS flag, "
        "CAST(['low', 'mid', 'high'][1 + i % 3] AS ENUM('low', 'mid', 'high')) AS grade, "
        "i > 40 OR i % 3 = 1 AS label FROM range(100) AS r(i)"
    )
    there = connection.table("t")
    model = BoundTreeClassifier(pruning=None).fit(Relation(there, max_fetched_rows=0), "label")
    assert_same(model, BoundTreeClassifier(pruning=None).fit(there, "label"))
    kinds = [(column.kind, column.categories) for column in model.columns_]
    assert kinds == [
        ("real", None), ("nominal", (False, True)), ("ordinal", ("low", "mid", "high")),
    ]  # fmt: skip
    assert model.classes_.tolist() == [False, True]
    assert model.score(there, "label") == 1.0


def test_columns_may_be_called_categorical_or_ordinal(connection):
    table = people().drop(["id"])
    options = {
        **PARAMETERS,
        "categorical_features": ["the age"],
        "ordinal_features": {"select": ["ulm", "Ulm", 'a"b', "Bonn"]},
    }
    there = Relation(stored(connection, table), max_fetched_rows=20)
    model = BoundTreeClassifier(**options).fit(there, "label")
    assert_same(model, in_memory(table, options))


def test_validation_rows_choose_the_weight_of_pruning(connection):
    table = people(1200).drop(["id"])
    there = Relation(stored(connection, table), max_fetched_rows=50)
    model = BoundTreeClassifier(size="small").fit(there, "label")
    assert model.tree_.rows[0] == 1080
    choice = model.pruning_result_.choice
    assert (choice.rule, choice.reason) == ("small", "validation")
    assert model.n_leaves_ < model.grown_tree_.n_leaves
    chosen = BoundTreeClassifier().fit(there, "label", columns=["the age"])
    assert chosen.feature_names_in_.tolist() == ["the age"]


CHANGES = ["(5, 'x', 1)", "(9, 'x', 1)", "(-1, 'x', 1)", "(5, 'new', 1)"]


@pytest.mark.parametrize("row", CHANGES)
def test_a_view_that_changes_is_noticed(connection, monkeypatch, row):
    monkeypatch.setattr(relation, "CELLS", 5)
    connection.execute(
        "CREATE TABLE t AS SELECT i AS a, 'x' AS b, i % 2 AS y FROM range(9) AS r(i)"
    )
    connection.execute("CREATE VIEW v AS SELECT * FROM t")
    plain = rows.number_codings

    def changing(*arguments):
        result = plain(*arguments)
        connection.execute(f"INSERT INTO t VALUES {row}")
        return result

    monkeypatch.setattr(rows, "number_codings", changing)
    with pytest.raises(ValueError, match="changed while it was read"):
        BoundTreeClassifier().fit(Relation(connection.table("v"), max_fetched_rows=0), "y")
    assert left_behind(connection) == []


def test_a_category_that_is_replaced_is_noticed(connection, monkeypatch):
    connection.execute(
        "CREATE TABLE t AS SELECT i AS a, ['x', 'z'][1 + i % 2] AS b, i % 3 AS y "
        "FROM range(90) AS r(i)"
    )
    connection.execute("CREATE VIEW v AS SELECT * FROM t")
    plain = rows.categories_of

    def changing(*arguments):
        listed = plain(*arguments)
        connection.execute("UPDATE t SET b = 'new' WHERE a = 5")
        return listed

    monkeypatch.setattr(rows, "categories_of", changing)
    with pytest.raises(ValueError, match="changed while it was read"):
        BoundTreeClassifier().fit(Relation(connection.table("v"), max_fetched_rows=0), "y")
    assert left_behind(connection) == []


def test_too_many_categories_are_refused(connection, monkeypatch):
    monkeypatch.setattr(relation, "MAX_CATEGORIES", 6)
    words = (
        "SELECT 'w' || CASE WHEN i % 8 < 7 THEN i % {} END AS b, i % 2 AS y FROM range(70) AS r(i)"
    )
    few = Relation(connection.sql(words.format(6)), max_fetched_rows=0)
    assert BoundTreeClassifier(pruning=None).fit(few, "y").columns_[0].missing
    many = Relation(connection.sql(words.format(8)), max_fetched_rows=0)
    with pytest.raises(ValueError, match="'b' of the relation has more than 6 different values"):
        BoundTreeClassifier().fit(many, "y")
    assert left_behind(connection) == []


REFUSED = [
    ({"y": "nothing"}, "the name of a column of the relation"),
    ({"y": "label", "sample_weight": "w"}, "the name of a column of the relation"),
    ({"y": "gap"}, "3 rows without a label"),
    ({"y": "label", "sample_weight": "negative"}, "has other values in 1 rows"),
    ({"y": "label"}, "'day' of the relation has the type Date"),
]


@pytest.mark.parametrize(("options", "words"), REFUSED)
def test_what_cannot_be_learned_is_refused(connection, options, words):
    connection.execute(
        "CREATE TABLE t AS SELECT i AS x, i % 2 AS label, CASE WHEN i > 2 THEN i END AS gap, "
        "i - 1 AS negative, DATE '2000-01-01' + CAST(i AS INTEGER) AS day FROM range(9) AS r(i)"
    )
    with pytest.raises(ValueError, match=words):
        BoundTreeClassifier().fit(Relation(connection.table("t"), max_fetched_rows=0), **options)
    assert left_behind(connection) == []


def test_infinity_and_empty_relations_are_refused(connection):
    there = connection.sql("SELECT 1e308 * 10 * i AS x, i AS label FROM range(1, 4) AS r(i)")
    with pytest.raises(ValueError, match="'x' of the relation contains infinity"):
        BoundTreeClassifier().fit(Relation(there, max_fetched_rows=0), "label")
    with pytest.raises(ValueError, match="no rows of a weight above zero"):
        BoundTreeClassifier().fit(there.filter("label > 5"), "label")


def test_parameters_that_need_rows_are_refused(connection):
    there = stored(connection, people().drop(["id"]))
    inside = Relation(there, max_fetched_rows=9)
    for parameters in ({"thresholds": "observed"}, {"certificate": "prior"}):
        with pytest.raises(ValueError, match=next(iter(parameters))):
            BoundTreeClassifier(**parameters).fit(inside, "label")
    for kind in ("folds", "prior"):
        with pytest.raises(ValueError, match=r"the 600 rows stay .* more than the 9 of Relation's"):
            BoundTreeClassifier(certificate=kind).fit(inside, "label")
        BoundTreeClassifier(certificate=kind).fit(Relation(there, max_fetched_rows=600), "label")
    with pytest.raises(ValueError, match="must have a different value in every row"):
        BoundTreeClassifier(certificate="held-out").fit(
            Relation(there, id="the age", max_fetched_rows=9), "label"
        )
    with pytest.raises(ValueError, match="max_fetched_rows"):
        Relation(there, max_fetched_rows=-1)
    with pytest.raises(ValueError, match="a relation of a database"):
        Relation(people())


@pytest.mark.filterwarnings("ignore::UserWarning")  # that a column is missing throughout
@pytest.mark.parametrize("kind", ["NULL", "CAST(NULL AS INTEGER)", "CAST(NULL AS VARCHAR)"])
def test_a_column_that_is_null_throughout_is_missing_as_in_memory(connection, kind):
    stored(connection, people().drop(["id"]))
    there = connection.sql(f"SELECT *, {kind} AS void FROM t")
    expected = in_memory(there.to_arrow_table(), PARAMETERS)
    for most in (0, 1000):
        model = BoundTreeClassifier(**PARAMETERS)
        assert_same(model.fit(Relation(there, max_fetched_rows=most), "label"), expected)
    assert expected.columns_[-1].missing
    with pytest.raises(ValueError, match=r"'day' of the relation has the type"):
        BoundTreeClassifier().fit(
            Relation(connection.sql("SELECT *, DATE '2020-01-01' AS day FROM t"),
                     max_fetched_rows=0), "label"
        )  # fmt: skip


def test_predictions_need_the_columns_of_the_tree(connection):
    there = stored(connection, people().drop(["id"]))
    model = BoundTreeClassifier(**PARAMETERS).fit(there, "label")
    with pytest.raises(ValueError, match="has no column"):
        model.predict(there.select('"select"'))
    with pytest.raises(ValueError, match="'prediction' already"):
        model.predict(model.predict(there))
