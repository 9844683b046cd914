"""Send rows down a tree."""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t


def apply(
    const double[:, :] X, const int32_t[::1] feature, const double[::1] threshold,
    const int32_t[::1] category, const uint8_t[::1] missing_left, const int32_t[::1] left,
    const int32_t[::1] right, const uint8_t[::1] heavier_left, const double[::1] missing_code,
    const uint8_t[::1] is_real, bint stop_at_unknown,
):
    """The node every row reaches."""
    cdef Py_ssize_t n = X.shape[0], i
    cdef int32_t[::1] reached = np.empty(n, dtype=np.int32)
    cdef int32_t node, column
    cdef double value
    cdef bint to_left
    with nogil:
        for i in range(n):
            node = 0
            while feature[node] >= 0:
                column = feature[node]
                value = X[i, column]
                if value != value and category[node] >= 0 and missing_code[column] >= 0.0:
                    value = missing_code[column]
                if value != value:
                    to_left = missing_left[node]
                elif value < 0.0 and not is_real[column]:
                    if stop_at_unknown:
                        break
                    to_left = heavier_left[node]
                elif category[node] >= 0:
                    to_left = value == category[node]
                else:
                    to_left = value <= threshold[node]
                node = left[node] if to_left else right[node]
            reached[i] = node
    return np.asarray(reached)
