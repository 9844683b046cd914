"""VC dimensions: exact ones, and bounds from both sides."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import VECTORS
from theory_support import balanced, case, chain, landscapes, shapes, vectors

from treebound import Landscape, TreeShape, bounds
from treebound.bounds import _sums, _tables, counting, stumps, worst_case
from treebound.bounds import enumerate as oracle
from treebound.bounds._category_clusters import stump_shatters
from treebound.bounds._tables import EXACT, KINDS, growth_of_two_classes
from treebound.bounds.splits import features_of

STUMP = TreeShape.parse("(..)")


def shatters(shape: TreeShape, X: np.ndarray, kinds: list[str]) -> bool:
    return oracle.realizable_growth(X, kinds, shape, 2) == 2 ** len(X)


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
        computed = bounds.vc_dimension(STUMP, Landscape(real=int(real)))
        assert computed == bounds.VCDimension(exact, exact)
        assert computed.exact


@pytest.mark.parametrize(
    "row", vectors("vc_real_exact"), ids=lambda row: f"{row['shape']}-{row['l']}"
)
def test_bounds_enclose_what_the_exhaustive_search_found(row):
    computed = bounds.vc_dimension(TreeShape.parse(row["shape"]), Landscape(real=row["l"]))
    assert computed.upper <= row["upper_bound"]
    assert computed.upper >= row["lower"]
    if row["exact_vc"] is not None:
        assert computed.lower <= row["exact_vc"] <= computed.upper


@pytest.mark.parametrize(("text", "uppers"), vectors("vc_upper_real").items())
def test_upper_bound_is_no_more_than_the_papers(text, uppers):
    shape = TreeShape.parse(text)
    lowers = vectors("vc_lower_real_yildiz")[text]
    for real, (lower, upper) in enumerate(zip(lowers, uppers, strict=True), start=1):
        computed = bounds.vc_dimension(shape, Landscape(real=real))
        assert lower <= computed.lower <= computed.upper <= upper


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
    computed = bounds.vc_dimension(shape, landscape)
    assert computed.lower <= by_trying_every_sample(shape, landscape) <= computed.upper


GAP = json.loads((VECTORS / "vc_gap.json").read_text())["cases"]


@pytest.mark.parametrize("row", GAP, ids=lambda row: f"{row['shape']}-{row['real']}")
def test_bounds_are_as_tight_as_the_stored_ones(row):
    computed = bounds.vc_dimension(TreeShape.parse(row["shape"]), Landscape(real=row["real"]))
    assert row["lower"] <= computed.lower <= computed.upper <= row["upper"]


def without_chains(shape, features, size):
    """The growth function with the partition theorems alone at every node."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_tables, "KINDS", {"without": KINDS["vc"] & ~_sums.CHAINS})
        patch.setattr(_tables, "EXACT", {})
        return growth_of_two_classes(shape, features, size, kind="without")


def plain(table: _tables.GrowthTable, m: int) -> float:
    mantissa, power = table.growth[m]
    return math.ldexp(mantissa, int(power))


@settings(max_examples=60)
@given(shapes(5, least=2), landscapes(categories=6))
def test_growth_in_floats_is_the_exact_growth(shape, landscape):
    if not landscape.informative.n_features:
        return
    features = features_of(landscape)
    growth = without_chains(shape, features, 10)
    chains = growth_of_two_classes(shape, features, 10)
    for m in range(2, 10):
        exact = 2 + 2 * bounds.partitions(shape, 2, m, landscape)
        assert plain(growth, m) == exact
        assert plain(chains, m) <= exact


@settings(max_examples=60)
@given(shapes(5, least=2), landscapes(categories=4))
def test_upper_bound_is_no_more_than_where_the_partition_bound_first_fails(shape, landscape):
    upper = bounds.vc_dimension(shape, landscape).upper
    if not landscape.informative.n_features or upper > 12:
        return
    for m in range(2, upper + 1):
        assert bounds.partitions(shape, 2, m, landscape) == 2 ** (m - 1) - 1


