"""Several shards say what one shard of all their rows says."""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np
from random_samples import random_bins, random_parts, random_sample

from treebound.growing.rounds.looking import Question, add_answers, look_into
from treebound.growing.rounds.search import Landmarks
from treebound.growing.rounds.several import (
    count_several,
    gather_several,
    recode_several,
    sum_of,
    weigh_several,
)
from treebound.growing.rounds.shard import Rows, code_sample, count_bins, gather_rows, recode, weigh
from treebound.growing.rounds.spill import SpillFile


def coded(seed):
    """All rows as one shard, and as several."""
    rng = np.random.default_rng(seed)
    sample = random_sample(rng, 150)
    bins = random_bins(rng, sample)
    shard, facts = code_sample(sample, bins)
    whole, counts = weigh(shard, facts.total, sample.n_classes)
    parts = [code_sample(part, bins) for part in random_parts(rng, sample)]
    total = reduce(add, [more for _, more in parts]).total
    several, added = weigh_several([one for one, _ in parts], total, sample.n_classes)
    np.testing.assert_array_equal(added, counts)
    return rng, sample, bins, facts, whole, several


def all_rows(shards):
    return [Rows.all(len(shard.labels)) for shard in shards]


def test_counts_and_gathered_rows_are_those_of_one_shard():
    for seed in range(30):
        _, sample, bins, _, whole, several = coded([5, seed])
        [rows], some = all_rows([whole]), all_rows(several)
        slots = np.zeros(1, dtype=np.int32)
        expected = count_bins(whole, rows, bins, sample.n_classes, slots)
        for wide in (False, True):
            found = count_several(several, some, bins, sample.n_classes, slots, wide=wide)
            np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(sum_of([expected, expected]), 2 * expected)
        [mine], [piece] = (
            gather_several(several, some, bins, [0]),
            gather_rows(whole, rows, bins, [0]),
        )
        np.testing.assert_array_equal(mine.labels, piece.labels)
        for one, other in zip(mine.columns, piece.columns, strict=True):
            np.testing.assert_array_equal(one, other)


def test_answers_are_those_of_one_shard():
    looked = 0
    for seed in range(30):
        rng, sample, bins, facts, whole, several = coded([6, seed])
        questions = {}
        for j in range(bins.n_columns):
            if bins.by_code[j]:
                continue
            marks, n = Landmarks.of(bins, facts, j), bins.n_bins[j]
            shift = np.full(n, 255, dtype=np.uint8)
            shift[::2] = rng.integers(0, 60, len(shift[::2]))
            place = np.where(shift == 255, -1, np.cumsum(shift != 255) - 1).astype(np.int32)
            questions[j] = Question(
                16, np.zeros(1, np.int32), np.arange(n + 1, dtype=np.int32)[None], marks.low,
                marks.high, marks.guide[:n].copy(), shift, place,
            )  # fmt: skip
        rows, n_classes = all_rows(several), sample.n_classes
        expected = look_into([whole], all_rows([whole]), bins, n_classes, questions)
        together = look_into(several, rows, bins, n_classes, questions)
        apart = add_answers(
            [
                look_into([shard], [mine], bins, n_classes, questions)
                for shard, mine in zip(several, rows, strict=True)
            ]
        )
        for j, answer in expected.items():
            for found in (together[j], apart[j]):
                for mine, other in zip(found, answer, strict=True):
                    np.testing.assert_array_equal(mine, other)
            looked += len(answer.keys)
    assert looked > 500


def test_finer_codes_are_those_of_one_shard():
    for seed in range(20):
        rng, sample, bins, _, whole, several = coded([7, seed])
        finer = random_bins(rng, sample, 1000)
        shards, facts = recode_several(several, bins, finer)
        shard, expected = recode(whole, bins, finer)
        np.testing.assert_array_equal(facts.extents, expected.extents)
        for p, panel in enumerate(shard.panels):
            np.testing.assert_array_equal(np.concatenate([one.panels[p] for one in shards]), panel)


def test_a_file_gives_back_columns_of_any_type_and_length():
    rng = np.random.default_rng(0)
    file = SpillFile()
    for n in (5001, 3, 0, 1):
        columns = [rng.normal(size=n).astype(np.float32), None, rng.normal(size=n)]
        kept = file.write(columns)
        for j in (0, 2):
            found = kept.column(j)
            assert found.dtype == columns[j].dtype
            np.testing.assert_array_equal(found, columns[j])
