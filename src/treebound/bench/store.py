"""Results in SQLite: one row a result, one transaction a row.

A run can be killed at any moment: what was finished is in the file, what was not is missing and
nothing else. The key (study, data set, draw, model) is unique, so nothing is counted twice, even
when two runs write to the same file.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from treebound.bench.measure import QUANTITIES
from treebound.bench.models import Model
from treebound.bench.protocols import Protocol
from treebound.bench.sources import Table

__all__ = ["Store", "StoredStudy"]

_VERSION = 1
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS study (
    key TEXT PRIMARY KEY, protocol TEXT NOT NULL, settings TEXT NOT NULL, created TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS dataset (
    study TEXT NOT NULL REFERENCES study, name TEXT NOT NULL, title TEXT NOT NULL,
    n_examples INTEGER NOT NULL, n_real INTEGER NOT NULL, n_ordinal INTEGER NOT NULL,
    n_nominal INTEGER NOT NULL, n_classes INTEGER NOT NULL, fingerprint TEXT NOT NULL,
    PRIMARY KEY (study, name)
);
CREATE TABLE IF NOT EXISTS model (
    study TEXT NOT NULL REFERENCES study, name TEXT NOT NULL, position INTEGER NOT NULL,
    oracle INTEGER NOT NULL, settings TEXT NOT NULL, PRIMARY KEY (study, name)
);
CREATE TABLE IF NOT EXISTS result (
    study TEXT NOT NULL REFERENCES study, dataset TEXT NOT NULL, draw INTEGER NOT NULL,
    model TEXT NOT NULL, seed INTEGER NOT NULL,
    {", ".join(f"{name} REAL" for name in QUANTITIES)},
    error TEXT, versions TEXT NOT NULL, finished TEXT NOT NULL,
    PRIMARY KEY (study, dataset, draw, model)
) WITHOUT ROWID;
"""
_COLUMNS = ("dataset", "draw", "model", "seed", *QUANTITIES, "error", "versions")


@dataclass(frozen=True)
class StoredStudy:
    """What a store knows of one study, its results apart."""

    key: str
    protocol: str
    settings: dict[str, Any]
    datasets: list[dict[str, Any]]
    models: list[dict[str, Any]]


