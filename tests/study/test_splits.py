"""The seeds and splits are those of the paper's authors, whatever the number of draws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treebound.study.protocols import protocol
from treebound.study.splits import RowFolds, seeds_of, split

# What the paper's own code draws.
REFERENCE = (
    1909098383, 597971307, 1993286476, 103446779, 828048348, 1100902837, 351735830, 1330032250,
    515757731, 1538365891, 791236138, 287503189, 444260927, 535406936, 1054310389, 557296343,
    1211090911, 553693246, 1088450312, 1313588712, 1257161091, 316930482, 547181388, 336987096,
    1904770094,
)  # fmt: skip


def test_seeds_are_those_of_the_reference():
    assert seeds_of(25) == REFERENCE


def test_more_draws_extend_fewer():
    assert seeds_of(25)[:7] == seeds_of(7)


@given(st.integers(7, 400), st.integers(0, 2**31 - 1))
def test_parts_are_disjoint_and_complete(n, seed):
    parts = split(n, seed)
    held_out = round(0.15 * n)
    assert len(parts["test"]) == len(parts["validation"]) == held_out
    assert sorted([*parts["train"], *parts["test"]]) == list(range(n))
    assert sorted([*parts["growing"], *parts["validation"]]) == sorted(parts["train"])


def test_split_follows_the_written_rule():
    rows = np.arange(100)
    np.random.default_rng(5).shuffle(rows)
    train = np.sort(rows[:85])
    np.random.default_rng(5).shuffle(train)
    parts = split(100, 5)
    assert parts["test"].tolist() == rows[85:].tolist()
    assert parts["train"].tolist() == rows[:85].tolist()
    assert parts["validation"].tolist() == train[70:].tolist()


@pytest.mark.parametrize("n", [0, 1, 3])
def test_tables_too_small_to_split_are_refused(n):
    with pytest.raises(ValueError, match="cannot be split"):
        split(n, 0)


def test_no_draws_are_refused():
    with pytest.raises(ValueError, match="'draws' parameter"):
        seeds_of(0)


def test_folds_of_the_paper_protocol_are_those_of_its_first_results():
    """Computed once by the code whose results are published with the protocol."""
    y = np.array([0, 1, 2, 0, 1, 0, 0, 1, 2, 0, 1, 1])
    assert [inside.tolist() for _, inside in RowFolds(5).split(None, y)] == [
        [2, 7, 9], [4, 5, 8], [0, 11], [3, 10], [1, 6],
    ]  # fmt: skip
    for outside, inside in RowFolds(5).split(None, y):
        assert sorted([*outside, *inside]) == list(range(len(y)))


def test_more_folds_than_rows():
    assert [inside.tolist() for _, inside in RowFolds(5).split(None, np.array([1, 0]))] == [
        [1],
        [0],
    ]


def test_the_paper_protocol_uses_its_own_folds():
    folded = {m.name: m.pruner.folds for m in protocol("paper").models() if m.name in ("CC", "KM")}
    assert folded == {"CC": RowFolds(5), "KM": RowFolds(5)}
