"""A typed table with its target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from treebound.data.columns import landscape_of
from treebound.data.schema import Schema
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
        Where the data came from.
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
