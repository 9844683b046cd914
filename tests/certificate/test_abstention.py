"""Abstention: against a direct search, and simulated with levels that are chosen by looking."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

import treebound as tb
from treebound.bounds.risk import binomial_upper
from treebound.certificate.abstention import (
    ABSTAIN,
    Abstention,
    _merged,
    _ranked,
    abstain_by_prior,
    abstain_by_rows,
)
from treebound.certificate.prior import Prior, log_labels, prior_bound, search_trees
from treebound.data import Column, Matrix, Sample
from treebound.data.draws import Draw
from treebound.growing import GrowOptions, grow
from treebound.tree.model import Tree

RISKS = np.array([0.01, 0.04, 0.12, 0.3, 0.02, 0.5])
SHARES = np.array([0.3, 0.2, 0.1, 0.1, 0.2, 0.1])


def draw(rng, m):
    """One column of six values, each with its own risk; the label is the value's parity."""
    x = rng.choice(6, size=m, p=SHARES)
    y = ((x % 2) ^ (rng.random(m) < RISKS[x])).astype(np.int32)
    return Sample(Matrix((Column("x"),), dense=x[:, None].astype(float)), y, None, np.arange(2))


def true_risk(tree, predicts):
    """Risk of a predicted case, exactly; 0 if none is."""
    cells = Matrix(tree.columns, dense=np.arange(6.0)[:, None])
    reached = tree.apply(cells)
    wrong = np.where(tree.label[reached] == np.arange(6) % 2, RISKS, 1 - RISKS)
    predicted = predicts[reached]
    return (
        float((SHARES * wrong)[predicted].sum() / SHARES[predicted].sum())
        if predicted.any()
        else 0.0
    )


def prefixes(tree, counts, delta):
    """Leaves, rows, errors and bound of every prefix, one leaf at a time."""
    risk = (tree.node_errors + 1) / (tree.weight + tree.n_classes)
    order = sorted(tree.leaves.tolist(), key=lambda leaf: (risk[leaf], -tree.weight[leaf], leaf))
    for j in range(1, len(order) + 1):
        rows = sum(int(counts[leaf].sum()) for leaf in order[:j])
        wrong = rows - sum(int(counts[leaf, tree.label[leaf]]) for leaf in order[:j])
        bound = binomial_upper(rows, wrong, delta / len(order)) if rows else 1.0
        yield set(order[:j]), rows, wrong, bound


@pytest.mark.parametrize("shares", [1, 4])
def test_the_largest_prefix_with_a_small_bound_predicts(shares):
    rng = np.random.default_rng(0)
    tree = grow(draw(rng, 400), GrowOptions(max_leaves=6))
    counts, _ = tree.counts_on(draw(rng, 1000))
    every = list(prefixes(tree, counts, 0.05 / shares))
    sizes = set()
    for max_risk in np.linspace(0.01, 0.4, 40):
        abstention = abstain_by_rows(tree, counts, 1000, max_risk, 0.05, shares)
        fitting = [choice for choice in every if choice[3] <= max_risk]
        leaves, rows, wrong, bound = fitting[-1] if fitting else (set(), 0, 0, None)
        assert set(np.flatnonzero(abstention.predicts).tolist()) == leaves
        assert (abstention.predicted, abstention.errors, abstention.m) == (rows, wrong, 1000)
        least = min(choice[3] for choice in every)
        assert abstention.risk == pytest.approx(least if bound is None else bound, rel=1e-12)
        assert (abstention.max_risk, abstention.delta) == (max_risk, 0.05)
        sizes.add(len(leaves))
    assert len(sizes) > 3


def test_without_enough_rows_the_tree_always_abstains():
    rng = np.random.default_rng(0)
    tree = grow(draw(rng, 400), GrowOptions(max_leaves=6))
    calibration = draw(rng, 20)
    abstention = abstain_by_rows(tree, tree.counts_on(calibration)[0], 20, 0.05)
    assert not abstention.predicts.any()
    assert abstention.coverage == 0.0
    assert "the tree always abstains" in str(abstention)
    assert "The smallest bound of any set of leaves is" in str(abstention)
    nobody = abstain_by_rows(tree, np.zeros((tree.n_nodes, 2), dtype=int), 0, 0.05)
    assert (nobody.risk, nobody.coverage) == (1.0, 0.0)


def test_abstaining_is_a_label_of_the_prior():
    rng = np.random.default_rng(1)
    sample = draw(rng, 600)
    prior = Prior(sample, Draw(0))
    trees = search_trees(prior)
    abstention = abstain_by_prior(trees, 0.12)
    assert abstention.predicts.any()
    certified = next(one for one in trees if one.tree is abstention.tree)
    predicting = abstention.predicts[abstention.tree.leaves]
    on_a = abstention.tree.counts_on(prior.a)[0]
    labels = [
        log_labels(on_a[leaf])[abstention.tree.label[leaf]] for leaf in abstention.tree.leaves
    ]
    price = certified.proof.log_prior - sum(labels)
    price += sum(np.log(1 - ABSTAIN) + label for label, used in zip(labels, predicting, strict=True)
                 if used) + np.log(ABSTAIN) * (~predicting).sum()  # fmt: skip
    assert price <= slow_price(prior, abstention) + 1e-9
    assert (
        prior_bound(
            abstention.predicted, abstention.errors, np.log(0.05) + slow_price(prior, abstention)
        )
        <= 0.12
    )


