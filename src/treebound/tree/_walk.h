/* Route rows eight at a time, so that their loads overlap; the next child is computed without a
   branch. A leaf is the child of itself, so no step checks for leaves. */

#ifndef TREEBOUND_WALK_H
#define TREEBOUND_WALK_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "processor.h"

/* A node; its children are adjacent. A value goes right if it is above `high` or below `low`, a
   missing one if `missing` is 1. A leaf is the child of itself and accepts all values. */
typedef struct {
    double low;
    double high;
    int32_t column;
    int32_t child; /* left child; the right one follows */
    int32_t missing;
    int32_t id; /* node index in the tree */
} RouteStep;

typedef void (*Walk)(
    const char *first, ptrdiff_t n, ptrdiff_t across, ptrdiff_t stride, const RouteStep *steps,
    int32_t *reached);

#define TOGETHER 8

#if defined(__GNUC__) && !defined(__clang__)
#define ALL_AT_ONCE _Pragma("GCC unroll 8")
#else
#define ALL_AT_ONCE
#endif

#if defined(__GNUC__)
#define AHEAD(place) __builtin_prefetch(place)
#else
#define AHEAD(place)
#endif

#define BLOCK 256 /* rows routed together, so that their values stay in cache; a multiple of TOGETHER */
#define STEPS 8   /* before rows that have reached a leaf are removed, */
#define MORE 3    /* and between further removals */
#define ROWS_AHEAD 64
#define MAX_LINES 8

/* Rows begin `across` bytes apart, their columns `stride`. All rows of a block take STEPS steps; then
   those that are not at a leaf take MORE at a time. RIGHT is whether `value` goes to the right child. */
#define WALK(name, value_t, STRIDE, RIGHT)                                                         \
    static inline int32_t name##_step(const char *row, const RouteStep *step, ptrdiff_t stride)    \
    {                                                                                              \
        double value = *(const value_t *)(row + step->column * (STRIDE));                          \
        (void)stride;                                                                              \
        return step->child + (RIGHT);                                                              \
    }                                                                                              \
    static void name(                                                                              \
        const char *first, ptrdiff_t n, ptrdiff_t across, ptrdiff_t stride, const RouteStep *steps,\
        int32_t *reached)                                                                          \
    {                                                                                              \
        int32_t nodes[BLOCK], open[BLOCK + TOGETHER];                                              \
        ptrdiff_t lines = stride == (ptrdiff_t)sizeof(value_t) ? across / 64 + 1 : 0;              \
        if (lines > MAX_LINES) lines = MAX_LINES;                                                  \
        for (ptrdiff_t start = 0; start < n; start += BLOCK, first += BLOCK * across) {            \
            int size = n - start < BLOCK ? (int)(n - start) : BLOCK, under_way = size, i = 0;      \
            if (start + BLOCK + ROWS_AHEAD > n) lines = 0;                                         \
            for (; i + TOGETHER <= size; i += TOGETHER) {                                          \
                int32_t at[TOGETHER];                                                              \
                const char *row = first + i * across, *next = row + ROWS_AHEAD * across;           \
                for (ptrdiff_t k = 0; k < TOGETHER; k++)                                           \
                    for (ptrdiff_t line = 0; line < lines; line++)                                 \
                        AHEAD(next + k * across + 64 * line);                                      \
                ALL_AT_ONCE for (int k = 0; k < TOGETHER; k++) at[k] = 0;                          \
                for (int d = 0; d < STEPS; d++) {                                                  \
                    ALL_AT_ONCE for (int k = 0; k < TOGETHER; k++)                                 \
                        at[k] = name##_step(row + k * across, steps + at[k], stride);              \
                }                                                                                  \
                ALL_AT_ONCE for (int k = 0; k < TOGETHER; k++) nodes[i + k] = at[k];               \
            }                                                                                      \
            for (; i < size; i++) nodes[i] = 0;                                                    \
            for (i = 0; i < size; i++) open[i] = i;                                                \
            for (;;) {                                                                             \
                int left = 0;                                                                      \
                for (i = 0; i < under_way; i++) {                                                  \
                    int32_t place = open[i], node = nodes[place];                                  \
                    open[left] = place;                                                            \
                    left += steps[node].child != node;                                             \
                }                                                                                  \
                under_way = left;                                                                  \
                if (!under_way) break;                                                             \
                for (i = 0; i < TOGETHER; i++) open[under_way + i] = open[0];                      \
                for (i = 0; i < under_way; i += TOGETHER) {                                        \
                    int32_t at[TOGETHER];                                                          \
                    const char *row[TOGETHER];                                                     \
                    ALL_AT_ONCE for (int k = 0; k < TOGETHER; k++) {                               \
                        at[k] = nodes[open[i + k]];                                                \
                        row[k] = first + open[i + k] * across;                                     \
                    }                                                                              \
                    for (int d = 0; d < MORE; d++) {                                               \
                        ALL_AT_ONCE for (int k = 0; k < TOGETHER; k++)                             \
                            at[k] = name##_step(row[k], steps + at[k], stride);                    \
                    }                                                                              \
                    ALL_AT_ONCE for (int k = 0; k < TOGETHER; k++) nodes[open[i + k]] = at[k];     \
                }                                                                                  \
            }                                                                                      \
            for (i = 0; i < size; i++) reached[start + i] = steps[nodes[i]].id;                    \
        }                                                                                          \
    }

