"""Threads for parallel loops.

A process has one crew of threads, which sleep while there is nothing to do. A loop is a function
and a number of items; each thread that is free takes the next item. The caller takes items too and
never waits for a thread to wake up, only for items in progress. So a busy machine costs little,
and if it waits long for threads that do not run they are not used for some loops.

Loops may be nested: those inside the items of a loop are done by threads of the same team, as far
as these are free; among them is a caller that waits for its last items, which helps with the loops
inside of these. So several trees with subtrees that have columns keep all threads busy, and no more
than were requested. After a fork the child begins with no threads. Locks are those of Python,
used without the interpreter.
"""

import os

from cpython.exc cimport PyErr_CheckSignals
from libc.stdlib cimport calloc, free

cdef extern from "pythread.h" nogil:
    ctypedef void* PyThread_type_lock
    ctypedef enum PyLockStatus:
        PY_LOCK_FAILURE
        PY_LOCK_ACQUIRED
    int PyThread_init_thread()
    unsigned long PyThread_start_new_thread(void (*function)(void*), void* argument)
    PyThread_type_lock PyThread_allocate_lock()
    void PyThread_free_lock(PyThread_type_lock lock)
    int PyThread_acquire_lock(PyThread_type_lock lock, int wait)
    PyLockStatus PyThread_acquire_lock_timed(
        PyThread_type_lock lock, long long microseconds, int interruptible
    )
    void PyThread_release_lock(PyThread_type_lock lock)


cdef extern from "time.h" nogil:
    cdef struct timespec:
        long long tv_sec
        long tv_nsec
    int TIME_UTC
    int timespec_get(timespec* time, int base)


cdef extern from *:
    """
    #define load(p) __atomic_load_n(p, __ATOMIC_SEQ_CST)
    #define store(p, v) __atomic_store_n(p, v, __ATOMIC_SEQ_CST)
    #define add(p, v) __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST)
    #define swap(p, v) __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST)
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

    /* The loop that this thread works on; NULL outside of loops. */
    static _Thread_local void *own_loop_;
    #define own_loop() own_loop_
    #define work_on(loop) (own_loop_ = (loop))

    /* How many threads the kernels called in this one may use; see `Threads`. */
    static _Thread_local int allowed_;
    #define allowed() allowed_
    #define allow(n) (allowed_ = (n))
    """
    int64_t load(int64_t* place) noexcept nogil
    void store(int64_t* place, int64_t value) noexcept nogil
    int64_t add(int64_t* place, int64_t value) noexcept nogil
    int64_t swap(int64_t* place, int64_t value) noexcept nogil
    void rest() noexcept nogil
    long long run_time() noexcept nogil
    void* own_loop() noexcept nogil
    void work_on(void* loop) noexcept nogil
    int allowed() noexcept nogil
    void allow(int n) noexcept nogil


cdef enum:
    MAX_WORKERS = 255
    PATIENCE = 2000      # polls for a new loop before a thread sleeps: some 50 microseconds
    TRIES = 64           # to acquire the lock of the crew before a thread sleeps for it
    WOKEN = 2            # threads that one thread wakes up for a loop
    LATE = 200_000       # nanoseconds of waiting that are too long
    MAX_REST = 1024     # loops
    WAIT = 20_000        # microseconds between looks for signals
    FEW_BLOCKS = 8       # of rows; if there are more threads, one each
    BLOCK_VALUES = 1 << 17  # in a block, at least


cdef struct Loop:
    Work task
    void* context
    int64_t n_items
    int64_t next         # item
    int64_t active       # helpers at work
    int64_t run          # nanoseconds that they ran
    int n_threads        # at most
    int joined           # helpers so far, which have numbers from 1 on
    bint waiting         # the caller sleeps on ``done``
    PyThread_type_lock done
    Team* team
    Loop* outer          # the loop that it was opened in an item of; or NULL
    Loop* following      # the next open loop


