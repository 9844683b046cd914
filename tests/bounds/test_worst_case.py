"""The search for worst samples: exact where it is full, honest where it climbs."""

from __future__ import annotations

from functools import partial
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from theory_support import count_realizable, vectors

from treebound import Landscape, TreeShape
from treebound.bounds import partitions, tree_partitions, worst_sample
from treebound.bounds.counting import stirling
from treebound.bounds.enumerate import realizable_growth
from treebound.bounds.partitioning import THEOREMS
from treebound.bounds.worst_case import worst_growth

BOUNDS = (
    partitions,
    *(partial(tree_partitions, theorem=name) for name, one in THEOREMS.items() if not one.only),
)


def landscape_of(row: dict) -> Landscape:
    return Landscape(row["real"], tuple(row["ordinal"]), tuple(row["nominal"]))


def brute_force(shape, c, m, kinds, codes):
    """Every table of codes there is, no symmetry used."""
    tables = product(*[product(range(k), repeat=m) for k in codes])
    return max(count_realizable(np.array(columns).T, kinds, shape, c) for columns in tables)


@pytest.mark.parametrize(
    ("real", "ordinal", "nominal"),
    [(1, (), (2,)), (0, (3,), (2,)), (0, (2, 2), ()), (0, (), (3, 2)), (0, (4,), ())],
)
@pytest.mark.parametrize("text", ["(..)", "((..).)"])
def test_symmetry_and_maximality_lose_no_sample(text, real, ordinal, nominal):
    shape, m = TreeShape.parse(text), 3
    kinds = ["real"] * real + ["ordinal"] * len(ordinal) + ["nominal"] * len(nominal)
    codes = [m] * real + [*ordinal, *nominal]
    worst = worst_sample(shape, 2, m, Landscape(real, ordinal, nominal))
    assert worst.exact
    assert worst.count == brute_force(shape, 2, m, kinds, codes)


@pytest.mark.heavy
def test_exact_partitioning_functions_of_the_vectors():
    for row in vectors("pi"):
        shape, landscape = TreeShape.parse(row["shape"]), landscape_of(row)
        worst = worst_sample(shape, row["c"], row["m"], landscape)
        assert (worst.count, worst.exact) == (row["exact_pi_trivial"], True), row
        assert worst.count >= row["exact_pi"]  # the rule sets of the paper


def test_exact_growth_functions_of_the_vectors():
    for row in vectors("tau"):
        shape = TreeShape.parse(row["shape"])
        worst = worst_growth(shape, row["m"], row["n_classes"], landscape_of(row))
        assert (worst.count, worst.exact) == (row["exact_tau"], True), row


def test_climbing_never_claims_more_than_the_full_search():
    for text, landscape in [
        ("((..).)", Landscape(real=2)),
        ("((..)(..))", Landscape(nominal=(2, 2, 2))),
        ("(..)", Landscape(ordinal=(4, 3), nominal=(3,))),
    ]:
        shape = TreeShape.parse(text)
        full = worst_sample(shape, 2, 5, landscape, max_samples=10**6)
        few = worst_sample(shape, 2, 5, landscape, max_samples=12)
        assert full.exact
        assert few.count <= full.count
        assert few.tried <= 12


SMALL_SHAPES = [shape for leaves in range(2, 6) for shape in TreeShape.enumerate(leaves)]
CATEGORIES = st.integers(1, 4)


@settings(max_examples=60)
@given(
    st.sampled_from(SMALL_SHAPES),
    st.integers(2, 4),
    st.integers(2, 5),
    st.builds(
        Landscape,
        st.integers(0, 2),
        st.lists(CATEGORIES, max_size=2),
        st.lists(st.none() | CATEGORIES, max_size=2),
    ),
)
def test_no_sample_exceeds_a_theorem(shape, c, m, landscape):
    worst = worst_sample(shape, c, m, landscape, max_samples=60)
    for bound in BOUNDS:
        assert worst.count <= bound(shape, c, m, landscape), bound.__name__


def test_climbing_reaches_the_stump_bound_on_a_larger_sample():
    worst = worst_sample(TreeShape.parse("(..)"), 2, 8, Landscape(real=2), max_samples=2000)
    assert worst.count == 14  # 2 (m - 1), all a stump on two features can do
    assert not worst.exact  # the search itself cannot know


def test_sample_realizes_what_is_claimed():
    landscape = Landscape(real=1, ordinal=(3,), nominal=(None,))
    shape = TreeShape.parse("((..).)")
    for m, c in ((4, 3), (7, 2)):
        worst = worst_sample(shape, c, m, landscape, max_samples=300)
        assert worst.X.shape == (m, 3)
        assert worst.kinds == ("real", "ordinal", "nominal")
        assert count_realizable(worst.X, worst.kinds, shape, c) == worst.count
    grown = worst_growth(shape, 5, 3, landscape, max_samples=300)
    assert realizable_growth(grown.X, grown.kinds, shape, 3) == grown.count


def test_search_stops_at_its_limit():
    shape, landscape = TreeShape.parse("((..).)"), Landscape(real=3)
    early = worst_sample(shape, 2, 6, landscape, stop_at=5)
    assert early.count >= 5
    assert not early.exact
    assert early.tried < worst_sample(shape, 2, 6, landscape, max_samples=500).tried


def test_everything_there_is_is_exact_however_it_was_found():
    worst = worst_sample(TreeShape.parse("(((..).)(..))"), 2, 5, Landscape(real=9), max_samples=50)
    assert worst.count == stirling(5, 2)
    assert worst.exact


def test_same_seed_same_sample():
    shape, landscape = TreeShape.parse("((..)(..))"), Landscape(real=3)
    one, two = (worst_sample(shape, 2, 9, landscape, max_samples=50) for _ in range(2))
    assert np.array_equal(one.X, two.X)
    assert one.count == two.count


def test_without_features_only_the_whole_sample_remains():
    for c, count in ((1, 1), (2, 0)):
        worst = worst_sample(TreeShape.parse("(..)"), c, 3, Landscape())
        assert (worst.count, worst.exact, worst.X.shape) == (count, True, (3, 0))


def test_wrong_arguments_are_named():
    shape, landscape = TreeShape.leaf(), Landscape(real=1)
    with pytest.raises(ValueError, match="'m' parameter of worst_sample must be an int >= 1"):
        worst_sample(shape, 1, 0, landscape)
    with pytest.raises(ValueError, match="'c' parameter of worst_sample must be an int >= 1"):
        worst_sample(shape, 0, 1, landscape)
    with pytest.raises(TypeError, match="'landscape' parameter of worst_growth"):
        worst_growth(shape, 3, 2, 5)
