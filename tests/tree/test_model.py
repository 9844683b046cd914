"""A tree cannot be wrong about its counts: what contradicts itself is refused when it is made."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import coded_sample, grow_coded

from treebound.data import Column
from treebound.tree import Tree

COLUMNS = (Column("a"), Column("b", "nominal", ("u", "v", "w")))


@pytest.fixture
def tree():
    """Five nodes: a <= 0.5, then b == u on the left."""
    X = np.array([[0, 0], [0, 1], [0, 2], [1, 0]], dtype=float).repeat([4, 3, 2, 6], axis=0)
    y = np.array([0, 1, 1, 2]).repeat([4, 3, 2, 6])
    grown = grow_coded(X, y, COLUMNS, ["x", "y", "z"])
    assert grown.feature.tolist() == [0, 1, -1, -1, -1]
    return grown


def changed(array, at, value):
    array = array.copy()
    array[at] = value
    return array


def test_children_must_add_up_to_their_parent(tree):
    with pytest.raises(ValueError, match=r"counts of the children of node 1 .* \[4.0, 5.0, 0.0\]"):
        replace(tree, counts=changed(tree.counts, (2, 0), 3.0))
    with pytest.raises(ValueError, match=r"rows of the children of node 0 .*, 15. Got 9 and 7"):
        replace(tree, rows=changed(tree.rows, 4, 7))
    with pytest.raises(ValueError, match="finite numbers >= 0"):
        replace(tree, counts=tree.counts * np.nan)
    with pytest.raises(ValueError, match="finite numbers >= 0"):
        replace(tree, counts=-tree.counts)


def test_only_weights_may_be_rounded(tree):
    near = changed(tree.counts, (2, 0), 4.0 + 1e-12)
    with pytest.raises(ValueError, match="must add up"):
        replace(tree, counts=near)
    assert replace(tree, counts=near, weighted=True).weighted


@pytest.mark.parametrize("label", [-1, 3])
def test_a_label_must_be_a_class(tree, label):
    with pytest.raises(ValueError, match=r"'label' of node 2 .* must be a class from 0 to 2"):
        replace(tree, label=changed(tree.label, 2, label))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ([1, 3, -1, -1, -1], [4, 2, -1, -1, -1]),  # the right child first
        ([1, 2, -1, -1, -1], [4, 4, -1, -1, -1]),  # one child of two parents
        ([1, -1, -1, -1, -1], [2, -1, -1, -1, -1]),  # two nodes that nothing reaches
        ([1, 2, -1, -1, -1], [9, 3, -1, -1, -1]),  # a child that is not there
        ([1, 2, -1, -1, -1], [4, -1, -1, -1, -1]),  # one child alone
        ([0, 2, -1, -1, -1], [4, 3, -1, -1, -1]),  # its own child
    ],
)
def test_nodes_must_be_in_preorder_and_reached(tree, left, right):
    with pytest.raises(ValueError, match="must be in pre-order"):
        replace(tree, left=np.array(left), right=np.array(right))


def test_a_split_must_be_one_of_its_column(tree):
    with pytest.raises(ValueError, match=r"'feature' of node 0 .* must be a column from 0 to 1"):
        replace(tree, feature=changed(tree.feature, 0, 2))
    with pytest.raises(ValueError, match=r"Node 1 .* column 'b': a nominal column needs"):
        replace(tree, category=changed(tree.category, 1, 3))
    with pytest.raises(ValueError, match=r"Node 0 .* column 'a'.* any other a threshold"):
        replace(tree, threshold=changed(tree.threshold, 0, np.nan))
    missing = (COLUMNS[0], COLUMNS[1].with_missing(True))
    assert replace(tree, columns=missing, category=changed(tree.category, 1, 3)).category[1] == 3


def test_arrays_have_an_entry_for_each_node(tree):
    with pytest.raises(ValueError, match="one entry for each node"):
        replace(tree, rows=tree.rows[:-1])
    with pytest.raises(ValueError, match="a column for each of the 2 classes"):
        replace(tree, classes=np.array(["x", "y"]))
    structure = ("feature", "threshold", "category", "missing_left", "left", "right", "rows")
    nothing = dict.fromkeys(structure, np.empty(0))
    with pytest.raises(ValueError, match="at least 1"):
        Tree(**nothing, counts=np.empty((0, 1)), columns=COLUMNS, classes=["x"])


def test_what_the_rows_were_stays_known(tree):
    assert (tree.weighted, tree.counted) == (False, True)
    light = replace(tree, counts=tree.counts / 3, weighted=True, counted=False)
    small = light.collapsed([1])
    assert (small.weighted, small.counted) == (True, False)


def test_repr_is_one_line(tree):
    assert repr(tree) == "<Tree: 3 leaves, depth 2, 2 columns, 3 classes>"
    assert repr(tree.collapsed([0])) == "<Tree: 1 leaf, depth 0, 2 columns, 3 classes>"


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=25)
def test_every_pruning_counts_as_its_own_rows_do(seed):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=60).round(1), rng.integers(0, 3, 60)])
    y, weight = rng.integers(0, 3, 60), rng.random(60)
    for weights in (None, weight):
        tree = grow_coded(X, y, COLUMNS, range(3), sample_weight=weights)
        inner = np.flatnonzero(~tree.is_leaf)
        small = tree.collapsed(rng.choice(inner, min(3, len(inner)), replace=False))
        again = small.recounted(coded_sample(X, y, COLUMNS, range(3), weights))
        np.testing.assert_allclose(small.counts, again.counts, rtol=1e-9)
        np.testing.assert_array_equal(small.rows, again.rows)
        assert small.weighted == again.weighted


@pytest.mark.parametrize("nodes", [[-1], [99], [0, 5]])
def test_collapsing_nodes_that_do_not_exist_is_refused(tree, nodes):
    with pytest.raises(ValueError, match=f"nodes from 0 to {tree.n_nodes - 1}. Got {nodes[-1]}"):
        tree.collapsed(nodes)
