"""Sums over the sizes of the two parts a node makes (convolutions), for many sample sizes at once.

Growth functions leave the range of a double at some hundred leaves, so a number here is a
mantissa and a power of two. A function of the sample size is two arrays indexed by it; entry 0 is
not used. Sums of a row are taken at the row's own largest power of two, which keeps all digits;
whole numbers below 2**53 come out exact.
"""

from libc.math cimport INFINITY, ldexp
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc, qsort

from treebound.bounds._scaled cimport NOTHING, below, shrunk, store

cdef struct Size:
    double weight
    double room


cdef int heavier(const void* one, const void* other) noexcept nogil:
    cdef double x = (<Size*> one).weight
    cdef double y = (<Size*> other).weight
    return (x < y) - (x > y)


cdef double plain_sum(Size* sizes, int first, int count) noexcept nogil:
    cdef double total = 0.0
    cdef int k
    for k in range(first, count):
        total += sizes[k].weight * sizes[k].room
    return total


cdef inline double take(Size* sizes, int k, double* budget) noexcept nogil:
    cdef double taken = sizes[k].room if sizes[k].room < budget[0] else budget[0]
    budget[0] -= taken
    return taken * sizes[k].weight


cdef double fill(Size* sizes, int first, int count, double budget, Size* spare) noexcept nogil:
    """Most that ``budget`` splits weigh, heaviest sizes first.

    Weights mostly rise then fall, or fall then rise, with the size: then the heaviest left is at
    one of two places and no sorting is needed.
    """
    cdef double room = 0.0, total = 0.0
    cdef int k, low, high, turns = 0, last = 0, step, top = first
    if budget == INFINITY:
        return plain_sum(sizes, first, count)
    for k in range(first, count):
        room += sizes[k].room
        if sizes[k].weight > sizes[top].weight:
            top = k
        if k > first:
            step = (sizes[k].weight > sizes[k - 1].weight) - (sizes[k].weight < sizes[k - 1].weight)
            if step and last and step != last:
                turns += 1
            if step:
                last = step
    if room <= budget:
        return plain_sum(sizes, first, count)
    if turns == 0 or (turns == 1 and last < 0):
        low, high = top, top + 1
        while budget > 0:
            if high >= count or (low >= first and sizes[low].weight >= sizes[high].weight):
                total += take(sizes, low, &budget)
                low -= 1
            else:
                total += take(sizes, high, &budget)
                high += 1
        return total
    if turns == 1:
        low, high = first, count - 1
        while budget > 0:
            if sizes[low].weight >= sizes[high].weight:
                total += take(sizes, low, &budget)
                low += 1
            else:
                total += take(sizes, high, &budget)
                high -= 1
        return total
    for k in range(first, count):
        spare[k - first] = sizes[k]
    qsort(spare, count - first, sizeof(Size), &heavier)
    k = 0
    while budget > 0:
        total += take(spare, k, &budget)
        k += 1
    return total


cdef bint plain(
    const double* mantissa, const int64_t* power, int last, double most, double* out,
) noexcept nogil:
    """The first numbers as doubles; whether ``most`` times the product of two is in range."""
    cdef int k, reach = 480 if most < 1e9 else 320
    for k in range(1, last + 1):
        if power[k] > reach or (power[k] < -reach and mantissa[k] != 0.0):
            return False
        out[k] = ldexp(mantissa[k], <int> power[k]) if mantissa[k] != 0.0 else 0.0
    return True


cdef struct Ways:
    # In each way the smaller part has one landscape and the larger part another; their functions
    # as plain doubles, a row for each way.
    double* left_small
    double* left_large
    double* right_small
    double* right_large
    int count
    int stride
    int least_left
    int least_right


cdef void weigh(Size* sizes, const Ways* ways, int m, double n) noexcept nogil:
    """What a split of each size is worth at most over the ways, in plain doubles."""
    cdef int j, k, half = m // 2, low = ways.least_left, high = ways.least_right
    cdef int both = min(max(low, high), half + 1)
    cdef double total
    cdef double *a, *b, *c, *d
    for j in range(ways.count):
        a, b = ways.left_small + j * ways.stride, ways.right_large + j * ways.stride
        c, d = ways.left_large + j * ways.stride, ways.right_small + j * ways.stride
        for k in range(1, both):
            total = 0.0
            if k >= low and m - k >= high:
                total += a[k] * b[m - k] - n
            if m - k >= low and k >= high:
                total += c[m - k] * d[k] - n
            sizes[k].weight = max(sizes[k].weight, total)
        for k in range(both, half + 1):
            total = a[k] * b[m - k] + c[m - k] * d[k] - 2.0 * n
            if total > sizes[k].weight:
                sizes[k].weight = total


