"""Samples that are shattered: every labelling is realized, by the exact enumerator."""

from __future__ import annotations

import json
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import VECTORS
from theory_support import balanced, chain, landscapes, shapes

from treebound import Landscape, TreeShape, bounds
from treebound.bounds import enumerate as oracle
from treebound.bounds._category_clusters import binary_plan, binary_sample
from treebound.bounds._clusters import STORED, Clusters, _Builder, cluster_size
from treebound.bounds.witnesses import prefix_orders, shattering_ranks

GAP = json.loads((VECTORS / "vc_gap.json").read_text())["cases"]
MOST = 14


def kinds(landscape: Landscape) -> list[str]:
    counts = (landscape.real, len(landscape.ordinal), len(landscape.nominal))
    return [
        kind
        for kind, count in zip(("real", "ordinal", "nominal"), counts, strict=True)
        for _ in range(count)
    ]


def is_shattered(X: np.ndarray, shape: TreeShape, landscape: Landscape) -> bool:
    return oracle.realizable_growth(X, kinds(landscape), shape, 2) == 2 ** len(X)


@pytest.mark.parametrize("row", GAP, ids=lambda row: f"{row['shape']}-{row['real']}")
def test_samples_of_the_stored_cases_are_shattered(row):
    shape, landscape = TreeShape.parse(row["shape"]), Landscape(real=row["real"])
    X = bounds.shattered_sample(shape, landscape)
    assert X.shape == (bounds.vc_dimension(shape, landscape).lower, row["real"])
    assert all(sorted(column) == list(range(len(X))) for column in X.T.tolist())
    # A part of a shattered sample is shattered.
    chosen = np.random.default_rng(0).permutation(len(X))[:MOST]
    if len(X) <= MOST or shape.leaves <= 5:
        assert is_shattered(X[chosen], shape, landscape)


@settings(max_examples=60)
@given(shapes(6), landscapes(real=3, columns=3, categories=6, undeclared=True))
def test_samples_of_any_landscape_are_shattered(shape, landscape):
    X = bounds.shattered_sample(shape, landscape)
    assert X.shape == (bounds.vc_dimension(shape, landscape).lower, landscape.n_features)
    for column, most in enumerate(landscape.ordinal + landscape.nominal, start=landscape.real):
        assert 0 <= X[:, column].min() <= X[:, column].max() < (most or len(X) + 1)
    if landscape.n_features:
        assert is_shattered(X[:11], shape, landscape)


@pytest.mark.parametrize("text", STORED)
def test_samples_found_by_search_are_shattered_and_have_their_corner(text):
    shape = TreeShape.parse(text)
    for computed in STORED[text]:
        real = len(computed.orders)
        X = np.argsort(np.array(computed.orders), axis=1).T
        assert (X[0, real - computed.corner :] == 0).all()
        assert is_shattered(X, shape, Landscape(real=real))


@settings(max_examples=60)
@given(shapes(5), st.integers(1, 6), st.lists(st.integers(1, 3), max_size=3), st.integers(1, 3))
def test_constrained_points_are_the_lowest_in_their_features(shape, real, sizes, most):
    if sum(sizes) > real:
        return
    c = tuple(sorted(sizes, reverse=True))
    table = Clusters(real)
    plans = table._plans(shape, c, most)
    if not plans[shape, c].size:
        return
    columns = iter(np.random.default_rng(0).permutation(real).tolist())
    sets = tuple(tuple(next(columns) for _ in range(size)) for size in sizes)
    orders, lowest, _ = _Builder(real, plans, None)(shape, sets)
    X = np.argsort(orders, axis=1).T
    assert len(set(lowest)) == len(sizes)
    for z, features in zip(lowest, sets, strict=True):
        assert all(X[:, feature].argmin() == z for feature in features)
    assert is_shattered(X[:12], shape, Landscape(real=real))


def test_size_of_a_constrained_cluster():
    assert [cluster_size(u, ())[0] for u in range(1, 11)] == [2, 3, 4, 4, 5, 5, 5, 5, 5, 6]
    assert [cluster_size(u, (u,))[0] for u in range(1, 11)] == [2, 3, 4, 4, 4, 5, 5, 5, 5, 6]
    assert cluster_size(2, (1, 1))[0] == 2
    assert cluster_size(3, (1, 1, 1))[0] == 0


@pytest.mark.parametrize("m", range(8))
def test_prefixes_of_the_orders_are_all_subsets(m):
    orders = prefix_orders(m)
    assert len(orders) == comb(m, m // 2)
    prefixes = {frozenset(order[:k]) for order in orders for k in range(m + 1)}
    assert len(prefixes) == 2**m


@pytest.mark.parametrize("m", range(1, 9))
def test_the_least_number_of_features_divides_in_every_way(m):
    features = (comb(m, m // 2) + 1) // 2
    X = shattering_ranks(m, features)
    assert bounds.check_witness(X).count == 2 ** (m - 1) - 1 if m > 1 else X.shape == (1, 1)


@pytest.mark.parametrize("features", [1, 2, 3, 5, 8, 12])
@pytest.mark.parametrize("text", ["(..)", "((..).)", "((..)(..))", "(((..).)(..))"])
def test_binary_clusters_are_shattered(text, features):
    shape = TreeShape.parse(text)
    X = binary_sample(shape, features)
    assert (
        len(X)
        == binary_plan(shape, features)[0]
        <= bounds.vc_dimension(shape, Landscape(0, (2,) * features)).upper
    )
    assert is_shattered(X[:12], shape, Landscape(ordinal=(2,) * features))


def test_a_caterpillar_grows_by_a_cluster_for_every_leaf():
    for real, s, d in ((2, 2, 3), (3, 3, 4), (10, 5, 6), (20, 6, 7)):
        for leaves in range(3, 9):
            size = bounds.vc_dimension(chain(leaves), Landscape(real=real)).lower
            assert size >= (leaves - 2) * s + d
    assert bounds.vc_dimension(balanced(2), Landscape(real=20)).lower >= 2 * 6 + 7


def test_large_shapes_and_many_features_have_a_sample_too():
    assert len(bounds.shattered_sample(chain(60), Landscape(real=10))) == 58 * 5 + 6
    X = bounds.shattered_sample(TreeShape.parse("((..).)"), Landscape(nominal=(2,) * 1000))
    assert X.shape[1] == 1000
    assert len(X) >= (1000 + 1).bit_length() + 7


def test_arguments_must_be_of_their_types():
    with pytest.raises(TypeError, match="of shattered_sample must be a TreeShape"):
        bounds.shattered_sample("(..)", Landscape(real=1))
    with pytest.raises(TypeError, match="of shattered_sample must be a Landscape"):
        bounds.shattered_sample(TreeShape.leaf(), 3)
