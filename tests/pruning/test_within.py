"""The best tree with at most so many leaves, for pruners whose path ends before."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pruning_trees import (
    all_prunings,
    grown_tree,
    predictions,
    random_examples,
    random_tree,
    sample_of,
)
from sklearn.datasets import load_wine
from support import CODE_LENGTH

import treebound as tb
from treebound.pruning import (
    BoundPruner,
    KearnsMansourPruner,
    MDLPruner,
    PaperPruner,
    PessimisticPruner,
    ReducedErrorPruner,
    bottom_up,
)
from treebound.pruning.bottom_up import upper_errors
from treebound.pruning.path import ListedPath

seeds = st.integers(0, 10**6)


def mdl_score(tree):
    inner = ~tree.is_leaf
    return (1 + bottom_up.label_bits(tree.counts))[~inner].sum() + (1 + bottom_up.test_bits(tree))[
        inner
    ].sum()


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
    wrong = [(predictions(one, X) != y).sum() for one in small if one.n_leaves <= limit]
    assert (predictions(result.tree, X) != y).sum() == min(wrong) == result.score


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
    raised = PaperPruner(**CODE_LENGTH, weight=0.01).prune(tree, sample_of(tree, X, y))
    limited = raised.within(limit)
    assert limited.tree.n_leaves <= limit
    assert limited.path.first is tree
    again = limited.tree.recounted(sample_of(tree, X, y))
    np.testing.assert_array_equal(limited.tree.counts, again.counts)
    for step in range(len(limited.path)):
        one = limited.path.tree(step)
        assert (one.n_leaves, one.errors) == (limited.path.leaves[step], limited.path.errors[step])
    assert len(limited.path.table()) == len(limited.path)


@pytest.mark.parametrize(
    "pruner",
    [
        MDLPruner(),
        PessimisticPruner(),
        KearnsMansourPruner(constant=1e-9),
        PaperPruner(**CODE_LENGTH, weight=0.01),
    ],
    ids=str,
)
def test_a_path_that_ends_early_is_made_longer(pruner):
    tree, X, y = grown_tree(np.random.default_rng(3), 80, max_leaves=8, noise=0.1)
    path = pruner.prune(tree, sample_of(tree, X, y)).path
    assert path.leaves.min() > 1
    longer, step = path.reaching(1)
    assert longer.tree(step).n_leaves == 1
    assert longer.chosen == path.chosen
    np.testing.assert_array_equal(longer.leaves[: len(path)], path.leaves)
    assert path.reaching(int(path.leaves[-1])) == (path, len(path) - 1)


def test_every_path_can_be_pruned_to_one_leaf():
    X, y = load_wine(return_X_y=True)
    for pruning in ("mdl", "pessimistic", "reduced-error", "kearns-mansour", "cost-complexity"):
        clf = tb.BoundTreeClassifier(pruning=pruning).fit(X, y)
        one = clf.prune_to(1)
        assert one.n_leaves_ == 1
        assert one.prune_to(step=clf.pruning_path_.chosen).n_leaves_ == clf.n_leaves_


def test_of_equally_large_trees_the_step_of_the_lowest_score_is_taken():
    tree = random_tree(np.random.default_rng(1), 6)
    cuts = [cut for cut in all_prunings(tree) if tree.collapsed(list(cut)).n_leaves == 3][:3]
    cuts = [np.empty(0, dtype=np.intp), *(np.array(cut) for cut in cuts)]
    for scores, step in (
        ([9, 3, 1, 2], 2),
        ([9, 1, 3, 2], 1),
        ([9, 2, 2, 3], 1),
        ([9, 3, 2, 2], 2),
    ):
        path = ListedPath(tree, cuts, np.zeros(4), np.array(scores, dtype=float), chosen=0)
        assert path.reaching(3) == path.reaching(5) == (path, step)
        assert path.reaching(6) == (path, 0)


def test_of_equal_scores_the_smaller_tree_is_chosen():
    """A split that changes no label costs nothing where the tree has no weight."""
    tree = random_tree(np.random.default_rng(5), 9, n_classes=1)
    assert BoundPruner(weight=0.0).prune(tree).tree.n_leaves == 1
    result = BoundPruner(score=lambda *_: 1.0).prune(tree)
    assert (result.tree.n_leaves, result.path.within(5).tree().n_leaves) == (1, 1)
    halves = BoundPruner(score="tail-inversion").prune(random_tree(np.random.default_rng(2), 9))
    least = np.flatnonzero(halves.path.scores == halves.path.scores.min())
    assert halves.tree.n_leaves == halves.path.leaves[least].min()
