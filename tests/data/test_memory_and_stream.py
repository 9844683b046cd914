"""A file read whole and read batch by batch is the same table."""

import gzip
import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

import treebound as tb
from treebound.data import Column, Sample, files
from treebound.data.files import Source, read_raw
from treebound.data.parts import PartReader
from treebound.data.roles import ColumnRoles
from treebound.data.schema import Schema
from treebound.data.streams import TableStream


def whole(paths, schema):
    """The sample of a table that is read at once."""
    raw = read_raw(paths, schema)
    return Sample.learn(raw.table(), raw.labels())


def streamed(paths, schema, rows, monkeypatch):
    """The same in batches of so many rows."""
    monkeypatch.setattr(files, "BATCH_ROWS", rows)
    stream = TableStream(Source(paths, schema), ColumnRoles(schema.target))
    learned = stream.learn()
    parts = [part.training for part in stream.rows(PartReader(learned))]
    return learned, parts


def assert_same(paths, schema, monkeypatch, sizes=(1, 7, 10**6)):
    expected = whole(paths, schema)
    for rows in sizes:
        learned, parts = streamed(paths, schema, rows, monkeypatch)
        plain = [column.with_missing(False) for column in expected.columns]
        assert [column.with_missing(False) for column in learned.columns] == plain
        assert learned.classes.tolist() == expected.classes.tolist()
        assert np.concatenate([part.y for part in parts]).tolist() == expected.y.tolist()
        for at, values in enumerate(expected.X.values):
            joined = np.concatenate([part.X.values[at] for part in parts])
            np.testing.assert_array_equal(joined, values)
    return expected


