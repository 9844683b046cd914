"""Checks and sums over the nodes of a tree in pre-order, one pass each."""

import numpy as np

from libc.math cimport INFINITY, fabs
from libc.stdint cimport int32_t, int64_t

from treebound._utils.validation import invalid


cdef extern from "criteria.h":
    double squared(double share) noexcept nogil
    double c_log_c(double share) noexcept nogil


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
    """The nodes that are kept where subtrees become leaves, and their children among them."""
    cdef Py_ssize_t n = left.shape[0], node = 0, kept = 0, i
    is_cut_array, new_array = np.zeros(n, np.uint8), np.empty(n, np.int32)
    cdef unsigned char[::1] is_cut = is_cut_array
    cdef int32_t[::1] new = new_array
    for i in range(cuts.shape[0]):
        if not 0 <= cuts[i] < n:
            raise invalid("nodes", "collapsed", f"nodes from 0 to {n - 1}", cuts[i])
        is_cut[cuts[i]] = 1
    while node < n:
        new[node] = <int32_t> kept
        kept += 1
        node += size[node] if is_cut[node] else 1
    nodes_array = np.empty(kept, np.intp)
    left_array, right_array = np.full(kept, -1, np.int32), np.full(kept, -1, np.int32)
    cdef Py_ssize_t[::1] nodes = nodes_array
    cdef int32_t[::1] lefts = left_array, rights = right_array
    node = 0
    for i in range(kept):
        nodes[i] = node
        if is_cut[node]:
            node += size[node]
            continue
        if left[node] >= 0:
            lefts[i], rights[i] = new[left[node]], new[right[node]]
        node += 1
    return nodes_array, left_array, right_array


cdef struct Column:
    int32_t real
    int32_t nominal
    int32_t size     # codes of a nominal column, that of missing values included
    int32_t missing  # the code of missing values in a nominal column, -1 if there was none


cdef Column _column
COLUMN = np.asarray(<Column[:1]>&_column).dtype


def first_fault(tree, const Column[::1] columns, double slack):
    """The first node that is inconsistent with itself or its children, and the kind of fault.

    Counts and rows of two children must sum to their parent's, up to ``slack``.
    """
    cdef const int32_t[::1] left = tree.left, right = tree.right, label = tree.label
    cdef const int32_t[::1] feature = tree.feature, category = tree.category
    cdef const double[::1] threshold = tree.threshold
    cdef const double[:, ::1] counts = tree.counts
    cdef const int64_t[::1] rows = tree.rows
    cdef Py_ssize_t node, k, n_classes = counts.shape[1], n_columns = len(tree.columns)
    cdef double more
    cdef bint fits
    for node in range(left.shape[0]):
        if label[node] < 0 or label[node] >= n_classes:
            return "label", node
        if rows[node] < 0:
            return "negative", node
        for k in range(n_classes):
            if not 0.0 <= counts[node, k] < INFINITY:
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
            return "counts", node
        for k in range(n_classes):
            more = counts[node, k] - (counts[left[node], k] + counts[right[node], k])
            if not fabs(more) <= slack:
                return "counts", node
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
