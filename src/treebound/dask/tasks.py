"""What workers do with a partition before it is coded.

In a file of its own, as a worker loads what stands beside the functions it is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from dask.local import get_sync

from treebound.data.learned import PartFacts, nothing_but_rows, some_numbers
from treebound.data.parts import learn_part


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


class Subgraph(NamedTuple):
    """How a partition is computed: ``graph`` makes the pieces of these keys, of what it needs."""

    keys: Sequence[Any]
    graph: dict[Any, Any]
    needs: Mapping[Any, Any]  # futures or other results, by their keys


class Group:
    """Some partitions that one task computes, one after the other."""

    # no tuple or data class: Dask would look for tasks in it

    def __init__(
        self,
        split: Callable[..., Any],
        numbers: Sequence[int],
        parts: Sequence[Subgraph],
        first: Sequence[int] | None,
    ) -> None:
        self._split, self._numbers = split, numbers
        self._parts = [part._replace(needs=dict.fromkeys(part.needs)) for part in parts]
        self._needs = list({key: None for part in parts for key in part.needs})
        self._more = [{} if first is None else {"first": row} for row in first or numbers]

    def each(self, function: Callable[..., Any], needs: Sequence[Any]) -> Iterator[Any]:
        """What a function of rows, labels and weights gives for every partition."""
        results = dict(zip(self._needs, needs, strict=True))
        for number, part, more in zip(self._numbers, self._parts, self._more, strict=True):
            graph = part.graph | {key: (partial(_same, results[key]),) for key in part.needs}
            pieces = in_partition(number, get_sync, graph, list(part.keys))
            yield in_partition(number, function, *self._split(*pieces), **more)


def on_group(
    group: Group, use: Callable[..., Any], function: Any, args: Any, needs: Sequence[Any]
) -> Any:
    """Use what a function gives for some partitions."""
    return use(group.each(function, needs), *args)


def as_they_are(X: Any, y: Any = None, weight: Any = None) -> tuple[Any, Any, Any]:
    """The pieces of a partition that are rows, labels and weights."""
    return X, y, weight


def _same(value: Any) -> Any:
    return value


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
