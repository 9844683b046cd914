"""Files that Arrow reads (Parquet, Arrow, pyarrow datasets), batch by batch."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow import csv
from pyarrow.parquet import ParquetFile

from treebound.data import streams
from treebound.data.formats import FileStates, same_columns
from treebound.data.raw import spread
from treebound.data.streams import Batches, TypesChanged
from treebound.data.text import sliced

# Row groups that values are taken from to choose bins, and values of each.
_PIECES, _PIECE_ROWS = 16, 4096
_CSV_ERROR = re.compile(r"In CSV column #(\d+): .*conversion error to ", re.DOTALL)


class Fragments:
    """pyarrow fragments by file, read with one type for each column in all of them."""

    def __init__(self, of_file: Mapping[str, Sequence[Any]], schema: pa.Schema) -> None:
        self.of_file, self.schema = of_file, schema
        self.each = [piece for pieces in of_file.values() for piece in pieces]
        self._in_parquet = all(
            isinstance(fragment, ds.ParquetFileFragment) for fragment in self.each
        )

    def tables(
        self, file: str, columns: Sequence[str] | None, rows: int | None
    ) -> Iterator[pa.Table]:
        """The rows of a file; columns that it lacks are empty."""
        for piece in self.of_file[file]:
            yield from _scanned(piece, rows, schema=self.schema, columns=columns)

    def n_rows(self) -> int | None:
        """The number of rows, if the files store it; None otherwise."""
        return (
            sum(fragment.metadata.num_rows for fragment in self.each) if self._in_parquet else None
        )

    def number_columns(self) -> list[str]:
        """Columns inside Parquet files that are floats or integers by their type."""
        if not self._in_parquet or not self.each:
            return []
        inside = {*self.each[0].physical_schema.names}
        types = zip(self.schema.names, self.schema.types, strict=True)
        return [name for name, kind in types if _is_plain_number(kind) and name in inside]

    def some_rows(self, columns: list[str]) -> Iterator[pa.Table]:
        """The first rows of some row groups of Parquet files."""
        groups = [group for piece in self.each for group in piece.split_by_row_group()]
        target = pa.schema([self.schema.field(name) for name in columns])
        for piece in (groups[at] for at in spread(len(groups), _PIECES).tolist()):
            # a scanner would decode the row group to its end
            with piece.open() as stream, ParquetFile(stream, pre_buffer=False) as file:
                group_ids = [group.id for group in piece.row_groups]
                rows = next(
                    file.iter_batches(_PIECE_ROWS, row_groups=group_ids, columns=columns), None
                )
            if rows is not None:  # a file without rows has no row group
                yield pa.Table.from_batches([rows]).select(columns).cast(target, safe=False)


def _scanned(source: Any, rows: int | None, **options: Any) -> Iterator[pa.Table]:
    """The rows of a fragment or a dataset, in tables of at most so many."""
    scanner = source.scanner(
        batch_size=rows or 1 << 20,
        batch_readahead=1,
        fragment_readahead=1,
        fragment_scan_options=_scan_options(getattr(source, "format", None)),
        **options,
    )
    for number, batch in enumerate(scanner.to_batches(), 1):
        yield pa.Table.from_batches([batch])
        if number % 16 == 0:
            pa.default_memory_pool().release_unused()
    pa.default_memory_pool().release_unused()


def _scan_options(form: Any) -> Any:
    """The options of scanning files, if they differ from those of the dataset."""
    if isinstance(form, ds.ParquetFileFormat):  # without buffering whole row groups
        return ds.ParquetFragmentScanOptions(pre_buffer=False)
    if isinstance(form, ds.CsvFileFormat):
        options, plain = form.default_fragment_scan_options, csv.ConvertOptions()
        if options is None or options.convert_options.equals(plain):
            empty_is_missing = csv.ConvertOptions(strings_can_be_null=True)
            return ds.CsvFragmentScanOptions(convert_options=empty_is_missing)
    return None


class DatasetBatches(Batches):
    """A ``pyarrow.dataset.Dataset``."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        try:
            fragments = list(dataset.get_fragments())
        except ValueError:  # a filtered dataset does not list its files
            fragments = []
        files = {
            fragment.path: fragment for fragment in fragments if getattr(fragment, "path", None)
        }
        schema = _common_types(dataset, files) if files else dataset.schema
        self._fragments = Fragments({"": fragments}, schema)
        self._states = FileStates(
            lambda: {name: _state(fragment) for name, fragment in files.items()}
        )

    @property
    def names(self) -> list[str]:
        """The names of its columns."""
        return list(self._dataset.schema.names)

    def read(self, columns: list[str] | None = None) -> Iterator[Any]:
        """pyarrow tables; small batches are merged."""
        with self._states.unchanged():
            try:
                yield from sliced(self._tables(columns, streams.BATCH_ROWS), streams.BATCH_ROWS)
            except pa.ArrowException as error:
                self._widen(error)

    def _tables(self, columns: list[str] | None, rows: int) -> Iterator[pa.Table]:
        if self._fragments.each:
            return self._fragments.tables("", columns, rows)
        return _scanned(self._dataset, rows, columns=columns)

    def _widen(self, error: Exception) -> None:
        """Widen the type of a column of CSV files that a later row does not fit."""
        match = _CSV_ERROR.search(str(error))
        schema, pieces = self._fragments.schema, self._fragments.each
        if match and pieces:
            name = pieces[0].physical_schema.names[int(match[1])]
            at = schema.get_field_index(name)
            if at >= 0 and not pa.types.is_string(schema.field(at).type):
                whole = pa.types.is_integer(schema.field(at).type)
                wider = schema.field(at).with_type(pa.float64() if whole else pa.string())
                self._fragments = Fragments({"": pieces}, schema.set(at, wider))
                raise TypesChanged
        raise ValueError(f"Cannot read the dataset: {error}") from None

    def plain_numbers(self) -> list[str]:
        """Columns of Parquet files that are floats or integers."""
        return self._fragments.number_columns()

    def some_rows(self, columns: list[str]) -> Iterator[Any]:
        """The first rows of some row groups."""
        with self._states.unchanged():
            yield from self._fragments.some_rows(columns)


