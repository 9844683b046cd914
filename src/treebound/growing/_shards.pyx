"""Growing on shards: the engine of `Driver` whose rows are in parts, on this machine or elsewhere.

It grows in rounds: a round expands every leaf that best-first growth reaches as far
as nodes are known. A leaf that it does not reach within the limit of leaves is never reached
later, as unknown splits only add competitors. So there are about as many rounds as the tree
has levels, and in each of them the rows are counted, looked into and divided for all nodes at once.
"""

import numpy as np
from collections import namedtuple
from treebound._utils.progress import Progress
from treebound.growing.messages import IntervalRequest, ShardSplit, Subtree
from treebound.growing._bins import keys_of

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free
from libc.string cimport memset
from treebound.growing._layout cimport (
    EXACT, LEFT, LOOK, NOMINAL, KernelSplit, STRIDE, allocate,
)
from treebound.growing._scan cimport no_split
from treebound.growing._sorted cimport Task, value_of
from treebound.growing._bins cimport Bins
from treebound.growing._histogram cimport (
    Binned, CodedBins, CodedColumn, Counted, set_sides,
)
from treebound.growing._search cimport (
    ColumnBounds, Finder, Profile, all_bounds, best_category, better_side, bounds_of,
    bounds_of_column, free_finder, free_profile, init_finder, init_profile, is_live,
    read_column, read_profile, try_boundary,
)
from treebound.growing._driver cimport Driver, FOUND, GrownNode, WAITING


# -- the bins of a column, and what a node has of them ---------------------------------------

# Which bins hold one value only; no value of a bin has a key outside low and high, which are exact
# for a single one; about where each bin begins, and where the last one ends.
KeyRanges = namedtuple("KeyRanges", "single low high guide")


# Channels and rows by interval, in order, missing ones last; the bin of each is its code. No
# value of an interval has a key outside low and high.
Intervals = namedtuple("Intervals", "table single code low high")


def key_ranges(bins, facts, j):
    """The ranges of the bins of a column, at every node."""
    least, most = facts.extents[j]
    if not least <= most:  # every value is missing
        least = most = 0.0
    single, values = facts.single[j], keys_of(bins.values(j))
    ends = keys_of(np.array([least, most]))
    edges = keys_of(np.clip(bins.edges(j), least, most))
    guide = np.maximum.accumulate(np.concatenate([ends[:1], edges, ends[1:]]))
    low, high = np.where(single, values, ends[0]), np.where(single, values, ends[1])
    return KeyRanges(single, low, high, guide)


cdef object request_for(list groups, ranges, most, bits):
    """A request for a column; intervals of more than ``most`` rows are cut in 2^bits slices."""
    # a group is of a node: its slot, its intervals, and which of them are requested
    ats = [np.asarray(some) for _, _, some in groups]
    code, low, high = [
        np.concatenate([mine[name][some] for (_, mine, _), some in zip(groups, ats)])
        for name in (2, 3, 4)
    ]
    rows = np.concatenate([mine.table[some, -1] for (_, mine, _), some in zip(groups, ats)])
    whole = (low == ranges.low[code]) & (high == ranges.high[code])
    guide = np.where(whole, ranges.guide[code], low)
    width = np.where(whole, ranges.guide[code + 1], high) - guide
    shift = np.array([max(0, int(w).bit_length() - bits) for w in width], dtype=np.uint8)
    shift[rows <= most] = EXACT
    sliced = shift != EXACT
    starts = np.cumsum([0, *[len(some) for some in ats]])
    places = np.arange(len(ranges.single) + 1)
    first = [np.searchsorted(code[a:b], places) + a for a, b in zip(starts, starts[1:])]
    return IntervalRequest(
        1 << bits,
        np.array([slot for slot, _, _ in groups], dtype=np.int32),
        np.ascontiguousarray(first, dtype=np.int32),
        low,
        high,
        guide,
        shift,
        np.where(sliced, np.cumsum(sliced) - 1, -1).astype(np.int32),
    )


