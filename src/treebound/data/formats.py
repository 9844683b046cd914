"""Files of a table: what they are, what types they have together, and their rows.

Text files (also gzipped), Excel workbooks, Parquet, and Arrow (also called Feather); folders of
such, with the keys in the names of their folders (``year=2024``) as columns.
"""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa

from treebound._utils.validation import Phrase, WordedError
from treebound.data.raw import no_duplicates
from treebound.data.schema import Schema
from treebound.data.text import arrow_buffer, sliced, text_tables
from treebound.data.workbook import workbook_tables

if TYPE_CHECKING:
    from treebound.data.arrow_dataset import Fragments

_SUFFIXES = {
    ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow",
    ".ipc": "arrow", ".xlsx": "excel", ".xls": "excel", ".ods": "excel",
}  # fmt: skip
_STARTS = {
    b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow", b"FEA1": "feather",
    b"PK\x03\x04": "excel", b"\xd0\xcf\x11\xe0": "excel", b"BZh": "bzip2",
    b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zXZ": "xz",
}  # fmt: skip
_REFUSED = {
    "feather": "is a Feather file of version 1. Hint: write it again, as Arrow or Parquet",
    "bzip2": "is compressed with bzip2. Hint: unpack it, or compress it with gzip",
    "zstd": "is compressed with zstd. Hint: unpack it, or compress it with gzip",
    "xz": "is compressed with xz. Hint: unpack it, or compress it with gzip",
}
_START = 12  # bytes that show the format of a file
_NO_KEY = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class TableFile:
    """A file with rows of a table."""

    path: Path | None  # None for standard input
    kind: str
    keys: dict[str, str] = field(default_factory=dict)  # the keys that its folders name
    pipe: Any = None  # standard input

    @property
    def name(self) -> str:
        """The name of the file in errors."""
        return "standard input" if self.path is None else str(self.path)

    @property
    def is_text(self) -> bool:
        """True if all its values are texts."""
        return self.kind in ("text", "excel")

    @contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        """The bytes of a text file, unpacked."""
        with ExitStack() as stack:
            stream = stack.enter_context(open(self.path, "rb")) if self.path else self.pipe
            if stream.peek(2)[:2] == b"\x1f\x8b":
                stream = stack.enter_context(gzip.GzipFile(fileobj=stream))
            yield stream

    def fragments(self) -> tuple[pa.Schema, list[Any]]:
        """The types of a Parquet or Arrow file, and what Arrow reads it by."""
        import pyarrow.dataset as ds
        from pyarrow import fs

        is_parquet = self.kind == "parquet"
        location = self.pipe or str(self.path)
        try:
            if not is_parquet:
                stream = pa.memory_map(location) if self.path else pa.BufferReader(location)
                if stream.read(6) != b"ARROW1":  # a stream of Arrow
                    stream.seek(0)
                    rows = pa.ipc.open_stream(stream).read_all()
                    return rows.schema, list(ds.InMemoryDataset(rows).get_fragments())
            form = ds.ParquetFileFormat() if is_parquet else ds.IpcFileFormat()
            piece = form.make_fragment(location, fs.LocalFileSystem() if self.path else None)
            return piece.physical_schema, [piece]
        except (OSError, ValueError) as error:
            kind = "a Parquet" if is_parquet else "an Arrow"
            raise ValueError(f"{self.name} is not {kind} file, or is damaged: {error}") from None


def files_of(paths: Sequence[str | os.PathLike[str]]) -> list[TableFile]:
    """The files that some paths name; folders stand for the files in them."""
    files: list[TableFile] = []
    for path in map(Path, paths):
        if str(path) == "-":
            files.append(_piped())
        elif path.is_dir():
            inside = sorted(file for file in path.rglob("[!._]*") if file.is_file())
            files += [_file(file, _keys(file.relative_to(path))) for file in inside]
        else:
            files.append(_file(path, {}))
    kinds = {file.kind for file in files}
    if len(kinds) != 1:
        mixture = "no file" if not kinds else f"{' and '.join(sorted(kinds))} files together"
        raise ValueError(
            f"A table must be in files of one kind. Got {mixture} in "
            f"{', '.join(map(str, paths[:5]))}."
        )
    return files


