"""Growth functions of many shapes at once: shortcuts and lower bounds by size."""

from __future__ import annotations

from math import exp, log, log1p

import numpy as np
from numpy.typing import NDArray

from treebound.bounds import log_growth
from treebound.bounds.counting import log_catalan
from treebound.pruning.scores import Objective
from treebound.shapes import TreeShape

__all__ = ["fast_prices", "least_log_growth", "log_orders", "uncut"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
LN2 = log(2.0)
# Above this size, use the simpler lower bound of the fast growth, which takes linear time.
MANY = 2000


def log_orders(leaves: Ints) -> Floats:
    """Log of ``Catalan(L-1) / 2^(L-1)``, the sum of ``2^-sym`` over the shapes with L leaves."""
    return log_catalan(leaves - 1) - (leaves - 1) * LN2


def fast_prices(objective: Objective, height: int) -> Floats:
    """Log of the factor of a node at depth 0 to ``height``, from the growth of a stump.

    In the fast form a node makes ``G = n + 2^-[equal children] W (G_l G_r - n)`` of its children,
    W depends on its depth alone, and a stump has ``2 + W`` for two classes.
    """
    stump = TreeShape.node(TreeShape.leaf(), TreeShape.leaf())
    prices = np.full(height + 1, -np.inf)
    for depth in range(min(height + 1, objective.sample - 1)):
        found = log_growth(stump, objective.sample - depth, 2, objective.landscape, form="fast")
        if found > LN2:
            prices[depth] = found + log1p(-2.0 * exp(-found))
    return prices


def uncut(objective: Objective, leaves: Ints) -> Floats:
    """Fast growth functions below this value are not capped.

    Partitions into c parts are capped at ``S(m, c) >= c^(m-c)`` at each node, where a node has at
    least m - L examples; and no node has a smaller growth function than its children.
    """
    from scipy.special import gammaln

    n = objective.n_classes
    most = np.minimum(n, leaves)
    ends = [
        (objective.sample - leaves - c) * np.log(c) + gammaln(n + 1) - gammaln(n - c + 1)
        for c in (np.minimum(2, most), most)
    ]
    return np.where(most < 2, np.inf, np.minimum(*ends))


def least_log_growth(objective: Objective, most: int, height: int) -> Floats:
    """A lower bound on the log growth of the shapes with 1, ..., ``most`` leaves.

    Every shape labels points on a line by at most L intervals in every way, with one real feature,
    and every form of the growth function is at least the number of those labellings.

    The closed form differs between shapes only by their symmetries, of which a shape with L leaves
    has at most ``L - (ones of L in binary)``: its automorphisms are a subgroup of the permutations
    of its leaves, so ``2^sym`` divides ``L!``. The fast form is smallest, step by step, for the
    best split of the leaves between the children, with every node as cheap as the deepest.

    Parameters
    ----------
    height : int
        Maximum height of the shapes.
    """
    leaves = np.arange(1, most + 1)
    least = _intervals(objective, leaves)
    if objective.growth == "closed":
        ones = np.array([one.bit_count() for one in leaves.tolist()])
        ordered = objective.log_growth_leaves(leaves, form="closed") - log_orders(leaves)
        least = np.maximum(least, ordered - (leaves - ones) * LN2)
    elif objective.growth == "fast" and most <= MANY:
        price = float(fast_prices(objective, height)[-1])
        product = _least_products(most, price, log(objective.n_classes))
        least = np.maximum(least, np.minimum(product, uncut(objective, leaves)))
    return least


def _intervals(objective: Objective, leaves: Ints) -> Floats:
    """Log of ``n sum_j binom(m-1, j) (n-1)^j``, j < L: labellings of a line by L intervals."""
    n, m = objective.n_classes, objective.sample
    pieces = leaves if objective.landscape.real else np.ones_like(leaves)
    changes = np.arange(1, int(min(pieces.max(), m)))
    steps = np.log((m - changes) / changes) + log(max(n - 1, 1))
    total: Floats = np.logaddexp.accumulate(np.concatenate(([0.0], steps.cumsum()))) + log(n)
    return np.asarray(total[np.minimum(pieces, len(total)) - 1])


def _least_products(most: int, price: float, log_classes: float) -> Floats:
    """Smallest fast growth of each size if all nodes have the same factor; O(most^2)."""
    least = np.full(most, log_classes)
    for leaves in range(2, most + 1):
        one = np.arange(leaves // 2)  # leaves of the smaller child, less one
        both = least[one] + least[leaves - 2 - one]
        value = both + price
        if leaves % 2 == 0:
            value[-1] -= LN2  # only children of the same size can be equal
        with np.errstate(divide="ignore"):
            value += np.log1p(-np.exp(np.minimum(log_classes - both, 0.0)))
        least[leaves - 1] = np.logaddexp(log_classes, value).min()
    return least
