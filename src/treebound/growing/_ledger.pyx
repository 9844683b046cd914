"""Nodes that lose one category after the other, as with columns of very many categories.

A split ``x == category`` leaves most rows in the right child. If that happens several times in a
row, the next node gets a ledger: the rows and counts of each category of each nominal column. To
split, only the rows that leave are moved, and their counts are subtracted; to search, each
distinct vector of counts is tried once (`_groups`). So a chain of splits takes as long as its
leaving rows are many, not the square. The right child inherits the ledger.
"""

from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport free
from libc.string cimport memset

from treebound.growing._groups cimport NONE, free_groups, init_groups, put, take
from treebound.growing._layout cimport (
    CODED, NOMINAL, Column, Problem, allocate, weight_of, zeros,
)
from treebound.growing._split cimport fill_table, no_split, search_table, try_counts

cdef enum:
    LEAST_GROUPS = 32    # a ledger may have this many groups,
    ROWS_A_GROUP = 16    # and one more per so many rows; else it saves little


cdef Ledger* new_ledger(
    Sorted* home, Py_ssize_t start, Py_ssize_t stop, Split* split, Scratch* scratch
) except? NULL nogil:
    """The ledger of a node with a split on a nominal column; NULL if the groups are too many."""
    cdef Ledger* ledger = <Ledger*>zeros(1, sizeof(Ledger))
    cdef bint done = False
    cdef Py_ssize_t j, i
    cdef uint32_t slot = 0
    try:
        open_links(home)
        ledger.n_columns = home.n_columns
        ledger.books = <Book*>zeros(home.n_columns, sizeof(Book))
        ledger.place = home.links
        for j in range(home.n_columns):
            if home.columns[j].form == CODED and not write_book(
                ledger, home, j, start, stop, scratch
            ):
                return NULL
        for i in range(start, stop):
            ledger.place[home.rows[i]] = <uint32_t>i
            home.goes_left[home.rows[i]] = False
        while ledger.books[split.column].groups.codes[slot] != <uint32_t>split.place:
            slot += 1
        split.bin = slot
        done = True
    finally:
        if not done:
            free_ledger(ledger)
    return ledger


cdef void free_ledger(Ledger* ledger) noexcept nogil:
    cdef Py_ssize_t j
    if ledger == NULL:
        return
    if ledger.books != NULL:
        for j in range(ledger.n_columns):
            free_groups(&ledger.books[j].groups)
            free(ledger.books[j].counts)
            free(ledger.books[j].first)
    free(ledger.books)
    free(ledger)


cdef int open_links(Sorted* home) except -1 nogil:
    """Memory for places, and for slot, next and previous row of each nominal column."""
    cdef Py_ssize_t nominal = 0, j
    if home.links == NULL:
        for j in range(home.n_columns):
            nominal += home.columns[j].kind == NOMINAL
        home.links = <uint32_t*>allocate(
            (1 + 3 * nominal) * home.problem.n_rows, sizeof(uint32_t)
        )
    return 0


