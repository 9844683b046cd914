"""Predictions written to a table batch by batch: CSV or Parquet, never half."""

from __future__ import annotations

import csv
import io
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from treebound._files import atomic_write
from treebound.data.raw import is_missing
from treebound.data.streams import until_settled
from treebound.model import Model
from treebound.model_methods import as_model

if TYPE_CHECKING:
    import pyarrow as pa


def write_predictions(
    source: Any,
    X: Any,
    path: str | os.PathLike[str],
    *,
    proba: bool = False,
    keep: bool = False,
) -> None:
    """Write the predictions for a table to a CSV or Parquet file.

    Parameters
    ----------
    source : BoundTreeClassifier, Model or Tree
        What predicts.
    X : table
        The rows; a dataset of pyarrow or a lazy frame of polars is read and answered in batches.
    path : path-like
        The file, ``.csv`` or ``.parquet``; it appears when all is written.
    proba : bool
        Whether to write the probability of every class too.
    keep : bool
        Whether to write the columns of X too.
    """
    model = as_model(source, "write_predictions")

    def write() -> None:
        with table_writer(Path(path)) as writer:
            for rows, nodes in model.reached(X, whole=keep):
                kept = _as_arrow(rows) if keep else None
                beside = () if kept is None else kept.column_names
                writer.write(Answers.of(model, nodes, beside, proba), kept)

    until_settled(write)


def _as_arrow(rows: Any) -> pa.Table:
    import narwhals as nw

    try:
        return nw.from_native(rows, eager_only=True).to_arrow()
    except TypeError:
        raise TypeError(
            "Only the columns of a data frame can be kept. "
            f"Got {type(rows).__name__} instead. Hint: make a data frame of X, or keep=False."
        ) from None


@dataclass(frozen=True)
class Answers:
    """Answers for some rows: what every node answers, and the node of every row."""

    columns: dict[str, NDArray[Any]]  # by name, a value for every node
    nodes: NDArray[Any] | None  # None where there are no rows

    @classmethod
    def of(
        cls, model: Model, nodes: NDArray[Any] | None, beside: Sequence[str], proba: bool
    ) -> Answers:
        """The label and, with ``proba``, the probability of every class, beside other columns."""
        tree, name = model.tree, model.target or "prediction"
        columns = {f"predicted {name}" if name in beside else name: tree.classes[tree.label]}
        if proba:
            shares = model.node_probabilities
            for at, label in enumerate(tree.classes.tolist()):
                columns[f"P({label})"] = shares[:, at]
        return cls(columns, nodes)

    def rows(self) -> dict[str, NDArray[Any]]:
        """By name, a value for every row."""
        nodes = np.empty(0, dtype=np.intp) if self.nodes is None else self.nodes
        return {name: values[nodes] for name, values in self.columns.items()}


class TableWriter(Protocol):
    """Takes answers chunk by chunk, beside the columns of the table if these are kept."""

    def write(self, answers: Answers, kept: pa.Table | None) -> None:
        """Append some rows; all chunks have the same columns."""


class _CsvWriter:
    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream
        self.rows = csv.writer(stream, lineterminator="\n")
        self.started = False

    def write(self, answers: Answers, kept: pa.Table | None) -> None:
        names = [] if kept is None else kept.column_names
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
        columns = [_texts(kept.column(name), name) for name in names]
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

    def write(self, answers: Answers, kept: pa.Table | None) -> None:
        columns = {name: self.arrow.array(values) for name, values in answers.rows().items()}
        table = self.arrow.table(columns)
        if kept is not None:
            table = kept
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
