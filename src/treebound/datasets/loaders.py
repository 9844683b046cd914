"""Loading a data set of the registry: find the file, parse it, check it against the paper."""

from __future__ import annotations

import io
import os
from collections import Counter
from typing import Any

import pyarrow as pa

from treebound._extras import require
from treebound._validation import OneOf, check
from treebound.data.columns import KINDS
from treebound.data.raw import RawColumn, column_of
from treebound.data.schema import Schema
from treebound.data.text import text_tables
from treebound.data.typed import TextColumn, Values, labels_of, typed_column
from treebound.datasets.reading import Dataset, label_series, typed_series
from treebound.datasets.registry import DatasetInfo, Typing, info
from treebound.datasets.sources import DatasetError, file_bytes

_SOURCES = (None, "sklearn", "folder", "cache", "network")


def load(
    name: str,
    *,
    typing: Typing = "paper",
    data: str | os.PathLike[str] | None = None,
    accept: bool = False,
    source: str | None = None,
) -> Dataset:
    """Load one of the paper's data sets.

    Parameters
    ----------
    name : str
        One of :func:`list`.
    typing : {"paper", "declared"}
        The kinds of the columns as in the paper, or corrected: with the orderings that the
        authors' reader lost, missing values as missing, and without the column it kept by mistake.
    data : path-like, optional
        A folder with the files, ``<name>/<file>``; by default ``TREEBOUND_DATA``.
    accept : bool
        Accept a file with another checksum if that of UCI's own file was never recorded.
    source : {None, "sklearn", "folder", "cache", "network"}
        Where to look. None: scikit-learn's files if they equal UCI's (wine, breast cancer), then
        the folder, the cache and the network. ``load("iris", source="sklearn")`` gives
        scikit-learn's iris, which differs from UCI's in rows 35 and 38.

    Returns
    -------
    Dataset
        Rows in the order of the file.

    Raises
    ------
    DatasetError
        If the file is not found, cannot be fetched, or is not the expected one.

    Examples
    --------
    >>> from treebound import datasets
    >>> wine = datasets.load("wine")
    >>> wine.landscape, wine.class_counts
    (Landscape(real=13, ordinal=(), nominal=()), {1: 59, 2: 71, 3: 48})
    """
    entry = info(name)
    schema = entry.schema(typing)
    check("load", {"source": source}, {"source": OneOf(_SOURCES)})
    shipped_same = entry.shipped is not None and entry.shipped.same
    if source == "sklearn" or (source is None and shipped_same):
        raw, where = _shipped(entry), "scikit-learn"
    else:
        payload, where = file_bytes(entry, data=data, accept=accept, source=source)
        raw = _parsed(entry, payload, where)
    dataset = _typed(entry, schema, raw, where)
    _compare_with_paper(entry, dataset)
    return dataset


def _typed(entry: DatasetInfo, schema: Schema, raw: dict[str, Values], where: str) -> Dataset:
    pandas = require("pandas", extra="study", why="Reading tables")
    target = str(schema.target)
    try:
        frame = pandas.DataFrame(
            {
                c.name: typed_series(typed_column(raw[c.name], c, schema), c.name)
                for c in schema.columns
            }
        )
        labels = label_series(labels_of(raw[target], target, schema))
    except ValueError as error:
        raise DatasetError(f"{where}, of the data set {entry.name!r}: {error}") from None
    notes = entry.notes
    if where == "scikit-learn" and entry.shipped is not None and not entry.shipped.same:
        notes = f"From scikit-learn, which differs from UCI's file. {notes}"
    return Dataset(entry.name, entry.title, frame, labels, schema, where, notes)


def _parsed(entry: DatasetInfo, payload: bytes, where: str) -> dict[str, Values]:
    try:
        if entry.sheet is not None:
            return _sheet_columns(entry, payload)
        (table,) = text_tables(io.BytesIO(payload), entry.declared, None, where)
        return dict(zip(table.column_names, map(TextColumn, table.columns), strict=True))
    except ValueError as error:
        raise DatasetError(f"The data set {entry.name!r} cannot be read: {error}") from None


def _sheet_columns(entry: DatasetInfo, payload: bytes) -> dict[str, Values]:
    """The columns of an Excel sheet, named by the registry."""
    xlrd = require("xlrd", extra="study", why=f"Reading {entry.file}")
    try:
        sheet = xlrd.open_workbook(file_contents=payload).sheet_by_name(entry.sheet)
    except Exception as error:  # xlrd raises many kinds of errors for a broken file
        raise ValueError(f"{entry.file} is not a readable workbook: {error}") from None
    start = entry.declared.layout.skip_rows
    end = min(start + (entry.rows or sheet.nrows), sheet.nrows)
    return {
        name: TextColumn(pa.chunked_array([list(map(str, sheet.col_values(at, start, end)))]))
        for at, name in enumerate(entry.declared.order)
    }


def _shipped(entry: DatasetInfo) -> dict[str, Values]:
    """The columns of scikit-learn's copy, with the registry's names."""
    if entry.shipped is None:
        raise DatasetError(
            f"scikit-learn does not ship the data set {entry.name!r}. Hint: leave out 'source'."
        )
    from sklearn import datasets as sklearn_datasets

    bunch = getattr(sklearn_datasets, entry.shipped.loader)()
    schema = entry.declared
    raw: dict[str, Values] = {
        name: RawColumn("number", values)
        for name, values in zip(schema.names, bunch.data.T, strict=True)
    }
    classes = [entry.shipped.classes[code] for code in bunch.target]
    raw[str(schema.target)] = column_of(classes, "The target")
    return raw


def _compare_with_paper(entry: DatasetInfo, dataset: Dataset) -> None:
    """Raise unless the table has the counts of the paper."""
    counts = entry.counts
    classes = dict(zip(entry.declared.classes or (), counts.classes, strict=True))
    facts: list[tuple[str, Any, Any]] = [
        ("examples", dataset.n_examples, counts.examples),
        ("class counts", dataset.class_counts, classes),
    ]
    if dataset.schema is entry.paper:
        kinds = Counter(column.kind for column in dataset.schema.columns)
        facts += [(f"{kind} features", kinds[kind], getattr(counts, kind)) for kind in KINDS]
    wrong = [f"{own} {what} instead of {paper}" for what, own, paper in facts if own != paper]
    if wrong:
        raise DatasetError(
            f"{dataset.source}: the data set {entry.name!r} is not as the paper states: "
            f"{'; '.join(wrong)}."
        )
