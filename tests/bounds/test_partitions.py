"""Partitioning functions: every theorem against stored values, the oracle and each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from theory_support import (
    THEOREMS,
    applies,
    balanced,
    case,
    chain,
    count_realizable,
    landscapes,
    samples,
    shapes,
    tree_theorems,
    vectors,
)

from treebound import Landscape, TreeShape, bounds
from treebound.bounds import counting
from treebound.bounds.partitioning import one_feature_partitions

MIXED = Landscape(2, (3,), (4,))
ROWS = vectors("pi")


def rows_with(key: str) -> list[dict]:
    return [row for row in ROWS if key in row["ub"]]


@pytest.mark.parametrize("key", THEOREMS)
def test_each_theorem_equals_the_stored_value_of_its_name(key):
    rows = rows_with(key)
    assert rows
    for row in rows:
        shape, landscape = case(row)
        computed = THEOREMS[key](shape, row["c"], row["m"], landscape)
        assert computed == row["ub"][key], row


def test_least_bound_lies_between_exact_value_and_every_stored_bound():
    for row in ROWS:
        shape, landscape = case(row)
        computed = bounds.partitions(shape, row["c"], row["m"], landscape)
        assert row["exact_pi_trivial"] <= computed <= min(row["ub"].values()), row


@settings(max_examples=150)
@given(samples(), shapes(5), st.integers(1, 5))
def test_every_bound_holds_on_any_sample(sample, shape, c):
    X, kinds, landscape = sample
    made = count_realizable(X, kinds, shape, c)
    assert made <= bounds.partitions(shape, c, len(X), landscape)
    for name, theorem in THEOREMS.items():
        if applies(name, landscape):
            assert made <= theorem(shape, c, len(X), landscape), name


@settings(max_examples=150)
@given(shapes(6), st.integers(1, 6), st.integers(1, 12), landscapes(undeclared=True))
def test_least_bound_is_no_more_than_any_theorem(shape, c, m, landscape):
    least = bounds.partitions(shape, c, m, landscape)
    assert 0 <= least <= counting.stirling(m, c)
    for name, theorem in THEOREMS.items():
        if applies(name, landscape):
            assert least <= theorem(shape, c, m, landscape), name


@given(shapes(6), st.integers(1, 6), st.integers(1, 12), landscapes(undeclared=True))
def test_corrected_forms_are_ordered(shape, c, m, landscape):
    by_size = tree_theorems["by-size"](shape, c, m, landscape)
    assert tree_theorems["within-budget"](shape, c, m, landscape) <= by_size
    assert by_size <= tree_theorems["mixture"](shape, c, m, landscape)


@given(shapes(6), st.integers(1, 6), st.integers(1, 15), st.integers(1, 4))
def test_ordinal_features_do_no_more_than_real_ones(shape, c, m, count):
    landscape = Landscape(ordinal=(m + 1,) * count)
    simple = tree_theorems["ordinal-by-count"](shape, c, m, landscape)
    assert tree_theorems["ordinal-by-size"](shape, c, m, landscape) <= simple
    assert tree_theorems["real"](shape, c, m, Landscape(real=count)) <= simple


class TestRulesInOrder:
    """c > min(m, leaves) gives 0, then c = 1 gives 1, then nothing to test on 0, then c = m 1."""

    functions = pytest.mark.parametrize(
        "function",
        [bounds.partitions, tree_theorems["by-size"], tree_theorems["fast"]],
    )

    @functions
    def test_more_parts_than_examples_or_leaves(self, function):
        shape = TreeShape.parse("((..).)")
        assert function(shape, 4, 10, MIXED) == 0
        assert function(shape, 3, 2, MIXED) == 0
        assert function(shape, 2, 1, Landscape()) == 0

    @functions
    def test_one_part(self, function):
        assert function(TreeShape.leaf(), 1, 5, MIXED) == 1
        assert function(balanced(2), 1, 5, Landscape()) == 1

    @functions
    def test_no_informative_feature(self, function):
        assert function(balanced(2), 2, 2, Landscape()) == 0
        assert function(balanced(2), 2, 5, Landscape(ordinal=(1,), nominal=(1, 1))) == 0

    @functions
    def test_as_many_parts_as_examples(self, function):
        assert function(balanced(2), 4, 4, Landscape(real=1)) == 1
        assert function(balanced(2), 3, 3, MIXED) == 1

    def test_the_fast_form_follows_the_same_rules(self):
        shape = balanced(2)
        assert tree_theorems["fast"](shape, 5, 10, MIXED) == 0
        assert tree_theorems["fast"](shape, 1, 10, Landscape()) == 1
        assert tree_theorems["fast"](shape, 2, 10, Landscape()) == 0
        assert tree_theorems["fast"](shape, 3, 3, MIXED) == 1


@pytest.mark.parametrize("name", ["m", "c"])
@pytest.mark.parametrize("bad", [0, -1, 1.0, True, np.float64(2), "2", None])
@pytest.mark.parametrize("function", [bounds.partitions, bounds.tree_partitions])
def test_counts_must_be_integers_of_at_least_one(function, name, bad):
    arguments = {"c": 2, "m": 5, name: bad}
    message = f"The '{name}' parameter of {function.__name__} must be an int >= 1. Got "
    with pytest.raises(ValueError, match=message):
        function(balanced(2), arguments["c"], arguments["m"], MIXED)


@pytest.mark.parametrize("function", [*THEOREMS.values(), bounds.partitions])
def test_shape_and_landscape_must_be_of_their_types(function):
    with pytest.raises(TypeError, match=r"must be a TreeShape\. Got '\(\.\.\)' instead\. Hint"):
        function("(..)", 2, 5, Landscape(real=1))
    with pytest.raises(TypeError, match=r"must be a Landscape\. Got 10 instead\. Hint"):
        function(balanced(1), 2, 5, 10)


@pytest.mark.parametrize("key", ["real", "ord1", "ord2", "nom1", "nom2"])
def test_a_theorem_for_one_kind_states_it(key):
    with pytest.raises(ValueError, match="features only"):
        THEOREMS[key](balanced(1), 2, 5, MIXED)


def test_a_column_with_one_category_changes_nothing():
    more = Landscape(2, (1, 3), (4, 1))
    for m in range(1, 8):
        assert bounds.partitions(balanced(2), 2, m, more) == bounds.partitions(
            balanced(2), 2, m, MIXED
        )


@given(shapes(5), st.integers(1, 5), st.integers(1, 9), st.integers(0, 2))
def test_an_undeclared_column_is_one_with_a_category_an_example(shape, c, m, real):
    undeclared = bounds.partitions(shape, c, m, Landscape(real, (), (None, 3)))
    assert undeclared == bounds.partitions(shape, c, m, Landscape(real, (), (m + 5, 3)))


@given(shapes(6), st.integers(1, 6), st.integers(1, 12))
def test_one_feature_is_counted_exactly(shape, c, m):
    exact = one_feature_partitions(shape.leaves, c, m)
    real, ordinal = Landscape(real=1), Landscape(ordinal=(m,))
    assert bounds.partitions(shape, c, m, real) == exact
    if m > 1:
        assert bounds.partitions(shape, c, m, ordinal) == exact


@pytest.mark.parametrize("shape", list(TreeShape.enumerate(leaves=4)), ids=str)
@pytest.mark.parametrize("c", [2, 3, 4])
def test_one_feature_is_what_the_oracle_counts(shape, c):
    X = np.arange(6.0)[:, None]
    made = count_realizable(X, ["real"], shape, c)
    assert made == one_feature_partitions(4, c, 6)


def test_deep_shapes_do_not_exhaust_the_stack():
    shape = chain(400)
    landscape = Landscape(real=1, nominal=(3,))
    assert tree_theorems["fast"](shape, 2, 500, landscape) == 2**499 - 1
    assert tree_theorems["fast"](shape, 3, 10**12, landscape) > 10**24
    assert bounds.partitions(shape, 2, 20, landscape) == 2**19 - 1
    assert tree_theorems["by-size"](shape, 2, 20, landscape) == 2**19 - 1


def test_work_is_estimated_for_shapes_of_any_depth():
    landscape = Landscape(2, (5,) * 9, (7,) * 9)
    assert bounds.partitions(chain(1500), 2, 3, landscape) == 3


def test_wide_landscapes_give_a_bound_without_the_sum_over_features():
    landscape = Landscape(3, tuple(range(20, 40)), tuple(range(20, 40)))
    shape = chain(6)
    computed = bounds.partitions(shape, 2, 15, landscape)
    assert computed <= tree_theorems["within-budget"](shape, 2, 15, landscape)


GRID = [
    Landscape(real=1),
    Landscape(real=2),
    Landscape(ordinal=(3,)),
    Landscape(ordinal=(3, 2)),
    Landscape(ordinal=(2, 2, 2)),
    Landscape(nominal=(3,)),
    Landscape(nominal=(4, 2)),
    Landscape(nominal=(2, 2, 1)),
    Landscape(real=1, nominal=(3,)),
    Landscape(real=1, ordinal=(2,), nominal=(2,)),
    Landscape(ordinal=(3,), nominal=(3,)),
]


@pytest.mark.slow
@pytest.mark.parametrize("landscape", GRID, ids=str)
def test_every_theorem_holds_on_the_worst_sample(landscape):
    for shape in (shape for leaves in range(2, 6) for shape in TreeShape.enumerate(leaves)):
        for m in range(2, 6):
            for c in range(2, min(m, shape.leaves) + 1):
                worst = bounds.worst_sample(shape, c, m, landscape, max_samples=3000).count
                assert worst <= bounds.partitions(shape, c, m, landscape)
                for name, theorem in THEOREMS.items():
                    if applies(name, landscape):
                        assert worst <= theorem(shape, c, m, landscape), name
