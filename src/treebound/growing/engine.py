"""Engines: where the rows are, and the few operations that growing needs.

An engine for another system defines how a function is called on all shards, and how results are
combined or stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial, reduce
from itertools import pairwise
from operator import add, attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils._pool import each
from treebound.data import Sample
from treebound.data.number_sample import AnySample, NumberSample, WeightedNumbers
from treebound.data.numeric_target import N_CHANNELS
from treebound.data.parts import PartRows
from treebound.data.spill import ColumnFile
from treebound.growing._bins import Bins
from treebound.growing.kernel_types import TreeArrays
from treebound.growing.messages import (
    IntervalCounts,
    IntervalRequest,
    ShardSplit,
    Subtree,
    add_interval_counts,
)
from treebound.growing.options import Limits
from treebound.growing.shard import (
    DrawnTargets,
    Facts,
    SelectedRole,
    code_sample,
    count_classes,
    count_rows,
    digest_of,
    divide_rows,
    drawn_nodes,
    drawn_targets,
    gather_rows,
    grow_subtrees,
    join_pieces,
    joined_arrays,
    look_into,
    make_bundle,
    name_splits,
    recode,
    sum_selected,
)
from treebound.growing.shard_target import Totals
from treebound.tree.model import Tree
from treebound.tree.naming import last_names
from treebound.tree.node_sums import NodeSums, WeightTotals, class_sums, summed_up
from treebound.tree.regression import RegressionTree

# So many are grown in seconds: a checkpoint would not be of use.
QUICK_VALUES = 1 << 25


class Engine:
    """The rows in shards, as codes, and the operations that growing needs.

    Nodes are known by their slots: at first all rows are in slot 0; after :meth:`divide` the
    children that were kept have the slots 0, 1, ... in the order of the splits.

    Operations are functions of bundles of shards; a bundle is what one thread or worker works on.
    Subclasses override :meth:`map`, :meth:`reduce` and :meth:`keep`, and call :meth:`start` with
    the rows. One whose rows are not in shards, as in a database, overrides the operations.

    Parameters
    ----------
    bins : Bins
        The bins of all shards, as made by :func:`treebound.growing.make_bins`.
    n_channels : int
        Number of classes, or ``N_CHANNELS`` of a target of numbers.

    Attributes
    ----------
    gather_rows : int
        Nodes of at most this many rows are finished in one place, unless limits differ.
    """

    gather_rows = 1 << 16
    _facts: Facts
    _counts: NDArray[np.int64]

    def __init__(self, bins: Bins, n_channels: int) -> None:
        self.bins, self.n_channels = bins, n_channels
        self._bundles: list[Any] = []

    @property
    def facts(self) -> Facts:
        """Facts about all rows."""
        self.ready()
        return self._facts

    @property
    def counts(self) -> NDArray[np.int64]:
        """The weight of every class, or the sum of every other channel, as integers."""
        self.ready()
        return self._counts

    @property
    def sample(self) -> Sample | NumberSample | None:
        """All rows, if they are one sample in memory."""
        return None

    @property
    def places(self) -> int:
        """In how many places small nodes are finished at the same time."""
        return 1

    @property
    def bundles(self) -> list[Any]:
        """The rows, as :meth:`map` takes them."""
        self.ready()
        return self._bundles

    def ready(self) -> None:
        """Called before the rows are used."""

    # -- how functions are run -------------------------------------------------------------------

    def map(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function with each bundle and the other arguments; the results stay there."""
        return [function(bundle, *args) for bundle in self.bundles]

    def reduce(self, function: Callable[[Sequence[Any]], Any], results: Any) -> Any:
        """Put results of :meth:`map` together; the function takes a list of any of them.

        It also takes what it returned for others, so the results can be combined some at a time.
        """
        return function(results)

    def keep(self, results: Any) -> None:
        """Take bundles that :meth:`map` made instead of those they are made of."""
        self._bundles = results

    def bundle(self, coded: Sequence[Any], totals: Totals, starts: Sequence[int]) -> Any:
        """A bundle of coded rows where they are; see :func:`make_bundle`."""
        return make_bundle(coded, self.bins, totals, starts, self.n_channels)

    # -- the operations --------------------------------------------------------------------------

    def start(
        self,
        coded: Sequence[Any],
        facts: Sequence[Facts],
        groups: Sequence[Sequence[int]],
    ) -> None:
        """Make bundles of coded rows; ``groups`` are the numbers of those in each bundle."""
        total = reduce(add, facts)
        starts = np.cumsum([0, *(part.n_rows for part in facts)]).tolist()
        bundles = [
            self.bundle([coded[i] for i in group], total.totals, [starts[i] for i in group])
            for group in groups
        ]
        self.start_bundles(total, bundles)

    def start_bundles(self, facts: Facts, bundles: list[Any]) -> None:
        """Take bundles of all rows, of which these are the facts."""
        self._facts, self._bundles = facts, bundles
        self._counts = self.reduce(sum_of, self.map(attrgetter("counts")))

    def recode(self, bins: Bins) -> None:
        """Code all rows in other bins; only before the first split."""
        self.bins = bins
        self.keep(self.map(recode, bins))
        facts = self.reduce(partial(reduce, add), self.map(attrgetter("facts")))
        self._facts = self._facts.with_values_of(facts)

    def count(self, slots: NDArray[np.int32]) -> NDArray[Any]:
        """Add the channels of some nodes, by bin; one histogram for each node."""
        wide = self.facts.n_rows >= 2**32
        table: NDArray[Any] = self.reduce(sum_of, self.map(count_rows, slots, wide))
        return table

    def look(self, requests: Mapping[int, IntervalRequest]) -> dict[int, IntervalCounts]:
        """Count what is inside some intervals of columns, by the number of the column."""
        replies: dict[int, IntervalCounts] = self.reduce(
            add_interval_counts, self.map(look_into, dict(requests))
        )
        return replies

    def divide(self, splits: Sequence[ShardSplit]) -> None:
        """Split nodes; the slots are now those of the children that are kept."""
        self.keep(self.map(divide_rows, list(splits)))

    def finish(self, subtrees: Sequence[Subtree]) -> list[TreeArrays]:
        """Grow all of the tree below some small nodes; the arrays of each subtree."""
        slots = [subtree.slot for subtree in subtrees]
        pieces = self.reduce(join_pieces, self.map(gather_rows, slots))
        return grow_subtrees(subtrees, ([piece] for piece in pieces))

    def name(self, tree: Tree) -> NDArray[np.int64]:
        """The training row that names the split of each node of a tree, or -1."""
        rows: NDArray[np.int64] = self.reduce(last_names, self.map(name_splits, tree)).rows
        return rows

    def class_rows(self, tree: Tree) -> NDArray[np.int64]:
        """The rows of each class at each node of a tree."""
        counts = self.reduce(sum_of, self.map(count_classes, tree))
        return summed_up(tree, counts).astype(np.int64)

    def validation_sums(self, tree: Tree) -> NodeSums | None:
        """Class sums of the validation rows at the nodes of a tree; None without any."""
        totals = self.facts.validation
        if not totals.weights.total:
            return None
        sums = self.reduce(sum_of, self.map(sum_selected, tree, "validation", totals))
        return NodeSums.combined(tree, sums, totals)

    def calibration_counts(self, tree: Tree) -> NDArray[np.int64]:
        """Number of calibration rows of each class that end at each node."""
        counts = self.reduce(sum_of, self.map(sum_selected, tree, "calibration", None))
        return np.asarray(counts[0], dtype=np.int64)

    def drawn_numbers(self, role: SelectedRole) -> WeightedNumbers:
        """Numbers of the validation or calibration rows, in the order of the table.

        Their nodes in a tree are found where the rows are.
        """
        drawn = DrawnTargets(*self.reduce(joined_arrays, self.map(drawn_targets, role)))
        order = np.argsort(drawn.numbers)
        return DrawnNumbers(drawn.y[order], drawn.weight[order], None, self, role)

    def drawn_nodes(self, tree: RegressionTree, role: SelectedRole) -> NDArray[np.int32]:
        """The nodes at which the rows of :meth:`drawn_numbers` end."""
        numbers, nodes = self.reduce(joined_arrays, self.map(drawn_nodes, tree, role))
        in_order: NDArray[np.int32] = nodes[np.argsort(numbers)]
        return in_order

    def digest(self) -> list[int]:
        """A number for every column that depends on its values and targets, not on their order."""
        numbers: list[int] = self.reduce(sum_of, self.map(digest_of)).tolist()
        return numbers


