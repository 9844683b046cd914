"""Splits are read back as they are printed, and what is no split is refused with the reason."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_trees import random_tree

from treebound.data import Column
from treebound.show.words import branch_condition, one_line
from treebound.tree.parsing import parse_split
from treebound.tree.split import splits_of

COLUMNS = (
    Column("age"),
    Column("age group", "ordinal", ("low", "mid", "high")),
    Column("sex", "nominal", ("female", "male")),
    Column("income", missing=True),
    Column("city", "nominal", ("a or missing", "b"), missing=True),
    Column("zip", "nominal", (), unlisted=500),
)


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.booleans())
def test_every_printed_side_is_read_back_as_its_split(seed: int, left: bool) -> None:
    tree = random_tree(seed, 12)
    for split in filter(None, splits_of(tree)):
        column = split.column
        printed = [one_line(category) for category in column.categories or ()]
        if len(set(printed)) < len(printed) or np.isinf(split.threshold):
            continue  # two categories look alike; all values on one side
        if split.kind == "missing" and not column.missing:
            continue  # no edit can split on missing values of a complete column
        text = f"{one_line(column.name)} {branch_condition(split, left=left)}"
        test = parse_split(text, tree.columns)
        assert test.feature == split.feature
        if column.kind == "nominal":
            assert test.category == tree.category[split.node]
        elif split.kind == "missing":
            assert (test.threshold, test.missing_left) == (math.inf, False)
        else:
            want = tree.threshold[split.node]
            assert test.threshold == (math.floor(want) if column.kind == "ordinal" else want)
        if column.missing and split.kind == "threshold":
            assert test.missing_left == split.missing_left


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("age <= 30", (0, 30.0, None)),
        ("age>30", (0, 30.0, None)),
        ('"age group" ≤ mid', (1, 1.0, None)),
        ("income <= 10 or missing", (3, 10.0, True)),
        ("income <= 10", (3, 10.0, False)),
        ("income is present", (3, math.inf, False)),
    ],
)
def test_thresholds(text: str, expected: tuple) -> None:
    test = parse_split(text, COLUMNS)
    assert (test.feature, test.threshold, test.missing_left) == expected


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("sex == male", 1),
        ("sex ≠ female", 0),
        ('sex = "male"', 1),
        ("city = a or missing", 0),
        ("city is missing", 2),
    ],
)
def test_categories(text: str, category: int) -> None:
    assert parse_split(text, COLUMNS).category == category


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("weight <= 3", "begins with no name"),
        ("age", "a split compares a column"),
        ("age < 30", "column 'age' is real"),
        ("age = 30", "column 'age' is real"),
        ("age <= old", "'old' is not a number"),
        ("age <= inf", "not a finite number"),
        ("age <= ≈30", "rounded"),
        ("age is missing", "no training value of column 'age' is missing"),
        ("sex <= male", "column 'sex' is nominal"),
        ("sex = other", "has the categories female, male"),
        ("age group <= top", "has the categories low, mid, high"),
        ("zip = 1", "Not all categories of column 'zip' are known"),
    ],
)
def test_what_is_no_split_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_split(text, COLUMNS)
