"""Excel workbooks are read as the text files that they would be saved as."""

import io
import zipfile
from xml.sax.saxutils import escape

import numpy as np
import pytest

from treebound.data.files import read_raw
from treebound.data.schema import Layout, Schema

pytest.importorskip("python_calamine")

SPACE = "http://schemas.openxmlformats.org"
DATE = "date"  # a cell whose number has the format of a date


def cell(value):
    if isinstance(value, tuple):
        return f'<c s="1"><v>{value[1]}</v></c>'
    if isinstance(value, bool):
        return f'<c t="b"><v>{int(value)}</v></c>'
    if isinstance(value, int | float):
        return f"<c><v>{value}</v></c>"
    return f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>' if value else "<c/>"


def workbook(**sheets):
    """The bytes of a workbook with some rows in each sheet."""
    relations = f"{SPACE}/officeDocument/2006/relationships"
    main = f'xmlns="{SPACE}/spreadsheetml/2006/main"'
    types = f"{SPACE}/package/2006/content-types"
    form = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    numbered = list(enumerate(sheets, 1))
    files = {
        "[Content_Types].xml": f'<Types xmlns="{types}">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.'
        'relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{form}.sheet.main+xml"/>'
        f'<Override PartName="/xl/styles.xml" ContentType="{form}.styles+xml"/>'
        + "".join(
            f'<Override PartName="/xl/worksheets/s{at}.xml" ContentType="{form}.worksheet+xml"/>'
            for at, _ in numbered
        )
        + "</Types>",
        "_rels/.rels": f'<Relationships xmlns="{SPACE}/package/2006/relationships">'
        f'<Relationship Id="r1" Type="{relations}/officeDocument" Target="xl/workbook.xml"/>'
        "</Relationships>",
        "xl/workbook.xml": f'<workbook {main} xmlns:r="{relations}"><sheets>'
        + "".join(f'<sheet name="{name}" sheetId="{at}" r:id="r{at}"/>' for at, name in numbered)
        + "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{SPACE}/package/2006/relationships">'
        + "".join(
            f'<Relationship Id="r{at}" Type="{relations}/worksheet" Target="worksheets/s{at}.xml"/>'
            for at, _ in numbered
        )
        + f'<Relationship Id="style" Type="{relations}/styles" Target="styles.xml"/>'
        "</Relationships>",
        "xl/styles.xml": f'<styleSheet {main}><cellXfs count="2"><xf numFmtId="0"/>'
        '<xf numFmtId="14"/></cellXfs></styleSheet>',
    }
    for at, name in numbered:
        rows = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in sheets[name])
        files[f"xl/worksheets/s{at}.xml"] = (
            f"<worksheet {main}><sheetData>{rows}</sheetData></worksheet>"
        )
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{text}')
    return stream.getvalue()


ROWS = [
    ["age", "weight", "seen", "sex", "ill", ""],
    [30, 61.5, (DATE, 45292), "f", True, ""],
    [41, "n/a", (DATE, 45293), "m", False, ""],
    ["", "", "", "", "", ""],
    [58, 70, (DATE, 45657), "f", True, ""],
]


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "visits.xlsx"
    file.write_bytes(workbook(visits=ROWS, empty=[]))
    return file


def test_a_sheet_is_read_as_its_csv_file(path, tmp_path):
    text = "age,weight,seen,sex,ill\n30,61.5,2024-01-01,f,True\n41,n/a,2024-01-02,m,False\n"
    (tmp_path / "visits.csv").write_text(text + "58,70,2024-12-31,f,True\n")
    ours, expected = (
        read_raw(file, Schema(target="ill")) for file in (path, tmp_path / "visits.csv")
    )
    assert ours.native().to_pydict() == expected.native().to_pydict()
    assert ours.schema == expected.schema
    assert [column.kind for column in ours.schema.columns] == ["real", "real", "nominal", "nominal"]
    np.testing.assert_array_equal(ours.columns()["weight"].values, [61.5, np.nan, 70.0])


def test_the_sheet_is_named_if_there_are_several(tmp_path):
    path = tmp_path / "t.xlsx"
    path.write_bytes(workbook(first=[["x", "y"], [1, 2]], second=[["a"], [1], [2]]))
    with pytest.raises(
        ValueError, match=r"has 2 sheets with rows, 'first', 'second'. Hint: name"
    ) as e:
        read_raw(path)
    assert "(--sheet)" in e.value.worded(lambda setting: f"--{setting.name}")
    with pytest.raises(ValueError, match="has no sheet 'third'"):
        read_raw(path, Schema(layout=Layout(sheet="third")))
    assert read_raw(path, Schema(layout=Layout(sheet="second"))).names == ["a"]
    schema = Schema.from_toml('[read]\nsheet = "first"')
    assert read_raw(path, schema).names == ["x", "y"]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([["x", ""], [1, 2]], "has no name for column 2"),
        ([["x", "x"], [1, 2]], "more than one column named 'x'"),
    ],
)
def test_names_of_columns_must_be_there(tmp_path, rows, words):
    (tmp_path / "t.xlsx").write_bytes(workbook(s=rows))
    with pytest.raises(ValueError, match=words):
        read_raw(tmp_path / "t.xlsx")


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_the_separator_of_a_text_file_is_found(tmp_path, mark):
    (tmp_path / "t.csv").write_text(f'\n"a,b"{mark}y\n"1,5"{mark}2\n')
    raw = read_raw(tmp_path / "t.csv")
    assert raw.native().to_pydict() == {"a,b": ["1,5"], "y": ["2"]}
    (tmp_path / "t.csv").write_text(f"a,b{mark}y\n1,2\n")
    assert read_raw(tmp_path / "t.csv").names == ["a", f"b{mark}y"]
