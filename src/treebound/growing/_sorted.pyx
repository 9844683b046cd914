"""Rows sorted by every column, for the scans of small nodes.

All rows of a small sample, or those of one node of a large one. Each column is sorted once; an
expansion partitions it, keeping the order. Memory per row: 8 bytes per column, and about 20 more.
"""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from treebound.growing._layout cimport (
    CODED, FLOAT64, NOMINAL, REAL, SORTED, Column, Packing, Problem, Scratch, Source, Split,
    allocate, allocate_long, label_of, rank_of, row_of, value_at, weight_of, zeros,
)
from treebound.growing._partition cimport Part, partition_entries, partition_rows
from treebound.growing._presort cimport (
    MISSING_KEY, Presorted, key_of, ordered_keys, presort, value_of,
)

cdef enum:
    FEW_VALUES = 256     # a threshold column of at most this many values is kept as codes,
    ROWS_A_VALUE = 8     # if it has this many rows per value
    CLOSE = 256          # integers in a range below this are counted, not sorted
    TILE = 64            # rows read together, so that a C-ordered matrix is read only once


cdef Sorted* new_sorted(
    const Problem* problem, Source* sources, Py_ssize_t n_columns, const uint32_t* ids,
    Py_ssize_t n_rows, Scratch* scratch,
) except NULL nogil:
    """Sort the rows ``ids``; NULL is the whole sample, which also sets the ranges of columns."""
    cdef Sorted* data = <Sorted*>zeros(1, sizeof(Sorted))
    cdef bint done = False
    cdef Py_ssize_t i, j
    data.problem = problem[0]
    data.problem.n_rows = n_rows
    data.sources = sources
    data.n_columns = n_columns
    data.ids = ids
    try:
        set_packing(&data.problem)
        enlarge_scratch(scratch, problem, n_rows)
        data.columns = <Column*>zeros(n_columns, sizeof(Column))
        data.rows = <uint32_t*>allocate(n_rows, sizeof(uint32_t))
        data.goes_left = <uint8_t*>allocate(n_rows, 1)
        data.entries = <uint64_t*>allocate_long(n_rows * n_columns, sizeof(uint64_t))
        for i in range(n_rows):
            data.rows[i] = <uint32_t>i
        if ids != NULL:
            copy_rows(data, problem)
        for j in range(n_columns):
            data.columns[j].kind = sources[j].kind
            data.columns[j].entries = data.entries + j * n_rows
        load_keys(data)
        for j in range(n_columns):
            sort_column(data, j, scratch)
        set_tables(data, scratch)
        done = True
    finally:
        if not done:
            free_sorted(data)
    return data


cdef void free_sorted(Sorted* data) noexcept nogil:
    cdef Py_ssize_t j
    if data == NULL:
        return
    if data.columns != NULL:
        for j in range(data.n_columns):
            free(data.columns[j].values)
    free(data.columns)
    free(data.rows)
    free(data.goes_left)
    free(data.labels)
    free(data.weights)
    free(data.entries)
    free(data.spare)
    free(data.links)
    free(data)


cdef int set_packing(Problem* problem) except -1 nogil:
    """Set the bits of rank, row and label; a rank may be as large as the number of rows."""
    cdef int row_bits = bits_of(problem.n_rows), label_bits = bits_of(problem.n_classes - 1)
    if 2 * row_bits + label_bits > 64 or row_bits > 32:
        with gil:
            raise ValueError(
                f"Sorting needs fewer than 2^{min(32, (64 - label_bits) // 2)} rows of "
                f"{problem.n_classes} classes. Got {problem.n_rows} rows instead."
            )
    problem.packing.row_shift = label_bits
    problem.packing.rank_shift = label_bits + row_bits
    problem.packing.label_mask = (<uint64_t>1 << label_bits) - 1
    problem.packing.row_mask = (<uint64_t>1 << row_bits) - 1
    return 0


cdef int bits_of(Py_ssize_t number) noexcept nogil:
    cdef int bits = 0
    while number >> bits:
        bits += 1
    return bits


cdef int copy_rows(Sorted* data, const Problem* problem) except -1 nogil:
    """Copy the labels and weights of the rows."""
    cdef Py_ssize_t i
    data.labels = <uint32_t*>allocate(data.problem.n_rows, sizeof(uint32_t))
    for i in range(data.problem.n_rows):
        data.labels[i] = problem.labels[data.ids[i]]
    data.problem.labels = data.labels
    if problem.weights != NULL:
        data.weights = <int64_t*>allocate(data.problem.n_rows, sizeof(int64_t))
        for i in range(data.problem.n_rows):
            data.weights[i] = problem.weights[data.ids[i]]
        data.problem.weights = data.weights
    return 0