cdef bint write_book(
    Ledger* ledger, Sorted* home, Py_ssize_t j, Py_ssize_t start, Py_ssize_t stop, Scratch* scratch
) except -1 nogil:
    """Count a column; False if it has too many groups."""
    cdef const Column* column = &home.columns[j]
    cdef Book* book = &ledger.books[j]
    cdef Py_ssize_t width = home.problem.n_classes + 1, n_codes, i
    n_codes = column.n_codes + column.has_missing
    if column.kind != NOMINAL:
        book.counts = <int64_t*>zeros(n_codes * width, sizeof(int64_t))
        fill_table(column, home.rows + start, stop - start, &home.problem, book.counts)
        return True
    book.slot = home.links + home.problem.n_rows
    for i in range(j):
        if home.columns[i].kind == NOMINAL:
            book.slot += 3 * home.problem.n_rows
    book.next = book.slot + home.problem.n_rows
    book.previous = book.next + home.problem.n_rows
    n_codes = min(n_codes, stop - start)
    book.counts = <int64_t*>zeros(n_codes * width, sizeof(int64_t))
    book.first = <uint32_t*>allocate(n_codes, sizeof(uint32_t))
    init_groups(
        &book.groups, width, n_codes,
        min(n_codes, LEAST_GROUPS + (stop - start) // ROWS_A_GROUP),
    )
    return write_groups(book, home, write_rows(book, home, column, start, stop, scratch.table))


cdef uint32_t write_rows(
    Book* book, const Sorted* home, const Column* column, Py_ssize_t start, Py_ssize_t stop,
    int64_t* slots,
) noexcept nogil:
    """List and count the rows of each category; return how many slots there are.

    ``slots`` has, in the first cell of a code, its slot plus one; it is zeroed again.
    """
    cdef Py_ssize_t width = home.problem.n_classes + 1, i
    cdef uint32_t n_slots = 0, row, label, slot
    cdef int64_t* known
    for i in range(start, stop):
        row = home.rows[i]
        label = home.problem.labels[row]
        known = slots + column.cells[row] - label
        if known[0] == 0:
            book.groups.codes[n_slots] = (column.cells[row] - label) // <uint32_t>width
            book.first[n_slots] = NONE
            n_slots += 1
            known[0] = n_slots
        slot = <uint32_t>(known[0] - 1)
        book.slot[row] = slot
        book.previous[row] = NONE
        book.next[row] = book.first[slot]
        if book.first[slot] != NONE:
            book.previous[book.first[slot]] = row
        book.first[slot] = row
        book.counts[slot * width + label] += weight_of(row, &home.problem)
        book.counts[slot * width + width - 1] += 1
    for slot in range(n_slots):
        slots[book.groups.codes[slot] * width] = 0
    return n_slots


cdef bint write_groups(Book* book, const Sorted* home, uint32_t n_slots) noexcept nogil:
    cdef Py_ssize_t width = home.problem.n_classes + 1
    cdef uint32_t slot
    for slot in range(n_slots):
        if not put(&book.groups, slot, book.counts + slot * width):
            return False
    return True


# -- at every split ------------------------------------------------------------------------


cdef Py_ssize_t rows_to_peel(const Ledger* ledger, const Split* split) noexcept nogil:
    """How many rows have the category of a split on a nominal column."""
    cdef const Book* book = &ledger.books[split.column]
    return book.counts[(split.bin + 1) * book.groups.width - 1]


cdef Py_ssize_t peel(
    Ledger* ledger, Sorted* home, Py_ssize_t start, const Split* split, int64_t* left_counts
) noexcept nogil:
    """Mark the rows of a category, move them to the front of the node, and count them."""
    cdef const Book* book = &ledger.books[split.column]
    cdef Py_ssize_t width = book.groups.width, n_left = 0, k
    cdef uint32_t row = book.first[split.bin], other
    for k in range(width - 1):
        left_counts[k] = book.counts[split.bin * width + k]
    while row != NONE:
        other = home.rows[start + n_left]
        home.rows[ledger.place[row]] = other
        ledger.place[other] = ledger.place[row]
        home.rows[start + n_left] = row
        home.goes_left[row] = True
        n_left += 1
        row = book.next[row]
    ledger.split = split[0]
    return n_left


cdef void strike(
    Ledger* ledger, const Sorted* home, Py_ssize_t j, Py_ssize_t start, Py_ssize_t stop
) noexcept nogil:
    """Take the rows that were moved to the front out of the book of a column."""
    cdef const Column* column = &home.columns[j]
    cdef Book* book = &ledger.books[j]
    cdef Py_ssize_t i
    if column.kind == NOMINAL and j == ledger.split.column:
        take(&book.groups, <uint32_t>ledger.split.bin)
        return
    for i in range(start, stop):
        if column.kind == NOMINAL and not book.full:
            book.full = not strike_row(book, home, home.rows[i])
        elif column.kind != NOMINAL:
            subtract_row(book, column, &home.problem, home.rows[i])


cdef bint strike_row(Book* book, const Sorted* home, uint32_t row) noexcept nogil:
    """Take a row out of its slot, and put that in the group of its new counts."""
    cdef Py_ssize_t width = book.groups.width
    cdef uint32_t slot = book.slot[row], after = book.next[row], before = book.previous[row]
    cdef int64_t* counts = book.counts + slot * width
    if before == NONE:
        book.first[slot] = after
    else:
        book.next[before] = after
    if after != NONE:
        book.previous[after] = before
    counts[home.problem.labels[row]] -= weight_of(row, &home.problem)
    counts[width - 1] -= 1
    take(&book.groups, slot)
    return counts[width - 1] == 0 or put(&book.groups, slot, counts)


cdef void subtract_row(
    Book* book, const Column* column, const Problem* problem, uint32_t row
) noexcept nogil:
    cdef int64_t* cell = book.counts + column.cells[row]
    cell[0] -= weight_of(row, problem)
    cell[problem.n_classes - <Py_ssize_t>problem.labels[row]] -= 1


cdef Split best_in_book(
    const Ledger* ledger, const Sorted* home, Py_ssize_t j, const NodeView* node, Scratch* scratch
) noexcept nogil:
    """The best split of a column of codes; score -inf if there is none."""
    cdef const Column* column = &home.columns[j]
    cdef const Book* book = &ledger.books[j]
    cdef const Groups* groups = &book.groups
    cdef Split best = no_split(j)
    cdef uint32_t i, group, slot
    if column.kind != NOMINAL:
        search_table(column, node, &home.problem, scratch, book.counts, &best)
    else:
        for i in range(groups.n_live):
            group = groups.live[i]
            slot = groups.top[group]
            try_counts(
                column, node, &home.problem, groups.counts + group * groups.width,
                groups.codes[slot], &best,
            )
            if best.place == groups.codes[slot]:
                best.bin = slot
    scratch.floor = max(scratch.floor, best.score - 4.0 * node.tolerance)
    return best


cdef bint is_full(const Ledger* ledger) noexcept nogil:
    """Whether a column got too many groups, so that the ledger is not valid."""
    cdef Py_ssize_t j
    for j in range(ledger.n_columns):
        if ledger.books[j].full:
            return True
    return False
