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


class Subgraph(NamedTuple):
    """How a partition is computed: ``graph`` makes the pieces with these keys."""

    number: int
    keys: tuple[Any, ...]
    graph: dict[Any, Any]
    inputs: tuple[Any, ...]  # the keys of results of other tasks

    def pieces(self, results: Mapping[Any, Any]) -> Sequence[Any]:
        """Compute them here."""
        given = {key: (partial(_same, results[key]),) for key in self.inputs}
        pieces: Sequence[Any] = get_sync(self.graph | given, list(self.keys))
        return pieces


class Group:
    """Some partitions that one task computes, one after the other."""

    # not a tuple or data class, in which Dask looks for tasks

    def __init__(
        self,
        split: Callable[..., Any],
        parts: Sequence[Subgraph],
        inputs: Sequence[Any],
        first: Sequence[int] | None,
    ) -> None:
        self._split, self._parts, self._inputs, self._first = split, parts, inputs, first

    def each(self, function: Callable[..., Any], results: Sequence[Any]) -> Iterator[Any]:
        """What a function of rows, labels and weights gives for every partition."""
        by_key = dict(zip(self._inputs, results, strict=True))
        for i, part in enumerate(self._parts):
            pieces = in_partition(part.number, part.pieces, by_key)
            options = {} if self._first is None else {"first": self._first[i]}
            yield in_partition(part.number, function, *self._split(*pieces), **options)


def use_group(
    group: Group, use: Callable[..., Any], function: Any, args: Any, results: Sequence[Any]
) -> Any:
    """Use what a function gives for some partitions."""
    return use(group.each(function, results), *args)


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


def read(X: Any, y: Any, weight: Any, first: int = 0, *, reader: PartReader) -> PartRows:
    """All rows, with the columns and classes of all partitions."""
    return reader.read(X, y, weight, first)
