"""The tidy layout against a slow twin, and the aesthetics of Reingold and Tilford."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_trees import random_tree

from treebound.show.layout import tidy


def slow_tidy(tree, width, gap):
    """Subtrees as sets of boxes, moved away until no two boxes of one level touch."""

    def boxes(node):  # (node, depth, centre), the root of the subtree at 0
        if tree.left[node] < 0:
            return [(node, 0, 0.0)]
        one, two = boxes(tree.left[node]), boxes(tree.right[node])
        distance = max(
            x + width[a] / 2 + gap - (z - width[b] / 2)
            for a, d, x in one
            for b, e, z in two
            if d == e
        )
        moved = [(a, d + 1, x - distance / 2) for a, d, x in one]
        return [(node, 0, 0.0), *moved, *((b, e + 1, z + distance / 2) for b, e, z in two)]

    places = np.zeros(tree.n_nodes)
    for node, _, x in boxes(0):
        places[node] = x
    return places - (places - np.asarray(width) / 2).min()


@given(st.integers(0, 2**32), st.integers(1, 25), st.booleans(), st.floats(0, 2))
@settings(max_examples=80)
def test_layout_agrees_with_its_slow_twin(seed: int, leaves: int, chain: bool, gap: float) -> None:
    tree = random_tree(seed, leaves, chain=chain)
    width = np.random.default_rng(seed).uniform(0.5, 4, size=tree.n_nodes)
    places = tidy(tree.left.tolist(), tree.right.tolist(), width=width, gap=gap)
    assert places == pytest.approx(slow_tidy(tree, width, gap))


@given(st.integers(0, 2**32), st.integers(2, 60))
def test_parents_are_centred_and_no_two_nodes_overlap(seed: int, leaves: int) -> None:
    tree = random_tree(seed, leaves)
    width = np.random.default_rng(seed).uniform(0.5, 4, size=tree.n_nodes)
    x = tidy(tree.left.tolist(), tree.right.tolist(), width=width, gap=0.5)
    inner = np.flatnonzero(~tree.is_leaf)
    assert x[inner] == pytest.approx((x[tree.left[inner]] + x[tree.right[inner]]) / 2)
    for depth in range(tree.depth + 1):
        level = np.flatnonzero(tree.depth == depth)  # from left to right
        room = (x[level] - width[level] / 2)[1:] - (x[level] + width[level] / 2)[:-1]
        assert (room >= 0.5 - 1e-9).all()


def test_a_tree_and_its_mirror_image_are_drawn_as_mirror_images() -> None:
    left, right = [1, 2, -1, -1, -1], [4, 3, -1, -1, -1]
    mirrored = tidy([1, -1, 3, -1, -1], [2, -1, 4, -1, -1])
    places = tidy(left, right)
    assert places.max() - places == pytest.approx((mirrored - mirrored.min())[[0, 2, 4, 3, 1]])


def test_a_chain_of_ten_thousand_nodes_is_laid_out() -> None:
    tree = random_tree(0, 5000, chain=True)
    places = tidy(tree.left.tolist(), tree.right.tolist())
    assert np.isfinite(places).all()
