"""Probabilities, defaults and checks that proofs rest on have the values that are stated."""

from __future__ import annotations

import dataclasses
import importlib
from math import comb, exp, log

import numpy as np
import pytest
from sklearn.datasets import load_iris

import treebound as tb
from treebound.certificate.abstention import abstain_by_prior, abstain_by_rows
from treebound.certificate.by_class import by_class_on_rows
from treebound.certificate.certificate import bound_percent, certify_counts
from treebound.certificate.frontier import certify_proof
from treebound.certificate.held_out import HeldOut, best_of_folds
from treebound.certificate.mean_cost import certify_mean_cost, in_orders
from treebound.certificate.monitor import Stream, error_monitor, tolerance_monitor
from treebound.certificate.prior import (
    Prior,
    _edited,
    _log_columns,
    log_decimal,
    prior_bound,
    search_trees,
)
from treebound.certificate.training import certify_tree
from treebound.data import Column, Sample
from treebound.data.draws import Draw
from treebound.tree.split import split_of

MODULES = (
    "abstention", "by_class", "certificate", "frontier", "held_out", "mean_cost", "monitor",
    "prior", "row_record",
)  # fmt: skip


def dataclasses_of(name):
    module = importlib.import_module(f"treebound.certificate.{name}")
    return [
        value
        for value in vars(module).values()
        if isinstance(value, type) and dataclasses.is_dataclass(value)
    ]


@pytest.mark.parametrize("name", MODULES)
def test_what_a_guarantee_rests_on_is_frozen(name):
    declared = dataclasses_of(name)
    assert declared
    assert all(value.__dataclass_params__.frozen for value in declared)


@pytest.mark.parametrize("name", ["abstention", "held_out", "prior"])
def test_what_has_arrays_is_compared_by_identity(name):
    """Arrays have no single truth value, so that to compare them field by field would raise."""
    with_arrays = [
        value
        for value in dataclasses_of(name)
        if any(
            word in str(field.type)
            for field in dataclasses.fields(value)
            for word in ("NDArray", "Ints", "Tree")
        )
    ]
    assert with_arrays
    assert all(value.__eq__ is object.__eq__ for value in with_arrays)


def nominal(n, identifiers):
    return [Column(f"c{at}", "nominal", ("a",), identifier=at < identifiers) for at in range(n)]


@pytest.mark.parametrize("n", [1, 2, 5])
def test_sets_of_identifiers_have_the_stated_mass(n):
    for j in range(1, n + 1):
        share = 1.0 / 32.0 / (j * (j + 1)) / comb(n, j)
        assert exp(_log_columns(nominal(n, j), 50)) == pytest.approx(share, rel=1e-12)
    assert exp(_log_columns(nominal(n, 0), 50)) == pytest.approx(31.0 / 32.0, rel=1e-12)
    assert _log_columns(nominal(n, 0), 49) == 0.0
    assert _log_columns([Column("x")], 50) == 0.0


def test_decimals_have_the_stated_mass():
    assert log_decimal(np.inf) == log(0.5)
    # 2.5: a sign, two digits, exponent -1
    stated = 0.25 / (2 * 3) / 10**2 / (2 * 2 * 3)
    assert exp(log_decimal(2.5)) == pytest.approx(stated, rel=1e-12)
    assert exp(log_decimal(-2.5)) == pytest.approx(stated, rel=1e-12)
    assert exp(log_decimal(7.0)) == pytest.approx(0.25 / 2 / 10 / (2 * 1 * 2), rel=1e-12)


def stump(rows, y):
    sample = Sample.learn(rows, y)
    tree = tb.growing.grow(sample)
    assert tree.n_leaves == 2
    return sample, tree, split_of(tree, 0)


def test_edited_splits_have_the_stated_probability():
    sample, tree, split = stump([[1.0, 0.0], [2.0, 0.0]], [0, 1])
    stated = log_decimal(1.5) - log(2 * 3)
    assert _edited(tree, split, sample) == pytest.approx(stated, rel=1e-12)
    sample, tree, split = stump([["a"], ["b"], ["b"]], [0, 1, 1])
    assert _edited(tree, split, sample) == pytest.approx(log(0.5) - log(3.0) - log(3), rel=1e-12)
    later_rows = sample.part(np.array([1, 2]))  # rows of A that have not met the category "a"
    text = len(repr("a").encode())
    stated = log(0.5) - log(text * (text + 1)) - text * log(256.0) - log(3)
    assert _edited(tree, split, later_rows) == pytest.approx(stated, rel=1e-12)


