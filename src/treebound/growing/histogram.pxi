"""The sample as codes of one or two bytes, and histograms: the weight of each class in each bin.

Codes are made once, counted and partitioned at large nodes. They are stored in panels of four
columns, so that a row of a sparse node takes one cache line for four counts. Without weights a
count has 32 bits and the rows of a bin are the sum over its classes. Memory per row: one or two
bytes per column, and 10 for the rows, their order and their labels.
"""

cdef struct Panel:
    # The codes of up to four columns, by row, and the offsets of their counts.
    int width               # bytes of a code
    void* codes
    int n_columns
    Py_ssize_t columns[4]
    Py_ssize_t offsets[4]


cdef struct Counted:
    # Weight by bin and class, followed by the rows of a bin if weights differ.
    const uint16_t* labels
    const int64_t* weights  # NULL: 32 bits per count, else 64
    Py_ssize_t n_classes
    Py_ssize_t stride       # counts of a bin
    Py_ssize_t n_cells      # counts of a histogram


cdef struct CodedColumn:
    # A column as codes: bins in order of value, then the missing rows.
    Coder coder
    int width               # bytes of a code
    Py_ssize_t panel
    int lane
    Py_ssize_t offset       # of its counts in a histogram


cdef struct Binned:
    # The sample as codes, and its rows, grouped by node and ascending within a node.
    const Problem* problem
    Source* sources
    CodedColumn* columns
    Py_ssize_t n_columns
    Panel* panels
    Py_ssize_t n_panels
    Counted counted
    char* memory            # of the codes, rows and labels
    uint32_t* rows
    uint32_t* other         # buffer for partitions
    uint16_t* labels
    uint8_t* sides          # by code, for the node that is being split
    Extent* extents         # by thread and column
    Py_ssize_t most_codes   # of a column, missing included
    double signal           # gain of a split in a sample of rows, relative to chance


cdef struct Gathered:
    # Rows of some bins of a column.
    uint32_t* rows
    uint64_t* keys          # of their values
    uint32_t* labels
    int64_t* weights


cdef extern from "_loops.h":
    void prefetch(const void* place) noexcept nogil

cdef enum:
    AHEAD = 24           # rows to prefetch ahead,
    SPARSE = 4           # if the rows of a node are at least this far apart
    CODING_ROWS = 8192   # coded by a thread at a time
    PARTING_ROWS = 8192
    COUNTING_ROWS = 16384
    SHARED_ROWS = 65536  # of fewer, threads count a panel of columns each
    ALONE_ROWS = 1024    # so few are counted by one thread
    GATHERED_ROWS = 16384   # so many are gathered by several threads, in
    GATHERED_BLOCKS = 16
    RIGHT = 0
    LEFT = 1
    LOOK = 2             # the side depends on the value
    EXACT = 255          # the shift of an interval whose values are asked for

# -- the coded sample ----------------------------------------------------------------------


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
        data.columns = <CodedColumn*>zeros(n_columns, sizeof(CodedColumn))
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
    """Group columns of the same width by four; allocate the codes, the rows and the labels."""
    # They are one block of memory, so that most of it is in large pages.
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
    cdef Py_ssize_t j
    cdef int thread
    cdef double least, most
    cdef Extent* extent
    for j in range(data.n_columns):
        least = INFINITY
        most = -INFINITY
        for thread in range(n_threads):
            extent = &data.extents[thread * data.n_columns + j]
            least = min(least, extent.least)
            most = max(most, extent.most)
            data.sources[j].may_miss |= extent.missing
        data.sources[j].span = most - least if least <= most else 0.0


# -- at every node -------------------------------------------------------------------------


cdef Py_ssize_t code_at(const Binned* data, Py_ssize_t column, Py_ssize_t row) noexcept nogil:
    cdef const CodedColumn* found = &data.columns[column]
    cdef const void* codes = data.panels[found.panel].codes
    if found.width == 1:
        return (<const uint8_t*>codes)[LANES * row + found.lane]
    return (<const uint16_t*>codes)[LANES * row + found.lane]


