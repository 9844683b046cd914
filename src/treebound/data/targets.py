"""Reading a target: labels of any type become sorted classes and codes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils.validation import Setting, WordedError
from treebound.data._factorize import factorize_bytes, factorize_objects
from treebound.data.frames import read_series
from treebound.data.raw import distinct_values, is_missing, no_dates, some_names

# Numbers are a quantity if there are more of them than 100 and than the root of the rows. A table
# of more rows than this does not make more classes of them.
_MANY_NUMBERS, _MANY_ROWS = 100, 10**9


@dataclass(frozen=True, eq=False)
class Labels:
    """A target whose distinct labels are known."""

    distinct: NDArray[Any]  # the labels that occur, each once
    codes: NDArray[np.integer[Any]]  # which of them every row has
    name: str | None = None  # the name of the target

    def __len__(self) -> int:
        return len(self.codes)


def learn_classes(y: Any) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """The sorted classes of a target, and the code of each row."""
    labels = y if isinstance(y, Labels) else _labels(y)
    if len(labels) and int(labels.codes.min()) < 0:
        raise ValueError(_MISSING)
    distinct = _plain(labels.distinct) if labels.distinct.dtype.kind == "O" else labels.distinct
    _check_classes(distinct)
    classes, code_of = _in_order(distinct)
    if code_of.tolist() == list(range(len(code_of))):
        return classes, labels.codes.astype(np.int32, copy=False)
    return classes, code_of[labels.codes]


def _in_order(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """The sorted classes, and codes."""
    try:
        classes, codes = distinct_values(labels)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in labels})
        raise ValueError(
            "Unknown label type: y must hold sortable labels of one type. "
            f"Got {', '.join(kinds)} instead. Hint: convert y with astype(str)."
        ) from None
    return classes, codes.astype(np.int32, copy=False)


def class_order(X: Any, y: Any) -> tuple[Any, ...] | None:
    """Return the classes from low to high, if the type of the target orders them; or None.

    Ordered categoricals of pandas, Dask and Arrow have an order, and enums of polars. A target
    that is named is a column of a lazy frame or a Dask collection.
    """
    if isinstance(y, str):
        if hasattr(X, "collect_schema"):  # polars
            dtype = X.collect_schema().get(y)
        else:
            dtype = getattr(X, "dtypes", {}).get(y) if hasattr(X, "dask") else None
    else:
        native = y.to_native() if hasattr(y, "to_native") else y
        dtype = getattr(native, "dtype", None)
        if getattr(getattr(native, "type", None), "ordered", False) is True:  # Arrow
            chunks = getattr(native, "chunks", [native])
            each = {tuple(chunk.dictionary.to_pylist()) for chunk in chunks}
            return each.pop() if len(each) == 1 else None
    categories = getattr(dtype, "categories", None)
    if categories is None or not getattr(dtype, "ordered", type(dtype).__name__ == "Enum"):
        return None
    known = tuple(categories.to_list())
    return None if known == ("__UNKNOWN_CATEGORIES__",) else known  # which Dask has not read


def read_classes(y: Any, classes: NDArray[Any], *, other_labels: bool = False) -> NDArray[np.int32]:
    """Encode labels by known classes; ``other_labels`` of the type get the code after the last."""
    labels, codes = learn_classes(y)
    code_of = {label: code for code, label in enumerate(classes.tolist())}
    places = [code_of.get(label, len(classes)) for label in labels.tolist()]
    other_labels &= (labels.dtype.kind in "OU") == (classes.dtype.kind in "OU")
    if not other_labels and len(classes) in places:
        strange = labels.tolist()[places.index(len(classes))]
        raise ValueError(
            f"y must hold classes of the tree, {some_names(classes.tolist())}. "
            f"Got {strange!r} instead."
        )
    return np.array(places, dtype=np.int32)[codes]


def _labels(y: Any) -> Labels:
    """The distinct labels, and which of them every row has."""
    if y is None:
        raise ValueError("y must hold a label for every row. Got None instead.")
    if isinstance(y, str):
        raise ValueError(
            f"y must hold a label for every row. Got the text {y!r} instead. Hint: give X[{y!r}], "
            "and leave this column out of X."
        )
    values = _values(y)
    if isinstance(values, Labels):
        return values
    labels = one_dimensional(values, "classifier")
    if labels.dtype.kind in "mM":
        raise ValueError(no_dates("y", str(labels.dtype)))
    if labels.dtype.kind == "U" and len(labels):
        ends = np.arange(0, labels.nbytes + 1, labels.itemsize)
        few = factorize_bytes(ends, np.ascontiguousarray(labels).view(np.uint8))
        if few is not None:
            return Labels(labels[few[0]], few[1])
    if labels.dtype.kind == "O":
        texts = factorize_objects(labels)
        if texts is not None:
            return Labels(np.array(texts[0], dtype=object), texts[1])
        labels = _plain(labels)
    return Labels(*_in_order(labels))


def refuse_quantity(n_labels: int, n_rows: int = _MANY_ROWS) -> None:
    """Raise a ValueError if so many distinct numbers are a quantity and not classes.

    By default so many that they are no classes of any number of rows.
    """
    if n_labels > max(_MANY_NUMBERS, isqrt(min(n_rows, _MANY_ROWS))):
        rows = f" in {n_rows:,} rows" if n_rows < _MANY_ROWS else ""
        raise WordedError(
            f"Unknown label type: y holds {n_labels:,} different numbers{rows}, a quantity and "
            "not classes. Hint: predict it with ",
            Setting("task", "regress", "BoundTreeRegressor"),
            "; if each number is a class, make texts of them: ",
            Setting("task", "classify", "y.astype(str)"),
            ".",
        )


def is_number_label(labels: NDArray[Any]) -> bool:
    """Return True if the labels are numbers."""
    return labels.dtype.kind in "iuf"


def _check_classes(labels: NDArray[Any]) -> None:
    """Raise a ValueError for numbers that are no classes."""
    if labels.dtype.kind == "f":
        from sklearn.utils import assert_all_finite

        assert_all_finite(labels, input_name="y")
        if not bool((labels == np.floor(labels)).all()):
            raise WordedError(
                "Unknown label type: continuous. y must hold classes, but numbers with a "
                "fractional part were found. Hint: predict it with ",
                Setting("task", "regress", "BoundTreeRegressor"),
                ", or make classes of it; if each number is a class, make texts of them: ",
                Setting("task", "classify", "y.astype(str)"),
                ".",
            )
    if labels.dtype.kind == "c":
        raise ValueError("Unknown label type: complex. Complex data not supported in y.")


def used_labels(
    distinct: NDArray[Any], codes: NDArray[np.integer[Any]]
) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """The labels that some rows have, without others, and their codes."""
    used = np.bincount(codes, minlength=len(distinct)) > 0
    return distinct[used], (np.cumsum(used, dtype=np.int32) - np.int32(1))[codes]


def _values(y: Any) -> Labels | NDArray[Any]:
    """Values of a list, array or series of any library; missing labels are None or NaN."""
    if isinstance(y, np.ma.MaskedArray) and np.ma.is_masked(y):
        raise ValueError(_MISSING)
    if isinstance(y, np.ndarray):
        return np.asarray(y)
    if isinstance(y, list | tuple):
        return _of_sequence(y)
    from scipy.sparse import issparse

    if issparse(y):
        raise TypeError("Sparse data was passed for y, but dense data is required.")
    import narwhals as nw

    if nw.dependencies.is_into_series(y) or isinstance(y, nw.Series):
        return _of_series(nw.from_native(y, series_only=True))
    return np.asarray(y)


def _of_sequence(y: list[Any] | tuple[Any, ...]) -> NDArray[Any]:
    """Return the labels as an array that changes none of them."""
    array = np.asarray(y)
    # numpy would silently turn the numbers of [1, "a"] into text
    mixed = array.dtype.kind in "SU" and not all(isinstance(label, str) for label in y)
    # and large integers of both signs into floats
    mixed |= array.dtype.kind == "f" and any(isinstance(label, int) for label in y)
    return as_objects(y) if mixed else array


def label_array(y: Any) -> NDArray[Any]:
    """Return labels as an array that changes none of them; missing ones stay missing."""
    if isinstance(y, np.ma.MaskedArray):
        labels = np.array(np.ma.getdata(y), dtype=object)
        labels[np.ma.getmaskarray(y)] = None
        return labels
    return _of_sequence(y) if isinstance(y, list | tuple) else np.asarray(y)


def missing_labels(y: Any) -> NDArray[np.bool_]:
    """Return a mask of the missing labels."""
    labels = label_array(y)
    if labels.dtype.kind == "f":
        return np.asarray(np.isnan(labels))
    if labels.dtype.kind != "O":
        return np.zeros(len(labels), dtype=bool)
    return np.fromiter(map(is_missing, labels.tolist()), dtype=bool, count=len(labels))


def _of_series(series: Any) -> Labels | NDArray[Any]:
    """Texts and categories factorized by the library that holds them; others as an array."""
    raw = None if str(getattr(series.to_native(), "dtype", "")) == "object" else read_series(series)
    if raw is None:
        values: NDArray[Any] = series.to_numpy()
        return values
    if raw.missing is not None and raw.missing.any():
        raise ValueError(_MISSING)
    if raw.categories is None:
        return raw.values
    distinct = np.array(raw.categories)
    if raw.family == "text" or distinct.ndim != 1:
        distinct = as_objects(raw.categories)
    if raw.declared and (raw.values >= 0).all():  # else some are missing
        return Labels(*used_labels(distinct, raw.values))
    return Labels(distinct, raw.values)


def one_dimensional(labels: NDArray[Any], estimator: str) -> NDArray[Any]:
    """Return labels or numbers as one dimension; a column vector is ravelled with a warning."""
    if labels.ndim == 2 and labels.shape[1] == 1:
        from sklearn.exceptions import DataConversionWarning

        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape "
            "of y to (n_samples,), for example using ravel().",
            DataConversionWarning,
            stacklevel=5,
        )
        return labels.ravel()
    if labels.ndim != 1:
        raise ValueError(
            f"y should be a 1d array, got an array of shape {labels.shape} instead. "
            f"Hint: fit one {estimator} for each output."
        )
    return labels


_MISSING = (
    "Input y contains NaN. Hint: drop the rows without a label: X[y.notna()], y[y.notna()] if they "
    "are pandas objects."
)


def _plain(labels: NDArray[Any]) -> NDArray[Any]:
    """Objects that are all numbers or all booleans as such an array; others stay objects."""
    if any(map(is_missing, labels.tolist())):
        raise ValueError(_MISSING)
    types = {type(label) for label in labels.tolist()}
    if types <= {bool, np.bool_}:
        return labels.astype(bool)
    if all(issubclass(t, int | np.integer) and t is not bool for t in types):
        low, high = (min(labels), max(labels)) if len(labels) else (0, 0)
        bounds = {t: np.iinfo(t) for t in (np.int64, np.uint64)}
        fits = (t for t, info in bounds.items() if info.min <= low and high <= info.max)
        return labels.astype(next(fits, object))
    if all(issubclass(t, int | float | np.number) and t is not bool for t in types):
        return labels.astype(np.float64)
    return labels


def as_objects(values: Sequence[Any]) -> NDArray[Any]:
    """Values in an array that keeps each as it is."""
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    return objects