class TestChainLemma:
    """Each step of the proof against enumeration."""

    @settings(max_examples=25)
    @given(shapes(3), shapes(4), st.integers(1, 6), st.integers(1, 2), st.integers(0, 10**6))
    def test_one_feature_and_direction_realize_exactly_the_sum(self, one, other, m, real, seed):
        X = np.random.default_rng(seed).permuted(np.tile(np.arange(m), (real, 1)), axis=1).T
        X = X[np.argsort(X[:, 0])]
        tables = [
            [labellings(X[:k], one) for k in range(m + 1)],
            [labellings(X[k:], other) for k in range(m + 1)],
        ]
        realized = sum(
            any(f[:k] in tables[0][k] and f[k:] in tables[1][k] for k in range(m + 1))
            for f in product((0, 1), repeat=m)
        )
        a = [Fraction(len(some), 2**k) for k, some in enumerate(tables[0])] + [0]
        b = [Fraction(len(some), 2 ** (m - k)) for k, some in enumerate(tables[1])]
        assert realized == 2**m * sum((a[k] - a[k + 1]) * b[k] for k in range(m + 1))

    @settings(max_examples=80)
    @given(shapes(5, least=3), landscapes(real=3, columns=2, categories=4), st.data())
    def test_no_sample_has_more_labellings(self, shape, landscape, data):
        if not landscape.informative.n_features:
            return
        m = data.draw(st.integers(2, 7))
        most = [m] * landscape.real + [*landscape.ordinal, *landscape.nominal]
        row = st.tuples(*(st.integers(0, count - 1) for count in most))
        X = np.array(data.draw(st.lists(row, min_size=m, max_size=m)), dtype=float)
        growth = growth_of_two_classes(shape, features_of(landscape), m)
        bound = plain(growth, m)
        informative = [k for k, count in enumerate(most) if count > 1]
        assert (
            oracle.realizable_growth(X[:, informative], kinds_of(landscape, most), shape, 2)
            <= bound
        )

    @pytest.mark.parametrize("text", ["((..).)", "((..)(..))", "(((..).).)"])
    @pytest.mark.parametrize(("real", "most"), [(1, 7), (2, 6), (3, 5)])
    def test_no_sample_of_all_has_more_labellings(self, text, real, most):
        shape = TreeShape.parse(text)
        growth = growth_of_two_classes(shape, features_of(Landscape(real=real)), most)
        for m in range(2, most + 1):
            worst = worst_case.worst_growth(shape, m, 2, Landscape(real=real), max_samples=300)
            assert worst.count <= plain(growth, m)


def labellings(X: np.ndarray, shape: TreeShape) -> set[tuple[int, ...]]:
    """All labellings that trees of a shape realize on real features, by the definition."""
    m = len(X)
    if shape.left is None or shape.right is None:
        return {(label,) * m for label in (0, 1)}
    computed = set()
    for column in X.T:
        for threshold in [-1, *column]:
            low = [i for i in range(m) if column[i] <= threshold]
            high = [i for i in range(m) if column[i] > threshold]
            for some, rest in ((low, high), (high, low)):
                for f, g in product(
                    labellings(X[some], shape.left), labellings(X[rest], shape.right)
                ):
                    label = dict(zip(some + rest, f + g, strict=True))
                    computed.add(tuple(label[i] for i in range(m)))
    return computed


def kinds_of(landscape: Landscape, counts: list[int]) -> list[str]:
    kinds = ["real"] * landscape.real + ["ordinal"] * len(landscape.ordinal)
    kinds += ["nominal"] * len(landscape.nominal)
    return [kind for kind, count in zip(kinds, counts, strict=True) if count > 1]


def extended(sample: tuple[tuple[int, ...], ...]) -> list[tuple[tuple[int, ...], ...]]:
    """Every sample with one point more, which is the highest in the first feature."""
    m = len(sample[0])
    ways = [[(*o[:at], m, *o[at:]) for at in range(m + 1)] for o in sample[1:]]
    return [((*sample[0], m), *rest) for rest in product(*ways)]


@pytest.mark.parametrize(
    ("text", "real"),
    [("((..).)", 2), *(pytest.param(t, 2, marks=pytest.mark.slow) for t in ("((..)(..))",))],
)
def test_known_vc_dimensions_are_those_of_an_exhaustive_search(text, real):
    """A part of a shattered sample is shattered: extend those that are, until none is."""
    shape = TreeShape.parse(text)
    computed, size = [((0,),) * real], 0
    while computed:
        size += 1
        computed = [
            some
            for one in computed
            for some in extended(one)
            if shatters(shape, np.argsort(np.array(some), axis=1).T, ["real"] * real)
        ]
    assert size == EXACT[shape.leaves, real] == bounds.vc_dimension(shape, Landscape(real)).upper


