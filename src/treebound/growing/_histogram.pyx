"""The sample as codes of one or two bytes, and histograms: the weight of each class in each bin.

Codes are made once, counted and partitioned at large nodes. They are stored in panels of four
columns, so that a row of a sparse node takes one cache line for four counts. Without weights a
count has 32 bits and the rows of a bin are the sum over its classes; of numbers a bin then has its
sum, and in a second integer its rows and its squares, which are for bounds alone and so may be
rounded up. Memory per row: one or two bytes per column, and 10 for the rows, their order and their
labels.
"""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int32_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset
from treebound.growing._layout cimport (
    EXACT, FLOAT32, FLOAT64, LEFT, LOOK, NOMINAL, RIGHT, SQUARES, STRIDE, SUM, allocate, source_of,
    takes, value_at, zeros,
)
from treebound.growing._sorted cimport key_of
from treebound.growing._bins cimport (
    BEYOND, BY_CELL, CHUNK, LANES, Bins, code_block, code_t, look_beyond,
)


cdef extern from "loops.h":
    void cells_of_doubles(
        const char* first, Py_ssize_t stride, Py_ssize_t n, Py_ssize_t width, const double* low,
        const double* rate, const double* top, int32_t* cells,
    ) noexcept nogil
    void cells_of_floats(
        const char* first, Py_ssize_t stride, Py_ssize_t n, Py_ssize_t width, const double* low,
        const double* rate, const double* top, int32_t* cells,
    ) noexcept nogil
    void prefetch(const void* place) noexcept nogil
    uint32_t row_ahead(const uint32_t* row) noexcept nogil
    void count_numbers_by_bytes(
        const uint8_t* codes, const uint32_t* rows, Py_ssize_t n, Py_ssize_t n_more,
        Py_ssize_t ahead, const int64_t* numbers, int n_columns, int64_t** tables,
    ) noexcept nogil
    void count_numbers_by_words(
        const uint16_t* codes, const uint32_t* rows, Py_ssize_t n, Py_ssize_t n_more,
        Py_ssize_t ahead, const int64_t* numbers, int n_columns, int64_t** tables,
    ) noexcept nogil
    void count_pairs_by_bytes(
        const uint8_t* codes, const uint32_t* rows, Py_ssize_t n, Py_ssize_t n_more,
        Py_ssize_t ahead, const int64_t* pairs, int n_columns, int64_t** tables,
    ) noexcept nogil
    void count_pairs_by_words(
        const uint16_t* codes, const uint32_t* rows, Py_ssize_t n, Py_ssize_t n_more,
        Py_ssize_t ahead, const int64_t* pairs, int n_columns, int64_t** tables,
    ) noexcept nogil

cdef enum:
    BLOCK = 512          # rows coded at a time, and
    SIDE_BY_SIDE = 32          # columns: a C-ordered matrix is read once, in the order of memory
    SPARSE = 4           # rows this far apart are prefetched to be counted
    CODING_ROWS = 8192   # coded by a thread at a time
    PARTING_ROWS = 4096
    COUNTING_ROWS = 2048    # counted by a thread at a time, at least,
    ADDED_CELLS = 2048   # counts that a thread adds up at a time
    MAX_THREADS = 256
    TOGETHER = 4096      # panel by panel
    PAIRS = 1024         # the same of numbers


# -- the coded sample ----------------------------------------------------------------------


cdef int arrange(Binned* data, Py_ssize_t n_classes, Py_ssize_t stride) except -1 nogil:
    """Set where codes and counts are stored: four columns of a width are a panel."""
    cdef Py_ssize_t j, n_bins
    cdef Counted* counted = &data.counted
    cdef CodedColumn* column
    cdef Panel* panel
    cdef int width
    counted.n_classes = n_classes
    counted.stride = stride
    data.panels = <Panel*>zeros(data.n_columns, sizeof(Panel))
    for j in range(data.n_columns):
        n_bins = data.columns[j].coder.n_bins
        data.columns[j].width = 1 if n_bins < 256 else 2
        data.columns[j].offset = counted.n_cells
        counted.n_cells += (n_bins + 1) * counted.stride
        data.max_codes = max(data.max_codes, n_bins + 1)
    data.sides = <uint8_t*>allocate(data.max_codes, 1)
    for width in range(1, 3):
        panel = NULL
        for j in range(data.n_columns):
            column = &data.columns[j]
            if column.width != width:
                continue
            if panel == NULL or panel.n_columns == LANES:
                panel = &data.panels[data.n_panels]
                panel.width = width
                data.n_panels += 1
                data.row_bytes += LANES * width
            column.panel = data.n_panels - 1
            column.lane = panel.n_columns
            panel.columns[panel.n_columns] = j
            panel.offsets[panel.n_columns] = column.offset
            panel.n_columns += 1
    return 0


cdef void set_codes(Binned* data, char* place, Py_ssize_t n_rows) noexcept nogil:
    cdef Py_ssize_t p
    for p in range(data.n_panels):
        data.panels[p].codes = place
        place += LANES * data.panels[p].width * n_rows


cdef int start_extents(Binned* data, int n_threads) except -1 nogil:
    cdef Py_ssize_t i
    data.extents = <Extent*>zeros(data.n_columns * n_threads, sizeof(Extent))
    for i in range(data.n_columns * n_threads):
        data.extents[i].least = data.columns[i % data.n_columns].coder.least
        data.extents[i].most = data.columns[i % data.n_columns].coder.most
    return 0


cdef void code_rows(void* context, Py_ssize_t block, int thread) noexcept nogil:
    cdef Binned* data = <Binned*>context
    cdef Py_ssize_t start = block * CODING_ROWS, p, next
    cdef Py_ssize_t stop = min(start + CODING_ROWS, data.n_rows)
    while start < stop:
        next = min(start + BLOCK, stop)
        p = 0
        while p < data.n_panels:
            p += code_panels(data, p, start, next, thread)
        start = next


