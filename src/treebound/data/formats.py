"""Files of a table: what they are, what types they have together, and their rows.

Text files (also gzipped), Parquet, and Arrow (also called Feather); folders of such, with the keys
in the names of their folders (``year=2024``) as columns.
"""

from __future__ import annotations

import gzip
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote

import pyarrow as pa

from treebound.data.schema import Schema
from treebound.data.text import no_duplicates, sliced, text_tables

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
    "excel": "is an Excel workbook or a zip archive. Hint: save the sheet as CSV",
    "feather": "is a Feather file of version 1. Hint: write it again, as Arrow or Parquet",
    "bzip2": "is compressed with bzip2. Hint: unpack it, or compress it with gzip",
    "zstd": "is compressed with zstd. Hint: unpack it, or compress it with gzip",
    "xz": "is compressed with xz. Hint: unpack it, or compress it with gzip",
}
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
        """What errors call the file."""
        return "standard input" if self.path is None else str(self.path)

    @property
    def is_text(self) -> bool:
        """Whether all its values are texts."""
        return self.kind == "text"

    @contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        """The bytes of the file, unpacked."""
        with ExitStack() as stack:
            if self.path is None:
                stream = self.pipe
                if self.kind != "text":
                    stream.seek(0)
            else:
                stream = stack.enter_context(open(self.path, "rb"))
            if self.kind == "text" and _peek(stream)[:2] == b"\x1f\x8b":
                stream = stack.enter_context(gzip.GzipFile(fileobj=stream))
            yield stream


def files_of(paths: Sequence[str | os.PathLike[str]]) -> list[TableFile]:
    """The files that some paths name; folders stand for the files in them."""
    files: list[TableFile] = []
    for path in map(Path, paths):
        if str(path) == "-":
            files.append(_piped())
        elif path.is_dir():
            inside = sorted(file for file in path.rglob("*") if _is_table(file))
            files += [_file(file, _keys(file.relative_to(path))) for file in inside]
        else:
            files.append(_file(path, {}))
    kinds = {file.kind for file in files}
    if len(kinds) != 1:
        what = "no file" if not kinds else f"{' and '.join(sorted(kinds))} files together"
        raise ValueError(
            f"A table must be in files of one kind. Got {what} in {', '.join(map(str, paths[:5]))}."
        )
    return files


def _piped() -> TableFile:
    """Standard input; what is not text is kept in a file, as reading it needs seeking."""
    source: Any = sys.stdin.buffer
    pipe = source if hasattr(source, "peek") else io.BufferedReader(source)
    kind = _kind(_peek(pipe), "standard input")
    if kind != "text":
        held = tempfile.TemporaryFile()  # noqa: SIM115  # read more than once
        shutil.copyfileobj(pipe, held)
        pipe = held
    return TableFile(None, kind, pipe=pipe)


def _is_table(file: Path) -> bool:
    return file.is_file() and not file.name.startswith((".", "_"))


def _file(path: Path, keys: dict[str, str]) -> TableFile:
    try:
        with open(path, "rb") as stream:
            start = stream.read(8)
    except OSError as error:
        raise OSError(f"Cannot read {path}: {error.strerror or error}.") from None
    kind = _kind(start, str(path))
    if kind == "text":  # or nothing that is known
        kind = _SUFFIXES.get(path.suffix.lower(), kind)
    return TableFile(path, kind, keys)


def _kind(start: bytes, name: str) -> str:
    """What a file is, by its first bytes."""
    kind = next((kind for mark, kind in _STARTS.items() if start.startswith(mark)), "text")
    _refuse(kind, name)
    return kind


def _refuse(kind: str, name: str) -> None:
    if kind in _REFUSED:
        raise ValueError(f"{name} {_REFUSED[kind]}.")


def _keys(path: Path) -> dict[str, str]:
    pairs = [part.partition("=") for part in path.parts[:-1] if "=" in part]
    return {unquote(name): unquote(value) for name, _, value in pairs}


def _peek(stream: Any) -> bytes:
    if hasattr(stream, "peek"):
        return bytes(stream.peek(8)[:8])
    start: bytes = stream.read(8)
    stream.seek(0)
    return start


def size_in_memory(files: Sequence[TableFile], limit: float) -> float:
    """About how many bytes the unpacked files have; counted to ``limit`` only."""
    total = 0.0
    for file in files:
        if file.path is None:
            continue
        if file.kind == "parquet":
            with _opened(file) as opened:
                total += 8.0 * opened.metadata.num_rows * opened.metadata.num_columns
            continue
        with file.opened() as stream:
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


