"""Best-first growing: searching and expanding leaves.

A leaf waits on the frontier with a bound on its gain; when it is popped, it is searched and pushed
back with a tighter bound or with its split. Large nodes are searched by histograms (`_large`),
smaller ones by sorting (`_sorted`). The tree does not depend on the crossing.
"""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free

from treebound.growing._binned cimport count_classes, discount_node, find_ends, part_binned
from treebound.growing._bounds cimport Reach
from treebound.growing._coder cimport BY_CODE, sample_size
from treebound.growing._counting cimport subtract_counts
from treebound.growing._large cimport (
    Large, code_large, count_into, free_large, give_histogram, new_large, reach_node,
    search_node, take_histogram,
)
from treebound.growing._layout cimport (
    NOMINAL, Scratch, Split, allocate, weight_of, zeros,
)
from treebound.growing._ledger cimport Ledger, free_ledger, is_full, peel
from treebound.growing._nodes cimport BOUNDED, FOUND, WAITING, Node, leave
from treebound.growing._partition cimport Part
from treebound.growing._peels cimport Peels
from treebound.growing._pool cimport Pool
from treebound.growing._search cimport Quest, Search, search_sorted
from treebound.growing._signals cimport Watch, look_for_signals
from treebound.growing._sorted cimport (
    Sorted, enlarge_scratch, enlarge_table, free_scratch, mark, new_sorted, part_rows,
)

cdef enum:
    FINE_ROWS = 400_000      # larger samples get finer bins if the first ones are not informative
    FINE_BINS = 4095


