"""Trees certified by a prior: their certificates, and the frontier to choose from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import log
from typing import Any

from treebound._utils.validation import Number, Whole, check, invalid
from treebound.certificate.by_class import by_class_on_rows
from treebound.certificate.certificate import DRAWN_APART, Assumption, Certificate, bound_percent
from treebound.certificate.prior import CertifiedTree, PriorProof
from treebound.certificate.training import new_categories
from treebound.tree.model import Tree

# How much larger than the least bound may be that of the tree chosen by accuracy.
NEAR = 0.03


def certify_proof(
    tree: Tree, proof: PriorProof, delta: float = 0.05, handle_unknown: str = "other"
) -> Certificate:
    """The certificate of a tree from its proof."""
    assumptions = (
        Assumption("the rows that define the prior were drawn by number, not by label", True),
        Assumption("the examples are independent draws, as the new ones will be", False),
        *DRAWN_APART,
        *new_categories(tree, handle_unknown),
    )
    certificate = Certificate(
        proof.risk(delta),
        float(delta),
        proof.wrong,
        proof.m,
        tree.n_leaves,
        kind="prior",
        method="binomial",
        log_price=-proof.log_prior,
        assumptions=assumptions,
        constant_error=1.0 - max(proof.rows) / max(proof.m, 1),
    )
    level = log(delta) + proof.log_prior
    return certificate.of_tree(
        tree, partial(by_class_on_rows, tree.classes.tolist(), proof.rows, proof.errors, level)
    )


@dataclass(frozen=True, eq=False)
class Frontier(Sequence[CertifiedTree]):
    """Trees of which none is beaten in bound, training errors and leaves by another.

    Attributes
    ----------
    trees : tuple of CertifiedTree
        From few leaves to many.
    chosen : int
        The tree that ``fit`` chose.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import treebound as tb
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = tb.BoundTreeClassifier(certificate="prior").fit(X, y)
    >>> print(clf.frontier_)
    leaves  training error  certified error
         1          37.3 %           44.2 %
         2           8.4 %           14.3 %
         3           4.7 %           12.3 %
         4           4.6 %           12.2 %
         4           4.2 %           12.9 %
         6           3.3 %           14.2 %
         8           2.8 %           15.1 % <
    """

    trees: tuple[CertifiedTree, ...]
    chosen: int

    @classmethod
    def of(cls, trees: Sequence[CertifiedTree]) -> Frontier:
        """The trees that no other beats, and the one to ship.

        That is the most accurate of the trees whose bound is within 3 points of the least.
        """
        efficient: list[CertifiedTree] = []
        for tree in sorted(trees, key=lambda tree: (tree.leaves, tree.score, tree.cost)):
            if not any(o.score <= tree.score and o.cost <= tree.cost for o in efficient):
                efficient.append(tree)
        near = min(tree.score for tree in efficient) + NEAR
        within = [at for at, tree in enumerate(efficient) if tree.score <= near]
        return cls(tuple(efficient), _best_of(efficient, within))

    def __len__(self) -> int:
        return len(self.trees)

    def __getitem__(self, at: Any) -> Any:
        return self.trees[at]

    def __str__(self) -> str:
        lines = ["leaves  training error  certified error"]
        for at, tree in enumerate(self.trees):
            mark = " <" if at == self.chosen else ""
            error, risk = f"{100 * tree.training_error:.1f} %", bound_percent(tree.risk)
            lines.append(f"{tree.leaves:>6}  {error:>14}  {risk:>15}{mark}")
        return "\n".join(lines)

    def step(self, at: int) -> int:
        """A position, checked; negative ones count from the end."""
        if not -len(self) <= at < len(self):
            must = f"from 0 to {len(self) - 1}, a tree of the frontier"
            raise invalid("step", "prune_to", must, at)
        return at % len(self)

    def step_with(self, leaves: int) -> int:
        """The place of the most accurate tree with at most so many leaves; one has one leaf."""
        check("prune_to", {"leaves": leaves}, {"leaves": Whole(1)})
        small = [at for at, tree in enumerate(self.trees) if tree.leaves <= leaves]
        return max(small, key=lambda at: (-self.trees[at].cost, -at))

    def step_certified_at(self, risk: float) -> int:
        """Return the position of the most accurate tree that is certified at a risk or below.

        ``clf.prune_to(step=clf.frontier_.step_certified_at(0.2))`` is the classifier of this tree.
        All certificates of the frontier hold together, so that the risk may be chosen after
        looking at them.

        Parameters
        ----------
        risk : float
            The largest certified error.

        Raises
        ------
        ValueError
            If no tree of the frontier has such a certificate.
        """
        check("step_certified_at", {"risk": risk}, {"risk": Number(0.0, 1.0, open=True)})
        within = [at for at, tree in enumerate(self.trees) if tree.risk <= risk]
        if not within:
            smallest = bound_percent(min(tree.risk for tree in self.trees))
            raise ValueError(
                f"No tree of the frontier is certified at {100 * risk:.6g} % or below; the "
                f"smallest certified error is {smallest}. Hint: fit on more rows."
            )
        return _best_of(self.trees, within)

    def plot(self, *, ax: Any = None) -> Any:
        """Draw certified and training error against the number of leaves.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw.
        """
        from treebound._utils.extras import require

        pyplot = require("matplotlib.pyplot", extra="plot", why="Drawing a frontier")
        ax = pyplot.subplots()[1] if ax is None else ax
        leaves = [tree.leaves for tree in self.trees]
        risks = [100 * tree.risk for tree in self.trees]
        errors = [100 * tree.training_error for tree in self.trees]
        ax.plot(leaves, risks, "o-", label="certified error")
        ax.plot(leaves, errors, "s--", label="training error")
        chosen = self.trees[self.chosen]
        ax.axvline(chosen.leaves, color="0.7", lw=1, zorder=0)
        ax.set(xlabel="leaves", ylabel="%", ylim=(0, None))
        ax.legend(frameon=False)
        return ax


def _best_of(trees: Sequence[CertifiedTree], positions: Sequence[int]) -> int:
    """Return the position of the most accurate of some trees; on ties, the best certified."""
    return min(positions, key=lambda at: (trees[at].cost, trees[at].score))