def _piped() -> TableFile:
    """Standard input; what is not text is kept in memory, as it is read more than once."""
    source: Any = sys.stdin.buffer
    pipe = source if hasattr(source, "peek") else io.BufferedReader(source)
    kind = _kind(pipe.peek(_START)[:_START], "standard input")
    return TableFile(None, kind, pipe=pipe if kind == "text" else arrow_buffer(pipe.read()))


def _file(path: Path, keys: dict[str, str]) -> TableFile:
    try:
        with open(path, "rb") as stream:
            start = stream.read(_START)
    except OSError as error:
        raise OSError(f"Cannot read {path}: {error.strerror or error}.") from None
    return TableFile(path, _kind(start, str(path), path.suffix.lower()), keys)


def _kind(start: bytes, name: str, suffix: str = "") -> str:
    """The format of a file, by its first bytes, or else by its name."""
    other = _SUFFIXES.get(suffix, "text")
    kind = next((kind for mark, kind in _STARTS.items() if start.startswith(mark)), other)
    if start[8:] == b"DUCK":
        file = "FILE" if name == "standard input" else name.lstrip("/")
        raise WordedError(
            f"{name} is a DuckDB database. Hint: ",
            Phrase(
                "open it with duckdb.connect and give its table",
                f"name its table as 'duckdb:///{file}?table=NAME'",
            ),
            ", or export the table: COPY NAME TO 'NAME.parquet'.",
        )
    if kind in _REFUSED:
        raise ValueError(f"{name} {_REFUSED[kind]}.")
    return kind


def _keys(path: Path) -> dict[str, str]:
    pairs = [part.partition("=") for part in path.parts[:-1] if "=" in part]
    return {unquote(name): unquote(value) for name, _, value in pairs}


def size_in_memory(files: Sequence[TableFile], limit: float) -> float:
    """About how many bytes the unpacked files have; counted to ``limit`` only."""
    total = 0.0
    for file in files:
        if file.kind == "parquet":
            metadata = file.fragments()[1][0].metadata
            total += 8.0 * metadata.num_rows * metadata.num_columns
        elif file.path is not None:
            with file.opened() as stream, suppress(EOFError, OSError, zlib.error):
                # a damaged file is named when it is read
                if not isinstance(stream, gzip.GzipFile):
                    total += file.path.stat().st_size
                    continue
                while total < limit and (piece := stream.read(1 << 24)):
                    total += len(piece)
    return total


class FileStates:
    """Notices files that change between two readings."""

    def __init__(self, look: Callable[[], dict[str, Any]]) -> None:
        self._look, self._first = look, look()

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """A reading; a ValueError names a file that is not as it was."""
        self._check()
        try:
            yield
        except Exception:  # the change may be why
            self._check()
            raise
        self._check()

    def _check(self) -> None:
        for path, state in self._look().items():
            if state != self._first[path]:
                raise ValueError(
                    f"{path} changed while the table was read. Hint: read it again when nothing "
                    "writes to it."
                )


def same_columns(
    file: str, names: Sequence[str], expected: Sequence[str], ignored: Collection[str]
) -> None:
    """Raise a ValueError if a file does not have the columns of the others."""
    no_duplicates(names, file)
    present, common = set(names), set(expected)
    lacks = [name for name in expected if name not in present and name not in ignored]
    more = [name for name in names if name not in common and name not in ignored]
    if lacks or more:
        difference = f"lacks {lacks[0]!r}" if lacks else f"has {more[0]!r} besides"
        raise ValueError(
            f"The files of a table must have the same columns. {file} {difference}. "
            "Hint: leave the column out, or write the file again with the columns of the others."
        )