#define ABOVE (value > step->high)
#define MISSING ((value != value) & step->missing)

/* Contiguous rows of real values, none missing; real columns; others, read as double, which have a
   lower bound. */
WALK(walk_complete_double, double, (ptrdiff_t)sizeof(double), ABOVE)
WALK(walk_complete_float, float, (ptrdiff_t)sizeof(float), ABOVE)
WALK(walk_double, double, stride, (ABOVE | MISSING))
WALK(walk_float, float, stride, (ABOVE | MISSING))
WALK(walk_codes, double, stride, (ABOVE | (value < step->low) | MISSING))

typedef int (*AllFinite)(const char *first, ptrdiff_t n);
typedef void (*Copy)(
    const char *first, ptrdiff_t stride, ptrdiff_t n, double *to, ptrdiff_t width);

/* Whether all of `n` adjacent values are finite: any other times zero is NaN. */
#define ALL_FINITE(name, value_t)                                                                  \
    FOR_THIS_PROCESSOR                                                                             \
    static int name(const char *first, ptrdiff_t n)                                                \
    {                                                                                              \
        const value_t *values = (const value_t *)first;                                            \
        value_t sums[16] = {0}, sum = 0;                                                           \
        ptrdiff_t i = 0;                                                                           \
        for (; i + 16 <= n; i += 16)                                                               \
            for (int k = 0; k < 16; k++) sums[k] += values[i + k] * 0;                             \
        for (; i < n; i++) sum += values[i] * 0;                                                   \
        for (int k = 0; k < 16; k++) sum += sums[k];                                               \
        return sum == 0;                                                                           \
    }

ALL_FINITE(all_finite_double, double)
ALL_FINITE(all_finite_float, float)

/* Copy values into a column of rows of `width` doubles; a missing category is NaN. */
#define COPY(name, value_t, MISSING_VALUE)                                                         \
    static void name(                                                                              \
        const char *first, ptrdiff_t stride, ptrdiff_t n, double *to, ptrdiff_t width)             \
    {                                                                                              \
        for (ptrdiff_t i = 0; i < n; i++) {                                                        \
            value_t value = *(const value_t *)(first + i * stride);                                \
            to[i * width] = MISSING_VALUE ? NAN : (double)value;                                   \
        }                                                                                          \
    }

COPY(copy_double, double, 0)
COPY(copy_float, float, 0)
COPY(copy_int8, int8_t, value == -1)
COPY(copy_int16, int16_t, value == -1)
COPY(copy_int32, int32_t, value == -1)

/* The value of the node of each row, of `size` bytes. */
static void look_up(
    const char *values, ptrdiff_t size, const int32_t *nodes, ptrdiff_t n, char *to)
{
#define LOOK_UP(bytes)                                                                             \
    for (ptrdiff_t i = 0; i < n; i++) memcpy(to + i * (bytes), values + nodes[i] * (bytes), bytes);
    if (size == 4) {
        LOOK_UP(4)
    } else if (size == 8) {
        LOOK_UP(8)
    } else if (size == 16) {
        LOOK_UP(16)
    } else {
        LOOK_UP(size)
    }
#undef LOOK_UP
}

#endif
