"""A message and a multiset of rows determine the tree: the lemma of the compression certificate."""

from dataclasses import replace
from itertools import combinations_with_replacement, product
from math import exp, log, pi

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from messages import choices_of, decode, encode, prediction, random_matrix

from treebound.certificate.training import _by_compression, _log_splits
from treebound.data import Column, Matrix, Sample
from treebound.growing import GrowOptions, grow
from treebound.pruning import merge_equal_leaves
from treebound.tree.model import Tree
from treebound.tree.naming import naming_rows, needs_name, row_keys

LETTERS = tuple("abcde")
COLUMNS = {
    "real": Column("real"),
    "real, missing": Column("real", missing=True),
    "nominal": Column("nominal", "nominal", LETTERS),
    "nominal, missing": Column("nominal", "nominal", LETTERS, missing=True),
    "nominal, declared": Column("nominal", "nominal", LETTERS, declared=True),
    "nominal, declared, missing": Column("n", "nominal", LETTERS, declared=True, missing=True),
    "two categories": Column("two", "nominal", LETTERS[:2], declared=True),
    "one category, missing": Column("one", "nominal", ("a",), declared=True, missing=True),
    "ordinal": Column("ordinal", "ordinal", LETTERS),
    "ordinal, missing": Column("ordinal", "ordinal", LETTERS, missing=True),
    "ordinal, declared": Column("ordinal", "ordinal", LETTERS, declared=True),
    "ordinal, declared, missing": Column("o", "ordinal", LETTERS, declared=True, missing=True),
}


def grown_tree(rng, rows, columns, n_classes, **options):
    """A tree on random rows, and some of its inner nodes made leaves."""
    y = rng.integers(0, n_classes, rows).astype(np.int32)
    sample = Sample(random_matrix(rng, rows, columns), y, None, np.arange(n_classes))
    tree = grow(sample, GrowOptions(thresholds="observed", **options))
    inner = np.flatnonzero(~tree.is_leaf)
    cut = inner[rng.random(len(inner)) < 0.15]
    topmost = [n for n in cut if not any(a < n < a + tree.size[a] for a in cut)]
    return merge_equal_leaves(tree.collapsed(topmost)), sample


@settings(max_examples=150)
@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(1, 40),
    kinds=st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=4),
    n_classes=st.integers(1, 3),
    criterion=st.sampled_from(["gini", "entropy", "misclassification"]),
)
def test_the_decoder_gives_the_tree_back(seed, rows, kinds, n_classes, criterion):
    rng = np.random.default_rng(seed)
    columns = tuple(COLUMNS[kind] for kind in kinds)
    tree, sample = grown_tree(rng, rows, columns, n_classes, criterion=criterion)
    message, names = encode(tree, sample)
    # Only the named rows are left to look at.
    hidden = random_matrix(rng, rows, columns)
    for column, values in zip(sample.X.values, hidden.values, strict=True):
        values[names] = column[names]
    decoded = decode(message, sorted(names), columns, hidden, row_keys(hidden))
    new = random_matrix(rng, 200, columns, unknown=True)
    for matrix in (sample.X, new):
        predicted = [prediction(decoded, matrix, row) for row in range(matrix.n_rows)]
        np.testing.assert_array_equal(predicted, tree.label[tree.apply(matrix)])


@settings(max_examples=50)
@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(2, 40),
    kinds=st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=4),
)
def test_the_certificate_pays_for_every_choice_of_the_message(seed, rows, kinds):
    rng = np.random.default_rng(seed)
    columns = tuple(COLUMNS[kind] for kind in kinds)
    tree, sample = grown_tree(rng, rows, columns, 2)
    message, names = encode(tree, sample)
    assert needs_name(tree).sum() == len(names)
    assert tree.names[needs_name(tree)].tolist() == [n for n in tree.names.tolist() if n >= 0]
    assert exp(_log_splits(tree, needs_name(tree))) == pytest.approx(choices_of(message))
    assert _by_compression(tree, int(tree.errors), 0.05).named_rows == len(set(names))


def test_the_multiset_alone_does_not_determine_an_undeclared_category():
    # "a, else b" and "b, else a" have the same shape, columns, labels and names.
    column = COLUMNS["nominal"]
    matrix = random_matrix(np.random.default_rng(0), 3, (column,))
    matrix.values[0][:] = [0, 1, 2]
    leaf = [("leaf", label) for label in (0, 1, 0)]
    trees = [
        decode((0, (first, 2), leaf[0], (0, (0, 1), *leaf[1:])), [0, 1], (column,), matrix, [0, 1])
        for first in (0, 1)
    ]
    predicted = [[prediction(tree, matrix, row) for row in range(3)] for tree in trees]
    assert predicted == [[0, 1, 0], [1, 0, 0]]


def test_an_ordinal_threshold_is_a_training_value_too():
    column = COLUMNS["ordinal"]
    matrix = random_matrix(np.random.default_rng(0), 2, (column,))
    matrix.values[0][:] = [0, 4]
    sample = Sample(matrix, np.array([0, 1], dtype=np.int32), None, np.arange(2))
    tree = grow(sample, GrowOptions(thresholds="observed"))
    assert tree.threshold[0] == 0.0
    assert tree.names.tolist() == [0, -1, -1]
    # Halfway between, no row names it.
    halfway = grow(sample, GrowOptions(thresholds="midpoint"))
    assert halfway.threshold[0] == 2.0
    assert naming_rows(halfway, sample).tolist() == [-1, -1, -1]


