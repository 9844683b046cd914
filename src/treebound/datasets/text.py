"""Text files: records of fields in, columns of texts out, whole or in chunks."""

from __future__ import annotations

import csv
import io
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import IO, Any

from treebound.datasets.schema import Layout, Schema

__all__ = ["Raw", "decoded", "no_duplicates", "text_chunks", "text_columns"]

# Columns as they come out of a file or a frame, by name.
Raw = dict[str, Sequence[Any]]


def text_columns(payload: bytes, schema: Schema, name: str) -> Raw:
    """The columns of a text file held in memory."""
    return next(text_chunks(decoded(io.BytesIO(payload), schema.layout), schema, None, name))


def decoded(file: Any, layout: Layout) -> IO[str]:
    """A binary stream as text."""
    try:
        return io.TextIOWrapper(file, encoding=layout.encoding, newline="")
    except LookupError:
        raise ValueError(
            f"The 'encoding' of [read] must be a known text encoding. Got {layout.encoding!r} "
            "instead."
        ) from None


def text_chunks(
    stream: Iterable[str], schema: Schema, chunk_rows: int | None, name: str
) -> Iterator[Raw]:
    """The columns of a text file, so many rows at a time (None: all); at least one chunk.

    Parameters
    ----------
    stream : iterable of str
        The lines of the file.
    schema : Schema
        For the layout and, where the file has no header, the names of the columns.
    chunk_rows : int or None
    name : str
        What errors call the file.
    """
    layout = schema.layout
    with _explained(name, layout):
        records = _records(stream, layout)
        names = _header(records, name) if layout.header else list(schema.order)
        row = 0
        while part := list(islice(records, chunk_rows)):
            part = _checked(part, len(names), row, name)
            row += len(part)
            if part:
                yield dict(zip(names, zip(*part, strict=True), strict=True))
        if row == 0:
            yield dict.fromkeys(names, ())


def no_duplicates(names: Sequence[str], table: str) -> None:
    """Raise if a column name occurs twice."""
    twice = sorted({str(name) for name in names if list(names).count(name) > 1})
    if twice:
        raise ValueError(
            f"{table} has more than one column named {', '.join(map(repr, twice))}. "
            "Hint: give every column a name of its own."
        )


def _records(stream: Iterable[str], layout: Layout) -> Iterator[list[str]]:
    """The records of a text file; a blank line is an empty one."""
    lines = iter(stream)
    for _ in range(layout.skip_rows):
        next(lines, None)
    if layout.separator == "whitespace":
        return map(str.split, lines)
    return csv.reader(lines, delimiter=layout.separator or ",", strict=True)


def _header(records: Iterator[list[str]], name: str) -> list[str]:
    names = [text.strip() for text in next(filter(None, records), [])]
    if not names:
        raise ValueError(f"{name} is empty: it has not even a line of column names.")
    no_duplicates(names, name)
    return names


def _checked(part: list[list[str]], width: int, row: int, name: str) -> list[list[str]]:
    """The records without blank lines; every one must have as many fields as there are names."""
    if set(map(len, part)) == {width}:
        return part
    part = [record for record in part if record]
    for at, record in enumerate(part, row + 1):
        if len(record) != width:
            raise ValueError(
                f"{name}, row {at}: {len(record)} fields where {width} are expected. Hint: the "
                "file may be cut short, or have another separator ([read] separator in the schema)."
            )
    return part


@contextmanager
def _explained(name: str, layout: Layout) -> Iterator[None]:
    """Say what is wrong with a file that cannot be decoded, unpacked or split into fields."""
    try:
        yield
    except UnicodeError as error:
        raise ValueError(
            f"{name} is not {layout.encoding} text: {error}. "
            'Hint: name its encoding in the schema, [read] encoding = "latin-1".'
        ) from None
    except csv.Error as error:
        raise ValueError(f"{name} cannot be split into fields: {error}.") from None
    except (EOFError, OSError, zlib.error) as error:
        raise ValueError(f"{name} is damaged or cut short: {error}.") from None
