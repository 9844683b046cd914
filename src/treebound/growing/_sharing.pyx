"""Known subproblems and open leaves, which the threads of a search share.

Of nodes with equal keys the first one is grown and stands for all of them. Which thread comes
first does not matter, because the subtree below a node depends on its key alone. No thread waits
for a node: references are followed when all threads are done.

A thread without leaves waits until another one gives it a leaf.
"""

from cpython.pythread cimport (
    PY_LOCK_ACQUIRED, PyLockStatus, PyThread_acquire_lock, PyThread_allocate_lock,
    PyThread_free_lock, PyThread_release_lock,
)
from libc.stdlib cimport free
from libc.string cimport memset
from treebound.growing._layout cimport allocate, relaxed, set_relaxed, zeros

cdef extern from "pythread.h" nogil:
    PyLockStatus PyThread_acquire_lock_timed(
        PyThread_type_lock lock, long long microseconds, int interruptible
    )


cdef enum:
    SHELVES = 64         # so that threads rarely want the same one
    FIRST_SLOTS = 256    # of a table; each shelf has its share
    PATIENCE = 2000      # looks for a leaf before a thread sleeps
    WAIT = 20_000        # microseconds between looks for signals


cdef PyThread_type_lock new_lock() except NULL:
    cdef PyThread_type_lock lock = PyThread_allocate_lock()
    if lock == NULL:
        raise MemoryError
    return lock


cdef class Subproblems:
    """A table of nodes by keys of 128 bits."""

    def __cinit__(self, int n_threads):
        cdef int i
        self.shelves = <Shelf*>zeros(SHELVES, sizeof(Shelf))
        self.n_shelves = SHELVES if n_threads > 1 else 1
        for i in range(self.n_shelves if n_threads > 1 else 0):
            self.shelves[i].lock = new_lock()

    def __dealloc__(self):
        cdef int i
        for i in range(self.n_shelves if self.shelves != NULL else 0):
            free(self.shelves[i].slots)
            if self.shelves[i].lock != NULL:
                PyThread_free_lock(self.shelves[i].lock)
        free(self.shelves)

    cdef int64_t first_like(self, const uint64_t* key, int64_t node) except -1 nogil:
        """The first node with a key, which is this one if there was none."""
        cdef Shelf* shelf = &self.shelves[(key[1] >> 32) % <uint64_t>self.n_shelves]
        cdef Subproblem* slot
        if shelf.lock != NULL:
            PyThread_acquire_lock(shelf.lock, 1)
        try:
            if 3 * shelf.n_used >= 2 * shelf.n_slots:
                enlarge(shelf, max(2 * shelf.n_slots, FIRST_SLOTS // self.n_shelves))
            slot = slot_of(shelf, key)
            if slot.node < 0:
                slot.key[0] = key[0]
                slot.key[1] = key[1]
                slot.node = node
                shelf.n_used += 1
            return slot.node
        finally:
            if shelf.lock != NULL:
                PyThread_release_lock(shelf.lock)


cdef Subproblem* slot_of(const Shelf* shelf, const uint64_t* key) noexcept nogil:
    """The slot of a key, or the free one that it may take."""
    cdef Py_ssize_t mask = shelf.n_slots - 1
    cdef Py_ssize_t at = <Py_ssize_t>(key[0] & <uint64_t>mask)
    while shelf.slots[at].node >= 0 and (
        shelf.slots[at].key[0] != key[0] or shelf.slots[at].key[1] != key[1]
    ):
        at = (at + 1) & mask
    return &shelf.slots[at]


cdef int enlarge(Shelf* shelf, Py_ssize_t n_slots) except -1 nogil:
    """Make room for more subproblems; the number of slots is a power of two."""
    cdef Subproblem* before = shelf.slots
    cdef Py_ssize_t n_before = shelf.n_slots, i
    cdef Subproblem* slots = <Subproblem*>allocate(n_slots, sizeof(Subproblem))
    memset(slots, -1, n_slots * sizeof(Subproblem))
    shelf.slots = slots
    shelf.n_slots = n_slots
    for i in range(n_before):
        if before[i].node >= 0:
            slot_of(shelf, before[i].key)[0] = before[i]
    free(before)
    return 0


cdef class Exchange:
    """Which growers have leaves, and which wait for one."""

    def __cinit__(self, int n_growers):
        cdef int i
        self.guard = new_lock()
        self.waiting = <int*>allocate(n_growers, sizeof(int))
        self.bells = <PyThread_type_lock*>zeros(n_growers, sizeof(PyThread_type_lock))
        self.n_growers = n_growers
        for i in range(n_growers):
            self.bells[i] = new_lock()
            PyThread_acquire_lock(self.bells[i], 1)

    def __dealloc__(self):
        cdef int i
        for i in range(self.n_growers):
            if self.bells[i] != NULL:
                PyThread_free_lock(self.bells[i])
        if self.guard != NULL:
            PyThread_free_lock(self.guard)
        free(self.bells)
        free(self.waiting)

    cdef void lock(self) noexcept nogil:
        PyThread_acquire_lock(self.guard, 1)

    cdef void unlock(self) noexcept nogil:
        PyThread_release_lock(self.guard)

    cdef bint is_needed(self) noexcept nogil:
        """Return True if a grower may be waiting; without the lock."""
        return relaxed(&self.n_waiting) > 0

    cdef void wait(self, int grower) noexcept nogil:
        """Note that a grower waits; then without the lock it looks whether it `is_called`."""
        self.waiting[self.n_waiting] = grower
        set_relaxed(&self.n_waiting, self.n_waiting + 1)

    cdef bint is_called(self, int grower, bint at_once) noexcept nogil:
        """Wait for some milliseconds; return True if the grower was called; without the lock."""
        cdef int i
        for i in range(PATIENCE if at_once else 0):
            if PyThread_acquire_lock(self.bells[grower], 0):
                return True
        return PyThread_acquire_lock_timed(self.bells[grower], WAIT, 0) == PY_LOCK_ACQUIRED

    cdef int next_waiting(self) noexcept nogil:
        """A grower that waits; -1 if there is none. It must be called."""
        if self.n_waiting == 0 or self.ended:
            return -1
        set_relaxed(&self.n_waiting, self.n_waiting - 1)
        return self.waiting[self.n_waiting]

    cdef void call(self, int grower) noexcept nogil:
        PyThread_release_lock(self.bells[grower])

    cdef void end(self) noexcept nogil:
        """Call all growers that wait; none of them gets a leaf."""
        cdef int i
        set_relaxed(&self.ended, True)
        for i in range(<int>self.n_waiting):
            self.call(self.waiting[i])
        set_relaxed(&self.n_waiting, 0)
