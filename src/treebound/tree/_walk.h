/* Route rows eight at a time, so that their loads overlap; the next child is computed without a
   branch. A leaf is its own child, so no step checks for leaves. */

#ifndef TREEBOUND_WALK_H
#define TREEBOUND_WALK_H

#include <stddef.h>
#include <stdint.h>

/* A node; its children are adjacent. A value goes right if it is above `high` or below `low`, a
   missing one if `missing` is 1. A leaf is its own child and accepts all values. */
typedef struct {
    double low;
    double high;
    int32_t column;
    int32_t child; /* left child; the right one follows */
    int32_t missing;
    int32_t id; /* node index in the tree */
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

/* `rows` point to the rows; `stride` is the distance of two columns in bytes. Rows `ahead` bytes
   further, `lines` cache lines each, are prefetched. */
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

/* Real columns have no lower bound; the others do, and are read as double. */
WALK(walk_double, double, 0)
WALK(walk_float, float, 0)
WALK(walk_codes, double, (value < step->low))

/* The same for contiguous rows of real values, none missing. Children are byte offsets. All rows of
   a block take FIRST_STEPS steps; then those that are not at a leaf continue. */
typedef struct {
    double threshold; /* infinity for a leaf */
    int32_t column;
    uint32_t child;
} Plain;

#define PLAIN_BLOCK 256 /* a multiple of TOGETHER */
#define FIRST_STEPS 8
#define ROWS_AHEAD 64

#define PLAIN(name, value_t)                                                                       \
    static inline uint32_t name##_step(const value_t *row, const char *steps, uint32_t at)         \
    {                                                                                              \
        const Plain *step = (const Plain *)(steps + at);                                           \
        return step->child + (uint32_t)((double)row[step->column] > step->threshold)               \
            * (uint32_t)sizeof(Plain);                                                             \
    }                                                                                              \
    static void name(                                                                              \
        const value_t *values, ptrdiff_t n, ptrdiff_t width, const Plain *plain,                   \
        const int32_t *ids, int32_t *reached)                                                      \
    {                                                                                              \
        const char *steps = (const char *)plain;                                                   \
        uint32_t at[PLAIN_BLOCK];                                                                  \
        int32_t who[PLAIN_BLOCK + TOGETHER];                                                       \
        for (ptrdiff_t start = 0; start < n; start += PLAIN_BLOCK) {                               \
            const value_t *block = values + start * width;                                         \
            int size = n - start < PLAIN_BLOCK ? (int)(n - start) : PLAIN_BLOCK;                   \
            ptrdiff_t most = (n - start) * width - 1, line = 64 / (ptrdiff_t)sizeof(value_t);      \
            int i = 0, under_way = size;                                                           \
            for (; i + TOGETHER <= size; i += TOGETHER) {                                          \
                uint32_t place[TOGETHER];                                                          \
                const value_t *first = block + i * width;                                          \
                ptrdiff_t from = (i + ROWS_AHEAD) * width, to = from + TOGETHER * width;           \
                for (ptrdiff_t v = from; v < to; v += line) AHEAD(block + (v < most ? v : most));  \
                ALL_AT_ONCE for (int k = 0; k < TOGETHER; k++) place[k] = 0;                       \
                for (int d = 0; d < FIRST_STEPS; d++) {                                            \
                    ALL_AT_ONCE for (int k = 0; k < TOGETHER; k++)                                 \
                        place[k] = name##_step(first + k * width, steps, place[k]);                \
                }                                                                                  \
                ALL_AT_ONCE for (int k = 0; k < TOGETHER; k++) at[i + k] = place[k];               \
            }                                                                                      \
            for (; i < size; i++) {                                                                \
                at[i] = 0;                                                                         \
                for (int d = 0; d < FIRST_STEPS; d++)                                              \
                    at[i] = name##_step(block + i * width, steps, at[i]);                          \
            }                                                                                      \
            for (i = 0; i < size; i++) who[i] = i;                                                 \
            for (;;) {                                                                             \
                int kept = 0;                                                                      \
                for (i = 0; i < under_way; i++) {                                                  \
                    int32_t row = who[i];                                                          \
                    who[kept] = row;                                                               \
                    kept += ((const Plain *)(steps + at[row]))->child != at[row];                  \
                }                                                                                  \
                under_way = kept;                                                                  \
                if (!under_way) break;                                                             \
                for (i = 0; i < TOGETHER; i++) who[under_way + i] = who[0];                        \
                for (i = 0; i < under_way; i += TOGETHER) {                                        \
                    uint32_t place[TOGETHER];                                                      \
                    const value_t *row[TOGETHER];                                                  \
                    ALL_AT_ONCE for (int k = 0; k < TOGETHER; k++) {                               \
                        place[k] = at[who[i + k]];                                                 \
                        row[k] = block + who[i + k] * width;                                       \
                    }                                                                              \
                    for (int d = 0; d < FIRST_STEPS; d++) {                                        \
                        ALL_AT_ONCE for (int k = 0; k < TOGETHER; k++)                             \
                            place[k] = name##_step(row[k], steps, place[k]);                       \
                    }                                                                              \
                    ALL_AT_ONCE for (int k = 0; k < TOGETHER; k++) at[who[i + k]] = place[k];      \
                }                                                                                  \
            }                                                                                      \
            for (i = 0; i < size; i++) reached[start + i] = ids[at[i] / sizeof(Plain)];            \
        }                                                                                          \
    }

PLAIN(plain_double, double)
PLAIN(plain_float, float)

#endif
