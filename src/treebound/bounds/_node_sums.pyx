"""What a node makes of its children, for many sample sizes at once: sums over part sizes, and chains.

Growth functions leave the range of a double at some hundred leaves, so a number here is a
mantissa and a power of two. A function of the sample size is two arrays indexed by it; entry 0 is
not used. Sums of a row are taken at the row's own largest power of two, which keeps all digits;
whole numbers below 2**53 come out exact.
"""

from libc.math cimport INFINITY, fma, ldexp
from libc.stdint cimport int64_t
from libc.stdlib cimport qsort

import numpy as np

from treebound.bounds._scaled cimport (
    NOTHING, ROUNDING, Number, add, below, plain, scaled, shrunk, store,
)

# -- sums over part sizes (convolutions) -------------------------------------------------------

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


cdef double fill(Size* sizes, int first, int count, double budget, Size* spare) noexcept nogil:
    """Most that ``budget`` splits weigh, heaviest sizes first.

    Weights mostly rise then fall, or fall then rise, with the size: then the heaviest left is at
    one of two places and no sorting is needed.
    """
    cdef double room = 0.0, total = 0.0, taken
    cdef int k, turns = 0, last = 0, step, top = first
    # The two places, and where they go; a peak is left on both sides, a valley entered from both.
    cdef int low = first, high = count - 1, low_step = 1
    if budget == INFINITY:
        return plain_sum(sizes, first, count)
    for k in range(first, count):
        room += sizes[k].room
        if sizes[k].weight > sizes[top].weight:
            top = k
        if k > first:
            step = (sizes[k].weight > sizes[k - 1].weight) - (sizes[k].weight < sizes[k - 1].weight)
            turns += step * last < 0
            last = step if step else last
    if room <= budget:
        return plain_sum(sizes, first, count)
    if turns > 1:
        for k in range(first, count):
            spare[k] = sizes[k]
        qsort(spare + first, count - first, sizeof(Size), &heavier)
        sizes, top, turns = spare, first, 0
    if turns == 0 or last < 0:
        low, high, low_step = top, top + 1, -1
    while budget > 0:
        if high >= count or (low >= first and sizes[low].weight >= sizes[high].weight):
            k = low
            low += low_step
        else:
            k = high
            high -= low_step
        taken = sizes[k].room if sizes[k].room < budget else budget
        budget -= taken
        total += taken * sizes[k].weight
    return total


cdef int64_t weigh(
    Size* sizes, const double[:, ::1] left, const int64_t[:, ::1] left_power,
    const double[:, ::1] right, const int64_t[:, ::1] right_power, const int[:, ::1] ways,
    int low, int high, int m, double n,
) noexcept nogil:
    """What a split of each size is worth at most over the ways, over a power of two, returned."""
    cdef int j, k, some, rest
    cdef int64_t power = NOTHING
    cdef double total, n_here
    for j in range(ways.shape[0]):
        some, rest = ways[j, 0], ways[j, 1]
        for k in range(1, m // 2 + 1):
            if k >= low and m - k >= high:
                power = max(power, left_power[some, k] + right_power[rest, m - k])
            if m - k >= low and k >= high:
                power = max(power, left_power[rest, m - k] + right_power[some, k])
    n_here = shrunk(n, power)
    for j in range(ways.shape[0]):
        some, rest = ways[j, 0], ways[j, 1]
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
    const double[:, ::1] right, const int64_t[:, ::1] right_power, const int[:, ::1] ways,
    const double[:, ::1] room, const double[::1] budget, double n, int least_left, int least_right,
    double[::1] every, int64_t[::1] every_power, double[::1] inner, int64_t[::1] inner_power, int first,
):
    """``sum over splits of (G_l G_r - n)``, both directions, at most ``budget`` splits, heaviest first.

    Row ``r`` of ``room`` and ``budget`` belongs to sample size ``first + r``: how many splits have
    a smaller part of ``k`` examples, and how many there are in all. In each of the ``ways`` to share
    the categories the smaller part has one landscape, a row of ``left`` and ``right``, and the other
    part another; the heaviest way counts. ``every`` takes all sizes, ``inner``, if not empty, those
    that isolate no single example. Parts have at least ``least_left`` and ``least_right`` examples.
    """
    cdef int rows = room.shape[0], r, m, k, half
    cdef int64_t power
    cdef double[:, ::1] block = np.empty((2, 2 * (first + rows)))
    cdef Size* sizes = <Size*> &block[0, 0]
    cdef Size* spare = <Size*> &block[1, 0]
    with nogil:
        for r in range(rows):
            m = first + r
            half = m // 2
            power = 0
            for k in range(1, half + 1):
                sizes[k].weight = 0.0
                sizes[k].room = room[r, k]
            if least_left + least_right <= m:
                power = weigh(
                    sizes, left, left_power, right, right_power, ways, least_left, least_right, m, n
                )
            store(every, every_power, m, fill(sizes, 1, half + 1, budget[r], spare), power)
            if inner.shape[0]:
                store(inner, inner_power, m, fill(sizes, 2, half + 1, budget[r], spare), power)


