"""The kernel grows the same tree as the slow one that tries every split."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_tree import SlowTree
from support import grow_coded

from treebound.data import Column

grow = grow_coded

CRITERIA = ("gini", "entropy", "misclassification")


@st.composite
def tables(draw, min_rows=1, max_rows=24, kinds=("real", "ordinal", "nominal"), weighted=True):
    """An encoded matrix with its labels, columns and weights."""
    n_rows = draw(st.integers(min_rows, max_rows))
    n_classes = draw(st.integers(1, 4))
    columns, values = [], []
    for j in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(kinds))
        missing = draw(st.booleans())
        size = draw(st.sampled_from([1, 2, 3, 6, 300]))
        cells = st.integers(0, size - 1).map(float)
        if kind == "real":
            cells = draw(st.sampled_from([st.integers(-2, 2).map(float), st.floats(-1e3, 1e3)]))
        if missing:
            cells = st.one_of(cells, st.just(np.nan))
        values.append(draw(st.lists(cells, min_size=n_rows, max_size=n_rows)))
        categories = None if kind == "real" else tuple(range(size))
        columns.append(Column(f"x{j}", kind, categories, missing=missing))
    y = draw(st.lists(st.integers(0, n_classes - 1), min_size=n_rows, max_size=n_rows))
    weights = st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.7, 0.1])
    whole = st.sampled_from([0.0, 1.0, 2.0, 5.0])
    per_row = draw(st.sampled_from([None, weights, whole])) if weighted else None
    weight = None
    if per_row is not None:
        weight = draw(st.lists(per_row, min_size=n_rows, max_size=n_rows))
        weight[0] = weight[0] or 1.0
    X = np.array(values, dtype=float).T.copy()
    return X, np.array(y), tuple(columns), n_classes, weight


def options():
    maybe = st.one_of(st.none(), st.integers(1, 6))
    return st.fixed_dictionaries(
        {
            "criterion": st.sampled_from(CRITERIA),
            "growth_order": st.sampled_from(["gain", "impurity"]),
            "max_leaves": maybe,
            "max_depth": maybe,
            "min_samples_leaf": st.sampled_from([1, 1, 2, 4]),
            "thresholds": st.sampled_from(["decimal", "midpoint", "observed"]),
        }
    )


def assert_same_tree(tree, slow):
    nodes = list(slow.preorder())
    splits = [node.split if node.left is not None else None for node in nodes]
    assert tree.n_nodes == len(nodes)
    np.testing.assert_array_equal(tree.feature, [s.column if s else -1 for s in splits])
    np.testing.assert_array_equal(tree.threshold, [s.threshold if s else np.nan for s in splits])
    np.testing.assert_array_equal(tree.category, [s.category if s else -1 for s in splits])
    np.testing.assert_array_equal(
        tree.missing_left, [s.missing_left if s else False for s in splits]
    )
    np.testing.assert_allclose(tree.counts, [slow.counts(n.rows) for n in nodes], atol=1e-12)
    np.testing.assert_array_equal(tree.rows, [len(node.rows) for node in nodes])


def check(table, **kwargs):
    X, y, columns, n_classes, weight = table
    tree = grow(X, y, columns, range(n_classes), sample_weight=weight, **kwargs)
    assert_same_tree(
        tree, SlowTree(X.tolist(), y, columns, n_classes, sample_weight=weight, **kwargs)
    )
    return tree


@given(tables(), options())
@settings(max_examples=250)
def test_grows_the_tree_of_the_slow_twin(table, kwargs):
    check(table, **kwargs)


@pytest.mark.parametrize("criterion", CRITERIA)
@given(tables(min_rows=30, max_rows=60), st.sampled_from([None, 4]))
@settings(max_examples=12)
def test_larger_tables_of_few_values_agree_too(criterion, table, max_leaves):
    check(table, criterion=criterion, max_leaves=max_leaves)


@pytest.mark.parametrize("criterion", CRITERIA)
@given(tables(kinds=("real",), weighted=False))
@settings(max_examples=30)
def test_default_growth_agrees_on_real_columns(criterion, table):
    check(table, criterion=criterion)
