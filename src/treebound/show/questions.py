"""The question an inner node asks, and how it reads: the words every form of a tree shares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from treebound.data import Column
from treebound.tree import Tree

__all__ = [
    "Question",
    "Unknown",
    "check_unknown",
    "one_line",
    "plain",
    "question",
    "rounded_thresholds",
    "short_number",
    "typeset",
]

Unknown = Literal["majority", "stop", "missing", "error"]

_UNKNOWN = ("majority", "stop", "missing", "error")


@dataclass(frozen=True)
class Question:
    """What an inner node asks of its column, and where each kind of value goes.

    Attributes
    ----------
    node, feature : int
        The node, and the index of the column it tests.
    column : Column
        That column.
    threshold : float
        A real value goes left when it is at most this; NaN for a column of categories.
    left_codes : range
        The category codes that go left; empty for a real column and for the test "is missing".
    missing_left : bool
        Whether a missing value goes left.
    unknown_left : bool or None
        Whether a category never seen goes left; None when it stops here, or cannot occur.
    """

    node: int
    feature: int
    column: Column
    threshold: float
    left_codes: range
    missing_left: bool
    unknown_left: bool | None

    @property
    def is_real(self) -> bool:
        """Whether the column is real."""
        return self.column.kind == "real"

    @property
    def left_categories(self) -> tuple[Any, ...]:
        """The categories that go left."""
        categories = self.column.categories or ()
        return tuple(plain(categories[code]) for code in self.left_codes)

    def words(self, *, left: bool, threshold: str | None = None) -> str:
        """The answer in words, such as ``age <= 30``, ``colour = red`` or ``size > M``.

        Parameters
        ----------
        left : bool
            Which answer: that of the left or of the right child.
        threshold : str, optional
            How to write a real threshold; exactly by default.
        """
        return f"{one_line(self.column.name)} {self.answer(left=left, threshold=threshold)}"

    def answer(self, *, left: bool, threshold: str | None = None) -> str:
        """The answer without the column's name, such as ``<= 30`` or ``= red``."""
        if self.column.kind == "nominal":
            sign = "=" if left else "≠"
            (value,) = self.left_categories or ("(missing)",)
            return f"{sign} {one_line(value)}{self._missing_words(left)}"
        sign = "<=" if left else ">"
        if self.is_real:
            if math.isinf(self.threshold):
                return "is missing" if left == self.missing_left else "is present"
            value = threshold or repr(self.threshold)
        elif not self.left_codes:
            return f"{sign} (none){self._missing_words(left)}"
        else:
            value = one_line(self.left_categories[-1])
        return f"{sign} {value}{self._missing_words(left)}"

    def _missing_words(self, left: bool) -> str:
        """Say where missing values go, if there were any in training and the test is not theirs."""
        told = self.column.kind != "nominal" and self.column.missing
        return " or missing" if told and left == self.missing_left else ""


def question(tree: Tree, node: int, *, unknown: Unknown = "majority") -> Question:
    """The question of an inner node."""
    feature = int(tree.feature[node])
    column = tree.columns[feature]
    threshold, category = float(tree.threshold[node]), int(tree.category[node])
    size = len(column.categories or ())
    missing_left = bool(tree.missing_left[node])
    left_codes = range(0)
    if column.kind == "ordinal":
        # The codes 0, 1, ... that are <= threshold; the threshold may be infinite.
        left_codes = range(int(min(max(math.floor(min(threshold, size)) + 1, 0), size)))
    elif column.kind == "nominal":
        left_codes = range(category, category + 1) if category < size else range(0)
        missing_left = category == size if column.missing else missing_left
    return Question(
        node=node,
        feature=feature,
        column=column,
        threshold=threshold if column.kind == "real" else math.nan,
        left_codes=left_codes,
        missing_left=missing_left,
        unknown_left=_unknown_left(tree, node, column, missing_left, unknown),
    )


def _unknown_left(
    tree: Tree, node: int, column: Column, missing_left: bool, unknown: Unknown
) -> bool | None:
    if column.kind == "real" or unknown in ("stop", "error"):
        return None
    if unknown == "missing":
        return missing_left
    return bool(tree.weight[tree.left[node]] >= tree.weight[tree.right[node]])


def check_unknown(unknown: str, *, caller: str) -> None:
    """Raise unless ``unknown`` is one of the four policies."""
    if unknown not in _UNKNOWN:
        raise ValueError(
            f"The 'unknown' parameter of {caller} must be one of {list(_UNKNOWN)}. "
            f"Got {unknown!r} instead."
        )


# -- how values read -------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """The Python value of a NumPy scalar; any other value as it is."""
    return value.item() if isinstance(value, np.generic) else value


def one_line(value: Any) -> str:
    r"""A name or category as one line of visible characters.

    Examples
    --------
    >>> one_line("two\nlines"), one_line(3), one_line("")
    ('two\\nlines', '3', "''")
    """
    text = str(plain(value))
    if not text.strip():
        return repr(text)
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def typeset(answer: str) -> str:
    """An answer with the printed sign for at most, for forms that are not read by machines."""
    return f"≤{answer[2:]}" if answer.startswith("<=") else answer


def short_number(value: float, *, digits: int = 4) -> str:
    """A count or weight, short: whole numbers in full, others to some significant digits.

    Examples
    --------
    >>> short_number(150.0), short_number(0.123456), short_number(1234567.0)
    ('150', '0.1235', '1234567')
    """
    if math.isfinite(value) and value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.{digits}g}"


def rounded_thresholds(
    tree: Tree, X: NDArray[np.float64] | None = None, *, digits: int = 3
) -> list[str]:
    """The real thresholds in as few digits as the split allows; ``""`` for other nodes.

    Parameters
    ----------
    tree : Tree
    X : ndarray, optional
        The encoded training data. With it, a threshold is rounded as long as not one value
        changes sides. Without, as long as it moves by less than a thousandth of itself and of
        the distance to the nearest other threshold on its column.
    digits : int
        Significant digits that are always kept.
    """
    words = [""] * tree.n_nodes
    real = [j for j, column in enumerate(tree.columns) if column.kind == "real"]
    for j in sorted(set(real) & set(tree.feature.tolist())):
        nodes = np.flatnonzero(tree.feature == j)
        values = tree.threshold[nodes]
        around = np.unique(values[np.isfinite(values)]) if X is None else np.unique(X[:, j])
        for node, value in zip(nodes.tolist(), values.tolist(), strict=True):
            words[node] = _rounded(value, around.tolist(), X is not None, digits)
    return words


def _rounded(value: float, around: Sequence[float], are_data: bool, digits: int) -> str:
    """The shortest writing of a threshold that keeps its place among the numbers around it."""
    if not math.isfinite(value):
        return repr(value)
    place = int(np.searchsorted(around, value, side="right" if are_data else "left"))
    low = around[place - 1] if place > 0 else -math.inf
    place += not are_data  # without data, the threshold itself stands at its place
    high = around[place] if place < len(around) and around[place] == around[place] else math.inf
    slack = min(abs(value) or 1.0, value - low, high - value) / 1000
    exact = repr(value)
    for count in range(digits, 17):
        text = _positional(value, count)
        near = float(text)
        if (low <= near < high) if are_data else abs(near - value) <= slack:
            return min(text, exact, key=len)
    return exact


def _positional(value: float, digits: int) -> str:
    """A number to some significant digits, whole digits never dropped."""
    whole = len(str(int(abs(value)))) if abs(value) < 1e15 else digits
    text = f"{value:.{max(digits, whole)}g}"
    return text.replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")