def _state(fragment: Any) -> tuple[Any, ...]:
    """Size and time of a file."""
    info = fragment.filesystem.get_file_info(fragment.path)
    return info.size, info.mtime_ns


def _common_types(dataset: Any, files: Mapping[str, Any]) -> pa.Schema:
    """Types that hold for all files of a dataset, unless the user chose its columns."""
    schema, first = dataset.schema, next(iter(files.values()))
    keys = ds.get_partition_keys(first.partition_expression)
    inside = {*schema.names} - {*keys}
    if inside != {*first.physical_schema.names} - {*keys}:  # not those of the first file
        return schema
    common = common_schema(
        {path: fragment.physical_schema for path, fragment in files.items()}, keys
    )
    return pa.schema(
        [common.field(field.name) if field.name in inside else field for field in schema]
    )


# -- one type for each column ------------------------------------------------------------------


def common_schema(schemas: Mapping[str, pa.Schema], ignored: Collection[str]) -> pa.Schema:
    """The columns of the first file with types that hold for all; ignored ones do not matter."""
    names = next(iter(schemas.values())).names
    for file, columns in schemas.items():
        same_columns(file, columns.names, names, ignored)
    types = {
        file: dict(zip(columns.names, columns.types, strict=True))
        for file, columns in schemas.items()
    }
    of_files = (
        {file: columns[name] for file, columns in types.items() if name in columns}
        for name in names
    )
    return pa.schema(
        [(name, _common(name, kinds)) for name, kinds in zip(names, of_files, strict=True)]
    )


def _common(name: str, kinds: Mapping[str, pa.DataType]) -> pa.DataType:
    """The type of a column in all files: whole numbers then fractions, nothing then anything."""
    types = pa.types
    kinds = {file: kind for file, kind in kinds.items() if not types.is_null(kind)}
    if len(set(kinds.values())) <= 1:
        return next(iter(kinds.values()), pa.null())
    plain = [kind.value_type if types.is_dictionary(kind) else kind for kind in kinds.values()]
    if all(types.is_signed_integer(kind) for kind in plain):
        return pa.int64()
    families = list(map(_family, plain))
    if families[0] is not None and len(set(families)) == 1:
        return families[0]
    other = next((at for at, family in enumerate(families) if family != families[0]), 1)
    (first, kind), (second, other_kind) = (list(kinds.items())[at] for at in (0, other))
    raise ValueError(
        f"Column {name!r} must be of one type in every file. It is {kind} in {first} and "
        f"{other_kind} in {second}. Hint: write one of them again."
    )


def _family(kind: pa.DataType) -> pa.DataType | None:
    """The common type of numbers, or of texts; None for other types."""
    if _is_plain_number(kind) or pa.types.is_decimal(kind):
        return pa.float64()
    text = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return pa.string() if any(is_text(kind) for is_text in text) else None


def _is_plain_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))
