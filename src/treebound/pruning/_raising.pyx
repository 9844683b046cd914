"""A mutable tree with its examples: collapse a node, or raise a child.

Nodes keep their numbers, and ascending numbers stay in pre-order: a raised subtree lies inside
the subtree it replaces. The examples of a node are the slice ``start[node] : stop[node]`` of
``order``.

Only what a replacement changes is recounted: everything below the raised child and, for each
ancestor, the errors after raising the changed side. The errors after raising the other side
depend only on the ancestor's examples and on that side, so they stay valid.
"""

import numpy as np

from libc.math cimport exp, log1p
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from treebound.tree._split cimport LEFT as TO_LEFT, Split, side_of

cdef enum:
    LEFT = 0
    RIGHT = 1
    LEAF = 2

cdef double LN2 = 0.6931471805599453


cdef inline uint64_t mix(uint64_t x) noexcept nogil:
    """Hash a 64-bit integer (splitmix64, a bijection)."""
    x = (x ^ (x >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    x = (x ^ (x >> 27)) * <uint64_t>0x94D049BB133111EB
    return x ^ (x >> 31)


cdef inline uint64_t joined(uint64_t one, uint64_t other) noexcept nogil:
    """Hash of the unordered shape with these two children."""
    return mix(mix(one) + mix(other) + <uint64_t>0x9E3779B97F4A7C15)


cdef class Raiser:
    """The mutable tree, with rows and splits in the layout of routing.

    ``learn`` are the weights that determine the labels, ``judge`` those that count errors;
    ``costs`` of predicting a class (column) for a true class (row).
    """

    cdef const double[:, :] X
    cdef const Split[::1] splits
    cdef const int32_t[::1] y
    cdef const double[::1] learn
    cdef const double[::1] judge
    cdef const double[:, ::1] cost
    cdef bint relabel, equal_costs
    cdef Py_ssize_t n_nodes, n_classes
    cdef readonly int32_t root
    # Kept as arrays for access from Python, and as views for speed.
    cdef readonly object arrays
    cdef int32_t[::1] left, right, parent, label, n_leaves, depth, order, spare
    cdef int64_t[::1] start, stop, rows
    cdef uint64_t[::1] name
    cdef double[:, ::1] learned, judged, trial, trial_judged
    cdef double[::1] as_leaf, subtree, growth, lifted
    cdef double[:, ::1] raised
    cdef uint8_t[:, ::1] stale
    cdef uint8_t[::1] alive

    def __init__(self, X, splits, y, learn, judge, left, right, label, costs, relabel):
        self.X, self.splits = X, splits
        self.y, self.learn, self.judge, self.cost = y, learn, judge, costs
        self.relabel = relabel
        n, k, m = len(left), costs.shape[0], len(y)
        self.n_nodes, self.n_classes = n, k
        self.equal_costs = np.array_equal(costs, 1.0 - np.eye(k))
        ints = {
            "left": left.copy(), "right": right.copy(), "label": label.copy(),
            "parent": np.full(n, -1, np.int32), "n_leaves": np.ones(n, np.int32),
            "depth": np.zeros(n, np.int32),
            "rows": np.zeros(n, np.int64), "learned": np.zeros((n, k)),
            "judged": np.zeros((n, k)), "alive": np.ones(n, np.uint8),
        }
        self.arrays = ints
        self.left, self.right, self.label = ints["left"], ints["right"], ints["label"]
        self.parent, self.n_leaves = ints["parent"], ints["n_leaves"]
        self.depth, self.rows = ints["depth"], ints["rows"]
        self.learned, self.judged, self.alive = ints["learned"], ints["judged"], ints["alive"]
        self.trial, self.trial_judged = np.zeros((n, k)), np.zeros((n, k))
        self.as_leaf, self.subtree = np.zeros(n), np.zeros(n)
        self.growth, self.lifted = np.zeros(n), np.zeros(n)
        self.raised = np.zeros((n, 2))
        self.stale = np.ones((n, 2), np.uint8)
        self.name = np.ones(n, np.uint64)
        self.start, self.stop = np.zeros(n, np.int64), np.zeros(n, np.int64)
        self.order, self.spare = np.arange(m, dtype=np.int32), np.empty(m, np.int32)
        cdef int32_t node
        for node in range(n):
            if self.left[node] >= 0:
                self.parent[self.left[node]] = self.parent[self.right[node]] = node
        self.root = 0
        self.stop[0] = m
        self._settle(0, False)

    # -- examples ----------------------------------------------------------------------------

    cdef inline bint _goes_left(self, int32_t node, int32_t row) noexcept nogil:
        cdef const Split* split = &self.splits[node]
        return side_of(split, self.X[row, split.column]) == TO_LEFT

    cdef void _settle(self, int32_t top, bint relabel) noexcept:
        """Route the examples of ``top`` through its subtree and recount it."""
        cdef int32_t node, row, end = self._end(top)
        cdef int64_t i, middle, other
        for node in range(top, end):
            if not self.alive[node]:
                continue
            self._count(node, relabel)
            if self.left[node] < 0:
                continue
            middle = self.start[node]
            other = 0
            for i in range(self.start[node], self.stop[node]):
                row = self.order[i]
                if self._goes_left(node, row):
                    self.order[middle] = row
                    middle += 1
                else:
                    self.spare[other] = row
                    other += 1
            for i in range(other):
                self.order[middle + i] = self.spare[i]
            self.start[self.left[node]] = self.start[node]
            self.stop[self.left[node]] = self.start[self.right[node]] = middle
            self.stop[self.right[node]] = self.stop[node]
        for node in range(end - 1, top - 1, -1):
            if self.alive[node]:
                self._sum_up(node)
                self.stale[node, LEFT] = self.stale[node, RIGHT] = 1

    cdef void _count(self, int32_t node, bint relabel) noexcept:
        cdef int64_t i
        cdef int32_t row
        cdef Py_ssize_t k
        for k in range(self.n_classes):
            self.learned[node, k] = 0.0
            self.judged[node, k] = 0.0
        self.rows[node] = 0
        for i in range(self.start[node], self.stop[node]):
            row = self.order[i]
            self.learned[node, self.y[row]] += self.learn[row]
            self.judged[node, self.y[row]] += self.judge[row]
            self.rows[node] += self.learn[row] > 0.0
        if relabel:
            self.label[node] = self._answer(&self.learned[node, 0])
        self.as_leaf[node] = self._price(&self.judged[node, 0], self.label[node])

    cdef int32_t _answer(self, const double* counts) noexcept nogil:
        """The class of least cost; the first on ties."""
        cdef Py_ssize_t answer, k
        cdef int32_t best = 0
        cdef double price, least = 0.0
        for answer in range(self.n_classes):
            if self.equal_costs:
                price = -counts[answer]
            else:
                price = 0.0
                for k in range(self.n_classes):
                    price += counts[k] * self.cost[k, answer]
            if answer == 0 or price < least:
                least = price
                best = <int32_t>answer
        return best

    cdef double _price(self, const double* counts, int32_t answer) noexcept nogil:
        cdef Py_ssize_t k
        cdef double price = 0.0
        for k in range(self.n_classes):
            price += counts[k] * self.cost[k, answer]
        return price

    cdef void _sum_up(self, int32_t node) noexcept nogil:
        """Size, shape and errors of the subtree, from its children."""
        cdef int32_t one = self.left[node], other = self.right[node]
        if one < 0:
            self.n_leaves[node], self.name[node] = 1, 1
            self.subtree[node] = self.as_leaf[node]
            return
        self.n_leaves[node] = self.n_leaves[one] + self.n_leaves[other]
        self.name[node] = joined(self.name[one], self.name[other])
        self.subtree[node] = self.subtree[one] + self.subtree[other]

    # -- candidates --------------------------------------------------------------------------

    @property
    def errors(self):
        """Errors of the current tree."""
        return self.subtree[self.root]

    @property
    def leaves(self):
        """Number of leaves of the current tree."""
        return self.n_leaves[self.root]

    def inner(self):
        """The inner nodes in pre-order."""
        return np.flatnonzero(np.asarray(self.alive) & (np.asarray(self.left) >= 0))

    def candidates(self, const int64_t[::1] nodes):
        """Leaves and errors with each node replaced by its left child, right child, leaf."""
        cdef Py_ssize_t i, n = nodes.shape[0]
        cdef int32_t node, by
        cdef int32_t kept
        leaves_array = np.empty((n, 3), dtype=np.int64)
        errors_array = np.empty((n, 3))
        cdef int64_t[:, ::1] leaves = leaves_array
        cdef double[:, ::1] errors = errors_array
        cdef double total = self.subtree[self.root], change
        for i in range(n):
            node = <int32_t>nodes[i]
            for by in range(3):
                if by == LEAF:
                    change = self.as_leaf[node]
                    leaves[i, by] = 1
                else:
                    change = self._raised_errors(node, by)
                    kept = self.left[node] if by == LEFT else self.right[node]
                    leaves[i, by] = self.n_leaves[kept]
                leaves[i, by] += self.n_leaves[self.root] - self.n_leaves[node]
                errors[i, by] = total - self.subtree[node] + change
        return leaves_array.ravel(), errors_array.ravel()

    cdef double _raised_errors(self, int32_t node, int32_t by) noexcept nogil:
        """Errors of a node's examples if all of them go through one of its children."""
        cdef int32_t kept, gone, at, end, row, answer
        cdef Py_ssize_t k
        cdef int64_t i
        cdef double errors = 0.0
        if not self.stale[node, by]:
            return self.raised[node, by]
        kept, gone = self.left[node], self.right[node]
        if by == RIGHT:
            kept, gone = gone, kept
        end = self._end(kept)
        for at in range(kept, end):
            if self.alive[at] and self.left[at] < 0:
                for k in range(self.n_classes):
                    self.trial[at, k] = self.learned[at, k]
                    self.trial_judged[at, k] = self.judged[at, k]
        for i in range(self.start[gone], self.stop[gone]):
            row = self.order[i]
            at = kept
            while self.left[at] >= 0:
                at = self.left[at] if self._goes_left(at, row) else self.right[at]
            self.trial[at, self.y[row]] += self.learn[row]
            self.trial_judged[at, self.y[row]] += self.judge[row]
        for at in range(kept, end):
            if self.alive[at] and self.left[at] < 0:
                answer = self._answer(&self.trial[at, 0]) if self.relabel else self.label[at]
                errors += self._price(&self.trial_judged[at, 0], answer)
        self.raised[node, by] = errors
        self.stale[node, by] = 0
        return errors

    cdef int32_t _end(self, int32_t node) noexcept nogil:
        """One past the last node of a subtree: its rightmost leaf."""
        while self.right[node] >= 0:
            node = self.right[node]
        return node + 1

    # -- the fast growth function ------------------------------------------------------------

    def fast_growth(self, const int64_t[::1] nodes, const double[::1] price, double log_classes):
        """Log growth in the paper's fast form, for the same candidates.

        ``price[d]`` is the log of the factor of a node at depth d:
        ``G = n + 2^-[equal children] e^price (G_left G_right - n)``. The value of a subtree
        depends on its depth; ``lifted`` holds its value one level up, after raising.
        """
        cdef Py_ssize_t i, n = nodes.shape[0]
        cdef int32_t node, kept, by
        cdef double value
        found_array = np.empty((n, 3))
        cdef double[:, ::1] found = found_array
        self._fast_subtrees(price, log_classes)
        for i in range(n):
            node = <int32_t>nodes[i]
            for by in range(3):
                if by == LEAF:
                    found[i, by] = self._fast_above(node, log_classes, 1, 1, price, log_classes)
                    continue
                kept = self.left[node] if by == LEFT else self.right[node]
                found[i, by] = self._fast_above(
                    node, self.lifted[kept], self.name[kept], self.n_leaves[kept], price,
                    log_classes)
        return found_array.ravel()

    cdef void _fast_subtrees(self, const double[::1] price, double log_classes) noexcept:
        cdef int32_t node, one, other
        cdef bint equal
        self.depth[self.root] = 0
        for node in range(<int32_t>self.n_nodes):
            if self.alive[node] and self.left[node] >= 0:
                self.depth[self.left[node]] = self.depth[node] + 1
                self.depth[self.right[node]] = self.depth[node] + 1
        for node in range(<int32_t>self.n_nodes - 1, -1, -1):
            if not self.alive[node]:
                continue
            one, other = self.left[node], self.right[node]
            if one < 0:
                self.growth[node] = self.lifted[node] = log_classes
                continue
            equal = self.name[one] == self.name[other]
            self.growth[node] = fast_node(
                self.growth[one] + self.growth[other], price[self.depth[node]], equal, log_classes)
            if self.depth[node] > 0:
                self.lifted[node] = fast_node(
                    self.lifted[one] + self.lifted[other], price[self.depth[node] - 1], equal,
                    log_classes)

    cdef double _fast_above(self, int32_t node, double value, uint64_t name, int32_t leaves,
                            const double[::1] price, double log_classes) noexcept nogil:
        """Log growth of the whole tree with the subtree of ``node`` replaced."""
        cdef int32_t above = self.parent[node], beside
        cdef bint equal
        while above >= 0:
            beside = self.right[above] if self.left[above] == node else self.left[above]
            equal = leaves == self.n_leaves[beside] and name == self.name[beside]
            value = fast_node(value + self.growth[beside], price[self.depth[above]], equal,
                              log_classes)
            leaves += self.n_leaves[beside]
            name = joined(name, self.name[beside])
            node = above
            above = self.parent[node]
        return value

    # -- replacing ---------------------------------------------------------------------------

    def replace(self, int32_t node, int32_t by):
        """Replace a node by its left child (0), its right child (1) or a leaf (2).

        Returns the nodes whose examples changed.
        """
        cdef int32_t kept = node, above = self.parent[node]
        if by != LEAF:
            kept = self.left[node] if by == LEFT else self.right[node]
        alive = self.arrays["alive"]
        begin, end = int(kept), int(self._end(kept)) if by != LEAF else int(node) + 1
        alive[end:self._end(node)] = 0
        alive[node:begin] = 0
        if by == LEAF:
            self.left[node] = self.right[node] = -1
            self._sum_up(node)
            self._changed_below(node)
            return np.empty(0, dtype=np.int64)
        self.start[kept], self.stop[kept] = self.start[node], self.stop[node]
        self.parent[kept] = above
        if above < 0:
            self.root = kept
        elif self.left[above] == node:
            self.left[above] = kept
        else:
            self.right[above] = kept
        self._settle(kept, self.relabel)
        self._changed_below(kept)
        return np.flatnonzero(alive[begin:end]) + begin

    cdef void _changed_below(self, int32_t node) noexcept nogil:
        """Update the sums of the ancestors after the subtree of a node changed."""
        cdef int32_t above = self.parent[node]
        while above >= 0:
            self._sum_up(above)
            self.stale[above, LEFT if self.left[above] == node else RIGHT] = 1
            node = above
            above = self.parent[node]


cdef inline double fast_node(double both, double price, bint equal,
                             double log_classes) noexcept nogil:
    """``ln( n + 2^-equal e^price (e^both - n) )``; far from n the corrections vanish."""
    cdef double value = both + price - (LN2 if equal else 0.0)
    if both < log_classes + 40.0:
        value += log1p(-exp(log_classes - both))
    if value < log_classes + 40.0:
        value = log_classes + log1p(exp(value - log_classes))
    return value
