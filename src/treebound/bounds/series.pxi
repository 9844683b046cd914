# Series of the closed forms: powers, polynomials, sums over all trees.
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


cdef inline bint is_rest(double term, double ratio, double total) noexcept nogil:
    """Return True if a geometric series from ``term`` on is below rounding."""
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


def powers_at(double alpha, double beta, double x, const int64_t[::1] at, Number[::1] out):
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
            out[k] = here


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

def polynomial(double alpha, double beta, double x, const Number[::1] coefficients):
    """``sum_j c_j W_j`` as a mantissa and a power of two."""
    cdef Py_ssize_t j, count = coefficients.shape[0]
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
            add(&total, product_less(here, coefficients[j], 0.0))
    return total.mantissa, total.power


def joined(const Number[::1] left, const Number[::1] right, bint equal, Number[::1] out):
    """Coefficients of ``P + Q - 1 + Z P Q``, or of ``P + Z P^2 / 2`` for ``equal`` children.

    The constants of ``P`` and ``Q`` are 1.
    """
    cdef Py_ssize_t a = left.shape[0], b = right.shape[0], k, i, low, high
    cdef int64_t top
    cdef double total
    with nogil:
        out[0] = scaled(1.0, 0)
        for k in range(a + b - 1):
            low = k - b + 1 if k >= b else 0
            high = k if k < a else a - 1
            top = NOTHING
            for i in range(low, high + 1):
                top = max(top, left[i].power + right[k - i].power)
            total = 0.0
            for i in range(low, high + 1):
                total += over(left[i], right[k - i], top)
            out[k + 1] = scaled(total, top - equal)
            if k + 1 < a:
                add(&out[k + 1], left[k + 1])
            if k + 1 < b and not equal:
                add(&out[k + 1], right[k + 1])


# -- all trees ---------------------------------------------------------------------------------

cdef struct Trees:
    const double* rise
    int64_t n


cdef double next_of_trees(const void* terms, int64_t i) noexcept nogil:
    cdef const Trees* trees = <const Trees*> terms
    return trees.rise[i] * (<double> trees.n + i + 1) * (trees.n - i) / (<double> (i + 1) * (i + 2))


def all_trees(double alpha, double beta, double x, const int64_t[::1] nodes, Number[::1] out):
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
            out[k] = here


def catalans(const int64_t[::1] nodes, Number[::1] out):
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
            out[k] = here
