"""Rows sorted by every column, for the scans of small nodes.

All rows of a small sample, or those of one node of a large one. Each column is sorted once; an
expansion partitions it, keeping the order. Memory per row: 8 bytes per column, and about 20 more.

An entry of a sorted column has rank, row and label of a value in 64 bits. To sort them, the bits
of a float, as an integer in the same order, are cut to 33 bits. They occupy the place of
the rank, above row and label, while three radix passes of 11 bits sort them (few rows: three of 8,
for 24 bits). Values that agree in these bits are then sorted by all their bits. O(n) time, unless
very many different values agree in these bits.
"""

from libc.stdlib cimport free, malloc
from libc.string cimport memset
from treebound.growing._layout cimport (
    NOMINAL, STRIDE, add_row, allocate, label_of, rank_of, read_values, renew, takes, value_at, zeros,
)
from treebound.growing._scan cimport best_split


cdef enum:
    LOADED_ROWS = 8192    # rows whose keys a thread makes at a time
    TILE = 64             # rows read together, so that a C-ordered matrix is read only once
    THREAD_ROWS = 4096    # with fewer rows, threads cost more than they save
    DIGIT_BITS = 11
    BUCKETS = 2048
    PASSES = 3
    SHORT_ROWS = 48       # so many rows are sorted by insertion
    FEW_ROWS = 3072       # fewer rows have
    SHORT_DIGIT_BITS = 8  # shorter digits


cdef struct KeyRange:
    uint64_t low        # the least key
    int shift           # low bits to drop
    int digit_bits
    bint cut            # whether two different keys may agree after that
    Py_ssize_t present  # keys that are not missing


# -- the sample ----------------------------------------------------------------------------


