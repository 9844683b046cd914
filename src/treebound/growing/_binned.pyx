"""The sample as codes of one or two bytes: made once, counted and partitioned at large nodes.

Memory per row: one or two bytes per column, and 10 for the rows, their order and their labels.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memmove, memset

from treebound.growing._coder cimport Coder, free_coder, make_coder
from treebound.growing._coding cimport Extent, code_block, code_four, side_by_side
from treebound.growing._counting cimport (
    Counted, Panel, add_counts, count_rows, discount_rows, size_of,
)
from treebound.growing._layout cimport (
    NOMINAL, REAL, Problem, Scratch, Source, Split, allocate, allocate_long, value_at, weight_of,
    zeros,
)
from treebound.growing._pool cimport Pool

cdef extern from "_loops.h":
    void prefetch(const void* place) noexcept nogil

cdef enum:
    LANES = 4
    AHEAD = 24           # rows to prefetch ahead
    BLOCK = 512          # rows coded together, so that a C-ordered matrix is read only once
    CODING_ROWS = 8192   # coded by a thread at a time
    PARTING_ROWS = 8192
    COUNTING_ROWS = 16384
    SHARED_ROWS = 65536  # of fewer, threads count a panel of columns each
    ALONE_ROWS = 1024    # so few are counted by one thread
    RIGHT = 0
    LEFT = 1
    LOOK = 2             # the side depends on the value


cdef Binned* new_binned(
    const Problem* problem, Source* sources, Py_ssize_t n_columns, Py_ssize_t most_bins,
    Scratch* scratch,
) except NULL nogil:
    """Choose the bins of each column from a sample of the rows; call `code_sample` next."""
    cdef Binned* data = <Binned*>zeros(1, sizeof(Binned))
    cdef bint done = False
    data.problem = problem
    data.sources = sources
    data.n_columns = n_columns
    try:
        data.columns = <Bins*>zeros(n_columns, sizeof(Bins))
        data.panels = <Panel*>zeros(n_columns, sizeof(Panel))
        choose_bins(data, most_bins, scratch)
        done = True
    finally:
        if not done:
            free_binned(data)
    return data


cdef int code_sample(Binned* data, Pool pool) except -1 nogil:
    """Code all columns; record their ranges and missing values."""
    cdef Py_ssize_t n = data.problem.n_rows, n_columns = data.n_columns, i
    set_panels(data)
    data.extents = <Extent*>zeros(n_columns * pool.n_threads, sizeof(Extent))
    data.counted.labels = data.labels
    for i in range(n):
        data.rows[i] = <uint32_t>i
        data.labels[i] = <uint16_t>data.problem.labels[i]
    for i in range(n_columns * pool.n_threads):
        data.extents[i].least = data.columns[i % n_columns].coder.least
        data.extents[i].most = data.columns[i % n_columns].coder.most
    pool.run(&code_rows, data, (n + CODING_ROWS - 1) // CODING_ROWS)
    note_extents(data, pool.n_threads)
    return 0


cdef void free_binned(Binned* data) noexcept nogil:
    cdef Py_ssize_t j
    if data == NULL:
        return
    if data.columns != NULL:
        for j in range(data.n_columns):
            free_coder(&data.columns[j].coder)
    free(data.columns)
    free(data.panels)
    free(data.memory)
    free(data.sides)
    free(data.extents)
    free(data)


cdef int choose_bins(Binned* data, Py_ssize_t most_bins, Scratch* scratch) except -1 nogil:
    """Bins of each column, and the offsets of their counts. Categories have one bin each."""
    cdef Py_ssize_t j, most
    cdef Counted* counted = &data.counted
    counted.weights = data.problem.weights
    counted.n_classes = data.problem.n_classes
    counted.stride = data.problem.n_classes + (data.problem.weights != NULL)
    for j in range(data.n_columns):
        most = most_bins
        if data.sources[j].kind == NOMINAL:
            most = max(most, data.sources[j].n_categories)
        make_coder(&data.columns[j].coder, &data.sources[j], data.problem, most, scratch)
        data.signal = max(data.signal, data.columns[j].coder.signal)
        data.columns[j].width = 1 if data.columns[j].coder.n_bins < 256 else 2
        data.columns[j].offset = counted.n_cells
        counted.n_cells += (data.columns[j].coder.n_bins + 1) * counted.stride
        data.most_codes = max(data.most_codes, data.columns[j].coder.n_bins + 1)
    data.sides = <uint8_t*>allocate(data.most_codes, 1)
    return 0


cdef int set_panels(Binned* data) except -1 nogil:
    """Group columns of the same width by four; allocate the codes, the rows and the labels.

    They are one block of memory, so that most of it is in large pages.
    """
    cdef Py_ssize_t j, n = (data.problem.n_rows + 31) // 32 * 32, size = 0
    cdef int width
    cdef Panel* panel
    cdef char* place
    for width in range(1, 3):
        panel = NULL
        for j in range(data.n_columns):
            if data.columns[j].width != width:
                continue
            if panel == NULL or panel.n_columns == LANES:
                panel = &data.panels[data.n_panels]
                panel.width = width
                data.n_panels += 1
                size += LANES * width
            data.columns[j].panel = data.n_panels - 1
            data.columns[j].lane = panel.n_columns
            panel.columns[panel.n_columns] = j
            panel.offsets[panel.n_columns] = data.columns[j].offset
            panel.n_columns += 1
    size += sizeof(data.rows[0]) + sizeof(data.other[0]) + sizeof(data.labels[0])
    place = data.memory = <char*>allocate_long(n, size)
    for j in range(data.n_panels):
        data.panels[j].codes = place
        place += LANES * data.panels[j].width * n
    data.rows = <uint32_t*>place
    data.other = data.rows + n
    data.labels = <uint16_t*>(data.other + n)
    return 0


cdef void code_rows(void* context, Py_ssize_t item, int thread) noexcept nogil:
    cdef Binned* data = <Binned*>context
    cdef Py_ssize_t start = item * CODING_ROWS, p, next
    cdef Py_ssize_t stop = min(start + CODING_ROWS, data.problem.n_rows)
    while start < stop:
        next = min(start + BLOCK, stop)
        for p in range(data.n_panels):
            code_panel(data, &data.panels[p], start, next, thread)
        start = next


cdef void code_panel(
    Binned* data, const Panel* panel, Py_ssize_t start, Py_ssize_t stop, int thread
) noexcept nogil:
    cdef const Coder* coders[LANES]
    cdef const Source* sources[LANES]
    cdef Extent* extents[LANES]
    cdef int lane
    for lane in range(panel.n_columns):
        coders[lane] = &data.columns[panel.columns[lane]].coder
        sources[lane] = &data.sources[panel.columns[lane]]
        extents[lane] = &data.extents[thread * data.n_columns + panel.columns[lane]]
    if panel.n_columns == LANES and side_by_side(coders, sources):
        code_four(coders, sources, start, stop, panel.width, panel.codes, extents)
        return
    for lane in range(panel.n_columns):
        code_block(
            coders[lane], sources[lane], start, stop, panel.width,
            <char*>panel.codes + lane * panel.width, extents[lane],
        )


cdef void note_extents(Binned* data, int n_threads) noexcept nogil:
    cdef Py_ssize_t j, bin
    cdef int thread
    cdef double least, most
    cdef Extent* extent
    cdef Bins* column
    for j in range(data.n_columns):
        least = INFINITY
        most = -INFINITY
        for thread in range(n_threads):
            extent = &data.extents[thread * data.n_columns + j]
            least = min(least, extent.least)
            most = max(most, extent.most)
            data.sources[j].may_miss |= extent.missing
        data.sources[j].span = most - least if least <= most else 0.0
        column = &data.columns[j]
        column.exact = True
        for bin in range(column.coder.n_bins):
            column.exact &= column.coder.single[bin]


# -- at every node -------------------------------------------------------------------------


cdef Py_ssize_t code_at(const Binned* data, Py_ssize_t column, Py_ssize_t row) noexcept nogil:
    cdef const Bins* found = &data.columns[column]
    cdef const void* codes = data.panels[found.panel].codes
    if found.width == 1:
        return (<const uint8_t*>codes)[LANES * row + found.lane]
    return (<const uint16_t*>codes)[LANES * row + found.lane]


cdef void find_ends(
    const Binned* data, Py_ssize_t start, Py_ssize_t stop, Split* split
) noexcept nogil:
    """The neighbours of a threshold between two bins: their largest and smallest value."""
    cdef const Source* source = &data.sources[split.column]
    cdef const Coder* coder = &data.columns[split.column].coder
    cdef Py_ssize_t i, code
    cdef double value, low = -INFINITY, high = INFINITY
    if split.known or split.follow < 0:
        return
    if coder.single[split.bin] and coder.single[split.follow]:
        low = coder.values[split.bin]
        high = coder.values[split.follow]
    else:
        for i in range(start, stop):
            code = code_at(data, split.column, data.rows[i])
            if code == split.bin:
                value = value_at(source, data.rows[i])
                low = max(low, value)
            elif code == split.follow:
                value = value_at(source, data.rows[i])
                high = min(high, value)
    split.low = low
    split.high = high
    split.known = True


cdef struct Parting:
    Binned* data
    const Split* split
    Py_ssize_t start
    Py_ssize_t stop
    Py_ssize_t size          # of a block
    Py_ssize_t* n_left       # by block


cdef Py_ssize_t part_binned(
    Binned* data, Py_ssize_t start, Py_ssize_t stop, const Split* split, Pool pool
) noexcept nogil:
    """Partition the rows by child, keeping their order; return how many go left.

    Blocks are partitioned independently, left rows in place and right ones in a buffer, then
    joined.
    """
    cdef Py_ssize_t[64] n_left
    cdef Py_ssize_t n = stop - start, n_blocks = 1, i, block, left = start, right = 0
    cdef Parting parting
    set_sides(data, split)
    if pool.n_threads > 1 and n >= 2 * PARTING_ROWS:
        n_blocks = min(64, max(2 * pool.n_threads, n // PARTING_ROWS))
    parting.data = data
    parting.split = split
    parting.start = start
    parting.stop = stop
    parting.size = (n + n_blocks - 1) // n_blocks
    parting.n_left = n_left
    if n_blocks == 1:
        part_block(&parting, 0, 0)
    else:
        pool.run(&part_block, &parting, n_blocks)
    for block in range(n_blocks):
        i = start + block * parting.size
        if block:
            memmove(data.rows + left, data.rows + i, n_left[block] * sizeof(uint32_t))
        left += n_left[block]
    for block in range(n_blocks):
        i = block * parting.size
        n = max(min(parting.size, stop - start - i), 0) - n_left[block]
        memcpy(data.rows + left + right, data.other + i, n * sizeof(uint32_t))
        right += n
    return left - start


cdef void set_sides(Binned* data, const Split* split) noexcept nogil:
    """The side of each code."""
    cdef Py_ssize_t missing = data.columns[split.column].coder.n_bins
    memset(data.sides, RIGHT, missing + 1)
    if data.sources[split.column].kind == NOMINAL:
        data.sides[split.bin] = LEFT
        return
    memset(data.sides, LEFT, split.bin + 1)
    if split.inside:
        data.sides[split.bin] = LOOK
    data.sides[missing] = LEFT if split.missing_left else RIGHT


cdef void part_block(void* context, Py_ssize_t item, int thread) noexcept nogil:
    cdef Parting* parting = <Parting*>context
    cdef Binned* data = parting.data
    cdef const Split* split = parting.split
    cdef const Bins* column = &data.columns[split.column]
    cdef const Source* source = &data.sources[split.column]
    cdef const uint8_t* narrow = <const uint8_t*>data.panels[column.panel].codes + column.lane
    cdef const uint16_t* wide = <const uint16_t*>data.panels[column.panel].codes + column.lane
    cdef const uint8_t* sides = data.sides
    cdef Py_ssize_t start = min(parting.start + item * parting.size, parting.stop)
    cdef Py_ssize_t stop = min(start + parting.size, parting.stop), i, left = start, right = 0
    cdef uint32_t* rows = data.rows
    cdef uint32_t* other = data.other + (start - parting.start)
    cdef uint32_t row
    cdef uint8_t side
    cdef bint is_narrow = column.width == 1
    # invariant: rows[start:left] and other[:right] hold the rows up to i, each in their order
    for i in range(start, stop):
        prefetch(narrow + LANES * column.width * <size_t>rows[min(i + AHEAD, stop - 1)])
        row = rows[i]
        side = sides[narrow[LANES * <size_t>row] if is_narrow else wide[LANES * <size_t>row]]
        if side == LOOK:
            side = value_at(source, row) <= split.low
        rows[left] = row
        other[right] = row
        left += side
        right += 1 - side
    parting.n_left[item] = left - start


cdef void count_classes(
    const Binned* data, Py_ssize_t start, Py_ssize_t stop, int64_t* counts
) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(start, stop):
        counts[data.labels[data.rows[i]]] += weight_of(data.rows[i], data.problem)


cdef struct Counting:
    const Binned* data
    Py_ssize_t start
    Py_ssize_t stop
    Py_ssize_t size
    void** histograms   # one per thread


cdef void count_node(
    const Binned* data, Py_ssize_t start, Py_ssize_t stop, void** histograms, Pool pool
) noexcept nogil:
    """Count rows into the first histogram; the others, one per further thread, are scratch."""
    cdef Counting counting
    cdef Py_ssize_t n = stop - start, n_blocks, thread
    cdef int n_threads = 1
    if pool.n_threads > 1 and n >= SHARED_ROWS and n * data.n_columns >= (
        data.counted.n_cells * pool.n_threads
    ):
        n_threads = pool.n_threads
    n_blocks = (n + COUNTING_ROWS - 1) // COUNTING_ROWS
    counting.data = data
    counting.start = start
    counting.stop = stop
    counting.histograms = histograms
    counting.size = COUNTING_ROWS
    for thread in range(n_threads):
        memset(histograms[thread], 0, size_of(&data.counted))
    if n_threads == 1 and pool.n_threads > 1 and n > ALONE_ROWS:
        pool.run(&count_panel, &counting, data.n_panels)
        return
    if n_threads == 1:
        for thread in range(n_blocks):
            count_block(&counting, thread, 0)
        return
    pool.run(&count_block, &counting, n_blocks)
    for thread in range(1, n_threads):
        add_counts(&data.counted, histograms[0], histograms[thread])


cdef void count_panel(void* context, Py_ssize_t item, int thread) noexcept nogil:
    cdef Counting* counting = <Counting*>context
    cdef const Binned* data = counting.data
    count_rows(
        &data.panels[item], &data.counted, data.rows + counting.start,
        counting.stop - counting.start, counting.histograms[0],
    )


cdef bint discount_node(
    const Binned* data, Py_ssize_t start, Py_ssize_t stop, void* histogram
) noexcept nogil:
    """Subtract rows from a histogram if they are few; return whether that was done."""
    cdef Py_ssize_t p
    if 2 * (stop - start) * data.n_columns > data.counted.n_cells:
        return False
    for p in range(data.n_panels):
        discount_rows(
            &data.panels[p], &data.counted, data.rows + start, stop - start, histogram
        )
    return True


cdef void count_block(void* context, Py_ssize_t item, int thread) noexcept nogil:
    cdef Counting* counting = <Counting*>context
    cdef const Binned* data = counting.data
    cdef Py_ssize_t start = counting.start + item * counting.size, p
    cdef Py_ssize_t stop = min(start + counting.size, counting.stop)
    for p in range(data.n_panels):
        count_rows(
            &data.panels[p], &data.counted, data.rows + start, stop - start,
            counting.histograms[thread],
        )
