"""Sums over the sizes of the two parts a node makes (convolutions), for many sample sizes at once.

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


cdef bint plain(
    const double[::1] mantissa, const int64_t[::1] power, int last, double most, double* out,
) noexcept nogil:
    """The first numbers as doubles; whether ``most`` times the product of two is in range."""
    cdef int k, reach = 480 if most < 1e9 else 320
    for k in range(1, last + 1):
        if power[k] > reach or (power[k] < -reach and mantissa[k] != 0.0):
            return False
        out[k] = ldexp(mantissa[k], <int> power[k]) if mantissa[k] != 0.0 else 0.0
    return True


cdef double dot_reversed(const double* left, const double* right, int first, int last, int m) noexcept nogil:
    """sum of left[k] * right[m-k] for k = first .. last, in four sums that do not wait for each other."""
    cdef double a = 0.0, b = 0.0, c = 0.0, d = 0.0
    cdef int k = first
    while k + 3 <= last:
        a += left[k] * right[m - k]
        b += left[k + 1] * right[m - k - 1]
        c += left[k + 2] * right[m - k - 2]
        d += left[k + 3] * right[m - k - 3]
        k += 4
    while k <= last:
        a += left[k] * right[m - k]
        k += 1
    return (a + b) + (c + d)


cdef void weigh(
    Size* sizes, const double* left, const double* right, const double* room, int m,
    int least_left, int least_right, double n,
) noexcept nogil:
    """What a split of each size is worth, in plain doubles."""
    cdef int k, half = m // 2, both = least_left if least_left > least_right else least_right
    for k in range(1, half + 1):
        sizes[k].room = room[k]
    for k in range(1, both if both < half + 1 else half + 1):
        sizes[k].weight = 0.0
        if k >= least_left and m - k >= least_right:
            sizes[k].weight += left[k] * right[m - k] - n
        if m - k >= least_left and k >= least_right:
            sizes[k].weight += left[m - k] * right[k] - n
    for k in range(both, half + 1):
        sizes[k].weight = left[k] * right[m - k] + left[m - k] * right[k] - 2.0 * n


cdef int64_t weigh_scaled(
    Size* sizes, const double[::1] left, const int64_t[::1] left_power,
    const double[::1] right, const int64_t[::1] right_power, const double* room, int m,
    int least_left, int least_right, double n,
) noexcept nogil:
    """The same for numbers of any magnitude, over a power of two that is returned."""
    cdef int k, half = m // 2
    cdef int64_t power = NOTHING, here
    cdef double n_here, total
    for k in range(least_left, m - least_right + 1):
        here = left_power[k] + right_power[m - k]
        if here > power:
            power = here
    n_here = shrunk(n, power)
    for k in range(1, half + 1):
        total = 0.0
        if k >= least_left and m - k >= least_right:
            total = left[k] * right[m - k] * below(power - left_power[k] - right_power[m - k]) - n_here
        if m - k >= least_left and k >= least_right:
            total += left[m - k] * right[k] * below(power - left_power[m - k] - right_power[k]) - n_here
        sizes[k].weight = total
        sizes[k].room = room[k]
    return power


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
    cdef int rows = room.shape[0], r, m, half, last = first + rows - 1
    cdef int64_t power
    cdef double total, other, most
    cdef bint in_range
    cdef Size* sizes = <Size*> malloc((last + 2) * sizeof(Size))
    cdef Size* spare = <Size*> malloc((last + 2) * sizeof(Size))
    cdef double* l = <double*> malloc((last + 2) * sizeof(double))
    cdef double* g = <double*> malloc((last + 2) * sizeof(double))
    if sizes == NULL or spare == NULL or l == NULL or g == NULL:
        free(sizes)
        free(spare)
        free(l)
        free(g)
        raise MemoryError
    with nogil:
        most = 0.0
        for half in range(1, last // 2 + 1):
            most = max(most, room[rows - 1, half])
        in_range = plain(left, left_power, last - 1, most, l)
        in_range = in_range and plain(right, right_power, last - 1, most, g)
        for r in range(rows):
            m = first + r
            half = m // 2
            if least_left + least_right > m:
                store(out, out_power, m, n, 0)
                continue
            power = 0
            if in_range:
                weigh(sizes, l, g, &room[r, 0], m, least_left, least_right, n)
            else:
                power = weigh_scaled(
                    sizes, left, left_power, right, right_power, &room[r, 0], m,
                    least_left, least_right, n,
                )
            total = fill(sizes, 1, half + 1, budget[r], spare)
            if one_sided:
                other = sizes[1].weight + fill(sizes, 2, half + 1, budget[r], spare)
                if other > total:
                    total = other
            if halved:
                total *= 0.5
            store(out, out_power, m, total + shrunk(n, power), power)
    free(sizes)
    free(spare)
    free(l)
    free(g)


def chains(
    const double[::1] fall, const int64_t[::1] fall_power,
    const double[::1] left, const int64_t[::1] left_power,
    const double[::1] right, const int64_t[::1] right_power,
    double count, int start, double head, bint capped,
    double[::1] out, int64_t[::1] out_power, int first, int last,
):
    """The chain lemma for sample sizes ``first`` to ``last``: labellings of ``count`` chains.

    ``fall[k] = G_l(k) - G_l(k+1) / n``. With ``q_s = G_l(m) + sum_{k>=s} fall[k] G_r(m-k)``, the
    star form is ``count q_{start+1} + head G_r(m-start)``. ``capped``: the lesser of it and the
    form in which ``binom(m, 1)`` chains have ``q_1``, the next ``binom(m, 2)`` chains ``q_2``, ...
    For ``m <= start`` it is ``count q_1``, the sum of all chains.
    """
    cdef int m, k, s
    cdef double total, q, levels, taken, left_over
    cdef bint in_range
    cdef int64_t power, here
    cdef double* d = <double*> malloc((last + 2) * sizeof(double))
    cdef double* l = <double*> malloc((last + 2) * sizeof(double))
    cdef double* g = <double*> malloc((last + 2) * sizeof(double))
    if d == NULL or l == NULL or g == NULL:
        free(d)
        free(l)
        free(g)
        raise MemoryError
    with nogil:
        in_range = plain(fall, fall_power, last - 1, count, d)
        in_range = in_range and plain(left, left_power, last, count, l)
        in_range = in_range and plain(right, right_power, last, count, g)
        for m in range(first, last + 1):
            power = 0
            s = start if start < m else 0
            if in_range:
                total = count * (l[m] + dot_reversed(d, g, s + 1, m - 1, m))
                if s > 0:
                    total += head * g[m - s]
            else:
                power = left_power[m]
                for k in range(1, m):
                    here = fall_power[k] + right_power[m - k]
                    if here > power:
                        power = here
                total = left[m] * below(power - left_power[m])
                for k in range(s + 1, m):
                    total += fall[k] * right[m - k] * below(power - fall_power[k] - right_power[m - k])
                total *= count
                if s > 0:
                    total += head * shrunk(right[m - s], power - right_power[m - s])
            if capped and in_range and count > m:
                # The levels that chains start new at: so many, the last not filled.
                k, levels, left_over = 1, <double> m, count
                while k < m - 1 and left_over > levels:
                    left_over -= levels
                    levels = levels * (m - k) / (k + 1)
                    k += 1
                q = l[m] + dot_reversed(d, g, k, m - 1, m)
                taken = (levels if levels < left_over else left_over) * q
                while k > 1:
                    k -= 1
                    levels = levels * (k + 1) / (m - k)
                    q += d[k] * g[m - k]
                    taken += levels * q
                if taken < total:
                    total = taken
            store(out, out_power, m, total, power)
    free(d)
    free(l)
    free(g)


def steady(double[::1] values, int64_t[::1] power, double n):
    """Cut each number to ``n`` times the one before, and raise it to the one before if below."""
    cdef Py_ssize_t k
    cdef int more = 0
    cdef double top
    cdef int64_t top_power
    with nogil:
        for k in range(2, values.shape[0]):
            top = frexp(values[k - 1] * n, &more)
            top_power = power[k - 1] + more
            if power[k] > top_power or (power[k] == top_power and values[k] > top):
                values[k], power[k] = top, top_power
            elif power[k] < power[k - 1] or (power[k] == power[k - 1] and values[k] < values[k - 1]):
                values[k], power[k] = values[k - 1], power[k - 1]


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
