"""Certificates are wrong no more often than they state, on draws with an exact true risk."""

import importlib.util
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import ROOT

import treebound as tb
from treebound.certificate.certificate import certify_counts


@pytest.fixture(scope="module")
def benchmark():
    """The script that simulates for the documentation."""
    spec = importlib.util.spec_from_file_location(
        "benchmark_certificates", ROOT / "benchmarks" / "certificates.py"
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


MUST_FAIL = ("training errors alone", "held-out rows, drawn by class", "folds, delta for each")


def check_violations(benchmark, draws, delta):
    total = Counter()
    worlds = benchmark.worlds()
    for at, world in enumerate(worlds.values()):
        one = benchmark.simulate(world, draws, at, delta)
        total.update(one)
        for pruner, kind, _ in one:
            if kind in MUST_FAIL:
                continue
            wrong, of = one[pruner, kind, "wrong"], one[pruner, kind, "draws"]
            assert wrong <= delta * of + 4 * np.sqrt(delta * (1 - delta) * of), (pruner, kind)
    # What must not hold up: errors on rows that were used for the tree ...
    assert total["none", "training errors alone", "wrong"] > 2 * delta * draws * len(worlds)
    # ... the least of three bounds without a share of delta for each ...
    assert total["none", "folds, delta for each", "wrong"] > 1.2 * delta * draws * len(worlds)
    # ... and rows drawn by class, where classes are rare.
    rare = benchmark.simulate(worlds["rare classes"], draws, 0, delta)
    assert rare["bound", "held-out rows, drawn by class", "wrong"] > 0.8 * draws


def test_stated_confidence_is_met(benchmark):
    check_violations(benchmark, draws=25, delta=0.2)


@pytest.mark.heavy
def test_stated_confidence_is_met_in_many_draws(benchmark):
    check_violations(benchmark, draws=1000, delta=0.05)


def test_the_least_of_both_is_what_certify_gives(benchmark):
    from functools import partial

    from treebound.growing import GrowOptions, grow

    rng = np.random.default_rng(0)
    growing = partial(grow, options=GrowOptions(thresholds="observed", max_leaves=6))
    for world in benchmark.worlds().values():
        for _, tree in benchmark._pruned(world.draw(rng), growing, benchmark.pruners()):
            bounds = dict(benchmark.Certifier(0.05).of(tree))
            assert bounds["the least of both"] == tb.certify(tree).risk


@settings(max_examples=5)
@given(seed=st.integers(0, 100), rate=st.floats(0.02, 0.5))
def test_a_fixed_tree_meets_the_confidence_of_both_certificates(seed, rate):
    rng = np.random.default_rng(seed)
    errors = rng.binomial(150, rate, 4000)
    inverted = {k: tb.bounds.tail_inversion(150, k, lambda _: 0.0, delta=0.2) for k in set(errors)}
    failed = np.mean([rate > inverted[k] for k in errors])
    held_out = {k: certify_counts(int(k), 150, delta=0.2).risk for k in set(errors)}
    missed = np.mean([rate > held_out[k] for k in errors])
    three_sigma = 3 * np.sqrt(0.2 * 0.8 / 4000)
    assert failed <= 0.2 + three_sigma
    assert missed <= 0.2 + three_sigma
    assert missed >= 0.05  # exact up to the steps of the binomial law: not merely large
