"""Indented text and DOT: the words of a question, rounding, depth limits, escapes."""

from __future__ import annotations

import re
import shutil
import subprocess

import numpy as np
import pytest
from hypothesis import given, settings
from random_trees import Case, cases, random_tree

from treebound.data import Column
from treebound.show import to_dot, to_text
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
    assert to_text(small_tree()).splitlines() == [
        "petal length <= 2.449999988079071: no (5 / 5)",
        "petal length > 2.449999988079071",
        "|   colour = blue: yes (2 / 2)",
        "|   colour ≠ blue",
        "|   |   size <= M: yes (2 / 2)",
        "|   |   size > M: yes (3 / 3)",
    ]


def test_text_states_where_missing_values_seen_in_training_go() -> None:
    written = to_text(small_tree(missing=True), digits=3)
    assert written.startswith("petal length <= ≈2.45 or missing: no")


def test_text_can_be_rounded_and_limited_in_depth() -> None:
    lines = to_text(small_tree(), max_depth=1, digits=3).splitlines()
    assert lines == [
        "petal length <= ≈2.45: no (5 / 5)",
        "petal length > ≈2.45: yes (7 / 7) ... 4 more",
    ]


@given(case=cases())
@settings(max_examples=40)
def test_text_has_one_line_per_leaf(case: Case) -> None:
    lines = to_text(case.tree).splitlines()
    assert len(lines) == max(case.tree.n_nodes - 1, 1)


def test_very_deep_trees_are_written_and_stay_small() -> None:
    tree = random_tree(1, 2000, chain=True)
    assert len(to_text(tree).splitlines()) == 3998
    assert len(to_text(tree)) < 2_000_000
    assert to_dot(tree).count("->") == 3998


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
    lines = to_dot(case.tree).splitlines()
    body = [STRING.sub("S", line) for line in lines[3:-1]]
    nodes = [line for line in body if re.fullmatch(r"    \d+ \[label=S, fillcolor=S\];", line)]
    edges = [line for line in body if re.fullmatch(r"    \d+ -> \d+ \[label=S\];", line)]
    assert len(nodes) == case.tree.n_nodes
    assert len(edges) == case.tree.n_nodes - 1
    assert len(body) == len(nodes) + len(edges)


def test_dot_counts_what_is_below_its_depth_limit() -> None:
    written = to_dot(small_tree(), max_depth=1)
    assert "... 4 more" in written
    assert written.count("->") == 2


@pytest.mark.skipif(shutil.which("dot") is None, reason="needs graphviz")
@pytest.mark.parametrize("seed", range(3))
def test_graphviz_draws_it(seed: int) -> None:
    made = subprocess.run(
        ["dot", "-Tsvg"],
        input=to_dot(random_tree(seed, 15)).encode(),
        capture_output=True,
        check=True,
    )
    assert b"<svg" in made.stdout
