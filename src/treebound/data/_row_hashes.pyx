"""Add the terms of some columns to the hash of every row.

A term is the bits of a value, folded, times the odd key of its column. Terms are added, so the
order of the columns does not matter.
"""

import numpy as np

from libc.stdint cimport int8_t, int16_t, int32_t, uint64_t

ctypedef fused real:
    float
    double

ctypedef fused number:
    float
    double
    int8_t
    int16_t
    int32_t

ctypedef fused code:
    int8_t
    int16_t
    int32_t

# The step of splitmix64 from one state to the next.
cdef uint64_t STEP = 0x9E3779B97F4A7C15


cdef extern from *:
    """
    #include <stddef.h>
    #include <stdint.h>
    #include <string.h>
    #include "processor.h"

    /* The bits of a number: one zero and one NaN. */
    static inline uint64_t bits_of(double value)
    {
        uint64_t bits;
        double positive = value + 0.0;
        memcpy(&bits, &positive, 8);
        return value != value ? 0x7FF8000000000000u : bits;
    }

    /* The bits with the high half upon the low one. */
    static inline uint64_t folded(double value)
    {
        uint64_t bits = bits_of(value);
        return bits ^ (bits >> 32);
    }

    #define ADD_TERMS(name, value_t) \\
    FOR_THIS_PROCESSOR \\
    static void name( \\
        const value_t *restrict values, const uint64_t *restrict keys, ptrdiff_t n_rows, \\
        ptrdiff_t width, uint64_t *restrict hashes) \\
    { \\
        for (ptrdiff_t i = 0; i < n_rows; i++, values += width) { \\
            uint64_t total = 0; \\
            for (ptrdiff_t j = 0; j < width; j++) \\
                total += folded((double)values[j]) * keys[j]; \\
            hashes[i] += total; \\
        } \\
    }
    ADD_TERMS(add_doubles, double)
    ADD_TERMS(add_floats, float)

    #define ADD_COLUMN(name, value_t) \\
    FOR_THIS_PROCESSOR \\
    static void name( \\
        const value_t *restrict values, uint64_t key, ptrdiff_t n_rows, uint64_t *restrict hashes) \\
    { \\
        for (ptrdiff_t i = 0; i < n_rows; i++) \\
            hashes[i] += folded((double)values[i]) * key; \\
    }
    ADD_COLUMN(add_column_of_doubles, double)
    ADD_COLUMN(add_column_of_floats, float)
    """
    uint64_t bits_of(double value) noexcept nogil
    void add_doubles(
        const double* values, const uint64_t* keys, Py_ssize_t n_rows, Py_ssize_t width,
        uint64_t* hashes,
    ) noexcept nogil
    void add_floats(
        const float* values, const uint64_t* keys, Py_ssize_t n_rows, Py_ssize_t width,
        uint64_t* hashes,
    ) noexcept nogil
    void add_column_of_doubles(
        const double* values, uint64_t key, Py_ssize_t n_rows, uint64_t* hashes
    ) noexcept nogil
    void add_column_of_floats(
        const float* values, uint64_t key, Py_ssize_t n_rows, uint64_t* hashes
    ) noexcept nogil


cdef inline uint64_t _mixed(uint64_t z) noexcept nogil:
    """A hash of 64 bits, a bijection (splitmix64)."""
    z = (z ^ (z >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * <uint64_t> 0x94D049BB133111EB
    return z ^ (z >> 31)


def add_rows(const real[:, ::1] X, const uint64_t[::1] keys, uint64_t[::1] hashes):
    """Add columns of numbers that stand row by row."""
    if not X.shape[0] or not X.shape[1]:
        return
    with nogil:
        if real is double:
            add_doubles(&X[0, 0], &keys[0], X.shape[0], X.shape[1], &hashes[0])
        else:
            add_floats(&X[0, 0], &keys[0], X.shape[0], X.shape[1], &hashes[0])


def add_column(const real[::1] values, uint64_t key, uint64_t[::1] hashes):
    """Add a column of numbers."""
    if not values.shape[0]:
        return
    with nogil:
        if real is double:
            add_column_of_doubles(&values[0], key, values.shape[0], &hashes[0])
        else:
            add_column_of_floats(&values[0], key, values.shape[0], &hashes[0])


def add_codes(const code[:] codes, const uint64_t[::1] terms, uint64_t[::1] hashes):
    """Add a column of categories; the first two terms are those of -2 and -1."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(codes.shape[0]):
            hashes[i] += terms[codes[i] + 2]


def finish(uint64_t[::1] hashes):
    """Mix the bits of every sum."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(hashes.shape[0]):
            hashes[i] = _mixed(hashes[i])


def chain_column(const number[:] values, uint64_t[::1] keys):
    """Hash every key with the value of its row; here the order of the columns matters."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(values.shape[0]):
            keys[i] = _mixed((keys[i] ^ _mixed(bits_of(values[i]) + STEP)) + STEP)


def text_words(list texts):
    """A word for each of some byte strings (FNV-1a, mixed)."""
    cdef Py_ssize_t i, j
    cdef const unsigned char* first
    cdef bytes text
    cdef uint64_t word
    out = np.empty(len(texts), dtype=np.uint64)
    cdef uint64_t[::1] words = out
    for i in range(len(texts)):
        text = texts[i]
        first = text
        word = <uint64_t> 0xCBF29CE484222325
        for j in range(len(text)):
            word = (word ^ first[j]) * <uint64_t> 0x100000001B3
        words[i] = word
    finish(words)
    return out
