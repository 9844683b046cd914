"""The tree as far as it is grown, in a file: growth goes on from there after a stop."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from treebound.growing.rounds.store import NodeStore

__all__ = ["Checkpoint", "Resumed"]


class Resumed(NamedTuple):
    """What was found in a file: the nodes, and the leaves whose splits are looked for next."""

    store: NodeStore
    fresh: list[int]


class Checkpoint:
    """A file that is written after every round, and removed when the tree is grown.

    Parameters
    ----------
    path : str or path-like
    of : sequence
        What the tree is grown on and how; a file of something else is refused.
    """

    def __init__(self, path: str | os.PathLike[str], of: Sequence[Any]) -> None:
        self._path = Path(path)
        self._print = hashlib.sha256(repr(tuple(of)).encode()).hexdigest()

    def write(self, store: NodeStore, fresh: Sequence[int]) -> None:
        """Keep the nodes; the file is complete at every moment."""
        arrays: dict[str, Any] = {name: np.array(getattr(store, name)) for name in NodeStore.FIELDS}
        part = self._path.with_name(self._path.name + ".part")
        with part.open("wb") as file:
            np.savez(file, fingerprint=np.array(self._print), fresh=np.array(fresh, int), **arrays)
        part.replace(self._path)

    def read(self, store: NodeStore, n_classes: int, n_columns: int) -> Resumed | None:
        """Fill an empty store from the file; None where there is no file."""
        if not self._path.exists():
            return None
        try:
            with np.load(self._path, allow_pickle=False) as found:
                arrays = {name: found[name] for name in ("fingerprint", "fresh", *NodeStore.FIELDS)}
        except (OSError, EOFError, ValueError, KeyError, BadZipFile) as error:
            raise ValueError(
                f"The file {str(self._path)!r} is no checkpoint. Hint: name another file."
            ) from error
        if str(arrays["fingerprint"]) != self._print:
            raise ValueError(
                f"The checkpoint {str(self._path)!r} is of other rows, columns or options. "
                "Hint: remove it, or name another file."
            )
        if not _holds_together(arrays, n_classes, n_columns):
            raise ValueError(
                f"The checkpoint {str(self._path)!r} contradicts itself. "
                "Hint: remove it to begin anew."
            )
        for name in NodeStore.FIELDS:
            values = arrays[name]
            setattr(store, name, list(values) if name == "counts" else values.tolist())
        return Resumed(store, arrays["fresh"].tolist())

    def remove(self) -> None:
        """The tree is grown."""
        self._path.unlink(missing_ok=True)


def _holds_together(arrays: dict[str, NDArray[Any]], n_classes: int, n_columns: int) -> bool:
    """Whether there is an entry for each node, and children and columns are there."""
    n = len(arrays["rows"]) if arrays["rows"].ndim == 1 else 0
    for name in NodeStore.FIELDS:
        if arrays[name].shape != ((n, n_classes) if name == "counts" else (n,)):
            return False
    nodes = np.arange(n)
    for name in ("left", "right"):
        child = arrays[name]
        if child.dtype.kind != "i" or not ((child == -1) | ((child > nodes) & (child < n))).all():
            return False
    if arrays["feature"].dtype.kind != "i" or not (arrays["feature"] < n_columns).all():
        return False
    fresh = arrays["fresh"]
    return n > 0 and fresh.dtype.kind == "i" and bool(((fresh >= 0) & (fresh < n)).all())
