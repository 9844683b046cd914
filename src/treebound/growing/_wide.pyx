"""Search at the top of a tree: several candidate splits at each node there, greedy growth below.

Used by `search_arrays`, which gives the graph of candidates that is pruned. A node whose
depth is below the number of widths has several candidates: the best split of a column with an
order, and every category of a nominal column. Each of them is a copy of the node that waits on the
frontier with its split; when it is expanded it copies the sorted rows, unless no other copy needs
them. So everything below is the growth of `Grower`, with its rules, ties and thresholds. Nodes with
equal rows and equal rules are grown once: at the searched levels those of the same depth, below
them those of any depth, unless depth is limited.

Threads search the root together. Then each of them takes the best candidate that is left; if there
is none, it gets a leaf of another thread (`_sharing.pyx`). So a node may be in the tree of any
thread: a reference to it has the number of its grower and its place there.

Guarantees: the first candidate of every node is the split of greedy growth, so that the graph
contains the greedy tree. The graph does not depend on the number of threads. The sorted rows are in
memory at most once, and twice more for each thread.
"""

import numpy as np

from libc.math cimport NAN
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memmove, memset
from treebound._utils._pool cimport Pool, Work, look_for_signals, stop_others
from treebound.growing._driver cimport FOUND, GrownNode, leave
from treebound.growing._layout cimport (
    NOMINAL, KernelColumn, KernelSplit, NodeView, Packing, Scratch, allocate, enlarged, rank_of,
    relaxed, row_of, set_relaxed, zeros,
)
from treebound.growing._memory cimport Grower, copy_nodes
from treebound.growing._scan cimport no_split, search_categories
from treebound.growing._sharing cimport Exchange, Subproblems, mix, scrambled
from treebound.growing._sorted cimport (
    Part, Sorted, Task, enlarge_scratch, free_sorted, id_of, is_shared, mark, partition,
)
from treebound.growing._tables cimport (
    NodeTables, enlarge_tables, free_tables, has_tables, is_constant, search_tables, set_tables,
)


cdef enum:
    MAX_TABLED = 4096       # rows of a node that is searched by tables; larger ones by threads
    THREAD_VALUES = 8192    # for each thread
    MAX_THREADS = 256


cdef struct Known:
    # Facts of a node for the search.
    int64_t same            # a reference to the node that is grown for it; -1: itself
    int32_t first_copy      # its candidates
    int32_t n_copies
    double share            # of the search that is below it, by row of the sample


