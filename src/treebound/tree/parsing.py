"""Reading a split as it is printed: ``age <= 30``, ``sex = male``, ``income is missing``."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence

from treebound._utils.validation import invalid
from treebound.data import Column
from treebound.tree.split import SplitTest, one_line

_SIGNS = {"≤": "<=", "==": "=", "≠": "!="}
_COMPARISON = re.compile(r"\s*(<=|>=|==|!=|≤|≥|≠|<|>|=)\s*(.*\S)\s*", re.S)
_PRESENCE = re.compile(r"\s+is\s+(missing|present)\s*")
_OR_MISSING = " or missing"


def column_named(name: str, columns: Sequence[Column], caller: str) -> int:
    """The place of a column; its categories must be known."""
    names = [column.name for column in columns]
    if name not in names:
        listed = ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")
        raise invalid("column", caller, f"a column of the tree: {listed}", name)
    at = names.index(name)
    if columns[at].identifier:
        raise ValueError(
            f"Column {name!r} identifies rows and was not learned from. Hint: name it in "
            "'categorical_features' and fit again."
        )
    if columns[at].unlisted:
        raise ValueError(
            f"Not all categories of column {name!r} are known: a model file lists only those that "
            "its trees need. Hint: edit the classifier before it is saved."
        )
    return at


def parse_split(text: str, columns: Sequence[Column]) -> SplitTest:
    """Return the split that a text describes, by its left or right side."""
    if not isinstance(text, str):
        raise TypeError(f"A split must be a text such as 'age <= 30'. Got {text!r} instead.")
    named = [
        (words[len(written) :], at)
        for at, column in enumerate(columns)
        for written in (one_line(column.name), json.dumps(column.name, ensure_ascii=False))
        for words in (text, text.lstrip())
        if words.startswith(written)
    ]
    for rest, at in sorted(named, key=lambda pair: len(pair[0])):  # the longest name first
        presence, comparison = _PRESENCE.fullmatch(rest), _COMPARISON.fullmatch(rest)
        if presence or comparison:
            column_named(columns[at].name, columns, "split")
        if presence:
            return _presence(text, at, columns[at])
        if comparison:
            sign = _SIGNS.get(comparison[1], comparison[1])
            return _comparison(text, at, columns[at], sign, comparison[2])
    if named:
        raise _refused(text, "a split compares a column: 'age <= 30', 'sex = male', 'x is missing'")
    names = ", ".join(repr(column.name) for column in columns[:10])
    raise _refused(text, f"it begins with no name of a column. The columns are {names}")


def _refused(text: str, reason: str) -> ValueError:
    return ValueError(f"{text!r} is no split of these columns: {reason}.")


def _presence(text: str, at: int, column: Column) -> SplitTest:
    """Missing values against present ones; as in growing, missing goes right of +inf."""
    if not column.missing:
        raise _refused(text, f"no training value of column {column.name!r} is missing")
    if column.kind == "nominal":
        return SplitTest(at, category=len(column.categories or ()), missing_left=True)
    return SplitTest(at, math.inf, missing_left=False)


def _comparison(text: str, at: int, column: Column, sign: str, value: str) -> SplitTest:
    name = column.name
    if column.kind == "nominal":
        if sign not in ("=", "!="):
            raise _refused(text, f"column {name!r} is nominal, its splits are '{name} = CATEGORY'")
        category = _code(text, column, value)
        # if values were missing in training, missing is a category of its own
        return SplitTest(at, category=category, missing_left=False if column.missing else None)
    if sign not in ("<=", ">"):
        raise _refused(text, f"column {name!r} is {column.kind}, its splits are '{name} <= VALUE'")
    with_missing = value.endswith(_OR_MISSING)
    value = value.removesuffix(_OR_MISSING).strip()
    if column.kind == "ordinal":
        threshold = float(_code(text, column, value))
    else:
        threshold = _number(text, value)
    side = None
    if column.missing or with_missing:
        side = with_missing == (sign == "<=")
    return SplitTest(at, threshold, missing_left=side)


def _number(text: str, value: str) -> float:
    if value.startswith("≈"):
        raise _refused(text, "the threshold is rounded (≈), and its exact value is needed")
    try:
        number = float(value)
    except ValueError:
        raise _refused(text, f"{value!r} is not a number") from None
    if not math.isfinite(number):
        raise _refused(text, f"{value!r} is not a finite number")
    return number


def _code(text: str, column: Column, value: str) -> int:
    """The code of a category, as it is printed or in JSON."""
    categories = column.categories or ()
    printed = [one_line(category) for category in categories]
    if value in printed:
        return printed.index(value)
    quoted = [json.dumps(str(category), ensure_ascii=False) for category in categories]
    if value in quoted:
        return quoted.index(value)
    listed = ", ".join(printed[:10]) + (", ..." if len(printed) > 10 else "")
    raise _refused(text, f"column {column.name!r} has the categories {listed}")
