# The best split of one column at a node that has a histogram.
#
# Used by both engines. Bounds are never below the score of a split inside the bin, so the split that
# is found is that of a search of all rows, ties included. A `Finder` belongs to one thread.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from treebound.growing._layout cimport NodeView, KernelSplit, Scratch
from treebound._utils._pool cimport Pool
from treebound.growing._histogram cimport Binned, Counted, Gathered

cdef struct Family:
    # The splits of a column with missing rows on one side.
    const int64_t* base     # counts on the left besides the bins: class counts, then rows
    double* scores          # after each bin; there is a place before the first
    double* bounds          # inside it, if known
    Py_ssize_t first        # the boundaries from here
    Py_ssize_t last         # to here have enough on both sides


cdef struct Profile:
    # A threshold column at a node: counts left of each bin that holds rows.
    const NodeView* node
    Py_ssize_t n_bins
    int32_t* bins           # their codes
    int64_t* left           # (n_bins + 1) times class counts, then rows
    int64_t* missing        # class counts, then rows, of the rows without a value
    int64_t* none           # the same of no rows
    bint ordered            # whether the column has a sign
    double floor            # scores of numbers below it need not be exact, only not too small
    int n_families          # 2 where rows are missing: on the right, on the left
    Family families[2]
    double* a               # two classes: the counts left of each bin as floats, base included;
    double* b               # numbers: weights and sums,
    double* bin_squares     # and the squares of each bin
    double square_unit      # of the squares left of bins
    bint has_floats         # whether the floats of numbers are set, without base
    int64_t* scratch        # n_classes


cdef struct ColumnBounds:
    # Scores and bounds of the bins of a column.
    double best             # the best score between two bins
    double bound            # on the splits inside bins; -inf if none can win
    Py_ssize_t live_rows    # in bins that may hold the best split


cdef struct BinGroup:
    # Neighbouring bins of a column, and the rows of those that are wanted.
    Py_ssize_t first
    Py_ssize_t stop
    Py_ssize_t row          # their place among the gathered rows
    Py_ssize_t n_rows
    double best             # score inside its bins, if it is above the floor


cdef enum:
    MAX_GROUPS = 128


cdef struct Finder:
    # The state of one thread, and what it searches: a node and its histogram.
    const Binned* data
    const NodeView* node
    const void* histogram
    Profile profile
    Scratch* scratch
    uint8_t* wanted        # by code: 0, or the group of the bin, or 1
    Gathered gathered      # rows of the bins being searched
    Py_ssize_t n_gathered  # capacity
    Py_ssize_t ready       # a column whose bins are in groups; or -1
    Py_ssize_t n_groups
    BinGroup* groups
    uint32_t* places       # by block of rows and group
    double floor
    bint failed            # memory ran out


cdef int init_profile(
    Profile* profile, Py_ssize_t max_bins, Py_ssize_t n_classes
) except -1 nogil

cdef void free_profile(Profile* profile) noexcept nogil

cdef void read_profile(
    Profile* profile, Py_ssize_t column, const void* histogram, Py_ssize_t offset,
    Py_ssize_t n_bins, const Counted* counted, const NodeView* node,
) noexcept nogil

cdef ColumnBounds bounds_of(
    const Profile* profile, const uint8_t* single, double bar
) noexcept nogil

cdef ColumnBounds all_bounds(
    const ColumnBounds* columns, Py_ssize_t n_columns, double floor
) noexcept nogil

cdef bint is_live(
    const Profile* profile, Py_ssize_t t, const uint8_t* single, double bar
) noexcept nogil

cdef int init_finder(Finder* finder, const Binned* data, Scratch* scratch) except -1 nogil

cdef void free_finder(Finder* finder) noexcept nogil

cdef void read_column(Finder* finder, Py_ssize_t j) noexcept nogil

cdef ColumnBounds bounds_of_column(Finder* finder, Py_ssize_t j) noexcept nogil

cdef KernelSplit best_category(Finder* finder, Py_ssize_t j) noexcept nogil

cdef KernelSplit best_of_column(Finder* finder, Py_ssize_t j) noexcept nogil

cdef void mark_groups(Finder* finder, Py_ssize_t j) noexcept nogil

cdef void gather_marked(Finder* finder, Pool pool) noexcept nogil

cdef bint score_group(const Finder* finder, BinGroup* group, Scratch* scratch) noexcept nogil

cdef KernelSplit best_of_groups(Finder* finder) noexcept nogil

cdef KernelSplit better_side(const KernelSplit* sides, const NodeView* node) noexcept nogil

cdef void try_boundary(
    const Profile* profile, Py_ssize_t t, int side, double floor, KernelSplit* best
) noexcept nogil
