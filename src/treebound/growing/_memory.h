/* Memory for what is as long as the sample. Where the system offers large pages for the asking,
   they are asked for: rows in no order then cost fewer look-ups of addresses. */

#ifndef TREEBOUND_MEMORY_H
#define TREEBOUND_MEMORY_H

#include <stdlib.h>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#define LARGE_PAGE ((size_t)1 << 21)

static void *malloc_long(size_t bytes)
{
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    void *memory;
    if (bytes >= 2 * LARGE_PAGE) {
        if (posix_memalign(&memory, LARGE_PAGE, bytes))
            return NULL;
        madvise(memory, bytes, MADV_HUGEPAGE); /* advice: it may be refused */
        return memory;
    }
#endif
    return malloc(bytes);
}

#endif
