"""Best-first growth: what happens when a leaf is looked at, and when it is expanded.

A leaf waits on the frontier with a bound of its gain; when its turn comes it is searched, and comes
back with a tighter bound or with its split. Large nodes are searched by histograms (`_large`), the
others have their rows sorted (`_sorted`). The tree does not depend on where the crossing is.
"""

from libc.math cimport INFINITY, ceil, floor, log2
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.stdlib cimport free
from libc.string cimport memset

from treebound.growing._binned cimport (
    code_at, count_classes, find_ends, part_binned,
)
from treebound.growing._bounds cimport Reach
from treebound.growing._coding cimport sample_size
from treebound.growing._counting cimport subtract_counts
from treebound.growing._large cimport (
    Large, count_into, free_large, give_histogram, new_large, reach_node, search_node,
    take_histogram,
)
from treebound.growing._layout cimport (
    ENTROPY, GINI, MISCLASSIFICATION, NOMINAL, REAL, Problem, Scratch, Source, Split, allocate,
    purity_of, weight_of, xlogx, zeros,
)
from treebound.growing._nodes cimport BOUNDED, FOUND, WAITING, Node, Nodes, leave
from treebound.growing._partition cimport Part
from treebound.growing._pool cimport Pool
from treebound.growing._search cimport Quest, Search, search_sorted
from treebound.growing._signals cimport Watch, look_for_signals
from treebound.growing._sorted cimport (
    Sorted, category_of, ends_of, enlarge_scratch, enlarge_table, free_scratch, has_missing_rows,
    left_weight, mark, new_sorted, part_rows,
)
from treebound.growing._thresholds cimport OBSERVED, Rule, pick

# Scores closer than this share of a node's weight are a tie; a gain below it is rounding.
cdef double TOLERANCE = 2.0**-45
cdef double LOG2_E = 1.4426950408889634

cdef enum:
    MOST_LOGARITHMS = 65536  # kept in a table, or four for each row
    FINE_ROWS = 400_000      # samples of more rows get finer bins where the first ones tell little
    FINE_BINS = 4095