cdef inline Py_ssize_t id_of(const Sorted* data, Py_ssize_t row) noexcept nogil:
    return row if data.ids == NULL else <Py_ssize_t>data.ids[row]


cdef void load_keys(Sorted* data) noexcept nogil:
    """Write the sort keys of each column in place of its entries."""
    cdef Py_ssize_t n = data.problem.n_rows, start = 0, stop, i, j
    cdef const Source* source
    cdef uint64_t* keys
    while start < n:
        stop = min(start + TILE, n)
        for j in range(data.n_columns):
            source = &data.sources[j]
            keys = data.columns[j].entries
            if data.ids == NULL and source.type == FLOAT64:
                ordered_keys(
                    source.first + start * source.stride, source.stride, stop - start, keys + start
                )
                continue
            for i in range(start, stop):
                keys[i] = key_of(value_at(source, id_of(data, i)))
        start = stop


cdef int sort_column(Sorted* data, Py_ssize_t j, Scratch* scratch) except -1 nogil:
    """Sort the keys in place of the entries."""
    cdef Column* column = &data.columns[j]
    cdef Source* source = &data.sources[j]
    cdef Py_ssize_t n = data.problem.n_rows
    cdef Packing packing = data.problem.packing
    cdef Presorted result
    if count_whole(data, j, <uint16_t*>scratch.other):
        return 0
    result = presort(
        column.entries, n, data.problem.labels, &packing, scratch.entries, scratch.other
    )
    column.n_codes = result.n_values
    column.has_missing = result.n_present < n
    column.form = SORTED
    if data.ids == NULL:
        source.may_miss |= column.has_missing
        source.span = 0.0
        if result.n_present:
            source.span = value_at(
                source, row_of(result.entries[result.n_present - 1], &packing)
            ) - value_at(source, row_of(result.entries[0], &packing))
    if is_coded(data, j):
        code_values(data, j, result.entries)
    else:
        memcpy(column.entries, result.entries, n * sizeof(uint64_t))
    return 0


cdef bint is_coded(const Sorted* data, Py_ssize_t j) noexcept nogil:
    """Whether a column whose values were counted is kept as codes."""
    cdef const Column* column = &data.columns[j]
    return column.kind == NOMINAL or (
        column.n_codes <= FEW_VALUES and ROWS_A_VALUE * column.n_codes <= data.problem.n_rows
    )


cdef inline bint is_whole(double value) noexcept nogil:
    """Whether a value is an integer that fits in an int."""
    return -1e9 < value < 1e9 and <double><int>value == value


cdef bint count_whole(Sorted* data, Py_ssize_t j, uint16_t* numbers) except -1 nogil:
    """Code a column of integers in a small range without sorting; return whether it is one.

    ``numbers`` has one element per row. If it is not, nothing is changed.
    """
    cdef Column* column = &data.columns[j]
    cdef const uint64_t* keys = column.entries
    cdef Py_ssize_t n = data.problem.n_rows, i
    cdef uint32_t counts[CLOSE + 1]
    cdef uint32_t stride = <uint32_t>(data.problem.n_classes + 1)
    cdef uint64_t low = MISSING_KEY, high = 0
    cdef double value
    cdef int least, whole
    if keys[0] != MISSING_KEY and not is_whole(value_of(keys[0])):
        return False  # as in most columns of real numbers
    for i in range(n):
        low = min(low, keys[i])
        high = max(high, keys[i] if keys[i] != MISSING_KEY else 0)
    if low == MISSING_KEY or not (
        is_whole(value_of(low))
        and is_whole(value_of(high))
        and value_of(high) - value_of(low) < CLOSE
    ):
        return False
    least = <int>value_of(low)
    memset(counts, 0, sizeof(counts))
    for i in range(n):
        whole = CLOSE
        if keys[i] != MISSING_KEY:
            value = value_of(keys[i])
            if <double><int>value != value:
                return False
            whole = <int>value - least
        numbers[i] = <uint16_t>whole
        counts[whole] += 1
    column.n_codes = 0
    for whole in range(CLOSE):
        column.n_codes += counts[whole] > 0
    if not is_coded(data, j):
        return False
    column.has_missing = counts[CLOSE] > 0
    if data.ids == NULL:
        data.sources[j].may_miss |= column.has_missing
        data.sources[j].span = value_of(high) - value_of(low)
    start_codes(data, j)
    i = 0
    for whole in range(CLOSE + 1):
        if counts[whole]:
            if whole < CLOSE:
                column.values[i] = <double>(least + whole)
            counts[whole] = <uint32_t>i * stride
            i += 1
    for i in range(n):
        column.cells[i] = counts[numbers[i]] + data.problem.labels[i]
    return True


