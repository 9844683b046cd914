"""The chain lemma and the chain closed form: against slow exact twins and the oracle."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from theory_support import balanced, case, chain, landscapes, samples, shapes, vectors

from treebound import Landscape, TreeShape, bounds
from treebound.bounds import _sums
from treebound.bounds._scaled import of_integers
from treebound.bounds.enumerate import realizable_growth, realizable_partitions
from treebound.bounds.splits import features_of

LEAF = TreeShape.leaf()
Polynomial = list[Fraction]


def log_of(value: Fraction) -> Decimal:
    """Natural logarithm to forty digits."""
    with localcontext() as context:
        context.prec = 40
        return Decimal(value.numerator).ln() - Decimal(value.denominator).ln()


def never_below(computed: float, value: Fraction, *, rel: float = 1e-9) -> bool:
    """Return True if a logarithm is that of a number, rounded up by little."""
    exact = log_of(value)
    return exact <= Decimal(computed) <= exact + Decimal(rel) * max(exact, 1)


def categorical_pairs(landscape: Landscape, m: int) -> int:
    """``B``: categorical tests times directions."""
    ordinal = sum(min(o, m) - 1 for o in landscape.ordinal)
    nominal = sum({1: 0, 2: 1}.get(n, m if n is None else min(n, m)) for n in landscape.nominal)
    return 2 * (ordinal + nominal)


# -- the twins: polynomials in X, expanded, with binom(m-1, j) for X^j ---------------------------


def plus(*terms: Polynomial) -> Polynomial:
    size = max(map(len, terms))
    return [sum((t[j] for t in terms if j < len(t)), Fraction(0)) for j in range(size)]


def times(one: Polynomial, other: Polynomial) -> Polynomial:
    out = [Fraction(0)] * (len(one) + len(other) - 1)
    for i, x in enumerate(one):
        for j, y in enumerate(other):
            out[i + j] += x * y
    return out


def read(polynomial: Polynomial, m: int) -> Fraction:
    return sum((c * math.comb(m - 1, j) for j, c in enumerate(polynomial)), Fraction(0))


def shape_polynomial(shape: TreeShape, z: Polynomial) -> Polynomial:
    if shape.left is None or shape.right is None:
        return [Fraction(1)]
    left = shape_polynomial(shape.left, z)
    if shape.left is shape.right:
        return plus(left, [c / 2 for c in times(z, times(left, left))])
    right = shape_polynomial(shape.right, z)
    return plus(left, right, [Fraction(-1)], times(z, times(left, right)))


def chain_of_shape(shape: TreeShape, m: int, n: int, landscape: Landscape) -> Fraction:
    z = [Fraction(n * categorical_pairs(landscape, m)), Fraction(2 * landscape.real * (n - 1))]
    return cut(n * read(shape_polynomial(shape, z), m), m, n)


def chain_of_leaves(leaves: int, m: int, n: int, landscape: Landscape) -> Fraction:
    """By the recurrence of the proof, not by the sum it is solved by."""
    y = [Fraction(n * categorical_pairs(landscape, m), 2), Fraction(landscape.real * (n - 1))]
    known: list[Polynomial] = [[], [Fraction(1)]]
    for size in range(2, leaves + 1):
        pairs = [times(known[i], known[size - i]) for i in range(1, size)]
        known.append(plus(known[-1], times(y, plus(*pairs))))
    return cut(n * read(known[leaves], m), m, n)


def cut(value: Fraction, m: int, n: int) -> Fraction:
    """At most ``n^m``, which is not made where it is far above."""
    return min(Fraction(n**m), value) if m <= 1000 else value


@settings(max_examples=150)
@given(shapes(8), st.integers(1, 60), st.integers(1, 9), landscapes(undeclared=True))
def test_chain_form_is_the_formula_and_not_below(shape, m, n, landscape):
    computed = bounds.log_growth(shape, m, n, landscape, form="chain")
    if not landscape.informative.n_features or m == 1:
        assert computed == math.log(n)
    else:
        assert never_below(computed, chain_of_shape(shape, m, n, landscape.informative))


@settings(max_examples=50)
@given(st.integers(1, 12), st.integers(1, 60), st.integers(1, 6), landscapes(undeclared=True))
def test_chain_form_of_all_trees_is_the_recurrence_and_not_below(leaves, m, n, landscape):
    computed = bounds.log_growth_leaves(leaves, m, n, landscape, form="chain")
    if not landscape.informative.n_features or m == 1:
        assert computed == math.log(n)
    else:
        assert never_below(computed, chain_of_leaves(leaves, m, n, landscape.informative))


@pytest.mark.parametrize(
    ("leaves", "real", "n", "row"),
    [
        (6, 10, 2, (51.65, 48.19, 52.62, 49.15)),
        (6, 20, 10, (64.78, 64.25, 65.74, 65.21)),
        (20, 20, 2, (188.24, 175.08, 197.06, 183.89)),
        (75, 20, 2, (637.76, 586.54, 682.70, 631.48)),
    ],
)
def test_table_of_the_notes(leaves, real, n, row):
    landscape = Landscape(real=real)
    computed = [
        of(form)
        for of in (
            lambda form: bounds.log_growth(chain(leaves), 2000, n, landscape, form=form),
            lambda form: bounds.log_growth_leaves(leaves, 2000, n, landscape, form=form),
        )
        for form in ("closed", "chain")
    ]
    assert [round(one, 2) for one in computed] == list(row)


@settings(max_examples=60)
@given(
    shapes(7, least=2),
    st.sampled_from([10**3, 10**6, 10**12, 10**15, 10**18 + 1, 10**40]),
    st.sampled_from([2, 3, 1000]),
    landscapes(real=50, undeclared=True),
)
def test_closed_forms_of_large_samples_are_not_below(shape, m, n, landscape):
    known = landscape.informative
    if known.n_features == 0:
        return
    tests = Fraction(categorical_pairs(known, m))
    z: Polynomial = [Fraction(1)]
    for _ in range(shape.nodes):
        z = times(z, [n * tests, Fraction(2 * n * known.real)])
    closed = n * read(z, m) / 2**shape.symmetries
    assert never_below(bounds.log_growth(shape, m, n, landscape, form="closed"), closed)
    computed = bounds.log_growth(shape, m, n, landscape, form="chain")
    assert never_below(computed, chain_of_shape(shape, m, n, known))


@pytest.mark.parametrize("leaves", [2, 5, 32, 75])
@pytest.mark.parametrize("m", [100, 10**6, 10**12])
@pytest.mark.parametrize("landscape", [Landscape(real=3), Landscape(20, (3,), (2, 4))], ids=str)
def test_all_trees_with_many_leaves_are_not_below(leaves, m, landscape):
    nodes = leaves - 1
    half = [
        Fraction(categorical_pairs(landscape, m)),
        Fraction(2 * landscape.real),
    ]  # n = 2, halved
    y: Polynomial = [Fraction(1)]
    for _ in range(nodes):
        y = times(y, half)
    closed = 2 * math.comb(2 * nodes, nodes) // leaves * read(y, m)
    computed = bounds.log_growth_leaves(leaves, m, 2, landscape, form="closed")
    assert never_below(computed, closed)
    if leaves <= 5:
        computed = bounds.log_growth_leaves(leaves, m, 2, landscape, form="chain")
        assert never_below(computed, chain_of_leaves(leaves, m, 2, landscape))


def test_polynomial_of_a_shape_leaves_the_range_of_a_double():
    # A caterpillar has P = (1 + Z)^(N-1) (1 + Z/2).
    shape, n, real = chain(1300), 2, 5
    computed = bounds.log_growth(shape, 10**6, n, Landscape(real=real), form="chain")
    nodes, a = shape.nodes, 2 * real
    exact = Fraction(0)
    for j in range(nodes + 1):
        half = Fraction(math.comb(nodes - 1, j - 1), 2) if j else Fraction(0)
        coefficient = math.comb(nodes - 1, j) + half
        exact += coefficient * a**j * math.comb(10**6 - 1, j)
    assert never_below(computed, n * exact)


def test_ten_thousand_leaves_are_what_each_number_is():
    leaves = np.array([1, 2, 75, 1000, 10_000])
    for landscape in (Landscape(real=3), Landscape(3, (), (4, None)), Landscape(nominal=(3, 7))):
        many = bounds.log_growth_leaves(np.arange(1, 10_001), 10**5, 3, landscape)
        one = [bounds.log_growth_leaves(int(size), 10**5, 3, landscape) for size in leaves]
        np.testing.assert_allclose(many[leaves - 1], one, rtol=1e-13)
        backwards = bounds.log_growth_leaves(leaves[::-1], 10**5, 3, landscape)
        np.testing.assert_array_equal(backwards[::-1], one)


# -- the lemma itself, and the count made of it --------------------------------------------------


def labellings(X: np.ndarray, shape: TreeShape, n: int) -> set[tuple[int, ...]]:
    """``F_T(S)`` on a sample of real features, from the oracle's partitions."""
    computed = set()
    for c in range(1, min(n, len(X), shape.leaves) + 1):
        for parts in realizable_partitions(X, ["real"] * X.shape[1], shape, c):
            for names in permutations(range(n), c):
                label = [0] * len(X)
                for part, name in zip(parts, names, strict=True):
                    for row in part:
                        label[row] = name
                computed.add(tuple(label))
    return computed


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize(
    "texts", [(".", "."), ("(..)", "."), ("(..)", "(..)"), ("((..).)", "(..)")]
)
def test_chain_lemma_counts_one_feature_and_direction_exactly(texts, n):
    first, second = map(TreeShape.parse, texts)
    rng = np.random.default_rng(len(texts[0]) + n)
    for _ in range(4):
        m = 5
        X = np.column_stack([rng.permutation(m) for _ in range(2)]).astype(float)
        X = X[np.argsort(X[:, 0])]  # in the order of the feature at the root
        made = set()
        sizes_1, sizes_2 = [1], [1] * (m + 1)
        for k in range(m + 1):
            low = labellings(X[:k], first, n) if k else {()}
            high = labellings(X[k:], second, n) if k < m else {()}
            made |= {a + b for a, b in product(low, high)}
            sizes_1 += [len(low)] if k else []
            sizes_2[k] = len(high)
        a = [Fraction(size, n**k) for k, size in enumerate(sizes_1)] + [Fraction(0)]
        b = [Fraction(size, n ** (m - k)) for k, size in enumerate(sizes_2)]
        share = sum((a[k] - a[k + 1]) * b[k] for k in range(m + 1))
        assert share * n**m == len(made)


