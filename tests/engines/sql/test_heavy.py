"""Growing inside PostgreSQL (by Ibis) and inside Spark: the tree of the same rows in memory."""

from __future__ import annotations

import os
import shutil
import subprocess
import warnings
from pathlib import Path

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest
from random_tables import assert_same, in_memory, people, random_parameters, random_table

from treebound import BoundTreeClassifier, BoundTreeRegressor, certify
from treebound.data.draws import Tenth
from treebound.engines.sql import Relation, relation
from treebound.engines.sql.drawing import tenth_of
from treebound.engines.sql.stores import ROWS, store_of

pytestmark = pytest.mark.heavy
PARAMETERS = {"max_depth": 4}


class Postgres:
    """A server of its own in a folder; tables are written through Ibis."""

    def __init__(self, folder: Path) -> None:
        programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
        initdb = shutil.which("initdb") or (str(programs[-1]) if programs else None)
        ibis = pytest.importorskip("ibis")
        if initdb is None:
            pytest.skip("needs PostgreSQL")
        self.folder, self.bin = folder, Path(initdb).parent
        # the server refuses to run as root
        self.user = {"user": "postgres"} if os.geteuid() == 0 else {}
        if self.user:
            shutil.chown(folder, "postgres")
        self.run(initdb, "-D", folder / "data", "-U", "tester", "-A", "trust", "-E", "UTF8")
        options = f"-k {folder} -c listen_addresses='' -c fsync=off"
        self.run(self.bin / "pg_ctl", "-D", folder / "data", "-w", "-o", options, "start")
        self.backend = ibis.postgres.connect(host=str(folder), user="tester", database="postgres")

    def run(self, *command: object) -> None:
        texts = [str(part) for part in command]
        subprocess.run(texts, check=True, stdout=subprocess.DEVNULL, cwd=self.folder, **self.user)

    def stop(self) -> None:
        self.backend.disconnect()
        self.run(self.bin / "pg_ctl", "-D", self.folder / "data", "-m", "immediate", "stop")

    def execute(self, statement: str) -> None:
        self.backend.raw_sql(statement).close()

    def relation(self, table):
        self.execute("DROP TABLE IF EXISTS t")
        self.backend.create_table("t", table)
        return self.backend.table("t")


class Spark:
    """A session in local mode."""

    def __init__(self, folder: Path) -> None:
        sql = pytest.importorskip("pyspark.sql")
        self.session = (
            sql.SparkSession.builder.master("local[1]")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.sql.shuffle.partitions", "1")
            .config("spark.ui.showConsoleProgress", "false")
            .getOrCreate()
        )

    def stop(self) -> None:
        self.session.stop()

    def relation(self, table):
        return self.session.createDataFrame(table)