def test_thresholds_of_float32_columns_are_decoded():
    rng = np.random.default_rng(0)
    dense = rng.random((60, 2), dtype=np.float32)
    sample = Sample(
        Matrix(tuple(Column(n) for n in "ab"), dense=dense),
        rng.integers(0, 2, 60).astype(np.int32), None, np.arange(2),
    )  # fmt: skip
    tree = grow(sample, GrowOptions(thresholds="observed"))
    assert (tree.names[needs_name(tree)] >= 0).all()
    for node in np.flatnonzero(needs_name(tree)):
        assert dense[tree.names[node], tree.feature[node]] == tree.threshold[node]


# -- the levels of all messages add up to at most one --------------------------------------------


def shapes(leaves, n_classes):
    """Labelled plane trees without two equal sibling leaves: nested pairs of labels."""
    if leaves == 1:
        yield from range(n_classes)
    for size in range(1, leaves):
        for left, right in product(shapes(size, n_classes), shapes(leaves - size, n_classes)):
            if left != right or not isinstance(left, int):
                yield (left, right)


def options_of(column):
    """Every (threshold, category, missing_left) of a column that the code distinguishes."""
    size = len(column.categories or ())
    if column.kind == "nominal":
        ways = 1 if size + column.missing == 2 else size + column.missing
        return (
            [(np.nan, c, False) for c in range(ways)] if column.declared else [(np.nan, 0, False)]
        )
    ranks = range(size - 1) if column.declared else [0]
    if not column.missing:
        return [(float(rank), -1, False) for rank in ranks]
    sided = [(float(rank), -1, side) for rank in ranks for side in (True, False)]
    return [*sided, (np.inf, -1, False)]


def nodes_of(shape, columns):
    """Every assignment of splits to the inner nodes of a shape, as lists of nodes in pre-order."""
    if isinstance(shape, int):
        yield [(-1, np.nan, -1, False, shape, 1)]
        return
    for left, right in product(nodes_of(shape[0], columns), nodes_of(shape[1], columns)):
        for at, column in enumerate(columns):
            for option in options_of(column):
                yield [(at, *option, 0, 1 + len(left) + len(right)), *left, *right]


def as_tree(nodes, columns, n_classes, m):
    feature, threshold, category, missing_left, label, size = (
        np.array(one) for one in zip(*nodes, strict=True)
    )
    inner, places = feature >= 0, np.arange(len(nodes))
    right = np.where(inner, places + 1 + np.append(size, 0)[places + 1], -1)
    counts, node = np.zeros((len(nodes), n_classes)), 0
    counts[0, 0] = m
    while right[node] >= 0:  # all rows go right
        node = right[node]
        counts[node, 0] = m
    return Tree(
        feature=feature, threshold=threshold, category=category, missing_left=missing_left,
        left=np.where(inner, places + 1, -1), right=right, counts=counts,
        rows=counts.sum(axis=1).astype(int), columns=columns, classes=np.arange(n_classes),
        label=label, names=np.full(len(nodes), -1),
    )  # fmt: skip


@pytest.mark.parametrize("leaves", [1, 2, 3])
@pytest.mark.parametrize("kinds", [
    ("real", "nominal"), ("real, missing",), ("nominal, missing", "two categories"),
    ("ordinal, declared, missing",), ("ordinal, missing", "one category, missing"),
])  # fmt: skip
def test_levels_of_all_messages_add_up_to_one(leaves, kinds):
    columns, m = tuple(COLUMNS[kind] for kind in kinds), 4
    total = 0.0
    for shape in shapes(leaves, 2):
        for nodes in nodes_of(shape, columns):
            total += level_of(as_tree(nodes, columns, 2, m), m)
    size_share = 6.0 / (pi * leaves) ** 2
    assert total == pytest.approx(size_share, rel=1e-6)


def level_of(tree, m):
    """Share of delta of a tree's shape, columns and sides, with every multiset of rows.

    The undeclared categories that may be sent are counted, not listed.
    """
    named = needs_name(tree)
    sent = exp(_log_splits(tree, named)) / exp(_log_splits(declared_nominal(tree), named))
    total = 0.0
    for rows in combinations_with_replacement(range(m), int(named.sum())):
        names = np.full(tree.n_nodes, -1)
        names[named] = rows
        total += sent * exp(-_by_compression(replace(tree, names=names), 0, 0.05).log_price)
    return total


def declared_nominal(tree):
    """The tree with one way to send the splits on an undeclared nominal column."""
    columns = tuple(
        replace(c, categories=("a",), declared=True, missing=False)
        if c.kind == "nominal" and not c.declared
        else c
        for c in tree.columns
    )
    return replace(tree, columns=columns)


def test_price_by_hand():
    # Two leaves, one real column of three, two classes, 10 rows: a_2 = 2, one row names.
    column = COLUMNS["real"]
    tree = as_tree([(0, 0.0, -1, False, 0, 3), (-1, np.nan, -1, False, 1, 1),
                    (-1, np.nan, -1, False, 0, 1)], (column,) * 3, 2, 10)  # fmt: skip
    predicted = _by_compression(replace(tree, names=np.array([4, -1, -1])), 0, 0.05)
    assert predicted.log_price == pytest.approx(log(pi**2 * 4 / 6 * 2 * 3 * 10))
    assert predicted.named_rows == 1
