"""Kernels of pruning paths and of losses, against slow twins."""

import numpy as np
import pytest
from pruning_trees import random_tree

import treebound.pruning._dp as _dp
from treebound.pruning.path import weakest_link_steps
from treebound.tree.base import standing_nodes


def ancestors(tree, node):
    """The nodes above a node, and the node itself, from the root on."""
    return [above for above in range(node + 1) if above <= node < above + tree.size[above]]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("fractional", [False, True])
def test_steps_and_cuts_are_those_of_the_collapsed_trees(seed, fractional):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, int(rng.integers(1, 30)), fractional=fractional)
    path, _ = weakest_link_steps(tree, tree.node_losses)
    inner = np.flatnonzero(~tree.is_leaf)
    for step in range(path.n_steps):
        gone = {node for node in inner.tolist() if path.when[node] <= step}
        cuts = [node for node in sorted(gone) if not gone & set(ancestors(tree, node)[:-1])]
        assert path.cuts(step).tolist() == cuts
        pruned = tree.collapsed(cuts)
        assert path.leaves[step] == pruned.n_leaves
        assert path.errors[step] == pytest.approx(pruned.node_losses[pruned.is_leaf].sum())


@pytest.mark.parametrize("seed", range(8))
def test_the_topmost_cut_stands_for_a_node(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, int(rng.integers(1, 30)))
    cuts = np.flatnonzero(rng.random(tree.n_nodes) < 0.2)
    expected = [
        next((above for above in ancestors(tree, node) if above in cuts), node)
        for node in range(tree.n_nodes)
    ]
    assert standing_nodes(tree, cuts).tolist() == expected
    with pytest.raises(ValueError, match="nodes"):
        standing_nodes(tree, np.array([tree.n_nodes]))


@pytest.mark.parametrize("n_classes", [1, 2, 3, 9])
def test_moments_are_sums_over_the_classes(n_classes):
    rng = np.random.default_rng(n_classes)
    weights, squares, loss, other = rng.random((4, 17, n_classes))
    moments = _dp.moments_of_losses(weights, squares, loss, other)
    expected = [weights * loss, squares * loss**2, squares * (loss - other) ** 2]
    np.testing.assert_allclose(moments.T, [table.sum(axis=1) for table in expected], rtol=1e-14)
