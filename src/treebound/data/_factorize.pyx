"""Distinct texts of a column, and which of them every row has."""

import sys

import numpy as np

from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memset


cdef extern from "Python.h":
    PyObject* PyDict_GetItem(object, object)
    PyObject* PyList_GET_ITEM(object, Py_ssize_t)


def factorize_objects(values):
    """Distinct texts in order of appearance, and codes, -1 where missing; None if not all texts.

    ``values`` is a list or an array of objects; None and NaN are missing.
    """
    held = np.ascontiguousarray(values, dtype=object) if isinstance(values, np.ndarray) else None
    cdef list listed = [] if held is not None else values
    cdef Py_ssize_t i, place, n = len(values)
    cdef PyObject** items = NULL
    cdef PyObject* value
    cdef PyObject* seen[128]  # the last objects met, by address: most tables have few
    cdef int32_t seen_code[128]
    cdef int32_t code
    cdef dict code_of = {}
    if held is not None and n:
        items = <PyObject**> <size_t> held.ctypes.data
    memset(seen, 0, sizeof(seen))
    codes = np.empty(n, dtype=np.int32)
    cdef int32_t[::1] out = codes
    for i in range(n):
        value = items[i] if held is not None else PyList_GET_ITEM(listed, i)
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
    cdef PyObject* known
    if type(value) is str:
        known = PyDict_GetItem(code_of, value)
        if known is not NULL:
            return <object> known
        code_of[value] = len(code_of)
        return <int32_t> len(code_of) - 1
    return -1 if value is None or (type(value) is float and value != value) else -2


def factorize_words(const uint32_t[:, ::1] words):
    """The first row of each distinct row of words, and codes; None if there are above 128."""
    cdef Py_ssize_t i, j, n = words.shape[0], width = words.shape[1], place
    cdef Py_ssize_t mask = 255, used = 0
    cdef uint64_t key
    firsts = np.empty(128, dtype=np.int64)
    codes, table = np.empty(n, dtype=np.int32), np.full(mask + 1, -1, dtype=np.int32)
    cdef int32_t[::1] out = codes, slots = table
    cdef long long[::1] first = firsts
    for i in range(n):
        key = 0
        for j in range(width):
            key = (key ^ words[i, j]) * <uint64_t> 0x9E3779B97F4A7C15
        place = (key >> 32) & mask
        while slots[place] >= 0 and memcmp(
            &words[first[slots[place]], 0], &words[i, 0], 4 * width
        ):
            place = (place + 1) & mask
        if slots[place] < 0:
            if used == first.shape[0]:
                return None
            first[used] = i
            slots[place] = <int32_t> used
            used += 1
        out[i] = slots[place]
    return firsts[:used], codes


ctypedef fused offset:
    int32_t
    int64_t


def factorize_bytes(const offset[::1] ends, const uint8_t[::1] data):
    """The first row of each distinct text, and codes; None if there are above 128.

    Text ``i`` is ``data[ends[i]:ends[i + 1]]``.
    """
    cdef Py_ssize_t i, n = ends.shape[0] - 1, place, size, used = 0, total = data.shape[0]
    cdef const uint8_t* start
    cdef const uint8_t* first = &data[0] if total else NULL
    cdef uint64_t head, tail
    cdef int32_t slots[256]
    cdef int64_t begins[128], sizes[128]
    cdef uint64_t heads[128]
    cdef bint little = sys.byteorder == "little"
    rows, codes = np.empty(128, dtype=np.int64), np.empty(n, dtype=np.int32)
    cdef int64_t[::1] row = rows
    cdef int32_t[::1] out = codes
    memset(slots, -1, sizeof(slots))
    for i in range(n):
        start, size = first + ends[i], ends[i + 1] - ends[i]
        head = tail = 0  # the first and the last eight bytes
        if size >= 8:
            memcpy(&head, start, 8)
            memcpy(&tail, start + size - 8, 8)
        elif little and ends[i] + 8 <= total:  # read past the end of the text, and masked
            memcpy(&head, start, 8)
            head &= (<uint64_t> 1 << (8 * size)) - 1
        elif size:
            memcpy(&head, start, size)
        place = ((head ^ (tail >> 7) ^ <uint64_t> size) * <uint64_t> 0x9E3779B97F4A7C15) >> 56
        while slots[place] >= 0 and (
            sizes[slots[place]] != size
            or heads[slots[place]] != head
            or (size > 8 and memcmp(first + begins[slots[place]], start, size))
        ):
            place = (place + 1) & 255
        if slots[place] < 0:
            if used == 128:
                return None
            slots[place], row[used], begins[used] = <int32_t> used, i, ends[i]
            sizes[used], heads[used] = size, head
            used += 1
        out[i] = slots[place]
    return rows[:used], codes
