"""Reduced-error, Kearns-Mansour, pessimistic and MDL pruning, each against a plain version."""

from math import log, sqrt

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paper_algorithm import as_nodes, goes_left, inner_nodes, with_replaced
from pruning_trees import (
    all_prunings,
    arrays,
    grown_tree,
    predictions,
    random_examples,
    random_tree,
    sample_of,
)
from scipy.stats import binom
from sklearn.base import clone

import treebound as tb
from treebound.data import landscape_of
from treebound.data.draws import folds
from treebound.growing import grow
from treebound.pruning import (
    PRUNERS,
    KearnsMansourPruner,
    MDLPruner,
    PessimisticPruner,
    ReducedErrorPruner,
    make_pruner,
)

seeds = st.integers(0, 10**6)


# -- reduced error ---------------------------------------------------------------------------------


@given(seed=seeds)
@settings(max_examples=30)
def test_reduced_error_collapse_has_the_least_validation_errors(seed):
    rng = np.random.default_rng(seed)
    tree, _, _ = grown_tree(rng, 60, max_leaves=7)
    X, y, _ = random_examples(rng, 40)
    result = ReducedErrorPruner().prune(tree, validation=sample_of(tree, X, y))
    every = [tree.collapsed(list(cut)) for cut in all_prunings(tree)]
    wrong = [((predictions(one, X) != y).sum(), one.n_leaves) for one in every]
    assert (result.score, result.tree.n_leaves) == min(wrong)
    for step in range(len(result.path)):
        missed = (predictions(result.path.tree(step), X) != y).sum()
        assert result.path.errors[step] == missed


def prediction(node, labels, columns, row):
    while node.test is not None:
        side = goes_left(columns, node.test, row[[node.test[0]]])[0]
        node = node.left if side else node.right
    return labels[node.name]


def reduced_error_of_the_paper(tree, X, y):
    """Algorithm PruneTreeWithBound with validation errors; labels stay as they were learned."""
    from paper_algorithm import Node

    def wrong(node):
        return sum(
            prediction(node, tree.label, tree.columns, row) != c
            for row, c in zip(X, y, strict=True)
        )

    current, steps = as_nodes(tree), []
    least = wrong(current)
    while current.test is not None:
        accepted = None
        for node in inner_nodes(current):
            for by, new in (("left", node.left), ("right", node.right), ("leaf", Node(node.name))):
                candidate = with_replaced(current, node.name, new)
                if wrong(candidate) <= least:
                    least = wrong(candidate)
                    accepted = candidate, (node.name, by, least)
        if accepted is None:
            break
        current = accepted[0]
        steps.append(accepted[1])
    return steps


@given(seed=seeds)
@settings(max_examples=8)
def test_greedy_reduced_error_takes_the_steps_of_the_paper(seed):
    rng = np.random.default_rng(seed)
    tree, _, _ = grown_tree(rng, 50, max_leaves=6)
    X, y, _ = random_examples(rng, 20)
    result = ReducedErrorPruner(search="greedy").prune(tree, validation=sample_of(tree, X, y))
    computed = [(r["node"], r["replaced_by"], r["errors"]) for r in result.path.table()[1:]]
    assert computed == reduced_error_of_the_paper(tree, X, y)
    missed = (predictions(result.tree, X) != y).sum()
    assert result.score == missed


def test_validation_part_is_held_out_and_never_grown_on():
    tree, X, y = grown_tree(np.random.default_rng(0), 100, max_leaves=None)
    sample = sample_of(tree, X, y)
    for search in ("collapse", "greedy"):
        pruner = ReducedErrorPruner(validation_fraction=0.2, search=search)
        rows, validation = pruner.split_validation(sample)
        assert (rows.n_rows, validation.n_rows) == (80, 20)
        result = pruner.prune(grow(rows), rows, validation=validation)
        assert result.tree.weight[0] == 80
    with pytest.raises(ValueError, match="ReducedErrorPruner needs validation rows"):
        pruner.prune(tree, sample, grow=grow)
    with pytest.raises(ValueError, match="'validation_fraction' parameter"):
        ReducedErrorPruner(validation_fraction=1.5).split_validation(sample)


def test_raised_subtrees_get_the_labels_of_the_training_rows():
    tree, X, y = grown_tree(np.random.default_rng(0), 300, max_leaves=40)
    pruner = ReducedErrorPruner(validation_fraction=0.3, search="greedy")
    rows, validation = pruner.split_validation(sample_of(tree, X, y))
    result = pruner.prune(grow(rows), rows, validation=validation)
    assert {"left", "right"} & {row["replaced_by"] for row in result.path.table()}
    np.testing.assert_array_equal(result.tree.label, result.tree.counts.argmax(axis=1))