ODD_VALUES = {
    "whole": lambda rng, n: rng.integers(0, 9, n).astype(str),
    "late fraction": lambda rng, n: [*["3"] * (n - 1), "3.5"],
    "late text": lambda rng, n: [*rng.integers(0, 9, n - 2).astype(str), "n/a", "x"],
    "late number": lambda rng, n: [*[""] * (n - 2), "1", "2"],
    "late category": lambda rng, n: [*["NA"] * (n - 2), "b", "a"],
    "leading zeros": lambda rng, n: rng.choice(["01", "02", "10", "n/a"], n),
    "empty texts": lambda rng, n: rng.choice(["", "a", "b"], n),
    "dates": lambda rng, n: rng.choice(["2024-01-01", "2024-01-02"], n),
    "nothing": lambda rng, n: np.full(n, "NA"),
    "spaces": lambda rng, n: rng.choice([" 1", "2 ", " NA "], n),
    "truths": lambda rng, n: rng.choice(["true", "false", ""], n),
}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("form", ["csv", "csv.gz", "folder"])
def test_text_files_with_odd_columns(seed, form, tmp_path, monkeypatch):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 40))
    chosen = rng.choice(list(ODD_VALUES), 4, replace=False)
    frame = pd.DataFrame({name: ODD_VALUES[name](rng, n) for name in chosen})
    frame["y"] = [["a", "b"], ["1", "2"], ["01", "1"]][seed % 3] * (n // 2) + ["1"] * (n % 2)
    path = tmp_path / f"t.{form}"
    if form == "folder":
        path.mkdir()
        for at in range(3):
            frame.iloc[at * n // 3 : (at + 1) * n // 3].to_csv(path / f"{at}.csv", index=False)
    else:
        frame.to_csv(path, index=False, compression="infer")
    assert_same([path], Schema(target="y"), monkeypatch)


def test_the_types_of_text_columns_are_those_of_all_rows(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    rows = "".join(f"3,0{i % 3},,{i % 2}\n" for i in range(20))
    path.write_text(f"a,b,c,y\n{rows}3.5,none,x,1\n")
    sample = assert_same([path], Schema(target="y"), monkeypatch)
    assert [column.kind for column in sample.columns] == ["real", "nominal", "nominal"]
    assert sample.columns[1].categories == ("00", "01", "02", "none")
    assert sample.columns[2] == Column("c", "nominal", ("x",), missing=True)
    assert sample.classes.tolist() == [0, 1]


def test_labels_are_numbers_only_if_all_of_them_are(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "1,0\n2,1\n" * 9 + "3,no\n")
    sample = assert_same([path], Schema(target="y"), monkeypatch)
    assert sample.classes.tolist() == ["0", "1", "no"]


OPTIONS = """
target = "y"
missing = ["", "?"]
[read]
separator = ";"
decimal = ","
encoding = "latin-1"
skip_rows = 1
[columns]
id = "ignore"
size = { kind = "ordinal", categories = ["S", "M", "L"] }
code = "nominal"
"""


def test_every_option_of_reading_works_both_ways(tmp_path, monkeypatch):
    path = tmp_path / "t.txt"
    lines = [f"{i};{['S', 'L', '?'][i % 3]};{i % 4};{i},5;r\xe9;{'ab'[i % 2]}" for i in range(30)]
    path.write_bytes("\n".join(["a comment", "id;size;code;v;w;y", *lines]).encode("latin-1"))
    sample = assert_same([path], Schema.from_toml(OPTIONS), monkeypatch)
    assert sample.columns == (
        Column("size", "ordinal", ("S", "M", "L"), declared=True, missing=True),
        Column("code", "nominal", ("0", "1", "2", "3")),
        Column("v"),
        Column("w", "nominal", ("r\xe9",)),
    )
    assert sample.X.values[2][:2].tolist() == [0.5, 1.5]


TYPED = pa.table(
    {
        "whole": pa.array([1, 2, None, 4] * 5),
        "text": pa.array(["a", "", None, "b"] * 5),
        "dictionary": pa.array(["u", "v", "u", None] * 5).dictionary_encode(),
        "flag": pa.array([True, False, None, True] * 5),
        "day": pa.array(range(20), pa.int32()).cast(pa.date32()),
        "map": pa.array([[("k", 1)]] * 20, pa.map_(pa.string(), pa.int64())),
        "y": pa.array(["no", "yes"] * 10),
    }
)


@pytest.mark.parametrize("form", ["parquet", "feather", "arrows"])
def test_typed_files(form, tmp_path, monkeypatch):
    path = tmp_path / f"t.{form}"
    if form == "parquet":
        parquet.write_table(TYPED, path, row_group_size=6)
    elif form == "feather":
        feather.write_feather(TYPED, path, chunksize=6)
    else:
        with pa.ipc.new_stream(path, TYPED.schema) as writer:
            writer.write_table(TYPED, max_chunksize=6)
    sample = assert_same([path], Schema(target="y"), monkeypatch)
    assert [column.name for column in sample.columns] == ["whole", "text", "dictionary", "flag"]
    assert sample.columns[1].categories == ("a", "b")  # an empty text is missing
    assert sample.columns[3].declared


def test_types_of_several_files_are_unified(tmp_path, monkeypatch):
    tables = [
        pa.table({"x": pa.nulls(4), "c": pa.array(["a"] * 4), "y": ["u", "v"] * 2}),
        pa.table({"x": [1, 2, 3, 4], "c": pa.array(["b"] * 4).dictionary_encode(), "y": ["u"] * 4}),
        pa.table({"c": pa.array(["a"] * 4), "y": ["v"] * 4, "x": [1.5, 2.5, None, 4.0]}),
    ]
    for at, table in enumerate(tables):
        parquet.write_table(table, tmp_path / f"{at}.parquet")
    sample = assert_same([tmp_path], Schema(target="y"), monkeypatch)
    assert sample.columns == (
        Column("x", missing=True),
        Column("c", "nominal", ("a", "b")),
    )
    parquet.write_table(pa.table({"x": ["t"], "c": ["a"], "y": ["u"]}), tmp_path / "3.parquet")
    for read in (whole, lambda *a: streamed(*a, 5, monkeypatch)):
        with pytest.raises(ValueError, match=r"'x' must be of one type.*1\.parquet.*3\.parquet"):
            read([tmp_path], Schema(target="y"))


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize(("names", "difference"), [("xyz", "has 'z' besides"), ("y", "lacks 'x'")])
def test_files_with_other_columns_are_refused(form, names, difference, tmp_path, monkeypatch):
    for at, columns in enumerate(["xy", names]):
        frame = pd.DataFrame({name: ["1", "2"] for name in columns})
        path = tmp_path / f"{at}.{form}"
        frame.to_csv(path, index=False) if form == "csv" else frame.to_parquet(path)
    for read in (whole, lambda *a: streamed(*a, 5, monkeypatch)):
        with pytest.raises(ValueError, match=rf"same columns.*1\.{form} {difference}"):
            read([tmp_path], Schema(target="y"))


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_keys_in_the_names_of_folders_are_columns(form, tmp_path, monkeypatch):
    for year, place in [(2023, "a%20b"), (2024, "c")]:
        folder = tmp_path / f"year={year}" / f"place={place}"
        folder.mkdir(parents=True)
        frame = pd.DataFrame({"x": [1.0, 2.0], "y": ["u", "v"]})
        path = folder / f"t.{form}"
        frame.to_csv(path, index=False) if form == "csv" else frame.to_parquet(path)
    sample = assert_same([tmp_path], Schema(target="y"), monkeypatch)
    assert [column.name for column in sample.columns] == ["x", "place", "year"]
    assert sample.columns[1].categories == ("a b", "c")
    assert sample.X.values[2].tolist() == [2023, 2023, 2024, 2024]


def test_text_in_utf_16_is_known_by_its_mark(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("x,y\n1,é\n2,b\n".encode("utf-16"))
    assert whole([path], Schema(target="y")).classes.tolist() == ["b", "é"]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("t.xlsx", b"PK\x03\x04", "is not an Excel workbook, or is damaged"),
        ("t.csv", b"\xd0\xcf\x11\xe0\xa1", "is not an Excel workbook, or is damaged"),
        ("t.feather", b"FEA1", "is a Feather file of version 1"),
        ("t.csv", b"BZh9", "compressed with bzip2"),
    ],
)
def test_files_that_are_no_tables_are_named_as_what_they_are(tmp_path, name, content, words):
    if "Excel" in words:
        pytest.importorskip("python_calamine")
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=words):
        read_raw(tmp_path / name)


def test_more_rows_to_skip_than_there_are(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n1,2\n")
    schema = Schema.from_toml("[read]\nskip_rows = 999999999999\n")
    with pytest.raises(ValueError, match="is empty"):
        read_raw(tmp_path / "t.csv", schema)


def test_the_size_of_a_packed_file_is_that_of_its_content(tmp_path):
    from treebound.data.formats import files_of, size_in_memory

    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"1,2\n" * 1_000_000))
    assert size_in_memory(files_of([path]), 1e9) == 4_000_000
    assert path.stat().st_size < 20_000
    frame = pd.DataFrame({"x": np.zeros(100_000), "y": 1})
    frame.to_parquet(tmp_path / "t.parquet")
    assert size_in_memory(files_of([tmp_path / "t.parquet"]), 1e9) == 1_600_000


