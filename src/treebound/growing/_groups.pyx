"""Categories grouped by their class counts.

The score of ``x == category`` depends only on its counts, so one category of each group is tried:
the lowest, which wins ties. A group keeps its categories in a pairing heap, so that the lowest is
known and any can be taken out, in O(log n) amortised.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memcpy, memset

from treebound.growing._layout cimport allocate


cdef int init_groups(
    Groups* groups, Py_ssize_t width, Py_ssize_t n_slots, Py_ssize_t capacity
) except -1 nogil:
    """Memory for slots and groups; free it even if this fails. The caller sets the codes."""
    cdef Py_ssize_t size = 64
    while size < 2 * capacity:
        size *= 2
    groups.width = width
    groups.n_groups = groups.n_live = 0
    groups.capacity = <uint32_t>capacity
    groups.mask = <uint32_t>(size - 1)
    groups.counts = <int64_t*>allocate(capacity * width, sizeof(int64_t))
    groups.top = <uint32_t*>allocate(capacity, sizeof(uint32_t))
    groups.live = <uint32_t*>allocate(capacity, sizeof(uint32_t))
    groups.spot = <uint32_t*>allocate(capacity, sizeof(uint32_t))
    groups.table = <uint32_t*>allocate(size, sizeof(uint32_t))
    memset(groups.table, 0xFF, size * sizeof(uint32_t))
    groups.codes = <uint32_t*>allocate(n_slots, sizeof(uint32_t))
    groups.group = <uint32_t*>allocate(n_slots, sizeof(uint32_t))
    groups.child = <uint32_t*>allocate(n_slots, sizeof(uint32_t))
    groups.next = <uint32_t*>allocate(n_slots, sizeof(uint32_t))
    groups.previous = <uint32_t*>allocate(n_slots, sizeof(uint32_t))
    return 0


cdef void free_groups(Groups* groups) noexcept nogil:
    free(groups.counts)
    free(groups.top)
    free(groups.live)
    free(groups.spot)
    free(groups.table)
    free(groups.codes)
    free(groups.group)
    free(groups.child)
    free(groups.next)
    free(groups.previous)


cdef bint put(Groups* groups, uint32_t slot, const int64_t* counts) noexcept nogil:
    """Put a category into the group of its counts; False if there are too many groups."""
    cdef uint32_t group = find(groups, counts)
    if group == NONE:
        return False
    if groups.top[group] == NONE:
        groups.spot[group] = groups.n_live
        groups.live[groups.n_live] = group
        groups.n_live += 1
    groups.group[slot] = group
    groups.child[slot] = groups.next[slot] = groups.previous[slot] = NONE
    groups.top[group] = meld(groups, groups.top[group], slot)
    return True


cdef void take(Groups* groups, uint32_t slot) noexcept nogil:
    """Take a category out of its group."""
    cdef uint32_t group = groups.group[slot], before = groups.previous[slot]
    cdef uint32_t after = groups.next[slot], last
    cdef uint32_t rest = meld_all(groups, groups.child[slot])
    if groups.top[group] == slot:
        groups.top[group] = rest
    else:
        if groups.child[before] == slot:
            groups.child[before] = after
        else:
            groups.next[before] = after
        if after != NONE:
            groups.previous[after] = before
        groups.top[group] = meld(groups, groups.top[group], rest)
    if groups.top[group] == NONE:
        groups.n_live -= 1
        last = groups.live[groups.n_live]
        groups.live[groups.spot[group]] = last
        groups.spot[last] = groups.spot[group]


cdef uint32_t find(Groups* groups, const int64_t* counts) noexcept nogil:
    """The group of these counts, made if needed; NONE if there are too many."""
    cdef size_t size = groups.width * sizeof(int64_t)
    cdef uint64_t mixed = 0
    cdef uint32_t place, group
    cdef Py_ssize_t k
    for k in range(groups.width):
        mixed = (mixed ^ <uint64_t>counts[k]) * <uint64_t>0x9E3779B97F4A7C15
        mixed ^= mixed >> 32
    place = <uint32_t>mixed & groups.mask
    while groups.table[place] != NONE:
        group = groups.table[place]
        if memcmp(groups.counts + group * groups.width, counts, size) == 0:
            return group
        place = (place + 1) & groups.mask
    if groups.n_groups == groups.capacity:
        return NONE
    group = groups.n_groups
    groups.n_groups += 1
    groups.table[place] = group
    groups.top[group] = NONE
    memcpy(groups.counts + group * groups.width, counts, size)
    return group


cdef inline uint32_t meld(Groups* groups, uint32_t a, uint32_t b) noexcept nogil:
    """One heap of two, each the top of one or NONE: the lower category becomes the top."""
    cdef uint32_t second
    if a == NONE:
        return b
    if b == NONE:
        return a
    if groups.codes[b] < groups.codes[a]:
        a, b = b, a
    second = groups.child[a]
    groups.next[b] = second
    if second != NONE:
        groups.previous[second] = b
    groups.previous[b] = a
    groups.child[a] = b
    return a


cdef uint32_t meld_all(Groups* groups, uint32_t first) noexcept nogil:
    """One heap of all children of a parent: melded in pairs, then from the last to the first."""
    cdef uint32_t pairs = NONE, whole = NONE, a, b
    while first != NONE:
        a = first
        b = groups.next[a]
        first = NONE if b == NONE else groups.next[b]
        a = meld(groups, a, b)
        groups.next[a] = pairs
        pairs = a
    while pairs != NONE:
        a = pairs
        pairs = groups.next[a]
        whole = meld(groups, whole, a)
    if whole != NONE:
        groups.next[whole] = groups.previous[whole] = NONE
    return whole
