"""The best of K folds: its vectors, its exact twin, and what must not be done."""

import json
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from support import ROOT

from treebound.certificate.folds import best_of_folds, default_folds, draw_folds

VECTORS = json.loads((ROOT / "tests/vectors/certificates.json").read_text())["folds"]


@pytest.mark.parametrize("case", VECTORS)
def test_vectors_of_the_folds(case, monkeypatch):
    sizes, errors = case["rows"], iter(case["errors"])
    folds = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])
    monkeypatch.setattr("treebound.certificate.folds.draw_folds", lambda *_: folds)
    best = best_of_folds(
        lambda rows, fold: (len(fold), next(errors)), sum(sizes), n_folds=len(sizes),
        delta=case["delta"],
    )  # fmt: skip
    assert best.chosen == case["chosen"]
    assert best.fitted == sizes[case["chosen"]]
    assert [one.risk for one in best.limits] == pytest.approx(case["limits"], abs=2e-9)
    assert best.limit.risk == pytest.approx(case["risk"], abs=2e-9)
    tail = exact_tail(best.limit.m, best.limit.errors, best.limit.risk)
    assert tail <= Fraction(case["delta"]) / len(sizes)


def exact_tail(m, errors, p):
    p = Fraction(p)
    return sum(comb(m, k) * p**k * (1 - p) ** (m - k) for k in range(errors + 1))


def test_folds_are_drawn_by_number_and_partition_the_rows():
    folds = draw_folds(103, 4, 7)
    assert sorted(np.concatenate(folds).tolist()) == list(range(103))
    assert {len(fold) for fold in folds} == {25, 26}
    assert default_folds(499) == 3
    assert default_folds(500) == 4


def test_fit_never_sees_its_fold_and_one_tenth_is_one_fold_of_ten():
    seen = []

    def fit(rows, fold):
        assert not set(rows) & set(fold)
        assert len(rows) + len(fold) in (200, 20)
        seen.append(len(fold))
        return None, 1

    best = best_of_folds(fit, 200, n_folds=10, used=1, delta=0.05)
    assert seen == [20]
    assert best.limit.risk == best_of_folds(fit, 20, n_folds=1, delta=0.05).limit.risk
    assert best_of_folds(fit, 200, n_folds=2, delta=0.1).limits[0].m == 100


def violations(draw_limit, draws, seed):
    rng = np.random.default_rng(seed)
    return sum(risk > limit for risk, limit in (draw_limit(rng) for _ in range(draws)))


def constant_learner(rng, m, rates):
    """Rows of a coin for each hypothesis; the learner keeps the one of fewest errors."""
    return rng.random((m, len(rates))) < rates


def best_fold_of(errors, rates, *, n_folds, delta, seed, share=True):
    def fit(rows, fold):
        chosen = int(errors[rows].sum(axis=0).argmin())
        return chosen, int(errors[fold, chosen].sum())

    level = delta if share else delta * n_folds
    return best_of_folds(fit, len(errors), n_folds=n_folds, delta=level, seed=seed)


@pytest.mark.parametrize("draws", [600, pytest.param(3000, marks=pytest.mark.heavy)])
def test_the_least_of_k_limits_is_wrong_at_most_delta_and_without_sharing_more_often(draws):
    rates = np.full(5, 0.3)
    wrong = {True: 0, False: 0}
    rng = np.random.default_rng(1)
    for seed in range(draws):
        errors = constant_learner(rng, 60, rates)
        for share in wrong:
            best = best_fold_of(errors, rates, n_folds=5, delta=0.1, seed=seed, share=share)
            wrong[share] += rates[best.fitted] > best.limit.risk
    allowed = 0.1 * draws + 3 * np.sqrt(0.09 * draws)
    assert wrong[True] <= allowed
    assert wrong[False] > 1.5 * allowed


@pytest.mark.parametrize("draws", [200, pytest.param(3000, marks=pytest.mark.heavy)])
def test_refitting_on_all_rows_is_not_certified(draws):
    """An unstable learner: which stump it trusts depends on the number of its rows."""
    rng, wrong, delta, m = np.random.default_rng(2), 0, 0.05, 100
    rates = np.array([0.02, 0.4])

    def learn(rows):
        return int(len(rows) == m)  # the good stump without a fold, the bad one on all rows

    for seed in range(draws):
        errors = rng.random((m, 2)) < rates

        def fit(rows, fold, errors=errors):
            return learn(rows), int(errors[fold, learn(rows)].sum())

        best = best_of_folds(fit, m, n_folds=4, delta=delta, seed=seed)
        wrong += rates[learn(np.arange(m))] > best.limit.risk
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

        def fit(rows, fold, errors=errors, whole=whole, same=same):
            found = first_without_error(errors, rows)
            same.append(found == whole >= 0 and not errors[fold, found].any())
            return found, int(errors[fold, found].sum())

        best_of_folds(fit, m, n_folds=n_folds, delta=delta, seed=seed)
        wrong += all(same)
    expected = clean / (clean + n_folds * (1 - clean))  # of the proposition: about 1 / 6
    assert wrong / draws == pytest.approx(expected, abs=4 * np.sqrt(expected / draws))
    assert wrong > 2 * delta * draws
