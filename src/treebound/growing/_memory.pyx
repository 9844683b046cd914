"""Growing in memory: the engine of `Driver` whose rows are arrays of this process.

Large nodes are searched by histograms (`search`), smaller ones by sorting (`sorted`). The tree
does not depend on the crossing. Histograms are stored while useful, in up to eight bytes per row, or
32 MB; a node without memory for its histogram is counted when it is searched.

Threads share the rows or the columns of a large node. If the number of leaves is not limited the
order in which nodes are expanded does not matter: as soon as there are a few open nodes for each
thread, every thread grows whole subtrees, the largest first, with separate memory. In the end
the nodes are put in pre-order, so the tree does not depend on the threads that grew its parts.
"""

import numpy as np
from heapq import heappop, heappush
from treebound.growing._histogram import code_shard

from libc.math cimport INFINITY, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset
from treebound.growing._layout cimport (
    ENTROPY, FINE_BINS, MAX_CATEGORIES, N_CHANNELS, NOMINAL, SQUARED, SQUARES, WEIGHT, KernelSplit,
    NodeView, Problem, Scratch, Source, add_row, allocate, checked, count_classes, may_split_on,
    relaxed, row_of, set_relaxed, source_of, takes, value_at, zeros,
)
from treebound._utils._pool cimport Pool, Tasks, Work, add_whole, now, stop_others
from treebound.growing._scan cimport no_split, try_category
from treebound.growing._sorted cimport (
    Part, Search, Sorted, Task, enlarge_scratch, find_neighbours, free_scratch, id_of, mark,
    new_sorted, search_sorted,
)
from treebound.growing._bins cimport Bins, bin_of
from treebound.growing._histogram cimport (
    AHEAD, Binned, CodedBins, add_counts, count_node, find_bounds, part_binned, set_ranges,
    size_of,
)
from treebound.growing._search cimport (
    ColumnBounds, Finder, all_bounds, best_of_column, bounds_of_column, free_finder,
    best_of_groups, gather_marked, init_finder, mark_groups, score_group,
)
from treebound.growing._driver cimport BOUNDED, Driver, FOUND, GrownNode, Nodes, WAITING, leave


cdef enum:
    FINE_ROWS = 400_000   # larger samples get finer bins if the first ones are not informative
    BYTES_A_ROW = 8       # of histograms
    MIN_BYTES = 1 << 25
    THREAD_CELLS = 8192   # fewer counts are searched by one thread
    SEARCH_CELLS = 4096   # the same for searches inside bins
    THREAD_VALUES = 65536 # for each thread
    REPORT_EVERY = 50     # pauses of 20 milliseconds
    SLICE = 20_000_000    # nanoseconds that threads work ahead between looks for signals
    BRANCHES = 4          # subtrees for each thread
    BRANCH_ROWS = 2048    # fewer rows are not worth a search by several threads
    LABELS = 8192         # rows whose classes a thread counts at a time
    MAX_THREADS = 256
    NUMBER_CROSSING = 64  # least rows of a node of numbers with a histogram
    ROWS_A_SQUARE = 4     # rows of numbers for the square of the bins
    CHAIN = 128           # rows of a node that may be a chain; splits a column that make it pay


cdef class SharedCodes:
    """The codes of a sample, made by the first tree that needs them, for trees on parts of it."""

    pass