def test_a_limit_is_rounded_up_by_little():
    exact = tb.bounds.binomial_upper(100, 10, delta=0.05)
    assert exact <= prior_bound(100, 10, log(0.05)) <= exact * (1 + 1e-9)
    assert prior_bound(0, 0, log(0.05)) == 1.0


def test_the_search_is_pinned():
    X, y = load_iris(return_X_y=True)
    sample = Sample.learn(X, y)
    prior = Prior(sample, Draw.start(0).keyed(sample))
    trees = search_trees(prior, 0.05, restarts=3, seed=0)
    bounds = [(tree.leaves, round(tree.risk, 6)) for tree in trees]
    assert bounds == PINNED
    assert sum(tree.leaves == 1 for tree in trees) == 1


PINNED = [
    (1, 0.806254),
    (3, 0.142478),
    *[(3, 0.143979)] * 4,
    (4, 0.170431),
]


def test_levels_outside_of_their_range_are_refused():
    X, y = load_iris(return_X_y=True)
    clf = tb.BoundTreeClassifier(certificate="prior").fit(X, y)
    trees, tree = list(clf.model_.evidence.frontier), clf.tree_
    counts = np.zeros_like(tree.counts, dtype=np.int64)
    for delta in (0.0, 1.0, -0.1, 2.0):
        with pytest.raises(ValueError, match="delta"):
            certify_tree(tree, delta=delta)
        with pytest.raises(ValueError, match="delta"):
            abstain_by_prior(trees, 0.1, delta)
        with pytest.raises(ValueError, match="delta"):
            abstain_by_rows(tree, counts, 10, 0.1, delta)
    for max_risk in (0.0, 1.0, 1.5):
        with pytest.raises(ValueError, match="max_risk"):
            abstain_by_prior(trees, max_risk, 0.05)


def test_a_monitor_names_what_it_watches_and_continues_before_the_first_row_of_a_class():
    monitor = error_monitor(0.2, [("a", 0.3), ("b", 0.4)])
    assert monitor.streams[0].name == "the error rate"
    assert error_monitor(0.2, abstains="abstain").streams[0].name.endswith("of predicted cases")
    monitor.update(["a"] * 5, ["a"] * 5)  # no row of class b yet
    again = type(monitor).from_json(monitor.to_json())
    assert again == monitor


@pytest.mark.parametrize(
    ("bound", "shown"),
    [(0.0002995, "0.1 %"), (0.2391, "24.0 %"), (0.24, "24.0 %"), (0.0, "0.0 %"), (1.0, "100.0 %")],
)
def test_a_bound_is_printed_rounded_up(bound, shown):
    assert bound_percent(bound) == shown
    certificate = certify_counts(0, 10_000, 0.05)
    assert 0.0 < certificate.risk < 0.0005
    assert "at most 0.1 % of new examples" in str(certificate)


@pytest.mark.parametrize("kind", ["training", "prior"])
def test_rows_of_groups_give_no_certificate_that_counts_every_row(kind):
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(60), 20)
    X, y = rng.normal(size=(60, 3))[groups], rng.integers(0, 2, 60)[groups]
    clf = tb.BoundTreeClassifier(certificate="held-out").fit(X, y, groups=groups)
    with pytest.raises(ValueError, match="Rows of one group are not independent"):
        clf.certify(X, y, kind=kind)


def test_a_mean_cost_is_about_single_rows_unless_groups_are_given():
    assert "a new example costs at most" in str(certify_mean_cost([0.0, 1.0, 1.0], 1.0))


@pytest.mark.parametrize(("costs", "orders"), [(10, 30), (100_000, 10), (600_000, 1)])
def test_costs_are_put_in_fewer_orders_if_there_are_many(costs, orders):
    assert in_orders(np.zeros(costs)).shape == (orders, costs)


