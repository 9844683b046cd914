"""The seeds and splits are those of the paper's authors, whatever the number of draws."""

import csv

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import shared

from treebound.bench import seeds_of, split


def test_seeds_are_those_of_the_reference():
    path = shared("reference/authors_code_by_draw.csv")
    if path is None:
        pytest.skip("the reference figures are not beside the project")
    with path.open() as stream:
        found = {int(row["draw"]): int(row["seed"]) for row in csv.DictReader(stream)}
    assert seeds_of(25) == tuple(found[draw] for draw in range(25))


def test_more_draws_extend_fewer():
    assert seeds_of(25)[:7] == seeds_of(7)


@given(st.integers(7, 400), st.integers(0, 2**31 - 1))
def test_parts_are_disjoint_and_complete(n, seed):
    parts = split(n, seed)
    held_out = round(0.15 * n)
    assert len(parts.test) == len(parts.validation) == held_out
    assert sorted([*parts.train, *parts.test]) == list(range(n))
    assert sorted([*parts.growing, *parts.validation]) == sorted(parts.train)


def test_split_follows_the_written_rule():
    rows = np.arange(100)
    np.random.default_rng(5).shuffle(rows)
    train = np.sort(rows[:85])
    np.random.default_rng(5).shuffle(train)
    parts = split(100, 5)
    assert parts.test.tolist() == rows[85:].tolist()
    assert parts.train.tolist() == rows[:85].tolist()
    assert parts.validation.tolist() == train[70:].tolist()


@pytest.mark.parametrize("n", [0, 1, 3])
def test_tables_too_small_to_split_are_refused(n):
    with pytest.raises(ValueError, match="cannot be split"):
        split(n, 0)


def test_no_draws_are_refused():
    with pytest.raises(ValueError, match="'draws' parameter"):
        seeds_of(0)
