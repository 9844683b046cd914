"""Types of the data that Python and the kernels of growing exchange."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NotRequired, TypedDict

import numpy as np
from numpy.typing import NDArray

from treebound._utils.arrays import Bools, Codes, Floats, Ints
from treebound.data.columns import KINDS, Column
from treebound.tree.split import SplitTest

# The number that the kernels have for squared errors.
SQUARED = 3

# Of each column the kind, the number of categories, and True if values may be missing.
ColumnFacts = tuple[Sequence[int], Sequence[int], Sequence[bool]]
# The columns of some rows, their labels, their weights as integers, the number of classes, and the
# facts of the columns.
ClassRows = tuple[
    Sequence[NDArray[Any]], NDArray[np.int32], NDArray[np.int64] | None, int, *ColumnFacts
]


def column_facts(columns: Sequence[Column]) -> ColumnFacts:
    """Return the facts of columns that the kernels need."""
    return (
        [KINDS.index(column.kind) for column in columns],
        [len(column.categories or ()) for column in columns],
        [column.missing for column in columns],
    )


class KernelRules(TypedDict):
    """Which splits are allowed; see ``rules.kernel_rules``."""

    signs: NDArray[np.int32]  # by column; empty if none is monotone
    order: NDArray[np.int32]  # the classes from high to low; empty if no column is monotone
    groups: NDArray[np.uint64]  # by column: a bit for each group that it is in
    first: Sequence[SplitTest]
    names: Sequence[str]  # of the columns, for messages
    root: tuple[int, int, Sequence[float]]  # splits taken, groups allowed and limits of the root


class KernelOptions(TypedDict):
    """How to grow; see ``GrowOptions.for_kernels``."""

    criterion: int
    by_impurity: bool
    max_leaves: int  # -1: no limit
    max_depth: int
    min_samples_leaf: int
    min_weight: int
    min_samples_split: int
    min_gain: float
    thresholds: int
    rules: NotRequired[KernelRules | None]


class NumberKernel(TypedDict):
    """The units of the channels of a target of numbers; see ``data.numeric_target``."""

    square_shift: int
    weight_error: float
    row_error: float


class TreeArrays(TypedDict):
    """The nodes of a tree in pre-order; -1 and NaN where a leaf has nothing."""

    feature: Codes
    category: Codes
    left: Codes
    right: Codes
    threshold: Floats
    missing_left: Bools
    counts: Ints  # channels: weight of each class, or weight, sum and squares
    rows: Ints


class GraphArrays(TreeArrays):
    """A graph of candidate trees: nodes after their children, and splits of all candidates."""

    first: Codes  # where the candidates of each node begin
