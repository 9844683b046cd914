"""Scores and bounds of the splits of one column from the counts of its bins alone.

Bins here are any intervals that follow each other: bins of codes, slices of these, or values.
"""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free
from libc.string cimport memset

from treebound.growing._bounds cimport Reach, bound_bin, reach_of
from treebound.growing._counting cimport Counted
from treebound.growing._layout cimport (
    Criterion, NodeView, Problem, allocate, purity_of,
)
from treebound.growing._profile cimport (
    Family, Profile, free_profile, init_profile, may_stand, read_profile, score_left,
)
from treebound.growing._rules cimport (
    least_gain, left_is_heavier, most_priority, order_tolerance, priority_of, set_scale,
    tolerance_of,
)


cdef class Judge:
    """Judges one node at a time, as the kernel of the in-memory growth does.

    Parameters
    ----------
    n_classes, criterion, by_impurity, min_leaf, min_weight, min_gain
        As in ``_grow.grow``.
    whole : int
        Weight of the whole sample.
    """

    cdef Problem problem
    cdef Counted counted
    cdef Profile profile
    cdef Py_ssize_t room
    cdef NodeView node
    cdef int64_t* counts
    cdef int64_t unit
    cdef bint by_impurity
    cdef double min_gain
    cdef readonly int64_t whole
    cdef readonly double tolerance   # scores closer than this are a tie
    cdef readonly double least       # the score that a split must beat

    def __cinit__(
        self, Py_ssize_t n_classes, int criterion, bint by_impurity, int64_t whole,
        Py_ssize_t min_leaf, int64_t min_weight, double min_gain,
    ):
        memset(&self.problem, 0, sizeof(Problem))
        memset(&self.profile, 0, sizeof(Profile))
        self.counts = <int64_t*>allocate(n_classes, sizeof(int64_t))
        self.problem.n_classes = n_classes
        self.problem.criterion = <Criterion>criterion
        self.problem.min_leaf = min_leaf
        self.problem.min_weight = min_weight
        set_scale(&self.problem, whole)
        # counts of 64 bits, with the rows of a bin after its classes
        self.counted.weights = &self.unit
        self.counted.n_classes = n_classes
        self.counted.stride = n_classes + 1
        self.by_impurity = by_impurity
        self.min_gain = min_gain
        self.whole = whole

    def __dealloc__(self):
        free_profile(&self.profile)
        free(self.counts)

    @property
    def order_tolerance(self):
        """Priorities closer than this are a tie."""
        return order_tolerance(self.whole, self.by_impurity)

    def take(self, const int64_t[::1] counts, Py_ssize_t n_rows):
        """Judge this node from now on."""
        cdef Py_ssize_t k
        self.node.start = 0
        self.node.stop = n_rows
        self.node.weight = 0
        for k in range(self.problem.n_classes):
            self.counts[k] = counts[k]
            self.node.weight += counts[k]
        self.node.counts = self.counts
        self.node.purity = purity_of(self.counts, self.node.weight, &self.problem)
        self.node.tolerance = self.tolerance = tolerance_of(self.node.weight, &self.problem)
        self.least = self.node.purity + least_gain(
            self.min_gain, self.whole, self.tolerance, self.by_impurity, &self.problem
        )

    def priority(self, double score):
        """The gain, or in the paper's order minus the mean impurity of the children."""
        return priority_of(
            score, self.node.weight, self.node.purity, self.by_impurity, &self.problem
        )

    def most(self):
        """The priority if both children were pure."""
        return most_priority(
            self.node.weight, self.node.purity, self.by_impurity, &self.problem
        )

    def split_score(self, const int64_t[::1] left):
        """The score of a split of the node with these class counts on the left."""
        cdef int64_t[::1] total = np.empty(self.problem.n_classes, dtype=np.int64)
        cdef int64_t[::1] none = np.zeros(self.problem.n_classes + 1, dtype=np.int64)
        return score_left(&left[0], &none[0], &self.node, &self.problem, &total[0])

    def left_is_heavier(self, int64_t left):
        """Where missing goes that was not seen; rounded weights may miss a tie by some units."""
        return left_is_heavier(left, self.node.weight)

    # -- columns with an order ---------------------------------------------------------------

    cdef int read(self, const int64_t[:, ::1] table) except -1:
        """The counts of bins, then those of missing rows."""
        cdef Py_ssize_t n_bins = table.shape[0] - 1
        if n_bins + 1 > self.room:
            free_profile(&self.profile)
            memset(&self.profile, 0, sizeof(Profile))
            self.room = 2 * (n_bins + 1)
            init_profile(&self.profile, self.room, self.problem.n_classes)
        read_profile(
            &self.profile, &table[0, 0], 0, n_bins, &self.counted, &self.node, &self.problem
        )
        return 0

    def reach(self, const int64_t[:, ::1] table, const uint8_t[::1] single, double floor):
        """The best score between bins, a bound of those inside, -inf where none matters, and rows.

        The rows are those of bins that may hold a split above the floor.
        """
        cdef Reach reach
        self.read(table)
        reach = reach_of(
            &self.profile, &single[0] if len(single) else NULL, floor, &self.node, &self.problem
        )
        return reach.best, reach.bound, reach.live_rows

    def live(self, const int64_t[:, ::1] table, const uint8_t[::1] single, double floor):
        """The bins that may hold a split above the floor."""
        cdef Py_ssize_t width = self.problem.n_classes + 1, t
        cdef const int64_t* rows
        cdef int side
        cdef list found = []
        self.read(table)
        rows = self.profile.left + self.problem.n_classes
        for t in range(self.profile.n_bins):
            if rows[(t + 1) * width] - rows[t * width] < 2 or single[self.profile.bins[t]]:
                continue
            for side in range(self.profile.n_families):
                if bound_bin(
                    &self.profile, &self.profile.families[side], t, floor, &self.node,
                    &self.problem,
                ) > -INFINITY:
                    found.append(self.profile.bins[t])
                    break
        return found

    def best(self, const int64_t[:, ::1] table, double floor):
        """The best split between bins.

        Returns
        -------
        tuple or None
            Score, last bin on the left, first bin on the right (-1: only missing rows there),
            whether missing goes left, counts and rows on the left, missing ones among them, and
            weight on the left without them.
        """
        cdef const Family* family
        cdef double[2] score
        cdef Py_ssize_t[2] at
        cdef Py_ssize_t width = self.problem.n_classes + 1, t, k, follow
        cdef int side
        cdef int64_t weight = 0
        cdef const int64_t* left
        self.read(table)
        for side in range(2):
            score[side] = -INFINITY
            at[side] = -1
        for side in range(self.profile.n_families):
            family = &self.profile.families[side]
            for t in range(family.first, family.last + 1):
                if family.scores[t] > floor and (
                    family.scores[t] > score[side] + self.tolerance
                ):
                    score[side] = family.scores[t]
                    at[side] = t
        side = at[1] >= 0 and (
            score[1] > score[0] + self.tolerance
            or (score[1] >= score[0] - self.tolerance and at[1] < at[0])
        )
        t = at[side]
        if t < 0:
            return None
        follow = self.profile.bins[t + 1] if t + 1 < self.profile.n_bins else -1
        left = self.profile.left + (t + 1) * width
        counts = np.empty(width, dtype=np.int64)
        for k in range(width):
            counts[k] = left[k] + self.profile.families[side].base[k]
            if k < self.problem.n_classes:
                weight += left[k]
        return score[side], self.profile.bins[t], follow, bool(side), counts, weight

    # -- categories --------------------------------------------------------------------------

    def best_category(self, const int64_t[:, ::1] table, double floor):
        """The same for ``x == category``; missing is the last one."""
        cdef Py_ssize_t n_classes = self.problem.n_classes, code, k, last = table.shape[0] - 1
        cdef int64_t[::1] none = np.zeros(n_classes + 1, dtype=np.int64)
        cdef int64_t[::1] total = np.zeros(n_classes + 1, dtype=np.int64)
        cdef double score, best = -INFINITY
        cdef Py_ssize_t found = -1
        cdef int64_t weight = 0
        for code in range(last + 1):
            if table[code, n_classes] == 0 or not may_stand(
                &table[code, 0], &none[0], &self.node, &self.problem
            ):
                continue
            score = score_left(&table[code, 0], &none[0], &self.node, &self.problem, &total[0])
            if score > best + self.tolerance and score > floor:
                best = score
                found = code
        if found < 0:
            return None
        for k in range(n_classes):
            weight += table[found, k]
        return best, found, -1, found == last, np.array(table[found]), weight