def slow_price(prior, abstention):
    """Log probability of the tree whose subtrees that abstain are one leaf, node by node."""
    tree, predicts = abstention.tree, abstention.predicts
    abstains = [~predicts[k : k + tree.size[k]] | ~tree.is_leaf[k : k + tree.size[k]]
              for k in range(tree.n_nodes)]  # fmt: skip
    whole = np.array([part.all() for part in abstains])
    pruned = tree.collapsed(np.flatnonzero(whole & ~tree.is_leaf))
    total = prior.log_probability(pruned)
    on_a, reached = pruned.counts_on(prior.a)[0], pruned.apply(prior.sample.X)
    old = tree.apply(prior.sample.X)
    for leaf in pruned.leaves:
        label = log_labels(on_a[leaf])[pruned.label[leaf]]
        predicted = predicts[old[reached == leaf]].any()
        total += np.log(1 - ABSTAIN) if predicted else np.log(ABSTAIN) - label
    return total


def test_every_prefix_of_leaves_has_the_price_of_its_tree():
    prior = Prior(draw(np.random.default_rng(3), 900), Draw(0))
    certified = max(search_trees(prior), key=lambda one: one.leaves)
    tree, proof = certified.tree, certified.proof
    order = _ranked(tree)
    assert len(order) > 4
    labels = log_labels(proof.counts_a[order])[np.arange(len(order)), tree.label[order]]
    saved = _merged(tree, proof, order)
    for j in range(len(order)):
        predicts = np.zeros(tree.n_nodes, dtype=bool)
        predicts[order[: j + 1]] = True
        price = proof.log_prior - labels[j + 1 :].sum() + (j + 1) * np.log(1 - ABSTAIN)
        price += (len(order) - j - 1) * np.log(ABSTAIN) + saved[j]
        abstention = Abstention(tree, predicts, 0.1, 0.1, 0.05, 0, 0, 0)
        assert price == pytest.approx(slow_price(prior, abstention), abs=1e-8)
    for max_risk in np.linspace(0.05, 0.4, 15):
        some = abstain_by_prior([certified], max_risk)
        if some.predicts.any():
            level = np.log(0.05) + slow_price(prior, some)
            assert some.risk == pytest.approx(prior_bound(some.predicted, some.errors, level))


def test_leaves_are_ranked_by_their_error_with_one_more_error_and_a_row_more_for_each_class():
    """No errors in 4 rows rank after 10 in 100 and before 20 in 100; of equals the larger first."""
    counts = np.array([[40, 20], [10, 90], [80, 20], [4, 0], [0, 4], [84, 16]])  # the leaves
    inner = np.array([True, False] * 5 + [False])
    table = np.zeros((11, 2))
    table[~inner] = counts
    for node in range(8, -1, -2):
        table[node] = table[node + 1] + table[node + 2]
    tree = Tree(
        feature=np.where(inner, 0, -1), threshold=np.where(inner, 0.5, np.nan),
        category=np.full(11, -1), missing_left=np.zeros(11, bool),
        left=np.where(inner, np.arange(11) + 1, -1), right=np.where(inner, np.arange(11) + 2, -1),
        counts=table, rows=table.sum(axis=1).astype(int), columns=(Column("x"),),
        classes=np.arange(2),
    )  # fmt: skip
    # 11 / 102, then 17 / 102 and twice 1 / 6, 21 / 102 and 21 / 62
    assert _ranked(tree).tolist() == [3, 10, 7, 9, 5, 1]