cdef void find_bounds(
    const Binned* data, Py_ssize_t start, Py_ssize_t stop, Split* split
) noexcept nogil:
    """The neighbours of a threshold between two bins: their largest and smallest value."""
    cdef const Source* source = &data.sources[split.column]
    cdef const Coder* coder = &data.columns[split.column].coder
    cdef Py_ssize_t i, code
    split.low = -INFINITY
    split.high = INFINITY
    if coder.single[split.bin] and coder.single[split.follow]:
        split.low = coder.values[split.bin]
        split.high = coder.values[split.follow]
        return
    for i in range(start, stop):
        code = code_at(data, split.column, data.rows[i])
        if code == split.bin:
            split.low = max(split.low, value_at(source, data.rows[i]))
        elif code == split.follow:
            split.high = min(split.high, value_at(source, data.rows[i]))


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
    """Partition the rows by child, keeping their order; return how many go left."""
    # Blocks are partitioned independently, left rows in place and right ones in a buffer, then
    # joined.
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


cdef void set_sides(const Binned* data, const Split* split) noexcept nogil:
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
    cdef const CodedColumn* column = &data.columns[split.column]
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
        add_counts(&data.counted, histograms[0], histograms[thread], False)


cdef void count_panel(void* context, Py_ssize_t item, int thread) noexcept nogil:
    cdef Counting* counting = <Counting*>context
    cdef const Binned* data = counting.data
    count_rows(
        &data.panels[item], &data.counted, data.rows + counting.start,
        counting.stop - counting.start, counting.histograms[0], False,
    )


cdef bint discount_node(
    const Binned* data, Py_ssize_t start, Py_ssize_t stop, void* histogram
) noexcept nogil:
    """Subtract rows from a histogram if they are few; return whether that was done."""
    cdef Py_ssize_t p
    if 2 * (stop - start) * data.n_columns > data.counted.n_cells:
        return False
    for p in range(data.n_panels):
        count_rows(
            &data.panels[p], &data.counted, data.rows + start, stop - start, histogram, True
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
            counting.histograms[thread], False,
        )


# -- rows of some bins -----------------------------------------------------------------------


cdef struct Gathering:
    const Binned* data
    const Source* source
    const CodedColumn* column
    const uint8_t* wanted
    Py_ssize_t start
    Py_ssize_t stop
    Py_ssize_t size           # of a block
    uint32_t* found           # rows, block by block
    Py_ssize_t* n_found       # by block
    const Gathered* to


cdef void gather(
    const Binned* data, Py_ssize_t j, Py_ssize_t start, Py_ssize_t stop, const uint8_t* wanted,
    Py_ssize_t n_rows, const Gathered* to, Pool pool,
) noexcept nogil:
    """The ``n_rows`` rows of wanted bins; ``pool`` is None if threads do not share the work."""
    cdef Gathering gathering
    cdef Py_ssize_t[GATHERED_BLOCKS] n_found
    cdef Py_ssize_t n_blocks = 1, block, total = 0
    gathering.data = data
    gathering.source = &data.sources[j]
    gathering.column = &data.columns[j]
    gathering.wanted = wanted
    gathering.start = start
    gathering.stop = stop
    gathering.to = to
    gathering.n_found = n_found
    if pool is not None and stop - start >= GATHERED_ROWS:
        n_blocks = GATHERED_BLOCKS
    gathering.size = (stop - start + n_blocks - 1) // n_blocks
    if n_blocks == 1:
        gathering.found = to.rows
        gather_block(&gathering, 0, 0)
        gathering.size = n_rows
        read_block(&gathering, 0, 0)
        return
    gathering.found = data.other
    pool.run(&gather_block, &gathering, n_blocks)
    for block in range(n_blocks):
        memcpy(
            to.rows + total, data.other + block * gathering.size,
            n_found[block] * sizeof(uint32_t),
        )
        total += n_found[block]
    gathering.size = (n_rows + n_blocks - 1) // n_blocks
    gathering.stop = gathering.start + n_rows
    pool.run(&read_block, &gathering, n_blocks)


cdef void gather_block(void* context, Py_ssize_t block, int thread) noexcept nogil:
    """Gather the rows with wanted codes, without branches; needs one extra element."""
    cdef const Gathering* gathering = <const Gathering*>context
    cdef const CodedColumn* column = gathering.column
    cdef const void* codes = gathering.data.panels[column.panel].codes
    cdef const uint8_t* narrow = <const uint8_t*>codes + column.lane
    cdef const uint16_t* wide = <const uint16_t*>codes + column.lane
    cdef const uint8_t* wanted = gathering.wanted
    cdef const uint32_t* rows = gathering.data.rows
    cdef uint32_t* gathered = gathering.found + block * gathering.size
    cdef Py_ssize_t start = min(gathering.start + block * gathering.size, gathering.stop)
    cdef Py_ssize_t stop = min(start + gathering.size, gathering.stop)
    cdef Py_ssize_t i, found = 0, last = stop - 1
    cdef size_t row
    if column.width == 1:
        for i in range(start, stop):
            prefetch(narrow + LANES * <size_t>rows[min(i + AHEAD, last)])
            row = rows[i]
            gathered[found] = <uint32_t>row
            found += wanted[narrow[LANES * row]]
    else:
        for i in range(start, stop):
            prefetch(wide + LANES * <size_t>rows[min(i + AHEAD, last)])
            row = rows[i]
            gathered[found] = <uint32_t>row
            found += wanted[wide[LANES * row]]
    gathering.n_found[block] = found