cdef int code_values(Sorted* data, Py_ssize_t j, const uint64_t* entries) except -1 nogil:
    """Code a column of few values or categories: one code per row instead of sorted entries."""
    cdef Column* column = &data.columns[j]
    cdef uint32_t stride = <uint32_t>(data.problem.n_classes + 1)
    cdef Packing packing = data.problem.packing
    cdef Py_ssize_t i, row, code
    start_codes(data, j)
    for i in range(data.problem.n_rows):
        row = row_of(entries[i], &packing)
        code = rank_of(entries[i], &packing)
        column.cells[row] = <uint32_t>code * stride + data.problem.labels[row]
        if code < column.n_codes:
            column.values[code] = value_at(&data.sources[j], id_of(data, row))
    return 0


cdef int start_codes(Sorted* data, Py_ssize_t j) except -1 nogil:
    """Make a column coded: cells in place of the entries, and memory for the values."""
    cdef Column* column = &data.columns[j]
    if (column.n_codes + 1) * (data.problem.n_classes + 1) >= <Py_ssize_t>1 << 32:
        with gil:
            raise ValueError(
                "The number of categories times classes must fit in 32 bits. "
                f"Got {column.n_codes} categories of column {j} and {data.problem.n_classes} "
                "classes instead."
            )
    column.form = CODED
    column.cells = <uint32_t*>column.entries
    column.entries = NULL
    column.values = <double*>allocate(column.n_codes + 1, sizeof(double))
    column.values[column.n_codes] = <double>data.sources[j].n_categories  # missing, if nominal
    return 0


cdef int set_tables(Sorted* data, Scratch* scratch) except -1 nogil:
    """Set the offsets of the columns' tables, and allocate those of the threads."""
    cdef Py_ssize_t stride = data.problem.n_classes + 1, size, largest = 0, j
    for j in range(data.n_columns):
        if data.columns[j].form == CODED:
            size = (data.columns[j].n_codes + data.columns[j].has_missing) * stride
            data.columns[j].offset = data.table_size
            data.table_size += size
            largest = max(largest, size)
    return enlarge_table(scratch, largest)


cdef int enlarge_table(Scratch* scratch, Py_ssize_t n_cells) except -1 nogil:
    """Allocate a zeroed table of ``n_cells`` cells."""
    if n_cells > scratch.n_cells:
        free(scratch.table)
        scratch.table = NULL
        scratch.n_cells = 0
        scratch.table = <int64_t*>zeros(n_cells, sizeof(int64_t))
        scratch.n_cells = n_cells
    return 0


cdef int enlarge_scratch(
    Scratch* scratch, const Problem* problem, Py_ssize_t n_rows
) except -1 nogil:
    """Allocate entries; the first call also allocates class counts."""
    if scratch.left == NULL:
        scratch.left = <int64_t*>allocate(problem.n_classes, sizeof(int64_t))
        scratch.right = <int64_t*>allocate(problem.n_classes, sizeof(int64_t))
        scratch.missing = <int64_t*>allocate(problem.n_classes + 1, sizeof(int64_t))
    if scratch.n_entries >= n_rows:
        return 0
    free(scratch.keys)
    free(scratch.entries)
    free(scratch.other)
    scratch.keys = scratch.entries = scratch.other = NULL
    scratch.n_entries = 0
    scratch.keys = <uint64_t*>allocate(n_rows, sizeof(uint64_t))
    scratch.entries = <uint64_t*>allocate(n_rows, sizeof(uint64_t))
    scratch.other = <uint64_t*>allocate(n_rows, sizeof(uint64_t))
    scratch.n_entries = n_rows
    return 0


cdef void free_scratch(Scratch* scratch) noexcept nogil:
    free(scratch.keys)
    free(scratch.entries)
    free(scratch.other)
    free(scratch.left)
    free(scratch.right)
    free(scratch.missing)
    free(scratch.table)


# -- at every split ------------------------------------------------------------------------


cdef bint ends_of(
    const Sorted* data, Py_ssize_t start, const Split* split, double* low, double* high
) noexcept nogil:
    """The neighbours of a threshold split; False if only missing rows go right."""
    cdef const Column* column = &data.columns[split.column]
    cdef const Source* source = &data.sources[split.column]
    cdef const uint64_t* entries = column.entries + start
    cdef const Packing* packing = &data.problem.packing
    if column.form == SORTED:
        if rank_of(entries[split.place], packing) == column.n_codes:
            return False
        low[0] = value_at(source, id_of(data, row_of(entries[split.place - 1], packing)))
        high[0] = value_at(source, id_of(data, row_of(entries[split.place], packing)))
        return True
    if split.follow < 0:
        return False
    low[0] = column.values[split.place]
    high[0] = column.values[split.follow]
    return True