cdef class Grower:
    cdef Problem problem
    cdef Source* sources
    cdef Py_ssize_t n_columns
    cdef Nodes tree
    cdef Pool pool
    cdef Scratch* scratch       # one a thread
    cdef Large* large           # NULL: all nodes are sorted
    cdef Search search
    cdef int64_t* xlogx_table
    cdef object arrays          # what the sources point to
    cdef Py_ssize_t max_leaves, max_depth, min_split, n_leaves
    cdef Py_ssize_t root_crossing, crossing, most_bins
    cdef double min_gain
    cdef int64_t whole          # weight of the sample that this one is a part of
    cdef Rule thresholds
    cdef Watch watch
    cdef bint by_impurity
    cdef bint sorts_when_needed  # False: histograms from the crossing on, come what may

    def __cinit__(self, Py_ssize_t n_columns, Pool pool):
        self.n_columns = n_columns
        self.pool = pool
        self.sources = <Source*>zeros(n_columns, sizeof(Source))
        self.scratch = <Scratch*>zeros(pool.n_threads, sizeof(Scratch))
        self.search.quests[0].splits = <Split*>allocate(n_columns, sizeof(Split))
        self.search.quests[1].splits = <Split*>allocate(n_columns, sizeof(Split))
        self.search.scratch = self.scratch

    def __dealloc__(self):
        cdef int t
        free_large(self.large)
        if self.scratch != NULL:
            for t in range(self.pool.n_threads):
                free_scratch(&self.scratch[t])
        free(self.scratch)
        free(self.sources)
        free(self.search.quests[0].splits)
        free(self.search.quests[1].splits)
        free(self.xlogx_table)

    # -- the loop ----------------------------------------------------------------------------

    cdef int grow(self) except -1 nogil:
        """Expand leaves until none gains or the leaves are as many as allowed."""
        cdef int32_t index
        cdef Sorted* home
        cdef int t
        for t in range(self.pool.n_threads):
            enlarge_scratch(&self.scratch[t], &self.problem, 1)
        self.start()
        while self.tree.n_frontier and self.n_leaves != self.max_leaves:
            look_for_signals(&self.watch)
            index = self.tree.pop()
            home = self.tree.nodes[index].home
            try:
                if self.tree.nodes[index].state != FOUND:
                    self.look_at(index)
                elif home != NULL:
                    self.expand_sorted(index)
                else:
                    self.expand_large(index)
            finally:
                leave(home)
        return 0

    cdef int start(self) except -1 nogil:
        """The root, and the sample as codes if it is large."""
        cdef Py_ssize_t n = self.problem.n_rows, i
        cdef int64_t* counts
        cdef bint may_split
        self.tree.add(0, n, 0)
        counts = self.tree.counts_of(0)
        for i in range(n):
            counts[self.problem.labels[i]] += weight_of(i, &self.problem)
        self.set_criterion()
        may_split = self.settle(0) and self.max_leaves != 1
        self.n_leaves = 1
        # the paper's priorities are impurities, at most a few units; gains are weights
        self.tree.tolerance = TOLERANCE * (1.0 if self.by_impurity else <double>self.whole)
        if not may_split or self.n_columns == 0:
            return 0
        if n < self.root_crossing:
            self.tree.nodes[0].home = new_sorted(
                &self.problem, self.sources, self.n_columns, NULL, n, self.scratch
            )
        else:
            self.make_large(self.most_bins)
        self.wait(0)
        return 0

    cdef int make_large(self, Py_ssize_t most_bins) except -1 nogil:
        """Code the sample and count the root."""
        cdef Node* root = &self.tree.nodes[0]
        if root.histogram != NULL:
            give_histogram(self.large, root.histogram)
            root.histogram = NULL
        free_large(self.large)
        self.large = NULL
        enlarge_scratch(
            self.scratch, &self.problem, sample_size(self.problem.n_rows, most_bins)
        )
        self.large = new_large(
            &self.problem, self.sources, self.n_columns, most_bins, self.scratch, self.pool
        )
        root.histogram = take_histogram(self.large, True)
        count_into(self.large, 0, self.problem.n_rows, root.histogram, self.pool)
        return 0

    cdef int set_criterion(self) except -1 nogil:
        """Whether sums of squares need 128 bits, and the table of c log c."""
        cdef int64_t total = 0, count
        cdef Py_ssize_t k
        cdef double largest
        for k in range(self.problem.n_classes):
            total += self.tree.counts_of(0)[k]
        self.whole = max(self.whole, total)
        self.problem.wide = self.whole >= <int64_t>1 << 31
        self.problem.xlogx = NULL
        self.problem.xlogx_unit = 1.0
        if self.problem.criterion != ENTROPY:
            return 0
        # a sum of c log c is at most whole log2 whole: leave it 60 bits
        largest = <double>self.whole * max(1.0, log2(<double>self.whole))
        self.problem.xlogx_unit = 2.0 ** (60.0 - ceil(log2(largest)))
        if total > max(MOST_LOGARITHMS, 4 * <int64_t>self.problem.n_rows):
            return 0
        self.xlogx_table = <int64_t*>allocate(total + 1, sizeof(int64_t))
        for count in range(total + 1):
            self.xlogx_table[count] = xlogx(count, &self.problem)
        self.problem.xlogx = self.xlogx_table
        return 0

    # -- leaves ------------------------------------------------------------------------------

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
        """Put a leaf on the frontier with what it would gain if both children were pure."""
        cdef Node* node = &self.tree.nodes[index]
        node.state = WAITING
        node.priority = -node.purity
        if self.by_impurity:
            node.priority = 0.0
        elif self.problem.criterion != ENTROPY:
            node.priority += <double>node.weight
        self.tree.push(index)

    cdef int look_at(self, int32_t index) except -1 nogil:
        """Find the split of a leaf, or a better bound of what it gains."""
        cdef Node* node = &self.tree.nodes[index]
        cdef Py_ssize_t start = node.start, n_rows = self.tree.rows_in(index)
        if node.home == NULL and n_rows >= self.crossing:
            return self.look_at_large(index)
        if node.home == NULL:
            give_histogram(self.large, node.histogram)
            node.histogram = NULL
            node.home = new_sorted(
                &self.problem, self.sources, self.n_columns, self.large.data.rows + start, n_rows,
                self.scratch,
            )
            node.start = 0
            node.stop = n_rows
            node.home.users = 1
            self.search_alone(index)
            leave(node.home)
            return 0
        self.search_alone(index)
        return 0

    cdef int search_alone(self, int32_t index) except -1 nogil:
        """A node whose rows were just sorted."""
        cdef Sorted* home = self.tree.nodes[index].home
        cdef int t
        for t in range(1, self.pool.n_threads):
            enlarge_scratch(&self.scratch[t], &self.problem, home.problem.n_rows)
            enlarge_table(&self.scratch[t], self.scratch[0].n_cells)
        self.search.home = home
        self.search.part = NULL
        self.search.tables = NULL
        self.search.quests[0].view.tables = NULL
        if 0 < home.table_size <= self.tree.rows_in(index):
            home.spare = <int64_t*>allocate(home.table_size, sizeof(int64_t))
            self.search.quests[0].view.tables = self.tables_for(index)
        self.set_quest(&self.search.quests[0], index, True)
        self.search.quests[1].wanted = False
        search_sorted(&self.search, self.pool)
        self.conclude(&self.search.quests[0])
        return 0

    cdef int look_at_large(self, int32_t index) except -1 nogil:
        """Search the histogram of a leaf; bins are looked into only when its turn comes again."""
        cdef Node* node = &self.tree.nodes[index]
        cdef Quest* quest = &self.search.quests[0]
        cdef Reach reach
        if node.histogram == NULL:
            node.histogram = take_histogram(self.large, True)
            count_into(self.large, node.start, node.stop, node.histogram, self.pool)
        self.set_quest(quest, index, True)
        reach = reach_node(self.large, node.histogram, &quest.view, quest.least, self.pool)
        if index == 0 and node.state == WAITING and self.tells_little(reach.live_rows):
            if self.problem.n_rows < FINE_ROWS:
                return self.sort_all()
            self.make_large(FINE_BINS)
            reach = reach_node(self.large, node.histogram, &quest.view, quest.least, self.pool)
        if max(reach.best, reach.bound) <= quest.least:
            give_histogram(self.large, node.histogram)
            node.histogram = NULL
            return 0
        if self.tree.in_order and node.state == WAITING and reach.live_rows and index:
            node.state = BOUNDED
            node.priority = self.priority_of(node, max(reach.best, reach.bound))
            self.tree.push(index)
            return 0
        search_node(self.large, node.histogram, &quest.view, quest.splits, self.pool)
        if self.choose(node, quest):
            self.tree.push(index)
        else:
            give_histogram(self.large, node.histogram)
            node.histogram = NULL
        return 0

    cdef int sort_all(self) except -1 nogil:
        """Bins tell so little of the root that sorting all rows is faster."""
        cdef Node* root = &self.tree.nodes[0]
        free(root.histogram)
        root.histogram = NULL
        free_large(self.large)
        self.large = NULL
        root.home = new_sorted(
            &self.problem, self.sources, self.n_columns, NULL, self.problem.n_rows, self.scratch
        )
        root.home.users = 1
        self.search_alone(0)
        leave(root.home)
        return 0

    cdef bint tells_little(self, Py_ssize_t live_rows) noexcept nogil:
        """Whether the root has many rows in bins that may hold its split, as with pure noise."""
        return (
            self.sorts_when_needed
            and self.large.data.most_codes <= self.most_bins + 1
            and live_rows > self.problem.n_rows * self.n_columns // 10
        )

    # -- expansion ---------------------------------------------------------------------------

    cdef int add_children(self, int32_t index, int32_t* children) except -1 nogil:
        """Two leaves with all rows of the node; their counts are zero."""
        cdef Node node = self.tree.nodes[index]
        children[0] = self.tree.add(node.start, node.stop, node.depth + 1)
        children[1] = self.tree.add(node.start, node.stop, node.depth + 1)
        self.tree.nodes[index].left = children[0]
        self.tree.nodes[index].right = children[1]
        self.n_leaves += 1
        return 0

    cdef void set_right(self, int32_t index, Py_ssize_t middle) noexcept nogil:
        """The right child has what the left one has not."""
        cdef const Node* node = &self.tree.nodes[index]
        cdef Py_ssize_t k
        self.tree.nodes[node.left].stop = self.tree.nodes[node.right].start = middle
        for k in range(self.tree.n_classes):
            self.tree.counts_of(node.right)[k] = (
                self.tree.counts_of(index)[k] - self.tree.counts_of(node.left)[k]
            )

    cdef int expand_large(self, int32_t index) except -1 nogil:
        """Part the rows; count the smaller child and take it from the histogram for the larger."""
        cdef int32_t[2] children
        cdef Node* node
        cdef Py_ssize_t middle, k
        cdef bint keep_left, keep_right
        self.add_children(index, children)
        node = &self.tree.nodes[index]
        if self.sources[node.split.column].kind != NOMINAL:
            find_ends(self.large.data, node.start, node.stop, &node.split)
        middle = node.start + part_binned(
            self.large.data, node.start, node.stop, &node.split, self.pool
        )
        if middle - node.start <= node.stop - middle:
            count_classes(self.large.data, node.start, middle, self.tree.counts_of(node.left))
        else:
            count_classes(self.large.data, middle, node.stop, self.tree.counts_of(node.left))
            for k in range(self.tree.n_classes):
                self.tree.counts_of(node.left)[k] = (
                    self.tree.counts_of(index)[k] - self.tree.counts_of(node.left)[k]
                )
        self.set_right(index, middle)
        keep_left = self.settle(node.left)
        keep_right = self.settle(node.right)
        self.set_test(node)
        if self.n_leaves == self.max_leaves:
            keep_left = keep_right = False
        if middle - node.start <= node.stop - middle:
            self.part_histogram(index, node.left, node.right, keep_left, keep_right)
        else:
            self.part_histogram(index, node.right, node.left, keep_right, keep_left)
        # without order the last one pushed is the next
        if keep_right:
            self.wait(node.right)
        if keep_left:
            self.wait(node.left)
        return 0

    cdef int part_histogram(
        self, int32_t index, int32_t small, int32_t large, bint keep_small, bint keep_large
    ) except -1 nogil:
        """Histograms of the children that are large and may be split; the node loses its own."""
        cdef void* whole = self.tree.nodes[index].histogram
        cdef void* part = NULL
        self.tree.nodes[index].histogram = NULL
        keep_small = keep_small and self.tree.rows_in(small) >= self.crossing
        keep_large = keep_large and self.tree.rows_in(large) >= self.crossing and whole != NULL
        if keep_small or keep_large:
            part = take_histogram(self.large, False)
        if part != NULL:
            count_into(
                self.large, self.tree.nodes[small].start, self.tree.nodes[small].stop, part,
                self.pool,
            )
        if part != NULL and keep_large:
            subtract_counts(&self.large.data.counted, whole, part)
            self.tree.nodes[large].histogram = whole
        else:
            give_histogram(self.large, whole)
        if keep_small:
            self.tree.nodes[small].histogram = part
        else:
            give_histogram(self.large, part)
        return 0

    cdef int expand_sorted(self, int32_t index) except -1 nogil:
        """Turn a leaf into an inner node with two leaves, and search those if any may follow."""
        cdef int32_t[2] children
        cdef Sorted* home = self.tree.nodes[index].home
        cdef Node* node
        cdef Py_ssize_t middle
        cdef bint search_left, search_right
        self.add_children(index, children)
        node = &self.tree.nodes[index]
        self.tree.nodes[node.left].home = self.tree.nodes[node.right].home = home
        middle = node.start + mark(
            home, node.start, node.stop, &node.split, self.tree.counts_of(node.left)
        )
        self.set_right(index, middle)
        search_left = self.settle(node.left)
        search_right = self.settle(node.right)
        self.set_test(node)
        if self.n_leaves == self.max_leaves or not (search_left or search_right):
            free(node.tables)
            node.tables = NULL
        elif middle - node.start <= node.stop - middle:
            self.search_children(index, node.left, node.right, search_left, search_right)
        else:
            self.search_children(index, node.right, node.left, search_right, search_left)
        return 0

    cdef int set_test(self, Node* node) except -1 nogil:
        """Threshold or category; where no row is missing, missing goes to the heavier child."""
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
            # weights that were rounded to integers may miss a tie by a few units
            node.split.missing_left = (
                <double>(self.tree.nodes[node.left].weight - self.tree.nodes[node.right].weight)
                >= -TOLERANCE * <double>node.weight
            )
        return 0

    cdef bint ends(self, Node* node, Split* split, double* low, double* high) noexcept nogil:
        """The neighbours of a threshold; False where only missing rows go right."""
        if node.home != NULL:
            return ends_of(node.home, node.start, split, low, high)
        find_ends(self.large.data, node.start, node.stop, split)
        low[0] = split.low
        high[0] = split.high
        return split.known

    cdef bint misses(self, const Node* node) noexcept nogil:
        """Whether a row of a node is missing in the column of its split."""
        cdef Py_ssize_t i, missing
        if node.home != NULL:
            return has_missing_rows(node.home, node.start, node.stop, node.split.column)
        missing = self.large.data.columns[node.split.column].coder.n_bins
        for i in range(node.start, node.stop):
            if code_at(self.large.data, node.split.column, self.large.data.rows[i]) == missing:
                return True
        return False

    cdef int search_children(
        self, int32_t index, int32_t small, int32_t large, bint search_small, bint search_large
    ) except -1 nogil:
        """Part the rows of a sorted node and search its children.

        Where the node has tables, codes are counted in the smaller child, whether it is searched or
        not; the tables of the larger one are the rest.
        """
        cdef Node* node = &self.tree.nodes[index]
        cdef int64_t* tables = node.tables
        cdef bint keep_small = search_small or tables != NULL
        cdef Part part
        part.start = node.start
        part.stop = node.stop
        part.goes_left = node.home.goes_left
        part.keep_left = keep_small if small == node.left else search_large
        part.keep_right = keep_small if small == node.right else search_large
        node.tables = NULL
        self.tree.nodes[large].tables = tables
        self.search.home = node.home
        self.search.quests[0].view.tables = NULL if tables == NULL else self.tables_for(small)
        self.search.quests[1].view.tables = tables
        self.set_quest(&self.search.quests[0], small, search_small)
        self.set_quest(&self.search.quests[1], large, search_large)
        part_rows(node.home, &part, self.scratch)
        self.search.part = &part
        self.search.tables = tables
        search_sorted(&self.search, self.pool)
        self.conclude(&self.search.quests[0])
        self.conclude(&self.search.quests[1])
        return 0

    cdef int64_t* tables_for(self, int32_t index) except NULL nogil:
        """Memory for a node's tables, all zero; its own if it is large enough to keep them.

        A node keeps its tables only if it has a row for every cell of them, so the tables of the
        whole frontier never have more cells than there are rows.
        """
        cdef Sorted* home = self.tree.nodes[index].home
        cdef int64_t* tables = home.spare
        if self.tree.rows_in(index) >= home.table_size:
            tables = <int64_t*>allocate(home.table_size, sizeof(int64_t))
            self.tree.nodes[index].tables = tables
        memset(tables, 0, home.table_size * sizeof(int64_t))
        return tables

    # -- choice ------------------------------------------------------------------------------

    cdef void set_quest(self, Quest* quest, int32_t index, bint wanted) noexcept nogil:
        """Prepare the search of a node; its tables are set already."""
        cdef const Node* node = &self.tree.nodes[index]
        cdef double tolerance = self.tolerance_of(node.weight)
        cdef double least = self.min_gain * <double>self.whole - tolerance
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
        # A split of no gain may lead to splits that gain (exclusive or); where impurities are not
        # strictly concave, or leaves wait for pure children, it would only delay them.
        if self.by_impurity or self.problem.criterion == MISCLASSIFICATION:
            least = max(least, tolerance)
        quest.least = node.purity + least

    cdef double tolerance_of(self, int64_t weight) noexcept nogil:
        """Scores closer than this are a tie: rounding of floats, and of c log c to integers."""
        cdef double tolerance = TOLERANCE * <double>weight
        if self.problem.criterion == ENTROPY:
            tolerance += (2 * self.tree.n_classes + 2) / self.problem.xlogx_unit
        return tolerance

    cdef void conclude(self, const Quest* quest) noexcept nogil:
        """Put a sorted leaf on the frontier if a split gains enough; else it needs no tables."""
        cdef Node* node = &self.tree.nodes[quest.index]
        if quest.wanted and self.choose(node, quest):
            self.tree.push(quest.index)
            if self.tree.rows_in(quest.index) >= node.home.table_size:
                return
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
        node.priority = self.priority_of(node, node.split.score)
        node.state = FOUND
        return True

    cdef bint wins(self, Node* node, Split* split, double tolerance) noexcept nogil:
        """Whether a column's split replaces that of the columns before it."""
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
        """Room between the two sides of a split, as a share of the column's range.

        1 for a category, 0 where only missing rows go right. Of equal splits the one with more
        room is the surer one, and the order of the columns has no say.
        """
        cdef double low = 0.0, high = 0.0
        if self.sources[split.column].kind == NOMINAL:
            return 1.0
        if not self.ends(node, split, &low, &high):
            return 0.0
        return (high - low) / self.sources[split.column].span

    cdef double priority_of(self, const Node* node, double score) noexcept nogil:
        """The gain, or in the paper's order minus the mean impurity of the children (ERRATA 15)."""
        if not self.by_impurity:
            return score - node.purity
        if self.problem.criterion == ENTROPY:
            return score / <double>node.weight
        return score / <double>node.weight - 1.0


