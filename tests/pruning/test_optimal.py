"""The optimal search against every pruning there is."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pruning_trees import all_prunings, arrays, random_tree

from treebound.bounds import (
    log_growth_leaves,
    log_leaves_prior,
    shawe_taylor,
    tail_inversion,
    vapnik,
)
from treebound.pruning import BoundPruner, PaperPruner
from treebound.pruning.costs import Costs
from treebound.pruning.optimal import best_by_size

trees = st.builds(
    lambda seed, leaves, n_classes, fractional: random_tree(
        np.random.default_rng(seed), leaves, n_classes=n_classes, fractional=fractional
    ),
    seed=st.integers(0, 10**6),
    leaves=st.integers(1, 9),
    n_classes=st.integers(1, 4),
    fractional=st.booleans(),
)
SCORES = ["code-length", "shawe-taylor", "vapnik", "tail-inversion"]


def exhaustive(tree, objective, errors=None):
    """Score, leaves, errors and total depth of the collapsed nodes of every pruning, in order."""
    computed = []
    errors = tree.node_errors if errors is None else errors
    for cut in all_prunings(tree):
        pruned = tree.collapsed(list(cut))
        marked = errors_of_pruning(tree, cut, errors)
        log_tau = objective.log_growth_shape(pruned.shape)
        score = objective.of_tree(pruned.n_leaves, marked, log_tau)
        computed.append((score, pruned.n_leaves, marked, int(tree.node_depth[list(cut)].sum())))
    return sorted(computed)


def errors_of_pruning(tree, cut, errors):
    """Errors of a pruning, added up leaf by leaf from the root down."""
    total, stack = 0.0, [0]
    while stack:
        node = stack.pop()
        if node in cut or tree.left[node] < 0:
            total += errors[node]
        else:
            stack += [tree.left[node], tree.right[node]]
    return total


@pytest.mark.parametrize("score", SCORES)
@given(tree=trees)
def test_optimal_equals_exhaustive_search(tree, score):
    pruner = BoundPruner(score=score)
    result = pruner.prune(tree)
    best = exhaustive(tree, pruner.objective(tree))[0]
    assert result.score == pytest.approx(best[0], rel=1e-12)
    assert result.gap == 0.0
    if np.array_equal(tree.counts, np.floor(tree.counts)):
        cut = tree.n_nodes - result.tree.n_nodes
        assert (result.tree.n_leaves, result.tree.errors) == best[1:3]
        assert cut >= 0


@given(tree=trees)
def test_ties_go_to_the_shallower_nodes(tree):
    result = BoundPruner().prune(tree)
    path = result.path
    for step in range(len(path)):
        cut = path._sizes.cuts(int(path.leaves[step]))
        same = [
            (errors_of_pruning(tree, other, tree.node_errors), tree.node_depth[list(other)].sum())
            for other in all_prunings(tree)
            if tree.collapsed(list(other)).n_leaves == path.leaves[step]
        ]
        errors, depth = min((round(e, 9), d) for e, d in same)
        assert path.errors[step] == pytest.approx(errors)
        assert tree.node_depth[cut].sum() == depth


@given(tree=trees)
def test_input_is_never_changed(tree):
    before = arrays(tree)
    BoundPruner(costs=np.arange(1.0, tree.n_classes + 1)).prune(tree)
    for name, values in arrays(tree).items():
        np.testing.assert_array_equal(values, before[name])


@pytest.mark.parametrize("score", ["code-length", "shawe-taylor", "vapnik"])
@pytest.mark.parametrize("seed", range(3))
def test_large_tree_needs_no_whole_curve_and_finds_the_same(score, seed):
    tree = random_tree(np.random.default_rng(seed), 700, most=3, fractional=seed == 2)
    result = BoundPruner(score=score).prune(tree)
    path = result.path
    assert result.path._sizes._cap < 700
    leaves = np.argmin(path.scores[::-1]) + 1
    assert (result.tree.n_leaves, result.score) == (leaves, path.scores.min())


def test_path_reads_off_every_size():
    tree = random_tree(np.random.default_rng(1), 12)
    path = BoundPruner().prune(tree).path
    for row in path.table():
        rebuilt = path.tree(row["step"])
        assert (rebuilt.n_leaves, rebuilt.errors) == (row["leaves"], row["errors"])
    assert path.tree().n_leaves == path.leaves[path.chosen]
    assert path.leaves[path.reaching(5)[1]] == 5
    with pytest.raises(ValueError, match="'step' parameter must be an int from 0 to 11"):
        path.tree(12)


@pytest.mark.parametrize("score", SCORES)
def test_some_steps_are_measured_like_all_of_them(score):
    """A fresh path each time: measuring few steps must not need the whole curve."""
    tree = random_tree(np.random.default_rng(6), 40)
    whole = BoundPruner(score=score).prune(tree).path
    for steps in ([39], [30, 12, 31], range(40), []):
        path = BoundPruner(score=score).prune(tree).path
        steps = np.array(steps, dtype=np.int64)
        errors, scores = path.measured(steps)
        np.testing.assert_array_equal(errors, whole.errors[steps])
        np.testing.assert_array_equal(scores, whole.scores[steps])


def test_result_survives_pickling():
    tree = random_tree(np.random.default_rng(2), 20)
    result = BoundPruner().prune(tree)
    again = pickle.loads(pickle.dumps(result))
    assert again.path.table() == result.path.table()
    assert again.explain() == result.explain()


def test_costs_determine_the_labels_and_the_errors():
    tree = random_tree(np.random.default_rng(3), 6, n_classes=2)
    weighted = BoundPruner(costs=[1.0, 50.0]).prune(tree).tree
    assert (weighted.label[weighted.counts[:, 1] > 0] == 1).all()
    plain = BoundPruner(costs=np.full((2, 2), 7.0) - 7 * np.eye(2)).prune(tree)
    same = BoundPruner().prune(tree)
    assert plain.score == pytest.approx(same.score)
    np.testing.assert_array_equal(plain.tree.counts, same.tree.counts)


def test_score_may_be_a_function_of_four_numbers():
    def size_only(m, errors, log_growth, log_prior):
        assert errors <= m
        return math.log(1 + log_growth) - log_prior

    def the_papers(m, errors, log_growth, log_prior):
        return shawe_taylor(m, errors, log_growth, delta=0.05, log_prior=log_prior, error_prior=0.1)

    tree = random_tree(np.random.default_rng(4), 9)
    assert BoundPruner(score=size_only).prune(tree).tree.n_leaves == 1
    named = PaperPruner(
        search="optimal", growth="leaves", size_prior="leaves", error_prior=0.1
    ).prune(tree)
    given = BoundPruner(score=the_papers).prune(tree)
    assert given.score == pytest.approx(named.score)
    assert given.tree.n_leaves == named.tree.n_leaves


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"score": "aic"}, "'score' parameter of BoundPruner must be one of"),
        ({"rule": "best"}, "'rule' parameter of BoundPruner must be one of 'accurate'"),
        ({"rule": "small", "weight": 1.0}, "'rule' parameter .* None with a fixed weight.*Hint"),
        ({"rule": "small", "score": "vapnik"}, "'rule' parameter .* None with a fixed weight"),
        ({"weight": "best"}, "'weight' parameter .* a finite number >= 0 or 'auto'. Got 'best'"),
        ({"weight": -1}, "'weight' parameter of BoundPruner must be a finite number >= 0"),
        ({"delta": 2}, "'delta' parameter of BoundPruner must be a number in the open interval"),
        ({"costs": [1, -1]}, "'costs' parameter must be an array"),
        ({"costs": {0: {1: 5}}}, r"numbers >= 0.*Got \{0: \{1: 5\}\} instead"),
        ({"costs": [[0, 1], [1]]}, r"of finite numbers >= 0.*Got \[\[0, 1\], \[1\]\] instead"),
        ({"costs": [0, 0]}, "'costs' parameter must be costs of which one is positive"),
    ],
)
def test_wrong_parameters_are_named(options, message):
    tree = random_tree(np.random.default_rng(4), 3, n_classes=2)
    with pytest.raises(ValueError, match=message):
        BoundPruner(**options).prune(tree)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"growth": "closed"}, "'growth' parameter of PaperPruner must be one of"),
        ({"search": "optimal"}, "'growth' parameter of PaperPruner must be 'leaves' unless search"),
        ({"search": "random"}, "'search' parameter of PaperPruner must be one of"),
        ({"score": "log-loss"}, "'score' parameter of PaperPruner must be one of"),
        ({"weight": "auto"}, "'weight' parameter of PaperPruner must be a finite number >= 0"),
    ],
)
def test_wrong_parameters_of_the_paper_pruner_are_named(options, message):
    tree = random_tree(np.random.default_rng(4), 3, n_classes=2)
    with pytest.raises(ValueError, match=message):
        PaperPruner(**options).prune(tree)


def test_the_bound_pruner_has_at_most_nine_parameters():
    assert len(BoundPruner().get_params()) <= 9


def test_explanation_names_the_neighbours():
    tree = random_tree(np.random.default_rng(7), 30, most=40)
    result = BoundPruner(weight=0.01).prune(tree)
    size = result.tree.n_leaves
    assert 1 < size < 30
    words = result.explain().splitlines()
    assert words[0].startswith(f"{size} leaves with ")
    assert words[1].startswith(f"{size - 1} l")
    assert words[2].startswith(f"{size + 1} leaves: ")
    assert all("worse" in line for line in words[1:])


@pytest.mark.parametrize("score", ["shawe-taylor", "vapnik", "tail-inversion"])
def test_the_growth_function_is_that_of_the_sample_and_its_ghost(score):
    # A growth function at 4m in place of 5m, or at m in place of 2m, gives another score.
    tree = random_tree(np.random.default_rng(5), 12, n_classes=3, most=900)
    result = BoundPruner(score=score).prune(tree)
    pruned, m = result.tree, int(tree.weight[0])
    leaves, errors = pruned.n_leaves, float(pruned.errors)
    prior = float(log_leaves_prior(leaves))

    def log_growth(total):
        return log_growth_leaves(leaves, total, 3, tree.landscape)

    expected = {
        "shawe-taylor": shawe_taylor(
            m, errors, log_growth(2 * m), log_prior=prior, error_prior=2**-5
        ),
        "vapnik": vapnik(m, errors, log_growth(2 * m), log_prior=prior),
        "tail-inversion": tail_inversion(m, errors, log_growth, log_prior=prior),
    }
    assert leaves > 1
    assert result.score == expected[score]


@pytest.mark.parametrize("fractional", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_cuts_do_not_depend_on_what_was_computed_before(seed, fractional):
    """Ties: steps of the weakest-link path between two corners have several best prunings."""
    tree = random_tree(np.random.default_rng(seed), 300, most=2, fractional=fractional)
    costs = Costs.of(tree, None)
    late = best_by_size(tree, costs, "code-length")
    late.errors()
    for leaves in range(1, tree.n_leaves + 1):
        early = best_by_size(tree, costs, "code-length")
        np.testing.assert_array_equal(early.cuts(leaves), late.cuts(leaves))