cdef void read_block(void* context, Py_ssize_t block, int thread) noexcept nogil:
    """Read the values, labels and weights of gathered rows."""
    cdef const Gathering* gathering = <const Gathering*>context
    cdef const Source* source = gathering.source
    cdef const Problem* problem = gathering.data.problem
    cdef const Gathered* to = gathering.to
    cdef Py_ssize_t n_rows = gathering.stop - gathering.start
    cdef Py_ssize_t start = min(block * gathering.size, n_rows), i
    cdef Py_ssize_t stop = min(start + gathering.size, n_rows)
    cdef uint32_t row
    for i in range(start, stop):
        prefetch(source.first + to.rows[min(i + AHEAD, stop - 1)] * source.stride)
        row = to.rows[i]
        to.keys[i] = key_of(value_at(source, row))
        to.labels[i] = problem.labels[row]
        if problem.weights != NULL:
            to.weights[i] = problem.weights[row]


# -- counts ----------------------------------------------------------------------------------


cdef size_t size_of(const Counted* counted) noexcept nogil:
    """Size of a histogram in bytes."""
    return counted.n_cells * (sizeof(uint32_t) if counted.weights == NULL else sizeof(int64_t))


cdef void count_rows(
    const Panel* panel, const Counted* counted, const uint32_t* rows, Py_ssize_t n_rows,
    void* histogram, bint subtract,
) noexcept nogil:
    """Add the rows of a panel's columns to a histogram, or take them out of it."""
    # the sign is known when it is compiled, and costs nothing
    if n_rows == 0:
        return
    if panel.width == 1 and not subtract:
        count_codes(panel, counted, rows, n_rows, histogram, <const uint8_t*>panel.codes, 1)
    elif panel.width == 1:
        count_codes(panel, counted, rows, n_rows, histogram, <const uint8_t*>panel.codes, -1)
    elif not subtract:
        count_codes(panel, counted, rows, n_rows, histogram, <const uint16_t*>panel.codes, 1)
    else:
        count_codes(panel, counted, rows, n_rows, histogram, <const uint16_t*>panel.codes, -1)


cdef inline void count_codes(
    const Panel* panel, const Counted* counted, const uint32_t* rows, Py_ssize_t n_rows,
    void* histogram, const code_t* codes, int sign,
) noexcept nogil:
    cdef int lane
    if counted.weights != NULL:
        for lane in range(panel.n_columns):
            count_weights(
                codes + lane, counted, rows, n_rows,
                <int64_t*>histogram + panel.offsets[lane], sign,
            )
    elif panel.n_columns == LANES:
        count_four(panel, counted, rows, n_rows, <uint32_t*>histogram, codes, sign)
    else:
        for lane in range(panel.n_columns):
            count_one(
                codes + lane, counted, rows, n_rows,
                <uint32_t*>histogram + panel.offsets[lane], sign,
            )


cdef inline void count_four(
    const Panel* panel, const Counted* counted, const uint32_t* rows, Py_ssize_t n_rows,
    uint32_t* histogram, const code_t* codes, int sign,
) noexcept nogil:
    cdef uint32_t* a = histogram + panel.offsets[0]
    cdef uint32_t* b = histogram + panel.offsets[1]
    cdef uint32_t* c = histogram + panel.offsets[2]
    cdef uint32_t* d = histogram + panel.offsets[3]
    cdef const uint16_t* labels = counted.labels
    cdef Py_ssize_t n_classes = counted.n_classes, i, stop = 0
    if rows[n_rows - 1] - rows[0] > SPARSE * n_rows:
        stop = max(n_rows - AHEAD, 0)
    for i in range(stop):
        prefetch(codes + LANES * <size_t>rows[i + AHEAD])
        prefetch(labels + rows[i + AHEAD])
        count_row(codes, labels, rows[i], n_classes, a, b, c, d, sign)
    for i in range(stop, n_rows):
        count_row(codes, labels, rows[i], n_classes, a, b, c, d, sign)