def test_a_class_without_a_bound_is_not_monitored():
    by_class = by_class_on_rows(["a", "b"], np.array([50, 0]), np.array([1, 0]), log(0.05))
    certificate = dataclasses.replace(certify_counts(1, 50, 0.05), class_source=lambda: by_class)
    assert [bound.risk == 1.0 for bound in by_class] == [False, True]
    assert certificate.monitor(alpha=0.01).classes == ["a"]


@pytest.mark.parametrize("row", [0, 4])
def test_any_row_may_name_a_split(row):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 1))
    y = (X[:, 0] > X[:, 0].mean()).astype(int)
    clf = tb.BoundTreeClassifier(thresholds="observed").fit(X, y)
    assert clf.tree_.n_leaves == 2
    named = dataclasses.replace(clf.tree_, names=np.array([row, -1, -1]))
    assert certify_tree(named).method == "compression"
    unnamed = dataclasses.replace(clf.tree_, names=np.array([-1, -1, -1]))
    assert certify_tree(unnamed).method == "tail inversion"


def test_a_bound_of_one_counts_outcomes_and_never_raises_an_alarm():
    stream = Stream("errors", 1.0, 0.01)
    assert stream.update(np.ones(300, dtype=bool)) is None
    assert stream.update(np.zeros(50, dtype=bool)) is None
    assert (stream.seen, stream.events) == (350, 300)


def test_leaves_whose_bound_is_the_largest_risk_predict():
    X, y = load_iris(return_X_y=True)
    tree = tb.BoundTreeClassifier().fit(X, y).tree_
    counts = tree.counts.astype(np.int64)
    risk = abstain_by_rows(tree, counts, len(y), 0.5).risk
    same = abstain_by_rows(tree, counts, len(y), risk)
    assert same.predicts.any()
    assert same.risk == risk


BY_NUMBER = "the calibration rows were drawn by number, not by label"
SPLITS = "splits are thresholds and comparisons with one category"
CHECKED = [
    ({}, {"every example counts once: there are no weights", SPLITS}),
    (
        {"thresholds": "observed"},
        {
            "every example counts once: there are no weights",
            SPLITS,
            "every threshold is the value of a training example",
        },
    ),
    (
        {"class_weight": "balanced"},
        {
            "errors are counted by rows, each once: the bound is about new rows without weights",
            SPLITS,
        },
    ),
    ({"certificate": "held-out"}, {BY_NUMBER}),
    ({"certificate": "folds"}, {BY_NUMBER}),
    (
        {"certificate": "prior"},
        {"the rows that define the prior were drawn by number, not by label"},
    ),
]


def noisy_table(rows=400, noise=0.2):
    rng = np.random.default_rng(0)
    X = rng.random((rows, 3)).round(2)
    return X, ((X[:, 0] > 0.5) ^ (rng.random(rows) < noise)).astype(int)


def checked(certificate):
    return {one.text for one in certificate.assumptions if one.checked}


@pytest.mark.parametrize(("options", "expected"), CHECKED)
def test_only_what_the_program_can_check_is_called_checked(options, expected):
    clf = tb.BoundTreeClassifier(**options).fit(*noisy_table())
    assert checked(clf.certificate_) == expected
    stated = [one.text for one in clf.certificate_.assumptions if not one.checked]
    assert sum("independent draws, as the new ones will be" in text for text in stated) == 1


def test_a_tree_that_shares_delta_states_it_as_checked():
    X, y = noisy_table()
    clf = tb.BoundTreeClassifier(certificate="held-out").fit(X, y)
    path = clf.pruning_path_
    moved = clf.prune_to(step=0 if path.chosen else 1)
    shared = f"it is one of {path.n_considered} trees that prune_to can reach, which share delta"
    assert checked(moved.certificate_) == {BY_NUMBER, shared}
    counted = HeldOut.of(Sample.learn(X, y), clf.tree_, clf.tree_)
    held_out = dataclasses.replace(counted, alternatives=3)
    one_of_three = held_out.certificate(0.05, clf.tree_, None)
    assert checked(one_of_three) == {BY_NUMBER, "it is one of 3 alternatives, which share delta"}
    again = certify_counts(held_out.errors, held_out.m, 0.05 / 3)
    assert (one_of_three.risk, one_of_three.delta) == (again.risk, 0.05)


