"""Shards on the workers of a Dask cluster: the verbs of an engine as tasks.

A shard is a partition that a task read and coded. Some shards of one worker are a bundle, which one
task works on; which rows its nodes have is the result of another, made anew in every round. Tasks
are pure, so what a lost worker had is computed again by Dask. Values are in files on the worker
that coded the partition; where a bundle was moved away from its files, its partitions are read and
coded again.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound._extras import require
from treebound.data import Sample
from treebound.growing._bins import Bins
from treebound.growing.naming import row_numbers
from treebound.growing.rounds.looking import Answer, Question, add_answers, look_into
from treebound.growing.rounds.several import (
    count_several,
    gather_several,
    recode_several,
    sum_of,
    weigh_several,
)
from treebound.growing.rounds.shard import (
    Facts,
    Names,
    Piece,
    Rows,
    Shard,
    ShardSplit,
    Subtree,
    code_sample,
    grow_subtree,
    last_names,
    name_splits,
    part_rows,
)
from treebound.growing.rounds.spill import mapped
from treebound.growing.units import WeightTotal
from treebound.tree.model import Tree

__all__ = ["DaskEngine", "PartitionError"]

_WHO = {"extra": "dask", "why": "Growing on Dask"}
# Results that one task puts together.
_FAN = 8
# Rows of a bundle at most; a thread has one where they are fewer.
_BUNDLE_ROWS = 1 << 23
# How often a partition is coded again, or a verb tried again, before the error is the user's.
_TRIES = 5


# Shards that one task works on, and what was found when they were made.
Bundle = tuple[list[Shard], Any]


class PartitionError(RuntimeError):
    """A partition could not be read or coded; the message has its number."""


class ValuesLost(Exception):
    """The file with the values of a shard is not on this machine."""


@dataclass(frozen=True)
class FileValues:
    """The values of a shard in a file of the worker that coded it."""

    path: str
    n_rows: int
    places: tuple[tuple[int, str] | None, ...]

    @classmethod
    def write(cls, folder: str, columns: Sequence[NDArray[Any] | None]) -> FileValues:
        """Keep the values of some rows, a column each; None where they are not needed."""
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, uuid.uuid4().hex)
        places: list[tuple[int, str] | None] = []
        n_rows = 0
        with open(path, "wb") as file:
            for values in columns:
                if values is None:
                    places.append(None)
                    continue
                n_rows = len(values)
                places.append((file.tell(), values.dtype.str))
                np.ascontiguousarray(values).tofile(file)
        return cls(path, n_rows, tuple(places))

    def column(self, j: int) -> NDArray[Any]:
        """The values of a column."""
        place = self.places[j]
        assert place is not None
        try:
            with open(self.path, "rb", buffering=0) as file:
                return mapped(file, place[0], self.n_rows, np.dtype(place[1]))
        except FileNotFoundError:
            raise ValuesLost(self.path) from None


# -- tasks -------------------------------------------------------------------------------------


def _folder(worker: Any, token: str) -> str:
    """Where a worker keeps files of a fit; gone with the worker."""
    return os.path.join(worker.local_directory, f"treebound-{token}")


def _clean(token: str, dask_worker: Any = None) -> None:
    shutil.rmtree(_folder(dask_worker, token), ignore_errors=True)


def _same(value: Any) -> Any:
    return value


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


def _coded(
    number: int, read: Callable[..., Sample], raw: Sequence[Any], bins: Bins, token: str
) -> tuple[Shard, Facts]:
    sample = in_partition(number, read, *raw)
    kept = [
        None if by_code else values
        for by_code, values in zip(bins.by_code, sample.X.values, strict=True)
    ]
    folder = _folder(require("distributed", **_WHO).get_worker(), token)
    return code_sample(sample, bins, FileValues.write(folder, kept))


def _weighed(
    coded: Sequence[tuple[Shard, Facts]], total: WeightTotal, n_classes: int
) -> tuple[list[Shard], NDArray[np.int64]]:
    """Coded partitions as a bundle."""
    return weigh_several([shard for shard, _ in coded], total, n_classes)


def _recoded(bundle: Bundle, bins: Bins, finer: Bins) -> tuple[list[Shard], Facts]:
    return recode_several(bundle[0], bins, finer)


def _second(pair: tuple[Any, Any]) -> Any:
    return pair[1]


def _all_rows(bundle: Bundle) -> list[Rows]:
    return [Rows.all(len(shard.labels)) for shard in bundle[0]]


def _count(
    bundle: Bundle,
    rows: Sequence[Rows],
    bins: Bins,
    n_classes: int,
    slots: NDArray[np.int32],
    wide: bool,
) -> NDArray[Any]:
    return count_several(bundle[0], rows, bins, n_classes, slots, wide=wide)


def _look(
    bundle: Bundle,
    rows: Sequence[Rows],
    bins: Bins,
    n_classes: int,
    questions: Mapping[int, Question],
) -> dict[int, Answer]:
    return look_into(bundle[0], rows, bins, n_classes, questions)


def _part(
    bundle: Bundle, rows: Sequence[Rows], bins: Bins, splits: Sequence[ShardSplit]
) -> list[Rows]:
    return [
        part_rows(shard, mine, bins, splits) for shard, mine in zip(bundle[0], rows, strict=True)
    ]


def _gather(bundle: Bundle, rows: Sequence[Rows], bins: Bins, slots: Sequence[int]) -> list[Piece]:
    return gather_several(bundle[0], rows, bins, slots)


def _some(pieces: Sequence[Piece], places: Sequence[int]) -> list[Piece]:
    return [pieces[place] for place in places]


def _finish(
    pieces: Sequence[Sequence[Piece]], kernels: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The trees below some nodes, from the pieces that every bundle has of them."""
    return [grow_subtree(parts, kernel) for *parts, kernel in zip(*pieces, kernels, strict=True)]


