"""Every ``pi^c`` on its own, for small sample sizes: where the cap by ``S(m, c)`` matters.

With ``G = sum_c (n)_c pi^c`` the sum over ``c`` disappears from the recursion, and with it the cap.
That matters only while the sample is about as small as the VC dimension of the shape, so up to
some size every ``pi^c`` is followed, and kept by subtree.
"""

from __future__ import annotations

from functools import lru_cache
from math import log, perm

import numpy as np

from treebound.bounds._cache import SizedCache, from_below
from treebound.bounds._closed import log_closed_growth
from treebound.bounds._node import sum_over_sizes
from treebound.bounds._recursion import Features, children, merge_ways
from treebound.bounds._scaled import ONE, Scaled
from treebound.shapes import TreeShape

# Multiplications up to which the parts of a shape are followed one by one: a tenth of a second.
_PARTS_WORK = 2e7
# Sizes in a row at which no cap may bind before the parts are summed.
_QUIET = 16
# Numbers kept, 16 bytes each.
_kept: SizedCache[tuple[Scaled, int]] = SizedCache(1 << 22)


def counted_growth(shape: TreeShape, n_classes: int, features: Features) -> Scaled | None:
    """``sum_c (n)_c pi^c`` by sample size, capped for every ``c``, as far as the caps matter.

    It ends where no cap binds any more, or where going on would take too long; None where that is
    at once.
    """
    enough, size, counts = _quiet_size(shape, features), 16, None
    while _work(shape, n_classes, size) <= _PARTS_WORK:
        if size >= enough:
            parts, binding = _parts(shape, n_classes, features, size)
            counts = parts
            if binding + _QUIET <= size:
                break
        size *= 2
    if counts is None and size > 16:
        counts, _ = _parts(shape, n_classes, features, size // 2)
    return None if counts is None else _joined(counts, n_classes)


def _quiet_size(shape: TreeShape, features: Features) -> int:
    """About the size past which ``S(m, c)`` cuts nothing: where two classes stop being free."""
    size = 16
    while log_closed_growth(shape, size, 2, features) > size * log(2):
        size *= 2
    return size + shape.leaves


@lru_cache(maxsize=1024)
def _pairs(shape: TreeShape, n_classes: int) -> int:
    """Products for each pair of part sizes, over all subtrees."""
    total = 0
    for part in shape.subshapes():
        if part.left is not None and part.right is not None:
            a, b = min(part.left.leaves, n_classes), min(part.right.leaves, n_classes)
            total += a * b * min(a + b, n_classes)
    return total


def _work(shape: TreeShape, n_classes: int, size: int) -> float:
    return _pairs(shape, n_classes) * float(size) * size / 2.0


def _parts(shape: TreeShape, n_classes: int, features: Features, size: int) -> tuple[Scaled, int]:
    """``pi^c`` up to a sample size, a row for each ``c``, and the last size a cap binds at."""

    def key(part: TreeShape) -> tuple[object, ...]:
        return part, min(n_classes, part.leaves), features, size

    def compute(part: TreeShape, below: dict[TreeShape, tuple[Scaled, int]]) -> tuple[Scaled, int]:
        if part.is_leaf:
            return _one_part(1, size), 1
        left, right = children(part)
        most = min(n_classes, part.leaves)
        counts = _parts_of_node(part, most, below[left][0], below[right][0], features, size)
        _kept.put(key(part), counts, (most + 1) * (size + 1))
        return counts

    return from_below(shape, lambda part: _kept.get(key(part)), compute)


def _one_part(most: int, size: int) -> Scaled:
    """Zeros for every number of parts but one."""
    parts = Scaled.zeros(most + 1, size + 1)
    parts[1] = ONE
    return parts


def _parts_of_node(
    shape: TreeShape, most: int, left: Scaled, right: Scaled, features: Features, size: int
) -> tuple[Scaled, int]:
    values = _one_part(most, size)
    low, high = children(shape)
    binding = free = min(shape.leaves, size) if features.is_real else 1
    rows = slice(free + 1, size + 1)
    stirlings = _stirling_rows(size, 1 << most.bit_length())
    for c in range(2, most + 1):
        counts = stirlings[c].copy()
        if free < size:
            sums = Scaled.zeros(size + 1)
            for a, b, ways in merge_ways(low.leaves, high.leaves, c):
                sides = left[[a]], right[[b]]
                products, _ = sum_over_sizes(shape, sides, 0, features, 0.0, free + 1, size)
                sums += products * float(ways)
            counts[rows] = (sums * (0.5 if low is high else 1.0))[rows]
            binds = np.flatnonzero(stirlings[c].less_than(counts))
            binding = max(binding, int(binds.max(initial=0)))
            counts = counts.least(stirlings[c])
        values[c] = counts
        # A sample of c examples has one partition into c parts.
        values[c, c : c + 1] = ONE
    return values, binding


@lru_cache(maxsize=8)
def _stirling_rows(size: int, parts: int) -> list[Scaled]:
    """``S(m, c)`` for ``m = 0 .. size``; entry ``c`` of the list."""
    rows = [[0] * (size + 1) for _ in range(parts + 1)]
    rows[0][0] = 1
    for m in range(1, size + 1):
        for c in range(1, min(m, parts) + 1):
            rows[c][m] = c * rows[c][m - 1] + rows[c - 1][m - 1]
    return [Scaled.of_integers(row) for row in rows]


def _joined(parts: Scaled, n_classes: int) -> Scaled:
    """``G = sum_c (n)_c pi^c``."""
    total = parts[1] * float(n_classes)
    for c in range(2, len(parts)):
        total += parts[c] * Scaled.of_integers([perm(n_classes, c)])
    return total
