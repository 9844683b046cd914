ctypedef void (*Task)(void* context, Py_ssize_t item, int thread) noexcept nogil

cdef class Pool:
    cdef void* state
    cdef readonly int n_threads
    cdef void run(self, Task task, void* context, Py_ssize_t n_items) noexcept nogil