cdef Sorted* new_sorted(
    const Problem* problem, Source* sources, Py_ssize_t n_columns, const uint32_t* ids,
    Py_ssize_t n_rows, Scratch* scratch, Pool pool,
) except NULL nogil:
    """Sort the rows ``ids``; NULL are all. The rows of the root also set the ranges of columns."""
    # scratch has one for each thread
    cdef Sorting sorting
    cdef int t
    cdef Sorted* data = <Sorted*>zeros(1, sizeof(Sorted))
    cdef bint done = False
    cdef Py_ssize_t j
    data.problem = problem[0]
    data.problem.n_rows = n_rows
    data.sources = sources
    data.n_columns = n_columns
    data.ids = ids
    try:
        set_packing(&data.problem)
        for t in range(pool.n_threads):
            enlarge_scratch(&scratch[t], n_rows)
        data.columns = <KernelColumn*>zeros(n_columns, sizeof(KernelColumn))
        data.goes_left = <uint8_t*>allocate(n_rows, 1)
        data.entries = <uint64_t*>allocate(n_rows * n_columns, sizeof(uint64_t))
        if ids != NULL:
            copy_rows(data, problem)
        for j in range(n_columns):
            data.columns[j].kind = sources[j].kind
            data.columns[j].entries = data.entries + j * n_rows
        sorting.data = data
        sorting.scratch = scratch
        sorting.root = n_rows == problem.n_rows
        sorting.failed = False
        if n_rows >= THREAD_ROWS:
            pool.run(&load_rows, data, (n_rows + LOADED_ROWS - 1) // LOADED_ROWS)
            pool.run(&sort_column, &sorting, n_columns)
        else:
            load_rows(data, 0, 0)
            for j in range(n_columns):
                sort_column(&sorting, j, 0)
        if sorting.failed:
            with gil:
                raise MemoryError
        done = True
    finally:
        if not done:
            free_sorted(data)
    return data


cdef void free_sorted(Sorted* data) noexcept nogil:
    cdef Py_ssize_t j
    if data == NULL:
        return
    for j in range(data.n_columns if data.columns != NULL else 0):
        free(data.columns[j].codes)
    free(data.columns)
    free(data.goes_left)
    free(data.labels)
    free(data.weights)
    free(data.numbers)
    free(data.entries)
    free(data)


cdef int set_packing(Problem* problem) except -1 nogil:
    problem.packing = packing_of(problem.n_rows, problem.n_classes)
    if problem.packing.rank_shift + bits_of(problem.n_rows) > 64 or problem.n_rows >> 32:
        with gil:
            most = min(32, (64 - problem.packing.row_shift) // 2)
            raise ValueError(
                f"Sorting needs fewer than 2^{most} rows of {problem.n_classes} classes. "
                f"Got {problem.n_rows} rows instead."
            )
    return 0


cdef Packing packing_of(Py_ssize_t n_rows, Py_ssize_t n_classes) noexcept nogil:
    """The bits of rank, row and label; a rank may be as large as the number of rows."""
    cdef Packing packing
    packing.row_shift = bits_of(n_classes - 1)
    packing.rank_shift = packing.row_shift + bits_of(n_rows)
    packing.label_mask = (<uint64_t>1 << packing.row_shift) - 1
    packing.row_mask = (<uint64_t>1 << (packing.rank_shift - packing.row_shift)) - 1
    return packing


cdef int bits_of(Py_ssize_t number) noexcept nogil:
    cdef int bits = 0
    while number >> bits:
        bits += 1
    return bits


cdef int copy_rows(Sorted* data, const Problem* problem) except -1 nogil:
    """Copy the labels and weights of the rows."""
    cdef Py_ssize_t i
    data.labels = <uint32_t*>allocate(data.problem.n_rows, sizeof(uint32_t))
    for i in range(data.problem.n_rows):
        data.labels[i] = problem.labels[data.ids[i]]
    data.problem.labels = data.labels
    if problem.weights != NULL:
        data.weights = <int64_t*>allocate(data.problem.n_rows, sizeof(int64_t))
        for i in range(data.problem.n_rows):
            data.weights[i] = problem.weights[data.ids[i]]
        data.problem.weights = data.weights
    if problem.numbers != NULL:
        data.numbers = <int64_t*>allocate(STRIDE * data.problem.n_rows, sizeof(int64_t))
        for i in range(data.problem.n_rows):
            memcpy(
                data.numbers + STRIDE * i, problem.numbers + STRIDE * <size_t>data.ids[i],
                STRIDE * sizeof(int64_t),
            )
        data.problem.numbers = data.numbers
    return 0


cdef struct Sorting:
    Sorted* data
    Scratch* scratch    # one per thread
    bint root           # whether these are the rows of the root
    bint failed         # memory ran out


cdef void load_rows(void* context, Py_ssize_t block, int thread) noexcept nogil:
    """Write the sort keys of some rows in place of the entries of each column."""
    cdef Sorted* data = <Sorted*>context
    cdef Py_ssize_t start = block * LOADED_ROWS, n = data.problem.n_rows, stop, i, j
    cdef const Source* source
    cdef double[TILE] values
    cdef uint64_t* keys
    n = min(n, start + LOADED_ROWS)
    while start < n:
        stop = min(start + TILE, n)
        for j in range(data.n_columns):
            source = &data.sources[j]
            keys = data.columns[j].entries
            if data.ids == NULL:
                read_values(source, start, stop - start, values)
            else:
                for i in range(start, stop):
                    values[i - start] = value_at(source, data.ids[i])
            for i in range(start, stop):
                keys[i] = key_of(values[i - start])
        start = stop


cdef void sort_column(void* context, Py_ssize_t j, int thread) noexcept nogil:
    """Sort the keys of a column in place of its entries."""
    cdef Sorting* sorting = <Sorting*>context
    cdef Sorted* data = sorting.data
    cdef Scratch* scratch = &sorting.scratch[thread]
    cdef bint root = sorting.root
    cdef KernelColumn* column = &data.columns[j]
    cdef Source* source = &data.sources[j]
    cdef Py_ssize_t n = data.problem.n_rows, i
    cdef Packing packing = data.problem.packing
    cdef Presorted result = presort(
        column.entries, n, data.problem.labels, &packing, scratch.entries, scratch.other
    )
    column.n_codes = result.n_values
    column.has_missing = result.n_present < n
    if root:
        source.may_miss |= column.has_missing
        source.span = 0.0
    if root and result.n_present:
        i = id_of(data, row_of(result.entries[result.n_present - 1], &packing))
        source.span = value_at(source, i)
        source.span -= value_at(source, id_of(data, row_of(result.entries[0], &packing)))
    memcpy(column.entries, result.entries, n * sizeof(uint64_t))
    if column.kind != NOMINAL:
        return
    column.codes = <uint32_t*>malloc((result.n_values + 1) * sizeof(uint32_t))
    if column.codes == NULL:
        sorting.failed = True
        return
    column.codes[result.n_values] = <uint32_t>source.n_categories
    for i in range(result.n_present):
        column.codes[rank_of(column.entries[i], &packing)] = <uint32_t>value_at(
            source, id_of(data, row_of(column.entries[i], &packing))
        )


cdef int enlarge_scratch(Scratch* scratch, Py_ssize_t n_rows) except -1 nogil:
    if not has_entries(scratch, n_rows):
        with gil:
            raise MemoryError
    return 0


cdef bint has_entries(Scratch* scratch, Py_ssize_t n_rows) noexcept nogil:
    """Allocate entries if there are fewer; whether there was enough memory."""
    cdef size_t size
    if scratch.n_entries >= n_rows:
        return True
    n_rows = max(n_rows, 2 * scratch.n_entries)
    size = n_rows * sizeof(uint64_t)
    scratch.n_entries = 0
    if not (
        renew(<void**>&scratch.keys, size)
        and renew(<void**>&scratch.entries, size)
        and renew(<void**>&scratch.other, size)
    ):
        return False
    scratch.n_entries = n_rows
    return True


cdef void free_scratch(Scratch* scratch) noexcept nogil:
    free(scratch.keys)
    free(scratch.entries)
    free(scratch.other)
    free(scratch.left)
    free(scratch.right)
    free(scratch.missing)


# -- at every split ------------------------------------------------------------------------


cdef void find_neighbours(const Sorted* data, Py_ssize_t start, KernelSplit* split) noexcept nogil:
    """The neighbours of a threshold, if it has two."""
    cdef const KernelColumn* column = &data.columns[split.column]
    cdef const Source* source = &data.sources[split.column]
    cdef const uint64_t* entries = column.entries + start
    cdef const Packing* packing = &data.problem.packing
    split.bounded = rank_of(entries[split.place], packing) != column.n_codes
    if not split.bounded:
        return
    split.high = value_at(source, id_of(data, row_of(entries[split.place], packing)))
    split.low = value_at(source, id_of(data, row_of(entries[split.place - 1], packing)))


cdef Py_ssize_t mark(
    Sorted* data, Py_ssize_t start, Py_ssize_t stop, const KernelSplit* split, int64_t* left_counts
) noexcept nogil:
    """Mark the rows of a node that go left, and count them."""
    # By a threshold the first rows, and the missing ones, which are last, if it sends them left.
    cdef const KernelColumn* column = &data.columns[split.column]
    cdef const uint64_t* entries = column.entries
    cdef Packing packing = data.problem.packing
    cdef Py_ssize_t middle = start + split.place, missing = stop, n_left = 0, i, row
    cdef bint nominal = column.kind == NOMINAL, to_left
    while not nominal and split.missing_left and (
        rank_of(entries[missing - 1], &packing) == column.n_codes
    ):
        missing -= 1
    for i in range(start, stop):
        row = row_of(entries[i], &packing)
        if nominal:
            to_left = takes(split, column.codes[rank_of(entries[i], &packing)])
        else:
            to_left = i < middle or i >= missing
        data.goes_left[row] = to_left
        n_left += to_left
        if to_left:
            add_row(row, label_of(entries[i], &packing), &data.problem, left_counts)
    return n_left


cdef void partition(
    uint64_t* entries, const Part* part, const Packing* packing, uint64_t* scratch
) noexcept nogil:
    """Stable partition by a byte mask; a child that is not needed is not written."""
    cdef const uint8_t* goes_left = part.goes_left
    cdef Py_ssize_t i, left = part.start, right = 0
    cdef uint64_t entry
    cdef Packing form = packing[0]
    cdef uint8_t to_left
    if not part.keep_left:
        # from the end, so that no entry is overwritten before it is read
        right = part.stop
        for i in range(part.stop - 1, part.start - 1, -1):
            entry = entries[i]
            entries[right - 1] = entry
            right -= 1 - goes_left[row_of(entry, &form)]
        return
    if not part.keep_right:
        for i in range(part.start, part.stop):
            entry = entries[i]
            entries[left] = entry
            left += goes_left[row_of(entry, &form)]
        return
    # invariant: entries[start:left] and scratch[:right] hold entries[start:i], each in their order.
    # Both positions are written and one advances, to avoid a branch.
    for i in range(part.start, part.stop):
        entry = entries[i]
        to_left = goes_left[row_of(entry, &form)]
        entries[left] = entry
        scratch[right] = entry
        left += to_left
        right += 1 - to_left
    memcpy(entries + left, scratch, right * sizeof(uint64_t))


# -- search --------------------------------------------------------------------------------


cdef void search_sorted(Search* search, Pool pool) noexcept nogil:
    """The best split of every column for one or two nodes."""
    # One column per thread; it is partitioned and searched while it is in the cache.
    cdef Py_ssize_t n_rows = 0, j
    cdef int q, t
    for q in range(2):
        if search.tasks[q].wanted:
            n_rows += search.tasks[q].view.stop - search.tasks[q].view.start
        for t in range(pool.n_threads):
            search.scratch[t].floors[q] = search.tasks[q].least
    if n_rows >= THREAD_ROWS:
        pool.run(&search_sorted_column, search, search.home.n_columns)
        return
    for j in range(search.home.n_columns):
        search_sorted_column(search, j, 0)


cdef void search_sorted_column(void* context, Py_ssize_t j, int thread) noexcept nogil:
    cdef Search* search = <Search*>context
    cdef const KernelColumn* column = &search.home.columns[j]
    cdef Scratch* scratch = &search.scratch[thread]
    cdef int q
    if search.part != NULL:
        partition(column.entries, search.part, &search.home.problem.packing, scratch.entries)
    for q in range(2):
        if search.tasks[q].wanted:
            scratch.floor = search.tasks[q].least if search.tasks[q].every else scratch.floors[q]
            search.tasks[q].splits[j] = best_split(column, j, &search.tasks[q].view, scratch)
            scratch.floors[q] = scratch.floor


# -- sorting -------------------------------------------------------------------------------


cdef Presorted presort(
    const uint64_t* keys, Py_ssize_t n_rows, const uint32_t* labels, const Packing* packing,
    uint64_t* buffer, uint64_t* other,
) noexcept nogil:
    """Entries sorted by key, missing last, in one of the two buffers."""
    # The rank of a value is the number of distinct values below it; missing has the rank after
    # them.
    cdef uint32_t starts[PASSES * BUCKETS]
    cdef KeyRange span
    cdef Presorted result
    cdef uint64_t rank
    cdef Py_ssize_t i
    if n_rows <= SHORT_ROWS:
        return sort_few(keys, n_rows, labels, packing, buffer)
    span = key_range(keys, n_rows, packing)
    memset(starts, 0, (<size_t>PASSES << span.digit_bits) * sizeof(uint32_t))
    pack_keys(keys, n_rows, &span, labels, packing, buffer, starts)
    if radix_sort(buffer, other, &span, packing.rank_shift, starts):
        memcpy(
            other + span.present, buffer + span.present, (n_rows - span.present) * sizeof(uint64_t)
        )
        buffer = other
    if span.cut:
        repair_runs(buffer, span.present, keys, packing)
    rank = replace_keys(buffer, span.present, keys, packing, span.cut)
    for i in range(span.present, n_rows):
        buffer[i] |= rank << packing.rank_shift
    result.entries = buffer
    result.n_values = <Py_ssize_t>rank
    result.n_present = span.present
    return result


cdef Presorted sort_few(
    const uint64_t* keys, Py_ssize_t n_rows, const uint32_t* labels, const Packing* packing,
    uint64_t* buffer,
) noexcept nogil:
    """The same of so few rows that the tables of digits would take longer."""
    cdef Presorted result
    cdef uint64_t rank
    cdef Py_ssize_t i, missing
    result.entries = buffer
    result.n_present = 0
    for i in range(n_rows):
        if keys[i] != MISSING_KEY:
            buffer[result.n_present] = <uint64_t>i << packing.row_shift | labels[i]
            result.n_present += 1
    sort_run(buffer, result.n_present, keys, packing)
    rank = replace_keys(buffer, result.n_present, keys, packing, True)
    missing = result.n_present
    for i in range(n_rows if missing < n_rows else 0):
        if keys[i] == MISSING_KEY:
            buffer[missing] = (
                rank << packing.rank_shift | <uint64_t>i << packing.row_shift | labels[i]
            )
            missing += 1
    result.n_values = <Py_ssize_t>rank
    return result


cdef KeyRange key_range(
    const uint64_t* keys, Py_ssize_t n_rows, const Packing* packing
) noexcept nogil:
    cdef KeyRange span
    cdef uint64_t high = 0, different = 0, key
    cdef int room
    cdef Py_ssize_t i
    span.digit_bits = SHORT_DIGIT_BITS if n_rows < FEW_ROWS else DIGIT_BITS
    room = min(PASSES * span.digit_bits, 64 - packing.rank_shift)
    span.low = MISSING_KEY
    span.present = 0
    span.shift = 0
    span.cut = False
    for i in range(n_rows):
        key = keys[i]
        if key != MISSING_KEY:
            span.low = min(span.low, key)
            high = max(high, key)
            different |= key ^ keys[0]
            span.present += 1
    if different == 0:
        return span
    # drop the bits in which no two keys differ: integers and float32 then lose nothing
    while not (different >> span.shift) & 1 and (high - span.low) >> span.shift >> room:
        span.shift += 1
    while (high - span.low) >> span.shift >> room:
        span.shift += 1
        span.cut = True
    return span


cdef void pack_keys(
    const uint64_t* keys, Py_ssize_t n_rows, const KeyRange* span, const uint32_t* labels,
    const Packing* packing, uint64_t* entries, uint32_t* starts,
) noexcept nogil:
    """Write cut key, row and label of the present rows, then row and label of the missing ones."""
    # starts counts the digits of the cut keys, one table after the other.
    cdef Py_ssize_t i, present = 0, missing = span.present
    cdef int row_shift = packing.row_shift, rank_shift = packing.rank_shift, shift = span.shift
    cdef int bits = span.digit_bits
    cdef uint64_t entry, key, low = span.low, mask = (<uint64_t>1 << bits) - 1
    for i in range(n_rows):
        entry = <uint64_t>i << row_shift | labels[i]
        if keys[i] != MISSING_KEY:
            key = (keys[i] - low) >> shift
            starts[key & mask] += 1
            starts[mask + 1 + ((key >> bits) & mask)] += 1
            starts[2 * (mask + 1) + (key >> (2 * bits))] += 1
            entries[present] = entry | key << rank_shift
            present += 1
        else:
            entries[missing] = entry
            missing += 1


cdef bint radix_sort(
    uint64_t* entries, uint64_t* other, const KeyRange* span, int shift, uint32_t* starts
) noexcept nogil:
    """Stable sort by the digits above ``shift``; return whether the result is in ``other``."""
    # A digit that all entries share costs nothing.
    cdef uint64_t* source = entries
    cdef uint64_t* target = other
    cdef Py_ssize_t n = span.present
    cdef uint32_t mask = (<uint32_t>1 << span.digit_bits) - 1
    cdef int p
    for p in range(PASSES if n else 0):
        if starts[(source[0] >> shift) & mask] < <uint32_t>n:
            scatter(source, target, n, shift, mask, starts)
            source, target = target, source
        shift += span.digit_bits
        starts += mask + 1
    return source != entries


cdef inline void scatter(
    const uint64_t* source, uint64_t* target, Py_ssize_t n, int shift, uint32_t mask,
    uint32_t* starts,
) noexcept nogil:
    """Move entries to the place of their digit."""
    # From both ends at once, for independent memory accesses.
    cdef uint32_t stops[BUCKETS]
    cdef uint32_t total = 0, count, digit, last
    cdef Py_ssize_t i
    cdef uint64_t entry, back
    for digit in range(mask + 1):
        count = starts[digit]
        starts[digit] = total
        total += count
        stops[digit] = total
    # invariant: the free places of a digit are [starts, stops)
    for i in range(n // 2):
        entry = source[i]
        back = source[n - 1 - i]
        digit = <uint32_t>(entry >> shift) & mask
        last = <uint32_t>(back >> shift) & mask
        target[starts[digit]] = entry
        starts[digit] += 1
        stops[last] -= 1
        target[stops[last]] = back
    if n % 2:
        entry = source[n // 2]
        target[starts[<uint32_t>(entry >> shift) & mask]] = entry


cdef void repair_runs(
    uint64_t* entries, Py_ssize_t n, const uint64_t* keys, const Packing* packing
) noexcept nogil:
    """Sort each run of entries with equal cut keys by the full keys."""
    cdef Py_ssize_t start = 0, stop
    cdef bint ordered
    while start < n:
        stop = start + 1
        ordered = True
        while stop < n and entries[stop] >> packing.rank_shift == (
            entries[start] >> packing.rank_shift
        ):
            ordered = ordered and not after(entries[stop - 1], entries[stop], keys, packing)
            stop += 1
        if not ordered:
            sort_run(entries + start, stop - start, keys, packing)
        start = stop


cdef inline bint after(
    uint64_t a, uint64_t b, const uint64_t* keys, const Packing* packing
) noexcept nogil:
    """Return True if ``a`` comes after ``b``: by key, then by row."""
    cdef uint64_t key_a = keys[row_of(a, packing)], key_b = keys[row_of(b, packing)]
    return key_a > key_b or (key_a == key_b and a > b)



cdef void sort_run(
    uint64_t* run, Py_ssize_t n, const uint64_t* keys, const Packing* packing
) noexcept nogil:
    """Shell's sort: insertion by gaps that shrink; most runs are so short that there is one gap."""
    cdef Py_ssize_t gap = 1, i, j
    cdef uint64_t entry
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap:
        for i in range(gap, n):
            entry = run[i]
            j = i
            while j >= gap and after(run[j - gap], entry, keys, packing):
                run[j] = run[j - gap]
                j -= gap
            run[j] = entry
        gap //= 3


cdef uint64_t replace_keys(
    uint64_t* entries, Py_ssize_t n, const uint64_t* keys, const Packing* packing, bint cut
) noexcept nogil:
    """Replace the cut keys by ranks; return the number of ranks."""
    cdef uint64_t low_bits = (<uint64_t>1 << packing.rank_shift) - 1
    cdef uint64_t rank = 0, entry, previous
    cdef Py_ssize_t i
    cdef bint differs
    if n == 0:
        return 0
    previous = entries[0]
    entries[0] = previous & low_bits
    for i in range(1, n):
        entry = entries[i]
        differs = (entry ^ previous) > low_bits
        if cut and not differs:
            differs = keys[row_of(entry, packing)] != keys[row_of(previous, packing)]
        rank += differs
        previous = entry
        entries[i] = rank << packing.rank_shift | (entry & low_bits)
    return rank + 1
