"""Values of shards in a file, as they came: written once, read a column at a time."""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["SpillFile", "SpilledValues", "mapped"]


class SpillFile:
    """A file without a name, which is gone with the process that wrote it.

    Parameters
    ----------
    folder : str, optional
        Where it stands; by default where temporary files are.
    """

    def __init__(self, folder: str | None = None) -> None:
        self._file = tempfile.TemporaryFile(  # noqa: SIM115 (open as long as its values are read)
            dir=folder, prefix="treebound-", buffering=0
        )
        self._end = 0
        self._lock = Lock()

    def write(self, columns: Sequence[NDArray[Any] | None]) -> SpilledValues:
        """Keep the values of some rows, a column each; None where they are not needed."""
        places: list[tuple[int, str] | None] = []
        n_rows = 0
        for values in columns:
            if values is None:
                places.append(None)
                continue
            n_rows = len(values)
            data = np.ascontiguousarray(values)
            with self._lock:
                start, self._end = self._end, self._end + data.nbytes
                self._file.seek(start)
                data.tofile(self._file)
            places.append((start, data.dtype.str))
        return SpilledValues(self, n_rows, tuple(places))

    def read(self, start: int, n_rows: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Some values; see :func:`mapped`."""
        return mapped(self._file, start, n_rows, dtype)


def mapped(file: Any, start: int, n_rows: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Values in an open file; only those that are looked at are read.

    As ``numpy.memmap``, at a tenth of its cost, which counts where columns are looked at often.
    """
    if not n_rows:
        return np.empty(0, dtype=dtype)
    skip = start % mmap.ALLOCATIONGRANULARITY
    size = skip + n_rows * dtype.itemsize
    pages = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ, offset=start - skip)
    return np.frombuffer(pages, dtype, n_rows, skip)


@dataclass(frozen=True)
class SpilledValues:
    """The values of a shard in a file."""

    file: SpillFile
    n_rows: int
    places: tuple[tuple[int, str] | None, ...]

    def column(self, j: int) -> NDArray[Any]:
        """The values of a column."""
        place = self.places[j]
        assert place is not None
        start, name = place
        return self.file.read(start, self.n_rows, np.dtype(name))