cdef int64_t weigh_scaled(
    Size* sizes, const double[:, ::1] left, const int64_t[:, ::1] left_power,
    const double[:, ::1] right, const int64_t[:, ::1] right_power,
    const int[::1] small, const int[::1] large, int low, int high, int m, double n,
) noexcept nogil:
    """The same for numbers of any magnitude, over a power of two that is returned."""
    cdef int j, k, some, rest
    cdef int64_t power = NOTHING
    cdef double total, n_here
    for j in range(small.shape[0]):
        some, rest = small[j], large[j]
        for k in range(1, m // 2 + 1):
            if k >= low and m - k >= high:
                power = max(power, left_power[some, k] + right_power[rest, m - k])
            if m - k >= low and k >= high:
                power = max(power, left_power[rest, m - k] + right_power[some, k])
    n_here = shrunk(n, power)
    for j in range(small.shape[0]):
        some, rest = small[j], large[j]
        for k in range(1, m // 2 + 1):
            total = 0.0
            if k >= low and m - k >= high:
                total = left[some, k] * right[rest, m - k] * below(
                    power - left_power[some, k] - right_power[rest, m - k]) - n_here
            if m - k >= low and k >= high:
                total += left[rest, m - k] * right[some, k] * below(
                    power - left_power[rest, m - k] - right_power[some, k]) - n_here
            sizes[k].weight = max(sizes[k].weight, total)
    return power


def by_size(
    const double[:, ::1] left, const int64_t[:, ::1] left_power,
    const double[:, ::1] right, const int64_t[:, ::1] right_power,
    const int[::1] small, const int[::1] large,
    const double[:, ::1] room, const double[::1] budget,
    double n, int least_left, int least_right,
    double[::1] every, int64_t[::1] every_power,
    double[::1] inner, int64_t[::1] inner_power, int first,
):
    """``sum over splits of (G_l G_r - n)``, both directions, at most ``budget`` splits, heaviest first.

    Row ``r`` of ``room`` and ``budget`` belongs to sample size ``first + r``: how many splits have
    a smaller part of ``k`` examples, and how many there are in all. In way ``j`` to share the
    categories the smaller part has landscape ``small[j]``, a row of ``left`` and ``right``, and the
    other part ``large[j]``; the heaviest way counts. ``every`` takes all sizes, ``inner``, if not
    empty, those that isolate no single example. Parts have at least ``least_left`` and
    ``least_right`` examples.
    """
    cdef int rows = room.shape[0], count = small.shape[0], r, m, j, k, half
    cdef int last = first + rows - 1, stride = last + 1
    cdef int64_t power
    cdef double most = 0.0
    cdef bint in_range = True
    cdef Ways ways
    cdef Size* sizes = <Size*> malloc((last + 2) * sizeof(Size))
    cdef Size* spare = <Size*> malloc((last + 2) * sizeof(Size))
    cdef double* block = <double*> malloc(4 * count * stride * sizeof(double))
    if sizes == NULL or spare == NULL or block == NULL:
        free(sizes)
        free(spare)
        free(block)
        raise MemoryError
    with nogil:
        ways.left_small, ways.left_large = block, block + count * stride
        ways.right_small, ways.right_large = block + 2 * count * stride, block + 3 * count * stride
        ways.count, ways.stride, ways.least_left, ways.least_right = count, stride, least_left, least_right
        for k in range(1, last // 2 + 1):
            most = max(most, room[rows - 1, k])
        for j in range(count):
            k = j * stride
            in_range = (
                in_range
                and plain(&left[small[j], 0], &left_power[small[j], 0], last - 1, most, ways.left_small + k)
                and plain(&left[large[j], 0], &left_power[large[j], 0], last - 1, most, ways.left_large + k)
                and plain(&right[small[j], 0], &right_power[small[j], 0], last - 1, most, ways.right_small + k)
                and plain(&right[large[j], 0], &right_power[large[j], 0], last - 1, most, ways.right_large + k)
            )
        for r in range(rows):
            m = first + r
            half = m // 2
            power = 0
            for k in range(1, half + 1):
                sizes[k].weight = 0.0
                sizes[k].room = room[r, k]
            if in_range:
                weigh(sizes, &ways, m, n)
            elif least_left + least_right <= m:
                power = weigh_scaled(
                    sizes, left, left_power, right, right_power, small, large,
                    least_left, least_right, m, n,
                )
            store(every, every_power, m, fill(sizes, 1, half + 1, budget[r], spare), power)
            if inner.shape[0]:
                store(inner, inner_power, m, fill(sizes, 2, half + 1, budget[r], spare), power)
    free(sizes)
    free(spare)
    free(block)
