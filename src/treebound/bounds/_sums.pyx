"""Sums of positive numbers that leave the range of a double: over part sizes, chains and series.

Growth functions leave the range of a double at some hundred leaves, so a number is a mantissa in
[1/2, 1) and a power of two. A function of the sample size is two arrays indexed by it; entry 0 is not
used. Sums are taken at their own largest power of two, which keeps all digits; whole numbers below
2**53 come out exact. Nothing cancels: a result carries a relative error of at most a few units in the
last place for every factor it is made of, which the caller adds before it is used as a bound.
"""

from libc.math cimport INFINITY, fma, frexp, ldexp
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memcpy

import numpy as np

cdef extern from *:
    """
    /* The power of two of the number zero: below that of any other. */
    #define NOTHING (-((int64_t) 1 << 40))
    /* The relative error of one operation. */
    #define ROUNDING (1.0 / 9007199254740992.0)
    """
    int64_t NOTHING
    double ROUNDING


cdef struct Number:
    # In [1/2, 1), or 0.
    double mantissa
    int64_t power


cdef inline Number scaled(double value, int64_t power) noexcept nogil:
    """``value * 2**power``."""
    cdef Number result
    cdef int more = 0
    result.mantissa = frexp(value, &more)
    result.power = power + more if value != 0.0 else NOTHING
    return result


cdef inline double below(int64_t by) noexcept nogil:
    """2**-by for by >= 0, by its bits; 0 where it is far below rounding."""
    cdef uint64_t bits
    cdef double value
    if by > 1000:
        return 0.0
    bits = <uint64_t> (1023 - by) << 52
    memcpy(&value, &bits, sizeof(double))
    return value


cdef inline double shrunk(double value, int64_t by) noexcept nogil:
    """value * 2**-by."""
    return value * below(by) if by >= 0 else ldexp(value, <int> -by)


cdef inline void store(
    double[::1] mantissa, int64_t[::1] exponent, int m, double value, int64_t power,
) noexcept nogil:
    """Set entry ``m`` to ``value * 2**power``."""
    cdef Number number = scaled(value, power)
    mantissa[m], exponent[m] = number.mantissa, number.power


cdef inline double plain(Number number) noexcept nogil:
    """The number as a double."""
    return ldexp(number.mantissa, <int> number.power) if number.mantissa != 0.0 else 0.0


cdef inline void add(Number* total, double value, int64_t power) noexcept nogil:
    """Add ``value * 2**power``."""
    if value == 0.0:
        return
    if power > total.power:
        total[0] = scaled(value + total.mantissa * below(power - total.power), power)
    else:
        total[0] = scaled(total.mantissa + value * below(total.power - power), total.power)


# -- sums over part sizes (convolutions) -------------------------------------------------------

cdef struct Size:
    double weight
    double room


cdef int heavier(const void* first, const void* second) noexcept nogil:
    cdef double x = (<Size*> first).weight
    cdef double y = (<Size*> second).weight
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


cdef inline bint less(Number a, Number b) noexcept nogil:
    return a.power < b.power or (a.power == b.power and a.mantissa < b.mantissa)


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


cdef inline double over(Number a, Number b, int64_t power) noexcept nogil:
    """The product of two numbers over a power of two that is not below its own."""
    return a.mantissa * b.mantissa * below(power - a.power - b.power)


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


# -- series ------------------------------------------------------------------------------------
#
# ``(alpha X + beta)^j`` is expanded in full and ``X^i`` is then read as ``binom(x, i)``:
#
#     W_j = sum_i binom(j, i) alpha^i beta^(j-i) binom(x, i)
#
# The terms are log-concave in ``i``, and so is ``W_j`` in ``j``. A sum starts at its largest term and
# ends where the rest is below rounding; the rest, bounded by a geometric series, is added.

# What is left of a sum may be this share of it before it is replaced by its bound.
cdef double REST = 1e-18
# Ratios alpha / beta up to which powers are made by a recurrence.
cdef double MILD = 1e8


cdef inline void times(Number* number, double factor) noexcept nogil:
    number[0] = scaled(number.mantissa * factor, number.power)


cdef inline bint is_rest(double term, double ratio, double total) noexcept nogil:
    """Whether a geometric series from ``term`` on is below rounding."""
    return ratio < 1.0 and term <= REST * total * (1.0 - ratio)


# The term after term ``i`` of a sum, over it.
ctypedef double (*Ratio)(const void* terms, int64_t i) noexcept nogil