cdef struct Worker:
    int64_t asleep
    PyThread_type_lock wake


cdef struct Crew:
    # The threads of this process, and the loops they may join, oldest first.
    PyThread_type_lock lock
    Loop* first
    int64_t opened       # loops so far
    int64_t n_workers    # read without the lock, so written after the worker
    Worker* workers[MAX_WORKERS]


cdef Crew crew
crew.lock = PyThread_allocate_lock()


def _forget_threads():
    """After a fork there are none."""
    crew.lock = PyThread_allocate_lock()
    crew.first = NULL
    crew.n_workers = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


cdef struct Queue:
    const Tasks* tasks
    PyThread_type_lock lock     # of all that follows
    int n_active                # tasks in progress
    int64_t version             # grows when there is something to do for threads that wait
    int n_asleep
    int[MAX_WORKERS] asleep
    PyThread_type_lock[MAX_WORKERS] wake    # one per thread


cdef class Pool:
    """``n_threads`` threads, the caller among them; in an item of a loop, those of its team."""

    def __cinit__(self, int n_threads):
        cdef Team* team = own_team()
        if team != NULL:
            n_threads = min(n_threads, team.n_threads)
        self.n_threads = max(n_threads, 1)
        if self.n_threads == 1:
            return
        self.loop = <Loop*>calloc(1, sizeof(Loop))
        if team == NULL:
            team = <Team*>calloc(1, sizeof(Team))
            self.owns_team = True
            if team != NULL:
                team.n_threads = self.n_threads
        self.team = team
        if self.loop == NULL or team == NULL:
            raise MemoryError
        self.loop.team = team
        self.loop.done = locked()
        add_workers(self.n_threads - 1)

    def __dealloc__(self):
        if self.loop != NULL and self.loop.done != NULL:
            PyThread_free_lock(self.loop.done)
        free(self.loop)
        if self.owns_team:
            free(self.team)

    cdef void run(self, Work task, void* context, Py_ssize_t n_items) noexcept nogil:
        """Call ``task(context, item, thread)`` for every item, in any order."""
        if not self.alone(task, context, n_items):
            self.share(task, context, n_items, False)

    cdef int run_long(self, Work task, void* context, Py_ssize_t n_items) except -1 nogil:
        """The same for items that take long: Ctrl-C cancels those of the team."""
        if not self.alone(task, context, n_items):
            self.share(task, context, n_items, True)
        return 0

    cdef int run_tasks(self, const Tasks* tasks) except -1 nogil:
        """Perform tasks until none is left and none is in progress."""
        cdef Queue queue
        cdef int n_threads = 0, t
        queue.tasks = tasks
        queue.n_active = queue.n_asleep = 0
        queue.version = 0
        queue.lock = PyThread_allocate_lock()
        if queue.lock == NULL:
            with gil:
                raise MemoryError
        while n_threads < min(self.n_threads, <int>MAX_WORKERS):
            queue.wake[n_threads] = PyThread_allocate_lock()
            if queue.wake[n_threads] == NULL:
                break  # fewer threads do the same
            PyThread_acquire_lock(queue.wake[n_threads], 1)
            n_threads += 1
        self.run(&serve, &queue, max(n_threads, 1))
        PyThread_free_lock(queue.lock)
        for t in range(n_threads):
            PyThread_free_lock(queue.wake[t])
        return 0

    cdef bint alone(self, Work task, void* context, Py_ssize_t n_items) noexcept nogil:
        """Do all items without helpers, if that is better."""
        cdef Py_ssize_t item
        if self.loop != NULL and n_items > 1 and not self.pause:
            return False
        for item in range(n_items):
            task(context, item, 0)
        self.pause = max(self.pause - 1, 0)
        return True

    cdef int share(
        self, Work task, void* context, Py_ssize_t n_items, bint signals
    ) except -1 nogil:
        cdef Loop* loop = self.loop
        cdef bint outermost = own_team() != self.team
        cdef long long started = now(), worked, helped, waited
        loop.task = task
        loop.context = context
        loop.n_items = n_items
        loop.next = loop.run = loop.active = 0
        loop.joined = 0
        loop.waiting = False
        loop.n_threads = <int>min(<Py_ssize_t>self.n_threads, n_items)
        loop.outer = <Loop*>own_loop()
        open_loop(loop, outermost)
        work(loop, 0)
        worked = now()
        helped = self.close(signals, outermost)
        waited = now() - worked - helped
        if waited > worked - started + LATE and waited > 2 * load(&loop.run):
            self.last_pause = min(2 * self.last_pause + 8, MAX_REST)
            self.pause = self.last_pause
        elif self.last_pause:
            self.last_pause -= 1
        if signals:
            with gil:
                self.raise_interrupt()
        return 0

    cdef long long close(self, bint signals, bint outermost) noexcept nogil:
        """Close the loop when no helper is in it; Ctrl-C cancels the loops of the team.

        Until then help with loops inside its items; return the nanoseconds of that.
        """
        cdef Loop* loop = self.loop
        cdef Loop* inner
        cdef long long helped = 0, looked = now()
        cdef int number = 0, i
        for i in range(PATIENCE):
            if not load(&loop.active):
                break
            rest()
        while True:
            lock_crew()
            if not loop.active:  # a helper may have joined just before, and look for an item
                close_loop(loop, outermost)
                unlock_crew()
                return helped
            inner = loop_inside(loop, &number)
            loop.waiting = inner == NULL
            unlock_crew()
            if inner != NULL:
                helped -= now()
                help(inner, number)
                leave_loop(inner, False)
                helped += now()
                if signals and now() - looked > 1000 * WAIT:
                    looked = now()
                    with gil:
                        self.note_signals()
            elif not signals:
                PyThread_acquire_lock(loop.done, 1)
            elif PyThread_acquire_lock_timed(loop.done, WAIT, 0) != PY_LOCK_ACQUIRED:
                lock_crew()
                if not loop.waiting:
                    PyThread_acquire_lock(loop.done, 1)  # it was released in between
                loop.waiting = False
                unlock_crew()
                with gil:
                    self.note_signals()

    cdef void note_signals(self):
        try:
            PyErr_CheckSignals()
        except BaseException as interrupt:
            self.interrupt = interrupt
            store(&self.team.cancelled, 1)

    cdef int raise_interrupt(self) except -1:
        interrupt, self.interrupt = self.interrupt, None
        if interrupt is not None:
            raise interrupt
        return 0


