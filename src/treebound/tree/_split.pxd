"""What a node asks, and the one rule for where a value goes.

Routing, raising and recounting all use this rule. How types, missing and unknown values become
the fields of a ``Split`` is in ``route.py``.
"""

from libc.stdint cimport int32_t

cdef enum:
    RIGHT = 0
    LEFT = 1
    STAY = 2


cdef packed struct Split:
    double low       # a known value goes left where low <= value <= high
    double high
    double known     # a value below it is a category that the column does not know
    int32_t column   # -1 for a leaf
    int32_t[3] child # right, left, the node itself
    int32_t missing  # side of a missing value
    int32_t unknown  # side of a category that the column does not know


cdef inline int32_t side_of(const Split* split, double value) noexcept nogil:
    """RIGHT, LEFT, or STAY for an unknown category that the node itself answers."""
    if value >= split.known:
        # computed, as a branch would be guessed wrongly every other time
        return (split.low <= value) & (value <= split.high)
    return split.missing if value != value else split.unknown
