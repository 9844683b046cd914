"""Tables typed without pandas are what the frames would have been."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from treebound.data import Column, Sample
from treebound.data.files import Source, read_raw
from treebound.data.frames import read_table as read_frame
from treebound.data.targets import Labels, learn_classes
from treebound.study.datasets import Schema, read_table
from treebound.study.datasets.reading import frame_of

TEXT = """x,colour,size,flag,y
1.5,red,small,true,b
,blue,,false,a
3,"a,b",large,NA,b
2,NA,small,true,a
"""
SCHEMA = Schema((Column("size", "ordinal", ("small", "large"), True),), target="y")


def same(raw, frame):
    """Return True if two tables are the same to a tree."""
    ours, theirs = raw.table(), read_frame(frame)
    assert ours.names == theirs.names
    assert ours.shape == theirs.shape
    for at in range(ours.shape[1]):
        one, other = ours.column(at), theirs.column(at)
        assert (one.family, one.categories) == (other.family, other.categories)
        assert (one.ordered, one.declared) == (other.ordered, other.declared)
        np.testing.assert_array_equal(one.values, other.values)


def kept_chunks(path, schema, rows):
    """A table in chunks that keep what is no category."""
    return Source(path, schema, unknown="keep", complete=False).chunks(rows)


@pytest.mark.parametrize("schema", [Schema(target="y"), SCHEMA])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_the_same_columns_and_classes(tmp_path, schema, suffix):
    path = tmp_path / f"t.{suffix}"
    (tmp_path / "t.csv").write_text(TEXT)
    if suffix == "parquet":
        pd.read_csv(tmp_path / "t.csv").to_parquet(path)
    raw, read = read_raw(path, schema), read_table(path, schema)
    assert raw.schema == read.schema
    same(raw, read.frame)
    labels = raw.labels()
    assert labels.name == "y"
    for one, other in zip(learn_classes(labels), learn_classes(read.target), strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype
    ours = Sample.learn(raw.table(), labels)
    assert ours.columns == Sample.learn(read.frame, read.target).columns


def test_the_schema_is_that_of_all_columns_when_some_are_read(tmp_path):
    frame = pd.DataFrame({"id": [1, 2], "x": [0.5, 1.5], "y": ["a", "b"]})
    frame.to_parquet(tmp_path / "t.parquet")
    schema = Schema(target="y", ignored=("id",))
    source = Source(tmp_path / "t.parquet", schema)
    (chunk,) = source.read(["y"])
    assert (chunk.names, chunk.labels().distinct.tolist()) == (["y"], ["a", "b"])
    assert source.inferred == {"x"}
    assert source.columns == ["x"]


def test_chunks_keep_what_is_no_category(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(TEXT)
    known = read_raw(path, SCHEMA).schema
    path.write_text(TEXT.replace("blue", "mauve").replace("large", "huge"))
    for rows in (1, 3, 100):
        for chunk in kept_chunks(path, known, rows):
            same(chunk, frame_of(chunk))
    assert "mauve" in [
        c for chunk in kept_chunks(path, known, 9) for c in chunk.table().column(1).categories
    ]


def test_all_numbers_are_one_matrix(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n3,NA\n")
    table = read_raw(path).table()
    np.testing.assert_array_equal(table.matrix, [[1.0, 2.0], [3.0, np.nan]])
    path.write_text("a,b\n")
    assert len(read_raw(path)) == 0


@pytest.mark.parametrize("distinct", [["b", "a"], [3, 1], [True, False], [2.0, 1.0]])
def test_labels_are_as_if_written_out(distinct):
    codes = np.array([0, 1, 1, 0, 1])
    labels = Labels(np.array(distinct, dtype=object), codes)
    classes = learn_classes(labels)
    expected = learn_classes(np.array(distinct, dtype=object)[codes])
    for one, other in zip(classes, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    assert len(labels) == 5


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("read = 5", "'read' must be a table. Got 5"),
        ('[read]\nencoding = "rot13"', "must be a text encoding.*'rot13'"),
        ("[read]\nskip_rows = 999999999999", "t.csv is empty"),
    ],
)
def test_a_layout_that_cannot_be_is_one_sentence(tmp_path, text, words):
    path, schema = tmp_path / "t.csv", tmp_path / "s.toml"
    path.write_text(TEXT)
    schema.write_text(text)
    with pytest.raises(ValueError, match=words):
        read_raw(path, schema)


def test_a_duration_and_a_huge_number_are_named(tmp_path):
    path = tmp_path / "t.parquet"
    spans = pa.array([1, 2], pa.duration("s"))
    pq.write_table(pa.table({"a": [1, 2], "y": spans}), path)
    with pytest.raises(ValueError, match=r"Column 'y' must hold numbers.*Got Duration"):
        read_raw(path, target="y").labels()
    wide = tmp_path / "t.csv"
    wide.write_text(f"a,y\n{10**400},n\n1,y\n")
    raw = read_raw(wide, target="y")
    for table in (raw.table(), pd.DataFrame({"a": [10**400, 1]}, dtype=object)):
        with pytest.raises(ValueError, match=r"infinity or a value too large.*column 'a', row 0"):
            Sample.learn(table, raw.labels())
