"""Binning: a monotone map from values to bins for each column, from a sample of its values.

Any monotone map gives the same tree; equal numbers of rows per bin only make it fast. Values are
coded without branches: a smooth column by a table of cells of equal width (1 to 2 ns per value), a
column of repeated values by the same table and two comparisons, any other by binary search.
"""

from libc.math cimport INFINITY, NAN, nextafter, sqrt
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free

from treebound.growing._layout cimport (
    FLOAT32, FLOAT64, INT8, INT16, INT32, REAL, Packing, Problem, Scratch, Source, allocate,
    label_of, rank_of, row_of, value_at, zeros,
)
from treebound.growing._presort cimport Presorted, key_of, presort

cdef extern from "_loops.h":
    void cells_of(
        const double* values, Py_ssize_t n, double low, double rate, double top, int32_t* cells
    ) noexcept nogil

cdef enum:
    CHUNK = 512          # values coded together
    CELLS_A_BIN = 8
    LEAST_CELLS = 2048
    VALUES_A_BIN = 16    # in the sample
    LANES = 4            # columns interleaved in memory
    FEW_VALUES = 255     # so few values get a bin each, even beyond the limit of bins
    LABEL_BITS = 16      # of an entry of the sample, and as many for its row

ctypedef fused code_t:
    uint8_t
    uint16_t

ctypedef fused value_t:
    double
    float
    int8_t
    int16_t
    int32_t


# -- how to code ---------------------------------------------------------------------------


cdef int make_coder(
    Coder* coder, const Source* source, const Problem* problem, Py_ssize_t most_bins,
    Scratch* scratch,
) except -1 nogil:
    """Choose the bins of a column; ``scratch`` has room for `sample_size` values."""
    cdef Py_ssize_t n_rows = problem.n_rows
    cdef Py_ssize_t n_sample = sample_size(n_rows, most_bins), n = 0, i
    cdef Py_ssize_t most_values = max(most_bins, <Py_ssize_t>FEW_VALUES), distinct
    cdef double* values
    if source.kind != REAL and source.n_categories <= most_bins:
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
    values = <double*>allocate(n_sample, sizeof(double))
    try:
        n = sorted_sample(coder, source, problem, n_sample, values, scratch)
        coder.least = values[0] if n else INFINITY
        coder.most = values[n - 1] if n else -INFINITY
        coder.cuts = <double*>allocate(2 * most_values + 2, sizeof(double))
        coder.values = <double*>zeros(most_values + 1, sizeof(double))
        coder.single = <uint8_t*>zeros(most_values + 1, 1)
        distinct = n > 0
        for i in range(1, n):
            distinct += values[i] != values[i - 1]
        if 2 * distinct <= most_values or (n == n_rows and distinct <= most_values):
            cut_between_all(coder, values, n)
        elif not smooth_cells(coder, values, n, most_bins):
            choose_cuts(coder, values, n, most_bins)
        if coder.way != BY_CELL:
            place_cuts(coder, most_values)
            note_values(coder, values, n)
    finally:
        free(values)
    return 0


