"""The sample while a tree grows on it: its columns sorted or coded once, its rows node by node.

Memory beside the matrix, per row: 8 bytes for each sorted column, 4 for each coded one, 5 for the
rows and the mask, and 8 for each thread (16 while the columns are sorted). That is about as much as
the float64 matrix itself.
"""

from cython.parallel cimport prange, threadid
from libc.math cimport INFINITY, ceil, floor, log2
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free

from treebound.growing._layout cimport (
    CODED, ENTROPY, NOMINAL, ORDINAL, REAL, SORTED, Column, Packing, Scratch, Split, allocate,
    label_of, rank_of, row_of, weight_of, xlogx, zeros,
)
from treebound.growing._partition cimport Part, partition_entries, partition_rows
from treebound.growing._presort cimport Presorted, ordered_keys, presort
from treebound.growing._thresholds cimport Rule, pick

cdef enum:
    FEW_VALUES = 256     # a threshold column of no more values is kept as codes,
    ROWS_A_VALUE = 8     # if it has that many rows for each of them
    THREAD_ROWS = 16384  # below, threads that wait for each other lose more than they save
    MOST_LOGARITHMS = 65536  # kept in a table, or four for each row
    TILE = 64            # rows read at a time when columns are taken out of a C-ordered matrix


cdef class Sample:
    """Columns, rows and the memory that threads write in."""

    def __cinit__(self):
        self.columns = NULL
        self.scratch = NULL
        self.rows = NULL
        self.goes_left = NULL
        self.xlogx_table = NULL
        self.n_columns = 0

    def __init__(self, X, y, weights, n_classes, kinds, n_codes, may_miss, n_threads):
        cdef Py_ssize_t j
        self.X = X
        self.y = y
        self.problem.n_rows = X.shape[0]
        self.problem.n_classes = n_classes
        self.problem.labels = &self.y[0]
        self.problem.weights = NULL
        self.problem.max_weight = 1
        if weights is not None:
            self.weights = weights
            self.problem.weights = &self.weights[0]
            self.problem.max_weight = weights.max()
        # no more threads than have work: each needs memory
        self.n_threads = max(1, min(n_threads, X.shape[1])) if len(X) >= THREAD_ROWS else 1
        self.set_packing()
        self.rows = <uint32_t*>allocate(self.problem.n_rows, sizeof(uint32_t))
        self.goes_left = <uint8_t*>allocate(self.problem.n_rows, 1)
        self.scratch = <Scratch*>zeros(self.n_threads, sizeof(Scratch))
        self.columns = <Column*>zeros(X.shape[1], sizeof(Column))
        self.n_columns = X.shape[1]
        for j in range(self.n_columns):
            if (n_codes[j] + 1) * (n_classes + 1) >= 2**32:
                raise ValueError(
                    f"grow counts categories times classes in 32 bits. Got {n_codes[j]} categories "
                    f"of column {j} and {n_classes} classes instead."
                )
            self.columns[j].kind = kinds[j]
            self.columns[j].n_codes = n_codes[j]
            self.columns[j].has_missing = may_miss[j]

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
                free(self.scratch[j].other)
                free(self.scratch[j].left)
                free(self.scratch[j].right)
                free(self.scratch[j].missing)
                free(self.scratch[j].table)
        free(self.columns)
        free(self.scratch)
        free(self.rows)
        free(self.goes_left)
        free(self.xlogx_table)

    cdef int set_packing(self) except -1:
        """Bits for rank, row and label; a rank may be as great as the number of rows."""
        cdef int row_bits = int(self.problem.n_rows).bit_length()
        cdef int label_bits = int(self.problem.n_classes - 1).bit_length()
        if 2 * row_bits + label_bits > 64 or row_bits > 32:
            raise ValueError(
                f"grow takes less than 2^{min(32, (64 - label_bits) // 2)} rows of "
                f"{self.problem.n_classes} classes. Got {self.problem.n_rows} rows instead."
            )
        self.problem.packing.row_shift = label_bits
        self.problem.packing.rank_shift = label_bits + row_bits
        self.problem.packing.label_mask = (<uint64_t>1 << label_bits) - 1
        self.problem.packing.row_mask = (<uint64_t>1 << row_bits) - 1
        return 0

    cdef int threads_for(self, Py_ssize_t rows) noexcept nogil:
        return self.n_threads if rows >= THREAD_ROWS else 1

    # -- once, before growth -----------------------------------------------------------------

    cdef Py_ssize_t prepare(self) except -2 nogil:
        """Sort or code every column; return the first with a code out of range, or -1."""
        cdef Py_ssize_t n = self.problem.n_rows, i, j
        for j in range(self.n_columns):
            self.set_form(j)
            if self.columns[j].kind != REAL and not self.read_codes(j):
                return j
        for j in range(self.n_threads):
            self.scratch[j].entries = <uint64_t*>allocate(n, sizeof(uint64_t))
            self.scratch[j].other = <uint64_t*>allocate(n, sizeof(uint64_t))
        self.load_keys()
        for j in prange(
            self.n_columns, num_threads=self.threads_for(n), schedule="dynamic", chunksize=1
        ):
            if self.columns[j].form == SORTED:
                self.sort_column(j, &self.scratch[threadid()])
        for j in range(self.n_threads):
            free(self.scratch[j].other)
            self.scratch[j].other = NULL
        for j in range(self.n_columns):
            if self.columns[j].kind == REAL and self.columns[j].n_codes <= FEW_VALUES:
                self.code_values(j)
        for i in range(n):
            self.rows[i] = <uint32_t>i
        self.set_criterion()
        self.allocate_tables()
        return -1

    cdef int set_form(self, Py_ssize_t j) except -1 nogil:
        cdef Column* column = &self.columns[j]
        column.form = SORTED
        if column.kind == NOMINAL or (column.kind == ORDINAL and column.n_codes <= FEW_VALUES):
            column.form = CODED
            column.cells = <uint32_t*>allocate(self.problem.n_rows, sizeof(uint32_t))
        else:
            column.entries = <uint64_t*>allocate(self.problem.n_rows, sizeof(uint64_t))
        return 0

    cdef bint read_codes(self, Py_ssize_t j) noexcept nogil:
        """Read the codes of an ordinal or nominal column; whether all are in range."""
        cdef Column* column = &self.columns[j]
        cdef uint32_t stride = <uint32_t>(self.problem.n_classes + 1)
        cdef Py_ssize_t i
        cdef double value, n_codes = <double>column.n_codes, least = n_codes, most = 0.0
        for i in range(self.problem.n_rows):
            value = self.X[i, j]
            if value != value:
                column.has_missing = True
                value = n_codes
            elif not 0.0 <= value < n_codes or value != floor(value):
                return False
            else:
                least = min(least, value)
                most = max(most, value)
            if column.form == CODED:
                column.cells[i] = <uint32_t>value * stride + self.y[i]
        column.span = most - least
        return True

    cdef void load_keys(self) noexcept nogil:
        """Write the sort keys of every sorted column where its entries will stand.

        A tile of rows at a time, so that a C-ordered matrix is read once and not once a column.
        """
        cdef Py_ssize_t n = self.problem.n_rows, start = 0, j
        while start < n:
            for j in range(self.n_columns):
                if self.columns[j].form == SORTED:
                    ordered_keys(
                        <const char*>&self.X[start, j], self.X.strides[0], min(TILE, n - start),
                        self.columns[j].entries + start,
                    )
            start += TILE

    cdef void sort_column(self, Py_ssize_t j, Scratch* scratch) noexcept nogil:
        """Sort the keys that stand in place of the entries, and swap the result in."""
        cdef Column* column = &self.columns[j]
        cdef Presorted result = presort(
            column.entries, self.problem.n_rows, self.problem.labels, &self.problem.packing,
            scratch.entries, scratch.other,
        )
        if result.entries == scratch.entries:
            scratch.entries = column.entries
        else:
            scratch.other = column.entries
        column.entries = result.entries
        column.n_codes = result.n_values
        column.has_missing = result.n_present < self.problem.n_rows
        if result.n_present:
            column.span = (
                self.X[row_of(column.entries[result.n_present - 1], &self.problem.packing), j]
                - self.X[row_of(column.entries[0], &self.problem.packing), j]
            )

    cdef int code_values(self, Py_ssize_t j) except -1 nogil:
        """A real column of few values: a code per row in place of the sorted entries."""
        cdef Column* column = &self.columns[j]
        cdef uint32_t stride = <uint32_t>(self.problem.n_classes + 1)
        cdef Py_ssize_t i, row, code
        if ROWS_A_VALUE * column.n_codes > self.problem.n_rows:
            return 0
        column.form = CODED
        column.cells = <uint32_t*>allocate(self.problem.n_rows, sizeof(uint32_t))
        column.values = <double*>allocate(column.n_codes + 1, sizeof(double))
        for i in range(self.problem.n_rows):
            row = row_of(column.entries[i], &self.problem.packing)
            code = rank_of(column.entries[i], &self.problem.packing)
            column.cells[row] = <uint32_t>code * stride + self.y[row]
            column.values[code] = self.X[row, j]
        free(column.entries)
        column.entries = NULL
        return 0

    cdef int set_criterion(self) except -1 nogil:
        """Whether sums of squares need 128 bits, and the table of c log c."""
        cdef int64_t total = 0, count
        cdef Py_ssize_t i
        cdef double largest
        for i in range(self.problem.n_rows):
            total += weight_of(i, &self.problem)
        self.problem.wide = total >= <int64_t>1 << 31
        self.problem.xlogx = NULL
        self.problem.xlogx_unit = 1.0
        if self.problem.criterion != ENTROPY:
            return 0
        # a sum of c log c is at most total log2 total: leave it 60 bits
        largest = <double>total * max(1.0, log2(<double>total))
        self.problem.xlogx_unit = 2.0 ** (60.0 - ceil(log2(largest)))
        if total > max(MOST_LOGARITHMS, 4 * <int64_t>self.problem.n_rows):
            return 0
        self.xlogx_table = <int64_t*>allocate(total + 1, sizeof(int64_t))
        for count in range(total + 1):
            self.xlogx_table[count] = xlogx(count, &self.problem)
        self.problem.xlogx = self.xlogx_table
        return 0

    cdef int allocate_tables(self) except -1 nogil:
        """Where each column's table stands, and what threads count in."""
        cdef Py_ssize_t n_classes = self.problem.n_classes, size, largest = 0, j
        for j in range(self.n_columns):
            if self.columns[j].form == CODED:
                size = (self.columns[j].n_codes + self.columns[j].has_missing) * (n_classes + 1)
                self.columns[j].offset = self.table_size
                self.table_size += size
                largest = max(largest, size)
        for j in range(self.n_threads):
            self.scratch[j].left = <int64_t*>allocate(n_classes, sizeof(int64_t))
            self.scratch[j].right = <int64_t*>allocate(n_classes, sizeof(int64_t))
            self.scratch[j].missing = <int64_t*>allocate(n_classes, sizeof(int64_t))
            self.scratch[j].table = <int64_t*>zeros(largest, sizeof(int64_t))
        return 0

    # -- at every split ------------------------------------------------------------------------

    cdef bint ends_of(
        self, Py_ssize_t start, Py_ssize_t stop, const Split* split, double* low, double* high
    ) noexcept nogil:
        """The neighbours of a threshold split; False where only missing rows go right."""
        cdef const Column* column = &self.columns[split.column]
        cdef const uint64_t* entries = column.entries + start
        if column.form == SORTED:
            if rank_of(entries[split.place], &self.problem.packing) == column.n_codes:
                return False
            low[0] = self.X[row_of(entries[split.place - 1], &self.problem.packing), split.column]
            high[0] = self.X[row_of(entries[split.place], &self.problem.packing), split.column]
        elif split.follow < 0:
            return False
        elif column.kind == REAL:
            low[0] = column.values[split.place]
            high[0] = column.values[split.follow]
        else:
            low[0] = <double>split.place
            high[0] = <double>split.follow
        return True

    cdef double threshold_of(
        self, Py_ssize_t start, Py_ssize_t stop, const Split* split, Rule rule
    ) except? -1.0 nogil:
        """Between the neighbours of a split; +inf where only missing rows go right."""
        cdef double low = 0.0, high = 0.0
        if not self.ends_of(start, stop, split, &low, &high):
            return INFINITY
        if self.columns[split.column].kind == REAL:
            return pick(low, high, rule)
        return floor(0.5 * low + 0.5 * high)

    cdef Py_ssize_t name_of(
        self, Py_ssize_t start, Py_ssize_t stop, const Split* split
    ) noexcept nogil:
        """The row on the left that is last by value, then by number; -1 for none.

        Missing rows do not count, but in a nominal column, where all rows on the left are alike.
        """
        cdef const Column* column = &self.columns[split.column]
        cdef Py_ssize_t stride = self.problem.n_classes + 1, i
        if column.form == SORTED:
            return row_of(column.entries[start + split.place - 1], &self.problem.packing)
        for i in range(stop - 1, start - 1, -1):
            if <Py_ssize_t>column.cells[self.rows[i]] // stride == split.place:
                return self.rows[i]
        return -1

    cdef double gap_of(
        self, Py_ssize_t start, Py_ssize_t stop, const Split* split
    ) noexcept nogil:
        """Room between the two sides of a split, as a share of the column's range.

        1 for a category, 0 where only missing rows go right. Of equal splits the one with more
        room is the surer one, and the order of the columns has no say.
        """
        cdef double low = 0.0, high = 0.0
        if self.columns[split.column].kind == NOMINAL:
            return 1.0
        if not self.ends_of(start, stop, split, &low, &high):
            return 0.0
        return (high - low) / self.columns[split.column].span

    cdef bint has_missing_rows(
        self, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t column
    ) noexcept nogil:
        """Whether a row of a node is missing in a column."""
        cdef const Column* data = &self.columns[column]
        cdef uint32_t least = <uint32_t>(data.n_codes * (self.problem.n_classes + 1))
        cdef Py_ssize_t i
        if not data.has_missing:
            return False
        if data.form == SORTED:
            return rank_of(data.entries[stop - 1], &self.problem.packing) == data.n_codes
        for i in range(start, stop):
            if data.cells[self.rows[i]] >= least:
                return True
        return False

    cdef int64_t left_weight(
        self, Py_ssize_t start, Py_ssize_t stop, const Split* split
    ) noexcept nogil:
        """Weight that a split sends left, missing rows apart: how the paper's code settles ties."""
        cdef const Column* column = &self.columns[split.column]
        cdef uint32_t stride = <uint32_t>(self.problem.n_classes + 1), cell
        cdef uint32_t high = <uint32_t>(split.place + 1) * stride
        cdef uint32_t low = high - stride if column.kind == NOMINAL else 0
        cdef Py_ssize_t i
        cdef int64_t weight = 0
        if column.form == SORTED:
            if self.problem.weights == NULL:
                return split.place
            for i in range(start, start + split.place):
                weight += self.problem.weights[row_of(column.entries[i], &self.problem.packing)]
            return weight
        for i in range(start, stop):
            cell = column.cells[self.rows[i]]
            if low <= cell < high:
                weight += weight_of(self.rows[i], &self.problem)
        return weight

    cdef Py_ssize_t mark(
        self, Py_ssize_t start, Py_ssize_t stop, const Split* split, int64_t* left_counts
    ) noexcept nogil:
        """Note for every row of a node whether it goes left; count those that do."""
        if self.columns[split.column].form == SORTED:
            return self.mark_sorted(start, stop, split, left_counts)
        return self.mark_coded(start, stop, split, left_counts)

    cdef Py_ssize_t mark_sorted(
        self, Py_ssize_t start, Py_ssize_t stop, const Split* split, int64_t* left_counts
    ) noexcept nogil:
        """The first rows go left, and the missing ones, which are the last, if so found."""
        cdef const Column* column = &self.columns[split.column]
        cdef const uint64_t* entries = column.entries
        cdef Packing packing = self.problem.packing
        cdef Py_ssize_t middle = start + split.place, missing = stop, i, row
        while split.missing_left and rank_of(entries[missing - 1], &packing) == column.n_codes:
            missing -= 1
        for i in range(start, stop):
            row = row_of(entries[i], &packing)
            self.goes_left[row] = i < middle or i >= missing
            if i < middle or i >= missing:
                left_counts[label_of(entries[i], &packing)] += weight_of(row, &self.problem)
        return split.place + stop - missing

    cdef Py_ssize_t mark_coded(
        self, Py_ssize_t start, Py_ssize_t stop, const Split* split, int64_t* left_counts
    ) noexcept nogil:
        """Cells from ``low`` to before ``high`` go left, and missing ones if so found."""
        cdef const Column* column = &self.columns[split.column]
        cdef uint32_t stride = <uint32_t>(self.problem.n_classes + 1), cell
        cdef uint32_t high = <uint32_t>(split.place + 1) * stride
        cdef uint32_t low = high - stride if column.kind == NOMINAL else 0
        cdef uint32_t width = high - low
        cdef uint32_t missing = <uint32_t>column.n_codes * stride
        cdef uint8_t missing_left = split.missing_left, to_left
        cdef Py_ssize_t i, row, n_left = 0
        for i in range(start, stop):
            row = self.rows[i]
            cell = column.cells[row]
            to_left = (cell - low < width) | (missing_left & (cell >= missing))
            self.goes_left[row] = to_left
            n_left += to_left
            left_counts[self.y[row]] += to_left * weight_of(row, &self.problem)
        return n_left

    cdef void partition_column(
        self, Py_ssize_t j, const Part* part, Scratch* scratch
    ) noexcept nogil:
        """Bring the entries of each child together; codes stay where they are."""
        if self.columns[j].form == SORTED:
            partition_entries(
                self.columns[j].entries, part, &self.problem.packing, scratch.entries
            )

    cdef void partition_rows(self, const Part* part) noexcept nogil:
        """Bring the rows of each child together."""
        partition_rows(self.rows, part, <uint32_t*>self.scratch[0].entries)