def test_bounds_name_their_theorem():
    def by(text: str, landscape: Landscape) -> tuple[str, str]:
        computed = bounds.vc_dimension(TreeShape.parse(text), landscape)
        return computed.lower_by, computed.upper_by

    assert by("(..)", Landscape(real=3)) == ("stump theorem", "stump theorem")
    assert by("((..).)", Landscape(real=1)) == ("sum of children", "intervals")
    assert by("((..)(..))", Landscape(real=2)) == ("search", "exhaustive search")
    assert by("((..).)", Landscape(real=10)) == ("cluster lemma", "chain lemma")
    assert by("((..).)", Landscape(nominal=(2,) * 9))[0] == "binary clusters"
    assert by("((..).)", Landscape(nominal=(4,)))[1] == "partition theorems"
    assert by(".", Landscape(real=1)) == ("one example", "one label")


@settings(max_examples=40)
@given(shapes(7), landscapes(real=9, columns=1, categories=9, undeclared=True))
def test_lower_bound_never_exceeds_the_upper(shape, landscape):
    computed = bounds.vc_dimension(shape, landscape)
    assert 1 <= computed.lower <= computed.upper
    assert computed.exact == (computed.lower == computed.upper)


@given(shapes(8), st.integers(1, 40))
def test_one_real_feature_alone_shatters_as_many_as_leaves(shape, categories):
    leaves = shape.leaves
    assert bounds.vc_dimension(shape, Landscape(real=1)) == bounds.VCDimension(leaves, leaves)
    computed = bounds.vc_dimension(shape, Landscape(ordinal=(categories,)))
    assert computed.upper == min(leaves, categories)


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
    computed = bounds.vc_dimension(chain(3000), Landscape(real=10))
    assert 3000 < computed.lower < computed.upper
    # The corollary as a bound: the larger m with (14 m ell)^N = 2^(m-2).
    assert (computed.upper - 2) * math.log(2) < 2999 * math.log(14 * computed.upper * 10)


def test_many_categories_are_not_followed_down_the_tree():
    wide = Landscape(2, tuple(range(2, 30)), tuple(range(2, 30)))
    computed = bounds.vc_dimension(balanced(3), wide)
    assert (
        computed.lower
        <= computed.upper
        < bounds.vc_dimension(balanced(3), Landscape(60)).upper + 30
    )


@given(st.integers(1, 300))
def test_stump_lower_bound_is_exact_on_binary_features(count):
    features = features_of(Landscape(nominal=(2,) * count))
    assert stump_shatters(features) == (count + 1).bit_length()  # Yildiz (2015)


@given(st.integers(1, 40), st.integers(0, 45))
def test_sauer_shelah_is_a_sum_of_binomials(m, d):
    assert counting.sauer_shelah(m, d) == sum(math.comb(m, i) for i in range(d + 1))


@given(st.integers(2, 14), st.integers(1, 4))
def test_sauer_shelah_holds_for_stumps(m, real):
    d = bounds.vc_dimension(STUMP, Landscape(real=real)).upper
    assert 2 + 2 * stumps.real_stump_partitions(m, real) <= counting.sauer_shelah(m, d)


@pytest.mark.parametrize("count", range(1, 5))
def test_stumps_on_binary_features(count):
    exact = by_trying_every_sample(STUMP, Landscape(ordinal=(2,) * count))
    assert (count + 1).bit_length() == exact  # Yildiz (2015)


@given(st.integers(1, 5000))
def test_largest_central_binomial_coefficient(limit):
    d = counting.largest_central(limit)
    assert math.comb(d, d // 2) <= limit < math.comb(d + 1, (d + 1) // 2)


def test_a_vc_dimension_reads_well():
    assert str(bounds.VCDimension(3, 3)) == "3"
    assert str(bounds.VCDimension(3, 7)) == "3..7"
    assert bounds.VCDimension(3, 7, "search", "chain lemma") == bounds.VCDimension(3, 7)


def test_arguments_must_be_of_their_types():
    with pytest.raises(TypeError, match="must be a TreeShape"):
        bounds.vc_dimension("(..)", Landscape(real=1))
    with pytest.raises(TypeError, match="must be a Landscape"):
        bounds.vc_dimension(STUMP, 10)
