"""Sums over the sizes of the two parts a node makes, for many sample sizes in one call.

Growth functions leave the range of a double at some hundred leaves, so a number here is a
mantissa and a power of two. A function of the sample size is two arrays indexed by it; entry 0 is
not used. Sums of a row are taken at the row's own largest power of two, which keeps all digits;
whole numbers below 2**53 come out exact.
"""

from libc.math cimport frexp, ldexp
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc, qsort

cdef enum:
    REACH = 1100

# The power of two of the number zero: below that of any other.
cdef int64_t NOTHING = -(1 << 40)
cdef double POWER[REACH]
cdef int _i
for _i in range(REACH):
    POWER[_i] = ldexp(1.0, -_i)

cdef struct Size:
    double weight
    double room


cdef int heavier(const void* one, const void* other) noexcept nogil:
    cdef double x = (<Size*> one).weight
    cdef double y = (<Size*> other).weight
    return (x < y) - (x > y)


cdef inline double below(int64_t by) noexcept nogil:
    """2**-by for by >= 0."""
    return POWER[by] if by < REACH else 0.0


cdef inline double shrunk(double value, int64_t by) noexcept nogil:
    """value * 2**-by."""
    return value * below(by) if by >= 0 else ldexp(value, <int> -by)


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


cdef void store(double[::1] mantissa, int64_t[::1] exponent, int m, double value, int64_t power) noexcept nogil:
    cdef int more = 0
    mantissa[m] = frexp(value, &more)
    exponent[m] = power + more if value != 0.0 else NOTHING


def by_size(
    const double[::1] left, const int64_t[::1] left_power,
    const double[::1] right, const int64_t[::1] right_power,
    const double[:, ::1] room, const double[::1] budget,
    double n, int least_left, int least_right, bint halved, bint one_sided,
    double[::1] out, int64_t[::1] out_power, int first,
):
    """``n + 2^-halved sum over splits of (G_l G_r - n)``, at most ``budget`` splits, heaviest first.

    Row ``r`` of ``room`` and ``budget`` belongs to sample size ``first + r``: how many splits have
    a smaller part of ``k`` examples, and how many the node makes in all. ``one_sided``: a
    one-sided root test may stand in for the splits that isolate one example.
    """
    cdef int rows = room.shape[0], r, m, k, half
    cdef int64_t power, here
    cdef double n_here, total, other
    cdef Size* sizes = <Size*> malloc((first + rows + 2) * sizeof(Size))
    cdef Size* spare = <Size*> malloc((first + rows + 2) * sizeof(Size))
    if sizes == NULL or spare == NULL:
        free(sizes)
        free(spare)
        raise MemoryError
    with nogil:
        for r in range(rows):
            m = first + r
            half = m // 2
            power = NOTHING
            for k in range(least_left, m - least_right + 1):
                here = left_power[k] + right_power[m - k]
                if here > power:
                    power = here
            if power == NOTHING:
                store(out, out_power, m, n, 0)
                continue
            n_here = shrunk(n, power)
            for k in range(1, half + 1):
                total = 0.0
                if k >= least_left and m - k >= least_right:
                    total = left[k] * right[m - k] * below(power - left_power[k] - right_power[m - k]) - n_here
                if m - k >= least_left and k >= least_right:
                    total += left[m - k] * right[k] * below(power - left_power[m - k] - right_power[k]) - n_here
                sizes[k].weight = total
                sizes[k].room = room[r, k]
            total = fill(sizes, 1, half + 1, budget[r], spare)
            if one_sided:
                other = sizes[1].weight + fill(sizes, 2, half + 1, budget[r], spare)
                if other > total:
                    total = other
            if halved:
                total *= 0.5
            store(out, out_power, m, total + n_here, power)
    free(sizes)
    free(spare)