def test_a_landscape_and_declared_categories_are_stated_and_undeclared_ones_are_checked():
    X, y = noisy_table()
    tree = tb.BoundTreeClassifier().fit(X, y).tree_
    given = certify_tree(tree, landscape=tb.Landscape(real=3))
    known = "the landscape given was known before the data were seen"
    assert [one.checked for one in given.assumptions if one.text == known] == [False]
    columns = (*tree.columns, Column("c", "nominal", ("a", "b")))
    undeclared = certify_tree(dataclasses.replace(tree, columns=columns))
    assert "categories not declared count as unbounded: columns 'c'" in checked(undeclared)


@pytest.mark.parametrize(
    ("options", "grounds"),
    [
        ({}, ", by tail inversion.\nIt rests on a bound for all trees of this size at once, at "),
        ({"thresholds": "observed"}, "It rests on 1 training row and a message that encode the "),
        ({"certificate": "held-out"}, "It rests on rows that were not used for fitting.\n"),
        ({"certificate": "folds"}, "It rests on the best of 3 trees, each tested on the rows "),
        ({"certificate": "prior"}, "It rests on a prior probability that some of the rows gave"),
    ],
)
def test_every_kind_explains_what_it_rests_on(options, grounds):
    certificate = tb.BoundTreeClassifier(**options).fit(*noisy_table()).certificate_
    assert grounds in certificate.explain()
    assert "It rests on" not in certificate.explain(proof=False)
    method = "the exact binomial bound" if certificate.kind != "training" else certificate.method
    assert f"Kind: {certificate.kind}, by {method}." in certificate.explain()


@pytest.mark.parametrize(
    ("risk", "trivial"), [(0.9989, False), (0.999, False), (0.9991, True), (0.9996, True)]
)
def test_a_bound_that_is_printed_as_100_per_cent_is_no_guarantee(risk, trivial):
    certificate = dataclasses.replace(certify_counts(90, 100), risk=risk)
    assert certificate.vacuous == trivial
    of_class = dataclasses.replace(
        by_class_on_rows(["a"], np.array([9]), np.array([5]), log(0.05))[0], risk=risk
    )
    for sentence, nothing in (
        (str(certificate), "Too few examples for a guarantee"),
        (str(of_class), "too few rows for a guarantee"),
    ):
        assert (nothing in sentence) == trivial
        assert ("at most 99.9 % of" in sentence) == (not trivial)
        assert "100.0 %" not in sentence


@pytest.mark.parametrize(
    ("errors", "m", "delta", "argument"),
    [(1, 10, 0.0, "delta"), (1, 10, 1.0, "delta"), (-1, 10, 0.05, "errors"), (0, 0, 0.05, "m")],
)
def test_counts_out_of_range_are_refused_in_the_words_of_certify(errors, m, delta, argument):
    with pytest.raises(ValueError, match=f"'{argument}' parameter of certify must be"):
        certify_counts(errors, m, delta)


def test_every_guarantee_holds_with_the_same_probability_unless_another_is_requested():
    X, y = noisy_table()
    clf = tb.BoundTreeClassifier(certificate="held-out").fit(X, y)
    delta = clf.certificate_.delta
    prior = Prior(Sample.learn(X, y), Draw(0))
    trees = search_trees(prior, restarts=0)
    proof = trees[-1].proof
    counts = clf.tree_.counts.astype(np.int64)
    of_rows = abstain_by_rows(clf.tree_, counts, len(y), 0.4)
    guarantees = [
        certify_tree(tb.BoundTreeClassifier().fit(X, y).tree_),
        certify_counts(3, 100),
        certify_mean_cost([0.0, 1.0], 1.0),
        certify_proof(trees[-1].tree, proof),
        of_rows,
        abstain_by_prior(trees, 0.4),
    ]
    assert {one.delta for one in guarantees} == {delta}
    assert trees[-1].risk == proof.risk(delta)
    best = best_of_folds(lambda fold: (None, 1), [np.arange(50)])
    assert best.bounds == [certify_counts(1, 50, delta).risk]
    monitors = [certify_counts(3, 100).monitor(), of_rows.monitor()]
    monitors += [error_monitor(0.1), tolerance_monitor(0.1, 1.0)]
    assert len({monitor.alpha for monitor in monitors}) == 1
    assert all(monitor.streams[0].alpha == monitor.alpha < delta for monitor in monitors)


