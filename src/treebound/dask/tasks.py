"""What workers do with a partition before it is coded.

In a file of its own, as a worker loads what stands beside the functions it is sent.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from treebound.data import Sample
from treebound.data.parts import (
    PartFacts,
    Schema,
    learn_part,
    nothing_but_rows,
    read_part,
    some_numbers,
)

__all__ = ["learn", "numbers", "read", "size"]


def learn(part: tuple[Any, Any, Any], **options: Any) -> PartFacts:
    """What rows, labels and weights tell of columns and classes."""
    X, y, weight = part
    if not len(X.columns if hasattr(X, "columns") else X[:1].T):
        X = nothing_but_rows(len(y))
    return learn_part(X, y, weight, **options)


def numbers(part: tuple[Any, Any, Any], names: list[str]) -> dict[str, Any]:
    """Values of some rows."""
    X, _, weight = part
    return some_numbers(X[names], weight, names)


def size(part: tuple[Any, Any, Any]) -> int:
    """How many rows have a weight above zero."""
    _, y, weight = part
    return len(y) if weight is None else int((np.asarray(weight) > 0).sum())


def read(part: tuple[Any, Any, Any], schema: Schema) -> Sample:
    """All rows, with the columns and classes of all partitions."""
    return read_part(*part, schema)
