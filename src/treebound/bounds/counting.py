"""Numbers that count partitions, labellings and shapes, exact and as natural logarithms.

==================  ======================================================================
symbol              here
==================  ======================================================================
``S(m, c)``         :func:`stirling`: ways to split ``m`` examples into ``c`` parts
``(n)_c``           ``math.perm(n, c)``: ways to label ``c`` parts differently
``W(L)``            :func:`wedderburn_etherington`: unordered shapes with ``L`` leaves
==================  ======================================================================
"""

from __future__ import annotations

from functools import lru_cache
from math import comb, inf, log, perm
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils.arrays import AnyInts, Floats
from treebound._utils.validation import as_int

# The radius of convergence of the Wedderburn-Etherington series is 1 over this.
_WEDDERBURN_BASE = 2.4832535361726368
_lock = Lock()


def log_binomial(n: int, k: int) -> float:
    """Natural logarithm of the binomial coefficient; -inf where it is 0."""
    if k < 0 or k > n:
        return -inf
    k = min(k, n - k)
    if k <= 64:
        return log(comb(n, k))
    # A sum of logarithms keeps the digits that differences of lgamma lose.
    top = n + 1 - np.arange(1.0, k + 1) if n < 2**53 else np.full(k, float(n))
    return float(np.log(top / np.arange(1.0, k + 1)).sum())


def log_falling_factorial(n: int, c: int) -> float:
    """Natural logarithm of ``(n)_c``; -inf where it is 0."""
    if c > n:
        return -inf
    if c <= 64:
        return log(perm(n, c))
    return float(np.log(n - np.arange(float(c))).sum()) if n < 2**53 else c * log(n)


def stirling(m: int, c: int) -> int:
    """Stirling number of the second kind ``S(m, c)``: the ``c``-partitions of ``m`` examples."""
    return _small_stirling(m, c) if m <= 256 else _stirling(m, c)


def _stirling(m: int, c: int) -> int:
    if c < 0 or c > m:
        return 0
    if c == 2:
        return (1 << (m - 1)) - 1
    # Inclusion and exclusion over the parts left empty; the division by c! is exact.
    signed: int = sum((-1) ** (c - j) * comb(c, j) * j**m for j in range(c + 1))
    return signed // perm(c)


# Only small numbers are kept: a large one takes megabytes.
_small_stirling = lru_cache(maxsize=1 << 14)(_stirling)


def stirling_at_most(m: int, c: int, limit: int) -> int:
    """``min(S(m, c), limit)`` for ``c >= 2``, without the large number."""
    # S(m, c) >= c^(m-c): each of the other examples joins one of c parts.
    if (m - c) * (c.bit_length() - 1) >= limit.bit_length():
        return limit
    return min(stirling(m, c), limit)


def splits_of_size(m: int, k: int) -> int:
    """The paper's ``S(m, 2)_k``: 2-partitions of ``m`` examples with one part of size ``k``."""
    return comb(m, k) // 2 if 2 * k == m else comb(m, k)


def wedderburn_etherington(n: int) -> int:
    """Wedderburn-Etherington number: unordered binary tree shapes with ``n`` leaves."""
    n = as_int("n", "wedderburn_etherington", n, 1)
    return int(_shapes(n, "exact")[n])


def log_wedderburn_etherington(n: AnyInts) -> Floats:
    """Natural logarithms of Wedderburn-Etherington numbers, ``n >= 1``."""
    scaled = _shapes(int(n.max(initial=1)), "scaled")
    with np.errstate(divide="ignore"):
        logs: Floats = np.log(scaled)
    logs += np.arange(len(scaled)) * log(_WEDDERBURN_BASE)
    logs[1:4] = 0.0  # one shape each, without rounding
    return logs[n]


# The numbers of shapes as exact integers, and scaled by their rate of growth.
_tables: dict[str, NDArray[Any]] = {
    "exact": np.array([0, 1], dtype=object),
    "scaled": np.array([0.0, 1.0 / _WEDDERBURN_BASE]),
}


def _shapes(leaves: int, kind: str) -> NDArray[Any]:
    """The numbers of shapes with 0 to ``leaves`` leaves at least."""
    with _lock:
        table = _tables[kind]
        start = len(table)
        if start <= leaves:
            table = np.resize(table, max(leaves + 1, 2 * start))
            for n in range(start, len(table)):
                half = (n + 1) // 2
                twice = 2 * (table[1:half] @ table[n - 1 : n - half : -1])
                if n % 2 == 0:
                    alike = 1 if kind == "exact" else _WEDDERBURN_BASE ** (-(n // 2))
                    twice += table[n // 2] * (table[n // 2] + alike)
                table[n] = twice // 2 if kind == "exact" else twice / 2
            _tables[kind] = table
        return table


def sauer_shelah(m: int, vc_dimension: int) -> int:
    """Sauer-Shelah lemma: ``sum_{i<=d} binom(m, i)`` bounds a growth function for two classes."""
    if vc_dimension >= m:
        return 1 << m
    term = total = 1
    for i in range(1, vc_dimension + 1):
        term = term * (m - i + 1) // i
        total += term
    return total


def largest_central(limit: int) -> int:
    """The largest ``d`` with ``binom(d, floor(d/2)) <= limit``."""
    d = 1
    while comb(d + 1, (d + 1) // 2) <= limit:
        d += 1
    return d
