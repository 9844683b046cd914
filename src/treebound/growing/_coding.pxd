from treebound.growing._coder cimport Coder
from treebound.growing._layout cimport Source, Type


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