cdef double rise_of(int64_t weight, const Problem* problem) noexcept nogil:
    """The most that a row can lift the score by changing sides (see ``_scan.pyx``)."""
    cdef double heaviest = <double>min(problem.max_weight, weight)
    if problem.criterion == GINI:
        return 2.0 * heaviest
    return heaviest * (log2(<double>weight / heaviest) + LOG2_E)


# -- from Python ---------------------------------------------------------------------------

TYPES = {"f8": 0, "f4": 1, "i1": 2, "i2": 3, "i4": 4}


def grow(
    columns, y, weights, n_classes, kinds, n_categories, may_miss, *, criterion, by_impurity,
    max_leaves, max_depth, min_samples_leaf, min_weight, min_samples_split, min_gain, thresholds,
    n_threads, crossing=None, most_bins=None,
):
    """The arrays of the grown tree, and which columns have missing values.

    ``columns`` are one-dimensional arrays of float64, float32, int8, int16 or int32; ``y`` is int32
    and ``weights`` int64 or None. ``max_leaves`` is -1 for no limit. ``crossing`` is the least
    number of rows of a node that is searched by histograms, ``most_bins`` the number of bins.
    """
    cdef Py_ssize_t n = len(y), j
    cdef const int32_t[::1] labels = y
    cdef const int64_t[::1] units
    cdef Grower grower
    n_threads = max(1, min(n_threads, len(columns), n // 4096))
    grower = Grower(len(columns), Pool(n_threads))
    grower.arrays = (columns, y, weights)
    for j, values in enumerate(columns):
        grower.sources[j].first = <const char*><size_t>values.ctypes.data
        grower.sources[j].stride = values.strides[0]
        grower.sources[j].type = TYPES[values.dtype.str[1:]]
        grower.sources[j].kind = kinds[j]
        grower.sources[j].n_categories = n_categories[j]
        grower.sources[j].may_miss = may_miss[j]
    grower.problem.n_rows = n
    grower.problem.n_classes = n_classes
    grower.problem.labels = <const uint32_t*>&labels[0]
    grower.problem.max_weight = 1
    if weights is not None:
        units = weights
        grower.problem.weights = &units[0]
        grower.problem.max_weight = weights.max()
    grower.problem.criterion = criterion
    grower.problem.min_leaf = min_samples_leaf
    grower.problem.min_weight = min_weight
    grower.tree = Nodes(n_classes, max_leaves >= 0)
    grower.by_impurity = by_impurity
    grower.max_leaves = max_leaves
    grower.max_depth = max_depth
    grower.min_split = max(min_samples_split, 2 * min_samples_leaf)
    grower.min_gain = min_gain
    grower.thresholds = thresholds
    set_crossing(grower, crossing, most_bins, n_categories)
    with nogil:
        grower.grow()
    missing = [bool(grower.sources[j].may_miss) for j in range(len(columns))]
    return grower.tree.arrays(), missing


cdef set_crossing(Grower grower, crossing, most_bins, n_categories):
    """Where histograms begin to pay, measured; see ``benchmarks/growth.py``.

    The more classes, the longer a bin takes to judge, and logarithms take longer than squares.
    """
    cdef Py_ssize_t n_classes = grower.problem.n_classes
    cdef double slow = 1.6 if grower.problem.criterion == ENTROPY else 1.0
    grower.most_bins = most_bins or (127 if n_classes > 2 else 255)
    grower.crossing = <Py_ssize_t>(slow * 64 * n_classes)
    grower.root_crossing = <Py_ssize_t>(slow * (8192 + 4096 * (n_classes - 2)))
    grower.sorts_when_needed = crossing is None
    if crossing is not None:
        grower.crossing = grower.root_crossing = crossing
    if max(n_categories, default=0) > 65534 or n_classes > 65535 or grower.problem.n_rows >= 2**32:
        grower.root_crossing = 2**62
