"""What is done with the codes of one part of the rows: count, look into bins, part.

The rows of a node stand side by side in ``rows``, those of node ``s`` from ``starts[s]`` to
``starts[s + 1]``.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from treebound.growing._bins cimport Bins
from treebound.growing._counting cimport Counted, Panel, count_rows
from treebound.growing._presort cimport key_of, value_of

cdef enum:
    LANES = 4
    EXACT = 255     # the shift of an interval whose values are asked for
    RIGHT = 0
    LEFT = 1
    LOOK = 2        # the value says on which side a row is


def keys_of(const double[::1] values):
    """The bits of floats as integers in the same order; missing is the greatest."""
    cdef uint64_t[::1] keys = np.empty(len(values), dtype=np.uint64)
    cdef Py_ssize_t i
    for i in range(len(values)):
        keys[i] = key_of(values[i])
    return np.asarray(keys)


def values_of(const uint64_t[::1] keys):
    """The floats of keys."""
    cdef double[::1] values = np.empty(len(keys))
    cdef Py_ssize_t i
    for i in range(len(keys)):
        values[i] = value_of(keys[i])
    return np.asarray(values)


cdef const char* codes_of(panels, Bins bins, Py_ssize_t column, int* width) except NULL:
    """The code of the first row; those of other rows are four codes apart."""
    cdef size_t first, lane
    for panel, group in zip(panels, bins.panels):
        if column in group:
            width[0] = panel.itemsize
            first = panel.ctypes.data
            lane = group.index(column)
            return <const char*>first + lane * width[0]
    raise IndexError(column)


cdef inline Py_ssize_t code_at(const char* codes, int width, size_t row) noexcept nogil:
    if width == 1:
        return (<const uint8_t*>codes)[LANES * row]
    return (<const uint16_t*>codes)[LANES * row]


def count(
    Bins bins, list panels, const uint16_t[::1] labels, units, const uint32_t[::1] rows,
    const int64_t[::1] starts, const int32_t[::1] slots, Py_ssize_t n_classes, table,
):
    """Add the rows of some nodes to their histograms, the rows of ``table``.

    Counts are of 32 bits without weights; else of 64, and after the classes of a bin stand its
    rows.
    """
    cdef Panel panel
    cdef Counted counted
    cdef const int64_t[::1] weights
    cdef Py_ssize_t stride, offset = 0, i, s, lane
    cdef char* cells = <char*><size_t>table.ctypes.data
    cdef size_t size = table.strides[0]
    cdef list offsets = []
    if len(labels) == 0 or len(rows) == 0:
        return
    counted.labels = &labels[0]
    counted.weights = NULL
    counted.n_classes = n_classes
    counted.stride = stride = n_classes + (units is not None)
    counted.n_cells = table.shape[1]
    if units is not None:
        weights = units
        counted.weights = &weights[0]
    for j in range(bins.n_columns):
        offsets.append(offset)
        offset += (bins.n_bins[j] + 1) * stride
    if offset != counted.n_cells:
        raise ValueError("the table has not one cell for each bin and class")
    for codes, group in zip(panels, bins.panels):
        panel.width = codes.itemsize
        panel.codes = <void*><size_t>codes.ctypes.data
        panel.n_columns = len(group)
        for lane, j in enumerate(group):
            panel.columns[lane] = j
            panel.offsets[lane] = offsets[j]
        with nogil:
            for i in range(slots.shape[0]):
                s = slots[i]
                if starts[s + 1] > starts[s]:
                    count_rows(
                        &panel, &counted, &rows[0] + starts[s], starts[s + 1] - starts[s],
                        cells + i * size,
                    )


def count_classes(
    const uint16_t[::1] labels, units, Py_ssize_t n_classes
):
    """The weight of every class."""
    cdef int64_t[::1] counts = np.zeros(n_classes, dtype=np.int64)
    cdef const int64_t[::1] weights
    cdef Py_ssize_t i
    if units is None:
        for i in range(labels.shape[0]):
            counts[labels[i]] += 1
    else:
        weights = units
        for i in range(labels.shape[0]):
            counts[labels[i]] += weights[i]
    return np.asarray(counts)


cdef inline Py_ssize_t last_from(
    const uint64_t[::1] low, Py_ssize_t start, Py_ssize_t stop, uint64_t key
) noexcept nogil:
    """The last interval that does not begin after a key, or the first."""
    cdef Py_ssize_t middle
    # invariant: intervals from ``stop`` on begin after the key, ``start`` does not or is the first
    while stop - start > 1:
        middle = (start + stop) // 2
        if low[middle] <= key:
            start = middle
        else:
            stop = middle
    return start


def look(
    Bins bins, list panels, const uint16_t[::1] labels, units, const uint32_t[::1] rows,
    const int64_t[::1] starts, Py_ssize_t column, const double[::1] values,
    const int32_t[::1] slots, const int32_t[:, ::1] first, const uint64_t[::1] low,
    const uint64_t[::1] high, const uint64_t[::1] guide, const uint8_t[::1] shift,
    const int32_t[::1] place, int64_t[:, :, ::1] slices,
):
    """Rows of intervals of a column: counted by slices of the interval, or with their values.

    Parameters
    ----------
    values : ndarray of float64
        Of all rows of the part.
    slots : ndarray of int32
        Nodes.
    first : ndarray of shape (n_nodes, n_bins + 1)
        The intervals of a node in a bin, from ``first[node, bin]`` to ``first[node, bin + 1]``,
        ascending.
    low, high : ndarray of uint64
        The first and the last key of each interval.
    guide, shift
        A key is in slice ``(key - guide) >> shift`` of its interval, or in the first or the last
        one; a shift of 255 asks for the values.
    place : ndarray of int32
        Where the slices of an interval stand in ``slices``, or -1.

    Returns
    -------
    intervals, keys, rows : ndarray
        Of the rows in intervals whose values were asked for.
    """
    cdef int width = 1
    cdef const char* codes = codes_of(panels, bins, column, &width)
    cdef Py_ssize_t n_classes = slices.shape[2] - 1, most = 0, found = 0, g, i, code, at, slice
    cdef uint64_t last_slice = slices.shape[1] - 1
    cdef bint weighted = units is not None
    cdef const int64_t[::1] weights = units if weighted else np.empty(0, dtype=np.int64)
    cdef uint64_t key
    cdef uint32_t row
    for g in range(slots.shape[0]):
        most += starts[slots[g] + 1] - starts[slots[g]]
    cdef int32_t[::1] intervals = np.empty(most, dtype=np.int32)
    cdef uint64_t[::1] keys = np.empty(most, dtype=np.uint64)
    cdef uint32_t[::1] ids = np.empty(most, dtype=np.uint32)
    cdef Py_ssize_t n_bins = first.shape[1] - 1
    with nogil:
        for g in range(slots.shape[0]):
            for i in range(starts[slots[g]], starts[slots[g] + 1]):
                row = rows[i]
                code = code_at(codes, width, row)
                if code >= n_bins or first[g, code] == first[g, code + 1]:
                    continue
                key = key_of(values[row])
                at = last_from(low, first[g, code], first[g, code + 1], key)
                if key < low[at] or key > high[at]:
                    continue
                if shift[at] == EXACT:
                    intervals[found] = <int32_t>at
                    keys[found] = key
                    ids[found] = row
                    found += 1
                    continue
                slice = 0
                if key > guide[at]:
                    slice = <Py_ssize_t>min((key - guide[at]) >> shift[at], last_slice)
                slices[place[at], slice, labels[row]] += weights[row] if weighted else 1
                slices[place[at], slice, n_classes] += 1
    return np.asarray(intervals)[:found], np.asarray(keys)[:found], np.asarray(ids)[:found]


def part(
    Bins bins, list panels, const uint32_t[::1] rows, const int64_t[::1] starts, splits, values,
):
    """Rows of the children of nodes that are split; rows of other nodes are gone.

    Parameters
    ----------
    splits : sequence of (slot, column, sides, edge, keep_left, keep_right)
        ``sides`` tells for each code where its rows go: 0 right, 1 left, 2 left where the key of
        the value is at most ``edge``. A child that is kept has the next number as its slot.
    values : mapping of column to ndarray of float64
        Of all rows of the part, for columns with a side of 2.

    Returns
    -------
    rows, starts : ndarray
    """
    cdef Py_ssize_t total = 0, out = 0, aside, i, n_slots = 0, child
    cdef const uint8_t[::1] sides
    cdef const double[::1] numbers
    cdef const char* codes
    cdef int width = 1
    cdef uint64_t edge
    cdef uint8_t side, keep_left, keep_right
    cdef uint32_t row
    cdef Py_ssize_t start, stop
    for slot, _, _, _, left, right in splits:
        total += starts[slot + 1] - starts[slot]
        n_slots += bool(left) + bool(right)
    cdef uint32_t[::1] parted = np.empty(total + 1, dtype=np.uint32)
    cdef uint32_t[::1] other = np.empty(total + 1, dtype=np.uint32)
    cdef int64_t[::1] bounds = np.zeros(n_slots + 1, dtype=np.int64)
    child = 0
    for slot, column, table, last, left, right in splits:
        codes = codes_of(panels, bins, column, &width)
        sides = table
        edge = last
        keep_left = left
        keep_right = right
        numbers = values.get(column, NO_VALUES)
        start = starts[slot]
        stop = starts[slot + 1]
        aside = 0
        with nogil:
            # invariant: parted[:out] has the kept rows of the left side so far
            for i in range(start, stop):
                row = rows[i]
                side = sides[code_at(codes, width, row)]
                if side == LOOK:
                    side = key_of(numbers[row]) <= edge
                parted[out] = row
                other[aside] = row
                out += side & keep_left
                aside += (side ^ 1) & keep_right
        if keep_left:
            child += 1
            bounds[child] = out
        if keep_right:
            if aside:
                memcpy(&parted[out], &other[0], aside * sizeof(uint32_t))
            out += aside
            child += 1
            bounds[child] = out
    return np.asarray(parted)[:out].copy(), np.asarray(bounds)


NO_VALUES = np.empty(0)
