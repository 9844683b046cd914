"""Referral: against a direct search, and simulated."""

import numpy as np
import pytest
from scipy.stats import binom

from treebound.certificate.prior import Prior, limit, log_labels, search_trees
from treebound.certificate.referral import (
    REFER,
    Referral,
    _merged,
    _ranked,
    refer_by_prior,
    refer_by_rows,
)
from treebound.data import Column, Matrix, Sample
from treebound.data.draws import Draw
from treebound.growing import GrowOptions, grow

RISKS = np.array([0.01, 0.04, 0.12, 0.3, 0.02, 0.5])
SHARES = np.array([0.3, 0.2, 0.1, 0.1, 0.2, 0.1])


def draw(rng, m):
    """One column of six values, each with its own risk; the label is the value's parity."""
    x = rng.choice(6, size=m, p=SHARES)
    y = ((x % 2) ^ (rng.random(m) < RISKS[x])).astype(np.int32)
    return Sample(Matrix((Column("x"),), dense=x[:, None].astype(float)), y, None, np.arange(2))


def true_risk(tree, answers):
    """Risk of an answered case, exactly; 0 if none is."""
    cells = Matrix(tree.columns, dense=np.arange(6.0)[:, None])
    reached = tree.apply(cells)
    wrong = np.where(tree.label[reached] == np.arange(6) % 2, RISKS, 1 - RISKS)
    kept = answers[reached]
    return float((SHARES * wrong)[kept].sum() / SHARES[kept].sum()) if kept.any() else 0.0


def test_sets_of_leaves_are_tested_in_order_until_one_fails():
    rng = np.random.default_rng(0)
    tree = grow(draw(rng, 400), GrowOptions(max_leaves=6))
    held = draw(rng, 1000)
    counts, rows = tree.counts_on(held)
    errors = rows - counts[np.arange(tree.n_nodes), tree.label]
    found = refer_by_rows(tree, counts, 1000, 0.08)
    assert found.m == 1000
    kept = np.flatnonzero(found.answers)
    assert found.answered == rows[kept].sum()
    assert found.errors == errors[kept].sum()
    assert binom.cdf(found.errors, found.answered, 0.08) <= 0.05
    assert 0 < len(kept) < tree.n_leaves
    risk = (tree.node_errors + 1) / (tree.weight + 2)
    others = np.setdiff1d(tree.leaves, kept)
    assert risk[kept].max() <= risk[others].min()
    following = others[risk[others].argmin()]
    more_rows, more = found.answered + rows[following], found.errors + errors[following]
    assert binom.cdf(more, more_rows, 0.08) > 0.05
    assert "the rest is referred" in str(found)


def test_without_enough_rows_every_case_is_referred():
    rng = np.random.default_rng(0)
    tree = grow(draw(rng, 400), GrowOptions(max_leaves=6))
    held = draw(rng, 20)
    found = refer_by_rows(tree, tree.counts_on(held)[0], 20, 0.05)
    assert not found.answers.any()
    assert found.share == 0.0
    assert "every case is referred" in str(found)


def test_refer_is_a_label_of_the_prior():
    rng = np.random.default_rng(1)
    sample = draw(rng, 600)
    prior = Prior(sample, Draw(0))
    trees = search_trees(prior)
    found = refer_by_prior(trees, 0.12)
    assert found.answers.any()
    own = next(one for one in trees if one.tree is found.tree)
    answering = found.answers[found.tree.leaves]
    on_a = found.tree.counts_on(prior.a)[0]
    labels = [log_labels(on_a[leaf])[found.tree.label[leaf]] for leaf in found.tree.leaves]
    price = own.proof.log_prior - sum(labels)
    price += sum(np.log(1 - REFER) + label for label, kept in zip(labels, answering, strict=True)
                 if kept) + np.log(REFER) * (~answering).sum()  # fmt: skip
    assert price <= slow_price(prior, found) + 1e-9
    assert limit(found.answered, found.errors, np.log(0.05) + slow_price(prior, found)) <= 0.12


def slow_price(prior, found):
    """Log probability of the tree whose subtrees that refer are one leaf, node by node."""
    tree, answers = found.tree, found.answers
    refers = [~answers[k : k + tree.size[k]] | ~tree.is_leaf[k : k + tree.size[k]]
              for k in range(tree.n_nodes)]  # fmt: skip
    whole = np.array([part.all() for part in refers])
    pruned = tree.collapsed(np.flatnonzero(whole & ~tree.is_leaf))
    total = prior.log_probability(pruned)
    on_a, reached = pruned.counts_on(prior.a)[0], pruned.apply(prior.sample.X)
    old = tree.apply(prior.sample.X)
    for leaf in pruned.leaves:
        label = log_labels(on_a[leaf])[pruned.label[leaf]]
        answer = answers[old[reached == leaf]].any()
        total += np.log(1 - REFER) if answer else np.log(REFER) - label
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
        answers = np.zeros(tree.n_nodes, dtype=bool)
        answers[order[: j + 1]] = True
        price = proof.log_prior - labels[j + 1 :].sum() + (j + 1) * np.log(1 - REFER)
        price += (len(order) - j - 1) * np.log(REFER) + saved[j]
        found = Referral(tree, answers, 0.1, 0.05, 0, 0, 0)
        assert price == pytest.approx(slow_price(prior, found), abs=1e-8)


@pytest.mark.parametrize("draws", [300, pytest.param(3000, marks=pytest.mark.heavy)])
def test_promise_is_wrong_at_most_delta(draws):
    rng, delta, most = np.random.default_rng(2), 0.1, 0.05
    wrong = {"rows": 0, "prior": 0, "prior, sorted rows": 0}
    for seed in range(draws):
        tree = grow(draw(rng, 100), GrowOptions(max_leaves=6))
        held = draw(rng, 150)
        kept = refer_by_rows(tree, tree.counts_on(held)[0], 150, most, delta)
        wrong["rows"] += true_risk(tree, kept.answers) > most
        if seed < draws // 3:
            rows = draw(rng, 250)
            ordered = rows.part(np.argsort(rows.y, kind="stable"))
            priors = {"prior": Prior(rows, Draw(seed)), "prior, sorted rows": Prior(ordered)}
            for name, prior in priors.items():
                chosen = refer_by_prior(search_trees(prior, delta, restarts=0), most, delta)
                wrong[name] += true_risk(chosen.tree, chosen.answers) > most
    assert 0 < wrong["rows"] <= delta * draws + 3 * np.sqrt(delta * draws)
    assert max(wrong["prior"], wrong["prior, sorted rows"]) <= delta * (draws // 3)
