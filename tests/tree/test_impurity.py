"""Impurity of nodes against its definition."""

from __future__ import annotations

from math import log2

import numpy as np
import pytest

from treebound.tree.impurity import impurity


def by_definition(counts, criterion):
    shares = [count / sum(counts) for count in counts if count]
    if criterion == "gini":
        return 1 - sum(share**2 for share in shares)
    if criterion == "entropy":
        return -sum(share * log2(share) for share in shares)
    return 1 - max(shares)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "misclassification"])
def test_impurity_is_as_defined(criterion):
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 9, (50, 4)) * rng.choice([1.0, 0.3], (50, 1)) + [0, 0, 0, 1]
    expected = [by_definition(row, criterion) for row in counts.tolist()]
    np.testing.assert_allclose(impurity(counts, criterion), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "misclassification"])
def test_one_class_is_pure(criterion):
    np.testing.assert_array_equal(impurity(np.array([[0.0, 3.7, 0.0]]), criterion), [0.0])
