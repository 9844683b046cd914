"""Cost-complexity pruning against scikit-learn and against every pruning."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pruning_trees import all_prunings, grown_tree, random_tree, sample_of
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.model_selection import ShuffleSplit, StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

import treebound as tb
from treebound.data.draws import folds
from treebound.growing import grow
from treebound.pruning import CostComplexityPruner, KearnsMansourPruner, weakest_link_path
from treebound.pruning.cost_complexity import _within


def as_function(alphas, values, at):
    """The value that holds from an alpha on."""
    return np.asarray(values)[np.searchsorted(alphas, at, side="right") - 1]


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_digits])
def test_path_equals_that_of_scikit_learn(load, criterion):
    X, y = load(return_X_y=True)
    estimator = DecisionTreeClassifier(criterion=criterion, random_state=0)
    theirs = estimator.cost_complexity_pruning_path(X, y)
    tree = tb.from_sklearn(estimator.fit(X, y), X, y)
    ours = weakest_link_path(tree, measure="impurity", criterion=criterion)
    # Between two alphas that differ by more than rounding both have the same tree.
    known = np.union1d(ours.alphas, theirs.ccp_alphas)
    gaps = np.flatnonzero(np.diff(known) > 1e-9)
    middles = (known[gaps] + known[gaps + 1]) / 2
    assert len(middles) >= 0.3 * len(known)
    np.testing.assert_allclose(
        as_function(ours.alphas, ours.risks, middles),
        as_function(theirs.ccp_alphas, theirs.impurities, middles),
        atol=1e-9,
    )
    for alpha in middles[:: max(1, len(middles) // 8)]:
        refitted = estimator.set_params(ccp_alpha=alpha).fit(X, y)
        assert ours.leaves[ours.at(alpha)] == refitted.get_n_leaves()


@given(seed=st.integers(0, 10**6), leaves=st.integers(1, 8))
def test_every_tree_on_the_path_is_the_best_for_its_alphas(seed, leaves):
    tree = random_tree(np.random.default_rng(seed), leaves)
    path = weakest_link_path(tree)
    every = [tree.collapsed(list(cut)) for cut in all_prunings(tree)]
    sizes = np.array([one.n_leaves for one in every])
    risks = np.array([one.errors for one in every]) / tree.weight[0]
    for step, alpha in enumerate(path.alphas):
        costs = risks + alpha * sizes
        best = costs <= costs.min() + 1e-12
        assert path.risks[step] + alpha * path.leaves[step] == pytest.approx(costs.min())
        if path.at(alpha) == step:  # of equally good ones the smallest
            assert path.leaves[step] == sizes[best].min()
        assert path.tree(step).errors == pytest.approx(path.errors[step])


def test_given_alpha_is_used_and_explained():
    tree = random_tree(np.random.default_rng(3), 20)
    path = weakest_link_path(tree)
    for alpha in (path.alphas[2], (path.alphas[2] + path.alphas[3]) / 2):
        result = CostComplexityPruner(alpha=alpha).prune(tree)
        assert result.path.chosen == 2
        assert result.score == pytest.approx(path.risks[2] + alpha * path.leaves[2])
        assert "risk + alpha x leaves" in result.explain()
    assert CostComplexityPruner(alpha=np.inf).prune(tree).tree.n_leaves == 1


def validated_by_hand(tree, sample, *, k, measure="error"):
    """Share of errors of every step, each fold's trees pruned one by one."""
    alphas = weakest_link_path(tree, measure=measure).alphas
    tried = np.append(np.sqrt(alphas[:-1].clip(0) * alphas[1:].clip(0)), np.inf)
    wrong = np.zeros(len(tried))
    for outside, inside in folds(sample, k, 0):
        grown = grow(outside)
        for at, alpha in enumerate(tried):
            pruned = CostComplexityPruner(alpha=alpha, measure=measure).prune(grown).tree
            wrong[at] += (pruned.predict(inside.X) != inside.y).sum()
    return wrong / sample.n_rows


@pytest.mark.parametrize("measure", ["error", "impurity"])
def test_cross_validation_equals_pruning_every_fold_by_hand(measure):
    tree, X, y = grown_tree(np.random.default_rng(1), 150, max_leaves=None)
    shares = validated_by_hand(tree, sample_of(tree, X, y), k=4, measure=measure)
    result = CostComplexityPruner(folds=4, measure=measure).prune(
        tree, sample_of(tree, X, y), grow=grow
    )
    np.testing.assert_allclose(result.path.validated, shares)
    assert result.path.chosen == np.flatnonzero(shares == shares.min())[-1]
    se = np.sqrt(shares.min() * (1 - shares.min()) / len(y))
    smaller = CostComplexityPruner(folds=4, rule="small", measure=measure).prune(
        tree, sample_of(tree, X, y), grow=grow
    )
    assert smaller.path.chosen == np.flatnonzero(shares <= shares.min() + se)[-1]


