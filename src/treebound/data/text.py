"""Text files: bytes in, columns of texts out, whole or in chunks.

The bytes are split into blocks of whole records. Arrow reads well-quoted blocks; from the first
other block on, Python's csv module reads the file and reports errors.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv_reader

from treebound._utils.validation import Setting, WordedError
from treebound.data.raw import no_duplicates
from treebound.data.schema import SEPARATOR, Layout, Schema

_BLOCK = 1 << 24
# In bytes; longer lines are an error, so that they are not held in memory.
LONGEST_LINE = 1 << 26
_FIELD = 131_072  # characters, the limit of Python's csv module
_BATCH = 50_000
_FIRST_LINE = 1 << 16  # bytes, which have the separator
_QUOTED = re.compile('"[^"]*"')
_ENDS = b"\r\n"
_QUOTE = 34
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def text_tables(file: IO[bytes], schema: Schema, rows: int | None, name: str) -> Iterator[pa.Table]:
    """The rows of a text file as tables of texts, ``rows`` at a time (None: all); at least one."""
    with _explained(name, schema.layout):
        reader = _Reader(file, schema.layout, name)
        names = reader.header() if schema.layout.header else list(schema.order)
        some = False
        for table in sliced(reader.tables(len(names)), rows):
            some = True
            yield table.rename_columns(names)
        if not some:
            yield _no_texts(len(names)).rename_columns(names)


def _no_texts(width: int) -> pa.Table:
    return pa.table({f"f{at}": pa.array([], pa.string()) for at in range(width)})


def arrow_buffer(data: bytes) -> pa.Buffer:
    """A copy in memory of Arrow's: one of its threads may let go of it last.

    Memory of Python's would then abort the process if the interpreter has ended.
    """
    stream = pa.BufferOutputStream()
    stream.write(data)
    return stream.getvalue()


def sliced(tables: Iterator[Any], rows: int | None) -> Iterator[Any]:
    """The rows in tables of ``rows`` rows each (the last may have fewer); None: in one table."""
    waiting: list[Any] = []
    count = 0
    for table in tables:
        waiting.append(table)
        count += table.num_rows
        if rows is not None and count >= rows:
            whole = pa.concat_tables(waiting)
            full = count - count % rows
            for start in range(0, full, rows):
                yield whole.slice(start, rows)
            waiting, count = [whole.slice(full)], count - full
    if count:
        yield pa.concat_tables(waiting)


class _Reader:
    """Reads the records of a text file once."""

    def __init__(self, file: IO[bytes], layout: Layout, name: str) -> None:
        self._name = name
        self._read = _utf8(file, layout)
        self._held = b""
        self._ended = False
        self._rows = 0
        self._separator = separator = layout.separator or self._likely_separator()
        self._plain = len(separator) == 1 and separator.isascii() and separator not in '"\r\n'

    def _likely_separator(self) -> str:
        """The separator by the first line that is not blank: a comma, if it has one."""
        self._held = self._read(_FIRST_LINE)
        start = _QUOTED.sub("", self._held.decode("utf-8", "replace")).lstrip("\r\n")
        line = (start.splitlines() or [""])[0]
        return next((separator for separator in (",", ";", "\t", "|") if separator in line), ",")

    # -- bytes -------------------------------------------------------------------------------

    def _too_long(self) -> ValueError:
        return ValueError(
            f"{self._name}, row {self._rows + 1:,}: a line of more than {LONGEST_LINE >> 20} MB. "
            "Hint: is this a text file, with a line for each row?"
        )

    def _block(self) -> bytes:
        """The next bytes, up to the end of a record; empty at the end of the file."""
        size = _BLOCK
        while True:
            while len(self._held) < size and not self._ended:
                more = self._read(size - len(self._held))
                self._ended = not more
                self._held += more
            cut = len(self._held) if self._ended else _last_end(self._held)
            if cut or self._ended:
                block, self._held = self._held[:cut], self._held[cut:]
                return block
            if size >= LONGEST_LINE:
                raise self._too_long()
            size *= 2

    # -- records -----------------------------------------------------------------------------

    def header(self) -> list[str]:
        """The column names, from the first line that is not blank."""
        lines = iter(self._block().splitlines(keepends=True))
        records = self._records(map(bytes.decode, lines))
        names = [text.strip() for text in next(filter(None, records), [])]
        if not names:
            raise ValueError(f"{self._name} is empty: there is no line of column names.")
        no_duplicates(names, self._name)
        self._held = b"".join(lines) + self._held  # those that were not needed
        return names

    def tables(self, width: int) -> Iterator[Any]:
        """Arrow tables of texts, one column per name."""
        while block := self._block():
            table = self._by_arrow(block, width)
            if table is None:
                yield from self._by_python(block, width)
                return
            self._rows += table.num_rows
            if table.num_rows:
                yield table

    def _by_arrow(self, block: bytes, width: int) -> Any | None:
        """The records of a block; None if Python's reader must read it."""
        if not self._plain or not _well_quoted(block, self._separator):
            return None
        if not block.strip(_ENDS):
            return _no_texts(width)
        try:
            table = csv_reader.read_csv(
                arrow_buffer(block if block[-1:] in (b"\n", b"\r") else block + b"\n"),
                read_options=csv_reader.ReadOptions(
                    autogenerate_column_names=True, block_size=len(block) + 2
                ),
                parse_options=csv_reader.ParseOptions(
                    delimiter=self._separator, newlines_in_values=True
                ),
                convert_options=csv_reader.ConvertOptions(
                    column_types={f"f{at}": pa.string() for at in range(width)},
                    null_values=[],
                    strings_can_be_null=False,
                ),
            )
        except pa.ArrowInvalid:
            return None
        if table.num_columns != width:
            return None
        longest = [pc.max(pc.binary_length(column)).as_py() for column in table.columns]
        return table if max(longest) <= _FIELD else None

    def _by_python(self, block: bytes, width: int) -> Iterator[Any]:
        rest = iter(lambda: self._read(_BLOCK), b"")
        records = self._records(self._lines(chain([block, self._held], rest)))
        while part := list(islice(records, _BATCH)):
            part = _checked(part, width, self._rows, self._name)
            self._rows += len(part)
            if part:
                columns = zip(*part, strict=True)
                yield pa.table({f"f{at}": pa.array(c) for at, c in enumerate(columns)})

    def _lines(self, pieces: Iterable[bytes]) -> Iterator[str]:
        """Lines with their ends."""
        rest = b""
        for piece in pieces:
            # the last line may go on in the next piece
            *lines, rest = (rest + piece).splitlines(keepends=True) or [b""]
            if max(map(len, [*lines, rest])) > LONGEST_LINE:
                raise self._too_long()
            yield from map(bytes.decode, lines)
        if rest:
            yield rest.decode()

    def _records(self, lines: Iterator[str]) -> Iterator[list[str]]:
        """The records of some lines; a blank line is an empty record."""
        if self._separator == "whitespace":
            return map(str.split, lines)
        return csv.reader(lines, delimiter=self._separator, strict=True)


