from treebound.growing._coder cimport Coder
from treebound.growing._layout cimport Source


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
