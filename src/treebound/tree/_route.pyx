"""Route rows through a tree, block by block."""

import numpy as np

from libc.stdint cimport int32_t

cdef extern from "_walk.h":
    ctypedef struct RouteStep:
        double low
        double high
        int32_t column
        int32_t child
        int32_t missing
        int32_t id
    ctypedef void (*Walk)(
        const char* first, Py_ssize_t n, Py_ssize_t across, Py_ssize_t stride,
        const RouteStep* steps, int32_t* reached,
    ) noexcept nogil
    Walk walk_complete_double, walk_complete_float, walk_double, walk_float, walk_codes


cdef RouteSplit _split
cdef RouteStep _step
SPLIT = np.asarray(<RouteSplit[:1]>&_split).dtype
STEP = np.asarray(<RouteStep[:1]>&_step).dtype


ctypedef fused value_t:
    float
    double


def walk(
    const value_t[:, :] X, const RouteStep[::1] steps, int32_t[::1] reached, bint codes,
    bint complete,
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
    const value_t[:, :] X, const RouteSplit[::1] splits, int32_t[::1] reached,
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
