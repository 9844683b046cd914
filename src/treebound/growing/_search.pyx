"""The best split of every column for one or two nodes whose rows are sorted."""

from libc.stdint cimport int64_t

from treebound.growing._layout cimport CODED, Column, NodeView
from treebound.growing._ledger cimport best_in_book, strike
from treebound.growing._pool cimport Pool
from treebound.growing._sorted cimport part_column
from treebound.growing._split cimport best_split, fill_table

cdef enum:
    THREAD_ROWS = 4096  # with fewer rows, threads cost more than they save


cdef void search_sorted(Search* search, Pool pool) noexcept nogil:
    """One column per thread; it is partitioned and searched while it is in the cache."""
    cdef Py_ssize_t n_rows = 0, j
    cdef int q, t
    for q in range(2):
        if search.quests[q].wanted and not (q == 1 and is_short(search)):
            n_rows += search.quests[q].view.stop - search.quests[q].view.start
        for t in range(pool.n_threads):
            search.scratch[t].floors[q] = search.quests[q].least
    if n_rows >= THREAD_ROWS:
        pool.run(&search_column, search, search.home.n_columns)
        return
    for j in range(search.home.n_columns):
        search_column(search, j, 0)


cdef bint is_short(const Search* search) noexcept nogil:
    """Whether the search of the larger child does not pass over its rows."""
    cdef Py_ssize_t j
    if search.ledger == NULL:
        return False
    for j in range(search.home.n_columns):
        if search.home.columns[j].form != CODED:
            return False
    return True


cdef void search_column(void* context, Py_ssize_t j, int thread) noexcept nogil:
    cdef Search* search = <Search*>context
    cdef const Column* column = &search.home.columns[j]
    cdef Quest* quest
    cdef int q
    cdef bint in_book = search.ledger != NULL and column.form == CODED
    if search.part != NULL:
        part_column(search.home, j, search.part, &search.scratch[thread])
    if column.form == CODED and search.quests[0].view.tables != NULL:
        count_codes(search, column)
    if in_book:
        quest = &search.quests[0]
        strike(search.ledger, search.home, j, quest.view.start, quest.view.stop)
    for q in range(2):
        quest = &search.quests[q]
        if quest.wanted:
            search.scratch[thread].floor = search.scratch[thread].floors[q]
            if q == 1 and in_book and not search.ledger.books[j].full:
                quest.splits[j] = best_in_book(
                    search.ledger, search.home, j, &quest.view, &search.scratch[thread]
                )
            else:
                quest.splits[j] = best_split(
                    column, j, &quest.view, &search.home.problem, &search.scratch[thread]
                )
            search.scratch[thread].floors[q] = search.scratch[thread].floor


cdef void count_codes(Search* search, const Column* column) noexcept nogil:
    """Count the codes of the first quest, and subtract them from the tables of the second."""
    cdef const NodeView* view = &search.quests[0].view
    cdef int64_t* table = <int64_t*>view.tables + column.offset
    cdef Py_ssize_t size = (column.n_codes + column.has_missing) * (
        search.home.problem.n_classes + 1
    )
    cdef Py_ssize_t cell
    fill_table(
        column, view.rows + view.start, view.stop - view.start, &search.home.problem, table
    )
    if search.tables != NULL:
        for cell in range(size):
            search.tables[column.offset + cell] -= table[cell]
