"""Columns that give the class away, against a slow twin; and targets that are none."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from treebound.data import Sample
from treebound.data.findings import target_findings

RNG = np.random.default_rng(0)


def problems_of(y, **columns):
    """The problems of each column."""
    sample = Sample.learn(pd.DataFrame(columns), y)
    return {one.column: one.problem for one in target_findings(sample, "y")}


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_digits])
def test_ordinary_tables_give_nothing_away(load):
    assert target_findings(Sample.learn(*load(return_X_y=True)), "y") == []


def test_columns_that_determine_the_class():
    y = RNG.integers(0, 3, 600)
    noise = RNG.normal(size=600)
    flipped = np.where(np.arange(600) < 2, (y + 1) % 3, y)
    problems = problems_of(
        y,
        noise=noise,
        flag=RNG.integers(0, 2, 600),
        copy=y,
        name=np.array(["c", "a", "b"])[y],
        score=y + RNG.random(600) * 0.9,
        almost=np.array(["c", "a", "b"])[flipped],
        half=np.where(RNG.random(600) < 0.5, y, noise),
        gone=np.where(y == 0, np.nan, y),
        key=[f"k{i}" for i in range(600)],
    )
    assert problems == {
        "copy": "is 'y' in other words: one value per class",
        "name": "is 'y' in other words: one value per class",
        "score": "alone determines 'y' in every row",
        "almost": "alone determines 'y' in all but 2 of 600 rows",
        "gone": "is 'y' in other words: one value per class",
    }


def test_in_many_rows_a_part_is_looked_at_first():
    y = RNG.integers(0, 2, 50_000)
    late = y.copy()
    late[1::2] = RNG.integers(0, 2, 25_000)  # determines the class in the rows checked first
    assert problems_of(y, noise=RNG.normal(size=50_000), copy=y, late=late) == {
        "copy": "is 'y' in other words: one value per class"
    }


def slow_wrong(values, y):
    """Rows wrong by lookup, and along sorted values how often the prediction changes."""
    predicted, wrong = [], 0
    for value in sorted(set(values)):
        inside = [label for one, label in zip(values, y, strict=True) if one == value]
        best = max(sorted(set(inside)), key=inside.count)
        wrong += len(inside) - inside.count(best)
        predicted.append(best)
    changes = sum(a != b for a, b in pairwise(predicted))
    return wrong, changes + 1


@pytest.mark.parametrize("seed", range(40))
def test_the_rule_of_a_column_is_that_of_the_slow_twin(seed):
    rng = np.random.default_rng(seed)
    rows, classes, size = 200, int(rng.integers(2, 4)), int(rng.integers(2, 40))
    x = rng.integers(0, size, rows).astype(float)
    y = (x * classes / size).astype(int)
    for at in rng.integers(0, rows, int(rng.integers(0, 4))):
        y[at] = rng.integers(0, classes)
    wrong, pieces = slow_wrong(x.tolist(), y.tolist())
    least = rows - np.bincount(y).max()
    rule = wrong <= min(0.005 * rows, 0.1 * least) and pieces <= 2 * len(set(y)) + 0.005 * rows
    listed = problems_of(y, x=x, noise=rng.normal(size=rows)).get("x")
    assert (listed is not None) == (rule and len(set(y)) > 1)
    if rule:
        assert listed.endswith("every row" if wrong == 0 else f"all but {wrong} of {rows} rows")


def test_a_class_of_few_rows_is_a_note_and_many_equal_classes_are_not():
    x = RNG.normal(size=1000)
    sample = Sample.learn(x[:, None], np.where(np.arange(1000) < 60, "bad", "good"))
    (one,) = target_findings(sample, "y")
    assert one.note
    assert one.problem == "is 'bad' in only 6.0 % of the rows"
    assert "class_weight='balanced'" in one.remedy
    assert problems_of(np.arange(1000) % 20, x=x) == {}
    x = RNG.normal(size=(20_000, 1))
    (one,) = target_findings(Sample.learn(x, np.where(np.arange(20_000) < 8, "bad", "good")), "y")
    assert one.problem == "is 'bad' in only 8 of 20,000 rows"


def test_classes_that_may_be_the_same_are_a_note():
    x = RNG.normal(size=(90, 1))
    (one,) = target_findings(Sample.learn(x, ["lost", "stolen", "Lost "] * 30), "y")
    assert one.note
    assert one.problem == "holds 'Lost ' next to 'lost', which may be the same class"


def test_targets_that_are_none():
    x = RNG.normal(size=300)
    assert problems_of(np.ones(300, dtype=int), x=x) == {"y": "is 1 in every row"}
    assert problems_of(np.arange(300), x=x) == {"y": "has 300 classes for 300 rows"}
    few = np.where(np.arange(300) < 3, "rare", np.where(x > 0, "a", "b"))
    assert problems_of(few, x=RNG.normal(size=300)) == {"y": "has a class of fewer than 5 rows"}
    assert problems_of([0, 1] * 5, x=range(10), z=[0, 1] * 5) == {}  # too few rows to decide
