"""The tree as far as it is grown, in a file: growth continues from there after a stop."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils.files import check_writable, write_bytes

_MAGIC = b"treebound checkpoint "


def check_checkpoint(path: str | os.PathLike[str] | None) -> None:
    """Raise, before anything is read, if a checkpoint cannot be written or is another file."""
    if path is None:
        return
    check_writable(Path(path))
    if os.path.exists(path):
        with open(path, "rb") as file:
            _check_kind(Path(path), file.read(len(_MAGIC)))


def _check_kind(path: Path, head: bytes) -> None:
    if not head.startswith(_MAGIC):
        raise ValueError(f"The file {str(path)!r} is not a checkpoint. Hint: name another file.")


class Checkpoint:
    """A file that is written after every round, and removed when the tree is grown."""

    # It begins with a digest of the rest, and of what the tree is grown on and how (of): an altered
    # file is refused, and one of something else.

    def __init__(self, path: str | os.PathLike[str], of: Sequence[Any]) -> None:
        self._path = Path(path)
        self._print = hashlib.sha256(repr(tuple(of)).encode()).hexdigest()

    def write(self, nodes: Mapping[str, NDArray[Any]], leaves: NDArray[np.int32]) -> None:
        """Keep the nodes, in pre-order, and the leaves whose splits are searched next."""
        buffer = io.BytesIO()
        arrays: dict[str, Any] = {**nodes, "leaves": leaves}
        np.savez(buffer, **arrays)
        data = self._print.encode() + buffer.getvalue()
        digest = hashlib.sha256(data).hexdigest().encode()
        write_bytes(self._path, _MAGIC + digest + b"\n" + data)

    def read(self) -> tuple[dict[str, Any], NDArray[np.int32]] | None:
        """The nodes and the leaves; None if there is no file."""
        try:
            head, _, data = self._path.read_bytes().partition(b"\n")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._refused("cannot be read") from error
        _check_kind(self._path, head)
        if head != _MAGIC + hashlib.sha256(data).hexdigest().encode():
            raise self._refused("was altered or cut off")
        if data[: len(self._print)] != self._print.encode():
            raise self._refused("is of other rows, columns or options")
        with np.load(io.BytesIO(data[len(self._print) :]), allow_pickle=False) as stored:
            arrays = dict(stored)
        return arrays, arrays.pop("leaves")

    def _refused(self, reason: str) -> ValueError:
        return ValueError(
            f"The checkpoint {str(self._path)!r} {reason}. Hint: remove it, or name another file."
        )

    def remove(self) -> None:
        """The tree is grown."""
        self._path.unlink(missing_ok=True)
