"""Tables written row by row: CSV or Parquet, to a file or to standard output, never half."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from treebound._extras import require
from treebound._files import atomic_write

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TableWriter", "table_form", "table_writer", "write_result"]


class TableWriter(Protocol):
    """Takes a table chunk by chunk; all chunks have the same columns."""

    def write(self, frame: pd.DataFrame) -> None:
        """Append the rows of a frame."""


class _CsvWriter:
    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream
        self.started = False

    def write(self, frame: pd.DataFrame) -> None:
        frame.to_csv(self.stream, index=False, header=not self.started, lineterminator="\n")
        self.started = True


class _ParquetWriter:
    def __init__(self, stream: IO[bytes]) -> None:
        self.arrow = require("pyarrow", extra="study", why="Writing Parquet")
        self.parquet = require("pyarrow.parquet", extra="study", why="Writing Parquet")
        self.stream = stream
        self.file: Any = None

    def write(self, frame: pd.DataFrame) -> None:
        # The first chunk fixes the types.
        schema = None if self.file is None else self.file.schema
        table = self.arrow.Table.from_pandas(frame, schema=schema, preserve_index=False)
        if self.file is None:
            self.file = self.parquet.ParquetWriter(self.stream, table.schema)
        self.file.write_table(table)

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
