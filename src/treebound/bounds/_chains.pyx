"""The chain lemma (see :mod:`treebound.bounds._chain_sum`) for many sample sizes at once.

``q_s = G_l(m) + sum_{k>=s} d_k G_r(m-k)`` with ``d_k = G_l(k) - G_l(k+1) / n`` is a sum of positive
terms, each with a relative error of a few roundings; every result is raised above their sum.
"""

from libc.math cimport fma, frexp, ldexp
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

from treebound.bounds._scaled cimport NOTHING, ROUNDING, below, dot, shrunk, store

cdef struct Side:
    # One child: a bound G on its growth function that never falls and at most grows n-fold.
    double* value
    int64_t* power
    # d_k = G(k) - G(k+1) / n.
    double* fall
    int64_t* fall_power
    # Both as plain doubles, G from the last sample size down.
    double* plain_down
    double* plain_fall
    int last
    # d_1 + .. + d_k, rounded up, for k <= start; start is 0 where it leaves the range of a double.
    double* sums
    int start


cdef void prepare(
    Side* side, double* block, int64_t* powers, const double[::1] value, const int64_t[::1] power,
    double n, double count, int last,
) noexcept nogil:
    """Fill a side from the bound on a child."""
    cdef int k, size = last + 2
    side.value, side.fall, side.plain_down = block, block + size, block + 2 * size
    side.plain_fall, side.sums = block + 3 * size, block + 4 * size
    side.power, side.fall_power, side.last = powers, powers + size, last
    for k in range(1, last + 1):
        side.value[k], side.power[k] = value[k], power[k]
    cut_and_raise(side.value, side.power, n, last)
    for k in range(1, last):
        set_fall(side, n, k)
    side.start = star_start(side, count, last)


cdef void cut_and_raise(double* value, int64_t* power, double n, int last) noexcept nogil:
    """Cut each number to ``n`` times the one before, and raise it to the one before if below."""
    cdef int k, more = 0
    cdef double top
    cdef int64_t top_power
    for k in range(2, last + 1):
        top = frexp(value[k - 1] * n, &more)
        top_power = power[k - 1] + more
        if power[k] > top_power or (power[k] == top_power and value[k] > top):
            value[k], power[k] = top, top_power
        elif power[k] < power[k - 1] or (power[k] == power[k - 1] and value[k] < value[k - 1]):
            value[k], power[k] = value[k - 1], power[k - 1]


def steady(double[::1] value, int64_t[::1] power, double n):
    """In place: each number at least the one before and at most ``n`` times it."""
    cut_and_raise(&value[0], &power[0], n, <int> value.shape[0] - 1)


cdef void set_fall(Side* side, double n, int k) noexcept nogil:
    """``d_k``; one rounding for the difference, so that its relative error is small."""
    cdef int more = 0
    cdef double after = ldexp(side.value[k + 1], <int> (side.power[k + 1] - side.power[k]))
    cdef double rest = fma(n, side.value[k], -after) / n
    if rest <= 0.0:
        side.fall[k], side.fall_power[k] = 0.0, NOTHING
        return
    side.fall[k] = frexp(rest, &more)
    side.fall_power[k] = side.power[k] + more


cdef int star_start(Side* side, double count, int last) noexcept nogil:
    """The least ``s`` with ``count (d_1 + .. + d_s) >= count - 1``; ``last`` where there is none."""
    cdef int k
    cdef double total = 0.0
    for k in range(1, last):
        if side.fall_power[k] > (900 if count < 1e9 else 600):
            return 0
        if side.fall[k] != 0.0:
            total += ldexp(side.fall[k], <int> side.fall_power[k])
        side.sums[k] = total * (1.0 + (k + 4) * ROUNDING)
        if count * total >= count - 1.0:
            return k
    return last


cdef void set_plain(Side* side, int last) noexcept nogil:
    """The numbers of a side as plain doubles."""
    cdef int k
    for k in range(1, last + 1):
        side.plain_down[last - k] = ldexp(side.value[k], <int> side.power[k])
    for k in range(1, last):
        side.plain_fall[k] = 0.0
        if side.fall[k] != 0.0:
            side.plain_fall[k] = ldexp(side.fall[k], <int> side.fall_power[k])


cdef double from_prefix(Side* low, Side* high, int s, int m, bint is_plain, int64_t power) noexcept nogil:
    """``q_s = G_l(m) + sum_{k>=s} d_k G_r(m-k)`` over a power of two."""
    cdef double total
    cdef int k
    if is_plain:
        # G_r(m-k) is at last - m + k.
        total = dot(low.plain_fall + s, high.plain_down + high.last - m + s, m - s)
        return low.plain_down[low.last - m] + total
    total = low.value[m] * below(power - low.power[m])
    for k in range(s, m):
        total += low.fall[k] * high.value[m - k] * below(power - low.fall_power[k] - high.power[m - k])
    return total