cdef class WideGrower(Grower):
    cdef Py_ssize_t[::1] widths # candidates at depth 0, 1, ...
    cdef Py_ssize_t n_levels    # how many there are
    cdef uint64_t[:, ::1] keys  # two random numbers of every row
    cdef Known* known           # by node
    cdef Py_ssize_t n_known     # their capacity
    cdef Subproblems subproblems
    cdef bint any_depth         # whether nodes below the searched levels are equal at any depth
    cdef bint tabled            # whether small nodes are searched by tables
    cdef NodeTables tables
    cdef uint8_t* excluded      # categories of a column that are candidates already
    # other threads
    cdef WideGrower boss        # the grower of the root; None: this is it
    cdef int number             # of this grower, the boss has 0
    cdef Exchange exchange      # with other growers; None: there is one thread
    cdef bint is_busy           # whether this one has leaves
    cdef Py_ssize_t min_values  # of a leaf that is given to another grower
    cdef int64_t rows_left      # in open leaves, when this one last reported

    def __dealloc__(self):
        free(self.known)
        free(self.excluded)
        free_tables(&self.tables)

    cdef int set_widths(self, widths) except -1:
        cdef Py_ssize_t i, n = len(self.arrays[1])
        self.widths = np.array(widths, dtype=np.intp)
        self.n_levels = len(widths)
        self.keys = np.empty((n, 2), dtype=np.uint64)
        for i in range(n):
            self.keys[i, 0] = scrambled(2 * i)
            self.keys[i, 1] = scrambled(2 * i + 1)
        self.any_depth = self.max_depth >= self.problem.n_rows
        self.subproblems = Subproblems(self.pool.n_threads)
        self.allocate_excluded()
        return 0

    cdef int allocate_excluded(self) except -1:
        cdef Py_ssize_t n = 0, j
        for j in range(self.n_columns):
            n = max(n, self.sources[j].n_categories)
        self.excluded = <uint8_t*>allocate(n + 1, 1)
        return 0

    cdef int begin(self) except -1 nogil:
        """Grow all candidates."""
        self.start()
        self.tabled = has_tables(&self.problem)
        self.enlarge_known()
        self.known[0].share = 1.0
        self.run()
        if self.tree.n_frontier:
            with gil:
                self.share_leaves()
        self.enlarge_known()
        return 0

    cdef bint hands_over(self) noexcept nogil:
        """Return True if threads take the leaves: the candidates of the root, once it is searched."""
        return self.pool.n_threads > 1 and (
            self.tree.nodes[self.tree.frontier[self.tree.n_frontier - 1]].state == FOUND
        )

    cdef Py_ssize_t open_rows(self) noexcept nogil:
        """Rows that may be split further, in all candidates, as a share of those of the sample."""
        cdef Py_ssize_t i
        cdef double n_rows = 0.0
        for i in range(self.tree.n_frontier):
            n_rows += self.known[self.tree.frontier[i]].share * <double>(
                self.tree.rows_in(self.tree.frontier[i])
            )
        set_relaxed(&self.rows_left, <int64_t>n_rows)
        return <Py_ssize_t>n_rows

    cdef bint in_chains(self) noexcept nogil:
        """Rows of every node are sorted."""
        return False

    cdef bint is_searched(self, int32_t index) noexcept nogil:
        return self.tree.nodes[index].depth < self.n_levels

    cdef void set_task(self, Task* task, int32_t index, bint wanted) noexcept nogil:
        Grower.set_task(self, task, index, wanted)
        task.every = self.is_searched(index)

    cdef bint conclude(self, const Task* task) except -1 nogil:
        """Push a copy of a searched leaf for each of its candidates."""
        if not task.wanted or not task.every:
            return Grower.conclude(self, task)
        if self.takes_first(task.index):
            self.tree.push(task.index)
            return True
        return self.push_candidates(task)

    cdef bint push_candidates(self, const Task* searched) except -1 nogil:
        """Push the best splits of a searched leaf, the best one last: it is expanded first."""
        cdef Task task = searched[0]
        cdef GrownNode node
        cdef KernelSplit* splits = task.splits
        cdef int32_t first = <int32_t>self.tree.n_nodes, copy
        cdef int32_t width = <int32_t>self.widths[self.tree.nodes[task.index].depth], n = 0
        while n < width:
            node = self.tree.nodes[task.index]
            if not self.choose(&node, &task):
                break
            # nodes that were added may have moved the counts
            task.view.counts = self.tree.counts_of(task.index)
            task.view.limits = self.tree.limits_of(task.index)
            splits[node.split.column] = self.next_split(&task, &node.split, first)
            copy = self.tree.add(node.start, node.stop, node.depth)
            node.age = copy
            self.tree.nodes[copy] = node
            memcpy(
                self.tree.counts_of(copy), self.tree.counts_of(task.index),
                self.tree.n_classes * sizeof(int64_t),
            )
            memcpy(
                self.tree.limits_of(copy), self.tree.limits_of(task.index),
                self.tree.n_limits * sizeof(double),
            )
            n += 1
        self.enlarge_known()
        self.known[task.index].first_copy = first
        self.known[task.index].n_copies = n
        for copy in range(first + n - 1, first - 1, -1):
            self.known[copy].share = self.known[task.index].share / <double>n
            self.tree.push(copy)
        return n > 0

    cdef KernelSplit next_split(
        self, const Task* task, const KernelSplit* split, int32_t first
    ) noexcept nogil:
        """The next best candidate of a column after a split was taken; place -1 if there is none."""
        # those that were taken before are the splits of the nodes from the first one on
        cdef Py_ssize_t j = split.column
        cdef const KernelColumn* column = &self.tree.nodes[task.index].home.columns[j]
        cdef const KernelSplit* taken
        cdef KernelSplit best = no_split(j)
        cdef int32_t copy
        if column.kind != NOMINAL or not has_three(column, &task.view):
            return best  # with two categories the other one is the same split
        memset(self.excluded, 0, self.sources[j].n_categories + 1)
        self.excluded[split.place] = True
        for copy in range(first, <int32_t>self.tree.n_nodes):
            taken = &self.tree.nodes[copy].split
            if taken.column == j:
                self.excluded[taken.place] = True
        search_categories(column, &task.view, self.scratch, self.excluded, &best)
        return best

    cdef int expand(self, int32_t index) except -1 nogil:
        """Split the rows of a leaf, after copying them if another leaf needs them as they are."""
        cdef GrownNode* node
        if self.exchange is not None and self.exchange.is_needed():
            self.give_leaves()
        if self.is_searched(index):
            node = &self.tree.nodes[index]
            if is_shared(node.home):
                node.home = copied_rows(node.home, node.start, node.stop)
                node.stop -= node.start
                node.start = 0
                node.home.users = 1
                try:
                    Grower.expand(self, index)
                finally:
                    leave(self.tree.nodes[index].home)
                return 0
        return Grower.expand(self, index)

    cdef int expand_sorted(self, int32_t index) except -1 nogil:
        """Split the rows of a node and search its children, by tables if they are few."""
        cdef GrownNode* node = &self.tree.nodes[index]
        cdef Sorted* home = node.home
        cdef Py_ssize_t start = node.start, stop = node.stop, middle, j
        cdef const Packing* packing = &home.problem.packing
        cdef bint[2] wanted
        cdef int side, small
        cdef Part part
        cdef Task* task
        if not self.tabled or stop - start >= MAX_TABLED:
            return Grower.expand_sorted(self, index)
        middle = start + mark(home, start, stop, &node.split, self.tree.counts_of(node.left))
        if not self.set_children(index, middle, wanted):
            return 0
        node = &self.tree.nodes[index]
        part.start, part.stop, part.goes_left = start, stop, home.goes_left
        part.keep_left, part.keep_right = wanted[0], wanted[1]
        for j in range(home.n_columns):
            # a column that is constant here is not used below, so that its rows do not matter
            if not is_constant(&home.columns[j], start, stop, packing):
                partition(home.columns[j].entries, &part, packing, self.scratch[0].entries)
        # the smaller child is grown last
        small = middle - start > stop - middle
        for j in range(2):
            side = 1 - small if j else small
            if wanted[side]:
                task = &self.sorted.tasks[0]
                self.set_task(task, node.right if side else node.left, True)
                self.search_tabled(home, task)
                self.conclude(task)
                node = &self.tree.nodes[index]
        return 0

    cdef int search_tabled(self, const Sorted* home, Task* task) except -1 nogil:
        """Search the columns of a small node."""
        cdef Scratch* scratch = &self.scratch[0]
        cdef Py_ssize_t j
        enlarge_tables(&self.tables, &self.problem, task.view.stop - task.view.start)
        set_tables(&self.tables, &task.view)
        scratch.floor = task.least
        for j in range(home.n_columns):
            if task.every:
                scratch.floor = task.least
            search_tables(
                &home.columns[j], j, &task.view, &self.tables, scratch, &task.splits[j]
            )
        return 0

    # -- equal nodes -------------------------------------------------------------------------

    cdef bint set_children(self, int32_t index, Py_ssize_t middle, bint* may_split) except -1 nogil:
        """Leave out children whose rows are those of a node that is known."""
        cdef const GrownNode* node
        Grower.set_children(self, index, middle, may_split)
        self.enlarge_known()
        node = &self.tree.nodes[index]
        self.known[node.left].share = self.known[node.right].share = self.known[index].share
        if may_split[0] or may_split[1]:
            self.recognise(node, may_split)
        return may_split[0] or may_split[1]

    cdef int enlarge_known(self) except -1 nogil:
        """Make room for all nodes."""
        cdef Py_ssize_t i
        if self.n_known < self.tree.capacity:
            self.known = <Known*>enlarged(self.known, self.tree.capacity * sizeof(Known))
            for i in range(self.n_known, self.tree.capacity):
                self.known[i].same = -1
                self.known[i].n_copies = 0
            self.n_known = self.tree.capacity
        return 0

    cdef int recognise(self, const GrownNode* node, bint* may_split) except -1 nogil:
        cdef uint64_t keys[2][2]
        cdef int64_t same, reference
        cdef int32_t child
        cdef int side
        memset(keys, 0, sizeof(keys))
        self.add_keys(node, keys[0], keys[1])
        for side in range(2):
            child = node.right if side else node.left
            if may_split[side]:
                self.mix_rules(child, keys[side])
                reference = reference_to(self.number, child)
                same = self.subproblems.first_like(keys[side], reference)
                if same != reference:
                    self.known[child].same = same
                    may_split[side] = False
        return 0

    cdef void mix_rules(self, int32_t index, uint64_t* key) noexcept nogil:
        """Add depth and rules to the key of a node: its subtree depends on them and its rows."""
        cdef const GrownNode* node = &self.tree.nodes[index]
        cdef const uint64_t* limits = <const uint64_t*>self.tree.limits_of(index)
        cdef Py_ssize_t depth = node.depth, i
        if self.any_depth:
            depth = min(depth, self.n_levels)
        mix(key, <uint64_t>(node.stop - node.start) ^ <uint64_t>depth << 32)
        if self.problem.rules == NULL:
            return
        mix(key, <uint64_t>node.n_first)
        mix(key, node.groups)
        for i in range(self.tree.n_limits):
            mix(key, limits[i])

    cdef void add_keys(
        self, const GrownNode* node, uint64_t* left, uint64_t* right
    ) noexcept nogil:
        """Add the random numbers of the rows on the left and on the right."""
        cdef const Sorted* home = node.home
        cdef const uint64_t* entries = home.columns[node.split.column].entries
        cdef Packing packing = home.problem.packing
        cdef uint64_t* sums
        cdef Py_ssize_t i, row, id
        for i in range(node.start, node.stop):
            row = row_of(entries[i], &packing)
            sums = left if home.goes_left[row] else right
            id = id_of(home, row)
            sums[0] += self.keys[id, 0]
            sums[1] += self.keys[id, 1]

    # -- other threads -----------------------------------------------------------------------

    cdef int share_leaves(self) except -1:
        """Grow the subtrees below the leaves, by a grower for each thread."""
        self.hands = []
        self.exchange = Exchange(self.pool.n_threads)
        try:
            with nogil:
                self.pool.run_long(<Work>&grow_leaves_by, <void*>self, self.pool.n_threads)
            if self.failure is not None:
                raise self.failure
            self.take_nodes()
        finally:
            self.hands, self.n_hands = None, 0
        return 0

    cdef WideGrower new_hand(self):
        """A grower for leaves of this one."""
        cdef WideGrower hand = self.hand()
        hand.boss = self
        hand.widths, hand.n_levels, hand.keys = self.widths, self.n_levels, self.keys
        hand.subproblems, hand.exchange = self.subproblems, self.exchange
        hand.any_depth, hand.tabled = self.any_depth, self.tabled
        hand.min_values = self.min_values
        hand.allocate_excluded()
        self.hand_at[self.n_hands] = <void*>hand
        self.hands.append(hand)
        self.n_hands += 1
        hand.number = self.n_hands
        if hand.number == 1:
            hand.progress = self.report_all
        return hand

    cdef int grow_leaves(self) except -1 nogil:
        """Grow leaves of the boss, then of other growers, until none has any."""
        while self.finds_leaf():
            enlarge_scratch(&self.scratch[0], self.tree.rows_in(self.tree.frontier[0]))
            self.run()
        return 0

    cdef bint finds_leaf(self) except -1 nogil:
        """Take a leaf of the boss, or wait for one of another grower; return False at the end."""
        cdef int place = self.number - 1
        self.exchange.lock()
        try:
            self.exchange.n_busy -= self.is_busy
            self.is_busy = False
            if self.exchange.ended:
                return False
            if self.boss.tree.n_frontier:
                self.move_leaf(self.boss, self.boss.tree.n_frontier - 1)
                return True
            if self.exchange.n_busy == 0:
                self.exchange.end()
                return False
            self.exchange.wait(place)
        finally:
            self.exchange.unlock()
        set_relaxed(&self.rows_left, 0)
        if not self.exchange.is_called(place, True):
            while not self.exchange.is_called(place, False):
                if look_for_signals(&self.looked):
                    self.pause()
        return not relaxed(&self.exchange.ended)

    cdef int give_leaves(self) except -1 nogil:
        """Give the largest leaves to growers that wait."""
        cdef Py_ssize_t place = self.largest_leaf()
        cdef int hand
        if place < 0:
            return 0
        self.exchange.lock()
        try:
            while place >= 0:
                hand = self.exchange.next_waiting()
                if hand < 0:
                    break
                (<WideGrower>self.boss.hand_at[hand]).move_leaf(self, place)
                self.exchange.call(hand)
                place = self.largest_leaf()
        finally:
            self.exchange.unlock()
        return 0

    cdef Py_ssize_t largest_leaf(self) noexcept nogil:
        """The place of the leaf with the most rows; -1 if there is no large one."""
        cdef Py_ssize_t most = 0, place = -1, i, rows
        for i in range(self.tree.n_frontier):
            rows = self.tree.rows_in(self.tree.frontier[i])
            if rows > most:
                most, place = rows, i
        return place if most * self.n_columns >= self.min_values else -1

    cdef int move_leaf(self, WideGrower other, Py_ssize_t place) except -1 nogil:
        """Move a leaf here from the frontier of another grower, which refers to the new node."""
        cdef int32_t index = other.tree.frontier[place], root = self.tree.add(0, 0, 0)
        self.tree.nodes[root] = other.tree.nodes[index]
        memcpy(
            self.tree.counts_of(root), other.tree.counts_of(index),
            self.tree.n_classes * sizeof(int64_t),
        )
        memcpy(
            self.tree.limits_of(root), other.tree.limits_of(index), self.tree.n_limits * sizeof(double)
        )
        self.enlarge_known()
        self.known[root].share = other.known[index].share
        other.known[index].same = reference_to(self.number, root)
        self.tree.push(root)
        memmove(
            other.tree.frontier + place, other.tree.frontier + place + 1,
            (other.tree.n_frontier - place - 1) * sizeof(int32_t),
        )
        other.tree.n_frontier -= 1
        leave(other.tree.nodes[index].home)
        self.is_busy = True
        self.exchange.n_busy += 1
        return 0

    cdef int take_nodes(self) except -1:
        """Take over the nodes of the hands, one after the other, and free these."""
        cdef int64_t[::1] starts = np.zeros(self.n_hands + 1, dtype=np.int64)
        cdef Py_ssize_t n = self.tree.n_nodes, i
        cdef WideGrower hand
        cdef Known* known
        for hand in self.hands:
            starts[hand.number] = hand.offset = n
            n += hand.tree.n_nodes
        self.tree.enlarge(n)
        self.tree.n_nodes = n
        self.enlarge_known()
        while self.hands:
            hand = self.hands.pop()
            copy_nodes(self.tree, hand.tree, hand.offset)
            known = self.known + hand.offset
            memcpy(known, hand.known, min(hand.n_known, hand.tree.n_nodes) * sizeof(Known))
            for i in range(hand.tree.n_nodes):
                known[i].first_copy += <int32_t>hand.offset
        for i in range(n):
            if self.known[i].same >= 0:
                self.known[i].same = starts[self.known[i].same >> 32] + (
                    self.known[i].same & 0xFFFFFFFF
                )
        return 0

    def report_all(self, leaves, rows):
        """Report the progress of all growers; the arguments are those of the first one."""
        cdef Py_ssize_t n_leaves = self.n_leaves, n_rows = self.open_rows()
        cdef WideGrower hand
        for hand in list(self.hands):
            n_leaves += <Py_ssize_t>relaxed(&hand.n_leaves)
            n_rows += <Py_ssize_t>relaxed(&hand.rows_left)
        if self.progress is not None:
            self.progress(n_leaves, min(n_rows, self.problem.n_rows))

    # -- the result --------------------------------------------------------------------------

    def graph(self):
        """The nodes, children before parents, and their candidates, as arrays."""
        cdef int32_t[::1] place = np.full(self.tree.n_nodes, -1, dtype=np.int32)
        cdef Py_ssize_t depth = 1, n_nodes = 0, n_splits = 0
        cdef int32_t[::1] stack = np.zeros(2 * self.tree.n_nodes + 2, dtype=np.int32)
        cdef int32_t[::1] order = np.empty(self.tree.n_nodes, dtype=np.int32)
        cdef int32_t at, k
        cdef const GrownNode* split
        stack[0] = self.grown_for(0)
        # place is -2 for a node whose children are on the stack
        while depth:
            at = stack[depth - 1]
            if place[at] >= 0:
                depth -= 1
                continue
            if place[at] == -2:
                place[at] = <int32_t>n_nodes
                order[n_nodes] = at
                n_nodes += 1
                depth -= 1
                continue
            place[at] = -2
            if depth + 2 * self.n_candidates(at) > stack.shape[0]:
                stack = np.concatenate([stack, np.zeros_like(stack)])
            for k in range(self.n_candidates(at)):
                split = self.candidate(at, k)
                stack[depth] = self.grown_for(split.left)
                stack[depth + 1] = self.grown_for(split.right)
                depth += 2
                n_splits += 1
        return self.graph_arrays(order[:n_nodes], place, n_splits)

    cdef int32_t n_candidates(self, int32_t index) noexcept nogil:
        """The number of splits of a node: none, one, or those of its copies."""
        return max(self.known[index].n_copies, <int32_t>self.tree.nodes[index].expanded)

    cdef const GrownNode* candidate(self, int32_t index, int32_t k) noexcept nogil:
        """The node that has the k-th split of a node."""
        if self.known[index].n_copies:
            index = self.grown_for(self.known[index].first_copy + k)
        return &self.tree.nodes[index]

    cdef int32_t grown_for(self, int32_t index) noexcept nogil:
        """The node that was grown for a node."""
        while self.known[index].same >= 0:
            index = <int32_t>self.known[index].same
        return index

    cdef dict graph_arrays(self, const int32_t[::1] order, const int32_t[::1] place, n_splits):
        cdef Py_ssize_t n = order.shape[0], i, at = 0
        cdef const GrownNode* node
        arrays = {
            name: np.full(n_splits, -1, dtype=np.int32)
            for name in ("feature", "category", "left", "right")
        } | {
            "first": np.empty(n + 1, dtype=np.int32),
            "threshold": np.full(n_splits, NAN), "missing_left": np.zeros(n_splits, dtype=bool),
            "counts": np.empty((n, self.tree.n_classes), dtype=np.int64),
            "rows": np.empty(n, dtype=np.int64),
        }
        cdef int32_t[::1] feature = arrays["feature"], category = arrays["category"]
        cdef int32_t[::1] left = arrays["left"], right = arrays["right"], first = arrays["first"]
        cdef double[::1] threshold = arrays["threshold"]
        cdef uint8_t[::1] missing_left = arrays["missing_left"].view(np.uint8)
        cdef int64_t[:, ::1] counts = arrays["counts"]
        cdef int64_t[::1] rows = arrays["rows"]
        cdef const GrownNode* split
        cdef int32_t k
        for i in range(n):
            node = &self.tree.nodes[order[i]]
            rows[i] = node.stop - node.start
            memcpy(
                &counts[i, 0], self.tree.counts + order[i] * self.tree.n_classes,
                self.tree.n_classes * sizeof(int64_t),
            )
            first[i] = <int32_t>at
            for k in range(self.n_candidates(order[i])):
                split = self.candidate(order[i], k)
                feature[at] = <int32_t>split.split.column
                category[at] = split.category
                threshold[at] = split.threshold
                missing_left[at] = split.split.missing_left
                left[at] = place[self.grown_for(split.left)]
                right[at] = place[self.grown_for(split.right)]
                at += 1
        first[n] = <int32_t>at
        return arrays


