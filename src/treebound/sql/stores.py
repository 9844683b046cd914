"""What narwhals has no word for, database by database: temporary tables, bytes, SQL text."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Any

import narwhals as nw

from treebound._extras import require

__all__ = ["Case", "Store", "store_of"]

# Builds an expression from functions that make a column, a constant and a CASE.
Case = Callable[[Callable[..., Any], Callable[..., Any], Callable[..., Any]], Any]


class Store:
    """A database that is only read: every query begins at the relation.

    Parameters
    ----------
    native : object
        A relation of the database.
    """

    keeps = False  # whether tables can be kept in it

    def __init__(self, native: Any) -> None:
        self.native = native

    @property
    def dialect(self) -> str | None:
        """The name of its SQL, as ``to_sql`` takes it."""
        return None

    def keep(self, frame: Any) -> Any:
        """The rows of a frame in a table of their own, if tables can be kept."""
        return frame

    def drop(self, frame: Any) -> None:
        """Remove what :meth:`keep` made."""

    def only(self, frame: Any, name: str, values: Sequence[int], *, out: bool = False) -> Any:
        """The rows whose number in a column is one of some; or the others."""

        among = nw.col(name).is_in(list(values))
        return frame.filter(~among if out else among)

    def replaced(self, frame: Any, name: str, case: Case) -> Any:
        """A kept frame with other numbers in a column."""

        def when(condition: Any, yes: Any, no: Any) -> Any:
            return nw.when(condition).then(yes).otherwise(no)

        def constant(value: Any) -> Any:
            return nw.lit(value, dtype=nw.Int32) if isinstance(value, int) else nw.lit(value)

        case_of = case(nw.col, constant, when)
        new = self.keep(frame.with_columns(case_of.alias(name)).filter(nw.col(name) >= 0))
        self.drop(frame)
        return new

    def bytes_of(self, frame: Any, names: Sequence[str]) -> Any:
        """Text as bytes, so that no collation makes different texts equal."""
        return frame

    def select(self, native: Any, text: str) -> Any:
        """All columns and some SQL expressions, as a lazy frame of the database."""
        raise NotImplementedError(
            f"predict writes no SQL for {type(native).__module__}. Hint: use 'to_sql'."
        )


class DuckStore(Store):
    """DuckDB: temporary tables, even where the database file is read-only."""

    keeps = True
    dialect = "duckdb"

    def __init__(self, native: Any) -> None:
        super().__init__(native)
        self._tables: dict[int, str] = {}

    def _run(self, native: Any, text: str) -> Any:
        """Run a statement in which ``{rows}`` is a relation."""
        name = f"treebound_{uuid.uuid4().hex}"
        return native.query(name, text.format(rows=name))

    def keep(self, frame: Any) -> Any:

        name = f"treebound_{uuid.uuid4().hex}"
        self._run(frame.to_native(), f"CREATE TEMP TABLE {name} AS SELECT * FROM {{rows}}")
        kept = nw.from_native(self._run(self.native, f"SELECT * FROM temp.{name}"))
        self._tables[id(kept)] = name
        return kept

    def drop(self, frame: Any) -> None:
        name = self._tables.pop(id(frame), None)
        if name is not None:
            self._run(self.native, f"DROP TABLE temp.{name}")

    def only(self, frame: Any, name: str, values: Sequence[int], *, out: bool = False) -> Any:

        listed = ", ".join(map(str, values)) or "NULL"
        return nw.from_native(
            frame.to_native().filter(f"{name} {'NOT ' if out else ''}IN ({listed})")
        )

    def replaced(self, frame: Any, name: str, case: Case) -> Any:
        import duckdb

        def when(condition: Any, yes: Any, no: Any) -> Any:
            return duckdb.CaseExpression(condition, yes).otherwise(no)

        text = str(case(duckdb.ColumnExpression, duckdb.ConstantExpression, when))
        # a column is changed where it is: the others are not written again
        self._run(self.native, f"UPDATE temp.{self._tables[id(frame)]} SET {name} = {text}")
        return frame

    def bytes_of(self, frame: Any, names: Sequence[str]) -> Any:
        import duckdb

        native = frame.to_native()
        columns = [
            duckdb.FunctionExpression("encode", duckdb.ColumnExpression(name)).alias(name)
            if name in names
            else duckdb.ColumnExpression(name)
            for name in native.columns
        ]
        return nw.from_native(native.select(*columns))

    def select(self, native: Any, text: str) -> Any:
        name = f"treebound_{uuid.uuid4().hex}"
        return native.query(name, f"SELECT *, {text} FROM {name}")


class SparkStore(Store):
    """PySpark: rows are kept by the executors."""

    keeps = True
    dialect = "spark"

    def keep(self, frame: Any) -> Any:

        return nw.from_native(frame.to_native().localCheckpoint())

    def drop(self, frame: Any) -> None:
        frame.to_native().unpersist()

    def bytes_of(self, frame: Any, names: Sequence[str]) -> Any:
        from pyspark.sql import functions

        native = frame.to_native()
        for name in names:
            native = native.withColumn(name, functions.encode(name, "UTF-8"))
        return nw.from_native(native)

    def select(self, native: Any, text: str) -> Any:
        return native.sparkSession.sql(f"SELECT *, {text} FROM {{rows}}", rows=native)


class IbisStore(Store):
    """A database that Ibis knows; temporary tables where they are allowed."""

    def __init__(self, native: Any) -> None:
        super().__init__(native)
        self._backend = native.get_backend()
        self.keeps = self._can_keep()

    def _can_keep(self) -> bool:
        try:
            self.native.limit(1).cache().release()
        except Exception:  # every database has its own errors
            return False
        return True

    @property
    def dialect(self) -> str | None:
        return str(self._backend.name)

    def keep(self, frame: Any) -> Any:

        return nw.from_native(frame.to_native().cache()) if self.keeps else frame

    def drop(self, frame: Any) -> None:
        release = getattr(frame.to_native(), "release", None)
        if release is not None:
            release()

    def bytes_of(self, frame: Any, names: Sequence[str]) -> Any:
        import ibis

        if self.dialect == "postgres":

            @ibis.udf.scalar.builtin  # type: ignore[untyped-decorator, unused-ignore]
            def convert_to(text: str, encoding: str) -> bytes: ...  # type: ignore[empty-body]

            native = frame.to_native()
            return nw.from_native(
                native.mutate(**{name: convert_to(native[name], "UTF8") for name in names})
            )
        return frame

    def select(self, native: Any, text: str) -> Any:
        name = f"treebound_{uuid.uuid4().hex}"
        return native.alias(name).sql(f"SELECT *, {text} FROM {name}", dialect=self.dialect)


def store_of(frame: Any) -> Store:
    """The store of the database of a lazy frame."""

    kinds = {
        nw.Implementation.DUCKDB: DuckStore,
        nw.Implementation.PYSPARK: SparkStore,
        nw.Implementation.IBIS: IbisStore,
    }
    require("pyarrow", extra="sql", why="a relation of a database")
    return kinds.get(frame.implementation, Store)(frame.to_native())
