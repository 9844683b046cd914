"""Samples that attain the real stump bound, for every number of rows and features.

=============  ==================================================================================
``V_k``        the k-subsets of the m rows, as bit masks
``h``          m // 2, the largest size of the smaller side of a split
row            a permutation; its k-prefix ``A_k`` and k-suffix ``B_k`` are the splits it makes
``R_k``        rows whose k-prefixes and k-suffixes are all different, floor(|V_k| / 2) of them
``R_k^+``      those, and one more if |V_k| is odd: all of V_k occurs among their sides
=============  ==================================================================================

The paper conjectures that its stump theorem is an equality; the theory notes prove it ("The stump
bound is attained"). The construction starts from the halves and goes down; at each size a perfect
matching of a graph on the k-sets and (k-1)-sets determines which rows go on and how they shrink.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treebound._utils.extras import require
from treebound._utils.validation import InWords, as_int, invalid
from treebound.bounds.enumerate import column_tests, rows_of
from treebound.bounds.stumps import real_stump_partitions

Edge = tuple[int, int]


@dataclass
class _Row:
    """A permutation under construction, from its middle outwards."""

    prefix: int  # A_k as a mask
    suffix: int  # B_k as a mask
    # Elements already placed, seen from the middle: the last of the prefix, the one before, ...
    inner_left: list[int] = field(default_factory=list)
    inner_right: list[int] = field(default_factory=list)

    def shrink(self, prefix: int, suffix: int) -> None:
        """Take one element from either side, which is then placed."""
        self.inner_left.append((self.prefix ^ prefix).bit_length() - 1)
        self.inner_right.append((self.suffix ^ suffix).bit_length() - 1)
        self.prefix, self.suffix = prefix, suffix

    def permutation(self, m: int) -> list[int]:
        """The whole order; what was never placed goes outermost, in any order."""
        left = rows_of(self.prefix) + self.inner_left[::-1]
        right = self.inner_right + rows_of(self.suffix)
        middle = sorted(set(range(m)) - set(left) - set(right))
        return left + middle + right


@dataclass(frozen=True)
class WitnessCheck:
    """How many 2-partitions a stump makes of a sample, next to the most it could."""

    count: int
    bound: int
    by_size: tuple[int, ...]

    @property
    def attained(self) -> bool:
        """Return True if the sample attains the bound."""
        return self.count == self.bound


def witness(m: int, l: int) -> NDArray[np.int64]:  # noqa: E741
    """Sample of m rows and l real features that attains the stump theorem (its conjecture, proved).

    The samples are nested: the first columns of ``witness(m, l)`` are ``witness(m, l - 1)``.

    Parameters
    ----------
    m : int
        Number of rows. The work grows faster than the number of subsets: 13 takes a second,
        14 half a minute.
    l : int
        Number of features.

    Returns
    -------
    ndarray of shape (m, l)
        Column i holds the ranks 0, ..., m - 1 of the rows in feature i.

    Notes
    -----
    Needs rustworkx (the extra ``theory``) for the matchings.

    Examples
    --------
    >>> import treebound as tb
    >>> X = tb.bounds.witness(5, 3)
    >>> X.shape
    (5, 3)
    >>> tb.bounds.check_witness(X)
    WitnessCheck(count=11, bound=11, by_size=(5, 6))
    """
    m, features = as_int("m", "witness", m, 1), as_int("l", "witness", l, 1)
    return _ranks(_orders(m), features)


def check_witness(X: ArrayLike) -> WitnessCheck:
    """Count the 2-partitions of a sample of real features against the stump theorem.

    Parameters
    ----------
    X : array of shape (m, l)
        Any sample of l real features.

    Returns
    -------
    WitnessCheck
        ``count``, the different 2-partitions realized; ``bound``, which no sample exceeds,
        ``1/2 sum_k min(2 l, binom(m, k))``; ``attained``, whether they are equal; ``by_size``, how
        many have a smaller side of 1, 2, ..., m // 2 rows.

    Raises
    ------
    ValueError
        If ``X`` is not a table with rows and columns.

    Examples
    --------
    >>> import treebound as tb
    >>> check = tb.bounds.check_witness([[0, 0], [1, 1], [2, 2], [3, 3]])
    >>> check.count, check.bound, check.attained
    (3, 6, False)
    """
    table = np.asarray(X)
    if table.ndim != 2 or 0 in table.shape:
        shape = InWords(f"an array of shape {table.shape}")
        raise invalid("X", "check_witness", "an array of shape (m, l), neither 0", shape)
    m, features = table.shape
    splits = frozenset().union(*(column_tests(values, "real") for values in table.T)) - {0}
    by_size = [0] * (m // 2)
    for side in splits:
        by_size[min(side.bit_count(), m - side.bit_count()) - 1] += 1
    return WitnessCheck(len(splits), real_stump_partitions(m, features), tuple(by_size))


def shattering_ranks(m: int, features: int) -> NDArray[np.int64]:
    """Ranks of m points whose every 2-partition some feature makes, if any sample has that."""
    # For even m no matchings are needed: the first point can be the lowest everywhere, and the
    # others show all their subsets as prefixes.
    if m % 2 or 2 * features < comb(m, m // 2):
        return witness(m, features) if features else np.zeros((m, 0), dtype=np.int64)
    return _ranks([[0, *(1 + i for i in order)] for order in prefix_orders(m - 1)], features)


def _ranks(orders: Sequence[Sequence[int]], features: int) -> NDArray[np.int64]:
    """A column for each order; the last repeats, since any further one will do."""
    X = np.empty((len(orders[0]), features), dtype=np.int64)
    for column in range(features):
        X[list(orders[min(column, len(orders) - 1)]), column] = np.arange(len(X))
    return X


def prefix_orders(m: int) -> list[list[int]]:
    """Orders of m points whose prefixes are all their subsets: a symmetric chain decomposition."""
    chains: list[tuple[list[int], list[int]]] = [([], [])]  # the smallest set, then what is added
    for point in range(m):
        longer = [(start, [*added, point]) for start, added in chains]
        shorter = [([*start, point], added[:-1]) for start, added in chains if added]
        chains = longer + shorter
    orders = [start + added for start, added in chains]
    return [order + [i for i in range(m) if i not in order] for order in orders]


# --- the construction -------------------------------------------------------------------------


@lru_cache(maxsize=32)
def _orders(m: int) -> tuple[tuple[int, ...], ...]:
    """The permutations, best first: each row lists the elements in order."""
    rows, spare = _top(m)
    # Rows in the order they are dropped from the construction; the last to survive come first.
    dropped: list[_Row] = spare
    for k in range(m // 2, 1, -1):
        rows, removed = _step(rows, m, k)
        dropped = removed + dropped
    return tuple(tuple(row.permutation(m)) for row in rows + dropped) or (tuple(range(m)),)


def _top(m: int) -> tuple[list[_Row], list[_Row]]:
    """R_h, and the row that R_h^+ has beyond it, if any."""
    everyone = (1 << m) - 1
    sets = _subsets(m, m // 2)
    if m < 2:
        return [], []
    if m % 2 == 0:
        return [_Row(a, everyone ^ a) for a in sets if a & 1], []
    # The odd graph is vertex-transitive, so a matching misses at most one of its vertices.
    number = {a: i for i, a in enumerate(sets)}
    edges = [
        (number[a], number[b])
        for a in sets
        for b in _smaller_by_one(everyone ^ a)
        if number[a] < number[b]
    ]
    pairs = _matching(edges)
    missed = set(range(len(sets))).difference(*pairs)
    spare = [_Row(sets[i], next(_smaller_by_one(everyone ^ sets[i]))) for i in missed]
    return [_Row(sets[i], sets[j]) for i, j in pairs], spare


def _step(rows: list[_Row], m: int, k: int) -> tuple[list[_Row], list[_Row]]:
    """From R_k to R_{k-1} and, in order of preference, the rows beyond it: R_{k-1}^+, then R_k."""
    sides = [side for row in rows for side in (row.prefix, row.suffix)]  # 2 i and 2 i + 1 pair up
    small = _subsets(m, k - 1)
    number = {a: len(sides) + i for i, a in enumerate(small)}
    edges: list[Edge] = [(2 * i, 2 * i + 1) for i in range(len(rows))]
    edges += [(i, number[a]) for i, side in enumerate(sides) for a in _smaller_by_one(side)]
    dummy = len(sides) + len(small)
    if len(small) % 2:
        edges += [(i, dummy) for i in range(len(sides))]
    partner = {i: j for pair in _matching(edges) for i, j in (pair, pair[::-1])}
    if len(partner) != dummy + len(small) % 2:
        raise AssertionError(f"no perfect matching at m={m}, k={k}: one exists by Lemma 2")
    remaining: list[_Row] = []
    with_dummy: list[_Row] = []
    dropped: list[_Row] = []
    for i, row in enumerate(rows):
        to = [partner[2 * i], partner[2 * i + 1]]
        if to[0] == 2 * i + 1:
            dropped.append(row)
            continue
        # The dummy replaces any subset: this row then repeats a set that another row has.
        prefix, suffix = (
            next(_smaller_by_one(side)) if t == dummy else small[t - len(sides)]
            for t, side in zip(to, (row.prefix, row.suffix), strict=True)
        )
        row.shrink(prefix, suffix)
        (with_dummy if dummy in to else remaining).append(row)
    return remaining, with_dummy + dropped


def _matching(edges: list[Edge]) -> list[Edge]:
    """A largest matching in a general graph."""
    # Random weights make the heaviest one unique with high probability (isolation lemma); without
    # them runs differ in which they find.
    rustworkx = require("rustworkx", extra="theory", why="A witness sample")
    weights = np.random.default_rng(0).integers(1, 2**40, size=len(edges)).tolist()
    graph = rustworkx.PyGraph(multigraph=False)
    graph.extend_from_weighted_edge_list(
        [(i, j, weight) for (i, j), weight in zip(edges, weights, strict=True)]
    )
    matching = rustworkx.max_weight_matching(graph, max_cardinality=True, weight_fn=int)
    return sorted((min(pair), max(pair)) for pair in matching)


def _subsets(m: int, k: int) -> list[int]:
    return [sum(1 << i for i in chosen) for chosen in combinations(range(m), k)]


def _smaller_by_one(mask: int) -> Iterator[int]:
    """The subsets with one element fewer."""
    return (mask ^ (1 << i) for i in rows_of(mask))
