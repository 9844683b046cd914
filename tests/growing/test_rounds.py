"""Trees grown in rounds on parts of the rows are those of the in-memory growth, in every array."""

from __future__ import annotations

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

from treebound.growing import GrowOptions, grow
from treebound.growing.rounds import Limits, LocalEngine, grow_in_rounds, stream_engine


def assert_same_tree(seed, most_rows=400):
    rng = np.random.default_rng(seed)
    sample, options = random_sample(rng, most_rows), random_options(rng)
    bins, limits, parts = random_bins(rng, sample), random_limits(rng), random_parts(rng, sample)
    n_threads = int(rng.choice([1, 1, 2]))
    expected = grow(sample, options)
    if rng.random() < 0.5:
        engine = LocalEngine.of_samples(parts, bins, n_threads=n_threads)
    else:
        engine = stream_engine(parts, bins, n_threads=n_threads)
    tree = grow_in_rounds(
        engine,
        sample.columns,
        sample.classes,
        options,
        weighted=sample.weight is not None,
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
            engine = LocalEngine.of_samples(random_parts(rng, sample), random_bins(rng, sample))
            try:
                tree = grow_in_rounds(
                    engine, sample.columns, sample.classes, options, checkpoint=path,
                    weighted=sample.weight is not None, limits=Limits(gather_rows=5),
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
        engine = LocalEngine.of_samples(parts, bins)
        return grow_in_rounds(
            engine, sample.columns, sample.classes, GrowOptions(**options), checkpoint=path,
            weighted=sample.weight is not None, limits=Limits(gather_rows=0), progress=stop,
        )  # fmt: skip

    def stop(state):
        if state.rounds == 2:
            raise Stop

    with pytest.raises(Stop):
        grown()
    with pytest.raises(ValueError, match="of other rows, columns or options"):
        grown(min_samples_leaf=2)
    with np.load(path) as found:
        kept = dict(found)
    for name, values in {
        "left": kept["left"] + 1000,
        "counts": kept["counts"][:, :0],
        "feature": kept["feature"] + 1000,
        "fresh": kept["fresh"] - 1000,
        "rows": kept["rows"][:-1],
    }.items():
        np.savez(path, **kept | {name: values})
        with pytest.raises(ValueError, match="contradicts itself"):
            grown()
    for content in (b"not a checkpoint", b"", b"PK\x03\x04"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="is no checkpoint"):
            grown()
        assert path.read_bytes() == content
