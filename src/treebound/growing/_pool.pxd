from cpython.exc cimport PyErr_CheckSignals

ctypedef void (*Work)(void* context, Py_ssize_t item, int thread) noexcept nogil

cdef class Pool:
    cdef void* state
    cdef readonly int n_threads
    cdef void run(self, Work task, void* context, Py_ssize_t n_items) noexcept nogil


# -- Ctrl-C during long computations without the interpreter --------------------------------

cdef extern from "time.h" nogil:
    cdef struct timespec:
        long tv_sec
        long tv_nsec
    int TIME_UTC
    int timespec_get(timespec* time, int base)

cdef enum:
    PAUSE = 20_000_000  # nanoseconds: acquiring the interpreter's lock may take milliseconds


cdef struct Watch:
    long long looked   # time of the last check


cdef inline bint look_for_signals(Watch* watch) except -1 nogil:
    """Raise KeyboardInterrupt if it is pending; whether it looked, as it does after every pause."""
    cdef timespec time
    cdef long long now
    timespec_get(&time, TIME_UTC)
    now = <long long>time.tv_sec * 1_000_000_000 + time.tv_nsec
    if 0 <= now - watch.looked < PAUSE:
        return False
    watch.looked = now
    with gil:
        PyErr_CheckSignals()
    return True
