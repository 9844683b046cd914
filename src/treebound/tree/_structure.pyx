"""Checks and sums over the nodes of a tree in pre-order, one pass each."""

import numpy as np

from libc.math cimport INFINITY, fabs
from libc.stdint cimport int32_t, int64_t

from treebound._utils.validation import invalid


cdef extern from "criteria.h":
    double squared(double share) noexcept nogil
    double c_log_c(double share) noexcept nogil


cdef extern from *:
    """
    typedef __int128 treebound_wide;
    /* The sum of squared deviations from the mean: whole numbers first, then the fraction. */
    static inline double deviations(int64_t weight, int64_t sum, int64_t squares, int shift) {
        if (weight <= 0) return 0.0;
        treebound_wide all = (treebound_wide)squares << shift;
        treebound_wide square = (treebound_wide)sum * sum, whole = square / weight;
        double value = (double)(all - whole) - (double)(square % weight) / (double)weight;
        return value > 0.0 ? value : 0.0;
    }
    /* The decrease of the squared deviations by a split: D^2 / (n n_l n_r), D = S_l n - S n_l. */
    static inline double decrease(int64_t left, int64_t s_left, int64_t all, int64_t s_all) {
        treebound_wide between = (treebound_wide)s_left * all - (treebound_wide)s_all * left;
        int64_t right = all - left;
        if (left <= 0 || right <= 0) return 0.0;
        return (double)between / (double)all * ((double)between / (double)left / (double)right);
    }
    """
    double deviations(int64_t weight, int64_t sum, int64_t squares, int shift) noexcept nogil
    double decrease(int64_t left, int64_t s_left, int64_t all, int64_t s_all) noexcept nogil


def sizes_and_depths(const int32_t[::1] left, const int32_t[::1] right):
    """Subtree size and depth of each node, and the first node out of pre-order (or -1).

    In pre-order the left child of a node follows it and its right child follows the left subtree.
    """
    cdef Py_ssize_t n = left.shape[0], node
    size_array, depth_array = np.ones(n, np.int32), np.zeros(n, np.int32)
    cdef int32_t[::1] size = size_array, depth = depth_array
    cdef int64_t wrong = -1
    for node in range(n - 1, -1, -1):
        if left[node] < 0 and right[node] < 0:
            continue
        # invariant: the sizes of all later nodes are final
        if left[node] != node + 1 or node + 1 >= n or right[node] != node + 1 + size[node + 1] \
                or right[node] >= n:
            wrong = node
            continue
        size[node] += size[node + 1] + size[right[node]]
    if wrong < 0 and n and size[0] != n:
        wrong = size[0]
    if wrong >= 0:
        return size_array, depth_array, wrong
    for node in range(n):
        if left[node] >= 0:
            depth[left[node]] = depth[right[node]] = depth[node] + 1
    return size_array, depth_array, -1


def collapsed(
    const int32_t[::1] left, const int32_t[::1] right, const int32_t[::1] size,
    const Py_ssize_t[::1] cuts,
):
    """Return the nodes that remain if subtrees become leaves, and their children among them."""
    cdef Py_ssize_t n = left.shape[0], node = 0, remaining = 0, i
    is_cut_array, new_array = np.zeros(n, np.uint8), np.empty(n, np.int32)
    cdef unsigned char[::1] is_cut = is_cut_array
    cdef int32_t[::1] new = new_array
    for i in range(cuts.shape[0]):
        if not 0 <= cuts[i] < n:
            raise invalid("nodes", "collapsed", f"nodes from 0 to {n - 1}", cuts[i])
        is_cut[cuts[i]] = 1
    while node < n:
        new[node] = <int32_t> remaining
        remaining += 1
        node += size[node] if is_cut[node] else 1
    nodes_array = np.empty(remaining, np.intp)
    left_array, right_array = np.full(remaining, -1, np.int32), np.full(remaining, -1, np.int32)
    cdef Py_ssize_t[::1] nodes = nodes_array
    cdef int32_t[::1] lefts = left_array, rights = right_array
    node = 0
    for i in range(remaining):
        nodes[i] = node
        if is_cut[node]:
            node += size[node]
            continue
        if left[node] >= 0:
            lefts[i], rights[i] = new[left[node]], new[right[node]]
        node += 1
    return nodes_array, left_array, right_array