cdef list refined(list groups, n_requested, reply):
    """The intervals of each node, with the reply in place of those that were requested."""
    cdef list parts = []
    bounds = np.searchsorted(reply.intervals, np.arange(n_requested + 1))
    first = 0
    for _, mine, ats in groups:
        inside = slice(bounds[first], bounds[first + len(ats)])
        low, high = reply.low[inside], reply.high[inside]
        at = np.asarray(ats)[reply.intervals[inside] - first]
        first += len(ats)
        rest = np.delete(np.arange(len(mine.code)), ats)
        order = np.argsort(np.concatenate([rest, at]), kind="stable")
        missing = mine.table[-1:]
        table = np.concatenate([mine.table[rest], reply.counts[inside], missing])
        arrays = [
            np.concatenate([old[rest], new])[order]
            for old, new in zip(mine[1:], ((low == high).astype(np.uint8), mine.code[at], low, high))
        ]
        parts.append(Intervals(table[np.append(order, len(order))], *arrays))
    return parts


cdef class Leaf:
    """A leaf that may be split: its slot, its histogram, and the columns that were refined."""

    cdef readonly int32_t node
    cdef public Py_ssize_t slot
    cdef object table
    cdef dict refined
    cdef dict bounds        # of columns, as far as they are known
    cdef object left        # channels and rows on the left of its split

    def __init__(self, node, slot, table=None):
        self.node, self.slot, self.table = node, slot, table
        self.refined, self.bounds = {}, {}


