"""Bottom-up passes over a tree: kernels of the pruners that collapse subtrees.

``left`` and ``right`` are the children of each node, -1 for a leaf. Nodes are in pre-order, so a
reversed loop visits children first.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

cdef extern from "_join.h":
    void lower(int64_t* out, const int64_t* curve, Py_ssize_t n, int64_t base) noexcept nogil
    void lower_and_pick(
        int64_t* out, uint32_t* picked, const int64_t* curve, Py_ssize_t n, int64_t base,
        uint32_t choice,
    ) noexcept nogil

cdef int64_t FAR = <int64_t>1 << 62  # no sum of costs reaches it


def sums_after(const double[:, ::1] values, const double[:, ::1] below, const Py_ssize_t[::1] cuts):
    """Sums of the values below the root, with those of some nodes in the place of all below them."""
    cdef Py_ssize_t i, j
    sums_array = np.array(below[0])
    cdef double[::1] sums = sums_array
    for i in range(cuts.shape[0]):
        for j in range(sums.shape[0]):
            sums[j] += values[cuts[i], j] - below[cuts[i], j]
    return sums_array


def moments_of_losses(const double[:, ::1] weights, const double[:, ::1] squares,
                      const double[:, ::1] loss, const double[:, ::1] other):
    """At each node the sums of losses, of their squares, and of squared differences from other losses.

    ``weights``, their ``squares`` and the losses of a row are those of each class at each node.
    """
    cdef Py_ssize_t node, k, n = weights.shape[0]
    cdef double mean, square, spread, difference
    moments_array = np.empty((n, 3))
    cdef double[:, ::1] moments = moments_array
    with nogil:
        for node in range(n):
            mean = square = spread = 0.0
            for k in range(weights.shape[1]):
                difference = loss[node, k] - other[node, k]
                mean += weights[node, k] * loss[node, k]
                square += squares[node, k] * (loss[node, k] * loss[node, k])
                spread += squares[node, k] * (difference * difference)
            moments[node, 0], moments[node, 1], moments[node, 2] = mean, square, spread
    return moments_array


def minimum_additive(const int32_t[::1] left, const int32_t[::1] right,
                   const double[::1] as_leaf, const double[::1] as_node, double slack):
    """Minimise an additive cost: ``as_leaf`` of the leaves plus ``as_node`` of the inner nodes.

    One bottom-up pass; a node becomes a leaf if that costs at most ``slack`` more than its pruned
    subtree. Returns a mask of these nodes.
    """
    cdef Py_ssize_t node, n = left.shape[0]
    cdef double below
    total_array = np.array(as_leaf)
    cuts = np.zeros(n, dtype=np.bool_)
    cdef double[::1] total = total_array
    cdef unsigned char[::1] cut = cuts.view(np.uint8)
    for node in range(n - 1, -1, -1):
        if left[node] < 0:
            continue
        below = as_node[node] + total[left[node]] + total[right[node]]
        if as_leaf[node] <= below + slack:
            cut[node] = 1
        else:
            total[node] = below
    return cuts


def collapsed_before(const int32_t[::1] left, const int32_t[::1] right, const int32_t[::1] when):
    """Earliest step at which a proper ancestor of each node collapses.

    ``when`` is the step at which each node itself becomes a leaf. A node is a leaf of the tree at
    the steps from ``when`` up to, not including, the returned value.
    """
    cdef Py_ssize_t node, n = left.shape[0]
    cdef int32_t first
    until_array = np.full(n, np.iinfo(np.int32).max, dtype=np.int32)
    cdef int32_t[::1] until = until_array
    for node in range(n):
        if left[node] >= 0:
            first = when[node] if when[node] < until[node] else until[node]
            until[left[node]] = first
            until[right[node]] = first
    return until_array


def sums_along(const int32_t[::1] when, const int32_t[::1] until, const double[::1] values,
               int32_t n_steps):
    """Sum of node values over the leaves of the tree at each step; see `collapsed_before`."""
    cdef Py_ssize_t node
    cdef int32_t end
    change_array = np.zeros((2, n_steps + 1))
    cdef double[::1] starting = change_array[0], ending = change_array[1]
    for node in range(when.shape[0]):
        end = min(until[node], n_steps)
        if when[node] < end:
            starting[when[node]] += values[node]
            ending[end] += values[node]
    return (change_array[0] - change_array[1]).cumsum()[:n_steps]


def cuts_at(const int32_t[::1] left, const int32_t[::1] when, const int32_t[::1] until,
            int32_t step):
    """The inner nodes that are leaves at a step."""
    cdef Py_ssize_t node, n_cuts = 0
    cuts_array = np.empty(left.shape[0] // 2 + 1, dtype=np.intp)
    cdef Py_ssize_t[::1] cuts = cuts_array
    for node in range(left.shape[0]):
        cuts[n_cuts] = node  # without a branch, which would often be mispredicted
        n_cuts += (left[node] >= 0) & (when[node] <= step) & (step < until[node])
    return cuts_array[:n_cuts].copy()


# -- the best pruning of every size --------------------------------------------------------------


class Plan:
    """Least cost ``best[j]`` of a pruning with j leaves, up to cap, and how to reconstruct it."""

    def __init__(self, left, right, best, leaves, offset, choice):
        self.left, self.right, self.best = left, right, best
        self._leaves, self._offset, self._choice = leaves, offset, choice

    def cuts(self, leaves):
        """Which inner nodes become leaves in the best pruning with that many leaves."""
        return _read_plan(self.left, self.right, self._leaves, self._offset, self._choice, leaves)


def best_prunings(const int32_t[::1] left, const int32_t[::1] right, const int32_t[::1] leaves,
                  const int64_t[::1] cost, int32_t cap):
    """Least total cost of the leaves of a pruning, for each number of leaves up to ``cap``.

    ``leaves`` are those below each node. A tree knapsack: the curve of a node is the min-plus
    convolution of its children's curves,
    plus the cost of the node as a leaf. Two leaves of the tree meet in the convolution of one node only,
    so all convolutions together touch at most L^2 / 2 pairs: O(L min(L, cap)) time. The choices
    take four bytes per (node, size), O(L height) in total; a node with a leaf as a child stores
    none, so that long chains are cheap. The costs of all nodes must add up to less than 2^62.
    """
    cdef Py_ssize_t node, n = left.shape[0]
    cdef int64_t end = 0
    width_array = np.array(leaves)
    offset_array = np.full(n, -1, dtype=np.int64)
    cdef int32_t[::1] width = width_array
    cdef int64_t[::1] offset = offset_array
    for node in range(n):
        if left[node] >= 0 and width[left[node]] > 1 and width[right[node]] > 1:
            offset[node] = end
            end += min(width[node], cap) + 1
    np.minimum(width_array, cap, out=width_array)
    choice = np.empty(max(end, 1), dtype=np.uint32)
    best = _fill_plan(left, right, leaves, cost, width, offset, choice)
    return Plan(left, right, best, np.asarray(leaves), offset_array, choice)


cdef _fill_plan(const int32_t[::1] left, const int32_t[::1] right,
                const int32_t[::1] leaves, const int64_t[::1] cost, const int32_t[::1] width,
                const int64_t[::1] offset, uint32_t[::1] choice):
    cdef Py_ssize_t node, n = left.shape[0]
    cdef Py_ssize_t top = 0  # stack of the curves of subtrees not yet joined
    cdef Py_ssize_t a_size, b_size
    cdef uint32_t* picked
    # Curves on the stack belong to disjoint subtrees: L cells, and as many for joining.
    cdef int64_t* stack = <int64_t*>malloc(2 * (n + 2) * sizeof(int64_t))
    if stack == NULL:
        raise MemoryError
    cdef int64_t* joined = stack + n + 2
    cdef int64_t* a
    cdef int64_t* b
    best = np.empty(width[0] + 1, dtype=np.int64)
    cdef int64_t[::1] out = best
    with nogil:
        for node in range(n - 1, -1, -1):
            if left[node] < 0:
                stack[top] = cost[node]
                top += 1
                continue
            # in reversed pre-order the left subtree was finished last: it is on top
            a_size, b_size = width[left[node]], width[right[node]]
            top -= a_size + b_size
            b = stack + top
            a = b + b_size
            joined[0] = cost[node]
            picked = &choice[offset[node]] if offset[node] >= 0 else NULL
            # without the limit: which of several best prunings is found must not depend on it
            if leaves[left[node]] <= leaves[right[node]]:
                _join(a, a_size, b, b_size, joined, width[node], picked)
            else:
                _join(b, b_size, a, a_size, joined, width[node], picked)
            memcpy(b, joined, width[node] * sizeof(int64_t))
            top += width[node]
        out[0] = FAR
        memcpy(&out[1], stack, width[0] * sizeof(int64_t))
    free(stack)
    return best


cdef inline void _join(const int64_t* small, Py_ssize_t small_size,
                       const int64_t* large, Py_ssize_t large_size,
                       int64_t* out, Py_ssize_t out_size, uint32_t* picked) noexcept nogil:
    """Min-plus convolution: ``out[j - 1]`` for j leaves, ``picked[j]`` of them on the small side.

    ``out[0]``, the cost of the node as a leaf, is not changed.
    """
    cdef Py_ssize_t i, j, end
    for j in range(1, out_size):
        out[j] = FAR
    for i in range(small_size):
        end = min(large_size, out_size - i - 1)
        if picked == NULL:
            lower(out + i + 1, large, end, small[i])
        else:
            lower_and_pick(out + i + 1, picked + i + 2, large, end, small[i], <uint32_t>(i + 1))


cdef _read_plan(const int32_t[::1] left, const int32_t[::1] right, const int32_t[::1] below,
                const int64_t[::1] offset, const uint32_t[::1] choice, int32_t leaves):
    cdef Py_ssize_t node, n = left.shape[0]
    cdef int32_t small, light, heavy
    leaves_array = np.zeros(n, dtype=np.int32)
    cut_array = np.zeros(n, dtype=np.bool_)
    cdef int32_t[::1] leaves_of = leaves_array  # leaves of the subtree; 0 below a cut
    cdef unsigned char[::1] cut = cut_array.view(np.uint8)
    leaves_of[0] = leaves
    for node in range(n):
        if left[node] < 0 or leaves_of[node] == 0:
            continue
        if leaves_of[node] == 1:
            cut[node] = 1
            continue
        # the same small side as when the plan was made
        light, heavy = left[node], right[node]
        if below[light] > below[heavy]:
            light, heavy = heavy, light
        small = <int32_t>choice[offset[node] + leaves_of[node]] if offset[node] >= 0 else 1
        leaves_of[light] = small
        leaves_of[heavy] = leaves_of[node] - small
    return cut_array


# -- the weakest link ------------------------------------------------------------------------------


def weakest_links(const int32_t[::1] left, const int32_t[::1] right, const double[::1] risk):
    """All steps of weakest-link pruning (Breiman et al. 1984, section 3.3), in O(L log L).

    The least of ``risk + alpha leaves`` over the prunings of a subtree is concave and piecewise
    linear in alpha, with a corner where a node collapses. Bottom-up, the line of the node itself
    ``risk[node] + alpha`` removes the corners of its children to the right of the crossing, and
    the crossing becomes a corner itself. Corners are stored in meldable (leftist) heaps, largest
    alpha first; each is pushed once and popped at most once.

    Returns
    -------
    nodes : ndarray of intp
        The nodes in the order they collapse; in pre-order for equal alphas.
    alphas : ndarray of float64
        The alpha at which each collapses, ascending. A node and its descendant never share one:
        on ties only the ancestor is listed.
    """
    cdef Py_ssize_t node, n = left.shape[0]
    cdef int32_t top, last
    cdef double error, size, crossing
    links = np.full((3, n), -1, dtype=np.int32)
    values = np.zeros((3, n))
    cdef int32_t[::1] heap_left = links[0]
    cdef int32_t[::1] heap_right = links[1]
    cdef int32_t[::1] heap = links[2]  # root of the heap of a subtree's corners
    cdef double[::1] alpha = values[0]
    cdef double[::1] gain = values[1]  # errors and leaves restored when a collapse is undone
    cdef double[::1] more = values[2]
    rank_array = np.ones(n, dtype=np.int32)
    alive_array = np.zeros(n, dtype=np.bool_)
    cdef int32_t[::1] rank = rank_array
    cdef unsigned char[::1] alive = alive_array.view(np.uint8)  # 1 for a corner that is not removed
    with nogil:
        for node in range(n - 1, -1, -1):
            if left[node] < 0:
                continue
            top = _meld(heap[left[node]], heap[right[node]], heap_left, heap_right, rank, alpha)
            # At infinite alpha both children are leaves; go down from there to the crossing.
            error = risk[left[node]] + risk[right[node]]
            size = 2.0
            crossing = (risk[node] - error) / (size - 1.0)
            while top >= 0 and alpha[top] >= crossing:
                alive[top] = 0
                error -= gain[top]
                size += more[top]
                crossing = (risk[node] - error) / (size - 1.0)
                top = _meld(heap_left[top], heap_right[top], heap_left, heap_right, rank, alpha)
            alpha[node] = crossing
            gain[node] = risk[node] - error
            more[node] = size - 1.0
            heap_left[node] = top
            heap_right[node] = -1
            rank[node] = 1
            heap[node] = <int32_t>node
            alive[node] = 1
    nodes = np.flatnonzero(alive_array)
    alphas = values[0][nodes]
    order = np.argsort(alphas, kind="stable")
    return nodes[order], alphas[order]


cdef int32_t _meld(int32_t first, int32_t second, int32_t[::1] heap_left, int32_t[::1] heap_right,
                   int32_t[::1] rank, double[::1] alpha) noexcept nogil:
    """Merge two leftist heaps. The recursion follows right spines only: O(log L) deep."""
    cdef int32_t spare
    if first < 0:
        return second
    if second < 0:
        return first
    if alpha[first] < alpha[second]:
        first, second = second, first
    heap_right[first] = _meld(heap_right[first], second, heap_left, heap_right, rank, alpha)
    spare = heap_left[first]
    if spare < 0 or rank[spare] < rank[heap_right[first]]:
        heap_left[first] = heap_right[first]
        heap_right[first] = spare
    rank[first] = 1 if heap_right[first] < 0 else rank[heap_right[first]] + 1
    return first


# -- the best tree of every size in a graph of candidates ------------------------------------------


cdef enum:
    LEAVES_BITS = 24  # of a choice; the candidate is above them


class GraphPlan:
    """Least cost ``best[j]`` of a tree with j leaves, up to a cap, and how to reconstruct it."""

    def __init__(self, first, left, right, best, width, offset, choice, curves):
        self.best, self._curves = best, curves
        self._graph, self._width, self._offset, self._choice = (first, left, right), width, offset, choice

    def curve(self, node):
        """The least cost below a node with 1, 2, ... leaves, if ``keep_curves``."""
        start = self._offset[node]
        return self._curves[start : start + self._width[node]]

    def tree(self, leaves):
        """The best tree with that many leaves, in pre-order.

        For each of its nodes the node of the graph, the candidate that splits it (-1 for a leaf),
        and its children in this tree (-1).
        """
        return _read_graph_plan(*self._graph, self._width, self._offset, self._choice, leaves)


def best_of_graph(const int32_t[::1] first, const int32_t[::1] left, const int32_t[::1] right,
                  const int64_t[::1] cost, int32_t cap, bint keep_curves=False):
    """Least total cost of the leaves of a tree in a graph, for each number of leaves up to ``cap``.

    Node i may be split by the candidates ``first[i]`` to ``first[i + 1]``, into the nodes ``left``
    and ``right``, which come before it; the last node is the root. The curve of a node is the
    cost as a leaf, then the pointwise minimum over its candidates of the min-plus convolution of
    both sides. On ties the first candidate and the fewest leaves on its smaller side win. The costs
    of all nodes of a tree must add up to less than 2^62.
    """
    cdef Py_ssize_t node, n = first.shape[0] - 1
    cdef int32_t c
    cdef int64_t end = 0, size
    width_array = np.ones(n, dtype=np.int32)
    offset_array = np.empty(n, dtype=np.int64)
    cdef int32_t[::1] width = width_array
    cdef int64_t[::1] offset = offset_array
    cap = min(cap, (1 << LEAVES_BITS) - 1)
    for node in range(n):
        for c in range(first[node], first[node + 1]):
            size = min(<int64_t>width[left[c]] + width[right[c]], cap)
            width[node] = max(width[node], <int32_t>size)
        offset[node] = end
        end += width[node]
    choice_array = np.zeros(end + 1, dtype=np.uint32)
    curve_array = np.full(end + 1, FAR, dtype=np.int64)
    cdef uint32_t[::1] choice = choice_array
    cdef int64_t[::1] curve = curve_array
    cdef int64_t* out
    cdef uint32_t* picked
    cdef int32_t small, large
    with nogil:
        for node in range(n):
            out = &curve[offset[node]]
            picked = &choice[offset[node]]
            out[0] = cost[node]
            for c in range(first[node], first[node + 1]):
                small, large = left[c], right[c]
                if width[small] > width[large]:
                    small, large = large, small
                _join_candidate(
                    &curve[offset[small]], width[small], &curve[offset[large]], width[large],
                    out, width[node], picked, <uint32_t>(c - first[node]) << LEAVES_BITS,
                )
    best = np.empty(width[n - 1] + 1, dtype=np.int64)
    best[0] = FAR
    best[1:] = curve_array[offset[n - 1] : end]
    return GraphPlan(
        np.asarray(first), np.asarray(left), np.asarray(right), best, width_array, offset_array,
        choice_array, curve_array if keep_curves else None,
    )


cdef inline void _join_candidate(const int64_t* small, Py_ssize_t small_size,
                                 const int64_t* large, Py_ssize_t large_size, int64_t* out,
                                 Py_ssize_t out_size, uint32_t* picked,
                                 uint32_t candidate) noexcept nogil:
    """Lower a curve to the min-plus convolution of two curves; picked are leaves on the small side."""
    cdef Py_ssize_t i, end
    for i in range(small_size):
        end = min(large_size, out_size - i - 1)
        if end > 0:
            lower_and_pick(
                out + i + 1, picked + i + 1, large, end, small[i], candidate | <uint32_t>(i + 1)
            )


def _read_graph_plan(const int32_t[::1] first, const int32_t[::1] left, const int32_t[::1] right,
                     const int32_t[::1] width, const int64_t[::1] offset,
                     const uint32_t[::1] choice, int32_t leaves):
    cdef Py_ssize_t n = 2 * leaves - 1, at = 0, depth = 1
    cdef int32_t c, node, small, wanted
    result = np.full((4, n), -1, dtype=np.int32)
    stack_array = np.empty((n + 1, 3), dtype=np.int32)
    cdef int32_t[:, ::1] out = result
    cdef int32_t[:, ::1] stack = stack_array  # a node, its leaves, and the parent of a right child
    cdef uint32_t picked
    stack[0, 0], stack[0, 1], stack[0, 2] = <int32_t>(first.shape[0] - 2), leaves, -1
    while depth:
        depth -= 1
        node, wanted = stack[depth, 0], stack[depth, 1]
        if stack[depth, 2] >= 0:
            out[3, stack[depth, 2]] = <int32_t>at
        out[0, at] = node
        if wanted > 1:
            picked = choice[offset[node] + wanted - 1]
            c = first[node] + <int32_t>(picked >> LEAVES_BITS)
            small = <int32_t>(picked & ((1 << LEAVES_BITS) - 1))
            out[1, at] = c
            out[2, at] = <int32_t>at + 1
            if width[left[c]] > width[right[c]]:
                small = wanted - small  # the right side is the smaller one
            stack[depth, 0], stack[depth, 1], stack[depth, 2] = right[c], wanted - small, <int32_t>at
            stack[depth + 1, 0], stack[depth + 1, 1], stack[depth + 1, 2] = left[c], small, -1
            depth += 2
        at += 1
    return result