def by_feature(
    const double[:, ::1] left_small, const int64_t[:, ::1] left_small_power,
    const double[:, ::1] right_large, const int64_t[:, ::1] right_large_power,
    const double[:, ::1] left_large, const int64_t[:, ::1] left_large_power,
    const double[:, ::1] right_small, const int64_t[:, ::1] right_small_power,
    const double[:, ::1] room, const double[::1] budget, double n,
    double[::1] every, int64_t[::1] every_power,
    double[::1] inner, int64_t[::1] inner_power, int first,
):
    """What the splits of one feature weigh, within its budget, the heaviest first.

    Row ``j`` of the inputs is one way the two parts can share the categories; the smaller part goes
    left (``left_small``, ``right_large``) or right. ``every`` takes all sizes, ``inner`` those
    that isolate no single example.
    """
    cdef int rows = room.shape[0], ways = left_small.shape[0], r, m, k, j, half
    cdef int64_t power, here
    cdef double n_here, total
    cdef Size* sizes = <Size*> malloc((first + rows + 2) * sizeof(Size))
    cdef Size* spare = <Size*> malloc((first + rows + 2) * sizeof(Size))
    if sizes == NULL or spare == NULL:
        free(sizes)
        free(spare)
        raise MemoryError
    with nogil:
        for r in range(rows):
            m = first + r
            half = m // 2
            power = NOTHING
            for j in range(ways):
                for k in range(1, half + 1):
                    here = left_small_power[j, k] + right_large_power[j, m - k]
                    if here > power:
                        power = here
                    here = left_large_power[j, m - k] + right_small_power[j, k]
                    if here > power:
                        power = here
            n_here = shrunk(n, power)
            for k in range(1, half + 1):
                sizes[k].weight = 0.0
                sizes[k].room = room[r, k]
            for j in range(ways):
                for k in range(1, half + 1):
                    total = (
                        left_small[j, k] * right_large[j, m - k]
                        * below(power - left_small_power[j, k] - right_large_power[j, m - k])
                        + left_large[j, m - k] * right_small[j, k]
                        * below(power - left_large_power[j, m - k] - right_small_power[j, k])
                        - 2 * n_here
                    )
                    if total > sizes[k].weight:
                        sizes[k].weight = total
            store(every, every_power, m, fill(sizes, 1, half + 1, budget[r], spare), power)
            store(inner, inner_power, m, fill(sizes, 2, half + 1, budget[r], spare), power)
    free(sizes)
    free(spare)


def parts_by_size(
    const double[:, ::1] left, const int64_t[:, ::1] left_power,
    const double[:, ::1] right, const int64_t[:, ::1] right_power,
    const int[::1] a, const int[::1] b, const double[::1] ways,
    const double[:, ::1] room, int least_left, int least_right, bint halved,
    double[::1] out, int64_t[::1] out_power, int first,
):
    """``2^-halved sum_k D_k sum_{a,b} K pi^a_l(k) pi^b_r(m-k)`` for one number of parts.

    Row ``a`` of ``left`` is ``pi^a`` of the left subtree as a function of its sample size.
    """
    cdef int rows = room.shape[0], pairs = a.shape[0], r, m, k, p, small
    cdef int64_t power, here
    cdef double total, inside
    with nogil:
        for r in range(rows):
            m = first + r
            power = NOTHING
            for p in range(pairs):
                for k in range(least_left, m - least_right + 1):
                    here = left_power[a[p], k] + right_power[b[p], m - k]
                    if here > power:
                        power = here
            total = 0.0
            for p in range(pairs):
                inside = 0.0
                for k in range(least_left, m - least_right + 1):
                    small = k if 2 * k <= m else m - k
                    inside += (
                        (2.0 if 2 * k == m else 1.0) * room[r, small]
                        * left[a[p], k] * right[b[p], m - k]
                        * below(power - left_power[a[p], k] - right_power[b[p], m - k])
                    )
                total += ways[p] * inside
            store(out, out_power, m, 0.5 * total if halved else total, power)
