"""Search at the top of a tree: several candidate splits at each node there, greedy growth below.

Used by `search_arrays`, which gives the graph of candidates that is pruned. A node whose
depth is below the number of widths has several candidates: the best split of a column with an
order, and every category of a nominal column. Each of them is a copy of the node that waits on the
frontier with its split; when it is expanded it copies the sorted rows, unless no other copy needs
them. So everything below is the growth of `Grower`, with its rules, ties and thresholds. Nodes with
equal rows and equal rules are grown once: at the searched levels those of the same depth, below
them those of any depth, unless depth is limited.

Guarantees: the first candidate of every node is the split of greedy growth, so that the graph
contains the greedy tree. At most three copies of the sorted rows exist at a time.
"""

import numpy as np

from libc.math cimport NAN
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memcpy, memset
from treebound._utils._pool cimport Pool
from treebound.growing._driver cimport GrownNode, leave
from treebound.growing._layout cimport (
    NOMINAL, KernelColumn, KernelSplit, NodeView, Packing, Scratch, allocate, enlarged, rank_of,
    row_of, zeros,
)
from treebound.growing._memory cimport Grower
from treebound.growing._scan cimport no_split, search_categories
from treebound.growing._sorted cimport Part, Sorted, Task, free_sorted, id_of, mark, partition
from treebound.growing._tables cimport (
    NodeTables, enlarge_tables, free_tables, has_tables, is_constant, search_tables, set_tables,
)


cdef enum:
    MAX_TABLED = 4096  # rows of a node that is searched by tables; larger ones by threads


cdef struct Known:
    # Identity of a node.
    uint64_t rows[2]  # sums of the random numbers of its rows
    int32_t same      # the node that is grown for it; -1: itself