# -- the chain lemma (see :mod:`treebound.bounds._by_size`) ---------------------------------------
#
# ``q_s = G_l(m) + sum_{k>=s} d_k G_r(m-k)`` with ``d_k = G_l(k) - G_l(k+1) / n`` is a sum of positive
# terms, each with a relative error of a few roundings; every result is raised above their sum.

cdef struct Side:
    # One child: a bound G on its growth function that never falls and at most grows n-fold.
    Number* value
    # d_k = G(k) - G(k+1) / n.
    Number* fall
    # d_1 + .. + d_k, rounded up, for k <= start; start is 0 where it leaves the range of a double.
    double* sums
    int start


cdef void prepare(
    Side* side, const double[::1] value, const int64_t[::1] power, double n, double count, int last,
) noexcept nogil:
    """Fill a side from the bound on a child."""
    cdef int k
    for k in range(1, last + 1):
        side.value[k].mantissa, side.value[k].power = value[k], power[k]
        if k > 1:
            side.value[k] = steadied(side.value[k], side.value[k - 1], n)
    for k in range(1, last):
        side.fall[k] = fall_of(side.value[k], side.value[k + 1], n)
    side.start = star_start(side, count, last)


cdef inline bint less(Number one, Number other) noexcept nogil:
    return one.power < other.power or (one.power == other.power and one.mantissa < other.mantissa)


cdef Number steadied(Number here, Number before, double n) noexcept nogil:
    """A number at least the one before and at most ``n`` times it."""
    cdef Number top = scaled(before.mantissa * n, before.power)
    if less(top, here):
        return top
    return before if less(here, before) else here


cdef Number fall_of(Number here, Number after, double n) noexcept nogil:
    """``d_k``; one rounding for the difference, so that its relative error is small."""
    cdef double rest = fma(n, here.mantissa, -ldexp(after.mantissa, <int> (after.power - here.power)))
    return scaled(max(rest / n, 0.0), here.power)


cdef int star_start(Side* side, double count, int last) noexcept nogil:
    """The least ``s`` with ``count (d_1 + .. + d_s) >= count - 1``; ``last`` where there is none."""
    cdef int k
    cdef double total = 0.0
    for k in range(1, last):
        if side.fall[k].power > (900 if count < 1e9 else 600):
            return 0
        total += plain(side.fall[k])
        side.sums[k] = total * (1.0 + (k + 4) * ROUNDING)
        if count * total >= count - 1.0:
            return k
    return last


cdef inline double over(Number one, Number other, int64_t power) noexcept nogil:
    """The product of two numbers over a power of two that is not below its own."""
    return one.mantissa * other.mantissa * below(power - one.power - other.power)


cdef double from_prefix(Side* low, Side* high, int s, int m, int64_t power) noexcept nogil:
    """``q_s = G_l(m) + sum_{k>=s} d_k G_r(m-k)`` over a power of two."""
    cdef double total = low.value[m].mantissa * below(power - low.value[m].power)
    cdef int k
    for k in range(s, m):
        total += over(low.fall[k], high.value[m - k], power)
    return total


