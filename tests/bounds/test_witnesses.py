"""Witness samples against a verifier that shares nothing with the construction."""

from __future__ import annotations

import sys
from itertools import permutations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from theory_support import count_realizable

from treebound import TreeShape
from treebound.bounds import check_witness, witness, witnesses


def stump_partitions_of(X: np.ndarray) -> set[frozenset[frozenset[int]]]:
    """Every 2-partition by a threshold, straight from the definition."""
    computed = set()
    for column in X.T.tolist():
        for threshold in column:
            low = frozenset(i for i, value in enumerate(column) if value <= threshold)
            high = frozenset(range(len(column))) - low
            if low and high:
                computed.add(frozenset({low, high}))
    return computed


def stump_bound(m: int, features: int) -> int:
    twice = sum(min(2 * features, comb(m, k)) for k in range(1, m))
    assert twice % 2 == 0
    return twice // 2


@pytest.mark.parametrize("m", range(1, 10))
def test_every_number_of_features_attains_the_bound(m):
    largest = comb(m, m // 2) // 2 + 3
    for features in range(1, largest + 1):
        X = witness(m, features)
        assert X.shape == (m, features)
        assert len(stump_partitions_of(X)) == stump_bound(m, features), features


@pytest.mark.parametrize("m", [10, 11, 12, 13])
def test_every_number_of_features_attains_the_bound_on_larger_samples(m):
    # The samples are nested, so one pass over the columns counts for every number of features.
    X = witness(m, comb(m, m // 2) // 2 + 3)
    computed = set()
    for features in range(1, X.shape[1] + 1):
        computed |= stump_partitions_of(X[:, features - 1 : features])
        assert len(computed) == stump_bound(m, features), features


@pytest.mark.parametrize("m", [4, 7, 9])
def test_samples_are_nested_and_made_of_permutations(m):
    X = witness(m, 12)
    assert all(sorted(column) == list(range(m)) for column in X.T.tolist())
    for features in range(1, 12):
        assert np.array_equal(witness(m, features), X[:, :features])


def test_callers_own_the_array():
    X = witness(6, 2)
    X[:] = 0
    assert check_witness(witness(6, 2)).attained


@given(st.integers(1, 7), st.integers(1, 4), st.data())
def test_checker_counts_like_the_definition_and_the_oracle(m, features, data):
    values = st.lists(st.integers(0, 5), min_size=features, max_size=features)
    X = np.array(data.draw(st.lists(values, min_size=m, max_size=m)))
    check = check_witness(X)
    assert check.count == sum(check.by_size) == len(stump_partitions_of(X)) <= check.bound
    assert check.count == count_realizable(X, ["real"] * features, TreeShape.parse("(..)"), 2)


def test_bound_is_attained_by_no_accident():
    # Two features on five rows: most pairs of permutations fall short.
    attained = sum(
        check_witness(np.array([range(5), order]).T).attained for order in permutations(range(5))
    )
    assert 0 < attained < 60


def test_the_same_sample_every_time():
    """The matching library picks any of many optimal matchings; ours must be one of its own."""
    from treebound.bounds.witnesses import _orders

    first = witness(9, 20)
    _orders.cache_clear()
    np.testing.assert_array_equal(first, witness(9, 20))


def test_without_a_matching_library_the_hint_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "rustworkx", None)
    with pytest.raises(ModuleNotFoundError, match=r"needs rustworkx.*pip install 'rustworkx>="):
        witnesses._orders.__wrapped__(5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: witness(0, 1), r"'m' parameter of witness must be an int >= 1"),
        (lambda: witness(3, -1), r"'l' parameter of witness must be an int >= 1. Got -1"),
        (lambda: check_witness([1, 2]), r"'X' parameter of check_witness .* shape \(2,\)"),
        (lambda: check_witness(np.empty((3, 0))), r"shape \(m, l\), neither 0"),
    ],
)
def test_wrong_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
