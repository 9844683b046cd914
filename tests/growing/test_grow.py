"""Rules of growth: ties, limits, thresholds, weights, missing values, threads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import coded_matrix, coded_sample, grow_coded

from treebound.data import Column, Matrix, Sample
from treebound.growing import GrowOptions
from treebound.growing import grow as grow_sample

grow = grow_coded

ARRAYS = ("feature", "threshold", "category", "missing_left", "left", "right", "counts", "rows")


def real(n):
    return [Column(f"x{j}") for j in range(n)]


def nominal(*categories, missing=False):
    return Column("colour", "nominal", categories, missing=missing)


def column(*values):
    return np.array(values, dtype=float)[:, None]


def assert_same(a, b):
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


def mixed_sample(n, seed=0, n_classes=3, missing=0.05):
    """Real columns of many and of few values, ordinal and nominal columns, missing values."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [
            rng.normal(size=n),
            rng.integers(0, 40, size=n) / 7,
            rng.integers(0, 5, size=n),
            rng.integers(0, 30, size=n),
            rng.integers(0, 400, size=n),
        ]
    ).astype(float)
    signal = X[:, 0] + (X[:, 2] == 2) - (X[:, 3] == 11) + 0.01 * X[:, 4] + rng.normal(size=n)
    y = np.digitize(signal, np.quantile(signal, np.arange(1, n_classes) / n_classes))
    X[rng.random(X.shape) < missing] = np.nan
    columns = (
        Column("a"),
        Column("b"),
        Column("c", "ordinal", tuple(range(5))),
        Column("d", "nominal", tuple(range(30))),
        Column("e", "ordinal", tuple(range(400))),
    )
    return X, y, columns, rng


# -- splits --------------------------------------------------------------------------------


def test_nominal_split_tries_every_category_the_last_one_too():
    X = column(0, 1, 2, 0, 1, 2)
    tree = grow(X, np.array([0, 0, 1, 0, 0, 1]), [nominal("a", "b", "c")], [0, 1])
    assert tree.n_leaves == 2
    assert tree.category[0] == 2


def test_missing_is_a_category_of_a_nominal_column():
    X = column(0, np.nan, 1, np.nan)
    tree = grow(X, np.array([0, 1, 0, 1]), [nominal("a", "b")], [0, 1])
    assert tree.category[0] == 2
    assert tree.missing_left[0]
    assert tree.columns[0].missing


@pytest.mark.parametrize("kind", ["real", "ordinal"])
def test_missing_against_present_is_a_test(kind):
    X = column(0, 1, np.nan, np.nan)
    tree = grow(X, np.array([0, 0, 1, 1]), [Column("x", kind, tuple(range(3)))], [0, 1])
    assert tree.threshold[0] == np.inf
    assert not tree.missing_left[0]
    assert tree.n_leaves == 2


@pytest.mark.parametrize(("y", "side"), [([0, 0, 1, 1, 0], True), ([0, 0, 1, 1, 1], False)])
def test_missing_goes_to_the_side_that_gains_more(y, side):
    X = column(1, 2, 3, 4, np.nan)
    tree = grow(X, np.array(y), real(1), [0, 1], max_leaves=2)
    assert tree.threshold[0] == 2.5
    assert tree.missing_left[0] == side


@pytest.mark.parametrize(("values", "side"), [((1, 2, 3), False), ((1, 2, 3, 4), True)])
def test_never_missing_goes_to_the_heavier_child_left_on_a_tie(values, side):
    y = np.array([0] * (len(values) // 2) + [1] * (len(values) - len(values) // 2))
    tree = grow(column(*values), y, real(1), [0, 1])
    assert tree.missing_left[0] == side


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (1.0, np.nextafter(1.0, 2.0)),
        (-5e-324, 0.0),
        (0.0, 5e-324),
        (-1.7e308, 1.7e308),
        (1.6e308, 1.7e308),
        (-np.inf, 3.0),
        (3.0, np.inf),
        (-np.inf, np.inf),
    ],
)
def test_threshold_separates_neighbours_even_adjacent_floats(low, high):
    tree = grow(column(low, high), np.array([0, 1]), real(1), [0, 1])
    assert low <= tree.threshold[0] < high
    np.testing.assert_array_equal(tree.apply(coded_matrix(column(low, high), real(1))), [1, 2])


