"""Sort a column once: rank, row and label of every value, packed in 64 bits.

A radix sort on 32 bits of the ordered float pattern, three passes of 11 bits, then a repair of the
runs that agree on these 32 bits. Time O(n) for any distribution that 32 bits tell apart.
"""

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy, memset

from treebound.tree._layout cimport Packing

cdef enum:
    DIGIT = 11
    BUCKETS = 2048

cdef uint64_t MISSING_KEY = 0xFFFFFFFFFFFFFFFF
cdef uint64_t SIGN = 0x8000000000000000


cdef inline uint64_t ordered_bits(double value) noexcept nogil:
    """The bits of a float as an integer in the same order; a missing value comes last."""
    cdef uint64_t bits
    if value != value:
        return MISSING_KEY
    value += 0.0  # the two zeros are one value
    memcpy(&bits, &value, 8)
    return ~bits if bits & SIGN else bits | SIGN


cdef inline uint64_t key_at(const char* column, Py_ssize_t stride, Py_ssize_t row) noexcept nogil:
    return ordered_bits((<const double*>(column + row * stride))[0])


cdef void radix_sort(uint64_t* items, uint64_t* scratch, Py_ssize_t n, int passes) noexcept nogil:
    """Sort by the high 32 bits: ``passes`` digits of 11 bits, stable."""
    cdef uint32_t counts[BUCKETS]
    cdef uint64_t* source = items
    cdef uint64_t* target = scratch
    cdef Py_ssize_t i
    cdef uint32_t digit, total, count
    cdef int p, shift
    for p in range(passes):
        shift = 32 + p * DIGIT
        memset(counts, 0, sizeof(counts))
        for i in range(n):
            counts[(source[i] >> shift) & (BUCKETS - 1)] += 1
        total = 0
        for digit in range(BUCKETS):
            count = counts[digit]
            counts[digit] = total
            total += count
        for i in range(n):
            digit = <uint32_t>((source[i] >> shift) & (BUCKETS - 1))
            target[counts[digit]] = source[i]
            counts[digit] += 1
        source, target = target, source
    if source != items:
        memcpy(items, source, n * sizeof(uint64_t))


cdef void repair_run(
    uint64_t* items, Py_ssize_t n, const char* column, Py_ssize_t stride
) noexcept nogil:
    """Order a run that agrees on the sorted bits by its full values (heap sort, in place)."""
    cdef Py_ssize_t i, j
    cdef uint64_t item
    cdef uint64_t key
    if n <= 24:
        for i in range(1, n):
            item = items[i]
            key = key_at(column, stride, <uint32_t>item)
            j = i
            while j > 0 and key_at(column, stride, <uint32_t>items[j - 1]) > key:
                items[j] = items[j - 1]
                j -= 1
            items[j] = item
        return
    for i in range(n // 2 - 1, -1, -1):
        sift_down(items, i, n, column, stride)
    for i in range(n - 1, 0, -1):
        items[0], items[i] = items[i], items[0]
        sift_down(items, 0, i, column, stride)


cdef bint after(uint64_t a, uint64_t b, const char* column, Py_ssize_t stride) noexcept nogil:
    cdef uint64_t key_a = key_at(column, stride, <uint32_t>a)
    cdef uint64_t key_b = key_at(column, stride, <uint32_t>b)
    return key_a > key_b or (key_a == key_b and a > b)


cdef void sift_down(
    uint64_t* items, Py_ssize_t root, Py_ssize_t n, const char* column, Py_ssize_t stride
) noexcept nogil:
    cdef Py_ssize_t child
    while 2 * root + 1 < n:
        child = 2 * root + 1
        if child + 1 < n and after(items[child + 1], items[child], column, stride):
            child += 1
        if not after(items[child], items[root], column, stride):
            return
        items[root], items[child] = items[child], items[root]
        root = child


cdef Py_ssize_t presort(
    const char* column, Py_ssize_t stride, Py_ssize_t n_rows, const uint32_t* labels,
    const Packing* packing, uint64_t* entries, uint64_t* scratch,
) noexcept nogil:
    """Fill ``entries`` in order of value, missing last; the number of distinct values is returned.

    The rank of a value counts the distinct values below it; missing has the rank after the last.
    """
    cdef uint64_t low = MISSING_KEY, high = 0, key, last
    cdef uint64_t word, row
    cdef Py_ssize_t i, j, run, present = 0
    cdef uint64_t rank = 0
    cdef int shift = 0
    cdef Py_ssize_t n_missing
    for i in range(n_rows):
        key = key_at(column, stride, i)
        if key != MISSING_KEY:
            low = min(low, key)
            high = max(high, key)
            present += 1
    n_missing = n_rows - present
    if present == 0:
        low = high = 0
    while (high - low) >> shift >> 32:
        shift += 1
    j = present
    present = 0
    for i in range(n_rows):
        key = key_at(column, stride, i)
        if key != MISSING_KEY:
            entries[present] = ((key - low) >> shift) << 32 | <uint64_t>i
            present += 1
        else:
            entries[j] = <uint64_t>i
            j += 1
    radix_sort(entries, scratch, present, 3)
    if shift:
        i = 0
        while i < present:
            run = i + 1
            while run < present and entries[run] >> 32 == entries[i] >> 32:
                run += 1
            if run - i > 1:
                repair_run(entries + i, run - i, column, stride)
            i = run
    # invariant: entries[:i] are packed, rank is that of entry i - 1 and ``last``, ``word`` its keys
    word = 0
    last = 0
    for i in range(present):
        row = <uint32_t>entries[i]
        if i > 0 and (
            entries[i] >> 32 != word
            or (shift and key_at(column, stride, row) != key_at(column, stride, last))
        ):
            rank += 1
        word = entries[i] >> 32
        last = row
        entries[i] = rank << packing.rank_shift | row << packing.row_shift | labels[row]
    if present:
        rank += 1
    for i in range(present, n_rows):
        row = entries[i]
        entries[i] = rank << packing.rank_shift | row << packing.row_shift | labels[row]
    return rank
