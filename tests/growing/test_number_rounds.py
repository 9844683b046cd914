"""Trees of numbers grown in rounds are those of the in-memory growth, in every array."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from random_samples import random_bins, random_limits, random_parts
from test_grow_numbers import ARRAYS, random_options, random_problem
from test_rules import random_rules

from treebound.data import Sample
from treebound.data.number_sample import NumberSample
from treebound.data.numeric_target import N_CHANNELS
from treebound.growing import GrowOptions, grow_numbers, grow_numbers_on_engine
from treebound.growing.engine import Engine, LocalEngine
from treebound.growing.shard import code_sample


class RemoteEngine(Engine):
    """Shards whose requests and replies are sent as bytes."""

    def __init__(self, parts, bins):
        super().__init__(bins, N_CHANNELS)
        coded = [code_sample(part, bins) for part in parts]
        facts = [part.facts for part in coded]
        self.start(coded, facts, [[k] for k in range(len(parts))])

    def map(self, function, *args):
        return [
            pickle.loads(pickle.dumps(function(bundle, *pickle.loads(pickle.dumps(args)))))
            for bundle in self.bundles
        ]


def number_rules(rng, sample):
    """Monotone columns or splits that come first, which may exclude each other, and groups."""
    if rng.random() < 0.4 or len({column.name for column in sample.columns}) < len(sample.columns):
        return {}
    one_class = Sample(sample.X, np.zeros(sample.n_rows, dtype=np.int32), None, np.zeros(1))
    rules, _ = random_rules(rng, one_class)
    rules.pop("class_order")
    rules.pop("monotonic_cst" if rng.random() < 0.5 else "forced_splits")
    return rules


def assert_same_tree(seed, max_rows=400):
    rng = np.random.default_rng(seed)
    X, y, weight = random_problem(rng, max_rows)
    sample = NumberSample(X, y, weight)
    given = vars(random_options(rng))
    options = GrowOptions(**{**given, **number_rules(rng, sample)})
    min_weight = float(rng.choice([0.0, 0.0, 3.5]))
    expected = grow_numbers(X, sample.target, options, min_weight=min_weight)
    bins, limits, parts = random_bins(rng, sample), random_limits(rng), random_parts(rng, sample)
    if rng.random() < 0.5:
        n_threads = int(rng.choice([1, 2]))
        engine = LocalEngine(parts, bins, N_CHANNELS, n_threads=n_threads)
    else:
        engine = RemoteEngine(parts, bins)
    tree = grow_numbers_on_engine(
        engine,
        sample.columns,
        options,
        min_weight=min_weight,
        limits=limits,
        finer=lambda: random_bins(rng, sample, 1000),
    )
    for name in ARRAYS:
        np.testing.assert_array_equal(
            getattr(tree, name), getattr(expected, name), err_msg=f"{name} {seed} {limits}"
        )
    assert tree.weighted == expected.weighted
    assert tree.units == expected.units
    return expected.n_leaves


@pytest.mark.parametrize("part", range(4))
def test_rounds_grow_the_tree_of_memory(part):
    assert sum(assert_same_tree([part, seed]) for seed in range(50)) > 500


@pytest.mark.heavy
@pytest.mark.parametrize("part", range(10))
def test_thousands_of_trees_are_those_of_memory(part):
    for seed in range(200):
        assert_same_tree([100 + part, seed], 400 if seed % 10 else 5000)
