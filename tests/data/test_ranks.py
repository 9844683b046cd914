"""Numbers of some ranks among parts are those of the sorted numbers."""

from __future__ import annotations

import numpy as np
import pytest

from treebound.data.ranks import between, count_bits, numbers_at, quantile_ranks


def random_numbers(rng, n):
    kinds = [
        lambda: rng.normal(size=n),
        lambda: rng.integers(-3, 4, n).astype(float),
        lambda: rng.choice([-0.0, 0.0, 5e-324, -5e-324, 1e60, -1e60], n),
        lambda: 10.0 ** rng.uniform(-60, 60, n) * rng.choice([-1.0, 1.0], n),
    ]
    return kinds[rng.integers(len(kinds))]()


@pytest.mark.parametrize("seed", range(30))
def test_numbers_of_ranks_and_quantiles_are_those_of_numpy(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 300))
    y = random_numbers(rng, n)
    parts = np.split(y, np.sort(rng.integers(0, n + 1, rng.integers(0, 4))))
    ranks = rng.integers(0, n, rng.integers(1, 5)).tolist()

    def count(leading):
        return [count_bits(part, leading) for part in parts]

    assert numbers_at(ranks, count) == np.sort(y)[ranks].tolist()
    quantiles = [0.0, *np.sort(rng.random(2)), 1.0]
    pairs = quantile_ranks(quantiles, n)
    ends = [tuple(numbers_at(pair, count)) for pair in pairs]
    actual = [between(end, q, n) for end, q in zip(ends, quantiles, strict=True)]
    np.testing.assert_array_equal(actual, np.quantile(y, quantiles))
