"""Dask collections as partitions of rows, labels and weights."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from treebound._validation import invalid
from treebound.dask.partitions import Partitions


def is_frame(X: Any) -> bool:
    """Whether X is a Dask DataFrame."""
    return _is_lazy(X) and hasattr(X, "map_partitions") and hasattr(X, "columns")


def is_array(X: Any) -> bool:
    """Whether X is a Dask Array."""
    return _is_lazy(X) and hasattr(X, "rechunk")


def _is_lazy(X: Any) -> bool:
    """Whether X is a Dask collection."""
    return hasattr(type(X), "dask")  # that of X itself would be made of all its tasks


def partitions(X: Any, y: Any, weight: Any) -> Partitions:
    """The partitions of a table, its labels and its weights, which may be names of columns."""
    if not (is_frame(X) or is_array(X)):
        raise invalid("X", "fit", "a Dask DataFrame or a Dask Array", type(X).__name__)
    for parameter, argument in (("y", y), ("sample_weight", weight)):
        if isinstance(argument, str) and not (is_frame(X) and argument in X.columns):
            must = f"one of the columns {list(getattr(X, 'columns', []))[:10]} or a Dask collection"
            raise invalid(parameter, "fit", must, argument)
        if not isinstance(argument, str) and argument is not None and not _is_lazy(argument):
            raise invalid(parameter, "fit", "a Dask collection", type(argument).__name__)
    joint = _joint(X, y, weight)
    if joint is not None:
        frame, (label, weights) = joint
        split = partial(_apart, label=label, weight=weights)
        return Partitions([(part,) for part in frame.to_delayed()], split)
    parts = [_delayed(collection) for collection in (X, y, weight) if collection is not None]
    sizes = [len(part) for part in parts]
    if len(set(sizes)) > 1:
        raise ValueError(
            "X, y and sample_weight must have the same partitions. Got "
            f"{', '.join(map(str, sizes))} partitions instead. Hint: make them from one DataFrame, "
            "or rechunk them alike."
        )
    return Partitions(list(zip(*parts, strict=True)))


def plain_numbers(X: Any) -> list[str]:
    """Columns of a DataFrame of which nothing must be learned but a few values."""
    if not is_frame(X) or not all(isinstance(name, str) for name in X.columns):
        return []
    kinds = X.dtypes
    return [
        name
        for name in X.columns
        if isinstance(kinds[name], np.dtype) and kinds[name].kind in "fiu"
    ]


def partitions_of(X: Any, y: Any, weight: Any, columns: list[str]) -> Partitions:
    """The same of some columns only, in any partitions; Dask need not read the others."""
    others = [name for name in (y, weight) if isinstance(name, str)]
    return partitions(X[[*columns, *others]], y, weight)


def _joint(X: Any, y: Any, weight: Any) -> tuple[Any, tuple[str, str | None]] | None:
    """One DataFrame with labels and weights as columns, so that each partition is read once.

    None where Dask does not know which index each partition has, and they are not columns of one
    DataFrame: then rows go by their place.
    """
    names: list[str | None] = []
    root = _root(X)
    for argument, name in ((y, _LABEL), (weight, _WEIGHT)):
        if argument is None or isinstance(argument, str):
            names.append(argument)
            continue
        known = is_frame(X) and X.known_divisions and getattr(argument, "known_divisions", False)
        if not known and (root is None or _root(argument) != root):
            return None
        try:
            X = X.assign(**{name: argument})
        except (ValueError, TypeError, AssertionError, NotImplementedError):
            return None
        names.append(name)
    label, weights = names
    assert label is not None
    return X, (label, weights)


def _root(collection: Any) -> Any:
    """What a collection is columns of, by its name; None if that cannot be told."""
    expression: Any = getattr(collection, "expr", None)
    while type(expression).__name__ in ("Projection", "Drop"):
        expression = expression.frame
    return getattr(expression, "_name", None)


# Names that no table has.
_LABEL, _WEIGHT = "\0treebound label", "\0treebound weight"


def _apart(frame: Any, label: str, weight: str | None) -> tuple[Any, Any, Any]:
    """The columns of a partition, its labels and its weights."""
    rows = frame.drop(columns=[name for name in (label, weight) if name is not None])
    return rows, frame[label], None if weight is None else frame[weight]


def _delayed(collection: Any) -> list[Any]:
    """A delayed object for every partition, none of them put together."""
    if is_array(collection) and collection.ndim == 2:
        return list(collection.rechunk({1: collection.shape[1]}).to_delayed()[:, 0])
    if is_array(collection):
        return list(collection.to_delayed())
    return list(collection.to_delayed(optimize_graph=False))


def map_rows(X: Any, function: Callable[[Any], Any], meta: Any, width: int | None = None) -> Any:
    """A lazy collection with what a function gives for every partition, as ``meta`` tells.

    For a DataFrame that is an empty pandas object, for an Array a dtype, and a width if it gives a
    matrix.
    """
    if is_frame(X):
        return X.map_partitions(function, meta=meta)
    if not is_array(X):
        raise invalid("X", "predict", "a Dask DataFrame or a Dask Array", type(X).__name__)
    X = X.rechunk({1: X.shape[1]})
    if width is None:
        return X.map_blocks(function, dtype=meta, drop_axis=1, meta=np.empty(0, dtype=meta))
    return X.map_blocks(
        function, dtype=meta, chunks=(X.chunks[0], (width,)), meta=np.empty((0, 0), dtype=meta)
    )
