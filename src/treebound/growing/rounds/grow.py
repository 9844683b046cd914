"""An engine in, a tree out."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound.data import Column
from treebound.growing._bins import Bins
from treebound.growing.grow import KINDS
from treebound.growing.options import GrowOptions
from treebound.growing.rounds.driver import Driver
from treebound.growing.rounds.engine import Engine
from treebound.growing.rounds.limits import Limits, Progress
from treebound.tree.model import Tree

__all__ = ["FINE_BINS", "grow_in_rounds", "make_bins"]

# Bins of a column, and where they tell little.
MOST_BINS = 255
FINE_BINS = 4095
# Codes have 16 bits, and one of them is for missing values.
_MOST_CATEGORIES = 65534


def make_bins(
    columns: Sequence[Column], sample: Sequence[NDArray[Any]], most_bins: int = MOST_BINS
) -> Bins:
    """The bins of a table.

    Parameters
    ----------
    columns : sequence of Column
        The columns of the table.
    sample : sequence of ndarray
        Values of some rows, for each real column; ignored for the others.
    most_bins : int
        Maximum number of bins of a real or ordinal column.

    Returns
    -------
    Bins

    Raises
    ------
    ValueError
        If a column has too many categories.
    """
    for column in columns:
        if len(column.categories or ()) > _MOST_CATEGORIES:
            raise ValueError(
                f"Column {column.name!r} has {len(column.categories or ())} categories. Growing in "
                f"rounds takes at most {_MOST_CATEGORIES}. Hint: leave the column out, or put rare "
                "categories together."
            )
    values = [
        some if column.kind == "real" else np.arange(len(column.categories or ()), dtype=float)
        for column, some in zip(columns, sample, strict=True)
    ]
    sizes = [len(column.categories or ()) for column in columns]
    return Bins(values, [KINDS[column.kind] for column in columns], sizes, most_bins)


def grow_in_rounds(
    engine: Engine,
    columns: Sequence[Column],
    classes: NDArray[Any],
    options: GrowOptions,
    *,
    weighted: bool,
    limits: Limits | None = None,
    progress: Callable[[Progress], None] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    finer: Callable[[], Bins] | None = None,
) -> Tree:
    """Grow a tree on the rows of an engine.

    It is the tree that :func:`treebound.growing.grow` grows in memory.

    Parameters
    ----------
    engine : Engine
        The rows.
    columns : sequence of Column
        The columns of the rows.
    classes : ndarray
        The class labels, sorted.
    options : GrowOptions
        How to grow.
    weighted : bool
        Whether rows have weights.
    limits : Limits, optional
        How much is done and kept in memory at a time.
    progress : callable, optional
        Called with a :class:`Progress` after every pass over the rows.
    checkpoint : str or path-like, optional
        A file in which the unfinished tree is saved. If it exists, growth continues from it.
    finer : callable, optional
        Makes finer bins, for data on which those of the engine exclude few splits.

    Returns
    -------
    Tree
    """
    facts = engine.facts
    columns = tuple(
        column.with_missing(column.missing or bool(missing))
        for column, missing in zip(columns, facts.missing, strict=True)
    )
    driver = Driver(
        engine,
        columns,
        options,
        limits=limits,
        progress=progress,
        checkpoint=checkpoint,
        finer=finer,
    )
    arrays = driver.grow()
    arrays["counts"] = arrays["counts"] * facts.total.unit
    tree = Tree(**arrays, columns=columns, classes=classes, weighted=weighted)
    if options.thresholds == "observed":
        return replace(tree, names=engine.name(tree))
    return tree
