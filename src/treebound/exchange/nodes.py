"""Conversion of a tree's arrays to JSON values and back.

Each list is checked for its type and converted once, so that time and memory are linear in the
size of the file; :class:`~treebound.Tree` checks that the arrays form a tree.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from itertools import chain
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from treebound.data import Column
from treebound.exchange.errors import FormatError
from treebound.tree import Tree

__all__ = ["array_of", "fields_of", "nodes_from_json", "nodes_to_json", "table_of"]

Json = Literal["integer", "number", "boolean"]
_PYTHON: dict[Json, set[type]] = {"integer": {int}, "number": {int, float}, "boolean": {bool}}
_NUMPY: dict[Json, Any] = {"integer": np.int64, "number": np.float64, "boolean": np.bool_}
_FIELDS = (
    "feature", "threshold", "category", "missing_left", "right", "counts", "rows", "label",
)  # fmt: skip
_OPTIONAL = {"names": None, "weighted": False, "counted": True, "factors": None}
_MOST = 2**31 - 1
_TINY = sys.float_info.min


def nodes_to_json(tree: Tree) -> dict[str, Any]:
    """The node arrays of a tree as lists: null for none, "inf" for an infinite threshold."""
    threshold = [
        None if math.isnan(value) else "inf" if math.isinf(value) else value
        for value in tree.threshold.tolist()
    ]
    return {
        "feature": tree.feature.tolist(),
        "threshold": threshold,
        "category": tree.category.tolist(),
        "missing_left": tree.missing_left.tolist(),
        "right": tree.right.tolist(),
        "counts": _short(tree.counts).tolist(),
        "rows": tree.rows.tolist(),
        "label": tree.label.tolist(),
        "names": None if tree.names is None else tree.names.tolist(),
        "weighted": tree.weighted,
        "counted": tree.counted,
        "factors": None if tree.factors is None else tree.factors.tolist(),
    }


def _short(counts: NDArray[np.float64]) -> NDArray[Any]:
    """Integral counts as integers: shorter, and read back as the same doubles."""
    whole = bool((counts == np.floor(counts)).all()) and counts.max(initial=0.0) < 2**53
    return counts.astype(np.int64) if whole else counts


def nodes_from_json(
    given: Any, columns: tuple[Column, ...], classes: NDArray[Any], where: str = "nodes"
) -> Tree:
    """Read and check the nodes of a tree.

    Raises
    ------
    FormatError
        Naming the location of the first problem.
    """
    nodes = fields_of(given, where, _FIELDS, _OPTIONAL)
    if not isinstance(nodes["feature"], list):
        raise FormatError(f"{where}.feature", f"must be a list, found {kind_of(nodes['feature'])}")
    size = len(nodes["feature"])

    def integers(name: str, least: int, most: int) -> NDArray[np.int64]:
        return array_of(nodes[name], f"{where}.{name}", "integer", size, least, most)

    feature = integers("feature", -1, len(columns) - 1)
    inner = feature >= 0
    nominal = np.array([column.kind == "nominal" for column in columns] + [False])[feature] & inner
    arrays: dict[str, Any] = {
        "feature": feature,
        "threshold": _thresholds(nodes["threshold"], f"{where}.threshold", inner & ~nominal),
        "category": integers("category", -1, _MOST),
        "missing_left": array_of(nodes["missing_left"], f"{where}.missing_left", "boolean", size),
        "left": np.where(inner, np.arange(1, size + 1), -1),
        "right": integers("right", -1, _MOST),
        "counts": table_of(nodes["counts"], f"{where}.counts", "number", (size, len(classes))),
        "rows": integers("rows", 0, 2**62),
        "label": integers("label", 0, len(classes) - 1),
        "names": None if nodes["names"] is None else integers("names", -1, 2**62),
    }
    if nodes["factors"] is not None:
        arrays["factors"] = array_of(
            nodes["factors"], f"{where}.factors", "number", len(classes), least=_TINY
        )
    for name, used in (("category", nominal), ("right", inner)):
        refuse(np.where(used, 0, arrays[name] != -1), f"{where}.{name}", "must be -1 here")
    for name in ("weighted", "counted"):
        if type(nodes[name]) is not bool:
            raise FormatError(f"{where}.{name}", "must be true or false")
        arrays[name] = nodes[name]
    try:
        return Tree(**arrays, columns=columns, classes=classes)
    except ValueError as error:
        raise FormatError(where, f"is not a tree: {error}".rstrip(".")) from None


def _thresholds(given: Any, where: str, used: NDArray[np.bool_]) -> NDArray[np.float64]:
    if not isinstance(given, list):
        raise FormatError(where, f"must be a list, found {kind_of(given)}")
    plain = [0.0 if value is None or value == "inf" else value for value in given]
    threshold: NDArray[np.float64] = array_of(plain, where, "number", len(used))
    absent = np.array([value is None for value in given], dtype=bool)
    threshold[absent] = np.nan
    threshold[[value == "inf" for value in given]] = np.inf
    refuse(absent & used, where, "must be a number or 'inf' here")
    refuse(~absent & ~used, where, "must be null here")
    return threshold


# -- lists of one type ---------------------------------------------------------------------------

_LARGEST = sys.float_info.max


def array_of(
    given: Any,
    where: str,
    kind: Json,
    size: int,
    least: float = -math.inf,
    most: float = math.inf,
    width: int = 0,
) -> NDArray[Any]:
    """A list of finite numbers or booleans as an array.

    Parameters
    ----------
    given : object
        The value in the document.
    where : str
        Its location in the document.
    kind : {"integer", "number", "boolean"}
        Required type of the entries.
    size : int
        Required number of entries.
    least, most : float
        Range of the entries.
    width : int
        If not 0, number of columns of a flattened table, for locations in errors.
    """
    if not isinstance(given, list):
        raise FormatError(where, f"must be a list, found {kind_of(given)}")
    if len(given) != size:
        raise FormatError(where, f"must have {size} entries, found {len(given)}")
    allowed = _PYTHON[kind]
    if not set(map(type, given)) <= allowed:
        wrong: Any = [type(value) not in allowed for value in given]
        refuse(wrong, where, f"must be of the type {kind}", given, width)
    try:
        array: NDArray[Any] = np.array(given, dtype=_NUMPY[kind])
    except OverflowError:
        raise FormatError(where, "has a number that 64 bits cannot hold") from None
    if kind != "boolean" and not _within(array, least, most):
        wrong = ~((array >= least) & (array <= most) & np.isfinite(array))
        words = f"must be a finite {kind}"
        words += f" from {least:.16g}" if least > -math.inf else ""
        refuse(wrong, where, words + (f" to {most:.16g}" if most < math.inf else ""), given, width)
    return array


def _within(array: NDArray[Any], least: float, most: float) -> bool:
    """Whether all numbers are finite and in the range."""
    if not array.size:
        return True
    low, high = float(array.min()), float(array.max())
    return max(least, -_LARGEST) <= low and high <= min(most, _LARGEST)


def table_of(given: Any, where: str, kind: Json, shape: tuple[int, int]) -> NDArray[Any]:
    """A list of rows of equal length as an array of non-negative numbers."""
    if not isinstance(given, list):
        raise FormatError(where, f"must be a list, found {kind_of(given)}")
    if len(given) != shape[0]:
        raise FormatError(where, f"must have {shape[0]} entries, found {len(given)}")
    wrong = [type(row) is not list or len(row) != shape[1] for row in given]
    refuse(wrong, where, f"must be a list of {shape[1]} numbers, one for each class")
    flat = list(chain.from_iterable(given))
    return array_of(flat, where, kind, len(flat), least=0.0, width=shape[1]).reshape(shape)


def refuse(
    wrong: Sequence[Any] | NDArray[Any],
    where: str,
    must: str,
    given: list[Any] | None = None,
    width: int = 0,
) -> None:
    """Raise an error for the first wrong entry, if any."""
    if not (wrong.any() if isinstance(wrong, np.ndarray) else any(wrong)):
        return
    at = int(np.argmax(wrong))
    place = f"[{at // width}][{at % width}]" if width else f"[{at}]"
    found = "" if given is None else f", found {given[at]!r:.60}"
    raise FormatError(where + place, must + found)


def fields_of(
    given: Any, where: str, needed: Sequence[str], optional: dict[str, Any]
) -> dict[str, Any]:
    """The fields of an object, with defaults for optional ones; other fields are an error."""
    if not isinstance(given, dict):
        raise FormatError(where, f"must be an object, found {kind_of(given)}")
    prefix = f"{where}." if where else ""
    for name in needed:
        if name not in given:
            raise FormatError(f"{prefix}{name}", "is missing")
    for name in given:
        if name not in needed and name not in optional:
            raise FormatError(f"{prefix}{name:.60}", "is not a field of this version")
    return {**optional, **given}


def kind_of(value: Any) -> str:
    """The type of a JSON value, in words."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "a truth value"}
    if value is None:
        return "nothing"
    return names.get(type(value), "a number")
