"""The one rule for where a value goes; ``_walk.h`` has it without branches, for many rows."""

from libc.stdint cimport int32_t


cdef struct RouteSplit:
    double low       # any other value goes left where low <= value <= high
    double high
    double least     # a value below it is an unknown category
    int32_t column   # -1 for a leaf
    int32_t[3] child # right, left, the node itself
    int32_t missing  # side of missing values
    int32_t unknown  # side of unknown categories


cdef inline int32_t side_of(const RouteSplit* split, double value) noexcept nogil:
    """0 for the right side, 1 for the left one, 2 for an unknown category that stays."""
    if value >= split.least:
        # branchless: a branch would be mispredicted half the time
        return (split.low <= value) & (value <= split.high)
    return split.missing if value != value else split.unknown