cdef double star(
    Side* low, Side* high, double count, int m, bint is_plain, int64_t power,
) noexcept nogil:
    """All chains, with what the child on the high side realizes alone counted once."""
    cdef int s = low.start if low.start < m else m - 1
    cdef double head, raised = 1.0 + (m + 16) * 2.0 * ROUNDING
    cdef double total = count * from_prefix(low, high, s + 1, m, is_plain, power) * raised
    if s == 0:
        return total
    # Where m <= start the head is negative, and not rounded below.
    head = count * low.sums[s] * (1.0 + 4.0 * ROUNDING) - (count - 1.0)
    head *= raised if head > 0.0 else 1.0 - 4.0 * ROUNDING
    return total + head * shrunk(high.value[m - s], power - high.power[m - s])


cdef double capped(
    Side* low, Side* high, double count, int m, bint is_plain, int64_t power,
) noexcept nogil:
    """``binom(m, 1)`` chains with ``q_1``, the next ``binom(m, 2)`` with ``q_2``, up to ``q_{m-1}``."""
    cdef int k = 1
    cdef double levels = m, left_over = count, q, total
    while k < m - 1 and left_over > levels:
        left_over -= levels
        levels = levels * (m - k) / (k + 1)
        k += 1
    q = from_prefix(low, high, k, m, is_plain, power)
    total = (levels if levels < left_over else left_over) * q
    while k > 1:
        k -= 1
        levels = levels * (k + 1) / (m - k)
        if is_plain:
            q += low.plain_fall[k] * high.plain_down[high.last - m + k]
        else:
            q += low.fall[k] * high.value[m - k] * below(power - low.fall_power[k] - high.power[m - k])
        total += levels * q
    return total * (1.0 + (m + 16) * 2.0 * ROUNDING)


cdef double union_of_chains(
    Side* low, Side* high, double count, int m, bint is_plain, int64_t* power,
) noexcept nogil:
    """The smaller of star and cap, over a power of two."""
    cdef int k
    cdef int64_t here
    cdef double found, other
    power[0] = 0
    if not is_plain:
        power[0] = low.power[m]
        for k in range(1, m):
            here = low.fall_power[k] + high.power[m - k]
            if here > power[0]:
                power[0] = here
    found = star(low, high, count, m, is_plain, power[0])
    if count > m:
        other = capped(low, high, count, m, is_plain, power[0])
        if other < found:
            return other
    return found


def chains(
    const double[::1] left, const int64_t[::1] left_power,
    const double[::1] right, const int64_t[::1] right_power,
    bint equal, double count, double n,
    double[::1] out, int64_t[::1] out_power, int first, int last,
):
    """The chain lemma for sample sizes ``first`` to ``last``: labellings of ``count`` chains.

    The least of star and cap with the children in either role, never rounded below.
    """
    cdef int m, more = 0, size = last + 2
    cdef double value, other
    cdef int64_t power, other_power
    cdef bint is_plain
    cdef Side one, two
    cdef double* block = <double*> malloc(10 * size * sizeof(double))
    cdef int64_t* powers = <int64_t*> malloc(4 * size * sizeof(int64_t))
    if block == NULL or powers == NULL:
        free(block)
        free(powers)
        raise MemoryError
    with nogil:
        prepare(&one, block, powers, left, left_power, n, count, last)
        prepare(&two, block + 5 * size, powers + 2 * size, right, right_power, n, count, last)
        # Bounds never fall: the last is the largest.
        is_plain = one.power[last] + two.power[last] <= (960 if count < 1e9 else 640)
        if is_plain:
            set_plain(&one, last)
            set_plain(&two, last)
        for m in range(first, last + 1):
            value = union_of_chains(&one, &two, count, m, is_plain, &power)
            if not equal:
                other = union_of_chains(&two, &one, count, m, is_plain, &other_power)
                if shrunk(other, power - other_power) < value:
                    value, power = other, other_power
            store(out, out_power, m, value, power)
    free(block)
    free(powers)


def heaviest(
    const double[::1] left, const int64_t[::1] left_power,
    const double[::1] right, const int64_t[::1] right_power,
    double[::1] out, int64_t[::1] out_power, int first, int last,
):
    """``max_k G_l(k) G_r(m-k)``, ``1 <= k < m``, for sample sizes ``first`` to ``last``."""
    cdef int m, k
    cdef int64_t power, here
    cdef double best, one
    with nogil:
        for m in range(first, last + 1):
            power, best = NOTHING, 0.0
            for k in range(1, m):
                here = left_power[k] + right_power[m - k]
                if here < power - 1:
                    continue
                one = left[k] * right[m - k]
                if here > power:
                    best = best * below(here - power)
                    power = here
                else:
                    one = one * below(power - here)
                if one > best:
                    best = one
            store(out, out_power, m, best, power)
