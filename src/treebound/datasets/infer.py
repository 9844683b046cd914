"""Inferring the kinds of the columns of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from treebound.data.columns import Column
from treebound.datasets.convert import is_missing, pandas
from treebound.datasets.schema import Schema
from treebound.datasets.text_column import TextColumn

__all__ = ["infer_column"]


def infer_column(name: str, values: Sequence[Any], schema: Schema) -> Column | None:
    """Infer a column from its values; None if a tree cannot use it.

    Parameters
    ----------
    name : str
    values : sequence
        The values of a frame's column, or the texts of a file, if not all are numbers.
    schema : Schema
        For the missing markers.
    """
    if isinstance(values, TextColumn):
        return _from_objects(name, values.distinct, frozenset(schema.missing))
    dtype = getattr(values, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "fiu":
        return Column(name)
    pd = pandas()
    if isinstance(dtype, pd.CategoricalDtype):
        kind = "ordinal" if dtype.ordered else "nominal"
        return Column(name, kind, tuple(dtype.categories.tolist()), declared=True)  # type: ignore[arg-type]
    if dtype is not None and pd.api.types.is_bool_dtype(dtype):
        return Column(name, "nominal", (False, True), declared=True)
    if dtype is not None and pd.api.types.is_numeric_dtype(dtype):
        return None if pd.api.types.is_complex_dtype(dtype) else Column(name)
    return _from_objects(name, values, frozenset(schema.missing))


def _from_objects(name: str, values: Sequence[Any], markers: frozenset[str]) -> Column | None:
    try:
        found = {value for value in values if not is_missing(value, markers)}
    except (TypeError, ValueError):  # lists, arrays and other unhashable values
        return None
    if all(isinstance(value, str) for value in found):
        return Column(name, "nominal", tuple(sorted(found)))
    if all(isinstance(value, bool | np.bool_) for value in found):
        return Column(name, "nominal", (False, True), declared=True)
    if all(isinstance(value, int | float | np.integer | np.floating) for value in found):
        return Column(name)
    return None
