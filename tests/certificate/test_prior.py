"""The prior over trees: its vectors, its exact twin, its total mass, and the search."""

import json
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import comb, exp, inf, isfinite, log

import numpy as np
import pytest
from prior_twin import trees as all_trees
from random_samples import random_sample
from support import ROOT

from treebound.certificate.prior import (
    Prior,
    PriorOptions,
    PriorProof,
    _edited,
    _log_columns,
    error_prices,
    log_decimal,
    log_labels,
    prior_bound,
    search_trees,
)
from treebound.data import Column, Matrix, Sample
from treebound.data.draws import Draw
from treebound.tree import Tree
from treebound.tree.split import split_of

VECTORS = json.loads((ROOT / "tests/vectors/certificates.json").read_text())["prior"]
PLAIN = PriorOptions(hand=0.0, thresholds="midpoint")


def real_sample(X, y, n):
    X = np.asarray(X, dtype=float)
    columns = tuple(Column(f"x{j}") for j in range(X.shape[1]))
    return Sample(Matrix(columns, dense=X), np.asarray(y, np.int32), None, np.arange(n))


def tree_of(nested, sample):
    """A tree of the twin, or of the vectors, as a `Tree`."""
    rows = {name: [] for name in ("feature", "threshold", "category", "missing_left", "left",
                                  "right", "label")}  # fmt: skip

    def walk(node):
        at = len(rows["left"])
        values = (-1, np.nan, -1, False, -1, -1, 0)
        for name, value in zip(rows, values, strict=True):
            rows[name].append(value)
        if isinstance(node, int):
            rows["label"][at] = node
            return at
        feature, rule, *children = node
        rule = rule if isinstance(rule, tuple) else ("<=", rule, None)
        size = len(sample.columns[feature].categories or ())
        rows["feature"][at] = feature
        if rule[0] == "==":
            rows["category"][at] = size if rule[1] is None else int(rule[1])
            rows["missing_left"][at] = rule[1] is None
        else:
            rows["threshold"][at], rows["missing_left"][at] = rule[1], bool(rule[2])
        rows["left"][at] = walk(children[0])
        rows["right"][at] = walk(children[1])
        return at

    walk(nested)
    size = len(rows["left"])
    blank = Tree(**rows, counts=np.zeros((size, sample.n_classes)), rows=np.zeros(size, int),
                 columns=sample.columns, classes=sample.classes)  # fmt: skip
    return blank


@pytest.mark.parametrize("case", VECTORS)
def test_vectors_of_the_prior(case):
    n_a = len(case["yA"])
    sample = real_sample(case["XA"] + case["XB"], case["yA"] + case["yB"], case["classes"])
    prior = Prior(sample, options=PLAIN, rows_a=np.arange(n_a))
    tree = heavier(tree_of(json_tree(case["tree"]), sample), prior)
    certificate = prior.certify(tree, case["delta"])
    assert certificate.proof.log_prior == pytest.approx(case["log_prior"], abs=2e-10)
    assert certificate.proof.wrong == case["errors"]
    assert certificate.risk == pytest.approx(case["risk"], abs=2e-9)


def json_tree(node):
    if isinstance(node, int):
        return node
    return (node[0], node[1], json_tree(node[2]), json_tree(node[3]))


def heavier(tree, prior):
    """The tree with missing values on the side of more rows of A."""
    _, rows = tree.counts_on(prior.a)
    side = np.zeros(tree.n_nodes, dtype=bool)
    inner = np.flatnonzero(~tree.is_leaf)
    side[inner] = rows[tree.left[inner]] >= rows[tree.right[inner]]
    return replace(tree, missing_left=side)


