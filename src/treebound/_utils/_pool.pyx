"""A thread pool for parallel loops.

A loop is a function and a number of items; each free thread takes the next item. The caller takes
items too and never waits for a thread to wake up, only for items in progress. So a busy machine
costs little, and if it waits long for threads that do not run they are not used for some loops.
Locks are Python's own, used without the interpreter.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free

cdef extern from "pythread.h" nogil:
    ctypedef void* PyThread_type_lock
    int PyThread_init_thread()
    unsigned long PyThread_start_new_thread(void (*function)(void*), void* argument)
    PyThread_type_lock PyThread_allocate_lock()
    void PyThread_free_lock(PyThread_type_lock lock)
    int PyThread_acquire_lock(PyThread_type_lock lock, int wait)
    void PyThread_release_lock(PyThread_type_lock lock)


cdef extern from "time.h" nogil:
    cdef struct timespec:
        long tv_sec
        long tv_nsec
    int TIME_UTC
    int timespec_get(timespec* time, int base)


cdef extern from *:
    """
    #define load_whole(p) __atomic_load_n(p, __ATOMIC_SEQ_CST)
    #define store_whole(p, v) __atomic_store_n(p, v, __ATOMIC_SEQ_CST)
    #define add_whole(p, v) __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST)
    #define swap_whole(p, v) __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST)
    #if defined(__x86_64__) || defined(__i386__)
    #define rest() __builtin_ia32_pause()
    #else
    #define rest()
    #endif

    #include <time.h>
    /* Nanoseconds that this thread has run; 0 where that is not known. */
    static long long run_time(void)
    {
    #ifdef CLOCK_THREAD_CPUTIME_ID
        struct timespec time;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return time.tv_sec * 1000000000LL + time.tv_nsec;
    #else
        return 0;
    #endif
    }
    """
    int64_t load_whole(int64_t* place) noexcept nogil
    void store_whole(int64_t* place, int64_t value) noexcept nogil
    int64_t add_whole(int64_t* place, int64_t value) noexcept nogil
    int64_t swap_whole(int64_t* place, int64_t value) noexcept nogil
    void rest() noexcept nogil
    long long run_time() noexcept nogil


cdef struct Worker:
    PoolState* state
    int number
    int64_t asleep
    PyThread_type_lock wake


cdef struct PoolState:
    Work task
    void* context
    int64_t n_items
    int64_t next            # item
    int64_t open            # whether the loop accepts workers
    int64_t active          # workers in it
    int64_t run             # nanoseconds that they ran in it
    int64_t loop            # its number
    int64_t ending
    int64_t alive
    int64_t waiting         # the caller sleeps on ``done``
    PyThread_type_lock done
    int n_workers
    int pause            # number of next loops without workers
    int last_pause
    Worker* workers


cdef enum:
    PATIENCE = 5000      # polls for a new loop before a thread sleeps: some 50 microseconds
    LATE = 200_000       # nanoseconds of waiting that are too long
    MOST_REST = 1024     # loops


cdef class Pool:
    """``n_threads`` threads, the caller among them."""

    def __cinit__(self, int n_threads):
        cdef PoolState* state
        cdef int i
        self.n_threads = 1
        if n_threads <= 1:
            return
        PyThread_init_thread()
        state = <PoolState*>calloc(1, sizeof(PoolState))
        if state == NULL:
            raise MemoryError
        self.state = state
        state.workers = <Worker*>calloc(n_threads - 1, sizeof(Worker))
        if state.workers == NULL:
            raise MemoryError
        state.done = locked()
        for i in range(n_threads - 1):
            state.workers[i].state = state
            state.workers[i].number = i + 1
            state.workers[i].wake = locked()
            state.n_workers += 1
            add_whole(&state.alive, 1)
            if <long>PyThread_start_new_thread(&live, &state.workers[i]) == -1:
                add_whole(&state.alive, -1)
                state.n_workers -= 1
                PyThread_free_lock(state.workers[i].wake)
                break
        self.n_threads = state.n_workers + 1

    def __dealloc__(self):
        cdef PoolState* state = self.state
        cdef int i
        if state == NULL:
            return
        store_whole(&state.ending, 1)
        with nogil:
            for i in range(state.n_workers):
                PyThread_release_lock(state.workers[i].wake)
            if state.n_workers:
                PyThread_acquire_lock(state.done, 1)  # the last worker releases it
        for i in range(state.n_workers):
            PyThread_free_lock(state.workers[i].wake)
        PyThread_free_lock(state.done)
        free(state.workers)
        free(state)

    cdef void run(self, Work task, void* context, Py_ssize_t n_items) noexcept nogil:
        """Call ``task(context, item, thread)`` for every item, in any order."""
        cdef PoolState* state = self.state
        cdef Py_ssize_t item
        if state == NULL or n_items < 2 or state.pause:
            for item in range(n_items):
                task(context, item, 0)
            if state != NULL and state.pause:
                state.pause -= 1
            return
        share(state, task, context, n_items)


cdef PyThread_type_lock locked() except NULL:
    cdef PyThread_type_lock lock = PyThread_allocate_lock()
    if lock == NULL:
        raise MemoryError
    PyThread_acquire_lock(lock, 1)
    return lock


cdef long long now() noexcept nogil:
    cdef timespec time
    timespec_get(&time, TIME_UTC)
    return <long long>time.tv_sec * 1_000_000_000 + time.tv_nsec


cdef void share(PoolState* state, Work task, void* context, Py_ssize_t n_items) noexcept nogil:
    cdef long long started = now(), worked, waited
    cdef int i
    state.task = task
    state.context = context
    state.n_items = n_items
    store_whole(&state.next, 0)
    store_whole(&state.run, 0)
    store_whole(&state.open, 1)
    add_whole(&state.loop, 1)
    for i in range(state.n_workers):
        if swap_whole(&state.workers[i].asleep, 0):
            PyThread_release_lock(state.workers[i].wake)
    work(state, 0)
    store_whole(&state.open, 0)
    worked = now()
    wait_for_workers(state)
    waited = now() - worked
    if waited > worked - started + LATE and waited > 2 * load_whole(&state.run):
        state.last_pause = min(2 * state.last_pause + 8, MOST_REST)
        state.pause = state.last_pause
    elif state.last_pause:
        state.last_pause -= 1


cdef void wait_for_workers(PoolState* state) noexcept nogil:
    """Wait until no worker is in the loop; none can enter."""
    cdef int i
    for i in range(PATIENCE):
        if not load_whole(&state.active):
            return
        rest()
    while True:
        store_whole(&state.waiting, 1)
        if not load_whole(&state.active):
            if not swap_whole(&state.waiting, 0):
                PyThread_acquire_lock(state.done, 1)  # the last worker has released it
            return
        PyThread_acquire_lock(state.done, 1)


cdef void work(PoolState* state, int thread) noexcept nogil:
    cdef int64_t item = add_whole(&state.next, 1)
    while item < state.n_items:
        state.task(state.context, item, thread)
        item = add_whole(&state.next, 1)


cdef void live(void* argument) noexcept nogil:
    """Main loop of a worker: wait for a loop, work, sleep if there is none."""
    cdef Worker* worker = <Worker*>argument
    cdef PoolState* state = worker.state
    cdef int64_t seen = 0, loop
    cdef long long began
    cdef int i
    while not load_whole(&state.ending):
        loop = load_whole(&state.loop)
        if loop != seen:
            seen = loop
            add_whole(&state.active, 1)
            if load_whole(&state.open):
                began = run_time()
                work(state, worker.number)
                add_whole(&state.run, run_time() - began)
            if add_whole(&state.active, -1) == 1 and swap_whole(&state.waiting, 0):
                PyThread_release_lock(state.done)
            continue
        for i in range(PATIENCE):
            if load_whole(&state.loop) != seen or load_whole(&state.ending):
                break
            rest()
        else:
            store_whole(&worker.asleep, 1)
            if load_whole(&state.loop) == seen and not load_whole(&state.ending):
                PyThread_acquire_lock(worker.wake, 1)
            elif not swap_whole(&worker.asleep, 0):
                PyThread_acquire_lock(worker.wake, 1)  # already released
    if add_whole(&state.alive, -1) == 1:
        PyThread_release_lock(state.done)


# -- Ctrl-C during long computations without the interpreter --------------------------------


cdef enum:
    PAUSE = 20_000_000  # nanoseconds: acquiring the interpreter's lock may take milliseconds


cdef bint look_for_signals(long long* looked) except -1 nogil:
    """Raise KeyboardInterrupt if it is pending; whether it looked, as it does after every pause."""
    cdef long long time = now()
    if 0 <= time - looked[0] < PAUSE:
        return False
    looked[0] = time
    with gil:
        PyErr_CheckSignals()
    return True
