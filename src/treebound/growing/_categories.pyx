"""Chains of nodes that lose one category after the other, as with columns of very many categories.

A split ``x == category`` leaves most rows in the right child. If that happens several times in a
row and all columns are nominal, the node keeps the counts of each category, and the right child
inherits them. To split, only the rows that leave are moved and subtracted. The score of a category
depends only on its counts, so to search, one category of each distinct vector of counts is tried:
the lowest, which wins ties. So a chain takes as long as its leaving rows are many, not the square.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memcpy, memset

from treebound.growing._layout cimport allocate, enlarged, weight_of, zeros
from treebound.growing._scan cimport no_split, try_counts

cdef enum:
    NONE = 0xFFFFFFFF
    LEAST_GROUPS = 32    # a column may have this many groups,
    ROWS_A_GROUP = 16    # and one more per so many rows; else a chain saves little


cdef Chain* new_chain(Sorted* home, Py_ssize_t start, Py_ssize_t stop) except? NULL nogil:
    """Count the categories of a node; NULL if they have too many different counts."""
    cdef Chain* chain = <Chain*>zeros(1, sizeof(Chain))
    cdef Py_ssize_t n_rows = home.problem.n_rows, i, j
    cdef bint done = False
    try:
        chain.n_columns = home.n_columns
        chain.width = home.problem.n_classes + 1
        chain.capacity = <uint32_t>(LEAST_GROUPS + (stop - start) // ROWS_A_GROUP)
        chain.columns = <Categories*>zeros(home.n_columns, sizeof(Categories))
        chain.place = <uint32_t*>allocate(n_rows, sizeof(uint32_t))
        chain.gone = <uint8_t*>zeros(n_rows, 1)
        for i in range(start, stop):
            chain.place[home.rows[i]] = <uint32_t>i
        for j in range(home.n_columns):
            if not count_categories(chain, home, j, start, stop):
                return NULL
        done = True
    finally:
        if not done:
            free_chain(chain)
    return chain


cdef void free_chain(Chain* chain) noexcept nogil:
    cdef Py_ssize_t j
    cdef uint32_t g
    cdef Categories* column
    if chain == NULL:
        return
    if chain.columns != NULL:
        for j in range(chain.n_columns):
            column = &chain.columns[j]
            for g in range(column.n_groups):
                free(column.groups[g].codes)
            free(column.starts)
            free(column.rows)
            free(column.counts)
            free(column.group)
            free(column.groups)
            free(column.of_group)
            free(column.table)
    free(chain.columns)
    free(chain.place)
    free(chain.gone)
    free(chain)


cdef bint count_categories(
    Chain* chain, const Sorted* home, Py_ssize_t j, Py_ssize_t start, Py_ssize_t stop
) except -1 nogil:
    """The rows, counts and groups of a column; False if there are too many groups."""
    cdef Categories* column = &chain.columns[j]
    cdef Py_ssize_t n_codes = home.columns[j].n_codes + 1, width = chain.width, i, code, size = 64
    cdef uint32_t row, label
    while size < 2 * <Py_ssize_t>chain.capacity:
        size *= 2
    column.mask = <uint32_t>(size - 1)
    column.table = <uint32_t*>allocate(size, sizeof(uint32_t))
    memset(column.table, 0xFF, size * sizeof(uint32_t))
    column.groups = <Group*>zeros(chain.capacity, sizeof(Group))
    column.of_group = <int64_t*>allocate(chain.capacity * width, sizeof(int64_t))
    column.group = <uint32_t*>allocate(n_codes, sizeof(uint32_t))
    column.counts = <int64_t*>zeros(n_codes * width, sizeof(int64_t))
    column.starts = <uint32_t*>allocate(n_codes + 1, sizeof(uint32_t))
    column.rows = <uint32_t*>allocate(stop - start, sizeof(uint32_t))
    for i in range(start, stop):
        row = home.rows[i]
        label = home.problem.labels[row]
        column.counts[home.columns[j].cells[row]] += weight_of(row, &home.problem)
        column.counts[home.columns[j].cells[row] - label + width - 1] += 1
    column.starts[0] = 0
    for code in range(n_codes):
        # the rows of a category are written from its end
        column.starts[code + 1] = column.starts[code] + <uint32_t>column.counts[
            (code + 1) * width - 1
        ]
        column.group[code] = column.starts[code]
    for i in range(start, stop):
        code = home.columns[j].cells[home.rows[i]] // <uint32_t>width
        column.rows[column.group[code]] = home.rows[i]
        column.group[code] += 1
    for code in range(n_codes):
        column.group[code] = NONE
        if not put(chain, column, <uint32_t>code):
            return False
    return True


# -- groups --------------------------------------------------------------------------------


cdef bint put(Chain* chain, Categories* column, uint32_t code) except -1 nogil:
    """Put a category into the group of its counts; False if there are too many groups."""
    cdef const int64_t* counts = column.counts + code * chain.width
    cdef Group* group
    cdef uint32_t i
    column.group[code] = NONE
    if counts[chain.width - 1] == 0:
        return True
    i = column.group[code] = find(chain, column, counts)
    if i == NONE:
        return False
    group = &column.groups[i]
    if group.n_codes == group.capacity:
        group.capacity = 2 * group.capacity + 4
        group.codes = <uint32_t*>enlarged(group.codes, group.capacity * sizeof(uint32_t))
    i = group.n_codes
    group.n_codes += 1
    # invariant: the codes are a heap but for place i, which is free
    while i and group.codes[(i - 1) // 2] > code:
        group.codes[i] = group.codes[(i - 1) // 2]
        i = (i - 1) // 2
    group.codes[i] = code
    return True


cdef uint32_t find(Chain* chain, Categories* column, const int64_t* counts) noexcept nogil:
    """The group of these counts, made if needed; NONE if there are too many."""
    cdef size_t size = chain.width * sizeof(int64_t)
    cdef uint64_t mixed = 0
    cdef uint32_t place, group
    cdef Py_ssize_t k
    for k in range(chain.width):
        mixed = (mixed ^ <uint64_t>counts[k]) * <uint64_t>0x9E3779B97F4A7C15
        mixed ^= mixed >> 32
    place = <uint32_t>mixed & column.mask
    while column.table[place] != NONE:
        group = column.table[place]
        if memcmp(column.of_group + group * chain.width, counts, size) == 0:
            return group
        place = (place + 1) & column.mask
    if column.n_groups == chain.capacity:
        return NONE
    group = column.n_groups
    column.n_groups += 1
    column.table[place] = group
    memcpy(column.of_group + group * chain.width, counts, size)
    return group


cdef uint32_t lowest(Categories* column, uint32_t g) noexcept nogil:
    """The lowest category of a group, or NONE; codes that are of another group now are dropped."""
    cdef Group* group = &column.groups[g]
    cdef uint32_t i, child, last
    while group.n_codes and column.group[group.codes[0]] != g:
        group.n_codes -= 1
        last = group.codes[group.n_codes]
        i = 0
        child = 1
        # invariant: the codes are a heap but for place i, which is free
        while child < group.n_codes:
            if child + 1 < group.n_codes and group.codes[child + 1] < group.codes[child]:
                child += 1
            if last <= group.codes[child]:
                break
            group.codes[i] = group.codes[child]
            i = child
            child = 2 * i + 1
        group.codes[i] = last
    return group.codes[0] if group.n_codes else <uint32_t>NONE


# -- at every split ------------------------------------------------------------------------


cdef Py_ssize_t rows_to_leave(const Chain* chain, const Split* split) noexcept nogil:
    """How many rows have the category of a split."""
    return chain.columns[split.column].counts[(split.place + 1) * chain.width - 1]


cdef Py_ssize_t take_category(
    Chain* chain, Sorted* home, Py_ssize_t start, const Split* split, int64_t* left_counts
) noexcept nogil:
    """Move the rows of a category to the front of the node, and count them."""
    cdef const Categories* column = &chain.columns[split.column]
    cdef Py_ssize_t n_left = 0
    cdef uint32_t i, row, other
    memcpy(
        left_counts, column.counts + split.place * chain.width,
        (chain.width - 1) * sizeof(int64_t),
    )
    for i in range(column.starts[split.place], column.starts[split.place + 1]):
        row = column.rows[i]
        if not chain.gone[row]:
            other = home.rows[start + n_left]
            home.rows[chain.place[row]] = other
            chain.place[other] = chain.place[row]
            home.rows[start + n_left] = row
            n_left += 1
    return n_left


cdef bint take_rows(
    Chain* chain, const Sorted* home, Py_ssize_t start, Py_ssize_t stop, const Split* split
) except -1 nogil:
    """Take the rows of a category out of the counts; False if there are too many groups."""
    cdef Categories* column
    cdef int64_t* counts
    cdef Py_ssize_t i, j, width = chain.width
    cdef uint32_t row, code
    for i in range(start, stop):
        row = home.rows[i]
        chain.gone[row] = True
        for j in range(chain.n_columns):
            if j == split.column:
                continue
            column = &chain.columns[j]
            code = home.columns[j].cells[row] // <uint32_t>width
            counts = column.counts + code * width
            counts[home.problem.labels[row]] -= weight_of(row, &home.problem)
            counts[width - 1] -= 1
            if not put(chain, column, code):
                return False
    column = &chain.columns[split.column]
    column.group[split.place] = NONE
    memset(column.counts + split.place * width, 0, width * sizeof(int64_t))
    return True


cdef Split best_in_chain(
    Chain* chain, const Sorted* home, Py_ssize_t j, const NodeView* node, Scratch* scratch
) noexcept nogil:
    """The best split of a column; score -inf if there is none."""
    cdef Categories* column = &chain.columns[j]
    cdef Split best = no_split(j)
    cdef uint32_t group, code
    for group in range(column.n_groups):
        code = lowest(column, group)
        if code != NONE:
            try_counts(&home.columns[j], node, column.of_group + group * chain.width, code, &best)
    scratch.floor = max(scratch.floor, best.score - 4.0 * node.tolerance)
    return best
