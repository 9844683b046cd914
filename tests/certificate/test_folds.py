"""The best of K folds: its vectors, its exact twin, and what must not be done."""

import json
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from support import ROOT

from treebound.certificate.held_out import best_of_folds
from treebound.data.draws import Draw

VECTORS = json.loads((ROOT / "tests/vectors/certificates.json").read_text())["folds"]


@pytest.mark.parametrize("case", VECTORS)
def test_vectors_of_the_folds(case):
    sizes, errors = case["rows"], iter(case["errors"])
    folds = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])
    best = best_of_folds(lambda fold: (len(fold), next(errors)), folds, case["delta"])
    assert best.chosen == case["chosen"]
    assert best.fitted == sizes[case["chosen"]]
    assert best.bounds == pytest.approx(case["limits"], abs=2e-9)
    assert best.bounds[best.chosen] == pytest.approx(case["risk"], abs=2e-9)
    tail = exact_tail(best.fitted, case["errors"][best.chosen], best.bounds[best.chosen])
    assert tail <= Fraction(case["delta"]) / len(sizes)


def exact_tail(m, errors, p):
    p = Fraction(p)
    return sum(comb(m, k) * p**k * (1 - p) ** (m - k) for k in range(errors + 1))


def test_folds_are_drawn_by_number_and_partition_the_rows():
    masks = [fold.mask(503) for fold in Draw(key=7).folds(503)]
    assert (np.sum(masks, axis=0) == 1).all()
    assert {int(mask.sum()) for mask in masks} == {125, 126}
    assert [len(Draw(key=7).folds(m)) for m in (2, 499, 500)] == [2, 3, 4]


def folds_of(m, n_folds, seed):
    return np.array_split(np.random.default_rng(seed).permutation(m), n_folds)


def test_a_tenth_is_one_fold_of_at_least_150_rows_and_at_most_30_percent():
    sizes = [Draw(key=0).calibration_rows(m).mask(m).sum() for m in (100, 400, 1000, 5000)]
    assert sizes == [30, 120, 150, 500]
    fold = np.flatnonzero(Draw(key=5).calibration_rows(300).mask(300))
    best = best_of_folds(lambda fold: (None, 2), [fold], 0.05)
    assert exact_tail(90, 2, min(best.bounds)) <= Fraction(0.05)


def constant_learner(rng, m, rates):
    """Rows of a coin for each hypothesis; the learner keeps the one of fewest errors."""
    return rng.random((m, len(rates))) < rates


def best_fold_of(errors, rates, *, n_folds, delta, seed, share=True):
    def fit(fold):
        chosen = int(np.delete(errors, fold, axis=0).sum(axis=0).argmin())
        return chosen, int(errors[fold, chosen].sum())

    level = delta if share else delta * n_folds
    return best_of_folds(fit, folds_of(len(errors), n_folds, seed), level)


@pytest.mark.parametrize("draws", [600, pytest.param(3000, marks=pytest.mark.heavy)])
def test_the_least_of_k_limits_is_wrong_at_most_delta_and_without_sharing_more_often(draws):
    rates = np.full(5, 0.3)
    wrong = {True: 0, False: 0}
    rng = np.random.default_rng(1)
    for seed in range(draws):
        errors = constant_learner(rng, 60, rates)
        for share in wrong:
            best = best_fold_of(errors, rates, n_folds=5, delta=0.1, seed=seed, share=share)
            wrong[share] += rates[best.fitted] > min(best.bounds)
    allowed = 0.1 * draws + 3 * np.sqrt(0.09 * draws)
    assert wrong[True] <= allowed
    assert wrong[False] > 1.5 * allowed


@pytest.mark.parametrize("draws", [200, pytest.param(3000, marks=pytest.mark.heavy)])
def test_refitting_on_all_rows_is_not_certified(draws):
    """An unstable learner: which stump it trusts depends on the number of its rows."""
    rng, wrong, delta, m = np.random.default_rng(2), 0, 0.05, 100
    rates = np.array([0.02, 0.4])

    def learn(n_rows):
        return int(n_rows == m)  # the good stump without a fold, the bad one on all rows

    for seed in range(draws):
        errors = rng.random((m, 2)) < rates

        def fit(fold, errors=errors):
            chosen = learn(m - len(fold))
            return chosen, int(errors[fold, chosen].sum())

        best = best_of_folds(fit, folds_of(m, 4, seed), delta)
        wrong += rates[learn(m)] > min(best.bounds)
    assert wrong > 0.9 * draws


def first_without_error(errors, rows):
    """The learner of Proposition 3: the first stump without an error on its rows."""
    clean = ~errors[rows].any(axis=0)
    return int(clean.argmax()) if clean.any() else -1


@pytest.mark.parametrize("draws", [300, pytest.param(3000, marks=pytest.mark.heavy)])
def test_equal_trees_of_all_folds_are_no_certificate_of_the_tree_of_all_rows(draws):
    """Proposition 3: all trees agree and make no error, and U(m, 0) is still wrong too often."""
    m, n_folds, delta, clean = 20, 5, 0.05, 0.5
    risk = 1.0 - clean ** (n_folds / m)
    pooled = 1.0 - delta ** (1.0 / m)
    assert pooled < risk
    rng, wrong = np.random.default_rng(3), 0
    for seed in range(draws):
        errors = rng.random((m, 400)) < risk
        whole = first_without_error(errors, np.arange(m))
        same = []

        def fit(fold, errors=errors, whole=whole, same=same):
            step = first_without_error(errors, np.setdiff1d(np.arange(m), fold))
            same.append(step == whole >= 0 and not errors[fold, step].any())
            return step, int(errors[fold, step].sum())

        best_of_folds(fit, folds_of(m, n_folds, seed), delta)
        wrong += all(same)
    expected = clean / (clean + n_folds * (1 - clean))  # of the proposition: about 1 / 6
    assert wrong / draws == pytest.approx(expected, abs=4 * np.sqrt(expected / draws))
    assert wrong > 2 * delta * draws
