"""What workers do with a partition before it is coded.

In a file of its own, as a worker loads what stands beside the functions it is sent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from treebound.data.learned import PartFacts, nothing_but_rows, some_numbers
from treebound.data.parts import PartReader, PartRows, learn_part


class PartitionError(RuntimeError):
    """A partition could not be read or coded; the message has its number."""


def in_partition(number: int, function: Callable[..., Any], /, *args: Any, **options: Any) -> Any:
    """Call a function; an error tells the number of the partition, once."""
    try:
        return function(*args, **options)
    except Exception as error:
        if str(error).startswith(f"Partition {number}"):
            raise
        if isinstance(error, ValueError | TypeError):
            raise type(error)(f"Partition {number}: {error}") from error
        raise PartitionError(
            f"Partition {number} failed with {type(error).__name__}: {error}"
        ) from error


def learn(X: Any, y: Any, weight: Any, **options: Any) -> PartFacts:
    """What rows, labels and weights tell of columns and classes."""
    if not len(X.columns if hasattr(X, "columns") else X[:1].T):
        X = nothing_but_rows(len(y))
    return learn_part(X, y, weight, **options)


def numbers(X: Any, _: Any, weight: Any, names: list[str]) -> dict[str, Any]:
    """Values of some rows."""
    return some_numbers(X[names], weight, names)


def size(_: Any, y: Any, weight: Any) -> int:
    """How many rows have a weight above zero."""
    return len(y) if weight is None else int((np.asarray(weight) > 0).sum())


def read(X: Any, y: Any, weight: Any, first: int = 0, *, reader: PartReader) -> PartRows:
    """All rows, with the columns and classes of all partitions."""
    return reader.read(X, y, weight, first)
