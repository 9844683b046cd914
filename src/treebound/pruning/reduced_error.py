"""Reduced-error pruning: the fewest errors on examples the tree has not seen."""

from __future__ import annotations

from numbers import Real

from treebound.pruning.additive import least_sum
from treebound.pruning.base import BasePruner, Examples, Found, Grow
from treebound.pruning.folds import errors_on, held_out
from treebound.pruning.greedy import greedy_on
from treebound.tree.model import Tree

__all__ = ["ReducedErrorPruner"]


class ReducedErrorPruner(BasePruner):
    """Reduced-error pruning (Quinlan 1987) on a validation part.

    Parameters
    ----------
    validation_fraction : float or None
        None: the examples given to ``prune`` are the validation part, and the tree was grown on
        others. A float: that share of the given examples is set aside, a new tree is grown on the
        rest (``prune`` needs ``grow``) and pruned on the part set aside. As
        ``pruning="reduced-error"`` of the classifier it is 0.15.
    search : {"collapse", "greedy"}
        ``"collapse"``: from below, a node becomes a leaf unless its subtree makes fewer errors;
        that is the pruning with the least errors, and the smallest of those. ``"greedy"``: the
        paper's search, which may also put a child in the place of its parent.
    random_state : int or None
        Seed of the part set aside.

    Notes
    -----
    The answers of the leaves come from the examples the tree was grown on. Where a child is raised
    they are counted anew from those examples if they are at hand (with a ``validation_fraction``),
    else they stay as they are.

    Pruning on the test part, with ``validation_fraction=None``, is the study's Oracle.

    Examples
    --------
    >>> import treebound as tb
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> grown = tb.BoundTreeClassifier(pruning=None).fit(X[::2], y[::2]).tree_
    >>> grown.n_leaves, ReducedErrorPruner().prune(grown, X[1::2], y[1::2]).tree.n_leaves
    (10, 5)
    """

    def __init__(
        self,
        *,
        validation_fraction: float | None = None,
        search: str = "collapse",
        random_state: int | None = 0,
    ) -> None:
        self.validation_fraction = validation_fraction
        self.search = search
        self.random_state = random_state

    def _search(self, tree: Tree, examples: Examples | None, grow: Grow | None) -> Found:
        search = self._one_of("search", "collapse", "greedy")
        learn, judge = None, examples
        if self.validation_fraction is not None:
            learn, judge = self._parts(examples, grow)
            if learn is not None and grow is not None:
                tree = grow(learn.X, learn.y, learn.weight)
        judge = self._needs(judge, "count errors on")
        if search == "greedy":
            return greedy_on(tree, judge, learn=learn, unit="validation errors")
        wrong = errors_on(tree, judge)
        return least_sum(tree, wrong, errors=wrong, unit="validation errors")

    def _parts(
        self, examples: Examples | None, grow: Grow | None
    ) -> tuple[Examples | None, Examples]:
        fraction = self.validation_fraction
        if not isinstance(fraction, Real) or not 0.0 < fraction < 1.0:
            raise self._bad("validation_fraction", "None or a float in the range (0, 1)", fraction)
        given, _ = self._to_validate(examples, grow)
        if len(given.y) < 2:  # nothing to set aside
            return None, given
        return held_out(given, float(fraction), self.random_state)