cdef class Grower(Peels):
    def __cinit__(self, Py_ssize_t n_columns, Py_ssize_t n_classes, bint in_order, Pool pool):
        self.pool = pool
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
        free(self.search.quests[0].splits)
        free(self.search.quests[1].splits)

    # -- the loop ----------------------------------------------------------------------------

    cdef int grow(self) except -1 nogil:
        """Expand leaves until no split gains or the maximum number of leaves is reached."""
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
                if self.tree.in_order and self.tree.nodes[index].priority < self.least_priority:
                    return 0
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
        self.count_nominal()
        may_split = self.settle(0) and self.max_leaves != 1
        self.n_leaves = 1
        if not may_split or self.n_columns == 0:
            return 0
        if n < self.root_crossing or not self.make_large(self.most_bins):
            self.tree.nodes[0].home = new_sorted(
                &self.problem, self.sources, self.n_columns, NULL, n, self.scratch
            )
        self.set_spans()
        self.wait(0)
        return 0

    cdef int set_spans(self) except -1 nogil:
        """The spans of the whole sample, where this one is a part of it."""
        with gil:
            if self.spans is not None:
                for j in range(self.n_columns):
                    self.sources[j].span = self.spans[j]
        return 0

    cdef bint make_large(self, Py_ssize_t most_bins) except -1 nogil:
        """Code the sample and count the root; return whether that beats sorting all rows.

        For random labels bins are not informative: large samples get finer bins, others are sorted.
        """
        cdef Node* root = &self.tree.nodes[0]
        self.forget_large()
        enlarge_scratch(
            self.scratch, &self.problem, sample_size(self.problem.n_rows, most_bins)
        )
        self.large = new_large(
            &self.problem, self.sources, self.n_columns, most_bins, self.scratch
        )
        if self.sorts_when_needed and most_bins < FINE_BINS and self.is_noise():
            self.forget_large()
            return self.problem.n_rows >= FINE_ROWS and self.make_large(FINE_BINS)
        code_large(self.large, self.scratch, self.pool)
        self.binned = self.large.data
        root.histogram = take_histogram(self.large, True)
        count_into(self.large, 0, self.problem.n_rows, root.histogram, self.pool)
        return True

    cdef bint is_noise(self) noexcept nogil:
        """Whether the best split of a sample of rows gains no more than expected by chance."""
        cdef Py_ssize_t j
        for j in range(self.n_columns):
            if self.large.data.columns[j].coder.way == BY_CODE:
                return False  # there is no sample
        return self.large.data.signal < 1.0

    cdef void forget_large(self) noexcept nogil:
        cdef Node* root = &self.tree.nodes[0]
        if root.histogram != NULL:
            give_histogram(self.large, root.histogram)
            root.histogram = NULL
        self.binned = NULL
        free_large(self.large)
        self.large = NULL

    # -- leaves ------------------------------------------------------------------------------

    cdef int look_at(self, int32_t index) except -1 nogil:
        """Find the split of a leaf, or a tighter bound on its gain."""
        cdef Node* node = &self.tree.nodes[index]
        cdef Py_ssize_t start = node.start, n_rows = self.tree.rows_in(index)
        if node.home == NULL and n_rows >= self.crossing and not self.leaves_histograms(index):
            return self.look_at_large(index)
        if node.home == NULL:
            give_histogram(self.large, node.histogram)
            node.histogram = NULL
            node.home = new_sorted(
                &self.problem, self.sources, self.n_columns, self.binned.rows + start, n_rows,
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
        self.search.ledger = NULL
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
        """Search the histogram of a leaf; its bins are searched only when it is popped again."""
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
            node.priority = self.priority_with(node, max(reach.best, reach.bound))
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
        """Switch to sorting all rows, if bins are not informative at the root."""
        cdef Node* root = &self.tree.nodes[0]
        self.forget_large()
        root.home = new_sorted(
            &self.problem, self.sources, self.n_columns, NULL, self.problem.n_rows, self.scratch
        )
        root.home.users = 1
        self.set_spans()
        self.search_alone(0)
        leave(root.home)
        return 0

    cdef bint tells_little(self, Py_ssize_t live_rows) noexcept nogil:
        """Whether many rows of the root are in bins that may hold its split, as with noise."""
        return (
            self.sorts_when_needed
            and self.binned.most_codes <= self.most_bins + 1
            and live_rows > self.problem.n_rows * self.n_columns // 4
        )

    # -- expansion ---------------------------------------------------------------------------

    cdef int add_children(self, int32_t index, int32_t* children) except -1 nogil:
        """Add two leaves with all rows of the node and zero counts."""
        cdef Node node = self.tree.nodes[index]
        children[0] = self.tree.add(node.start, node.stop, node.depth + 1)
        children[1] = self.tree.add(node.start, node.stop, node.depth + 1)
        self.tree.nodes[index].left = children[0]
        self.tree.nodes[index].right = children[1]
        self.n_leaves += 1
        return 0

    cdef void set_right(self, int32_t index, Py_ssize_t middle) noexcept nogil:
        """Set the counts of the right child to those of the node minus the left child's."""
        cdef const Node* node = &self.tree.nodes[index]
        cdef Py_ssize_t k
        self.tree.nodes[node.left].stop = self.tree.nodes[node.right].start = middle
        for k in range(self.tree.n_classes):
            self.tree.counts_of(node.right)[k] = (
                self.tree.counts_of(index)[k] - self.tree.counts_of(node.left)[k]
            )

    cdef int expand_large(self, int32_t index) except -1 nogil:
        """Partition the rows; count the smaller child and subtract it for the larger one."""
        cdef int32_t[2] children
        cdef Node* node
        cdef Py_ssize_t middle, k
        cdef bint keep_left, keep_right
        self.add_children(index, children)
        node = &self.tree.nodes[index]
        if self.sources[node.split.column].kind != NOMINAL:
            find_ends(self.binned, node.start, node.stop, &node.split)
        middle = node.start + part_binned(
            self.binned, node.start, node.stop, &node.split, self.pool
        )
        if middle - node.start <= node.stop - middle:
            count_classes(self.binned, node.start, middle, self.tree.counts_of(node.left))
        else:
            count_classes(self.binned, middle, node.stop, self.tree.counts_of(node.left))
            for k in range(self.tree.n_classes):
                self.tree.counts_of(node.left)[k] = (
                    self.tree.counts_of(index)[k] - self.tree.counts_of(node.left)[k]
                )
        self.set_right(index, middle)
        keep_left = self.settle(node.left)
        keep_right = self.settle(node.right)
        self.set_test(node)
        self.note_peel(index)
        if self.n_leaves == self.max_leaves:
            keep_left = keep_right = False
        if middle - node.start <= node.stop - middle:
            self.part_histogram(index, node.left, node.right, keep_left, keep_right)
        else:
            self.part_histogram(index, node.right, node.left, keep_right, keep_left)
        # without order the last one pushed is popped first
        if keep_right:
            self.wait(node.right)
        if keep_left:
            self.wait(node.left)
        return 0

    cdef int part_histogram(
        self, int32_t index, int32_t small, int32_t large, bint keep_small, bint keep_large
    ) except -1 nogil:
        """Make histograms of the large children that may be split; release the node's own."""
        cdef void* whole = self.tree.nodes[index].histogram
        cdef void* part = NULL
        self.tree.nodes[index].histogram = NULL
        keep_small = keep_small and self.tree.rows_in(small) >= self.crossing
        keep_large = keep_large and self.tree.rows_in(large) >= self.crossing and whole != NULL
        if keep_large and not keep_small and discount_node(
            self.binned, self.tree.nodes[small].start, self.tree.nodes[small].stop, whole
        ):
            self.tree.nodes[large].histogram = whole
            return 0
        if keep_small or keep_large:
            part = take_histogram(self.large, False)
        if part != NULL:
            count_into(
                self.large, self.tree.nodes[small].start, self.tree.nodes[small].stop, part,
                self.pool,
            )
        if part != NULL and keep_large:
            subtract_counts(&self.binned.counted, whole, part)
            self.tree.nodes[large].histogram = whole
        else:
            give_histogram(self.large, whole)
        if keep_small:
            self.tree.nodes[small].histogram = part
        else:
            give_histogram(self.large, part)
        return 0

    cdef int expand_sorted(self, int32_t index) except -1 nogil:
        """Turn a leaf into an inner node with two leaves, and search those if more may follow."""
        cdef int32_t[2] children
        cdef Sorted* home = self.tree.nodes[index].home
        cdef Node* node
        cdef Py_ssize_t middle
        cdef bint search_left, search_right
        self.add_children(index, children)
        node = &self.tree.nodes[index]
        if node.peels > 0:
            self.renew_ledger(index, self.scratch)
        self.tree.nodes[node.left].home = self.tree.nodes[node.right].home = home
        if node.ledger != NULL:
            middle = node.start + peel(
                node.ledger, home, node.start, &node.split, self.tree.counts_of(node.left)
            )
        else:
            middle = node.start + mark(
                home, node.start, node.stop, &node.split, self.tree.counts_of(node.left)
            )
        self.set_right(index, middle)
        search_left = self.settle(node.left)
        search_right = self.settle(node.right)
        self.set_test(node)
        if self.n_leaves == self.max_leaves or not (search_left or search_right):
            free(node.tables)
            free_ledger(node.ledger)
            node.tables = NULL
            node.ledger = NULL
        elif middle - node.start <= node.stop - middle:
            self.search_children(index, node.left, node.right, search_left, search_right)
        else:
            self.search_children(index, node.right, node.left, search_right, search_left)
        return 0

    cdef int search_children(
        self, int32_t index, int32_t small, int32_t large, bint search_small, bint search_large
    ) except -1 nogil:
        """Partition the rows of a sorted node and search its children.

        If the node has tables, codes are counted in the smaller child, even if it is not searched,
        and subtracted for the larger one, which also takes over a ledger.
        """
        cdef Node* node = &self.tree.nodes[index]
        cdef int64_t* tables = node.tables
        cdef Ledger* ledger = node.ledger
        cdef bint keep_small = search_small or tables != NULL
        cdef Part part
        part.start = node.start
        part.stop = node.stop
        part.goes_left = node.home.goes_left
        part.keep_left = keep_small if small == node.left else search_large
        part.keep_right = keep_small if small == node.right else search_large
        node.tables = NULL
        node.ledger = NULL
        self.tree.nodes[large].tables = tables
        self.tree.nodes[large].ledger = ledger
        self.note_peel(index)
        self.search.home = node.home
        self.search.quests[0].view.tables = NULL
        if tables != NULL or (
            ledger != NULL and 0 < node.home.table_size <= self.tree.rows_in(small)
        ):
            self.search.quests[0].view.tables = self.tables_for(small)
        self.search.quests[1].view.tables = tables
        self.set_quest(&self.search.quests[0], small, search_small)
        self.set_quest(&self.search.quests[1], large, search_large)
        if ledger == NULL:
            part_rows(node.home, &part, self.scratch)
        self.search.part = &part
        self.search.tables = tables
        self.search.ledger = ledger if search_large else NULL
        search_sorted(&self.search, self.pool)
        self.conclude(&self.search.quests[0])
        self.conclude(&self.search.quests[1])
        if self.tree.nodes[large].ledger != NULL and is_full(ledger):
            self.give_up_ledger(large)
        return 0