def test_of_rows_that_are_given_nothing_is_checked_and_everything_is_listed():
    certificate = certify_counts(3, 100)
    assert not checked(certificate)
    lines = certificate.explain().splitlines()
    head = lines.index("It holds only if all of this is true:")
    assert lines[head + 1 :] == [f"- {one.text} (stated)" for one in certificate.assumptions]
    assert lines[head - 1] == "More held-out examples would make it smaller."
    assert certificate.note == ""
    values = certificate.as_dict()
    assert (values["errors"], values["m"], values["risk"]) == (3, 100, certificate.risk)
    assert "class_source" not in values
    assert values["assumptions"][0]["checked"] is False


def test_a_certificate_about_groups_states_it():
    plain = certify_counts(3, 100)
    groups = plain.about_groups()
    assert (plain.grouped, groups.grouped) == (False, True)
    each = "of new examples, each a row drawn at random from a random group, are misclassified"
    assert each in str(groups)
    assert each not in str(plain)
    (more,) = groups.assumptions[len(plain.assumptions) :]
    assert more.text.startswith("groups are independent draws")
    assert not more.checked
    by_class = by_class_on_rows(["a"], np.array([90]), np.array([3]), log(0.05))
    of_class = dataclasses.replace(groups, class_source=lambda: by_class).class_lines()[1]
    assert "a: at most" in of_class
    assert "its new cases, each a row drawn at random from a random group, are mis" in of_class


@pytest.mark.parametrize(
    ("errors", "constant", "advice"),
    [
        (20, 0.3, "More rows would guarantee more."),
        (20, 0.21, "More rows would guarantee more."),
        (20, 0.2, "The tree itself is wrong at least as often: see the bounds of the classes."),
        (20, 0.1, "The tree itself is wrong at least as often: see the bounds of the classes."),
    ],
)
def test_a_bound_above_the_baseline_is_explained_by_the_tree_or_by_the_rows(
    errors, constant, advice
):
    certificate = certify_counts(errors, 100, 1e-4, constant_error=constant)
    assert not certificate.useful
    assert advice in str(certificate)
    assert f"which is wrong on {100 * constant:.1f} % of these examples" in str(certificate)


def test_a_bound_is_useful_only_below_the_baseline():
    certificate = certify_counts(3, 100)
    for constant, useful in ((None, True), (certificate.risk, False), (0.5, True)):
        assert dataclasses.replace(certificate, constant_error=constant).useful == useful
    assert not certify_counts(3, 3).useful


def test_errors_of_probability_delta_or_more_agree_with_the_certificate():
    certificate = dataclasses.replace(certify_counts(3, 100), risk=0.5)
    # of ten fair coins at least nine are heads with probability 11 / 1024, all with 1 / 1024
    assert certificate.agrees_with(9, 10)
    assert not certificate.agrees_with(10, 10)
    assert certificate.agrees_with(9, 10, delta=11 / 1024 - 1e-9)
    assert not certificate.agrees_with(9, 10, delta=11 / 1024 + 1e-9)
    assert dataclasses.replace(certificate, risk=1.0).agrees_with(10, 10)


def test_an_explanation_has_the_bounds_of_the_classes_and_the_proof_by_default():
    X, y = noisy_table()
    certificate = tb.BoundTreeClassifier(certificate="held-out").fit(X, y).certificate_
    lines = certificate.class_lines()
    assert len(lines) == 3
    assert lines[0].startswith("By class (all of these hold with probability 95 %, separately")
    whole = certificate.explain().splitlines()
    assert set(lines) <= set(whole)
    assert certificate.explain(by_class=False).splitlines() == [
        line for line in whole if line not in lines
    ]
    assert not certify_counts(3, 100).class_lines()
