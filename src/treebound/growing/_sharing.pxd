# Known subproblems and open leaves, which the threads of a search share.
#
# Used by `_wide`. Any thread may call `Subproblems.first_like`; the methods of `Exchange` need its
# lock, except those that are documented as "without the lock".

from cpython.pythread cimport PyThread_type_lock
from libc.stdint cimport int64_t, uint64_t


cdef struct Subproblem:
    uint64_t key[2]
    int64_t node        # -1: the slot is free


cdef struct Shelf:
    # A hash table of some of the subproblems.
    PyThread_type_lock lock
    Subproblem* slots
    Py_ssize_t n_slots, n_used


cdef class Subproblems:
    cdef Shelf* shelves
    cdef int n_shelves
    cdef int64_t first_like(self, const uint64_t* key, int64_t node) except -1 nogil


cdef class Exchange:
    cdef PyThread_type_lock guard
    cdef PyThread_type_lock* bells  # one per grower
    cdef int* waiting               # growers that wait for a leaf
    cdef int64_t n_waiting
    cdef int64_t ended              # whether no grower has leaves any more, or one failed
    cdef int n_growers, n_busy      # growers in all, and with leaves
    cdef void lock(self) noexcept nogil
    cdef void unlock(self) noexcept nogil
    cdef bint is_needed(self) noexcept nogil
    cdef void wait(self, int grower) noexcept nogil
    cdef bint is_called(self, int grower, bint at_once) noexcept nogil
    cdef int next_waiting(self) noexcept nogil
    cdef void call(self, int grower) noexcept nogil
    cdef void end(self) noexcept nogil


cdef inline uint64_t scrambled(uint64_t number) noexcept nogil:
    """Hash an integer (splitmix64)."""
    number = (number + 1) * <uint64_t>0x9E3779B97F4A7C15
    number = (number ^ (number >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    number = (number ^ (number >> 27)) * <uint64_t>0x94D049BB133111EB
    return number ^ (number >> 31)


cdef inline void mix(uint64_t* key, uint64_t number) noexcept nogil:
    """Add a number to a key of a subproblem; the order matters."""
    key[0] = scrambled(key[0] ^ number)
    key[1] = scrambled(key[1] + number)
