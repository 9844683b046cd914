"""Large samples, many classes, tiny shares: right values or clear errors, and no large memory."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from theory_support import balanced, chain

from treebound import Landscape, TreeShape, bounds
from treebound.bounds import _tables, counting, risk, splits, stumps
from treebound.bounds._cache import SizedCache
from treebound.bounds.splits import UNBOUNDED

MIXED = Landscape(10, (3, 5), (2, 4))


def peak_memory(job) -> int:
    """Most bytes in use while a job runs, beyond those before."""
    tracemalloc.start()
    try:
        job()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("n", [2, 3, 1000])
def test_growth_of_a_large_sample_makes_no_large_number(n):
    def job():
        for m in (10**7, 10**9, 10**12):
            assert math.isfinite(bounds.log_growth(chain(10), m, n, MIXED))

    assert peak_memory(job) < 2_000_000


def test_stump_of_a_large_sample_makes_no_large_table():
    undeclared, mixed = Landscape(nominal=(None,)), Landscape(3, (5,), (None, 7))

    def job():
        assert bounds.stump_partitions(10**12, undeclared) == 10**12
        # Three times m - 1, four thresholds, m categories, seven categories.
        assert bounds.stump_partitions(10**12, mixed) == 3 * (10**12 - 1) + 4 + 10**12 + 7

    assert peak_memory(job) < 1_000_000


@given(st.integers(1, 60), st.one_of(st.just(UNBOUNDED), st.integers(2, 9)), st.integers(0, 9))
def test_splits_of_a_nominal_feature_beyond_a_size(m, categories, t):
    made = sum(splits.nominal_splits_of_size(categories, m, k) for k in range(t + 1, (m + 1) // 2))
    enough = splits.nominal_splits(categories, m)
    assert splits.nominal_splits_beyond(categories, m, t) == min(made, enough)


@given(st.integers(1, 400), st.integers(2, 12), st.integers(0, 10**9))
def test_stirling_number_cut_at_a_limit(m, c, limit):
    assert counting.stirling_at_most(m, c, limit) == min(counting.stirling(m, c), limit)


def test_large_exact_sums_finish():
    shape = TreeShape.parse("((..)(..))")
    for landscape in (MIXED, Landscape(real=20)):
        computed = bounds.partitions(shape, 2, 2000, landscape)
        assert 10**9 < computed < 10**16
        assert math.log(computed) <= bounds.log_growth(shape, 2000, 2, landscape, form="tight")


@pytest.mark.parametrize(
    "call",
    [
        lambda m: bounds.log_growth(chain(3), m, 2, MIXED),
        lambda m: bounds.log_growth_leaves(3, m, 2, MIXED),
        lambda m: bounds.partitions(chain(3), 2, m, MIXED),
        lambda m: bounds.tree_partitions(chain(3), 2, m, MIXED, "fast"),
        lambda m: bounds.shawe_taylor(m, 5, 10.0),
        lambda m: bounds.vapnik(m, 5, 10.0),
        lambda m: bounds.tail_inversion(m, 5, lambda total: 10.0),
        lambda m: bounds.binomial_upper(m, 5),
        lambda m: stumps.ordinal_attribution(m, (3, 4)),
    ],
)
def test_samples_past_the_range_are_refused(call):
    with pytest.raises(
        ValueError, match=r"'m' parameter of \w+ must be an int from 1 to .* digits"
    ):
        call(10**400)


def test_sums_over_part_sizes_report_where_they_end():
    with pytest.raises(ValueError, match=r"at most 1,000,000 for form='tight'.*Hint: form='best'"):
        bounds.log_growth(chain(3), 10**9, 2, MIXED, form="tight")
    with pytest.raises(ValueError, match=r"exact sum over part sizes.*theorem='fast'"):
        bounds.partitions(chain(3), 2, 10**9, MIXED)


def test_the_least_double_is_a_share():
    tiny = 5e-324
    log_quarter = math.log(tiny) - math.log(4)
    expected = (2 * 5 + 4 * (10 - log_quarter)) / 100
    assert bounds.shawe_taylor(100, 5, 10.0, delta=tiny, error_prior=None) == pytest.approx(
        expected
    )
    assert bounds.vapnik(100, 5, 10.0, delta=tiny) > 1
    assert bounds.tail_inversion(100, 5, lambda total: 10.0, delta=tiny) == 1.0
    computed = bounds.binomial_upper(100, 5, tiny)
    log_tail = math.log(math.comb(100, 5)) + 5 * math.log(computed) + 95 * math.log1p(-computed)
    assert log_tail == pytest.approx(math.log(tiny), rel=1e-3)


def test_a_thousand_classes_and_two_hundred_leaves():
    computed = bounds.log_growth(chain(200), 300, 1000, MIXED)
    assert computed <= bounds.log_growth(chain(200), 300, 1000, MIXED, form="chain")


class TestTablesAreKept:
    """The result of a call does not depend on the calls before it."""

    @pytest.mark.parametrize("form", ["tight", "chain-sum", "best"])
    @pytest.mark.parametrize("landscape", [Landscape(real=4), MIXED], ids=["real", "mixed"])
    def test_order_of_calls_does_not_matter(self, form, landscape):
        calls = [
            (balanced(3), 60, 3),
            (balanced(2), 90, 3),
            (chain(6), 40, 3),
            (balanced(3), 120, 3),
        ]

        def values(order):
            _tables._kept.clear()
            computed = {}
            for shape, m, n in order:
                computed[shape, m] = bounds.log_growth(shape, m, n, landscape, form=form)
            return computed

        assert values(calls) == values(calls[::-1]) == values(calls + calls)

    def test_a_related_shape_computes_its_new_subtrees_only(self, monkeypatch):
        _tables._kept.clear()
        made = []
        extended = _tables.Tables.extended

        def counted(self, shape, *arguments):
            made.append(shape)
            return extended(self, shape, *arguments)

        monkeypatch.setattr(_tables.Tables, "extended", counted)
        bounds.log_growth(balanced(3), 80, 2, MIXED, form="best")
        assert made == [balanced(1), balanced(2), balanced(3)]
        made.clear()
        other = TreeShape.node(balanced(2), chain(3))
        bounds.log_growth(other, 80, 2, MIXED, form="best")
        assert made == [chain(3), other]

    def test_no_more_is_kept_than_allowed(self):
        cache: SizedCache[np.ndarray] = SizedCache(100)
        for key in range(20):
            cache.put(key, np.zeros(30), 30)
        assert cache.size == 90
        assert [key for key in range(20) if cache.get(key) is not None] == [17, 18, 19]
        cache.put(17, np.zeros(10), 10)
        assert cache.size == 70
        cache.clear()
        assert cache.get(17) is None


def test_shares_in_risk_bounds_stay_finite_for_the_largest_sample():
    assert 0 < risk.tail_inversion(10**12, 10**9, lambda total: 10.0) < 0.00101