def test_equal_labels_of_every_type_give_one_tree():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    codes = ((X[:, 0] > 0) & (X[:, 1] > 0)).astype(int)
    texts = np.array(["a", "b"])[codes]
    trees = [
        tb.BoundTreeClassifier(pruning=None).fit(X, y).tree_
        for y in (codes, codes.astype(bool), texts, texts.astype(object), pd.Series(texts),
                  pd.Series(texts, dtype="category"), pa.chunked_array([texts.tolist()]))
    ]  # fmt: skip
    for tree in trees[1:]:
        np.testing.assert_array_equal(tree.counts, trees[0].counts)
        np.testing.assert_array_equal(tree.threshold, trees[0].threshold)
        np.testing.assert_array_equal(tree.feature, trees[0].feature)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_key_that_a_folder_leaves_open_is_missing(form, tmp_path, monkeypatch):
    for place in ("a", "__HIVE_DEFAULT_PARTITION__"):
        folder = tmp_path / f"place={place}"
        folder.mkdir()
        frame = pd.DataFrame({"x": np.arange(300.0), "y": ["u", "v"] * 150})
        path = folder / f"t.{form}"
        frame.to_csv(path, index=False) if form == "csv" else frame.to_parquet(path)
    sample = assert_same([tmp_path], Schema(target="y"), monkeypatch, sizes=(290, 10**6))
    assert sample.columns[1] == Column("place", "nominal", ("a",), missing=True)
    assert sorted(sample.X.values[1].tolist()) == [-1] * 300 + [0] * 300


def on_standard_input(content, monkeypatch):
    stream = io.BufferedReader(io.BytesIO(content))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(stream))


def test_text_on_standard_input_is_read_once(monkeypatch):
    on_standard_input(b"x,y\n1,a\n2,b\n", monkeypatch)
    source = Source("-", Schema(target="y"))
    assert len(next(source.chunks(None))) == 2
    with pytest.raises(ValueError, match="Text on standard input can be read once"):
        next(source.chunks(None))


@pytest.mark.parametrize("form", ["parquet", "arrow", "stream"])
def test_typed_files_on_standard_input_are_read_again(form, monkeypatch):
    table, out = pa.table({"x": [1, 2, 3], "y": ["a", "b", "a"]}), io.BytesIO()
    if form == "parquet":
        parquet.write_table(table, out)
    else:
        new = pa.ipc.new_stream if form == "stream" else pa.ipc.new_file
        with new(out, table.schema) as writer:
            writer.write_table(table, max_chunksize=2)
    on_standard_input(out.getvalue(), monkeypatch)
    source = Source("-", Schema(target="y"))
    for rows in (None, 2, None):
        values = [value for chunk in source.chunks(rows) for value in chunk.rows["x"].to_pylist()]
        assert values == [1, 2, 3]