def standing_nodes(const int32_t[::1] size, const Py_ssize_t[::1] cuts):
    """Return for each node the one that stands for it if subtrees become leaves."""
    cdef Py_ssize_t n = size.shape[0], node, below, i
    standing_array = np.arange(n)
    cdef Py_ssize_t[::1] standing = standing_array
    for i in range(cuts.shape[0]):
        node = cuts[i]
        if not 0 <= node < n:
            raise invalid("nodes", "standing_nodes", f"nodes from 0 to {n - 1}", node)
        if standing[node] == node:
            for below in range(node + 1, node + size[node]):
                standing[below] = node
    return standing_array


cdef struct ColumnRecord:
    int32_t real
    int32_t nominal
    int32_t size     # codes of a nominal column, that of missing values included
    int32_t missing  # the code of missing values in a nominal column, -1 if there was none


cdef ColumnRecord _column
COLUMN = np.asarray(<ColumnRecord[:1]>&_column).dtype


def first_fault(tree, const ColumnRecord[::1] columns, const double[:, ::1] amounts, double slack):
    """Return the kind of the first inconsistency and its node; an empty kind if there is none.

    Amounts and rows of two children must sum to those of their parent, amounts up to ``slack``.
    """
    cdef const int32_t[::1] left = tree.left, right = tree.right
    cdef const int32_t[::1] feature = tree.feature, category = tree.category
    cdef const double[::1] threshold = tree.threshold
    cdef const int64_t[::1] rows = tree.rows
    cdef Py_ssize_t node, k, width = amounts.shape[1], n_columns = len(tree.columns)
    cdef double more
    cdef bint fits
    for node in range(left.shape[0]):
        if rows[node] < 0:
            return "negative", node
        for k in range(width):
            if not 0.0 <= amounts[node, k] < INFINITY:
                return "negative", node
        if left[node] < 0:
            continue
        if not 0 <= feature[node] < n_columns:
            return "feature", node
        if columns[feature[node]].nominal:
            fits = 0 <= category[node] < columns[feature[node]].size
        else:
            fits = threshold[node] == threshold[node]
        if not fits:
            return "split", node
        if rows[node] != rows[left[node]] + rows[right[node]]:
            return "amounts", node
        for k in range(width):
            more = amounts[node, k] - (amounts[left[node], k] + amounts[right[node], k])
            if not fabs(more) <= slack:
                return "amounts", node
    return "", -1


ctypedef fused number:
    double
    int64_t


def add_up(const int32_t[::1] left, const int32_t[::1] right, number[:, ::1] values):
    """Add the values of its children to each inner node, bottom-up and in place."""
    cdef Py_ssize_t node, k
    for node in range(left.shape[0] - 1, -1, -1):
        if left[node] >= 0:
            for k in range(values.shape[1]):
                values[node, k] += values[left[node], k] + values[right[node], k]


def sums_over_classes(const double[:, ::1] shares, bint gini):
    """For each node the sum of squared shares of the classes, or of ``share * log2(share)``."""
    sums_array = np.zeros(shares.shape[0])
    cdef double[::1] sums = sums_array
    cdef Py_ssize_t node, k
    for node in range(shares.shape[0]):
        for k in range(shares.shape[1]):
            sums[node] += squared(shares[node, k]) if gini else c_log_c(shares[node, k])
    return sums_array


def squared_deviations(const int64_t[:, ::1] sums, int shift):
    """Sum of squared deviations from the mean at each node, in units of the target.

    ``sums`` are weight, sum and squares, the last in units of ``2^shift``.
    """
    values_array = np.empty(sums.shape[0])
    cdef double[::1] values = values_array
    cdef Py_ssize_t node
    for node in range(sums.shape[0]):
        values[node] = deviations(sums[node, 0], sums[node, 1], sums[node, 2], shift)
    return values_array


def gains(const int32_t[::1] left, const int64_t[:, ::1] sums):
    """Decrease of the squared deviations by the split of each node, in units; 0 at leaves."""
    gains_array = np.zeros(left.shape[0])
    cdef double[::1] gain = gains_array
    cdef Py_ssize_t node, child
    for node in range(left.shape[0]):
        child = left[node]
        if child >= 0:
            gain[node] = decrease(sums[child, 0], sums[child, 1], sums[node, 0], sums[node, 1])
    return gains_array


def add_down(const int32_t[::1] left, const int32_t[::1] right, double[:, ::1] values):
    """Add the values of each inner node to its children, top-down and in place."""
    cdef Py_ssize_t node, k
    for node in range(left.shape[0]):
        if left[node] >= 0:
            for k in range(values.shape[1]):
                values[left[node], k] += values[node, k]
                values[right[node], k] += values[node, k]
