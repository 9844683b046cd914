"""Trees grown on a Dask cluster are those of memory, in every array."""

from __future__ import annotations

import threading
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from random_samples import (
    ARRAYS,
    random_bins,
    random_limits,
    random_options,
    random_parts,
    random_sample,
)

from treebound.data import Sample
from treebound.data.parts import PartRows
from treebound.growing import GrowOptions, Limits, grow, grow_on_engine, make_bins

dask = pytest.importorskip("dask")
pytest.importorskip("distributed")


def same(sample, y, weight, first):
    return PartRows(sample)


def grown_on_dask(client, sample, parts, bins, options, limits, finer):
    from treebound.engines.dask.engine import DaskEngine
    from treebound.engines.dask.partitions import Partitions

    raw = [(dask.delayed(part),) for part in parts]
    engine = DaskEngine(Partitions(client, raw), same, bins, sample.n_classes)
    try:
        return grow_on_engine(
            engine, sample.columns, sample.classes, options,
            limits=limits, finer=finer,
        )  # fmt: skip
    finally:
        engine.close()


def assert_same_tree(client, seed, max_rows):
    rng = np.random.default_rng(seed)
    sample, options = random_sample(rng, max_rows), random_options(rng, max_leaves=12)
    bins, limits, parts = random_bins(rng, sample), random_limits(rng), random_parts(rng, sample)
    finer = partial(random_bins, rng, sample, 1000)
    tree = grown_on_dask(client, sample, parts, bins, options, limits, finer)
    expected = grow(sample, options)
    for name in ARRAYS:
        np.testing.assert_array_equal(
            getattr(tree, name), getattr(expected, name), err_msg=f"{seed} {options} {limits}"
        )


@pytest.mark.parametrize("part", range(2))
def test_dask_grows_the_tree_of_memory(client, part):
    for seed in range(50):
        assert_same_tree(client, [200 + part, seed], 60)


@pytest.mark.heavy
@pytest.mark.parametrize("part", range(10))
def test_a_thousand_trees_on_dask_are_those_of_memory(client, part):
    for seed in range(100):
        assert_same_tree(client, [300 + part, seed], 200)


BARRIER = threading.Barrier(2)


def meet(bundle):
    """Wait until another thread has another bundle."""
    BARRIER.wait(30)
    return {threading.get_ident()}


def all_of(sets):
    return set().union(*sets)


def large_sample(rng, n=40_000):
    X = rng.normal(size=(n, 4)).round(3)
    return Sample.learn(X, X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) > 0)


def test_all_threads_of_a_worker_handle_its_bundles(client):
    from treebound.engines.dask.engine import DaskEngine
    from treebound.engines.dask.partitions import Partitions

    rng = np.random.default_rng(0)
    sample = large_sample(rng, 400)
    raw = [(dask.delayed(sample.part(rows)),) for rows in np.array_split(np.arange(400), 2)]
    engine = DaskEngine(Partitions(client, raw), same, random_bins(rng, sample), 2)
    try:
        assert len(engine.reduce(all_of, engine.map(meet))) == 2
    finally:
        engine.close()


@pytest.mark.parametrize("gather_rows", [1 << 16, 6000])
def test_all_threads_of_a_worker_grow_subtrees(client, monkeypatch, gather_rows):
    """The tree is that of one thread, in every array."""
    from treebound.engines.dask import worker
    from treebound.growing.shard import grow_subtrees

    calls = []

    def recorded(subtrees, pieces, n_threads):
        pieces = list(pieces)
        arrays = grow_subtrees(subtrees, pieces, n_threads)
        calls.append((n_threads, len(arrays)))
        for mine, expected in zip(arrays, grow_subtrees(subtrees, pieces), strict=True):
            assert mine.keys() == expected.keys()
            for name, array in mine.items():
                np.testing.assert_array_equal(array, expected[name], err_msg=name)
        return arrays

    monkeypatch.setattr(worker, "grow_subtrees", recorded)
    rng = np.random.default_rng(1)
    sample, limits = large_sample(rng), Limits(gather_rows=gather_rows)
    parts = [sample.part(rows) for rows in np.array_split(np.arange(sample.n_rows), 3)]
    bins, options = make_bins(sample.columns, sample.X.values), GrowOptions(max_leaves=300)
    tree = grown_on_dask(client, sample, parts, bins, options, limits, None)
    assert {n_threads for n_threads, _ in calls} == {2}
    assert (max(n for _, n in calls) > 1) == (gather_rows < sample.n_rows)
    expected = grow(sample, options)
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(tree, name), getattr(expected, name))


def test_partitions_that_become_one_shard_keep_their_row_numbers():
    import distributed

    from treebound.engines.dask.engine import DaskEngine
    from treebound.engines.dask.partitions import Partitions
    from treebound.tree.naming import naming_rows

    rng = np.random.default_rng(0)
    sample = random_sample(rng, 400)
    options = random_options(rng, max_leaves=12)
    tree = grow(sample, options)
    parts = [sample.part(rows) for rows in np.array_split(np.arange(sample.n_rows), 50)]
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        raw = [(future,) for future in client.scatter(parts)]  # in turn on both workers
        engine = DaskEngine(
            Partitions(client, raw), same, random_bins(rng, sample), sample.n_classes
        )
        assert any(b - a > 1 for group in engine._groups for a, b in pairwise(group))
        assert len(engine._groups) == 8
        np.testing.assert_array_equal(engine.name(tree), naming_rows(tree, sample))
        engine.close()


def test_a_late_request_divides_no_rows_again(monkeypatch):
    """Rows are here the names of the divisions that they have behind them."""
    pytest.importorskip("distributed")
    from treebound.data.spill import ValuesLost
    from treebound.engines.dask import worker
    from treebound.growing.shard import Bundle

    def divide(bundle, splits):
        return bundle._replace(rows=[*bundle.rows, splits])

    monkeypatch.setattr(worker, "divide_rows", divide)
    state, bundle = worker.FitState(), Bundle([], [], None, None, None, [])
    state._rows = {}

    def call(n_before, *divisions):
        request = worker.Request(lambda bundle: bundle.rows, (), list, n_before, divisions)
        return state._call("key", bundle, request)

    assert call(0, "a") == ["a"]
    assert call(0, "a") == ["a"]  # sent again
    assert call(1, "b") == ["a", "b"]
    assert call(0, "a", "b") == ["a", "b"]
    for late in ((0, "a"), (0,), (1,)):
        with pytest.raises(RuntimeError, match=r"came late: it expects \d divisions .* 2 are done"):
            call(*late)
    assert call(2, "c") == ["a", "b", "c"]
    with pytest.raises(ValuesLost):
        call(4, "e")
