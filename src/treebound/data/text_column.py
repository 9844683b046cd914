"""A column of a text file, processed by distinct value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from treebound.data._factorize import factorize_objects

# Columns so short that Python takes no longer than Arrow.
_SHORT = 256


@dataclass(frozen=True, eq=False)
class TextColumn:
    """Texts in an Arrow array."""

    texts: pa.ChunkedArray

    def __len__(self) -> int:
        return len(self.texts)

    def distinct(self) -> tuple[list[str], NDArray[np.int32]]:
        """The distinct texts, and which of them every row has."""
        return self._coded

    @cached_property
    def _coded(self) -> tuple[list[str], NDArray[np.int32]]:
        if len(self) <= _SHORT:
            return factorize_objects(self.texts.to_pylist())  # type: ignore[return-value]
        coded = self.texts.dictionary_encode().unify_dictionaries()
        if not coded.num_chunks:
            return [], np.empty(0, dtype=np.int32)
        codes = [_as_numpy(chunk.indices, np.int32) for chunk in coded.chunks]
        return coded.chunk(0).dictionary.to_pylist(), np.concatenate(codes)

    def numbers(self, missing: Sequence[str], decimal: str = ".") -> NDArray[np.float64] | None:
        """All texts as numbers, NaN where missing; None unless all are plain finite numbers.

        Texts that only Python can parse (surrounding spaces, other digits) are left to Python, and
        so are short columns.
        """
        if len(self) <= _SHORT:
            return None
        gone = pc.is_in(self.texts, value_set=_text_array(missing))
        kept = pc.if_else(gone, pa.nulls(1, pa.string())[0], self.texts)
        if decimal != ".":
            kept = pc.replace_substring(kept, decimal, ".")
        try:
            floats = pc.cast(kept, pa.float64())
        except pa.ArrowInvalid:
            return None
        if not pc.all(pc.is_finite(floats)).as_py() and floats.null_count < len(floats):
            return None
        buffer = pa.py_buffer(np.array([np.nan]).tobytes())
        nan = pa.Array.from_buffers(pa.float64(), 1, [None, buffer])[0]
        parts = [_as_numpy(chunk, np.float64) for chunk in pc.fill_null(floats, nan).chunks]
        return np.concatenate(parts) if parts else np.empty(0)


# pyarrow's conversions from and to Python import pandas, which takes longer than small tables.


def _as_numpy(array: Any, dtype: Any) -> NDArray[Any]:
    """The values of an array of numbers without missing ones."""
    stop = array.offset + len(array)
    return np.frombuffer(array.buffers()[1], dtype=dtype, count=stop)[array.offset :]


def _text_array(texts: Sequence[str]) -> Any:
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    ends_buffer, texts_buffer = pa.py_buffer(ends.tobytes()), pa.py_buffer(b"".join(encoded))
    return pa.StringArray.from_buffers(len(encoded), ends_buffer, texts_buffer)
