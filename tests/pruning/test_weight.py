"""The weight chosen by the rows, against pruning and counting one tree at a time."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pruning_trees import all_prunings, random_tree

from treebound.data import Sample
from treebound.data.draws import folds
from treebound.growing import grow
from treebound.pruning import BoundPruner, WeightChoice
from treebound.pruning.scores import leaf_code
from treebound.pruning.weight import LOG_LOSS_WEIGHTS, STRENGTHS, WEIGHTS, Measured, choose_weight
from treebound.tree.smoothing import probabilities


def noisy(rows=1200, seed=0, **options):
    """Two informative columns of five, and noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 5)).round(2)
    y = (rng.random(rows) < 1 / (1 + np.exp(1.5 - 2 * X[:, 0] - X[:, 1]))).astype(int)
    return Sample.learn(X, y, **options)


def weighted(rows=1200):
    return np.random.default_rng(5).random(rows) + 0.2


def losses_by_hand(sample, pruner, loss, weights=WEIGHTS):
    """Loss of every tested row at every weight, each tree pruned by itself."""
    rows = []
    for outside, inside in folds(sample, 5, 0):
        grown = grow(outside)
        trees = [pruner.set_params(weight=w).prune(grown).tree for w in weights]
        pruner.set_params(weight="auto")
        weight = np.ones(inside.n_rows) if inside.weight is None else inside.weight
        rows.append(np.array([weight * loss(tree, inside) for tree in trees]))
    return np.concatenate(rows, axis=1)


def zero_one(tree, inside):
    wrong = tree.label[tree.apply(inside.X)] != inside.y
    return wrong * (1.0 if inside.factors is None else inside.factors[inside.y])


def log_loss(tree, inside, strength):
    shares = probabilities(tree, strength, free=strength > 2.0)[tree.apply(inside.X), inside.y]
    return -np.log(shares) * (1.0 if inside.factors is None else inside.factors[inside.y])


@pytest.mark.parametrize(
    "options", [{}, {"class_weight": "balanced"}, {"sample_weight": weighted()}]
)
def test_losses_are_those_of_every_tree_pruned_by_itself(options):
    sample, pruner = noisy(**options), BoundPruner()
    choice = pruner.prune(grow(sample), sample, grow=grow).choice
    rows = losses_by_hand(sample, pruner, zero_one)
    np.testing.assert_allclose(choice.losses, rows.sum(axis=1) / sample.mass, rtol=1e-9)
    check_error_and_leaves(choice, rows[np.argmin(rows.sum(axis=1))], sample, pruner)
    assert choice.strength is None


@pytest.mark.parametrize(
    "options", [{}, {"class_weight": {1: 3.0}, "sample_weight": weighted(700)}]
)
def test_log_loss_selects_the_shrinkage_of_each_weight_on_any_number_of_rows(options):
    sample, pruner = noisy(700, seed=1, **options), BoundPruner(score="log-loss")
    choice = pruner.prune(grow(sample), sample, grow=grow).choice
    tables = [
        losses_by_hand(sample, pruner, partial(log_loss, strength=s), LOG_LOSS_WEIGHTS)
        for s in STRENGTHS
    ]
    chosen = [strength_by_hand(np.array(tables)[:, at]) for at in range(len(LOG_LOSS_WEIGHTS))]
    rows = np.array([tables[strength][at] for at, strength in enumerate(chosen)])
    np.testing.assert_allclose(choice.losses, rows.sum(axis=1) / sample.mass, rtol=1e-9)
    assert choice.strengths == tuple(STRENGTHS[strength] for strength in chosen)
    assert choice.strength == choice.strengths[choice.weights.index(choice.weight)]
    assert STRENGTHS[0] < choice.strength < STRENGTHS[-1]
    assert len(set(choice.strengths)) > 1
    check_error_and_leaves(choice, rows[np.argmin(rows.sum(axis=1))], sample, pruner)


def strength_by_hand(losses):
    """The place of the strength of least loss, or the usual one unless it gains enough."""
    best = int(losses.sum(axis=1).argmin())
    gains = losses[0] - losses[best]
    return best if gains.sum() > np.sqrt(((gains - gains.mean()) ** 2).sum()) else 0


