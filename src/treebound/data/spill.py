"""Values of rows in files: a table that is streamed, or the partitions that a worker has."""

from __future__ import annotations

import mmap
import os
import tempfile
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic

import numpy as np
from numpy.typing import NDArray

from treebound.data.matrix import Matrix, type_of
from treebound.data.number_sample import AnySample

_ALIGNMENT = 8  # bytes: of the values in a file, as of arrays in memory


class ValuesLost(Exception):
    """The file with the values of a shard is not on this machine."""


@dataclass(frozen=True)
class FileValues:
    """Columns of values in a file: its path, and where each begins."""

    path: str
    n_rows: int
    places: tuple[tuple[int, str] | None, ...]

    def __getitem__(self, j: int) -> NDArray[Any]:
        """The values of a column; only those that are used are read."""
        place = self.places[j]
        assert place is not None
        try:
            with open(self.path, "rb", buffering=0) as file:
                return _mapped(file, place[0], np.dtype(place[1]), self.n_rows)
        except FileNotFoundError:
            raise ValuesLost(self.path) from None


# The values of a shard, wherever they are kept; columns are as a ``Matrix`` has them.
Values = Sequence[NDArray[Any]] | FileValues


def _mapped(file: Any, start: int, dtype: np.dtype[Any], n_rows: int) -> NDArray[Any]:
    """As ``numpy.memmap``, at a tenth of its cost."""
    if not n_rows:
        return np.empty(0, dtype=dtype)
    skip = start % mmap.ALLOCATIONGRANULARITY
    size = skip + n_rows * dtype.itemsize
    pages = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ, offset=start - skip)
    return np.frombuffer(pages, dtype, n_rows, skip)


def _write(file: Any, values: NDArray[Any], start: int, folder: str, setting: str) -> None:
    """Write all of an array; an error names the folder and how to choose another."""
    array: Any = np.ascontiguousarray(values).view(np.uint8)
    rest = memoryview(array)  # tofile hides a full disk
    file.seek(start)
    try:
        while len(rest):
            rest = rest[file.write(rest) :]
    except OSError as error:
        raise OSError(
            error.errno,
            f"Cannot write the values of the table to a temporary file in {folder}: "
            f"{error.strerror}. Hint: it takes eight bytes a number; name another folder with "
            f"{setting}.",
        ) from None


class SpillFile:
    """A file of a new name in a folder, for the values of a shard."""

    def __init__(self, folder: str) -> None:
        os.makedirs(folder, exist_ok=True)
        self._folder, self._path = folder, os.path.join(folder, uuid.uuid4().hex)
        self._file = open(self._path, "wb", buffering=0)  # noqa: SIM115 (written more than once)
        self._end = 0

    def write(self, X: Matrix, but: Sequence[bool] | None = None) -> FileValues:
        """Write the values of all columns, or of all but some."""
        places: list[tuple[int, str] | None] = []
        for j, values in enumerate(X.values):
            if but is not None and but[j]:
                places.append(None)
                continue
            places.append((self._end, values.dtype.str))
            _write(self._file, values, self._end, self._folder, "dask's 'local_directory'")
            self._end = _aligned(self._end + values.nbytes)
        return FileValues(self._path, X.n_rows, tuple(places))

    def close(self) -> None:
        """Nothing more is written; values stay at hand by the name of the file."""
        self._file.close()


class ColumnFile(Generic[AnySample]):
    """A sample that is collected batch by batch: its values are in a temporary file."""

    # They are stored one column after the other, with room for n_rows. The file is deleted when its
    # values are not used any more.

    def __init__(self, first: AnySample, n_rows: int) -> None:
        self._first = first
        self._types = [type_of(column) for column in first.columns]
        sizes = [_aligned(n_rows * dtype.itemsize) for dtype in self._types]
        self._starts = np.cumsum([0, *sizes]).tolist()
        # closed by `close`
        self._file: Any = tempfile.TemporaryFile(prefix="treebound-", buffering=0)  # noqa: SIM115
        self._n_rows, self._room = 0, n_rows
        self._missing = np.zeros(len(self._types), dtype=bool)
        self._unknown = first.X.handle_unknown
        self._targets: list[NDArray[Any]] = []  # classes, or numbers
        self._weights: list[NDArray[np.float64] | None] = []  # None: every weight is one

    def add(self, batch: AnySample) -> None:
        """Write the values of some rows."""
        if self._n_rows + batch.n_rows > self._room:
            raise ValueError(
                f"The table has more rows than the {self._room} that it had when it was first read."
            )
        for start, dtype, values in zip(self._starts, self._types, batch.X.values, strict=False):
            place = start + self._n_rows * dtype.itemsize
            values = values.astype(dtype, copy=False)
            folder, setting = tempfile.gettempdir(), "the environment variable TMPDIR"
            _write(self._file, values, place, folder, setting)
        self._n_rows += batch.n_rows
        if batch.n_rows:
            self._unknown = batch.X.handle_unknown
        self._missing |= [column.missing for column in batch.columns]
        self._targets.append(batch.y)
        self._weights.append(batch.weight)

    def close(self) -> None:
        """Nothing more is written."""
        self._file.close()

    def sample(self) -> AnySample:
        """All rows; values are read from the file where they are used."""
        values = tuple(
            _mapped(self._file, start, dtype, self._n_rows)
            for start, dtype in zip(self._starts, self._types, strict=False)
        )
        columns = tuple(
            column.with_missing(column.missing or bool(missing))
            for column, missing in zip(self._first.columns, self._missing, strict=True)
        )
        y, weight = np.concatenate(self._targets), None
        if any(weights is not None for weights in self._weights):
            each = zip(self._targets, self._weights, strict=True)
            weight = np.concatenate(
                [np.ones(len(target)) if weights is None else weights for target, weights in each]
            )
        X = Matrix(columns, values, handle_unknown=self._unknown)
        target: dict[str, Any] = {"y": y}
        return replace(self._first, X=X, weight=weight, **target)


def _aligned(place: int) -> int:
    return -(-place // _ALIGNMENT) * _ALIGNMENT
