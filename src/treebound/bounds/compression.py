"""The compression bound: a tree described by a few training rows and a message.

=========  ==================================================================================
m          number of training rows
r          number of distinct rows that name splits
N          number of splits that are named by a row
L, n, ell  leaves, classes, columns
W          weight of the message: the level of this tree is ``delta / W``
=========  ==================================================================================

Ours, not in the paper. The plane shape of the tree with its labels, the column of every split,
the other facts of a split, and the *multiset* of the rows that name the splits determine the tree.
Given the message and the named rows, the tree is fixed, and the other ``m - r`` rows are
independent of it.
"""

from __future__ import annotations

from functools import lru_cache
from math import inf, log, pi

from treebound.bounds.counting import log_binomial

# Every sum of logarithms below has fewer than 10^6 terms, each off by less than 10^-15 of itself.
_SLACK = 1.0 + 1e-9


@lru_cache(maxsize=1024)
def log_labelled_plane_shapes(leaves: int, n_classes: int) -> float:
    """Log of a_L: plane trees with L labelled leaves of which no two siblings have one label."""
    # a_1 = n, a_2 = n^2 - n, a_L = sum a_i a_(L-i). The generating function A satisfies
    # A = n x - n x^2 + A^2, so that sqrt(1 - 4 n x + 4 n x^2) = 1 - 2 A and
    # (L + 1) a_(L+1) = 2 n (2 L - 1) a_L - 4 n (L - 2) a_(L-1).
    n = float(n_classes)
    if leaves == 1:
        return log(n)
    if n_classes == 1:
        return -inf
    total, ratio = log(n) + log(n - 1.0), n - 1.0  # a_2 and a_2 / a_1
    for size in range(2, leaves):
        ratio = (2.0 * n * (2 * size - 1) - 4.0 * n * (size - 2) / ratio) / (size + 1)
        total += log(ratio)
    return total


def log_message_weight(
    m: int, leaves: int, n_classes: int, n_columns: int, log_splits: float, named: int, rows: int
) -> float:
    """Log of ``W = (pi^2 L^2 / 6) a_L ell^(L-1) S N binom(m, r) binom(N-1, r-1)``, rounded up."""
    terms = [
        log(pi * pi / 6.0) + 2.0 * log(leaves),
        log_labelled_plane_shapes(leaves, n_classes),
        (leaves - 1) * log(max(n_columns, 1)),
        log_splits,
    ]
    if named:
        terms += [log(named), log_binomial(m, rows), log_binomial(named - 1, rows - 1)]
    return sum(terms) * _SLACK
