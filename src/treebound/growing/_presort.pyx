"""Sort a column once: rank, row and label of every value, packed in 64 bits.

The bits of a float, as an integer in the same order, are cut to 33 bits. They occupy the place of
the rank, above row and label, while three radix passes of 11 bits sort them (few rows: three of 8,
for 24 bits). Values that agree in these bits are then sorted by all their bits. O(n) time, unless
very many different values agree in these bits; then O(n log n).
"""

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy, memset

from treebound.growing._layout cimport Packing, row_of

cdef enum:
    DIGIT_BITS = 11
    BUCKETS = 2048
    PASSES = 3
    FEW_ROWS = 3072       # fewer rows have
    SHORT_DIGIT_BITS = 8  # shorter digits
    SHORT_RUN = 16
    FEW_KEYS = 96  # fewer keys use insertion sort: clearing the buckets would take longer


cdef struct KeyRange:
    uint64_t low        # the least key
    int shift           # low bits to drop
    int digit_bits
    bint cut            # whether two different keys may agree after that
    Py_ssize_t present  # keys that are not missing


cdef void ordered_keys(
    const char* first, Py_ssize_t stride, Py_ssize_t n, uint64_t* keys
) noexcept nogil:
    """The keys of floats at a distance of ``stride`` bytes."""
    cdef Py_ssize_t i
    for i in range(n):
        keys[i] = key_of((<const double*>(first + i * stride))[0])


cdef Presorted presort(
    const uint64_t* keys, Py_ssize_t n_rows, const uint32_t* labels, const Packing* packing,
    uint64_t* buffer, uint64_t* other,
) noexcept nogil:
    """Entries sorted by key, missing last, in one of the two buffers.

    The rank of a value is the number of distinct values below it; missing has the rank after them.
    """
    cdef uint32_t starts[PASSES * BUCKETS]
    cdef KeyRange span
    cdef Presorted result
    cdef uint64_t rank
    cdef Py_ssize_t i
    if n_rows < FEW_KEYS:
        return insert_keys(keys, n_rows, labels, packing, buffer, other)
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


cdef Presorted insert_keys(
    const uint64_t* keys, Py_ssize_t n_rows, const uint32_t* labels, const Packing* packing,
    uint64_t* buffer, uint64_t* other,
) noexcept nogil:
    """Insertion sort of few keys, which are in ``other``, together with the entries."""
    cdef Presorted result
    cdef Py_ssize_t i, j
    cdef uint64_t key, rank = 0
    result.entries = buffer
    result.n_present = 0
    for i in range(n_rows):
        key = keys[i]
        result.n_present += key != MISSING_KEY
        j = i
        # invariant: other[:i] is sorted, equal keys by row
        while j > 0 and other[j - 1] > key:
            other[j] = other[j - 1]
            buffer[j] = buffer[j - 1]
            j -= 1
        other[j] = key
        buffer[j] = <uint64_t>i << packing.row_shift | labels[i]
    for i in range(n_rows):
        rank += i > 0 and other[i] != other[i - 1]
        buffer[i] |= rank << packing.rank_shift
    result.n_values = <Py_ssize_t>rank + 1 - (result.n_present < n_rows)
    if n_rows == 0:
        result.n_values = 0
    return result


cdef KeyRange key_range(
    const uint64_t* keys, Py_ssize_t n_rows, const Packing* packing
) noexcept nogil:
    cdef KeyRange span
    cdef uint64_t high = 0, different = 0, any_key = MISSING_KEY, key
    cdef int room
    cdef Py_ssize_t i
    span.digit_bits = SHORT_DIGIT_BITS if n_rows < FEW_ROWS else DIGIT_BITS
    room = min(PASSES * span.digit_bits, 64 - packing.rank_shift)
    span.low = MISSING_KEY
    span.present = 0
    span.shift = 0
    span.cut = False
    for i in range(n_rows):
        if keys[i] != MISSING_KEY:
            any_key = keys[i]
            break
    for i in range(n_rows):
        key = keys[i]
        if key != MISSING_KEY:
            span.low = min(span.low, key)
            high = max(high, key)
            different |= key ^ any_key
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
    """Write cut key, row and label of the present rows, then row and label of the missing ones.

    ``starts`` counts the digits of the cut keys, one table after the other.
    """
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
    """Stable sort by the digits above ``shift``; return whether the result is in ``other``.

    A digit that all entries share costs nothing.
    """
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
    """Move entries to the place of their digit.

    From both ends at once, for independent memory accesses.
    """
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
    """Whether ``a`` comes after ``b``: by key, then by row."""
    cdef uint64_t key_a = keys[row_of(a, packing)], key_b = keys[row_of(b, packing)]
    return key_a > key_b or (key_a == key_b and a > b)


cdef void sort_run(
    uint64_t* run, Py_ssize_t n, const uint64_t* keys, const Packing* packing
) noexcept nogil:
    """Insertion sort of a short run; heap sort of a long one."""
    cdef Py_ssize_t i, j
    cdef uint64_t entry
    if n > SHORT_RUN:
        for i in range(n // 2 - 1, -1, -1):
            sift_down(run, i, n, keys, packing)
        for i in range(n - 1, 0, -1):
            run[0], run[i] = run[i], run[0]
            sift_down(run, 0, i, keys, packing)
        return
    for i in range(1, n):
        entry = run[i]
        j = i
        while j > 0 and after(run[j - 1], entry, keys, packing):
            run[j] = run[j - 1]
            j -= 1
        run[j] = entry


cdef void sift_down(
    uint64_t* run, Py_ssize_t root, Py_ssize_t n, const uint64_t* keys, const Packing* packing
) noexcept nogil:
    cdef Py_ssize_t child = 2 * root + 1
    while child < n:
        if child + 1 < n and after(run[child + 1], run[child], keys, packing):
            child += 1
        if not after(run[child], run[root], keys, packing):
            return
        run[root], run[child] = run[child], run[root]
        root = child
        child = 2 * root + 1


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