@pytest.mark.parametrize(("gain", "chosen"), [(0.006, 2.0), (0.008, 4.0)])
def test_a_stronger_shrinkage_must_gain_more_than_its_standard_error(gain, chosen):
    usual, wobble = np.random.default_rng(0).normal(size=(2, 200))
    wobble = 0.1 * (wobble - wobble.mean()) / wobble.std()  # a standard error of 0.0071
    losses = np.stack([usual, usual - gain + wobble, usual + 1.0])
    sums = [table.sum(axis=1) for table in (losses, losses**2, (losses - usual) ** 2)]
    tested = np.stack(sums, axis=1)[:, None, :].repeat(2, axis=1)
    choice = choose_weight(
        [Measured(tested, 200.0, 200.0)], np.array([0.3]), np.array([5]),
        strengths=(2.0, 4.0, 8.0), rule="detailed", unit="log-loss", reason="cross-validated",
    )  # fmt: skip
    assert choice.strength == chosen == STRENGTHS[strength_by_hand(losses)]


def check_error_and_leaves(choice, best, sample, pruner):
    """The standard error of the least loss, from its rows, and the leaves of each weight."""
    error = np.sqrt(((best - best.mean()) ** 2).sum()) / sample.mass
    assert choice.standard_error == pytest.approx(error, rel=1e-6)
    grown = grow(sample)
    leaves = [pruner.set_params(weight=w).prune(grown).tree.n_leaves for w in choice.weights]
    assert choice.leaves == tuple(leaves)


@pytest.mark.parametrize("class_weight", [None, {0: 1.0, 1: 3.0}])
def test_the_means_of_costs_as_given_are_validated(class_weight):
    sample = noisy(class_weight=class_weight)
    costs = np.array([[0.0, 1.0], [8.0, 0.0]])
    weight = np.ones(2) if class_weight is None else np.array([1.0, 3.0])

    def cost(tree, inside):
        return weight[inside.y] * costs[inside.y, tree.label[tree.apply(inside.X)]]

    pruner = BoundPruner(costs=costs)
    result = pruner.prune(grow(sample), sample, grow=grow)
    rows = losses_by_hand(sample, pruner, cost)
    means = rows.sum(axis=1) / (sample.counts @ weight)
    np.testing.assert_allclose(result.choice.losses, means, rtol=1e-9)
    assert f"(cross-validated cost {result.choice.loss:.4g})" in result.explain()
    assert " scaled costs: score " in result.explain()


def test_the_result_is_the_tree_pruned_at_the_chosen_weight():
    sample = noisy()
    grown = grow(sample)
    for rule in ("accurate", "balanced", "small"):
        result = BoundPruner(rule=rule).prune(grown, sample, grow=grow)
        same = BoundPruner(weight=result.choice.weight).prune(grown)
        assert same.choice is None
        assert (
            result.tree.n_leaves == same.tree.n_leaves == result.choice.leaves[result.choice.index]
        )
        assert result.score == same.score
    sizes = [BoundPruner(rule=rule).prune(grown, sample, grow=grow).tree.n_leaves
             for rule in ("accurate", "balanced", "small")]  # fmt: skip
    assert sizes == sorted(sizes, reverse=True)


def choice_of(losses, leaves, error, constant=1.0):
    weights = tuple(0.1 * (at + 1) for at in range(len(losses)))
    return WeightChoice(
        weights[0], "accurate", "cross-validated", "error", weights, tuple(losses), tuple(leaves),
        error, constant,
    )  # fmt: skip


def test_rules_take_the_largest_weight_within_their_standard_errors():
    choice = choice_of([0.14, 0.13, 0.13, 0.134, 0.139, 0.15], [40, 30, 20, 12, 8, 4], 0.01)
    assert [choice.at(rule) for rule in ("accurate", "balanced", "small")] == [2, 3, 4]


def test_the_detailed_rule_takes_the_smallest_weight_within_half_a_standard_error():
    for losses, place in (
        ([0.140, 0.136, 0.139, 0.134, 0.130, 0.135], 3),
        ([0.134, 0.139, 0.134, 0.134, 0.130, 0.135], 0),
        ([0.140, 0.129, 0.130, 0.134, 0.130, 0.135], 1),
    ):
        assert choice_of(losses, [40, 30, 20, 12, 8, 4], 0.01).at("detailed") == place


