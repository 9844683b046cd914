"""Best-first growth in rounds: the tree of the in-memory growth, from what engines tell of rows.

A round expands every leaf that best-first growth reaches as far as nodes are known. A leaf that it
does not reach within the limit of leaves is never reached later, as what is not known yet only adds
competitors. So there are about as many rounds as the tree has levels, and in each of them the rows
are counted, looked into and parted for all nodes at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound.data import Column
from treebound.growing._bins import Bins
from treebound.growing._judge import Judge
from treebound.growing._shard import keys_of
from treebound.growing._thresholds import threshold_between
from treebound.growing.grow import KINDS, kernel_options
from treebound.growing.options import GrowOptions
from treebound.growing.rounds.checkpoint import Checkpoint
from treebound.growing.rounds.engine import Engine
from treebound.growing.rounds.limits import Limits, Progress
from treebound.growing.rounds.search import Landmarks, NodeSearch, Winner, ask, hear
from treebound.growing.rounds.shard import ShardSplit, Subtree
from treebound.growing.rounds.store import NodeStore

__all__ = ["Driver"]


@dataclass(eq=False)
class Leaf:
    """A leaf that may be split: its number, its slot, and what is known of it."""

    node: int
    slot: int
    table: NDArray[Any] | None = None
    search: NodeSearch | None = None
    winner: Winner | None = None


class Driver:
    """Grows one tree.

    Parameters
    ----------
    engine : Engine
    columns : sequence of Column
        Of all rows.
    options : GrowOptions
    limits : Limits, optional
    progress : callable, optional
        Called with a :class:`Progress` after every pass.
    checkpoint : str or path-like, optional
        A file that keeps the tree as far as it is grown. Where it exists, growth goes on from it.
    finer : callable, optional
        Makes finer bins than those of the engine.
    """

    def __init__(
        self,
        engine: Engine,
        columns: Sequence[Column],
        options: GrowOptions,
        *,
        limits: Limits | None = None,
        progress: Callable[[Progress], None] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        finer: Callable[[], Bins] | None = None,
    ) -> None:
        facts = engine.facts
        self._engine, self._columns, self._options = engine, columns, options
        self._limits = limits or Limits()
        self._facts = facts
        self._weighted = not facts.total.ones
        self._n_classes = len(engine.counts)
        self._kernel = kernel_options(options, int(engine.counts.sum()), weighted=self._weighted)
        self._by_impurity = bool(self._kernel["by_impurity"])
        self._judge = Judge(
            self._n_classes,
            self._kernel["criterion"],
            self._by_impurity,
            int(engine.counts.sum()),
            self._kernel["min_samples_leaf"],
            self._kernel["min_weight"],
            self._kernel["min_gain"],
        )
        self._finer = finer
        self._set_landmarks()
        self._may_miss = [
            column.missing or marks.may_miss
            for column, marks in zip(columns, self._landmarks, strict=True)
        ]
        self._store = NodeStore(self._judge, options.max_leaves)
        self._tell = progress or (lambda _: None)
        self._rounds = self._passes = 0
        self._open: dict[int, Leaf] = {}
        self._small: list[Leaf] = []  # finished when no larger one is left, in few passes
        self._checkpoint = None
        if checkpoint is not None:
            of = (tuple(columns), options, facts.n_rows, engine.counts.tolist())
            self._checkpoint = Checkpoint(checkpoint, of)

    def _set_landmarks(self) -> None:
        bins, facts = self._engine.bins, self._engine.facts
        self._landmarks = [Landmarks.of(bins, facts, j) for j in range(bins.n_columns)]

    def grow(self) -> dict[str, Any]:
        """The arrays of the tree, as the in-memory kernel gives them."""
        store = self._store
        fresh = self._begun()
        while True:
            self._settle(fresh)
            leaves = self._reached()
            if not leaves and self._small:
                self._finish(self._small)
                self._small = []
                leaves = self._reached()
            if not leaves:
                break
            self._rounds += 1
            fresh = self._expand(leaves)
            if self._checkpoint is not None:
                waiting = [leaf.node for leaf in (*fresh, *self._small)]
                self._checkpoint.write(store, waiting)
        if self._checkpoint is not None:
            self._checkpoint.remove()
        return store.arrays()

    def _reached(self) -> list[Leaf]:
        """The leaves that best-first growth expands next, as far as nodes are known."""
        found = [node for node in self._store.order() if self._store.left[node] < 0]
        return [self._open[node] for node in found]

    def _begun(self) -> list[Leaf]:
        """The leaves whose splits are looked for first: the root, or where growth stopped."""
        store = self._store
        resumed = None
        if self._checkpoint is not None:
            resumed = self._checkpoint.read(store, self._n_classes, len(self._columns))
        if resumed is not None:
            return self._replayed(resumed.fresh)
        root = store.add(self._engine.counts, self._facts.n_rows, 0)
        if self._may_split(root) and self._options.max_leaves != 1:
            return [Leaf(root, 0)]
        return []

    # -- after a stop ----------------------------------------------------------------------

    def _replayed(self, fresh: Sequence[int]) -> list[Leaf]:
        """Part the rows by the splits that are known, level by level, down to some leaves."""
        parent = {
            child: node
            for children in (self._store.left, self._store.right)
            for node, child in enumerate(children)
            if child >= 0
        }
        wanted = set(fresh)
        for node in fresh:
            while node in parent:
                node = parent[node]
                wanted.add(node)
        level = [0] if fresh else []
        while any(node not in fresh for node in level):
            splits: list[ShardSplit] = []
            below: list[int] = []
            for slot, node in enumerate(level):
                if node in fresh:
                    splits.append(self._kept(slot))
                    below.append(node)
                    continue
                pair = (self._store.left[node], self._store.right[node])
                kept = [child in wanted for child in pair]
                splits.append(self._known_split(slot, node, kept))
                below += [child for child, keep in zip(pair, kept, strict=True) if keep]
            self._engine.part(splits)
            level = below
        return [Leaf(node, slot) for slot, node in enumerate(level)]

    def _kept(self, slot: int) -> ShardSplit:
        """All rows to the left, and no right."""
        sides = np.ones(self._engine.bins.n_bins[0] + 1, dtype=np.uint8)
        return ShardSplit(slot, 0, sides, 0, True, False)

    def _known_split(self, slot: int, node: int, kept: Sequence[bool]) -> ShardSplit:
        """By the values: bins may be others than they were."""
        store = self._store
        j = store.feature[node]
        n_bins = self._engine.bins.n_bins[j]
        sides = np.full(n_bins + 1, 2, dtype=np.uint8)
        edge = 0
        if store.category[node] >= 0:
            sides[:] = 0
            sides[store.category[node]] = 1
        else:
            sides[n_bins] = store.missing_left[node]
            edge = int(keys_of(np.array([store.threshold[node]]))[0])
        return ShardSplit(slot, j, sides, edge, kept[0], kept[1])

    def _passed(self, leaves: Sequence[Leaf]) -> None:
        """After every pass over the rows."""
        self._passes += 1
        store = self._store
        n_leaves = sum(1 for node in store.left if node >= 0) + 1
        open_rows = sum(store.rows[leaf.node] for leaf in leaves)
        self._tell(Progress(self._rounds, self._passes, n_leaves, open_rows, self._facts.n_rows))

    def _may_split(self, node: int) -> bool:
        counts, rows = self._store.counts[node], self._store.rows[node]
        least = max(self._kernel["min_samples_split"], 2 * self._kernel["min_samples_leaf"])
        return (
            int((counts > 0).sum()) > 1
            and rows >= least
            and self._store.depth[node] < self._kernel["max_depth"]
        )

    # -- expansion -------------------------------------------------------------------------

    def _expand(self, leaves: Sequence[Leaf]) -> list[Leaf]:
        """Part the rows of leaves; the children that may be split further."""
        store = self._store
        pairs = [self._children(leaf) for leaf in leaves]
        self._open = {}
        cutoff = store.cutoff()
        splits: list[ShardSplit] = []
        fresh: list[Leaf] = []
        n_slots = 0
        for leaf, pair in zip(leaves, pairs, strict=True):
            kept = [self._may_split(child) and self._reaches(child, cutoff) for child in pair]
            if any(kept):
                splits.append(self._shard_split(leaf, kept))
            for child, keep in zip(pair, kept, strict=True):
                if keep:
                    fresh.append(Leaf(child, n_slots, leaf.table))
                    n_slots += 1
        self._small = [leaf for leaf in self._small if self._reaches(leaf.node, cutoff)]
        for leaf in self._small:
            splits.append(self._kept(leaf.slot))
            leaf.slot = n_slots
            n_slots += 1
        if splits:
            self._engine.part(splits)
            self._passed(fresh)
        return fresh

    def _children(self, leaf: Leaf) -> tuple[int, int]:
        store = self._store
        assert leaf.winner is not None
        node, counts = leaf.node, leaf.winner.left
        depth, rows = store.depth[node] + 1, int(counts[-1])
        left = store.add(counts[:-1].copy(), rows, depth)
        right = store.add(store.counts[node] - counts[:-1], store.rows[node] - rows, depth)
        store.left[node], store.right[node] = left, right
        return left, right

    def _reaches(self, node: int, cutoff: float) -> bool:
        """Whether a node would be expanded if its children were pure."""
        self._judge.take(self._store.counts[node], self._store.rows[node])
        return self._judge.most() >= cutoff

    def _shard_split(self, leaf: Leaf, kept: Sequence[bool]) -> ShardSplit:
        """Where rows of each code go."""
        winner = leaf.winner
        assert winner is not None
        n_bins = self._engine.bins.n_bins[winner.column]
        sides = np.zeros(n_bins + 1, dtype=np.uint8)
        if self._landmarks[winner.column].nominal:
            sides[winner.code] = 1
        else:
            sides[: winner.code + 1] = 1
            if winner.edge is not None:
                sides[winner.code] = 2
            sides[n_bins] = winner.missing_left
        edge = 0 if winner.edge is None else winner.edge
        return ShardSplit(leaf.slot, winner.column, sides, edge, kept[0], kept[1])

    # -- search ----------------------------------------------------------------------------

    def _settle(self, leaves: Sequence[Leaf]) -> None:
        """Find the splits of leaves; one that has none, or is never reached, stays a leaf."""
        rows = self._store.rows
        small = [leaf for leaf in leaves if rows[leaf.node] <= self._limits.gather_rows]
        large = [leaf for leaf in leaves if rows[leaf.node] > self._limits.gather_rows]
        self._search(large)
        if (
            self._finer is not None
            and large
            and large[0].node == 0
            and self._tells_little(large[0])
        ):
            self._engine.recode(self._finer())
            self._passed(large)
            self._set_landmarks()
            large[0].table = None
            self._search(large)
        self._resolve(large)
        self._small += small

    def _tells_little(self, root: Leaf) -> bool:
        """Whether many rows of the root are in bins that may hold its split."""
        assert root.search is not None
        root.search.reach()
        values = self._facts.n_rows * len(self._columns)
        return root.search.live_rows > self._limits.most_live * values

    def _search(self, leaves: Sequence[Leaf]) -> None:
        """Count, and begin to search."""
        self._count(leaves)
        for leaf in leaves:
            assert leaf.table is not None
            leaf.search = NodeSearch(
                self._judge,
                self._landmarks,
                self._tables(leaf.table),
                self._store.counts[leaf.node],
                self._store.rows[leaf.node],
                by_impurity=self._by_impurity,
            )

    def _count(self, leaves: Sequence[Leaf]) -> None:
        """Histograms; of two children only the smaller one is counted."""
        pairs: dict[int, list[Leaf]] = {}
        for leaf in leaves:
            if leaf.table is not None:
                pairs.setdefault(id(leaf.table), []).append(leaf)
        rest: dict[Leaf, Leaf] = {}
        for pair in pairs.values():
            if len(pair) == 2:
                small, large = sorted(pair, key=lambda leaf: self._store.rows[leaf.node])
                rest[large] = small
        counted = [leaf for leaf in leaves if leaf not in rest]
        at_once = max(1, self._limits.most_cells // max(1, self._n_cells))
        tables: dict[Leaf, NDArray[Any]] = {}
        for start in range(0, len(counted), at_once):
            some = counted[start : start + at_once]
            found = self._engine.count(np.array([leaf.slot for leaf in some], dtype=np.int32))
            tables |= dict(zip(some, found, strict=True))
            self._passed(leaves)
        for large, small in rest.items():
            assert large.table is not None
            tables[large] = large.table - tables[small]
        for leaf, table in tables.items():
            leaf.table = table

    @property
    def _n_cells(self) -> int:
        width = self._n_classes + self._weighted
        return sum((n + 1) * width for n in self._engine.bins.n_bins)

    def _tables(self, flat: NDArray[Any]) -> list[NDArray[np.int64]]:
        """A histogram by column, with the rows of a bin after its classes."""
        width = self._n_classes + self._weighted
        found, start = [], 0
        for n in self._engine.bins.n_bins:
            part = flat[start : start + (n + 1) * width].reshape(n + 1, width)
            start += (n + 1) * width
            table = np.empty((n + 1, self._n_classes + 1), dtype=np.int64)
            table[:, :width] = part
            if not self._weighted:
                np.sum(part, axis=1, out=table[:, width], dtype=np.int64)
            found.append(table)
        return found

    def _resolve(self, leaves: Sequence[Leaf]) -> None:
        """Look into bins until the splits of all leaves that may be reached are known."""
        pending = self._promising(leaves)
        while pending:
            wanted = []
            for leaf in pending:
                assert leaf.search is not None
                lists = leaf.search.wanted()
                if lists:
                    wanted.append((leaf.slot, leaf.search, lists))
                elif leaf.search.winner is not None:
                    self._take(leaf, leaf.search.winner)
            if not wanted:
                return
            searches = {search for _, search, _ in wanted}
            pending = [leaf for leaf in pending if leaf.search in searches]
            asked = ask(wanted, self._landmarks, self._limits.most_values, self._limits.few_values)
            hear(asked, self._engine.look({j: one.question for j, one in asked.items()}))
            self._passed(pending)

    def _promising(self, leaves: Sequence[Leaf]) -> list[Leaf]:
        """Leaves with a split, as far as bins tell, that best-first growth may reach."""
        lower, upper = {}, {}
        for leaf in leaves:
            assert leaf.search is not None
            found, most = leaf.search.reach()
            upper[leaf.node] = most
            if found > -np.inf:
                lower[leaf.node] = found
        cutoff = self._store.cutoff(lower)
        return [
            leaf for leaf in leaves if upper[leaf.node] > -np.inf and upper[leaf.node] >= cutoff
        ]

    def _take(self, leaf: Leaf, winner: Winner) -> None:
        """Note the split of a leaf, as the in-memory kernel does."""
        store, node = self._store, leaf.node
        self._judge.take(store.counts[node], store.rows[node])
        threshold, category, learned = np.nan, -1, self._may_miss[winner.column]
        if self._landmarks[winner.column].nominal:
            category = winner.code
        else:
            threshold = self._threshold(winner)
            learned = winner.missing
        missing_left = winner.missing_left
        if not learned:
            missing_left = self._judge.left_is_heavier(int(winner.left[:-1].sum()))
        leaf.winner, leaf.search = winner, None
        self._open[node] = leaf
        store.wait(
            node,
            self._judge.priority(winner.score),
            winner.column,
            threshold,
            category,
            missing_left,
        )

    def _threshold(self, winner: Winner) -> float:
        if winner.high == np.inf:
            return float(np.inf)
        rule = self._options.thresholds
        if self._columns[winner.column].kind == "real" or rule == "observed":
            return threshold_between(winner.low, winner.high, rule)
        return float(np.floor(0.5 * winner.low + 0.5 * winner.high))

    # -- small nodes -----------------------------------------------------------------------

    def _finish(self, leaves: Sequence[Leaf]) -> None:
        """Grow what is below small leaves in one place."""
        rows, width = self._store.rows, max(1, len(self._columns))
        some: list[Leaf] = []
        for leaf in [*leaves, None]:
            held = sum(rows[one.node] for one in some)
            if some and (
                leaf is None or (held + rows[leaf.node]) * width > self._limits.gather_values
            ):
                found = self._engine.finish([self._subtree(one) for one in some])
                self._passed(some)
                for one, arrays in zip(some, found, strict=True):
                    self._store.attach(one.node, arrays)
                some = []
            if leaf is not None:
                some.append(leaf)

    def _subtree(self, leaf: Leaf) -> Subtree:
        limit = self._options.max_leaves
        kernel = {
            **self._kernel,
            "max_depth": self._kernel["max_depth"] - self._store.depth[leaf.node],
            "n_classes": self._n_classes,
            "kinds": [KINDS[column.kind] for column in self._columns],
            "n_categories": [len(column.categories or ()) for column in self._columns],
            "may_miss": self._may_miss,
            "max_leaves": -1 if limit is None else limit,
            "n_threads": 1,
            "whole": self._judge.whole,
            "spans": [marks.span for marks in self._landmarks],
            "least_priority": self._store.cutoff(),
        }
        return Subtree(leaf.slot, kernel)