def small_mixed_sample(rng):
    """A few rows of every kind of column, some missing; and its rows as tuples for the twin."""
    m, n = int(rng.integers(2, 6)), int(rng.integers(2, 4))
    kinds = rng.choice(["real", "ordinal", "nominal"], size=rng.integers(1, 3)).tolist()
    values, columns, raw = [], [], []
    for j, kind in enumerate(kinds):
        codes = rng.integers(0, 3, m)
        missing = rng.random(m) < rng.choice([0.0, 0.4])
        if kind == "real":
            column_values = np.where(missing, np.nan, codes.astype(float))
        else:
            column_values = np.where(missing, -1, codes).astype(np.int32)
        values.append(column_values)
        columns.append(Column(f"x{j}", kind, None if kind == "real" else (0, 1, 2),
                              missing=bool(missing.any())))  # fmt: skip
        raw.append([None if gone else float(v) for v, gone in zip(codes, missing, strict=True)])
    y = rng.integers(0, n, m).astype(np.int32)
    sample = Sample(Matrix(tuple(columns), tuple(values)), y, None, np.arange(n))
    rows = list(zip(*raw, strict=True))
    return sample, [(kind, j) for j, kind in enumerate(kinds)], rows, y.tolist(), n


@pytest.mark.parametrize("seed", range(25))
def test_every_tree_has_the_probability_of_the_exact_twin_and_they_sum_to_one(seed):
    rng = np.random.default_rng(seed)
    sample, columns, rows, y, n = small_mixed_sample(rng)
    deepest = 2
    options = PriorOptions(hand=0.0, tilt=1.0, thresholds="midpoint", depth=deepest)
    prior = Prior(sample, options=options, rows_a=np.arange(sample.n_rows))
    every = list(all_trees(columns, rows, y, n, deepest=deepest))
    assert sum(chance for _, chance in every) == Fraction(1)
    for at in rng.permutation(len(every))[:60].tolist():
        nested, chance = every[at]
        log_prior = prior.log_probability(tree_of(nested, sample))
        assert log_prior == pytest.approx(log(chance), abs=1e-10), nested


@pytest.mark.parametrize("n_columns", [1, 2, 5])
def test_the_sets_of_identifiers_have_a_mass_of_at_most_one(n_columns):
    total = 0.0
    for mask in product([False, True], repeat=n_columns):
        columns = [Column("x", "nominal", ("a",), identifier=identifier) for identifier in mask] + [
            Column("y", "nominal", ("a",), declared=True),
            Column("z"),
        ]
        total += exp(_log_columns(columns, 50))
        assert _log_columns(columns, 49) == 0.0
    assert 0.9 < total <= 1.0 + 1e-12


@pytest.mark.parametrize("seed", range(10))
def test_the_share_of_edited_splits_leaves_the_mass_below_one(seed):
    rng = np.random.default_rng(100 + seed)
    sample, columns, rows, y, n = small_mixed_sample(rng)
    plain = PriorOptions(hand=0.0, tilt=1.0, thresholds="midpoint", depth=2)
    shared = PriorOptions(hand=0.25, tilt=1.0, thresholds="midpoint", depth=2)
    rows_a = np.arange(sample.n_rows)
    without, with_share = (Prior(sample, options=o, rows_a=rows_a) for o in (plain, shared))
    for nested, _ in list(all_trees(columns, rows, y, n, deepest=2))[::7]:
        tree = tree_of(nested, sample)
        inner, leaves = tree.n_leaves - 1, tree.n_leaves
        ratio = with_share.log_probability(tree) - without.log_probability(tree)
        # each split keeps 3/4; a leaf that could not be split pays for the edits below it
        assert inner * log(0.75) + leaves * log(1 - 0.25 * 0.07) - 1e-9 <= ratio
        assert ratio <= inner * log(0.75) + 1e-9


def test_probabilities_of_decimals_sum_to_at_most_one_and_fall_with_digits():
    numbers = {float(f"{sign}{k}e{e}") for sign in ("", "-") for k in range(1000)
               for e in range(-30, 31)}  # fmt: skip
    total = sum(exp(log_decimal(number)) for number in numbers) + exp(log_decimal(inf))
    assert 0.7 < total <= 1.0
    assert log_decimal(0.5) > log_decimal(0.25) > log_decimal(0.125) > log_decimal(0.1234567)
    assert log_decimal(1e300) < log_decimal(1.0)
    assert log_decimal(-2.5) == log_decimal(2.5)


