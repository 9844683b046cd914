from libc.stdint cimport uint8_t

from treebound.growing._layout cimport NodeView, Problem
from treebound.growing._profile cimport Family, Profile


cdef struct Reach:
    # Scores and bounds of the bins of a column.
    double best             # the best score between two bins
    double bound            # on the splits inside bins; -inf if none can win
    Py_ssize_t live_rows    # in bins that may hold the best split


cdef double bound_bin(
    const Profile* profile, const Family* family, Py_ssize_t t, double bar, const NodeView* node,
    const Problem* problem,
) noexcept nogil

cdef Reach reach_of(
    const Profile* profile, const uint8_t* single, double bar, const NodeView* node,
    const Problem* problem,
) noexcept nogil
