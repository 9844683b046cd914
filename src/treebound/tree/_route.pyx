"""Route rows through a tree, block by block."""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc
from treebound._utils._pool cimport Pool, add_whole

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
    ctypedef int (*AllFinite)(const char* first, Py_ssize_t n) noexcept nogil
    AllFinite all_finite_double, all_finite_float
    ctypedef void (*Copy)(
        const char* first, Py_ssize_t stride, Py_ssize_t n, double* to, Py_ssize_t width
    ) noexcept nogil
    Copy copy_double, copy_float, copy_int8, copy_int16, copy_int32
    void look_up(
        const char* values, Py_ssize_t size, const int32_t* nodes, Py_ssize_t n, char* to
    ) noexcept nogil


cdef RouteSplit _split
cdef RouteStep _step
SPLIT = np.asarray(<RouteSplit[:1]>&_split).dtype
STEP = np.asarray(<RouteStep[:1]>&_step).dtype

cdef enum:
    ROWS = 8192         # routed by a thread at a time,
    PIECE = 4096        # of which so many before their results are written,
    CHECKED = 1024      # or, if they are checked first, so that they stay in the cache,
    COPIED = 256        # or if their values are copied first


ctypedef fused value_t:
    float
    double


cdef struct Mixed:
    # A column of a table that is not a matrix.
    const char* first
    Py_ssize_t stride
    Copy copy


cdef struct Walking:
    # Rows to be routed, and where the results go.
    Py_ssize_t n_rows
    Py_ssize_t n_columns
    const Mixed* mixed      # NULL: the rows of a matrix, of which
    const char* first       # this is the first value,
    Py_ssize_t across       # rows are so many bytes apart,
    Py_ssize_t stride       # and columns so many
    Py_ssize_t size         # bytes of a value
    AllFinite all_finite    # NULL: values are not checked
    int64_t not_finite      # how many times a value was found that is not
    Walk complete           # of rows without missing values
    Walk any                # of all rows
    double* copies          # of values, for each thread
    const RouteStep* steps
    const char* values      # of nodes; NULL: the results are the nodes
    Py_ssize_t width        # bytes of a result
    char* results


cdef void walk_block(void* context, Py_ssize_t block, int thread) noexcept nogil:
    """Route some rows and write their results."""
    cdef Walking* walking = <Walking*>context
    cdef int32_t[PIECE] nodes
    cdef int32_t* reached = nodes
    cdef Py_ssize_t start = block * ROWS, n
    cdef Py_ssize_t stop = min(start + ROWS, walking.n_rows)
    cdef Py_ssize_t most = PIECE if walking.all_finite == NULL else CHECKED
    if walking.mixed != NULL:
        most = COPIED
    while start < stop:
        n = min(most, stop - start)
        if walking.values == NULL:
            reached = <int32_t*>walking.results + start
        walk_piece(walking, start, n, reached, thread)
        if walking.values != NULL:
            look_up(
                walking.values, walking.width, reached, n,
                walking.results + start * walking.width,
            )
        start += n


cdef void walk_piece(
    Walking* walking, Py_ssize_t start, Py_ssize_t n, int32_t* reached, int thread
) noexcept nogil:
    """Find the nodes that some rows reach."""
    cdef Py_ssize_t width = walking.n_columns, j
    cdef const char* first = walking.first + start * walking.across
    cdef double* copies
    cdef const Mixed* column
    cdef bint finite = walking.all_finite == NULL
    if walking.mixed != NULL:
        copies = walking.copies + thread * COPIED * width
        for j in range(width):
            column = &walking.mixed[j]
            column.copy(column.first + start * column.stride, column.stride, n, copies + j, width)
        walking.any(
            <const char*>copies, n, width * sizeof(double), sizeof(double), walking.steps, reached
        )
        return
    if not finite:
        finite = is_finite(walking, first, n)
        if not finite:
            add_whole(&walking.not_finite, 1)
    (walking.complete if finite else walking.any)(
        first, n, walking.across, walking.stride, walking.steps, reached
    )


cdef bint is_finite(const Walking* walking, const char* first, Py_ssize_t n) noexcept nogil:
    """Return True if all values of some rows are finite."""
    cdef Py_ssize_t size = walking.size, width = walking.n_columns, i, j
    if walking.stride == size and walking.across == size * width:
        return walking.all_finite(first, n * width)
    if walking.stride == size:
        for i in range(n):
            if not walking.all_finite(first + i * walking.across, width):
                return False
        return True
    for j in range(width):
        if walking.across == size:
            if not walking.all_finite(first + j * walking.stride, n):
                return False
            continue
        for i in range(n):
            if not walking.all_finite(first + i * walking.across + j * walking.stride, 1):
                return False
    return True