def test_one_leaf_is_chosen_only_if_it_has_the_least_loss_itself():
    worse = choice_of([0.10, 0.11, 0.12], [9, 4, 1], 0.05, constant=0.12)
    assert [worse.at(rule) for rule in ("accurate", "balanced", "small")] == [0, 1, 1]
    best = choice_of([0.12, 0.11, 0.10], [9, 4, 1], 0.05, constant=0.10)
    assert [best.at(rule) for rule in ("accurate", "balanced", "small")] == [2, 2, 2]
    # hardly pruned trees are no alternative to one leaf within two standard errors
    noise = choice_of([0.48, 0.48, 0.48, 0.50], [110, 110, 56, 1], 0.01, constant=0.50)
    assert [noise.at(rule) for rule in ("accurate", "balanced", "small")] == [3, 3, 3]
    for other in (
        replace(noise, leaves=(110, 110, 55, 1)),
        replace(noise, leaves=(10, 10, 10, 1)),
        replace(noise, standard_error=0.0099),
    ):
        assert [other.at(rule) for rule in ("accurate", "balanced", "small")] == [2, 2, 2]
    # the folds had larger trees than all rows together
    outside = choice_of([0.13, 0.10, 0.10], [9, 1, 1], 0.001, constant=0.12)
    assert outside.at("accurate") == 0
    single = choice_of([0.13, 0.10, 0.10], [1, 1, 1], 0.001, constant=0.12)
    assert single.at("small") == 2


def test_the_choice_and_its_alternatives_are_reported():
    choice = replace(
        choice_of([0.139, 0.142, 0.160], [31, 12, 3], 0.004), rule="accurate", weight=0.1
    )
    assert choice.explain() == (
        "31 leaves (cross-validated error 13.9 %); 12 leaves (14.2 %) are within one standard "
        "error. The cross-validated error also chose the size (weight 0.1 among 3), so it is a "
        "little too small."
    )
    small = replace(choice, weight=choice.weights[1], rule="small")
    assert small.explain().startswith(
        "12 leaves (cross-validated error 14.2 %); 31 leaves (13.9 %) have the least."
    )
    detailed = replace(
        choice_of([0.342, 0.340, 0.345, 0.360], [31, 12, 6, 3], 0.004),
        rule="detailed", weight=0.1, unit="log-loss",
    )  # fmt: skip
    assert detailed.explain().startswith(
        "31 leaves (cross-validated log-loss 0.342); 12 leaves (0.340) have the least."
    )
    # near one leaf "accurate" leaves out what is hardly pruned, but reports it
    noisy = replace(detailed, losses=(0.339, 0.340, 0.345, 0.360), constant=0.341)
    assert noisy.at("accurate") == 1
    assert "the least" not in noisy.explain()
    assert (
        replace(detailed, strengths=(30.0, 30.0, 10.0, 10.0))
        .explain()
        .endswith(
            "The cross-validated log-loss also chose the size (weight 0.1 among 4 and shrinkage 30 "
            "among 10), so it is a little too small."
        )
    )


def test_the_detailed_rule_takes_one_leaf_where_it_has_the_least_loss():
    choice = choice_of([0.342, 0.340, 0.345, 0.360], [31, 12, 6, 1], 0.004)
    assert choice.at("detailed") == 0
    assert replace(choice, constant=0.341).at("detailed") == 0
    assert replace(choice, constant=0.340).at("detailed") == 3


def test_few_rows_and_no_rows_have_the_default_weight_and_the_reason():
    sample = noisy(900)
    grown = grow(sample)
    for arguments, words in (
        ((grown,), "takes the rows and a way to grow"),
        ((grown, sample), "takes the rows and a way to grow"),
        ((grown, sample, grow), "below 1,000 rows"),
    ):
        tree, rows, again = (*arguments, None, None)[:3]
        result = BoundPruner().prune(tree, rows, grow=again)
        assert (result.choice.weight, result.choice.rule) == (0.6, None)
        assert words in result.explain()
        assert np.isnan(result.choice.loss)
        assert result.tree.n_leaves == BoundPruner(weight=0.6).prune(grown).tree.n_leaves
    ranked = BoundPruner(score="log-loss").prune(grown).choice
    assert (ranked.weight, ranked.strength) == (0.3, None)
    small = BoundPruner(rule="small").prune(grown, sample, grow=grow)
    assert small.choice.rule == "small"
    repeated = noisy(600, sample_weight=np.arange(600) % 3 + 1.0)
    assert BoundPruner().prune(grow(repeated), repeated, grow=grow).choice.rule == "balanced"


@pytest.mark.parametrize(("cost", "rule"), [(2.0, None), (9.0, "balanced")])
def test_few_effective_rows_are_cross_validated(cost, rule):
    plain, weighted = noisy(300), noisy(300, class_weight={0: 1.0, 1: cost})
    effective = cost_share(plain.counts, [1.0, cost])
    assert (effective < 0.5) == (rule is not None)
    for sample, pruner in ((plain, BoundPruner(costs=[1.0, cost])), (weighted, BoundPruner())):
        assert pruner.prune(grow(sample), sample, grow=grow).choice.rule == rule
    ranked = BoundPruner(score="log-loss").prune(grow(weighted), weighted, grow=grow)
    assert ranked.choice.rule == "detailed"