def _utf8(file: IO[bytes], layout: Layout) -> Callable[[int], bytes]:
    """A function that reads about ``size`` bytes as UTF-8, without a byte order mark."""
    encoding = codecs.lookup(layout.encoding).name
    stream: Any = file if hasattr(file, "peek") else io.BufferedReader(file)
    if encoding == "utf-8-sig" and stream.peek(2).startswith(_UTF16):
        encoding = "utf-16"
    elif encoding == "utf-8-sig":
        encoding = "utf-8"
        if stream.peek(3).startswith(codecs.BOM_UTF8):
            stream.read(3)
    if encoding == "utf-8" and not layout.skip_rows:
        return stream.read  # type: ignore[no-any-return]
    text = io.TextIOWrapper(stream, encoding=encoding, newline="")
    for _ in range(layout.skip_rows):
        if not text.readline(LONGEST_LINE):
            break
    return lambda size: text.read(size).encode()


def _last_end(chunk: bytes) -> int:
    """End of the last whole record, after a line end outside quotes; 0 if there is none."""
    data = np.frombuffer(chunk, dtype=np.uint8)
    quotes = np.flatnonzero(data == _QUOTE)
    for end in (b"\n", b"\r"):
        stop = len(chunk) - (end == b"\r")  # a line feed may follow the last carriage return
        while (at := chunk.rfind(end, 0, stop)) >= 0:
            inside = int(np.searchsorted(quotes, at)) % 2
            if not inside:
                return at + 1
            stop = int(quotes[np.searchsorted(quotes, at) - 1])  # before the opening quote
    return 0


def _well_quoted(block: bytes, separator: str) -> bool:
    """Return True if quotes open only at the start of a field and close only at its end."""
    data = np.frombuffer(block, dtype=np.uint8)
    quotes = np.flatnonzero(data == _QUOTE)
    if len(quotes) % 2:
        return False
    allowed = np.zeros(256, dtype=bool)
    allowed[list(separator.encode() + _ENDS + b'"')] = True
    opening, closing = quotes[::2], quotes[1::2]
    before = data[np.maximum(opening - 1, 0)]
    after = data[np.minimum(closing + 1, len(data) - 1)]
    opened = allowed[before] | (opening == 0)
    closed = allowed[after] | (closing == len(data) - 1)
    return bool(opened.all() and closed.all())


def _checked(part: list[list[str]], width: int, row: int, name: str) -> list[list[str]]:
    """The records without blank lines; each must have as many fields as there are names."""
    if set(map(len, part)) == {width}:
        return part
    part = [record for record in part if record]
    for at, record in enumerate(part, row + 1):
        if len(record) != width:
            raise WordedError(
                f"{name}, row {at:,}: {len(record):,} fields where {width:,} are expected. Hint: "
                "the file may be truncated, have a line break in a text without quotes, or another "
                "separator (",
                SEPARATOR,
                ").",
            )
    return part


@contextmanager
def _explained(name: str, layout: Layout) -> Iterator[None]:
    """Explain the errors of files that cannot be decoded, unpacked or split into fields."""
    try:
        yield
    except UnicodeError as error:
        raise WordedError(
            f"{name} is not {layout.encoding.removesuffix('-sig')} text: {error}. Hint: name its "
            "encoding with ",
            Setting("encoding", "latin-1", '[read] encoding = "latin-1" in the schema'),
            ".",
        ) from None
    except csv.Error as error:
        raise ValueError(f"{name} cannot be split into fields: {error}.") from None
    except (EOFError, OSError, zlib.error) as error:
        raise ValueError(f"{name} is damaged or cut short: {error}.") from None
