from libc.stdint cimport int32_t, int64_t

from treebound.growing._large cimport Large
from treebound.growing._layout cimport Scratch
from treebound.growing._peels cimport Peels
from treebound.growing._pool cimport Pool
from treebound.growing._search cimport Search
from treebound.growing._signals cimport Watch


cdef class Grower(Peels):
    cdef Pool pool
    cdef Scratch* scratch       # one per thread
    cdef Large* large           # NULL: all nodes are sorted
    cdef Search search
    cdef object arrays          # keeps the memory of the sources alive
    cdef object spans           # of the columns of the whole sample; None: of this one
    cdef double least_priority  # with a limit of leaves: leaves below it are not expanded
    cdef Py_ssize_t max_leaves, n_leaves, root_crossing, crossing, most_bins
    cdef Watch watch
    cdef bint sorts_when_needed  # False: always use histograms above the crossing

    cdef int grow(self) except -1 nogil

    # internal
    cdef int start(self) except -1 nogil
    cdef int set_spans(self) except -1 nogil
    cdef bint make_large(self, Py_ssize_t most_bins) except -1 nogil
    cdef bint is_noise(self) noexcept nogil
    cdef void forget_large(self) noexcept nogil
    cdef int look_at(self, int32_t index) except -1 nogil
    cdef int search_alone(self, int32_t index) except -1 nogil
    cdef int look_at_large(self, int32_t index) except -1 nogil
    cdef int sort_all(self) except -1 nogil
    cdef bint tells_little(self, Py_ssize_t live_rows) noexcept nogil
    cdef int add_children(self, int32_t index, int32_t* children) except -1 nogil
    cdef void set_right(self, int32_t index, Py_ssize_t middle) noexcept nogil
    cdef int expand_large(self, int32_t index) except -1 nogil
    cdef int part_histogram(
        self, int32_t index, int32_t small, int32_t large, bint keep_small, bint keep_large
    ) except -1 nogil
    cdef int expand_sorted(self, int32_t index) except -1 nogil
    cdef int search_children(
        self, int32_t index, int32_t small, int32_t large, bint search_small, bint search_large
    ) except -1 nogil