# -- Kearns and Mansour ----------------------------------------------------------------------------


def kearns_mansour(tree, constant, delta):
    """The rule written out recursively: errors and shape of the pruned subtree, nodes cut."""
    landscape = landscape_of(tree.columns, observed=True)
    m = tree.weight[0]

    def visit(node, depth):
        leaf = tree.node_errors[node]
        if tree.left[node] < 0:
            return leaf, tb.TreeShape.leaf(), []
        one, other = visit(tree.left[node], depth + 1), visit(tree.right[node], depth + 1)
        errors, shape = one[0] + other[0], tb.TreeShape.node(one[1], other[1])
        here = int(tree.weight[node])
        way = tb.TreeShape.leaf()
        for _ in range(depth):
            way = tb.TreeShape.node(way, tb.TreeShape.leaf())
        path = tb.bounds.log_growth(way, here, 2, landscape, form="closed")
        subtree = tb.bounds.log_growth(shape, here, tree.n_classes, landscape, form="closed")
        penalty = constant * sqrt((path + subtree + log(m / delta)) / here)
        if leaf / here <= errors / here + penalty:
            return leaf, tb.TreeShape.leaf(), [node]
        return errors, shape, one[2] + other[2]

    return visit(0, 0)


@given(seed=seeds, power=st.integers(-4, 0))
@settings(max_examples=30)
def test_kearns_mansour_is_one_pass_from_below(seed, power):
    tree, _, _ = grown_tree(np.random.default_rng(seed), 80, max_leaves=20)
    errors, shape, cut = kearns_mansour(tree, 10.0**power, 0.05)
    result = KearnsMansourPruner(constant=10.0**power).prune(tree)
    assert result.tree.errors == errors
    assert result.tree.shape is shape
    np.testing.assert_array_equal(result.tree.counts, tree.collapsed(cut).counts)


def test_kearns_mansour_takes_the_constant_with_the_least_validated_errors():
    tree, X, y = grown_tree(np.random.default_rng(4), 200, max_leaves=None)
    constants = [10.0**power for power in range(-20, 1)]
    wrong = np.zeros(len(constants))
    for outside, inside in folds(sample_of(tree, X, y), 5, 0):
        grown = grow(outside)
        for at, constant in enumerate(constants):
            pruned = KearnsMansourPruner(constant=constant).prune(grown).tree
            wrong[at] += (pruned.predict(inside.X) != inside.y).sum()
    best = constants[np.flatnonzero(wrong == wrong.min())[-1]]
    result = KearnsMansourPruner().prune(tree, sample_of(tree, X, y), grow=grow)
    assert result.score == pytest.approx(wrong.min() / 200)
    expected = KearnsMansourPruner(constant=best).prune(tree).tree
    np.testing.assert_array_equal(result.tree.counts, expected.counts)


# -- pessimistic and MDL ---------------------------------------------------------------------------


@given(errors=st.integers(0, 20), more=st.integers(1, 50), confidence=st.floats(0.01, 0.9))
def test_pessimistic_rate_leaves_so_few_errors_that_probability(errors, more, confidence):
    from treebound.pruning.bottom_up import upper_errors

    n = errors + more
    rate = upper_errors(np.array([float(errors)]), np.array([float(n)]), confidence)[0] / n
    assert binom.cdf(errors, n, rate) == pytest.approx(confidence, rel=1e-6)


def test_pessimistic_matches_the_figures_of_quinlan():
    from treebound.pruning.bottom_up import upper_errors

    # Quinlan (1993), section 4.2: U_25%(0, 6), U_25%(0, 9) and U_25%(0, 1).
    computed = upper_errors(np.zeros(3), np.array([6.0, 9, 1]), 0.25)
    np.testing.assert_allclose(computed / [6, 9, 1], [0.206, 0.143, 0.750], atol=5e-4)