cdef Team* own_team() noexcept nogil:
    """The team that this thread works for; NULL outside of loops."""
    cdef Loop* loop = <Loop*>own_loop()
    return loop.team if loop != NULL else NULL


cdef int threads_here() noexcept nogil:
    """How many threads a kernel may use: those of its team, else as `Threads` allows."""
    cdef const Team* team = own_team()
    return team.n_threads if team != NULL else max(allowed(), 1)


cdef class Threads:
    """A context in which checks, hashes and copies of rows use several threads.

    It is for work that is called from many places; no result depends on it.
    """

    cdef int n_threads, before

    def __init__(self, int n_threads):
        self.n_threads = n_threads

    def __enter__(self):
        self.before = allowed()
        allow(self.n_threads)
        return self

    def __exit__(self, *error):
        allow(self.before)


cdef PyThread_type_lock locked() except NULL:
    cdef PyThread_type_lock lock = PyThread_allocate_lock()
    if lock == NULL:
        raise MemoryError
    PyThread_acquire_lock(lock, 1)
    return lock


cdef long long now() noexcept nogil:
    cdef timespec time
    timespec_get(&time, TIME_UTC)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec


cdef int64_t add_whole(int64_t* place, int64_t value) noexcept nogil:
    """Add to a number that several threads change; return its previous value."""
    return add(place, value)


