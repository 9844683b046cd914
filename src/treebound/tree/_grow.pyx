"""Best-first growth: the nodes, the frontier, and what happens when a leaf is expanded."""

import numpy as np

from cython.parallel cimport prange, threadid
from libc.math cimport INFINITY, NAN, ceil, floor, log2
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

from treebound.tree._layout cimport (
    ENTROPY, GINI, NOMINAL, ORDERED, SORTED, Criterion, Problem, Split, label_of, purity_of, rank_of,
    row_of, weight_of,
)
from treebound.tree._partition cimport partition_entries, partition_rows
from treebound.tree._presort cimport ordered_keys, presort
from treebound.tree._split cimport ColumnStore, NodeView, Scratch, best_split, fill_table

cdef enum:
    FEW_VALUES = 256      # a real column of no more distinct values is kept as codes
    THREAD_ROWS = 4096    # below, starting threads costs more than they save
    TILE = 64             # rows read at a time when columns are taken out of a C-ordered matrix

# Scores closer than this share of a node's weight are a tie; a gain below it is rounding.
cdef double TOLERANCE = 2.0**-45
cdef double LOG2_E = 1.4426950408889634


cdef struct Node:
    Py_ssize_t start
    Py_ssize_t stop
    Py_ssize_t depth
    int32_t left
    int32_t right
    int64_t weight
    double purity
    double priority
    double threshold
    int32_t category
    Split split
    int64_t* tables       # counts per code, kept while the node may be expanded; or NULL


