"""Tables of one's own: every form reads the same, and every error names its place."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import column_of

from treebound.data import Column
from treebound.data.files import Source, as_schema
from treebound.study.datasets import Schema, read_table
from treebound.study.datasets.reading import frame_of

CSV = """age,size,colour,label
31,small,red,no
,large,"blue, dark",yes
40.5,?,red,no
"""
SCHEMA = Schema.from_toml("""
target = "label"
missing = ["", "?"]
[columns]
size = { kind = "ordinal", categories = ["small", "medium", "large"] }
""")
FRAME = pd.DataFrame(
    {
        "age": [31.0, np.nan, 40.5],
        "size": pd.Categorical(
            ["small", "large", None], categories=["small", "medium", "large"], ordered=True
        ),
        "colour": ["red", "blue, dark", "red"],
    }
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    path.write_text(CSV)
    return path


def stdin(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


# -- forms ---------------------------------------------------------------------------------


def test_a_csv_file_with_a_schema(path):
    table = read_table(path, SCHEMA)
    pd.testing.assert_frame_equal(table.frame, FRAME)
    assert table.target.tolist() == ["no", "yes", "no"]
    assert table.name == "table"
    assert table.schema.names == ["age", "size", "colour"]
    assert column_of(table.schema, "colour").declared is False
    # Missing values and categories that were only found count as they must in a certificate.
    assert (table.landscape.real, table.landscape.ordinal) == (2, (4, 4))
    assert table.landscape.nominal == (None,)


def test_a_schema_file_is_read_by_its_path(path, tmp_path):
    (tmp_path / "schema.toml").write_text(SCHEMA.to_toml())
    pd.testing.assert_frame_equal(read_table(path, tmp_path / "schema.toml").frame, FRAME)


@pytest.mark.parametrize("form", ["gzip", "bom", "crlf", "tsv", "semicolon", "stdin", "latin-1"])
def test_the_same_table_in_other_text_forms(form, tmp_path, monkeypatch):
    table = tmp_path / "table.csv"
    schema = SCHEMA
    if form == "gzip":
        table = tmp_path / "table.csv.gz"
        table.write_bytes(gzip.compress(CSV.encode()))
    elif form == "bom":
        table.write_bytes(b"\xef\xbb\xbf" + CSV.encode())
    elif form == "crlf":
        table.write_bytes(CSV.replace("\n", "\r\n").encode())
    elif form == "tsv":
        table = tmp_path / "table.tsv"
        FRAME.assign(label=["no", "yes", "no"]).to_csv(table, sep="\t", index=False, na_rep="?")
    elif form == "semicolon":
        frame = FRAME.assign(label=["no", "yes", "no"])
        table.write_text("a comment\n" + frame.to_csv(sep=";", decimal=",", index=False))
        schema = Schema.from_toml(
            SCHEMA.to_toml() + '\n[read]\nseparator = ";"\ndecimal = ","\nskip_rows = 1\n'
        )
    elif form == "latin-1":
        table.write_bytes(CSV.replace("dark", "gris\xe2tre").encode("latin-1"))
        schema = Schema.from_toml(SCHEMA.to_toml() + '\n[read]\nencoding = "latin-1"\n')
    else:
        stdin(monkeypatch, CSV)
        table = "-"
    expected = FRAME.replace("blue, dark", "blue, gris\xe2tre") if form == "latin-1" else FRAME
    pd.testing.assert_frame_equal(read_table(table, schema).frame, expected)


def test_parquet_and_frames_read_like_csv(path, tmp_path):
    whole = FRAME.assign(label=["no", "yes", "no"])
    whole.to_parquet(tmp_path / "table.parquet")
    for table in (whole, tmp_path / "table.parquet", pa.Table.from_pandas(whole)):
        read = read_table(table, target="label")
        pd.testing.assert_frame_equal(read.frame, FRAME)
        assert column_of(read.schema, "size").declared
        assert read.target.tolist() == ["no", "yes", "no"]


def test_polars_enums_are_declared_categories():
    frame = pl.DataFrame(
        {"size": ["b", "a"], "n": [1, 2], "y": [0, 1]},
        schema_overrides={"size": pl.Enum(["a", "b", "c"])},
    )
    read = read_table(frame, target="y")
    assert column_of(read.schema, "size").categories == ("a", "b", "c")
    assert column_of(read.schema, "size").declared
    assert read.frame["n"].dtype == np.float64


def test_numbers_come_back_exactly(tmp_path):
    values = np.random.default_rng(0).normal(size=500) * 10.0 ** np.arange(-250, 250)
    pd.DataFrame({"x": values}).to_csv(tmp_path / "x.csv", index=False)
    assert (read_table(tmp_path / "x.csv").frame["x"].to_numpy() == values).all()


def test_a_file_without_a_header_takes_the_names_of_the_schema(tmp_path):
    (tmp_path / "t.data").write_text("1 a 0\n2 b 1\n")
    schema = Schema.from_toml("""
        target = "y"
        [read]
        header = false
        separator = "whitespace"
        [columns]
        x = "real"
        c = "nominal"
        y = "nominal"
    """)
    table = read_table(tmp_path / "t.data", schema)
    assert table.frame["x"].tolist() == [1.0, 2.0]
    assert table.target.tolist() == [0, 1]


# -- inference -----------------------------------------------------------------------------


def test_types_are_inferred_from_text(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,c,d\n1,x,,01\n2.5e3,,NA,02\nnan,y,7,03\n")
    schema = read_table(tmp_path / "t.csv").schema
    assert schema.columns == (
        Column("a"),
        Column("b", "nominal", ("x", "y")),
        Column("c"),
        Column("d"),
    )


def test_types_are_inferred_from_dtypes():
    frame = pd.DataFrame(
        {
            "int": [1, 2],
            "nullable": pd.array([1, None], dtype="Int64"),
            "flag": [True, False],
            "text": ["1", "2"],
            "object": np.array([1, None], dtype=object),
            "flags": np.array([True, None], dtype=object),
            "when": pd.to_datetime(["2020-01-01", "2020-01-02"]),
            "lists": [[1], [2]],
            "mixed": np.array([1, "a"], dtype=object),
        }
    )
    schema = read_table(frame).schema
    flag = {"kind": "nominal", "categories": (False, True), "declared": True}
    assert schema.columns == (
        Column("int"),
        Column("nullable"),
        Column("flag", **flag),
        Column("text", "nominal", ("1", "2")),
        Column("object"),
        Column("flags", **flag),
    )
    assert schema.ignored == ("when", "lists", "mixed")
    read = read_table(frame).frame
    assert read["nullable"].tolist()[0] == 1.0
    assert read["nullable"].isna().tolist() == [False, True]
    assert read["flags"].isna().tolist() == [False, True]


def test_an_inferred_schema_written_down_reads_the_same_table(path, tmp_path):
    first = read_table(path, target="label")
    (tmp_path / "s.toml").write_text(first.schema.to_toml())
    again = read_table(path, tmp_path / "s.toml")
    pd.testing.assert_frame_equal(first.frame, again.frame)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["1", "2", "10"], [1, 2, 10]),
        (["01", "02", "10"], ["01", "02", "10"]),
        (["1.5", "2", "1"], [1.5, 2.0, 1.0]),
        ([" a", "b ", "a"], ["a", "b", "a"]),
    ],
)
def test_labels_are_whole_numbers_or_texts(tmp_path, labels, expected):
    (tmp_path / "t.csv").write_text("x,y\n" + "".join(f"0,{label}\n" for label in labels))
    assert read_table(tmp_path / "t.csv", target="y").target.tolist() == expected


def test_categories_match_by_value_by_text_and_by_number():
    schema = Schema.from_toml("""
        [columns]
        n = { kind = "nominal", categories = [1, 2.5, 3] }
        b = { kind = "nominal", categories = [false, true] }
    """)
    for n, b in (
        (["1", " 2.50 ", "3.0"], ["true", "false", "true"]),
        ([1, 2.5, 3], [True, False, True]),
        (np.array([1.0, 2.5, 3.0]), np.array([True, False, True])),
    ):
        frame = read_table(pd.DataFrame({"n": n, "b": b}), schema).frame
        assert frame["n"].tolist() == [1, 2.5, 3]
        assert frame["b"].tolist() == [True, False, True]


# -- chunks --------------------------------------------------------------------------------


def iter_table(table, schema, chunk_rows=100_000, *, unknown="keep"):
    """The chunks that the command line and streams read, as frames."""
    done = 0
    source = Source(table, as_schema(schema), unknown=unknown, complete=False)
    for read in source.chunks(chunk_rows):
        frame = frame_of(read)
        frame.index = frame.index + done
        done += len(frame)
        yield frame


@pytest.mark.parametrize("form", ["csv", "parquet", "frame", "-"])
@pytest.mark.parametrize("chunk_rows", [1, 2, 3, 100])
def test_combined_chunks_are_the_whole_table(form, chunk_rows, path, tmp_path, monkeypatch):
    schema = read_table(path, SCHEMA).schema
    table: object = path
    if form == "parquet":
        table = tmp_path / "t.parquet"
        FRAME.assign(other=1).to_parquet(table)
    elif form == "frame":
        table = FRAME.assign(other=1)
    elif form == "-":
        stdin(monkeypatch, CSV)
        table = "-"
    chunks = list(iter_table(table, schema, chunk_rows, unknown="error"))
    assert [len(chunk) for chunk in chunks][:-1] == [chunk_rows] * (len(chunks) - 1)
    pd.testing.assert_frame_equal(pd.concat(chunks), FRAME)


def test_unknown_categories_are_kept_for_prediction_or_refused(tmp_path):
    schema = Schema(
        (
            Column("c", "nominal", ("a", "b"), declared=True),
            Column("n", "ordinal", (1, 2), declared=True),
            Column("found", "nominal", (3, 4)),
        )
    )
    (tmp_path / "t.csv").write_text("c,n,found,id\na,1,3,x\nz,7,9,y\n,,,z\n")
    (chunk,) = iter_table(tmp_path / "t.csv", schema)
    assert chunk["c"].tolist()[:2] == ["a", "z"]
    assert chunk["n"].tolist()[:2] == [1, 7]
    assert chunk["found"].tolist()[:2] == [3, 9]
    assert chunk.iloc[2].isna().all()
    with pytest.raises(ValueError, match=r"Column 'c', row 2: 'z' is not one of its categories"):
        list(iter_table(tmp_path / "t.csv", schema, 1, unknown="error"))
    (tmp_path / "t.csv").write_text("c,n,found\na,one,3\n")
    with pytest.raises(ValueError, match=r"Column 'n', row 1: 'one' is not one of .*\(1, 2\)"):
        list(iter_table(tmp_path / "t.csv", schema))


def test_a_table_without_rows_is_one_empty_chunk(tmp_path):
    (tmp_path / "t.csv").write_text("age,size,colour\n")
    FRAME.iloc[:0].to_parquet(tmp_path / "t.parquet")
    schema = read_table(FRAME).schema
    for table in (tmp_path / "t.csv", tmp_path / "t.parquet", FRAME.iloc[:0]):
        (chunk,) = iter_table(table, schema)
        assert chunk.shape == (0, 3)


CELL = st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), max_size=6)


@given(
    st.lists(
        st.tuples(st.floats(allow_nan=False, allow_infinity=False), CELL, st.sampled_from("abc")),
        min_size=1,
        max_size=12,
    ),
    st.integers(1, 5),
)
def test_any_values_survive_being_written_and_read_in_chunks(rows, chunk_rows):
    frame = pd.DataFrame(rows, columns=["x", 'a, b\n"c"', "y"])
    stream = io.BytesIO(frame.to_csv(index=False).encode())
    schema = Schema.from_toml(
        'missing = ["gone"]\n[columns]\nx = "real"\n"a, b\\n\\"c\\"" = "nominal"\ny = "nominal"\n'
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", io.TextIOWrapper(stream))
        read = pd.concat(iter_table("-", schema, chunk_rows))
    assert read["x"].tolist() == frame["x"].tolist()
    assert read.iloc[:, 1].tolist() == frame.iloc[:, 1].tolist()
    assert read["y"].tolist() == frame["y"].tolist()


# -- errors --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", r"is empty: there is no line of column names"),
        ("a,a,label\n1,2,no\n", r"more than one column named 'a'"),
        ("size,x\nsmall,1\n", r"has no column 'label'. Hint: it has 'size', 'x'"),
        ("x,label\n1,no\n", r"has no column 'size'"),
        ("size,label\nsmall,no\nhuge,no\n", r"Column 'size', row 2: 'huge' is not one of its "),
        ("size,label\nsmall,no\nlarge\n", r"t\.csv, row 2: 1 fields where 2 are expected"),
        ("size,label\n\nsmall,no\n\nlarge,1,2\n", r"row 2: 3 fields where 2 are expected"),
        ("size,label\nsmall,no\nlarge,\n", r"target column 'label' has no value in row 2\."),
        ('size,label\nsmall,"no\n', r"cannot be split into fields"),
    ],
)
def test_a_table_that_does_not_fit_is_an_error_with_its_place(tmp_path, text, why):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(ValueError, match=why):
        read_table(tmp_path / "t.csv", SCHEMA)


def test_a_text_in_a_real_column_is_named(tmp_path):
    (tmp_path / "t.csv").write_text("x\n1\n2\n1_000\n")
    with pytest.raises(ValueError, match=r"Column 'x', row 3: '1_000' is not a number. Hint"):
        read_table(tmp_path / "t.csv", Schema((Column("x"),)))


def test_a_declared_class_that_is_another_is_named(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n1,no\n2,maybe\n")
    schema = Schema((Column("x"),), "y", ("no", "yes"))
    with pytest.raises(ValueError, match=r"target column 'y' holds 'maybe' in row 2, which is not"):
        read_table(tmp_path / "t.csv", schema)


def test_files_that_cannot_be_read_are_named(tmp_path):
    with pytest.raises(OSError, match=r"Cannot read .*gone\.csv: No such file or directory"):
        read_table(tmp_path / "gone.csv")
    with pytest.raises(OSError, match=r"Cannot read .*gone\.parquet: No such file or directory"):
        read_table(tmp_path / "gone.parquet")
    with pytest.raises(ValueError, match=r"files of one kind. Got no file in "):
        read_table(tmp_path)
    (tmp_path / "t.parquet").write_bytes(b"PAR1 and then nothing")
    with pytest.raises(ValueError, match=r"t\.parquet is not a Parquet file"):
        read_table(tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_bytes(b"x\n\xff\xfe\n")
    with pytest.raises(ValueError, match=r'is not utf-8 text.*encoding = "latin-1"'):
        read_table(tmp_path / "t.csv")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(CSV.encode() * 100)[:60])
    with pytest.raises(ValueError, match=r"t\.csv\.gz is damaged or cut short"):
        read_table(tmp_path / "t.csv.gz")


def test_wrong_arguments_are_refused():
    with pytest.raises(TypeError, match=r"'table' parameter must be a path.*Got int instead"):
        read_table(3)
    with pytest.raises(TypeError, match="'schema' parameter must be a Schema or the path"):
        read_table(FRAME, schema=3)
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(ValueError, match="'a'"):
        read_table(twice)
