"""The partitions of a table, many of them in one task.

A task for each of them would cost the scheduler more than small partitions cost the workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import Any

from treebound._extras import require
from treebound.dask.tasks import (
    Group,
    PartitionError,
    Subgraph,
    as_they_are,
    in_partition,
    use_group,
)
from treebound.dask.waiting import gathered, waited
from treebound.data.parts import PartRows

# Tasks for each thread of the cluster, at most.
_TASKS = 4


class Partitions:
    """The delayed objects of every partition; ``split`` makes rows, labels and weights of them."""

    def __init__(
        self, pieces: Sequence[tuple[Any, ...]], split: Callable[..., Any] = as_they_are
    ) -> None:
        self.pieces, self._split = pieces, split
        self._kept: dict[int, Sequence[Any]] = {}

    def __len__(self) -> int:
        return len(self.pieces)

    # -- on a cluster ------------------------------------------------------------------------

    def keep(self, client: Any, numbers: Iterable[int]) -> None:
        """Keep some partitions on the workers, until they are released; they are read once."""
        if client is not None:
            self._kept = {k: client.persist(list(self._pieces(k))) for k in numbers}

    def release(self) -> None:
        """Keep nothing any more."""
        self._kept = {}

    def groups(self, client: Any, numbers: Sequence[int], least: int = 1) -> list[list[int]]:
        """Partitions that one task is to compute: of one worker, if they are on workers."""
        n_threads = sum(client.nthreads().values())
        size = -(-len(numbers) // max(_TASKS * n_threads, least)) if n_threads else 1
        if size == 1:
            return [[k] for k in numbers]
        by_home: dict[Any, list[int]] = {}
        homes = self._homes(client, numbers)
        for k in numbers:
            by_home.setdefault(homes[k], []).append(k)
        return [mine[i : i + size] for mine in by_home.values() for i in range(0, len(mine), size)]

    def task(
        self,
        group: Sequence[int],
        use: Callable[..., Any],
        function: Any,
        *args: Any,
        first: Sequence[int] | None = None,
        key: str | None = None,
    ) -> Any:
        """A task that uses what a function gives for each of some partitions, in their order.

        The function takes rows, labels and weights; with ``first``, also the number of the first
        row. ``use`` takes an iterator, and the other arguments.
        """
        graphs = [self._graph(k) if len(group) > 1 else _of_others(self._pieces(k)) for k in group]
        numbered = [
            Subgraph(k, keys, graph, tuple(inputs))
            for k, (keys, graph, inputs) in zip(group, graphs, strict=True)
        ]
        inputs = {name: given for _, _, own in graphs for name, given in own.items()}
        own = None if first is None else [first[k] for k in group]
        task = _dask().delayed(use_group, pure=False)
        work = Group(self._split, numbered, list(inputs), own)
        return task(work, use, function, args, list(inputs.values()), dask_key_name=key)

    def each(
        self,
        client: Any,
        function: Callable[..., Any],
        numbers: Iterable[int] | None = None,
        first: Sequence[int] | None = None,
    ) -> list[Any]:
        """What a function of rows, labels and weights gives, by the cluster or here."""
        numbers = list(range(len(self)) if numbers is None else numbers)
        if client is None:
            return [
                self._here(k, function, {} if first is None else {"first": first[k]})
                for k in numbers
            ]
        groups = self.groups(client, numbers)
        futures = client.compute(
            [self.task(group, list, function, first=first) for group in groups]
        )
        try:
            told = gathered(client, futures, lambda i: f"The rows of {in_words(groups[i])}")
        except PartitionError:
            raise
        except Exception:
            for group, future in zip(groups, futures, strict=True):
                if future.status == "error":
                    in_partition(group[0], future.result)
            raise
        by_number = dict(zip(chain(*groups), chain(*told), strict=True))
        return [by_number[k] for k in numbers]

    def _homes(self, client: Any, numbers: Sequence[int]) -> dict[int, Any]:
        """The worker that has a partition; its number where tasks of others are needed for it."""
        needed = {k: list(self._graph(k)[2].values()) for k in numbers}
        futures = {k: own[0] for k, own in needed.items() if own and not hasattr(own[0], "dask")}
        waited(
            client, list(futures.values()), lambda i: f"The rows of partition {list(futures)[i]}"
        )
        held = client.who_has(list(futures.values())) if futures else {}
        homes: dict[int, Any] = {k: k if own else "" for k, own in needed.items()}
        return homes | {k: (held.get(f.key) or [k])[0] for k, f in futures.items()}

    def _pieces(self, number: int) -> Sequence[Any]:
        """Those of a partition, with no other's tasks."""
        keys, graph, futures = self._graphs[number]
        delayed = require("dask.delayed", extra="dask", why="DaskBoundTreeClassifier").Delayed
        return [delayed(k, graph | futures) for k in keys] if graph else self.pieces[number]

    def _graph(self, number: int) -> _Parts:
        """The keys of the pieces, the graph that makes them, and what it needs."""
        if number not in self._kept:
            return self._graphs[number]
        return _own_graph(self._kept[number], _merged(self._kept[number]))

    @cached_property
    def _graphs(self) -> list[_Parts]:
        merged = _merged(list(chain(*self.pieces)))
        graphs = [_own_graph(pieces, merged) for pieces in self.pieces]
        owners: dict[Any, int] = {}
        shared = set()
        for k, (_, graph, _) in enumerate(graphs):
            for key in graph:
                if owners.setdefault(key, k) != k:
                    shared |= {k, owners[key]}
        return [_of_others(self.pieces[k]) if k in shared else own for k, own in enumerate(graphs)]

    # -- without one -------------------------------------------------------------------------

    def here(self, read: Callable[..., PartRows]) -> Iterator[PartRows]:
        """The rows, one partition after the other, by the local scheduler."""
        first = 0
        for number in range(len(self)):
            part: PartRows = self._here(number, read, {"first": first})
            first += part.n_rows
            yield part

    def _here(self, number: int, function: Callable[..., Any], options: dict[str, Any]) -> Any:
        pieces = in_partition(number, _dask().compute, *self.pieces[number])
        return in_partition(number, function, *self._split(*pieces), **options)


