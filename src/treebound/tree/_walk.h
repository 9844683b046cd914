/* Rows walk down a tree eight at a time: their loads do not wait for each other, and which child is
   next is computed and not jumped to. A row that has reached a leaf stays there, so no step asks. */

#ifndef TREEBOUND_WALK_H
#define TREEBOUND_WALK_H

#include <stddef.h>
#include <stdint.h>

/* A node with its children side by side. A value goes right where it is above `high` or below
   `low`, and a missing one where `missing` is 1. A leaf is its own child, and takes all values. */
typedef struct {
    double low;
    double high;
    int32_t column;
    int32_t child; /* the left one; the right one is the next */
    int32_t missing;
    int32_t id; /* number of the node in the tree */
} Step;

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

/* `rows` are where rows begin; `stride` bytes are between two columns. Rows `ahead` bytes from
   these, `lines` cache lines each, are asked for. */
#define WALK(name, value_t, BELOW)                                                                 \
    static inline int32_t name##_step(const char *row, const Step *step, ptrdiff_t stride)         \
    {                                                                                              \
        double value = *(const value_t *)(row + step->column * stride);                            \
        return step->child                                                                         \
            + ((value > step->high) | BELOW | ((value != value) & step->missing));                 \
    }                                                                                              \
    static void name(                                                                              \
        const char *const *rows, ptrdiff_t n, ptrdiff_t stride, const Step *steps, int depth,      \
        int32_t *nodes, ptrdiff_t ahead, int lines)                                                \
    {                                                                                              \
        ptrdiff_t i = 0;                                                                           \
        for (; i + TOGETHER <= n; i += TOGETHER) {                                                 \
            int32_t at[TOGETHER];                                                                  \
            const char *row[TOGETHER];                                                             \
            ALL_AT_ONCE for (int k = 0; k < TOGETHER; k++) {                                       \
                at[k] = nodes[i + k];                                                              \
                row[k] = rows[i + k];                                                              \
            }                                                                                      \
            for (int k = 0; k < TOGETHER; k++)                                                     \
                for (int line = 0; line < lines; line++) AHEAD(rows[i + k] + ahead + 64 * line);   \
            for (int d = 0; d < depth; d++) {                                                      \
                ALL_AT_ONCE for (int k = 0; k < TOGETHER; k++)                                     \
                    at[k] = name##_step(row[k], steps + at[k], stride);                            \
            }                                                                                      \
            ALL_AT_ONCE for (int k = 0; k < TOGETHER; k++) nodes[i + k] = at[k];                   \
        }                                                                                          \
        for (; i < n; i++)                                                                         \
            for (int d = 0; d < depth; d++)                                                        \
                nodes[i] = name##_step(rows[i], steps + nodes[i], stride);                         \
    }

/* Real columns have no lower end; others do, and values as double. */
WALK(walk_double, double, 0)
WALK(walk_float, float, 0)
WALK(walk_codes, double, (value < step->low))

#endif
