"""Splits: the one description of a node from which text, rules and code are written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from treebound._utils.choices import Unknown
from treebound._utils.validation import InWords, OneOf, check, invalid
from treebound.data.columns import Column

if TYPE_CHECKING:
    from treebound.tree.base import BaseTree


class SplitTest(NamedTuple):
    """The test of a node, in the fields of a ``Tree``; ``missing_left`` None: not decided."""

    feature: int
    threshold: float = math.nan
    category: int = -1
    missing_left: bool | None = None


def test_of(tree: BaseTree, node: int) -> SplitTest:
    """Return the test of a node."""
    return SplitTest(*(vars(tree)[name][node].item() for name in SplitTest._fields))


def by_threshold(tree: BaseTree) -> NDArray[np.bool_]:
    """Mask of the splits by a threshold, on the two sides of which values have an order."""
    return np.isfinite(tree.threshold)


def by_presence(tree: BaseTree) -> NDArray[np.bool_]:
    """Mask of the splits of missing from present values, in columns with thresholds."""
    return np.isinf(tree.threshold)


SplitKind = Literal["threshold", "category", "missing"]


# A new kind of split changes this file and the code that finds, stores and routes it; text, rules
# and code are written from the codes and need no change.
@dataclass(frozen=True, slots=True)
class Split:
    """The split of an inner node, and the side of each value."""

    node: int
    feature: int  # the place of its column
    column: Column
    # "threshold": values up to it, or the first categories in order, go left; "category": one does;
    # "missing": present values go to one side and missing ones to the other
    kind: SplitKind
    threshold: float  # of a real column, else NaN
    codes: Sequence[int]  # of the categories that go left; empty for a real column
    missing_left: bool
    unknown_left: bool | None  # None if they stop at the node, are an error, or cannot occur
    closed: bool  # only categories that were declared can occur: any other value is an error

    @property
    def is_real(self) -> bool:
        """Return True if the column is real."""
        return self.column.kind == "real"

    @property
    def bound(self) -> float:
        """The greatest number that goes left; infinite in a split of kind ``"missing"``."""
        if self.kind != "missing":
            return self.threshold
        return -math.inf if self.missing_left else math.inf

    def values(self, *, left: bool = True) -> list[Any]:
        """The categories on one side of the split, as Python values."""
        categories, codes = self.column.categories or (), self.codes
        if not left:
            taken = frozenset(self.codes)
            codes = [code for code in range(len(categories)) if code not in taken]
        return [plain(categories[code]) for code in codes]

    @property
    def last_value(self) -> Any:
        """The last category that goes left; None if there is none."""
        categories = self.column.categories or ()
        return plain(categories[self.codes[-1]]) if self.codes else None


def split_of(tree: BaseTree, node: int, *, handle_unknown: Unknown = "other") -> Split:
    """The split of an inner node; a ValueError for a leaf."""
    if tree.left[node] < 0:
        raise invalid("node", "", "an inner node", InWords(f"the leaf {node}"))
    column = tree.columns[tree.feature[node]]
    threshold, category = float(tree.threshold[node]), int(tree.category[node])
    missing_left = bool(tree.missing_left[node])
    size = len(column.categories or ())
    codes: Sequence[int] = ()
    kind: SplitKind = "threshold"
    if column.kind == "real":
        if math.isinf(threshold) and (threshold > 0) != missing_left:
            kind, threshold = "missing", math.nan
    elif column.kind == "ordinal":
        codes = range(math.floor(min(max(threshold, -1), size - 1)) + 1)
        threshold = math.nan
    else:
        kind = "category"
        codes = (category,) if category < size else ()
        # if values were missing in training, missing is one more category
        missing_left = category == size if column.missing else missing_left
    if column.kind != "real" and not codes and missing_left:
        kind = "missing"
    unknown_left = None
    if column.kind != "real" and handle_unknown not in ("stop", "error"):
        heavier_left = bool(tree.weight[tree.left[node]] >= tree.weight[tree.right[node]])
        unknown_left = {"other": False, "majority": heavier_left, "missing": missing_left}[
            handle_unknown
        ]
    closed = handle_unknown == "error" and column.declared and not column.missing
    feature = int(tree.feature[node])
    return Split(node, feature, column, kind, threshold, codes, missing_left, unknown_left, closed)


def splits_of(tree: BaseTree, *, handle_unknown: Unknown = "other") -> list[Split | None]:
    """The splits of all nodes, None for leaves."""
    inner = (tree.feature >= 0).tolist()
    return [
        split_of(tree, at, handle_unknown=handle_unknown) if inner[at] else None
        for at in range(len(inner))
    ]


def named_splits(column: Column) -> int:
    """Number of different splits of a column, given the row that names a threshold."""
    size = column.n_categories
    if column.kind == "nominal":
        # with two categories, the second is the first with the children swapped
        return 1 if size + column.missing == 2 else size + column.missing
    thresholds = max(size - 1, 1) if column.declared else 1
    # missing goes left or right at each threshold, or is separated from all present values
    return 2 * thresholds + 1 if column.missing else thresholds


def offered_splits(tree: BaseTree) -> NDArray[np.float64]:
    """Number of splits that the column of each inner node offers to its rows; 1 at leaves."""
    offered = np.ones(tree.n_nodes)
    for at, column in enumerate(tree.columns):
        here = tree.feature == at
        if column.kind == "real":
            offered[here] = tree.mass[here] - 1.0  # a row of weight two counts twice
        else:
            size = column.n_categories + column.missing
            offered[here] = size - (column.kind == "ordinal")
    return np.maximum(offered, 1.0)


def plain(value: Any) -> Any:
    """The Python value of a NumPy scalar; other values unchanged."""
    return value.item() if isinstance(value, np.generic) else value


def one_line(value: Any) -> str:
    r"""A name or category as one line of visible characters."""
    text = str(plain(value))
    if text.isprintable() and text.strip():
        return text
    if not text.strip():
        return repr(text)
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def check_unknown(handle_unknown: str, *, caller: str) -> None:
    """Raise unless ``handle_unknown`` is a policy for unknown categories."""
    check(caller, {"handle_unknown": handle_unknown}, {"handle_unknown": OneOf(get_args(Unknown))})
