"""The frontier: trees from few leaves to many, each with a limit that holds for all at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from treebound._validation import Whole, check
from treebound.certificate.prior import CertifiedTree

__all__ = ["Frontier"]

# How much larger than the least limit may be that of the tree chosen by accuracy.
NEAR = 0.03


@dataclass(frozen=True, eq=False)
class Frontier(Sequence[CertifiedTree]):
    """Trees of which none has both a smaller limit and fewer training errors than another.

    Attributes
    ----------
    trees : tuple of CertifiedTree
        From the smallest limit on; training errors fall.
    chosen : int
        The tree that ``fit`` chose.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import treebound as tb
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = tb.BoundTreeClassifier(certify="prior").fit(X, y)
    >>> print(clf.frontier_)
    leaves  training error  certified error
    """

    trees: tuple[CertifiedTree, ...]
    chosen: int

    @classmethod
    def of(cls, trees: Sequence[CertifiedTree], target_risk: float | None = None) -> Frontier:
        """The trees that no other beats, and the one to ship.

        Parameters
        ----------
        trees : sequence of CertifiedTree
            All trees that were found.
        target_risk : float, optional
            Ship the most accurate tree certified at most there; by default the most accurate of
            the trees whose limit is within 3 points of the least.

        Returns
        -------
        Frontier

        Raises
        ------
        ValueError
            If no tree has a limit of at most ``target_risk``.
        """
        kept: list[CertifiedTree] = []
        for one in sorted(trees, key=lambda one: (one.risk, one.tree.errors, one.leaves)):
            if not kept or one.tree.errors < kept[-1].tree.errors:
                kept.append(one)
        most = kept[0].risk + NEAR if target_risk is None else target_risk
        within = [at for at, one in enumerate(kept) if one.risk <= most]
        if not within:
            raise ValueError(
                f"No tree was found that is certified at {100 * most:.6g} % or below; the least "
                f"limit is {100 * kept[0].risk:.1f} %. Hint: raise 'target_risk', or fit on more "
                "rows."
            )
        return cls(tuple(kept), within[-1])

    def __len__(self) -> int:
        return len(self.trees)

    def __getitem__(self, at: Any) -> Any:
        return self.trees[at]

    def __iter__(self) -> Iterator[CertifiedTree]:
        return iter(self.trees)

    def __str__(self) -> str:
        lines = ["leaves  training error  certified error"]
        for at, one in enumerate(self.trees):
            mark = " <" if at == self.chosen else ""
            error, risk = f"{100 * one.training_error:.1f} %", f"{100 * one.risk:.1f} %"
            lines.append(f"{one.leaves:>6}  {error:>14}  {risk:>15}{mark}")
        return "\n".join(lines)

    def within(self, leaves: int) -> int:
        """The most accurate tree with at most so many leaves.

        Parameters
        ----------
        leaves : int
            Most leaves.

        Returns
        -------
        int
            Its position.

        Raises
        ------
        ValueError
            If every tree has more leaves.
        """
        check("prune_to", {"leaves": leaves}, {"leaves": Whole(1)})
        small = [at for at, one in enumerate(self.trees) if one.leaves <= leaves]
        if not small:
            fewest = min(one.leaves for one in self.trees)
            raise ValueError(
                f"The smallest tree of the frontier has {fewest} leaves. Got leaves={leaves} "
                "instead."
            )
        return max(small, key=lambda at: (-self.trees[at].tree.errors, -at))

    def plot(self, *, ax: Any = None) -> Any:
        """Draw certified and training error against the number of leaves.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw.

        Returns
        -------
        matplotlib axes
        """
        from treebound._extras import require

        pyplot = require("matplotlib.pyplot", extra="plot", why="Drawing a frontier")
        ax = pyplot.subplots()[1] if ax is None else ax
        by_size = sorted(self.trees, key=lambda one: one.leaves)
        leaves = [one.leaves for one in by_size]
        ax.plot(leaves, [100 * one.risk for one in by_size], "o-", label="certified error")
        ax.plot(leaves, [100 * one.training_error for one in by_size], "s--", label="training error")
        own = self.trees[self.chosen]
        ax.axvline(own.leaves, color="0.7", lw=1, zorder=0)
        ax.set(xlabel="leaves", ylabel="%", ylim=(0, None))
        ax.legend(frameon=False)
        return ax
