"""Shared by all parts: columns, splits, the rows of a node, the criterion, and its rules.

Weights are integers here. Unit and integer weights are used unchanged; other weights are scaled by
a power of two (see ``grow.py``). So class counts and their sums are exact and do not depend on the
order of the rows.
"""

from cpython.buffer cimport PyBUF_FORMAT, PyBUF_STRIDED_RO, PyBuffer_Release, PyObject_GetBuffer
from libc.math cimport log2
from libc.string cimport memset, strlen

cdef extern from "loops.h":
    void prefetch(const void* place) noexcept nogil

cdef enum:
    AHEAD = 32  # rows to prefetch ahead

cdef double LOG2_E = 1.4426950408889634


cdef void count_classes(
    const label_t* labels, const Problem* problem, const uint32_t* rows, Py_ssize_t n_rows,
    int64_t* counts, Py_ssize_t first,
) noexcept nogil:
    """Add the weights of rows to those of their classes."""
    # Without rows they are ``n_rows`` in sequence, whose labels are these; ``first`` is the first.
    cdef Py_ssize_t i, row, ones = 0
    if problem.n_classes == 2 and problem.weights == NULL:
        # in one sum, which does not wait for memory at every row
        for i in range(n_rows):
            ones += labels[i if rows == NULL else <Py_ssize_t>rows[i]]
        counts[0] += n_rows - ones
        counts[1] += ones
        return
    if problem.numbers != NULL:
        add_numbers(problem.numbers + STRIDE * first, rows, n_rows, counts)
        return
    for i in range(n_rows):
        row = i if rows == NULL else <Py_ssize_t>rows[i]
        add_row(first + row, labels[row], problem, counts)


cdef void add_numbers(
    const int64_t* numbers, const uint32_t* rows, Py_ssize_t n_rows, int64_t* counts
) noexcept nogil:
    cdef const int64_t* row
    cdef int64_t weight = 0, total = 0, squares = 0
    cdef Py_ssize_t i
    for i in range(n_rows):
        if rows == NULL:
            row = numbers + STRIDE * i
        else:
            prefetch(numbers + STRIDE * <size_t>rows[min(i + AHEAD, n_rows - 1)])
            row = numbers + STRIDE * <size_t>rows[i]
        weight += row[WEIGHT]
        total += row[SUM]
        squares += row[SQUARES]
    counts[WEIGHT] += weight
    counts[SUM] += total
    counts[SQUARES] += squares


cdef double purity_of(
    const int64_t* counts, int64_t weight, const Problem* problem
) noexcept nogil:
    """The score of one side alone."""
    cdef NodeView side
    if problem.criterion == SQUARED:
        return 0.0  # the score of numbers is the gain itself
    side.problem = problem
    side.counts = counts
    side.weight = weight
    return score_of(counts, NULL, &side)


cdef double rise_of(int64_t weight, const Problem* problem) noexcept nogil:
    """The most that a row can raise the score by changing sides (see ``_scan.pyx``)."""
    cdef double heaviest = <double>min(problem.max_weight, weight)
    if problem.criterion == GINI:
        return 2.0 * heaviest
    return heaviest * (log2(<double>weight / heaviest) + LOG2_E)


ctypedef fused value_t:
    double
    float
    int8_t
    int16_t
    int32_t


cdef void read_values(
    const Source* source, Py_ssize_t start, Py_ssize_t n, double* values
) noexcept nogil:
    cdef const char* first = source.first + start * source.stride
    if source.type == FLOAT64:
        read_as(first, source.stride, n, values, <double>0)
    elif source.type == FLOAT32:
        read_as(first, source.stride, n, values, <float>0)
    elif source.type == INT8:
        read_as(first, source.stride, n, values, <int8_t>0)
    elif source.type == INT16:
        read_as(first, source.stride, n, values, <int16_t>0)
    else:
        read_as(first, source.stride, n, values, <int32_t>0)


cdef inline void read_as(
    const char* first, Py_ssize_t stride, Py_ssize_t n, double* values, value_t value
) noexcept nogil:
    """Values as floats; NaN where they are missing."""
    cdef Py_ssize_t i
    for i in range(n):
        value = (<const value_t*>(first + i * stride))[0]
        if value_t is double or value_t is float:
            values[i] = <double>value
        else:
            values[i] = <double>value if value >= 0 else NAN


# -- bins of a table that is never in memory at once ------------------------------------------


cdef Source source_of(values, int kind):
    """The location of the values of a column; the array must outlive it."""
    cdef Source source
    cdef Py_buffer view
    memset(&source, 0, sizeof(Source))
    PyObject_GetBuffer(values, &view, PyBUF_STRIDED_RO | PyBUF_FORMAT)
    source.first = <const char*>view.buf
    source.stride = view.strides[0]
    source.kind = <Kind>kind
    # the byte order may precede the letter of the type
    if view.format[strlen(view.format) - 1] in b"df":
        source.type = FLOAT64 if view.itemsize == 8 else FLOAT32
    else:
        source.type = INT8 if view.itemsize == 1 else INT16 if view.itemsize == 2 else INT32
    PyBuffer_Release(&view)
    return source
