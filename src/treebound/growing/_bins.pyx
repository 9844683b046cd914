"""Bins: a monotone map from the values of a column to small integers, and the codes of values.

Any monotone map gives the same tree; equal numbers of rows per bin only make it fast. Bins are
chosen from a sample of the values. A smooth column is mapped by a table of cells of equal width, a
column of repeated values by the same table and two comparisons, any other by binary search.

Coding has no branches. A smooth column takes 1 to 2 ns per value: its cell is computed and looked
up in the table. Such columns that are side by side in memory are read together, row by row.
"""

import numpy as np

from libc.math cimport INFINITY, nextafter
from libc.stdint cimport int32_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset
from treebound._utils._pool cimport Pool
from treebound.growing._layout cimport (
    NOMINAL, Packing, REAL, Scratch, allocate, read_values, relaxed_flag, row_of, set_relaxed_flag,
    source_of, value_at, zeros,
)
from treebound.growing._sorted cimport (
    Presorted, enlarge_scratch, free_scratch, key_of, packing_of, presort, value_of,
)


cdef extern from "loops.h":
    void cells_of(
        const double* values, Py_ssize_t n, double low, double rate, double top, int32_t* cells
    ) noexcept nogil

cdef enum:
    CELLS_A_BIN = 8
    MIN_CELLS = 512
    VALUES_A_BIN = 16    # in the sample
    FEW_VALUES = 255     # so few values get a bin each, even beyond the limit of bins
    MAX_SAMPLED = 65535
    TAKEN = 1024         # rows taken at a time, so that a C-ordered matrix is read once

# -- choosing bins -------------------------------------------------------------------------


cdef int make_coder(
    Coder* coder, const Source* source, Py_ssize_t n_rows, Py_ssize_t max_bins, Scratch* scratch
) except -1 nogil:
    """Choose the bins of a column from values of some rows. Nominal categories have one each."""
    cdef Py_ssize_t n_sample = sample_size(n_rows, max_bins), n = 0, i
    cdef Py_ssize_t max_values = max(max_bins, <Py_ssize_t>FEW_VALUES), distinct
    cdef double* values
    if source.kind == NOMINAL or (source.kind != REAL and source.n_categories <= max_bins):
        coder.way = BY_CODE
        coder.n_bins = source.n_categories
        coder.least = INFINITY
        coder.most = -INFINITY
        coder.single = <uint8_t*>allocate(coder.n_bins, 1)
        coder.values = <double*>allocate(coder.n_bins, sizeof(double))
        for i in range(coder.n_bins):
            coder.single[i] = True
            coder.values[i] = <double>i
        return 0
    enlarge_scratch(scratch, n_sample)
    values = <double*>allocate(n_sample, sizeof(double))
    try:
        n = sorted_sample(source, n_rows, n_sample, values, scratch)
        coder.least = values[0] if n else INFINITY
        coder.most = values[n - 1] if n else -INFINITY
        coder.cuts = <double*>allocate(2 * max_values + 2, sizeof(double))
        coder.values = <double*>zeros(max_values + 1, sizeof(double))
        coder.single = <uint8_t*>zeros(max_values + 1, 1)
        distinct = n > 0
        for i in range(1, n):
            distinct += values[i] != values[i - 1]
        if 2 * distinct <= max_values or (n == n_rows and distinct <= max_values):
            cut_between_all(coder, values, n)
        elif not smooth_cells(coder, values, n, max_bins):
            choose_cuts(coder, values, n, max_bins)
        if coder.way != BY_CELL:
            place_cuts(coder, max_values)
            note_values(coder, values, n)
    finally:
        free(values)
    return 0


