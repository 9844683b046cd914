"""Search at the top of a tree: several candidate splits at each node there, greedy growth below.

Used by `search_arrays`, which gives the graph of candidates that is pruned. A node whose
depth is below the number of widths has several candidates: the best split of a column with an
order, and every category of a nominal column. Each of them is a copy of the node that waits on the
frontier with its split; when it is expanded it copies the sorted rows, unless no other copy needs
them. So everything below is the growth of `Grower`, with its rules, ties and thresholds. Nodes of
the searched levels with equal rows and equal rules at the same depth are grown once.

Guarantees: the first candidate of every node is the split of greedy growth, so that the graph
contains the greedy tree. At most three copies of the sorted rows exist at a time.
"""

import numpy as np

from libc.math cimport NAN
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset
from treebound._utils._pool cimport Pool
from treebound.growing._driver cimport GrownNode, leave
from treebound.growing._layout cimport (
    NOMINAL, KernelColumn, KernelSplit, NodeView, allocate, rank_of, row_of, zeros,
)
from treebound.growing._memory cimport Grower
from treebound.growing._scan cimport no_split, search_categories
from treebound.growing._sorted cimport Sorted, Task, free_sorted, id_of


cdef class WideGrower(Grower):
    cdef list widths            # candidates at depth 0, 1, ...
    cdef dict candidates        # by node: its copies
    cdef dict same              # by node: the one with its rows
    cdef dict known             # by rows, depth and rules: the node
    cdef uint64_t[:, ::1] keys  # two random numbers of every row

    cdef int set_widths(self, widths) except -1:
        cdef object numbers
        self.widths = list(widths)
        self.candidates = {}
        self.same = {}
        self.known = {}
        numbers = np.arange(2 * len(self.arrays[1]), dtype=np.uint64)
        self.keys = scrambled(numbers).reshape(-1, 2)
        return 0

    cdef bint hands_over(self) noexcept nogil:
        """All nodes are grown here."""
        return False

    cdef bint in_chains(self) noexcept nogil:
        """Rows of every node are sorted."""
        return False

    cdef bint is_searched(self, int32_t index) noexcept nogil:
        with gil:
            return self.tree.nodes[index].depth < len(self.widths)

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

    cdef bint push_candidates(self, const Task* task) except -1:
        """Push the best splits of a searched leaf, the best one last: it is expanded first."""
        cdef GrownNode node
        cdef KernelSplit* splits = task.splits
        cdef list copies = []
        cdef int32_t copy
        cdef Py_ssize_t width = self.widths[self.tree.nodes[task.index].depth]
        cdef dict excluded = {}
        while len(copies) < width:
            node = self.tree.nodes[task.index]
            if not self.choose(&node, task):
                break
            splits[node.split.column] = self.next_split(task, &node.split, excluded)
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

    cdef bint set_children(self, int32_t index, Py_ssize_t middle, bint* may_split) except -1 nogil:
        """Leave out children whose rows are those of a node that is known."""
        Grower.set_children(self, index, middle, may_split)
        if self.is_searched(index):
            with gil:
                self.recognise(index, may_split)
        return may_split[0] or may_split[1]

    cdef int recognise(self, int32_t index, bint* may_split) except -1:
        cdef const GrownNode* node = &self.tree.nodes[index]
        cdef const GrownNode* child
        cdef uint64_t[4] hashes
        cdef int side
        cdef int32_t at
        cdef object limits, state, key, known
        self.hash_sides(node, hashes)
        for side in range(2):
            at = node.right if side else node.left
            if not may_split[side]:
                continue
            child = &self.tree.nodes[at]
            limits = self.limits_at(at)
            state = (child.depth, child.n_first, child.groups, *limits)
            key = (hashes[2 * side], hashes[2 * side + 1], self.tree.rows_in(at), state)
            known = self.known.setdefault(key, at)
            if known != at:
                self.same[at] = known
                may_split[side] = False
        return 0

    cdef list limits_at(self, int32_t index):
        cdef Py_ssize_t i
        cdef list limits = []
        for i in range(self.tree.n_limits):
            limits.append(self.tree.limits_of(index)[i])
        return limits

    cdef void hash_sides(self, const GrownNode* node, uint64_t* hashes) noexcept nogil:
        """The sums of the random numbers of the rows on the left and on the right."""
        cdef const Sorted* home = node.home
        cdef Py_ssize_t i, row, id
        cdef int side
        memset(hashes, 0, 4 * sizeof(uint64_t))
        for i in range(node.start, node.stop):
            row = row_of(home.columns[0].entries[i], &home.problem.packing)
            side = 0 if home.goes_left[row] else 2
            id = id_of(home, row)
            hashes[side] += self.keys[id, 0]
            hashes[side + 1] += self.keys[id, 1]

    # -- the result --------------------------------------------------------------------------

    def graph(self):
        """The nodes, children before parents, and their candidates, as arrays."""
        cdef int32_t[::1] place = np.full(self.tree.n_nodes, -1, dtype=np.int32)
        cdef Py_ssize_t depth = 1, n_nodes = 0, n_splits = 0, levels = len(self.widths)
        cdef int32_t[::1] stack = np.zeros(2 * self.tree.n_nodes + 2, dtype=np.int32)
        cdef int32_t[::1] order = np.empty(self.tree.n_nodes, dtype=np.int32)
        cdef int32_t at, left, right
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
                left, right = node.left, node.right
                if node.depth < levels:
                    left, right = self.shared_child(left), self.shared_child(right)
                stack[depth] = left
                stack[depth + 1] = right
                depth += 2
            if depth + 64 > stack.shape[0]:
                stack = np.concatenate([stack, np.zeros_like(stack)])
        return self.graph_arrays(order[:n_nodes], place, n_splits)

    cdef int32_t shared_child(self, int32_t child):
        """A child of a searched node, or the node that was grown on the same rows."""
        return <int32_t>self.same.get(child, child)

    cdef dict graph_arrays(self, const int32_t[::1] order, const int32_t[::1] place, n_splits):
        cdef Py_ssize_t n = order.shape[0], i, k, at = 0, levels = len(self.widths)
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
        cdef list splits
        cdef object number
        cdef int32_t split, a, b
        for i in range(n):
            node = &self.tree.nodes[order[i]]
            rows[i] = self.tree.rows_in(order[i])
            for k in range(self.tree.n_classes):
                counts[i, k] = self.tree.counts_of(order[i])[k]
            first[i] = <int32_t>at
            splits = [order[i]] if node.expanded else []
            if node.depth < levels:
                splits = self.candidates.get(order[i], splits)
            for number in splits:
                split = number
                node = &self.tree.nodes[split]
                a = node.left
                b = node.right
                if node.depth < levels:
                    a = self.shared_child(a)
                    b = self.shared_child(b)
                feature[at] = <int32_t>node.split.column
                category[at] = node.category
                threshold[at] = node.threshold
                missing_left[at] = node.split.missing_left
                left[at], right[at] = place[a], place[b]
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
        grower.start()
        grower.run()
    return grower.graph()
