"""Groups of rows that belong together, as numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils.arrays import Ints
from treebound._utils.validation import InWords, invalid


def group_labels(groups: Any, rows: int) -> NDArray[Any] | None:
    """The group of each row, checked."""
    if groups is None:
        return None
    labels = np.asarray(groups)
    if labels.ndim != 1 or len(labels) != rows:
        must = f"an array of one group for each of the {rows:,} rows"
        raise invalid("groups", "", must, InWords(f"shape {labels.shape}"))
    if missing := _count_missing(labels):
        must = "an array with a group for each row"
        raise invalid("groups", "", must, InWords(f"{missing:,} rows without a group"))
    return labels


def _count_missing(labels: NDArray[Any]) -> int:
    if labels.dtype.kind == "O":
        return sum(map(_is_missing, labels))
    return int((labels != labels).sum()) if labels.dtype.kind in "fmM" else 0


def _is_missing(label: Any) -> bool:
    """Return True for None, NaN, NaT and the missing value of pandas, which equals nothing."""
    equal = label == label
    return label is None or type(equal).__name__ == "NAType" or not equal


def group_codes(parts: Iterable[NDArray[Any]]) -> Ints | None:
    """The group of each row as a number, by the order of their labels, which come in parts.

    None if every row is a group of its own.
    """
    distinct, places = [], []
    for labels in parts:
        some, at = _distinct(labels)
        distinct.append(some)
        places.append(at)
    if not distinct:
        return None
    all_labels, numbers = _distinct(np.concatenate(distinct))
    ends = np.cumsum([len(some) for some in distinct])
    numbered = zip(np.split(numbers, ends[:-1]), places, strict=True)
    codes = np.concatenate([number[at] for number, at in numbered]).astype(np.int64)
    return codes if len(all_labels) < len(codes) else None


def _distinct(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    try:
        return np.unique(labels, return_inverse=True)
    except TypeError:  # labels of several types
        return np.unique(labels.astype(str), return_inverse=True)


def column_labels(column: Any, weight: Any, name: str) -> NDArray[Any]:
    """The groups of rows of a weight above zero, of a part of a table; each row must have one."""
    import narwhals as nw

    missing = 0
    if isinstance(column, np.ndarray):
        labels = column
    else:
        series = nw.from_native(column, series_only=True, pass_through=False)
        missing, labels = int(series.is_null().sum()), series.to_numpy()
    if not missing:
        missing = _count_missing(labels)
    refuse_missing_groups(name, missing)
    return labels if weight is None else labels[np.asarray(weight) > 0]


def refuse_missing_groups(name: str, missing: int) -> None:
    """Raise a ValueError if some rows have no group."""
    if missing:
        raise ValueError(
            f"The column {name!r} of groups has {missing:,} rows without a value. Hint: give each "
            "row a group."
        )
