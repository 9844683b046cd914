"""Distinct values of a column, which of them every row has, and ranges of numbers."""

import sys

import numpy as np

from cpython.object cimport PyObject
from libc.stdint cimport (
    int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t,
)
from libc.string cimport memcmp, memcpy, memset


cdef uint64_t _MIX = 0x9E3779B97F4A7C15  # the golden ratio, to spread keys


ctypedef fused integer:
    int8_t
    int16_t
    int32_t
    int64_t
    uint8_t
    uint16_t
    uint32_t
    uint64_t


def code_integers(const integer[:] values, int64_t low, int32_t[::1] codes, uint8_t[::1] present):
    """Write how far integers are above the lowest one, and mark which of these numbers occur."""
    cdef Py_ssize_t i
    cdef int64_t code
    with nogil:
        for i in range(values.shape[0]):
            code = <int64_t>values[i] - low
            codes[i] = <int32_t>code
            present[code] = 1


def count_codes(const integer[:] codes, int64_t[::1] counts):
    """Add to the number of times that each code occurs; codes are not negative."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(codes.shape[0]):
            counts[<Py_ssize_t>codes[i]] += 1


ctypedef fused real:
    float
    double


cdef enum:
    ROWS = 512  # of some columns, which fit into a cache


def summarise_numbers(const real[:, :] X, double[::1] low, double[::1] high, int64_t[:, ::1] rows):
    """Find the range of each column, and count the rows with its low end, high end and no value.

    The range is empty at first: from infinity to minus infinity.
    """
    cdef Py_ssize_t start = 0, stop, i, j
    cdef int64_t at_low, at_high, missing
    cdef double value, least, greatest
    with nogil:
        while start < X.shape[0]:
            stop = min(start + ROWS, X.shape[0])
            for j in range(X.shape[1]):
                least, greatest = low[j], high[j]
                at_low, at_high, missing = rows[0, j], rows[1, j], rows[2, j]
                for i in range(start, stop):
                    value = X[i, j]
                    if least < value < greatest:
                        continue
                    missing += value != value
                    at_low = 1 if value < least else at_low + (value == least)
                    at_high = 1 if value > greatest else at_high + (value == greatest)
                    least = value if value < least else least
                    greatest = value if value > greatest else greatest
                low[j], high[j] = least, greatest
                rows[0, j], rows[1, j], rows[2, j] = at_low, at_high, missing
            start = stop


cdef extern from "Python.h":
    PyObject* PyDict_GetItem(object, object)
    PyObject* PyList_GET_ITEM(object, Py_ssize_t)


def factorize_objects(values):
    """Distinct texts in order of appearance, and codes, -1 where missing; None if not all texts.

    ``values`` is a list or an array of objects; None and NaN are missing.
    """
    array = np.ascontiguousarray(values, dtype=object) if isinstance(values, np.ndarray) else None
    cdef list listed = [] if array is not None else values
    cdef Py_ssize_t i, place, n = len(values)
    cdef PyObject** items = NULL
    cdef PyObject* value
    cdef PyObject* seen[128]  # the last objects met, by address: most tables have few
    cdef int32_t seen_code[128]
    cdef int32_t code
    cdef dict code_of = {}
    if array is not None and n:
        items = <PyObject**> <size_t> array.ctypes.data
    memset(seen, 0, sizeof(seen))
    codes = np.empty(n, dtype=np.int32)
    cdef int32_t[::1] out = codes
    for i in range(n):
        value = items[i] if array is not None else PyList_GET_ITEM(listed, i)
        place = (<size_t> value >> 4) & 127
        if seen[place] != value:
            code = _code(<object> value, code_of)
            if code == -2:
                return None
            seen[place], seen_code[place] = value, code
        out[i] = seen_code[place]
    return list(code_of), codes


cdef int32_t _code(object value, dict code_of) except -3:
    """The code of a text, which may be new; -1 if missing, -2 if it is no text."""
    cdef PyObject* code
    if type(value) is str:
        code = PyDict_GetItem(code_of, value)
        if code is not NULL:
            return <object> code
        code_of[value] = len(code_of)
        return <int32_t> len(code_of) - 1
    return -1 if value is None or (type(value) is float and value != value) else -2


ctypedef fused offset:
    int32_t
    int64_t


def factorize_bytes(const offset[::1] ends, const uint8_t[::1] data):
    """The first row of each distinct text, and codes; None if there are above 128.

    Text ``i`` is ``data[ends[i]:ends[i + 1]]``.
    """
    cdef Py_ssize_t i, at, n = ends.shape[0] - 1, place, size, used = 0, total = data.shape[0]
    cdef const uint8_t* start
    cdef const uint8_t* first = &data[0] if total else NULL
    cdef uint64_t key, word
    cdef int32_t slots[256]
    cdef int64_t begins[128], sizes[128]
    cdef uint64_t keys[128]
    cdef bint little = sys.byteorder == "little"
    rows, codes = np.empty(128, dtype=np.int64), np.empty(n, dtype=np.int32)
    cdef int64_t[::1] row = rows
    cdef int32_t[::1] out = codes
    memset(slots, -1, sizeof(slots))
    for i in range(n):
        start, size = first + ends[i], ends[i + 1] - ends[i]
        key, at = <uint64_t> size, 0
        while at < size:
            word = 0
            if size - at >= 8:
                memcpy(&word, start + at, 8)
            elif little and ends[i] + at + 8 <= total:  # read past the end of the text, and masked
                memcpy(&word, start + at, 8)
                word &= (<uint64_t> 1 << (8 * (size - at))) - 1
            else:
                memcpy(&word, start + at, size - at)
            key = (key ^ word) * _MIX
            key ^= key >> 32
            at += 8
        place = key >> 56
        # the keys of texts of at most eight bytes and one size differ
        while slots[place] >= 0 and (
            sizes[slots[place]] != size
            or keys[slots[place]] != key
            or (size > 8 and memcmp(first + begins[slots[place]], start, size))
        ):
            place = (place + 1) & 255
        if slots[place] < 0:
            if used == 128:
                return None
            slots[place], row[used], begins[used] = <int32_t> used, i, ends[i]
            sizes[used], keys[used] = size, key
            used += 1
        out[i] = slots[place]
    return rows[:used], codes


def factorize_views(const uint64_t[::1] views):
    """The first row of each distinct text, and codes; None if there are above 128 or long ones.

    Text ``i`` is a view of Arrow in two words, which hold its size and at most twelve bytes.
    """
    cdef Py_ssize_t i, place, n = views.shape[0] // 2, used = 0
    cdef uint64_t low, high
    cdef int32_t slots[256]
    cdef uint64_t lows[128], highs[128]
    rows, codes = np.empty(128, dtype=np.int64), np.empty(n, dtype=np.int32)
    cdef int64_t[::1] row = rows
    cdef int32_t[::1] out = codes
    memset(slots, -1, sizeof(slots))
    for i in range(n):
        low, high = views[2 * i], views[2 * i + 1]
        if (low & <uint64_t> 0xFFFFFFFF) > 12:
            return None
        place = ((low ^ (high * _MIX)) * _MIX) >> 56
        while slots[place] >= 0 and (lows[slots[place]] != low or highs[slots[place]] != high):
            place = (place + 1) & 255
        if slots[place] < 0:
            if used == 128:
                return None
            slots[place], row[used], lows[used], highs[used] = <int32_t> used, i, low, high
            used += 1
        out[i] = slots[place]
    return rows[:used], codes
