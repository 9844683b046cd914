"""Distinct texts of a column, and which of them every row has."""

import numpy as np

from cpython.dict cimport PyDict_GetItem
from libc.stdint cimport int32_t, uint32_t, uint64_t
from libc.string cimport memcmp


def factorize_objects(values):
    """Distinct texts in order of appearance, and codes, -1 where missing; None if not all texts.

    ``values`` is a list or an array of objects; None and NaN are missing.
    """
    cdef list items = values if isinstance(values, list) else values.tolist()
    cdef Py_ssize_t i, n = len(items)
    cdef object value, last = None
    cdef int32_t code = -1
    cdef dict code_of = {}
    cdef void* known
    codes = np.empty(n, dtype=np.int32)
    cdef int32_t[::1] out = codes
    for i in range(n):
        value = items[i]
        if value is not last:
            last = value
            if type(value) is str:
                known = <void*> PyDict_GetItem(code_of, value)
                if known is NULL:
                    code = <int32_t> len(code_of)
                    code_of[value] = code
                else:
                    code = <object> known
            elif value is None or (type(value) is float and value != value):
                code = -1
            else:
                return None
        out[i] = code
    return list(code_of), codes


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
