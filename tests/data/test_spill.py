"""Values of rows in files: written and read back, in place, aligned, and errors that name files."""

from __future__ import annotations

import errno
import os
import tempfile
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from treebound.data import Column, Matrix, Sample, spill
from treebound.data.matrix import type_of
from treebound.data.spill import ColumnFile, FileValues, SpillFile, ValuesLost

COLUMNS = (
    Column("c", "nominal", ("u", "v", "w")),
    Column("x"),
    Column("o", "ordinal", tuple(range(300))),
    Column("z"),
)


def matrix(rows, seed=0):
    """Columns of one, eight, two and four bytes a value."""
    rng = np.random.default_rng(seed)
    values = (
        rng.integers(0, 3, rows).astype(np.int8),
        rng.normal(size=rows),
        rng.integers(0, 300, rows).astype(np.int16),
        rng.normal(size=rows).astype(np.float32),
    )
    return Matrix(COLUMNS, values)


def sample(rows, seed=0, weight=None):
    X = matrix(rows, seed)
    return Sample(X, np.arange(rows, dtype=np.int32) % 2, weight, np.arange(2))


def same(values, expected):
    np.testing.assert_array_equal(values, expected)
    assert values.dtype == expected.dtype
    assert values.flags.aligned
    assert not values.flags.writeable


@pytest.mark.parametrize("sizes", [(1,), (5, 0, 3), (0,), (3000, 7)])
def test_matrices_in_one_file_are_read_back(sizes, tmp_path):
    file = SpillFile(str(tmp_path / "new" / "folder"))
    matrices = [matrix(rows, seed) for seed, rows in enumerate(sizes)]
    stored = [file.write(X) for X in matrices]
    file.close()
    for X, values in zip(matrices, stored, strict=True):
        assert values.n_rows == X.n_rows
        for j, expected in enumerate(X.values):
            if X.n_rows:
                same(values[j], expected)
            else:
                assert values[j].shape == (0,)
                assert values[j].dtype == expected.dtype
    assert len(os.listdir(tmp_path / "new" / "folder")) == 1
    with pytest.raises(ValueError, match="closed"):
        file.write(matrix(1))


def test_columns_that_are_not_written_take_no_place(tmp_path):
    file, X = SpillFile(str(tmp_path)), matrix(10)
    some = file.write(X, but=[False, True, True, False])
    file.close()
    assert [place is None for place in some.places] == [False, True, True, False]
    same(some[0], X.values[0])
    same(some[3], X.values[3])
    (path,) = tmp_path.iterdir()
    assert path.stat().st_size == 16 + 40  # ten bytes, with room up to the next eight; ten floats


def test_two_files_of_a_folder_have_different_names(tmp_path):
    files = [SpillFile(str(tmp_path)) for _ in range(2)]
    stored = [file.write(matrix(4, seed)) for seed, file in enumerate(files)]
    for seed, file in enumerate(files):
        file.close()
        same(stored[seed][1], matrix(4, seed).values[1])


def test_values_of_a_file_that_is_gone_are_lost(tmp_path):
    file = SpillFile(str(tmp_path))
    stored = file.write(matrix(4))
    file.close()
    with pytest.raises(FrozenInstanceError):
        stored.path = "other"
    gone = replace(stored, path=str(tmp_path / "gone"))
    assert isinstance(gone, FileValues)
    with pytest.raises(ValuesLost, match="gone"):
        gone[1]


class Slow:
    """A file that takes few bytes at a time, and then has no room."""

    def __init__(self, room):
        self.content, self.place, self.room = bytearray(), 0, room

    def seek(self, place):
        self.place = place

    def write(self, values):
        if self.place >= self.room:
            raise OSError(errno.ENOSPC, "No space left on device")
        some = bytes(values[: min(7, self.room - self.place)])
        self.content[self.place : self.place + len(some)] = some
        self.place += len(some)
        return len(some)


def test_what_the_file_does_not_take_at_once_is_written_later(tmp_path):
    values = np.random.default_rng(0).normal(size=(50, 2))[:, 0]
    file = Slow(1000)
    spill._write(file, values, 16, str(tmp_path), "SETTING")
    assert np.frombuffer(bytes(file.content[-400:])).tolist() == values.tolist()
    assert file.place == 416


def test_a_full_disk_names_the_folder_and_the_setting(tmp_path):
    with pytest.raises(OSError, match="No space left on device") as caught:
        spill._write(Slow(100), np.zeros(50), 0, "/some/folder", "the setting")
    assert caught.value.errno == errno.ENOSPC
    assert "a temporary file in /some/folder: " in str(caught.value)
    assert "name another folder with the setting." in str(caught.value)


def test_a_sample_is_collected_batch_by_batch(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    weight = np.random.default_rng(0).random(20)
    batches = [sample(5), sample(0, 1), sample(20, 2, weight), sample(3, 3)]
    file = ColumnFile(batches[0], 28)
    for batch in batches:
        file.add(batch)
    with pytest.raises(ValueError, match="more rows than the 28 that it had when it was first"):
        file.add(sample(1))
    stored = file.sample()
    file.close()
    for j in range(len(COLUMNS)):
        values = np.concatenate([batch.X.values[j] for batch in batches])
        same(stored.X.values[j], values.astype(type_of(COLUMNS[j])))
    assert stored.y.tolist() == [label for batch in batches for label in batch.y.tolist()]
    assert stored.weight.tolist() == [*[1.0] * 5, *weight.tolist(), *[1.0] * 3]
    assert stored.columns == COLUMNS


def test_a_column_has_missing_values_if_a_batch_has():
    batches = [sample(2), sample(3, 1), sample(4, 2)]
    columns = tuple(replace(c, missing=c.name == "x") for c in COLUMNS)
    batches[1] = replace(batches[1], X=Matrix(columns, batches[1].X.values, handle_unknown="stop"))
    nothing = sample(0)
    nothing = replace(nothing, X=Matrix(COLUMNS, nothing.X.values, handle_unknown="missing"))
    file = ColumnFile(batches[0], 9)
    for batch in (batches[0], batches[1], nothing):
        file.add(batch)
    stored = file.sample()
    file.close()
    assert [column.missing for column in stored.columns] == [False, True, False, False]
    assert stored.X.handle_unknown == "stop"  # of the last batch with rows
    assert stored.n_rows == 5
    assert stored.weight is None
