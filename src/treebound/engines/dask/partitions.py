"""The partitions of a table, many of them in one task.

A task for each of them would cost the scheduler more than small partitions cost the workers.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from treebound._utils.extras import require
from treebound._utils.validation import invalid
from treebound.data.draws import Tenth
from treebound.data.frames import read_columns
from treebound.data.groups import column_labels
from treebound.data.learned import (
    PartFacts,
    nothing_but_rows,
    number_summaries,
    some_numbers,
)
from treebound.data.number_sample import AnySample
from treebound.data.numbers import read_numbers
from treebound.data.parts import START, BaseReader, PartRows, PartStart, learn_part
from treebound.data.ranks import CountedBits, LeadingBits, count_bits
from treebound.data.roles import check_names
from treebound.data.streams import is_on_dask
from treebound.data.summaries import ColumnSummary
from treebound.engines.dask.waiting import PartitionError, gathered, waited

# Tasks for each thread of the cluster, about.
_TASKS = 4
# Columns that no table has.
_NAMES = {"y": "\0treebound label", "sample_weight": "\0treebound weight"}


class Subgraph(NamedTuple):
    """The tasks of a partition: ``graph`` computes the pieces of these keys from its inputs."""

    keys: list[Any]
    graph: dict[Any, Any]
    needs: dict[Any, Any]  # futures, or delayed objects, by their keys


# -- on a worker: what a partition is before it is coded -----------------------------------------


def in_partition(number: int, function: Callable[..., Any], /, *args: Any, **options: Any) -> Any:
    """Call a function; add the number of the partition to errors."""
    try:
        return function(*args, **options)
    except Exception as error:
        if str(error).startswith("Partition "):
            raise
        if isinstance(error, ValueError | TypeError):
            raise type(error)(f"Partition {number}: {error}") from error
        raise PartitionError(
            f"Partition {number} failed with {type(error).__name__}: {error}"
        ) from error


def _on_group(
    split: Callable[..., Any],
    work: Sequence[tuple[int, Subgraph, dict[str, Any]]],
    use: Callable[..., Any],
    function: Callable[..., Any],
    args: Sequence[Any],
    needs: Sequence[Sequence[Any]],
) -> Any:
    """Use what a function gives for some partitions, which are computed one after the other."""
    get_sync = _dask("local").get_sync

    def each() -> Iterator[Any]:
        for (number, part, more), inputs in zip(work, needs, strict=True):
            values = {
                key: (partial(same, value),) for key, value in zip(part.needs, inputs, strict=True)
            }
            pieces = in_partition(number, get_sync, part.graph | values, part.keys)
            yield in_partition(number, function, *split(*pieces), **more)

    return use(each(), *args)


def _as_they_are(X: Any, y: Any = None, weight: Any = None) -> tuple[Any, Any, Any]:
    return X, y, weight


def same(value: Any) -> Any:
    """The value, as the result of a task."""
    return value


def learn(X: Any, y: Any, weight: Any, **options: Any) -> PartFacts:
    """Learn columns and classes from the rows, labels and weights of a partition."""
    if not len(X.columns if hasattr(X, "columns") else X[:1].T):
        X = nothing_but_rows(len(y))
    return learn_part(X, y, weight, **options)


def numbers(X: Any, _: Any, weight: Any, names: list[str]) -> dict[str, Any]:
    """Values of some rows."""
    return some_numbers(X[names], weight, names)


def summaries(
    X: Any,
    _: Any,
    weight: Any,
    names: list[str],
    calibration: Tenth | None = None,
    first: PartStart = START,
) -> tuple[ColumnSummary, ...]:
    """The summaries of columns of numbers, without calibration rows."""
    table = read_columns(X[names]) if len(X) else None
    return number_summaries(table, weight, names, calibration, first.row)


def group_labels(X: Any, y: Any, weight: Any, name: str | None) -> Any:
    """The groups of the rows of a weight above zero: a column, or y of an array."""
    return column_labels(y if name is None else X[name], weight, name or "groups")


def number_bits(
    _: Any,
    y: Any,
    weight: Any,
    leading: LeadingBits,
    calibration: Tenth | None = None,
    first: PartStart = START,
) -> list[CountedBits]:
    """Count the bits of the numbers of the target, without calibration rows."""
    numbers = read_numbers(y) if len(y) else np.empty(0)
    if weight is not None:
        numbers = numbers[np.asarray(weight) > 0]
    if calibration is not None:
        numbers = numbers[~calibration.has(first.row + np.arange(len(numbers)))]
    return count_bits(numbers, leading)


# -- by the client -------------------------------------------------------------------------------


class Partitions:
    """Partitions as delayed objects; ``split`` makes rows, labels and weights of those of one."""

    def __init__(
        self, client: Any, pieces: Sequence[Sequence[Any]], split: Callable[..., Any] = _as_they_are
    ) -> None:
        self.client = client  # None: the local scheduler
        self._parts = self._lazy = _subgraphs(pieces)
        self._split = split

    def __len__(self) -> int:
        return len(self._parts)

    def keep(self, numbers: Sequence[int]) -> None:
        """Keep some partitions on the workers until they are released; they are read once."""
        self._parts = list(self._lazy)
        for k in numbers if self.client is not None else ():
            pieces = self.client.persist(_pieces(self._lazy[k]))
            self._parts[k] = _own_graph(pieces, _merged(pieces))

    def release(self) -> None:
        """Keep nothing any more."""
        self._parts = self._lazy

    def groups(self, numbers: Sequence[int], least: int = 1) -> list[list[int]]:
        """Partitions that one task is to compute: of one worker, if they are on workers."""
        n_threads = sum(self.client.nthreads().values())
        size = -(-len(numbers) // max(_TASKS * n_threads, least)) if n_threads else 1
        if size == 1:
            return [[k] for k in numbers]
        by_home: dict[Any, list[int]] = {}
        for k, home in zip(numbers, self._homes(numbers), strict=True):
            by_home.setdefault(home, []).append(k)
        return [mine[i : i + size] for mine in by_home.values() for i in range(0, len(mine), size)]

    def _homes(self, numbers: Sequence[int]) -> list[Any]:
        """The worker that has a partition; its number if it needs tasks that others need too."""
        futures, homes = dict[int, Any](), dict[int, Any]()
        for k in numbers:
            for need in self._parts[k].needs.values():
                if _is_future(need):
                    futures.setdefault(k, need)
                else:
                    homes[k] = k
        wanted = list(futures.values())
        waited(self.client, wanted, lambda i: f"The rows of partition {list(futures)[i]}")
        holders = self.client.who_has(wanted) if wanted else {}
        homes |= {k: (*holders.get(future.key, ()), "")[0] for k, future in futures.items()}
        return [homes.get(k, "") for k in numbers]

    def task(
        self,
        group: Sequence[int],
        use: Callable[..., Any],
        function: Any,
        *args: Any,
        first: Sequence[PartStart] | None = None,
        key: str | None = None,
    ) -> Any:
        """A task that uses what a function gives for each of some partitions, in their order.

        The function takes rows, labels and weights; with ``first``, also the start of the
        partition. ``use`` takes an iterator, and the other arguments.
        """
        parts = [self._parts[k] for k in group]
        if len(parts) == 1:  # what it needs may be made in parallel
            parts = [_of_tasks(_pieces(parts[0]))]
        more = [{} if first is None else {"first": first[k]} for k in group]
        work = [
            (k, part._replace(needs=dict.fromkeys(part.needs)), options)
            for k, part, options in zip(group, parts, more, strict=True)
        ]
        task = _dask("delayed").delayed(partial(_on_group, self._split, work), pure=False)
        needs = [list(part.needs.values()) for part in parts]
        return task(use, function, args, needs, dask_key_name=key)

    def each(
        self,
        function: Callable[..., Any],
        numbers: Sequence[int] | None = None,
        first: Sequence[PartStart] | None = None,
    ) -> list[Any]:
        """Call a function of rows, labels and weights for each partition; return the results."""
        numbers = range(len(self)) if numbers is None else numbers
        if self.client is None:
            more = [{} if first is None else {"first": first[k]} for k in numbers]
            return [
                self._here(k, function, options) for k, options in zip(numbers, more, strict=True)
            ]
        groups = self.groups(numbers)
        tasks = [self.task(group, list, function, first=first) for group in groups]
        futures = self.client.compute(tasks)
        try:
            results = gathered(self.client, futures, lambda i: f"The rows of {in_words(groups[i])}")
        except PartitionError:
            raise
        except Exception:
            for group, future in zip(groups, futures, strict=True):
                if future.status == "error":
                    in_partition(group[0], future.result)
            raise
        by_number = dict(zip(chain(*groups), chain(*results), strict=True))
        return [by_number[k] for k in numbers]

    def here(self, reader: BaseReader[AnySample]) -> Iterator[PartRows[AnySample]]:
        """The rows, one partition after the other, by the local scheduler."""
        first = START
        for number in range(len(self)):
            part: PartRows[AnySample] = self._here(number, reader.read, {"first": first})
            first = reader.after(part, first)
            yield part

    def _here(self, number: int, function: Callable[..., Any], options: dict[str, Any]) -> Any:
        pieces = in_partition(number, _dask("base").compute, *_pieces(self._parts[number]))
        return in_partition(number, function, *self._split(*pieces), **options)


def _subgraphs(pieces: Sequence[Sequence[Any]]) -> list[Subgraph]:
    """Return how each partition is computed: by itself, or by tasks that it shares with others.

    The tasks of a shuffle, which are bound to workers, are shared.
    """
    merged = _merged(list(chain(*pieces)))
    parts = [_own_graph(some, merged) for some in pieces]
    users: dict[Any, int] = {}
    shared = set()
    for k, part in enumerate(parts):
        for key in part.graph:
            if users.setdefault(key, k) != k:
                shared |= {k, users[key]}
    return [_of_tasks(pieces[k]) if k in shared else part for k, part in enumerate(parts)]


def _merged(pieces: Sequence[Any]) -> dict[Any, Any]:
    """Return the tasks of all pieces; none if some are bound to workers by annotations."""
    graphs = [piece.__dask_graph__() for piece in pieces if not _is_future(piece)]
    graphs = list({id(graph): graph for graph in graphs}.values())
    layers = [layer for graph in graphs for layer in getattr(graph, "layers", {}).values()]
    if any(layer.annotations for layer in layers):
        return {}
    return {key: task for graph in graphs for key, task in graph.items()}


def _own_graph(pieces: Sequence[Any], merged: dict[Any, Any]) -> Subgraph:
    """Return all tasks that compute some pieces, and the futures that they need."""
    keys = [piece.key for piece in pieces]
    if not merged.keys() >= set(keys):
        return _of_tasks(pieces)
    tasks, _ = _dask("optimization").cull(merged, keys)
    futures = {key: task for key, task in tasks.items() if _is_future(task)}
    return Subgraph(keys, {key: tasks[key] for key in tasks.keys() - futures.keys()}, futures)


def _is_future(value: Any) -> bool:
    """Return True for a result that is computed or stored on a cluster."""
    distributed = sys.modules.get("distributed")  # not loaded: it is none
    return distributed is not None and isinstance(value, distributed.Future)


def _of_tasks(pieces: Sequence[Any]) -> Subgraph:
    """Pieces that are made by tasks of the scheduler."""
    return Subgraph([piece.key for piece in pieces], {}, {piece.key: piece for piece in pieces})


def _pieces(part: Subgraph) -> list[Any]:
    """The delayed objects of a partition, without the tasks of others."""
    if not part.graph:
        return [part.needs[key] for key in part.keys]
    return [_dask("delayed").Delayed(key, part.graph | part.needs) for key in part.keys]


def in_words(group: Sequence[int]) -> str:
    """The numbers of some partitions."""
    some = ", ".join(map(str, group[:5])) + (", ..." if len(group) > 5 else "")
    return f"partition{'s' * (len(group) > 1)} {some}"


def _dask(module: str) -> Any:
    return require(f"dask.{module}", extra="dask", why="A table on Dask")


# -- of collections ------------------------------------------------------------------------------


def is_frame(X: Any) -> bool:
    """Return True if X is a Dask DataFrame."""
    return is_on_dask(X) and hasattr(X, "map_partitions") and hasattr(X, "columns")


def is_array(X: Any) -> bool:
    """Return True if X is a Dask Array."""
    return is_on_dask(X) and hasattr(X, "rechunk")


def partitions(client: Any, X: Any, y: Any, weight: Any) -> Partitions:
    """The partitions of what :func:`with_labels` gives."""
    if isinstance(y, str):
        split = partial(_split_frame, label=y, weight=weight)
        return Partitions(client, [(part,) for part in X.to_delayed()], split)
    parts = [_delayed(collection) for collection in (X, y, weight) if collection is not None]
    if len({len(part) for part in parts}) > 1:
        raise ValueError(
            "X, y and sample_weight must have the same partitions. Got "
            f"{', '.join(str(len(part)) for part in parts)} partitions instead. "
            "Hint: make them from one DataFrame, or rechunk them alike."
        )
    return Partitions(client, list(zip(*parts, strict=True)))


def with_labels(X: Any, y: Any, weight: Any) -> tuple[Any, Any, Any]:
    """A frame with labels and weights as columns, and their names: each partition is read once.

    Or collections side by side, whose rows go by their place: arrays, and frames where Dask does
    not know which index each partition has and that are not columns of one frame.
    """
    given = {"y": y, "sample_weight": weight}
    named = {parameter: name for parameter, name in given.items() if not is_on_dask(name)}
    if not is_frame(X):
        for parameter, value in named.items():
            if parameter == "y" or value is not None:
                raise invalid(parameter, "fit", "a Dask collection, as X is one", type(value))
        return X, y, weight
    check_names("fit", list(X.columns), "the frame (or a Dask collection)", **named)
    separate = {
        _NAMES[parameter]: given[parameter] for parameter in given if parameter not in named
    }
    if all(_has_rows_of(X, collection) for collection in separate.values()):
        names = _NAMES | named
        if not separate:
            return X, names["y"], names["sample_weight"]
        try:
            joined = X.assign(**separate)
            len(joined.divisions)  # an impossible join is an error here, not in a task
            return joined, names["y"], names["sample_weight"]
        except (ValueError, TypeError, AssertionError, NotImplementedError) as error:
            raise ValueError(
                f"Dask cannot join X, y and sample_weight by their index: {error}. Hint: make them "
                "from one DataFrame."
            ) from error
    y, weight = (X[value] if isinstance(value, str) else value for value in given.values())
    return X.drop(columns=[name for name in named.values() if name is not None]), y, weight


def check_groups(X: Any, groups: Any) -> None:
    """Raise an error for groups that are neither a column of a frame nor an array as X is one."""
    if is_frame(X):
        check_names("fit", list(X.columns), "the frame", groups=groups)
    elif groups is not None and not is_array(groups):
        raise invalid("groups", "fit", "a Dask array, as X is one", type(groups))


def _has_rows_of(frame: Any, collection: Any) -> bool:
    """Return True if rows can be found by their index, or are read by the same tasks."""
    if frame.known_divisions and getattr(collection, "known_divisions", False):
        return True
    if is_array(collection) or frame.npartitions != collection.npartitions:
        return False
    return _sources(frame) == _sources(collection)


def _sources(collection: Any) -> list[set[Any]]:
    """Return the keys of the tasks that read each partition of a collection."""
    graph, cull = dict(collection.__dask_graph__()), _dask("optimization").cull
    sources = []
    for key in collection.__dask_keys__():
        _, needs = cull(graph, [key])
        sources.append({name for name, inputs in needs.items() if not inputs})
    return sources


def plain_numbers(X: Any) -> list[str]:
    """Columns of a DataFrame of which nothing must be learned but a few values."""
    if not is_frame(X) or not all(isinstance(name, str) for name in X.columns):
        return []
    kinds = X.dtypes
    return [
        name
        for name in X.columns
        if isinstance(kinds[name], np.dtype) and kinds[name].kind in "fiu"
    ]


def _split_frame(frame: Any, label: str, weight: str | None) -> tuple[Any, Any, Any]:
    """The columns of a partition, its labels and its weights."""
    rows = frame.drop(columns=[name for name in (label, weight) if name is not None])
    return rows, frame[label], None if weight is None else frame[weight]


def _delayed(collection: Any) -> list[Any]:
    """A delayed object for every partition, not combined."""
    if not is_array(collection):
        return list(collection.to_delayed(optimize_graph=False))
    if collection.ndim == 2:
        return list(collection.rechunk({1: collection.shape[1]}).to_delayed()[:, 0])
    return list(collection.to_delayed())
