"""Every printed form is read by a small parser and predicts as the tree does."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_trees import random_tree

import treebound as tb
from treebound.data import Column
from treebound.exchange import to_c, to_python, to_sql
from treebound.show import to_dot, to_html, to_latex, to_notebook, to_rules, to_text
from treebound.tree import Tree

SIZES = ["S", "M", "L", "XL"]
WORDS = re.compile(r"(<=|>|=|≠|is) (.+?)( or missing)?")


@dataclass
class Read:
    """A node as it was read: a leaf has a label and its counts, an inner node its sides."""

    label: str = ""
    right: float = math.nan
    total: float = math.nan
    sides: list[tuple[Callable[[dict], bool], Read]] = field(default_factory=list)

    def leaf(self, row: dict[str, Any]) -> Read:
        node = self
        while node.sides:
            (node,) = [child for inside, child in node.sides if inside(row)]
        return node


def side(name: str, words: str) -> Callable[[dict], bool]:
    """One side of a split, from words such as ``<= 2.5 or missing``."""
    sign, value, or_missing = WORDS.fullmatch(words).groups()

    def inside(row: dict[str, Any]) -> bool:
        x = row[name]
        if x is None or x != x:
            # Where missing values are not named they are not among the rows, or are no category.
            return (value == "missing") if sign == "is" else bool(or_missing) or sign == "≠"
        if sign == "is":
            return value == "present"
        if sign in ("=", "≠"):
            return (x == value) == (sign == "=")
        if isinstance(x, str):
            known = x in SIZES and SIZES.index(x) <= SIZES.index(value)
            return known == (sign == "<=")
        return (x <= float(value)) == (sign == "<=")

    return inside


def read_label(words: str) -> Read:
    label, right, total = re.fullmatch(r"(\w+) \(([\d.]+) / ([\d.]+)\)", words).groups()
    return Read(label, float(right), float(total))


def read_text(text: str) -> Read:
    root = Read()
    path = [root]
    for line in text.split("\n"):
        if not root.sides and "(" in line and "<" not in line and "=" not in line:
            return read_label(line)
        depth = line.count("|   ")
        name, words = re.fullmatch(r"(?:\|   )*(\w+) (.+)", line).groups()
        words, _, label = words.partition(": ")
        child = read_label(label) if label else Read()
        del path[depth + 1 :]
        path[depth].sides.append((side(name, words), child))
        path.append(child)
    return root


def read_dot(text: str) -> Read:
    labels = dict(re.findall(r'^    (\d+) \[label="(.*?)", fillcolor', text, re.M))
    edges = re.findall(r'^    (\d+) -> (\d+) \[label="(.*)"\];', text, re.M)
    inner = {parent for parent, _, _ in edges}
    nodes = {k: Read() if k in inner else read_label(label) for k, label in labels.items()}
    for parent, child, words in edges:
        name = labels[parent].split(r"\n")[0]
        nodes[parent].sides.append((side(name, words), nodes[child]))
    return nodes["0"]


def read_page(page: str) -> Read:
    data = json.loads(re.search(r'<script id="data"[^>]*>(.*?)</script>', page, re.S)[1])

    def read(number: int) -> Read:  # equal subtrees share a number
        stats, *inner = data["nodes"][number]
        _, label, counts, _ = data["stats"][stats]
        node = Read(data["classes"][label], counts[label], sum(counts))
        if inner:
            split, left, right = inner
            name, yes, no = data["splits"][split][:3]
            both = ((yes.replace("≤", "<="), left), (no, right))
            node.sides = [(side(name, words), read(child)) for words, child in both]
        return node

    return read(data["steps"][data["start"]]["root"])


FORMS = {
    "text": lambda clf: read_text(clf.to_text()),
    "dot": lambda clf: read_dot(clf.to_dot()),
    "page": lambda clf: read_page(clf.to_html()),
}


@st.composite
def fitted(draw: st.DrawFn) -> tuple[tb.BoundTreeClassifier, pd.DataFrame, np.ndarray]:
    """A classifier on values with one decimal, which midpoints and rounding get wrong."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rows = draw(st.integers(8, 60))
    scale = draw(st.sampled_from([0.1, 1e-9, 1e6, 1 / 3]))
    frame = pd.DataFrame(
        {
            "z": rng.integers(0, 40, rows) * scale,
            "age": np.round(rng.normal(100, 3, rows), 1),
            "colour": rng.choice(["red", "green", "blue"], rows),
            "size": pd.Categorical(rng.choice(SIZES, rows), SIZES, ordered=True),
        }
    )
    if draw(st.booleans()):
        for name in frame:
            frame.loc[rng.random(rows) < 0.2, name] = None
    y = np.array(["low", "high", "none"])[rng.integers(0, 3, rows)]
    clf = tb.BoundTreeClassifier(pruning=None, max_leaves=draw(st.integers(1, 12)))
    return clf.fit(frame, y), frame, y


