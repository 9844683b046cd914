/* Loops that benefit from vector instructions. */

#ifndef TREEBOUND_LOOPS_H
#define TREEBOUND_LOOPS_H

#include <stddef.h>
#include <stdint.h>

#include "criteria.h"
#include "processor.h"

#if defined(__GNUC__)
#define prefetch(place) __builtin_prefetch(place)
#else
#define prefetch(place)
#endif

/* The cells of values, see _bins.pyx; cell 0 for a missing value. */
FOR_THIS_PROCESSOR
static void cells_of(
    const double *restrict values, ptrdiff_t n, double low, double rate, double top,
    int32_t *restrict cells)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        double place = (values[i] - low) * rate + 1.0;
        place = place > 0.0 ? place : 0.0;
        place = place < top ? place : top;
        cells[i] = (int32_t)place;
    }
}

/* The same for rows of a matrix; each column has its own cells. The width is a multiple of four. */
#define CELLS_OF_ROWS(name, value_t) \
FOR_THIS_PROCESSOR \
static void name( \
    const char *restrict first, ptrdiff_t stride, ptrdiff_t n, ptrdiff_t width, \
    const double *restrict low, const double *restrict rate, const double *restrict top, \
    int32_t *restrict cells) \
{ \
    for (ptrdiff_t i = 0; i < n; i++) { \
        const value_t *values = (const value_t *)(first + i * stride); \
        for (ptrdiff_t j = 0; j < width; j += 4) \
            for (ptrdiff_t k = j; k < j + 4; k++) { \
                double place = ((double)values[k] - low[k]) * rate[k] + 1.0; \
                place = place > 0.0 ? place : 0.0; \
                place = place < top[k] ? place : top[k]; \
                cells[i * width + k] = (int32_t)place; \
            } \
    } \
}

CELLS_OF_ROWS(cells_of_doubles, double)
CELLS_OF_ROWS(cells_of_floats, float)

/* The weights of two sides multiplied; a side without weight counts as 1, since its sum is 0. */
static inline double product(double left, double all)
{
    double right = all - left;
    return (left > 1.0 ? left : 1.0) * (right > 1.0 ? right : 1.0);
}

/* Two classes, gini: scores after each bin, and bounds inside it; -1 for a bin of one class.
   a, b: counts of the classes left of each bin, and of all bins at index n. */
FOR_THIS_PROCESSOR
static void gini_of_pairs(
    const double *restrict a, const double *restrict b, ptrdiff_t n, double all_a, double all_b,
    double *restrict scores, double *restrict bounds)
{
    double all = all_a + all_b;
    for (ptrdiff_t t = 0; t < n; t++) {
        double a0 = a[t], b0 = b[t], a1 = a[t + 1], b1 = b[t + 1];
        double s = gini_of_pair(a1, b1, all_a, all_b);
        double u = gini_of_pair(a1, b0, all_a, all_b), p = product(a1 + b0, all);
        double v = gini_of_pair(a0, b1, all_a, all_b), q = product(a0 + b1, all);
        scores[t] = s / product(a1 + b1, all);
        u *= q; /* the greater of u / p and v / q, by one division */
        v *= p;
        u = (u > v ? u : v) / (p * q);
        bounds[t] = (a1 - a0) * (b1 - b0) == 0.0 ? -1.0 : u;
    }
}

/* The same for up to SCREENED rows sorted by value, one by one, whose label is the lowest bit: whether
   a score is above the bar. Counts the rows of class 1. */
#define SCREENED 64

FOR_THIS_PROCESSOR
static int rows_above(
    const uint64_t *restrict entries, int n, double left, double ones, double all_zeros,
    double all_ones, double bar, int64_t *restrict n_ones)
{
    int32_t before[SCREENED], total = 0;
    int64_t above = 0; /* as wide as a double, so that masks need no packing */
    for (int i = 0; i < n; i++) {
        total += (int32_t)(entries[i] & 1);
        before[i] = total;
    }
    *n_ones = total;
    for (int i = 0; i < n; i++) {
        double x = left + (double)(i + 1), b = ones + (double)before[i];
        double score = gini_of_pair(x - b, b, all_zeros, all_ones);
        above |= score > bar * (x * (all_zeros + all_ones - x));
    }
    return above != 0;
}

/* Four counts of a bin, added at once. */
typedef int64_t Four __attribute__((vector_size(32), aligned(8), may_alias));

/* Add four numbers of each row to a bin of each of up to four columns, whose codes are side by
   side. Of rows that are scattered in memory those `ahead` are prefetched, as far as there are `n_more`. */
#define COUNT_NUMBERS(name, code_t) \
FOR_THIS_PROCESSOR \
static void name( \
    const code_t *restrict codes, const uint32_t *restrict rows, ptrdiff_t n, ptrdiff_t n_more, \
    ptrdiff_t ahead, const int64_t *restrict numbers, int n_columns, int64_t *const *tables) \
{ \
    Four *a = (Four *)tables[0], *b = (Four *)tables[1], *c = (Four *)tables[2]; \
    Four *d = (Four *)tables[3]; \
    for (ptrdiff_t i = 0; i < n; i++) { \
        const code_t *code = codes + 4 * (size_t)rows[i]; \
        Four row = *(const Four *)(numbers + 4 * (size_t)rows[i]); \
        if (ahead) { \
            size_t next = rows[i + ahead < n_more ? i + ahead : n_more - 1]; \
            prefetch(codes + 4 * next); \
            prefetch(numbers + 4 * next); \
        } \
        a[code[0]] += row; \
        if (n_columns == 4) { \
            b[code[1]] += row; \
            c[code[2]] += row; \
            d[code[3]] += row; \
            continue; \
        } \
        if (n_columns > 1) b[code[1]] += row; \
        if (n_columns > 2) c[code[2]] += row; \
    } \
}

COUNT_NUMBERS(count_numbers_by_bytes, uint8_t)
COUNT_NUMBERS(count_numbers_by_words, uint16_t)

FOR_THIS_PROCESSOR
static double greatest(const double *values, ptrdiff_t n)
{
    double best[4] = {-1e308, -1e308, -1e308, -1e308};
    ptrdiff_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int k = 0; k < 4; k++)
            best[k] = values[i + k] > best[k] ? values[i + k] : best[k];
    for (; i < n; i++)
        best[0] = values[i] > best[0] ? values[i] : best[0];
    best[0] = best[1] > best[0] ? best[1] : best[0];
    best[2] = best[3] > best[2] ? best[3] : best[2];
    return best[2] > best[0] ? best[2] : best[0];
}

#endif
