# One node: bounds on its growth function from those of its children, by sample size.

# -- splits of a node ----------------------------------------------------------------------------

cdef struct Test:
    # Features of one kind: whether nominal, how many categories, how many features. A real feature
    # is an ordinal one of infinitely many categories.
    double nominal
    double categories
    double times


cdef struct Way:
    # What a test leaves its smaller and its larger part: rows of the children's tables.
    int test
    int some
    int rest


cdef struct Size:
    # What a split with a smaller part of k examples weighs, and how many such splits there are.
    double weight
    double room


cdef struct ShapeNode:
    # The children's functions of the sample size, a row of ``width`` for each landscape; that of
    # the node itself is the first.
    const Number* left
    const Number* right
    Py_ssize_t width
    # The same as doubles, or NULL where they leave their range.
    const double* plain_left
    const double* plain_right
    const Test* tests
    int n_tests
    double n
    # 1/2 for equal children, which are counted in both directions.
    double share
    # The fewest examples of the children.
    int low
    int high
    Size* sizes
    Size* spare


cdef inline double room(const Test* test, int m, int k) noexcept nogil:
    """``R_{i,k}``: splits of one feature with a smaller part of ``k``."""
    if 2 * k == m:
        return 1.0
    if test.nominal:
        return test.categories - 1.0 if m > test.categories * k else <double> (m // k)
    return min(2.0, test.categories - 1.0)


cdef inline double in_all(const Test* test, int m) noexcept nogil:
    """Splits of one feature."""
    if test.nominal:
        return 1.0 if test.categories == 2.0 else min(test.categories, <double> m)
    return min(test.categories, <double> m) - 1.0


cdef double splits_of(const ShapeNode* node, int m, bint categorical) noexcept nogil:
    """Splits of all features, or of the categorical ones."""
    cdef double total = 0.0
    cdef int t
    for t in range(node.n_tests):
        if not categorical or node.tests[t].categories != INFINITY:
            total += node.tests[t].times * in_all(&node.tests[t], m)
    return total


cdef inline double budget_of(const ShapeNode* node, int m) noexcept nogil:
    """``B(m)``."""
    return min(splits_of(node, m, False), ldexp(1.0, m - 1) - 1.0)


cdef void make_room(ShapeNode* node, int m) noexcept nogil:
    """Splits of a node by the size of the smaller part: ``D_k``, or half of it for ``k = m/2``."""
    cdef double thresholds = 0.0, total, choices = 1.0
    cdef int k, t, nominal = 0
    while nominal < node.n_tests and not node.tests[nominal].nominal:
        thresholds += node.tests[nominal].times * room(&node.tests[nominal], 3, 1)
        nominal += 1
    for k in range(1, m // 2 + 1):
        total = thresholds
        for t in range(nominal, node.n_tests):
            total += node.tests[t].times * room(&node.tests[t], m, k)
        node.sizes[k].room = total
    if m % 2 == 0:
        total = 0.0
        for t in range(node.n_tests):
            total += node.tests[t].times
        node.sizes[m // 2].room = total
    # No more splits of a size than there are; the most of them have a single example.
    total = node.sizes[1].room
    for k in range(1, m // 2 + 1):
        choices = choices * (m - k + 1) / k
        if choices >= 2.0 * total:
            return
        node.sizes[k].room = min(node.sizes[k].room, 0.5 * choices if 2 * k == m else choices)


# -- sums over part sizes (convolutions) ---------------------------------------------------------

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


cdef int64_t weigh(ShapeNode* node, const Way* ways, int count, int m) noexcept nogil:
    """What a split of each size is worth at most over the ways, over a power of two, returned."""
    cdef int j, k
    cdef int64_t power = NOTHING
    cdef Py_ssize_t some, rest
    cdef double n
    for k in range(1, m // 2 + 1):
        node.sizes[k].weight = 0.0
    if node.low + node.high > m:
        return 0
    if node.plain_left != NULL:
        for j in range(count):
            weigh_plain(node, ways[j].some * node.width, ways[j].rest * node.width, m)
        return 0
    for j in range(count):
        some, rest = ways[j].some * node.width, ways[j].rest * node.width
        for k in range(1, m // 2 + 1):
            if k >= node.low and m - k >= node.high:
                power = max(power, node.left[some + k].power + node.right[rest + m - k].power)
            if m - k >= node.low and k >= node.high:
                power = max(power, node.left[rest + m - k].power + node.right[some + k].power)
    n = shrunk(node.n, power)
    for j in range(count):
        some, rest = ways[j].some * node.width, ways[j].rest * node.width
        for k in range(1, m // 2 + 1):
            node.sizes[k].weight = max(node.sizes[k].weight, both_ways(
                node, m, k,
                over(node.left[some + k], node.right[rest + m - k], power) - n,
                over(node.left[rest + m - k], node.right[some + k], power) - n,
            ))
    return power


cdef inline double both_ways(
    const ShapeNode* node, int m, int k, double there, double back
) noexcept nogil:
    """The weights of the directions in which both children get enough examples."""
    return (there if k >= node.low and m - k >= node.high else 0.0) + (
        back if m - k >= node.low and k >= node.high else 0.0)


cdef void weigh_plain(ShapeNode* node, Py_ssize_t some, Py_ssize_t rest, int m) noexcept nogil:
    """One way, where no number leaves the range of a double."""
    cdef const double* left = node.plain_left
    cdef const double* right = node.plain_right
    cdef int k
    for k in range(1, m // 2 + 1):
        node.sizes[k].weight = max(node.sizes[k].weight, both_ways(
            node, m, k,
            left[some + k] * right[rest + m - k] - node.n,
            left[rest + m - k] * right[some + k] - node.n,
        ))


cdef bint unscale(const Number* numbers, Py_ssize_t count, double* out) noexcept nogil:
    """The numbers as doubles, if products of two, times a count, are in their range."""
    cdef Py_ssize_t i
    for i in range(count):
        if numbers[i].power > 300:
            return False
        out[i] = plain(numbers[i])
    return True


cdef Number with_one_sided(
    const ShapeNode* node, double real, Number every, Number inner, int m
) noexcept nogil:
    """``G`` from the weights of all splits, and of those that isolate no single example.

    Without real features a one-sided test may replace those that do.
    """
    if real == 0.0:
        add(&inner, product_less(node.left[1], node.right[m - 1], node.n))
        add(&inner, product_less(node.left[m - 1], node.right[1], node.n))
        every = inner if less(every, inner) else every
    times(&every, node.share)
    add(&every, scaled(node.n, 0))
    return every


cdef Number by_size(ShapeNode* node, double real, bint budgeted, int m) noexcept nogil:
    """Splits by part size, within the budget of the node the heaviest first."""
    cdef Way same = [0, 0, 0]
    cdef int64_t power = weigh(node, &same, 1, m)
    cdef double budget = budget_of(node, m) if budgeted else INFINITY
    cdef Number every, inner = scaled(0.0, 0)
    make_room(node, m)
    every = scaled(fill(node.sizes, 1, m // 2 + 1, budget, node.spare), power)
    if budgeted and real == 0.0:
        inner = scaled(fill(node.sizes, 2, m // 2 + 1, budget, node.spare), power)
    return with_one_sided(node, real if budgeted else 1.0, every, inner, m)


cdef Number in_total(const ShapeNode* node, double splits, int m) noexcept nogil:
    """So many splits, each as heavy as the heaviest."""
    cdef Number result = product_less(node.left[m - node.high], node.right[m - node.low], node.n)
    times(&result, splits * node.share)
    add(&result, scaled(node.n, 0))
    return result


# -- the chain lemma (see :mod:`treebound.bounds._tables`) ----------------------------------------
#
# ``q_s = G_l(m) + sum_{k>=s} d_k G_r(m-k)`` with ``d_k = G_l(k) - G_l(k+1) / n`` is a sum of positive
# terms, each with a relative error of a few roundings; every result is raised above their sum.

cdef struct Side:
    # One child: a bound G on its growth function that never falls and at most grows n-fold.
    Number* value
    # d_k = G(k) - G(k+1) / n.
    Number* fall
    # d_1 + .. + d_k, infinite past the range of a double.
    double* sums
    # Both as doubles, if ``plain``: all are in their range.
    double* plain_value
    double* plain_fall
    bint plain


cdef void prepare(Side* side, const Number* value, double n, int last) noexcept nogil:
    """Fill a side from the bound on a child."""
    cdef int k
    cdef double total = 0.0
    side.value[1] = value[1]
    for k in range(2, last + 1):
        side.value[k] = steadied(value[k], side.value[k - 1], n)
    for k in range(1, last):
        side.fall[k] = fall_of(side.value[k], side.value[k + 1], n)
        total = total + plain(side.fall[k]) if side.fall[k].power <= 600 else INFINITY
        side.sums[k] = total
    side.plain = unscale(side.value + 1, last, side.plain_value + 1)
    unscale(side.fall + 1, last - 1, side.plain_fall + 1)


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


cdef double from_prefix(Side* low, Side* high, int s, int m, int64_t power) noexcept nogil:
    """``q_s = G_l(m) + sum_{k>=s} d_k G_r(m-k)`` over a power of two."""
    cdef double total = low.value[m].mantissa * below(power - low.value[m].power)
    cdef int k
    if low.plain and high.plain:
        for k in range(s, m):
            total += low.plain_fall[k] * high.plain_value[m - k]
    else:
        for k in range(s, m):
            total += over(low.fall[k], high.value[m - k], power)
    return total


cdef double star(Side* low, Side* high, double count, int m, int64_t power) noexcept nogil:
    """All chains; those that the child on the high side realizes alone are counted once."""
    cdef int s = 1
    cdef double head, total, raised = 1.0 + (m + 16) * 2.0 * ROUNDING
    while s < m - 1 and count * low.sums[s] < count - 1.0:
        s += 1
    if low.sums[s] == INFINITY:
        return count * from_prefix(low, high, 1, m, power) * raised
    total = count * from_prefix(low, high, s + 1, m, power) * raised
    # If no s is large enough, the head is negative, and not rounded below.
    head = count * low.sums[s] * (1.0 + (s + 8) * ROUNDING) - (count - 1.0)
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
    cdef int64_t power = 0
    cdef double result
    if not (low.plain and high.plain):
        power = low.value[m].power
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
    if low.plain and high.plain:
        for k in range(1, m):
            best = max(best, low.plain_value[k] * high.plain_value[m - k])
        return scaled(best, 0)
    for k in range(1, m):
        power = max(power, low.value[k].power + high.value[m - k].power)
    for k in range(1, m):
        best = max(best, over(low.value[k], high.value[m - k], power))
    return scaled(best, power)


cdef Number one_kind(Side* low, Side* high, double features, double share, int m) noexcept nogil:
    """The union of the chains of so many threshold features, the children in either role."""
    cdef double count = 2.0 * features * share
    cdef Number result = union_of_chains(low, high, count, m)
    return result if share < 1.0 else least(result, union_of_chains(high, low, count, m))


cdef Number without_categories(
    Side* low, Side* high, const ShapeNode* node, double real, int m
) noexcept nogil:
    """Labellings by tests of the real features, and by tests with all examples on one side."""
    cdef Number total = low.value[m]
    if real > 0.0:
        return one_kind(low, high, real, node.share, m)
    if node.share == 1.0:
        add(&total, high.value[m])
        total = scaled(total.mantissa - shrunk(node.n, total.power), total.power)
    return total


# -- a node --------------------------------------------------------------------------------------

# What a node takes the least of.
cdef enum:
    BY_SIZES = 1
    WITHIN_BUDGET = 2
    BY_CHAINS = 4
    WITHIN_FEATURES = 8

SIZES, BUDGET, CHAINS, FEATURES = BY_SIZES, WITHIN_BUDGET, BY_CHAINS, WITHIN_FEATURES


cdef Number by_feature(
    ShapeNode* node, const Way* ways, int n_ways, double real, Side* low, Side* high, bint chains,
    Number* chain, int m,
) noexcept nogil:
    """Each feature within its budget; the share of categorical ones is added to ``chain``."""
    cdef Number every, inner, all_every = scaled(0.0, 0), all_inner = scaled(0.0, 0)
    cdef Number budget, of_thresholds = endless()
    cdef const Test* test
    cdef int64_t power
    cdef int t, k, first = 0, count
    for t in range(node.n_tests):
        test = &node.tests[t]
        count = 0
        while first + count < n_ways and ways[first + count].test == t:
            count += 1
        power = weigh(node, ways + first, count, m)
        first += count
        for k in range(1, m // 2 + 1):
            node.sizes[k].room = room(test, m, k)
        every = scaled(fill(node.sizes, 1, m // 2 + 1, in_all(test, m), node.spare), power)
        inner = scaled(fill(node.sizes, 2, m // 2 + 1, in_all(test, m), node.spare), power)
        add(&all_every, every, test.times)
        add(&all_inner, inner, test.times)
        if chains and test.categories != INFINITY:
            # Constant labellings are counted by the real features.
            budget = every
            times(&budget, node.share)
            if not test.nominal:
                if of_thresholds.power == -NOTHING:
                    of_thresholds = one_kind(low, high, 1.0, node.share, m)
                budget = least(budget, of_thresholds)
            add(chain, budget, test.times)
    return with_one_sided(node, real, all_every, all_inner, m)


cdef ShapeNode set_up(
    const double[:, ::1] tests, double[:, ::1] block, double n, bint equal, int low, int high,
) noexcept:
    """A node whose children are not known yet; the first four rows of ``block`` are for sizes."""
    cdef ShapeNode node
    node.plain_left = node.plain_right = NULL
    node.tests, node.n_tests = <const Test*> &tests[0, 0], tests.shape[0]
    node.n, node.share, node.low, node.high = n, 0.5 if equal else 1.0, low, high
    node.sizes, node.spare = <Size*> &block[0, 0], <Size*> &block[2, 0]
    return node


def node(
    const Number[:, ::1] left, const Number[:, ::1] right, const double[:, ::1] tests,
    const int[:, ::1] ways, double n, bint equal, int low, int high, int kind, int most,
    Number[::1] out, unsigned char[::1] by_chains, int first, int last,
):
    """Lower ``out`` to the least of some bounds on ``G`` of a node, sizes ``first`` to ``last``.

    Parts have at least ``low`` and ``high`` examples, and at most ``most`` examples differ. The bounds
    in ``kind``: SIZES, sums over part sizes; BUDGET, within the budget of the node; FEATURES, within
    those of the features, and an even number; CHAINS, the chain lemma. ``by_chains`` marks where the
    last is the least.
    """
    cdef Side left_side, right_side
    cdef Number partition, chain, other, at_most = endless()
    cdef double real = 0.0, above, splits
    cdef int m, t, size = last + 2
    cdef bint is_real
    cdef double[:, ::1] block = np.empty((18, size))
    cdef double[:, ::1] doubles = np.empty((2, left.shape[0] * left.shape[1]))
    cdef ShapeNode here = set_up(tests, block, n, equal, low, high)
    here.left, here.right, here.width = &left[0, 0], &right[0, 0], left.shape[1]
    left_side.value, left_side.fall = <Number*> &block[4, 0], <Number*> &block[6, 0]
    right_side.value, right_side.fall = <Number*> &block[8, 0], <Number*> &block[10, 0]
    left_side.sums, right_side.sums = &block[12, 0], &block[13, 0]
    left_side.plain_value, left_side.plain_fall = &block[14, 0], &block[15, 0]
    right_side.plain_value, right_side.plain_fall = &block[16, 0], &block[17, 0]
    for t in range(here.n_tests):
        if here.tests[t].categories == INFINITY:
            real = here.tests[t].times
    is_real = real > 0.0 and here.n_tests == 1
    with nogil:
        if unscale(here.left, doubles.shape[1], &doubles[0, 0]) and unscale(
            here.right, doubles.shape[1], &doubles[1, 0]
        ):
            here.plain_left, here.plain_right = &doubles[0, 0], &doubles[1, 0]
        if kind & BY_CHAINS:
            prepare(&left_side, here.left, n, last)
            prepare(&right_side, here.right, n, last)
        for m in range(first, last + 1):
            above = 1.0 + (16.0 * m + 64.0) * ROUNDING
            partition = chain = endless()
            if kind & BY_CHAINS:
                chain = without_categories(&left_side, &right_side, &here, real, m)
                if not kind & WITHIN_FEATURES and not is_real:
                    other = heaviest(&left_side, &right_side, m)
                    add(&chain, other, 2.0 * splits_of(&here, m, True) * here.share)
            if kind & BY_SIZES:
                partition = by_size(&here, real, kind & WITHIN_BUDGET and not is_real, m)
            if kind & WITHIN_FEATURES:
                splits = real * (m - low - high + 1) if is_real else budget_of(&here, m)
                partition = least(partition, in_total(&here, 2.0 * splits, m))
                if not is_real:
                    other = by_feature(
                        &here, <const Way*> &ways[0, 0], ways.shape[0], real,
                        &left_side, &right_side, kind & BY_CHAINS, &chain, m,
                    )
                    partition = least(partition, other)
            # Products of whole numbers are exact below 2**53.
            if partition.power > 53 or not kind & WITHIN_FEATURES:
                times(&partition, above)
            partition = least(partition, out[m])
            if m == most:
                at_most = partition
            elif m > most:
                partition = at_most
            times(&chain, above)
            if kind & BY_CHAINS and kind & WITHIN_FEATURES and m < 53:
                # A class has as many labellings as opposite ones.
                chain = scaled(2.0 * floor(0.5 * plain(least(chain, out[m]))), 0)
            by_chains[m] = less(chain, partition)
            out[m] = least(chain, partition)


def parts(
    const Number[:, ::1] left, const Number[:, ::1] right, const double[:, ::1] tests,
    const double[:, :, ::1] merges, bint equal, int low, int high, Number[:, ::1] out, int first,
):
    """Lower row ``c`` of ``out`` to the sum over part sizes for ``pi^c``.

    Entry ``[a, b, c]`` of ``merges`` is ``K(a, b, c)``.
    """
    cdef Way same = [0, 0, 0]
    cdef Number each
    cdef int a, b, c, m, size = out.shape[1]
    cdef int64_t power
    cdef double[:, ::1] block = np.empty((4, size + 1))
    cdef Number[::1] totals = np.empty(out.shape[0], NUMBER)
    cdef ShapeNode here = set_up(tests, block, 0.0, equal, low, high)
    here.width = left.shape[1]
    with nogil:
        for m in range(first, size):
            make_room(&here, m)
            for c in range(2, out.shape[0]):
                totals[c] = scaled(0.0, 0)
            for a in range(1, left.shape[0]):
                for b in range(1, right.shape[0]):
                    here.left, here.right = &left[a, 0], &right[b, 0]
                    power = weigh(&here, &same, 1, m)
                    each = scaled(plain_sum(here.sizes, 1, m // 2 + 1) * here.share, power)
                    for c in range(max(2, a, b), min(a + b + 1, <int> out.shape[0])):
                        add(&totals[c], each, merges[a, b, c])
            for c in range(2, out.shape[0]):
                if totals[c].power > 53:
                    times(&totals[c], 1.0 + (16.0 * m + 64.0) * ROUNDING)
                # One partition has as many parts as examples.
                if m > c and less(totals[c], out[c, m]):
                    out[c, m] = totals[c]


def weighted(const Number[:, ::1] rows, const Number[::1] weights, Number[::1] out):
    """The sum of functions times their weights, raised above its rounding errors."""
    cdef Py_ssize_t r, m
    for m in range(rows.shape[1]):
        out[m] = scaled(0.0, 0)
        for r in range(rows.shape[0]):
            add(&out[m], product_less(rows[r, m], weights[r], 0.0))
        if out[m].power > 53:
            times(&out[m], 1.0 + (rows.shape[0] + 4.0) * ROUNDING)


def labellings(double n, double factor, double more, Number[::1] out):
    """``n`` for one example; each further one multiplies by a factor, then adds."""
    cdef Py_ssize_t m
    cdef Number here = scaled(n, 0)
    for m in range(1, out.shape[0]):
        out[m] = here
        times(&here, factor)
        add(&here, scaled(more, 0))


def product(const double[::1] splits, const int[:, ::1] children, double n):
    """``G = n + W (G_l G_r - n)`` node by node, children first; the last one's ``G``.

    A leaf, child -1, has ``G = n``.
    """
    cdef Py_ssize_t k, count = splits.shape[0]
    cdef Number leaf
    cdef Number *left
    cdef Number *right
    cdef double[:, ::1] block = np.empty((count, 2))
    cdef Number* values = <Number*> &block[0, 0]
    with nogil:
        leaf = scaled(n, 0)
        for k in range(count):
            left = &leaf if children[k, 0] < 0 else &values[children[k, 0]]
            right = &leaf if children[k, 1] < 0 else &values[children[k, 1]]
            values[k] = product_less(left[0], right[0], n)
            times(&values[k], splits[k])
            add(&values[k], leaf)
    leaf = values[count - 1]
    return leaf.mantissa, leaf.power
