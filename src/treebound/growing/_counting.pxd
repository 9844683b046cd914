from libc.stdint cimport int64_t, uint16_t, uint32_t

from treebound.growing._layout cimport Problem


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


cdef size_t size_of(const Counted* counted) noexcept nogil

cdef void count_rows(
    const Panel* panel, const Counted* counted, const uint32_t* rows, Py_ssize_t n_rows,
    void* histogram,
) noexcept nogil

cdef void discount_rows(
    const Panel* panel, const Counted* counted, const uint32_t* rows, Py_ssize_t n_rows,
    void* histogram,
) noexcept nogil

cdef void add_counts(const Counted* counted, void* to, const void* what) noexcept nogil

cdef void subtract_counts(const Counted* counted, void* of, const void* what) noexcept nogil
