# Threads for parallel loops, and Ctrl-C during long computations.
#
# Used by growing and routing, and in Python as `each`. `Pool.run` calls a function once for every item,
# in any order, and returns when all calls have returned; each runs in one of `n_threads` threads,
# the caller's among them, and no two at the same time have the same thread number. Fewer threads,
# or none, change no result.
#
# Pools may be nested: one that is made inside an item of another shares its threads, so that both
# together use no more than the outer one was made for.

from libc.stdint cimport int64_t

ctypedef void (*Work)(void* context, Py_ssize_t item, int thread) noexcept nogil


cdef struct Tasks:
    # Work that leads to more work; ``take`` and ``finish`` are called one at a time.
    void* (*take)(void* context) noexcept nogil              # the next task; NULL: none at present
    void (*perform)(void* context, void* task, int thread) noexcept nogil
    Py_ssize_t (*finish)(void* context, void* task) noexcept nogil  # the number of new tasks
    void* context


cdef struct Queue  # the tasks in progress; only the pool reads it


cdef struct Team:
    int n_threads        # at most
    int active           # threads at work for it; guarded by the lock of the crew
    int64_t cancelled    # whether all that is under way should end


cdef struct Loop  # the work in progress; only the pool reads it


cdef class Pool:
    cdef Loop* loop
    cdef Team* team
    cdef bint owns_team
    cdef int pause, last_pause      # loops without helpers, because helpers came late
    cdef object interrupt           # what a signal raised while helpers were at work
    cdef readonly int n_threads
    cdef void run(self, Work task, void* context, Py_ssize_t n_items) noexcept nogil
    cdef int run_tasks(self, const Tasks* tasks) except -1 nogil
    cdef int run_long(self, Work task, void* context, Py_ssize_t n_items) except -1 nogil
    cdef bint alone(self, Work task, void* context, Py_ssize_t n_items) noexcept nogil
    cdef int share(
        self, Work task, void* context, Py_ssize_t n_items, bint signals
    ) except -1 nogil
    cdef long long close(self, bint signals, bint outermost) noexcept nogil
    cdef void note_signals(self)
    cdef int raise_interrupt(self) except -1


cdef int threads_here() noexcept nogil
cdef bint look_for_signals(long long* looked) except -1 nogil
cdef void stop_others() noexcept nogil
cdef int64_t add_whole(int64_t* place, int64_t value) noexcept nogil
cdef long long now() noexcept nogil
