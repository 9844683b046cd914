"""VC dimensions: exact ones, bounds from both sides, and the formulas of related work."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from theory_support import balanced, case, chain, landscapes, shapes, vectors

from treebound import Landscape, TreeShape, bounds
from treebound.bounds import _shatter, related, stumps, vc
from treebound.bounds import enumerate as oracle
from treebound.bounds._lower import SHATTERED, stump_shatters
from treebound.bounds._recursion import features_of

STUMP = TreeShape.parse("(..)")


def shatters(shape: TreeShape, X: np.ndarray, kinds: list[str]) -> bool:
    return oracle.count_realizable(X, kinds, shape, 2) == 2 ** (len(X) - 1) - 1


def by_trying_every_sample(shape: TreeShape, landscape: Landscape) -> int:
    """VC dimension without real features: no example need come twice."""
    kinds = ["ordinal"] * len(landscape.ordinal) + ["nominal"] * len(landscape.nominal)
    counts = landscape.ordinal + landscape.nominal
    points = list(product(*(range(count) for count in counts)))
    size = 1
    while size < len(points) and any(
        shatters(shape, np.array(some, dtype=float), kinds)
        for some in combinations(points, size + 1)
    ):
        size += 1
    return size


def test_stumps_on_real_features_are_exact():
    for real, exact in vectors("vc_stump_real_exact").items():
        assert vc.stump_vc_dimension(int(real)) == exact
        found = bounds.vc_dimension(STUMP, Landscape(real=int(real)))
        assert found == bounds.VCDimension(exact, exact)
        assert found.exact


@pytest.mark.parametrize(
    "row", vectors("vc_real_exact"), ids=lambda row: f"{row['shape']}-{row['l']}"
)
def test_bounds_enclose_what_the_exhaustive_search_found(row):
    found = bounds.vc_dimension(TreeShape.parse(row["shape"]), Landscape(real=row["l"]))
    assert found.upper <= row["upper_bound"]
    assert found.upper >= row["lower"]
    if row["exact_vc"] is not None:
        assert found.lower <= row["exact_vc"] <= found.upper


@pytest.mark.parametrize(("text", "uppers"), vectors("vc_upper_real").items())
def test_upper_bound_is_no_more_than_the_papers(text, uppers):
    shape = TreeShape.parse(text)
    lowers = vectors("vc_lower_real_yildiz")[text]
    for real, (lower, upper) in enumerate(zip(lowers, uppers, strict=True), start=1):
        found = bounds.vc_dimension(shape, Landscape(real=real))
        assert vc.sum_of_children_vc_dimension(shape, real) == lower
        assert lower <= found.lower <= found.upper <= upper


@pytest.mark.parametrize("row", vectors("vc_upper_best_categorical"), ids=str)
def test_upper_bound_is_no_more_than_the_stored_one_with_categories(row):
    shape, landscape = case(row)
    assert bounds.vc_dimension(shape, landscape).upper <= row["vc_upper"]


@pytest.mark.parametrize("text", ["(..)", "((..).)", "((..)(..))", "(((..).).)"])
@pytest.mark.parametrize(
    "landscape",
    [
        Landscape(ordinal=(3,)),
        Landscape(ordinal=(3, 2)),
        Landscape(ordinal=(2, 2, 2)),
        Landscape(nominal=(4,)),
        Landscape(nominal=(2, 3)),
        Landscape(ordinal=(3,), nominal=(3,)),
        Landscape(ordinal=(2,), nominal=(4,)),
        Landscape(nominal=(3, 3)),
    ],
    ids=str,
)
def test_bounds_enclose_the_exact_value_with_categories(text, landscape):
    shape = TreeShape.parse(text)
    found = bounds.vc_dimension(shape, landscape)
    assert found.lower <= by_trying_every_sample(shape, landscape) <= found.upper


@pytest.mark.parametrize(
    ("text", "sample"), [(text, one) for text, many in SHATTERED.items() for one in many]
)
def test_stored_samples_are_shattered(text, sample):
    shape = TreeShape.parse(text)
    X = np.argsort(np.array(sample), axis=1).T.astype(float)
    assert shatters(shape, X, ["real"] * X.shape[1])
    found = bounds.vc_dimension(shape, Landscape(real=X.shape[1]))
    assert found.lower >= len(X)
    assert len(X) > vc.sum_of_children_vc_dimension(shape, X.shape[1])


@settings(max_examples=60)
@given(shapes(5, least=2), landscapes(categories=6, undeclared=True))
def test_growth_in_floats_is_the_exact_growth(shape, landscape):
    if landscape.is_empty:
        return
    features = features_of(landscape)
    growth = _shatter.growth_of(shape, features, 10)
    for m in range(2, 10):
        exact = 2 + 2 * bounds.partitions(shape, 2, m, landscape)
        assert math.ldexp(growth.mantissa[m], int(growth.power[m])) == exact


@settings(max_examples=60)
@given(shapes(5, least=2), landscapes(categories=4))
def test_upper_bound_is_where_the_partition_bound_first_fails(shape, landscape):
    upper = bounds.vc_dimension(shape, landscape).upper
    if landscape.is_empty or upper > 12:
        return
    for m in range(2, upper + 1):
        assert bounds.partitions(shape, 2, m, landscape) == 2 ** (m - 1) - 1
    assert bounds.partitions(shape, 2, upper + 1, landscape) < 2**upper - 1


@settings(max_examples=40)
@given(shapes(7), landscapes(real=9, columns=1, categories=9, undeclared=True))
def test_lower_bound_never_exceeds_the_upper(shape, landscape):
    found = bounds.vc_dimension(shape, landscape)
    assert 1 <= found.lower <= found.upper
    assert found.exact == (found.lower == found.upper)


@given(shapes(8), st.integers(1, 40))
def test_one_real_feature_alone_shatters_as_many_as_leaves(shape, categories):
    leaves = shape.leaves
    assert bounds.vc_dimension(shape, Landscape(real=1)) == bounds.VCDimension(leaves, leaves)
    found = bounds.vc_dimension(shape, Landscape(ordinal=(categories,)))
    assert found.upper == min(leaves, categories)


@settings(max_examples=40)
@given(shapes(7), landscapes(real=5, columns=1, categories=4))
def test_a_real_feature_alone_gives_the_number_of_leaves(shape, landscape):
    more = Landscape(landscape.real + 1, landscape.ordinal, landscape.nominal)
    assert bounds.vc_dimension(shape, more).lower >= shape.leaves


@pytest.mark.parametrize("landscape", [Landscape(), Landscape(ordinal=(1,), nominal=(1,))])
def test_without_informative_features_one_example_is_shattered(landscape):
    assert bounds.vc_dimension(chain(4), landscape) == bounds.VCDimension(1, 1)
    assert bounds.vc_dimension(TreeShape.leaf(), Landscape(real=9)) == bounds.VCDimension(1, 1)


def test_large_shapes_have_a_bound_too():
    found = bounds.vc_dimension(chain(3000), Landscape(real=10))
    assert 3000 < found.lower < found.upper
    asymptotic = vc.vc_dimension_asymptotic(3000, 10)
    assert found.upper < asymptotic


def test_many_categories_are_not_followed_down_the_tree():
    wide = Landscape(2, tuple(range(2, 30)), tuple(range(2, 30)))
    found = bounds.vc_dimension(balanced(3), wide)
    assert found.lower <= found.upper < bounds.vc_dimension(balanced(3), Landscape(60)).upper + 30


@given(st.integers(1, 300))
def test_stump_lower_bound_is_exact_on_binary_features(count):
    features = features_of(Landscape(nominal=(2,) * count))
    assert stump_shatters(features) == related.binary_stump_vc_dimension(count)


class TestRelatedWork:
    @given(st.integers(1, 40), st.integers(0, 45))
    def test_sauer_shelah_is_a_sum_of_binomials(self, m, d):
        exact = sum(math.comb(m, i) for i in range(d + 1))
        assert related.sauer_shelah(m, d) == exact
        assert related.log_sauer_shelah(m, d) == pytest.approx(math.log(exact), rel=1e-12)

    @given(shapes(5, least=2), st.integers(2, 14), st.integers(1, 4))
    def test_sauer_shelah_holds_with_the_upper_bound(self, shape, m, real):
        landscape = Landscape(real=real)
        d = bounds.vc_dimension(shape, landscape).upper
        if m <= d:
            assert related.sauer_shelah(m, d) == 2**m
        stump = bounds.vc_dimension(STUMP, landscape).upper
        exact = 2 + 2 * stumps.real_stump_partitions(m, real)
        assert exact <= related.sauer_shelah(m, stump)

    @pytest.mark.parametrize("count", range(1, 5))
    def test_stumps_on_binary_features(self, count):
        exact = by_trying_every_sample(STUMP, Landscape(ordinal=(2,) * count))
        assert related.binary_stump_vc_dimension(count) == exact

    @given(st.integers(1, 5000))
    def test_axis_parallel_cuts_shatter_no_more_than_stumps(self, real):
        cuts = related.axis_parallel_cut_vc_dimension(real)
        assert real >= math.comb(cuts, cuts // 2)
        assert real < math.comb(cuts + 1, (cuts + 1) // 2)
        assert cuts <= vc.stump_vc_dimension(real) <= cuts + 2

    def test_rank_trees(self):
        assert related.rank_tree_vc_dimension(0, 9) == 1
        assert related.rank_tree_vc_dimension(9, 9) == 2**9
        assert related.rank_tree_vc_dimension(20, 9) == 2**9

    @pytest.mark.parametrize(
        ("function", "arguments"),
        [
            (related.sauer_shelah, (0, 1)),
            (related.sauer_shelah, (3, -1)),
            (related.binary_stump_vc_dimension, (0,)),
            (related.axis_parallel_cut_vc_dimension, (1.5,)),
            (related.rank_tree_vc_dimension, (True, 2)),
            (vc.stump_vc_dimension, (0,)),
            (vc.vc_dimension_order, (0, 1)),
            (vc.vc_dimension_asymptotic, (2, 0)),
        ],
    )
    def test_counts_must_be_counts(self, function, arguments):
        with pytest.raises(ValueError, match=f"of {function.__name__} must be an int >= "):
            function(*arguments)

    def test_constant_of_the_corollary(self):
        with pytest.raises(ValueError, match="'constant' parameter"):
            vc.vc_dimension_asymptotic(2, 1, constant=1.0)
        assert vc.vc_dimension_asymptotic(1, 5) == 1.0

    @given(shapes(7), st.integers(1, 50))
    def test_corrected_corollary_bounds_the_vc_dimension(self, shape, real):
        found = bounds.vc_dimension(shape, Landscape(real=real))
        assert found.lower <= vc.vc_dimension_asymptotic(shape.leaves, real)


def test_a_vc_dimension_reads_well():
    assert str(bounds.VCDimension(3, 3)) == "3"
    assert str(bounds.VCDimension(3, 7)) == "3..7"
    assert repr(bounds.VCDimension(3, 7)) == "VCDimension(lower=3, upper=7)"


def test_arguments_must_be_of_their_types():
    with pytest.raises(TypeError, match="must be a TreeShape"):
        bounds.vc_dimension("(..)", Landscape(real=1))
    with pytest.raises(TypeError, match="must be a Landscape"):
        bounds.vc_dimension(STUMP, 10)
