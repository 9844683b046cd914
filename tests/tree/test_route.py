"""Rows are routed by the rules, as by the slow twin."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_tree import slow_route
from support import coded_matrix, coded_sample, grow_coded

from treebound.data import Column, Matrix
from treebound.growing import grow
from treebound.tree import Tree
from treebound.tree._route import route
from treebound.tree.route import float_rows, splits


def table(n, seed, missing=0.1):
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


@given(st.integers(0, 2**32 - 1), st.sampled_from(["other", "majority", "stop"]))
@settings(max_examples=40)
def test_rows_go_where_the_slow_twin_sends_them(seed, handle_unknown):
    X, y, columns, rng = table(60, seed)
    tree = grow_coded(X, y, columns, range(3))
    new = table(300, seed + 1, missing=0.3)[0]
    new[:, 2:][rng.random((300, 2)) < 0.2] = np.nan  # never missing in training
    new[:, 1:][rng.random((300, 3)) < 0.2] = -1.0
    new[:5, 0] = -1.0, -np.inf, np.inf, 0.0, -0.0
    expected = [slow_route(tree, row, handle_unknown) for row in new.tolist()]
    rows = coded_matrix(new, columns)
    np.testing.assert_array_equal(tree.apply(rows, handle_unknown), expected)
    np.testing.assert_array_equal(tree.predict(rows, handle_unknown), tree.label[expected])


def test_some_rows_from_a_node_on_end_where_they_do_from_the_root():
    X, y, columns, _ = table(200, 3)
    tree = grow_coded(X, y, columns, range(3))
    rows = coded_matrix(X, columns)
    reached = tree.apply(rows)
    for node in (0, tree.left[0], tree.right[0]):
        inside = np.flatnonzero((reached >= node) & (reached < node + tree.size[node]))[::-1].copy()
        ends = np.empty(len(inside), dtype=np.int32)
        route(float_rows(tree, rows), splits(tree), ends, inside, node)
        np.testing.assert_array_equal(ends, reached[inside])


def test_an_unknown_category_goes_right_unless_another_policy_is_set():
    columns = [Column("c", "nominal", ("a", "b"))]
    tree = grow_coded([[0.0], [1.0]], [0, 1], columns, [0, 1])
    handle_unknown = coded_matrix(np.array([[-1.0]]), columns)
    assert tree.category[0] == 0
    np.testing.assert_array_equal(tree.apply(handle_unknown), [2])
    np.testing.assert_array_equal(tree.apply(handle_unknown, "stop"), [0])
    np.testing.assert_array_equal(tree.apply(handle_unknown, "majority"), [1])


def test_the_path_is_the_ancestors_of_the_leaf():
    X, y, columns, _ = table(80, 3)
    tree, rows = grow_coded(X, y, columns, range(3)), coded_matrix(X, columns)
    path = tree.decision_path(rows)
    assert path.shape == (80, tree.n_nodes)
    for row, leaf in enumerate(tree.apply(rows)):
        # in pre-order, the ancestors of a node are those whose subtree has it
        nodes = np.arange(tree.n_nodes)
        expected = nodes[(nodes <= leaf) & (leaf < nodes + tree.size)]
        np.testing.assert_array_equal(path[row].indices, expected)


@pytest.mark.parametrize("weighted", [False, True])
def test_recounting_the_training_rows_changes_nothing(weighted):
    X, y, columns, rng = table(200, 4)
    weight = rng.integers(0, 3, size=200) if weighted else None
    sample = coded_sample(X, y, columns, range(3), weight)
    tree = grow(sample)
    again = tree.recounted(sample)
    for name in ("counts", "rows", "label", "feature", "threshold", "weighted", "counted"):
        np.testing.assert_array_equal(getattr(again, name), getattr(tree, name))


def test_recounting_other_rows_counts_those():
    X, y, columns, _ = table(200, 5)
    tree = grow_coded(X, y, columns, range(3), max_leaves=8)
    other_X, other_y, _, rng = table(90, 6)
    weight = rng.random(90)
    weight[:10] = 0.0
    again = tree.recounted(coded_sample(other_X, other_y, columns, range(3), weight))
    path = tree.decision_path(coded_matrix(other_X, columns)).toarray()
    hot = np.eye(3)[other_y] * weight[:, None]
    np.testing.assert_allclose(again.counts, path.T @ hot, atol=1e-12)
    np.testing.assert_array_equal(again.rows, path.T @ (weight > 0))
    np.testing.assert_array_equal(again.label, again.counts.argmax(axis=1))
    assert again.weighted
    assert not tree.weighted


def test_layout_and_number_of_rows_do_not_matter():
    X, y, columns, _ = table(1000, 7)
    tree, rows = grow_coded(X, y, columns, range(3)), coded_matrix(X, columns)
    reached = tree.apply(rows)
    strided = Matrix(columns, tuple(np.repeat(values, 3)[::3] for values in rows.values))
    np.testing.assert_array_equal(tree.apply(strided), reached)
    for n in (0, 1, 31, 32, 33, 257):
        np.testing.assert_array_equal(tree.apply(rows.part(np.arange(n))), reached[:n])


@pytest.mark.parametrize("missing", [False, True])
def test_layout_and_type_of_a_dense_array_do_not_matter(missing):
    X, y, _, _ = table(1000, 7)
    X = X[:, :1].repeat(3, axis=1) * [1.0, -2.0, 0.5]
    X = X if missing else np.nan_to_num(X, nan=3.5)
    columns = tuple(Column(name, missing=missing) for name in "abc")
    tree = grow_coded(X, y, columns, range(3))
    reached = tree.apply(coded_matrix(X, columns))
    for same in (np.asfortranarray(X), np.repeat(X, 3, axis=1)[:, ::3], X[::-1][::-1]):
        np.testing.assert_array_equal(tree.apply(Matrix(columns, dense=same)), reached)
    few = replace(tree).apply(Matrix(columns, dense=X[:500]))  # routed one by one
    np.testing.assert_array_equal(few, reached[:500])
    narrow = X.astype(np.float32)
    np.testing.assert_array_equal(
        tree.apply(Matrix(columns, dense=narrow)),
        tree.apply(Matrix(columns, dense=narrow.astype(np.float64))),
    )


def test_one_leaf_takes_every_row():
    tree = grow_coded(np.zeros((4, 0)), np.array([0, 1, 1, 1]), [], [0, 1])
    rows = Matrix((), dense=np.zeros((3, 0)))
    np.testing.assert_array_equal(tree.predict(rows), [1, 1, 1])
    assert tree.decision_path(rows).toarray().tolist() == [[1], [1], [1]]


def test_a_wrong_matrix_or_rule_is_named():
    tree = grow_coded([[0.0], [1.0]], [0, 1], [Column("x")], [0, 1])
    with pytest.raises(ValueError, match=r"must be a Matrix of 1 columns. Got 2 instead"):
        tree.apply(coded_matrix(np.zeros((3, 2)), [Column("x"), Column("y")]))
    with pytest.raises(ValueError, match="'handle_unknown' parameter"):
        tree.apply(coded_matrix(np.zeros((3, 1)), [Column("x")]), handle_unknown="guess")


def test_a_stored_tree_routes_the_same_and_stays_frozen():
    X, y, columns, _ = table(100, 8)
    tree, rows = grow_coded(X, y, columns, range(3)), coded_matrix(X, columns)
    reached = tree.apply(rows)
    again: Tree = pickle.loads(pickle.dumps(tree))
    np.testing.assert_array_equal(again.apply(rows), reached)
    with pytest.raises(ValueError, match="read-only"):
        again.threshold[0] = 0.0


@given(st.integers(0, 2**32 - 1), st.sampled_from(["C", "F", "strided"]), st.booleans())
@settings(max_examples=12)
def test_values_of_nodes_are_written_by_any_number_of_threads(seed, layout, single):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(9000, 20_000))  # several blocks, the last one not full
    X = rng.normal(size=(n, 3)).astype(np.float32 if single else np.float64)
    X[rng.random((n, 3)) < rng.choice([0.0, 0.0001, 0.2])] = np.nan
    columns = tuple(Column(name, missing=True) for name in "abc")
    tree = grow_coded(X[:300], rng.integers(0, 3, size=300), columns, range(3))
    expected = [slow_route(tree, row, "other") for row in X.tolist()]
    rows = {"C": X, "F": np.asfortranarray(X), "strided": np.repeat(X, 2, axis=1)[:, ::2]}[layout]
    tables = [
        Matrix(columns, dense=rows),
        Matrix(tuple(Column(name) for name in "abc"), dense=rows, unchecked=(True,) * 3),
        Matrix(columns, tuple(rows.T)),
    ]
    nodes = tree.n_nodes
    values = [
        None, rng.random(nodes), rng.random((nodes, 2)), rng.random((nodes, 3)),
        np.array([f"{i:x}" for i in range(nodes)]), rng.random(nodes) < 0.5,
        np.array([str(i) for i in range(nodes)], dtype=object),
    ]  # fmt: skip
    for table, of_nodes in zip(tables * 3, values * 2, strict=False):
        reached = tree.values_at(of_nodes, table, n_jobs=int(rng.integers(1, 9)))
        wanted = np.array(expected) if of_nodes is None else of_nodes[expected]
        np.testing.assert_array_equal(reached, wanted)


@pytest.mark.parametrize("n", [500, 20_000])
@pytest.mark.parametrize("order", ["C", "F"])
def test_infinity_in_unchecked_columns_is_an_error_and_in_others_a_value(n, order):
    X = np.random.default_rng(0).normal(size=(n, 2))
    columns = (Column("a"), Column("b"))
    tree = grow_coded(X[:100], X[:100, 0] > 0, columns, (False, True))
    reached = tree.apply(Matrix(columns, dense=X))
    X = np.asarray(X, order=order)
    X[n - 3, 1], X[7, 1] = np.inf, np.nan
    np.testing.assert_array_equal(
        tree.apply(Matrix(columns, dense=X, unchecked=(True, False)), n_jobs=3), reached
    )
    with pytest.raises(ValueError, match=rf"infinity.*column 'b', row {n - 3:,}"):
        tree.apply(Matrix(columns, dense=X, unchecked=(True, True)), n_jobs=3)