cdef inline double around(Ratio ratio, const void* terms, int64_t top, int64_t last) noexcept nogil:
    """The sum of log-concave terms 0 to ``last``, over the largest, term ``top``."""
    cdef double total = 1.0, term = 1.0, step
    cdef int64_t i
    for i in range(top, last):
        step = ratio(terms, i)
        term *= step
        if term <= 0.0:
            break
        if is_rest(term, step, total):
            total += term / (1.0 - step)
            break
        total += term
    term = 1.0
    for i in range(top - 1, -1, -1):
        step = 1.0 / ratio(terms, i)
        term *= step
        if is_rest(term, step, total):
            total += term / (1.0 - step)
            break
        total += term
    return total


# -- powers ------------------------------------------------------------------------------------

cdef struct Powers:
    double alpha
    double beta
    double x
    int64_t j
    int64_t i
    # The term (j, i), the largest of W_j.
    Number top


cdef void start(Powers* powers, double alpha, double beta, double x) noexcept nogil:
    powers.alpha, powers.beta, powers.x = alpha, beta, x
    powers.j = powers.i = 0
    powers.top = scaled(1.0, 0)


cdef double next_power(const void* terms, int64_t i) noexcept nogil:
    cdef const Powers* powers = <const Powers*> terms
    cdef double z = powers.alpha / powers.beta
    return z * (powers.j - i) * (powers.x - i) / (<double> (i + 1) * (i + 1))


cdef void step(Powers* powers) noexcept nogil:
    """From W_j to W_{j+1}."""
    cdef int64_t i = powers.i, j = powers.j + 1
    cdef double up
    powers.j = j
    if powers.beta == 0.0:
        powers.i = j
        times(&powers.top, powers.alpha * (powers.x - (j - 1)) / j if j <= powers.x else 0.0)
        return
    times(&powers.top, powers.beta * (<double> j / (j - i)))
    while i < j:
        up = next_power(powers, i)
        if up < 1.0:
            break
        times(&powers.top, up)
        i += 1
    powers.i = i


cdef Number value(const Powers* powers) noexcept nogil:
    """W_j."""
    cdef Number total = powers.top
    if powers.beta != 0.0 and powers.alpha != 0.0:
        times(&total, around(&next_power, powers, powers.i, powers.j))
    return total


cdef void rises(double alpha, double beta, double x, int64_t most, double* out) noexcept nogil:
    """``W_{j+1} / W_j`` for ``j = 0 .. most - 1``.

    ``sum_i binom(j,i) binom(x,i) z^i`` are Meixner polynomials. Their recurrence, written for
    ``s_j = W_{j+1} / (beta W_j) - 1``, loses ``sqrt(z)`` roundings per step and contracts errors as
    long as ``j <= x``; past that, and for extreme ``z``, every sum is taken.
    """
    cdef int64_t j, i
    cdef double z, s = 0.0
    cdef Powers powers
    cdef Number before, after
    if beta == 0.0 or alpha == 0.0:
        for j in range(most):
            out[j] = beta if alpha == 0.0 else alpha * (x - j) / (j + 1) if j < x else 0.0
        return
    z = alpha / beta
    if z <= MILD and most <= x:
        for j in range(most):
            s = (z * x + j * (1.0 - z) * s / (1.0 + s)) / (j + 1)
            out[j] = beta * (1.0 + s)
        return
    start(&powers, alpha, beta, x)
    before = value(&powers)
    for j in range(most):
        step(&powers)
        after = value(&powers)
        out[j] = ldexp(after.mantissa / before.mantissa, <int> (after.power - before.power))
        before = after


def powers_at(double alpha, double beta, double x, const int64_t[::1] at,
              double[::1] out, int64_t[::1] out_power):
    """``W_j`` for the ``j`` in ``at``, which rise."""
    cdef Py_ssize_t k
    cdef int64_t j = 0, most = at[at.shape[0] - 1] if at.shape[0] else 0
    cdef Number here
    cdef double[::1] rise = np.empty(most + 1)
    with nogil:
        rises(alpha, beta, x, most, &rise[0])
        here = scaled(1.0, 0)
        for k in range(at.shape[0]):
            while j < at[k]:
                times(&here, rise[j])
                j += 1
            out[k], out_power[k] = here.mantissa, here.power


def power(double alpha, double beta, double x, int64_t j):
    """``W_j`` as a mantissa and a power of two."""
    cdef Powers powers
    cdef Number result
    with nogil:
        start(&powers, alpha, beta, x)
        while powers.j < j:
            step(&powers)
        result = value(&powers)
    return result.mantissa, result.power


# -- polynomials -------------------------------------------------------------------------------

def polynomial(double alpha, double beta, double x,
               const double[::1] coefficient, const int64_t[::1] coefficient_power):
    """``sum_j c_j W_j`` as a mantissa and a power of two."""
    cdef Py_ssize_t j, count = coefficient.shape[0]
    cdef Number here, total
    cdef double[::1] rise = np.empty(count)
    with nogil:
        rises(alpha, beta, x, count - 1, &rise[0])
        here = scaled(1.0, 0)
        total = scaled(0.0, 0)
        for j in range(count):
            if j:
                times(&here, rise[j - 1])
            if here.mantissa == 0.0:
                break
            add(&total, here.mantissa * coefficient[j], here.power + coefficient_power[j])
    return total.mantissa, total.power


