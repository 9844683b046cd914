from libc.stdint cimport uint8_t, uint16_t

from treebound.growing._layout cimport Problem, Scratch, Source


cdef enum:
    BEYOND = 0x8000  # marks the cells that may hold values beyond those of the sample


cdef enum Way:
    BY_CELL = 0     # a table of cells of equal width
    BY_STEP = 1     # the same, then up to two cuts
    BY_SEARCH = 2   # a search in the cuts
    BY_CODE = 3     # codes stay as they are


cdef struct Coder:
    # A monotone map from the values of a column to bins; missing values have the last bin.
    Way way
    Py_ssize_t n_bins
    double low          # cell of v: (v - low) * rate + 1, cut to the table
    double rate
    Py_ssize_t n_cells
    uint16_t* cells     # the bin of a cell, or the first; BY_CELL: outer cells are marked
    double* cuts        # greatest value of each bin but the last, +inf after them
    Py_ssize_t n_steps  # a power of two: length of the padded cuts
    double* values      # a value of each bin, from the sample
    uint8_t* single     # whether it is the only one; cleared while values are coded
    double least        # of the sample
    double most
    double signal       # gain of a split of the sample, relative to chance


cdef Py_ssize_t sample_size(Py_ssize_t n_rows, Py_ssize_t most_bins) noexcept nogil

cdef int make_coder(
    Coder* coder, const Source* source, const Problem* problem, Py_ssize_t most_bins,
    Scratch* scratch,
) except -1 nogil

cdef Py_ssize_t bin_of(const Coder* coder, double value) noexcept nogil

cdef void free_coder(Coder* coder) noexcept nogil


cdef struct Extent:
    # Range and missing values of the coded rows.
    double least
    double most
    bint missing


cdef void code_block(
    const Coder* coder, const Source* source, Py_ssize_t start, Py_ssize_t stop, int width,
    void* codes, Extent* extent,
) noexcept nogil

cdef bint side_by_side(const Coder** coders, const Source** sources) noexcept nogil

cdef void code_four(
    const Coder** coders, const Source** sources, Py_ssize_t start, Py_ssize_t stop, int width,
    void* codes, Extent** extents,
) noexcept nogil


cdef class Bins:
    cdef Coder* coders
    cdef readonly Py_ssize_t n_columns
    cdef readonly list kinds         # of the columns: 0 real, 1 ordinal, 2 nominal
    cdef readonly list n_bins        # missing values have the bin after them
    cdef readonly list by_code       # columns whose codes are their values
    cdef readonly list panels        # the columns of each panel, at most four of one width

    cdef void arrange(self)
    cdef bytes bytes_of(self, const void* memory, Py_ssize_t size)


cdef Source source_of(values, int kind)
