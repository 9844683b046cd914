"""Search for the sample on which a shape does the most: lower bounds on pi and tau.

=============  ==================================================================================
``pi^c_T(m)``  most c-partitions that shape T realizes on a sample of m rows: :func:`worst_sample`
``tau_T(m)``   most labellings of a sample of m rows: :func:`worst_growth`
=============  ==================================================================================

Only the set of tests of a sample matters, and more tests never realize fewer partitions. So columns
whose tests are contained in those of another column are omitted, and, as rows may be renamed, one
column is sorted. The rest is searched in full if it is small, and by hill climbing if not.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, combinations_with_replacement, permutations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treebound._utils.validation import as_int
from treebound.bounds._checks import check_landscape, check_shape
from treebound.bounds.counting import stirling
from treebound.bounds.enumerate import column_tests, count_masks, growth_masks
from treebound.landscape import Landscape
from treebound.shapes import TreeShape

Tests = frozenset[int]
Column = tuple[int, ...]
Option = tuple[Column, Tests]
# Listing the columns of one feature beyond this takes longer than climbing does.
_MAX_COLUMNS = 50_000


@dataclass(frozen=True)
class WorstSample:
    """A sample on which a shape realizes many partitions or labellings."""

    X: NDArray[np.float64]
    kinds: tuple[str, ...]
    count: int
    exact: bool
    tried: int


class _Feature(NamedTuple):
    """A feature as the search sees it: the codes its column may show on m rows."""

    kind: str
    m: int
    codes: int

    def option(self, column: Column) -> Option:
        return column, column_tests(np.asarray(column), self.kind)

    @property
    def size(self) -> int:
        """Number of columns to list."""
        return math.factorial(self.m) if self.kind == "real" else self.codes**self.m

    def columns(self) -> Iterable[Column]:
        # Equal values only take tests away from a real feature: permutations are enough.
        if self.kind == "real":
            return permutations(range(self.m))
        return product(range(self.codes), repeat=self.m)

    def sorted_columns(self) -> Iterable[Column]:
        if self.kind == "real":
            return [tuple(range(self.m))]
        return combinations_with_replacement(range(self.codes), self.m)

    def random(self, rng: np.random.Generator) -> Column:
        if self.kind == "real":
            return tuple(rng.permutation(self.m).tolist())
        return tuple(rng.integers(0, self.codes, self.m).tolist())

    def neighbour(self, column: Column, rng: np.random.Generator) -> Column:
        """The column after a small random change: two rows swapped, or one moved."""
        i, j = (int(at) for at in rng.integers(0, self.m, 2))
        changed = list(column)
        if rng.random() < 0.5:
            changed[i], changed[j] = changed[j], changed[i]
        elif self.kind != "real":
            changed[i] = int(rng.integers(0, self.codes))
        else:
            order = np.argsort(changed).tolist()
            order.insert(j, order.pop(i))
            changed = np.argsort(order).tolist()
        return tuple(changed)


def worst_sample(
    shape: TreeShape,
    c: int,
    m: int,
    landscape: Landscape,
    *,
    max_samples: int = 20_000,
    stop_at: int | None = None,
    random_state: int = 0,
) -> WorstSample:
    """Lower bound on the c-partitioning function ``pi^c_T(m)``, exact where the search is full.

    Parameters
    ----------
    shape, c, m
        As in :func:`treebound.bounds.partitions`.
    landscape : Landscape
        The features of the sample.
    max_samples : int
        How many samples to count at most. If no more than these have to be compared, all are
        tried; else the search climbs from random starts.
    stop_at : int, optional
        Stop as soon as this count is reached, for instance an upper bound.
    random_state : int
        Seed of the climb.

    Returns
    -------
    WorstSample
        ``X``, a sample with many partitions, categories as codes from 0; ``kinds``, the kind of
        each column, as :func:`treebound.bounds.realizable_partitions` takes it; ``count``, its
        partitions; ``exact``, whether no sample of this size has more: all were tried, or nothing
        larger exists; ``tried``, the samples counted during the search.

    Examples
    --------
    >>> import treebound as tb
    >>> shape, landscape = tb.TreeShape.parse("((..).)"), tb.Landscape(real=1, nominal=(3,))
    >>> worst = tb.bounds.worst_sample(shape, 2, 5, landscape)
    >>> worst.count, worst.exact, tb.bounds.partitions(shape, 2, 5, landscape)
    (15, True, 15)
    """
    where = "worst_sample"
    shape, landscape = check_shape(shape, where), check_landscape(landscape, where)
    c, m = as_int("c", where, c, 1), as_int("m", where, m, 1)
    most = stirling(m, c) if c <= min(m, shape.leaves) else 0
    search = _Search(lambda tests: count_masks(tests, m, shape, c), max_samples)
    return search.run(landscape, m, most, stop_at, random_state)


def worst_growth(
    shape: TreeShape, m: int, n_classes: int, landscape: Landscape, *, max_samples: int = 20_000
) -> WorstSample:
    """Lower bound on ``tau_T(m)`` by :func:`worst_sample`'s search."""
    where = "worst_growth"
    shape, landscape = check_shape(shape, where), check_landscape(landscape, where)
    m, n_classes = as_int("m", where, m, 1), as_int("n_classes", where, n_classes, 1)
    search = _Search(lambda tests: growth_masks(tests, m, shape, n_classes), max_samples)
    return search.run(landscape, m, n_classes**m, None, 0)


