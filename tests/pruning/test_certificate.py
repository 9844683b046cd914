"""The certificate: what it says, when there is none, and that its confidence is met."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pruning_trees import answers, grown_tree, sample_of
from support import grow_coded

import treebound as tb
from treebound import certify, certify_holdout
from treebound.bounds.risk import binomial_upper, log_leaves_prior
from treebound.certificate import reason_against
from treebound.data import Column
from treebound.pruning import BoundPruner
from treebound.tree import Tree


def hand_made(leaves, m, errors, *, n_classes=2, columns=None):
    """A chain of that many leaves, with so many errors in the last of them."""
    n_nodes = 2 * leaves - 1
    inner = np.arange(n_nodes) % 2 == 0
    inner[-1] = False
    counts = np.zeros((n_nodes, n_classes))
    counts[~inner, 0] = 1
    counts[-1] = m - errors - (leaves - 1), errors, *[0] * (n_classes - 2)
    for node in np.flatnonzero(inner)[::-1]:
        counts[node] = counts[node + 1] + counts[node + 2]
    return Tree(
        feature=np.where(inner, 0, -1),
        threshold=np.where(inner, 0.0, np.nan),
        category=np.full(n_nodes, -1),
        missing_left=np.zeros(n_nodes, bool),
        left=np.where(inner, np.arange(n_nodes) + 1, -1),
        right=np.where(inner, np.arange(n_nodes) + 2, -1),
        counts=counts,
        rows=counts.sum(axis=1).astype(int),
        columns=columns or tuple(Column(f"x{i}") for i in range(10)),
        classes=np.arange(n_classes),
    )


def test_readable():
    certificate = certify(hand_made(12, 5000, 250, n_classes=10))
    assert str(certificate) == (
        "With probability 95 %, at most 13.5 % of new examples are misclassified "
        "(5.0 % on the 5,000 training examples, 12 leaves)."
    )
    assert str(certify(hand_made(1, 100, 1), delta=0.001)).startswith("With probability 99.9 %, ")
    assert "1 leaf)" in str(certify(hand_made(1, 100, 1)))
    words = certificate.explain()
    assert "independent draws" in words
    assert "(checked)" in words
    assert "(stated)" in words
    assert not certificate.vacuous


def test_parts_add_up_to_the_bound():
    tree = hand_made(12, 5000, 250, n_classes=10)
    found = certify(tree)
    log_growth = tb.bounds.log_growth_leaves(12, 25_000, 10, tb.Landscape(real=10))
    log_prior = float(log_leaves_prior(12))
    again = tb.bounds.tail_inversion(
        5000, 250, lambda _: log_growth, delta=0.05, ghost=found.ghost, log_prior=log_prior
    )
    assert found.risk == again
    assert found.log_price == log_growth - log_prior
    assert found.errors == 250
    assert certify(tree, errors=300).risk > found.risk
    assert certify(tree, landscape=tb.Landscape(real=100)).risk > found.risk
    assert certify(tree, delta=0.01).risk > found.risk


def test_undeclared_categories_cost_and_the_gain_is_told():
    colour = Column("colour", "nominal", ("red", "green", "blue"))
    numbers = tuple(Column(f"x{i}") for i in range(3))
    tree = hand_made(12, 5000, 250, columns=(*numbers, colour))
    found = certify(tree)
    declared = certify(replace(tree, columns=(*numbers, replace(colour, declared=True))))
    assert found.declared_risk == declared.risk < found.risk
    assert declared.declared_risk is None
    assert "'colour'" in found.explain()
    assert "Declaring the categories beforehand" in found.explain()


def test_no_certificate_for_weights_and_the_reason_is_told():
    rng = np.random.default_rng(0)
    for weights in (rng.random(60), rng.integers(1, 3, 60), np.full(60, 2.0)):
        tree, _, _ = grown_tree(rng, 60, weights=weights)
        assert tree.weighted
        assert "weighted" in reason_against(tree)
        with pytest.raises(ValueError, match="There is no certificate for this tree"):
            certify(tree)
        with pytest.raises(ValueError, match="weighted"):
            certify(tree.collapsed([0]))
    plain, X, y = grown_tree(rng, 60)
    assert reason_against(plain) == ""
    assert certify(plain).m == 60
    assert "weighted" in reason_against(plain.recounted(sample_of(plain, X, y, rng.random(60))))
    with pytest.raises(ValueError, match="'errors' parameter of certify must be an int >= 0"):
        certify(plain, errors=1.5)
    with pytest.raises(ValueError, match=r"'errors' parameter of certify must be at most 60"):
        certify(plain, errors=61)


def test_held_out_examples():
    found = certify_holdout(12, 400)
    assert found.risk == binomial_upper(400, 12, 0.05)
    assert "12 of 400 held-out examples" in str(found)
    assert certify_holdout(0, 10, delta=0.5).risk == pytest.approx(1 - 0.5**0.1)


def test_certificate_can_be_checked_on_held_out_examples():
    certificate = certify(hand_made(12, 5000, 250))
    assert certificate.agrees_with(60, 1000)
    assert not certificate.agrees_with(250, 1000)


# -- simulations: samples from known distributions -------------------------------------------------

SAMPLES = 1500


class World:
    """Three small features, every cell of them with a probability and a rate of class 1."""

    def __init__(self, seed, *, noise):
        rng = np.random.default_rng(seed)
        self.columns = (
            Column("grade", "ordinal", tuple("abcd"), declared=True),
            Column("colour", "nominal", tuple("xyz"), declared=True),
            Column("number"),
        )
        cells = np.array(np.meshgrid(range(4), range(3), range(20))).reshape(3, -1).T
        self.cells = cells.astype(float)
        self.chance = rng.dirichlet(np.ones(len(cells)))
        signal = (cells[:, 0] > 1) ^ (cells[:, 1] == 0)
        self.rate = np.where(signal, 1 - noise, noise)
        self.rng = rng

    def sample(self, m):
        rows = self.rng.choice(len(self.cells), m, p=self.chance)
        return self.cells[rows], (self.rng.random(m) < self.rate[rows]).astype(np.int64)

    def risk(self, tree):
        """The true risk, exactly."""
        found = answers(tree, self.cells)
        return float(self.chance @ np.where(found == 1, 1 - self.rate, self.rate))

    def trees(self, m, samples, *, pruner):
        for _ in range(samples):
            X, y = self.sample(m)
            tree = grow_coded(X, y, self.columns, np.arange(2), max_leaves=8, n_jobs=1)
            yield pruner.prune(tree).tree if pruner else tree


@pytest.mark.parametrize("noise", [0.1, 0.5])
@pytest.mark.parametrize("pruner", [None, BoundPruner()])
def test_stated_confidence_is_met(noise, pruner):
    world = World(0, noise=noise)
    failed = broken = 0
    bounds = {}
    for tree in world.trees(200, SAMPLES, pruner=pruner):
        risk = world.risk(tree)
        size = tree.n_leaves, tree.errors
        if size not in bounds:  # all else is the same from sample to sample
            bounds[size] = certify(tree, delta=0.2).risk
        failed += risk > bounds[size]
        # What the certificate would be without the growth function: it must not hold up.
        broken += risk > binomial_upper(200, tree.errors, 0.2)
    assert failed <= 0.2 * SAMPLES
    if pruner is None:
        assert broken > 0.2 * SAMPLES


@settings(max_examples=5)
@given(seed=st.integers(0, 100), rate=st.floats(0.02, 0.5))
def test_a_fixed_tree_meets_the_confidence_of_both_certificates(seed, rate):
    rng = np.random.default_rng(seed)
    errors = rng.binomial(150, rate, 4000)
    inverted = {k: tb.bounds.tail_inversion(150, k, lambda _: 0.0, delta=0.2) for k in set(errors)}
    failed = np.mean([rate > inverted[k] for k in errors])
    held_out = {k: certify_holdout(int(k), 150, delta=0.2).risk for k in set(errors)}
    missed = np.mean([rate > held_out[k] for k in errors])
    three_sigma = 3 * np.sqrt(0.2 * 0.8 / 4000)
    assert failed <= 0.2 + three_sigma
    assert missed <= 0.2 + three_sigma
    assert missed >= 0.05  # exact up to the steps of the binomial law: not merely large