cdef class WideGrower(Grower):
    cdef list widths            # candidates at depth 0, 1, ...
    cdef Py_ssize_t n_levels    # how many there are
    cdef dict candidates        # by node: its copies
    cdef uint64_t[:, ::1] keys  # two random numbers of every row
    cdef Known* known           # by node
    cdef Py_ssize_t n_known     # their capacity
    cdef int32_t* slots         # a hash table of the nodes that may be split; -1: free
    cdef Py_ssize_t n_slots, n_used
    cdef bint any_depth         # whether nodes below the searched levels are equal at any depth
    cdef bint tabled            # whether small nodes are searched by tables
    cdef NodeTables tables

    def __dealloc__(self):
        free(self.known)
        free(self.slots)
        free_tables(&self.tables)

    cdef int set_widths(self, widths) except -1:
        cdef object numbers
        self.widths = list(widths)
        self.n_levels = len(self.widths)
        self.candidates = {}
        numbers = np.arange(2 * len(self.arrays[1]), dtype=np.uint64)
        self.keys = scrambled(numbers).reshape(-1, 2)
        self.any_depth = self.max_depth >= self.problem.n_rows
        return 0

    cdef int begin(self) except -1 nogil:
        """Grow all candidates."""
        self.start()
        self.tabled = has_tables(&self.problem)
        self.run()
        self.enlarge_known()
        return 0

    cdef bint hands_over(self) noexcept nogil:
        """All nodes are grown here."""
        return False

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
        with gil:
            if self.takes_first(task.index):
                self.tree.push(task.index)
                return True
            return self.push_candidates(task)

    cdef bint push_candidates(self, const Task* searched) except -1:
        """Push the best splits of a searched leaf, the best one last: it is expanded first."""
        cdef Task task = searched[0]
        cdef GrownNode node
        cdef KernelSplit* splits = task.splits
        cdef list copies = []
        cdef int32_t copy
        cdef Py_ssize_t width = self.widths[self.tree.nodes[task.index].depth]
        cdef dict excluded = {}
        while len(copies) < width:
            node = self.tree.nodes[task.index]
            if not self.choose(&node, &task):
                break
            # nodes that were added may have moved the counts
            task.view.counts = self.tree.counts_of(task.index)
            task.view.limits = self.tree.limits_of(task.index)
            splits[node.split.column] = self.next_split(&task, &node.split, excluded)
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
            copies.append(copy)
        self.candidates[task.index] = copies
        for copy in reversed(copies):
            self.tree.push(copy)
        return len(copies) > 0

    cdef KernelSplit next_split(
        self, const Task* task, const KernelSplit* split, dict excluded
    ) except *:
        """The next best candidate of a column after a split was taken; place -1 if there is none."""
        cdef Py_ssize_t j = split.column
        cdef const KernelColumn* column = &self.tree.nodes[task.index].home.columns[j]
        cdef KernelSplit best = no_split(j)
        cdef uint8_t[::1] mask
        if column.kind != NOMINAL or not has_three(column, &task.view):
            return best  # with two categories the other one is the same split
        if j not in excluded:
            excluded[j] = np.zeros(self.sources[j].n_categories + 1, dtype=np.uint8)
        mask = excluded[j]
        mask[split.place] = True
        search_categories(column, &task.view, self.scratch, &mask[0], &best)
        return best

    cdef int expand(self, int32_t index) except -1 nogil:
        """Split the rows of a leaf, after copying them if another leaf needs them as they are."""
        cdef GrownNode* node
        if self.is_searched(index):
            node = &self.tree.nodes[index]
            if node.home.users > 1:
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
        Grower.set_children(self, index, middle, may_split)
        if may_split[0] or may_split[1]:
            self.recognise(index, may_split)
        return may_split[0] or may_split[1]

    cdef int recognise(self, int32_t index, bint* may_split) except -1 nogil:
        cdef const GrownNode* node = &self.tree.nodes[index]
        cdef Known* known
        cdef int32_t child, same
        cdef int side
        self.enlarge_known()
        known = self.known
        memset(known[node.left].rows, 0, 2 * sizeof(uint64_t))
        memset(known[node.right].rows, 0, 2 * sizeof(uint64_t))
        self.add_keys(node, known[node.left].rows, known[node.right].rows)
        for side in range(2):
            child = node.right if side else node.left
            if may_split[side]:
                same = self.first_like(child)
                if same != child:
                    self.known[child].same = same
                    may_split[side] = False
        return 0

    cdef int enlarge_known(self) except -1 nogil:
        """Make room for all nodes, and for two more in the hash table."""
        cdef Py_ssize_t i
        cdef int32_t* slots
        if self.n_known < self.tree.capacity:
            self.known = <Known*>enlarged(self.known, self.tree.capacity * sizeof(Known))
            for i in range(self.n_known, self.tree.capacity):
                self.known[i].same = -1
            self.n_known = self.tree.capacity
        if 2 * (self.n_used + 2) <= self.n_slots:
            return 0
        slots = self.slots
        self.n_slots = max(256, 4 * self.n_slots)
        self.slots = NULL
        try:
            self.slots = <int32_t*>allocate(self.n_slots, sizeof(int32_t))
            memset(self.slots, -1, self.n_slots * sizeof(int32_t))
            self.n_used = 0
            for i in range(self.n_slots // 4 if slots != NULL else 0):
                if slots[i] >= 0:
                    self.first_like(slots[i])
        finally:
            free(slots)
        return 0

    cdef int32_t first_like(self, int32_t index) noexcept nogil:
        """The first node with the rows and rules of a node; the node itself if there is none."""
        cdef Py_ssize_t mask = self.n_slots - 1
        cdef Py_ssize_t at = <Py_ssize_t>(self.known[index].rows[0] & <uint64_t>mask)
        while self.slots[at] >= 0:
            if self.are_alike(self.slots[at], index):
                return self.slots[at]
            at = (at + 1) & mask
        self.slots[at] = index
        self.n_used += 1
        return index

    cdef bint are_alike(self, int32_t a, int32_t b) noexcept nogil:
        """Return True if two nodes have equal rows and rules, so that their subtrees are equal."""
        cdef const GrownNode* first = &self.tree.nodes[a]
        cdef const GrownNode* second = &self.tree.nodes[b]
        if (
            self.known[a].rows[0] != self.known[b].rows[0]
            or self.known[a].rows[1] != self.known[b].rows[1]
        ):
            return False
        return (
            first.stop - first.start == second.stop - second.start
            and (
                first.depth == second.depth
                or (self.any_depth and min(first.depth, second.depth) >= self.n_levels)
            )
            and first.n_first == second.n_first
            and first.groups == second.groups
            and memcmp(
                self.tree.limits_of(a), self.tree.limits_of(b),
                self.tree.n_limits * sizeof(double),
            ) == 0
        )

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

    # -- the result --------------------------------------------------------------------------

    def graph(self):
        """The nodes, children before parents, and their candidates, as arrays."""
        cdef int32_t[::1] place = np.full(self.tree.n_nodes, -1, dtype=np.int32)
        cdef Py_ssize_t depth = 1, n_nodes = 0, n_splits = 0, levels = self.n_levels
        cdef int32_t[::1] stack = np.zeros(2 * self.tree.n_nodes + 2, dtype=np.int32)
        cdef int32_t[::1] order = np.empty(self.tree.n_nodes, dtype=np.int32)
        cdef int32_t at
        cdef const GrownNode* node
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
            node = &self.tree.nodes[at]
            if node.depth < levels and at in self.candidates:
                for copy in self.candidates[at]:
                    n_splits += 1
                    stack[depth] = self.shared_child(self.tree.nodes[<int32_t>copy].left)
                    stack[depth + 1] = self.shared_child(self.tree.nodes[<int32_t>copy].right)
                    depth += 2
            elif node.expanded:
                n_splits += 1
                stack[depth] = self.shared_child(node.left)
                stack[depth + 1] = self.shared_child(node.right)
                depth += 2
            if depth + 64 > stack.shape[0]:
                stack = np.concatenate([stack, np.zeros_like(stack)])
        return self.graph_arrays(order[:n_nodes], place, n_splits)

    cdef int32_t shared_child(self, int32_t child) noexcept:
        """A child, or the node that was grown on the same rows."""
        return child if self.known[child].same < 0 else self.known[child].same

    cdef dict graph_arrays(self, const int32_t[::1] order, const int32_t[::1] place, n_splits):
        cdef Py_ssize_t n = order.shape[0], i, k, at = 0, levels = self.n_levels
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
        cdef list candidates
        cdef const GrownNode* split
        cdef Py_ssize_t n_candidates
        for i in range(n):
            node = &self.tree.nodes[order[i]]
            rows[i] = node.stop - node.start
            memcpy(
                &counts[i, 0], self.tree.counts + order[i] * self.tree.n_classes,
                self.tree.n_classes * sizeof(int64_t),
            )
            first[i] = <int32_t>at
            n_candidates = node.expanded
            if node.depth < levels and order[i] in self.candidates:
                candidates = self.candidates[order[i]]
                n_candidates = len(candidates)
            for k in range(n_candidates):
                if node.depth < levels and not node.expanded:
                    split = &self.tree.nodes[<int32_t>candidates[k]]
                else:
                    split = node
                feature[at] = <int32_t>split.split.column
                category[at] = split.category
                threshold[at] = split.threshold
                missing_left[at] = split.split.missing_left
                left[at] = place[self.shared_child(split.left)]
                right[at] = place[self.shared_child(split.right)]
                at += 1
        first[n] = <int32_t>at
        return arrays


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


def scrambled(numbers):
    """Hash 64-bit integers (splitmix64)."""
    cdef object keys = (numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


def search_arrays(
    columns, y, weights, n_classes, kinds, n_categories, may_miss, *, options, widths,
    n_threads=1, progress=None, part=None,
):
    """The arrays of the graph of candidates; widths are the candidates at depth 0, 1, ..."""
    # see `grow_arrays`; the number of leaves is not limited, and rows are always sorted
    cdef WideGrower grower
    n_threads = max(1, min(n_threads, len(columns), len(y if part is None else part) // 4096))
    grower = WideGrower(len(columns), n_classes, {**options, "max_leaves": -1}, Pool(n_threads))
    grower.set_sample(columns, y, weights, kinds, n_categories, may_miss, part, None)
    grower.progress = progress
    grower.set_widths(widths)
    grower.root_crossing = 2**62
    with nogil:
        grower.begin()
    return grower.graph()
