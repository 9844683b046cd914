"""Tables written row by row: CSV or Parquet, to a file or to standard output, never half."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from treebound._files import atomic_write
from treebound.data.raw import is_missing

if TYPE_CHECKING:
    from treebound.data.files import RawTable

__all__ = ["Answers", "TableWriter", "table_form", "table_writer", "write_result"]


@dataclass(frozen=True)
class Answers:
    """Answers for some rows: what every node answers, and the node of every row.

    Attributes
    ----------
    columns : dict
        By name, a value for every node.
    nodes : ndarray or None
        The node of every row; None where there are no rows.
    """

    columns: dict[str, NDArray[Any]]
    nodes: NDArray[Any] | None

    def rows(self) -> dict[str, NDArray[Any]]:
        """By name, a value for every row."""
        nodes = np.empty(0, dtype=np.intp) if self.nodes is None else self.nodes
        return {name: values[nodes] for name, values in self.columns.items()}


class TableWriter(Protocol):
    """Takes answers chunk by chunk, beside the columns of the table if these are kept."""

    def write(self, answers: Answers, kept: RawTable | None) -> None:
        """Append some rows; all chunks have the same columns."""


class _CsvWriter:
    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream
        self.rows = csv.writer(stream, lineterminator="\n")
        self.started = False

    def write(self, answers: Answers, kept: RawTable | None) -> None:
        names = [] if kept is None else kept.names
        if not self.started:
            self.rows.writerow([*names, *answers.columns])
            self.started = True
        if answers.nodes is None:
            return
        each = list(zip(*(values.tolist() for values in answers.columns.values()), strict=True))
        if kept is None:  # there are as many different lines as nodes
            lines = np.array([_csv_line(row) for row in each], dtype=object)
            self.stream.writelines(lines[answers.nodes])
            return
        table = kept.native()
        columns = [_texts(table.column(name), name) for name in names]
        rows = zip(*columns, (each[node] for node in answers.nodes.tolist()), strict=True)
        self.rows.writerows((*row[:-1], *row[-1]) for row in rows)


def _csv_line(row: Iterable[Any]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(row)
    return line.getvalue()


def _texts(column: Any, name: str) -> list[Any]:
    """The values of a column of the table, nothing where they are missing."""
    import pyarrow

    if pyarrow.types.is_nested(column.type):
        raise ValueError(
            f"Column {name!r} is {column.type}, which cannot be written as CSV. Hint: write "
            "Parquet, or leave out --keep."
        )
    values: list[Any] = column.to_pylist()
    return (
        values
        if pyarrow.types.is_string(column.type)
        else ["" if is_missing(v) else v for v in values]
    )


class _ParquetWriter:
    def __init__(self, stream: IO[bytes]) -> None:
        import pyarrow
        import pyarrow.parquet

        self.arrow, self.parquet = pyarrow, pyarrow.parquet
        self.stream = stream
        self.file: Any = None

    def write(self, answers: Answers, kept: RawTable | None) -> None:
        columns = {name: self.arrow.array(values) for name, values in answers.rows().items()}
        table = self.arrow.table(columns)
        if kept is not None:
            table = kept.arrow()
            for name in columns:
                table = table.append_column(name, columns[name])
        # The first chunk fixes the types.
        if self.file is None:
            self.file = self.parquet.ParquetWriter(self.stream, table.schema)
        self.file.write_table(table.cast(self.file.schema))

    def close(self) -> None:
        if self.file is not None:
            self.file.close()


def table_form(path: Path | None) -> str:
    """How a table is written to a path: "csv" or "parquet"."""
    suffix = "" if path is None else path.suffix.lower()
    if suffix in (".parquet", ".pq"):
        return "parquet"
    if suffix not in ("", ".csv", ".txt"):
        raise ValueError(
            f"Cannot write {path}: tables are written as CSV or Parquet. Hint: name it .csv or "
            ".parquet."
        )
    return "csv"


@contextmanager
def table_writer(path: Path | None) -> Iterator[TableWriter]:
    """A writer to a file that appears when the block ends well; None and ``-`` are stdout."""
    if path is None or str(path) == "-":
        yield _CsvWriter(sys.stdout)
        sys.stdout.flush()
        return
    if table_form(path) == "parquet":
        with atomic_write(path, "wb") as stream:
            writer = _ParquetWriter(stream)
            yield writer
            writer.close()
        return
    with atomic_write(path) as stream:
        yield _CsvWriter(stream)


def write_result(content: str | bytes, path: Path | None) -> None:
    """Write text or bytes to a file, atomically, or to standard output."""
    if path is not None and str(path) != "-":
        with atomic_write(path, "wb") as stream:
            stream.write(content.encode() if isinstance(content, str) else content)
    elif isinstance(content, bytes):
        if sys.stdout.isatty():
            raise ValueError("A picture cannot be shown on a terminal. Hint: name a file with -o.")
        sys.stdout.buffer.write(content)
    else:
        sys.stdout.write(content if content.endswith("\n") else content + "\n")