def union_of_chains(a: list, b: list, n: int, m: int, count: int) -> Fraction:
    """The lesser of cap and star, as shares, straight from their definitions."""
    fall = [a[k] - a[k + 1] for k in range(m)] + [a[m]]
    q = [sum((fall[k] * b[k] for k in range(s, m + 1)), Fraction(0)) for s in range(m + 2)]
    cap, left = Fraction(0), count
    for level in range(1, m):
        taken = min(left, math.comb(m, level))
        cap += taken * q[level]
        left -= taken
    # No x below n / n^m: a tree realizes the constant labellings.
    tried = [b[0]] + [b[k] / n**k for k in range(1, m) if b[k] / n**k <= b[0]]

    def star(x: Fraction) -> Fraction:
        every = sum((fall[k] * min(b[k], n**k * x) for k in range(1, m + 1)), Fraction(0))
        return count * every - (count - 1) * x

    return min(cap, max(star(x) for x in tried))


def as_growth(numbers: list[int], n: int) -> list[int]:
    """A function that could be a growth function, of whole numbers that are doubles.

    It never falls and grows at most n-fold; a number of -1 stands for n-fold.
    """
    computed = [1, n]
    for number in numbers:
        value = computed[-1] + number % ((n - 1) * computed[-1] + 1)
        zeros = max(0, value.bit_length() - 50)
        computed.append(value >> zeros << zeros)
    return computed


