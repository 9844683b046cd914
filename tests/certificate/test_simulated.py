"""Guarantees of ``fit``, on distributions with a known true risk.

A bound may be wrong with probability delta. Adversaries keep the least bound of those that hold
together, or the tree that is worst.
"""

import warnings
from collections import Counter

import numpy as np
import pytest
from scipy.stats import binom
from worlds import worlds

import treebound as tb
from treebound.model.guarantees import abstain, certify_cost

DELTA, LEVELS = 0.1, [k / 40 for k in range(1, 20)]
WORLDS = worlds()
COSTS = {"b": 5.0, "c": 2.0}  # of missing a class; 1 for the others
KINDS = {
    "training": {},
    "compression": {"thresholds": "observed"},
    "held-out": {"certificate": "held-out"},
    "folds": {"certificate": "folds"},
    "prior": {"certificate": "prior"},
}
WEIGHTED = {
    f"{kind}, weighted": {**options, "class_weight": "balanced"} for kind, options in KINDS.items()
}
FITS = {**KINDS, **WEIGHTED}


class Fitted:
    """A fitted classifier, and the true risk of its trees."""

    def __init__(self, world, model):
        self.world, self.model, self.cells = world, model, model.read(world.cells, whole=True)

    def answers(self, model):
        return model.classes[model.tree.label[model.tree.apply(self.cells)]]

    def wrong(self, model):
        """Whether the bound of a tree is wrong."""
        return self.world.risk(self.answers(model)) > model.certificate.risk

    def wrong_by_class(self):
        true = self.world.missed(self.answers(self.model))
        return any(true[one.label] > one.risk for one in self.model.certificate.by_class)

    def wrong_cost(self):
        """Whether the bound of the mean cost is wrong."""
        costs = {name: COSTS.get(name, 1.0) for name in self.model.classes.tolist()}
        return self.world.cost(self.answers(self.model), costs) > certify_cost(
            self.model, costs=costs
        ).cost * (1 + 1e-9)

    def wrong_abstention(self):
        """Whether one of the bounds is wrong that an adversary sees who tries every level."""
        models = abstain(self.model, LEVELS)
        return any(
            self.world.risk(self.answers(some), "abstain") > some.abstention.risk
            for some in models
            if some.abstention.predicts.any()
        )


def guarantees(world, kind, rng, seed, ordered):
    """Name of each guarantee, and whether it is wrong; of sorted rows, at the default seed."""
    X, y = world.draw(rng, ordered=ordered)
    others = world.draw(rng, ordered=ordered)
    options = FITS[kind] if ordered else {**FITS[kind], "random_state": seed}
    clf = tb.BoundTreeClassifier(delta=DELTA, **options).fit(X, y)
    own = Fitted(world, clf.model_)
    yield "bound", own.wrong(own.model)
    yield "by class", own.wrong_by_class()
    yield from beside(kind, own, X, y, others)


def beside(kind, own, X, y, others):
    """Other guarantees of a fitted classifier."""
    model, rows = own.model, kind.removesuffix(", weighted")
    if rows in ("held-out", "folds", "prior"):
        yield "abstention", own.wrong_abstention()
        yield "mean cost", own.wrong_cost()
    if rows in ("held-out", "folds"):
        path = model.path
        trees = [model.prune_to(step=k) for k in range(len(path)) if k != path.chosen]
        trees += [model.prune_to(leaves) for leaves in range(1, int(path.leaves.min()))]
        least = min(trees, key=lambda one: one.certificate.risk, default=None)
        yield "least of the other trees", least is not None and own.wrong(least)
    if rows == "prior":
        trees = [model.prune_to(step=k) for k in range(len(model.frontier))]
        yield "least", own.wrong(min(trees, key=lambda one: one.certificate.risk))
        yield "any tree", any(own.wrong(one) for one in trees)
    if kind == "training":
        risk = own.world.risk(own.answers(model))
        if set(others[1]) <= set(y):  # a class that the tree does not know is refused
            yield "other rows", risk > model.certify(*others, kind="held-out").risk
        yield "any tree by a prior", risk > model.certify(X, y, kind="prior").risk


def violations(name, kind, draws, ordered):
    """How often each guarantee was wrong."""
    rng, wrong = np.random.default_rng(len(name)), Counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(draws):
            for guarantee, violated in guarantees(WORLDS[name], kind, rng, seed, ordered):
                wrong[guarantee] += bool(violated)
    return wrong


@pytest.mark.parametrize("draws", [6, pytest.param(3000, marks=pytest.mark.heavy)])
@pytest.mark.parametrize("kind", FITS)
@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("ordered", [False, True])
def test_guarantees_are_wrong_at_most_delta(ordered, name, kind, draws):
    most = binom.ppf(0.999, draws, DELTA)
    wrong = violations(name, kind, draws, ordered)
    assert {guarantee: count for guarantee, count in wrong.items() if count > most} == {}


RATE = 0.1708
SORTED = [("held-out", 53, 300), ("folds", 51, 120), ("prior", 95, 150)]
HEAVY = [pytest.param(kind, m, 3000, marks=pytest.mark.heavy) for kind, m, _ in SORTED]


@pytest.mark.parametrize(("kind", "m", "draws"), [*SORTED, *HEAVY])
def test_rows_are_drawn_as_if_at_random_from_a_sorted_table(kind, m, draws):
    """At a fixed seed: drawn by number alone, 95, 71 and 13 % of these limits were wrong."""
    rng, wrong = np.random.default_rng(0), 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(draws):
            X, y = rng.random((m, 1)), np.sort(rng.random(m) < RATE)
            clf = tb.BoundTreeClassifier(certificate=kind, max_leaves=1).fit(X, y)
            [answer] = clf.predict(X[:1])
            wrong += (1.0 - RATE if answer else RATE) > clf.certificate_.risk
    assert wrong <= binom.ppf(0.999, draws, 0.05)