cdef Py_ssize_t sample_size(Py_ssize_t n_rows, Py_ssize_t max_bins) noexcept nogil:
    """Size of the sample that bins are chosen from: a few values per bin, more for many rows."""
    cdef Py_ssize_t size = max(512, 2 * max_bins, min(VALUES_A_BIN * max_bins, n_rows // 64))
    return min(n_rows, size, MAX_SAMPLED)


cdef void free_coder(Coder* coder) noexcept nogil:
    free(coder.cells)
    free(coder.cuts)
    free(coder.values)
    free(coder.single)


cdef Py_ssize_t sorted_sample(
    const Source* source, Py_ssize_t n_rows, Py_ssize_t n_sample, double* values, Scratch* scratch
) noexcept nogil:
    """Values of equally spaced rows, sorted, without missing ones."""
    cdef Packing packing = packing_of(n_sample, 1)
    cdef const uint32_t* labels = <const uint32_t*>values  # all of them 0, until values are set
    cdef Presorted result
    cdef Py_ssize_t i
    memset(values, 0, n_sample * sizeof(double))
    for i in range(n_sample):
        scratch.keys[i] = key_of(
            value_at(source, <Py_ssize_t>(<double>i * (<double>n_rows / <double>n_sample)))
        )
    result = presort(scratch.keys, n_sample, labels, &packing, scratch.entries, scratch.other)
    for i in range(result.n_present):
        values[i] = value_of(scratch.keys[row_of(result.entries[i], &packing)])
    return result.n_present


cdef inline Py_ssize_t cell_of(const Coder* coder, double value) noexcept nogil:
    cdef double place = (value - coder.low) * coder.rate + 1.0, top = <double>(coder.n_cells - 1)
    place = place if place > 0.0 else 0.0
    place = place if place < top else top
    return <Py_ssize_t>place


cdef bint set_cells(Coder* coder, double low, double high, Py_ssize_t max_bins) except -1 nogil:
    """Set cells of equal width from one value to another; return whether floats allow it."""
    coder.n_cells = min(max(CELLS_A_BIN * max_bins, MIN_CELLS), 65536)
    free(coder.cells)
    coder.cells = NULL
    coder.cells = <uint16_t*>zeros(coder.n_cells, sizeof(uint16_t))
    coder.low = low
    if not 1e-290 < high - low < 1e290:
        return False
    coder.rate = <double>(coder.n_cells - 3) / (high - low)
    return True


cdef bint smooth_cells(
    Coder* coder, const double* values, Py_ssize_t n, Py_ssize_t max_bins
) except -1 nogil:
    """Bins of whole cells, with about equal numbers of values; False if few cells hold many."""
    cdef Py_ssize_t edge = n // max_bins, i = 0, cell, first, bin = 0
    cdef double share = <double>n / <double>max_bins, target = share
    if n < 256 or not set_cells(coder, values[edge], values[n - 1 - edge], max_bins):
        return False
    for cell in range(coder.n_cells):
        coder.cells[cell] = <uint16_t>bin
        first = i
        while i < n and cell_of(coder, values[i]) <= cell:
            i += 1
        if 0 < cell < coder.n_cells - 1 and i - first > max(8.0, 4.0 * share):
            return False
        if <double>i >= target and bin < max_bins - 1:
            bin += 1
            target = max(target + share, <double>i + 0.5 * share)
    coder.cells[0] |= BEYOND
    coder.cells[coder.n_cells - 2] |= BEYOND
    coder.cells[coder.n_cells - 1] |= BEYOND
    coder.way = BY_CELL
    coder.n_bins = bin + 1
    return True


cdef void cut_between_all(Coder* coder, const double* values, Py_ssize_t n) noexcept nogil:
    """A bin for every value."""
    cdef Py_ssize_t i, n_cuts = 0
    coder.way = BY_SEARCH
    for i in range(1, n):
        if values[i] != values[i - 1]:
            n_cuts = add_cut(coder.cuts, n_cuts, between(values[i - 1], values[i]))
    coder.n_bins = n_cuts + 1


cdef void choose_cuts(
    Coder* coder, const double* values, Py_ssize_t n, Py_ssize_t max_bins
) noexcept nogil:
    """Bins with equal shares of the rows; a value with such a share gets a separate bin."""
    cdef Py_ssize_t i, start = 0, n_cuts = 0
    cdef double share = <double>n / (0.9 * <double>max_bins), target = share
    cdef bint run
    coder.way = BY_SEARCH
    while start < n:
        i = start
        while i < n and values[i] == values[start]:
            i += 1
        run = i - start > 1 and <double>(i - start) >= share
        if run and start > 0:
            n_cuts = add_cut(coder.cuts, n_cuts, nextafter(values[start], -INFINITY))
        if i < n and run:
            n_cuts = add_cut(coder.cuts, n_cuts, values[start])
        elif i < n and <double>i >= target:
            n_cuts = add_cut(coder.cuts, n_cuts, between(values[i - 1], values[i]))
        if run or <double>i >= target:
            target = <double>i + share
        start = i
    coder.n_bins = min(n_cuts + 1, max_bins)


cdef inline Py_ssize_t add_cut(double* cuts, Py_ssize_t n_cuts, double cut) noexcept nogil:
    if n_cuts and cuts[n_cuts - 1] >= cut:
        return n_cuts
    cuts[n_cuts] = cut
    return n_cuts + 1


cdef inline double between(double low, double high) noexcept nogil:
    cdef double middle = 0.5 * low + 0.5 * high
    return middle if middle < high else low


cdef int place_cuts(Coder* coder, Py_ssize_t max_bins) except -1 nogil:
    """Locate the cuts by cells if no cell has more than two, else by search."""
    cdef Py_ssize_t n_cuts = coder.n_bins - 1, cell, cut = 0, before
    coder.n_steps = 1
    while coder.n_steps < coder.n_bins:
        coder.n_steps *= 2
    for cut in range(n_cuts, coder.n_steps + 2):
        coder.cuts[cut] = INFINITY
    if n_cuts < 2 or not set_cells(coder, coder.cuts[0], coder.cuts[n_cuts - 1], max_bins):
        return 0
    cut = 0
    # invariant: ``cut`` cuts are in the cells below this one
    for cell in range(coder.n_cells):
        coder.cells[cell] = <uint16_t>cut
        before = cut
        while cut < n_cuts and cell_of(coder, coder.cuts[cut]) == cell:
            cut += 1
        if cut - before > 2:
            return 0
    coder.way = BY_STEP
    return 0


cdef void note_values(Coder* coder, const double* values, Py_ssize_t n) noexcept nogil:
    """The value of each bin in the sample, and whether it is the only one."""
    cdef Py_ssize_t i, bin = 0, last = -1
    for i in range(n):
        while values[i] > coder.cuts[bin]:
            bin += 1
        if bin != last:
            coder.single[bin] = True
            coder.values[bin] = values[i]
            last = bin
        elif values[i] != coder.values[bin]:
            coder.single[bin] = False


# -- coding ---------------------------------------------------------------------------------


cdef void code_block(
    const Coder* coder, const Source* source, Py_ssize_t start, Py_ssize_t stop, int width,
    void* codes, Extent* extent,
) noexcept nogil:
    """Code the rows from start to stop; ``codes`` points to the code of row 0, stride four."""
    cdef double[CHUNK] values
    cdef Py_ssize_t size
    while start < stop:
        size = min(<Py_ssize_t>CHUNK, stop - start)
        read_values(source, start, size, values)
        if width == 1:
            code_values(coder, values, size, <uint8_t*>codes + LANES * start, extent)
        else:
            code_values(coder, values, size, <uint16_t*>codes + LANES * start, extent)
        start += size


cdef inline void code_values(
    const Coder* coder, const double* values, Py_ssize_t n, code_t* codes, Extent* extent
) noexcept nogil:
    if coder.way == BY_CODE:
        take_codes(coder, values, n, codes, extent)
    elif coder.way == BY_CELL:
        find_cells(coder, values, n, codes, extent)
    else:
        find_cuts(coder, values, n, codes, extent)


cdef inline void take_codes(
    const Coder* coder, const double* values, Py_ssize_t n, code_t* codes, Extent* extent
) noexcept nogil:
    cdef code_t missing = <code_t>coder.n_bins
    cdef Extent seen = extent[0]
    cdef Py_ssize_t i
    for i in range(n):
        note(&seen, values[i])
        codes[LANES * i] = <code_t>values[i] if values[i] == values[i] else missing
    extent[0] = seen


cdef inline void find_cells(
    const Coder* coder, const double* values, Py_ssize_t n, code_t* codes, Extent* extent
) noexcept nogil:
    """Only values in the first and last cells are compared with the extent: the rest are between
    two values of the sample. Missing values are in the first cell.
    """
    cdef int32_t[CHUNK] places
    cdef const uint16_t* cells = coder.cells
    cdef uint16_t code
    cdef Py_ssize_t i
    cells_of(values, n, coder.low, coder.rate, <double>(coder.n_cells - 1), places)
    for i in range(n):
        code = cells[places[i]]
        if code & BEYOND:
            code = look_beyond(coder, code, values[i], extent)
        codes[LANES * i] = <code_t>code


cdef inline void find_cuts(
    const Coder* coder, const double* values, Py_ssize_t n, code_t* codes, Extent* extent
) noexcept nogil:
    cdef int32_t[CHUNK] bins
    cdef code_t missing = <code_t>coder.n_bins
    cdef uint8_t* single = <uint8_t*>coder.single
    cdef Extent seen = extent[0]
    cdef double value
    cdef Py_ssize_t i, bin
    if coder.way == BY_STEP:
        step_to_bins(coder, values, n, bins)
    else:
        search_bins(coder, values, n, bins)
    for i in range(n):
        value, bin = values[i], bins[i]
        note(&seen, value)
        # Without a branch on the value alone: it would often be mispredicted.
        if relaxed_flag(single + bin) & (value != coder.values[bin]) & (value == value):
            set_relaxed_flag(single + bin, False)  # other threads may do the same
        codes[LANES * i] = <code_t>bin if value == value else missing
    extent[0] = seen


cdef inline void step_to_bins(
    const Coder* coder, const double* values, Py_ssize_t n, int32_t* bins
) noexcept nogil:
    cdef const uint16_t* cells = coder.cells
    cdef const double* cuts = coder.cuts
    cdef Py_ssize_t i, bin
    cells_of(values, n, coder.low, coder.rate, <double>(coder.n_cells - 1), bins)
    for i in range(n):
        bin = cells[bins[i]]
        bin += values[i] > cuts[bin]
        bin += values[i] > cuts[bin]
        bins[i] = <int32_t>bin


cdef inline void search_bins(
    const Coder* coder, const double* values, Py_ssize_t n, int32_t* bins
) noexcept nogil:
    cdef const double* cuts = coder.cuts
    cdef Py_ssize_t i, bin, step
    for i in range(n):
        bin = 0
        step = coder.n_steps // 2
        while step:
            bin += step if values[i] > cuts[bin + step - 1] else 0
            step //= 2
        bins[i] = <int32_t>bin


cdef Py_ssize_t bin_of(const Coder* coder, double value) noexcept nogil:
    """The bin of a number."""
    cdef int32_t bin
    if coder.way == BY_CODE:
        return <Py_ssize_t>min(max(value, 0.0), <double>(coder.n_bins - 1))
    if coder.way == BY_CELL:
        return coder.cells[cell_of(coder, value)] & <uint16_t>~BEYOND
    if coder.way == BY_STEP:
        step_to_bins(coder, &value, 1, &bin)
    else:
        search_bins(coder, &value, 1, &bin)
    return bin


def take_rows(columns, const uint32_t[::1] rows, targets, Py_ssize_t first):
    """Copy some rows of columns to other columns of the same types, from a place on."""
    cdef Py_ssize_t n = rows.shape[0], start, i, size
    cdef const char* place
    cdef Source source
    cdef char* to
    for start in range(0, n, TAKEN):
        for values, target in zip(columns, targets):
            source, size = source_of(values, 0), values.itemsize
            to = <char*><size_t>target.ctypes.data + (first + start) * size
            for i in range(start, min(start + TAKEN, n)):
                place = source.first + rows[i] * source.stride
                if size == 8:
                    (<uint64_t*>to)[0] = (<const uint64_t*>place)[0]
                elif size == 4:
                    (<uint32_t*>to)[0] = (<const uint32_t*>place)[0]
                else:
                    memcpy(to, place, size)
                to += size


def keys_of(const double[::1] values):
    """The bits of floats as integers in the same order; missing is the greatest."""
    cdef uint64_t[::1] keys = np.empty(len(values), dtype=np.uint64)
    cdef Py_ssize_t i
    for i in range(len(values)):
        keys[i] = key_of(values[i])
    return np.asarray(keys)


cdef struct Making:
    # The bins of all columns, to be chosen.
    Coder* coders
    Source* sources
    Py_ssize_t* n_rows      # by column
    Py_ssize_t max_bins
    Scratch* scratch        # one per thread
    bint failed             # memory ran out


cdef void make_column(void* context, Py_ssize_t j, int thread) noexcept with gil:
    cdef Making* making = <Making*>context
    try:
        with nogil:
            make_coder(
                &making.coders[j], &making.sources[j], making.n_rows[j], making.max_bins,
                &making.scratch[thread],
            )
    except MemoryError:
        making.failed = True


cdef class Bins:
    """A monotone map from values to bins for every column."""
    # samples are values of some rows, a column each; not read for a column of no more categories
    # than bins. Nominal columns have a bin for each category.

    def __init__(self, samples, kinds, n_categories, Py_ssize_t max_bins, Pool pool=None):
        cdef Making making
        cdef Py_ssize_t j
        self.n_columns = len(kinds)
        self.kinds = list(kinds)
        self.coders = <Coder*>zeros(self.n_columns, sizeof(Coder))
        pool = pool or Pool(1)
        memset(&making, 0, sizeof(Making))
        making.coders = self.coders
        making.max_bins = max_bins
        try:
            making.sources = <Source*>zeros(self.n_columns, sizeof(Source))
            making.n_rows = <Py_ssize_t*>zeros(self.n_columns, sizeof(Py_ssize_t))
            making.scratch = <Scratch*>zeros(pool.n_threads, sizeof(Scratch))
            for j, values in enumerate(samples):
                making.sources[j] = source_of(values, kinds[j])
                making.sources[j].n_categories = n_categories[j]
                making.n_rows[j] = len(values)
            with nogil:
                pool.run(&make_column, &making, self.n_columns)
            if making.failed:
                raise MemoryError
        finally:
            for j in range(pool.n_threads if making.scratch != NULL else 0):
                free_scratch(&making.scratch[j])
            free(making.sources)
            free(making.n_rows)
            free(making.scratch)
        self.set_lists()

    def __dealloc__(self):
        cdef Py_ssize_t j
        if self.coders != NULL:
            for j in range(self.n_columns):
                free_coder(&self.coders[j])
        free(self.coders)

    cdef void set_lists(self):
        self.n_bins = [self.coders[j].n_bins for j in range(self.n_columns)]
        self.by_code = [self.coders[j].way == BY_CODE for j in range(self.n_columns)]

    # -- to other processes ------------------------------------------------------------------

    cdef bytes bytes_of(self, const void* memory, Py_ssize_t size):
        return b"" if memory == NULL else (<const char*>memory)[:size]

    def __reduce__(self):
        cdef Coder* c
        coders = []
        for j in range(self.n_columns):
            c = &self.coders[j]
            coders.append((
                <int>c.way, c.n_bins, c.low, c.rate, c.n_cells, c.n_steps, c.least, c.most,
                self.bytes_of(c.cells, c.n_cells * sizeof(uint16_t)),
                self.bytes_of(c.cuts, 0 if c.cuts == NULL or c.way == BY_CELL
                              else (c.n_steps + 2) * sizeof(double)),
                self.bytes_of(c.values, c.n_bins * sizeof(double)),
                self.bytes_of(c.single, c.n_bins),
            ))
        return _restored, (self.kinds, coders)

    def single(self, Py_ssize_t j):
        """Which bins of a column hold one value only, according to the sample."""
        flags = np.zeros(self.coders[j].n_bins + 1, dtype=np.uint8)
        flags[:-1] = np.frombuffer(
            self.bytes_of(self.coders[j].single, self.coders[j].n_bins), dtype=np.uint8
        )
        return flags[:-1]

    def bin_of(self, Py_ssize_t j, double value):
        """The bin of a number in a column."""
        return bin_of(&self.coders[j], value)

    def values(self, Py_ssize_t j):
        """The value of each bin of a column that holds only one."""
        return np.array([self.coders[j].values[b] for b in range(self.coders[j].n_bins)])

    def edges(self, Py_ssize_t j):
        """About where bins begin, from the second on."""
        cdef const Coder* c = &self.coders[j]
        cdef Py_ssize_t b, cell = 0
        if c.way == BY_CODE:
            return np.arange(1.0, c.n_bins)
        edges = np.empty(max(c.n_bins - 1, 0))
        for b in range(c.n_bins - 1):
            if c.way == BY_CELL:
                while (c.cells[cell] & ~BEYOND) <= b:
                    cell += 1
                edges[b] = c.low + (cell - 1) / c.rate
            else:
                edges[b] = c.cuts[b]
        return edges


def _restored(kinds, coders):
    cdef Bins bins = Bins.__new__(Bins)
    cdef Coder* c
    cdef Py_ssize_t j
    bins.n_columns = len(kinds)
    bins.kinds = list(kinds)
    bins.coders = <Coder*>zeros(bins.n_columns, sizeof(Coder))
    for j, (way, n_bins, low, rate, n_cells, n_steps, least, most, *memory) in enumerate(coders):
        c = &bins.coders[j]
        c.way, c.n_bins, c.low, c.rate = way, n_bins, low, rate
        c.n_cells, c.n_steps, c.least, c.most = n_cells, n_steps, least, most
        c.cells = <uint16_t*>copied(memory[0])
        c.cuts = <double*>copied(memory[1])
        c.values = <double*>copied(memory[2])
        c.single = <uint8_t*>copied(memory[3])
    bins.set_lists()
    return bins


cdef void* copied(bytes memory) except NULL:
    cdef void* room = allocate(max(len(memory), 8), 1)
    memcpy(room, <const char*>memory, len(memory))
    return room