RISES = st.lists(st.integers(0, 2**600) | st.sampled_from([-1, -2, 0]), min_size=9, max_size=9)


@settings(max_examples=100)
@given(RISES, RISES, st.integers(1, 40), st.sampled_from([2, 3, 5, 2**150]), st.booleans())
def test_chain_counts_in_floats_are_those_in_fractions(some, more, features, n, equal):
    """Cap and star, also for numbers past the range of a double."""
    one = as_growth(some, n)
    other = one if equal else as_growth(more, n)
    last = len(one) - 1
    children = [of_integers(growth)[None] for growth in (one, other)]
    tests, ways = np.array([[0.0, math.inf, features]]), np.zeros((1, 3), dtype=np.int32)
    computed = of_integers([n**k for k in range(last + 1)])
    by_chains = np.zeros(last + 1, dtype=np.bool_)
    arrays = (*children, tests, ways)
    _sums.node(*arrays, n, equal, 1, 1, _sums.CHAINS, last, computed, by_chains, 2, last)
    for m in range(2, last + 1):
        unions = []
        for low, high in ((one, other), (other, one)):
            a = [Fraction(low[k], n**k) for k in range(m + 1)] + [Fraction(0)]
            b = [Fraction(high[m - k], n ** (m - k)) for k in range(m + 1)]
            unions.append(n**m * union_of_chains(a, b, n, m, features * (1 if equal else 2)))
        mantissa, power = computed[m]
        value = Fraction(float(mantissa)) * Fraction(2) ** int(power)
        least = min(*unions, n**m)
        assert least <= value <= least * (1 + Fraction(1, 10**9))


def chain_sum(shape: TreeShape, m: int, n: int, landscape: Landscape) -> Fraction:
    """The count of the chain lemma in exact fractions, all sizes by recursion."""
    return chain_sums(shape, m, n, landscape.informative)[m]


