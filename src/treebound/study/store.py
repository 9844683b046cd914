"""Results in SQLite: one row and one transaction per result.

A run can be killed at any moment without losing finished results. The key (study, data set, draw,
model) is unique, so nothing is counted twice, even if two runs write to the same file.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import struct
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from typing import Any

from treebound._utils.files import check_writable, may_write
from treebound.data.columns import KINDS
from treebound.study.measure import QUANTITIES
from treebound.study.models import Learner
from treebound.study.protocols import Protocol
from treebound.study.samples import NamedSample

_VERSION = 2
# In the header of every store, to recognise files of other programs before opening them.
_APPLICATION = int.from_bytes(b"tbnd")
_GREATEST = 2**32  # of counts, draws and seeds
_TABLES = {
    "study": """(
    key TEXT PRIMARY KEY, protocol TEXT NOT NULL, settings TEXT NOT NULL, created TEXT NOT NULL
)""",
    "dataset": """(
    study TEXT NOT NULL REFERENCES study, name TEXT NOT NULL, title TEXT NOT NULL,
    n_examples INTEGER NOT NULL, n_real INTEGER NOT NULL, n_ordinal INTEGER NOT NULL,
    n_nominal INTEGER NOT NULL, n_classes INTEGER NOT NULL, fingerprint TEXT NOT NULL,
    PRIMARY KEY (study, name)
)""",
    "model": """(
    study TEXT NOT NULL REFERENCES study, name TEXT NOT NULL, position INTEGER NOT NULL,
    oracle INTEGER NOT NULL, settings TEXT NOT NULL, PRIMARY KEY (study, name)
)""",
    "result": f"""(
    study TEXT NOT NULL REFERENCES study, dataset TEXT NOT NULL, draw INTEGER NOT NULL,
    model TEXT NOT NULL, seed INTEGER NOT NULL,
    {", ".join(f"{name} REAL" for name in QUANTITIES)},
    error TEXT, versions TEXT NOT NULL, finished TEXT NOT NULL,
    PRIMARY KEY (study, dataset, draw, model)
) WITHOUT ROWID""",
}
_COLUMNS = ("dataset", "draw", "model", "seed", *QUANTITIES, "error", "versions")


@dataclass(frozen=True)
class StoredStudy:
    """The description of a study in a store."""

    key: str
    protocol: str
    settings: dict[str, Any]
    datasets: list[dict[str, Any]]
    models: list[dict[str, Any]]


class StoreError(OSError):
    """A store cannot be read or written; the message names the file."""


def check_store(path: str | Path, *, must_exist: bool = False) -> None:
    """Raise unless a path is a store of results, or may become one; changes nothing."""
    file = Path(path)
    if file.exists():
        try:
            with file.open("rb") as stream:
                reason = _refusal(stream.read(100), may_be_empty=not must_exist)
        except IsADirectoryError:
            reason = "it is not a file"
        except OSError as error:
            raise StoreError(f"Cannot read {str(path)!r}: {error.strerror or error}.") from None
        if reason:
            raise StoreError(f"{str(path)!r} is not a store of results: {reason}.")
    elif must_exist:
        raise FileNotFoundError(
            f"There is no store of results at {str(path)!r}. Hint: 'treebound study run' makes one."
        )
    if not must_exist:
        check_writable(file)


def _refusal(header: bytes, *, may_be_empty: bool) -> str:
    """Why a file with this header is not a store; see sqlite.org/fileformat.html."""
    if not header:
        return "" if may_be_empty else "it is empty"
    if len(header) < 100 or not header.startswith(b"SQLite format 3\0"):
        return "it is another kind of file"
    version, application = struct.unpack(">I4xI", header[60:72])
    if application != _APPLICATION:
        return "it is the database of another program"
    return "" if version == _VERSION else f"it has version {version}, not {_VERSION}"


class Store:
    """A SQLite file of results.

    It is created if it does not exist. One that ``must_exist`` is opened for reading, and may be on
    a read-only file system. A file that is not a store is not changed.
    """

    def __init__(self, path: str | Path, *, must_exist: bool = False) -> None:
        self.path = Path(path)
        check_store(path, must_exist=must_exist)
        new = not self.path.exists()
        self._opened = ExitStack()
        try:
            self._connect(must_exist)
        except BaseException:
            self._opened.close()
            if new and self.path.exists() and self.path.stat().st_size == 0:
                self.path.unlink()
            raise

    def _connect(self, must_exist: bool) -> None:
        where = f"{self._place().absolute().as_uri()}?mode=rw" if must_exist else str(self.path)
        try:
            # statements outside a transaction are committed at once
            connection = sqlite3.connect(where, timeout=60.0, isolation_level=None, uri=must_exist)
        except sqlite3.Error as error:
            raise self._unusable(error) from None
        self._connection = self._opened.enter_context(closing(connection))
        self._connection.row_factory = sqlite3.Row
        if not must_exist:
            with self._transaction():
                if not self._statements():
                    for table, columns in _TABLES.items():
                        self._execute(f"CREATE TABLE {table} {columns}")
                    self._execute(f"PRAGMA application_id = {_APPLICATION}")
                    self._execute(f"PRAGMA user_version = {_VERSION}")
        present = self._statements()
        for table, columns in _TABLES.items():
            if present.get(table) != " ".join(f"CREATE TABLE {table} {columns}".split()):
                raise StoreError(
                    f"{str(self.path)!r} is not a store of results: its table {table!r} is "
                    f"{'not there' if table not in present else 'another'}."
                )
        if not must_exist:
            # with a write-ahead log commits need no flush, and a killed process loses none
            self._execute("PRAGMA journal_mode = WAL")
            self._execute("PRAGMA synchronous = NORMAL")

    def _place(self) -> Path:
        """The file to read: a copy if SQLite cannot write its log next to the store."""
        if may_write(self.path) and may_write(self.path.parent):
            return self.path
        folder = Path(self._opened.enter_context(tempfile.TemporaryDirectory()))
        for suffix in ("", "-wal"):
            beside = Path(f"{self.path}{suffix}")
            if beside.exists():
                shutil.copyfile(beside, folder / f"store{suffix}")
        return folder / "store"

    def _statements(self) -> dict[str, str]:
        """The statement that made each table."""
        rows = self._execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
        return {name: " ".join(str(sql).split()) for name, sql in rows}

    def _execute(self, statement: str, values: Sequence[Any] = ()) -> list[sqlite3.Row]:
        """The rows that a statement gives; errors (disk full, damaged, locked) name the file."""
        try:
            return self._connection.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise self._unusable(error) from None

    def _unusable(self, error: Exception) -> StoreError:
        return StoreError(f"The store {str(self.path)!r} cannot be used: {error}.")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """BEGIN IMMEDIATE ... COMMIT, or ROLLBACK on an error."""
        self._execute("BEGIN IMMEDIATE")
        try:
            yield
            self._execute("COMMIT")
        finally:
            if self._connection.in_transaction:
                self._execute("ROLLBACK")

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *error: object) -> None:
        """Close the file and merge the write-ahead log into it."""
        with suppress(sqlite3.Error):  # commits stay in the log
            self._opened.close()

    # -- writing ---------------------------------------------------------------------------

    def register(
        self, protocol: Protocol, samples: Iterable[NamedSample], models: Sequence[Learner]
    ) -> None:
        """Register the samples and models of a study, in one transaction."""
        with self._transaction():
            self._execute(
                "INSERT OR IGNORE INTO study VALUES (?, ?, ?, ?)",
                (protocol.key, protocol.name, json.dumps(protocol.settings), _now()),
            )
            for named in samples:
                sample, kinds = named.sample, [named.count(kind) for kind in KINDS]
                row = (named.title, sample.n_rows, *kinds, sample.n_classes, named.fingerprint)
                self._describe("dataset", "data set", protocol.key, named.name, row)
            for model in models:
                query = "SELECT coalesce(max(position) + 1, 0) FROM model WHERE study = ?"
                ((position,),) = self._execute(query, (protocol.key,))
                settings = (position, model.oracle, model.settings)
                self._describe("model", "model", protocol.key, model.name, settings)

    def _describe(self, table: str, kind: str, study: str, name: str, row: tuple[Any, ...]) -> None:
        """Insert a data set or a model; the last of its columns must be as it is in the store."""
        marks = ", ".join("?" * (2 + len(row)))
        self._execute(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", (study, name, *row))
        query = f"SELECT * FROM {table} WHERE study = ? AND name = ?"
        ((*_, stored),) = self._execute(query, (study, name))
        if stored != row[-1]:
            raise ValueError(
                f"The store {str(self.path)!r} holds results of another {kind} named {name!r}: "
                f"{stored} there, {row[-1]} now. Hint: give it another name, or use another "
                "--store."
            )

    def add(self, study: str, row: dict[str, Any]) -> bool:
        """Write one result, in one transaction; whether it is new."""
        names = ", ".join(("study", *_COLUMNS, "finished"))
        marks = ", ".join("?" * (len(_COLUMNS) + 2))
        insert = f"INSERT OR IGNORE INTO result ({names}) VALUES ({marks}) RETURNING 1"
        with self._transaction():
            return bool(self._execute(insert, (study, *(row[name] for name in _COLUMNS), _now())))

    def forget_errors(self, study: str) -> None:
        """Delete the rows of failed models, so that they run again."""
        with self._transaction():
            self._execute("DELETE FROM result WHERE study = ? AND error IS NOT NULL", (study,))

    # -- reading ---------------------------------------------------------------------------

    def rows(self, study: str) -> list[dict[str, Any]]:
        """All results of a study."""
        rows = self._rows("result", study, "dataset, draw, model")
        for table in ("dataset", "model"):  # and the name of the column that refers to it
            described = {row["name"] for row in self._rows(table, study, "name")}
            unknown = next((row[table] for row in rows if row[table] not in described), None)
            if unknown is not None:
                raise self._damaged(f"{unknown!r}, which no row of the table {table!r} describes,")
        return rows

    def study(self, protocol: str | None = None) -> StoredStudy:
        """One study of this file."""
        studies = self._rows("study", None, "created, key")
        matching = [s for s in studies if protocol in (None, s["protocol"], s["key"])]
        if len(matching) != 1:
            names = ", ".join(f"{s['protocol']} ({s['key']})" for s in studies) or "none"
            wanted = "" if protocol is None else f" and {len(matching)} of them match {protocol!r}"
            raise ValueError(
                f"The store {str(self.path)!r} holds the studies: {names}{wanted}. "
                "Hint: name one with --protocol."
            )
        key, name = matching[0]["key"], matching[0]["protocol"]
        try:
            settings = dict(json.loads(matching[0]["settings"]))
            settings["test_fraction"] = float(settings["test_fraction"])
            if not 0.0 < settings["test_fraction"] < 1.0:
                raise ValueError
        except (ValueError, TypeError, KeyError, RecursionError):
            raise self._damaged(f"the settings of the study {key!r}") from None
        datasets, models = self._rows("dataset", key, "title"), self._rows("model", key, "position")
        return StoredStudy(key, name, settings, datasets, models)

    def _rows(self, table: str, study: str | None, order: str) -> list[dict[str, Any]]:
        """The rows of a table, of one study; SQLite does not keep to the types of its columns."""
        where, values = ("", ()) if study is None else ("WHERE study = ?", (study,))
        cursor = self._execute(f"SELECT * FROM {table} {where} ORDER BY {order}", values)
        rows = [dict(row) for row in cursor]
        for _, name, kind, required, _, key in self._execute(f"PRAGMA table_info({table})"):
            if not all(_is_of(kind, bool(required or key), row[name]) for row in rows):
                raise self._damaged(f"column {name!r} of the table {table!r}")
        return rows

    def _damaged(self, detail: str) -> StoreError:
        """The error for content that this module does not write."""
        return StoreError(f"The store {str(self.path)!r} is damaged: {detail} cannot be read.")


def _is_of(kind: str, required: bool, value: object) -> bool:
    """Return True if this module writes such a value into a column."""
    if kind == "TEXT":
        return isinstance(value, str) or (value is None and not required)
    if kind == "INTEGER":
        return isinstance(value, int) and 0 <= value <= _GREATEST
    return value is None or (isinstance(value, float) and isfinite(value))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
