"""The split of a node, and the one rule for where a value goes.

Routing, raising and recounting all use this rule. ``route.py`` fills in the fields of a ``Split``.
"""

from libc.stdint cimport int32_t

cdef enum:
    RIGHT = 0
    LEFT = 1
    STAY = 2


cdef packed struct Split:
    double low       # a known value goes left where low <= value <= high
    double high
    double known     # a value below it is an unknown category
    int32_t column   # -1 for a leaf
    int32_t[3] child # right, left, the node itself
    int32_t missing  # side of missing values
    int32_t unknown  # side of unknown categories


cdef inline int32_t side_of(const Split* split, double value) noexcept nogil:
    """RIGHT, LEFT, or STAY for an unknown category that stops at the node."""
    if value >= split.known:
        # branchless: a branch would be mispredicted half the time
        return (split.low <= value) & (value <= split.high)
    return split.missing if value != value else split.unknown
