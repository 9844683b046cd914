/* Memory for arrays as long as the sample, in large pages if the system offers them: random access
   to rows then causes fewer TLB misses. */

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
    if (bytes >= LARGE_PAGE) {
        bytes = (bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
        if (posix_memalign(&memory, LARGE_PAGE, bytes))
            return NULL;
        madvise(memory, bytes, MADV_HUGEPAGE); /* may be ignored */
        return memory;
    }
#endif
    return malloc(bytes);
}

#endif
