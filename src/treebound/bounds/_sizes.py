"""The growth function by part sizes: the forms that need the whole function of every subtree.

With ``G = sum_c (n)_c pi^c`` a node is ``G(m) = n + 2^-[T_l=T_r] sum_k D_k (G_l(k) G_r(m-k) - n)``
(theory notes, section 1), one kernel call per subtree for all sample sizes. The cap by
``S(m, c)``, which the sum over ``c`` cannot see, matters for small parts only: up to some size
every ``pi^c`` is followed on its own.
"""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import NDArray

from treebound.bounds import _sums
from treebound.bounds._closed import log_closed_growth
from treebound.bounds._recursion import Features, children, merge_ways
from treebound.bounds._wide import NOTHING, Wide
from treebound.bounds.counting import falling_factorial
from treebound.shapes import TreeShape

__all__ = ["growth_by_size", "node_budgets", "split_rooms"]

FloatArray = NDArray[np.float64]
# Entries of the table of splits that are held at once.
_TABLE = 1 << 22
# Multiplications up to which the parts are followed one by one.
_PARTS_WORK = 2e9
# Sizes in a row at which no cap may bind before the parts are summed.
_QUIET = 16


def split_rooms(features: Features, first: int, last: int) -> FloatArray:
    """Splits whose smaller part has ``k`` examples, a row for each ``m = first .. last``.

    ``D_k`` for ``k < m/2`` and ``D_k / 2`` for ``k = m/2``.
    """
    m = np.arange(first, last + 1)[:, None]
    k = np.arange(last // 2 + 1)[None, :]
    each = 2.0 * features.real + sum(min(o - 1, 2) for o in features.ordinal)
    rooms = np.full((len(m), k.shape[1]), each)
    for n in features.nominal:
        categories = min(n, last + 1)
        rooms += np.where(m > categories * k, categories - 1, m // np.maximum(k, 1))
    even = np.flatnonzero(m[:, 0] % 2 == 0)
    halves = features.real + len(features.ordinal) + len(features.nominal)
    rooms[even, m[even, 0] // 2] = halves
    _cap_by_binomials(rooms, m[:, 0])
    return rooms


def _cap_by_binomials(rooms: FloatArray, m: NDArray[np.int64]) -> None:
    """No more splits of a size than there are."""
    most = rooms.max(initial=0.0)
    choices = np.ones(len(m))
    for k in range(1, rooms.shape[1]):
        choices = choices * (m - k + 1) / k
        there = m >= 2 * k
        exact = np.where(m == 2 * k, choices / 2, choices)
        rooms[there, k] = np.minimum(rooms[there, k], exact[there])
        if comb(max(int(m[0]), 2 * k), k) // 2 >= most:
            return


def node_budgets(features: Features, first: int, last: int) -> FloatArray:
    """``B(m)``, the proper splits a node makes in all, for ``m = first .. last``."""
    m = np.arange(first, last + 1)
    made = features.real * (m - 1.0)
    for o in features.ordinal:
        made += np.minimum(o, m) - 1
    for n in features.nominal:
        made += 1 if n == 2 else np.minimum(n, m)
    return np.minimum(made, np.exp2(np.minimum(m, 1000) - 1.0) - 1.0)


def growth_by_size(
    shape: TreeShape, m: int, n_classes: int, features: Features, *, budgeted: bool
) -> float:
    """Natural log of the growth function, by part sizes; ``budgeted``: within ``B(m)`` splits."""
    caps, known = _caps(shape, m, n_classes, features)
    values = {TreeShape.leaf(): Wide.constant(n_classes, m + 1)}
    inner = [part for part in shape.subshapes() if not part.is_leaf]
    start = 2 if budgeted else known + 1
    for part in inner:
        values[part] = Wide(caps[part].mantissa.copy(), caps[part].power.copy())
    while start <= m:
        # As many rows as fill the table: r rows have (start + r) / 2 columns.
        rows = int((start * start + 8 * _TABLE) ** 0.5 - start) // 2
        last = min(m, start + max(rows, 1) - 1)
        rooms = split_rooms(features, start, last)
        budgets = node_budgets(features, start, last)
        if not budgeted:
            budgets[:] = np.inf
        for part in inner:
            add_sizes(part, values, caps[part], rooms, budgets, n_classes, features, start)
        start = last + 1
    return values[shape].log(m)


def add_sizes(
    shape: TreeShape,
    values: dict[TreeShape, Wide],
    caps: Wide,
    rooms: FloatArray,
    budgets: FloatArray,
    n_classes: int,
    features: Features,
    first: int,
) -> None:
    """Fill in ``G`` of one shape for the sample sizes that ``rooms`` has rows for."""
    left, right = children(shape)
    here = values[shape]
    least = (left.leaves, right.leaves) if features.is_real else (1, 1)
    skip = max(0, shape.leaves + 1 - first) if features.is_real else 0
    if skip >= len(rooms):
        return
    _sums.by_size(
        *values[left],
        *values[right],
        rooms[skip:],
        budgets[skip:],
        float(n_classes),
        *least,
        left is right,
        not features.real and np.isfinite(budgets[-1]),
        *here,
        first + skip,
    )
    rows = slice(first + skip, first + len(rooms))
    least_of = Wide(here.mantissa[rows], here.power[rows]).least(
        Wide(caps.mantissa[rows], caps.power[rows])
    )
    here.mantissa[rows], here.power[rows] = least_of


def _caps(
    shape: TreeShape, m: int, n_classes: int, features: Features
) -> tuple[dict[TreeShape, Wide], int]:
    """What no growth function exceeds, and up to which size that is already the full sum."""
    trivial = Wide.powers(n_classes, m + 1)
    # n + n (n-1) (2^(k-1) - 1): all there is for one split, or for two classes.
    pairs = n_classes * (n_classes - 1)
    stump = Wide.powers(2, m + 1).times(pairs / 2).minus(float(pairs - n_classes))
    inner = [part for part in shape.subshapes() if not part.is_leaf]
    few = {part: min(n_classes, part.leaves) <= 2 for part in inner}
    caps = {part: stump if few[part] else trivial for part in inner}
    if all(few.values()):
        return caps, 1
    size = _quiet_size(shape, m, n_classes, features)
    parts = _Parts(inner, min(n_classes, shape.leaves), features)
    while size and parts.work(size) <= _PARTS_WORK:
        parts.extend(size)
        if size >= m or parts.quiet(shape):
            return {part: _joined(parts, part, caps[part], n_classes) for part in inner}, size
        size = min(m, 2 * size)
    return caps, 1


def _quiet_size(shape: TreeShape, m: int, n_classes: int, features: Features) -> int:
    """About the size past which ``S(m, c)`` cuts nothing: where two classes stop being free."""
    low, high = 1, 4
    while high < m and log_closed_growth(shape, high, 2, features) > high * np.log(2):
        low, high = high, 2 * high
    while high - low > 1 and high <= m:
        middle = (low + high) // 2
        if log_closed_growth(shape, middle, 2, features) > middle * np.log(2):
            low = middle
        else:
            high = middle
    return min(m, high + shape.leaves + _QUIET)


class _Parts:
    """Every ``pi^c`` on its own, ``c = 1 .. parts``, for all subtrees and small sample sizes."""

    def __init__(self, inner: list[TreeShape], parts: int, features: Features) -> None:
        self.inner = inner
        self.parts = parts
        self.features = features
        self.values: dict[TreeShape, Wide] = {}
        self.binding: dict[TreeShape, int] = {}
        self.size = 0

    def work(self, size: int) -> float:
        """Multiplications it takes up to a sample size."""
        pairs = 0
        for shape in self.inner:
            left, right = children(shape)
            a, b = min(left.leaves, self.parts), min(right.leaves, self.parts)
            pairs += a * b * min(a + b, self.parts)
        return pairs * size * size / 2.0

    def extend(self, size: int) -> None:
        """Compute all subtrees up to a sample size."""
        self.size = size
        rooms = split_rooms(self.features, 2, size)
        leaf = self._empty(1)
        self.values = {TreeShape.leaf(): leaf}
        stirlings = _stirling_rows(size, self.parts)
        for shape in self.inner:
            self._add(shape, rooms, stirlings)

    def _empty(self, most: int) -> Wide:
        """Zeros for every number of parts but one."""
        mantissa = np.zeros((most + 1, self.size + 1))
        power = np.full((most + 1, self.size + 1), NOTHING, dtype=np.int64)
        mantissa[1], power[1] = 0.5, 1
        return Wide(mantissa, power)

    def _add(self, shape: TreeShape, rooms: FloatArray, stirlings: list[Wide]) -> None:
        left, right = children(shape)
        most = min(self.parts, shape.leaves)
        values = self.values[shape] = self._empty(most)
        real = self.features.is_real
        least = (left.leaves, right.leaves) if real else (1, 1)
        known = shape.leaves if real else 1
        self.binding[shape] = known
        for c in range(2, most + 1):
            values.mantissa[c], values.power[c] = stirlings[c]
            if known >= self.size:
                continue
            one = Wide(values.mantissa[c].copy(), values.power[c].copy())
            a, b, ways = zip(*merge_ways(left.leaves, right.leaves, c), strict=True)
            _sums.parts_by_size(
                *self.values[left],
                *self.values[right],
                np.array(a, dtype=np.int32),
                np.array(b, dtype=np.int32),
                np.array(ways, dtype=np.float64),
                rooms[known - 1 :],
                *least,
                left is right,
                *one,
                known + 1,
            )
            one.mantissa[: known + 1], one.power[: known + 1] = (
                values.mantissa[c, : known + 1],
                values.power[c, : known + 1],
            )
            binds = np.flatnonzero(stirlings[c].less_than(one))
            self.binding[shape] = max(self.binding[shape], int(binds.max(initial=0)))
            least_of = one.least(stirlings[c])
            values.mantissa[c], values.power[c] = least_of
            # A sample of c examples has one partition into c parts.
            values.mantissa[c, c : c + 1], values.power[c, c : c + 1] = 0.5, 1

    def quiet(self, shape: TreeShape) -> bool:
        """Whether no cap bound at the last sizes."""
        return self.binding[shape] + _QUIET <= self.size


def _stirling_rows(size: int, parts: int) -> list[Wide]:
    """``S(m, c)`` for ``m = 0 .. size``; entry ``c`` of the list."""
    rows = [[0] * (size + 1) for _ in range(parts + 1)]
    rows[0][0] = 1
    for m in range(1, size + 1):
        for c in range(1, min(m, parts) + 1):
            rows[c][m] = c * rows[c][m - 1] + rows[c - 1][m - 1]
    return [Wide.of_integers(row) for row in rows]


def _joined(parts: _Parts, shape: TreeShape, beyond: Wide, n_classes: int) -> Wide:
    """``G = sum_c (n)_c pi^c`` where the parts are known, ``beyond`` past that."""
    values = parts.values[shape]
    total = Wide(values.mantissa[1], values.power[1]).times(float(n_classes))
    for c in range(2, len(values.mantissa)):
        labels = falling_factorial(n_classes, c)
        scale = Wide.of_integers([labels])
        total = total.plus(Wide(values.mantissa[c], values.power[c]).times(scale))
    size = parts.size
    mantissa, power = beyond.mantissa.copy(), beyond.power.copy()
    mantissa[1 : size + 1], power[1 : size + 1] = total.mantissa[1:], total.power[1:]
    return Wide(mantissa, power)