class _Search:
    """Keeps the best sample while samples are tried, in full or by climbing."""

    def __init__(self, value: Callable[[Tests], int], max_samples: int) -> None:
        self.value = cache(value)
        self.max_samples = as_int("max_samples", "a search", max_samples, 1)
        self.best = -1
        self.columns: tuple[Column, ...] = ()
        self.tried = 0

    def run(
        self, landscape: Landscape, m: int, most: int, stop_at: int | None, random_state: int
    ) -> WorstSample:
        """The best sample of m rows; no sample counts more than ``most``."""
        enough = most if stop_at is None else min(most, stop_at)
        features = [_Feature("real", m, m)] * landscape.real
        features += [_Feature("ordinal", m, min(o, m)) for o in landscape.ordinal]
        features += [_Feature("nominal", m, min(n or m, m)) for n in landscape.nominal]
        every = _every_sample(features, self.max_samples)
        if every is None:
            self._climb(features, enough, np.random.default_rng(random_state))
        else:
            for options in every:
                self._offer(options)
                if self.best >= enough:
                    break
        exact = self.best >= most or (every is not None and self.best < enough)
        X = np.array(self.columns, dtype=np.float64).reshape(len(features), m).T
        kinds = tuple(feature.kind for feature in features)
        return WorstSample(np.ascontiguousarray(X), kinds, self.best, exact, self.tried)

    def _offer(self, options: Sequence[Option]) -> int:
        """Count a sample and keep it if it is the best so far."""
        self.tried += 1
        count = self.value(frozenset({0}).union(*(tests for _, tests in options)))
        if count > self.best:
            self.best = count
            self.columns = tuple(column for column, _ in options)
        return count

    def _climb(self, features: list[_Feature], enough: int, rng: np.random.Generator) -> None:
        """Random starts; from each, small changes that lose nothing, until long without a gain."""
        patience = 40 * len(features)
        waited = patience
        while self.tried < self.max_samples and self.best < enough:
            if waited >= patience:
                here = [feature.option(feature.random(rng)) for feature in features]
                height, waited = self._offer(here), 0
                continue
            at = int(rng.integers(len(features)))
            step = list(here)
            step[at] = features[at].option(features[at].neighbour(here[at][0], rng))
            count = self._offer(step)
            waited = 0 if count > height else waited + 1
            if count >= height:
                here, height = step, count


def _every_sample(features: list[_Feature], most: int) -> Iterator[list[Option]] | None:
    """All samples that matter, or None where they are more than ``most``."""
    if any(feature.size > _MAX_COLUMNS for feature in features):
        return None
    options = {feature: _maximal(feature, feature.columns()) for feature in dict.fromkeys(features)}
    if not features:
        return iter([[]])
    first = max(options, key=lambda feature: len(options[feature]))
    at = features.index(first)
    rest = Counter(features[:at] + features[at + 1 :])
    starts = _maximal(first, first.sorted_columns())
    ways = [math.comb(len(options[f]) + count - 1, count) for f, count in rest.items()]
    if len(starts) * math.prod(ways) > most:
        return None
    # Features of one kind and size are exchangeable: a multiset of columns for each such group.
    groups = [combinations_with_replacement(options[f], count) for f, count in rest.items()]
    order = [at, *(i for f in rest for i in range(len(features)) if i != at and features[i] == f)]
    return (
        [option for _, option in sorted(zip(order, (start, *chain(*chosen)), strict=True))]
        for chosen in product(*groups)
        for start in starts
    )


def _maximal(feature: _Feature, columns: Iterable[Column]) -> list[Option]:
    """One column for each set of tests that no other column of the feature contains."""
    column_of: dict[Tests, Column] = {}
    for column in columns:
        column_of.setdefault(feature.option(column)[1], column)
    if feature.kind == "real":  # m - 1 proper tests each: none contains another
        return [(column, tests) for tests, column in column_of.items()]
    by_size = sorted(column_of, key=len, reverse=True)
    maximal: list[Tests] = []
    for tests in by_size:
        if not any(tests < other for other in maximal):
            maximal.append(tests)
    return [(column_of[tests], tests) for tests in maximal]
