"""The oracle: two ways that agree, counted by hand, by vectors and against Stirling numbers."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from theory_support import count_realizable

from treebound import TreeShape
from treebound.bounds import enumerate as oracle
from treebound.bounds import realizable_partitions
from treebound.bounds.counting import stirling
from treebound.bounds.enumerate import realizable_growth

TEXTS = (".", "(..)", "((..).)", "((..)(..))", "(((..).).)")
SHAPES = [TreeShape.parse(text) for text in TEXTS]
KINDS = ("real", "ordinal", "nominal")


@st.composite
def samples(draw, rows=5, columns=2):
    m = draw(st.integers(1, rows))
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=columns))
    value = st.integers(0, 3)
    X = draw(st.lists(st.tuples(*[value] * len(kinds)), min_size=m, max_size=m))
    return np.array(X, dtype=float), kinds


def by_rules(X, kinds, shape, c, *, categories=None):
    """The definition itself: a rule and a sign for each node, a label for each leaf.

    With the number of declared categories exactly the rule sets of the paper; without them a node
    may also send all rows to one side.
    """
    table = np.asarray(X)
    rules = {tuple(rule) for rule in rule_values(table, kinds, categories or [None] * len(kinds))}
    if categories is None:
        rules.add((True,) * len(table))
    signed = sorted(rules | {tuple(not yes for yes in rule) for rule in rules})
    reached = {
        leaves_reached(shape, chosen, len(table)) for chosen in product(signed, repeat=shape.nodes)
    }
    labellings = list(product(range(c), repeat=shape.leaves))
    partitions = set()
    for leaves in reached:
        for labels in labellings:
            parts = {}
            for row, leaf in enumerate(leaves):
                parts.setdefault(labels[leaf], []).append(row)
            if len(parts) == c:
                partitions.add(tuple(sorted(tuple(rows) for rows in parts.values())))
    return partitions


def rule_values(table, kinds, codes):
    """The value of every rule of every column at each row."""
    for values, kind, count in zip(table.T, kinds, codes, strict=True):
        observed = sorted(set(values.tolist()))
        levels = observed if count is None else list(range(count))
        if kind == "nominal":
            yield from ([v == level for v in values] for level in levels)
        else:
            yield from ([v <= level for v in values] for level in levels[:-1])
        if kind == "real":
            yield [True] * len(values)


def leaves_reached(shape, chosen, m):
    """The leaf each row falls into, with the rules of the nodes in pre-order."""
    leaf_of = [0] * m
    stack = [(shape, list(range(m)), 0, 0)]  # shape, rows, its first node, its first leaf
    while stack:
        at, rows, node, leaf = stack.pop()
        if at.left is None or at.right is None:
            for row in rows:
                leaf_of[row] = leaf
            continue
        rule = chosen[node]
        left = [row for row in rows if rule[row]]
        right = [row for row in rows if not rule[row]]
        stack.append((at.left, left, node + 1, leaf))
        stack.append((at.right, right, node + 1 + at.left.nodes, leaf + at.left.leaves))
    return tuple(leaf_of)


@settings(max_examples=60)
@given(samples(rows=4), st.sampled_from(SHAPES[:4]), st.integers(1, 4))
def test_both_ways_find_the_same_partitions(sample, shape, c):
    X, kinds = sample
    assert realizable_partitions(X, kinds, shape, c) == by_rules(X, kinds, shape, c)


@settings(max_examples=40)
@given(samples(rows=5, columns=1), st.integers(2, 4))
def test_both_ways_agree_on_a_chain_of_four_leaves(sample, c):
    X, kinds = sample
    assert realizable_partitions(X, kinds, SHAPES[4], c) == by_rules(X, kinds, SHAPES[4], c)


@given(samples(rows=7, columns=3), st.sampled_from(SHAPES), st.integers(1, 5))
def test_what_is_found_are_partitions(sample, shape, c):
    X, kinds = sample
    for parts in realizable_partitions(X, kinds, shape, c):
        assert len(parts) == c
        assert sorted(row for part in parts for row in part) == list(range(len(X)))
        assert [part[0] for part in parts] == sorted(part[0] for part in parts)


@given(samples(rows=7, columns=3), st.sampled_from(SHAPES), st.integers(1, 5))
def test_counting_is_the_size_of_the_set(sample, shape, c):
    X, kinds = sample
    columns = zip(X.T, kinds, strict=True)
    tests = {0}.union(*(oracle.column_tests(x, kind) for x, kind in columns))
    count = count_realizable(X, kinds, shape, c)
    assert oracle.count_masks(tests, len(X), shape, c) == count <= stirling(len(X), c)


@given(samples(rows=6, columns=3), st.sampled_from(SHAPES))
def test_two_parts_agree_with_the_general_recursion(sample, shape):
    X, kinds = sample
    m = len(X)
    tests = {0}.union(*(oracle.column_tests(x, k) for x, k in zip(X.T, kinds, strict=True)))
    general = oracle._Partitions(tests, 2).of(shape, (1 << m) - 1)
    assert oracle.partition_masks(tests, m, shape, 2) == {p for p in general if len(p) == 2}


@given(samples(rows=6, columns=2), st.sampled_from(SHAPES[1:4]))
def test_many_rows_are_enumerated_without_tables(sample, shape):
    X, kinds = sample
    copies = np.vstack([X] * 5)  # identical rows are never separated
    if len(copies) > oracle._TABLE_ROWS:
        assert count_realizable(copies, kinds, shape, 2) == count_realizable(X, kinds, shape, 2)


@given(samples(rows=5, columns=2), st.sampled_from(SHAPES), st.integers(1, 4))
def test_labellings_are_partitions_times_labels(sample, shape, n_classes):
    X, kinds = sample
    counts = [len(realizable_partitions(X, kinds, shape, c)) for c in range(1, n_classes + 1)]
    ways = [n_classes, n_classes * (n_classes - 1), 0, 0]
    ways[2] = ways[1] * (n_classes - 2)
    ways[3] = ways[2] * (n_classes - 3)
    expected = sum(w * count for w, count in zip(ways, counts, strict=False))
    assert realizable_growth(X, kinds, shape, n_classes) == expected


@given(samples(rows=6), st.sampled_from(SHAPES[1:]), st.integers(2, 4), st.randoms())
def test_order_of_rows_and_monotone_changes_do_not_matter(sample, shape, c, random):
    X, kinds = sample
    rows = list(range(len(X)))
    random.shuffle(rows)
    changed = np.exp(X[rows]) * [1 if kind == "nominal" else -1 for kind in kinds]
    assert count_realizable(X, kinds, shape, c) == count_realizable(changed, kinds, shape, c)


def test_one_real_feature_cuts_between_neighbours():
    X = np.arange(6.0)[:, None]
    assert count_realizable(X, ["real"], SHAPES[1], 2) == 5
    # Two cuts, outer parts alike or all three different.
    assert count_realizable(X, ["real"], SHAPES[2], 2) == 5 + 10
    assert count_realizable(X, ["real"], SHAPES[2], 3) == 10


def test_erratum_10_one_sided_root_tests_realize_more_than_proper_splits():
    # Columns 0 and 1 have two categories each; column 2 declares two and shows one.
    X = np.array([[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0]])
    shape = TreeShape.parse("(((..)(..)).)")
    kinds = ["nominal"] * 3
    true = [count_realizable(X, kinds, shape, c) for c in (2, 3, 4)]
    letter = [len(by_rules(X, kinds, shape, c, categories=[2, 2, 2])) for c in (2, 3, 4)]
    assert true == letter == [7, 6, 1]
    # Without the third column every test is a proper split of these rows.
    proper = [len(by_rules(X[:, :2], kinds[:2], shape, c, categories=[2, 2])) for c in (2, 3, 4)]
    assert proper == [6, 4, 0]


def test_nominal_values_may_be_words():
    X = np.array([["red"], ["green"], ["blue"], ["red"]], dtype=object)
    partitions = realizable_partitions(X, ["nominal"], SHAPES[1], 2)
    assert sorted(partitions) == [((0, 1, 3), (2,)), ((0, 2, 3), (1,)), ((0, 3), (1, 2))]


def test_without_columns_only_the_whole_sample_remains():
    X = np.empty((3, 0))
    assert realizable_partitions(X, [], SHAPES[2], 1) == {((0, 1, 2),)}
    assert count_realizable(X, [], SHAPES[2], 2) == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": [1, 2]}, r"'X' .* shape \(m, d\)"),
        ({"X": np.empty((0, 1))}, r"'X' .* m >= 1"),
        ({"X": [[np.nan], [1.0]]}, r"no missing values. Got nan in row 0, column 0"),
        ({"kinds": ["real", "real"]}, r"'kinds' .* each of the 1 columns"),
        ({"kinds": "r"}, r"'kinds' .* each of the 1 columns"),
        ({"kinds": ["binary"]}, r"'kinds' .* Got 'binary' for column 0"),
        ({"c": 0}, r"'c' .* int >= 1"),
    ],
)
def test_wrong_arguments_are_named(change, message):
    arguments = {"X": [[0.0], [1.0]], "kinds": ["real"], "shape": SHAPES[1], "c": 2} | change
    with pytest.raises(ValueError, match=message):
        realizable_partitions(**arguments)


def test_shape_must_be_a_shape():
    with pytest.raises(TypeError, match="'shape' parameter of realizable_partitions"):
        realizable_partitions([[0.0]], ["real"], "(..)", 1)
