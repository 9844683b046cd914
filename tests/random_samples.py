"""Random samples with all kinds of columns, options to grow by, and parts of the rows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from treebound.data import Column, Matrix, Sample
from treebound.growing import GrowOptions, Limits
from treebound.growing._bins import Bins

KINDS = {"real": 0, "ordinal": 1, "nominal": 2}
ARRAYS = (
    "feature",
    "threshold",
    "category",
    "missing_left",
    "left",
    "right",
    "counts",
    "rows",
    "names",
)


def random_values(rng, n):
    """A real column: smooth, heavy-tailed, of few values, with runs, nearly constant."""
    values = [
        lambda: rng.normal(size=n),
        lambda: rng.standard_cauchy(n) * 10.0 ** rng.integers(-5, 200),
        lambda: rng.integers(0, rng.integers(1, 60), n).astype(float),
        lambda: np.where(rng.random(n) < 0.5, 0.0, np.exp(rng.normal(size=n))),
        lambda: rng.normal(size=n).round(int(rng.integers(0, 3))),
        lambda: 1.0 + rng.integers(0, 5 * n, n) * 2.0**-50,
        lambda: np.full(n, 3.5),
        lambda: np.nextafter(0, 1) * rng.integers(-n, n, n),
    ]
    values = values[rng.integers(len(values))]()
    return np.clip(values, -1e38, 1e38).astype(np.float32) if rng.random() < 0.3 else values


def random_column(rng, n, name):
    kind = str(rng.choice(["real", "real", "ordinal", "nominal"]))
    share = rng.choice([0.05, 0.5, 1.0]) * (rng.random() < 0.3)
    missing = rng.random(n) < share
    if kind == "real":
        x, categories = random_values(rng, n), None
        x[missing] = np.nan
    else:
        size = int(rng.choice([1, 2, 5, 40, 300]))
        categories = tuple(range(size))
        x = rng.integers(0, size, n).astype(rng.choice([np.int16, np.int32]))
        x[missing] = -1
    may_miss = bool(missing.any() or rng.random() < 0.1)
    return x, Column(name, kind, categories, declared=kind != "real", missing=may_miss)


def random_weights(rng, n):
    kinds = [
        lambda: None,
        lambda: None,
        lambda: rng.integers(1, rng.choice([3, 1000]), n).astype(float),
        lambda: rng.random(n) + 1e-3,
        lambda: np.exp(rng.choice([1, 5]) * rng.normal(size=n)),
        lambda: np.where(rng.random(n) < 0.5, 0.1, 0.3),
    ]
    return kinds[rng.integers(len(kinds))]()


def random_sample(rng, max_rows):
    n = int(rng.integers(2, max_rows))
    drawn = [random_column(rng, n, f"x{j}") for j in range(rng.integers(1, 6))]
    if rng.random() < 0.3:
        drawn.append(drawn[0])  # ties between columns
    values, columns = zip(*drawn, strict=True)
    n_classes = int(rng.choice([2, 2, 3, 5, 12]))
    score = sum(np.argsort(np.argsort(x)) * rng.normal() for x in values)
    score = score + n * rng.choice([0.0, 0.3, 3.0]) * rng.normal(size=n)
    y = (np.argsort(np.argsort(score)) * n_classes // n).astype(np.int32)
    if rng.random() < 0.2:
        y = rng.integers(0, n_classes, n).astype(np.int32)
    return Sample(Matrix(columns, values), y, random_weights(rng, n), np.arange(n_classes))


def random_options(rng, max_leaves=None):
    return GrowOptions(
        criterion=str(rng.choice(["gini", "entropy", "misclassification"])),
        growth_order="impurity" if rng.random() < 0.2 else "gain",
        max_leaves=[max_leaves, 1, 2, 5, max_leaves or 30][rng.integers(5)],
        max_depth=[3, None, None][rng.integers(3)],
        min_samples_leaf=int(rng.choice([1, 1, 2, 7])),
        thresholds=str(rng.choice(["decimal", "midpoint", "observed"])),
    )


def random_parts(rng, sample):
    """Parts of random sizes, some of them empty."""
    cuts = np.sort(rng.integers(0, sample.n_rows + 1, rng.integers(0, 5)))
    edges = [0, *cuts.tolist(), sample.n_rows]
    return [sample.part(np.arange(a, b)) for a, b in pairwise(edges)]


def random_limits(rng):
    return Limits(
        gather_rows=int(rng.choice([0, 0, 0, 10, 60, 10**6])),
        gather_values=int(rng.choice([1, 100, 10**6])),
        max_values=int(rng.choice([0, 20, 10**6])),
        few_values=int(rng.choice([1, 4, 100])),
        max_cells=int(rng.choice([1, 10**6])),
        max_live=float(rng.choice([0.0, 0.1, 1.0])),
    )


def random_bins(rng, sample, least=2):
    """Bins from random rows, so few that much is inside of them; at least ``least``."""
    rows = np.flatnonzero(rng.random(sample.n_rows) < rng.choice([0.0, 0.1, 0.5, 1.0]))
    some = sample.X.part(rows)
    sizes = [size for size in (2, 3, 8, 30, 255, 1000) if size >= least]
    return Bins(
        some.values,
        [KINDS[column.kind] for column in sample.columns],
        [len(column.categories or ()) for column in sample.columns],
        int(rng.choice(sizes)),
    )
