"""The fast growth function of many shapes at once."""

from __future__ import annotations

from math import exp, log, log1p

import numpy as np
from numpy.typing import NDArray

from treebound.bounds import log_growth
from treebound.pruning.scores import Objective
from treebound.shapes import TreeShape

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
LN2 = log(2.0)


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