def best_first(
    const double[::1] priority, const int32_t[::1] left, const int32_t[::1] right,
    const uint8_t[::1] waits, Py_ssize_t most, double tolerance,
):
    """The nodes that are expanded, in that order; children that are not known count as absent.

    Parameters
    ----------
    priority : ndarray
        Of nodes; the greatest comes first, the older one where two differ by no more than the
        tolerance.
    left, right : ndarray of int32
        Children, or -1.
    waits : ndarray of bool
        Whether a node has a split.
    most : int
        How many may be expanded.
    """
    cdef Py_ssize_t n = priority.shape[0], n_heap = 0, n_order = 0, made = 0, i, child
    cdef int32_t[::1] heap = np.empty(n + 1, dtype=np.int32)
    cdef int32_t[::1] order = np.empty(min(n, max(most, 0)), dtype=np.int32)
    cdef int64_t[::1] birth = np.zeros(n, dtype=np.int64)
    cdef int32_t node
    cdef int side
    if n and waits[0]:
        heap[0] = 0
        n_heap = 1
    made = 1
    while n_heap and n_order < most:
        node = heap[0]
        n_heap -= 1
        heap[0] = heap[n_heap]
        # invariant: the heap is in order but for place i
        i = 0
        while True:
            child = 2 * i + 1
            if child >= n_heap:
                break
            if child + 1 < n_heap and before(
                heap[child + 1], heap[child], priority, birth, tolerance
            ):
                child += 1
            if not before(heap[child], heap[i], priority, birth, tolerance):
                break
            heap[i], heap[child] = heap[child], heap[i]
            i = child
        order[n_order] = node
        n_order += 1
        if left[node] < 0:
            continue
        for side in range(2):
            child = right[node] if side else left[node]
            birth[child] = made
            made += 1
            if not waits[child]:
                continue
            i = n_heap
            heap[i] = <int32_t>child
            n_heap += 1
            while i > 0 and before(heap[i], heap[(i - 1) // 2], priority, birth, tolerance):
                heap[i], heap[(i - 1) // 2] = heap[(i - 1) // 2], heap[i]
                i = (i - 1) // 2
    return np.asarray(order)[:n_order]


cdef inline bint before(
    int32_t a, int32_t b, const double[::1] priority, int64_t[::1] birth, double tolerance
) noexcept:
    cdef double difference = priority[a] - priority[b]
    if difference > tolerance:
        return True
    if difference < -tolerance:
        return False
    return birth[a] < birth[b]
