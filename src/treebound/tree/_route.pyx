"""Route rows through a tree, block by block."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint32_t

from treebound.tree._split cimport LEFT, RIGHT, Split, side_of

cdef extern from "_walk.h":
    ctypedef struct Step:
        double low
        double high
        int32_t column
        int32_t child
        int32_t missing
        int32_t id
    void walk_double(
        const char* const* rows, Py_ssize_t n, Py_ssize_t stride, const Step* steps, int depth,
        int32_t* nodes, Py_ssize_t ahead, int lines,
    ) noexcept nogil
    void walk_float(
        const char* const* rows, Py_ssize_t n, Py_ssize_t stride, const Step* steps, int depth,
        int32_t* nodes, Py_ssize_t ahead, int lines,
    ) noexcept nogil
    void walk_codes(
        const char* const* rows, Py_ssize_t n, Py_ssize_t stride, const Step* steps, int depth,
        int32_t* nodes, Py_ssize_t ahead, int lines,
    ) noexcept nogil

    ctypedef struct Plain:
        double threshold
        int32_t column
        uint32_t child
    void plain_double(
        const double* values, Py_ssize_t n, Py_ssize_t width, const Plain* plain,
        const int32_t* ids, int32_t* reached,
    ) noexcept nogil
    void plain_float(
        const float* values, Py_ssize_t n, Py_ssize_t width, const Plain* plain,
        const int32_t* ids, int32_t* reached,
    ) noexcept nogil

cdef enum:
    BLOCK = 256   # rows routed together, so that their values stay in cache
    AHEAD = 64    # rows to prefetch ahead
    MOST_LINES = 8
    AT_ONCE = 6   # steps between removals of rows that have reached a leaf
    HEAVIER_CHILD = -1  # unknown categories go to the child of more weight


cdef packed struct Column:
    int32_t nominal
    int32_t real
    int32_t missing  # the code of missing values in a nominal column, if training values were


HEAVIER = HEAVIER_CHILD


ctypedef fused value_t:
    float
    double


def walk_plain(
    const value_t[:, ::1] X, const Plain[::1] steps, const int32_t[::1] ids, int32_t[::1] reached
):
    """Write the node that each row reaches; all columns are real and no value is missing."""
    cdef Py_ssize_t n = X.shape[0]
    if n == 0:
        return
    with nogil:
        if value_t is double:
            plain_double(&X[0, 0], n, X.shape[1], &steps[0], &ids[0], &reached[0])
        else:
            plain_float(&X[0, 0], n, X.shape[1], &steps[0], &ids[0], &reached[0])


def walk(
    const value_t[:, :] X, const Step[::1] steps, int32_t[::1] reached, bint codes
):
    """Write the node that each row reaches.

    ``codes``: whether there are columns that are not real; unknown categories go right.
    """
    cdef Py_ssize_t n = X.shape[0], start = 0
    with nogil:
        while start < n:
            walk_block(
                X, start, min(BLOCK, n - start), &steps[0], &reached[start], codes
            )
            start += BLOCK


cdef void walk_block(
    const value_t[:, :] X, Py_ssize_t start, Py_ssize_t n, const Step* steps, int32_t* reached,
    bint codes,
) noexcept nogil:
    cdef const char* rows[BLOCK]
    cdef int32_t nodes[BLOCK]
    cdef int32_t who[BLOCK]
    cdef int32_t node
    cdef Py_ssize_t i, kept, n_under_way = n, stride = X.strides[1]
    cdef const char* first = <const char*>&X[start, 0]
    # prefetch the rows of the next block if rows are contiguous
    cdef Py_ssize_t ahead = AHEAD * X.strides[0]
    cdef int lines = 0
    if X.strides[1] == sizeof(value_t) and start + n + AHEAD <= X.shape[0]:
        lines = <int>min(X.strides[0] // 64 + 1, MOST_LINES)
    for i in range(n):
        rows[i] = first + i * X.strides[0]
        nodes[i] = 0
        who[i] = <int32_t>i
    # invariant: rows, nodes and who hold the unfinished rows; the others have reached their node
    while n_under_way:
        if value_t is float:
            walk_float(rows, n_under_way, stride, steps, AT_ONCE, nodes, ahead, lines)
        elif codes:
            walk_codes(rows, n_under_way, stride, steps, AT_ONCE, nodes, ahead, lines)
        else:
            walk_double(rows, n_under_way, stride, steps, AT_ONCE, nodes, ahead, lines)
        lines = 0
        kept = 0
        for i in range(n_under_way):
            node = nodes[i]
            reached[who[i]] = steps[node].id
            rows[kept] = rows[i]
            who[kept] = who[i]
            nodes[kept] = node
            kept += steps[node].child != node
        n_under_way = kept


def route(const value_t[:, :] X, const Split[::1] splits, int32_t[::1] reached):
    """The same for any policy for unknown categories."""
    cdef Py_ssize_t n = X.shape[0], i
    cdef int32_t node, target
    with nogil:
        for i in range(n):
            node = 0
            while splits[node].column >= 0:
                target = splits[node].child[
                    side_of(&splits[node], <double>X[i, splits[node].column])
                ]
                if target == node:
                    break
                node = target
            reached[i] = node


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
        splits[node].known = -INFINITY if column.real else 0.0
        splits[node].missing = to_left[node]
        if column.nominal and column.missing >= 0:
            splits[node].missing = category[node] == column.missing
        splits[node].unknown = unknown
        if unknown == HEAVIER_CHILD:
            splits[node].unknown = LEFT if weight[left[node]] >= weight[right[node]] else RIGHT
