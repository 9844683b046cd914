"""Coding: the bins of values, without branches.

A smooth column takes 1 to 2 ns per value: its cell is computed and looked up in a table. Four such
columns that lie side by side in memory are coded together, row by row.
"""

from libc.math cimport NAN
from libc.stdint cimport int8_t, int16_t, int32_t, uint8_t, uint16_t, uint32_t

from treebound.growing._coder cimport BEYOND, BY_CELL, BY_CODE, BY_STEP
from treebound.growing._layout cimport FLOAT32, FLOAT64, INT8, INT16, Source

cdef extern from "_loops.h":
    void cells_of(
        const double* values, Py_ssize_t n, double low, double rate, double top, int32_t* cells
    ) noexcept nogil
    void cells_of_doubles(
        const char* first, Py_ssize_t stride, Py_ssize_t n, const double* low, const double* rate,
        const double* top, int32_t* cells,
    ) noexcept nogil
    void cells_of_floats(
        const char* first, Py_ssize_t stride, Py_ssize_t n, const double* low, const double* rate,
        const double* top, int32_t* cells,
    ) noexcept nogil

cdef enum:
    CHUNK = 512          # values coded together
    LANES = 4            # columns interleaved in memory

ctypedef fused code_t:
    uint8_t
    uint16_t

ctypedef fused value_t:
    double
    float
    int8_t
    int16_t
    int32_t


# -- one column ----------------------------------------------------------------------------


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

    Only values in the first and last cells are compared with the extent: all others lie between
    two values of the sample. Missing values are in the first cell.
    """
    cdef double[CHUNK] values
    cdef int32_t[CHUNK] places
    cdef Py_ssize_t i, start = 0, size
    cdef code_t missing = <code_t>coder.n_bins
    cdef const uint16_t* cells = coder.cells
    cdef uint16_t code
    while start < n:
        size = min(CHUNK, n - start)
        for i in range(size):
            values[i] = read(first + (start + i) * stride, zero)
        cells_of(values, size, coder.low, coder.rate, <double>(coder.n_cells - 1), places)
        for i in range(size):
            code = cells[places[i]]
            codes[LANES * (start + i)] = <code_t>(code & <uint16_t>~BEYOND)
            if code & BEYOND:
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


# -- four columns --------------------------------------------------------------------------


cdef bint side_by_side(const Coder** coders, const Source** sources) noexcept nogil:
    """Whether four columns are neighbours in a matrix and are all coded by cells."""
    cdef Py_ssize_t size = sizeof(double) if sources[0].type == FLOAT64 else sizeof(float)
    cdef int lane
    for lane in range(LANES):
        if (
            coders[lane].way != BY_CELL
            or sources[lane].type > FLOAT32
            or sources[lane].type != sources[0].type
            or sources[lane].stride != sources[0].stride
            or sources[lane].first != sources[0].first + lane * size
        ):
            return False
    return True


cdef void code_four(
    const Coder** coders, const Source** sources, Py_ssize_t start, Py_ssize_t stop, int width,
    void* codes, Extent** extents,
) noexcept nogil:
    """Code the rows of four columns that are `side_by_side`; ``codes`` begins with row 0."""
    if width == 1:
        find_four(coders, sources, start, stop, <uint8_t*>codes, extents)
    else:
        find_four(coders, sources, start, stop, <uint16_t*>codes, extents)


cdef inline void find_four(
    const Coder** coders, const Source** sources, Py_ssize_t start, Py_ssize_t stop,
    code_t* codes, Extent** extents,
) noexcept nogil:
    cdef int32_t[CHUNK] places
    cdef double[LANES] low, rate, top
    cdef const uint16_t* a = coders[0].cells
    cdef const uint16_t* b = coders[1].cells
    cdef const uint16_t* c = coders[2].cells
    cdef const uint16_t* d = coders[3].cells
    cdef const Source* source = sources[0]
    cdef Py_ssize_t i, size
    cdef uint16_t[LANES] found
    cdef const char* first
    cdef int lane
    for lane in range(LANES):
        low[lane] = coders[lane].low
        rate[lane] = coders[lane].rate
        top[lane] = <double>(coders[lane].n_cells - 1)
    while start < stop:
        size = min(<Py_ssize_t>(CHUNK // LANES), stop - start)
        first = source.first + start * source.stride
        if source.type == FLOAT64:
            cells_of_doubles(first, source.stride, size, low, rate, top, places)
        else:
            cells_of_floats(first, source.stride, size, low, rate, top, places)
        for i in range(size):
            found[0] = a[places[LANES * i]]
            found[1] = b[places[LANES * i + 1]]
            found[2] = c[places[LANES * i + 2]]
            found[3] = d[places[LANES * i + 3]]
            if (found[0] | found[1] | found[2] | found[3]) & BEYOND:
                for lane in range(LANES):
                    found[lane] = look_beyond(
                        coders[lane], found[lane], first + i * source.stride, lane, source.type,
                        extents[lane],
                    )
            for lane in range(LANES):
                codes[LANES * (start + i) + lane] = <code_t>found[lane]
        start += size


cdef uint16_t look_beyond(
    const Coder* coder, uint16_t code, const char* row, int lane, Type type, Extent* extent
) noexcept nogil:
    """The code of a value in an outer cell; updates the extent."""
    cdef double value
    if not code & BEYOND:
        return code
    if type == FLOAT64:
        value = (<const double*>row)[lane]
    else:
        value = <double>(<const float*>row)[lane]
    note(extent, value)
    return <uint16_t>coder.n_bins if value != value else code & <uint16_t>~BEYOND
