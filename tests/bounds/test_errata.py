"""The errata of the paper: the printed form fails where the corrected one holds.

Exact values come from the exhaustive search. Errata 12 to 16 are about growing and pruning and
are tested there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import comb, factorial

import numpy as np
import pytest
from scipy.special import lambertw
from theory_support import THEOREMS, applies, count_realizable, tree_theorems

from treebound import Landscape, TreeShape, bounds
from treebound.bounds import counting

STUMP = TreeShape.parse("(..)")
HALF = Fraction(1, 2)


def exact(shape: TreeShape, c: int, m: int, landscape: Landscape) -> int:
    """``pi^c_T(m)`` by trying every sample."""
    if c > min(m, shape.leaves):
        return 0
    if c == 1 or shape.is_leaf:
        return int(c == 1)
    computed = bounds.worst_sample(shape, c, m, landscape)
    assert computed.exact
    return computed.count


def merges(a: int, b: int, c: int) -> int:
    if not (0 <= c - b <= a and 0 <= c - a <= b and a + b >= c):
        return 0
    return comb(a, c - b) * comb(b, c - a) * factorial(a + b - c)


def joint(c: int, left: Callable[[int], int], right: Callable[[int], int]) -> int:
    pairs = product(range(1, c + 1), repeat=2)
    return sum(merges(a, b, c) * left(a) * right(b) for a, b in pairs)


def corrected_forms_hold(shape: TreeShape, c: int, m: int, landscape: Landscape) -> None:
    truth = exact(shape, c, m, landscape)
    assert truth <= bounds.partitions(shape, c, m, landscape)
    for name, theorem in THEOREMS.items():
        if applies(name, landscape):
            assert truth <= theorem(shape, c, m, landscape), name


def test_1_nominal_second_bound_is_capped_by_the_whole_binomial():
    landscape, m = Landscape(nominal=(4, 4, 4)), 4
    printed = HALF * sum(
        min(counting.splits_of_size(m, min(k, m - k)), 3 * (m // min(k, m - k)))
        for k in range(1, m)
    )
    assert printed == Fraction(11, 2) < 7 == exact(STUMP, 2, m, landscape)
    corrected_forms_hold(STUMP, 2, m, landscape)


def test_2_right_subtree_sees_the_categories_of_its_own_examples():
    landscape, m, c = Landscape(nominal=(4,)), 4, 3
    shape = TreeShape.parse("(.(..))")

    def printed_term(k: int) -> int:
        # As printed, the right child (the stump) gets N^k although it has m - k examples.
        right = Landscape(nominal=(min(4, k),))
        splits = min(counting.splits_of_size(m, min(k, m - k)), m // min(k, m - k))
        return splits * joint(c, lambda a: int(a == 1), lambda b: exact(STUMP, b, m - k, right))

    assert sum(printed_term(k) for k in range(1, m)) == 2 < 6 == exact(shape, c, m, landscape)
    corrected_forms_hold(shape, c, m, landscape)


def test_3_mixture_coefficient_is_capped_by_the_binomial():
    landscape, m = Landscape(real=1, nominal=(3,)), 4
    printed = HALF * sum(2 + m // min(k, m - k) for k in range(1, m))
    corrected = tree_theorems["mixture"](STUMP, 2, m, landscape)
    assert exact(STUMP, 2, m, landscape) == corrected == 6 < 8 == printed


def halved_in_the_loop(m: int, real: int) -> Fraction:
    """Algorithm PartiFuncUB as printed, for a stump: the halving is inside the loop."""
    total = Fraction(0)
    for _ in range(1, m):
        total = (total + 2 * real) / 2
    return min(total, Fraction(2 ** (m - 1) - 1))


def test_4_the_sum_is_halved_once_after_the_loop():
    assert halved_in_the_loop(3, 1) == Fraction(3, 2) < 2 == exact(STUMP, 2, 3, Landscape(real=1))
    corrected_forms_hold(STUMP, 2, 3, Landscape(real=1))


def test_4_the_printed_loop_gives_a_vc_dimension_that_is_too_small():
    m = 1
    while halved_in_the_loop(m, 3) >= 2 ** (m - 1) - 1:
        m += 1
    assert m - 1 == 3
    assert bounds.vc_dimension(STUMP, Landscape(real=3)) == bounds.VCDimension(4, 4)
    assert exact(STUMP, 2, 4, Landscape(real=3)) == 7


def test_5_ordinal_second_bound_is_defined_for_every_part_size():
    landscape, m = Landscape(ordinal=(3,)), 3
    # As printed R'_k exists for k <= m/2 only; the other terms are then missing.
    printed = HALF * sum(min(2, comb(m, k)) for k in range(1, m // 2 + 1))
    assert printed == 1 < 2 == exact(STUMP, 2, m, landscape)
    corrected_forms_hold(STUMP, 2, m, landscape)


def test_6_fast_form_is_not_capped_by_a_binomial():
    landscape, m = Landscape(real=3), 4
    printed = HALF * (m - 1) * min(2 * 3, comb(m, m - 1))
    assert printed == 6 < 7 == exact(STUMP, 2, m, landscape)
    corrected_forms_hold(STUMP, 2, m, landscape)


def test_7_fast_form_has_one_more_term_than_m_less_leaves():
    landscape, m = Landscape(real=1), 3
    printed = HALF * (m - 2) * 2
    assert printed == 1 < 2 == exact(STUMP, 2, m, landscape)
    corrected_forms_hold(STUMP, 2, m, landscape)


def test_8_nominal_coefficient_is_that_of_the_paper():
    landscape, m = Landscape(nominal=(3,)), 3
    printed = HALF * sum(min(3 - 1, m // min(k, m - k)) for k in range(1, m))
    assert printed == 2 < 3 == exact(STUMP, 2, m, landscape)
    corrected_forms_hold(STUMP, 2, m, landscape)


def first_nominal_bound(shape: TreeShape, c: int, m: int, nominal: tuple, sizes: range) -> int:
    """The first nominal bound with exact values for the left subtree; the right one is a leaf."""
    total = 0
    for i, n in enumerate(nominal):
        fewer = tuple(max(one - (j == i), 1) for j, one in enumerate(nominal))
        for k in sizes:
            small = min(k, m - k)
            splits = n - 1 if m > n * small else m // small
            left = Landscape(nominal=tuple(min(n, k) for n in fewer))
            total += splits * joint(
                c,
                lambda a, k=k, left=left: exact(shape.left, a, k, left) if a > 1 else 1,
                lambda b: int(b == 1),
            )
    return total


def test_9_categorical_features_need_every_part_size():
    shape, landscape, m, c = TreeShape.parse("(((..)(..)).)"), Landscape(nominal=(2, 2, 1)), 6, 3
    truth = exact(shape, c, m, landscape)
    few = range(shape.left.leaves, m - shape.right.leaves + 1)
    assert first_nominal_bound(shape, c, m, (2, 2, 1), few) == 4 < 6 == truth
    assert first_nominal_bound(shape, c, m, (2, 2, 1), range(1, m)) >= truth
    corrected_forms_hold(shape, c, m, landscape)


def test_10_a_one_sided_root_test_realizes_more_than_proper_splits():
    shape, landscape = TreeShape.parse("(((..)(..)).)"), Landscape(nominal=(2, 2, 2))
    X = np.array([[a, b, 0] for a, b in product((0, 1), repeat=2)], dtype=float)
    kinds = ["nominal"] * 3
    computed = [count_realizable(X, kinds, shape, c) for c in (2, 3, 4)]
    assert computed == [7, 6, 1]
    assert [len(by_proper_splits(X, shape, c)) for c in (2, 3, 4)] == [6, 4, 0]
    for c, made in zip((2, 3, 4), computed, strict=True):
        for name in ("nom1", "nom2", "mix", "full", "budget", "best"):
            assert made <= THEOREMS[name](shape, c, 4, landscape)
        assert made <= bounds.partitions(shape, c, 4, landscape)


def by_proper_splits(X: np.ndarray, shape: TreeShape, c: int) -> set[frozenset]:
    """Partitions when the root must send some rows each way; its right child is a leaf."""
    computed = set()
    splits = {tuple(np.flatnonzero(X[:, i] == v)) for i in range(X.shape[1]) for v in (0, 1)}
    for part in splits:
        rest = tuple(row for row in range(len(X)) if row not in part)
        if part and rest:
            for a in (c - 1, c):
                inside = bounds.realizable_partitions(X[list(part)], ["nominal"] * 3, shape.left, a)
                computed |= {one for parts in inside for one in with_leaf(parts, part, rest, a, c)}
    return computed


def with_leaf(parts: tuple, rows: tuple, rest: tuple, a: int, c: int) -> list[frozenset]:
    """The leaf's rows are a part of their own, or join one of the parts."""
    named = [frozenset(rows[i] for i in part) for part in parts]
    if a == c - 1:
        return [frozenset([*named, frozenset(rest)])]
    return [
        frozenset([*(one for one in named if one is not joined), joined | set(rest)])
        for joined in named
    ]


