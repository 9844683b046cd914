"""Class probabilities of the nodes of a tree."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treebound as tb
from treebound.data import Column
from treebound.pruning.costs import Costs, probable_labels
from treebound.tree import Tree
from treebound.tree.smoothing import SMOOTHINGS, probabilities

seeds = st.integers(0, 10**6)


def random_tree(seed, leaves=8, n_classes=3, most=30):
    """A tree of random counts that splits off one leaf after the other."""
    rng = np.random.default_rng(seed)
    n_nodes = 2 * leaves - 1
    left = np.array([i + 1 if i % 2 == 0 else -1 for i in range(n_nodes - 1)] + [-1])
    right = np.where(left >= 0, left + 1, -1)
    counts = rng.integers(0, most, (n_nodes, n_classes)).astype(float)
    counts[:, 0] += 1
    for node in range(n_nodes - 1, -1, -1):
        if left[node] >= 0:
            counts[node] = counts[left[node]] + counts[right[node]]
    inner = left >= 0
    return Tree(
        feature=np.where(inner, 0, -1),
        threshold=np.where(inner, 0.5, np.nan),
        category=np.full(n_nodes, -1),
        missing_left=np.zeros(n_nodes, dtype=bool),
        left=left,
        right=right,
        counts=counts,
        rows=counts.sum(axis=1).astype(int),
        columns=(Column("x"),),
        classes=np.arange(n_classes),
    )


def leaf(*counts):
    """A tree of one leaf."""
    return replace(
        random_tree(0, leaves=1, n_classes=len(counts)),
        counts=[counts],
        rows=[int(sum(counts))],
        label=None,
    )


def shrunk_by_hand(tree, smoothing):
    """Hierarchical shrinkage, one node at a time; no class may overtake."""
    strength = 2.0 if smoothing == "shrinkage" else smoothing
    parent = {int(c): i for i in range(tree.n_nodes) for c in (tree.left[i], tree.right[i])}
    base = [(c + 1 / len(c)) / (c.sum() + 1) for c in tree.masses]
    shares = []
    for node in range(tree.n_nodes):
        value, at = base[node].copy(), node
        while at in parent:
            sides = tree.left[parent[at]], tree.right[parent[at]]
            examples = 1 / sum(1 / tree.masses[side].sum() for side in sides)
            value -= (base[at] - base[parent[at]]) * strength / (examples + strength)
            at = parent[at]
        value = np.maximum(value, 1e-6)
        shares.append(value / value.sum())
    return np.array(base), np.array(shares)


@given(seeds, st.sampled_from((*SMOOTHINGS, 0.5, 300)))
def test_rows_are_distributions_and_keep_the_most_probable_class(seed, smoothing):
    tree = random_tree(seed)
    shares = probabilities(tree, smoothing)
    assert (shares >= 0).all()
    assert smoothing is None or (shares > 0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    np.testing.assert_array_equal(shares.argmax(axis=1), tree.counts.argmax(axis=1))


@given(seeds, st.sampled_from(("shrinkage", 0.5, 100)))
def test_shrinkage_is_that_of_each_path_unless_a_class_would_overtake(seed, smoothing):
    tree = random_tree(seed, most=8)
    base, plain = shrunk_by_hand(tree, smoothing)
    shares = probabilities(tree, smoothing)
    label = base.argmax(axis=1)
    keeps = plain[np.arange(len(plain)), label] == plain.max(axis=1)
    np.testing.assert_allclose(shares[keeps], plain[keeps], rtol=1e-9)
    # elsewhere as near to it as the label allows: the two best classes are level
    best = np.sort(shares[~keeps], axis=1)[:, ::-1]
    np.testing.assert_allclose(best[:, 0], best[:, 1], rtol=1e-6)


@given(seeds, st.sampled_from(("shrinkage", 0.5, 100.0)))
def test_free_shrinkage_may_change_the_most_probable_class(seed, strength):
    tree = random_tree(seed, most=8)
    _, plain = shrunk_by_hand(tree, strength)
    shares = probabilities(tree, strength, free=True)
    np.testing.assert_allclose(shares, plain, rtol=1e-9)
    # labels that the user chose change nothing
    other = replace(tree, label=np.zeros(tree.n_nodes))
    np.testing.assert_array_equal(probabilities(other, strength, free=True), shares)
    np.testing.assert_array_equal(probabilities(other, strength), probabilities(tree, strength))
    if strength == 100.0:
        np.testing.assert_array_equal(probable_labels(tree, strength, None), shares.argmax(axis=1))
        costs = Costs.of(tree, [1.0, 5.0, 2.0])
        cheapest = (shares * [1.0, 5.0, 2.0]).argmax(axis=1)
        np.testing.assert_array_equal(probable_labels(tree, strength, costs), cheapest)


def test_a_rare_class_that_few_rows_have_by_chance_is_not_the_most_probable():
    tree = stump([397, 1], [0, 2])
    assert tree.label[2] == 1
    assert probable_labels(tree, 10.0, None)[2] == 0
    assert probabilities(tree, 10.0)[2, 1] > 0.5 > probabilities(tree, 10.0, free=True)[2, 1]


@given(seeds, st.sampled_from(["laplace", "m-estimate", "shrinkage", 10.0]))
def test_smoothing_fades_with_the_number_of_examples(seed, smoothing):
    tree = random_tree(seed)
    exact = probabilities(tree, None)
    near = probabilities(replace(tree, counts=tree.counts * 1e9, rows=tree.rows), smoothing)
    np.testing.assert_allclose(near, exact, atol=2e-6)


def stump(left, right):
    """A tree of two leaves with these counts."""
    counts = np.array([np.add(left, right), left, right], dtype=float)
    return replace(
        random_tree(0, leaves=2, n_classes=2),
        counts=counts, rows=counts.sum(axis=1).astype(int), label=None,
    )  # fmt: skip


def test_a_strength_holds_back_what_is_split_off_from_many():
    base, few = (probabilities(stump([397, 1], [1, 1]), by)[:, 1] for by in (0.01, 10.0))
    assert base[2] > 0.49
    assert few[2] < 0.1
    assert few[1] == pytest.approx(few[0], abs=0.001)
    named, two = (probabilities(stump([397, 1], [1, 1]), by) for by in ("shrinkage", 2.0))
    np.testing.assert_array_equal(named, two)
    even = probabilities(stump([200, 0], [100, 100]), 10.0)[:, 1]
    np.testing.assert_allclose(even, [0.25, 0.025, 0.475], atol=0.003)


def test_a_split_without_rows_leaves_the_probabilities_of_its_parent():
    shares = probabilities(stump([0, 0], [3, 1]), 10.0)
    np.testing.assert_allclose(shares, np.tile(shares[0], (3, 1)))
    np.testing.assert_allclose(probabilities(stump([0, 0], [0, 0]), 10.0), 0.5)


def test_a_collapsed_node_keeps_its_probabilities():
    tree = random_tree(3)
    small = tree.collapsed([4])
    for smoothing in ("shrinkage", 3.0):
        shares = probabilities(tree, smoothing)[: small.n_nodes]
        np.testing.assert_allclose(probabilities(small, smoothing), shares)


def test_m_estimate_is_worth_four_examples_whatever_the_number_of_classes():
    np.testing.assert_allclose(probabilities(leaf(4.0, 0.0), "m-estimate"), [[0.75, 0.25]])
    np.testing.assert_allclose(
        probabilities(leaf(4.0, 0.0, 0.0, 0.0), "m-estimate"), [[0.625, 0.125, 0.125, 0.125]]
    )


def test_class_weights_count():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = (X[:, 0] + rng.normal(size=400) > 1.5).astype(int)
    clf = tb.BoundTreeClassifier(class_weight="balanced").fit(X, y)
    np.testing.assert_array_equal(clf.predict(X), clf.predict_proba(X).argmax(axis=1))
    np.testing.assert_allclose(probabilities(clf.tree_)[0], 0.5)
    np.testing.assert_array_equal(clf.tree_.counts[0], np.bincount(y))


def test_unknown_smoothing_is_refused():
    with pytest.raises(ValueError, match=r"'smoothing' parameter must be one of 'shrinkage'"):
        probabilities(leaf(1.0, 1.0), "x")