@pytest.fixture(scope="module", params=[Postgres, Spark])
def database(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("database")
    if request.param is Postgres:
        for part in (folder, *folder.parents[:2]):
            part.chmod(0o755)
    database = request.param(folder)
    yield database
    database.stop()


@pytest.fixture(scope="module")
def postgres(tmp_path_factory):
    folder = tmp_path_factory.mktemp("postgres")
    for part in (folder, *folder.parents[:2]):
        part.chmod(0o755)
    database = Postgres(folder)
    yield database
    database.stop()


def test_random_tables_give_the_tree_of_memory(database, monkeypatch):
    for seed in range(40 if isinstance(database, Postgres) else 12):
        rng = np.random.default_rng(seed)
        monkeypatch.setattr(relation, "CELLS", int(rng.choice([2, 5, 255])))
        table, parameters = random_table(rng), random_parameters(rng)
        most = int(rng.choice([0, 10]))
        weight = "weight" if "weight" in table.column_names else None
        model = BoundTreeClassifier(**parameters)
        model.fit(Relation(database.relation(table), max_fetched_rows=most), "label", weight)
        assert_same(model, in_memory(table, parameters))


def test_a_tenth_is_that_of_memory(database):
    table = pa.table({"n": np.arange(5000), "place": np.arange(5000) + 2**40})
    native = database.relation(table)
    store = store_of(nw.from_native(native))
    rows = f"{store.keep('SELECT * FROM ' + ROWS, native)} AS t"
    numbers = np.sort(store.fetch(tenth_of(store, rows, 123456789012345))["n"].astype(np.int64))
    expected = Tenth(123456789012345).has(table["place"].to_numpy())
    np.testing.assert_array_equal(numbers, np.flatnonzero(expected))


def test_numbers_give_the_tree_of_memory(database):
    for seed in range(20 if isinstance(database, Postgres) else 6):
        rng = np.random.default_rng([5, seed])
        table = random_table(rng).drop(["label"])
        score = rng.normal(size=len(table)) + rng.integers(0, 3, len(table))
        numbers = [score, score.round(2), 1e9 + score, np.exp(20 * score)][seed % 4]
        table = table.append_column("price", pa.array(numbers))
        weight = "weight" if "weight" in table.column_names else None
        X = table.drop([name for name in ("price", weight) if name])
        weights = None if weight is None else table[weight].to_numpy()
        parameters = {"cv": None, "certificate": None, "min_samples_leaf": 1}
        expected = BoundTreeRegressor(**parameters).fit(X, table["price"].to_numpy(), weights)
        there = Relation(database.relation(table), max_fetched_rows=int(rng.choice([0, 10])))
        model = BoundTreeRegressor(**parameters).fit(there, "price", weight)
        for name in expected.tree_.node_arrays:
            np.testing.assert_array_equal(
                getattr(model.tree_, name), getattr(expected.tree_, name), err_msg=f"{name} {seed}"
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            BoundTreeRegressor(certificate="held-out", clip=(0.1, 0.9)).fit(there, "price", weight)
        predicted = nw.from_native(expected.predict(database.relation(table)))
        values = predicted.select("prediction").collect("pyarrow").to_native()["prediction"]
        np.testing.assert_array_equal(np.sort(values), np.sort(expected.predict(X)))
        r2 = expected.score(database.relation(table), "price", weight)
        assert r2 == pytest.approx(expected.score(X, table["price"].to_numpy(), weights), rel=1e-9)


def test_calibration_rows_and_predictions_are_those_of_memory(database):
    table = people()
    there = database.relation(table)
    parameters = {**PARAMETERS, "certificate": "held-out", "random_state": 5}
    model = BoundTreeClassifier(**parameters).fit(
        Relation(there, id="id", max_fetched_rows=50), "label"
    )
    here = table.sort_by("id").drop(["id"])
    X, y = here.drop(["label"]), here["label"]
    expected = BoundTreeClassifier(**parameters).fit(X, y)
    assert_same(model, expected)
    assert model.certificate_ == expected.certificate_
    assert model.score(there, "label") == pytest.approx(expected.score(X, y))
    assert type(model.predict(there)).__module__ == type(there).__module__
    shares = nw.from_native(model.predict_proba(there)).collect("pyarrow").to_native()
    np.testing.assert_allclose(
        np.column_stack([shares["prediction no"], shares["prediction yes"]]),
        expected.predict_proba(shares.select(X.column_names)),
        rtol=1e-15,
    )
    certificate = certify(model, Relation(there, max_fetched_rows=0), "label", kind="held-out")
    assert certificate.risk == certify(expected, X, y, kind="held-out").risk


def test_postgres_may_be_read_only(postgres):
    table = people().drop(["id"])
    there = postgres.relation(table)
    postgres.execute("SET default_transaction_read_only = on")
    try:
        model = BoundTreeClassifier(**PARAMETERS).fit(Relation(there, max_fetched_rows=99), "label")
        with pytest.raises(ValueError, match="temporary table"):
            BoundTreeClassifier(certificate="held-out").fit(
                Relation(there, max_fetched_rows=9), "label"
            )
    finally:
        postgres.execute("SET default_transaction_read_only = off")
    expected = BoundTreeClassifier(**PARAMETERS).fit(table.drop(["label"]), table["label"])
    assert_same(model, expected)


def test_postgres_compares_text_by_its_bytes(postgres):
    postgres.execute("DROP TABLE IF EXISTS words")
    postgres.execute(
        "CREATE COLLATION IF NOT EXISTS blind "
        "(provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
    )
    postgres.execute("CREATE TABLE words (word text COLLATE blind, label integer)")
    postgres.execute(
        "INSERT INTO words SELECT CASE WHEN i < 9 THEN 'a' ELSE 'A' END, CAST(i < 9 AS integer) "
        "FROM generate_series(1, 20) AS r(i)"
    )
    there = Relation(postgres.backend.table("words"), max_fetched_rows=0)
    model = BoundTreeClassifier(pruning=None).fit(there, "label")
    assert model.columns_[0].categories == ("A", "a")
    assert model.tree_.n_leaves == 2
    assert model.score(postgres.backend.table("words"), "label") == 1.0