def test_the_two_zeros_are_one_value():
    tree = grow(column(0.0, -0.0, 0.0, -0.0), np.array([0, 1, 0, 1]), real(1), [0, 1])
    assert tree.n_leaves == 1


def test_ordinal_thresholds_are_ranks():
    X = column(0, 1, 4, 4)
    tree = grow(X, np.array([0, 0, 1, 1]), [Column("x", "ordinal", tuple("abcde"))], [0, 1])
    assert tree.threshold[0] == 2.0


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_a_gain_of_zero_is_taken_as_exclusive_or_needs_it(criterion):
    rng = np.random.default_rng(0)
    X = np.array([[a, b] for a in range(4) for b in range(4)] * 5, dtype=float)
    y = ((X[:, 0] > 1) ^ (X[:, 1] > 1)).astype(int)
    order = rng.permutation(len(y))
    tree = grow(X[order], y[order], real(2), [0, 1], criterion=criterion)
    assert tree.errors == 0
    assert (np.count_nonzero(tree.counts[~tree.is_leaf], axis=1) > 1).all()


@pytest.mark.parametrize("options", [
    {"criterion": "misclassification"}, {"growth_order": "impurity"},
])  # fmt: skip
def test_elsewhere_a_split_must_gain(options):
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=float)
    assert grow(X, np.array([0, 1, 1, 0]), real(2), [0, 1], **options).n_leaves == 1


@pytest.mark.parametrize("n", [3, 7, 13, 101, 1009])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_a_gain_of_zero_is_one_whatever_the_rounding(n, criterion):
    """Both values of the only column have the same share of each class, but for a remainder."""
    X = column(*[0.0] * (3 * n), *[1.0] * (6 * n))
    y = np.array([0, 0, 1] * (3 * n))
    tree = grow(X, y, real(1), [0, 1], criterion=criterion)
    assert tree.n_leaves == 2
    assert grow(X, y, real(1), [0, 1], criterion=criterion, growth_order="impurity").n_leaves == 1


def test_identical_rows_of_two_classes_are_not_split():
    assert grow(np.ones((6, 2)), np.array([0, 1] * 3), real(2), [0, 1]).n_nodes == 1


# -- ties ----------------------------------------------------------------------------------


def test_ties_go_to_the_first_column_and_the_lowest_threshold():
    X = np.array([[5, 0], [6, 1], [7, 2], [8, 3]], dtype=float)
    tree = grow(X, np.array([0, 1, 1, 0]), real(2), [0, 1], max_leaves=2)
    assert tree.feature[0] == 0
    assert tree.threshold[0] == 5.5


def test_ties_go_to_the_lowest_category():
    tree = grow(column(2, 1, 0), np.array([0, 1, 2]), [nominal("a", "b", "c")], range(3))
    assert tree.category[0] == 0


def test_ties_between_leaves_go_to_the_older_one():
    """Both children of the root gain the same; only the left one, made first, is expanded."""
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=float).repeat([4, 3, 4, 3], axis=0)
    y = np.array([0, 1, 2, 3]).repeat([4, 3, 4, 3])
    tree = grow(X, y, real(2), range(4), max_leaves=3)
    np.testing.assert_array_equal(tree.is_leaf, [False, False, True, True, True])


# -- the same tree -------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["gini", "entropy", "misclassification"])
@pytest.mark.parametrize("weighted", [False, True])
def test_threads_do_not_show_in_the_tree(criterion, weighted):
    X, y, columns, rng = mixed_sample(40_000)
    X = np.column_stack([X, X[:, 0]])  # a copy of the first column ties with it everywhere
    columns = (*columns, Column("f"))
    weight = rng.random(len(y)) if weighted else None
    kwargs = {"sample_weight": weight, "criterion": criterion, "max_leaves": 60}
    trees = [grow(X, y, columns, range(3), n_jobs=n, **kwargs) for n in (1, 2, 3)]
    for tree in trees[1:]:
        assert_same(trees[0], tree)
    assert trees[0].n_leaves > 5
    assert 5 not in trees[0].feature