def joined(const double[::1] left, const int64_t[::1] left_power,
           const double[::1] right, const int64_t[::1] right_power, bint equal,
           double[::1] out, int64_t[::1] out_power):
    """Coefficients of ``P + Q - 1 + Z P Q``, or of ``P + Z P^2 / 2`` for ``equal`` children.

    The constants of ``P`` and ``Q`` are 1.
    """
    cdef Py_ssize_t a = left.shape[0], b = right.shape[0], k, i, low, high
    cdef int64_t top
    cdef double total
    cdef Number result
    with nogil:
        out[0], out_power[0] = 0.5, 1
        for k in range(a + b - 1):
            low = k - b + 1 if k >= b else 0
            high = k if k < a else a - 1
            top = NOTHING
            for i in range(low, high + 1):
                top = max(top, left_power[i] + right_power[k - i])
            total = 0.0
            for i in range(low, high + 1):
                total += left[i] * right[k - i] * below(top - left_power[i] - right_power[k - i])
            result = scaled(total, top - equal)
            if k + 1 < a:
                add(&result, left[k + 1], left_power[k + 1])
            if k + 1 < b and not equal:
                add(&result, right[k + 1], right_power[k + 1])
            out[k + 1], out_power[k + 1] = result.mantissa, result.power


def product(const double[::1] splits, const int[:, ::1] children, double n):
    """``G = n + W (G_l G_r - n)`` node by node, children first; the last one's ``G``.

    A leaf, child -1, has ``G = n``.
    """
    cdef Py_ssize_t k, count = splits.shape[0]
    cdef int64_t power
    cdef double total
    cdef Number leaf, root
    cdef Number *left
    cdef Number *right
    cdef double[:, ::1] block = np.empty((count, 2))
    cdef Number* values = <Number*> &block[0, 0]
    with nogil:
        leaf = scaled(n, 0)
        for k in range(count):
            left = &leaf if children[k, 0] < 0 else &values[children[k, 0]]
            right = &leaf if children[k, 1] < 0 else &values[children[k, 1]]
            power = left.power + right.power
            total = left.mantissa * right.mantissa - shrunk(n, power)
            values[k] = scaled(total * splits[k], power)
            add(&values[k], n, 0)
        root = values[count - 1]
    return root.mantissa, root.power


# -- all trees ---------------------------------------------------------------------------------

cdef struct Trees:
    const double* rise
    int64_t n


cdef double next_of_trees(const void* terms, int64_t i) noexcept nogil:
    cdef const Trees* trees = <const Trees*> terms
    return trees.rise[i] * (<double> trees.n + i + 1) * (trees.n - i) / (<double> (i + 1) * (i + 2))


def all_trees(double alpha, double beta, double x, const int64_t[::1] nodes,
              double[::1] out, int64_t[::1] out_power):
    """``sum_j binom(N+j, 2j) Catalan(j) W_j`` for the ``N`` in ``nodes``, which rise.

    ``binom(N+j, 2j) Catalan(j) = (N+j)! / ((N-j)! j! (j+1)!)``.
    """
    cdef Py_ssize_t count = nodes.shape[0], k
    cdef int64_t most = nodes[count - 1] if count else 0, j = 0
    cdef double[::1] rise = np.empty(most + 1)
    cdef Number here, top
    cdef Trees trees
    cdef double ratio
    with nogil:
        rises(alpha, beta, x, most, &rise[0])
        trees.rise, trees.n = &rise[0], 0
        top = scaled(1.0, 0)
        for k in range(count):
            while trees.n < nodes[k]:
                trees.n += 1
                times(&top, (<double> trees.n + j) / (trees.n - j))
                while j < trees.n:
                    ratio = next_of_trees(&trees, j)
                    if ratio < 1.0:
                        break
                    times(&top, ratio)
                    j += 1
            here = top
            times(&here, around(&next_of_trees, &trees, j, trees.n))
            out[k], out_power[k] = here.mantissa, here.power


def catalans(const int64_t[::1] nodes, double[::1] out, int64_t[::1] out_power):
    """Catalan numbers of the ``N`` in ``nodes``, which rise."""
    cdef Py_ssize_t k
    cdef int64_t n = 0
    cdef Number here
    with nogil:
        here = scaled(1.0, 0)
        for k in range(nodes.shape[0]):
            while n < nodes[k]:
                times(&here, 2.0 * (2.0 * n + 1.0) / (n + 2.0))
                n += 1
            out[k], out_power[k] = here.mantissa, here.power
