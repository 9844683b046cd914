"""What a sorted node keeps besides its rows: tables, or a ledger if it is in a chain.

A chain is a row of splits that each take a category of few rows away. See ``_ledger.pyx``.
"""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free
from libc.string cimport memset

from treebound.growing._layout cimport CODED, NOMINAL, allocate
from treebound.growing._ledger cimport free_ledger, new_ledger, rows_to_peel
from treebound.growing._nodes cimport Node
from treebound.growing._sorted cimport Sorted
from treebound.growing._split cimport fill_table

cdef enum:
    FEW = 8           # few: one row in so many, at least 2, so that the right child is the larger,
    FEWER = 32        # and so many for each other nominal column, where each row is looked up
    CHAIN = 4         # splits; to write a ledger takes as long
    TABLE_CHAIN = 8   # for each nominal column: splits take less time with tables,
    BINNED_CHAIN = 16 # and less if the rows must be sorted first
    LEDGER_ROWS = 64
    RETRY = 64        # splits after a ledger that had too many groups
    MOST_ROWS = 1 << 22   # sorted instead of binned: they take many times the memory,
    MOST_CLASSES = 256    # and codes, rows and labels must fit in their bits


cdef class Peels(Leaves):

    cdef void count_nominal(self) noexcept nogil:
        cdef Py_ssize_t j
        self.n_nominal = 0
        for j in range(self.n_columns):
            self.n_nominal += self.sources[j].kind == NOMINAL

    cdef void note_peel(self, int32_t index) noexcept nogil:
        """Count the splits of a chain in the right child of the last one."""
        cdef const Node* node = &self.tree.nodes[index]
        if self.sources[node.split.column].kind == NOMINAL and self.are_few(
            self.tree.rows_in(node.left), index
        ):
            self.tree.nodes[node.right].peels = node.peels + 1

    cdef bint are_few(self, Py_ssize_t n_rows, int32_t index) noexcept nogil:
        """Whether so few rows of a node leave it that a ledger saves time."""
        return n_rows * (FEW + FEWER * (self.n_nominal - 1)) <= self.tree.rows_in(index)

    cdef bint leaves_histograms(self, int32_t index) noexcept nogil:
        """Whether a node of the coded sample is sorted because of its chain.

        Histograms have no ledger; but where a column is not nominal they save more than that.
        """
        return (
            self.n_nominal == self.n_columns
            and self.tree.nodes[index].peels >= BINNED_CHAIN * self.n_nominal
            and self.tree.rows_in(index) <= MOST_ROWS
            and self.problem.n_classes <= MOST_CLASSES
        )

    cdef int renew_ledger(self, int32_t index, Scratch* scratch) except -1 nogil:
        """Give a node in a chain a ledger; take it away if its split takes too many rows."""
        cdef Node* node = &self.tree.nodes[index]
        cdef Py_ssize_t chain = CHAIN if node.tables == NULL else TABLE_CHAIN * self.n_nominal
        if (
            node.ledger == NULL
            and node.peels >= chain
            and self.tree.rows_in(index) >= LEDGER_ROWS
            and self.sources[node.split.column].kind == NOMINAL
        ):
            node.ledger = new_ledger(node.home, node.start, node.stop, &node.split, scratch)
            if node.ledger == NULL:
                node.peels = -RETRY
                return 0
            free(node.tables)
            node.tables = NULL
        if node.ledger != NULL and not (
            self.sources[node.split.column].kind == NOMINAL
            and self.are_few(rows_to_peel(node.ledger, &node.split), index)
        ):
            self.close_ledger(index)
        return 0

    cdef int give_up_ledger(self, int32_t index) except -1 nogil:
        """Close a ledger that has too many groups."""
        self.tree.nodes[index].peels = -RETRY
        return self.close_ledger(index)

    cdef int close_ledger(self, int32_t index) except -1 nogil:
        """Free the ledger of a node; if it is large enough for tables it gets those."""
        cdef Node* node = &self.tree.nodes[index]
        cdef Sorted* home = node.home
        cdef Py_ssize_t j
        free_ledger(node.ledger)
        node.ledger = NULL
        if not 0 < home.table_size <= self.tree.rows_in(index):
            return 0
        self.tables_for(index)
        for j in range(self.n_columns):
            if home.columns[j].form == CODED:
                fill_table(
                    &home.columns[j], home.rows + node.start, self.tree.rows_in(index),
                    &home.problem, node.tables + home.columns[j].offset,
                )
        return 0

    cdef int64_t* tables_for(self, int32_t index) except NULL nogil:
        """Zeroed memory for a node's tables; its own if it is large enough to keep them.

        A node keeps its tables only if it has at least one row per cell, so the tables of the whole
        frontier never have more cells than there are rows.
        """
        cdef Sorted* home = self.tree.nodes[index].home
        cdef int64_t* tables = home.spare
        if self.tree.rows_in(index) >= home.table_size:
            tables = <int64_t*>allocate(home.table_size, sizeof(int64_t))
            self.tree.nodes[index].tables = tables
        memset(tables, 0, home.table_size * sizeof(int64_t))
        return tables
