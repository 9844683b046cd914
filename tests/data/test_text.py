"""Text files read as the slow reader reads them, whatever their quotes, ends and sizes."""

from __future__ import annotations

import gzip
import io
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from slow_reader import slow_column, slow_columns
from support import column_of

from treebound.data import text
from treebound.data.text import text_tables
from treebound.study import datasets
from treebound.study.datasets import Schema, read_table


def columns(payload: bytes, rows: int | None = None) -> dict[str, list[str]]:
    """The columns as the package reads them, joined from chunks."""
    columns: dict[str, list[str]] = {}
    for chunk in text_tables(io.BytesIO(payload), Schema(), rows, "t.csv"):
        for name, values in chunk.to_pydict().items():
            columns.setdefault(name, []).extend(values)
    return columns


ODD = {
    "plain": b"a,b\n1,2\n3,4\n",
    "no end": b"a,b\n1,2\n3,4",
    "one line": b"a,b",
    "carriage returns": b"a,b\r1,2\r3,4\r",
    "both": b"a,b\r\n1,2\r\n\r\n3,4\r\n",
    "blank lines": b"\n\na,b\n\n1,2\n\n\n3,4\n\n",
    "quotes": b'a,"b ""c"""\n"1,5","x\ny"\n"",""""\n',
    "quote inside": b'a,b\n5" pipe,6" pipe\n1,2\n',
    "odd quote inside": b'a,b\n5" pipe,"x\ny"\n1,2\n',
    "quote after space": b'a,b\n "x",2\n',
    "junk after quote": b'a,b\n"x"y,2\n',
    "never closed": b'a,b\n1,"x\n2,3\n',
    "mark": b"\xef\xbb\xbfa,b\n1,2\n",
    "nul": b"a,b\n\x00,2\n",
    "other spaces": "a,b\n\x0b,\u2028\n\x85,\x1c\n".encode(),
    "short": b"a,b\n1\n",
    "long": b"a,b\n1,2,3\n",
    "one column": b"a\n\n1\n\n  \n",
    "not utf-8": b"a,b\n\xff,2\n",
}


@pytest.mark.parametrize("case", ODD)
@pytest.mark.parametrize("block", [7, 64, 1 << 24])
def test_odd_files_read_as_the_slow_reader_reads_them(case, block, monkeypatch):
    monkeypatch.setattr(text, "_BLOCK", block)
    payload = ODD[case]
    try:
        expected = slow_columns(payload)
    except Exception:
        with pytest.raises(ValueError, match=r"t\.csv"):
            columns(payload)
        return
    for rows in (None, 1, 2, 5):
        assert columns(payload, rows) == expected


PIECE = st.text(st.sampled_from(list('ab1."\n\r,; é')), max_size=6)


@given(st.lists(st.tuples(PIECE, PIECE), max_size=8), st.booleans(), st.integers(5, 40))
def test_any_text_reads_as_the_slow_reader_reads_it(rows, quoted, block):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "_BLOCK", block)
        if quoted:
            body = pd.DataFrame(rows, columns=["x", "y"]).to_csv(index=False)
        else:
            body = "x,y\n" + "\n".join(",".join(row) for row in rows)
        payload = body.encode()
        try:
            expected = slow_columns(payload)
        except Exception:
            with pytest.raises(ValueError, match=r"t\.csv"):
                columns(payload)
        else:
            assert columns(payload) == expected
            assert columns(payload, 2) == expected


NUMBERS = ["1", "+1", " 1", "1e5", "-.5", "inf", "1e999", "1e-400", "１２", "00012", "-0"]
TEXTS = ["1_0", "0x10", "1d", "1f", "nan(a)", "a", "1,031", "2020-01-01", "--1", "1 2"]
GONE = ["", "NA", " nan ", "NULL"]


@pytest.mark.parametrize("text", [*NUMBERS, *TEXTS, *GONE])
@pytest.mark.parametrize("neighbour", ["2.5", "x", ""])
def test_types_are_inferred_as_one_value_at_a_time(text, neighbour, tmp_path):
    values = [text, neighbour, text, "7"]
    path = tmp_path / "t.csv"
    pd.DataFrame({"v": values, "w": "w"}).to_csv(path, index=False)
    expected = slow_column(values)
    table = read_table(path)
    values = table.frame["v"]
    kind = column_of(table.schema, "v").kind
    assert kind == ("nominal" if any(isinstance(one, str) for one in expected) else "real")
    assert [None if pd.isna(one) else one for one in values] == expected


SEPARATED = [
    name
    for name in datasets.list()
    if datasets.info(name).sheet is None
    and datasets.info(name).declared.layout.separator != "whitespace"
]


@pytest.mark.parametrize("name", SEPARATED)
def test_the_data_sets_read_as_the_slow_reader_reads_them(name, raw_files: Path):
    entry = datasets.info(name)
    layout = entry.declared.layout
    path = raw_files / name / entry.file
    header = "" if layout.header else ",".join(entry.declared.order) + "\n"
    separator = layout.separator or ","
    body = path.read_bytes().decode(layout.encoding)
    for _ in range(layout.skip_rows):
        body = body.partition("\n")[2]
    payload = header.replace(",", separator).encode() + body.encode()
    schema = Schema.from_toml(f"[read]\nseparator = '{separator}'\n")
    expected = slow_columns(payload, separator)
    (raw,) = text_tables(io.BytesIO(payload), schema, None, name)
    assert raw.to_pydict() == expected


def test_a_marker_that_is_a_number_is_missing_wherever_it_stands(tmp_path):
    (tmp_path / "t.csv").write_text("x\n1\n-9\n2\n")
    schema = Schema.from_toml('missing = ["-9"]')
    assert np.isnan(read_table(tmp_path / "t.csv", schema).frame["x"][1])


def test_a_line_without_end_is_refused_before_it_fills_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "LONGEST_LINE", 1 << 20)
    monkeypatch.setattr(text, "_BLOCK", 1 << 18)
    for start in (b"x,y\n1,2\n", b'x,y\n5" ,', b'x,y\n"', b""):
        path = tmp_path / "t.csv.gz"
        with gzip.open(path, "wb", 1) as stream:
            stream.write(start)
            for _ in range(64):
                stream.write(b"a" * (1 << 20))
        tracemalloc.start()
        with pytest.raises(ValueError, match=r"t\.csv\.gz.*(row 1|row 2|field limit)"):
            read_table(path)
        assert tracemalloc.get_traced_memory()[1] < 24 << 20
        tracemalloc.stop()


def test_long_tables_are_read_in_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"x": rng.normal(size=3000), "c": rng.choice(["a", 'b "q"', "c\nd"], 3000)}
    )
    payload = frame.to_csv(index=False).encode()
    monkeypatch.setattr(text, "_BLOCK", 1000)
    assert columns(payload) == slow_columns(payload)
    assert columns(payload, 700) == slow_columns(payload)
