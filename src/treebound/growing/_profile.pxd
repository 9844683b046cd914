from libc.stdint cimport int32_t, int64_t

from treebound.growing._counting cimport Counted
from treebound.growing._layout cimport NodeView, Problem


cdef struct Family:
    # The splits of a column with missing rows on one side.
    const int64_t* base     # counts on the left besides the bins: class counts, then rows
    double* scores          # after each bin
    double* bounds          # inside it, if known
    Py_ssize_t first        # the boundaries from here
    Py_ssize_t last         # to here have enough on both sides


cdef struct Profile:
    # A threshold column at a node: counts left of each bin that holds rows.
    Py_ssize_t n_bins
    int32_t* bins           # their codes
    int64_t* left           # (n_bins + 1) times class counts, then rows
    int64_t* missing        # class counts, then rows, of the rows without a value
    int64_t* none           # the same of no rows
    int n_families          # 2 where rows are missing: on the right, on the left
    Family families[2]
    double* a               # two classes: the counts left of each bin as floats, base included
    double* b
    int64_t* scratch        # n_classes


cdef int init_profile(Profile* profile, Py_ssize_t most_bins, Py_ssize_t n_classes) except -1 nogil

cdef void free_profile(Profile* profile) noexcept nogil

cdef void read_profile(
    Profile* profile, const void* histogram, Py_ssize_t offset, Py_ssize_t n_bins,
    const Counted* counted, const NodeView* node, const Problem* problem,
) noexcept nogil

cdef bint may_stand(
    const int64_t* left, const int64_t* base, const NodeView* node, const Problem* problem
) noexcept nogil

cdef double score_left(
    const int64_t* left, const int64_t* base, const NodeView* node, const Problem* problem,
    int64_t* total,
) noexcept nogil

cdef int64_t weight_in(
    const int64_t* left, const int64_t* base, Py_ssize_t n_classes
) noexcept nogil