@pytest.mark.parametrize("rule", ["accurate", "balanced", "small"])
def test_coin_flips_give_one_leaf_where_the_whole_tree_wins_by_chance(rule):
    rng = np.random.default_rng(13)
    sample = Sample.learn(rng.normal(size=(500, 5)), rng.permutation(np.arange(500) % 2))
    grown = grow(sample)
    result = BoundPruner(rule=rule).prune(grown, sample, grow=grow)
    assert min(result.choice.losses) < result.choice.constant
    assert result.choice.leaves[0] == grown.n_leaves > 100
    assert result.tree.n_leaves == 1


def test_few_effective_rows_keep_at_least_the_default_weight():
    sample = noisy(400, seed=1, class_weight={0: 1.0, 1: 9.0})
    grown = grow(sample)
    by_rule, chosen = (
        BoundPruner(rule=rule).prune(grown, sample, grow=grow) for rule in ("balanced", None)
    )
    assert by_rule.choice.losses == chosen.choice.losses
    assert by_rule.choice.weight < 0.6 == chosen.choice.weight
    assert chosen.tree.n_leaves == BoundPruner(weight=0.6).prune(grown).tree.n_leaves


def cost_share(counts, costs):
    """The effective rows as a share of all rows."""
    masses = counts * np.array(costs)
    return masses.sum() ** 2 / (masses @ np.array(costs)) / counts.sum()


def test_validation_rows_replace_the_folds():
    sample, other = noisy(1500), noisy(800, seed=1)
    grown = grow(sample)
    result = BoundPruner(rule="accurate").prune(grown, sample, validation=other)
    trees = [BoundPruner(weight=w).prune(grown).tree for w in WEIGHTS]
    wrong = [zero_one(tree, other).mean() for tree in trees]
    np.testing.assert_allclose(result.choice.losses, wrong)
    assert result.choice.loss == min(wrong)
    assert "validation error" in result.explain()


def test_a_tenth_of_a_large_table_is_held_out(monkeypatch):
    sample = noisy(2000)
    assert BoundPruner().split_validation(sample) == (sample, None)
    monkeypatch.setattr("treebound.pruning.bound.MAX_VALUES", 5000)
    rows, validation = BoundPruner().split_validation(sample)
    assert rows.n_rows + validation.n_rows == 2000
    assert 120 < validation.n_rows < 280
    for pruner in (BoundPruner(weight=0.6), BoundPruner(score="vapnik")):
        assert pruner.split_validation(sample) == (sample, None)


def test_folds_side_by_side_choose_the_same():
    sample = noisy()
    one, two = (
        BoundPruner(n_jobs=jobs).prune(grow(sample), sample, grow=grow).choice for jobs in (1, 2)
    )
    assert one == two


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), leaves=st.integers(1, 8), n_classes=st.integers(1, 4))
def test_log_loss_pruning_is_the_best_of_all(seed, leaves, n_classes):
    tree = random_tree(np.random.default_rng(seed), leaves, n_classes=n_classes)
    pruner = BoundPruner(score="log-loss", weight=0.3)
    objective = pruner.objective(tree)
    scores = []
    for cut in all_prunings(tree):
        small = tree.collapsed(list(cut))
        code = leaf_code(small.counts[small.is_leaf]).sum()
        growth = objective.log_growth_leaves(np.array([small.n_leaves]))
        scores.append(code + 0.3 * (growth - objective.log_prior(np.array([small.n_leaves])))[0])
    assert pruner.prune(tree).score == pytest.approx(min(scores), rel=1e-9, abs=1e-9)


def test_leaf_code_is_the_predictive_code_of_the_classes_one_by_one():
    rng = np.random.default_rng(0)
    for _ in range(20):
        labels = rng.integers(0, 3, 12)
        seen, nats = np.full(3, 0.5), 0.0
        for label in labels:
            nats -= np.log(seen[label] / seen.sum())
            seen[label] += 1
        assert leaf_code(np.bincount(labels, minlength=3)[None].astype(float))[0] == pytest.approx(
            nats
        )


def test_whole_weights_are_not_learned_by_heart():
    """The copies of a row are not grown on in one fold and validated on in another."""
    weight = np.random.default_rng(0).integers(1, 4, 2000).astype(float)
    plain, heavy = noisy(2000), noisy(2000, sample_weight=weight)
    one, other = (BoundPruner().prune(grow(s), s, grow=grow) for s in (plain, heavy))
    assert other.tree.n_leaves < 20 < other.path.first.n_leaves
    assert abs(other.choice.loss - one.choice.loss) < 0.03
