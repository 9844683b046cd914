"""Choosing the bins of a column: a monotone map from values to bins, from a sample of its values.

Any monotone map gives the same tree; equal numbers of rows per bin only make it fast. A smooth
column is mapped by a table of cells of equal width, a column of repeated values by the same table
and two comparisons, any other by binary search.
"""

from libc.math cimport INFINITY, nextafter, sqrt
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free

from treebound.growing._layout cimport (
    REAL, Packing, Problem, Scratch, Source, allocate, label_of, rank_of, row_of, value_at, zeros,
)
from treebound.growing._presort cimport Presorted, key_of, presort

cdef enum:
    CELLS_A_BIN = 8
    LEAST_CELLS = 2048
    VALUES_A_BIN = 16    # in the sample
    FEW_VALUES = 255     # so few values get a bin each, even beyond the limit of bins
    LABEL_BITS = 16      # of an entry of the sample, and as many for its row


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
