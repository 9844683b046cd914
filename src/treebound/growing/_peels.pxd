from libc.stdint cimport int32_t, int64_t

from treebound.growing._layout cimport Scratch
from treebound.growing._leaves cimport Leaves


cdef class Peels(Leaves):
    cdef Py_ssize_t n_nominal   # columns

    cdef void count_nominal(self) noexcept nogil
    cdef void note_peel(self, int32_t index) noexcept nogil
    cdef bint leaves_histograms(self, int32_t index) noexcept nogil
    cdef int renew_ledger(self, int32_t index, Scratch* scratch) except -1 nogil
    cdef int give_up_ledger(self, int32_t index) except -1 nogil
    cdef int64_t* tables_for(self, int32_t index) except NULL nogil

    # private
    cdef bint are_few(self, Py_ssize_t n_rows, int32_t index) noexcept nogil
    cdef int close_ledger(self, int32_t index) except -1 nogil