cdef double star(Side* low, Side* high, double count, int m, int64_t power) noexcept nogil:
    """All chains, with what the child on the high side realizes alone counted once."""
    cdef int s = low.start if low.start < m else m - 1
    cdef double head, raised = 1.0 + (m + 16) * 2.0 * ROUNDING
    cdef double total = count * from_prefix(low, high, s + 1, m, power) * raised
    if s == 0:
        return total
    # Where m <= start the head is negative, and not rounded below.
    head = count * low.sums[s] * (1.0 + 4.0 * ROUNDING) - (count - 1.0)
    head *= raised if head > 0.0 else 1.0 - 4.0 * ROUNDING
    return total + head * shrunk(high.value[m - s].mantissa, power - high.value[m - s].power)


cdef double capped(Side* low, Side* high, double count, int m, int64_t power) noexcept nogil:
    """``binom(m, 1)`` chains with ``q_1``, the next ``binom(m, 2)`` with ``q_2``, up to ``q_{m-1}``."""
    cdef int k = 1
    cdef double levels = m, left_over = count, q, total
    while k < m - 1 and left_over > levels:
        left_over -= levels
        levels = levels * (m - k) / (k + 1)
        k += 1
    q = from_prefix(low, high, k, m, power)
    total = (levels if levels < left_over else left_over) * q
    while k > 1:
        k -= 1
        levels = levels * (k + 1) / (m - k)
        q += over(low.fall[k], high.value[m - k], power)
        total += levels * q
    return total * (1.0 + (m + 16) * 2.0 * ROUNDING)


cdef Number union_of_chains(Side* low, Side* high, double count, int m) noexcept nogil:
    """The smaller of star and cap."""
    cdef int k
    cdef int64_t power = low.value[m].power
    cdef double result
    for k in range(1, m):
        power = max(power, low.fall[k].power + high.value[m - k].power)
    result = star(low, high, count, m, power)
    if count > m:
        result = min(result, capped(low, high, count, m, power))
    return scaled(result, power)


cdef Number heaviest(Side* low, Side* high, int m) noexcept nogil:
    """``max_k G_l(k) G_r(m-k)``, ``1 <= k < m``."""
    cdef int k
    cdef int64_t power = NOTHING
    cdef double best = 0.0
    for k in range(1, m):
        power = max(power, low.value[k].power + high.value[m - k].power)
    for k in range(1, m):
        best = max(best, over(low.value[k], high.value[m - k], power))
    return scaled(best, power)


def chains(
    const double[::1] left, const int64_t[::1] left_power,
    const double[::1] right, const int64_t[::1] right_power,
    bint equal, double thresholds, const double[::1] tests, double n,
    double[::1] out, int64_t[::1] out_power, int first, int last,
):
    """The chain lemma for sample sizes ``first`` to ``last``, never rounded below.

    The least of star and cap with the children in either role; ``tests``, (categorical test,
    direction) pairs by sample size, are each as heavy as the heaviest. Without ``thresholds`` tests
    that send all examples to one side are added.
    """
    cdef int m, size = last + 2
    cdef double share = 0.5 if equal else 1.0, count = 2.0 * thresholds * share
    cdef Number total, other
    cdef Side low, high
    cdef double[:, ::1] block = np.empty((10, size))
    low.sums, high.sums = &block[0, 0], &block[1, 0]
    low.value, low.fall = <Number*> &block[2, 0], <Number*> &block[4, 0]
    high.value, high.fall = <Number*> &block[6, 0], <Number*> &block[8, 0]
    with nogil:
        prepare(&low, left, left_power, n, count, last)
        prepare(&high, right, right_power, n, count, last)
        for m in range(first, last + 1):
            if thresholds > 0.0:
                total = union_of_chains(&low, &high, count, m)
                other = total if equal else union_of_chains(&high, &low, count, m)
                total = other if less(other, total) else total
            else:
                total = low.value[m]
                if not equal:
                    add(&total, high.value[m].mantissa, high.value[m].power)
                    total = scaled(total.mantissa - shrunk(n, total.power), total.power)
            if tests[m] > 0.0:
                other = heaviest(&low, &high, m)
                add(&total, other.mantissa * tests[m] * share, other.power)
            out[m], out_power[m] = total.mantissa, total.power
