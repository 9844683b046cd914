"""What growth in rounds is given and tells: how much to hold at once, and how far it is."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Limits", "Progress"]


@dataclass(frozen=True)
class Limits:
    """How much is done and held at once. The tree does not depend on it.

    Attributes
    ----------
    gather_rows : int
        A node of no more rows is finished in one place, by the in-memory growth.
    gather_values : int
        About how many values of such nodes are held at once.
    most_values : int
        About how many values inside bins are asked for at once.
    few_values : int
        An interval of so few rows is never sliced further.
    most_cells : int
        Counts of histograms that are asked for at once.
    most_live : float
        Where a greater share of the root's values is in bins that may hold its split, as with
        labels that are noise, all rows are coded again in finer bins.
    """

    gather_rows: int = 1 << 16
    gather_values: int = 1 << 23
    most_values: int = 1 << 20
    few_values: int = 256
    most_cells: int = 1 << 25
    most_live: float = 0.1


@dataclass(frozen=True)
class Progress:
    """How far the growth is.

    Attributes
    ----------
    rounds, passes : int
        Rounds so far, and how often the rows were gone through.
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