cdef Py_ssize_t code_panels(
    Binned* data, Py_ssize_t p, Py_ssize_t start, Py_ssize_t stop, int thread
) noexcept nogil:
    """Code some rows of a panel, and of those next to it; return the number of panels."""
    cdef const Panel* panel = &data.panels[p]
    cdef Extent* extents = data.extents + thread * data.n_columns
    cdef Py_ssize_t adjacent = panels_side_by_side(data, p), width = LANES * adjacent, i, j
    cdef int32_t[BLOCK * SIDE_BY_SIDE] cells
    cdef double[SIDE_BY_SIDE] low, rate, top
    cdef const Source* source
    cdef const Coder* coder
    cdef int lane
    if not adjacent:
        for lane in range(panel.n_columns):
            j = panel.columns[lane]
            code_block(
                &data.columns[j].coder, &data.sources[j], start, stop, panel.width,
                <char*>panel.codes + lane * panel.width, &extents[j],
            )
        return 1
    for i in range(width):
        coder = &data.columns[data.panels[p + i // LANES].columns[i % LANES]].coder
        low[i] = coder.low
        rate[i] = coder.rate
        top[i] = <double>(coder.n_cells - 1)
    source = &data.sources[panel.columns[0]]
    (cells_of_doubles if source.type == FLOAT64 else cells_of_floats)(
        source.first + start * source.stride, source.stride, stop - start, width, low, rate, top,
        cells,
    )
    for i in range(adjacent):
        panel = &data.panels[p + i]
        if panel.width == 1:
            find_four(
                data, panel, start, stop - start, cells + LANES * i, width, extents,
                <uint8_t*>panel.codes,
            )
        else:
            find_four(
                data, panel, start, stop - start, cells + LANES * i, width, extents,
                <uint16_t*>panel.codes,
            )
    return adjacent


cdef Py_ssize_t panels_side_by_side(const Binned* data, Py_ssize_t p) noexcept nogil:
    """How many panels from this one on have columns side by side in a matrix, coded by cells."""
    cdef const Source* first = &data.sources[data.panels[p].columns[0]]
    cdef const Source* source
    cdef Py_ssize_t size = sizeof(double) if first.type == FLOAT64 else sizeof(float), i, j
    cdef Py_ssize_t most = min(<Py_ssize_t>SIDE_BY_SIDE, LANES * (data.n_panels - p))
    for i in range(most if first.type <= FLOAT32 else 0):
        j = data.panels[p + i // LANES].columns[i % LANES]
        source = &data.sources[j]
        if (
            data.panels[p + i // LANES].n_columns < LANES
            or data.columns[j].coder.way != BY_CELL
            or source.type != first.type
            or source.stride != first.stride
            or source.first != first.first + i * size
        ):
            return i // LANES
    return most // LANES if first.type <= FLOAT32 else 0


cdef inline void find_four(
    Binned* data, const Panel* panel, Py_ssize_t start, Py_ssize_t n, const int32_t* cells,
    Py_ssize_t stride, Extent* extents, code_t* codes,
) noexcept nogil:
    """Code ``n`` rows of a panel from their cells; ``codes`` begins with row 0."""
    cdef const uint16_t* a = data.columns[panel.columns[0]].coder.cells
    cdef const uint16_t* b = data.columns[panel.columns[1]].coder.cells
    cdef const uint16_t* c = data.columns[panel.columns[2]].coder.cells
    cdef const uint16_t* d = data.columns[panel.columns[3]].coder.cells
    cdef uint16_t[LANES] four
    cdef Py_ssize_t i, j
    cdef int lane
    codes += LANES * start
    for i in range(n):
        four[0] = a[cells[0]]
        four[1] = b[cells[1]]
        four[2] = c[cells[2]]
        four[3] = d[cells[3]]
        if (four[0] | four[1] | four[2] | four[3]) & BEYOND:
            for lane in range(LANES):
                j = panel.columns[lane]
                if four[lane] & BEYOND:
                    four[lane] = look_beyond(
                        &data.columns[j].coder, four[lane], value_at(&data.sources[j], start + i),
                        &extents[j],
                    )
        for lane in range(LANES):
            codes[lane] = <code_t>four[lane]
        codes += LANES
        cells += stride


cdef void join_extents(Binned* data, int n_threads) noexcept nogil:
    """Put the extents of all threads together in those of the first."""
    cdef Py_ssize_t i
    cdef Extent* first
    for i in range(data.n_columns, data.n_columns * n_threads):
        first = &data.extents[i % data.n_columns]
        first.least = min(first.least, data.extents[i].least)
        first.most = max(first.most, data.extents[i].most)
        first.missing |= data.extents[i].missing


cdef void set_ranges(Binned* data, const void* histogram, Pool pool) noexcept nogil:
    """Set the range of each column in the rows of the root, and whether it is missing there."""
    cdef Py_ssize_t j, n_bins
    cdef KernelSplit ends
    for j in range(data.n_columns):
        n_bins = data.columns[j].coder.n_bins
        data.sources[j].may_miss |= is_counted(data, j, n_bins, histogram)
        data.sources[j].span = 0.0
        ends.column = j
        ends.follow = 0
        ends.bin = n_bins - 1
        while ends.follow < n_bins and not is_counted(data, j, ends.follow, histogram):
            ends.follow += 1
        while ends.bin > ends.follow and not is_counted(data, j, ends.bin, histogram):
            ends.bin -= 1
        if ends.follow < n_bins:
            find_bounds(data, 0, data.problem.n_rows, &ends, pool)
            data.sources[j].span = ends.low - ends.high


cdef bint is_counted(
    const Binned* data, Py_ssize_t j, Py_ssize_t bin, const void* histogram
) noexcept nogil:
    """Return True if a bin of a column has rows."""
    cdef Py_ssize_t cell = data.columns[j].offset + bin * data.counted.stride
    if data.counted.weights == NULL:
        return rows_in(<const uint32_t*>histogram + cell, data.counted.n_classes) > 0
    if data.counted.row_bits:
        return (<const int64_t*>histogram)[cell + 1] != 0
    return rows_in(<const int64_t*>histogram + cell, data.counted.n_classes) > 0


# -- at every node -------------------------------------------------------------------------


cdef const char* codes_of(const Binned* data, Py_ssize_t j) noexcept nogil:
    """The code of the first row in a column; the next row is four codes later."""
    cdef const CodedColumn* column = &data.columns[j]
    return <const char*>data.panels[column.panel].codes + column.lane * column.width


cdef inline Py_ssize_t code_in(const char* codes, int width, size_t row) noexcept nogil:
    if width == 1:
        return (<const uint8_t*>codes)[LANES * row]
    return (<const uint16_t*>codes)[LANES * row]


cdef struct Looking:
    # A search for the ends of two bins.
    const Binned* data
    const KernelSplit* split
    Py_ssize_t start
    Py_ssize_t stop
    Py_ssize_t size          # of a block
    double low[MAX_BLOCKS]  # by block
    double high[MAX_BLOCKS]


cdef void find_bounds(
    const Binned* data, Py_ssize_t start, Py_ssize_t stop, KernelSplit* split, Pool pool
) noexcept nogil:
    """The largest value of ``split.bin`` and the smallest of ``split.follow``."""
    cdef const Coder* coder = &data.columns[split.column].coder
    cdef Py_ssize_t n_blocks = blocks_of(stop - start, PARTING_ROWS, pool), block
    cdef Looking looking
    if coder.single[split.bin] and coder.single[split.follow]:
        split.low = coder.values[split.bin]
        split.high = coder.values[split.follow]
        return
    looking.data = data
    looking.split = split
    looking.start = start
    looking.stop = stop
    looking.size = (stop - start + n_blocks - 1) // n_blocks
    pool.run(&look_for_ends, &looking, n_blocks)
    split.low = -INFINITY
    split.high = INFINITY
    for block in range(n_blocks):
        split.low = max(split.low, looking.low[block])
        split.high = min(split.high, looking.high[block])


cdef void look_for_ends(void* context, Py_ssize_t block, int thread) noexcept nogil:
    cdef Looking* looking = <Looking*>context
    cdef const Binned* data = looking.data
    cdef const KernelSplit* split = looking.split
    cdef const Source* source = &data.sources[split.column]
    cdef const char* codes = codes_of(data, split.column)
    cdef int width = data.columns[split.column].width
    cdef Py_ssize_t first = looking.start + block * looking.size, i, code
    cdef double low = -INFINITY, high = INFINITY
    for i in range(first, min(first + looking.size, looking.stop)):
        code = code_in(codes, width, data.rows[i])
        if code == split.bin:
            low = max(low, value_at(source, data.rows[i]))
        if code == split.follow:
            high = min(high, value_at(source, data.rows[i]))
    looking.low[block] = low
    looking.high[block] = high


cdef Py_ssize_t blocks_of(Py_ssize_t n, Py_ssize_t least, Pool pool) noexcept nogil:
    """Into how many blocks rows are divided for threads; one for one thread."""
    cdef Py_ssize_t n_blocks = min(n // least, 4 * pool.n_threads, <Py_ssize_t>MAX_BLOCKS)
    if pool.n_threads == 1:
        return 1
    if n_blocks > pool.n_threads:  # the same number for each
        n_blocks -= n_blocks % pool.n_threads
    return max(1, n_blocks)


cdef struct Parting:
    Binned* data
    const KernelSplit* split
    Py_ssize_t start
    Py_ssize_t stop
    Py_ssize_t size                      # of a block
    Py_ssize_t n_left[MAX_BLOCKS]       # by block
    Py_ssize_t left[MAX_BLOCKS]         # where its rows go in the end
    Py_ssize_t right[MAX_BLOCKS]


cdef Py_ssize_t part_binned(
    Binned* data, Py_ssize_t start, Py_ssize_t stop, const KernelSplit* split, Pool pool
) noexcept nogil:
    """Partition the rows by child, keeping their order; return how many go left."""
    # Blocks are partitioned into the buffer, then all are copied back, each to its place.
    cdef Py_ssize_t n = stop - start, n_blocks = blocks_of(n, PARTING_ROWS, pool)
    cdef Py_ssize_t block, left = start, right = start, size
    cdef Parting parting
    set_sides(data, split)
    parting.data = data
    parting.split = split
    parting.start = start
    parting.stop = stop
    parting.size = (n + n_blocks - 1) // n_blocks
    if n_blocks == 1:
        part_block(&parting, 0, 0)
        left += parting.n_left[0]
        memcpy(data.rows + left, data.other + start, (stop - left) * sizeof(uint32_t))
        return left - start
    pool.run(&divide_block, &parting, n_blocks)
    for block in range(n_blocks):
        right += parting.n_left[block]
    for block in range(n_blocks):
        size = max(min(parting.size, n - block * parting.size), 0)
        parting.left[block] = left
        parting.right[block] = right
        left += parting.n_left[block]
        right += size - parting.n_left[block]
    pool.run(&join_block, &parting, n_blocks)
    return left - start


cdef void join_block(void* context, Py_ssize_t block, int thread) noexcept nogil:
    """Copy the rows of a block from the buffer to their places; the right side is in reverse order."""
    cdef Parting* parting = <Parting*>context
    cdef const uint32_t* other = parting.data.other
    cdef uint32_t* right = parting.data.rows + parting.right[block]
    cdef Py_ssize_t first = min(parting.start + block * parting.size, parting.stop), i
    cdef Py_ssize_t stop = min(first + parting.size, parting.stop)
    memcpy(
        parting.data.rows + parting.left[block], other + first,
        parting.n_left[block] * sizeof(uint32_t),
    )
    for i in range(stop - first - parting.n_left[block]):
        right[i] = other[stop - 1 - i]


cdef void set_sides(const Binned* data, const KernelSplit* split) noexcept nogil:
    """The side of each code."""
    cdef Py_ssize_t missing = data.columns[split.column].coder.n_bins, code
    memset(data.sides, RIGHT, missing + 1)
    if data.sources[split.column].kind == NOMINAL:
        for code in range(missing + 1):
            data.sides[code] = LEFT if takes(split, code) else RIGHT
        return
    memset(data.sides, LEFT, split.bin + 1)
    if split.inside:
        data.sides[split.bin] = LOOK
    data.sides[missing] = LEFT if split.missing_left else RIGHT


cdef void part_block(void* context, Py_ssize_t block, int thread) noexcept nogil:
    """Partition rows: left ones stay in front, right ones go into the buffer."""
    cdef Parting* parting = <Parting*>context
    cdef Binned* data = parting.data
    cdef uint8_t[CHUNK] sides
    cdef Py_ssize_t start = parting.start, next, i
    cdef uint32_t* left = data.rows + start
    cdef uint32_t* right = data.other + start
    cdef uint32_t row
    # invariant: left and right are the ends of the rows up to start, each in their order
    while start < parting.stop:
        next = min(start + CHUNK, parting.stop)
        find_sides(data, parting.split, start, next, sides)
        for i in range(start, next):
            row = data.rows[i]
            left[0] = row
            right[0] = row
            left += sides[i - start]
            right += 1 - sides[i - start]
        start = next
    parting.n_left[0] = left - (data.rows + parting.start)


cdef void divide_block(void* context, Py_ssize_t block, int thread) noexcept nogil:
    """Partition a block into the buffer: left rows from its beginning, right ones from its end."""
    cdef Parting* parting = <Parting*>context
    cdef Binned* data = parting.data
    cdef uint8_t[CHUNK] sides
    cdef Py_ssize_t first = min(parting.start + block * parting.size, parting.stop)
    cdef Py_ssize_t stop = min(first + parting.size, parting.stop), start = first, next, i
    cdef uint32_t* left = data.other + first
    cdef uint32_t* right = data.other + stop - 1
    cdef uint32_t row
    while start < stop:
        next = min(start + CHUNK, stop)
        find_sides(data, parting.split, start, next, sides)
        for i in range(start, next):
            row = data.rows[i]
            left[0] = row
            right[0] = row
            left += sides[i - start]
            right -= 1 - sides[i - start]
        start = next
    parting.n_left[block] = left - (data.other + first)


cdef void find_sides(
    const Binned* data, const KernelSplit* split, Py_ssize_t start, Py_ssize_t stop, uint8_t* sides
) noexcept nogil:
    """Mark which of up to CHUNK rows go left."""
    if data.columns[split.column].width == 1:
        find_sides_of(data, split, start, stop, 1, sides)
    else:
        find_sides_of(data, split, start, stop, 2, sides)


cdef inline void find_sides_of(
    const Binned* data, const KernelSplit* split, Py_ssize_t start, Py_ssize_t stop, int width,
    uint8_t* sides,
) noexcept nogil:
    # Values are read together: one after the other, each would be waited for.
    cdef const char* codes = codes_of(data, split.column)
    cdef const uint32_t* rows = data.rows + start
    cdef uint16_t[CHUNK] places
    cdef Py_ssize_t i, n_look = 0
    for i in range(stop - start):
        prefetch(codes + LANES * width * <size_t>row_ahead(rows + i + AHEAD))
        sides[i] = data.sides[code_in(codes, width, rows[i])]
        places[n_look] = <uint16_t>i
        n_look += sides[i] == LOOK
    for i in range(n_look):
        sides[places[i]] = value_at(&data.sources[split.column], rows[places[i]]) <= split.low


cdef struct Counting:
    const Binned* data
    Py_ssize_t start
    Py_ssize_t stop
    Py_ssize_t size             # of a block
    void** histograms           # one per thread
    int n_threads
    bint used[MAX_THREADS]     # by thread: whether it has counted


cdef void count_node(
    const Binned* data, Py_ssize_t start, Py_ssize_t stop, void** histograms, Pool pool
) noexcept nogil:
    """Count rows into the first histogram; one more per further thread is scratch."""
    cdef Counting counting
    cdef Py_ssize_t n = stop - start, n_blocks = blocks_of(n, COUNTING_ROWS, pool), cells
    cdef int t, n_used = 0
    # threads save time where rows take longer to count than histograms to add
    if n * data.n_columns < 4 * data.counted.n_cells:
        n_blocks = 1
    counting.data = data
    counting.start = start
    counting.stop = stop
    counting.size = (n + n_blocks - 1) // n_blocks
    counting.histograms = histograms
    counting.n_threads = min(pool.n_threads, <int>MAX_THREADS)
    memset(counting.used, 0, sizeof(counting.used))
    if n_blocks == 1:
        count_block(&counting, 0, 0)
        return
    pool.run(&count_block, &counting, n_blocks)
    if not counting.used[0]:
        memset(histograms[0], 0, size_of(&data.counted))
    for t in range(1, counting.n_threads):
        n_used += counting.used[t]
    cells = data.counted.n_cells
    if n_used * cells >= 8 * ADDED_CELLS:
        pool.run(&add_up, &counting, (cells + ADDED_CELLS - 1) // ADDED_CELLS)
    elif n_used:
        for t in range((cells + ADDED_CELLS - 1) // ADDED_CELLS):
            add_up(&counting, t, 0)


cdef void count_block(void* context, Py_ssize_t block, int thread) noexcept nogil:
    cdef Counting* counting = <Counting*>context
    cdef const Binned* data = counting.data
    cdef Py_ssize_t start = min(counting.start + block * counting.size, counting.stop)
    cdef Py_ssize_t stop = min(start + counting.size, counting.stop)
    if not counting.used[thread]:
        memset(counting.histograms[thread], 0, size_of(&data.counted))
        counting.used[thread] = True
    count_rows(data, data.rows + start, stop - start, counting.histograms[thread])


cdef void add_up(void* context, Py_ssize_t chunk, int thread) noexcept nogil:
    """Add some cells of all histograms that were used to those of the first."""
    cdef Counting* counting = <Counting*>context
    cdef const Counted* counted = &counting.data.counted
    cdef Py_ssize_t first = chunk * ADDED_CELLS
    cdef Py_ssize_t n = min(<Py_ssize_t>ADDED_CELLS, counted.n_cells - first)
    cdef size_t place = first * (sizeof(uint32_t) if counted.weights == NULL else sizeof(int64_t))
    cdef int t
    for t in range(1, counting.n_threads):
        if counting.used[t]:
            add_cells(
                counted, <char*>counting.histograms[0] + place,
                <const char*>counting.histograms[t] + place, n, False,
            )


# -- rows of some bins -----------------------------------------------------------------------


cdef void gather(
    const Binned* data, Py_ssize_t j, Py_ssize_t start, Py_ssize_t stop, const uint8_t* wanted,
    Py_ssize_t n_rows, const Gathered* to,
) noexcept nogil:
    """The ``n_rows`` rows of wanted bins; ``to.rows`` needs room for one more."""
    find_wanted(data, j, start, stop, wanted, to.rows)
    read_wanted(data, j, 0, n_rows, to)


cdef struct Gathering:
    # Rows of wanted bins that threads gather, group by group.
    const Binned* data
    Py_ssize_t column
    const uint8_t* wanted           # the group of a code, from 1 on; or 0
    Py_ssize_t n_groups
    const Gathered* to
    Py_ssize_t start
    Py_ssize_t stop
    Py_ssize_t size                 # of a block
    Py_ssize_t n_found[MAX_BLOCKS]  # by block
    uint32_t* places                # by block and group: first rows, then where the next one goes


cdef void gather_groups(
    const Binned* data, Py_ssize_t j, Py_ssize_t start, Py_ssize_t stop, const uint8_t* wanted,
    Py_ssize_t n_groups, uint32_t* places, const Gathered* to, Pool pool,
) noexcept nogil:
    """Gather the rows of each group of bins in threads, one group after the other."""
    # Those of a group are in order. This uses the node's part of the buffer for partitions, and
    # ``places``, which has MAX_BLOCKS entries for each group.
    cdef Gathering gathering
    cdef Py_ssize_t n_blocks = blocks_of(stop - start, PARTING_ROWS, pool), block, group
    cdef uint32_t first = 0, n
    gathering.data = data
    gathering.column = j
    gathering.wanted = wanted
    gathering.n_groups = n_groups
    gathering.to = to
    gathering.start = start
    gathering.stop = stop
    gathering.size = (stop - start + n_blocks - 1) // n_blocks
    gathering.places = places
    pool.run(&find_block, &gathering, n_blocks)
    for group in range(n_groups):
        for block in range(n_blocks):
            n = places[block * n_groups + group]
            places[block * n_groups + group] = first
            first += n
    pool.run(&read_block, &gathering, n_blocks)


cdef void find_block(void* context, Py_ssize_t block, int thread) noexcept nogil:
    cdef Gathering* gathering = <Gathering*>context
    cdef const Binned* data = gathering.data
    cdef Py_ssize_t start = min(gathering.start + block * gathering.size, gathering.stop), n, i
    cdef const uint32_t* wanted_rows = data.other + start
    cdef uint32_t* counts = gathering.places + block * gathering.n_groups
    cdef const char* codes = codes_of(data, gathering.column)
    cdef int width = data.columns[gathering.column].width
    n = find_wanted(
        data, gathering.column, start, min(start + gathering.size, gathering.stop),
        gathering.wanted, data.other + start,
    )
    memset(counts, 0, gathering.n_groups * sizeof(uint32_t))
    for i in range(n):
        counts[gathering.wanted[code_in(codes, width, wanted_rows[i])] - 1] += 1
    gathering.n_found[block] = n


cdef void read_block(void* context, Py_ssize_t block, int thread) noexcept nogil:
    cdef Gathering* gathering = <Gathering*>context
    cdef const Binned* data = gathering.data
    cdef Py_ssize_t start = min(gathering.start + block * gathering.size, gathering.stop), i, place
    cdef const uint32_t* wanted_rows = data.other + start
    cdef uint32_t* places = gathering.places + block * gathering.n_groups
    cdef const char* codes = codes_of(data, gathering.column)
    cdef const Source* source = &data.sources[gathering.column]
    cdef int width = data.columns[gathering.column].width, group
    for i in range(gathering.n_found[block]):
        place = min(i + AHEAD, gathering.n_found[block] - 1)
        prefetch(source.first + wanted_rows[place] * source.stride)
        group = gathering.wanted[code_in(codes, width, wanted_rows[i])] - 1
        gathering.to.rows[places[group]] = wanted_rows[i]
        read_wanted(data, gathering.column, places[group], places[group] + 1, gathering.to)
        places[group] += 1


cdef Py_ssize_t find_wanted(
    const Binned* data, Py_ssize_t j, Py_ssize_t start, Py_ssize_t stop, const uint8_t* wanted,
    uint32_t* wanted_rows,
) noexcept nogil:
    """Collect the rows of wanted bins, in order; return how many they are."""
    # One place after the last may be written, but none after as many as there are rows.
    cdef const char* codes = codes_of(data, j)
    cdef const uint32_t* rows = data.rows + start
    cdef Py_ssize_t n = stop - start
    cdef bint sparse = n > 0 and rows[n - 1] - rows[0] > SPARSE * n
    if data.columns[j].width == 2:
        return find_wanted_of(codes, 2, rows, n, True, wanted, wanted_rows)
    if sparse:
        return find_wanted_of(codes, 1, rows, n, True, wanted, wanted_rows)
    return find_wanted_of(codes, 1, rows, n, False, wanted, wanted_rows)


cdef inline Py_ssize_t find_wanted_of(
    const char* codes, int width, const uint32_t* rows, Py_ssize_t n, bint ahead,
    const uint8_t* wanted, uint32_t* wanted_rows,
) noexcept nogil:
    cdef Py_ssize_t i, n_wanted = 0
    for i in range(n):
        if ahead:
            prefetch(codes + LANES * width * <size_t>row_ahead(rows + i + AHEAD))
        wanted_rows[n_wanted] = rows[i]
        n_wanted += wanted[code_in(codes, width, rows[i])] > 0
    return n_wanted


cdef inline void read_wanted(
    const Binned* data, Py_ssize_t j, Py_ssize_t first, Py_ssize_t stop, const Gathered* to
) noexcept nogil:
    """Read keys, labels and weights of gathered rows."""
    cdef const Source* source = &data.sources[j]
    cdef const Problem* problem = data.problem
    cdef Py_ssize_t i
    cdef size_t row
    for i in range(first, stop):
        row = to.rows[min(i + AHEAD, stop - 1)]
        prefetch(source.first + row * source.stride)
        if problem.numbers != NULL:
            prefetch(problem.numbers + STRIDE * row)
        row = to.rows[i]
        to.keys[i] = key_of(value_at(source, row))
        to.labels[i] = 0 if problem.numbers != NULL else data.counted.labels[row]
        if problem.weights != NULL:
            to.weights[i] = problem.weights[row]
        if problem.numbers != NULL:
            memcpy(
                to.numbers + STRIDE * i, problem.numbers + STRIDE * row, STRIDE * sizeof(int64_t)
            )


# -- counts ----------------------------------------------------------------------------------


cdef size_t size_of(const Counted* counted) noexcept nogil:
    """Size of a histogram in bytes, a multiple of eight."""
    return (counted.n_cells + (counted.n_cells & 1)) * (
        sizeof(uint32_t) if counted.weights == NULL else sizeof(int64_t)
    )


cdef void count_rows(
    const Binned* data, const uint32_t* rows, Py_ssize_t n_rows, void* histogram
) noexcept nogil:
    """Add rows to a histogram."""
    cdef uint16_t[TOGETHER] labels  # read once, not once a panel
    cdef const Panel* panel
    cdef Py_ssize_t start = 0, n, i, p
    if data.counted.row_bits:
        count_in_pairs(data, rows, n_rows, <int64_t*>histogram)
        return
    while start < n_rows:
        n = min(<Py_ssize_t>TOGETHER, n_rows - start)
        for i in range(n if data.counted.numbers == NULL else 0):
            labels[i] = data.counted.labels[rows[start + i]]
        for p in range(data.n_panels):
            panel = &data.panels[p]
            if data.counted.numbers != NULL:
                count_numbers(
                    panel, data.counted.numbers, rows + start, n, n_rows - start,
                    <int64_t*>histogram,
                )
            elif panel.width == 1:
                count_codes(
                    panel, &data.counted, rows + start, labels, n, n_rows - start, histogram,
                    <const uint8_t*>panel.codes,
                )
            else:
                count_codes(
                    panel, &data.counted, rows + start, labels, n, n_rows - start, histogram,
                    <const uint16_t*>panel.codes,
                )
        start += n


cdef inline void count_codes(
    const Panel* panel, const Counted* counted, const uint32_t* rows, const uint16_t* labels,
    Py_ssize_t n_rows, Py_ssize_t n_more, void* histogram, const code_t* codes,
) noexcept nogil:
    cdef uint32_t* counts = <uint32_t*>histogram
    cdef int lane
    if counted.weights != NULL:
        for lane in range(panel.n_columns):
            count_weights(
                codes + lane, counted, rows, labels, n_rows,
                <int64_t*>histogram + panel.offsets[lane],
            )
    elif panel.n_columns == LANES and counted.n_classes == 2:
        count_four(panel, 2, rows, labels, n_rows, n_more, counts, codes)
    elif panel.n_columns == LANES:
        count_four(panel, counted.n_classes, rows, labels, n_rows, n_more, counts, codes)
    else:
        for lane in range(panel.n_columns):
            count_column(
                codes + lane, counted.n_classes, rows, labels, n_rows,
                counts + panel.offsets[lane],
            )


cdef inline void count_four(
    const Panel* panel, Py_ssize_t n_classes, const uint32_t* rows, const uint16_t* labels,
    Py_ssize_t n_rows, Py_ssize_t n_more, uint32_t* histogram, const code_t* codes,
) noexcept nogil:
    cdef uint32_t* a = histogram + panel.offsets[0]
    cdef uint32_t* b = histogram + panel.offsets[1]
    cdef uint32_t* c = histogram + panel.offsets[2]
    cdef uint32_t* d = histogram + panel.offsets[3]
    cdef Py_ssize_t i
    if rows[n_rows - 1] - rows[0] > SPARSE * n_rows:
        for i in range(n_rows):
            prefetch(codes + LANES * <size_t>rows[min(i + AHEAD, n_more - 1)])
            count_row(codes + LANES * <size_t>rows[i], labels[i], n_classes, a, b, c, d)
        return
    for i in range(n_rows):
        count_row(codes + LANES * <size_t>rows[i], labels[i], n_classes, a, b, c, d)


cdef inline void count_row(
    const code_t* code, Py_ssize_t label, Py_ssize_t n_classes, uint32_t* a, uint32_t* b,
    uint32_t* c, uint32_t* d,
) noexcept nogil:
    a[code[0] * n_classes + label] += 1
    b[code[1] * n_classes + label] += 1
    c[code[2] * n_classes + label] += 1
    d[code[3] * n_classes + label] += 1


cdef inline void count_column(
    const code_t* codes, Py_ssize_t n_classes, const uint32_t* rows, const uint16_t* labels,
    Py_ssize_t n_rows, uint32_t* table,
) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n_rows):
        table[codes[LANES * <size_t>rows[i]] * n_classes + labels[i]] += 1


cdef inline void count_weights(
    const code_t* codes, const Counted* counted, const uint32_t* rows, const uint16_t* labels,
    Py_ssize_t n_rows, int64_t* table,
) noexcept nogil:
    cdef Py_ssize_t n_classes = counted.n_classes, i
    cdef int64_t* cell
    for i in range(n_rows):
        cell = table + codes[LANES * <size_t>rows[i]] * (n_classes + 1)
        cell[labels[i]] += counted.weights[rows[i]]
        cell[n_classes] += 1


cdef void count_numbers(
    const Panel* panel, const int64_t* numbers, const uint32_t* rows, Py_ssize_t n_rows,
    Py_ssize_t n_more, int64_t* histogram,
) noexcept nogil:
    """Add the channels of rows, and the rows themselves: as many as a bin has counts."""
    cdef int64_t* tables[LANES]
    cdef Py_ssize_t ahead = AHEAD if rows[n_rows - 1] - rows[0] > SPARSE * n_rows else 0
    cdef int lane
    for lane in range(LANES):
        tables[lane] = histogram + panel.offsets[lane]
    if panel.width == 1:
        count_numbers_by_bytes(
            <const uint8_t*>panel.codes, rows, n_rows, n_more, ahead, numbers, panel.n_columns,
            tables,
        )
    else:
        count_numbers_by_words(
            <const uint16_t*>panel.codes, rows, n_rows, n_more, ahead, numbers, panel.n_columns,
            tables,
        )


cdef void count_in_pairs(
    const Binned* data, const uint32_t* rows, Py_ssize_t n_rows, int64_t* histogram
) noexcept nogil:
    """The same of rows without weights, in half of the memory."""
    cdef int64_t[2 * PAIRS] pairs
    cdef int64_t* tables[LANES]
    cdef const Panel* panel
    cdef Py_ssize_t start = 0, ahead = 0, n, p
    cdef int lane
    if n_rows and rows[n_rows - 1] - rows[0] >= n_rows:
        ahead = AHEAD
    while start < n_rows:
        n = min(<Py_ssize_t>PAIRS, n_rows - start)
        make_pairs(&data.counted, rows + start, n, n_rows - start, pairs)
        for p in range(data.n_panels):
            panel = &data.panels[p]
            for lane in range(LANES):
                tables[lane] = histogram + panel.offsets[lane]
            if panel.width == 1:
                count_pairs_by_bytes(
                    <const uint8_t*>panel.codes, rows + start, n, n_rows - start, ahead, pairs,
                    panel.n_columns, tables,
                )
            else:
                count_pairs_by_words(
                    <const uint16_t*>panel.codes, rows + start, n, n_rows - start, ahead, pairs,
                    panel.n_columns, tables,
                )
        start += n


cdef void make_pairs(
    const Counted* counted, const uint32_t* rows, Py_ssize_t n, Py_ssize_t n_more, int64_t* pairs
) noexcept nogil:
    """Sum, and squares and one row in one integer, of ``n`` of ``n_more`` rows."""
    cdef const int64_t* numbers = counted.numbers
    cdef const int64_t* row
    cdef int64_t up = (<int64_t>1 << counted.pair_shift) - 1  # squares are rounded up
    cdef Py_ssize_t i
    for i in range(n):
        prefetch(numbers + STRIDE * <size_t>rows[min(i + AHEAD, n_more - 1)])
        row = numbers + STRIDE * <size_t>rows[i]
        pairs[2 * i] = row[SUM]
        pairs[2 * i + 1] = (
            (((row[SQUARES] + up) >> counted.pair_shift) << counted.row_bits) + 1
        )


cdef void add_counts(
    const Counted* counted, void* to, const void* added, bint subtract
) noexcept nogil:
    """Add the counts of a histogram to those of another, or subtract them."""
    add_cells(counted, to, added, counted.n_cells, subtract)


cdef void add_cells(
    const Counted* counted, void* to, const void* added, Py_ssize_t n, bint subtract
) noexcept nogil:
    cdef Py_ssize_t i, sign = -1 if subtract else 1
    if counted.weights == NULL:
        for i in range(n):
            (<uint32_t*>to)[i] += <uint32_t>sign * (<const uint32_t*>added)[i]
    else:
        for i in range(n):
            (<int64_t*>to)[i] += sign * (<const int64_t*>added)[i]


# -- one shard -------------------------------------------------------------------------------
# Its codes are an array. The rows of a node are side by side in ``rows``, those of slot ``s`` from
# ``starts[s]`` on.


cdef class CodedBins:
    """The layout of codes and counts of rows that are coded in some bins."""

    def __cinit__(self, Bins bins, Py_ssize_t n_classes, Py_ssize_t stride):
        cdef Py_ssize_t j
        self.arrays = (bins,)
        self.data.n_columns = bins.n_columns
        self.data.columns = <CodedColumn*>zeros(bins.n_columns, sizeof(CodedColumn))
        self.data.sources = self.sources = <Source*>zeros(bins.n_columns, sizeof(Source))
        for j in range(bins.n_columns):
            self.data.columns[j].coder = bins.coders[j]
        arrange(&self.data, n_classes, stride)

    def __dealloc__(self):
        free(self.data.columns)
        free(self.data.panels)
        free(self.data.sides)
        free(self.data.extents)
        free(self.sources)

    cdef Binned* of(self, codes, single=None) except NULL:
        """The rows with these codes; ``single`` marks the bins of a column with one value."""
        cdef uint8_t[::1] flags
        cdef Py_ssize_t j
        self.arrays += (codes, single)
        for j in range(0 if single is None else self.data.n_columns):
            flags = single[j]
            self.data.columns[j].coder.single = &flags[0]
        self.data.n_rows = len(codes) // max(self.data.row_bytes, 1)
        set_codes(&self.data, <char*><size_t>codes.ctypes.data, self.data.n_rows)
        return &self.data


def code_shard(Bins bins, columns, Py_ssize_t n_rows, Pool pool=None):
    """The codes of some rows, and facts about these rows."""
    # The least and the greatest value of every column, of these rows and those of the bins; whether
    # values are missing; which bins hold one value only.
    cdef CodedBins coded = CodedBins(bins, 1, 1)
    cdef Py_ssize_t j, unused = 0
    for j in range(coded.data.n_panels):
        unused += LANES - coded.data.panels[j].n_columns
    empty = np.zeros if unused else np.empty  # bytes of no column are zero
    codes = empty(n_rows * coded.data.row_bytes, dtype=np.uint8)
    cdef list single = [bins.single(j) for j in range(bins.n_columns)]
    cdef Binned* data = coded.of(codes, single)
    pool = pool or Pool(1)
    for j in range(bins.n_columns):
        data.sources[j] = source_of(columns[j], bins.kinds[j])
    start_extents(data, pool.n_threads)
    with nogil:
        pool.run(&code_rows, data, (data.n_rows + CODING_ROWS - 1) // CODING_ROWS)
        join_extents(data, pool.n_threads)
    ends = [(data.extents[j].least, data.extents[j].most) for j in range(bins.n_columns)]
    missing = [bool(data.extents[j].missing) for j in range(bins.n_columns)]
    return codes, np.array(ends).reshape(-1, 2), np.array(missing, dtype=bool), single


def column_codes(Bins bins, codes, Py_ssize_t j):
    """The codes of a column; -1 where it is missing."""
    cdef CodedBins coded = CodedBins(bins, 1, 1)
    cdef Binned* data = coded.of(codes)
    cdef int32_t[::1] numbers = np.empty(data.n_rows, dtype=np.int32)
    cdef Py_ssize_t i, code
    for i in range(data.n_rows):
        code = code_in(codes_of(data, j), data.columns[j].width, i)
        numbers[i] = <int32_t>code if code < data.columns[j].coder.n_bins else -1
    return np.asarray(numbers)


def count_shard(
    Bins bins, codes, const uint16_t[::1] labels, const int64_t[::1] units,
    const int64_t[:, ::1] numbers, const uint32_t[::1] rows, const int64_t[::1] starts,
    const int32_t[::1] slots, Py_ssize_t n_channels, table,
):
    """Add the rows of some nodes to their histograms, the rows of ``table``."""
    # A row has a label and perhaps a weight, or it has numbers: its channels and 1. Counts are of 32
    # bits without weights and numbers; else of 64, and after the channels of a bin come its rows.
    cdef bint wide = units is not None or numbers is not None
    cdef CodedBins coded = CodedBins(bins, n_channels, n_channels + wide)
    cdef Binned* data = coded.of(codes)
    cdef char* cells = <char*><size_t>table.ctypes.data
    cdef size_t size = table.strides[0]
    cdef Py_ssize_t i, s
    if table.shape[1] != data.counted.n_cells:
        raise ValueError("the table has not one cell for each bin and channel")
    if numbers is None:
        data.counted.labels = &labels[0]
        data.counted.weights = NULL if units is None else &units[0]
    else:
        data.counted.numbers = &numbers[0, 0]
    with nogil:
        for i in range(slots.shape[0]):
            s = slots[i]
            count_rows(data, &rows[0] + starts[s], starts[s + 1] - starts[s], cells + i * size)


cdef inline Py_ssize_t last_from(
    const uint64_t[::1] low, Py_ssize_t start, Py_ssize_t stop, uint64_t key
) noexcept nogil:
    """The last interval that does not begin after a key, or the first."""
    cdef Py_ssize_t middle
    # invariant: intervals from ``stop`` on begin after the key, ``start`` does not or is the first
    while stop - start > 1:
        middle = (start + stop) // 2
        if low[middle] <= key:
            start = middle
        else:
            stop = middle
    return start


def look_into_shard(
    Bins bins, codes, const uint16_t[::1] labels, const int64_t[::1] units,
    const int64_t[:, ::1] numbers, const uint32_t[::1] rows, const int64_t[::1] starts,
    Py_ssize_t column, values,
    const int32_t[::1] slots, const int32_t[:, ::1] first, const uint64_t[::1] low,
    const uint64_t[::1] high, const uint64_t[::1] guide, const uint8_t[::1] shift,
    const int32_t[::1] place, int64_t[:, :, ::1] slices,
):
    """Rows of intervals of a column: counted by slices of the interval, or with their values."""
    # The intervals of a node in a bin are those from first[node, bin] to first[node, bin + 1], with
    # keys from low to high. A key is in slice (key - guide) >> shift of its interval, or in the
    # first or last one; the slices are at place. A shift of 255 requests the values: intervals,
    # keys and rows are returned.
    cdef CodedBins coded = CodedBins(bins, 1, 1)
    cdef const char* first_code = codes_of(coded.of(codes), column)
    cdef int width = coded.data.columns[column].width
    cdef Py_ssize_t n_channels = slices.shape[2] - 1, most = 0, n_exact = 0, g, i, code, at, slice, k
    cdef uint64_t last_slice = slices.shape[1] - 1
    cdef Source source = source_of(values, 0)
    cdef bint weighted = units is not None, of_classes = numbers is None
    cdef uint64_t key
    cdef uint32_t row
    for g in range(slots.shape[0]):
        most += starts[slots[g] + 1] - starts[slots[g]]
    cdef int32_t[::1] intervals = np.empty(most, dtype=np.int32)
    cdef uint64_t[::1] keys = np.empty(most, dtype=np.uint64)
    cdef uint32_t[::1] ids = np.empty(most, dtype=np.uint32)
    cdef Py_ssize_t n_bins = first.shape[1] - 1
    with nogil:
        for g in range(slots.shape[0]):
            for i in range(starts[slots[g]], starts[slots[g] + 1]):
                row = rows[i]
                code = code_in(first_code, width, row)
                if code >= n_bins or first[g, code] == first[g, code + 1]:
                    continue
                key = key_of(value_at(&source, row))
                at = last_from(low, first[g, code], first[g, code + 1], key)
                if key < low[at] or key > high[at]:
                    continue
                if shift[at] == EXACT:
                    intervals[n_exact] = <int32_t>at
                    keys[n_exact] = key
                    ids[n_exact] = row
                    n_exact += 1
                    continue
                slice = 0
                if key > guide[at]:
                    slice = <Py_ssize_t>min((key - guide[at]) >> shift[at], last_slice)
                if of_classes:
                    slices[place[at], slice, labels[row]] += units[row] if weighted else 1
                    slices[place[at], slice, n_channels] += 1
                    continue
                for k in range(n_channels + 1):
                    slices[place[at], slice, k] += numbers[row, k]
    return np.asarray(intervals)[:n_exact], np.asarray(keys)[:n_exact], np.asarray(ids)[:n_exact]


def divide_shard(
    Bins bins, codes, const uint32_t[::1] rows, const int64_t[::1] starts, splits, values
):
    """The rows and starts of the children of nodes that are split; other nodes' rows are gone."""
    # A split is (slot, column, sides, edge, keep_left, keep_right). sides states for each code where
    # its rows go: 0 right, 1 left, 2 left if the value is at most edge. A child that is kept has
    # the next number as its slot.
    cdef CodedBins coded = CodedBins(bins, 1, 1)
    cdef Binned* data = coded.of(codes)
    cdef Py_ssize_t n_left = 0, n, end = 0
    cdef const uint8_t[::1] side_of
    cdef Parting parting
    cdef KernelSplit split
    total = sum([starts[division.slot + 1] - starts[division.slot] for division in splits])
    cdef uint32_t[::1] divided = np.zeros(total + AHEAD, dtype=np.uint32)
    cdef uint32_t[::1] other = np.empty(total + 1, dtype=np.uint32)
    cdef list ends = [0]
    data.rows = &divided[0]
    data.other = &other[0]
    parting.data = data
    parting.split = &split
    for slot, column, sides, edge, keep_left, keep_right in splits:
        side_of = sides
        memcpy(data.sides, &side_of[0], len(sides))
        split.column = column
        split.low = edge
        if column in values:
            data.sources[column] = source_of(values[column], 0)
        n = starts[slot + 1] - starts[slot]
        memcpy(&divided[end], &rows[0] + starts[slot], n * sizeof(uint32_t))
        parting.start = end
        parting.stop = end + n
        with nogil:
            part_block(&parting, 0, 0)
        n_left = parting.n_left[0]
        if keep_left:
            end += n_left
            ends.append(end)
        if keep_right:
            memcpy(&divided[end], &other[0] + parting.start, (n - n_left) * sizeof(uint32_t))
            end += n - n_left
            ends.append(end)
    return np.asarray(divided)[:end].copy(), np.array(ends, dtype=np.int64)
