from libc.stdint cimport int64_t, uint32_t


cdef enum:
    NONE = 0xFFFFFFFF  # no slot, group or row


cdef struct Groups:
    # The categories of a node, each in a slot, by equal counts. A group is a pairing heap.
    Py_ssize_t width        # counts of a category: its weight by class, then its rows
    uint32_t n_groups       # ever made
    uint32_t capacity
    int64_t* counts         # by group
    uint32_t* top           # by group: the slot of its lowest category; NONE: empty
    uint32_t* live          # the groups that are not empty,
    uint32_t* spot          # and by group its place there
    uint32_t n_live
    uint32_t* table         # hash table of the groups
    uint32_t mask
    uint32_t* codes         # by slot: its category
    uint32_t* group         # by slot
    uint32_t* child         # by slot: the first of the heap's children,
    uint32_t* next          # the next child of the same parent,
    uint32_t* previous      # and the previous one, or the parent of the first


cdef int init_groups(
    Groups* groups, Py_ssize_t width, Py_ssize_t n_slots, Py_ssize_t capacity
) except -1 nogil

cdef void free_groups(Groups* groups) noexcept nogil

cdef bint put(Groups* groups, uint32_t slot, const int64_t* counts) noexcept nogil

cdef void take(Groups* groups, uint32_t slot) noexcept nogil
