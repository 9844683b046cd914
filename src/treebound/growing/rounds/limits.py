"""What growth in rounds is given and tells: how much to hold at once, and how far it is."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Limits", "Progress"]


@dataclass(frozen=True)
class Limits:
    """How much is done and kept in memory at a time. The tree does not depend on it.

    Attributes
    ----------
    gather_rows : int
        Nodes of at most this many rows are finished in one place, as in memory.
    gather_values : int
        Approximate number of values of such nodes in memory at a time.
    most_values : int
        Approximate number of values inside bins that are requested at a time.
    few_values : int
        Intervals of at most this many rows are not divided further.
    most_cells : int
        Maximum number of counts of histograms that are requested at a time.
    most_live : float
        If a larger share of the root's values is in bins that may contain its split, for example
        because the labels are noise, all rows are coded again in finer bins.
    """

    gather_rows: int = 1 << 16
    gather_values: int = 1 << 23
    most_values: int = 1 << 20
    few_values: int = 256
    most_cells: int = 1 << 25
    most_live: float = 0.1


@dataclass(frozen=True)
class Progress:
    """The progress of growing.

    Attributes
    ----------
    rounds, passes : int
        Rounds so far, and passes over the rows.
    leaves : int
        Leaves so far.
    open_rows : int
        Rows of leaves that may be split further.
    rows : int
        All rows.
    """

    rounds: int
    passes: int
    leaves: int
    open_rows: int
    rows: int