def boundary(clf: tb.BoundTreeClassifier, frame: pd.DataFrame) -> pd.DataFrame:
    """The training rows, and copies of some with values at the thresholds and next to them."""
    tree = clf.tree_
    parts = [frame]
    for node in np.flatnonzero(np.isfinite(tree.threshold)).tolist():
        if tree.columns[tree.feature[node]].kind == "real":
            t = tree.threshold[node]
            near = frame.sample(3, replace=True, random_state=node)
            values = [t, math.nextafter(t, -math.inf), math.nextafter(t, math.inf)]
            parts.append(near.assign(**{frame.columns[tree.feature[node]]: values}))
    return pd.concat(parts, ignore_index=True).astype(frame.dtypes)


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return frame.astype({"size": object}).to_dict("records")


@pytest.mark.parametrize("form", FORMS)
@given(case=fitted())
@settings(max_examples=40, deadline=None)
def test_what_is_read_agrees_with_predict_and_counts_as_it_states(form: str, case) -> None:
    clf, frame, y = case
    read = FORMS[form](clf)
    rows = boundary(clf, frame)
    assert [read.leaf(row).label for row in records(rows)] == clf.predict(rows).tolist()
    reached = [read.leaf(row) for row in records(frame)]
    for leaf in {id(leaf): leaf for leaf in reached}.values():
        labels = y[[other is leaf for other in reached]]
        assert leaf.total == len(labels)
        assert leaf.right == np.sum(labels == leaf.label)


@given(case=fitted())
@settings(max_examples=30, deadline=None)
def test_rules_and_python_agree_with_predict_at_the_boundaries(case) -> None:
    clf, frame, _ = case
    rows = boundary(clf, frame)
    made = clf.to_rules()
    module: dict[str, Any] = {}
    exec(clf.to_python(), module)
    for row, label in zip(records(rows), clf.predict(rows), strict=True):
        assert [rule.label for rule in made if rule.matches(row)] == [label]
        assert module["predict"](row) == label


def stump(threshold: float) -> Tree:
    nan = np.nan
    return Tree(
        feature=[0, -1, -1], threshold=[threshold, nan, nan], category=[-1] * 3,
        missing_left=[False] * 3, left=[1, -1, -1], right=[2, -1, -1],
        counts=[[1, 1], [1, 0], [0, 1]], rows=[2, 1, 1], columns=(Column("x"),),
        classes=["a", "b"],
    )  # fmt: skip


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_form_prints_the_same_number(threshold: float) -> None:
    tree = stump(threshold)
    number = repr(threshold).removesuffix(".0")
    for form in (to_text, to_dot, to_notebook, to_html):
        assert number in form(tree)
    assert f"x <= {number}" in str(to_rules(tree))
    assert number.replace("-", "-{}") in to_latex(tree)
    for code in (to_python(tree), to_c(tree)):
        assert repr(threshold) in code
    assert number in to_sql(tree) or repr(-threshold) in to_sql(tree)


@pytest.mark.parametrize("form", [to_text, to_dot, to_latex])
def test_a_rounded_number_is_marked(form) -> None:
    sign = r"$\approx$" if form is to_latex else "≈"
    assert f"{sign}2.45" in form(stump(2.449999988), digits=3)
    assert sign not in form(stump(2.45), digits=3)
    with pytest.raises(ValueError, match="'digits' parameter must be an int >= 1"):
        form(stump(2.45), digits=0)


def test_counts_are_printed_in_full_and_nouns_agree() -> None:
    one = random_tree(0, 1)
    assert "1 leaf, " in to_notebook(one)
    nan = np.nan
    large = Tree(
        feature=[0, -1, -1], threshold=[0.5, nan, nan], category=[-1] * 3,
        missing_left=[False] * 3, left=[1, -1, -1], right=[2, -1, -1],
        counts=[[1_200_965, 799_035], [1_200_964, 0], [1, 799_035]],
        rows=[2_000_000, 1_200_964, 799_036], columns=(Column("x"),), classes=["a", "b"],
    )  # fmt: skip
    for written in (to_text(large), to_dot(large), str(to_rules(large)), to_notebook(large)):
        assert "1,200,964" in written
        assert "e+" not in written
    assert "1 error (" in to_notebook(large)
