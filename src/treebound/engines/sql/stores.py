"""The databases: how queries run, and where rows are stored while a tree grows.

Queries name only columns of ours, so they need no quoting; ``ROWS`` in them is a relation.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

# Placeholder of a relation in a query; no name or text of SQL contains this character.
ROWS = "\0"


class SqlStore:
    """A database, by one of its relations."""

    dialect: str
    double = "DOUBLE PRECISION"
    any_order = "()"  # of rows that are numbered
    by_bytes = ""  # after a text: no collation makes different texts equal
    keeps = True
    fence = ""  # after a query inside another one: its columns are computed once

    def __init__(self, native: Any) -> None:
        self.native = native
        self._tables: list[str] = []

    def close(self) -> None:
        """Remove all temporary tables."""
        for table in list(self._tables):
            self.drop(table)

    def number(self, value: float) -> str:
        """A number of double precision in SQL."""
        return f"CAST('{float(value)!r}' AS {self.double})"

    def suffixes(self, types: Mapping[str, Any]) -> dict[str, str]:
        """Return the SQL that follows each column of text."""
        return {name: self.by_bytes for name, dtype in types.items() if dtype == nw.String}

    def run(self, text: str, native: Any = None) -> Any:
        """Run a statement."""
        raise NotImplementedError

    def relation(self, text: str, native: Any, **more: str) -> Any:
        """The relation of a query, not run yet: the columns of another one, and more with types."""
        return self.run(text, native)

    def keep(self, text: str, native: Any = None) -> str:
        """Write the rows of a query to a temporary table; return the SQL that follows FROM."""
        self._tables.append(self._write(text, native))
        return self._tables[-1]

    def _write(self, text: str, native: Any) -> str:
        name = _new_name()
        self.run(f"CREATE TEMPORARY TABLE {name} AS {text}", native)
        return name

    def fetch(self, text: str, native: Any = None) -> dict[str, NDArray[Any]]:
        """The columns of a small result."""
        table = nw.from_native(self.run(text, native)).collect(backend="pyarrow").to_native()
        return {name: as_array(table.column(name)) for name in table.column_names}

    def drop(self, table: str) -> None:
        """Remove a temporary table."""
        self._tables.remove(table)
        self._remove(table)

    def _remove(self, table: str) -> None:
        self.run(f"DROP TABLE {table}")

    def table_of(self, **columns: NDArray[Any]) -> str:
        """SQL of a table of whole numbers and floats."""
        values = [
            map(self.number if array.dtype.kind == "f" else str, array.tolist())
            for array in columns.values()
        ]
        rows = ", ".join(f"({', '.join(row)})" for row in zip(*values, strict=True))
        return f"(SELECT * FROM (VALUES {rows}) AS v({', '.join(columns)}))"

    def bits(self, number: str, shift: int, n: int) -> str:
        """SQL of some bits of a whole number."""
        return f"(({number} >> {shift}) & {2**n - 1})"

    def update(self, table: str, case: str, slots: Sequence[int], columns: Sequence[str]) -> str:
        """A table with another ``slot`` of the rows of some; those of a negative one may go."""
        slot = f"CASE WHEN slot {one_of(slots)} THEN {case} ELSE slot END AS slot"
        new = self.keep(f"SELECT {', '.join(columns)}, {slot} FROM {table} AS t WHERE slot >= 0")
        self.drop(table)
        return new


class DuckStore(SqlStore):
    """DuckDB: temporary tables, even if the database file is read-only."""

    dialect = "duckdb"
    by_bytes = ' COLLATE "C"'

    def run(self, text: str, native: Any = None) -> Any:
        name = _new_name()
        return (self.native if native is None else native).query(name, text.replace(ROWS, name))

    def table_of(self, **columns: NDArray[Any]) -> str:
        # one text for each column is planned in no time, many numbers are not
        types = {"f": "DOUBLE[]", "i": "BIGINT[]"}
        lists = [
            f"UNNEST(CAST('{array.tolist()}' AS {types[array.dtype.kind]})) AS {name}"
            for name, array in columns.items()
        ]
        return f"(SELECT {', '.join(lists)})"

    def update(self, table: str, case: str, slots: Sequence[int], columns: Sequence[str]) -> str:
        # changing a column in place takes two thirds of the memory of a copy of the table
        self.run(f"UPDATE {table} SET slot = {case} WHERE slot {one_of(slots)}")
        return table


class SparkStore(SqlStore):
    """PySpark: rows are kept by the executors."""

    dialect = "spark"
    double = "DOUBLE"
    any_order = "(ORDER BY 1)"

    def __init__(self, native: Any) -> None:
        super().__init__(native)
        self._session = native.sparkSession
        self._kept: dict[str, Any] = {}
        if int(self._session.version.partition(".")[0]) > 3:  # before, all texts go by bytes
            self.by_bytes = " COLLATE UTF8_BINARY"

    def run(self, text: str, native: Any = None) -> Any:
        if native is None:
            return self._session.sql(text)
        name = _new_name()
        native.createOrReplaceTempView(name)
        try:
            return self._session.sql(text.replace(ROWS, name))  # the view is read at once
        finally:
            self._session.catalog.dropTempView(name)

    def _write(self, text: str, native: Any) -> str:
        name = _new_name()
        self._kept[name] = self.run(text, native).localCheckpoint()
        self._kept[name].createOrReplaceTempView(name)
        return name

    def bits(self, number: str, shift: int, n: int) -> str:
        return f"(SHIFTRIGHT({number}, {shift}) & {2**n - 1})"

    def _remove(self, table: str) -> None:
        self._session.catalog.dropTempView(table)
        self._kept.pop(table).unpersist()


class IbisStore(SqlStore):
    """A database that Ibis knows.

    If no temporary table may be written, every query starts from the relation: the codes, and a
    CASE of the tree, are computed again and again.
    """

    def __init__(self, native: Any) -> None:
        super().__init__(native)
        self._backend = native.get_backend()
        self.dialect = str(self._backend.name)
        if self.dialect in ("duckdb", "postgres"):
            self.by_bytes = DuckStore.by_bytes
        if self.dialect == "postgres":
            self.fence = " OFFSET 0"
        try:
            self.drop(self.keep("SELECT 1 AS n"))
        except Exception:  # every database has errors of its own
            self.keeps = False

    def run(self, text: str, native: Any = None) -> Any:
        return self._backend.raw_sql(self._whole(text, native))

    def _whole(self, text: str, native: Any) -> str:
        """A query with the relation as a query inside of it."""
        if native is None:
            return text
        import ibis

        return text.replace(ROWS, f"({ibis.to_sql(native, dialect=self.dialect)}) AS r")

    def relation(self, text: str, native: Any, **more: str) -> Any:
        import ibis

        # without a schema Ibis writes a view to learn it
        schema = ibis.schema({**dict(native.schema().items()), **more})
        return self._backend.sql(self._whole(text, native), schema=schema)

    def _write(self, text: str, native: Any) -> str:
        if self.keeps:
            return super()._write(text, native)
        # without the fence PostgreSQL writes the CASE of a slot again wherever it is named
        return f"({self._whole(text, native)}{self.fence})"

    def fetch(self, text: str, native: Any = None) -> dict[str, NDArray[Any]]:
        cursor = self.run(text, native)
        names = [entry[0] for entry in cursor.description]
        columns = list(zip(*cursor.fetchall(), strict=True)) or [()] * len(names)
        return {k: as_array(pa.chunked_array([v])) for k, v in zip(names, columns, strict=True)}

    def _remove(self, table: str) -> None:
        if self.keeps:
            super()._remove(table)


def _new_name() -> str:
    return f"treebound_{uuid.uuid4().hex}"


def as_array(column: Any) -> NDArray[Any]:
    """Numbers as such, decimals as the numbers that they are, anything else as objects."""
    if pa.types.is_decimal(column.type):
        try:
            column = column.cast(pa.int64())
        except pa.ArrowInvalid:
            column = column.cast(pa.float64())
    if column.null_count == 0:
        array: NDArray[Any] = column.to_numpy()
        return array
    objects = np.empty(len(column), dtype=object)
    objects[:] = column.to_pylist()
    return objects


def store_of(frame: Any) -> SqlStore:
    """The store of the database of a lazy frame."""
    kinds: dict[Any, type[SqlStore]] = {
        nw.Implementation.DUCKDB: DuckStore,
        nw.Implementation.PYSPARK: SparkStore,
        nw.Implementation.IBIS: IbisStore,
    }
    kind = kinds.get(frame.implementation)
    if kind is None:
        raise TypeError(
            "A tree grows inside DuckDB, Spark, and databases that Ibis knows. Got a lazy frame of "
            f"{frame.implementation} instead. Hint: give the relation by Ibis."
        )
    return kind(frame.to_native())


# -- parts of queries ------------------------------------------------------------------------------


def one_of(numbers: Any) -> str:
    """SQL after a number that is one of some."""
    return f"IN ({', '.join(map(str, np.asarray(numbers).tolist()))})"


def pick(number: str, values: Sequence[tuple[int, str]]) -> str:
    """SQL that gives the value of a number, which is one of some, by halves; they are in order."""
    if len(values) == 1:
        return values[0][1]
    half = len(values) // 2
    low, high = values[:half], values[half:]
    return (
        f"CASE WHEN {number} < {high[0][0]} THEN {pick(number, low)} ELSE {pick(number, high)} END"
    )


def rounded(x: str) -> str:
    """SQL of a double rounded as in memory, a half to the even number; as a whole number."""
    odd = f"FLOOR({x}) <> 2 * FLOOR({x} / 2)"
    up = f"{x} - FLOOR({x}) > 0.5 OR ({x} - FLOOR({x}) = 0.5 AND {odd})"
    return f"CAST(FLOOR({x}) AS BIGINT) + CASE WHEN {up} THEN 1 ELSE 0 END"