# -- the crew --------------------------------------------------------------------------------


cdef int add_workers(int n_workers) except -1:
    """Start threads until there are so many."""
    cdef Worker* worker
    PyThread_init_thread()
    with nogil:
        lock_crew()
    try:
        while crew.n_workers < min(n_workers, MAX_WORKERS):
            worker = <Worker*>calloc(1, sizeof(Worker))
            if worker == NULL:
                raise MemoryError
            worker.wake = locked()
            crew.workers[crew.n_workers] = worker
            if <long>PyThread_start_new_thread(&live, worker) == -1:
                PyThread_free_lock(worker.wake)
                free(worker)
                break  # fewer threads do the same
            store(&crew.n_workers, crew.n_workers + 1)
    finally:
        unlock_crew()
    return 0


cdef void lock_crew() noexcept nogil:
    acquire(crew.lock)


cdef void acquire(PyThread_type_lock lock) noexcept nogil:
    """Acquire a lock that threads hold for less time than it takes to sleep."""
    cdef int i
    for i in range(TRIES):
        if PyThread_acquire_lock(lock, 0):
            return
        rest()
    PyThread_acquire_lock(lock, 1)


cdef void unlock_crew() noexcept nogil:
    PyThread_release_lock(crew.lock)


cdef void open_loop(Loop* loop, bint outermost) noexcept nogil:
    """Let helpers join a loop, and wake some of those that it may have."""
    cdef Loop** place = &crew.first
    cdef int wanted
    lock_crew()
    loop.team.active += outermost
    wanted = min(loop.n_threads - 1, loop.team.n_threads - loop.team.active)
    if wanted < loop.n_threads - 1:
        wake_outer(loop.outer)
    while place[0] != NULL:
        place = &place[0].following
    place[0] = loop
    loop.following = NULL
    add(&crew.opened, 1)
    unlock_crew()
    wake_some(wanted)


cdef void wake_some(int wanted) noexcept nogil:
    """Wake threads that sleep; these wake more, which takes less time than one by one."""
    cdef int i
    wanted = min(wanted, WOKEN)
    for i in range(<int>load(&crew.n_workers)):
        if wanted <= 0:
            return
        if load(&crew.workers[i].asleep) and swap(&crew.workers[i].asleep, 0):
            PyThread_release_lock(crew.workers[i].wake)
            wanted -= 1


cdef void wake_outer(Loop* loop) noexcept nogil:
    """Wake the caller of the innermost of these loops that waits; with the lock of the crew."""
    while loop != NULL and not loop.waiting:
        loop = loop.outer
    if loop != NULL:
        loop.waiting = False
        PyThread_release_lock(loop.done)


cdef void close_loop(Loop* loop, bint outermost) noexcept nogil:
    """Take a loop without helpers out of those that are open; with the lock of the crew."""
    cdef Loop** place = &crew.first
    while place[0] != loop:
        place = &place[0].following
    place[0] = loop.following
    loop.team.active -= outermost
    if outermost:
        loop.team.cancelled = 0


cdef void work(Loop* loop, int thread) noexcept nogil:
    cdef void* outer = own_loop()
    cdef int64_t item = add(&loop.next, 1)
    work_on(loop)
    while item < loop.n_items:
        loop.task(loop.context, item, thread)
        item = add(&loop.next, 1)
    work_on(outer)


cdef void help(Loop* loop, int thread) noexcept nogil:
    cdef long long began = run_time()
    work(loop, thread)
    add(&loop.run, run_time() - began)


cdef bint has_room(Loop* loop) noexcept nogil:
    """Return True if a loop has items for another helper; with the lock of the crew."""
    return loop.joined + 1 < loop.n_threads and load(&loop.next) < loop.n_items