cdef Py_ssize_t category_of(const Sorted* data, const Split* split) noexcept nogil:
    return <Py_ssize_t>data.columns[split.column].values[split.place]


cdef bint has_missing_rows(
    const Sorted* data, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t column
) noexcept nogil:
    """Whether a row of a node is missing in a column."""
    cdef const Column* found = &data.columns[column]
    cdef uint32_t least = <uint32_t>(found.n_codes * (data.problem.n_classes + 1))
    cdef Py_ssize_t i
    if not found.has_missing:
        return False
    if found.form == SORTED:
        return rank_of(found.entries[stop - 1], &data.problem.packing) == found.n_codes
    for i in range(start, stop):
        if found.cells[data.rows[i]] >= least:
            return True
    return False


cdef int64_t left_weight(
    const Sorted* data, Py_ssize_t start, Py_ssize_t stop, const Split* split
) noexcept nogil:
    """Weight of the present rows that go left: the tie-breaker of the paper's code."""
    cdef const Column* column = &data.columns[split.column]
    cdef uint32_t stride = <uint32_t>(data.problem.n_classes + 1), cell
    cdef uint32_t high = <uint32_t>(split.place + 1) * stride
    cdef uint32_t low = high - stride if column.kind == NOMINAL else 0
    cdef Py_ssize_t i
    cdef int64_t weight = 0
    if column.form == SORTED:
        if data.problem.weights == NULL:
            return split.place
        for i in range(start, start + split.place):
            weight += data.problem.weights[row_of(column.entries[i], &data.problem.packing)]
        return weight
    for i in range(start, stop):
        cell = column.cells[data.rows[i]]
        if low <= cell < high:
            weight += weight_of(data.rows[i], &data.problem)
    return weight


cdef Py_ssize_t mark(
    Sorted* data, Py_ssize_t start, Py_ssize_t stop, const Split* split, int64_t* left_counts
) noexcept nogil:
    """Mark the rows of a node that go left, and count them."""
    if data.columns[split.column].form == SORTED:
        return mark_sorted(data, start, stop, split, left_counts)
    return mark_coded(data, start, stop, split, left_counts)


cdef Py_ssize_t mark_sorted(
    Sorted* data, Py_ssize_t start, Py_ssize_t stop, const Split* split, int64_t* left_counts
) noexcept nogil:
    """Mark the first rows, and the missing ones, which are last, if the split sends them left."""
    cdef const Column* column = &data.columns[split.column]
    cdef const uint64_t* entries = column.entries
    cdef Packing packing = data.problem.packing
    cdef Py_ssize_t middle = start + split.place, missing = stop, i, row
    while split.missing_left and rank_of(entries[missing - 1], &packing) == column.n_codes:
        missing -= 1
    for i in range(start, stop):
        row = row_of(entries[i], &packing)
        data.goes_left[row] = i < middle or i >= missing
        if i < middle or i >= missing:
            left_counts[label_of(entries[i], &packing)] += weight_of(row, &data.problem)
    return split.place + stop - missing


cdef Py_ssize_t mark_coded(
    Sorted* data, Py_ssize_t start, Py_ssize_t stop, const Split* split, int64_t* left_counts
) noexcept nogil:
    """Mark cells in [low, high), and missing ones if the split sends them left."""
    cdef const Column* column = &data.columns[split.column]
    cdef uint32_t stride = <uint32_t>(data.problem.n_classes + 1), cell
    cdef uint32_t high = <uint32_t>(split.place + 1) * stride
    cdef uint32_t low = high - stride if column.kind == NOMINAL else 0
    cdef uint32_t width = high - low
    cdef uint32_t missing = <uint32_t>column.n_codes * stride
    cdef uint8_t missing_left = split.missing_left, to_left
    cdef Py_ssize_t i, row, n_left = 0
    for i in range(start, stop):
        row = data.rows[i]
        cell = column.cells[row]
        to_left = (cell - low < width) | (missing_left & (cell >= missing))
        data.goes_left[row] = to_left
        n_left += to_left
        left_counts[data.problem.labels[row]] += to_left * weight_of(row, &data.problem)
    return n_left


cdef void part_column(
    Sorted* data, Py_ssize_t j, const Part* part, Scratch* scratch
) noexcept nogil:
    """Partition the entries by child; codes are not moved."""
    if data.columns[j].form == SORTED:
        partition_entries(
            data.columns[j].entries, part, &data.problem.packing, scratch.entries
        )


cdef void part_rows(Sorted* data, const Part* part, Scratch* scratch) noexcept nogil:
    """Partition the rows by child."""
    partition_rows(data.rows, part, <uint32_t*>scratch.entries)
