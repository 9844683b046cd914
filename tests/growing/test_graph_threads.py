"""The graph of candidate trees is the same in every array for every number of threads."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from random_samples import random_options, random_sample
from test_rules import random_rules

import treebound as tb
from treebound.data import Sample
from treebound.growing import GrowOptions, graph
from treebound.growing._wide import search_arrays
from treebound.pruning.costs import Costs
from treebound.pruning.searched import BestOfGraph

THREADS = (2, 3, 8, 16)
WIDTHS = ((8, 4), (3,), (2, 3, 2), (1,), ())
ARRAYS = (
    "first", "feature", "category", "threshold", "missing_left", "left", "right", "counts", "rows",
)  # fmt: skip


@pytest.fixture
def share_all(monkeypatch):
    """Threads share leaves of any size."""
    shared = partial(search_arrays, thread_values=1)
    monkeypatch.setattr(graph, "search_arrays", shared)


def arrays_of(sample, options, widths):
    """The arrays of the graph and of two of its trees; or why it is refused."""
    try:
        candidates = graph.search(sample, options, widths=widths)
    except ValueError as error:
        return {"error": str(error)}
    sizes = BestOfGraph(candidates, Costs.of(candidates.root, None))
    trees = [sizes.pruned(leaves) for leaves in (sizes.n_leaves // 2 + 1, sizes.n_leaves)]
    return {
        **{name: getattr(candidates, name) for name in ARRAYS},
        "curve": sizes.errors(),
        **{
            f"{name} of tree {at}": getattr(tree, name)
            for at, tree in enumerate(trees)
            for name in ("feature", "threshold", "category", "missing_left", "label", "counts")
        },
    }


def assert_equal_for_all_threads(rng, max_rows, threads=THREADS):
    sample = random_sample(rng, max_rows)
    options = replace(random_options(rng), max_leaves=None, growth_order="gain")
    names = {column.name for column in sample.columns}
    if rng.random() < 0.5 and len(names) == len(sample.columns):
        options = replace(options, **random_rules(rng, sample)[0])
    widths = WIDTHS[rng.integers(len(WIDTHS))]
    expected = arrays_of(sample, replace(options, n_jobs=1), widths)
    for n_jobs in threads:
        results = arrays_of(sample, replace(options, n_jobs=n_jobs), widths)
        assert results.keys() == expected.keys()
        for name, array in expected.items():
            np.testing.assert_array_equal(results[name], array, err_msg=f"{name} {n_jobs}")


@pytest.mark.parametrize("part", range(4))
def test_small_tables(share_all, part):
    for seed in range(75):
        assert_equal_for_all_threads(np.random.default_rng([500 + part, seed]), 300)


@pytest.mark.parametrize("seed", range(4))
def test_larger_tables(share_all, seed):
    rng = np.random.default_rng([600, seed])
    assert_equal_for_all_threads(rng, 6_000, [int(rng.choice(THREADS))])


@pytest.mark.heavy
@pytest.mark.parametrize("part", range(20))
def test_thousands_of_tables(share_all, part):
    for seed in range(250):
        rng = np.random.default_rng([700 + part, seed])
        assert_equal_for_all_threads(rng, 300 if seed % 25 else 10_000)


def noisy(n):
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=(n, 5)), rng.integers(0, 6, (n, 3))])
    return X, (X[:, 0] * X[:, 1] + 0.3 * X[:, 5] + rng.normal(size=n) > 0).astype(int)


def test_a_fit_with_folds_and_alternatives(share_all):
    """The tree, its path, the estimate and the alternatives."""
    X, y = noisy(1_500)
    first, *rest = [
        tb.BoundTreeClassifier(search="wide", n_jobs=jobs).fit(X, y) for jobs in (1, 2, 3, 8, 16)
    ]
    trees = first.alternatives(X, y, k=3, within=0.05)
    for other in rest:
        assert other.estimate_.as_dict() == first.estimate_.as_dict()
        assert other.pruning_result_.choice == first.pruning_result_.choice
        np.testing.assert_array_equal(other.pruning_path_.scores, first.pruning_path_.scores)
        pairs = [(other.tree_, first.tree_)]
        for leaves in (2, 5, 9):
            pairs.append((other.prune_to(leaves).tree_, first.prune_to(leaves).tree_))
        listed = other.alternatives(X, y, k=3, within=0.05)
        assert listed.table() == trees.table()
        pairs += [(a.tree, b.tree) for a, b in zip(listed, trees, strict=True)]
        for tree, same in pairs:
            for name in ("feature", "threshold", "counts", "rows", "label"):
                np.testing.assert_array_equal(getattr(tree, name), getattr(same, name))


@pytest.mark.parametrize("n_jobs", [1, 4])
def test_progress_counts_up_to_all_rows(share_all, n_jobs):
    """Rows of a candidate count by its share of the search; threads report together."""
    X, _ = noisy(15_000)
    y = np.random.default_rng(0).integers(0, 2, len(X))
    events = []
    graph.search(Sample.learn(X, y), GrowOptions(n_jobs=n_jobs), progress=events.append)
    done = [event.done for event in events]
    assert done[-1] == len(X)
    assert all(0 <= rows <= len(X) for rows in done)
    if n_jobs == 1:
        assert done == sorted(done)


class StopsHere(Exception):
    """Raised by a callback."""


@pytest.mark.parametrize("n_jobs", [1, 4])
def test_a_callback_stops_all_threads(n_jobs):
    def stop(event):
        raise StopsHere

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60_000, 40)), rng.integers(0, 2, 60_000)
    with pytest.raises(StopsHere):
        graph.search(Sample.learn(X, y), GrowOptions(n_jobs=n_jobs), progress=stop)
