"""Tables of the user as pandas frames with typed columns."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from treebound._utils.extras import require
from treebound.data.columns import landscape_of
from treebound.data.files import RawTable, read_raw
from treebound.data.raw import RawColumn
from treebound.data.schema import Schema
from treebound.data.targets import Labels
from treebound.landscape import Landscape

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table, its target and its schema.

    Attributes
    ----------
    name, title : str
        The name for :func:`load`, and the title to print.
    frame : pandas.DataFrame
        One column per feature: float64, or a CategoricalDtype with the declared categories.
    target : pandas.Series or None
        The labels.
    schema : Schema
        Kinds and categories of the columns.
    source : str
        Source of the data.
    notes : str
        Remarks.
    """

    name: str
    title: str
    frame: pd.DataFrame
    target: pd.Series | None
    schema: Schema
    source: str = ""
    notes: str = ""

    @property
    def landscape(self) -> Landscape:
        """The landscape of the columns, missing values included."""
        missing = self.frame.isna().any()
        columns = [c.with_missing(bool(missing[c.name])) for c in self.schema.columns]
        return landscape_of(columns)

    @property
    def n_examples(self) -> int:
        """Number of rows."""
        return len(self.frame)

    @property
    def classes(self) -> list[Any]:
        """The labels that occur, sorted."""
        if self.target is None:
            return []
        labels = self.target.unique().tolist()
        try:
            return sorted(labels)
        except TypeError:  # labels of several types
            return sorted(labels, key=str)

    @property
    def class_counts(self) -> dict[Any, int]:
        """Number of rows of each class."""
        if self.target is None:
            return {}
        counts = self.target.value_counts()
        return {label: int(counts[label]) for label in self.classes}

    def __repr__(self) -> str:
        scape = self.schema.columns
        kinds = [sum(c.kind == kind for c in scape) for kind in ("real", "ordinal", "nominal")]
        return (
            f"<Dataset {self.name!r}: {self.n_examples} examples, {len(scape)} features "
            f"({kinds[0]} real, {kinds[1]} ordinal, {kinds[2]} nominal), "
            f"{len(self.classes)} classes, from {self.source or 'memory'}>"
        )


def read_table(
    table: Any,
    schema: Schema | str | os.PathLike[str] | None = None,
    *,
    target: str | None = None,
) -> Dataset:
    """Read a table with typed columns.

    Parameters
    ----------
    table : path-like, list of path-like, "-" or data frame
        A CSV (also gzipped), Parquet or Arrow file, a folder of such, several files, ``"-"`` for
        a file on standard input, or a pandas, polars or pyarrow table.
    schema : Schema or path-like, optional
        Kinds and categories of the columns, or a TOML file with them (see :class:`Schema`).
        Of other columns numbers are real, booleans and text nominal, categorical dtypes ordinal
        if ordered, else nominal; dates, lists and the like are ignored.
    target : str, optional
        The column to predict; overrides that of the schema.

    Returns
    -------
    Dataset
        Its ``schema`` has every column; print it to see the inferred kinds, and write it for
        editing with ``to_toml``.

    Examples
    --------
    >>> import pandas as pd
    >>> from treebound.study.datasets import read_table
    >>> frame = pd.DataFrame({"age": [31, 40], "colour": ["red", "blue"], "label": ["no", "yes"]})
    >>> table = read_table(frame, target="label")
    >>> print(table.schema)
    column  kind     categories
    age     real
    colour  nominal  blue, red (found in the data)
    label   target   (found in the data)
    >>> table.target.tolist()
    ['no', 'yes']
    """
    read = read_raw(table, schema, target=target)
    name, frame, target_series = read.name, frame_of(read), label_series(read.labels())
    return Dataset(Path(name).stem, name, frame, target_series, read.schema, source=name)


def frame_of(read: RawTable) -> pd.DataFrame:
    """The typed columns as a pandas frame."""
    pandas = require("pandas", extra="study", why="Reading tables")
    typed = {name: typed_series(raw, name) for name, raw in read.columns().items()}
    return pandas.DataFrame(typed, index=pandas.RangeIndex(len(read)))


def typed_series(raw: RawColumn, name: str) -> pd.Series:
    """A column as a series: float64, categories if declared, else plain values."""
    pandas = require("pandas", extra="study", why="Reading tables")
    if raw.categories is None:
        return pandas.Series(raw.floats(), name=name)
    if raw.declared:
        dtype = pandas.CategoricalDtype(list(raw.categories), ordered=raw.ordered)
        return pandas.Series(pandas.Categorical.from_codes(raw.values, dtype=dtype), name=name)
    values = np.array([*raw.categories, None], dtype=object)[raw.values]
    text = all(isinstance(category, str) for category in raw.categories)
    # the dtype of text: "str" since pandas 3, else object
    return pandas.Series(values, name=name, dtype=pandas.Series(["a"]).dtype if text else object)


def label_series(labels: Labels | None) -> pd.Series | None:
    """The target as a series."""
    if labels is None:
        return None
    pandas = require("pandas", extra="study", why="Reading tables")
    each = pandas.Series(labels.distinct.tolist(), name=labels.name)
    return each.take(labels.codes).reset_index(drop=True)