# The keys of pieces; the tasks that make them; and objects of Dask whose results these need.
_Parts = tuple[tuple[Any, ...], dict[Any, Any], dict[Any, Any]]


def _of_others(pieces: Sequence[Any]) -> _Parts:
    """Pieces that are made by tasks of their own."""
    return tuple(piece.key for piece in pieces), {}, {piece.key: piece for piece in pieces}


def _own_graph(pieces: Sequence[Any], merged: dict[Any, Any]) -> _Parts:
    """All tasks that make some pieces, and futures that they need.

    Where a task is of an unknown form, or must run on a worker that the scheduler chooses, the
    pieces are made by tasks of their own.
    """
    keys = tuple(piece.key for piece in pieces)
    graph, futures, left = {}, {}, list(keys)
    while left:
        key = left.pop()
        if key in graph or key in futures:
            continue
        task: Any = merged.get(key)
        module = getattr(getattr(task, "func", None), "__module__", "") or ""
        if hasattr(task, "key") and hasattr(task, "client"):
            futures[key] = task
        elif hasattr(task, "dependencies") and not module.startswith("distributed."):
            graph[key] = task
            left += task.dependencies
        else:
            return _of_others(pieces)
    return keys, graph, futures


def _merged(pieces: Sequence[Any]) -> dict[Any, Any]:
    """The tasks of all pieces; none where they are bound to some workers."""
    graphs = {id(piece.dask): piece.dask for piece in pieces if hasattr(piece, "dask")}
    layers = [layer for graph in graphs.values() for layer in getattr(graph, "layers", {}).values()]
    if any(layer.annotations for layer in layers):
        return {}
    return {key: task for graph in graphs.values() for key, task in graph.items()}


def in_words(group: Sequence[int]) -> str:
    """The numbers of some partitions."""
    some = ", ".join(map(str, group[:5])) + (", ..." if len(group) > 5 else "")
    return f"partition{'s' * (len(group) > 1)} {some}"


def _dask() -> Any:
    return require("dask", extra="dask", why="DaskBoundTreeClassifier")
