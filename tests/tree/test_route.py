"""Rows go where the rules say, as the slow twin takes them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_tree import slow_route

from treebound.growing.grow import grow
from treebound.tree import Column, Tree


def sample(n, seed, missing=0.1):
    """Labels that need every column."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=n).round(1), *rng.integers(0, 6, size=(3, n))])
    y = rng.integers(0, 3, size=n)
    X[:, :2][rng.random((n, 2)) < missing] = np.nan
    columns = (
        Column("a"),
        Column("b", "nominal", tuple("uvwxyz")),
        Column("c", "nominal", tuple("uvwxyz")),
        Column("d", "ordinal", tuple("uvwxyz")),
    )
    return X, y, columns, rng


@given(st.integers(0, 2**32 - 1), st.sampled_from(["majority", "stop"]))
@settings(max_examples=40)
def test_rows_go_where_the_slow_twin_sends_them(seed, unknown):
    X, y, columns, rng = sample(60, seed)
    tree = grow(X, y, columns, range(3))
    new = sample(300, seed + 1, missing=0.3)[0]
    new[:, 2:][rng.random((300, 2)) < 0.2] = np.nan  # never missing in training
    new[:, 1:][rng.random((300, 3)) < 0.2] = -1.0
    new[:5, 0] = -1.0, -np.inf, np.inf, 0.0, -0.0
    expected = [slow_route(tree, row, unknown) for row in new.tolist()]
    np.testing.assert_array_equal(tree.apply(new, unknown), expected)
    np.testing.assert_array_equal(tree.predict_codes(new, unknown), tree.label[expected])


def test_stop_stays_where_the_category_is_asked_for():
    X = np.array([[0.0], [1.0]])
    tree = grow(X, np.array([0, 1]), [Column("c", "nominal", ("a", "b"))], [0, 1])
    np.testing.assert_array_equal(tree.apply(np.array([[-1.0]]), "stop"), [0])
    np.testing.assert_array_equal(tree.apply(np.array([[-1.0]]), "majority"), [1])


def test_the_path_is_the_ancestors_of_the_leaf():
    X, y, columns, _ = sample(80, 3)
    tree = grow(X, y, columns, range(3))
    path = tree.decision_path(X)
    assert path.shape == (80, tree.n_nodes)
    for row, leaf in enumerate(tree.apply(X)):
        # in pre-order, the ancestors of a node are those whose subtree has it
        nodes = np.arange(tree.n_nodes)
        expected = nodes[(nodes <= leaf) & (leaf < nodes + tree.size)]
        np.testing.assert_array_equal(path[row].indices, expected)


@pytest.mark.parametrize("weighted", [False, True])
def test_recounting_the_training_rows_changes_nothing(weighted):
    X, y, columns, rng = sample(200, 4)
    weight = rng.integers(0, 3, size=200) if weighted else None
    tree = grow(X, y, columns, range(3), sample_weight=weight)
    again = tree.recounted(X, y, weight)
    for name in ("counts", "rows", "label", "feature", "threshold"):
        np.testing.assert_array_equal(getattr(again, name), getattr(tree, name))


def test_recounting_other_rows_counts_those():
    X, y, columns, _ = sample(200, 5)
    tree = grow(X, y, columns, range(3), max_leaves=8)
    other_X, other_y, _, rng = sample(90, 6)
    weight = rng.random(90)
    weight[:10] = 0.0
    again = tree.recounted(other_X, other_y, weight)
    path = tree.decision_path(other_X).toarray()
    hot = np.eye(3)[other_y] * weight[:, None]
    np.testing.assert_allclose(again.counts, path.T @ hot, atol=1e-12)
    np.testing.assert_array_equal(again.rows, path.T @ (weight > 0))
    np.testing.assert_array_equal(again.label, again.counts.argmax(axis=1))


def test_layout_and_number_of_rows_do_not_matter():
    X, y, columns, _ = sample(1000, 7)
    tree = grow(X, y, columns, range(3))
    reached = tree.apply(X)
    np.testing.assert_array_equal(tree.apply(np.asfortranarray(X)), reached)
    np.testing.assert_array_equal(tree.apply(np.repeat(X, 3, axis=1)[:, ::3]), reached)
    np.testing.assert_array_equal(
        tree.apply(X.astype(np.float32)), tree.apply(X.astype(np.float32).astype(np.float64))
    )
    for n in (0, 1, 31, 32, 33, 257):
        np.testing.assert_array_equal(tree.apply(X[:n]), reached[:n])


def test_one_leaf_takes_every_row():
    tree = grow(np.zeros((4, 0)), np.array([0, 1, 1, 1]), [], [0, 1])
    np.testing.assert_array_equal(tree.predict_codes(np.zeros((3, 0))), [1, 1, 1])
    assert tree.decision_path(np.zeros((3, 0))).toarray().tolist() == [[1], [1], [1]]


def test_a_wrong_matrix_or_rule_is_named():
    tree = grow(np.array([[0.0], [1.0]]), np.array([0, 1]), [Column("x")], [0, 1])
    with pytest.raises(ValueError, match="encoded matrix of 1 columns"):
        tree.apply(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="'unknown' parameter"):
        tree.apply(np.zeros((3, 1)), unknown="guess")


def test_a_stored_tree_routes_the_same_and_stays_frozen():
    X, y, columns, _ = sample(100, 8)
    tree = grow(X, y, columns, range(3))
    reached = tree.apply(X)
    again: Tree = pickle.loads(pickle.dumps(tree))
    np.testing.assert_array_equal(again.apply(X), reached)
    with pytest.raises(ValueError, match="read-only"):
        again.threshold[0] = 0.0
