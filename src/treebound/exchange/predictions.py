"""Predictions written as CSV or Parquet, batch by batch; no incomplete file is left."""

from __future__ import annotations

import csv
import io
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils.files import atomic_write
from treebound._utils.validation import Setting, WordedError, invalid
from treebound.data.raw import is_missing
from treebound.data.streams import until_settled
from treebound.model import Model, RegressionModel
from treebound.model.methods import as_any_model

if TYPE_CHECKING:
    import pyarrow as pa


def write_predictions(
    source: Any, X: Any, path: str | os.PathLike[str], *, proba: bool = False, keep: bool = False
) -> None:
    """Write the predictions for a table to a CSV or Parquet file.

    Parameters
    ----------
    source : BoundTreeClassifier, BoundTreeRegressor, model or tree
        The model that predicts.
    X, path, proba, keep
        See :meth:`treebound.BoundTreeClassifier.write_predictions`.
    """
    model = as_any_model(source, "write_predictions")
    if proba and isinstance(model, RegressionModel):
        raise invalid("proba", "write_predictions", "False for a regression tree", proba)

    def write() -> None:
        with table_writer(Path(path), model, proba) as writer:
            for rows, nodes in model.reached(X, whole=keep):
                writer.write(nodes, _as_arrow(rows) if keep else None)

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


class _CsvWriter:
    """Writes the predictions of nodes chunk by chunk, after the columns of the table if given."""

    def __init__(self, stream: IO[Any], model: Model | RegressionModel, proba: bool) -> None:
        self.stream, self.model, self.proba = stream, model, proba
        self.started = False

    def predictions(self, table: pa.Table | None) -> dict[str, NDArray[Any]]:
        """Return by name a value for every node; names differ from those of the table."""
        name = self.model.reading.target or "prediction"
        if table is not None and name in table.column_names:
            name = f"predicted {name}"
        if isinstance(self.model, RegressionModel):
            return {name: self.model.tree.value}
        tree = self.model.tree
        columns = {name: tree.classes[tree.label]}
        if self.proba:
            shares = self.model.node_probabilities
            columns |= {
                f"P({label})": self.rounded(shares[:, at]) for at, label in enumerate(tree.classes)
            }
        return columns

    def rounded(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return probabilities with six decimals, which suffice in a text."""
        return shares.round(6)

    def write(self, nodes: NDArray[Any] | None, table: pa.Table | None) -> None:
        """Append rows that end at these nodes; no nodes: no rows, but the names of the columns."""
        names = [] if table is None else table.column_names
        predicted, rows = self.predictions(table), csv.writer(self.stream, lineterminator="\n")
        if not self.started:
            rows.writerow([*names, *predicted])
            self.started = True
        if nodes is None:
            return
        each = list(zip(*(values.tolist() for values in predicted.values()), strict=True))
        if table is None:  # there are as many different lines as nodes
            lines = np.array([_csv_line(row) for row in each], dtype=object)
            self.stream.writelines(lines[nodes])
            return
        columns = zip(*(_texts(table.column(name), name) for name in names), strict=True)
        rows.writerows(
            (*row, *each[node]) for row, node in zip(columns, nodes.tolist(), strict=True)
        )

    def close(self) -> None:
        """Finish the file."""


def _csv_line(row: Iterable[Any]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(row)
    return line.getvalue()


def _texts(column: Any, name: str) -> list[Any]:
    """The values of a column of the table, nothing where they are missing."""
    import pyarrow

    if pyarrow.types.is_nested(column.type):
        raise WordedError(
            f"Column {name!r} is {column.type}, which cannot be written as CSV. Hint: write "
            "Parquet, or do not set ",
            Setting("keep"),
            ".",
        )
    values: list[Any] = column.to_pylist()
    if pyarrow.types.is_string(column.type):
        return values
    return ["" if is_missing(value) else value for value in values]


class _ParquetWriter(_CsvWriter):
    """The same for Parquet; the first chunk fixes the types."""

    file: Any = None

    def rounded(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return probabilities as they are."""
        return shares

    def write(self, nodes: NDArray[Any] | None, table: pa.Table | None) -> None:
        import pyarrow
        import pyarrow.parquet

        at = np.empty(0, dtype=np.intp) if nodes is None else nodes
        predicted = {name: pyarrow.array(v[at]) for name, v in self.predictions(table).items()}
        written = pyarrow.table(predicted) if table is None else table
        for name in predicted if table is not None else ():
            written = written.append_column(name, predicted[name])
        if self.file is None:
            self.file = pyarrow.parquet.ParquetWriter(self.stream, written.schema)
        self.file.write_table(written.cast(self.file.schema))

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
def table_writer(
    path: Path | None, model: Model | RegressionModel, proba: bool
) -> Iterator[_CsvWriter]:
    """A writer to a file that appears when the block ends well; None and ``-`` are stdout."""
    if path is None or str(path) == "-":
        yield _CsvWriter(sys.stdout, model, proba)
        sys.stdout.flush()
        return
    parquet = table_form(path) == "parquet"
    with atomic_write(path, "wb" if parquet else "w") as stream:
        writer = (_ParquetWriter if parquet else _CsvWriter)(stream, model, proba)
        yield writer
        writer.close()