@dataclass(frozen=True, eq=False)
class DrawnNumbers(WeightedNumbers):
    """Validation or calibration rows of an engine, whose columns are elsewhere."""

    y: NDArray[np.float64]
    weight: NDArray[np.float64] | None
    groups: NDArray[np.int64] | None
    engine: Engine
    role: SelectedRole

    def nodes_of(self, tree: RegressionTree) -> NDArray[np.int32]:
        return self.engine.drawn_nodes(tree, self.role)


def sum_of(tables: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The sum of arrays; none of them is changed."""
    total: NDArray[Any] = reduce(np.add, tables)
    return total


# -- in this process -------------------------------------------------------------------------------


class LocalEngine(Engine):
    """Shards in this process, handled by threads.

    Rows that are one sample are grown as in memory, unless limits require rounds, or a checkpoint
    of a sample of more than ``QUICK_VALUES`` values.
    """

    gather_values = Limits.gather_values

    def __init__(
        self,
        parts: Sequence[Sample | NumberSample],
        bins: Bins,
        n_channels: int,
        *,
        n_threads: int = 1,
        calibration: Sample | NumberSample | None = None,
        validation: Sample | NumberSample | None = None,
    ) -> None:
        super().__init__(bins, n_channels)
        self._parts, self._n_threads = parts, n_threads
        self._calibration, self._validation = calibration, validation
        # rows are at hand: nodes are finished as soon as there is room for their values
        self.gather_rows = self.gather_values // max(1, bins.n_columns)

    def ready(self) -> None:
        """Code the rows, if that was not done."""
        if self._bundles:
            return
        parts = list(self._parts)
        if len(parts) == 1:
            cuts = np.linspace(0, parts[0].n_rows, self._n_threads + 1).astype(np.int64).tolist()
            parts = [parts[0].part(slice(a, b)) for a, b in pairwise(cuts)]
        n = max(1, min(self._n_threads, len(parts)))
        coded = self._each(lambda part: code_sample(part, self.bins), parts)
        self.start(
            coded,
            [part.facts for part in coded],
            [list(range(k, len(coded), n)) for k in range(n)],
        )

    @property
    def sample(self) -> Sample | NumberSample | None:
        """All rows, if they are one sample."""
        return self._parts[0] if len(self._parts) == 1 else None

    def finish(self, subtrees: Sequence[Subtree]) -> list[TreeArrays]:
        pieces = self.map(gather_rows, [subtree.slot for subtree in subtrees])
        return grow_subtrees(subtrees, zip(*pieces, strict=True), self._n_threads)

    def class_rows(self, tree: Tree) -> NDArray[np.int64]:
        ones = WeightTotals()
        samples = [part for part in self._parts if isinstance(part, Sample)]
        counts = [class_sums(tree, part.X, part.y, None, ones)[0] for part in samples]
        return summed_up(tree, sum_of(counts)).astype(np.int64)

    def validation_sums(self, tree: Tree) -> NodeSums | None:
        rows = self._validation
        if not isinstance(rows, Sample) or not rows.n_rows:
            return None
        return NodeSums.of(tree, rows)

    def calibration_counts(self, tree: Tree) -> NDArray[np.int64]:
        rows = self._calibration
        assert isinstance(rows, Sample)
        counts = class_sums(tree, rows.X, rows.y, None, WeightTotals())
        return np.asarray(counts[0], dtype=np.int64)

    def drawn_numbers(self, role: SelectedRole) -> NumberSample:
        rows = self._calibration if role == "calibration" else self._validation
        assert isinstance(rows, NumberSample)
        return rows

    def map(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """Call a function with each bundle, in threads."""
        return self._each(lambda bundle: function(bundle, *args), self.bundles)

    def _each(self, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        return each(function, items, self._n_threads)


def stream_engine(
    parts: Iterable[PartRows[AnySample]],
    bins: Bins,
    n_rows: int,
    *,
    n_threads: int = 1,
) -> LocalEngine:
    """An engine for rows that are read in batches: codes in memory, values in a temporary file."""
    files: dict[str, ColumnFile[Any]] = {}
    with ExitStack() as stack:
        for part in parts:
            roles = {
                "training": part.training,
                "calibration": part.calibration,
                "validation": part.validation,
            }
            for role, batch in roles.items():
                if batch is None:
                    continue
                if role not in files:
                    files[role] = ColumnFile(batch, n_rows)
                    stack.callback(files[role].close)
                files[role].add(batch)
        samples = {role: file.sample() for role, file in files.items()}
    rows = samples.pop("training")
    n_channels = rows.n_classes if isinstance(rows, Sample) else N_CHANNELS
    return LocalEngine([rows], bins, n_channels, n_threads=n_threads, **samples)