def chain_sums(shape: TreeShape, most: int, n: int, landscape: Landscape) -> list[Fraction]:
    if shape.left is None or shape.right is None:
        return [Fraction(1)] + [Fraction(n)] * most
    raw = [chain_sums(child, most, n, landscape) for child in (shape.left, shape.right)]
    equal = shape.left is shape.right
    sides = [steady(one, n) for one in raw]
    computed = [Fraction(1)]
    labels = min(n, shape.leaves)
    for m in range(1, most + 1):
        two = n + n * (n - 1) * (2 ** (m - 1) - 1)
        value = Fraction(two if labels <= 2 else n**m)
        if m > (shape.leaves if features_of(landscape).is_real else 1):
            value = min(value, node_sum(*sides, equal, m, n, landscape))
        computed.append(value)
    return computed


def steady(values: list[Fraction], n: int) -> list[Fraction]:
    computed = values[:2]
    for value in values[2:]:
        computed.append(max(min(value, n * computed[-1]), computed[-1]))
    return computed


def node_sum(left, right, equal: bool, m: int, n: int, landscape: Landscape) -> Fraction:
    tests = Fraction(categorical_pairs(landscape, m), 2 if equal else 1)
    total = tests * max(left[k] * right[m - k] for k in range(1, m)) if tests else Fraction(0)
    if not landscape.real:
        return total + (left[m] if equal else left[m] + right[m] - n)
    unions = []
    for one, other in ((left, right), (right, left)):
        a = [Fraction(1)] + [one[k] / n**k for k in range(1, m + 1)] + [Fraction(0)]
        b = [other[m - k] / n ** (m - k) for k in range(m)] + [Fraction(1)]
        unions.append(union_of_chains(a, b, n, m, landscape.real * (1 if equal else 2)))
    return total + min(unions) * n**m


@settings(max_examples=80, deadline=None)
@given(shapes(5, least=2), st.integers(2, 14), st.integers(2, 4), landscapes(real=9))
def test_chain_sum_is_the_least_of_cap_and_star(shape, m, n, landscape):
    computed = bounds.log_growth(shape, m, n, landscape, form="chain-sum")
    if not landscape.informative.n_features:
        assert computed == math.log(n)
    else:
        assert never_below(computed, chain_sum(shape, m, n, landscape))


@pytest.mark.parametrize("landscape", [Landscape(real=9), Landscape(real=4, nominal=(3,))], ids=str)
@pytest.mark.parametrize(
    "shape", [chain(4), balanced(2), TreeShape.parse("(((..).)(..))")], ids=str
)
def test_chain_sum_of_a_larger_sample(shape, landscape):
    computed = bounds.log_growth(shape, 30, 2, landscape, form="chain-sum")
    assert never_below(computed, chain_sum(shape, 30, 2, landscape))


@settings(max_examples=150, deadline=None)
@given(samples(rows=6), shapes(5), st.integers(2, 4))
def test_chain_forms_hold_on_any_sample(sample, shape, n):
    X, kinds, landscape = sample
    made = math.log(realizable_growth(X, kinds, shape, n))
    for form in ("chain", "chain-sum", "best"):
        assert made <= bounds.log_growth(shape, len(X), n, landscape, form=form), form
    assert made <= bounds.log_growth_leaves(shape.leaves, len(X), n, landscape)


@pytest.mark.parametrize("leaves", [2, 3, 4])
def test_all_trees_form_holds_for_the_union_of_all_shapes(leaves):
    rng = np.random.default_rng(leaves)
    for n, m in ((2, 6), (3, 5)):
        for _ in range(3):
            X = np.column_stack([rng.permutation(m) for _ in range(2)]).astype(float)
            everything = set()
            for size in range(1, leaves + 1):
                for shape in TreeShape.enumerate(size):
                    everything |= labellings(X, shape, n)
            for form in ("closed", "chain"):
                computed = bounds.log_growth_leaves(leaves, m, n, Landscape(real=2), form=form)
                assert math.log(len(everything)) <= computed


def test_chain_forms_are_at_least_the_exact_growth_function():
    for row in vectors("tau"):
        shape, landscape = case(row)
        for form in ("chain", "chain-sum"):
            computed = bounds.log_growth(shape, row["m"], row["n_classes"], landscape, form=form)
            assert computed >= math.log(row["exact_tau"]), (form, row)


def test_chain_sum_is_below_the_closed_form_made_of_it():
    for shape in (chain(9), balanced(3), TreeShape.parse("(((..).)(..))")):
        for landscape in (Landscape(real=7), Landscape(7, (3,), (4,))):
            computed = bounds.log_growth(shape, 300, 3, landscape, form="chain-sum")
            assert computed <= bounds.log_growth(shape, 300, 3, landscape, form="chain")


def test_chain_sum_past_the_range_of_a_double():
    shape, landscape = balanced(6), Landscape(real=100)
    computed = bounds.log_growth(shape, 700, 1000, landscape, form="chain-sum")
    assert 800 < computed <= bounds.log_growth(shape, 700, 1000, landscape, form="chain")
