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

/* A row to prefetch, perhaps one that another thread is moving: any value is good enough. */
#if defined(__SANITIZE_THREAD__)
__attribute__((no_sanitize("thread"), noinline))
#endif
static inline uint32_t row_ahead(const uint32_t *row)
{
    return *(const volatile uint32_t *)row;
}

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

/* Two counts of a bin, added at once. */
typedef int64_t Two __attribute__((vector_size(16), aligned(8), may_alias));

/* The same of rows without weights: sum, and squares and rows in one integer. Their numbers are in
   the order of the rows. */
#define ADD_PAIR(code_t, i) \
    do { \
        const code_t *code = codes + 4 * (size_t)rows[i]; \
        Two row = *(const Two *)(pairs + 2 * (i)); \
        a[code[0]] += row; \
        b[code[1]] += row; \
        c[code[2]] += row; \
        d[code[3]] += row; \
    } while (0)

#define COUNT_PAIRS(name, code_t) \
static void name( \
    const code_t *restrict codes, const uint32_t *restrict rows, ptrdiff_t n, ptrdiff_t n_more, \
    ptrdiff_t ahead, const int64_t *restrict pairs, int n_columns, int64_t *const *tables) \
{ \
    Two *a = (Two *)tables[0], *b = (Two *)tables[1], *c = (Two *)tables[2]; \
    Two *d = (Two *)tables[3]; \
    ptrdiff_t i = 0, sparse = ahead ? (n < n_more - ahead ? n : n_more - ahead) : 0; \
    if (n_columns < 4) { \
        for (; i < n; i++) { \
            const code_t *code = codes + 4 * (size_t)rows[i]; \
            Two row = *(const Two *)(pairs + 2 * i); \
            a[code[0]] += row; \
            if (n_columns > 1) b[code[1]] += row; \
            if (n_columns > 2) c[code[2]] += row; \
        } \
        return; \
    } \
    for (; i < sparse; i++) { \
        prefetch(codes + 4 * (size_t)rows[i + ahead]); \
        ADD_PAIR(code_t, i); \
    } \
    for (; i < n; i++) \
        ADD_PAIR(code_t, i); \
}

COUNT_PAIRS(count_pairs_by_bytes, uint8_t)
COUNT_PAIRS(count_pairs_by_words, uint16_t)

/* The weights, sums, squares and rows left of each bin that has rows, and as floats: see
   `gains_of_bins`. Returns how many bins they are; `bins` are their codes. The rows of a pair are in
   the low bits of `row_mask`, the squares above them, and `unit` is that of the lowest bit. */
static ptrdiff_t sums_of_pairs(
    const int64_t *restrict pairs, ptrdiff_t n_bins, int64_t row_mask, double unit,
    int64_t *restrict left, int32_t *restrict bins, double *restrict a, double *restrict b,
    double *restrict d)
{
    int64_t rows = 0, sum = 0, squares = 0;
    ptrdiff_t n = 0;
    left[0] = left[1] = left[2] = left[3] = 0;
    a[0] = b[0] = 0.0;
    for (ptrdiff_t bin = 0; bin < n_bins; bin++) {
        int64_t both = pairs[2 * bin + 1], bin_rows = both & row_mask;
        rows += bin_rows;
        sum += pairs[2 * bin];
        squares += both - bin_rows;
        left[4 * n + 4] = left[4 * n + 7] = rows;
        left[4 * n + 5] = sum;
        left[4 * n + 6] = squares;
        a[n + 1] = (double)rows;
        b[n + 1] = (double)sum;
        d[n] = unit * (double)(both - bin_rows);
        bins[n] = (int32_t)bin;
        n += both != 0;
    }
    return n;
}

/* Numbers: gains after each bin, and bounds on the gains inside it, neither too small.
   a, b: weights and sums left of each bin, and of all bins at index n; d: squares of each bin;
   whole, total: weight and sum of the node. Square roots of gains are norms. With m rows of a bin, j
   of them on the left, their sum is off j times their mean by at most sqrt(spread j (m - j) / m),
   which changes the root by at most that times sqrt(n / (l r)), l and r the weights of the sides. */
FOR_THIS_PROCESSOR
static void gains_of_bins(
    const double *restrict a, const double *restrict b, const double *restrict d, ptrdiff_t n,
    double whole, double total, double *restrict gains, double *restrict bounds)
{
    /* gains has a place before the first */
    for (ptrdiff_t t = 0; t <= n; t++) {
        double product = whole * (a[t] * (whole - a[t]));
        double difference = fabs(b[t] * whole - total * a[t])
            + 1e-15 * (fabs(b[t]) * whole + fabs(total) * a[t]); /* more than rounding */
        double gain = difference * difference / product;
        gains[t - 1] = product > 0.0 ? gain : 0.0;
    }
    for (ptrdiff_t t = 0; t < n; t++) {
        double first = a[t], last = a[t + 1], m = last - first;
        double gain = gains[t - 1] > gains[t] ? gains[t - 1] : gains[t];
        double sum = b[t + 1] - b[t], rounding = fabs(sum) * (fabs(b[t]) + fabs(b[t + 1]));
        double squares = d[t] * m, spread = squares - sum * sum + 1e-15 * (squares + 2.0 * rounding);
        double p = (first + 1.0) * (whole - first - 1.0), q = (last - 1.0) * (whole - last + 1.0);
        double least = p < q ? p : q;
        least = 4.0 * (least > 1.0 ? least : 1.0);
        spread = spread > 4e-15 * squares ? spread : 4e-15 * squares; /* perhaps there is none */
        spread = spread * whole / (least > m * whole ? least : m * whole);
        bounds[t] = (gain + spread + 2.0 * sqrt(gain * spread)) * (1.0 + 1e-12);
    }
}

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
