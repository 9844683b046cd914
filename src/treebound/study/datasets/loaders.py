"""Loading a data set of the registry: find the file, parse it, check it against the paper."""

from __future__ import annotations

import io
import os
from collections import Counter
from typing import Any

import pyarrow as pa

from treebound._utils.extras import require
from treebound.data.columns import KINDS
from treebound.data.files import RawTable
from treebound.data.text import text_tables
from treebound.study.datasets.reading import Dataset, frame_of, label_series
from treebound.study.datasets.registry import DatasetInfo, Shipped, Typing, info
from treebound.study.datasets.sources import DatasetError, file_bytes


def load(
    name: str,
    *,
    typing: Typing = "paper",
    data: str | os.PathLike[str] | None = None,
    accept: bool = False,
) -> Dataset:
    """Load one of the paper's data sets.

    It is taken from scikit-learn if its files equal UCI's (wine, breast cancer), else from the
    folder, the cache or the network.

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
    >>> from treebound.study import datasets
    >>> wine = datasets.load("wine")
    >>> wine.landscape, wine.class_counts
    (Landscape(real=13, ordinal=(), nominal=()), {1: 59, 2: 71, 3: 48})
    """
    entry = info(name)
    schema = entry.schema(typing)
    if entry.shipped is not None:
        table, where = _shipped(entry, entry.shipped), "scikit-learn"
    else:
        payload, path = file_bytes(entry, data=data, accept=accept)
        table, where = _read(entry, payload, str(path)), str(path)
    texts = entry.shipped is None
    raw = RawTable(f"{where}, of the data set {entry.name!r}", table, texts, schema)
    try:
        frame, labels = frame_of(raw), label_series(raw.labels())
    except ValueError as error:
        raise DatasetError(str(error)) from None
    dataset = Dataset(entry.name, entry.title, frame, labels, schema, where, entry.notes)
    _compare_with_paper(entry, dataset)
    return dataset


def _read(entry: DatasetInfo, payload: bytes, where: str) -> pa.Table:
    """The texts of a file, with the registry's names."""
    try:
        if entry.sheet is not None:
            return _sheet(entry, payload)
        return next(text_tables(io.BytesIO(payload), entry.declared, None, where))
    except ValueError as error:
        raise DatasetError(f"The data set {entry.name!r} cannot be read: {error}") from None


def _sheet(entry: DatasetInfo, payload: bytes) -> pa.Table:
    """The texts of an Excel sheet, with the registry's names."""
    xlrd = require("xlrd", extra="study", why=f"Reading {entry.file}")
    try:
        sheet = xlrd.open_workbook(file_contents=payload).sheet_by_name(entry.sheet)
    except Exception as error:  # xlrd raises many kinds of errors for a broken file
        raise ValueError(f"{entry.file} is not a readable workbook: {error}") from None
    start = entry.declared.layout.skip_rows
    end = min(start + (entry.rows or sheet.nrows), sheet.nrows)
    names = entry.declared.order
    texts = [list(map(str, sheet.col_values(at, start, end))) for at in range(len(names))]
    return pa.table(texts, names=list(names))


def _shipped(entry: DatasetInfo, shipped: Shipped) -> pa.Table:
    """scikit-learn's copy, with the registry's names."""
    from sklearn import datasets as sklearn_datasets

    bunch = getattr(sklearn_datasets, shipped.loader)()
    columns = dict(zip(entry.declared.names, bunch.data.T, strict=True))
    classes = [shipped.classes[code] for code in bunch.target]
    return pa.table({**columns, str(entry.declared.target): classes})


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
    wrong = [f"{here} {fact} instead of {paper}" for fact, here, paper in facts if here != paper]
    if wrong:
        raise DatasetError(
            f"{dataset.source}: the data set {entry.name!r} is not as the paper states: "
            f"{'; '.join(wrong)}."
        )