@pytest.mark.parametrize("seed", range(12))
def test_search_returns_trees_with_their_own_limits_and_counts(seed):
    rng = np.random.default_rng(seed)
    sample = random_sample(rng, 120)
    prior = Prior(sample, Draw(seed))
    trees = search_trees(prior, 0.05, restarts=2)
    assert [one.leaves for one in trees] == sorted(one.leaves for one in trees)
    single = [int(one.tree.label[0]) for one in trees if one.leaves == 1]
    assert 1 <= len(single) == len(set(single))  # there is a tree of one leaf, and none twice
    for one in trees:
        again = prior.certify(one.tree, 0.05)
        assert again.proof.log_prior == pytest.approx(one.proof.log_prior, abs=1e-9)
        assert again.proof.errors == one.proof.errors
        assert (again.proof.rows, again.training_error) == (one.proof.rows, one.training_error)
        assert again.risk == pytest.approx(one.risk, abs=1e-9)
        counts, rows = one.tree.counts_on(sample)
        np.testing.assert_allclose(counts, one.tree.counts)
        np.testing.assert_array_equal(rows, one.tree.rows)


@pytest.mark.parametrize("seed", range(8))
def test_pruning_is_the_least_of_all_prunings_and_labels(seed):
    rng = np.random.default_rng(seed)
    m = 30
    X = rng.integers(0, 6, (m, 2)).astype(float)
    y = ((X[:, 0] > 2).astype(int) + (rng.random(m) < 0.2)) % 2
    prior = Prior(real_sample(X, y, 2), options=PLAIN, rows_a=np.arange(12))
    prior.kernel.run(0.5, 0.0, 0, 50.0)
    largest = prior.tree_of(prior.kernel.least(50.0), 0.05).tree
    for price in (0.1, 0.7, 3.0):
        chosen = prior.tree_of(prior.kernel.least(price), 0.05)
        cost = price * chosen.proof.wrong - chosen.proof.log_prior
        for pruned in prunings(largest):
            one = prior.certify(pruned, 0.05)
            assert cost <= price * one.proof.wrong - one.proof.log_prior + 1e-9


def prunings(tree, most=60):
    """Prunings of a tree with the labels of the larger class, and with the first leaf flipped."""
    inner = np.flatnonzero(~tree.is_leaf)
    for bits in range(min(2 ** len(inner), most)):
        cuts = [node for i, node in enumerate(inner.tolist()) if bits >> i & 1]
        smaller = tree.collapsed(cuts) if cuts else tree
        yield smaller
        label = smaller.label.copy()
        label[smaller.leaves[0]] = 1 - label[smaller.leaves[0]]
        yield replace(smaller, label=label)


def test_the_prior_does_not_depend_on_the_other_rows():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    changed, labels = X.copy(), y.copy()
    changed[15:] = rng.normal(size=(45, 3)) * 9
    labels[15:] = 1 - y[15:]
    first = Prior(real_sample(X, y, 2), rows_a=np.arange(15))
    second = Prior(real_sample(changed, labels, 2), rows_a=np.arange(15))
    for one in search_trees(first):
        assert second.log_probability(one.tree) == first.log_probability(one.tree)


