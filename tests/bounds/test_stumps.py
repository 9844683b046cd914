"""The stump theorems against their formulas, a maximum flow, the oracle and the stored values."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_flow
from theory_support import case, count_realizable, landscapes, samples, vectors

from treebound import Landscape, TreeShape, bounds
from treebound.bounds import counting, stumps
from treebound.bounds.splits import features_of, node_budget, nominal_splits

STUMP = TreeShape.parse("(..)")
counts = st.lists(st.integers(1, 8), min_size=1, max_size=6)


def attribution_by_flow(m: int, landscape: Landscape) -> int:
    """The slow twin: features to part sizes, as a maximum flow."""
    known = landscape.informative
    features = [("real", m)] * known.real
    features += [("ordinal", o) for o in known.ordinal] + [("nominal", n) for n in known.nominal]
    sizes = range(1, m // 2 + 1)
    sink = len(features) + len(sizes) + 1
    capacity = np.zeros((sink + 1, sink + 1), dtype=np.int32)
    for i, (kind, n) in enumerate(features, start=1):
        nominal = kind == "nominal"
        capacity[0, i] = stumps.nominal_splits(n, m) if nominal else n - 1
        for k in sizes:
            each = 1 if 2 * k == m else 2
            each = stumps.nominal_splits_of_size(n, m, k) if nominal else each
            capacity[i, len(features) + k] = each
    for k in sizes:
        capacity[len(features) + k, sink] = counting.splits_of_size(m, k)
    return maximum_flow(csr_matrix(capacity), 0, sink).flow_value


def recursion_of_the_theorem(m: int, ordinal: list[int]) -> list[int]:
    """``R_k`` by the paper's recurrence on the feature landscape conjugate."""
    widest = max(ordinal)
    bar = [sum(o - 1 >= c for o in ordinal) for c in range(1, widest)] + [0, 0, 0, 0]
    computed = []
    for k in range(1, m // 2 + 1):
        if 2 * k == m:
            computed.append(min(bar[0], comb(m, k) // 2))
            break
        made = min(bar[0] + bar[1], comb(m, k))
        computed.append(made)
        gamma = max((c for c in range(len(bar) - 2) if bar[c] + bar[c + 1] >= made), default=0)
        middle = bar[gamma] + bar[gamma + 1] + bar[gamma + 2] - made
        bar = [*bar[:gamma], middle, *bar[gamma + 3 :], 0, 0]
    return computed


@given(st.integers(1, 40), st.integers(0, 60))
def test_real_stump_is_half_the_sum_of_minima(m, real):
    expected = sum(min(2 * real, comb(m, k)) for k in range(1, m))
    assert 2 * stumps.real_stump_partitions(m, real) == expected


def test_worked_example_of_the_ordinal_attribution():
    row = vectors("ordinal_stump_worked_example")
    computed = stumps.ordinal_attribution(row["m"], row["O"])
    assert computed.per_size == tuple(row["R"])
    assert computed.total == sum(row["R"])
    # The left diagram of the paper's figure, row by row.
    assert computed.cells == (
        *[(0, 3, 2, 2, 1)] * 4,
        (0, 3, 2, 2),
        (3, 2, 2, 1),
        (3, 2, 2, 1),
        (3,),
        (2,),
    )


@pytest.mark.parametrize("row", vectors("ordinal_stump"), ids=str)
def test_ordinal_stump_equals_the_stored_value(row):
    assert stumps.ordinal_attribution(row["m"], row["O"]).per_size == tuple(row["R"])
    assert bounds.stump_partitions(row["m"], Landscape(ordinal=tuple(row["O"]))) == sum(row["R"])


@pytest.mark.parametrize("row", vectors("nominal_stump"), ids=str)
def test_nominal_stump_equals_the_stored_value(row):
    assert bounds.stump_partitions(row["m"], Landscape(nominal=tuple(row["N"]))) == row["bound"]


@given(st.integers(1, 16), counts)
def test_attribution_follows_the_recurrence_of_the_theorem(m, ordinal):
    computed = stumps.ordinal_attribution(m, ordinal)
    assert list(computed.per_size) == recursion_of_the_theorem(m, ordinal)
    landscape = Landscape(ordinal=tuple(ordinal))
    assert computed.total == bounds.stump_partitions(m, landscape)
    assert computed.total <= bounds.tree_partitions(STUMP, 2, m, landscape, "ordinal-by-count")


@given(st.integers(1, 16), counts)
def test_attribution_uses_a_row_no_more_than_it_may(m, ordinal):
    computed = stumps.ordinal_attribution(m, ordinal)
    assert [len(row) + 1 for row in computed.cells] == sorted(ordinal, reverse=True)
    for k, made in enumerate(computed.per_size, start=1):
        by_row = [row.count(k) for row in computed.cells]
        assert sum(by_row) == made <= counting.splits_of_size(m, k)
        assert max(by_row) <= (1 if 2 * k == m else 2)


@settings(max_examples=150)
@given(st.integers(1, 12), landscapes(real=8, columns=4, categories=7))
def test_mixture_is_the_maximum_flow(m, landscape):
    assert stumps.best_attribution(m, features_of(landscape)) == attribution_by_flow(m, landscape)


@given(st.integers(1, 12), landscapes(real=8, columns=4, categories=7, undeclared=True))
def test_attribution_never_exceeds_the_theorem_of_a_kind(m, landscape):
    for one in (
        Landscape(real=landscape.real),
        Landscape(ordinal=landscape.ordinal),
        Landscape(nominal=landscape.nominal),
    ):
        assert stumps.best_attribution(m, features_of(one)) <= bounds.stump_partitions(m, one)


@given(samples(rows=6))
def test_stump_bound_holds_on_any_sample(sample):
    X, kinds, landscape = sample
    made = count_realizable(X, kinds, STUMP, 2)
    m = len(X)
    assert made <= bounds.stump_partitions(m, landscape)
    if not landscape.nominal:
        assert made <= stumps.real_stump_partitions(m, landscape.real + len(landscape.ordinal))
    if not landscape.real and not landscape.ordinal:
        nominal = landscape.nominal
        assert made <= node_budget(m, features_of(landscape)) <= sum(nominal)
        assert made <= bounds.tree_partitions(STUMP, 2, m, landscape, "nominal-by-size")


@given(st.integers(1, 30), counts)
def test_nominal_corollaries_are_no_less_than_the_theorem(m, nominal):
    landscape = Landscape(nominal=tuple(nominal))
    theorem = bounds.stump_partitions(m, landscape)
    assert theorem <= sum(nominal_splits(n, m) for n in nominal)
    assert theorem <= bounds.tree_partitions(STUMP, 2, m, landscape, "nominal-by-size")


@given(st.integers(1, 12), landscapes(undeclared=True))
def test_more_categories_are_never_worse(m, landscape):
    more = Landscape(
        landscape.real,
        tuple(o + 1 for o in landscape.ordinal),
        tuple(None if n is None else n + 1 for n in landscape.nominal),
    )
    assert bounds.stump_partitions(m, landscape) <= bounds.stump_partitions(m, more)


def test_undeclared_column_counts_as_many_categories_as_examples():
    undeclared = Landscape(nominal=(None,))
    assert bounds.stump_partitions(9, undeclared) == bounds.stump_partitions(
        9, Landscape(nominal=(9,))
    )


@pytest.mark.parametrize("row", [r for r in vectors("pi") if r["shape"] == "(..)"], ids=str)
def test_stump_bound_lies_between_exact_value_and_every_stored_bound(row):
    _, landscape = case(row)
    computed = bounds.stump_partitions(row["m"], landscape)
    assert row["exact_pi_trivial"] <= computed <= min(row["ub"].values())
    assert computed == row["ub"].get("stump", computed)


def test_a_million_examples_are_no_trouble():
    landscape = Landscape(5, (3, 4), (2, None, 1000))
    assert bounds.stump_partitions(10**6, landscape) == 5 * 999_999 + 2 + 3 + 1 + 10**6 + 1000
    assert stumps.real_stump_partitions(10**6, 1000) == 1000 * 999_999


def test_numpy_integers_are_integers():
    assert bounds.stump_partitions(np.int64(5), Landscape(real=3)) == 11


@pytest.mark.parametrize("bad", [0, -3, 2.0, True, "5", None])
def test_sample_size_must_be_a_count(bad):
    with pytest.raises(ValueError, match="'m' parameter of stump_partitions must be an int >= 1"):
        bounds.stump_partitions(bad, Landscape(real=1))
    with pytest.raises(ValueError, match="'m' parameter of ordinal_attribution"):
        stumps.ordinal_attribution(bad, (3,))


def test_landscape_must_be_one():
    with pytest.raises(TypeError, match=r"must be a Landscape\. Got 3 instead\. Hint"):
        bounds.stump_partitions(5, 3)
