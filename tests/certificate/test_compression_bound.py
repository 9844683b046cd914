"""The parts of the compression bound against enumeration and exact sums."""

from fractions import Fraction
from itertools import product
from math import comb, exp, lgamma, log, pi

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treebound.bounds.compression import (
    log_labelled_plane_shapes,
    log_message_weight,
    risk_upper,
)
from treebound.bounds.counting import log_binomial
from treebound.bounds.risk import binomial_upper


def labelled_plane_trees(leaves, n_classes):
    """Every plane tree with labelled leaves."""
    if leaves == 1:
        return list(range(n_classes))
    return [
        (left, right)
        for size in range(1, leaves)
        for left, right in product(
            labelled_plane_trees(size, n_classes), labelled_plane_trees(leaves - size, n_classes)
        )
    ]


def has_equal_sibling_leaves(tree):
    if isinstance(tree, int):
        return False
    left, right = tree
    if isinstance(left, int) and left == right:
        return True
    return has_equal_sibling_leaves(left) or has_equal_sibling_leaves(right)


@pytest.mark.parametrize(("n_classes", "most"), [(1, 6), (2, 6), (3, 5), (5, 4)])
def test_labelled_plane_shapes_by_enumeration(n_classes, most):
    for leaves in range(1, most + 1):
        trees = labelled_plane_trees(leaves, n_classes)
        count = sum(not has_equal_sibling_leaves(tree) for tree in trees)
        assert exp(log_labelled_plane_shapes(leaves, n_classes)) == pytest.approx(count, rel=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3, 26, 1000])
def test_labelled_plane_shapes_by_their_sum_in_whole_numbers(n_classes):
    counts = [0, n_classes, n_classes**2 - n_classes]
    for leaves in range(3, 201):
        counts.append(sum(counts[i] * counts[leaves - i] for i in range(1, leaves)))
        assert log_labelled_plane_shapes(leaves, n_classes) == pytest.approx(
            log(counts[leaves]), rel=1e-13
        )


@given(n=st.integers(0, 3000), data=st.data())
def test_log_binomial(n, data):
    k = data.draw(st.integers(0, n))
    assert log_binomial(n, k) == pytest.approx(log(comb(n, k)), rel=1e-12, abs=1e-12)


def test_log_binomial_of_huge_numbers():
    assert log_binomial(10**15, 3) == pytest.approx(3 * log(10**15) - lgamma(4), rel=1e-13)
    assert log_binomial(3, 5) == float("-inf")


@given(
    m=st.integers(1, 500), leaves=st.integers(1, 40), n_classes=st.integers(2, 5),
    columns=st.integers(1, 30), data=st.data(),
)  # fmt: skip
def test_message_weight_is_never_rounded_down(m, leaves, n_classes, columns, data):
    named = data.draw(st.integers(0, leaves - 1))
    rows = data.draw(st.integers(1, min(named, m))) if named else 0
    counts = [0, n_classes, n_classes**2 - n_classes]
    for size in range(3, leaves + 1):
        counts.append(sum(counts[i] * counts[size - i] for i in range(1, size)))
    whole = counts[leaves] * columns ** (leaves - 1) * leaves**2 * 7
    if named:
        whole *= named * comb(m, rows) * comb(named - 1, rows - 1)
    exact = log(whole) + log(pi**2 / 6)
    found = log_message_weight(m, leaves, n_classes, columns, log(7), named, rows)
    assert exact <= found <= exact * (1 + 1e-8)


def log_tail(n, k, p):
    """Log of P[Bin(n, p) <= k], from a sum in whole numbers; p a fraction or a float."""
    p = Fraction(p)
    yes, no = p.numerator, p.denominator - p.numerator
    term = total = no**n
    for i in range(k):
        term = term * (n - i) * yes // ((i + 1) * no)  # no rest
        total += term
    return log_whole(total) - log_whole(p.denominator) * n


def log_whole(number):
    shift = max(0, number.bit_length() - 900)
    return log(number >> shift) + shift * log(2)


@settings(max_examples=200)
@given(
    n=st.integers(1, 120),
    share=st.floats(0, 0.99),
    log_level=st.one_of(st.floats(-60, -0.01), st.floats(-2000, -0.01)),
)
def test_risk_upper_against_exact_sums(n, share, log_level):
    k = int(share * n)
    found = risk_upper(n, k, log_level)
    assert 0.0 < found <= 1.0
    # the tail is below the level at U, and above it a little further left
    if found < 1.0:
        assert log_tail(n, k, found) <= log_level + 1e-12
    assert log_tail(n, k, min(found, 1 - 2**-53) * (1 - 1e-7)) >= log_level - 1e-9


@pytest.mark.parametrize("log_level", [-2.0, -30.0, -299.0, -301.0, -693.0, -3000.0])
@pytest.mark.parametrize(("n", "k"), [(2000, 40), (2000, 0), (1500, 900), (4000, 1)])
def test_risk_upper_of_larger_samples(n, k, log_level):
    found = risk_upper(n, k, log_level)
    p = Fraction(round(found * 2**30), 2**30)  # a short fraction just below or above
    assert log_tail(n, k, p * Fraction(2**20 + 1, 2**20)) < log_level
    assert log_tail(n, k, p * Fraction(2**20 - 1, 2**20)) > log_level


def test_risk_upper_at_the_edges():
    assert risk_upper(0, 0, -1.0) == 1.0
    assert risk_upper(10, 10, -1.0) == risk_upper(10, 12, -1.0) == 1.0
    assert risk_upper(10, 0, -1.0) == pytest.approx(1 - exp(-0.1))
    assert risk_upper(400, 12, log(0.05)) == pytest.approx(binomial_upper(400, 12, 0.05), rel=1e-8)
    assert risk_upper(10**9, 10**6, -20.0) == pytest.approx(0.001006, rel=1e-3)


def test_risk_upper_rises_with_errors_and_falls_with_the_level():
    for log_level in (-5.0, -650.0, -900.0):
        bounds = [risk_upper(300, k, log_level) for k in range(0, 300, 20)]
        assert bounds == sorted(bounds)
    levels = [-1.0, -10.0, -299.9, -300.1, -700.0, -800.0]
    bounds = [risk_upper(3000, 20, level) for level in levels]
    assert bounds == sorted(bounds)