def test_weights_and_costs_steer_the_search_and_not_the_proof():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 8, 300).astype(float)
    y = (rng.random(300) < x / 10).astype(np.int32)
    weight = np.where(y == 1, 3.0, 1.0)
    plain = Sample(Matrix((Column("x"),), dense=x[:, None]), y, None, np.arange(2))
    rows_a = np.arange(60)
    kernels = [
        Prior(plain, rows_a=rows_a, costs={1: 3.0}),
        Prior(replace(plain, weight=weight), rows_a=rows_a),
        Prior(replace(plain, factors=np.array([1.0, 3.0])), rows_a=rows_a),
    ]
    least = []
    for prior in kernels:
        prior.kernel.run(0.5, 0.0, 0, 1.0)
        least.append(prior.kernel.least(0.3))
    for other in least[1:]:
        for name, values in least[0].items():
            np.testing.assert_array_equal(values, other[name])
    slow = np.array([[weight[60:][y[60:] != k].sum() for k in range(2)]])
    scale = 240 / weight[60:].sum()
    tree = kernels[0].tree_of(least[0], 0.05)
    assert tree.proof.log_prior == pytest.approx(kernels[0].log_probability(tree.tree), abs=1e-9)
    stump = kernels[0].kernel.least(1e-9)  # errors cost nothing: one leaf, its label by A
    assert len(stump["label"]) == 1
    only = Prior(plain, rows_a=rows_a, costs={1: 3.0}, options=PriorOptions(depth=0))
    only.kernel.run(0.5, 0.0, 0, 1.0)
    prices = -log_labels(np.bincount(y[:60], minlength=2))
    for price in (0.001, 0.01, 0.1, 1.0):
        expected = int(np.argmin(price * scale * slow + prices))
        assert only.kernel.least(price)["label"].tolist() == [expected]


def test_trees_of_weighted_rows_have_the_weights_as_counts_and_state_it():
    rng = np.random.default_rng(0)
    x, weight = rng.random(200), rng.integers(1, 4, 200) / 2.0
    plain = real_sample(x[:, None], (x > 0.5) ^ (rng.random(200) < 0.1), 2)
    for sample, total in (
        (replace(plain, weight=weight), weight.sum()),
        (replace(plain, factors=np.array([1.0, 3.0])), 200.0),
        (plain, 200.0),
    ):
        prior = Prior(sample, Draw(0))
        for one in search_trees(prior, restarts=1):
            assert one.tree.weighted == (sample is not plain)
            assert one.tree.weight[0] == pytest.approx(total)
            np.testing.assert_array_equal(one.tree.factors, sample.factors)
            assert one.tree.rows[0] == 200
            assert (one.proof.counts_a + one.proof.counts_b)[0].sum() == 200


def test_missing_values_and_categories_that_a_has_not_are_routed_by_a():
    columns = (Column("x", missing=True), Column("c", "nominal", ("a", "b", "c"), missing=True))
    x = np.array([1.0, 2, 3, 1, 2, 3, np.nan, np.nan, 9, -9])
    c = np.array([0, 1, 0, 1, 0, 1, 2, -1, 2, -1], dtype=np.int16)
    y = np.array([0, 1, 1, 0, 1, 1, 0, 1, 0, 1], dtype=np.int32)
    sample = Sample(Matrix(columns, (x, c)), y, None, np.arange(2))
    prior = Prior(sample, rows_a=np.arange(6))
    splits = prior.kernel.candidates(np.ones(6, dtype=np.uint8), 0)[0]
    of_x, of_c = (splits[splits["column"] == at] for at in (0, 1))
    assert of_x["threshold"].tolist() == [1.5, 2.5]
    assert of_x["missing_left"].tolist() == [False, True]  # the child with more rows of A
    # neither the third one nor missing, and the second is the first with the children swapped
    assert of_c["category"].tolist() == [0]
    for one in search_trees(prior):
        counts, _ = one.tree.counts_on(sample)
        np.testing.assert_array_equal(counts, one.tree.counts)