@given(seed=seeds, leaves=st.integers(1, 8))
def test_mdl_pruning_has_the_fewest_bits(seed, leaves):
    from treebound.pruning.bottom_up import label_bits, test_bits

    tree = random_tree(np.random.default_rng(seed), leaves)
    as_leaf, as_node = 1 + label_bits(tree.counts), 1 + test_bits(tree)
    totals = []
    for cut in all_prunings(tree):
        stack, bits = [0], 0.0
        while stack:
            node = stack.pop()
            if node in cut or tree.left[node] < 0:
                bits += as_leaf[node]
            else:
                bits += as_node[node]
                stack += [tree.left[node], tree.right[node]]
        totals.append(bits)
    result = MDLPruner().prune(tree)
    assert result.score == pytest.approx(min(totals))
    assert result.path.scores[0] == pytest.approx(totals[-1])


# -- all of them -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(PRUNERS))
def test_every_pruner_keeps_the_protocol(name):
    tree, X, y = grown_tree(np.random.default_rng(6), 120, max_leaves=30, missing=True)
    pruner = clone(make_pruner(name))
    sample, validation = pruner.split_validation(sample_of(tree, X, y))
    tree = tree if validation is None else grow(sample)
    before = arrays(tree)
    result = pruner.prune(tree, sample, validation=validation, grow=grow)
    for field, values in arrays(tree).items():
        np.testing.assert_array_equal(values, before[field])
    assert 1 <= result.tree.n_leaves <= 60
    assert result.fit_time > 0
    assert result.score == pytest.approx(result.path.scores[result.path.chosen])
    assert result.path.leaves[result.path.chosen] == result.tree.n_leaves
    rows = result.path.table()
    assert [row["step"] for row in rows] == list(range(len(result.path)))
    assert set(rows[0]) == {"step", "node", "replaced_by", "leaves", "errors", "score"}
    assert len(result.path.to_frame()) == len(result.path)
    assert str(result.tree.n_leaves) in result.explain()
    np.testing.assert_array_equal(result.path.tree().counts, result.tree.counts)


@pytest.mark.parametrize("name", sorted(PRUNERS))
@pytest.mark.parametrize(("rows", "n_classes"), [(1, 2), (3, 1), (40, 1)])
def test_every_pruner_takes_a_leaf_and_a_single_class(name, rows, n_classes):
    tree, X, y = grown_tree(np.random.default_rng(6), rows, n_classes=n_classes)
    sample, validation = make_pruner(name).split_validation(sample_of(tree, X, y))
    tree = tree if validation is None else grow(sample)
    result = make_pruner(name).prune(tree, sample, validation=validation, grow=grow)
    assert result.tree.n_leaves == 1
    assert "1 leaf" in result.explain()


def test_unknown_pruners_are_refused():
    with pytest.raises(ValueError, match="'pruning' parameter must be one of 'bound'"):
        make_pruner("best")
    with pytest.raises(ValueError, match="Options go with the name of a pruner"):
        make_pruner(MDLPruner(), weight=1)
    pruner = PessimisticPruner()
    assert make_pruner(pruner) is pruner


@pytest.mark.parametrize("handle_unknown", ["other", "majority", "stop", "missing"])
@pytest.mark.parametrize("pruner", ["reduced-error", "bound"])
def test_validation_rows_of_unknown_categories_are_counted_as_they_are_answered(
    handle_unknown, pruner
):
    rng = np.random.default_rng(2)
    X = pd.DataFrame({"c": rng.choice(list("abcdef"), 300), "x": rng.normal(size=300)})
    y = X["c"].isin(["a", "b"]).to_numpy() ^ (rng.random(300) < 0.3)
    clf = tb.BoundTreeClassifier(pruning=None, handle_unknown=handle_unknown).fit(X, y)
    names = rng.choice([*"abcdefXYZ"], 200)
    V = pd.DataFrame({"c": names, "x": rng.normal(size=200)})
    truth = np.where(V["c"].isin([*"abXYZ"]), True, False) ^ (rng.random(200) < 0.1)
    options = {"weight": "auto"} if pruner == "bound" else {}
    pruned = tb.prune(clf, X, y, pruner=pruner, validation=(V, truth), **options)
    path = pruned.pruning_result_.path

    def errors(clf):
        return int((clf.predict(V) != truth).sum())

    wrong = [errors(clf) for clf in map(pruned.prune_to, path.leaves)]
    if pruner == "reduced-error":
        assert path.errors.tolist() == wrong
        assert path.errors[path.chosen] == min(wrong)
        assert path.within(2).errors[-1] == errors(pruned.prune_to(2))
    else:
        choice = pruned.pruning_result_.choice
        at = choice.weights.index(choice.weight)
        assert choice.losses[at] == pytest.approx(errors(pruned) / 200)
