# A monotone map from the values of a column to small integers.
#
# Used by `_histogram`, by both engines, and in Python as `Bins`. Any two values with different bins
# are in the order of their bins; missing values have the bin after all others. Trees do not depend
# on which monotone map it is.

from libc.stdint cimport uint8_t, uint16_t
from treebound.growing._layout cimport Source

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


cdef struct Extent:
    # Range and missing values of the coded rows.
    double least
    double most
    bint missing


cdef enum:
    BEYOND = 0x8000      # marks the cells that may hold values beyond those of the sample
    LANES = 4            # columns interleaved in memory
    CHUNK = 512          # values coded together


ctypedef fused code_t:
    uint8_t
    uint16_t


cdef void code_block(
    const Coder* coder, const Source* source, Py_ssize_t start, Py_ssize_t stop, int width,
    void* codes, Extent* extent,
) noexcept nogil


cdef inline void note(Extent* extent, double value) noexcept nogil:
    """Update the extent; a missing value compares false and changes only ``missing``."""
    extent.least = value if value < extent.least else extent.least
    extent.most = value if value > extent.most else extent.most
    extent.missing |= value != value


cdef inline uint16_t look_beyond(
    const Coder* coder, uint16_t code, double value, Extent* extent
) noexcept nogil:
    """The code of a value in an outer cell; updates the extent."""
    note(extent, value)
    return <uint16_t>coder.n_bins if value != value else code & <uint16_t>~BEYOND


cdef Py_ssize_t bin_of(const Coder* coder, double value) noexcept nogil


cdef class Bins:
    cdef Coder* coders
    cdef readonly Py_ssize_t n_columns
    cdef readonly list kinds         # of the columns: 0 real, 1 ordinal, 2 nominal
    cdef readonly list n_bins        # missing values have the bin after them
    cdef readonly list by_code       # columns whose codes are their values
    cdef void set_lists(self)
    cdef bytes bytes_of(self, const void* memory, Py_ssize_t size)