def test_where_the_first_missing_value_goes_is_part_of_a_tree():
    """Two trees that differ in it alone share the mass; neither has it twice."""
    rng = np.random.default_rng(0)
    columns = (Column("x"), Column("c", "nominal", ("a", "b")))
    x, c = rng.normal(size=60), rng.integers(0, 2, 60).astype(np.int8)
    sample = Sample(Matrix(columns, (x, c)), (x > 0).astype(np.int32), None, np.arange(2))
    prior = Prior(sample, rows_a=np.arange(20))
    splits = prior.kernel.candidates(np.ones(20, dtype=np.uint8), 0)[0]
    first = splits["threshold"][splits["column"] == 0][0]
    for at, rule in ((0, ("<=", first, False)), (1, ("==", 0.0))):
        tree = tree_of((at, rule, 0, 1), sample)
        sides = [replace(tree, missing_left=np.array([side, False, False])) for side in (0, 1)]
        chances = sorted(prior.log_probability(one) for one in sides)
        assert chances[0] < chances[1] + log(0.01)


def test_a_category_between_two_of_a_does_not_move_a_threshold():
    names = ("low", "middle", "high")
    codes = np.array([0, 2, 0, 2, 1, 1], dtype=np.int8)
    sample = Sample(Matrix((Column("o", "ordinal", names),), (codes,)),
                    np.array([0, 1, 0, 1, 1, 0], np.int32), None, np.arange(2))  # fmt: skip
    splits = Prior(sample, rows_a=np.arange(4)).kernel.candidates(np.ones(4, np.uint8), 0)[0]
    assert splits["threshold"].tolist() == [0.0]  # as if the column had no middle


def test_a_set_of_categories_has_no_probability_and_leaves_the_mass_below_one():
    column = Column("c", "nominal", ("a", "b", "c"))
    sample = Sample.learn([["a"], ["b"], ["c"]], [0, 1, 1])
    tree = Tree(
        feature=[0, -1, -1], threshold=[np.nan] * 3, category=[1, -1, -1],
        missing_left=[False] * 3, left=[1, -1, -1], right=[2, -1, -1], counts=np.zeros((3, 2)),
        rows=[0, 0, 0], columns=(column,), classes=np.arange(2),
    )  # fmt: skip
    single = split_of(tree, 0)
    assert isfinite(_edited(tree, single, sample))
    assert _edited(tree, replace(single, codes=(0, 1)), sample) == -inf


def test_every_edited_split_has_a_limit():
    rng = np.random.default_rng(0)
    m = 400
    columns = (Column("x"), Column("o", "ordinal", (1, 2, 3, 4)),
               Column("c", "nominal", ("rare", "often", "other")))  # fmt: skip
    x, o = rng.normal(size=m), rng.integers(0, 4, m).astype(np.int8)
    c = np.where(np.arange(m) == 399, 0, 1 + (rng.random(m) < 0.5)).astype(np.int8)
    sample = Sample(Matrix(columns, (x, o, c)), (x > 0).astype(np.int32), None, np.arange(2))
    prior = Prior(sample, rows_a=np.arange(80))
    splits = [("<=", 0.123, False), ("<=", 2.0, True), ("==", 0.0)]
    for at, rule in enumerate(splits):
        certificate = prior.certify(tree_of((at, rule, 0, 1), sample), 0.05)
        assert -80 < certificate.proof.log_prior < 0
        assert certificate.risk < 0.999
    deep = tree_of((0, ("<=", 50.0, False), 0, (0, ("<=", 60.0, False), 0, 1)), sample)
    assert np.isfinite(prior.log_probability(deep))  # no row of A is there


def test_price_of_an_error_is_smaller_on_large_tables():
    assert error_prices(100)[-1] == pytest.approx(5.0)
    assert error_prices(10**6)[-1] == pytest.approx(0.9)
    assert error_prices(100) == sorted(error_prices(100))


def tail(m, errors, p):
    """``P[Bin(m, p) <= errors]``, exactly."""
    p = Fraction(p)
    return sum(comb(m, k) * p**k * (1 - p) ** (m - k) for k in range(errors + 1))


@pytest.mark.parametrize(
    ("m", "errors", "level"), [(400, 12, 0.05), (50, 0, 1e-9), (90, 30, 1e-40)]
)
def test_limit_is_the_exact_one_rounded_up(m, errors, level):
    bound = prior_bound(m, errors, log(level))
    assert tail(m, errors, bound) <= Fraction(level) < tail(m, errors, bound - 1e-6)
    assert prior_bound(m, m, log(level)) == prior_bound(0, 0, log(level)) == 1.0