def set_steps(
    RouteStep[::1] steps, const int32_t[::1] left, const int32_t[::1] right,
    const int32_t[::1] feature, const double[::1] low, const double[::1] high,
    const uint8_t[::1] missing_left,
):
    """Fill in the nodes of a tree in pre-order, siblings next to each other.

    A value goes left from ``low`` to ``high``; without ``low`` up to ``high``.
    """
    cdef Py_ssize_t n = steps.shape[0], node, pairs = 0
    cdef int32_t root_column = feature[0]
    cdef RouteStep* step
    place_array = np.zeros(n, np.int32)
    cdef int32_t[::1] place = place_array
    with nogil:
        for node in range(n):  # invariant: the places of the node and all before it are final
            step = &steps[place[node]]
            step.id = <int32_t>node
            step.missing = 0
            if left[node] < 0:  # a leaf is its own child and accepts any value
                step.low, step.high = -INFINITY, INFINITY
                step.child, step.column = place[node], root_column
                continue
            step.child = <int32_t>(1 + 2 * pairs)
            place[left[node]], place[right[node]] = step.child, step.child + 1
            pairs += 1
            step.low = low[node] if low is not None else -INFINITY
            step.high = high[node]
            step.column = feature[node]
            step.missing = not missing_left[node]


def walk(
    const value_t[:, :] X, const RouteStep[::1] steps, const uint8_t[:, ::1] values,
    uint8_t[:, ::1] results, bint complete, bint check, int n_threads,
):
    """Write the bytes of the value of the node that each row reaches, or of the node itself.

    ``values`` are those of the nodes, or None. ``complete``: whether no value is missing. With
    ``check`` that is not known: return False if a value is missing or infinite, else True.
    """
    cdef Walking walking
    cdef bint contiguous = X.strides[1] == sizeof(value_t)
    cdef AllFinite all_finite = all_finite_double if value_t is double else all_finite_float
    walking.n_columns = X.shape[1]
    walking.mixed = NULL
    walking.first = <const char*>&X[0, 0]
    walking.across = X.strides[0]
    walking.stride = X.strides[1]
    walking.size = sizeof(value_t)
    walking.any = walk_double if value_t is double else walk_float
    walking.complete = walking.any
    if contiguous and (complete or check):
        walking.complete = walk_complete_double if value_t is double else walk_complete_float
    walking.all_finite = all_finite if check else NULL
    return run(&walking, steps, values, results, n_threads)


# The types of columns that `walk_columns` reads.
TYPES = [np.dtype(name) for name in ("f8", "f4", "i1", "i2", "i4")]


def walk_columns(
    list columns, const RouteStep[::1] steps, const uint8_t[:, ::1] values,
    uint8_t[:, ::1] results, int n_threads,
):
    """The same for the columns of a mixed table, whose categories are codes."""
    cdef Copy[5] copies = [copy_double, copy_float, copy_int8, copy_int16, copy_int32]
    cdef Walking walking
    cdef Mixed* mixed = <Mixed*>malloc(max(len(columns), 1) * sizeof(Mixed))
    cdef Py_ssize_t j
    cdef size_t place
    walking.copies = <double*>malloc(
        n_threads * COPIED * max(len(columns), 1) * sizeof(double)
    )
    try:
        if mixed == NULL or walking.copies == NULL:
            raise MemoryError
        for j, column in enumerate(columns):
            place = column.ctypes.data
            mixed[j].first = <const char*>place
            mixed[j].stride = column.strides[0]
            mixed[j].copy = copies[TYPES.index(column.dtype)]
        walking.n_columns = len(columns)
        walking.mixed = mixed
        walking.first = NULL
        walking.across = 0
        walking.all_finite = NULL
        walking.any = walk_codes
        run(&walking, steps, values, results, n_threads)
    finally:
        free(mixed)
        free(walking.copies)


cdef bint run(
    Walking* walking, const RouteStep[::1] steps, const uint8_t[:, ::1] values,
    uint8_t[:, ::1] results, int n_threads,
):
    """Route all rows; return False if one has a value that was checked and is not finite."""
    cdef Pool pool
    walking.n_rows = results.shape[0]
    walking.not_finite = 0
    walking.steps = &steps[0]
    walking.values = NULL if values is None else <const char*>&values[0, 0]
    walking.width = results.shape[1]
    walking.results = <char*>&results[0, 0]
    pool = Pool(n_threads)
    with nogil:
        pool.run(&walk_block, walking, (walking.n_rows + ROWS - 1) // ROWS)
    return walking.not_finite == 0


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