def test_rule_of_the_paper_takes_the_mean_of_the_best_alphas():
    tree, X, y = grown_tree(np.random.default_rng(2), 150, max_leaves=None)
    best = []
    for outside, inside in folds(sample_of(tree, X, y), 5, 0):
        path = weakest_link_path(grow(outside))
        wrong = [(path.tree(step).predict(inside.X) != inside.y).sum() for step in range(len(path))]
        best.append(path.alphas[np.flatnonzero(np.array(wrong) == min(wrong))[-1]])
    result = CostComplexityPruner(rule="paper").prune(tree, sample_of(tree, X, y), grow=grow)
    assert result.path.alpha == pytest.approx(np.mean(best))


def test_what_is_missing_is_named():
    tree, X, y = grown_tree(np.random.default_rng(2))
    with pytest.raises(ValueError, match="CostComplexityPruner needs a sample and grow"):
        CostComplexityPruner().prune(tree, sample_of(tree, X, y))
    with pytest.raises(ValueError, match="'rule' parameter of CostComplexityPruner must be one of"):
        CostComplexityPruner(rule="best").prune(tree)
    with pytest.raises(ValueError, match="'alpha' parameter of CostComplexityPruner must be"):
        CostComplexityPruner(alpha="auto").prune(tree)


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), leaves=st.integers(2, 60))
def test_paths_are_nested_and_their_columns_agree(seed, leaves):
    tree = random_tree(np.random.default_rng(seed), leaves)
    path = weakest_link_path(tree)
    assert (np.diff(path.leaves) < 0).all()
    assert path.leaves[-1] == 1
    assert (np.diff(path.alphas)[1:] > 0).all()
    for row in path.table():
        one = path.tree(row["step"])
        assert (one.n_leaves, one.errors) == (row["leaves"], pytest.approx(row["errors"]))


def test_a_splitter_makes_the_folds():
    """One part of the rows is tested: the rest does not count."""
    tree, X, y = grown_tree(np.random.default_rng(4), 150, max_leaves=None)
    sample = sample_of(tree, X, y)
    outside, inside = sample.part(slice(30, None)), sample.part(slice(30))

    class FirstFold:
        def split(self, X, y):
            assert len(X) == len(y) == 150
            return [(np.arange(30, 150), np.arange(30))]

    result = CostComplexityPruner(folds=FirstFold()).prune(tree, sample, grow=grow)
    path, grown = result.path, grow(outside)
    tried = np.append(np.sqrt(path.alphas[:-1].clip(0) * path.alphas[1:].clip(0)), np.inf)
    wrong = [
        (CostComplexityPruner(alpha=a).prune(grown).tree.predict(inside.X) != inside.y).mean()
        for a in tried
    ]
    np.testing.assert_allclose(path.validated, wrong)


@pytest.mark.parametrize("pruner", [CostComplexityPruner, KearnsMansourPruner])
def test_splitters_of_scikit_learn_work_and_bad_ones_are_refused(pruner):
    tree, X, y = grown_tree(np.random.default_rng(5), 150, max_leaves=None)
    sample = sample_of(tree, X, y)
    for splitter in (StratifiedKFold(3), ShuffleSplit(4, random_state=0)):
        result = pruner(folds=splitter).prune(tree, sample, grow=grow)
        assert 1 <= result.tree.n_leaves <= tree.n_leaves

    class Folds:
        def __init__(self, *parts):
            self.parts = parts

        def split(self, X, y):
            return self.parts

    with pytest.raises(ValueError, match="made no folds"):
        pruner(folds=Folds()).prune(tree, sample, grow=grow)
    masks = np.arange(150) % 2 == 0
    by_mask = pruner(folds=Folds((masks, ~masks))).prune(tree, sample, grow=grow)
    halves = np.arange(0, 150, 2), np.arange(1, 150, 2)
    by_place = pruner(folds=Folds(halves)).prune(tree, sample, grow=grow)
    np.testing.assert_array_equal(by_mask.path.scores, by_place.path.scores)
    for wrong in (([0, 1], [150]), ([0.5], [1]), ([0], [1], [2]), 7):
        with pytest.raises(ValueError, match="Fold 1 must be two arrays of places of rows"):
            pruner(folds=Folds(wrong)).prune(tree, sample, grow=grow)
    with pytest.raises(ValueError, match="Fold 2 has 0 rows inside and 3 outside"):
        pruner(folds=Folds(([0, 1], [2]), ([0, 1, 2], []))).prune(tree, sample, grow=grow)


@pytest.mark.parametrize("shares", [[1.0 + 2**-52, 1.5], [-(2.0**-60), 0.5]])
@pytest.mark.parametrize("errors", [0.0, 0.5, 1.0])
def test_a_share_of_weights_that_rounding_moves_out_of_range_is_chosen(shares, errors):
    """Fractional weights add up in another order in the folds than in the sample."""
    assert _within(np.array(shares), 10.0, errors) == 0