def _name(
    bundle: Bundle,
    bins: Bins,
    tree: Tree,
    starts: Sequence[int],
    numbers: Sequence[NDArray[np.int64]],
) -> Names:
    return last_names(
        [
            name_splits(shard, bins, tree, np.arange(start, start + len(some)), some)
            for shard, start, some in zip(bundle[0], starts, numbers, strict=True)
        ]
    )


def _finished(wait: Callable[[Any], Any], futures: list[Any]) -> list[Any]:
    """The futures once all are done; the first error is raised."""
    wait(futures)
    for future in futures:
        if future.status == "error":
            future.result()
    return list(futures)


# -- the engine --------------------------------------------------------------------------------


class DaskEngine:
    """Bundles of shards as futures of a cluster.

    Parameters
    ----------
    client : distributed.Client
    raw : sequence of tuple
        What ``read`` takes, for each partition: delayed objects.
    read : callable
        Makes a ``Sample`` of a partition; it is sent to the workers.
    bins : Bins
    n_classes : int
    """

    def __init__(
        self,
        client: Any,
        raw: Sequence[tuple[Any, ...]],
        read: Callable[..., Sample],
        bins: Bins,
        n_classes: int,
    ) -> None:
        self._client, self._raw = client, raw
        self.bins, self._n_classes = bins, n_classes
        self._token = uuid.uuid4().hex
        self._bins = self._submit(_same, bins)
        self._read = self._submit(_same, read)
        self._bundles: list[Any] = []
        self._rows: list[Any] = []
        self._history: list[Any] = []  # the splits of every round
        coded = self._code(range(len(raw)))
        try:
            self._start(coded)
        except BaseException:
            self._client.cancel(coded)
            self.close()
            raise

    def _start(self, coded: list[Any]) -> None:
        """Wait for the codes; weights are made integers once their sum is known."""
        facts = self._gathered([self._submit(_second, one) for one in coded])
        self.facts: Facts = reduce(add, facts)
        self._sizes = [one.n_rows for one in facts]
        self._groups = self._grouped(coded)
        self._bundles = [self._weigh([coded[i] for i in group]) for group in self._groups]
        self._rows = [self._submit(_all_rows, bundle) for bundle in self._bundles]
        counts = self._gathered([self._submit(_second, bundle) for bundle in self._bundles])
        self.counts = np.zeros(self._n_classes, dtype=np.int64)
        for some in counts:
            self.counts += some

    def close(self) -> None:
        """Let go of everything on the workers."""
        self._bundles, self._rows, self._history = [], [], []
        try:
            self._client.run(_clean, self._token, on_error="ignore")
        except Exception:  # a cluster that is gone has nothing to clean
            return

    # -- tasks -----------------------------------------------------------------------------

    def _submit(self, function: Callable[..., Any], *args: Any) -> Any:
        return self._client.submit(function, *args, pure=False)

    def _code(self, numbers: Sequence[int], worker: str | None = None) -> list[Any]:
        """Futures of coded partitions, sent together; rows and labels of one are read once.

        ``worker`` is where they should be, if it lives.
        """
        code = require("dask", **_WHO).delayed(_coded, pure=False)
        tasks = [code(i, self._read, list(self._raw[i]), self._bins, self._token) for i in numbers]
        where = {} if worker is None else {"workers": [worker], "allow_other_workers": True}
        return list(self._client.compute(tasks, **where))

    def _grouped(self, coded: list[Any]) -> list[list[int]]:
        """Partitions that become one bundle: of one worker, so few that all threads have some.

        A task costs milliseconds whatever it does, and every verb is a task for each bundle.
        """
        holders = self._client.who_has(coded)
        by_worker: dict[str, list[int]] = {}
        for i, one in enumerate(coded):
            by_worker.setdefault(min(holders.get(one.key) or ("",)), []).append(i)
        n_threads = self._client.nthreads()
        groups = []
        for worker, mine in by_worker.items():
            rows = sum(self._sizes[i] for i in mine)
            many = max(n_threads.get(worker, 1), rows // _BUNDLE_ROWS)
            share, held = max(1, rows // many), 0
            group: list[int] = []
            for i in mine:
                group.append(i)
                held += self._sizes[i]
                if held >= share:
                    groups.append(group)
                    group, held = [], 0
            if group:
                groups.append(group)
        return groups

    def _weigh(self, coded: list[Any]) -> Any:
        return self._submit(_weighed, coded, self.facts.total, self._n_classes)

    def _gathered(self, futures: list[Any]) -> list[Any]:
        return list(self._client.gather(futures))

    def _tried(self, start: Callable[[int], Any], end: Callable[[list[Any]], Any]) -> Any:
        """Start a task for every bundle and end with all of them; lost values are read again."""
        futures = [start(i) for i in range(len(self._bundles))]
        for left in reversed(range(_TRIES)):
            try:
                return end(futures)
            except ValuesLost:
                if not left:
                    raise PartitionError(
                        "The files with the values of some partitions are lost again and again. "
                        "Hint: do not let workers share or empty their local directories."
                    ) from None
            for i, future in enumerate(futures):
                if future.status == "error" and isinstance(future.exception(), ValuesLost):
                    self._renew(i)
                    futures[i] = start(i)
        raise AssertionError

    def _renew(self, i: int) -> None:
        """Read and code the partitions of a bundle again, and part its rows as they were.

        On one worker, as no other may be able to read the files.
        """
        workers = sorted(self._client.nthreads())
        worker = workers[i % len(workers)] if workers else None
        self._bundles[i] = self._weigh(self._code(self._groups[i], worker))
        rows = self._submit(_all_rows, self._bundles[i])
        for splits in self._history:
            rows = self._submit(_part, self._bundles[i], rows, self._bins, splits)
        self._rows[i] = rows

    def _reduced(self, function: Callable[[Any], Any], futures: list[Any]) -> Any:
        """Put results together: many on the workers, some at a time, and few here."""
        while len(futures) > _FAN:
            futures = [
                self._submit(function, futures[i : i + _FAN]) for i in range(0, len(futures), _FAN)
            ]
        return function(self._gathered(futures))

    # -- verbs -----------------------------------------------------------------------------

    def recode(self, bins: Bins) -> None:
        """Code all rows in other bins."""
        wait = require("distributed", **_WHO).wait
        finer, total = self._submit(_same, bins), self.facts.total
        coded = self._tried(
            lambda i: self._submit(_recoded, self._bundles[i], self._bins, finer),
            lambda futures: _finished(wait, futures),
        )
        facts = self._gathered([self._submit(_second, one) for one in coded])
        self.bins, self._bins = bins, finer
        self.facts = replace(reduce(add, facts), total=total)
        self._bundles = coded

    def count(self, slots: NDArray[np.int32]) -> NDArray[Any]:
        """The histograms of some nodes."""
        wide = self.facts.n_rows >= 2**32
        asked = self._submit(_same, slots)
        found: NDArray[Any] = self._tried(
            lambda i: self._submit(
                _count, self._bundles[i], self._rows[i], self._bins, self._n_classes, asked, wide
            ),
            lambda futures: self._reduced(sum_of, futures),
        )
        return found

    def look(self, questions: Mapping[int, Question]) -> dict[int, Answer]:
        """What is inside intervals of columns."""
        asked = self._submit(_same, dict(questions))
        found: dict[int, Answer] = self._tried(
            lambda i: self._submit(
                _look, self._bundles[i], self._rows[i], self._bins, self._n_classes, asked
            ),
            lambda futures: self._reduced(add_answers, futures),
        )
        return found

    def part(self, splits: Sequence[ShardSplit]) -> None:
        """Go on with the children of nodes."""
        wait = require("distributed", **_WHO).wait
        asked = self._submit(_same, list(splits))

        self._rows = self._tried(
            lambda i: self._submit(_part, self._bundles[i], self._rows[i], self._bins, asked),
            lambda futures: _finished(wait, futures),
        )
        self._history.append(asked)

    def finish(self, subtrees: Sequence[Subtree]) -> list[dict[str, Any]]:
        """What is below small nodes: every worker gets the rows of some of them."""
        n_groups = max(1, min(len(subtrees), 2 * len(self._client.nthreads())))
        places = [list(range(k, len(subtrees), n_groups)) for k in range(n_groups)]
        slots = [subtree.slot for subtree in subtrees]

        def end(pieces: list[Any]) -> list[Any]:
            # only what a worker needs is sent to it
            return self._gathered(
                [
                    self._submit(
                        _finish,
                        [self._submit(_some, one, some) for one in pieces],
                        [subtrees[k].kernel for k in some],
                    )
                    for some in places
                ]
            )

        found = self._tried(
            lambda i: self._submit(_gather, self._bundles[i], self._rows[i], self._bins, slots), end
        )
        arrays = {
            k: one
            for some, group in zip(places, found, strict=True)
            for k, one in zip(some, group, strict=True)
        }
        return [arrays[k] for k in range(len(subtrees))]

    def name(self, tree: Tree) -> NDArray[np.int64]:
        """The rows that name the splits of a tree."""
        numbers = row_numbers(self.facts.n_rows)
        stops = np.cumsum(self._sizes)
        starts = (stops - self._sizes).tolist()
        sent = self._submit(_same, tree)

        def start(i: int) -> Any:
            group = self._groups[i]
            mine = [numbers[starts[k] : stops[k]] for k in group]
            first = [starts[k] for k in group]
            return self._submit(_name, self._bundles[i], self._bins, sent, first, mine)

        return last_names(self._tried(start, self._gathered)).rows