def file_lacks(
    path: str, names: Sequence[str], expected: Sequence[str], ignored: Collection[str]
) -> None:
    """Raise a ValueError if a file does not have the columns of the others."""
    own, common = set(names), set(expected)
    lacks = [name for name in expected if name not in own and name not in ignored]
    more = [name for name in names if name not in common and name not in ignored]
    if lacks or more:
        what = f"lacks {lacks[0]!r}" if lacks else f"has {more[0]!r} besides"
        raise ValueError(
            f"The files of a table must have the same columns. {path} {what}. "
            "Hint: leave the column out, or write the file again with the columns of the others."
        )


# -- rows --------------------------------------------------------------------------------------


class FileReader:
    """Reads the files of a table with the same columns and types."""

    def __init__(self, files: Sequence[TableFile], schema: Schema) -> None:
        self.files, self.schema = files, schema
        for file in files:
            _refuse(file.kind, file.name)
        self._names: list[str] = []
        self._types: dict[str, pa.DataType] = {}
        if not files[0].is_text:
            held: dict[str, list[tuple[TableFile, pa.DataType]]] = {}
            for file in files:
                with _opened(file) as opened:
                    own = opened.schema_arrow if file.kind == "parquet" else opened.schema
                self._check_names(file, own.names)
                for name, kind in zip(own.names, own.types, strict=True):
                    held.setdefault(name, []).append((file, kind))
            self._types = {name: _common(held[name], name) for name in self._names}
        keys = {name for file in files for name in file.keys}
        self._keys = {name: self._key_type(name) for name in sorted(keys)}
        self._states = FileStates(lambda: {file.name: _state(file) for file in files})

    def _key_type(self, name: str) -> pa.DataType:
        values = [file.keys.get(name, _NO_KEY) for file in self.files]
        whole = all(value.lstrip("-").isdigit() for value in values if value != _NO_KEY)
        return pa.int64() if whole and not self.files[0].is_text else pa.string()

    def _check_names(self, file: TableFile, names: Sequence[str]) -> None:
        """Every file must have the columns of the first; ignored ones do not matter."""
        no_duplicates(names, file.name)
        self._names = self._names or list(names)
        file_lacks(file.name, names, self._names, self.schema.ignored)

    def tables(
        self, rows: int | None, columns: Sequence[str] | None = None
    ) -> Iterator[tuple[TableFile, pa.Table]]:
        """Tables of ``rows`` rows (the last of a file may have fewer), each with its file."""
        with self._states.unchanged():
            for file in self.files:
                for table in self._tables_of(file, rows, columns):
                    yield file, self._with_keys(file, table)

    def _tables_of(
        self, file: TableFile, rows: int | None, columns: Sequence[str] | None
    ) -> Iterator[pa.Table]:
        if file.is_text:
            with file.opened() as stream:
                for table in text_tables(stream, self._layout(file), rows, file.name):
                    self._check_names(file, table.column_names)
                    yield _filled(table, self._names)
            return
        wanted = set(columns or self._names)
        if not wanted <= {*self._names, *self._keys}:  # an error should list all columns
            wanted = set(self._names)
        names = [name for name in self._names if name in wanted] or self._names[:1]
        target = self._schema(names)
        some = False
        try:
            for table in sliced(_tables(file, names, rows), rows):
                some = True
                yield _filled(table, names).cast(target, safe=False)
        except (OSError, pa.ArrowException) as error:
            raise ValueError(f"Cannot read {file.name}: {error}") from None
        if not some:
            yield target.empty_table()

    def _schema(self, names: Sequence[str]) -> pa.Schema:
        return pa.schema([(name, self._types[name]) for name in names])

    def _layout(self, file: TableFile) -> Schema:
        layout = self.schema.layout
        if layout.separator is None and file.path is not None and ".tsv" in file.path.suffixes:
            layout = replace(layout, separator="\t")
        return replace(self.schema, layout=layout)

    def _with_keys(self, file: TableFile, table: pa.Table) -> pa.Table:
        for name, kind in self._keys.items():
            if name not in table.column_names:
                value = file.keys.get(name, _NO_KEY)
                held = None if value == _NO_KEY else int(value) if kind == pa.int64() else value
                table = table.append_column(name, pa.repeat(pa.scalar(held, kind), len(table)))
        return table

    def n_rows(self) -> int | None:
        """The number of rows, where the files tell it without being read."""
        if self.files[0].kind != "parquet":
            return None
        return sum(int(metadata.num_rows) for _, metadata in self._metadata())

    def _metadata(self) -> Iterator[tuple[TableFile, Any]]:
        """What Parquet files tell of themselves."""
        for file in self.files:
            with _opened(file) as opened:
                yield file, opened.metadata

    def number_columns(self) -> set[str]:
        """Columns of Parquet files that are floats or integers by their type."""
        return numbers_of(self._schema(self._names)) if self.files[0].kind == "parquet" else set()

    def some_rows(self, columns: list[str], groups: int = 16, rows: int = 4096) -> Iterator[Any]:
        """The first rows of some row groups of Parquet files."""
        target = self._schema(columns)
        every = [(file, at) for file, own in self._metadata() for at in range(own.num_row_groups)]
        step = max(1, -(-len(every) // groups))
        for file, at in every[::step]:
            with _opened(file) as opened:
                batches = opened.iter_batches(batch_size=rows, row_groups=[at], columns=columns)
                table = pa.Table.from_batches([next(batches)])
            yield table.select(columns).cast(target, safe=False)

    def whole(self) -> pa.Table:
        """All rows in one table."""
        return pa.concat_tables([table for _, table in self.tables(None)])


def _filled(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """These columns, empty where a file lacks some that are ignored."""
    has = set(table.column_names)
    for name in names:
        if name not in has:
            table = table.append_column(name, pa.nulls(len(table), pa.string()))
    return table.select(names)


def _state(file: TableFile) -> Any:
    """Size and time of a file."""
    if file.path is None:
        return None
    state = file.path.stat()
    return state.st_size, state.st_mtime_ns


@contextmanager
def _opened(file: TableFile) -> Iterator[Any]:
    """A Parquet file, or an Arrow file or stream."""
    from pyarrow import parquet

    with file.opened() as stream:
        try:
            if file.kind == "parquet":
                # without whole row groups in memory beside what was decoded
                opened: Any = parquet.ParquetFile(stream, pre_buffer=False)
            elif _peek(stream).startswith(b"ARROW1"):
                opened = pa.ipc.open_file(stream)
            else:
                opened = pa.ipc.open_stream(stream)
        except (OSError, ValueError) as error:
            kind = "a Parquet" if file.kind == "parquet" else "an Arrow"
            raise ValueError(f"{file.name} is not {kind} file, or is damaged: {error}") from None
        with opened:
            yield opened


def _tables(file: TableFile, names: list[str], rows: int | None) -> Iterator[pa.Table]:
    """The rows of a file as it has them, in pieces."""
    with _opened(file) as opened:
        batches: Iterable[Any] = opened
        if file.kind == "parquet":
            size = rows or max(opened.metadata.num_rows, 1)
            batches = opened.iter_batches(batch_size=size, columns=names)
        elif hasattr(opened, "num_record_batches"):
            batches = map(opened.get_batch, range(opened.num_record_batches))
        for batch in batches:
            yield pa.Table.from_batches([batch])


def numbers_of(schema: pa.Schema) -> set[str]:
    """Columns that are floats or integers by their type."""
    types = pa.types
    return {own.name for own in schema if types.is_floating(own.type) or types.is_integer(own.type)}


def _common(held: Sequence[tuple[TableFile, pa.DataType]], name: str) -> pa.DataType:
    """The type of a column in all files: whole numbers then fractions, nothing then anything."""
    types = pa.types
    telling = [(file, kind) for file, kind in held if not types.is_null(kind)]
    kinds = [kind for _, kind in telling]
    if len(set(kinds)) <= 1:
        return kinds[0] if kinds else pa.null()
    plain = [kind.value_type if types.is_dictionary(kind) else kind for kind in kinds]
    if all(types.is_signed_integer(kind) for kind in plain):
        return pa.int64()
    if all(map(_is_number, plain)):
        return pa.float64()
    if all(map(_is_text, plain)):
        return pa.string()
    families = [(_is_number(kind), _is_text(kind)) for kind in plain]
    other = next((at for at, family in enumerate(families) if family != families[0]), 1)
    (first, kind), (second, other_kind) = telling[0], telling[other]
    raise ValueError(
        f"Column {name!r} must be of one type in every file. It is {kind} in {first.name} and "
        f"{other_kind} in {second.name}. Hint: write one of them again."
    )


def _is_number(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def _is_text(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))
