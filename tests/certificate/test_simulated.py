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

DELTA = 0.1
WORLDS = worlds()
FITS = {
    "training": {},
    "training, compression": {"thresholds": "observed"},
    "training, weighted": {"class_weight": "balanced"},
    "held-out": {"certify": "held-out"},
    "folds": {"certify": "folds"},
    "prior": {"certify": "prior"},
    "prior, weighted": {"certify": "prior", "class_weight": "balanced"},
}


def promises(world, rng, seed):
    """Name of each promise, and whether it is wrong."""
    X, y = world.draw(rng)
    new, labels = world.draw(rng)
    cells, risk = world.cells, world.risk
    for kind, options in FITS.items():
        clf = tb.BoundTreeClassifier(delta=DELTA, random_state=seed, **options).fit(X, y)
        answers, own = clf.predict(cells), clf.certificate_
        yield kind, risk(answers) > own.risk
        true = world.missed(answers)
        yield f"{kind}: by class", any(true[one.label] > one.risk for one in own.by_class)
        if kind in ("held-out", "folds"):
            steps = [clf.prune_to(step=k) for k in range(len(clf.pruning_path_))]
            least = min(steps, key=lambda one: one.certificate_.risk)
            yield (
                f"{kind}: the least of the path",
                risk(least.predict(cells))
                > (
                    2.0
                    if least.model_.step == clf.pruning_path_.chosen
                    else least.certificate_.risk
                ),
            )
        if kind == "prior":
            trees = [clf.prune_to(step=k) for k in range(len(clf.frontier_))]
            limits = [one.certificate_.risk for one in trees]
            risks = [risk(one.predict(cells)) for one in trees]
            least = int(np.argmin(limits))
            yield "prior: the least of the frontier", risks[least] > limits[least]
            yield "prior: any of the frontier", bool((np.array(risks) > np.array(limits)).any())
        if kind in ("held-out", "folds", "prior"):
            some = clf.refer(max_risk=0.25)
            yield f"{kind}: referral", risk(some.predict(cells), "refer") > 0.25
        if kind == "training":
            found = tb.certify(clf, new, labels, kind="held-out", delta=DELTA)
            yield "other rows", risk(answers) > found.risk
            found = tb.certify(clf, X, y, kind="prior", delta=DELTA)
            yield "training tree by a prior", risk(answers) > found.risk
            some = clf.refer(new, labels, max_risk=0.25) if len(y) > 20 else None
            yield "other rows: referral", some is not None and risk(
                some.predict(cells), "refer"
            ) > 0.25  # fmt: skip


@pytest.mark.parametrize("draws", [8, pytest.param(3000, marks=pytest.mark.heavy)])
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
