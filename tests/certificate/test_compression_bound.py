"""The parts of the compression bound against enumeration and exact sums."""

from itertools import product
from math import comb, exp, lgamma, log, pi

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treebound.bounds.compression import log_labelled_plane_shapes, log_message_weight
from treebound.bounds.counting import log_binomial


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
    weight = log_message_weight(m, leaves, n_classes, columns, log(7), named, rows)
    assert exact <= weight <= exact * (1 + 1e-8)