cdef Loop* loop_inside(Loop* outer, int* number) noexcept nogil:
    """Join the oldest loop of the team inside items of this one, or NULL; with the crew's lock.

    The thread that waits for this one is among those that are at work for the team already.
    """
    cdef Loop* loop = crew.first
    while loop != NULL and not (
        loop.team == outer.team and has_room(loop) and is_inside(loop, outer)
    ):
        loop = loop.following
    if loop != NULL:
        loop.joined += 1
        number[0] = loop.joined
        add(&loop.active, 1)
    return loop


cdef bint is_inside(Loop* loop, Loop* outer) noexcept nogil:
    while loop != NULL and loop.outer != outer:
        loop = loop.outer
    return loop != NULL


cdef Loop* join_loop(int* number) noexcept nogil:
    """Join the oldest loop that has items and room for a helper, or NULL."""
    cdef Loop* loop
    cdef int wanted = 0
    lock_crew()
    loop = crew.first
    while loop != NULL and not (has_room(loop) and loop.team.active < loop.team.n_threads):
        loop = loop.following
    if loop != NULL:
        loop.joined += 1
        number[0] = loop.joined
        loop.team.active += 1
        add(&loop.active, 1)
        if load(&loop.next) < loop.n_items:
            wanted = min(
                loop.n_threads - 1 - loop.joined, loop.team.n_threads - loop.team.active
            )
    unlock_crew()
    wake_some(wanted)
    return loop


cdef void leave_loop(Loop* loop, bint of_crew) noexcept nogil:
    """After this its caller may free the loop."""
    lock_crew()
    loop.team.active -= of_crew
    if add(&loop.active, -1) == 1 and loop.waiting:
        loop.waiting = False
        PyThread_release_lock(loop.done)
    unlock_crew()


cdef void live(void* argument) noexcept nogil:
    """Main loop of a worker: join a loop, work, sleep if there is none."""
    cdef Worker* worker = <Worker*>argument
    cdef Loop* loop
    cdef int64_t seen
    cdef int i, number = 0
    while True:
        seen = load(&crew.opened)
        loop = join_loop(&number)
        if loop != NULL:
            help(loop, number)
            leave_loop(loop, True)
            continue
        for i in range(PATIENCE):
            if load(&crew.opened) != seen:
                break
            rest()
        else:
            store(&worker.asleep, 1)
            if load(&crew.opened) == seen:
                PyThread_acquire_lock(worker.wake, 1)
            elif not swap(&worker.asleep, 0):
                PyThread_acquire_lock(worker.wake, 1)  # already released


# -- tasks that lead to more tasks ----------------------------------------------------------


cdef void serve(void* context, Py_ssize_t hand, int thread) noexcept nogil:
    """Perform tasks until none is left and none is in progress that may lead to more."""
    cdef Queue* queue = <Queue*>context
    cdef const Tasks* tasks = queue.tasks
    cdef Py_ssize_t n_new
    cdef void* task
    acquire(queue.lock)
    while True:
        task = tasks.take(tasks.context)
        if task != NULL:
            queue.n_active += 1
            PyThread_release_lock(queue.lock)
            tasks.perform(tasks.context, task, thread)
            acquire(queue.lock)
            queue.n_active -= 1
            n_new = tasks.finish(tasks.context, task)
            if n_new > 1:
                announce(queue, n_new - 1)  # this thread takes one
        elif queue.n_active:
            wait_for_tasks(queue, thread)
        else:
            break
    announce(queue, queue.n_asleep)
    PyThread_release_lock(queue.lock)


cdef void announce(Queue* queue, Py_ssize_t n_tasks) noexcept nogil:
    """Let threads that wait look for tasks; with the lock of the queue."""
    add(&queue.version, 1)
    while queue.n_asleep and n_tasks > 0:
        queue.n_asleep -= 1
        PyThread_release_lock(queue.wake[queue.asleep[queue.n_asleep]])
        n_tasks -= 1