# -- rows --------------------------------------------------------------------------------------


class FileReader:
    """Reads the files of a table with the same columns and types."""

    def __init__(self, files: Sequence[TableFile], schema: Schema) -> None:
        self.files, self.schema = files, schema
        self._names: list[str] = []  # of the columns inside the files
        self.fragments: Fragments | None = None
        if not files[0].is_text:
            from treebound.data.arrow_dataset import Fragments, common_schema

            opened = {file.name: file.fragments() for file in files}
            types = common_schema(
                {name: types_ for name, (types_, _) in opened.items()}, schema.ignored
            )
            self.fragments = Fragments({name: each for name, (_, each) in opened.items()}, types)
            self._names = self.fragments.schema.names
        self._keys: dict[str, pa.DataType] = {}
        for name in sorted({name for file in files for name in file.keys}):
            values = [file.keys.get(name, _NO_KEY) for file in files]
            whole = all(value.lstrip("-").isdigit() for value in values if value != _NO_KEY)
            self._keys[name] = pa.int64() if whole and self.fragments else pa.string()
        self._states = FileStates(lambda: {file.name: _state(file) for file in files})

    def tables(
        self, rows: int | None, columns: Sequence[str] | None = None
    ) -> Iterator[tuple[TableFile, pa.Table]]:
        """Tables of ``rows`` rows (the last of a file may have fewer), each with its file."""
        with self._states.unchanged():
            for file in self.files:
                read = self._texts if self.fragments is None else partial(self._typed, columns)
                for table in read(file, rows):
                    yield file, self._with_keys(file, table)

    def _texts(self, file: TableFile, rows: int | None) -> Iterator[pa.Table]:
        layout = self.schema.layout
        if layout.separator is None and file.path is not None and ".tsv" in file.path.suffixes:
            layout = replace(layout, separator="\t")
        if file.path is None and file.kind == "text" and self._names:
            raise ValueError(
                "Text on standard input can be read once, and a table in batches is read twice. "
                "Hint: save it in a file, or read it whole."
            )
        with ExitStack() as stack:
            if file.kind == "excel":
                source = file.path or file.pipe.to_pybytes()
                tables = workbook_tables(source, self.schema, rows, file.name)
            else:
                stream = stack.enter_context(file.opened())
                described = replace(self.schema, layout=layout)
                tables = text_tables(stream, described, rows, file.name)
            for table in tables:
                self._names = self._names or table.column_names
                same_columns(file.name, table.column_names, self._names, self.schema.ignored)
                for name in {*self._names} - {*table.column_names}:
                    table = table.append_column(name, pa.nulls(len(table), pa.string()))
                yield table.select(self._names)

    def _typed(
        self, columns: Sequence[str] | None, file: TableFile, rows: int | None
    ) -> Iterator[pa.Table]:
        assert self.fragments is not None
        wanted = {*(columns or self._names)}
        if not wanted <= {*self._names, *self._keys}:  # an error should list all columns
            wanted = {*self._names}
        names = [name for name in self._names if name in wanted] or self._names[:1]
        some = False
        try:
            for table in sliced(self.fragments.tables(file.name, names, rows), rows):
                some = True
                yield table
        except (OSError, pa.ArrowException) as error:
            raise ValueError(f"Cannot read {file.name}: {error}") from None
        if not some:
            yield self.fragments.schema.empty_table().select(names)

    def _with_keys(self, file: TableFile, table: pa.Table) -> pa.Table:
        for name, kind in self._keys.items():
            if name not in table.column_names:
                value = file.keys.get(name, _NO_KEY)
                key = None if value == _NO_KEY else int(value) if kind == pa.int64() else value
                table = table.append_column(name, pa.repeat(pa.scalar(key, kind), len(table)))
        return table


def _state(file: TableFile) -> Any:
    """Size and time of a file."""
    if file.path is None:
        return None
    state = file.path.stat()
    return state.st_size, state.st_mtime_ns
