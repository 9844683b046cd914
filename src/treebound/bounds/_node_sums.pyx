"""What a node makes of its children, for many sample sizes at once: sums over part sizes, and chains.

Growth functions leave the range of a double at some hundred leaves, so a number here is a
mantissa and a power of two. A function of the sample size is two arrays indexed by it; entry 0 is
not used. Sums of a row are taken at the row's own largest power of two, which keeps all digits;
whole numbers below 2**53 come out exact.
"""

from libc.math cimport INFINITY, fma, frexp, ldexp
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc, qsort

from treebound.bounds._scaled cimport NOTHING, ROUNDING, below, dot, shrunk, store

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


# -- the chain lemma (see :mod:`treebound.bounds._node`) ---------------------------------------
#
# ``q_s = G_l(m) + sum_{k>=s} d_k G_r(m-k)`` with ``d_k = G_l(k) - G_l(k+1) / n`` is a sum of positive
# terms, each with a relative error of a few roundings; every result is raised above their sum.

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
    cdef double result, other
    power[0] = 0
    if not is_plain:
        power[0] = low.power[m]
        for k in range(1, m):
            here = low.fall_power[k] + high.power[m - k]
            if here > power[0]:
                power[0] = here
    result = star(low, high, count, m, is_plain, power[0])
    if count > m:
        other = capped(low, high, count, m, is_plain, power[0])
        if other < result:
            return other
    return result


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
