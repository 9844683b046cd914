"""The nodes of a growing tree, and the frontier: the leaves that have a split."""

import numpy as np

from libc.math cimport NAN
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, realloc
from libc.string cimport memset

from treebound.growing._ledger cimport free_ledger
from treebound.growing._sorted cimport Sorted, free_sorted


cdef class Nodes:
    """Nodes in order of creation; `arrays` gives them in pre-order."""

    def __cinit__(self, Py_ssize_t n_classes, bint in_order):
        self.nodes = NULL
        self.counts = NULL
        self.frontier = NULL
        self.n_classes = n_classes
        self.in_order = in_order

    def __dealloc__(self):
        cdef Py_ssize_t i
        for i in range(self.n_nodes):
            free(self.nodes[i].tables)
            free_ledger(self.nodes[i].ledger)
            free(self.nodes[i].histogram)
        for i in range(self.n_frontier):
            leave(self.nodes[self.frontier[i]].home)
        free(self.nodes)
        free(self.counts)
        free(self.frontier)

    cdef int32_t add(self, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t depth) except -1 nogil:
        """Add a leaf with zero counts. Invalidates pointers to nodes and counts."""
        cdef Node* node
        cdef int32_t index = <int32_t>self.n_nodes
        if self.n_nodes == self.capacity:
            self.enlarge(max(2 * self.capacity, 64))
        node = &self.nodes[index]
        memset(node, 0, sizeof(Node))
        node.start = start
        node.stop = stop
        node.depth = depth
        node.left = node.right = node.category = -1
        node.split.column = -1
        node.threshold = NAN
        memset(self.counts_of(index), 0, self.n_classes * sizeof(int64_t))
        self.n_nodes += 1
        return index

    cdef int enlarge(self, Py_ssize_t capacity) except -1 nogil:
        self.nodes = <Node*>enlarged(self.nodes, capacity * sizeof(Node))
        self.counts = <int64_t*>enlarged(self.counts, capacity * self.n_classes * sizeof(int64_t))
        self.frontier = <int32_t*>enlarged(self.frontier, capacity * sizeof(int32_t))
        self.capacity = capacity
        return 0

    cdef int64_t* counts_of(self, int32_t index) noexcept nogil:
        return self.counts + index * self.n_classes

    cdef Py_ssize_t rows_in(self, int32_t index) noexcept nogil:
        return self.nodes[index].stop - self.nodes[index].start

    # -- the frontier ------------------------------------------------------------------------

    cdef bint before(self, int32_t a, int32_t b) noexcept nogil:
        """Whether leaf ``a`` comes before ``b``: the better one, else the older one.

        One whose priority is only a bound comes before all it may tie with.
        """
        cdef double difference = self.nodes[a].priority - self.nodes[b].priority
        cdef bint a_found = self.nodes[a].state == FOUND, b_found = self.nodes[b].state == FOUND
        if difference > self.tolerance:
            return True
        if difference < -self.tolerance:
            return False
        return a < b if a_found == b_found else b_found

    cdef void swap(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        self.frontier[i], self.frontier[j] = self.frontier[j], self.frontier[i]

    cdef void push(self, int32_t index) noexcept nogil:
        cdef Py_ssize_t i = self.n_frontier
        if self.nodes[index].home != NULL:
            self.nodes[index].home.users += 1
        self.frontier[i] = index
        self.n_frontier += 1
        while self.in_order and i > 0 and self.before(index, self.frontier[(i - 1) // 2]):
            self.swap(i, (i - 1) // 2)
            i = (i - 1) // 2

    cdef int32_t pop(self) noexcept nogil:
        """Pop the next leaf; without order the last one, whose rows are in the cache.

        The caller must `leave` its sorted rows.
        """
        cdef Py_ssize_t i = 0, child = 1
        self.n_frontier -= 1
        if not self.in_order:
            return self.frontier[self.n_frontier]
        self.swap(0, self.n_frontier)
        # invariant: the frontier is a heap but for place i
        while child < self.n_frontier:
            if child + 1 < self.n_frontier and self.before(
                self.frontier[child + 1], self.frontier[child]
            ):
                child += 1
            if not self.before(self.frontier[child], self.frontier[i]):
                break
            self.swap(i, child)
            i = child
            child = 2 * i + 1
        return self.frontier[self.n_frontier]

    # -- the result --------------------------------------------------------------------------

    def arrays(self):
        """The nodes as the arrays of a ``Tree``; counts are integers."""
        cdef Py_ssize_t n = self.n_nodes, new, k
        cdef int32_t[::1] order = np.empty(n, dtype=np.int32)
        cdef int32_t[::1] place = np.empty(n, dtype=np.int32)
        cdef int32_t[::1] feature = np.empty(n, dtype=np.int32)
        cdef double[::1] threshold = np.empty(n)
        cdef int32_t[::1] category = np.empty(n, dtype=np.int32)
        cdef uint8_t[::1] missing_left = np.empty(n, dtype=np.uint8)
        cdef int32_t[::1] left = np.full(n, -1, dtype=np.int32)
        cdef int32_t[::1] right = np.full(n, -1, dtype=np.int32)
        cdef int64_t[:, ::1] counts = np.empty((n, self.n_classes), dtype=np.int64)
        cdef int64_t[::1] rows = np.empty(n, dtype=np.int64)
        cdef const Node* node
        self.preorder(order, place)
        for new in range(n):
            node = &self.nodes[order[new]]
            rows[new] = node.stop - node.start
            for k in range(self.n_classes):
                counts[new, k] = self.counts_of(order[new])[k]
            threshold[new] = node.threshold
            category[new] = node.category
            feature[new] = -1
            missing_left[new] = 0
            if node.left >= 0:
                feature[new] = <int32_t>node.split.column
                missing_left[new] = node.split.missing_left
                left[new] = place[node.left]
                right[new] = place[node.right]
        return {
            "feature": np.asarray(feature), "threshold": np.asarray(threshold),
            "category": np.asarray(category), "missing_left": np.asarray(missing_left, dtype=bool),
            "left": np.asarray(left), "right": np.asarray(right),
            "counts": np.asarray(counts), "rows": np.asarray(rows),
        }

    cdef void preorder(self, int32_t[::1] order, int32_t[::1] place):
        """The nodes in pre-order, and the position of each node."""
        cdef int32_t[::1] stack = np.zeros(self.n_nodes + 1, dtype=np.int32)
        cdef Py_ssize_t new, depth = 1
        cdef int32_t old
        for new in range(self.n_nodes):
            depth -= 1
            old = stack[depth]
            order[new] = old
            place[old] = <int32_t>new
            if self.nodes[old].left >= 0:
                stack[depth] = self.nodes[old].right
                stack[depth + 1] = self.nodes[old].left
                depth += 2


cdef void leave(Sorted* home) noexcept nogil:
    """Release a leaf's reference to its sorted rows; the last one frees them."""
    if home != NULL:
        home.users -= 1
        if home.users == 0:
            free_sorted(home)


cdef void* enlarged(void* memory, size_t size) except NULL nogil:
    memory = realloc(memory, size)
    if memory == NULL:
        with gil:
            raise MemoryError
    return memory