cdef class ShardDriver(Driver):
    """Grows one tree on the rows of an engine; ``finer`` makes finer bins than it has."""

    cdef object engine, columns, limits, finer, progress, checkpoint, numbers
    cdef dict options, open
    cdef Leaf forced_leaf       # the leaf that a forced split may divide
    cdef list ranges, reached, small
    cdef CodedBins coded
    cdef Binned* binned         # the bins; their rows are elsewhere
    cdef int64_t unit
    cdef int64_t[STRIDE] no_numbers  # in place of rows of numbers, which are elsewhere
    cdef bint narrow            # whether counts of bins have 32 bits
    cdef Counted by_value       # how intervals that were refined are counted
    cdef Finder finder
    cdef Py_ssize_t room        # bins of the profile
    cdef const uint8_t* single  # of the column that was read last
    cdef ColumnBounds* column_bounds
    cdef Task task
    cdef int32_t ages
    cdef double min_popped
    cdef Py_ssize_t rounds, passes

    def __init__(
        self, n_columns, n_channels, options, engine, columns, limits, finer, progress, checkpoint,
        numbers,
    ):
        self.engine, self.columns, self.limits, self.finer = engine, columns, limits, finer
        self.progress, self.checkpoint, self.options = progress, checkpoint, options
        self.numbers = numbers
        if numbers is not None:
            memset(self.no_numbers, 0, sizeof(self.no_numbers))
            self.problem.numbers = self.no_numbers
            self.problem.square_shift = numbers["square_shift"]
            self.problem.weight_error = numbers["weight_error"]
            self.problem.row_error = numbers["row_error"]
        self.open, self.small = {}, []
        self.column_bounds = <ColumnBounds*>allocate(n_columns, sizeof(ColumnBounds))
        self.task.splits = <KernelSplit*>allocate(n_columns, sizeof(KernelSplit))
        self.set_bins()

    def __dealloc__(self):
        free_finder(&self.finder)
        free(self.column_bounds)
        free(self.task.splits)

    cdef int set_bins(self) except -1:
        """Take the bins of the engine."""
        cdef Bins bins = self.engine.bins
        cdef Py_ssize_t j
        facts = self.engine.facts
        free_finder(&self.finder)
        memset(&self.finder, 0, sizeof(Finder))
        # as engines count: 32 bits, or 64 with the rows of a bin after its channels
        self.narrow = self.numbers is None and facts.total.ones and facts.n_rows < 2**32
        self.coded = CodedBins(
            bins, self.problem.n_classes, self.problem.n_classes + (not self.narrow)
        )
        self.ranges = [key_ranges(bins, facts, j) for j in range(self.n_columns)]
        single = [np.append(ranges.single, 0).astype(np.uint8) for ranges in self.ranges]
        self.binned = self.coded.of(np.empty(0, dtype=np.uint8), single)
        self.binned.problem = &self.problem
        self.binned.sources = self.sources
        self.by_value = self.binned.counted
        self.by_value.weights = &self.unit
        self.binned.counted.weights = NULL if self.narrow else &self.unit
        for j in range(self.n_columns):
            least, most = facts.extents[j]
            self.sources[j].kind = bins.kinds[j]
            self.sources[j].may_miss = self.columns[j].missing or facts.missing[j]
            self.sources[j].span = most - least if least <= most else 0.0
        init_finder(&self.finder, self.binned, NULL)
        self.room = self.binned.max_codes
        return 0

    def grow(self):
        """The arrays of the tree, as the growth in memory gives them."""
        cdef list fresh = self.begin()
        while True:
            self.settle_leaves(fresh)
            self.replay()
            if not self.reached:
                self.finish()
            if not self.reached:
                break
            self.rounds += 1
            fresh = self.divide()
            if self.checkpoint is not None:
                self.keep([leaf.node for leaf in fresh + self.small])
        if self.checkpoint is not None:
            self.checkpoint.remove()
        return self.tree.arrays()

    cdef list begin(self):
        """The leaves whose splits are searched first: the root, or those of a checkpoint."""
        cdef const int64_t[::1] counts = self.engine.counts
        cdef Py_ssize_t k
        cdef bint may_split
        self.add_root(self.engine.facts.n_rows)
        for k in range(self.tree.n_classes):
            self.tree.counts_of(0)[k] = counts[k]
        self.set_criterion()
        may_split = self.settle(0) and self.max_leaves != 1 and self.n_columns > 0
        resumed = None
        if self.checkpoint is not None:
            resumed = self.checkpoint.read()
        if resumed is not None:
            return self.resume(resumed[0], resumed[1])
        return [Leaf(0, 0)] if may_split else []

    cdef int passed(self, list leaves) except -1:
        """After every pass over the rows."""
        cdef Py_ssize_t i, inner = 0
        self.passes += 1
        if self.progress is None:
            return 0
        for i in range(self.tree.n_nodes):
            inner += self.tree.nodes[i].left >= 0
        rows = sum([self.tree.rows_in(leaf.node) for leaf in leaves])
        total = self.engine.facts.n_rows
        self.progress(
            Progress("growing", total - rows, total, inner + 1, self.rounds, self.passes)
        )
        return 0

    # -- best-first growth as far as nodes are known -----------------------------------------

    cdef int replay(self) except -1:
        """Run the loop from the root; ``reached`` are the leaves that it expands next."""
        cdef Py_ssize_t i
        for i in range(self.tree.n_nodes):
            self.tree.nodes[i].expanded = False
        self.reached = []
        self.tree.n_frontier = 0
        self.n_leaves = self.ages = 1
        self.min_popped = INFINITY
        if self.tree.nodes[0].state == FOUND:
            self.tree.push(0)
        with nogil:
            self.run()
        return 0

    cdef int expand(self, int32_t index) except -1 nogil:
        cdef GrownNode* node = &self.tree.nodes[index]
        cdef int32_t child
        cdef int side
        self.n_leaves += 1
        self.min_popped = min(self.min_popped, node.priority)
        if node.left < 0:
            with gil:
                self.reached.append(index)
            return 0
        node.expanded = True
        for side in range(2):
            child = node.right if side else node.left
            self.tree.nodes[child].age = self.ages
            self.ages += 1
            if self.tree.nodes[child].state == FOUND:
                self.tree.push(child)
        return 0

    cdef double cutoff(self) noexcept:
        """A node of a priority below this is never expanded."""
        if self.n_leaves != self.max_leaves:
            return -INFINITY
        return self.min_popped - 2.0 * self.tree.tolerance

    # -- a round -----------------------------------------------------------------------------

    cdef list divide(self):
        """Divide the rows of the leaves that were reached; the children to search."""
        cdef list splits = [], fresh = []
        cdef double cutoff = self.cutoff()
        cdef Py_ssize_t kept_tables = self.limits.max_cells // max(1, self.binned.counted.n_cells)
        cdef int32_t index
        cdef Leaf leaf
        n_slots = 0
        for number, index in enumerate(self.reached):
            leaf = self.open[index]
            pair = self.add_leaves(index, leaf.left)
            keep_sides = [
                may_split and self.max_priority(child) >= cutoff for child, may_split in pair
            ]
            if any(keep_sides):
                exact = self.tree.nodes[index].split.exact
                splits.append(
                    self.known_split(leaf.slot, index, keep_sides) if exact
                    else self.shard_split(leaf, keep_sides)
                )
            table = leaf.table if number < kept_tables else None
            for (child, _), keep in zip(pair, keep_sides):
                if keep:
                    fresh.append(Leaf(child, n_slots, table))
                    n_slots += 1
        self.open = {}
        self.small = [leaf for leaf in self.small if self.max_priority(leaf.node) >= cutoff]
        for leaf in self.small:
            splits.append(self.all_left(leaf.slot))
            leaf.slot = n_slots
            n_slots += 1
        if splits:
            self.engine.divide(splits)
            self.passed(fresh)
        return fresh

    cdef list add_leaves(self, int32_t index, const int64_t[::1] left):
        """Add the children of a node, from the counts on the left; whether each may be split."""
        cdef Py_ssize_t k, n_left = left[self.tree.n_classes]
        cdef GrownNode* node
        self.add_children(index)
        node = &self.tree.nodes[index]
        self.tree.nodes[node.left].stop = n_left
        self.tree.nodes[node.right].stop = node.stop - n_left
        for k in range(self.tree.n_classes):
            self.tree.counts_of(node.left)[k] = left[k]
        self.count_right(index)
        children = [(node.left, self.settle(node.left)), (node.right, self.settle(node.right))]
        self.set_test(node)
        return children

    cdef object shard_split(self, Leaf leaf, list keep_sides):
        cdef const KernelSplit* split = &self.tree.nodes[leaf.node].split
        return ShardSplit(
            leaf.slot, split.column, self.sides(split), split.low, keep_sides[0], keep_sides[1]
        )

    cdef object sides(self, const KernelSplit* split):
        """The side of the rows of each code."""
        cdef Py_ssize_t n_codes = self.binned.columns[split.column].coder.n_bins + 1
        set_sides(self.binned, split)
        return np.frombuffer((<const char*>self.binned.sides)[:n_codes], dtype=np.uint8)

    cdef object all_left(self, slot):
        """All rows to the left, and no right."""
        sides = np.ones(self.engine.bins.n_bins[0] + 1, dtype=np.uint8)
        return ShardSplit(slot, 0, sides, 0.0, True, False)

    # -- search ------------------------------------------------------------------------------

    cdef int settle_leaves(self, list leaves) except -1:
        """Find the splits of leaves; one that has none, or is never reached, stays a leaf."""
        cdef list large, some
        cdef Leaf leaf
        most = self.limits.gather_rows
        if most is None:
            most = self.engine.gather_rows
        self.small += [leaf for leaf in leaves if self.tree.rows_in(leaf.node) <= most]
        large = [leaf for leaf in leaves if self.tree.rows_in(leaf.node) > most]
        at_once = max(2, self.limits.max_cells // max(1, self.binned.counted.n_cells))
        for start in range(0, len(large), at_once):
            some = large[start : start + at_once]
            self.count(some)
            if self.finer is not None and some[0].node == 0 and self.is_uninformative(some[0]):
                self.engine.recode(self.finer())
                self.passed(some)
                self.set_bins()
                (<Leaf>some[0]).table, (<Leaf>some[0]).bounds = None, {}
                self.count(some)
            self.resolve([leaf for leaf in some if not self.parted_first(leaf)])
            for leaf in some if start else []:  # as many histograms are stored as are requested
                leaf.table = None
        return 0

    cdef bint parted_first(self, Leaf leaf) except -1:
        """Return True if one of the forced splits divides a leaf; it is taken."""
        self.forced_leaf = leaf
        if not self.takes_first(leaf.node):
            return False
        self.open[leaf.node] = leaf
        return True

    cdef int part_first(self, int32_t index, KernelSplit* split, int64_t* left) except -1 nogil:
        cdef Py_ssize_t k
        with gil:
            counts = self.left_of_first(split)
            self.forced_leaf.left = counts
            for k in range(self.problem.n_classes + 1):
                left[k] = counts[k]
        return 0

    cdef object left_of_first(self, KernelSplit* split):
        """Channels, then rows, of the left side."""
        # Values are looked at in the bin of the threshold, and in the one before it: an engine may
        # have bins that begin a little later.
        cdef Py_ssize_t j = split.column
        mine = self.intervals(self.forced_leaf, j)
        if self.sources[j].kind == NOMINAL:
            return mine.table[self.sides(split) == LEFT].sum(axis=0)
        last = self.engine.bins.bin_of(j, split.low)
        inside = [bin for bin in (last - 1, last) if bin >= 0 and not mine.single[bin]]
        if inside:
            group = [(self.forced_leaf.slot, mine, inside)]
            request = request_for(group, self.ranges[j], 2**62, 2)
            mine = refined(group, len(inside), self.engine.look({j: request})[j])[0]
            self.passed([self.forced_leaf])
        at_most = mine.high <= keys_of(np.array([split.low]))[0]
        below = (mine.code < last - 1) | ((mine.code <= last) & at_most)
        counts = mine.table[:-1][below].sum(axis=0)
        split.place = counts[self.problem.n_classes]
        split.misses |= mine.table[-1, self.problem.n_classes] > 0
        return counts + mine.table[-1] if split.missing_left else counts

    cdef bint is_uninformative(self, Leaf root) except -1:
        """Return True if many rows of the root are in bins that may hold its split."""
        values = self.engine.facts.n_rows * self.n_columns
        return self.bound_columns(root).live_rows > self.limits.max_live * values

    cdef int count(self, list leaves) except -1:
        """Histograms; of two children only the smaller one is counted."""
        cdef Leaf leaf, other
        cdef dict pairs = {}
        cdef list counted = [], rest = []
        for leaf in leaves:
            other = None if leaf.table is None else pairs.pop(id(leaf.table), None)
            if other is None:
                if leaf.table is not None:
                    pairs[id(leaf.table)] = leaf
                counted.append(leaf)
            elif self.tree.rows_in(leaf.node) < self.tree.rows_in(other.node):
                counted[counted.index(other)] = leaf
                rest.append((other, leaf))
            else:
                rest.append((leaf, other))
        at_once = max(1, self.limits.max_cells // max(1, self.binned.counted.n_cells))
        tables = {}
        for start in range(0, len(counted), at_once):
            some = counted[start : start + at_once]
            counts = self.engine.count(np.array([leaf.slot for leaf in some], dtype=np.int32))
            if counts.shape[1] < self.binned.counted.n_cells:  # so many rows, of weight 1
                counts = self.with_rows(counts.reshape(-1, self.problem.n_classes))
            tables.update(zip(some, counts.reshape(len(some), -1)))
            self.passed(leaves)
        for leaf, other in rest:
            tables[leaf] = leaf.table - tables[other]
        for leaf, table in tables.items():
            leaf.table = table
        return 0

    cdef object with_rows(self, cells):
        """Counts of 64 bits by class, with the rows of each bin after them."""
        table = np.empty((len(cells), self.problem.n_classes + 1), dtype=np.int64)
        table[:, :-1] = cells
        table[:, :-1].sum(axis=1, out=table[:, -1])
        return table

    cdef int resolve(self, list leaves) except -1:
        """Look into bins until the splits of all leaves that may be reached are known."""
        cdef list pending = self.reachable(leaves)
        cdef dict groups
        cdef Leaf leaf
        limits = self.limits
        max_requested = limits.gather_values // limits.few_values  # intervals of a request, about
        while pending:
            groups, waiting, n = {}, [], 0
            for leaf in pending:
                if n > max_requested:
                    waiting.append(leaf)
                    continue
                wanted = self.wanted(leaf)
                for j, ats in wanted.items():
                    groups.setdefault(j, []).append((leaf, ats))
                    n += len(ats)
                if wanted:
                    waiting.append(leaf)
            pending = waiting
            if not pending:
                break
            most = max(limits.max_values // n, limits.few_values)
            # slices of an interval: a power of two, fewer where there are many intervals
            bits = min(max(int(8 * limits.max_values // n).bit_length() - 1, 2), 6)
            requested = {
                j: [(leaf.slot, self.intervals(leaf, j), ats) for leaf, ats in some]
                for j, some in groups.items()
            }
            requests = {
                j: request_for(some, self.ranges[j], most, bits) for j, some in requested.items()
            }
            replies = self.engine.look(requests)
            for j, some in groups.items():
                finer = refined(requested[j], len(requests[j].low), replies[j])
                for (leaf, _), intervals in zip(some, finer):
                    leaf.refined[j] = intervals
                    del leaf.bounds[j]
            self.passed(pending)
        return 0

    cdef list reachable(self, list leaves):
        """Leaves with a split, according to their bins, that best-first growth may reach."""
        cdef list upper = []
        cdef ColumnBounds bounds
        cdef GrownNode* node
        cdef Leaf leaf
        for leaf in leaves:
            bounds = self.bound_columns(leaf)
            node = &self.tree.nodes[leaf.node]
            most = max(bounds.best, bounds.bound)
            upper.append(
                self.priority_with(node, most) if most > self.task.least else -INFINITY
            )
            if bounds.best > self.task.least:
                node.state = FOUND
                node.priority = self.priority_with(node, bounds.best)
        self.replay()
        cutoff = self.cutoff()
        for leaf in leaves:
            self.tree.nodes[leaf.node].state = WAITING
        return [
            leaf for leaf, most in zip(leaves, upper) if most > -INFINITY and most >= cutoff
        ]

    # -- the search of one leaf --------------------------------------------------------------

    cdef object intervals(self, Leaf leaf, Py_ssize_t j):
        """The part of a column that is known at the leaf so far."""
        if j in leaf.refined:
            return leaf.refined[j]
        cdef const CodedColumn* column = &self.binned.columns[j]
        cdef Py_ssize_t stride = self.binned.counted.stride, n = column.coder.n_bins + 1
        table = leaf.table[column.offset : column.offset + n * stride].reshape(n, stride)
        if self.narrow:
            table = self.with_rows(table)
        ranges = self.ranges[j]
        code = np.arange(len(ranges.single), dtype=np.int32)
        return Intervals(table, ranges.single, code, ranges.low, ranges.high)

    cdef int read(self, Leaf leaf, Py_ssize_t j) except -1:
        """Read the counts of a column with an order."""
        cdef const int64_t[:, ::1] table
        cdef const uint8_t[::1] single
        cdef Py_ssize_t n_bins
        if j not in leaf.refined:
            self.single = self.binned.columns[j].coder.single
            read_column(&self.finder, j)
            return 0
        table, single = leaf.refined[j].table, leaf.refined[j].single
        n_bins = table.shape[0] - 1
        self.single = &single[0]
        if n_bins + 1 > self.room:
            free_profile(&self.finder.profile)
            memset(&self.finder.profile, 0, sizeof(Profile))
            self.room = 2 * (n_bins + 1)
            init_profile(&self.finder.profile, self.room, self.problem.n_classes)
        self.finder.profile.floor = -INFINITY
        read_profile(
            &self.finder.profile, j, &table[0, 0], 0, n_bins, &self.by_value, &self.task.view,
        )
        return 0

    cdef ColumnBounds bound_columns(self, Leaf leaf) except *:
        """The best split known, and bounds on splits inside intervals; sets the floor."""
        cdef Finder* finder = &self.finder
        cdef ColumnBounds* bounds
        cdef Py_ssize_t j
        self.set_task(&self.task, leaf.node, True)
        finder.node = &self.task.view
        finder.histogram = <const void*><size_t>leaf.table.ctypes.data
        finder.floor = self.task.least
        for j in range(self.n_columns):
            bounds = &self.column_bounds[j]
            if j in leaf.bounds:  # the floor was at most what it is now
                bounds[0] = leaf.bounds[j]
            elif j not in leaf.refined:
                bounds[0] = bounds_of_column(finder, j)
            else:
                self.read(leaf, j)
                bounds[0] = bounds_of(&finder.profile, self.single, finder.floor)
            leaf.bounds[j] = bounds[0]
            finder.floor = max(finder.floor, bounds.best - 4.0 * self.task.view.tolerance)
        return all_bounds(self.column_bounds, self.n_columns, finder.floor)

    cdef KernelSplit best(self, Leaf leaf, Py_ssize_t j) except *:
        """The best split between intervals above the floor; its bins are their numbers."""
        cdef const Profile* profile = &self.finder.profile
        cdef KernelSplit[2] sides
        cdef Py_ssize_t t
        cdef int side
        if not self.column_bounds[j].best > self.finder.floor:
            return no_split(j)
        if self.sources[j].kind == NOMINAL:
            return best_category(&self.finder, j)
        self.read(leaf, j)
        sides[0] = sides[1] = no_split(j)
        for side in range(profile.n_families):
            for t in range(profile.families[side].first, profile.families[side].last + 1):
                try_boundary(profile, t, side, self.finder.floor, &sides[side])
        return better_side(sides, &self.task.view)

    cdef dict wanted(self, Leaf leaf):
        """Intervals to look into, by column; where there are none the split is chosen, if any."""
        cdef KernelSplit* splits = self.task.splits
        cdef double top = -INFINITY
        cdef Py_ssize_t j
        cdef dict wanted = {}
        self.bound_columns(leaf)
        for j in range(self.n_columns):
            if self.column_bounds[j].bound > self.finder.floor:
                wanted[j] = self.live(leaf, j)
            splits[j] = self.best(leaf, j)
            top = max(top, splits[j].score)
        if not top > self.task.least:
            top = INFINITY
        for j in range(self.n_columns):
            if splits[j].score < top - 2.0 * self.task.view.tolerance:
                splits[j].place = -1  # cannot tie for the first place
            elif splits[j].place >= 0 and self.sources[j].kind != NOMINAL and splits[j].bounded:
                single = self.intervals(leaf, j).single
                for at in (splits[j].bin, splits[j].follow):
                    if not single[at]:
                        wanted.setdefault(j, set()).add(at)
        wanted = {j: sorted(ats) for j, ats in wanted.items() if ats}
        if not wanted and top < INFINITY:
            self.take(leaf)
        return wanted

    cdef set live(self, Leaf leaf, Py_ssize_t j):
        """The intervals that may hold a split above the floor."""
        cdef const Profile* profile = &self.finder.profile
        cdef Py_ssize_t t
        self.read(leaf, j)
        return {
            profile.bins[t]
            for t in range(profile.n_bins)
            if is_live(profile, t, self.single, self.finder.floor)
        }

    cdef int take(self, Leaf leaf) except -1:
        """Choose between the columns; note the counts on the left of the split."""
        cdef GrownNode* node = &self.tree.nodes[leaf.node]
        cdef KernelSplit* split
        cdef Py_ssize_t j, bin
        cdef dict bins = {}
        for j in range(self.n_columns):
            split = &self.task.splits[j]
            if split.place < 0:
                continue
            bins[j] = split.bin
            if self.sources[j].kind != NOMINAL and split.bounded:
                mine = self.intervals(leaf, j)
                split.low = value_of(mine.high[split.bin])
                split.high = value_of(mine.low[split.follow])
                split.has_ends = True
                split.inside = mine.code[split.bin] == mine.code[split.follow]
            if self.sources[j].kind != NOMINAL:
                split.bin = self.intervals(leaf, j).code[split.bin]
        if not self.choose(node, &self.task):
            return 0
        j = node.split.column
        bin = bins[j]
        table = self.intervals(leaf, j).table
        if self.sources[j].kind == NOMINAL:
            leaf.left = table[self.sides(&node.split) == LEFT].sum(axis=0)
        else:
            leaf.left = table[: bin + 1].sum(axis=0)
            if node.split.missing_left:
                leaf.left += table[table.shape[0] - 1]
        leaf.refined = {}
        self.open[leaf.node] = leaf
        return 0

    # -- small nodes -------------------------------------------------------------------------

    def finish(self):
        """Grow subtrees below small leaves, each in one place, highest priority first."""
        # Those that are reached show which leaves never are.
        most = self.limits.gather_values * self.engine.places // max(1, self.n_columns)
        at_once = len(self.small) if self.max_leaves < 0 else self.engine.places
        self.small.sort(key=lambda leaf: -self.max_priority(leaf.node))
        while self.small:
            some, n_rows = [], 0
            for leaf in self.small[:at_once]:
                n_rows += self.tree.rows_in(leaf.node)
                if n_rows <= most or not some:
                    some.append(leaf)
            cutoff = self.cutoff()
            subtrees = self.engine.finish([self.subtree(leaf, cutoff) for leaf in some])
            self.passed(some)
            for leaf, arrays in zip(some, subtrees):
                self.attach(leaf.node, arrays)
            self.replay()
            cutoff = self.cutoff()
            rest = [leaf for leaf in self.small if leaf not in some]
            self.small = [leaf for leaf in rest if self.max_priority(leaf.node) >= cutoff]
            at_once = max(1, min(2 * at_once, len(self.small)))

    cdef object subtree(self, Leaf leaf, double cutoff):
        depth = self.options["max_depth"] - self.tree.nodes[leaf.node].depth
        if self.numbers is None:
            of_target = {"n_classes": self.problem.n_classes}
        else:
            of_target = {**self.numbers, "whole_spread": self.whole_spread}
        return Subtree(
            leaf.slot,
            {
                **of_target,
                "kinds": self.engine.bins.kinds,
                "n_categories": [len(column.categories or ()) for column in self.columns],
                "may_miss": [bool(self.sources[j].may_miss) for j in range(self.n_columns)],
                "options": {**self.options, "max_depth": depth, "rules": self.rules_at(leaf)},
                "whole": self.whole,
                "spans": [self.sources[j].span for j in range(self.n_columns)],
                "min_priority": cutoff,
            },
        )

    cdef object rules_at(self, Leaf leaf):
        cdef const GrownNode* node = &self.tree.nodes[leaf.node]
        cdef Py_ssize_t i
        if self.rules_as_given is None:
            return None
        limits = [self.tree.limits_of(leaf.node)[i] for i in range(self.tree.n_limits)]
        return {**self.rules_as_given, "root": (node.n_first, node.groups, limits)}

    # -- checkpoints -------------------------------------------------------------------------

    cdef int keep(self, list leaves) except -1:
        """Write all nodes, and the leaves whose splits are searched next."""
        cdef Py_ssize_t i
        for i in range(self.tree.n_nodes):
            self.tree.nodes[i].expanded = self.tree.nodes[i].left >= 0
        arrays = self.tree.arrays()
        places = np.empty(self.tree.n_nodes, dtype=np.int32)
        self.tree.preorder(np.empty(self.tree.n_nodes, dtype=np.int32), places)
        self.checkpoint.write(arrays, places[leaves])
        return 0

    cdef list resume(self, dict arrays, object leaves):
        """Take the nodes of a checkpoint, and divide the rows down to some leaves."""
        cdef int32_t node
        fresh = set(np.asarray(self.attach(0, arrays))[leaves].tolist())
        level = [0] if fresh else []
        while not fresh.issuperset(level):
            splits, below = [], []
            for slot, node in enumerate(level):
                if node in fresh:
                    splits.append(self.all_left(slot))
                    below.append(node)
                    continue
                pair = (self.tree.nodes[node].left, self.tree.nodes[node].right)
                keep_sides = [child in fresh or self.tree.nodes[child].left >= 0 for child in pair]
                splits.append(self.known_split(slot, node, keep_sides))
                below += [child for child, keep in zip(pair, keep_sides) if keep]
            self.engine.divide(splits)
            level = below
        return [Leaf(node, slot) for slot, node in enumerate(level)]

    cdef object known_split(self, Py_ssize_t slot, int32_t index, list keep_sides):
        """By the values: bins may have changed."""
        cdef const GrownNode* node = &self.tree.nodes[index]
        cdef Py_ssize_t j = node.split.column, n_bins = self.engine.bins.n_bins[j]
        if self.sources[j].kind == NOMINAL:
            sides = self.sides(&node.split)
        else:
            sides = np.full(n_bins + 1, LOOK)
            if self.engine.bins.by_code[j]:
                sides = np.arange(n_bins + 1) <= node.threshold
            sides[n_bins] = node.split.missing_left
        return ShardSplit(slot, j, sides.astype(np.uint8), node.threshold, *keep_sides)


def grow_on_shards(
    engine, columns, n_channels, *, options, limits, finer, progress, checkpoint, numbers=None
):
    """The arrays of the tree that grows on the rows of an engine."""
    # numbers are the units of a target of numbers: square_shift, weight_error and row_error
    return ShardDriver(
        len(columns), n_channels, options, engine, columns, limits, finer, progress, checkpoint,
        numbers,
    ).grow()