cdef class Grower:
    """Grows one tree; holds the memory of the sorted columns, the nodes and the frontier."""

    cdef Problem problem
    cdef ColumnStore* columns
    cdef Scratch* scratch
    cdef Split* splits
    cdef Node* nodes
    cdef int64_t* counts       # n_classes per node
    cdef int32_t* frontier     # a heap, or a stack where the number of leaves has no limit
    cdef uint32_t* rows
    cdef uint8_t* goes_left
    cdef int64_t* xlogx_table
    cdef int64_t* spare        # tables of a node that is too small to keep them
    cdef int64_t max_weight    # of one row
    cdef Py_ssize_t table_size, n_columns, n_nodes, capacity, n_frontier, n_leaves, max_slots
    cdef Py_ssize_t max_leaves, max_depth, min_split
    cdef double min_gain
    cdef bint by_impurity
    cdef int n_threads
    cdef const double[:, :] X
    cdef const uint32_t[::1] y
    cdef const int64_t[::1] weights
    cdef const uint8_t[::1] kinds

    def __cinit__(self):
        self.columns = NULL
        self.scratch = NULL
        self.splits = NULL
        self.nodes = NULL
        self.counts = NULL
        self.frontier = NULL
        self.rows = NULL
        self.goes_left = NULL
        self.xlogx_table = NULL
        self.spare = NULL
        self.n_columns = 0

    def __init__(self, X, y, weights, kinds, n_codes, has_missing, n_classes, criterion, options):
        self.X = X
        self.y = y
        self.kinds = kinds
        self.n_columns = X.shape[1]
        self.n_threads = options["n_threads"]
        self.max_leaves = options["max_leaves"]
        self.max_depth = options["max_depth"]
        self.min_split = options["min_samples_split"]
        self.min_gain = options["min_gain"]
        self.by_impurity = options["by_impurity"]
        self.problem.n_rows = X.shape[0]
        self.problem.n_classes = n_classes
        self.problem.min_leaf = options["min_samples_leaf"]
        self.problem.criterion = criterion
        self.problem.labels = &self.y[0]
        self.problem.weights = NULL
        if weights is not None:
            self.weights = weights
            self.problem.weights = &self.weights[0]
        self.max_weight = 1 if weights is None else weights.max()
        self._set_packing()
        self._allocate(n_codes, has_missing)

    cdef _set_packing(self):
        cdef int row_bits = max(1, int(self.problem.n_rows).bit_length())
        cdef int label_bits = int(self.problem.n_classes - 1).bit_length()
        if 2 * row_bits + label_bits > 64:
            raise ValueError(
                f"grow holds at most 2^{(64 - label_bits) // 2} - 1 rows of "
                f"{self.problem.n_classes} classes. Got {self.problem.n_rows} rows instead."
            )
        self.problem.packing.row_shift = label_bits
        self.problem.packing.rank_shift = label_bits + row_bits
        self.problem.packing.label_mask = (<uint64_t>1 << label_bits) - 1
        self.problem.packing.row_mask = (<uint64_t>1 << row_bits) - 1

    cdef _allocate(self, n_codes, has_missing):
        cdef Py_ssize_t n = self.problem.n_rows, j
        self.columns = <ColumnStore*>calloc(max(self.n_columns, 1), sizeof(ColumnStore))
        self.splits = <Split*>calloc(max(self.n_columns, 1), sizeof(Split))
        self.scratch = <Scratch*>calloc(self.n_threads, sizeof(Scratch))
        self.rows = <uint32_t*>malloc(n * sizeof(uint32_t))
        self.goes_left = <uint8_t*>malloc(n)
        if not (self.columns and self.splits and self.scratch and self.rows and self.goes_left):
            raise MemoryError
        for j in range(self.n_columns):
            self.columns[j].n_codes = n_codes[j]
            self.columns[j].has_missing = has_missing[j]
            self.columns[j].kind = NOMINAL if self.kinds[j] == 2 else SORTED
            if self.kinds[j] == 1 and n_codes[j] <= FEW_VALUES:
                self.columns[j].kind = ORDERED
            if self.columns[j].kind == SORTED:
                self.columns[j].entries = <uint64_t*>malloc(n * sizeof(uint64_t))
                if self.columns[j].entries == NULL:
                    raise MemoryError

    def __dealloc__(self):
        cdef Py_ssize_t j
        if self.columns != NULL:
            for j in range(self.n_columns):
                free(self.columns[j].entries)
                free(self.columns[j].cells)
                free(self.columns[j].values)
        if self.scratch != NULL:
            for j in range(self.n_threads):
                free(self.scratch[j].entries)
                free(self.scratch[j].left)
                free(self.scratch[j].right)
                free(self.scratch[j].missing)
                free(self.scratch[j].table)
        if self.nodes != NULL:
            for j in range(self.n_nodes):
                free(self.nodes[j].tables)
        free(self.spare)
        free(self.columns)
        free(self.scratch)
        free(self.splits)
        free(self.nodes)
        free(self.counts)
        free(self.frontier)
        free(self.rows)
        free(self.goes_left)
        free(self.xlogx_table)

    # -- before the root ---------------------------------------------------------------------

    cdef int prepare(self) except -1:
        """Sort the real columns, note the codes of the others, and size the scratch memory."""
        cdef Py_ssize_t n = self.problem.n_rows, n_classes = self.problem.n_classes, i, j, t
        cdef Py_ssize_t largest = 0, size
        cdef bint failed = False
        cdef int threads = self.threads_for(n)
        for i in range(n):
            self.rows[i] = <uint32_t>i
        for t in range(self.n_threads):
            self.scratch[t].entries = <uint64_t*>malloc(2 * n * sizeof(uint64_t))
            failed |= self.scratch[t].entries == NULL
        if failed:
            raise MemoryError
        self.load_keys()
        for j in prange(
            self.n_columns, nogil=True, num_threads=threads, schedule="dynamic", chunksize=1
        ):
            failed |= self.prepare_column(j, threadid())
        for j in range(self.n_columns):
            if self.columns[j].kind != SORTED:
                size = (self.columns[j].n_codes + self.columns[j].has_missing) * (n_classes + 1)
                self.columns[j].offset = self.table_size
                self.table_size += size
                largest = max(largest, size)
        for t in range(self.n_threads):
            self.scratch[t].left = <int64_t*>malloc(n_classes * sizeof(int64_t))
            self.scratch[t].right = <int64_t*>malloc(n_classes * sizeof(int64_t))
            self.scratch[t].missing = <int64_t*>malloc(n_classes * sizeof(int64_t))
            self.scratch[t].table = <int64_t*>calloc(max(largest, 1), sizeof(int64_t))
            failed |= self.scratch[t].left == NULL or self.scratch[t].right == NULL
            failed |= self.scratch[t].missing == NULL or self.scratch[t].table == NULL
        self.spare = <int64_t*>malloc(max(self.table_size, 1) * sizeof(int64_t))
        if failed or self.spare == NULL:
            raise MemoryError
        return 0

    cdef int threads_for(self, Py_ssize_t rows) noexcept nogil:
        return self.n_threads if rows >= THREAD_ROWS else 1

    cdef void load_keys(self) noexcept nogil:
        """Write the sort keys of every sorted column where its entries will stand.

        A tile of rows at a time, so that a C-ordered matrix is read once and not once a column.
        """
        cdef Py_ssize_t n = self.problem.n_rows, start = 0, j
        while start < n:
            for j in range(self.n_columns):
                if self.columns[j].kind == SORTED:
                    ordered_keys(
                        <const char*>&self.X[start, j], self.X.strides[0], min(TILE, n - start),
                        self.columns[j].entries + start,
                    )
            start += TILE

    cdef bint prepare_column(self, Py_ssize_t j, Py_ssize_t thread) noexcept nogil:
        """Sort the column, or note its codes; True where memory ran out."""
        cdef ColumnStore* column = &self.columns[j]
        cdef Py_ssize_t n = self.problem.n_rows, stride = self.problem.n_classes + 1, i, code
        cdef double value
        cdef uint64_t* keys
        cdef uint64_t* sorted_entries = self.scratch[thread].entries
        if column.kind != SORTED:
            column.cells = <uint32_t*>malloc(n * sizeof(uint32_t))
            if column.cells == NULL:
                return True
            for i in range(n):
                value = self.X[i, j]
                code = column.n_codes if value != value else <Py_ssize_t>value
                column.cells[i] = <uint32_t>(code * stride) + self.y[i]
            return False
        keys = column.entries
        column.n_codes = presort(
            keys, n, self.problem.labels, &self.problem.packing, sorted_entries, sorted_entries + n
        )
        column.has_missing = rank_of(sorted_entries[n - 1], &self.problem.packing) == (
            <uint64_t>column.n_codes
        )
        if self.kinds[j] == 0 and column.n_codes <= FEW_VALUES and 8 * column.n_codes <= n:
            return self.keep_codes(column, j, sorted_entries)
        memcpy(keys, sorted_entries, n * sizeof(uint64_t))
        return False

    cdef bint keep_codes(
        self, ColumnStore* column, Py_ssize_t j, const uint64_t* sorted_entries
    ) noexcept nogil:
        """A real column of few values: a code per row in place of the sorted entries."""
        cdef Py_ssize_t stride = self.problem.n_classes + 1, i, row, code
        free(column.entries)
        column.entries = NULL
        column.kind = ORDERED
        column.cells = <uint32_t*>malloc(self.problem.n_rows * sizeof(uint32_t))
        column.values = <double*>malloc((column.n_codes + 1) * sizeof(double))
        if column.cells == NULL or column.values == NULL:
            return True
        for i in range(self.problem.n_rows):
            row = row_of(sorted_entries[i], &self.problem.packing)
            code = rank_of(sorted_entries[i], &self.problem.packing)
            column.cells[row] = <uint32_t>(code * stride) + self.y[row]
            column.values[code] = self.X[row, j]
        return False

    cdef int set_criterion(self, int64_t total) except -1:
        """Whether sums of squares need 128 bits, and the table of c log c."""
        cdef int64_t count
        cdef double largest
        self.problem.wide = total >= <int64_t>1 << 31
        self.problem.xlogx = NULL
        self.problem.xlogx_unit = 1.0
        if self.problem.criterion != ENTROPY:
            return 0
        # sums of c log c are at most total log2 total: leave them 60 bits
        largest = <double>total * max(1.0, log2(<double>total))
        self.problem.xlogx_unit = 2.0 ** floor(60.0 - ceil(log2(largest)))
        if total >= <int64_t>1 << 25:
            return 0
        self.xlogx_table = <int64_t*>malloc((total + 1) * sizeof(int64_t))
        if self.xlogx_table == NULL:
            raise MemoryError
        self.xlogx_table[0] = 0
        for count in range(1, total + 1):
            self.xlogx_table[count] = <int64_t>(
                <double>count * log2(<double>count) * self.problem.xlogx_unit
            )
        self.problem.xlogx = self.xlogx_table
        return 0

    # -- nodes -------------------------------------------------------------------------------

    cdef int32_t add_node(self, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t depth) except -1:
        """A new leaf with counts of zero."""
        cdef Py_ssize_t n_classes = self.problem.n_classes, k
        cdef Node* node
        cdef int32_t index = <int32_t>self.n_nodes
        if self.n_nodes == self.capacity:
            self.grow_capacity()
        node = &self.nodes[index]
        node.start = start
        node.stop = stop
        node.depth = depth
        node.left = node.right = -1
        node.threshold = NAN
        node.category = -1
        node.weight = 0
        node.priority = 0.0
        node.split.column = -1
        node.split.missing_left = False
        node.tables = NULL
        for k in range(n_classes):
            self.counts[index * n_classes + k] = 0
        self.n_nodes += 1
        return index

    cdef int grow_capacity(self) except -1:
        cdef Py_ssize_t capacity = max(2 * self.capacity, 64)
        cdef void* memory
        memory = realloc(self.nodes, capacity * sizeof(Node))
        if memory == NULL:
            raise MemoryError
        self.nodes = <Node*>memory
        memory = realloc(self.counts, capacity * self.problem.n_classes * sizeof(int64_t))
        if memory == NULL:
            raise MemoryError
        self.counts = <int64_t*>memory
        memory = realloc(self.frontier, capacity * sizeof(int32_t))
        if memory == NULL:
            raise MemoryError
        self.frontier = <int32_t*>memory
        self.capacity = capacity
        return 0

    cdef bint finish_node(self, int32_t index) noexcept:
        """Weight and purity from the counts; whether the node may be split at all."""
        cdef Node* node = &self.nodes[index]
        cdef const int64_t* counts = self.counts + index * self.problem.n_classes
        cdef Py_ssize_t k, classes = 0
        cdef Py_ssize_t rows = node.stop - node.start
        node.weight = 0
        for k in range(self.problem.n_classes):
            node.weight += counts[k]
            classes += counts[k] > 0
        node.purity = purity_of(counts, node.weight, &self.problem) if node.weight else 0.0
        return (
            classes > 1
            and rows >= self.min_split
            and rows >= 2 * self.problem.min_leaf
            and node.depth < self.max_depth
        )

    # -- the search --------------------------------------------------------------------------

    cdef bint search(self, int32_t index, const int64_t* tables) noexcept:
        """Find the node's best split; whether it gains enough."""
        cdef Node* node = &self.nodes[index]
        cdef NodeView view
        cdef Py_ssize_t j, t
        cdef double least
        cdef int threads = self.threads_for(node.stop - node.start)
        view.start = node.start
        view.stop = node.stop
        view.weight = node.weight
        view.purity = node.purity
        view.counts = self.counts + index * self.problem.n_classes
        view.tables = tables
        view.rows = self.rows
        view.tolerance = TOLERANCE * <double>node.weight
        view.rise = self.rise_of(node.weight)
        # a split must lower the impurity, and by ``min_gain``
        least = node.purity + max(
            view.tolerance, self.min_gain * <double>self.nodes[0].weight - view.tolerance
        )
        for t in range(self.n_threads):
            self.scratch[t].floor = least
        for j in prange(
            self.n_columns, nogil=True, num_threads=threads, schedule="dynamic", chunksize=1
        ):
            self.splits[j] = best_split(
                &self.columns[j], j, &view, &self.problem, &self.scratch[threadid()]
            )
        node.split.score = -INFINITY
        for j in range(self.n_columns):
            if self.splits[j].score > node.split.score + view.tolerance or (
                self.by_impurity
                and self.splits[j].place >= 0
                and self.splits[j].score >= node.split.score - view.tolerance
                and self.left_rows(node, &self.splits[j]) < self.left_rows(node, &node.split)
            ):
                node.split = self.splits[j]
        if not node.split.score > least:
            node.split.column = -1
            return False
        node.priority = node.split.score - node.purity
        if self.by_impurity:
            node.priority = (node.split.score - self.best_purity(node.weight)) / <double>node.weight
        return True

    cdef Py_ssize_t left_rows(self, const Node* node, const Split* split) noexcept:
        """Rows that a split sends left, missing ones apart: how the paper's code settles ties."""
        cdef const ColumnStore* column = &self.columns[split.column]
        cdef uint32_t stride = <uint32_t>(self.problem.n_classes + 1), cell
        cdef uint32_t high = <uint32_t>(split.place + 1) * stride
        cdef uint32_t low = high - stride if column.kind == NOMINAL else 0
        cdef Py_ssize_t i, rows = 0
        if column.kind == SORTED:
            return split.place
        for i in range(node.start, node.stop):
            cell = column.cells[self.rows[i]]
            rows += cell >= low and cell < high
        return rows

    cdef double rise_of(self, int64_t weight) noexcept:
        """The most that a row can lift the score by changing sides (see ``_scan.pyx``)."""
        cdef double heaviest = <double>min(self.max_weight, weight)
        if self.problem.criterion == GINI:
            return 2.0 * heaviest
        return heaviest * (log2(<double>weight / heaviest) + LOG2_E)

    cdef double best_purity(self, int64_t weight) noexcept:
        """The purity of a node of one class, from which impurity is measured."""
        return 0.0 if self.problem.criterion == ENTROPY else <double>weight

    # -- the frontier ------------------------------------------------------------------------

    cdef bint before(self, int32_t a, int32_t b) noexcept:
        """Whether leaf ``a`` is expanded before ``b``: the better one, else the older one."""
        cdef double tolerance = TOLERANCE
        cdef double difference = self.nodes[a].priority - self.nodes[b].priority
        if not self.by_impurity:
            tolerance *= <double>self.nodes[0].weight
        if difference > tolerance:
            return True
        if difference < -tolerance:
            return False
        return a < b

    cdef void push(self, int32_t index) noexcept:
        cdef Py_ssize_t i = self.n_frontier, parent
        self.frontier[i] = index
        self.n_frontier += 1
        if self.max_leaves < 0:
            return
        while i > 0:
            parent = (i - 1) // 2
            if not self.before(self.frontier[i], self.frontier[parent]):
                return
            self.frontier[i], self.frontier[parent] = self.frontier[parent], self.frontier[i]
            i = parent

    cdef int32_t pop(self) noexcept:
        cdef Py_ssize_t i = 0, child
        cdef int32_t top
        self.n_frontier -= 1
        if self.max_leaves < 0:
            return self.frontier[self.n_frontier]
        top = self.frontier[0]
        self.frontier[0] = self.frontier[self.n_frontier]
        while 2 * i + 1 < self.n_frontier:
            child = 2 * i + 1
            if child + 1 < self.n_frontier and self.before(
                self.frontier[child + 1], self.frontier[child]
            ):
                child += 1
            if not self.before(self.frontier[child], self.frontier[i]):
                break
            self.frontier[i], self.frontier[child] = self.frontier[child], self.frontier[i]
            i = child
        return top

    # -- expansion ---------------------------------------------------------------------------

    cdef int expand(self, int32_t index) except -1:
        """Turn a leaf into an inner node with two leaves, and search those if any may follow."""
        cdef int32_t left, right
        cdef Py_ssize_t n_left, n_classes = self.problem.n_classes, k
        cdef Py_ssize_t start, stop, depth
        cdef bint search_left, search_right
        self.set_threshold(index)
        start = self.nodes[index].start
        stop = self.nodes[index].stop
        depth = self.nodes[index].depth + 1
        left = self.add_node(start, start, depth)
        right = self.add_node(start, stop, depth)
        n_left = self.mark_rows(index, self.counts + left * n_classes)
        self.nodes[left].stop = self.nodes[right].start = start + n_left
        for k in range(n_classes):
            self.counts[right * n_classes + k] = (
                self.counts[index * n_classes + k] - self.counts[left * n_classes + k]
            )
        search_left = self.finish_node(left)
        search_right = self.finish_node(right)
        self.nodes[index].left = left
        self.nodes[index].right = right
        self.set_missing_side(index)
        self.n_leaves += 1
        if self.n_leaves == self.max_leaves or not (search_left or search_right):
            return 0
        self.partition(start, stop)
        self.search_children(index, search_left, search_right)
        return 0

    cdef int search_children(self, int32_t index, bint search_left, bint search_right) except -1:
        """Search the new leaves; codes are counted in the smaller one, the other is the rest."""
        cdef int32_t small = self.nodes[index].left, large = self.nodes[index].right
        cdef bint search_small = search_left, search_large = search_right
        cdef int64_t* tables = self.nodes[index].tables
        cdef int64_t* small_tables = NULL
        cdef Py_ssize_t cell
        if self.rows_in(small) > self.rows_in(large):
            small, large = large, small
            search_small, search_large = search_large, search_small
        if tables != NULL:
            small_tables = self.count_tables(small)
            if search_large:
                for cell in range(self.table_size):
                    tables[cell] -= small_tables[cell]
            self.nodes[index].tables = NULL
            self.nodes[large].tables = tables
        self.consider(small, search_small, small_tables)
        self.consider(large, search_large, tables)
        return 0

    cdef void consider(self, int32_t index, bint may_split, const int64_t* tables) noexcept:
        """Put a leaf on the frontier if it has a split.

        A node keeps its tables only if it has a row for every cell of them, so the tables of the
        whole frontier never have more cells than the data have rows.
        """
        if may_split and self.search(index, tables):
            self.push(index)
            if self.rows_in(index) >= self.table_size:
                return
        free(self.nodes[index].tables)
        self.nodes[index].tables = NULL

    cdef int64_t* count_tables(self, int32_t index) except NULL:
        """Count the codes of a node's rows, in memory of its own if it is large enough."""
        cdef Node* node = &self.nodes[index]
        cdef int64_t* tables = self.spare
        cdef Py_ssize_t n_rows = self.rows_in(index), j
        cdef int threads = self.threads_for(n_rows)
        if n_rows >= self.table_size:
            tables = node.tables = <int64_t*>malloc(self.table_size * sizeof(int64_t))
            if tables == NULL:
                raise MemoryError
        memset(tables, 0, self.table_size * sizeof(int64_t))
        for j in prange(
            self.n_columns, nogil=True, num_threads=threads, schedule="dynamic", chunksize=1
        ):
            if self.columns[j].kind != SORTED:
                fill_table(
                    &self.columns[j], self.rows + node.start, n_rows, &self.problem,
                    tables + self.columns[j].offset,
                )
        return tables

    cdef Py_ssize_t rows_in(self, int32_t index) noexcept nogil:
        return self.nodes[index].stop - self.nodes[index].start

    cdef void set_threshold(self, int32_t index) noexcept:
        """Threshold or category from the place of the split."""
        cdef Node* node = &self.nodes[index]
        cdef Split* split = &node.split
        cdef ColumnStore* column = &self.columns[split.column]
        cdef const uint64_t* entries
        cdef double low, high
        if column.kind == NOMINAL:
            node.category = <int32_t>split.place
            return
        if column.kind == SORTED:
            entries = column.entries + node.start
            if split.place == node.stop - node.start or (
                rank_of(entries[split.place], &self.problem.packing) == <uint64_t>column.n_codes
            ):
                node.threshold = INFINITY
                return
            low = self.X[row_of(entries[split.place - 1], &self.problem.packing), split.column]
            high = self.X[row_of(entries[split.place], &self.problem.packing), split.column]
        elif split.follow < 0:
            node.threshold = INFINITY
            return
        elif column.values != NULL:
            low = column.values[split.place]
            high = column.values[split.follow]
        else:
            low = <double>split.place
            high = <double>split.follow
        node.threshold = midpoint(low, high)
        if self.kinds[split.column] == 1:
            node.threshold = floor(node.threshold)

    cdef Py_ssize_t mark_rows(self, int32_t index, int64_t* left_counts) noexcept:
        """Note for every row of the node whether it goes left; count those that do."""
        cdef Node* node = &self.nodes[index]
        cdef ColumnStore* column = &self.columns[node.split.column]
        cdef Py_ssize_t i, row, n_left = 0
        if column.kind == SORTED:
            self.mark_sorted(node, column)
        else:
            self.mark_codes(node, column)
        for i in range(node.start, node.stop):
            row = self.rows[i]
            if self.goes_left[row]:
                n_left += 1
                left_counts[self.y[row]] += weight_of(row, &self.problem)
        return n_left

    cdef void mark_sorted(self, const Node* node, const ColumnStore* column) noexcept:
        cdef Py_ssize_t middle = node.start + node.split.place, i
        cdef uint64_t missing = <uint64_t>column.n_codes
        for i in range(node.start, node.stop):
            self.goes_left[row_of(column.entries[i], &self.problem.packing)] = i < middle
        if node.split.missing_left:
            i = node.stop - 1
            while i >= middle and rank_of(column.entries[i], &self.problem.packing) == missing:
                self.goes_left[row_of(column.entries[i], &self.problem.packing)] = True
                i -= 1

    cdef void mark_codes(self, const Node* node, const ColumnStore* column) noexcept:
        """Codes from ``low`` to before ``high`` go left, and missing where it was found better."""
        cdef uint32_t stride = <uint32_t>(self.problem.n_classes + 1), cell
        cdef uint32_t high = <uint32_t>(node.split.place + 1) * stride
        cdef uint32_t low = high - stride if column.kind == NOMINAL else 0
        cdef uint32_t missing = <uint32_t>column.n_codes * stride
        cdef bint missing_left = node.split.missing_left
        cdef Py_ssize_t i
        for i in range(node.start, node.stop):
            cell = column.cells[self.rows[i]]
            self.goes_left[self.rows[i]] = (cell >= low and cell < high) or (
                missing_left and cell >= missing
            )

    cdef void set_missing_side(self, int32_t index) noexcept:
        """Where no row was missing at the node, missing goes to the heavier child."""
        cdef Node* node = &self.nodes[index]
        cdef ColumnStore* column = &self.columns[node.split.column]
        cdef Py_ssize_t i
        cdef bint missing_here = False
        if column.kind == NOMINAL:
            missing_here = column.has_missing
        elif not column.has_missing:
            missing_here = False
        elif column.kind == SORTED:
            missing_here = rank_of(
                column.entries[node.stop - 1], &self.problem.packing
            ) == <uint64_t>column.n_codes
        else:
            for i in range(node.start, node.stop):
                if column.cells[self.rows[i]] >= column.n_codes * (self.problem.n_classes + 1):
                    missing_here = True
                    break
        if not missing_here:
            node.split.missing_left = (
                self.nodes[node.left].weight >= self.nodes[node.right].weight
            )

    cdef void partition(self, Py_ssize_t start, Py_ssize_t stop) noexcept:
        cdef Py_ssize_t j
        cdef int threads = self.threads_for(stop - start)
        partition_rows(
            self.rows, start, stop, self.goes_left, <uint32_t*>self.scratch[0].entries
        )
        for j in prange(
            self.n_columns, nogil=True, num_threads=threads, schedule="dynamic", chunksize=1
        ):
            if self.columns[j].kind == SORTED:
                partition_entries(
                    self.columns[j].entries, start, stop, self.goes_left, &self.problem.packing,
                    self.scratch[threadid()].entries,
                )

    # -- the whole -----------------------------------------------------------------------------

    def grow(self):
        """Grow to the end; the tree's arrays, in pre-order."""
        cdef Py_ssize_t n = self.problem.n_rows, i
        cdef bint search_root
        self.n_leaves = 1
        self.add_node(0, n, 0)
        for i in range(n):
            self.counts[self.y[i]] += weight_of(i, &self.problem)
        search_root = self.finish_node(0)
        if search_root and self.max_leaves != 1:
            self.set_criterion(self.nodes[0].weight)
            self.finish_node(0)
            self.prepare()
            if 0 < self.table_size <= n:
                self.count_tables(0)
            self.consider(0, True, self.nodes[0].tables)
        while self.n_frontier and self.n_leaves != self.max_leaves:
            self.expand(self.pop())
        return self.arrays()

    cdef arrays(self):
        """The nodes as named arrays, in pre-order."""
        cdef Py_ssize_t n = self.n_nodes, n_classes = self.problem.n_classes, k, new, j
        cdef int32_t old
        cdef int32_t[::1] feature = np.full(n, -1, dtype=np.int32)
        cdef double[::1] threshold = np.full(n, np.nan)
        cdef int32_t[::1] category = np.full(n, -1, dtype=np.int32)
        cdef uint8_t[::1] missing_left = np.zeros(n, dtype=np.uint8)
        cdef int32_t[::1] left = np.full(n, -1, dtype=np.int32)
        cdef int32_t[::1] right = np.full(n, -1, dtype=np.int32)
        cdef int64_t[:, ::1] counts = np.empty((n, n_classes), dtype=np.int64)
        cdef int64_t[::1] rows = np.empty(n, dtype=np.int64)
        cdef int32_t[::1] place = np.empty(n, dtype=np.int32)
        cdef int32_t[::1] order = np.empty(n, dtype=np.int32)
        cdef int32_t[::1] stack = np.empty(n, dtype=np.int32)
        cdef Py_ssize_t depth = 1
        stack[0] = 0
        for new in range(n):
            depth -= 1
            old = stack[depth]
            order[new] = old
            place[old] = <int32_t>new
            if self.nodes[old].left >= 0:
                stack[depth] = self.nodes[old].right
                stack[depth + 1] = self.nodes[old].left
                depth += 2
        for new in range(n):
            old = order[new]
            rows[new] = self.nodes[old].stop - self.nodes[old].start
            for k in range(n_classes):
                counts[new, k] = self.counts[old * n_classes + k]
            if self.nodes[old].left < 0:
                continue
            feature[new] = <int32_t>self.nodes[old].split.column
            threshold[new] = self.nodes[old].threshold
            category[new] = self.nodes[old].category
            missing_left[new] = self.nodes[old].split.missing_left
            left[new] = place[self.nodes[old].left]
            right[new] = place[self.nodes[old].right]
        return {
            "feature": np.asarray(feature), "threshold": np.asarray(threshold),
            "category": np.asarray(category), "missing_left": np.asarray(missing_left),
            "left": np.asarray(left), "right": np.asarray(right),
            "counts": np.asarray(counts), "rows": np.asarray(rows),
            "missing": [bool(self.columns[j].has_missing) for j in range(self.n_columns)],
        }


cdef inline double midpoint(double low, double high) noexcept nogil:
    """A threshold with ``low <= threshold < high``, halfway where floats allow it."""
    cdef double middle = 0.5 * low + 0.5 * high
    return middle if low <= middle < high else low
