from libc.stdint cimport int32_t, int64_t

from treebound.growing._layout cimport NodeView, Scratch, Split
from treebound.growing._ledger cimport Ledger
from treebound.growing._partition cimport Part
from treebound.growing._pool cimport Pool
from treebound.growing._sorted cimport Sorted


cdef struct Quest:
    # A node to search for its best split.
    int32_t index
    bint wanted         # whether it may be split at all
    NodeView view
    double least        # the score that a split must beat
    Split* splits       # the best of each column


cdef struct Search:
    # The smaller and the larger child of an expanded node, or a single node.
    Sorted* home
    Quest quests[2]
    const Part* part    # how the rows of the node are partitioned; NULL: they are not
    int64_t* tables     # of the node, to be reduced to those of the larger child
    Ledger* ledger      # the same, instead of tables; or NULL
    Scratch* scratch    # one per thread


cdef void search_sorted(Search* search, Pool pool) noexcept nogil