cdef void wait_for_tasks(Queue* queue, int thread) noexcept nogil:
    """Wait until there is something to do: awake for a while, then asleep."""
    cdef int64_t seen = queue.version
    cdef int i
    PyThread_release_lock(queue.lock)
    for i in range(PATIENCE):
        if load(&queue.version) != seen:
            break
        rest()
    acquire(queue.lock)
    if queue.version == seen:
        queue.asleep[queue.n_asleep] = thread
        queue.n_asleep += 1
        PyThread_release_lock(queue.lock)
        PyThread_acquire_lock(queue.wake[thread], 1)
        acquire(queue.lock)


# -- functions of Python -----------------------------------------------------------------------


cdef class Calls:
    """A function, its arguments, and its results."""

    cdef object function
    cdef object error           # of the first item that failed; or None
    cdef list items, results
    cdef int64_t next, failed   # items

    cdef void fail(self, int64_t item, error):
        """Keep the error of the first item that failed, as without threads; stop the rest."""
        # items before it are under way; those that are stopped have not failed
        if self.error is None or (
            item < self.failed and not isinstance(error, KeyboardInterrupt)
        ):
            self.error, self.failed = error, item
        stop_others()


cdef void call_each(void* context, Py_ssize_t hand, int thread) noexcept with gil:
    """Call a function for the next item until none is left."""
    # a thread needs the interpreter once, not for each item: to enter it takes a while
    cdef Calls calls = <Calls>context
    cdef int64_t item = 0
    while calls.error is None:
        item = add(&calls.next, 1)
        if item >= len(calls.items):
            return
        try:
            calls.results[item] = calls.function(calls.items[item])
        except BaseException as error:
            calls.fail(item, error)


def each(function, items, n_threads=None):
    """The results of a function for each item, in order, by several threads."""
    # by default as many as `Threads` allows
    cdef Calls calls = Calls()
    n_threads = threads_here() if n_threads is None else n_threads
    cdef Pool pool = Pool(n_threads)
    cdef Py_ssize_t n
    calls.function, calls.items = function, list(items)
    n = len(calls.items)
    if pool.n_threads == 1 or n < 2:
        return [function(item) for item in calls.items]
    calls.results = [None] * n
    with nogil:
        pool.run_long(<Work>&call_each, <void*>calls, min(n, <Py_ssize_t>pool.n_threads))
    if calls.error is not None:
        raise calls.error
    return calls.results


def threads_in_context():
    """How many threads `Threads` allows here."""
    return threads_here()


def blocks(Py_ssize_t n_rows, Py_ssize_t width=1):
    """The ends of blocks of rows for `each`: one for each thread, or some, but not too small.

    ``width`` is the number of values in a row.
    """
    # more of them would balance the threads better, but each takes the interpreter's lock
    cdef Py_ssize_t n_threads = threads_here(), n = 1, i
    if n_threads > 1:
        n = max(n_threads, <Py_ssize_t>FEW_BLOCKS)
        n = max(1, min(n, n_rows * width // BLOCK_VALUES))
    ends = [n_rows * i // n for i in range(n + 1)]
    return list(zip(ends[:-1], ends[1:]))


# -- Ctrl-C during long computations without the interpreter --------------------------------

cdef enum:
    PAUSE = 20_000_000  # nanoseconds: acquiring the interpreter's lock may take milliseconds


cdef bint look_for_signals(long long* looked) except -1 nogil:
    """Raise KeyboardInterrupt if it is pending; whether it looked, as it does after every pause."""
    cdef long long time = now()
    cdef Team* team = own_team()
    if 0 <= time - looked[0] < PAUSE:
        return False
    looked[0] = time
    with gil:
        PyErr_CheckSignals()
        if team != NULL and load(&team.cancelled):
            raise KeyboardInterrupt
    return True


cdef void stop_others() noexcept nogil:
    """Make the other threads of this one's team end with a KeyboardInterrupt."""
    cdef Team* team = own_team()
    if team != NULL:
        store(&team.cancelled, 1)