def test_11_a_feature_with_one_category_is_dropped():
    shape, landscape, m, c = TreeShape.parse("(((..)(..)).)"), Landscape(nominal=(2, 2, 1)), 4, 4
    printed = first_nominal_bound(shape, c, m, (2, 2, 1), range(1, m))
    assert printed == 0 < 1 == exact(shape, c, m, landscape)
    corrected_forms_hold(shape, c, m, landscape)
    same = Landscape(nominal=(2, 2))
    for name in ("nom1", "nom2", "mix", "full", "budget", "best"):
        assert THEOREMS[name](shape, c, m, landscape) == THEOREMS[name](shape, c, m, same)


def corollary(leaves, real, less):
    """The larger ``m`` with ``(14 m ell)^N = 2^(m - less)``: 0 as printed, 2 as corrected."""
    nodes = leaves - 1
    argument = -math.log(2) / (nodes * 14 * real) * 2 ** (-less / nodes)
    return float(-nodes / math.log(2) * lambertw(argument, -1).real)


def test_17_the_asymptotic_corollary_is_an_order_and_the_corrected_one_a_bound():
    printed = corollary(2, 1, 0.0)
    assert printed == pytest.approx(6.5, abs=0.05)
    assert 14 * 7 >= 2**6 - 1  # m = 7 still satisfies the inequality
    assert printed < 7 <= corollary(2, 1, 2.0)


@pytest.mark.parametrize("leaves", [2, 3, 5, 20])
@pytest.mark.parametrize("real", [1, 7, 1000])
def test_17_no_sample_size_past_the_corrected_corollary_satisfies_the_inequality(leaves, real):
    last = corollary(leaves, real, 2.0)
    nodes = leaves - 1
    satisfied = [m for m in range(1, 4 * int(last)) if (14 * m * real) ** nodes >= 2 ** (m - 1) - 1]
    assert max(satisfied) <= last
