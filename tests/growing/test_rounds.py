"""Trees grown in rounds on parts of the rows are those of the in-memory growth, in every array."""

from __future__ import annotations

import pickle

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
from treebound.growing.engine import Engine, LocalEngine, stream_engine
from treebound.growing.shard import code_sample


def assert_same_tree(seed, max_rows=400):
    rng = np.random.default_rng(seed)
    sample, options = random_sample(rng, max_rows), random_options(rng)
    bins, limits, parts = random_bins(rng, sample), random_limits(rng), random_parts(rng, sample)
    n_threads = int(rng.choice([1, 1, 2]))
    expected = grow(sample, options)
    if rng.random() < 0.5:
        engine = LocalEngine(parts, bins, sample.n_classes, n_threads=n_threads)
    else:
        engine = stream_engine(map(PartRows, parts), bins, sample.n_rows, n_threads=n_threads)
    tree = grow_on_engine(
        engine,
        sample.columns,
        sample.classes,
        options,
        limits=limits,
        finer=lambda: random_bins(rng, sample, 1000),
    )
    for name in ARRAYS:
        np.testing.assert_array_equal(
            getattr(tree, name), getattr(expected, name), err_msg=f"{seed} {options} {limits}"
        )
    assert tree.weighted == expected.weighted
    return expected.n_leaves


@pytest.mark.parametrize("part", range(4))
def test_rounds_grow_the_tree_of_memory(part):
    for seed in range(50):
        assert_same_tree([part, seed])


@pytest.mark.heavy
@pytest.mark.parametrize("part", range(10))
def test_thousands_of_trees_are_those_of_memory(part):
    for seed in range(200):
        assert_same_tree([100 + part, seed], 400 if seed % 10 else 5000)


class Stop(Exception):
    pass


def test_growth_goes_on_from_a_checkpoint(tmp_path):
    """Stopped again and again, with other parts and other bins each time."""
    stops = 0
    for seed in range(12):
        rng = np.random.default_rng([7, seed])
        sample, options = random_sample(rng, 400), random_options(rng)
        expected, path = grow(sample, options), tmp_path / f"{seed}.npz"

        def progress(state):
            if state.rounds == 2:
                raise Stop

        while True:
            engine = LocalEngine(
                random_parts(rng, sample), random_bins(rng, sample), sample.n_classes
            )
            try:
                tree = grow_on_engine(
                    engine, sample.columns, sample.classes, options, checkpoint=path,
                    limits=Limits(gather_rows=5),
                    progress=progress,
                )  # fmt: skip
                break
            except Stop:
                stops += 1
        for name in ARRAYS:
            np.testing.assert_array_equal(getattr(tree, name), getattr(expected, name), str(seed))
        assert not path.exists()
    assert stops > 20


def test_a_checkpoint_of_something_else_is_refused(tmp_path):
    rng = np.random.default_rng(0)
    sample, path = random_sample(rng, 400), tmp_path / "tree.npz"
    parts, bins = random_parts(rng, sample), random_bins(rng, sample)

    def grown(**options):
        engine = LocalEngine(parts, bins, sample.n_classes)
        return grow_on_engine(
            engine, sample.columns, sample.classes, GrowOptions(**options), checkpoint=path,
            limits=Limits(gather_rows=0), progress=stop,
        )  # fmt: skip

    def stop(state):
        if state.rounds == 2:
            raise Stop

    with pytest.raises(Stop):
        grown()
    with pytest.raises(ValueError, match="of other rows, columns or options"):
        grown(min_samples_leaf=2)
    content = path.read_bytes()
    for at in (40, 200, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        with pytest.raises(ValueError, match="was altered or cut off"):
            grown()
    path.write_bytes(content[:-1])
    with pytest.raises(ValueError, match="was altered or cut off"):
        grown()
    np.save(tmp_path / "array.npy", np.arange(3))
    for other in (b"not a checkpoint", b"", b"PK", (tmp_path / "array.npy").read_bytes()):
        path.write_bytes(other)
        with pytest.raises(ValueError, match="is not a checkpoint"):
            grown()
        assert path.read_bytes() == other


def test_a_checkpoint_of_other_values_is_refused(tmp_path):
    """Equal columns, counts and extents, but one value is another."""
    rng, path = np.random.default_rng(0), tmp_path / "tree"
    X, y = rng.normal(size=(300, 2)), rng.integers(0, 2, 300)

    def stop(state):
        if state.rounds == 2:
            raise Stop

    def grown():
        sample = Sample.learn(X, y)
        engine = LocalEngine([sample], make_bins(sample.columns, [*X.T]), 2)
        return grow_on_engine(
            engine, sample.columns, sample.classes, GrowOptions(), checkpoint=path,
            limits=Limits(gather_rows=0), progress=stop,
        )  # fmt: skip

    with pytest.raises(Stop):
        grown()
    X[np.argsort(X[:, 0])[150], 0] += 1e-6
    with pytest.raises(ValueError, match="of other rows, columns or options"):
        grown()


def test_a_checkpoint_in_a_folder_that_does_not_exist_is_refused_at_the_start(tmp_path):
    rng = np.random.default_rng(0)
    sample = random_sample(rng, 100)
    engine = LocalEngine([sample], random_bins(rng, sample), sample.n_classes)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        grow_on_engine(
            engine, sample.columns, sample.classes, GrowOptions(),
            checkpoint=tmp_path / "none" / "tree",
        )  # fmt: skip


class SendingEngine(Engine):
    """Everything is sent, as to another machine."""

    def __init__(self, parts, bins, n_classes):
        super().__init__(bins, n_classes)
        coded = [code_sample(part, bins) for part in parts]
        self.start(coded, [one.facts for one in coded], [[i] for i in range(len(coded))])

    def map(self, function, *args):
        return [
            pickle.dumps(one) for one in super().map(function, *pickle.loads(pickle.dumps(args)))
        ]

    def reduce(self, function, results):
        return function([function([pickle.loads(one)]) for one in results])

    def keep(self, results):
        super().keep([pickle.loads(one) for one in results])


def test_an_engine_of_three_methods_grows_the_tree_of_memory():
    for seed in range(15):
        rng = np.random.default_rng([8, seed])
        sample, options = random_sample(rng, 200), random_options(rng)
        engine = SendingEngine(
            random_parts(rng, sample), random_bins(rng, sample), sample.n_classes
        )
        tree = grow_on_engine(
            engine, sample.columns, sample.classes, options,
            limits=random_limits(rng),
        )  # fmt: skip
        expected = grow(sample, options)
        for name in ARRAYS:
            np.testing.assert_array_equal(getattr(tree, name), getattr(expected, name), str(seed))


def test_rows_in_memory_as_one_sample_are_not_coded():
    sample = random_sample(np.random.default_rng(3), 200)
    engine = LocalEngine([sample], random_bins(np.random.default_rng(3), sample), sample.n_classes)
    tree = grow_on_engine(engine, sample.columns, sample.classes, GrowOptions())
    expected = grow(sample)
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(tree, name), getattr(expected, name))
    assert not engine._bundles
