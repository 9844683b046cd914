"""The greedy search against the paper's algorithm, step by step."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paper_algorithm import prune_tree_with_bound
from pruning_trees import arrays, grown_tree, predictions, sample_of
from support import CODE_LENGTH

from treebound.pruning import BoundPruner, PaperPruner
from treebound.pruning.costs import Costs
from treebound.shapes import TreeShape

FORMS = ["leaves", "fast"]


def steps_of(result):
    return [tuple(row[k] for k in ("node", "replaced_by", "leaves", "errors", "score"))
            for row in result.path.table()]  # fmt: skip


def assert_same_steps(result, expected):
    computed = steps_of(result)
    assert [step[:3] for step in computed] == [step[:3] for step in expected]
    np.testing.assert_allclose([s[3:] for s in computed], [s[3:] for s in expected], rtol=1e-9)


@pytest.mark.parametrize("growth", FORMS)
@pytest.mark.parametrize("missing", [False, True])
@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), r=st.sampled_from([2**-0.5, 2**-3, 2**-10.5]))
def test_greedy_takes_the_steps_of_the_paper(growth, missing, seed, r):
    tree, X, y = grown_tree(np.random.default_rng(seed), missing=missing)
    pruner = PaperPruner(growth=growth, error_prior=r, relabel=True)
    objective = pruner.objective(tree)

    def score(shape, errors):
        return objective.of_tree(shape.leaves, errors, objective.log_growth_shape(shape))

    before = arrays(tree)
    result = pruner.prune(tree, sample_of(tree, X, y))
    assert_same_steps(result, prune_tree_with_bound(tree, X, y, score))
    for name, values in arrays(tree).items():
        np.testing.assert_array_equal(values, before[name])


@pytest.mark.parametrize("growth", FORMS)
@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), r=st.sampled_from([2**-0.5, 2**-3, 2**-10.5]))
def test_labels_stay_as_they_were_grown_without_relabelling(growth, seed, r):
    tree, X, y = grown_tree(np.random.default_rng(seed))
    pruner = PaperPruner(growth=growth, error_prior=r)
    objective = pruner.objective(tree)

    def score(shape, errors):
        return objective.of_tree(shape.leaves, errors, objective.log_growth_shape(shape))

    result = pruner.prune(tree, sample_of(tree, X, y))
    assert_same_steps(result, prune_tree_with_bound(tree, X, y, score, labels=tree.label))
    wrong = np.sum(predictions(result.tree, X) != y)
    assert result.tree.errors == wrong == result.path.errors[result.path.chosen]
    assert result.tree.counts[0].tolist() == tree.counts[0].tolist()


@pytest.mark.parametrize(("rows", "n_classes"), [(400, 2), (60, 2), (400, 5), (60, 4)])
@settings(max_examples=3)
@given(seed=st.integers(0, 10**6))
def test_fast_form_of_every_candidate_is_that_of_its_shape(rows, n_classes, seed):
    from treebound.pruning.greedy import BoundScorer, after_each
    from treebound.pruning.raising import Raiser

    tree, X, y = grown_tree(
        np.random.default_rng(seed), rows, n_classes=n_classes, max_leaves=25, noise=0.5
    )
    objective = PaperPruner().objective(tree)
    state = Raiser(tree, sample_of(tree, X, y))
    scorer, leaf = BoundScorer(tree, state, objective), TreeShape.leaf()
    for _ in range(3):
        nodes = state.inner()
        leaves, _ = state.candidates(nodes)
        shapes = after_each(state, nodes, lambda depth: leaf, TreeShape.node)
        computed = scorer._growth(nodes, leaves)
        np.testing.assert_array_equal([one.leaves for one in shapes], leaves)
        expected = [objective.log_growth_shape(one) for one in shapes]
        np.testing.assert_allclose(computed, expected, rtol=1e-12)
        state.replace(int(nodes[len(nodes) // 3]), 1)


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6))
def test_counts_and_labels_are_those_of_the_examples(seed):
    tree, X, y = grown_tree(np.random.default_rng(seed), missing=True)
    result = PaperPruner(growth="leaves", error_prior=2**-3, relabel=True).prune(
        tree, sample_of(tree, X, y)
    )
    for step in range(len(result.path)):
        one = result.path.tree(step)
        again = one.recounted(sample_of(tree, X, y))
        for name in ("counts", "rows", "label"):
            np.testing.assert_array_equal(getattr(one, name), getattr(again, name))
        assert one.errors == result.path.errors[step]


@settings(max_examples=10)
@given(seed=st.integers(0, 10**6))
def test_costs_and_weights_take_part(seed):
    rng = np.random.default_rng(seed)
    weight = rng.integers(1, 4, 50).astype(float)
    tree, X, y = grown_tree(rng, 50, weights=weight, max_leaves=8)
    given_costs = rng.integers(1, 5, (3, 3)) * (1.0 - np.eye(3))
    pruner = PaperPruner(growth="leaves", error_prior=0.3, costs=given_costs, relabel=True)
    objective = pruner.objective(tree)
    matrix = Costs.of(tree, given_costs).matrix

    def score(shape, errors):
        return objective.of_tree(shape.leaves, errors, objective.log_growth_shape(shape))

    result = pruner.prune(tree, sample_of(tree, X, y, weight))
    expected = prune_tree_with_bound(tree, X, y, score, weight=weight, costs=matrix)
    assert_same_steps(result, expected)
    np.testing.assert_array_equal(
        result.tree.label, Costs.of(tree, given_costs).labels(result.tree.counts)
    )


def greedy_without_raising(tree, objective):
    """Collapse the node that lowers the score most, as long as one does."""

    def judged(one):
        return objective.of_tree(one.n_leaves, one.errors, objective.log_growth_shape(one.shape))

    score = judged(tree)
    while tree.n_leaves > 1:
        inner = np.flatnonzero(~tree.is_leaf)
        computed = min((judged(tree.collapsed([node])), -node) for node in inner)
        if computed[0] > score:
            break
        score, tree = computed[0], tree.collapsed([-computed[1]])
    return score


@pytest.mark.parametrize("score", ["code-length", "shawe-taylor", "vapnik"])
@settings(max_examples=15)
@given(seed=st.integers(0, 10**6))
def test_optimal_is_never_worse_than_greedy_without_raising(score, seed):
    tree, X, y = grown_tree(np.random.default_rng(seed), 80)
    pruner = BoundPruner(score=score)
    best = pruner.prune(tree)
    assert best.score <= greedy_without_raising(tree, pruner.objective(tree))
    both = PaperPruner(
        **{**CODE_LENGTH, "score": score, "search": "optimal+raise", "error_prior": 2**-5}
    ).prune(tree, sample_of(tree, X, y))
    assert both.score <= best.score


def test_raised_result_survives_pickling():
    tree, X, y = grown_tree(np.random.default_rng(0), 200, max_leaves=40)
    result = PaperPruner(**CODE_LENGTH).prune(tree, sample_of(tree, X, y))
    again = pickle.loads(pickle.dumps(result))
    assert again.path.table() == result.path.table()
    np.testing.assert_array_equal(again.path.tree(1).counts, result.path.tree(1).counts)


def test_other_examples_are_refused():
    tree, X, y = grown_tree(np.random.default_rng(0))
    with pytest.raises(ValueError, match="must be the rows the tree was counted on"):
        PaperPruner(**CODE_LENGTH).prune(tree, sample_of(tree, X[:-1], y[:-1]))
    with pytest.raises(ValueError, match="PaperPruner needs a sample to raise subtrees"):
        PaperPruner(**CODE_LENGTH).prune(tree)


def test_single_leaf_and_single_class():
    tree, X, y = grown_tree(np.random.default_rng(0), max_leaves=1)
    assert PaperPruner(**CODE_LENGTH).prune(tree, sample_of(tree, X, y)).tree.n_leaves == 1
    assert (
        PaperPruner(**CODE_LENGTH, search="optimal+raise")
        .prune(tree, sample_of(tree, X, y))
        .tree.n_leaves
        == 1
    )
    alone, X, y = grown_tree(np.random.default_rng(0), n_classes=1)
    assert PaperPruner(**CODE_LENGTH).prune(alone, sample_of(alone, X, y)).tree.n_leaves == 1
