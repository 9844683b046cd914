"""Route rows through a tree, block by block; ``side_of`` is the one rule for where a value goes."""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int32_t

cdef extern from "_walk.h":
    ctypedef struct Step:
        double low
        double high
        int32_t column
        int32_t child
        int32_t missing
        int32_t id
    ctypedef void (*Walk)(
        const char* first, Py_ssize_t n, Py_ssize_t across, Py_ssize_t stride, const Step* steps,
        int32_t* reached,
    ) noexcept nogil
    Walk walk_complete_double, walk_complete_float, walk_double, walk_float, walk_codes


cdef enum:  # where a value goes
    HEAVIER_CHILD = -1  # to the child of more weight
    RIGHT = 0
    LEFT = 1
    STAY = 2


cdef struct Column:
    int32_t nominal
    int32_t real
    int32_t size     # codes of a nominal column, that of missing values included
    int32_t missing  # the code of missing values in a nominal column, -1 if there was none


cdef struct Split:
    double low       # any other value goes left where low <= value <= high
    double high
    double least     # a value below it is an unknown category
    int32_t column   # -1 for a leaf
    int32_t[3] child # right, left, the node itself
    int32_t missing  # side of missing values
    int32_t unknown  # side of unknown categories


cdef inline int32_t side_of(const Split* split, double value) noexcept nogil:
    """RIGHT, LEFT, or STAY for an unknown category that stops at the node."""
    if value >= split.least:
        # branchless: a branch would be mispredicted half the time
        return (split.low <= value) & (value <= split.high)
    return split.missing if value != value else split.unknown


HEAVIER = HEAVIER_CHILD
cdef Split _split
cdef Step _step
cdef Column _column
SPLIT = np.asarray(<Split[:1]>&_split).dtype
STEP = np.asarray(<Step[:1]>&_step).dtype
COLUMN = np.asarray(<Column[:1]>&_column).dtype


ctypedef fused value_t:
    float
    double


def walk(
    const value_t[:, :] X, const Step[::1] steps, int32_t[::1] reached, bint codes, bint complete
):
    """Write the node that each row reaches.

    ``codes``: whether there are columns that are not real; unknown categories go right.
    ``complete``: whether no value is missing, and the values of a row are contiguous.
    """
    cdef Walk walk_rows
    if value_t is double:
        walk_rows = walk_codes if codes else walk_complete_double if complete else walk_double
    else:
        walk_rows = walk_complete_float if complete else walk_float
    if X.shape[0]:
        with nogil:
            walk_rows(
                <const char*>&X[0, 0], X.shape[0], X.strides[0], X.strides[1], &steps[0], &reached[0]
            )


def route(
    const value_t[:, :] X, const Split[::1] splits, int32_t[::1] reached,
    const Py_ssize_t[::1] rows=None, int32_t start=0,
):
    """The same for any policy for unknown categories; of some rows, from a node on."""
    cdef Py_ssize_t n = reached.shape[0], i, row
    cdef int32_t node, target
    with nogil:
        for i in range(n):
            row = i if rows is None else rows[i]
            node = start
            while splits[node].column >= 0:
                target = splits[node].child[
                    side_of(&splits[node], <double>X[row, splits[node].column])
                ]
                if target == node:
                    break
                node = target
            reached[i] = node


def first_wrong(const Column[::1] columns, tree):
    """The first node whose split does not fit its column; -1 if there is none."""
    cdef const int32_t[::1] feature = tree.feature, category = tree.category
    cdef const double[::1] threshold = tree.threshold
    cdef Py_ssize_t node
    cdef bint fits
    for node in range(feature.shape[0]):
        if feature[node] < 0:
            continue
        if columns[feature[node]].nominal:
            fits = 0 <= category[node] < columns[feature[node]].size
        else:
            fits = threshold[node] == threshold[node]
        if not fits:
            return node
    return -1


def fill_splits(Split[::1] splits, const Column[::1] columns, tree, int32_t unknown):
    """Write the splits of all nodes, with the sides of missing and unknown values."""
    cdef const int32_t[::1] feature = tree.feature, category = tree.category
    cdef const int32_t[::1] left = tree.left, right = tree.right
    cdef const double[::1] threshold = tree.threshold, weight = tree.weight
    cdef const unsigned char[::1] to_left = tree.missing_left.view("u1")
    cdef Py_ssize_t node
    cdef Column column
    for node in range(splits.shape[0]):
        splits[node].column = feature[node]
        splits[node].child[0] = right[node]
        splits[node].child[1] = left[node]
        splits[node].child[2] = <int32_t>node
        if left[node] < 0:
            continue
        column = columns[feature[node]]
        splits[node].low = category[node] if column.nominal else -INFINITY
        splits[node].high = category[node] if column.nominal else threshold[node]
        splits[node].least = -INFINITY if column.real else 0.0
        splits[node].missing = to_left[node]
        if column.nominal and column.missing >= 0:
            splits[node].missing = category[node] == column.missing
        splits[node].unknown = unknown
        if unknown == HEAVIER_CHILD:
            splits[node].unknown = LEFT if weight[left[node]] >= weight[right[node]] else RIGHT
