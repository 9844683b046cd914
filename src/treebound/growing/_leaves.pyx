"""Leaves: whether one may be split, its best split, and the gain."""

from libc.math cimport INFINITY, floor, log2
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free

from treebound.growing._binned cimport code_at, find_ends
from treebound.growing._layout cimport (
    ENTROPY, GINI, NOMINAL, REAL, Problem, Source, Split, allocate, purity_of, xlogx, zeros,
)
from treebound.growing._ledger cimport free_ledger
from treebound.growing._nodes cimport FOUND, WAITING, Node, Nodes
from treebound.growing._rules cimport (
    least_gain, left_is_heavier, most_priority, order_tolerance, priority_of, set_scale,
    tolerance_of,
)
from treebound.growing._search cimport Quest
from treebound.growing._sorted cimport category_of, ends_of, has_missing_rows, left_weight
from treebound.growing._thresholds cimport OBSERVED, pick

cdef double LOG2_E = 1.4426950408889634

cdef enum:
    MOST_LOGARITHMS = 65536  # in the table, or four per row


cdef class Leaves:
    """The nodes of a growing tree, its data and its options."""

    def __cinit__(self, Py_ssize_t n_columns, Py_ssize_t n_classes, bint in_order, *others):
        self.n_columns = n_columns
        self.sources = <Source*>zeros(n_columns, sizeof(Source))
        self.tree = Nodes(n_classes, in_order)
        self.problem.n_classes = n_classes
        self.problem.max_weight = 1

    def __dealloc__(self):
        free(self.sources)
        free(self.xlogx_table)

    cdef int set_criterion(self) except -1 nogil:
        """From the counts of the root: tolerances, the width of sums, the table of c log c."""
        cdef int64_t total = 0, count
        cdef Py_ssize_t k
        for k in range(self.problem.n_classes):
            total += self.tree.counts_of(0)[k]
        self.whole = max(self.whole, total)
        self.tree.tolerance = order_tolerance(self.whole, self.by_impurity)
        self.problem.xlogx = NULL
        set_scale(&self.problem, self.whole)
        if self.problem.criterion != ENTROPY or total > max(
            MOST_LOGARITHMS, 4 * <int64_t>self.problem.n_rows
        ):
            return 0
        self.xlogx_table = <int64_t*>allocate(total + 1, sizeof(int64_t))
        for count in range(total + 1):
            self.xlogx_table[count] = xlogx(count, &self.problem)
        self.problem.xlogx = self.xlogx_table
        return 0

    cdef bint settle(self, int32_t index) noexcept nogil:
        """Weight and purity from the counts; whether the node may be split at all."""
        cdef Node* node = &self.tree.nodes[index]
        cdef const int64_t* counts = self.tree.counts_of(index)
        cdef Py_ssize_t k, classes = 0
        node.weight = 0
        for k in range(self.tree.n_classes):
            node.weight += counts[k]
            classes += counts[k] > 0
        node.purity = purity_of(counts, node.weight, &self.problem)
        return (
            classes > 1
            and self.tree.rows_in(index) >= self.min_split
            and node.depth < self.max_depth
        )

    cdef void wait(self, int32_t index) noexcept nogil:
        """Push a leaf on the frontier with its gain if both children were pure."""
        cdef Node* node = &self.tree.nodes[index]
        node.state = WAITING
        node.priority = most_priority(
            node.weight, node.purity, self.by_impurity, &self.problem
        )
        self.tree.push(index)

    # -- the split ---------------------------------------------------------------------------

    cdef int set_test(self, Node* node) except -1 nogil:
        """Set threshold or category; without missing rows, missing goes to the heavier child."""
        cdef const Source* source = &self.sources[node.split.column]
        cdef double low = 0.0, high = 0.0
        cdef bint learned = source.may_miss, ended
        if source.kind == NOMINAL:
            node.category = <int32_t>node.split.bin
            if node.home != NULL:
                node.category = <int32_t>category_of(node.home, &node.split)
        else:
            ended = self.ends(node, &node.split, &low, &high)
            if not ended:
                node.threshold = INFINITY
            elif source.kind == REAL or self.thresholds == OBSERVED:
                node.threshold = pick(low, high, self.thresholds)
            else:
                node.threshold = floor(0.5 * low + 0.5 * high)
            learned = learned and self.misses(node)
        if not learned:
            node.split.missing_left = left_is_heavier(
                self.tree.nodes[node.left].weight, node.weight
            )
        return 0

    cdef bint ends(self, Node* node, Split* split, double* low, double* high) noexcept nogil:
        """The neighbours of a threshold; False if only missing rows go right."""
        if node.home != NULL:
            return ends_of(node.home, node.start, split, low, high)
        find_ends(self.binned, node.start, node.stop, split)
        low[0] = split.low
        high[0] = split.high
        return split.known

    cdef bint misses(self, const Node* node) noexcept nogil:
        """Whether a row of a node is missing in the column of its split."""
        cdef Py_ssize_t i, missing
        if node.home != NULL:
            return has_missing_rows(node.home, node.start, node.stop, node.split.column)
        missing = self.binned.columns[node.split.column].coder.n_bins
        for i in range(node.start, node.stop):
            if code_at(self.binned, node.split.column, self.binned.rows[i]) == missing:
                return True
        return False

    # -- the choice --------------------------------------------------------------------------

    cdef void set_quest(self, Quest* quest, int32_t index, bint wanted) noexcept nogil:
        """Prepare the search of a node; its tables are set already."""
        cdef const Node* node = &self.tree.nodes[index]
        cdef double tolerance = tolerance_of(node.weight, &self.problem)
        quest.index = index
        quest.wanted = wanted
        quest.view.start = node.start
        quest.view.stop = node.stop
        quest.view.weight = node.weight
        quest.view.purity = node.purity
        quest.view.counts = self.tree.counts_of(index)
        quest.view.rows = NULL if node.home == NULL else node.home.rows
        quest.view.tolerance = tolerance
        quest.view.rise = rise_of(node.weight, &self.problem)
        quest.least = node.purity + least_gain(
            self.min_gain, self.whole, tolerance, self.by_impurity, &self.problem
        )

    cdef void conclude(self, const Quest* quest) noexcept nogil:
        """Push a sorted leaf on the frontier if a split gains enough; else free its counts."""
        cdef Node* node = &self.tree.nodes[quest.index]
        if quest.wanted and self.choose(node, quest):
            self.tree.push(quest.index)
            if self.tree.rows_in(quest.index) >= node.home.table_size:
                return
        else:
            free_ledger(node.ledger)
            node.ledger = NULL
        free(node.tables)
        node.tables = NULL

    cdef bint choose(self, Node* node, const Quest* quest) noexcept nogil:
        """Take the best of the columns' splits; whether it gains enough."""
        cdef Py_ssize_t j
        node.split.score = -INFINITY
        for j in range(self.n_columns):
            if quest.splits[j].place >= 0 and self.wins(
                node, &quest.splits[j], quest.view.tolerance
            ):
                node.split = quest.splits[j]
        if not node.split.score > quest.least:
            node.split.column = -1
            return False
        node.priority = self.priority_with(node, node.split.score)
        node.state = FOUND
        return True

    cdef bint wins(self, Node* node, Split* split, double tolerance) noexcept nogil:
        """Whether a column's split is better than that of the previous columns."""
        if split.score > node.split.score + tolerance:
            return True
        if split.score < node.split.score - tolerance:
            return False
        if self.by_impurity:
            return self.weight_left(node, split) < self.weight_left(node, &node.split)
        return self.gap_of(node, split) > self.gap_of(node, &node.split)

    cdef int64_t weight_left(self, const Node* node, const Split* split) noexcept nogil:
        if node.home == NULL:
            return split.left_weight
        return left_weight(node.home, node.start, node.stop, split)

    cdef double gap_of(self, Node* node, Split* split) noexcept nogil:
        """Gap between the two sides of a split, relative to the column's range.

        1 for a category, 0 if only missing rows go right. On ties the widest gap wins, so that the
        order of the columns does not matter.
        """
        cdef double low = 0.0, high = 0.0
        if self.sources[split.column].kind == NOMINAL:
            return 1.0
        if not self.ends(node, split, &low, &high):
            return 0.0
        return (high - low) / self.sources[split.column].span

    cdef double priority_with(self, const Node* node, double score) noexcept nogil:
        return priority_of(score, node.weight, node.purity, self.by_impurity, &self.problem)


cdef double rise_of(int64_t weight, const Problem* problem) noexcept nogil:
    """The most that a row can raise the score by changing sides (see ``_scan.pyx``)."""
    cdef double heaviest = <double>min(problem.max_weight, weight)
    if problem.criterion == GINI:
        return 2.0 * heaviest
    return heaviest * (log2(<double>weight / heaviest) + LOG2_E)