def test_the_training_error_is_a_share_of_all_rows_even_of_one():
    sample = real_sample([[0.0]], [1], 2)
    leaf = tree_of(0, sample)  # always predicts 0
    nothing, one = np.array([[0, 0]]), np.array([[0, 1]])
    for counts in ((nothing, one), (one, nothing)):
        assert PriorProof.of(leaf, 0.0, *counts).training_error == 1.0
    assert PriorProof.of(leaf, 0.0, nothing, nothing).training_error == 0.0
    assert PriorProof.of(leaf, 0.0, nothing, np.array([[3, 1]])).training_error == 0.25


def test_no_tree_is_deeper_than_requested_or_than_the_prior_allows():
    deepest = PriorOptions.of("midpoint", None).depth
    assert PriorOptions.of("midpoint", 3).depth == 3
    assert PriorOptions.of("midpoint", deepest + 5).depth == deepest
    assert PriorOptions.of("observed", 3).thresholds == "observed"
    rng = np.random.default_rng(0)
    X = rng.random((300, 2))
    y = (np.floor(8 * X[:, 0]) + np.floor(8 * X[:, 1])) % 2
    for depth in (1, 2):
        prior = Prior(real_sample(X, y, 2), options=PriorOptions(depth=depth))
        trees = search_trees(prior, restarts=1)
        assert max(int(one.tree.node_depth.max()) for one in trees) <= depth


def test_trees_whose_errors_are_free_are_certified_too():
    """Only errors on a third class cost anything, which no row has."""
    rng = np.random.default_rng(0)
    x = rng.random(60)
    sample = replace(real_sample(x[:, None], x > 0.5, 3), classes=np.arange(3))
    prior = Prior(sample, rows_a=np.arange(20), costs=[[0, 0, 0], [0, 0, 0], [1, 1, 0]])
    for one in search_trees(prior, restarts=1):
        assert one.cost == 0.0
        assert prior.certify(one.tree, 0.05).risk == pytest.approx(one.risk, abs=1e-9)


def test_the_search_reports_every_run():
    rng = np.random.default_rng(0)
    prior = Prior(real_sample(rng.random((50, 1)), rng.integers(0, 2, 50), 2), Draw(0))
    runs = []
    search_trees(prior, restarts=3, progress=runs.append)
    assert runs == [1, 2, 3, 4]


def noisy_prior():
    rng = np.random.default_rng(0)
    X = rng.random((200, 3))
    return Prior(real_sample(X, (X[:, 0] > 0.5) ^ (rng.random(200) < 0.3), 2), Draw(0))


def test_the_first_run_has_no_noise_and_the_others_have():
    def log_priors(restarts, seed):
        trees = search_trees(noisy_prior(), restarts=restarts, seed=seed)
        return [one.proof.log_prior for one in trees]

    assert log_priors(0, 0) == log_priors(0, 1)
    assert log_priors(3, 0) != log_priors(3, 1)


def test_a_search_ends_when_its_work_is_done_unless_restarts_are_requested(monkeypatch):
    monkeypatch.setattr("treebound.certificate.prior.max_work", lambda sample: 20_000.0)
    runs = []
    search_trees(noisy_prior(), progress=runs.append)
    limited = len(runs)
    assert 1 <= limited < 50
    search_trees(noisy_prior(), restarts=limited + 5, progress=runs.append)
    assert runs[-1] == limited + 6


def test_a_search_of_few_rows_has_a_hundred_runs_after_the_first():
    prior = Prior(real_sample(np.arange(20.0)[:, None], np.arange(20) > 9, 2), Draw(0))
    runs = []
    search_trees(prior, progress=runs.append)
    assert runs[-1] == len(runs) == 101
