"""The best tree with at most so many leaves, for pruners whose path ends before."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pruning_trees import all_prunings, answers, grown_tree, random_examples, random_tree, sample_of

from treebound.pruning import (
    BoundPruner,
    KearnsMansourPruner,
    MDLPruner,
    PessimisticPruner,
    ReducedErrorPruner,
)
from treebound.pruning.mdl import label_bits, test_bits
from treebound.pruning.pessimistic import upper_errors

seeds = st.integers(0, 10**6)


def mdl_score(tree):
    inner = ~tree.is_leaf
    return (1 + label_bits(tree.counts))[~inner].sum() + (1 + test_bits(tree))[inner].sum()


def pessimistic_score(tree):
    return upper_errors(tree.node_errors, tree.weight, 0.25)[tree.is_leaf].sum()


@pytest.mark.parametrize(
    ("pruner", "score"), [(MDLPruner(), mdl_score), (PessimisticPruner(), pessimistic_score)]
)
@given(seed=seeds, limit=st.integers(1, 5))
@settings(max_examples=40)
def test_costs_that_add_up_have_the_best_pruning_within_the_limit(pruner, score, seed, limit):
    tree = random_tree(np.random.default_rng(seed), 8, most=30, fractional=seed % 2 == 1)
    result = pruner.prune(tree)
    limited = result.within(limit)
    assert limited.tree.n_leaves <= limit
    assert limited.path.first is tree
    if result.tree.n_leaves <= limit:
        assert limited is result
        return
    every = [tree.collapsed(list(cut)) for cut in all_prunings(tree)]
    least = min(score(one) for one in every if one.n_leaves <= limit)
    assert limited.score == pytest.approx(least)
    assert score(limited.tree) == pytest.approx(least)
    assert limited.path.errors[-1] == pytest.approx(limited.tree.errors)
    assert f"at most {limit} lea" in limited.explain()


@given(seed=seeds, limit=st.integers(1, 4))
@settings(max_examples=25)
def test_reduced_error_goes_on_by_validation_errors(seed, limit):
    rng = np.random.default_rng(seed)
    tree, _, _ = grown_tree(rng, 80, max_leaves=8, noise=0.1)
    X, y, _ = random_examples(rng, 60, noise=0.1)
    result = ReducedErrorPruner().prune(tree, validation=sample_of(tree, X, y)).within(limit)
    small = [tree.collapsed(list(cut)) for cut in all_prunings(tree)]
    wrong = [(answers(one, X) != y).sum() for one in small if one.n_leaves <= limit]
    assert (answers(result.tree, X) != y).sum() == min(wrong) == result.score


@given(seed=seeds, limit=st.integers(1, 4))
@settings(max_examples=25)
def test_others_go_on_by_training_errors(seed, limit):
    rng = np.random.default_rng(seed)
    tree, X, y = grown_tree(rng, 80, max_leaves=8, noise=0.1)
    result = KearnsMansourPruner(constant=1e-9).prune(tree)
    limited = result.within(limit)
    small = [tree.collapsed(list(cut)) for cut in all_prunings(tree)]
    if limited is not result:
        assert limited.tree.errors == min(t.errors for t in small if t.n_leaves <= limit)
        assert limited.path.errors[-1] == limited.tree.errors
        assert np.isnan(limited.score)
    raised = BoundPruner(search="greedy", weight=0.01).prune(tree, sample_of(tree, X, y))
    limited = raised.within(limit)
    assert limited.tree.n_leaves <= limit
    assert limited.path.first is tree
    again = limited.tree.recounted(sample_of(tree, X, y))
    np.testing.assert_array_equal(limited.tree.counts, again.counts)
    for step in range(len(limited.path)):
        one = limited.path.tree(step)
        assert (one.n_leaves, one.errors) == (limited.path.leaves[step], limited.path.errors[step])
    assert len(limited.path.table()) == len(limited.path)