@pytest.mark.parametrize("criterion", ["gini", "entropy", "misclassification"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_order_of_rows_does_not_show_in_the_tree(criterion, weighted):
    X, y, columns, rng = mixed_sample(1500)
    weight = rng.random(len(y)) if weighted else np.ones(len(y))
    tree = grow(X, y, columns, range(3), sample_weight=weight, criterion=criterion)
    order = rng.permutation(len(y))
    other = grow(
        X[order], y[order], columns, range(3), sample_weight=weight[order], criterion=criterion
    )
    assert_same(tree, other)


@pytest.mark.parametrize("max_leaves", [None, 5])
def test_memory_layout_does_not_show_in_the_tree(max_leaves):
    X, y, columns, _ = mixed_sample(700)
    tree = grow(X, y, columns, range(3), max_leaves=max_leaves)
    assert_same(tree, grow(np.asfortranarray(X), y, columns, range(3), max_leaves=max_leaves))
    wide = np.repeat(X, 2, axis=1)[:, ::2]
    assert_same(tree, grow(wide, y, columns, range(3), max_leaves=max_leaves))


@pytest.mark.parametrize("crossing", [1, 2**62], ids=["histograms", "sorted"])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_a_class_without_rows_does_not_show_in_the_tree(criterion, crossing):
    """The loops for two classes and those for many have the same criterion."""
    X, y, columns, _ = mixed_sample(3000, n_classes=2)
    options = GrowOptions(criterion, max_leaves=60)
    two, three = (
        grow_sample(coded_sample(X, y, columns, classes, None), options, crossing=crossing)
        for classes in ([0, 1], [0, 1, 2])
    )
    for name in ARRAYS:
        of_three = getattr(three, name)[:, :2] if name == "counts" else getattr(three, name)
        np.testing.assert_array_equal(getattr(two, name), of_three, err_msg=name)


def test_the_first_expansions_are_the_same_with_and_without_a_limit():
    X, y, columns, _ = mixed_sample(400)
    full = grow(X, y, columns, range(3))
    assert_same(full, grow(X, y, columns, range(3), max_leaves=full.n_leaves))
    assert_same(full, grow(X, y, columns, range(3), max_leaves=10**6))


# -- weights -------------------------------------------------------------------------------


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["gini", "entropy", "misclassification"]),
    st.sampled_from(["gain", "impurity"]),
)
@settings(max_examples=40)
def test_integer_weights_repeat_and_zero_leaves_out(seed, criterion, growth_order):
    X, y, columns, rng = mixed_sample(120, seed)
    weight = rng.integers(0, 4, size=len(y))
    kwargs = {
        "criterion": criterion, "growth_order": growth_order, "max_leaves": 12,
    }  # fmt: skip
    tree = grow(X, y, columns, range(3), sample_weight=weight, **kwargs)
    repeated = grow(X.repeat(weight, axis=0), y.repeat(weight), columns, range(3), **kwargs)
    for name in ARRAYS[:-1]:  # a repeated row counts once in ``rows``
        np.testing.assert_array_equal(getattr(tree, name), getattr(repeated, name))
    positive = weight > 0
    dropped = grow(
        X[positive], y[positive], columns, range(3), sample_weight=weight[positive], **kwargs
    )
    assert_same(tree, dropped)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "misclassification"])
@pytest.mark.parametrize("factor", [0.1, 1 / 3, 1e-9, 1e9, 2.0**40])
def test_the_unit_of_the_weights_does_not_show_in_the_tests(criterion, factor):
    X, y, columns, rng = mixed_sample(300, 5)
    weight = rng.integers(1, 4, size=len(y)).astype(float)
    tree = grow(X, y, columns, range(3), sample_weight=weight, criterion=criterion)
    other = grow(X, y, columns, range(3), sample_weight=weight * factor, criterion=criterion)
    for name in ("feature", "threshold", "category", "missing_left", "rows"):
        np.testing.assert_array_equal(getattr(tree, name), getattr(other, name))
    np.testing.assert_allclose(other.counts, tree.counts * factor, rtol=1e-12)


def test_a_light_row_still_counts():
    tree = grow(column(0, 1), np.array([0, 1]), real(1), [0, 1], sample_weight=[1.0, 1e-300])
    assert tree.n_nodes >= 1
    assert tree.rows[0] == 2


