"""Where shards are and who works on them: the few verbs that the driver needs.

An engine for another system has these verbs and nothing else; each is a map of a function of
``shard.py``, or ``several.py``, over the shards and a reduction of what comes back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from treebound.data import Sample
from treebound.growing._bins import Bins
from treebound.growing.naming import row_numbers
from treebound.growing.rounds.looking import Answer, Question, add_answers, look_into
from treebound.growing.rounds.several import count_several, sum_of, weigh_several
from treebound.growing.rounds.shard import (
    Facts,
    Rows,
    Shard,
    ShardSplit,
    Subtree,
    code_sample,
    gather_rows,
    grow_subtree,
    last_names,
    name_splits,
    part_rows,
    recode,
)
from treebound.tree.model import Tree

__all__ = ["Engine", "LocalEngine"]

T = TypeVar("T")


class Engine(Protocol):
    """The rows in shards, as codes, and the operations that growing in rounds needs.

    Nodes are known by their slots: at first all rows are in slot 0; after :meth:`part` the
    children that were kept have the slots 0, 1, ... in the order of the splits.
    """

    @property
    def bins(self) -> Bins:
        """The bins of all shards."""
        ...

    @property
    def facts(self) -> Facts:
        """What is known of all rows."""
        ...

    @property
    def counts(self) -> NDArray[np.int64]:
        """The weight of every class, as integers."""
        ...

    def recode(self, bins: Bins) -> None:
        """Code all rows in other bins. Only before the first split.

        Parameters
        ----------
        bins : Bins
            The new bins.
        """
        ...

    def count(self, slots: NDArray[np.int32]) -> NDArray[Any]:
        """Count the rows of some nodes, by bin and class.

        Parameters
        ----------
        slots : ndarray of int32
            The slots of the nodes.

        Returns
        -------
        ndarray
            One histogram for each node.
        """
        ...

    def look(self, questions: Mapping[int, Question]) -> dict[int, Answer]:
        """Count what is inside some intervals of columns.

        Parameters
        ----------
        questions : mapping of int to Question
            The intervals, by the number of the column.

        Returns
        -------
        dict of int to Answer
            The counts, by the number of the column.
        """
        ...

    def part(self, splits: Sequence[ShardSplit]) -> None:
        """Split nodes; the slots are now those of the children that are kept.

        Parameters
        ----------
        splits : sequence of ShardSplit
            The split of each node that is divided.
        """
        ...

    def finish(self, subtrees: Sequence[Subtree]) -> list[dict[str, Any]]:
        """Grow all of the tree below some small nodes, in one place.

        Parameters
        ----------
        subtrees : sequence of Subtree
            The nodes, and the limits of what grows below them.

        Returns
        -------
        list of dict
            The arrays of each subtree.
        """
        ...

    def name(self, tree: Tree) -> NDArray[np.int64]:
        """The training rows that name the splits of a tree.

        Parameters
        ----------
        tree : Tree
            The tree that was grown on these rows.

        Returns
        -------
        ndarray of int64
            The row number for each node, -1 for a leaf.
        """
        ...


class LocalEngine:
    """Shards in this process, each handled by a thread.

    Parameters
    ----------
    shards : sequence of Shard
        The rows, coded in the bins.
    facts : Facts
        What is known of the rows of all shards.
    bins : Bins
        The bins of all shards.
    n_classes : int
        Number of classes.
    n_threads : int
        Maximum number of threads.
    """

    def __init__(
        self,
        shards: Sequence[Shard],
        facts: Facts,
        bins: Bins,
        n_classes: int,
        *,
        n_threads: int = 1,
    ) -> None:
        self.bins = bins
        self.facts = facts
        self._shards, self.counts = weigh_several(shards, facts.total, n_classes)
        self._rows = [Rows.all(len(shard.labels)) for shard in shards]
        self._n_classes = n_classes
        self._n_threads = max(1, min(n_threads, len(shards)))

    @classmethod
    def of_samples(
        cls, samples: Sequence[Sample], bins: Bins, *, n_threads: int = 1
    ) -> LocalEngine:
        """An engine for rows in memory.

        Parameters
        ----------
        samples : sequence of Sample
            The parts of the rows, in their order.
        bins : Bins
            As made by :func:`treebound.growing.rounds.make_bins`.
        n_threads : int
            Maximum number of threads.

        Returns
        -------
        LocalEngine
        """
        coded = [code_sample(sample, bins) for sample in samples]
        facts = reduce(add, [more for _, more in coded])
        shards = [shard for shard, _ in coded]
        return cls(shards, facts, bins, samples[0].n_classes, n_threads=n_threads)

    def _run(self, function: Callable[..., T], *items: Iterable[Any]) -> list[T]:
        if self._n_threads == 1:
            return list(map(function, *items))
        with ThreadPoolExecutor(self._n_threads) as pool:
            return list(pool.map(function, *items))

    def _by_thread(self) -> tuple[list[list[Shard]], list[list[Rows]]]:
        """The shards and their rows that each thread works on."""
        n = self._n_threads
        return [self._shards[k::n] for k in range(n)], [self._rows[k::n] for k in range(n)]

    def _map(self, function: Callable[[Shard, Rows], T]) -> list[T]:
        return self._run(function, self._shards, self._rows)

    def recode(self, bins: Bins) -> None:
        """Code all rows in other bins. Only before the first split.

        Parameters
        ----------
        bins : Bins
            The new bins.
        """
        found = self._map(lambda shard, rows: recode(shard, self.bins, bins))
        facts = reduce(add, [more for _, more in found])
        self._shards = [shard for shard, _ in found]
        self.bins, self.facts = bins, replace(facts, total=self.facts.total)

    def count(self, slots: NDArray[np.int32]) -> NDArray[Any]:
        """Count the rows of some nodes, by bin and class.

        Parameters
        ----------
        slots : ndarray of int32
            The slots of the nodes.

        Returns
        -------
        ndarray
            One histogram for each node.
        """

        wide = self.facts.n_rows >= 2**32
        return sum_of(
            self._run(
                lambda shards, rows: count_several(
                    shards, rows, self.bins, self._n_classes, slots, wide=wide
                ),
                *self._by_thread(),
            )
        )

    def look(self, questions: Mapping[int, Question]) -> dict[int, Answer]:
        """Count what is inside some intervals of columns.

        Parameters
        ----------
        questions : mapping of int to Question
            The intervals, by the number of the column.

        Returns
        -------
        dict of int to Answer
            The counts, by the number of the column.
        """
        return add_answers(
            self._run(
                lambda shards, rows: look_into(shards, rows, self.bins, self._n_classes, questions),
                *self._by_thread(),
            )
        )

    def part(self, splits: Sequence[ShardSplit]) -> None:
        """Split nodes; the slots are now those of the children that are kept.

        Parameters
        ----------
        splits : sequence of ShardSplit
            The split of each node that is divided.
        """
        self._rows = self._map(lambda shard, rows: part_rows(shard, rows, self.bins, splits))

    def finish(self, subtrees: Sequence[Subtree]) -> list[dict[str, Any]]:
        """Grow all of the tree below some small nodes, in one place.

        Parameters
        ----------
        subtrees : sequence of Subtree
            The nodes, and the limits of what grows below them.

        Returns
        -------
        list of dict
            The arrays of each subtree.
        """
        slots = [subtree.slot for subtree in subtrees]
        pieces = self._map(lambda shard, rows: gather_rows(shard, rows, self.bins, slots))
        kernels = [subtree.kernel for subtree in subtrees]
        return self._run(grow_subtree, list(zip(*pieces, strict=True)), kernels)

    def name(self, tree: Tree) -> NDArray[np.int64]:
        """The training rows that name the splits of a tree.

        Parameters
        ----------
        tree : Tree
            The tree that was grown on these rows.

        Returns
        -------
        ndarray of int64
            The row number for each node, -1 for a leaf.
        """
        numbers = row_numbers(self.facts.n_rows)
        stops = np.cumsum([len(shard.labels) for shard in self._shards]).tolist()
        starts = [0, *stops[:-1]]
        return last_names(
            self._run(
                lambda shard, start, stop: name_splits(
                    shard, self.bins, tree, np.arange(start, stop), numbers[start:stop]
                ),
                self._shards,
                starts,
                stops,
            )
        ).rows
