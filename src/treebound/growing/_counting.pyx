"""Histograms: the weight of each class in each bin of each column.

Codes are stored in panels of four columns, so that a row of a sparse node takes one cache line for
four counts. Without weights a count has 32 bits and the rows of a bin are the sum over its classes.
"""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t

cdef extern from "_loops.h":
    void prefetch(const void* place) noexcept nogil

cdef enum:
    LANES = 4
    AHEAD = 20      # rows to prefetch ahead,
    SPARSE = 4      # if the rows of a node are at least this far apart

ctypedef fused code_t:
    uint8_t
    uint16_t


cdef size_t size_of(const Counted* counted) noexcept nogil:
    """Size of a histogram in bytes."""
    return counted.n_cells * (sizeof(uint32_t) if counted.weights == NULL else sizeof(int64_t))


cdef void count_rows(
    const Panel* panel, const Counted* counted, const uint32_t* rows, Py_ssize_t n_rows,
    void* histogram,
) noexcept nogil:
    """Add the rows of a panel's columns to a histogram."""
    if n_rows == 0:
        return
    if panel.width == 1:
        count_codes(panel, counted, rows, n_rows, histogram, <const uint8_t*>panel.codes)
    else:
        count_codes(panel, counted, rows, n_rows, histogram, <const uint16_t*>panel.codes)


cdef inline void count_codes(
    const Panel* panel, const Counted* counted, const uint32_t* rows, Py_ssize_t n_rows,
    void* histogram, const code_t* codes,
) noexcept nogil:
    cdef int lane
    if counted.weights != NULL:
        for lane in range(panel.n_columns):
            count_weights(
                codes + lane, counted, rows, n_rows, <int64_t*>histogram + panel.offsets[lane]
            )
    elif panel.n_columns == LANES:
        count_four(panel, counted, rows, n_rows, <uint32_t*>histogram, codes)
    else:
        for lane in range(panel.n_columns):
            count_one(
                codes + lane, counted, rows, n_rows, <uint32_t*>histogram + panel.offsets[lane]
            )


cdef inline void count_four(
    const Panel* panel, const Counted* counted, const uint32_t* rows, Py_ssize_t n_rows,
    uint32_t* histogram, const code_t* codes,
) noexcept nogil:
    cdef uint32_t* a = histogram + panel.offsets[0]
    cdef uint32_t* b = histogram + panel.offsets[1]
    cdef uint32_t* c = histogram + panel.offsets[2]
    cdef uint32_t* d = histogram + panel.offsets[3]
    cdef const uint16_t* labels = counted.labels
    cdef const code_t* code
    cdef Py_ssize_t n_classes = counted.n_classes, label, i, stop = n_rows
    cdef size_t row
    if rows[n_rows - 1] - rows[0] > SPARSE * n_rows:
        stop = max(n_rows - AHEAD, 0)
        for i in range(stop):
            prefetch(codes + LANES * <size_t>rows[i + AHEAD])
            prefetch(labels + rows[i + AHEAD])
            row = rows[i]
            label = labels[row]
            code = codes + LANES * row
            a[code[0] * n_classes + label] += 1
            b[code[1] * n_classes + label] += 1
            c[code[2] * n_classes + label] += 1
            d[code[3] * n_classes + label] += 1
    else:
        stop = 0
    for i in range(stop, n_rows):
        row = rows[i]
        label = labels[row]
        code = codes + LANES * row
        a[code[0] * n_classes + label] += 1
        b[code[1] * n_classes + label] += 1
        c[code[2] * n_classes + label] += 1
        d[code[3] * n_classes + label] += 1


cdef inline void count_one(
    const code_t* codes, const Counted* counted, const uint32_t* rows, Py_ssize_t n_rows,
    uint32_t* table,
) noexcept nogil:
    cdef Py_ssize_t n_classes = counted.n_classes, i
    cdef const uint16_t* labels = counted.labels
    cdef size_t row
    for i in range(n_rows):
        row = rows[i]
        table[codes[LANES * row] * n_classes + labels[row]] += 1


cdef inline void count_weights(
    const code_t* codes, const Counted* counted, const uint32_t* rows, Py_ssize_t n_rows,
    int64_t* table,
) noexcept nogil:
    cdef Py_ssize_t n_classes = counted.n_classes, i
    cdef const uint16_t* labels = counted.labels
    cdef int64_t* cell
    cdef size_t row
    for i in range(n_rows):
        row = rows[i]
        cell = table + codes[LANES * row] * (n_classes + 1)
        cell[labels[row]] += counted.weights[row]
        cell[n_classes] += 1


cdef void discount_rows(
    const Panel* panel, const Counted* counted, const uint32_t* rows, Py_ssize_t n_rows,
    void* histogram,
) noexcept nogil:
    """Take a few rows out of a histogram."""
    cdef Py_ssize_t n_classes = counted.n_classes, i, lane, code
    cdef size_t row
    cdef int64_t* cell
    for i in range(n_rows):
        row = rows[i]
        for lane in range(panel.n_columns):
            if panel.width == 1:
                code = (<const uint8_t*>panel.codes)[LANES * row + lane]
            else:
                code = (<const uint16_t*>panel.codes)[LANES * row + lane]
            if counted.weights == NULL:
                (<uint32_t*>histogram)[
                    panel.offsets[lane] + code * n_classes + counted.labels[row]
                ] -= 1
            else:
                cell = <int64_t*>histogram + panel.offsets[lane] + code * (n_classes + 1)
                cell[counted.labels[row]] -= counted.weights[row]
                cell[n_classes] -= 1


cdef void add_counts(const Counted* counted, void* to, const void* what) noexcept nogil:
    cdef Py_ssize_t i
    if counted.weights == NULL:
        for i in range(counted.n_cells):
            (<uint32_t*>to)[i] += (<const uint32_t*>what)[i]
    else:
        for i in range(counted.n_cells):
            (<int64_t*>to)[i] += (<const int64_t*>what)[i]


cdef void subtract_counts(const Counted* counted, void* of, const void* what) noexcept nogil:
    cdef Py_ssize_t i
    if counted.weights == NULL:
        for i in range(counted.n_cells):
            (<uint32_t*>of)[i] -= (<const uint32_t*>what)[i]
    else:
        for i in range(counted.n_cells):
            (<int64_t*>of)[i] -= (<const int64_t*>what)[i]
