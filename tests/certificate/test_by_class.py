"""Limits by class: against definitions, and simulated."""

from math import log

import numpy as np
import pytest
from random_trees import random_tree

from treebound.bounds import log_growth_leaves, tail_inversion
from treebound.bounds.risk import log_leaves_prior
from treebound.certificate.by_class import (
    by_class_on_rows,
    by_class_training,
    leaves_predicting,
)
from treebound.certificate.prior import prior_bound
from treebound.data import Column, Matrix, Sample
from treebound.growing import GrowOptions, grow


def merged_leaves(tree, node, k):
    """Slow twin: the set of predictions below a node, and the leaves that remain."""
    if tree.left[node] < 0:
        return {bool(tree.label[node] == k)}, 1
    (one, a), (other, b) = (merged_leaves(tree, int(child[node]), k)
                            for child in (tree.left, tree.right))  # fmt: skip
    both = one | other
    return both, 1 if len(both) == 1 else a + b


@pytest.mark.parametrize("seed", range(20))
def test_leaves_are_merged_by_whether_they_predict_the_class(seed):
    tree = random_tree(seed, 1 + seed, n_classes=3)
    for k in range(tree.n_classes):
        assert leaves_predicting(tree, k) == merged_leaves(tree, 0, k)[1]


def test_training_limits_count_two_classes_and_the_rows_of_the_class():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = ((X[:, 0] > 0).astype(int) + (X[:, 1] > 1)).astype(np.int32)
    columns = (Column("a"), Column("b"))
    sample = Sample(Matrix(columns, dense=X), y, None, np.arange(3))
    tree = grow(sample, GrowOptions(max_leaves=6))
    predicted = tree.label[tree.apply(sample.X)]
    rows, errors = np.bincount(y, minlength=3), np.bincount(y[predicted != y], minlength=3)
    bounds = by_class_training(tree, rows, errors, 0.05)
    for k, one in enumerate(bounds):
        m, leaves = int((y == k).sum()), leaves_predicting(tree, k)
        log_tau = log_growth_leaves(leaves, 5 * m, 2, tree.landscape)
        expected = tail_inversion(
            m, int(errors[k]), lambda _, t=log_tau: t, delta=0.05 / 3, ghost=4 * m,
            log_prior=float(log_leaves_prior(leaves)),
        )  # fmt: skip
        assert (one.label, one.m, one.risk) == (k, m, expected)


def test_a_class_without_rows_has_no_guarantee():
    bounds = by_class_on_rows(["a", "b"], np.array([10, 0]), np.array([1, 0]), log(0.05))
    assert bounds[0].risk == prior_bound(10, 1, log(0.025))
    assert bounds[1].risk == 1.0
    assert "too few" in str(bounds[1])
    assert str(bounds[0]) == "a: at most 44.6 % of its new cases are misclassified (1 of 10 were)"


@pytest.mark.parametrize("draws", [500, pytest.param(3000, marks=pytest.mark.heavy)])
def test_all_classes_hold_together(draws):
    """Rare classes; an adversary that looks at the class whose bound fails first."""
    rng, delta, wrong = np.random.default_rng(5), 0.1, 0
    shares, missed = np.array([0.8, 0.15, 0.05]), np.array([0.05, 0.3, 0.6])
    for _ in range(draws):
        y = rng.choice(3, size=200, p=shares)
        rows = np.bincount(y, minlength=3)
        errors = np.array([rng.binomial(m, p) for m, p in zip(rows, missed, strict=True)])
        bounds = by_class_on_rows(range(3), rows, errors, log(delta))
        wrong += any(one.risk < p for one, p in zip(bounds, missed, strict=True))
    assert 0.01 * draws < wrong <= delta * draws + 3 * np.sqrt(delta * draws)
