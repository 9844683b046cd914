"""The feature landscape: what it accepts, what it drops, and how few examples cut it."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from theory_support import landscapes

from treebound import Landscape
from treebound.bounds.splits import cut, features_of


@given(landscapes(undeclared=True))
def test_counts_are_kept_as_tuples_of_ints(landscape):
    assert isinstance(landscape.ordinal, tuple)
    assert isinstance(landscape.nominal, tuple)
    counted = landscape.real + len(landscape.ordinal) + len(landscape.nominal)
    assert landscape.n_features == counted
    assert pickle.loads(pickle.dumps(landscape)) == landscape
    assert hash(landscape) == hash(eval(repr(landscape), {"Landscape": Landscape}))


def test_numpy_counts_and_any_sequence_are_accepted():
    computed = Landscape(np.int64(2), [3, np.int32(4)], iter([2, None]))
    assert computed == Landscape(2, (3, 4), (2, None))
    assert type(computed.real) is int


@given(landscapes(undeclared=True))
def test_columns_with_one_category_are_dropped(landscape):
    known = landscape.informative
    assert 1 not in known.ordinal + known.nominal
    assert known.informative == known


@given(landscapes(categories=9, undeclared=True), st.integers(1, 12))
def test_no_more_categories_than_examples(landscape, m):
    features = features_of(landscape)
    shown = cut(features, m)
    assert shown.real == landscape.real
    assert shown.ordinal == tuple(min(o, m) for o in features.ordinal if m > 1)
    assert shown.nominal == tuple(min(n, m) for n in features.nominal if m > 1)
    assert cut(shown, m) == shown


@pytest.mark.parametrize("bad", [-1, 1.0, True, "2", None])
def test_number_of_real_features_must_be_a_count(bad):
    with pytest.raises(ValueError, match=r"'real' parameter of Landscape must be .* an int >= 0"):
        Landscape(real=bad)


@pytest.mark.parametrize("bad", [0, -2, 1.5, True, "3"])
@pytest.mark.parametrize("kind", ["ordinal", "nominal"])
def test_category_counts_must_be_counts(kind, bad):
    with pytest.raises(ValueError, match=f"'{kind}' parameter of Landscape must be .* an int >= 1"):
        Landscape(**{kind: (3, bad)})


def test_only_nominal_columns_may_be_undeclared():
    assert Landscape(nominal=(None,)).nominal == (None,)
    with pytest.raises(ValueError, match="'ordinal' parameter"):
        Landscape(ordinal=(None,))


@pytest.mark.parametrize("bad", [3, "34", None])
@pytest.mark.parametrize("kind", ["ordinal", "nominal"])
def test_category_counts_come_as_a_sequence(kind, bad):
    with pytest.raises(ValueError, match="must be a sequence of category counts"):
        Landscape(**{kind: bad})


def test_a_landscape_does_not_change():
    with pytest.raises(AttributeError):
        Landscape(real=1).real = 2
