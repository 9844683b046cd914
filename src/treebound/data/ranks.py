"""Numbers of some ranks among many that are in parts, such as those that quantiles are made of.

Floats are counted by their leading bits, then those with the bits of a wanted rank by the next
ones. So four passes over the parts find each number exactly, and parts send counts alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_BITS = 16
_SIGN = np.uint64(1 << 63)


class LeadingBits(NamedTuple):
    """Leading bits of the numbers to count, which are counted by the bits that follow."""

    known: int  # how many bits
    prefixes: tuple[int, ...]


class CountedBits(NamedTuple):
    """The distinct bits that follow a prefix, and the numbers that have them."""

    bits: NDArray[np.uint64]
    rows: NDArray[np.int64]


def count_bits(y: NDArray[np.float64], leading: LeadingBits) -> list[CountedBits]:
    """Count numbers by the bits that follow each prefix."""
    bits = (y + 0.0).view(np.uint64)  # zeros have one sign
    keys = np.where(bits & _SIGN, ~bits, bits | _SIGN)  # in the order of the numbers
    at = np.uint64(64 - leading.known - _BITS)
    counted = []
    for prefix in leading.prefixes:
        inside = keys >> at
        if leading.known:
            inside = inside[inside >> np.uint64(_BITS) == np.uint64(prefix)]
        values, rows = np.unique(inside & np.uint64(2**_BITS - 1), return_counts=True)
        counted.append(CountedBits(values, rows.astype(np.int64)))
    return counted


def numbers_at(
    ranks: Sequence[int], count: Callable[[LeadingBits], Sequence[list[CountedBits]]]
) -> list[float]:
    """Return the numbers of some ranks, from 0; ``count`` counts the bits in each part."""
    prefixes, left = [0] * len(ranks), list(ranks)  # the rank among the numbers with a prefix
    for known in range(0, 64, _BITS):
        wanted = tuple(sorted({*prefixes}))
        parts = count(LeadingBits(known, wanted))
        totals = {}
        for k, prefix in enumerate(wanted):
            total = np.zeros(2**_BITS, dtype=np.int64)
            for part in parts:
                total[part[k].bits.astype(np.intp)] += part[k].rows
            totals[prefix] = total.cumsum()
        for i, prefix in enumerate(prefixes):
            below = totals[prefix]
            bits = int(np.searchsorted(below, left[i], side="right"))
            left[i] -= int(below[bits - 1]) if bits else 0
            prefixes[i] = prefix << _BITS | bits
    keys = np.array(prefixes, dtype=np.uint64)
    numbers = np.where(keys & _SIGN, keys ^ _SIGN, ~keys).view(np.float64)
    return [float(number) for number in numbers]


def quantile_ranks(quantiles: Sequence[float], n: int) -> list[tuple[int, int]]:
    """Return the ranks that each quantile of n numbers is between."""
    lower = [int((n - 1) * q) for q in quantiles]
    return [(at, min(at + 1, n - 1)) for at in lower]


def between(ends: tuple[float, float], quantile: float, n: int) -> float:
    """Return a quantile of n numbers from those it is between, as numpy has it."""
    place = (n - 1) * quantile
    return float(np.quantile(ends, place - int(place)))
