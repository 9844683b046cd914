from libc.stdint cimport int32_t, int64_t, uint8_t

from treebound.growing._counting cimport Counted
from treebound.growing._layout cimport NodeView, Problem


cdef struct Profile:
    # A threshold column at a node: counts left of each bin that holds rows.
    Py_ssize_t n_bins
    int32_t* bins           # their codes
    int64_t* left           # (n_bins + 1) times class counts, then rows
    int64_t* missing        # class counts, then rows, of the rows without a value
    int64_t* none           # the same of no rows


cdef struct Reach:
    # What the bins of a column can do.
    double best             # the best score between two bins
    double bound            # no split inside a bin is better; -inf where none can win
    Py_ssize_t live_rows    # in bins that may hold the best split


cdef void read_profile(
    Profile* profile, const void* histogram, Py_ssize_t offset, Py_ssize_t n_bins,
    bint has_missing, const Counted* counted,
) noexcept nogil

cdef void add_up(
    int64_t* total, const int64_t* left, const int64_t* base, Py_ssize_t n_classes
) noexcept nogil

cdef bint may_stand(
    const int64_t* left, const int64_t* base, const NodeView* node, const Problem* problem
) noexcept nogil

cdef double score_left(
    const int64_t* left, const int64_t* base, const NodeView* node, const Problem* problem,
    int64_t* total,
) noexcept nogil

cdef double bound_inside(
    const int64_t* left, const int64_t* right, const int64_t* base, double bar,
    const NodeView* node, const Problem* problem, int64_t* scratch,
) noexcept nogil

cdef Reach reach_of(
    const Profile* profile, const uint8_t* single, double bar, const NodeView* node,
    const Problem* problem, int64_t* scratch,
) noexcept nogil
