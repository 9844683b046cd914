"""Add the terms of some columns to the hash of every row.

A term is a word of the value times the odd key of its column. Terms are added, so the order of the
columns does not matter. The word of a number is that of its first six significant digits:

- Let 2^b be the largest power of two that is at most abs(x), and ``10^f`` the largest power of ten
  that is at most 2^b. The scale is the float64 nearest to ``10^(5-f)``.
- The product abs(x) scale is below 2 000 000. If it is 999 999.5 or more, it is multiplied by the
  float64 nearest to 0.1, and f is one more.
- The product, rounded to the nearest integer (ties to even), has six digits. The word is this
  integer, the power of ten and the sign; equal numbers of all types have equal words.
- Below ``10^-290`` a number is zero. Missing values and infinities have special words.

So a number has one word as float64, as float32, and as text of six digits or more, except within
the rounding of float32 next to a tie. Exact words, which distinguish all numbers, are the folded
bits of float64.
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

cdef enum:
    CHAINED = 512  # rows that are hashed together

# The step of splitmix64 from one state to the next.
cdef uint64_t STEP = 0x9E3779B97F4A7C15


cdef extern from * nogil:
    """
    #include <math.h>
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
    static inline uint64_t exact_word(double value)
    {
        uint64_t bits = bits_of(value);
        return bits ^ (bits >> 32);
    }

    /* By biased binary exponent: the scale to six digits. */
    static double SCALES[2048];

    static const uint64_t SIGN = 0x8000000000000000u;

    /* The power of ten plus 400, by biased binary exponent: 78913 / 2^18 is close to log10(2). */
    static inline uint64_t power_of_ten(uint64_t exponent)
    {
        return (exponent * 78913 + 24129700) >> 18;
    }

    static inline uint64_t six_digits(double value)
    {
        uint64_t bits, digits;
        memcpy(&bits, &value, 8);
        uint64_t exponent = (bits >> 52) & 2047;
        double product = fabs(value) * SCALES[exponent], tenth = product * 0.1;
        int larger = product >= 999999.5;
        product = larger ? tenth : product;
        /* below 2^51, adding 2^52 rounds to the nearest integer, ties to even */
        double shifted = product + 4503599627370496.0;
        memcpy(&digits, &shifted, 8);
        digits &= 0xFFFFFu;
        uint64_t power = (power_of_ten(exponent) << 20) + (larger ? 1u << 20 : 0);
        uint64_t word = digits | power | (bits & SIGN) >> 32;
        word = digits == 0 ? 0 : word;
        return exponent == 2047 ? exact_word(value) : word;
    }

    #define ADD_TERMS(name, value_t, word_of) \\
    FOR_WIDE_INTEGERS \\
    static void name( \\
        const value_t *restrict values, const uint64_t *restrict keys, ptrdiff_t n_rows, \\
        ptrdiff_t width, uint64_t *restrict hashes) \\
    { \\
        const uint64_t key = keys[0]; \\
        if (width == 1) { /* row after row at once */ \\
            for (ptrdiff_t i = 0; i < n_rows; i++) \\
                hashes[i] += word_of((double)values[i]) * key; \\
            return; \\
        } \\
        for (ptrdiff_t i = 0; i < n_rows; i++, values += width) { \\
            uint64_t total = 0; \\
            for (ptrdiff_t j = 0; j < width; j++) \\
                total += word_of((double)values[j]) * keys[j]; \\
            hashes[i] += total; \\
        } \\
    }
    ADD_TERMS(add_doubles, double, six_digits)
    ADD_TERMS(add_floats, float, six_digits)
    ADD_TERMS(add_exact_doubles, double, exact_word)
    ADD_TERMS(add_exact_floats, float, exact_word)
    """
    double SCALES[2048]
    uint64_t power_of_ten(uint64_t exponent)
    uint64_t bits_of(double value)
    # values, keys, number of rows, number of columns, hashes
    void add_doubles(const double*, const uint64_t*, Py_ssize_t, Py_ssize_t, uint64_t*)
    void add_floats(const float*, const uint64_t*, Py_ssize_t, Py_ssize_t, uint64_t*)
    void add_exact_doubles(const double*, const uint64_t*, Py_ssize_t, Py_ssize_t, uint64_t*)
    void add_exact_floats(const float*, const uint64_t*, Py_ssize_t, Py_ssize_t, uint64_t*)


def _fill_scales():
    """Fill the table of scales; each is the float64 nearest to a power of ten."""
    cdef int exponent, power
    for exponent in range(2048):
        power = <int>power_of_ten(exponent) - 400
        SCALES[exponent] = 0.0 if power < -290 or exponent == 0 else float(f"1e{5 - power}")


_fill_scales()


cdef inline uint64_t _mixed(uint64_t z) noexcept nogil:
    """A hash of 64 bits, a bijection (splitmix64)."""
    z = (z ^ (z >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * <uint64_t> 0x94D049BB133111EB
    return z ^ (z >> 31)


def add_rows(
    const real[:, ::1] X, const uint64_t[::1] keys, uint64_t[::1] hashes, bint exact=False
):
    """Add columns of numbers that are stored row by row."""
    cdef Py_ssize_t n_rows = X.shape[0], width = X.shape[1]
    if not n_rows or not width:
        return
    with nogil:
        if real is double and exact:
            add_exact_doubles(&X[0, 0], &keys[0], n_rows, width, &hashes[0])
        elif real is double:
            add_doubles(&X[0, 0], &keys[0], n_rows, width, &hashes[0])
        elif exact:
            add_exact_floats(&X[0, 0], &keys[0], n_rows, width, &hashes[0])
        else:
            add_floats(&X[0, 0], &keys[0], n_rows, width, &hashes[0])


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


cdef inline void _chain(const number[:] values, uint64_t[::1] keys, Py_ssize_t start,
                        Py_ssize_t stop) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(start, stop):
        keys[i] = _mixed((keys[i] ^ _mixed(bits_of(values[i]) + STEP)) + STEP)


def mixed(const uint64_t[::1] numbers):
    """A hash of each number, a bijection (one step of splitmix64)."""
    cdef Py_ssize_t i
    hashes_array = np.empty(numbers.shape[0], dtype=np.uint64)
    cdef uint64_t[::1] hashes = hashes_array
    with nogil:
        for i in range(numbers.shape[0]):
            hashes[i] = _mixed(numbers[i] + STEP)
    return hashes_array


def chain_column(const number[:] values, uint64_t[::1] keys):
    """Hash every key with the value of its row; here the order of the columns matters."""
    with nogil:
        _chain(values, keys, 0, values.shape[0])


def chain_rows(const real[:, :] X, uint64_t[::1] keys):
    """Hash every key with the values of its row, column by column, in rows that fit into a cache."""
    cdef Py_ssize_t start = 0, stop, j, n = X.shape[0]
    with nogil:
        while start < n:
            stop = min(start + CHAINED, n)
            for j in range(X.shape[1]):
                _chain(X[:, j], keys, start, stop)
            start = stop


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
