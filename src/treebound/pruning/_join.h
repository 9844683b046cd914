/* The inner loops of a min-plus convolution: the curve of a subtree, moved by a cost. */

#ifndef TREEBOUND_JOIN_H
#define TREEBOUND_JOIN_H

#include <stddef.h>
#include <stdint.h>

#include "processor.h"

/* Lower `out` to `base + curve` where that is less. */
FOR_THIS_PROCESSOR
static void lower(int64_t *restrict out, const int64_t *restrict curve, ptrdiff_t n, int64_t base)
{
    for (ptrdiff_t j = 0; j < n; j++) {
        int64_t value = base + curve[j];
        out[j] = value < out[j] ? value : out[j];
    }
}

/* The same; `picked` becomes `choice` where it is lowered. */
FOR_THIS_PROCESSOR
static void lower_and_pick(
    int64_t *restrict out, uint32_t *restrict picked, const int64_t *restrict curve, ptrdiff_t n,
    int64_t base, uint32_t choice)
{
    for (ptrdiff_t j = 0; j < n; j++) {
        int64_t value = base + curve[j];
        int64_t current = out[j];
        out[j] = value < current ? value : current;
        picked[j] = value < current ? choice : picked[j];
    }
}

#endif