@pytest.mark.parametrize("draws", [300, pytest.param(5000, marks=pytest.mark.heavy)])
def test_bounds_are_wrong_at_most_delta_if_the_level_is_chosen_after_looking(draws):
    # The adversary looks at every prefix and takes the level that is violated, if there is one.
    rng, delta = np.random.default_rng(2), 0.1
    wrong = {"all prefixes": 0, "each prefix at delta": 0}
    wrong |= {"prior": 0, "prior, sorted rows": 0}
    for seed in range(draws):
        tree = grow(draw(rng, 100), GrowOptions(max_leaves=6))
        counts = tree.counts_on(draw(rng, 150))[0]
        abstention = [
            abstain_by_rows(tree, counts, 150, bound, delta)
            for *_, bound in prefixes(tree, counts, delta)
            if bound < 1.0
        ]
        wrong["all prefixes"] += any(
            true_risk(tree, choice.predicts) > choice.risk for choice in abstention
        )
        naive = list(prefixes(tree, counts, delta * tree.n_leaves))
        masks = [np.isin(np.arange(tree.n_nodes), [*leaves]) for leaves, *_ in naive]
        wrong["each prefix at delta"] += any(
            true_risk(tree, mask) > choice[3] for mask, choice in zip(masks, naive, strict=True)
        )
        if seed < draws // 3:
            rows = draw(rng, 250)
            ordered = rows.part(np.argsort(rows.y, kind="stable"))
            priors = {"prior": Prior(rows, Draw(seed)), "prior, sorted rows": Prior(ordered)}
            for name, prior in priors.items():
                trees = search_trees(prior, delta, restarts=0)
                levels = [abstain_by_prior(trees, risk, delta) for risk in (0.03, 0.05, 0.1, 0.2)]
                wrong[name] += any(
                    true_risk(choice.tree, choice.predicts) > choice.risk for choice in levels
                )
    assert 0 < wrong["all prefixes"] <= binom.ppf(0.999, draws, delta)
    assert wrong["each prefix at delta"] > 1.2 * delta * draws
    assert max(wrong["prior"], wrong["prior, sorted rows"]) <= delta * (draws // 3)


@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize("draws", [40, pytest.param(2000, marks=pytest.mark.heavy)])
def test_the_bounds_of_calibration_rows_hold_for_the_level_that_looks_worst(draws, by_class):
    rng, delta, wrong = np.random.default_rng(5), 0.1, 0
    cells = np.arange(6.0)[:, None]
    for _ in range(draws):
        sample = draw(rng, 500)
        if by_class:  # a sorted table, at the seed that every fit has
            sample = sample.part(np.argsort(sample.y, kind="stable"))
        clf = tb.BoundTreeClassifier(certificate="held-out", random_state=0, cv=None)
        clf.fit(sample.X.dense, sample.y)
        violated = False
        for some in clf.abstain(max_risk=np.linspace(0.02, 0.4, 20), delta=delta):
            labels = some.predict(cells)
            predicted = labels >= 0
            risks = np.where(labels == np.arange(6) % 2, RISKS, 1 - RISKS)
            if predicted.any():
                risk = (SHARES * risks)[predicted].sum() / SHARES[predicted].sum()
                violated |= risk > some.abstention_.risk
        wrong += violated
    assert wrong <= binom.ppf(0.999, draws, delta)


def test_the_classifier_abstains_at_any_level_any_number_of_times():
    sample = draw(np.random.default_rng(7), 900)
    clf = tb.BoundTreeClassifier(certificate="held-out").fit(sample.X.dense, sample.y)
    first = [str(clf.abstain(max_risk=risk).abstention_) for risk in (0.3, 0.05, 0.1)]
    again = [str(classifier.abstention_) for classifier in clf.abstain(max_risk=[0.3, 0.05, 0.1])]
    assert first == again


def test_the_sentence_states_the_bound_the_share_of_predictions_and_the_errors():
    tree = grow(draw(np.random.default_rng(0), 400), GrowOptions(max_leaves=2))
    predicts = np.array([False, True, False])
    some = Abstention(tree, predicts, 0.1, 0.0812, 0.02, 3, 1500, 2000)
    assert str(some) == (
        "With probability 98 %, at most 8.2 % of the predicted new cases are misclassified. 75.0 % "
        "of 2,000 rows get a prediction, 3 of them a wrong one; the tree abstains on the rest."
    )
    assert str(replace(some, note="A note.")) == f"{some} A note."
    grouped = str(replace(some, grouped=True))
    assert "new cases, each a row drawn at random from a random group, are mis" in grouped


def test_the_label_of_abstention_is_one_more_class_of_the_tree_that_is_shown():
    sample = draw(np.random.default_rng(0), 400)
    tree = grow(sample, GrowOptions(max_leaves=4))
    tree = replace(tree, factors=np.array([1.0, 3.0]), weighted=True)
    predicts = tree.is_leaf & (np.arange(tree.n_nodes) == tree.leaves[0])
    some = Abstention(tree, predicts, 0.1, 0.1, 0.05, 0, 0, 0, label=-1)
    shown = some.shown_tree(stops=False)
    assert shown.classes.tolist() == [-1, 0, 1]
    assert shown.factors.tolist() == [1.0, 1.0, 3.0]
    labels = shown.classes[shown.label[shown.apply(sample.X)]]
    reached = tree.apply(sample.X)
    expected = np.where(predicts[reached], tree.label[reached], -1)
    assert labels.tolist() == expected.tolist()
    assert shown.counts.sum(axis=1)[0] == 400
    assert shown.counts[0, 0] == (labels == -1).sum()
    assert shown.n_leaves < tree.n_leaves  # subtrees that abstain are one leaf
    for stops in (False, True):  # a row that ends at the root is predicted as the root is
        root = some.shown_tree(stops=stops).label[0]
        assert (root == 0) == stops
