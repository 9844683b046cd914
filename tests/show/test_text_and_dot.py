"""Indented text and DOT: the words of a question, rounding, depth limits, escapes."""

from __future__ import annotations

import math
import re
import shutil
import subprocess

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from show.random_trees import Case, cases, random_tree

from treebound.show import dot, text
from treebound.show.questions import rounded_thresholds
from treebound.data import Column
from treebound.tree import Tree

NAN = np.nan


def small_tree(missing: bool = False) -> Tree:
    return Tree(
        feature=[0, -1, 1, -1, 2, -1, -1],
        threshold=[2.449999988079071, NAN, NAN, NAN, 1.0, NAN, NAN],
        category=[-1, -1, 1, -1, -1, -1, -1],
        missing_left=[True, False, False, False, False, False, False],
        left=[1, -1, 3, -1, 5, -1, -1],
        right=[2, -1, 4, -1, 6, -1, -1],
        counts=[[5, 7], [5, 0], [0, 7], [0, 2], [0, 5], [0, 2], [0, 3]],
        rows=[12, 5, 7, 2, 5, 2, 3],
        columns=(
            Column("petal length", missing=missing),
            Column("colour", "nominal", ("red", "blue")),
            Column("size", "ordinal", ("S", "M", "L")),
        ),
        classes=["no", "yes"],
    )


def test_text_of_a_small_tree() -> None:
    assert text(small_tree()).splitlines() == [
        "petal length <= 2.45: no (5 / 5)",
        "petal length > 2.45",
        "|   colour = blue: yes (2 / 2)",
        "|   colour ≠ blue",
        "|   |   size <= M: yes (2 / 2)",
        "|   |   size > M: yes (3 / 3)",
    ]


def test_text_says_where_missing_values_seen_in_training_go() -> None:
    assert text(small_tree(missing=True)).startswith("petal length <= 2.45 or missing: no")


def test_text_can_be_exact_and_limited_in_depth() -> None:
    lines = text(small_tree(), max_depth=1, exact=True).splitlines()
    assert lines == [
        "petal length <= 2.449999988079071: no (5 / 5)",
        "petal length > 2.449999988079071: yes (7 / 7) ... 4 more",
    ]


@given(case=cases())
@settings(max_examples=40)
def test_text_has_one_line_an_answer(case: Case) -> None:
    lines = text(case.tree).splitlines()
    assert len(lines) == max(case.tree.n_nodes - 1, 1)


def test_very_deep_trees_are_written_and_stay_small() -> None:
    tree = random_tree(1, 2000, chain=True)
    assert len(text(tree).splitlines()) == 3998
    assert len(text(tree)) < 2_000_000
    assert dot(tree).count("->") == 3998


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30, unique=True), st.randoms())
def test_rounding_with_data_moves_no_value_to_the_other_side(values, random) -> None:
    low, high = sorted(random.sample(values, 2))
    middle = low + (high - low) / 2
    tree = stump(middle if middle < high else low)
    shown = float(rounded_thresholds(tree, np.array(values)[:, None])[0])
    assert [v <= tree.threshold[0] for v in values] == [v <= shown for v in values]


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(-1e6, 1e6))
def test_rounding_without_data_keeps_thresholds_apart_and_in_order(
    first: float, second: float
) -> None:
    tree = small_tree()
    tree = Tree(
        feature=[0, -1, 0, -1, -1], threshold=[first, NAN, second, NAN, NAN], category=[-1] * 5,
        missing_left=[False] * 5, left=[1, -1, 3, -1, -1], right=[2, -1, 4, -1, -1],
        counts=np.ones((5, 2)), rows=[1] * 5, columns=tree.columns, classes=tree.classes,
    )  # fmt: skip
    shown = rounded_thresholds(tree)
    a, b = float(shown[0]), float(shown[2])
    assert np.sign(a - b) == np.sign(first - second)
    assert math.isclose(a, first, rel_tol=1.1e-3)


def stump(threshold: float) -> Tree:
    return Tree(
        feature=[0, -1, -1], threshold=[threshold, NAN, NAN], category=[-1] * 3,
        missing_left=[False] * 3, left=[1, -1, -1], right=[2, -1, -1],
        counts=[[1, 1], [1, 0], [0, 1]], rows=[2, 1, 1], columns=(Column("x"),), classes=[0, 1],
    )  # fmt: skip


STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


@given(case=cases())
@settings(max_examples=40)
def test_dot_is_well_formed_with_any_names(case: Case) -> None:
    lines = dot(case.tree).splitlines()
    body = [STRING.sub("S", line) for line in lines[3:-1]]
    nodes = [line for line in body if re.fullmatch(r"    \d+ \[label=S, fillcolor=S\];", line)]
    edges = [line for line in body if re.fullmatch(r"    \d+ -> \d+ \[label=S\];", line)]
    assert len(nodes) == case.tree.n_nodes
    assert len(edges) == case.tree.n_nodes - 1
    assert len(body) == len(nodes) + len(edges)


def test_dot_counts_what_is_below_its_depth_limit() -> None:
    written = dot(small_tree(), max_depth=1)
    assert "... 4 more" in written
    assert written.count("->") == 2


@pytest.mark.skipif(shutil.which("dot") is None, reason="needs graphviz")
@pytest.mark.parametrize("seed", range(3))
def test_graphviz_draws_it(seed: int) -> None:
    made = subprocess.run(
        ["dot", "-Tsvg"], input=dot(random_tree(seed, 15)).encode(), capture_output=True, check=True
    )
    assert b"<svg" in made.stdout