cdef Py_ssize_t sample_size(Py_ssize_t n_rows, Py_ssize_t most_bins) noexcept nogil:
    """Size of the sample that bins are chosen from: a few values per bin, more for many rows."""
    cdef Py_ssize_t size = max(512, 2 * most_bins, min(VALUES_A_BIN * most_bins, n_rows // 64))
    return min(n_rows, size, (1 << LABEL_BITS) - 1)


cdef void free_coder(Coder* coder) noexcept nogil:
    free(coder.cells)
    free(coder.cuts)
    free(coder.values)
    free(coder.single)


cdef Py_ssize_t sorted_sample(
    Coder* coder, const Source* source, const Problem* problem, Py_ssize_t n_sample,
    double* values, Scratch* scratch,
) noexcept nogil:
    """Values of equally spaced rows, sorted, without missing ones."""
    cdef uint32_t* labels = <uint32_t*>values  # needed until values are set
    cdef Packing packing
    cdef Presorted result
    cdef Py_ssize_t n_rows = problem.n_rows, i
    packing.row_shift = LABEL_BITS
    packing.rank_shift = 2 * LABEL_BITS
    packing.label_mask = packing.row_mask = (<uint64_t>1 << LABEL_BITS) - 1
    for i in range(n_sample):
        labels[i] = problem.labels[sampled_row(i, n_rows, n_sample)]
        scratch.keys[i] = key_of(value_at(source, sampled_row(i, n_rows, n_sample)))
    result = presort(scratch.keys, n_sample, labels, &packing, scratch.entries, scratch.other)
    coder.signal = best_gain_over_chance(
        result.entries, result.n_present, &packing, problem.n_classes, scratch
    )
    for i in range(result.n_present):
        values[i] = value_at(
            source, sampled_row(row_of(result.entries[i], &packing), n_rows, n_sample)
        )
    return result.n_present


cdef double best_gain_over_chance(
    const uint64_t* entries, Py_ssize_t n, const Packing* packing, Py_ssize_t n_classes,
    Scratch* scratch,
) noexcept nogil:
    """The gini gain of the best split, relative to its maximum for random labels.

    For random labels the gain is a chi-square variable with one degree of freedom less than
    classes, times a mean class share; the best of many thresholds is about twelve and three
    deviations above its mean.
    """
    cdef double degrees = <double>(n_classes - 1)
    cdef int64_t* left = scratch.left
    cdef int64_t* right = scratch.right
    cdef int64_t low = 0, high = 0
    cdef double best = 0.0, score
    cdef Py_ssize_t i, label
    for label in range(n_classes):
        left[label] = right[label] = 0
    for i in range(n):
        right[label_of(entries[i], packing)] += 1
    for label in range(n_classes):
        high += right[label] * right[label]
    score = best = <double>high / <double>max(n, 1)
    if score >= <double>n:
        return 0.0
    # invariant: low and high are the sums of squares of left and right
    for i in range(n - 1):
        label = label_of(entries[i], packing)
        low += 2 * left[label] + 1
        high -= 2 * right[label] - 1
        left[label] += 1
        right[label] -= 1
        if rank_of(entries[i], packing) != rank_of(entries[i + 1], packing):
            best = max(best, <double>low / <double>(i + 1) + <double>high / <double>(n - i - 1))
    return (best - score) / (
        (degrees + 3.0 * sqrt(2.0 * degrees) + 12.0) * (1.0 - score / <double>n) / degrees
    )


cdef inline Py_ssize_t sampled_row(
    Py_ssize_t i, Py_ssize_t n_rows, Py_ssize_t n_sample
) noexcept nogil:
    return <Py_ssize_t>(<double>i * (<double>n_rows / <double>n_sample))


cdef inline Py_ssize_t cell_of(const Coder* coder, double value) noexcept nogil:
    cdef double place = (value - coder.low) * coder.rate + 1.0, top = <double>(coder.n_cells - 1)
    place = place if place > 0.0 else 0.0
    place = place if place < top else top
    return <Py_ssize_t>place


cdef bint set_cells(Coder* coder, double low, double high, Py_ssize_t most_bins) except -1 nogil:
    """Set cells of equal width from one value to another; return whether floats allow it."""
    coder.n_cells = min(max(CELLS_A_BIN * most_bins, LEAST_CELLS), 65536)
    if coder.cells == NULL:
        coder.cells = <uint16_t*>zeros(coder.n_cells, sizeof(uint16_t))
    coder.low = low
    if not 1e-290 < high - low < 1e290:
        return False
    coder.rate = <double>(coder.n_cells - 3) / (high - low)
    return True


cdef bint smooth_cells(
    Coder* coder, const double* values, Py_ssize_t n, Py_ssize_t most_bins
) except -1 nogil:
    """Bins of whole cells, with about equal numbers of values; False if few cells hold many."""
    cdef Py_ssize_t edge = n // most_bins, i = 0, cell, first, bin = 0
    cdef double share = <double>n / <double>most_bins, target = share
    if n < 256 or not set_cells(coder, values[edge], values[n - 1 - edge], most_bins):
        return False
    for cell in range(coder.n_cells):
        coder.cells[cell] = <uint16_t>bin
        first = i
        while i < n and cell_of(coder, values[i]) <= cell:
            i += 1
        if 0 < cell < coder.n_cells - 1 and i - first > max(8.0, 4.0 * share):
            return False
        if <double>i >= target and bin < most_bins - 1:
            bin += 1
            target = max(target + share, <double>i + 0.5 * share)
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
    Coder* coder, const double* values, Py_ssize_t n, Py_ssize_t most_bins
) noexcept nogil:
    """Bins with equal shares of the rows; a value with such a share gets its own bin."""
    cdef Py_ssize_t i, start = 0, n_cuts = 0
    cdef double share = <double>n / (0.9 * <double>most_bins), target = share
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
    coder.n_bins = min(n_cuts + 1, most_bins)


cdef inline Py_ssize_t add_cut(double* cuts, Py_ssize_t n_cuts, double cut) noexcept nogil:
    if n_cuts and cuts[n_cuts - 1] >= cut:
        return n_cuts
    cuts[n_cuts] = cut
    return n_cuts + 1


cdef inline double between(double low, double high) noexcept nogil:
    cdef double middle = 0.5 * low + 0.5 * high
    return middle if middle < high else low


cdef int place_cuts(Coder* coder, Py_ssize_t most_bins) except -1 nogil:
    """Locate the cuts by cells if no cell has more than two, else by search."""
    cdef Py_ssize_t n_cuts = coder.n_bins - 1, cell, cut = 0, before
    coder.n_steps = 1
    while coder.n_steps < coder.n_bins:
        coder.n_steps *= 2
    for cut in range(n_cuts, coder.n_steps + 2):
        coder.cuts[cut] = INFINITY
    if n_cuts < 2 or not set_cells(coder, coder.cuts[0], coder.cuts[n_cuts - 1], most_bins):
        return 0
    cut = 0
    # invariant: ``cut`` cuts lie in the cells below this one
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


# -- coding --------------------------------------------------------------------------------


cdef void code_block(
    const Coder* coder, const Source* source, Py_ssize_t start, Py_ssize_t stop, int width,
    void* codes, Extent* extent,
) noexcept nogil:
    """Code the rows from start to stop; ``codes`` points to the code of row 0, stride four."""
    if width == 1:
        code_as(coder, source, start, stop, <uint8_t*>codes, extent)
    else:
        code_as(coder, source, start, stop, <uint16_t*>codes, extent)


cdef inline void code_as(
    const Coder* coder, const Source* source, Py_ssize_t start, Py_ssize_t stop, code_t* codes,
    Extent* extent,
) noexcept nogil:
    cdef const char* first = source.first + start * source.stride
    cdef Py_ssize_t stride = source.stride, n = stop - start
    codes += LANES * start
    if source.type == FLOAT64:
        code_values(coder, first, stride, n, codes, extent, <double>0)
    elif source.type == FLOAT32:
        code_values(coder, first, stride, n, codes, extent, <float>0)
    elif source.type == INT8:
        code_values(coder, first, stride, n, codes, extent, <int8_t>0)
    elif source.type == INT16:
        code_values(coder, first, stride, n, codes, extent, <int16_t>0)
    else:
        code_values(coder, first, stride, n, codes, extent, <int32_t>0)


cdef inline void code_values(
    const Coder* coder, const char* first, Py_ssize_t stride, Py_ssize_t n, code_t* codes,
    Extent* extent, value_t zero,
) noexcept nogil:
    if coder.way == BY_CODE:
        take_codes(coder, first, stride, n, codes, extent, zero)
    elif coder.way == BY_CELL:
        find_cells(coder, first, stride, n, codes, extent, zero)
    else:
        find_cuts(coder, first, stride, n, codes, extent, zero)


cdef inline double read(const char* place, value_t zero) noexcept nogil:
    """A value as a float; NaN where it is missing."""
    cdef value_t value = (<const value_t*>place)[0]
    if value_t is double or value_t is float:
        return <double>value
    else:
        return <double>value if value >= 0 else NAN


cdef inline void note(Extent* extent, double value) noexcept nogil:
    """Update the extent; a missing value compares false and changes only ``missing``."""
    extent.least = value if value < extent.least else extent.least
    extent.most = value if value > extent.most else extent.most
    extent.missing |= value != value


cdef inline void take_codes(
    const Coder* coder, const char* first, Py_ssize_t stride, Py_ssize_t n, code_t* codes,
    Extent* extent, value_t zero,
) noexcept nogil:
    cdef Py_ssize_t i
    cdef code_t missing = <code_t>coder.n_bins
    cdef Extent seen = extent[0]
    cdef double value
    for i in range(n):
        value = read(first + i * stride, zero)
        note(&seen, value)
        codes[LANES * i] = <code_t>value if value == value else missing
    extent[0] = seen


cdef inline void find_cells(
    const Coder* coder, const char* first, Py_ssize_t stride, Py_ssize_t n, code_t* codes,
    Extent* extent, value_t zero,
) noexcept nogil:
    """Separate loops: gather the values, compute their cells, look up the bins.

    Only values in the first and last cell are compared with the extent: all others lie between
    two values of the sample. Missing values are in the first cell.
    """
    cdef double[CHUNK] values
    cdef int32_t[CHUNK] places
    cdef Py_ssize_t i, start = 0, size
    cdef code_t missing = <code_t>coder.n_bins
    cdef const uint16_t* cells = coder.cells
    cdef uint32_t inner = <uint32_t>(coder.n_cells - 3)
    while start < n:
        size = min(CHUNK, n - start)
        for i in range(size):
            values[i] = read(first + (start + i) * stride, zero)
        cells_of(values, size, coder.low, coder.rate, <double>(coder.n_cells - 1), places)
        for i in range(size):
            codes[LANES * (start + i)] = <code_t>cells[places[i]]
            if <uint32_t>(places[i] - 1) >= inner:
                note(extent, values[i])
                if values[i] != values[i]:
                    codes[LANES * (start + i)] = missing
        start += size


cdef inline void find_cuts(
    const Coder* coder, const char* first, Py_ssize_t stride, Py_ssize_t n, code_t* codes,
    Extent* extent, value_t zero,
) noexcept nogil:
    cdef double[CHUNK] found
    cdef int32_t[CHUNK] bins
    cdef Py_ssize_t i, bin, start = 0, size
    cdef code_t missing = <code_t>coder.n_bins
    cdef const double* values = coder.values
    cdef uint8_t* single = <uint8_t*>coder.single
    cdef Extent seen = extent[0]
    cdef double value
    while start < n:
        size = min(CHUNK, n - start)
        for i in range(size):
            found[i] = read(first + (start + i) * stride, zero)
        if coder.way == BY_STEP:
            step_to_bins(coder, found, size, bins)
        else:
            search_bins(coder, found, size, bins)
        for i in range(size):
            value, bin = found[i], bins[i]
            note(&seen, value)
            # Without a branch on the value alone: it would often be mispredicted.
            if single[bin] & (value != values[bin]) & (value == value):
                single[bin] = False
            codes[LANES * (start + i)] = <code_t>bin if value == value else missing
        start += size
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
