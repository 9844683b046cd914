"""Datasets of pyarrow, read batch by batch with one type for each column in all files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from treebound.data import streams
from treebound.data.formats import FileStates, file_lacks, numbers_of
from treebound.data.streams import Batches, TypesChanged

# Row groups that values are taken from to choose bins, and values of each.
_PIECES, _PIECE_ROWS = 16, 4096
_CSV_ERROR = re.compile(r"In CSV column #(\d+): .*conversion error to ", re.DOTALL)


class DatasetBatches(Batches):
    """A ``pyarrow.dataset.Dataset``."""

    def __init__(self, dataset: Any) -> None:
        try:
            self._fragments = list(dataset.get_fragments())
        except ValueError:  # a filtered dataset does not tell its files
            self._fragments = []
        self._dataset = _with_common_types(dataset, self._fragments)
        self._states = FileStates(self._files)

    def _files(self) -> dict[str, Any]:
        """The files, with their size and time."""
        held = [own for own in self._fragments if getattr(own, "filesystem", None) is not None]
        states = {own.path: own.filesystem.get_file_info(own.path) for own in held}
        return {path: (info.size, info.mtime_ns) for path, info in states.items()}

    @property
    def names(self) -> list[str]:
        """The names of its columns."""
        return list(self._dataset.schema.names)

    def read(self, columns: list[str] | None = None) -> Iterator[Any]:
        """Tables of pyarrow; small batches are put together."""
        import pyarrow

        waiting: list[Any] = []
        scanner = self._dataset.scanner(
            columns=columns,
            batch_size=streams.BATCH_ROWS,
            batch_readahead=1,
            fragment_readahead=1,
            fragment_scan_options=self._reading,
        )
        with self._states.unchanged():
            try:
                for number, batch in enumerate(scanner.to_batches()):
                    waiting.append(batch)
                    if sum(map(len, waiting)) >= streams.BATCH_ROWS // 2:
                        yield pyarrow.Table.from_batches(waiting)
                        waiting = []
                    if number % 16 == 15:
                        pyarrow.default_memory_pool().release_unused()
            except pyarrow.ArrowException as error:
                self._widen(error)
        if waiting:
            yield pyarrow.Table.from_batches(waiting)
        pyarrow.default_memory_pool().release_unused()

    def _widen(self, error: Exception) -> None:
        """Widen the type of a column of CSV files that a later row does not fit."""
        import pyarrow as pa

        match = _CSV_ERROR.search(str(error))
        schema = self._dataset.schema
        if match and self._fragments:
            name = self._fragments[0].physical_schema.names[int(match[1])]
            at = schema.get_field_index(name)
            if at >= 0 and not pa.types.is_string(schema.field(at).type):
                whole = pa.types.is_integer(schema.field(at).type)
                wider = schema.field(at).with_type(pa.float64() if whole else pa.string())
                self._dataset = _retyped(self._dataset, self._fragments, schema.set(at, wider))
                raise TypesChanged
        raise ValueError(f"Cannot read the dataset: {error}") from None

    @cached_property
    def _form(self) -> str:
        """What kind of files it has, by their usual ending."""
        return str(getattr(getattr(self._dataset, "format", None), "default_extname", ""))

    @cached_property
    def _reading(self) -> Any:
        """How files are scanned, where that is not as the dataset says."""
        from pyarrow import csv, dataset

        if self._form == "parquet":  # without whole row groups beside what was decoded
            return dataset.ParquetFragmentScanOptions(pre_buffer=False)
        if self._form == "csv":
            own = self._dataset.format.default_fragment_scan_options
            if own is None or own.convert_options.equals(csv.ConvertOptions()):
                empty_is_missing = csv.ConvertOptions(strings_can_be_null=True)
                return dataset.CsvFragmentScanOptions(convert_options=empty_is_missing)
        return None

    def plain_numbers(self) -> list[str]:
        """Columns of Parquet files that are floats or integers."""
        parquet = self._form == "parquet" and self._fragments
        numbers = numbers_of(self._dataset.schema) if parquet else ()
        return [name for name in self.names if name in numbers]

    def some_rows(self, columns: list[str]) -> Iterator[Any]:
        """The first rows of some row groups."""
        import pyarrow as pa
        from pyarrow.parquet import ParquetFile

        pieces = [piece for fragment in self._fragments for piece in fragment.split_by_row_group()]
        chosen = np.unique(np.linspace(0, len(pieces) - 1, min(_PIECES, len(pieces))).astype(int))
        target = pa.schema([self._dataset.schema.field(name) for name in columns])
        with self._states.unchanged():
            for piece in (pieces[at] for at in chosen.tolist()):
                # a scanner would decode the row group to its end
                with piece.open() as stream, ParquetFile(stream, pre_buffer=False) as file:
                    groups = [group.id for group in piece.row_groups]
                    inside = [name for name in columns if name in file.schema_arrow.names]
                    rows = next(file.iter_batches(_PIECE_ROWS, row_groups=groups, columns=inside))
                yield _with_keys(pa.Table.from_batches([rows]), piece, columns).cast(target)


def _with_keys(table: Any, piece: Any, columns: list[str]) -> Any:
    """The columns of a table, with the keys that its folder names."""
    import pyarrow as pa
    from pyarrow.dataset import get_partition_keys

    for name, value in get_partition_keys(piece.partition_expression).items():
        if name in columns and name not in table.column_names:
            table = table.append_column(name, pa.repeat(pa.scalar(value), len(table)))
    return table.select(columns)


def _with_common_types(dataset: Any, fragments: list[Any]) -> Any:
    """The dataset with types that hold for all its files, unless the user chose its columns."""
    import pyarrow as pa
    from pyarrow.dataset import get_partition_keys

    schema = dataset.schema
    files = [file for file in fragments if getattr(file, "path", None)]
    if not files or not hasattr(dataset, "filesystem"):
        return dataset
    keys = get_partition_keys(files[0].partition_expression)
    inside = [name for name in schema.names if name not in keys]
    if {*inside} != {*files[0].physical_schema.names} - {*keys}:  # not those of the first file
        return dataset
    for file in files:
        own = file.physical_schema
        file_lacks(file.path, own.names, inside, keys)
        try:
            schema = pa.unify_schemas([schema, own], promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise ValueError(
                f"The files of a table must have columns of one type. {file.path}: {error}. "
                "Hint: write it again with the types of the others."
            ) from None
    return dataset if schema.equals(dataset.schema) else _retyped(dataset, files, schema)


def _retyped(dataset: Any, fragments: list[Any], schema: Any) -> Any:
    """A dataset of the same files with other types."""
    from pyarrow.dataset import FileSystemDataset

    return FileSystemDataset(fragments, schema, dataset.format, dataset.filesystem)