cdef inline void count_row(
    const code_t* codes, const uint16_t* labels, size_t row, Py_ssize_t n_classes, uint32_t* a,
    uint32_t* b, uint32_t* c, uint32_t* d, int sign,
) noexcept nogil:
    cdef Py_ssize_t label = labels[row]
    cdef const code_t* code = codes + LANES * row
    a[code[0] * n_classes + label] += sign
    b[code[1] * n_classes + label] += sign
    c[code[2] * n_classes + label] += sign
    d[code[3] * n_classes + label] += sign


cdef inline void count_one(
    const code_t* codes, const Counted* counted, const uint32_t* rows, Py_ssize_t n_rows,
    uint32_t* table, int sign,
) noexcept nogil:
    cdef Py_ssize_t n_classes = counted.n_classes, i
    cdef const uint16_t* labels = counted.labels
    cdef size_t row
    for i in range(n_rows):
        row = rows[i]
        table[codes[LANES * row] * n_classes + labels[row]] += sign


cdef inline void count_weights(
    const code_t* codes, const Counted* counted, const uint32_t* rows, Py_ssize_t n_rows,
    int64_t* table, int sign,
) noexcept nogil:
    cdef Py_ssize_t n_classes = counted.n_classes, i
    cdef const uint16_t* labels = counted.labels
    cdef int64_t* cell
    cdef size_t row
    for i in range(n_rows):
        row = rows[i]
        cell = table + codes[LANES * row] * (n_classes + 1)
        cell[labels[row]] += sign * counted.weights[row]
        cell[n_classes] += sign


cdef void add_counts(
    const Counted* counted, void* to, const void* what, bint subtract
) noexcept nogil:
    """Add the counts of a histogram to those of another, or subtract them."""
    cdef Py_ssize_t i, sign = -1 if subtract else 1
    if counted.weights == NULL:
        for i in range(counted.n_cells):
            (<uint32_t*>to)[i] += <uint32_t>sign * (<const uint32_t*>what)[i]
    else:
        for i in range(counted.n_cells):
            (<int64_t*>to)[i] += sign * (<const int64_t*>what)[i]


# -- one shard -------------------------------------------------------------------------------
# The rows of a node stand side by side in ``rows``, those of slot ``s`` from ``starts[s]`` on.


cdef const char* codes_of(panels, Bins bins, Py_ssize_t column, int* width) except NULL:
    """The code of the first row; those of other rows are four codes apart."""
    cdef size_t first, lane
    for panel, group in zip(panels, bins.panels):
        if column in group:
            width[0] = panel.itemsize
            first = panel.ctypes.data
            lane = group.index(column)
            return <const char*>first + lane * width[0]
    raise IndexError(column)


cdef inline Py_ssize_t shard_code(const char* codes, int width, size_t row) noexcept nogil:
    if width == 1:
        return (<const uint8_t*>codes)[LANES * row]
    return (<const uint16_t*>codes)[LANES * row]