cdef inline int64_t reference_to(int number, int32_t index) noexcept nogil:
    """A reference to a node of any grower."""
    return (<int64_t>number << 32) | index


cdef void grow_leaves_by(void* context, Py_ssize_t item, int thread) noexcept with gil:
    """Grow leaves in a thread until there are none."""
    cdef WideGrower boss = <WideGrower>context, hand
    try:
        if not relaxed(&boss.exchange.ended):
            hand = boss.new_hand()
            with nogil:
                hand.grow_leaves()
    except BaseException as error:
        with nogil:
            boss.exchange.lock()
            boss.exchange.end()
            boss.exchange.unlock()
        if boss.failure is None:
            boss.failure = error
        stop_others()


cdef bint has_three(const KernelColumn* column, const NodeView* node) noexcept nogil:
    """Return True if the rows of a node have three or more values of a column."""
    cdef Py_ssize_t i, changes = 0
    for i in range(node.start + 1, node.stop):
        changes += rank_of(column.entries[i], &node.problem.packing) != rank_of(
            column.entries[i - 1], &node.problem.packing
        )
        if changes >= 2:
            return True
    return False


cdef Sorted* copied_rows(const Sorted* home, Py_ssize_t start, Py_ssize_t stop) except NULL nogil:
    """A copy of some sorted rows, with their numbers."""
    cdef Sorted* data = <Sorted*>zeros(1, sizeof(Sorted))
    cdef Py_ssize_t n = stop - start, n_rows = home.problem.n_rows, n_codes, j
    cdef bint done = False
    data.problem = home.problem
    data.sources = home.sources
    data.n_columns = home.n_columns
    data.ids = home.ids
    try:
        data.columns = <KernelColumn*>zeros(home.n_columns, sizeof(KernelColumn))
        data.goes_left = <uint8_t*>allocate(n_rows, 1)
        data.entries = <uint64_t*>allocate(n * home.n_columns, sizeof(uint64_t))
        if home.labels != NULL:
            data.labels = <uint32_t*>allocate(n_rows, sizeof(uint32_t))
            memcpy(data.labels, home.labels, n_rows * sizeof(uint32_t))
            data.problem.labels = data.labels
        if home.weights != NULL:
            data.weights = <int64_t*>allocate(n_rows, sizeof(int64_t))
            memcpy(data.weights, home.weights, n_rows * sizeof(int64_t))
            data.problem.weights = data.weights
        for j in range(home.n_columns):
            data.columns[j] = home.columns[j]
            data.columns[j].codes = NULL
            data.columns[j].entries = data.entries + j * n
            memcpy(data.columns[j].entries, home.columns[j].entries + start, n * sizeof(uint64_t))
            if home.columns[j].codes != NULL:
                n_codes = home.columns[j].n_codes + 1
                data.columns[j].codes = <uint32_t*>allocate(n_codes, sizeof(uint32_t))
                memcpy(data.columns[j].codes, home.columns[j].codes, n_codes * sizeof(uint32_t))
        done = True
    finally:
        if not done:
            free_sorted(data)
    return data


def search_arrays(
    columns, y, weights, n_classes, kinds, n_categories, may_miss, *, options, widths,
    n_threads=1, progress=None, part=None, thread_values=THREAD_VALUES,
):
    """The arrays of the graph of candidates; widths are the candidates at depth 0, 1, ..."""
    # see `grow_arrays`; the number of leaves is not limited, and rows are always sorted
    cdef WideGrower grower
    cdef Py_ssize_t n_values = len(columns) * len(y if part is None else part)
    n_threads = max(1, min(n_threads, MAX_THREADS, n_values // thread_values))
    grower = WideGrower(len(columns), n_classes, {**options, "max_leaves": -1}, Pool(n_threads))
    grower.set_sample(columns, y, weights, kinds, n_categories, may_miss, part, None)
    grower.progress = progress
    grower.min_values = thread_values
    grower.set_widths(widths)
    grower.root_crossing = 2**62
    with nogil:
        grower.begin()
    return grower.graph()
