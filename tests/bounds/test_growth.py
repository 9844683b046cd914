"""Growth functions: four forms against stored values, exact sums and the oracle."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from theory_support import (
    balanced,
    case,
    chain,
    landscapes,
    samples,
    shapes,
    tree_theorems,
    vectors,
)

from treebound import Landscape, TreeShape, bounds
from treebound.bounds import _tables
from treebound.bounds import enumerate as oracle
from treebound.bounds._fast import log_fast_growth
from treebound.bounds.splits import cut, features_of, node_budget, node_budget_table

FORMS = ("best", "tight", "chain-sum", "fast", "closed", "chain")
MIXED = Landscape(5, (3, 5), (2, 4, 10))
ROWS = vectors("log_growth")


def log_sum(theorem, shape: TreeShape, m: int, n: int, landscape: Landscape) -> float:
    """``ln sum_c (n)_c pi^c`` in exact integers."""
    most = min(n, m, shape.leaves)
    return math.log(
        sum(math.perm(n, c) * theorem(shape, c, m, landscape) for c in range(1, most + 1))
    )


def closed_form(shape: TreeShape, m: int, n: int, landscape: Landscape) -> float:
    """The closed form of the theory notes in exact arithmetic."""
    value = Fraction(n**shape.leaves * choices(shape.nodes, m, landscape), 2**shape.symmetries)
    return math.log(value.numerator) - math.log(value.denominator)


def choices(nodes: int, m: int, landscape: Landscape) -> int:
    nominal = {1: 0, 2: 1}
    B = 2 * sum(min(o, m) - 1 for o in landscape.ordinal)
    B += 2 * sum(m if n is None else nominal.get(n, min(n, m)) for n in landscape.nominal)
    A = 2 * landscape.real
    return sum(
        math.comb(nodes, j) * A**j * B ** (nodes - j) * math.comb(m - 1, j)
        for j in range(nodes + 1)
    )


@pytest.mark.parametrize("m", sorted({row["m"] for row in ROWS}))
def test_forms_equal_the_stored_values(m):
    for row in (row for row in ROWS if row["m"] == m):
        shape, landscape = case(row)
        n = row["n_classes"]
        total = log_fast_growth(shape, m, n, features_of(landscape), total=True)
        assert bounds.log_growth(shape, m, n, landscape, form="tight") == pytest.approx(
            row["full"], abs=1e-9
        )
        assert bounds.log_growth(shape, m, n, landscape, form="fast") == pytest.approx(
            row["loose_printed"], abs=1e-9
        )
        assert total == pytest.approx(row["loose_total"], abs=1e-9)


@settings(max_examples=80)
@given(shapes(6), st.integers(1, 25), st.integers(1, 7), landscapes(undeclared=True))
def test_tight_and_fast_are_exact_sums_over_parts(shape, m, n, landscape):
    for form, theorem in (
        ("tight", tree_theorems["by-size"]),
        ("fast", tree_theorems["fast"]),
    ):
        exact = log_sum(theorem, shape, m, n, landscape)
        computed = bounds.log_growth(shape, m, n, landscape, form=form)
        assert computed == pytest.approx(exact, rel=1e-9, abs=1e-12), form
    exact = log_sum(tree_theorems["fast-within-budget"], shape, m, n, landscape)
    computed = log_fast_growth(shape, m, n, features_of(landscape), total=True)
    assert computed == pytest.approx(exact, rel=1e-9, abs=1e-12)


@given(shapes(8, least=2), st.integers(2, 60), st.integers(1, 9), landscapes(undeclared=True))
def test_closed_form_is_the_formula(shape, m, n, landscape):
    computed = bounds.log_growth(shape, m, n, landscape, form="closed")
    known = landscape.informative
    if known.n_features == 0:
        assert computed == math.log(n)
    elif known.real == known.n_features and m < shape.leaves:
        assert computed == pytest.approx(m * math.log(n))
    else:
        assert computed == pytest.approx(closed_form(shape, m, n, known), rel=1e-9, abs=1e-12)


@settings(max_examples=150)
@given(shapes(6), st.integers(1, 30), st.integers(1, 6), landscapes(undeclared=True))
def test_best_is_the_least_of_all_forms(shape, m, n, landscape):
    best = bounds.log_growth(shape, m, n, landscape)
    total = log_fast_growth(shape, m, n, features_of(landscape), total=True)
    by_form = [bounds.log_growth(shape, m, n, landscape, form=form) for form in FORMS[1:]]
    assert math.log(n) - 1e-12 <= best <= min(*by_form, total, m * math.log(n)) + 1e-12


def test_every_form_is_at_least_the_exact_growth_function():
    for row in vectors("tau"):
        shape, landscape = case(row)
        for form in FORMS:
            computed = bounds.log_growth(shape, row["m"], row["n_classes"], landscape, form=form)
            assert computed >= math.log(row["exact_tau"]) - 1e-12, (form, row)
        best = bounds.log_growth(shape, row["m"], row["n_classes"], landscape)
        assert best <= row["m"] * math.log(row["n_classes"]) + 1e-12


@settings(max_examples=100)
@given(samples(rows=6), shapes(5), st.integers(1, 4))
def test_every_form_holds_on_any_sample(sample, shape, n):
    X, kinds, landscape = sample
    made = math.log(oracle.realizable_growth(X, kinds, shape, n))
    for form in FORMS:
        assert made <= bounds.log_growth(shape, len(X), n, landscape, form=form) + 1e-12, form
    assert made <= bounds.log_growth_leaves(shape.leaves, len(X), n, landscape) + 1e-12


@given(st.integers(2, 40), landscapes(real=4, columns=3, categories=9, undeclared=True))
def test_table_of_budgets_is_the_number_of_splits(m, landscape):
    features = features_of(landscape)
    budgets = node_budget_table(features, np.arange(2, m + 1))
    for size in range(2, m + 1):
        assert budgets[size - 2] == node_budget(size, cut(features, size))


def test_cost_does_not_grow_with_a_thousand_classes():
    shape = TreeShape.parse("(((..)(..))(..))")
    for form in FORMS:
        few = bounds.log_growth(shape, 300, 6, MIXED, form=form)
        many = bounds.log_growth(shape, 300, 1000, MIXED, form=form)
        # Six leaves: at most (1000)^6 times as many functions.
        assert few < many < few + 6 * math.log(1000)
    exact = log_sum(tree_theorems["fast"], shape, 300, 1000, MIXED)
    computed = bounds.log_growth(shape, 300, 1000, MIXED, form="fast")
    assert computed == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("shape", [chain(1000), balanced(10)], ids=["chain", "balanced"])
@pytest.mark.parametrize(
    "landscape",
    [Landscape(real=1000), Landscape(1000, (1000,), (1000, None))],
    ids=["real", "mixed"],
)
@pytest.mark.parametrize("form", ["best", "fast", "closed"])
def test_nothing_overflows(shape, landscape, form):
    computed = bounds.log_growth(shape, 10**6, 1000, landscape, form=form)
    assert shape.leaves * math.log(1000) < computed < 10**6 * math.log(1000)


def test_tight_sums_past_the_range_of_a_double():
    shape = balanced(6)
    computed = bounds.log_growth(shape, 1500, 1000, Landscape(real=100), form="tight")
    closed = bounds.log_growth(shape, 1500, 1000, Landscape(real=100), form="closed")
    assert 800 < computed <= closed
    assert computed == pytest.approx(closed, rel=1e-2)


@pytest.fixture
def own_tables():
    """No table of other tests is used, and none that is made here is left to them."""
    _tables._kept.clear()
    yield
    _tables._kept.clear()


def test_two_classes_need_no_separate_parts():
    shape, landscape = chain(12), Landscape(real=2, nominal=(3,))
    exact = log_sum(tree_theorems["by-size"], shape, 60, 2, landscape)
    assert bounds.log_growth(shape, 60, 2, landscape, form="tight") == pytest.approx(
        exact, rel=1e-12
    )


@pytest.mark.usefixtures("own_tables")
def test_many_parts_are_capped_together(monkeypatch):
    shape = balanced(3)
    separate = bounds.log_growth(shape, 80, 8, MIXED, form="tight")
    monkeypatch.setattr("treebound.bounds._tables._PARTS_WORK", 0)
    _tables._kept.clear()
    together = bounds.log_growth(shape, 80, 8, MIXED, form="tight")
    assert separate < together < separate + 1e-2


class TestAllTreesWithSoManyLeaves:
    @given(st.integers(1, 60), st.integers(2, 90), st.integers(1, 5), landscapes(undeclared=True))
    def test_is_the_formula(self, leaves, m, n, landscape):
        known = landscape.informative
        computed = bounds.log_growth_leaves(leaves, m, n, landscape, form="closed")
        if known.n_features == 0:
            expected = math.log(n)
        elif known.real == known.n_features and m < leaves:
            expected = m * math.log(n)
        else:
            nodes = leaves - 1
            value = math.comb(2 * nodes, nodes) // leaves * n**leaves * choices(nodes, m, known)
            expected = math.log(value) - nodes * math.log(2)
        assert computed == pytest.approx(expected, rel=1e-9, abs=1e-12)

    @given(st.integers(1, 9), st.integers(1, 80), st.integers(1, 5), landscapes(undeclared=True))
    def test_is_the_sum_over_all_shapes(self, leaves, m, n, landscape):
        known = landscape.informative
        logs = [
            bounds.log_growth(shape, m, n, landscape, form="closed")
            for shape in TreeShape.enumerate(leaves)
        ]
        computed = bounds.log_growth_leaves(leaves, m, n, landscape, form="closed")
        if m > 1 and known.n_features and not (known.real == known.n_features and m < leaves):
            assert computed == pytest.approx(np.logaddexp.reduce(logs), rel=1e-9, abs=1e-12)
        assert computed >= max(logs) - 1e-12

    @given(
        st.lists(st.integers(1, 300), min_size=1, max_size=20),
        st.integers(1, 200),
        st.integers(1, 5),
        landscapes(real=50, undeclared=True),
    )
    def test_an_array_gives_what_each_number_gives(self, leaves, m, n, landscape):
        computed = bounds.log_growth_leaves(np.array(leaves), m, n, landscape)
        single = [bounds.log_growth_leaves(one, m, n, landscape) for one in leaves]
        np.testing.assert_allclose(computed, single, rtol=1e-12, atol=1e-12)

    def test_ten_thousand_leaves_in_one_call(self):
        leaves = np.arange(1, 10_001)
        computed = bounds.log_growth_leaves(leaves, 10**6, 1000, MIXED)
        assert np.isfinite(computed).all()
        assert (np.diff(computed) > 0).all()
        assert computed[-1] == pytest.approx(bounds.log_growth_leaves(10_000, 10**6, 1000, MIXED))

    def test_keeps_the_form_of_the_array(self):
        grid = np.array([[1, 2], [3, 4]])
        assert bounds.log_growth_leaves(grid, 50, 2, MIXED).shape == (2, 2)
        assert isinstance(bounds.log_growth_leaves(3, 50, 2, MIXED), float)
        assert bounds.log_growth_leaves(np.array([], dtype=int), 50, 2, MIXED).shape == (0,)

    @pytest.mark.parametrize("bad", [0, 1.5, True, np.array([0]), np.array([1.0]), "2"])
    def test_refuses_what_is_no_count(self, bad):
        with pytest.raises(ValueError, match="'leaves' parameter of log_growth_leaves must be"):
            bounds.log_growth_leaves(bad, 50, 2, MIXED)


@pytest.mark.parametrize("form", FORMS)
def test_a_leaf_and_a_single_example_have_one_label(form):
    one = pytest.approx(math.log(7))
    assert bounds.log_growth(TreeShape.leaf(), 500, 7, MIXED, form=form) == one
    assert bounds.log_growth(chain(5), 1, 7, MIXED, form=form) == one
    assert bounds.log_growth(chain(5), 9, 7, Landscape(), form=form) == one


@pytest.mark.parametrize("form", ["best", "tight", "fast"])
def test_one_class_has_one_labelling(form):
    assert bounds.log_growth(chain(5), 9, 1, MIXED, form=form) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("name", ["m", "n_classes"])
@pytest.mark.parametrize("bad", [0, -1, 1.5, True, "2"])
def test_counts_must_be_integers_of_at_least_one(name, bad):
    arguments = {"m": 10, "n_classes": 2, name: bad}
    with pytest.raises(
        ValueError, match=f"The '{name}' parameter of log_growth must be an int >= 1"
    ):
        bounds.log_growth(chain(3), landscape=MIXED, **arguments)


@pytest.mark.parametrize("bad", ["loose", None, ["best"]])
def test_form_must_be_a_known_one(bad):
    with pytest.raises(ValueError, match="'form' parameter of log_growth must be one of"):
        bounds.log_growth(chain(3), 10, 2, MIXED, form=bad)