cdef class Grower(Driver):
    def __cinit__(self, Py_ssize_t n_columns, Py_ssize_t n_classes, dict options, Pool pool):
        cdef int t
        self.pool = pool
        self.options = options
        self.scratch = <Scratch*>zeros(pool.n_threads, sizeof(Scratch))
        for t in range(pool.n_threads):
            self.scratch[t].left = <int64_t*>allocate(n_classes, sizeof(int64_t))
            self.scratch[t].right = <int64_t*>allocate(n_classes, sizeof(int64_t))
            self.scratch[t].missing = <int64_t*>allocate(n_classes + 1, sizeof(int64_t))
        self.sorted.tasks[0].splits = <KernelSplit*>allocate(n_columns, sizeof(KernelSplit))
        self.sorted.tasks[1].splits = <KernelSplit*>allocate(n_columns, sizeof(KernelSplit))
        self.sorted.scratch = self.scratch
        self.columns.order = <int*>allocate(n_columns, sizeof(int))
        self.columns.wave = <int*>allocate(pool.n_threads, sizeof(int))
        self.hand_at = <void**>allocate(pool.n_threads, sizeof(void*))

    def __dealloc__(self):
        cdef int t
        cdef Py_ssize_t i
        if self.pool is None:
            return  # the options were refused
        for i in range(self.tree.n_nodes):
            self.release(<int32_t>i)
        self.forget_codes()
        free(self.view.sides)
        if self.scratch != NULL:
            for t in range(self.pool.n_threads):
                free_scratch(&self.scratch[t])
        free(self.scratch)
        free(self.sorted.tasks[0].splits)
        free(self.sorted.tasks[1].splits)
        free(self.columns.order)
        free(self.columns.wave)
        free_heap(&self.waiting)
        free_heap(&self.chosen)
        free(self.hand_at)

    cdef int set_sample(
        self, columns, y, weights, kinds, n_categories, may_miss, part, shared
    ) except -1:
        """Take the columns and labels of the rows to grow on; see `grow_arrays`."""
        cdef Py_ssize_t j
        cdef const int32_t[::1] labels = y
        cdef const int64_t[::1] units
        self.arrays = (columns, y, weights)
        for j, values in enumerate(columns):
            self.sources[j] = source_of(values, kinds[j])
            self.sources[j].n_categories = n_categories[j]
            self.sources[j].may_miss = may_miss[j]
        self.problem.n_rows = len(y if part is None else part)
        if part is not None:
            self.part = part
            self.ids = &self.part[0]
        self.shared = shared or SharedCodes()
        self.shared.sorts &= part is not None
        self.problem.labels = <const uint32_t*>&labels[0]
        if weights is not None:
            units = weights
            self.problem.weights = &units[0]
            self.problem.max_weight = weights.max()
        return 0

    cdef int pause(self) except -1 nogil:
        """Report the progress, about once a second."""
        cdef Py_ssize_t rows
        self.pauses += 1
        if self.pauses % REPORT_EVERY:
            return 0
        rows = self.open_rows()
        with gil:
            if self.progress is not None:
                self.progress(self.n_leaves, rows)
        return 0

    cdef Py_ssize_t open_rows(self) noexcept nogil:
        """Rows that may be split further."""
        cdef Py_ssize_t rows = 0, i
        for i in range(self.tree.n_frontier):
            rows += self.tree.rows_in(self.tree.frontier[i])
        return rows

    # -- the root ----------------------------------------------------------------------------

    cdef int start(self) except -1 nogil:
        """The root, and the sample as codes if it is large."""
        cdef Py_ssize_t n = self.problem.n_rows
        self.add_root(n)
        self.count_labels(self.ids, n, self.tree.counts_of(0))
        self.set_criterion()
        self.n_leaves = 1
        if not self.settle(0) or self.max_leaves == 1 or self.n_columns == 0:
            return 0
        if self.in_chains():
            with gil:
                self.start_chains()
        elif n >= self.root_crossing and not self.shared.sorts:
            self.code(self.max_bins)
        self.wait(0)
        return 0

    cdef int set_spans(self) except -1 nogil:
        """The spans of a larger sample, where this one is a node of it."""
        with gil:
            if self.spans is not None:
                for j in range(self.n_columns):
                    self.sources[j].span = self.spans[j]
        return 0

    cdef int code(self, Py_ssize_t max_bins) except -1 nogil:
        """Code the sample and count the root."""
        cdef Py_ssize_t n = self.problem.n_rows
        cdef size_t size
        cdef int t
        self.forget_codes()
        with gil:
            self.attach_codes(max_bins)
        size = size_of(&self.binned.counted)
        self.columns.finders = <Finder*>zeros(self.pool.n_threads, sizeof(Finder))
        self.counters = <void**>zeros(self.pool.n_threads, sizeof(void*))
        for t in range(self.pool.n_threads):
            init_finder(&self.columns.finders[t], self.binned, &self.scratch[t])
            if t:
                self.counters[t] = allocate(size, 1)
        self.max_histograms = 2 + max(
            BYTES_A_ROW * n, <Py_ssize_t>MIN_BYTES
        ) // <Py_ssize_t>size
        self.tree.nodes[0].histogram = self.new_histogram()
        self.count(0, n, self.tree.nodes[0].histogram)
        if self.ids != NULL:
            set_ranges(self.binned, self.tree.nodes[0].histogram, self.pool)
        return self.set_spans()

    cdef int attach_codes(self, Py_ssize_t max_bins) except -1:
        """Take the codes that there are for a part of a sample, else code all of its rows."""
        cdef Py_ssize_t n = self.problem.n_rows, j
        cdef uint32_t[:, ::1] rows
        cdef uint16_t[::1] labels
        cdef Starting starting
        cdef tuple coded = self.shared.coded
        columns, y, weights = self.arrays
        if self.ids == NULL or coded is None or max_bins > self.max_bins:
            kinds = [self.sources[j].kind for j in range(self.n_columns)]
            sizes = [self.sources[j].n_categories for j in range(self.n_columns)]
            bins = Bins(columns, kinds, sizes, max_bins, self.pool)
            coded = self.shared.coded = (bins, *code_shard(bins, columns, len(y), self.pool))
        bins, codes, ends, missing, single = coded
        stride = self.problem.n_classes + (weights is not None or self.numbers is not None)
        row_bits = 0
        if self.numbers is not None and self.tree.counts_of(0)[WEIGHT] == n < 2**30:
            row_bits = int(n).bit_length()  # all weights are 1
        self.coded = CodedBins(bins, self.problem.n_classes, 2 if row_bits else stride)
        self.binned = self.coded.of(codes, single)
        self.binned.problem = &self.problem
        self.binned.sources = self.sources
        for j in range(self.n_columns if self.ids == NULL else 0):
            self.sources[j].may_miss |= missing[j]
            self.sources[j].span = max(ends[j][1] - ends[j][0], 0.0)
        rows = np.empty((2, n + AHEAD), dtype=np.uint32)
        short_labels = np.empty(len(y), dtype=np.uint16)
        labels = short_labels
        self.order = (rows, short_labels)
        starting.rows = &rows[0, 0]
        starting.ids = self.ids
        starting.n_rows = n
        starting.labels = self.problem.labels
        starting.short_labels = &labels[0]
        starting.n_labels = len(y)
        with nogil:
            self.pool.run(
                &start_rows, &starting,
                (max(starting.n_labels, n + AHEAD) + START_ROWS - 1) // START_ROWS,
            )
        self.binned.rows = &rows[0, 0]
        self.binned.other = &rows[1, 0]
        self.binned.counted.labels = &labels[0]
        self.binned.counted.weights = self.problem.weights
        self.binned.counted.numbers = self.problem.numbers
        if self.problem.numbers != NULL:
            self.binned.counted.weights = self.problem.numbers  # that is, counts of 64 bits
        if row_bits:
            # 62 bits for the squares of all rows, and these rows; a square is rounded up
            squares = int(self.tree.counts_of(0)[SQUARES])
            self.binned.counted.row_bits = row_bits
            self.binned.counted.pair_shift = max(0, squares.bit_length() + row_bits - 61)
        return 0

    cdef void forget_codes(self) noexcept nogil:
        cdef Py_ssize_t i
        if self.tree.n_nodes and self.tree.nodes[0].histogram != NULL:
            self.give_histogram(self.tree.nodes[0].histogram)
            self.tree.nodes[0].histogram = NULL
        self.free_spare()
        for i in range(self.pool.n_threads):
            if self.columns.finders != NULL:
                free_finder(&self.columns.finders[i])
            if self.counters != NULL and i:
                free(self.counters[i])
        free(self.columns.finders)
        free(self.counters)
        self.columns.finders = NULL
        self.counters = NULL
        self.binned = NULL

    # -- classes -----------------------------------------------------------------------------

    cdef void count_labels(
        self, const uint32_t* rows, Py_ssize_t n_rows, int64_t* counts
    ) noexcept nogil:
        """Add the weights of rows, NULL are all, to those of their classes."""
        cdef Labelled labelled
        cdef Py_ssize_t k
        cdef int t
        labelled.problem = &self.problem
        labelled.short_labels = NULL if self.binned == NULL else self.binned.counted.labels
        labelled.rows = rows
        labelled.n_rows = n_rows
        labelled.scratch = self.scratch
        if n_rows < 2 * LABELS or self.pool.n_threads == 1:
            count_some(&labelled, 0, n_rows, counts)
            return
        for t in range(self.pool.n_threads):
            memset(self.scratch[t].left, 0, self.problem.n_classes * sizeof(int64_t))
        self.pool.run(&count_label_block, &labelled, (n_rows + LABELS - 1) // LABELS)
        for t in range(self.pool.n_threads):
            for k in range(self.problem.n_classes):
                counts[k] += self.scratch[t].left[k]

    # -- histograms --------------------------------------------------------------------------

    cdef void* new_histogram(self) except NULL nogil:
        """Uninitialised memory for counts."""
        return checked(self.take_histogram(True))

    cdef void* take_histogram(self, bint at_once) noexcept nogil:
        """The same; NULL if there is no memory or, unless needed at once, the limit is reached."""
        # no `except? NULL`: to look for an error takes the interpreter's lock, at every NULL
        cdef void* histogram
        if self.n_histograms >= self.max_histograms and not at_once:
            return NULL
        histogram = self.spare
        if histogram != NULL:
            self.spare = (<void**>histogram)[0]
        else:
            histogram = malloc(
                size_of(&self.binned.counted) + self.n_columns * sizeof(ColumnBounds)
            )
        self.n_histograms += histogram != NULL
        return histogram

    cdef void give_histogram(self, void* histogram) noexcept nogil:
        """Keep a histogram that a node no longer needs for another one."""
        # threads that allocate and free large blocks wait for each other
        if histogram == NULL:
            return
        self.n_histograms -= 1
        (<void**>histogram)[0] = self.spare
        self.spare = histogram

    cdef void free_spare(self) noexcept nogil:
        """Free the histograms that no node needs."""
        cdef void* histogram = self.spare
        while histogram != NULL:
            self.spare = (<void**>histogram)[0]
            free(histogram)
            histogram = self.spare

    cdef void drop_histogram(self, int32_t index) noexcept nogil:
        self.give_histogram(self.tree.nodes[index].histogram)
        self.tree.nodes[index].histogram = NULL

    cdef void count(self, Py_ssize_t start, Py_ssize_t stop, void* histogram) noexcept nogil:
        self.counters[0] = histogram
        count_node(self.binned, start, stop, self.counters, self.pool)

    # -- search ------------------------------------------------------------------------------

    cdef int search(self, int32_t index) except -1 nogil:
        """Find the split of a leaf, or a tighter bound on its gain."""
        cdef const GrownNode* node = &self.tree.nodes[index]
        if self.chains is not None and node.home == NULL:
            with gil:
                return self.search_chain(index)
        if self.binned == NULL:
            return self.sort_and_search(index, self.ids)
        if self.tree.rows_in(index) >= self.crossing:
            return self.search_histogram(index)
        self.drop_histogram(index)
        return self.sort_and_search(index, self.binned.rows + node.start)

    cdef int sort_and_search(self, int32_t index, const uint32_t* ids) except -1 nogil:
        """Sort the rows of a node, NULL are all, and search it."""
        cdef GrownNode* node = &self.tree.nodes[index]
        node.home = new_sorted(
            &self.problem, self.sources, self.n_columns, ids, self.tree.rows_in(index),
            self.scratch, self.pool,
        )
        node.stop -= node.start
        node.start = 0
        node.home.users = 1
        if index == 0:
            self.set_spans()
        self.sorted.home = node.home
        self.sorted.part = NULL
        self.set_task(&self.sorted.tasks[0], index, True)
        self.sorted.tasks[1].wanted = False
        search_sorted(&self.sorted, self.pool)
        self.conclude(&self.sorted.tasks[0])
        leave(node.home)
        return 0

    cdef bint conclude(self, const Task* task) except -1 nogil:
        """Push a leaf on the frontier if a split gains enough."""
        cdef GrownNode* node = &self.tree.nodes[task.index]
        if task.wanted and (self.takes_first(task.index) or self.choose(node, task)):
            self.tree.push(task.index)
            return True
        return False

    cdef int search_histogram(self, int32_t index) except -1 nogil:
        """Search the histogram of a leaf; its bins are searched only when it is popped again."""
        cdef GrownNode* node = &self.tree.nodes[index]
        cdef Task* task = &self.sorted.tasks[0]
        cdef ColumnBounds bounds
        if self.takes_first(index):
            self.tree.push(index)
            return 0
        if self.work_ahead(index):
            return self.take_over(index)
        if node.histogram == NULL:
            node.histogram = self.new_histogram()
            self.count(node.start, node.stop, node.histogram)
        self.set_task(task, index, True)
        bounds = self.bound_columns(task, node)
        if index == 0 and node.state == WAITING and self.is_uninformative(bounds.live_rows):
            if self.problem.n_rows < FINE_ROWS and self.problem.criterion != SQUARED:
                self.forget_codes()
                with gil:
                    self.shared.sorts = True
                    self.shared.coded = self.coded = self.order = None
                return self.sort_and_search(0, self.ids)
            self.code(FINE_BINS if self.problem.n_rows >= FINE_ROWS else 4 * self.max_bins + 3)
            bounds = self.bound_columns(task, node)
        if max(bounds.best, bounds.bound) <= task.least:
            self.drop_histogram(index)
            return 0
        if self.tree.in_order and node.state == WAITING and bounds.live_rows and index:
            node.state = BOUNDED
            node.priority = self.priority_with(node, max(bounds.best, bounds.bound))
            self.tree.push(index)
            return 0
        self.search_columns(node)
        if not self.conclude(task):
            self.drop_histogram(index)
        return 0

    cdef ColumnBounds bound_columns(self, const Task* task, const GrownNode* node) noexcept nogil:
        """The best boundary of all columns, and bounds on their bins; sets the floor."""
        # A node that is searched again has them behind its histogram.
        cdef Columns* columns = &self.columns
        cdef double floor = task.least
        cdef Py_ssize_t j
        columns.splits = task.splits
        columns.bounds = <ColumnBounds*>(<char*>node.histogram + size_of(&self.binned.counted))
        for j in range(self.pool.n_threads):
            columns.finders[j].node = &task.view
            columns.finders[j].histogram = node.histogram
            columns.finders[j].floor = floor
        if node.state == WAITING:
            self.each_column(&bound_column, self.binned.counted.n_cells >= THREAD_CELLS)
            if node.stop - node.start == self.problem.n_rows:
                # by the best boundary of all columns: do the bins of the root exclude enough?
                for j in range(self.n_columns):
                    self.set_floor(columns.bounds[j].best - 4.0 * task.view.tolerance)
                self.each_column(&bound_column, self.binned.counted.n_cells >= THREAD_CELLS)
        for j in range(self.n_columns):
            columns.splits[j].place = -1
            floor = max(floor, columns.bounds[j].best - 4.0 * task.view.tolerance)
        for j in range(self.pool.n_threads):
            columns.finders[j].floor = floor
        return all_bounds(columns.bounds, self.n_columns, floor)

    cdef int search_columns(self, const GrownNode* node) except -1 nogil:
        """The best split of every column, after `bound_columns`."""
        cdef bint large = (
            self.pool.n_threads > 1 and 2 * (node.stop - node.start) >= self.thread_values
        )
        cdef int t
        if large:
            self.search_in_waves()
        elif self.pool.n_threads > 1 and self.binned.counted.n_cells >= SEARCH_CELLS:
            self.pool.run(&search_column, &self.columns, self.n_columns)
        else:
            search_all(&self.columns, self.n_columns)
        for t in range(self.pool.n_threads):
            if self.columns.finders[t].failed:
                with gil:
                    raise MemoryError
        return 0

    cdef void search_in_waves(self) noexcept nogil:
        """Search the columns that may win, some at a time, the greatest bound first."""
        # All threads gather the rows of a column. What is found raises the floor for later waves.
        cdef Columns* columns = &self.columns
        cdef Py_ssize_t n = 0, i, j
        cdef int c
        for j in range(self.n_columns):
            if is_live_column(columns, j):
                i = n
                while i > 0 and bound_on(columns, columns.order[i - 1]) < bound_on(columns, j):
                    columns.order[i] = columns.order[i - 1]
                    i -= 1
                columns.order[i] = <int>j
                n += 1
        columns.scratch = self.scratch
        i = 0
        while i < n:
            columns.n_wave = 0
            while i < n and columns.n_wave < self.pool.n_threads:
                if is_live_column(columns, columns.order[i]):
                    columns.wave[columns.n_wave] = columns.order[i]
                    columns.n_wave += 1
                i += 1
            self.pool.run(&mark_column, columns, columns.n_wave)
            for c in range(columns.n_wave):
                gather_marked(&columns.finders[c], self.pool)
            self.score_groups()
            self.pool.run(&search_wave, columns, columns.n_wave)
            for c in range(columns.n_wave):
                self.set_floor(columns.finders[c].floor)

    cdef void score_groups(self) noexcept nogil:
        """Find the best score in each group of bins, and raise the floor."""
        cdef Columns* columns = &self.columns
        cdef Py_ssize_t n_items = 0, c, g
        cdef Finder* finder
        for c in range(columns.n_wave):
            n_items += columns.finders[c].n_groups
        self.pool.run(&score_item, columns, n_items)
        for c in range(columns.n_wave):
            finder = &columns.finders[c]
            for g in range(finder.n_groups):
                self.set_floor(finder.groups[g].best - 4.0 * finder.node.tolerance)

    cdef void set_floor(self, double floor) noexcept nogil:
        """Raise the floor of all finders to a score that is not above the best one."""
        cdef int t
        for t in range(self.pool.n_threads):
            self.columns.finders[t].floor = max(self.columns.finders[t].floor, floor)

    cdef void each_column(self, Work work, bint shared) noexcept nogil:
        """Work on the columns of a node, in threads if it is shared."""
        cdef Py_ssize_t j
        if shared:
            self.pool.run(work, &self.columns, self.n_columns)
            return
        for j in range(self.n_columns):
            work(&self.columns, j, 0)

    cdef bint is_uninformative(self, Py_ssize_t live_rows) noexcept nogil:
        """Return True if many rows of the root are in bins that may hold its split (noise)."""
        # finer bins of numbers exclude nearly all splits
        cdef Py_ssize_t share = 16 if self.problem.criterion == SQUARED else 4
        return (
            self.sorts_when_needed
            and self.binned.max_codes <= self.max_bins + 1
            and live_rows > self.problem.n_rows * self.n_columns // share
        )

    cdef void find_ends(self, const GrownNode* node, KernelSplit* split) noexcept nogil:
        """The neighbours of a threshold, if they are not known."""
        if split.has_ends:
            return
        if node.home != NULL:
            find_neighbours(node.home, node.start, split)
        else:
            find_bounds(self.binned, node.start, node.stop, split, self.pool)
        split.has_ends = True

    cdef int part_first(self, int32_t index, KernelSplit* split, int64_t* left) except -1 nogil:
        cdef const GrownNode* node = &self.tree.nodes[index]
        cdef const Source* source = &self.sources[split.column]
        cdef const Sorted* home = node.home
        cdef Py_ssize_t i, row, place = 0
        cdef double value
        cdef bint to_left
        for i in range(node.start, node.stop):
            if home == NULL:
                row = self.binned.rows[i]
            else:
                row = id_of(home, row_of(home.columns[0].entries[i], &home.problem.packing))
            value = value_at(source, row)
            if source.kind == NOMINAL:
                to_left = takes(split, source.n_categories if value != value else <Py_ssize_t>value)
            else:
                place += value <= split.low
                split.misses |= value != value
                to_left = split.missing_left if value != value else value <= split.low
            left[self.problem.n_classes] += to_left
            if to_left:
                add_row(row, self.problem.labels[row], &self.problem, left)
        if source.kind != NOMINAL:
            split.place = place
            split.inside = True
            if home == NULL:
                split.bin = bin_of(&self.binned.columns[split.column].coder, split.low)
        return 0

    # -- expansion ---------------------------------------------------------------------------

    cdef int expand(self, int32_t index) except -1 nogil:
        """Partition the rows of a node."""
        cdef bint divided = False
        if self.tree.nodes[index].home == NULL and self.chains is None:
            divided = self.work_ahead(index)
        self.add_children(index)
        self.tree.nodes[index].expanded = True
        set_relaxed(&self.n_leaves, self.n_leaves + 1)
        if self.tree.nodes[index].home != NULL:
            return self.expand_sorted(index)
        if divided:
            return self.expand_divided(index)
        if self.chains is None:
            return self.expand_large(index)
        with gil:
            return self.expand_chain(index)

    cdef bint set_children(self, int32_t index, Py_ssize_t middle, bint* may_split) except -1 nogil:
        """Set the children from the left child's counts; return True if one may be split."""
        cdef GrownNode* node = &self.tree.nodes[index]
        self.tree.nodes[node.left].stop = self.tree.nodes[node.right].start = middle
        self.tree.nodes[node.left].home = self.tree.nodes[node.right].home = node.home
        self.count_right(index)
        may_split[0] = self.settle(node.left)
        may_split[1] = self.settle(node.right)
        self.set_test(node)
        return self.n_leaves != self.max_leaves and (may_split[0] or may_split[1])

    cdef int expand_large(self, int32_t index) except -1 nogil:
        """Count the smaller child and subtract it for the larger one."""
        cdef GrownNode* node = &self.tree.nodes[index]
        cdef int64_t* left = self.tree.counts_of(node.left)
        cdef Division division
        cdef void* whole = node.histogram
        cdef void* small = NULL
        cdef bint[2] keep
        division.left = left
        node.histogram = NULL
        self.part_rows(node, self.tree.counts_of(index), &division)
        if not self.set_children(index, node.start + division.n_left, keep):
            keep[0] = keep[1] = False
        division.keep_left = keep[0]
        division.keep_right = keep[1]
        if self.is_counted(node, &division, False) or (
            whole != NULL and self.is_counted(node, &division, True)
        ):
            small = self.take_histogram(False)
            if small != NULL:
                self.count_smaller(node, &division, whole, small)
        self.hand_on(node, &division, whole, small)
        # without order the last one pushed is popped first
        if keep[1]:
            self.wait(node.right)
        if keep[0]:
            self.wait(node.left)
        return 0

    cdef void part_rows(
        self, GrownNode* node, const int64_t* counts, Division* division
    ) noexcept nogil:
        """Partition the rows of a node, and count the classes of its left child."""
        cdef const uint32_t* rows = self.binned.rows + node.start
        cdef int64_t* left = division.left
        cdef Py_ssize_t n = node.stop - node.start, n_left, k
        if self.sources[node.split.column].kind != NOMINAL:
            self.find_ends(node, &node.split)
        n_left = part_binned(self.binned, node.start, node.stop, &node.split, self.pool)
        memset(left, 0, self.tree.n_classes * sizeof(int64_t))
        if 2 * n_left <= n:
            self.count_labels(rows, n_left, left)
        else:
            self.count_labels(rows + n_left, n - n_left, left)
            for k in range(self.tree.n_classes):
                left[k] = counts[k] - left[k]
        division.n_left = n_left

    cdef bint is_counted(
        self, const GrownNode* node, const Division* division, bint larger
    ) noexcept nogil:
        """Return True if the larger or smaller child is large enough for a histogram."""
        cdef Py_ssize_t n_right = node.stop - node.start - division.n_left
        cdef bint left = (division.n_left <= n_right) != larger
        if not (division.keep_left if left else division.keep_right):
            return False
        return (division.n_left if left else n_right) >= self.crossing

    cdef void count_smaller(
        self, const GrownNode* node, const Division* division, void* whole, void* small
    ) noexcept nogil:
        """Count the smaller child, and make the histogram of the node that of the larger one."""
        cdef Py_ssize_t middle = node.start + division.n_left
        if division.n_left <= node.stop - middle:
            self.count(node.start, middle, small)
        else:
            self.count(middle, node.stop, small)
        if whole != NULL and self.is_counted(node, division, True):
            add_counts(&self.binned.counted, whole, small, True)

    cdef void hand_on(
        self, const GrownNode* node, const Division* division, void* whole, void* small
    ) noexcept nogil:
        """Give the children their histograms, and release unused ones."""
        cdef bint left_is_small = 2 * division.n_left <= node.stop - node.start
        cdef int32_t small_child = node.left if left_is_small else node.right
        cdef int32_t large_child = node.right if left_is_small else node.left
        if small != NULL and whole != NULL and self.is_counted(node, division, True):
            self.tree.nodes[large_child].histogram = whole
        else:
            self.give_histogram(whole)
        if self.is_counted(node, division, False):
            self.tree.nodes[small_child].histogram = small
        else:
            self.give_histogram(small)

    cdef int expand_sorted(self, int32_t index) except -1 nogil:
        """Partition the rows of a sorted node and search its children if more may follow."""
        cdef GrownNode* node = &self.tree.nodes[index]
        cdef int small
        cdef bint[2] wanted
        cdef Part part
        cdef Py_ssize_t middle = node.start + mark(
            node.home, node.start, node.stop, &node.split, self.tree.counts_of(node.left)
        )
        if not self.set_children(index, middle, wanted):
            return 0
        part.start = node.start
        part.stop = node.stop
        part.goes_left = node.home.goes_left
        part.keep_left = wanted[0]
        part.keep_right = wanted[1]
        small = middle - node.start > node.stop - middle
        self.sorted.home = node.home
        self.sorted.part = &part
        self.set_task(
            &self.sorted.tasks[0], node.right if small else node.left, wanted[small]
        )
        self.set_task(
            &self.sorted.tasks[1], node.left if small else node.right, wanted[1 - small]
        )
        search_sorted(&self.sorted, self.pool)
        self.conclude(&self.sorted.tasks[0])
        self.conclude(&self.sorted.tasks[1])
        return 0

    # -- leaves before their turn --------------------------------------------------------------
    # A node of some ten thousand rows keeps few threads busy. So when the turn of one comes each
    # thread searches and divides leaves by itself: those that are next, their children, and so on.
    # Best-first growth expands the leaves for which the least priority on the path to them is
    # greatest, so they are taken in this order, as long as fewer than may still be expanded come
    # before them. Their results wait in `Ahead` until the turn of a leaf: the order of the leaves,
    # and so the tree, stays the same.

    cdef bint work_ahead(self, int32_t index) except -1 nogil:
        """Work on a leaf whose turn has come and on later ones; return False if it stays undone."""
        # then it is better for all threads to work on this leaf together
        cdef Tasks tasks
        if self.is_ready(index):
            return True
        if self.pool.n_threads == 1 or not self.may_work_ahead(index):
            return False
        if self.choose_leaves(index):
            if self.n_hands < self.pool.n_threads:
                with gil:
                    self.hire(self.pool.n_threads)
            tasks.take = &take_leaf
            tasks.perform = &work_on_leaf
            tasks.finish = &finish_leaf
            tasks.context = <void*>self
            self.pool.run_tasks(&tasks)
        if self.failed:
            with gil:
                raise MemoryError
        if self.is_ready(index):
            return True
        self.release(index)
        return False

    cdef bint may_work_ahead(self, int32_t index) noexcept nogil:
        """Return True if a thread may work on a leaf before its turn."""
        cdef const GrownNode* node = &self.tree.nodes[index]
        return (
            index > 0
            and self.binned != NULL
            and node.home == NULL
            and node.stop - node.start >= self.crossing
            and node.n_first == self.n_firsts
        )

    cdef bint is_ready(self, int32_t index) noexcept nogil:
        """Return True if more is known of a leaf than when it was pushed on the frontier."""
        cdef const GrownNode* node = &self.tree.nodes[index]
        cdef const Ahead* ahead = <const Ahead*>node.ahead
        if ahead == NULL:
            return False
        return not ahead.gains or ahead.left != NULL or ahead.node.state > node.state

    cdef bint choose_leaves(self, int32_t index) except -1 nogil:
        """Choose leaves to work on; return False if it is better to work on this one alone."""
        cdef Py_ssize_t n_threads = self.pool.n_threads, rows = self.tree.rows_in(index), i
        cdef int32_t leaf
        self.waiting.n = self.chosen.n = 0
        for i in range(self.tree.n_frontier):
            if self.may_work_ahead(self.tree.frontier[i]):
                rows += self.tree.rows_in(self.tree.frontier[i])
        # a larger leaf takes longer by one thread than others do while it works on it
        self.max_ahead = max(
            (n_threads - 1) * self.thread_values // self.n_columns, rows // (2 * n_threads)
        )
        self.first_key = -INFINITY
        self.n_urgent = 0
        self.max_filler = 2 * self.tree.rows_in(index) + BRANCH_ROWS
        if self.tree.rows_in(index) > self.max_ahead:
            return False
        self.add_ahead(index)
        for i in range(self.tree.n_frontier):
            leaf = self.tree.frontier[i]
            if self.may_work_ahead(leaf) and self.tree.rows_in(leaf) <= self.max_ahead:
                self.add_ahead(leaf)
                continue
            if self.tree.nodes[leaf].state == FOUND:
                self.note_key(self.tree.nodes[leaf].priority)
            if self.tree.rows_in(leaf) > self.max_ahead:
                self.first_key = max(self.first_key, self.tree.nodes[leaf].priority)
        self.ahead_since = now()
        return self.waiting.n > 1 or self.tree.rows_in(index) < BRANCH_ROWS

    cdef int add_ahead(self, int32_t index) except -1 nogil:
        """Let threads work on a leaf, and on those below it that they know already."""
        cdef GrownNode* node = &self.tree.nodes[index]
        cdef Ahead* ahead = <Ahead*>node.ahead
        if ahead == NULL:
            ahead = self.new_ahead()
            if ahead == NULL:
                with gil:
                    raise MemoryError
            ahead.node = node[0]
            ahead.counted = node.histogram != NULL
            memcpy(
                self.counts_ahead(ahead), self.tree.counts_of(index),
                self.tree.n_classes * sizeof(int64_t),
            )
            memcpy(
                self.counts_ahead(ahead) + self.tree.n_classes, self.tree.limits_of(index),
                self.tree.n_limits * sizeof(double),
            )
            node.histogram = NULL
            node.ahead = ahead
        ahead.key = INFINITY if self.tree.in_order else <double>self.tree.rows_in(index)
        self.offer(ahead)
        return 0

    cdef void offer(self, Ahead* ahead) noexcept nogil:
        """Let threads work on a leaf, or on those below it."""
        if not ahead.gains:
            return
        if self.tree.in_order:
            ahead.key = min(ahead.key, ahead.node.priority)
        if ahead.left == NULL:
            if not put_on(&self.waiting, ahead.key, ahead):
                self.failed = True
            return
        self.note_key(ahead.key)
        self.offer_children(ahead)

    cdef void offer_children(self, Ahead* ahead) noexcept nogil:
        """Let threads work on the children of a leaf; without order they wait for their turn."""
        cdef Ahead* child
        cdef int i
        for i in range(2 if self.tree.in_order else 0):
            child = ahead.right if i else ahead.left
            if child.node.state != WAITING:  # else it has no histogram
                child.key = ahead.key
                self.offer(child)

    cdef void note_key(self, double key) noexcept nogil:
        """Note the key of a leaf that is expanded unless enough leaves come before it."""
        if not self.tree.in_order:
            return
        if not put_on(&self.chosen, -key, NULL):
            self.failed = True
        if self.chosen.n > self.max_leaves - self.n_leaves:
            take_from(&self.chosen)

    cdef bint is_needed(self, double key) noexcept nogil:
        """Return True if a leaf with this key may be expanded, as far as is known."""
        if not self.tree.in_order:
            return True
        if key < self.min_priority:
            return False
        return self.chosen.n < self.max_leaves - self.n_leaves or key > -self.chosen.keys[0]

    cdef Ahead* take_leaf(self) noexcept nogil:
        """The next leaf to be searched or divided; NULL if none may be expanded, or for a pause."""
        cdef Ahead* ahead
        if (
            self.waiting.n == 0
            or self.failed
            or not self.is_needed(self.waiting.keys[0])
            or now() - self.ahead_since > SLICE
        ):
            return NULL
        ahead = self.waiting.leaves[0]
        if self.tree.in_order and ahead.key < self.first_key and (
            self.n_urgent == 0 or ahead.node.stop - ahead.node.start > self.max_filler
        ):
            return NULL
        take_from(&self.waiting)
        self.n_urgent += ahead.key >= self.first_key
        ahead.urgent = ahead.key >= self.first_key
        if ahead.node.state == FOUND:
            self.note_key(ahead.key)
        if not self.prepare(ahead):
            self.failed = True
            return NULL
        return ahead

    cdef Py_ssize_t finish_leaf(self, Ahead* ahead) noexcept nogil:
        """Let threads go on with a leaf or its children; return how many leaves that are."""
        cdef Py_ssize_t n_before = self.waiting.n
        self.failed |= ahead.failed
        self.n_urgent -= ahead.urgent
        if ahead.left == NULL:
            self.offer(ahead)
            return self.waiting.n - n_before
        self.give_histogram(ahead.node.histogram)
        self.give_histogram(ahead.small)
        ahead.node.histogram = ahead.small = NULL
        self.offer_children(ahead)
        return self.waiting.n - n_before

    cdef void work_on(self, Ahead* ahead) noexcept nogil:
        """Search or divide a leaf of another grower."""
        if ahead.node.state == FOUND:
            self.divide_for(ahead)
            return
        if not ahead.counted:
            self.count(ahead.node.start, ahead.node.stop, ahead.node.histogram)
            ahead.counted = True
        self.look_at(ahead)

    cdef Ahead* new_ahead(self) noexcept nogil:
        """Memory for the results for a leaf; or NULL."""
        cdef Ahead* ahead = <Ahead*>calloc(
            1,
            sizeof(Ahead) + self.tree.n_classes * sizeof(int64_t)
            + self.tree.n_limits * sizeof(double),
        )
        if ahead != NULL:
            ahead.gains = True
        return ahead

    cdef bint prepare(self, Ahead* ahead) noexcept nogil:
        """Allocate memory for the work of a thread on a leaf; return False if there is none."""
        if ahead.node.state == FOUND:
            ahead.left = self.new_ahead()
            ahead.right = self.new_ahead()
            ahead.small = self.take_histogram(False)
            return ahead.left != NULL and ahead.right != NULL
        if ahead.node.histogram == NULL:
            ahead.node.histogram = self.take_histogram(True)
        return ahead.node.histogram != NULL

    cdef int64_t* counts_ahead(self, const Ahead* ahead) noexcept nogil:
        """The class counts of a leaf; its limits follow."""
        return <int64_t*>(ahead + 1)

    cdef void set_leaf(self, const Ahead* ahead) noexcept nogil:
        """Put a leaf of another grower in the place of the root."""
        cdef GrownNode* node = &self.tree.nodes[0]
        node[0] = ahead.node
        node.histogram = node.ahead = NULL
        memcpy(
            self.tree.counts_of(0), self.counts_ahead(ahead),
            self.tree.n_classes * sizeof(int64_t),
        )
        memcpy(
            self.tree.limits_of(0), self.counts_ahead(ahead) + self.tree.n_classes,
            self.tree.n_limits * sizeof(double),
        )

    cdef void look_at(self, Ahead* ahead) noexcept nogil:
        """Find a bound on the gain of a leaf that has a histogram; of one with a bound, its split."""
        cdef GrownNode* node = &ahead.node
        cdef Task* task = &self.sorted.tasks[0]
        cdef ColumnBounds bounds
        self.set_leaf(ahead)
        self.set_task(task, 0, True)
        bounds = self.bound_columns(task, node)
        if max(bounds.best, bounds.bound) <= task.least:
            ahead.gains = False
        elif self.tree.in_order and node.state == WAITING and bounds.live_rows:
            node.state = BOUNDED
            node.priority = self.priority_with(node, max(bounds.best, bounds.bound))
        else:
            search_all(&self.columns, self.n_columns)
            ahead.gains = self.choose(node, task)
        ahead.failed = self.columns.finders[0].failed

    cdef void divide_for(self, Ahead* ahead) noexcept nogil:
        """Divide the rows of a leaf, and find bounds for its children."""
        cdef GrownNode* node = &ahead.node
        cdef Ahead* child
        cdef int64_t* counts = self.counts_ahead(ahead)
        cdef int64_t* left = self.counts_ahead(ahead.left)
        cdef int64_t* right = self.counts_ahead(ahead.right)
        cdef Division division
        cdef Py_ssize_t middle, k
        cdef bint larger
        cdef int side
        division.left = left
        self.part_rows(node, counts, &division)
        middle = node.start + division.n_left
        for k in range(self.tree.n_classes):
            right[k] = counts[k] - left[k]
        division.keep_left = self.start_child(node, ahead.left, node.start, middle)
        division.keep_right = self.start_child(node, ahead.right, middle, node.stop)
        if ahead.small == NULL or not (
            self.is_counted(node, &division, False)
            or (node.histogram != NULL and self.is_counted(node, &division, True))
        ):
            return
        self.count_smaller(node, &division, node.histogram, ahead.small)
        for side in range(2):
            child = ahead.right if side else ahead.left
            larger = (2 * division.n_left <= node.stop - node.start) == (side == 1)
            if not self.is_counted(node, &division, larger):
                continue
            if larger:
                child.node.histogram, node.histogram = node.histogram, NULL
            else:
                child.node.histogram, ahead.small = ahead.small, NULL
            if child.node.histogram != NULL and self.problem.rules == NULL:
                self.look_at(child)
                ahead.failed |= child.failed

    cdef bint start_child(
        self, const GrownNode* node, Ahead* child, Py_ssize_t start, Py_ssize_t stop
    ) noexcept nogil:
        """Set the rows, the weight and the purity of a child; return True if it may be split."""
        child.node.start = start
        child.node.stop = stop
        child.node.depth = node.depth + 1
        child.node.split.column = -1
        child.counted = True
        self.set_leaf(child)
        child.gains = self.settle(0)
        child.node.weight = self.tree.nodes[0].weight
        child.node.purity = self.tree.nodes[0].purity
        return child.gains

    cdef int take_over(self, int32_t index) except -1 nogil:
        """Push a leaf with the results of threads, unless no split gains."""
        cdef GrownNode* node = &self.tree.nodes[index]
        cdef Ahead* ahead = <Ahead*>node.ahead
        if not ahead.gains:
            node.ahead = NULL
            self.free_ahead(ahead)
        elif ahead.node.state == WAITING:
            self.release(index)
            self.wait(index)
        else:
            node.split = ahead.node.split
            node.priority = ahead.node.priority
            node.state = ahead.node.state
            self.tree.push(index)
        return 0

    cdef int expand_divided(self, int32_t index) except -1 nogil:
        """Make an inner node of a leaf that was divided before its turn."""
        cdef GrownNode* node = &self.tree.nodes[index]
        cdef Ahead* ahead = <Ahead*>node.ahead
        cdef bint[2] keep
        cdef int32_t child
        cdef int i
        node.split = ahead.node.split
        memcpy(
            self.tree.counts_of(node.left), self.counts_ahead(ahead.left),
            self.tree.n_classes * sizeof(int64_t),
        )
        if not self.set_children(index, ahead.left.node.stop, keep):
            keep[0] = keep[1] = False
        self.tree.nodes[node.left].ahead = ahead.left
        self.tree.nodes[node.right].ahead = ahead.right
        ahead.left = ahead.right = NULL
        node.ahead = NULL
        self.free_ahead(ahead)
        # without order the last one pushed is popped first
        for i in range(1, -1, -1):
            child = node.right if i else node.left
            if keep[i]:
                self.take_over(child)
            else:
                self.free_ahead(<Ahead*>self.tree.nodes[child].ahead)
                self.tree.nodes[child].ahead = NULL
        return 0

    cdef void release(self, int32_t index) noexcept nogil:
        """Take over the split of a leaf if a thread has searched it, and free its other results."""
        cdef GrownNode* node = &self.tree.nodes[index]
        cdef Ahead* ahead = <Ahead*>node.ahead
        if ahead == NULL:
            return
        if ahead.gains and ahead.node.state > node.state:
            node.split = ahead.node.split
            node.priority = ahead.node.priority
            node.state = ahead.node.state
        node.histogram = ahead.node.histogram
        ahead.node.histogram = NULL
        node.ahead = NULL
        self.free_ahead(ahead)

    cdef void free_ahead(self, Ahead* ahead) noexcept nogil:
        """Free the results for a leaf and for those below it."""
        if ahead == NULL:
            return
        self.free_ahead(ahead.left)
        self.free_ahead(ahead.right)
        self.give_histogram(ahead.node.histogram)
        self.give_histogram(ahead.small)
        free(ahead)

    # -- subtrees ----------------------------------------------------------------------------

    cdef bint hands_over(self) noexcept nogil:
        """Return True if subtrees are grown by threads; until then the largest leaf is expanded."""
        cdef Py_ssize_t n = self.tree.n_frontier, rows = 0, i, largest = 0
        if self.pool.n_threads == 1 or self.tree.in_order or self.chains is not None:
            return False
        for i in range(n):
            rows += self.tree.rows_in(self.tree.frontier[i])
            if self.tree.rows_in(self.tree.frontier[i]) > (
                self.tree.rows_in(self.tree.frontier[largest])
            ):
                largest = i
        if rows * self.n_columns < self.thread_values:
            return False
        if n >= BRANCHES * self.pool.n_threads or (
            n > 1 and self.tree.rows_in(self.tree.frontier[largest]) < BRANCH_ROWS
        ):
            return True
        self.tree.swap(largest, n - 1)
        return False

    cdef int grow_branches(self) except -1:
        """Grow subtrees below the leaves on the frontier, in threads."""
        cdef Py_ssize_t n = self.tree.n_frontier, i
        cdef int32_t index
        leaves = np.array([self.tree.frontier[i] for i in range(n)], dtype=np.int32)
        rows = np.array([self.tree.rows_in(index) for index in leaves])
        self.branches = leaves[np.argsort(-rows, kind="stable")]
        self.hand_of = np.full(n, -1, dtype=np.int32)
        self.root_of = np.zeros(n, dtype=np.int32)
        for i in range(n):
            self.release(leaves[i])
        self.free_spare()
        self.hire(min(n, self.pool.n_threads))
        (<Grower>self.hands[0]).progress = self.report_all
        with nogil:
            self.pool.run_long(<Work>&grow_branches_by, <void*>self, self.n_hands)
        if self.failure is not None:
            raise self.failure
        self.add_nodes()
        for i in range(n):
            index = <int32_t>(<Grower>self.hand_at[self.hand_of[i]]).offset + self.root_of[i]
            self.put_branch(self.branches[i], index)
        self.tree.n_frontier = 0
        return 0

    cdef int hire(self, Py_ssize_t n) except -1:
        """Make growers for so many threads."""
        self.hands = self.hands or []
        while self.n_hands < n:
            self.hands.append(self.hand())
            self.hand_at[self.n_hands] = <void*>self.hands[self.n_hands]
            self.n_hands += 1
        return 0

    cdef Grower hand(self):
        """A grower of one thread for subtrees of this one's tree."""
        cdef Grower hand = type(self)(
            self.n_columns, self.problem.n_classes, self.options, Pool(1)
        )
        hand.problem = self.problem
        memcpy(hand.sources, self.sources, self.n_columns * sizeof(Source))
        hand.arrays, hand.part, hand.ids = self.arrays, self.part, self.ids
        hand.numbers, hand.whole_spread = self.numbers, self.whole_spread
        hand.shared, hand.coded, hand.order = self.shared, self.coded, self.order
        hand.whole, hand.min_gain = self.whole, self.min_gain
        hand.tree.tolerance = self.tree.tolerance
        hand.crossing, hand.max_bins = self.crossing, self.max_bins
        hand.tree.add(0, self.problem.n_rows, 0)  # in the place of the root
        if self.binned != NULL:
            hand.view = self.binned[0]
            hand.view.sides = NULL
            hand.view.sides = <uint8_t*>allocate(hand.view.max_codes, 1)
            hand.binned = &hand.view
            hand.columns.finders = <Finder*>zeros(1, sizeof(Finder))
            hand.counters = <void**>zeros(1, sizeof(void*))
            init_finder(&hand.columns.finders[0], hand.binned, &hand.scratch[0])
            hand.max_histograms = 2 + self.max_histograms // self.pool.n_threads
        return hand

    cdef int grow_below(self, Grower boss, Py_ssize_t branch) except -1 nogil:
        """Grow the subtree below a leaf of another grower."""
        cdef int32_t index = boss.branches[branch], root = self.tree.add(0, 0, 0)
        self.tree.nodes[root] = boss.tree.nodes[index]
        self.n_histograms += boss.tree.nodes[index].histogram != NULL
        boss.tree.nodes[index].histogram = NULL
        memcpy(
            self.tree.counts_of(root), boss.tree.counts_of(index),
            self.tree.n_classes * sizeof(int64_t),
        )
        memcpy(
            self.tree.limits_of(root), boss.tree.limits_of(index),
            self.tree.n_limits * sizeof(double),
        )
        boss.root_of[branch] = root
        if self.tree.nodes[root].home != NULL:
            enlarge_scratch(&self.scratch[0], self.tree.rows_in(root))
        self.tree.push(root)
        return self.run()

    cdef int add_nodes(self) except -1:
        """Add the nodes of all hands."""
        cdef Py_ssize_t n = self.tree.n_nodes
        cdef Grower hand
        for hand in self.hands:
            hand.offset = n
            n += hand.tree.n_nodes
            self.n_leaves += hand.n_leaves
        self.tree.enlarge(n)
        self.tree.n_nodes = n
        with nogil:
            self.pool.run(&add_nodes_of, <void*>self, self.n_hands)
        return 0

    cdef void put_branch(self, int32_t index, int32_t root) noexcept:
        """Put a grown subtree in the place of a leaf."""
        leave(self.tree.nodes[index].home)
        self.tree.nodes[index] = self.tree.nodes[root]

    def report_all(self, leaves, rows):
        """Report the progress of all hands."""
        cdef Grower hand
        cdef Py_ssize_t i
        leaves = self.n_leaves + sum([relaxed(&hand.n_leaves) for hand in self.hands])
        for i in range(self.branches.shape[0]):
            if self.hand_of[i] < 0:
                rows += self.tree.rows_in(self.branches[i])
        if self.progress is not None:
            self.progress(leaves, rows)

    # -- nominal columns only ----------------------------------------------------------------
    # Every split takes one category away, so the tree is a chain, often as long as there are
    # categories. Its time is linear: a split moves only the rows of its category.

    cdef bint in_chains(self) noexcept nogil:
        """Return True if all columns are nominal, and many splits make up for the start."""
        cdef Py_ssize_t splits = 0, j
        for j in range(self.n_columns):
            if self.sources[j].kind != NOMINAL:
                return False
            splits += self.sources[j].n_categories
        if self.max_leaves >= 0:
            splits = min(splits, self.max_leaves)
        return self.n_firsts == 0 and (self.n_columns == 1 or splits > CHAIN * self.n_columns)

    cdef int start_chains(self) except -1:
        self.chains = {}
        self.rows = np.arange(len(self.arrays[1]), dtype=np.uint32)
        self.place = np.arange(len(self.rows), dtype=np.int64)
        if self.ids != NULL:
            self.rows = np.array(self.part)
            np.asarray(self.place)[self.rows] = np.arange(len(self.rows))
        self.codes = []
        for j, values in enumerate(self.arrays[0]):
            present = values >= 0
            self.sources[j].may_miss |= not present[self.rows].all()
            codes = np.where(present, values, self.sources[j].n_categories)
            self.codes.append(codes.astype(np.int64))
        return 0

    cdef int search_chain(self, int32_t index) except -1:
        cdef GrownNode* node = &self.tree.nodes[index]
        cdef Task* task = &self.sorted.tasks[0]
        cdef Categories categories
        cdef Py_ssize_t j
        if index not in self.chains and self.n_columns > 1 and self.tree.rows_in(index) < CHAIN:
            return self.sort_and_search(index, &self.rows[node.start])
        if index not in self.chains:
            rows = np.array(self.rows[node.start : node.stop])
            weights = self.class_weights(rows)
            self.chains[index] = rows, [Categories(codes[rows], weights) for codes in self.codes]
        self.set_task(task, index, True)
        for j, categories in enumerate(self.chains[index][1]):
            task.splits[j] = no_split(j)
            if may_split_on(j, &task.view):
                categories.search(&task.view, self.sources[j].n_categories, &task.splits[j])
        if not self.conclude(task):
            del self.chains[index]
        return 0

    cdef object class_weights(self, rows):
        """For some rows the weight of each class, or their other channels, then 1."""
        if self.numbers is not None:
            return self.numbers[rows]
        _, labels, weights = self.arrays
        table = np.zeros((len(rows), self.tree.n_classes + 1), dtype=np.int64)
        table[np.arange(len(rows)), labels[rows]] = 1 if weights is None else weights[rows]
        table[:, self.tree.n_classes] = 1
        return table

    cdef int expand_chain(self, int32_t index) except -1:
        """Move the rows of a category to the front, where they are the left child's."""
        cdef const GrownNode* node = &self.tree.nodes[index]
        cdef int64_t* left = self.tree.counts_of(node.left)
        cdef Py_ssize_t middle = node.start, at, i, k, row
        cdef bint[2] wanted
        cdef Categories categories
        cdef const uint32_t[::1] rows
        cdef list taken = []
        rows, columns = self.chains.pop(index)
        categories = columns[node.split.column]
        at = node.split.bin
        for at in range(categories.starts[at], categories.starts[at + 1]):
            i = categories.by_category[at]
            row = rows[i]
            k = self.place[row]
            if k < node.start:
                continue  # another split has taken it away
            taken.append(i)
            add_row(row, self.problem.labels[row], &self.problem, left)
            self.rows[k], self.rows[middle] = self.rows[middle], self.rows[k]
            self.place[self.rows[k]] = k
            self.place[row] = middle
            middle += 1
        if self.set_children(index, middle, wanted):
            if wanted[1]:
                for categories in columns:
                    categories.take(taken)
                self.chains[node.right] = rows, columns
                self.wait(node.right)
            if wanted[0] and self.n_columns > 1:
                self.wait(node.left)
        return 0


cdef class Categories:
    """The categories of a column in a chain of nodes, by equal class counts."""
    # A score depends on the counts alone: of categories with equal ones the lowest is tried. A
    # group is a heap of them, in which those remain that have left it.

    cdef int64_t[::1] codes       # of the categories
    cdef int64_t[::1] category_of # by row of the chain
    cdef int64_t[::1] by_category # its rows
    cdef int64_t[::1] starts
    cdef int64_t[:, ::1] counts   # of a category: class weights, then rows
    cdef int64_t[:, ::1] weights  # the same of a row
    cdef dict groups
    cdef list group_of

    def __init__(self, codes, weights):
        values, category_of = np.unique(codes, return_inverse=True)
        self.codes, self.category_of = values, category_of
        self.by_category = np.argsort(category_of, kind="stable")
        self.starts = np.append(0, np.cumsum(np.bincount(category_of)))
        self.weights = weights
        counts = np.zeros((len(values), weights.shape[1]), dtype=np.int64)
        np.add.at(counts, category_of, weights)
        self.counts = counts
        self.groups = {}
        self.group_of = [None] * len(values)
        for i in range(len(values)):
            self.put(i)

    cdef int put(self, Py_ssize_t category) except -1:
        """Put a category into the group of its counts."""
        key = (<const char*>&self.counts[category, 0])[: self.counts.shape[1] * sizeof(int64_t)]
        group = self.groups.setdefault(key, [])
        heappush(group, category)
        self.group_of[category] = group
        return 0

    cdef int take(self, list taken) except -1:
        """Take rows of the chain away."""
        cdef Py_ssize_t i, k, category
        for i in taken:
            for k in range(self.counts.shape[1]):
                self.counts[self.category_of[i], k] -= self.weights[i, k]
            self.group_of[self.category_of[i]] = None
        for i in taken:
            category = self.category_of[i]
            if self.group_of[category] is None and self.counts[category, self.counts.shape[1] - 1]:
                self.put(category)
        return 0

    cdef int search(self, const NodeView* node, Py_ssize_t missing, KernelSplit* best) except -1:
        """The best split of a node."""
        cdef Py_ssize_t category
        cdef list group
        for key, group in list(self.groups.items()):
            while group and self.group_of[group[0]] is not group:
                heappop(group)
            if not group:
                del self.groups[key]
                continue
            category = group[0]
            try_category(
                &self.counts[category, 0], self.codes[category], missing, node, best
            )
            if best.place == self.codes[category]:
                best.bin = category
        return 0


# -- subtrees, and blocks of rows ----------------------------------------------------------------


cdef void grow_branches_by(void* context, Py_ssize_t number, int thread) noexcept with gil:
    """Grow subtrees by one hand until none is left."""
    # the interpreter is needed once, not for each subtree: other trees may keep it busy
    cdef Grower boss = <Grower>context
    cdef Grower hand = boss.hands[number]
    cdef Py_ssize_t branch
    try:
        with nogil:
            branch = add_whole(&boss.next_branch, 1)
            while branch < boss.branches.shape[0]:
                boss.hand_of[branch] = <int32_t>number
                hand.grow_below(boss, branch)
                branch = add_whole(&boss.next_branch, 1)
    except BaseException as error:
        add_whole(&boss.next_branch, boss.branches.shape[0])
        if boss.failure is None:
            boss.failure = error
        stop_others()


cdef void add_nodes_of(void* context, Py_ssize_t number, int thread) noexcept nogil:
    """Copy the nodes of a hand to their places in the whole tree."""
    copy_nodes(
        (<Grower>context).tree, (<Grower>(<Grower>context).hand_at[number]).tree,
        (<Grower>(<Grower>context).hand_at[number]).offset,
    )


cdef void copy_nodes(Nodes to, Nodes tree, Py_ssize_t offset) noexcept nogil:
    cdef GrownNode* node
    cdef Py_ssize_t i
    memcpy(to.nodes + offset, tree.nodes, tree.n_nodes * sizeof(GrownNode))
    memcpy(
        to.counts + offset * to.n_classes, tree.counts,
        tree.n_nodes * to.n_classes * sizeof(int64_t),
    )
    for i in range(offset, offset + tree.n_nodes):
        node = &to.nodes[i]
        node.histogram = node.ahead = NULL
        node.left += <int32_t>offset if node.left >= 0 else 0
        node.right += <int32_t>offset if node.right >= 0 else 0


# -- leaves before their turn: a context is a grower, a task a leaf ------------------------------


cdef void* take_leaf(void* context) noexcept nogil:
    return (<Grower>context).take_leaf()


cdef void work_on_leaf(void* context, void* task, int thread) noexcept nogil:
    (<Grower>(<Grower>context).hand_at[thread]).work_on(<Ahead*>task)


cdef Py_ssize_t finish_leaf(void* context, void* task) noexcept nogil:
    return (<Grower>context).finish_leaf(<Ahead*>task)


cdef bint put_on(Heap* heap, double key, Ahead* leaf) noexcept nogil:
    """Add to a heap; return False if there is no memory."""
    cdef Py_ssize_t i = heap.n, capacity = max(2 * heap.capacity, <Py_ssize_t>64)
    cdef void* keys
    cdef void* leaves
    if heap.n == heap.capacity:
        keys = realloc(heap.keys, capacity * sizeof(double))
        heap.keys = <double*>keys if keys != NULL else heap.keys
        leaves = realloc(heap.leaves, capacity * sizeof(Ahead*))
        heap.leaves = <Ahead**>leaves if leaves != NULL else heap.leaves
        if keys == NULL or leaves == NULL:
            return False
        heap.capacity = capacity
    heap.n += 1
    while i > 0 and heap.keys[(i - 1) // 2] < key:
        heap.keys[i] = heap.keys[(i - 1) // 2]
        heap.leaves[i] = heap.leaves[(i - 1) // 2]
        i = (i - 1) // 2
    heap.keys[i] = key
    heap.leaves[i] = leaf
    return True


cdef Ahead* take_from(Heap* heap) noexcept nogil:
    """Take the leaf with the greatest key from a heap that is not empty."""
    cdef Ahead* first = heap.leaves[0]
    cdef Py_ssize_t i = 0, child = 1
    heap.n -= 1
    while child < heap.n:
        if child + 1 < heap.n and heap.keys[child + 1] > heap.keys[child]:
            child += 1
        if heap.keys[child] <= heap.keys[heap.n]:
            break
        heap.keys[i] = heap.keys[child]
        heap.leaves[i] = heap.leaves[child]
        i = child
        child = 2 * i + 1
    heap.keys[i] = heap.keys[heap.n]
    heap.leaves[i] = heap.leaves[heap.n]
    return first


cdef void free_heap(Heap* heap) noexcept nogil:
    free(heap.keys)
    free(heap.leaves)


cdef enum:
    START_ROWS = 65536   # prepared by a thread at a time


cdef struct Starting:
    # The rows of the root and the classes as 16 bits, to be written.
    uint32_t* rows
    const uint32_t* ids         # NULL: all rows
    Py_ssize_t n_rows
    const uint32_t* labels
    uint16_t* short_labels
    Py_ssize_t n_labels


cdef void start_rows(void* context, Py_ssize_t block, int thread) noexcept nogil:
    cdef Starting* starting = <Starting*>context
    cdef Py_ssize_t start = block * START_ROWS, stop = start + START_ROWS, i
    for i in range(start, min(stop, starting.n_rows)):
        starting.rows[i] = <uint32_t>i if starting.ids == NULL else starting.ids[i]
    for i in range(max(start, starting.n_rows), min(stop, starting.n_rows + AHEAD)):
        starting.rows[i] = 0
    for i in range(start, min(stop, starting.n_labels)):
        starting.short_labels[i] = <uint16_t>starting.labels[i]


cdef struct Labelled:
    # Rows whose classes are counted.
    const Problem* problem
    const uint16_t* short_labels    # NULL: those of the problem are read
    const uint32_t* rows
    Py_ssize_t n_rows
    Scratch* scratch                # one per thread


cdef void count_some(
    const Labelled* labelled, Py_ssize_t start, Py_ssize_t n, int64_t* counts
) noexcept nogil:
    cdef const Problem* problem = labelled.problem
    cdef const uint32_t* rows = labelled.rows
    if rows == NULL:  # all rows: those from ``start`` on are the first of an array that begins there
        count_classes(problem.labels + start, problem, NULL, n, counts, start)
    elif labelled.short_labels != NULL:
        count_classes(labelled.short_labels, problem, rows + start, n, counts, 0)
    else:
        count_classes(problem.labels, problem, rows + start, n, counts, 0)


cdef void count_label_block(void* context, Py_ssize_t block, int thread) noexcept nogil:
    cdef const Labelled* labelled = <const Labelled*>context
    cdef Py_ssize_t start = block * LABELS
    count_some(
        labelled, start, min(<Py_ssize_t>LABELS, labelled.n_rows - start),
        labelled.scratch[thread].left,
    )


# -- columns of a large node, one per thread -----------------------------------------------------


cdef void bound_column(void* context, Py_ssize_t j, int thread) noexcept nogil:
    cdef Columns* columns = <Columns*>context
    columns.bounds[j] = bounds_of_column(&columns.finders[thread], j)


cdef void search_column(void* context, Py_ssize_t j, int thread) noexcept nogil:
    cdef Columns* columns = <Columns*>context
    if bound_on(columns, j) > columns.finders[thread].floor:
        columns.splits[j] = best_of_column(&columns.finders[thread], j)


cdef void search_all(Columns* columns, Py_ssize_t n_columns) noexcept nogil:
    """Search the column of the greatest bound first: its best score raises the floor of the rest."""
    cdef Py_ssize_t first = 0, j
    for j in range(1, n_columns):
        if bound_on(columns, j) > bound_on(columns, first):
            first = j
    search_column(columns, first, 0)
    for j in range(n_columns):
        if j != first:
            search_column(columns, j, 0)


cdef void mark_column(void* context, Py_ssize_t place, int thread) noexcept nogil:
    cdef Columns* columns = <Columns*>context
    mark_groups(&columns.finders[place], columns.wave[place])


cdef void search_wave(void* context, Py_ssize_t place, int thread) noexcept nogil:
    """Find the best split of a column of a wave, whose groups have scores unless it has none."""
    cdef Columns* columns = <Columns*>context
    cdef Finder* finder = &columns.finders[place]
    cdef int j = columns.wave[place]
    if finder.ready == j:
        columns.splits[j] = best_of_groups(finder)
    elif bound_on(columns, j) > finder.floor:
        columns.splits[j] = best_of_column(finder, j)


cdef void score_item(void* context, Py_ssize_t item, int thread) noexcept nogil:
    """Score a group of bins; groups are numbered through all columns."""
    cdef Columns* columns = <Columns*>context
    cdef int c = 0
    while item >= columns.finders[c].n_groups:
        item -= columns.finders[c].n_groups
        c += 1
    if not score_group(
        &columns.finders[c], &columns.finders[c].groups[item], &columns.scratch[thread]
    ):
        columns.finders[c].failed = True


cdef double bound_on(const Columns* columns, Py_ssize_t j) noexcept nogil:
    """The greatest score that a split on a column may have."""
    return max(columns.bounds[j].best, columns.bounds[j].bound)


cdef bint is_live_column(const Columns* columns, Py_ssize_t j) noexcept nogil:
    """Return True if a column may hold the best split."""
    return bound_on(columns, j) > columns.finders[0].floor


# -- from Python ---------------------------------------------------------------------------------


def grow_arrays(
    columns, y, weights, n_classes, kinds, n_categories, may_miss, *, options, n_threads=1,
    crossing=None, max_bins=None, whole=0, spans=None, min_priority=-INFINITY, progress=None,
    part=None, shared=None, thread_values=THREAD_VALUES,
):
    """The arrays of the tree that is grown on classes."""
    # columns are one-dimensional arrays of float64, float32, int8, int16 or int32; y is int32 and
    # weights int64 or None; options come from for_kernels. crossing is the least number of rows
    # of a node that is searched by histograms, max_bins the number of bins; a thread is used for
    # every thread_values values. If the rows are those of a node of a larger sample, whole is
    # its weight and spans are the spans of its columns: then the tree is what that sample has below
    # the node. If the number of leaves is limited, none is expanded whose priority is below
    # min_priority. part are the rows to grow on, in ascending order, or None; trees on parts of
    # the same columns take the same shared.
    cdef Grower grower = new_grower(
        columns, y, weights, n_classes, kinds, n_categories, may_miss, options, n_threads, part,
        shared, thread_values,
    )
    set_crossing(grower, crossing, max_bins, n_categories)
    return grown_by(grower, whole, spans, min_priority, progress)


def grow_numbers(
    columns, numbers, kinds, n_categories, may_miss, *, options, square_shift, weight_error=0.0,
    row_error=0.0, n_threads=1, crossing=None, max_bins=None, whole=0, whole_spread=0.0, spans=None,
    min_priority=-INFINITY, progress=None, part=None, shared=None, thread_values=THREAD_VALUES,
):
    """The same for a target of numbers; the counts of a node are its channels."""
    # numbers is int64, C-ordered, and has a row of weight, sum, squares and 1 for each row, see
    # ``_layout.pxd``; square_shift gives the unit of squares, weight_error and row_error what rounding
    # does. whole_spread is, with whole, that of a larger sample. The others are as above.
    cdef const int64_t[:, ::1] channels = numbers
    cdef Grower grower = new_grower(
        columns, np.zeros(len(numbers), dtype=np.int32), None, N_CHANNELS, kinds, n_categories,
        may_miss, options, n_threads, part, shared, thread_values,
    )
    if grower.problem.criterion != SQUARED:
        raise ValueError("numbers need the criterion of squared errors")
    grower.numbers = numbers
    grower.problem.numbers = &channels[0, 0]
    grower.problem.square_shift = square_shift
    grower.problem.weight_error = weight_error
    grower.problem.row_error = row_error
    grower.whole_spread = whole_spread
    set_crossing(grower, crossing, max_bins, n_categories)
    return grown_by(grower, whole, spans, min_priority, progress)


cdef Grower new_grower(
    columns, y, weights, n_classes, kinds, n_categories, may_miss, options, n_threads, part, shared,
    thread_values,
):
    """A grower for some columns and labels."""
    cdef Py_ssize_t n = len(y if part is None else part)
    cdef Grower grower
    # fewer values are grown in less time than it takes to share them
    n_threads = max(1, min(n_threads, MAX_THREADS, n * len(columns) // thread_values))
    grower = Grower(len(columns), n_classes, options, Pool(n_threads))
    grower.set_sample(columns, y, weights, kinds, n_categories, may_miss, part, shared)
    grower.thread_values = thread_values
    return grower


cdef object grown_by(Grower grower, whole, spans, double min_priority, progress):
    """The arrays of the tree of a grower; the other arguments are those of `grow_arrays`."""
    grower.whole = whole
    grower.spans = spans
    grower.progress = progress
    grower.min_priority = min_priority
    with nogil:
        grower.start()
        grower.run()
    if grower.tree.n_frontier and grower.hands_over():
        grower.grow_branches()
    return grower.tree.arrays()


cdef set_crossing(Grower grower, crossing, max_bins, n_categories):
    """Set the number of bins and the crossing, as measured; see ``benchmarks/growth.py``."""
    # A bin costs time at every node but narrows the search: a few hundred rows make up for one.
    # Bins take longer to bound with more classes, and with logarithms than with squares. Every
    # category of a nominal column has a bin, and splits on one leave most rows together.
    cdef Py_ssize_t n_classes = grower.problem.n_classes, n_rows = grower.problem.n_rows
    cdef Py_ssize_t rows_a_bin = 240, bins = 31, categories = 0, j
    if grower.problem.criterion == ENTROPY:
        rows_a_bin = 400 * n_classes
    if grower.problem.criterion == SQUARED:
        n_classes = 2
        # the bound of a bin of m rows out of n grows with m / sqrt(n)
        rows_a_bin = <Py_ssize_t>sqrt(<double>(ROWS_A_SQUARE * n_rows))
    while bins < (255 if n_classes == 2 else 127) and bins * rows_a_bin < n_rows:
        bins = 2 * bins + 1
    grower.max_bins = max_bins or bins
    grower.crossing = bins // 2 + 1 if n_classes == 2 else 32 * n_classes
    if grower.problem.criterion == SQUARED:
        grower.crossing = NUMBER_CROSSING
    for j in range(grower.n_columns):
        if grower.sources[j].kind == NOMINAL:
            categories += grower.sources[j].n_categories
    grower.root_crossing = max(4096 * (n_classes - 1), 50 * categories)
    grower.sorts_when_needed = crossing is None
    if crossing is not None:
        grower.crossing = grower.root_crossing = crossing
    if max(n_categories, default=0) > MAX_CATEGORIES or n_classes > 65535 or n_rows >= 2**32:
        grower.root_crossing = 2**62
