"""The databases: how a query is run, and where rows are kept while a tree grows.

Queries name only columns of ours, so they need no quoting; ``ROWS`` in them is a relation.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

__all__ = ["ROWS", "Store", "store_of"]

# Stands for a relation in a query; no name or text of SQL holds this character.
ROWS = "\0"


class Store:
    """A database in which tables can be kept.

    Parameters
    ----------
    native : object
        A relation of the database.
    """

    dialect: str
    double = "DOUBLE PRECISION"
    any_order = "()"  # of rows that are numbered
    keeps = True

    def __init__(self, native: Any) -> None:
        self.native = native

    def run(self, text: str, native: Any = None) -> Any:
        """Run a statement."""
        raise NotImplementedError

    def relation(self, text: str, native: Any, more: Mapping[str, str], *, inside: bool) -> Any:
        """The relation of a query, which is not run yet.

        It has the columns of another relation, which may be inside of it, and some more with types.
        """
        return self.run(text, native if inside else None)

    def keep(self, text: str, native: Any = None) -> str:
        """A table with the rows of a query, until it is dropped; what stands after FROM."""
        raise NotImplementedError

    def fetch(self, text: str, native: Any = None) -> dict[str, NDArray[Any]]:
        """The columns of a small result."""
        table = nw.from_native(self.run(text, native)).collect(backend="pyarrow").to_native()
        return {name: _array(table.column(name)) for name in table.column_names}

    def drop(self, table: str) -> None:
        """Remove a table that was kept."""
        self.run(f"DROP TABLE {table}")

    def update(self, table: str, case: str, others: Sequence[str]) -> str:
        """A table with another ``slot`` of each row."""
        new = self.keep(f"SELECT {', '.join(others)}, {case} AS slot FROM {table} AS t")
        self.drop(table)
        return new

    def bytes_of(self, native: Any, names: Sequence[str]) -> Any:
        """Text as bytes, so that no collation makes different texts equal."""
        raise NotImplementedError


class DuckStore(Store):
    """DuckDB: temporary tables, even where the database file is read-only."""

    dialect = "duckdb"

    def run(self, text: str, native: Any = None) -> Any:
        name = _new_name()
        return (self.native if native is None else native).query(name, text.replace(ROWS, name))

    def keep(self, text: str, native: Any = None) -> str:
        name = _new_name()
        self.run(f"CREATE TEMP TABLE {name} AS {text}", native)
        return f"temp.{name}"

    def update(self, table: str, case: str, others: Sequence[str]) -> str:
        # a column is changed where it is: the others are not written again
        self.run(f"UPDATE {table} SET slot = {case}")
        return table

    def bytes_of(self, native: Any, names: Sequence[str]) -> Any:
        import duckdb

        def written(name: str) -> Any:
            column = duckdb.ColumnExpression(name)
            if name not in names:
                return column
            return duckdb.FunctionExpression("encode", column).alias(name)

        return native.select(*map(written, native.columns))


class SparkStore(Store):
    """PySpark: rows are kept by the executors."""

    dialect = "spark"
    double = "DOUBLE"
    any_order = "(ORDER BY 1)"

    def __init__(self, native: Any) -> None:
        super().__init__(native)
        self._session = native.sparkSession
        self._kept: dict[str, Any] = {}

    def run(self, text: str, native: Any = None) -> Any:
        if native is None:
            return self._session.sql(text)
        name = _new_name()
        native.createOrReplaceTempView(name)
        try:
            return self._session.sql(text.replace(ROWS, name))  # the view is read at once
        finally:
            self._session.catalog.dropTempView(name)

    def keep(self, text: str, native: Any = None) -> str:
        name = _new_name()
        kept = self.run(text, native).localCheckpoint()
        kept.createOrReplaceTempView(name)
        self._kept[name] = kept
        return name

    def drop(self, table: str) -> None:
        self._session.catalog.dropTempView(table)
        self._kept.pop(table).unpersist()

    def bytes_of(self, native: Any, names: Sequence[str]) -> Any:
        from pyspark.sql import functions

        for name in names:
            native = native.withColumn(name, functions.encode(name, "UTF-8"))
        return native


class IbisStore(Store):
    """A database that Ibis knows.

    Where no temporary table may be written, every query begins at the relation: the codes, and a
    CASE of the tree, are computed again and again.
    """

    def __init__(self, native: Any) -> None:
        super().__init__(native)
        self._backend = native.get_backend()
        self.dialect = str(self._backend.name)
        try:
            self.drop(self.keep("SELECT 1 AS one"))
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

    def relation(self, text: str, native: Any, more: Mapping[str, str], *, inside: bool) -> Any:
        import ibis

        schema = ibis.schema({**dict(native.schema().items()), **more})
        return self._backend.sql(self._whole(text, native if inside else None), schema=schema)

    def keep(self, text: str, native: Any = None) -> str:
        if not self.keeps:
            return f"({self._whole(text, native)})"
        name = _new_name()
        self.run(f"CREATE TEMPORARY TABLE {name} AS {text}", native)
        return name

    def fetch(self, text: str, native: Any = None) -> dict[str, NDArray[Any]]:
        cursor = self.run(text, native)
        names = [entry[0] for entry in cursor.description]
        columns = list(zip(*cursor.fetchall(), strict=True)) or [()] * len(names)
        return {name: _objects(values) for name, values in zip(names, columns, strict=True)}

    def drop(self, table: str) -> None:
        if not table.startswith("("):
            super().drop(table)

    def bytes_of(self, native: Any, names: Sequence[str]) -> Any:
        import ibis

        function = {"postgres": "convert_to", "duckdb": "encode"}.get(self.dialect)
        if function is None:
            return native  # texts are equal if the database says so

        def written(name: str) -> Any:
            text = native[name]
            if function == "encode":
                return _builtin(ibis, "encode", 1)(text)
            return _builtin(ibis, "convert_to", 2)(text, "UTF8")

        return native.mutate(**{name: written(name) for name in names})


def _builtin(ibis: Any, name: str, n_arguments: int) -> Any:
    """A function of the database that gives bytes."""

    def one(text: str) -> bytes: ...  # type: ignore[empty-body]

    def two(text: str, encoding: str) -> bytes: ...  # type: ignore[empty-body]

    return ibis.udf.scalar.builtin(one if n_arguments == 1 else two, name=name)


def _new_name() -> str:
    return f"treebound_{uuid.uuid4().hex}"


def _array(column: Any) -> NDArray[Any]:
    """Numbers as such, anything else as objects; whole decimals as integers."""
    if str(column.type).startswith("decimal") or column.null_count:
        return _objects(column.to_pylist())
    array: NDArray[Any] = column.to_numpy()
    return array


def _objects(values: Sequence[Any]) -> NDArray[Any]:
    """An array of Python values; of numbers where all of them are."""
    kinds = {type(value).__name__ for value in values}
    if kinds <= {"int", "float"} and kinds:
        return np.array(values)
    if kinds and kinds <= {"Decimal", "int"} and all(value == int(value) for value in values):
        return np.array([int(value) for value in values])
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def store_of(frame: Any) -> Store:
    """The store of the database of a lazy frame."""
    kinds: dict[Any, type[Store]] = {
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
