"""Large nodes: histograms are counted, kept while useful, and searched.

Memory of histograms: up to eight bytes per row, or 32 MB. A node without memory for its histogram
is counted when it is searched.
"""

from libc.math cimport INFINITY
from libc.stdlib cimport free, malloc

from treebound.growing._binned cimport code_sample, count_node, free_binned, new_binned
from treebound.growing._counting cimport size_of
from treebound.growing._histogram cimport (
    best_of_column, free_finder, init_finder, reach_of_column,
)
from treebound.growing._layout cimport allocate, zeros

cdef enum:
    BYTES_A_ROW = 8
    LEAST_BYTES = 1 << 25
    THREAD_CELLS = 4096   # fewer counts are searched by one thread


cdef Large* new_large(
    const Problem* problem, Source* sources, Py_ssize_t n_columns, Py_ssize_t most_bins,
    Scratch* scratch,
) except NULL nogil:
    """Choose bins; call `code_large` next."""
    cdef Large* large = <Large*>zeros(1, sizeof(Large))
    cdef bint done = False
    try:
        large.data = new_binned(problem, sources, n_columns, most_bins, scratch)
        done = True
    finally:
        if not done:
            free_large(large)
    return large


cdef int code_large(Large* large, Scratch* scratch, Pool pool) except -1 nogil:
    """Code the sample, and allocate memory for the search."""
    cdef Py_ssize_t n_rows = large.data.problem.n_rows
    cdef size_t size = size_of(&large.data.counted)
    cdef int t
    code_sample(large.data, pool)
    large.finders = <Finder*>zeros(pool.n_threads, sizeof(Finder))
    large.n_finders = pool.n_threads
    for t in range(pool.n_threads):
        init_finder(&large.finders[t], large.data, &scratch[t])
    large.reaches = <Reach*>allocate(large.data.n_columns, sizeof(Reach))
    large.most_histograms = 2 + max(
        BYTES_A_ROW * n_rows, <Py_ssize_t>LEAST_BYTES
    ) // <Py_ssize_t>size
    large.spare = <void**>zeros(large.most_histograms + 4, sizeof(void*))
    large.counters = <void**>zeros(pool.n_threads, sizeof(void*))
    for t in range(1, pool.n_threads):
        large.counters[t] = allocate(size, 1)
    return 0


cdef void free_large(Large* large) noexcept nogil:
    cdef Py_ssize_t i
    if large == NULL:
        return
    free_binned(large.data)
    if large.finders != NULL:
        for i in range(large.n_finders):
            free_finder(&large.finders[i])
    if large.counters != NULL:
        for i in range(1, large.n_finders):
            free(large.counters[i])
    for i in range(large.n_spare):
        free(large.spare[i])
    free(large.finders)
    free(large.reaches)
    free(large.spare)
    free(large.counters)
    free(large)


cdef void* take_histogram(Large* large, bint at_once) except? NULL nogil:
    """Uninitialised memory for counts; NULL if the limit is reached, unless needed at once."""
    if large.n_histograms >= large.most_histograms and not at_once:
        return NULL
    large.n_histograms += 1
    if large.n_spare:
        large.n_spare -= 1
        return large.spare[large.n_spare]
    return allocate(size_of(&large.data.counted), 1)


cdef void give_histogram(Large* large, void* histogram) noexcept nogil:
    """Return a histogram that a node no longer needs."""
    if histogram == NULL:
        return
    large.n_histograms -= 1
    if large.n_spare < 4:
        large.spare[large.n_spare] = histogram
        large.n_spare += 1
    else:
        free(histogram)


cdef void count_into(
    Large* large, Py_ssize_t start, Py_ssize_t stop, void* histogram, Pool pool
) noexcept nogil:
    large.counters[0] = histogram
    count_node(large.data, start, stop, large.counters, pool)


cdef Reach reach_node(
    Large* large, const void* histogram, const NodeView* node, double least, Pool pool
) noexcept nogil:
    """The best boundary of all columns, and bounds on their bins; sets the floor."""
    cdef Reach reach
    cdef Py_ssize_t j
    cdef int t
    cdef double floor = least
    large.histogram = histogram
    large.node = node
    for t in range(large.n_finders):
        large.finders[t].floor = least
    if large.data.counted.n_cells >= THREAD_CELLS:
        pool.run(&reach_column, large, large.data.n_columns)
    else:
        for j in range(large.data.n_columns):
            reach_column(large, j, 0)
    for t in range(large.n_finders):
        floor = max(floor, large.finders[t].floor)
    for t in range(large.n_finders):
        large.finders[t].floor = floor
    reach.best = reach.bound = -INFINITY
    reach.live_rows = 0
    for j in range(large.data.n_columns):
        reach.best = max(reach.best, large.reaches[j].best)
        if large.reaches[j].bound > floor:
            reach.bound = max(reach.bound, large.reaches[j].bound)
            reach.live_rows += large.reaches[j].live_rows
    return reach


cdef void reach_column(void* context, Py_ssize_t j, int thread) noexcept nogil:
    cdef Large* large = <Large*>context
    large.reaches[j] = reach_of_column(
        large.data, j, large.histogram, large.node, &large.finders[thread]
    )


cdef int search_node(
    Large* large, const void* histogram, const NodeView* node, Split* splits, Pool pool
) except -1 nogil:
    """The best split of every column, after `reach_node`.

    Threads search a column each, or one after the other together if fewer can hold the best split.
    """
    cdef Py_ssize_t j
    cdef int t, n_live = 0
    large.histogram = histogram
    large.node = node
    large.splits = splits
    for j in range(large.data.n_columns):
        n_live += is_live(large, j, &large.finders[0])
    if n_live < pool.n_threads:
        for j in range(large.data.n_columns):
            search_one(large, j, &large.finders[0], pool)
    elif large.data.counted.n_cells >= THREAD_CELLS:
        pool.run(&search_column, large, large.data.n_columns)
    else:
        for j in range(large.data.n_columns):
            search_column(large, j, 0)
    for t in range(large.n_finders):
        if large.finders[t].failed:
            with gil:
                raise MemoryError
    return 0


cdef void search_column(void* context, Py_ssize_t j, int thread) noexcept nogil:
    cdef Large* large = <Large*>context
    search_one(large, j, &large.finders[thread], None)


cdef inline void search_one(Large* large, Py_ssize_t j, Finder* finder, Pool pool) noexcept nogil:
    large.splits[j].place = -1
    if is_live(large, j, finder):
        large.splits[j] = best_of_column(
            large.data, j, large.histogram, large.node, finder, pool
        )


cdef inline bint is_live(const Large* large, Py_ssize_t j, const Finder* finder) noexcept nogil:
    """Whether a column may hold a split above the floor."""
    return max(large.reaches[j].best, large.reaches[j].bound) > finder.floor