def count_shard(
    Bins bins, list panels, const uint16_t[::1] labels, units, const uint32_t[::1] rows,
    const int64_t[::1] starts, const int32_t[::1] slots, Py_ssize_t n_classes, table,
):
    """Add the rows of some nodes to their histograms, the rows of ``table``."""
    # Counts are of 32 bits without weights; else of 64, and after the classes of a bin stand its
    # rows.
    cdef Panel panel
    cdef Counted counted
    cdef const int64_t[::1] weights
    cdef Py_ssize_t stride, offset = 0, i, s, lane
    cdef char* cells = <char*><size_t>table.ctypes.data
    cdef size_t size = table.strides[0]
    cdef list offsets = []
    if len(labels) == 0 or len(rows) == 0:
        return
    counted.labels = &labels[0]
    counted.weights = NULL
    counted.n_classes = n_classes
    counted.stride = stride = n_classes + (units is not None)
    counted.n_cells = table.shape[1]
    if units is not None:
        weights = units
        counted.weights = &weights[0]
    for j in range(bins.n_columns):
        offsets.append(offset)
        offset += (bins.n_bins[j] + 1) * stride
    if offset != counted.n_cells:
        raise ValueError("the table has not one cell for each bin and class")
    for codes, group in zip(panels, bins.panels):
        panel.width = codes.itemsize
        panel.codes = <void*><size_t>codes.ctypes.data
        panel.n_columns = len(group)
        for lane, j in enumerate(group):
            panel.columns[lane] = j
            panel.offsets[lane] = offsets[j]
        with nogil:
            for i in range(slots.shape[0]):
                s = slots[i]
                if starts[s + 1] > starts[s]:
                    count_rows(
                        &panel, &counted, &rows[0] + starts[s], starts[s + 1] - starts[s],
                        cells + i * size, False,
                    )


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
    Bins bins, list panels, const uint16_t[::1] labels, units, const uint32_t[::1] rows,
    const int64_t[::1] starts, Py_ssize_t column, values,
    const int32_t[::1] slots, const int32_t[:, ::1] first, const uint64_t[::1] low,
    const uint64_t[::1] high, const uint64_t[::1] guide, const uint8_t[::1] shift,
    const int32_t[::1] place, int64_t[:, :, ::1] slices,
):
    """Rows of intervals of a column: counted by slices of the interval, or with their values."""
    # The intervals of a node in a bin are those from first[node, bin] to first[node, bin + 1], with
    # keys from low to high. A key is in slice (key - guide) >> shift of its interval, or in the
    # first or last one; the slices stand at place. A shift of 255 asks for the values: intervals,
    # keys and rows are returned.
    cdef int width = 1
    cdef const char* codes = codes_of(panels, bins, column, &width)
    cdef Py_ssize_t n_classes = slices.shape[2] - 1, most = 0, found = 0, g, i, code, at, slice
    cdef uint64_t last_slice = slices.shape[1] - 1
    cdef Source source = source_of(values, 0)
    cdef bint weighted = units is not None
    cdef const int64_t[::1] weights = units if weighted else np.empty(0, dtype=np.int64)
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
                code = shard_code(codes, width, row)
                if code >= n_bins or first[g, code] == first[g, code + 1]:
                    continue
                key = key_of(value_at(&source, row))
                at = last_from(low, first[g, code], first[g, code + 1], key)
                if key < low[at] or key > high[at]:
                    continue
                if shift[at] == EXACT:
                    intervals[found] = <int32_t>at
                    keys[found] = key
                    ids[found] = row
                    found += 1
                    continue
                slice = 0
                if key > guide[at]:
                    slice = <Py_ssize_t>min((key - guide[at]) >> shift[at], last_slice)
                slices[place[at], slice, labels[row]] += weights[row] if weighted else 1
                slices[place[at], slice, n_classes] += 1
    return np.asarray(intervals)[:found], np.asarray(keys)[:found], np.asarray(ids)[:found]


def divide_shard(
    Bins bins, list panels, const uint32_t[::1] rows, const int64_t[::1] starts, splits, values,
):
    """The rows and starts of the children of nodes that are split; other nodes' rows are gone."""
    # A split is (slot, column, sides, edge, keep_left, keep_right). sides tells for each code where
    # its rows go: 0 right, 1 left, 2 left if the value is at most edge. A child that is kept has
    # the next number as its slot.
    cdef Py_ssize_t total = 0, out = 0, aside, i, n_slots = 0, child
    cdef const uint8_t[::1] sides
    cdef Source source
    cdef const char* codes
    cdef int width = 1
    cdef double edge
    cdef uint8_t side, keep_left, keep_right
    cdef uint32_t row
    cdef Py_ssize_t start, stop
    memset(&source, 0, sizeof(Source))
    for slot, _, _, _, left, right in splits:
        total += starts[slot + 1] - starts[slot]
        n_slots += bool(left) + bool(right)
    cdef uint32_t[::1] divided = np.empty(total + 1, dtype=np.uint32)
    cdef uint32_t[::1] other = np.empty(total + 1, dtype=np.uint32)
    cdef int64_t[::1] bounds = np.zeros(n_slots + 1, dtype=np.int64)
    child = 0
    for slot, column, table, last, left, right in splits:
        codes = codes_of(panels, bins, column, &width)
        sides = table
        edge = last
        keep_left = left
        keep_right = right
        if column in values:
            source = source_of(values[column], 0)
        start = starts[slot]
        stop = starts[slot + 1]
        aside = 0
        with nogil:
            # invariant: divided[:out] has the kept rows of the left side so far
            for i in range(start, stop):
                row = rows[i]
                side = sides[shard_code(codes, width, row)]
                if side == LOOK:
                    side = value_at(&source, row) <= edge
                divided[out] = row
                other[aside] = row
                out += side & keep_left
                aside += (side ^ 1) & keep_right
        if keep_left:
            child += 1
            bounds[child] = out
        if keep_right:
            if aside:
                memcpy(&divided[out], &other[0], aside * sizeof(uint32_t))
            out += aside
            child += 1
            bounds[child] = out
    return np.asarray(divided)[:out].copy(), np.asarray(bounds)
