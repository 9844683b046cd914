"""One column of a text file: what is asked of its values is asked once for each distinct one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound._extras import require

__all__ = ["TextColumn", "arrow"]


def arrow() -> Any:
    """The pyarrow module, or one line saying how to get it."""
    return require("pyarrow", extra="study", why="Reading tables")


class TextColumn(Sequence[str]):
    """Texts, held by Arrow.

    Parameters
    ----------
    texts : pyarrow.ChunkedArray of strings
        None is missing.
    """

    def __init__(self, texts: Any) -> None:
        self.texts = texts

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, at: Any) -> Any:
        return self.texts[at].as_py()

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts.to_pylist())

    @cached_property
    def _coded(self) -> tuple[list[str], NDArray[np.int64]]:
        coded = self.texts.dictionary_encode().unify_dictionaries()
        if not coded.num_chunks:
            return [], np.empty(0, dtype=np.int64)
        codes = [chunk.indices.to_numpy(zero_copy_only=False) for chunk in coded.chunks]
        return coded.chunk(0).dictionary.to_pylist(), np.concatenate(codes).astype(np.int64)

    @property
    def distinct(self) -> list[str]:
        """The distinct texts."""
        return self._coded[0]

    @property
    def codes(self) -> NDArray[np.int64]:
        """Which of the distinct texts every row has."""
        return self._coded[1]

    def first_row(self, which: Sequence[int]) -> int:
        """The first row that has one of some distinct texts, from 0."""
        return int(np.flatnonzero(np.isin(self.codes, which))[0])

    def numbers(self, missing: Sequence[str]) -> NDArray[np.float64] | None:
        """All texts as numbers, NaN where missing; None unless every one is plainly finite.

        Texts that only Python reads (spaces around, other digits) are left to Python.
        """
        pa = arrow()
        compute = require("pyarrow.compute", extra="study", why="Reading tables")
        gone = compute.is_in(self.texts, value_set=pa.array(list(missing), pa.string()))
        kept = compute.if_else(gone, pa.scalar(None, pa.string()), self.texts)
        try:
            found = compute.cast(kept, pa.float64())
        except pa.ArrowInvalid:
            return None
        if not compute.all(compute.is_finite(found)).as_py() and found.null_count < len(found):
            return None
        floats: NDArray[np.float64] = found.to_numpy()
        return floats
