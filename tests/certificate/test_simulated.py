"""Promises as ``fit`` makes them, on distributions with a known true risk.

A promise may be wrong with probability delta. Adversaries keep the least limit of those that hold
together, or the tree that is worst.
"""

import warnings
from collections import Counter

import numpy as np
import pytest
from scipy.stats import binom
from worlds import worlds

import treebound as tb
from treebound.promises import refer

DELTA, MAX_RISK = 0.1, 0.25
WORLDS = worlds()
FITS = {
    "training": {},
    "compression": {"thresholds": "observed"},
    "held-out": {"certify": "held-out"},
    "folds": {"certify": "folds"},
    "prior": {"certify": "prior"},
    "prior, weighted": {"certify": "prior", "class_weight": "balanced"},
}


class Fitted:
    """A fitted classifier, and the true risk of its trees."""

    def __init__(self, world, model):
        self.world, self.model, self.cells = world, model, model.read(world.cells, whole=True)

    def answers(self, model):
        return model.classes[model.tree.label[model.tree.apply(self.cells)]]

    def wrong(self, model):
        """Whether the limit of a tree is wrong."""
        return self.world.risk(self.answers(model)) > model.certificate.risk

    def wrong_by_class(self):
        true = self.world.missed(self.answers(self.model))
        return any(true[one.label] > one.risk for one in self.model.certificate.by_class)

    def wrong_referral(self, *rows):
        some = refer(self.model, MAX_RISK, *rows)
        return self.world.risk(self.answers(some), "refer") > MAX_RISK


def promises(world, rng, seed):
    """Name of each promise, and whether it is wrong."""
    X, y = world.draw(rng)
    others = world.draw(rng)
    for kind, options in FITS.items():
        clf = tb.BoundTreeClassifier(delta=DELTA, random_state=seed, **options).fit(X, y)
        own = Fitted(world, clf.model_)
        yield kind, own.wrong(own.model)
        yield f"{kind}: by class", own.wrong_by_class()
        yield from beside(kind, own, X, y, others)


def beside(kind, own, X, y, others):
    """Other promises of a fitted classifier."""
    model = own.model
    if kind in ("held-out", "folds", "prior"):
        yield f"{kind}: referral", own.wrong_referral()
    if kind in ("held-out", "folds"):
        path = model.path
        steps = [model.prune_to(step=k) for k in range(len(path)) if k != path.chosen]
        least = min(steps, key=lambda one: one.certificate.risk, default=None)
        yield f"{kind}: least of the other steps", least is not None and own.wrong(least)
    if kind == "prior":
        trees = [model.prune_to(step=k) for k in range(len(model.frontier))]
        yield "prior: least", own.wrong(min(trees, key=lambda one: one.certificate.risk))
        yield "prior: any tree", any(own.wrong(one) for one in trees)
    if kind == "training":
        risk = own.world.risk(own.answers(model))
        if set(others[1]) <= set(y):  # a class that the tree does not know is refused
            yield "other rows", risk > model.certify(*others, kind="held-out").risk
        yield "any tree by a prior", risk > model.certify(X, y, kind="prior").risk


@pytest.mark.parametrize("draws", [6, pytest.param(3000, marks=pytest.mark.heavy)])
@pytest.mark.parametrize("name", WORLDS)
def test_promises_are_wrong_at_most_delta(name, draws):
    rng, wrong = np.random.default_rng(len(name)), Counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(draws):
            for promise, violated in promises(WORLDS[name], rng, seed):
                wrong[promise] += bool(violated)
    most = binom.ppf(0.999, draws, DELTA)
    assert {promise: count for promise, count in wrong.items() if count > most} == {}
