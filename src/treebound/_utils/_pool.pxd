# Threads for parallel loops, and Ctrl-C during long computations.
#
# Used by growing. `Pool.run` calls a function once for every item, in any order, and returns when all
# calls have returned; each runs in one of `n_threads` threads, the caller's among them. Fewer
# threads, or none, change no result.

ctypedef void (*Work)(void* context, Py_ssize_t item, int thread) noexcept nogil


cdef struct PoolState  # of one pool; nobody else looks into it


cdef class Pool:
    cdef PoolState* state
    cdef readonly int n_threads
    cdef void run(self, Work task, void* context, Py_ssize_t n_items) noexcept nogil


cdef bint look_for_signals(long long* looked) except -1 nogil
