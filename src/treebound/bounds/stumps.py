"""2-partitions of a single node: real, ordinal and nominal features, and any mixture.

Every function returns an exact integer, and an upper bound on ``pi^2(m)`` of a stump. Symbols are
those of :mod:`treebound.bounds.splits`; ``S(m, 2)_k`` counts the 2-partitions with a part of size
``k``, and ``R_k`` those in the greedy attribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

from treebound._utils.validation import as_int
from treebound.bounds._checks import check_landscape, check_size
from treebound.bounds.counting import splits_of_size
from treebound.bounds.splits import (
    Features,
    binomial_at_most,
    features_of,
    nominal_splits,
    nominal_splits_beyond,
    nominal_splits_of_size,
)
from treebound.landscape import Landscape


def stump_partitions(m: int, landscape: Landscape) -> int:
    """The stump theorems: upper bound on the 2-partitions of ``m`` examples by one node.

    Features of one kind follow the paper's theorem for that kind. A mixture takes the largest
    attribution of 2-partitions to features in which each part size and each feature is used no
    more often than it can be: the argument of the ordinal theorem, for every kind at once.

    Parameters
    ----------
    m : int
        Number of examples.
    landscape : Landscape
        The features a tree may test.

    Returns
    -------
    int
        At most ``2**(m-1) - 1``, the number of all 2-partitions.

    Examples
    --------
    >>> import treebound as tb
    >>> stump_partitions(5, tb.Landscape(real=3))
    11
    >>> stump_partitions(5, tb.Landscape(real=1, ordinal=(3,), nominal=(4,)))
    10
    """
    m = as_int("m", "stump_partitions", m, 1)
    features = features_of(check_landscape(landscape, "stump_partitions"))
    if features.is_real:
        return real_stump_partitions(m, features.real)
    if features.nominal and not (features.real or features.ordinal):
        return _nominal_stump_partitions(m, features.nominal)
    # For ordinal features the greedy total, by max-flow min-cut: quick for any m.
    return best_attribution(m, features)


def real_stump_partitions(m: int, real: int) -> int:
    """Real stump theorem, always attained: ``1/2 sum_k min(2 ell, binom(m, k))``."""
    total, k = 0, 1
    # Binomials rise to the middle: past the first that reaches the limit, all terms equal it.
    while 2 * k < m and (choices := comb(m, k)) < 2 * real:
        total += choices
        k += 1
    if 2 * k == m:
        return total + min(2 * real, comb(m, k)) // 2
    return total + max(0, m - 1 - 2 * (k - 1)) * real


def _nominal_stump_partitions(m: int, nominal: Sequence[int]) -> int:
    """Nominal stump theorem: the smaller of its sums over features and over part sizes."""
    by_feature = sum(
        min(nominal_splits(n, m), nominal_splits_beyond(n, m, 0) + (m % 2 == 0)) for n in nominal
    )
    by_size = 0
    for k in range(1, m // 2 + 1):
        if by_size >= by_feature:
            return by_feature
        splits = sum(nominal_splits_of_size(n, m, k) for n in nominal)
        by_size += binomial_at_most(m, k, splits) if 2 * k < m else min(comb(m, k) // 2, splits)
    return min(by_feature, by_size)


@dataclass(frozen=True)
class OrdinalAttribution:
    """The greedy Ferrers attribution of an ordinal stump, ready to be drawn."""

    m: int
    ordinal: tuple[int, ...]  # category counts, largest first: the rows of the diagram
    per_size: tuple[int, ...]  # R_k for k = 1 .. m // 2
    cells: tuple[tuple[int, ...], ...]  # the part size that each cell went to, 0 if unused

    @property
    def total(self) -> int:
        """The bound: the sum of ``R_k``."""
        return sum(self.per_size)

    @property
    def conjugate(self) -> tuple[int, ...]:
        """Cells in each column of the diagram, the paper's feature landscape conjugate."""
        columns = max((len(row) for row in self.cells), default=0)
        return tuple(sum(len(row) > column for row in self.cells) for column in range(columns))


def ordinal_attribution(m: int, ordinal: Sequence[int]) -> OrdinalAttribution:
    """Ordinal stump theorem, as the greedy procedure on the Ferrers diagram."""
    # A row is a feature, a cell one of its O_i - 1 thresholds. For k = 1, 2, .. up to m/2, cells go
    # to 2-partitions with a part of size k, rightmost column first and bottom up, at most two cells
    # per row (one when k = m/2), until all S(m, 2)_k are attributed.
    m = check_size("m", m, "ordinal_attribution", 10**6)
    counts = sorted(Landscape(ordinal=tuple(ordinal)).ordinal, reverse=True)
    rows = [o - 1 for o in counts]
    cells = [[0] * length for length in rows]
    per_size = []
    for k in range(1, m // 2 + 1):
        taken = _rightmost_cells(rows, each=1 if 2 * k == m else 2, limit=splits_of_size(m, k))
        for row in taken:
            rows[row] -= 1
            cells[row][rows[row]] = k
        per_size.append(len(taken))
    return OrdinalAttribution(m, tuple(counts), tuple(per_size), tuple(map(tuple, cells)))


def _rightmost_cells(rows: list[int], *, each: int, limit: int) -> list[int]:
    """The row of every cell one part size gets, in the order the procedure takes them."""
    free = [
        (length - used, row) for row, length in enumerate(rows) for used in range(min(each, length))
    ]
    free.sort(reverse=True)
    return [row for _, row in free[:limit]]


def best_attribution(m: int, features: Features) -> int:
    """Largest attribution of 2-partitions to features (maximum flow) for any landscape."""
    # By max-flow min-cut it is the least, over sets of part sizes taken whole, of their splits plus
    # what the features can make of the other sizes. As S(m,2)_k rises with k < m/2 and what a
    # feature makes of a size does not, only the sets {1..t}, with or without m/2, matter.
    best = _made_beyond(m, 0, features, with_half=m % 2 == 0)
    # A feature makes one half split at most, so taking all of them helps in tiny samples only.
    halves = comb(m, m // 2) // 2 if m % 2 == 0 and m <= 64 else None
    whole, t = 0, 0
    while whole < best and 2 * t < m:
        best = min(best, whole + _made_beyond(m, t, features, with_half=m % 2 == 0))
        if halves is not None:
            best = min(best, whole + halves + _made_beyond(m, t, features, with_half=False))
        t += 1
        whole += comb(m, t)
    return best


def _made_beyond(m: int, t: int, features: Features, *, with_half: bool) -> int:
    """2-partitions the features make with part sizes above ``t``, each within its budget."""
    sizes = (m - 1) // 2 - t
    splits = features.real * (2 * sizes + with_half)
    for o in features.ordinal:
        splits += min(o - 1, min(2, o - 1) * sizes + with_half)
    for n in features.nominal:
        splits += min(nominal_splits(n, m), nominal_splits_beyond(n, m, t) + with_half)
    return splits
