"""Reading a target of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound.data.frames import read_series
from treebound.data.targets import one_dimensional

# Fourth powers of errors are added: those of larger numbers may not be finite, and those of numbers
# that differ by less may be zero.
MAX_NUMBER, MIN_RANGE = 1e60, 1e-60
_TEXT = (
    "y must hold a number for each row. Got text such as {!r} instead. Hint: use "
    "BoundTreeClassifier to predict classes, or convert y to numbers."
)


def read_numbers(y: Any) -> NDArray[np.float64]:
    """Return the numbers of a target: a list, an array or a series of any library.

    Raises
    ------
    ValueError
        If there are texts, dates, missing or infinite values, or several columns.
    """
    if y is None:
        raise ValueError(
            "This estimator requires y to be passed, but the target y is None: y must hold a "
            "number for each row."
        )
    if isinstance(y, str):
        raise ValueError(
            f"y must hold a number for each row. Got the text {y!r} instead. Hint: give X[{y!r}], "
            "and leave this column out of X."
        )
    values = one_dimensional(_values(y), "regressor")
    kind = values.dtype.kind
    if kind in "OUST":
        values = _from_objects(values)
    elif kind in "mM":
        raise ValueError(
            f"y must hold a number for each row. Got dates ({values.dtype}) instead. Hint: convert "
            "them, for example to days since a date."
        )
    elif kind == "c":
        raise ValueError("Complex data not supported: y must hold real numbers.")
    numbers = np.ascontiguousarray(values, dtype=np.float64)
    bad = ~np.isfinite(numbers)
    if bad.any():
        row = int(bad.argmax())
        value = "NaN" if np.isnan(numbers[row]) else "infinity"
        raise ValueError(
            f"Input y contains {value}: row {row:,}. Hint: leave out the rows without a finite "
            "number."
        )
    if len(numbers) and float(np.abs(numbers).max()) > MAX_NUMBER:
        raise ValueError(
            f"y must be at most {MAX_NUMBER:g} in absolute value. "
            f"Got {np.abs(numbers).max():g} instead. Hint: divide it by a constant."
        )
    return numbers


def check_spread(low: float, high: float, target: str = "y") -> None:
    """Raise a ValueError if the numbers of fit differ too little; equal numbers may be fitted."""
    if 0.0 < high - low < MIN_RANGE:
        raise ValueError(
            f"The numbers of {target} must be equal or have a range of at least {MIN_RANGE:g}. Got "
            f"a range of {high - low:g} instead. Hint: multiply them by a constant."
        )


def _values(y: Any) -> NDArray[Any]:
    if isinstance(y, np.ma.MaskedArray):
        if y.dtype.kind in "fiub":
            return np.asarray(np.ma.filled(y.astype(np.float64), np.nan))
        return np.asarray(y.filled(None))
    if isinstance(y, np.ndarray | list | tuple):
        return np.asarray(y)
    from scipy.sparse import issparse

    if issparse(y):
        raise TypeError("Sparse data was passed for y, but dense data is required.")
    import narwhals as nw

    if nw.dependencies.is_into_series(y) or isinstance(y, nw.Series):
        series = nw.from_native(y, series_only=True)
        if str(getattr(series.to_native(), "dtype", "")) == "object":
            return np.asarray(series.to_numpy())
        raw = read_series(series)
        if raw.categories is not None:
            texts: NDArray[Any] = np.array([*raw.categories, None], dtype=object)
            return np.asarray(texts[raw.values])
        if raw.missing is not None and raw.missing.any():
            numbers = raw.values.astype(np.float64)
            numbers[raw.missing] = np.nan
            return numbers
        return raw.values
    return np.asarray(y)


def _from_objects(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return objects that are numbers; texts are refused, also those that look like numbers."""
    for value in values.tolist():
        if isinstance(value, str | bytes):
            raise ValueError(_TEXT.format(value))
    try:
        missing = [value is None for value in values.tolist()]
        return np.where(missing, np.nan, values).astype(np.float64)
    except (TypeError, ValueError):
        wrong = next(v for v in values.tolist() if not isinstance(v, int | float | np.number))
        raise ValueError(
            f"y must hold a number for each row. Got {type(wrong).__name__} instead."
        ) from None