# -- limits --------------------------------------------------------------------------------


@pytest.mark.parametrize("growth_order", ["gain", "impurity"])
def test_growth_ends_with_no_training_error(growth_order):
    X, y, columns, _ = mixed_sample(500, missing=0.0)
    tree = grow(X, y, columns, range(3), growth_order=growth_order)
    assert tree.errors == 0
    assert (np.count_nonzero(tree.counts[tree.is_leaf], axis=1) == 1).all()
    assert (np.count_nonzero(tree.counts[~tree.is_leaf], axis=1) > 1).all()


def test_limits_are_kept():
    X, y, columns, _ = mixed_sample(600)
    tree = grow(
        X, y, columns, range(3), max_leaves=20, max_depth=5, min_samples_leaf=9,
    )  # fmt: skip
    assert tree.n_leaves <= 20
    assert tree.depth <= 5
    assert tree.rows[tree.is_leaf].min() >= 9


def test_one_leaf_and_one_class():
    X, y, columns, _ = mixed_sample(50)
    assert grow(X, y, columns, range(3), max_leaves=1).n_nodes == 1
    assert grow(X, np.zeros(50, dtype=int), columns, [7]).n_nodes == 1
    assert grow(np.empty((3, 0)), np.array([0, 1, 1]), [], [0, 1]).n_nodes == 1


def test_the_impurity_order_expands_the_leaf_with_the_purest_children():
    """A small leaf that becomes pure comes before a large one that gains more (ERRATA 15)."""
    X = np.array([[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 0, 1]], dtype=float)
    X = X.repeat([50, 50, 12, 12], axis=0)
    y = np.array([0, 1, 1, 0, 2, 3]).repeat([38, 12, 38, 12, 12, 12])
    by_gain = grow(X, y, real(3), range(4), max_leaves=3)
    by_impurity = grow(X, y, real(3), range(4), max_leaves=3, growth_order="impurity")
    np.testing.assert_array_equal(by_gain.rows, [124, 100, 50, 50, 24])
    np.testing.assert_array_equal(by_impurity.rows, [124, 100, 24, 12, 12])


# -- what was given ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"criterion": "squares"}, "'criterion' parameter"),
        ({"growth_order": "depth"}, "'growth_order' parameter"),
        ({"max_leaves": 0}, "'max_leaves' parameter of GrowOptions must be an int >= 1 or None"),
        ({"max_depth": 1.5}, "'max_depth' parameter"),
        ({"min_samples_leaf": 0}, "'min_samples_leaf' parameter"),
        ({"thresholds": "round"}, "'thresholds' parameter"),
        ({"n_jobs": 0}, "'n_jobs' parameter"),
    ],
)
def test_a_wrong_option_is_named(options, words):
    with pytest.raises(ValueError, match=words):
        GrowOptions(**options)


def test_values_may_be_anywhere_in_memory():
    """Floats that do not begin at a multiple of eight bytes, as in records and files."""
    rng = np.random.default_rng(0)
    values, y = rng.normal(size=200), rng.integers(0, 2, 200).astype(np.int32)
    records = np.zeros(200, dtype=[("flag", np.int8), ("x", np.float64)])
    records["x"] = values
    trees = [
        grow_sample(Sample(Matrix((Column("x"),), (x,)), y, None, np.arange(2)))
        for x in (values, records["x"])
    ]
    assert_same(*trees)


def test_progress_is_reported_when_the_tree_is_grown():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    states = []
    tree = grow_sample(Sample.learn(X, X[:, 0] > X[:, 1]), progress=states.append)
    last = states[-1]
    assert (last.leaves, last.done, last.total) == (tree.n_leaves, 200, 200)


@pytest.mark.heavy
def test_progress_is_reported_while_a_large_tree_grows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400_000, 20)), rng.integers(0, 2, 400_000)
    states = []
    tree = grow_sample(Sample.learn(X, y), progress=states.append)
    assert [state.leaves for state in states] == sorted(state.leaves for state in states)
    assert len(states) > 1
    assert all(0 <= state.done < state.total == 400_000 for state in states[:-1])
    assert states[-1].leaves == tree.n_leaves