class Store:
    """A SQLite file of results.

    Parameters
    ----------
    path : path
        The file; it is made if it is not there. ``":memory:"`` keeps it in memory.
    must_exist : bool
        Refuse to make a new file.

    Examples
    --------
    >>> with Store(":memory:") as store:
    ...     store.studies()
    []
    """

    def __init__(self, path: str | Path, *, must_exist: bool = False) -> None:
        self.path = Path(path)
        if must_exist and not self.path.is_file():
            raise FileNotFoundError(
                f"There is no store of results at {str(path)!r}. Hint: 'treebound bench' makes one."
            )
        self._connection = sqlite3.connect(path, timeout=60.0, isolation_level=None)
        self._connection.row_factory = sqlite3.Row
        try:
            self._prepare()
        except sqlite3.DatabaseError as error:
            self._connection.close()
            raise ValueError(f"{str(path)!r} is not a store of results: {error}.") from None

    def _prepare(self) -> None:
        # With a write-ahead log a commit costs no flush, and a killed process loses no commit.
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        (tables,) = self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if version not in (0, _VERSION) or (version == 0 and tables):
            raise sqlite3.DatabaseError(f"it has version {version}, not {_VERSION}")
        self._connection.executescript(_SCHEMA)
        self._connection.execute(f"PRAGMA user_version = {_VERSION}")

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; the write-ahead log is folded into it."""
        self._connection.close()

    # -- writing ---------------------------------------------------------------------------

    def register(
        self, protocol: Protocol, tables: Iterable[Table], models: Sequence[Model]
    ) -> None:
        """Note what is about to run, in one transaction.

        Raises
        ------
        ValueError
            If the store already holds results of a data set or model of the same name that is
            not the same: another table, other settings.
        """
        with self._transaction():
            self._connection.execute(
                "INSERT OR IGNORE INTO study VALUES (?, ?, ?, ?)",
                (protocol.key, protocol.name, json.dumps(protocol.settings), _now()),
            )
            for table in tables:
                self._register_table(protocol.key, table)
            for model in models:
                self._register_model(protocol.key, model)

    def _register_table(self, study: str, table: Table) -> None:
        kinds = [table.count(kind) for kind in ("real", "ordinal", "nominal")]
        row = (table.n_examples, *kinds, table.n_classes, table.fingerprint)
        self._connection.execute(
            "INSERT OR IGNORE INTO dataset VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (study, table.name, table.title, *row),
        )
        found = self._one("dataset", "fingerprint", study, table.name)
        self._refuse(found != table.fingerprint, "data set", table.name, found, table.fingerprint)

    def _register_model(self, study: str, model: Model) -> None:
        (position,) = self._connection.execute(
            "SELECT coalesce(max(position) + 1, 0) FROM model WHERE study = ?", (study,)
        ).fetchone()
        self._connection.execute(
            "INSERT OR IGNORE INTO model VALUES (?, ?, ?, ?, ?)",
            (study, model.name, position, model.oracle, model.settings),
        )
        found = self._one("model", "settings", study, model.name)
        self._refuse(found != model.settings, "model", model.name, found, model.settings)

    def _one(self, table: str, column: str, study: str, name: str) -> str:
        query = f"SELECT {column} FROM {table} WHERE study = ? AND name = ?"
        return self._connection.execute(query, (study, name)).fetchone()[0]

    def _refuse(self, differs: bool, what: str, name: str, old: str, new: str) -> None:
        if differs:
            raise ValueError(
                f"The store {str(self.path)!r} holds results of another {what} named {name!r}: "
                f"{old} there, {new} now. Hint: give it another name, or use another --store."
            )

    def add(self, study: str, row: dict[str, Any]) -> bool:
        """Write one result in one transaction; False if it was there already."""
        values = [row[name] for name in _COLUMNS]
        names = ", ".join(("study", *_COLUMNS, "finished"))
        marks = ", ".join("?" * (len(_COLUMNS) + 2))
        with self._transaction():
            cursor = self._connection.execute(
                f"INSERT OR IGNORE INTO result ({names}) VALUES ({marks})",
                (study, *values, _now()),
            )
        return cursor.rowcount == 1

    def forget_errors(self, study: str) -> int:
        """Remove the rows of models that failed, so that they run again; how many there were."""
        with self._transaction():
            cursor = self._connection.execute(
                "DELETE FROM result WHERE study = ? AND error IS NOT NULL", (study,)
            )
        return cursor.rowcount

    def _transaction(self) -> _Transaction:
        return _Transaction(self._connection)

    # -- reading ---------------------------------------------------------------------------

    def done(self, study: str) -> set[tuple[str, int, str]]:
        """The keys of the results a study has: (data set, draw, model)."""
        query = "SELECT dataset, draw, model FROM result WHERE study = ?"
        return {tuple(row) for row in self._connection.execute(query, (study,))}

    def rows(self, study: str) -> list[dict[str, Any]]:
        """Every result of a study, in the order of data set, draw and model."""
        query = "SELECT * FROM result WHERE study = ? ORDER BY dataset, draw, model"
        return [dict(row) for row in self._connection.execute(query, (study,))]

    def studies(self) -> list[StoredStudy]:
        """The studies in this file, the oldest first."""
        found = self._connection.execute("SELECT * FROM study ORDER BY created, key").fetchall()
        return [self._study(row) for row in found]

    def _study(self, row: sqlite3.Row) -> StoredStudy:
        def all_of(table: str, order: str) -> list[dict[str, Any]]:
            query = f"SELECT * FROM {table} WHERE study = ? ORDER BY {order}"
            with closing(self._connection.execute(query, (row["key"],))) as cursor:
                return [dict(one) for one in cursor]

        settings = json.loads(row["settings"])
        datasets, models = all_of("dataset", "title"), all_of("model", "position")
        return StoredStudy(row["key"], row["protocol"], settings, datasets, models)

    def study(self, protocol: str | None = None) -> StoredStudy:
        """The study of a protocol (a name or a key), or the only one there is."""
        found = [s for s in self.studies() if protocol in (None, s.protocol, s.key)]
        if len(found) == 1:
            return found[0]
        names = ", ".join(f"{s.protocol} ({s.key})" for s in self.studies()) or "none"
        wanted = "" if protocol is None else f" and {len(found)} of them match {protocol!r}"
        raise ValueError(
            f"The store {str(self.path)!r} holds the studies: {names}{wanted}. "
            "Hint: name one with --protocol."
        )


class _Transaction:
    """BEGIN IMMEDIATE ... COMMIT, or ROLLBACK on an error."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._connection.execute("COMMIT" if kind is None else "ROLLBACK")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
