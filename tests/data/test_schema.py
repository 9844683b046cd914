"""Schema files: what is written is read back, and what is wrong is named."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treebound import Landscape
from treebound.data import Column, landscape_of
from treebound.data.schema import Layout
from treebound.study.datasets import Schema, SchemaError, read_schema

TEXT = """
target = "label"
missing = ["", "?"]
undeclared = "ignore"

[read]
separator = ";"
decimal = ","
encoding = "latin-1"
skip_rows = 2

[columns]
id = "ignore"
age = "real"
size = { kind = "ordinal", categories = ["small", "medium", "large"] }
label = { kind = "nominal", categories = ["no", "yes"] }

[columns."a colour"]
kind = "nominal"
categories = ["red", "green", "blue"]

[columns.shop]
kind = "nominal"
"""


def test_every_entry_of_a_schema_file_is_read():
    schema = Schema.from_toml(TEXT)
    assert schema.columns == (
        Column("age"),
        Column("size", "ordinal", ("small", "medium", "large"), declared=True),
        Column("a colour", "nominal", ("red", "green", "blue"), declared=True),
        Column("shop", "nominal"),
    )
    assert (schema.target, schema.classes, schema.ignored) == ("label", ("no", "yes"), ("id",))
    assert (schema.missing, schema.undeclared) == (("", "?"), "ignore")
    assert schema.layout == Layout(";", ",", "latin-1", True, 2)
    assert schema.order == ("id", "age", "size", "label", "a colour", "shop")
    assert landscape_of(schema.columns) == Landscape(1, (3,), (3, None))


def test_a_schema_is_shown_as_a_table():
    assert str(Schema.from_toml(TEXT)).splitlines() == [
        "column    kind     categories",
        "id        ignored",
        "age       real",
        "size      ordinal  small < medium < large",
        "label     target   no, yes",
        "a colour  nominal  red, green, blue",
        "shop      nominal  (found in the data)",
    ]


def test_many_categories_are_shown_in_part():
    column = Column("n", "ordinal", tuple(range(30)), declared=True)
    assert Schema((column,)).rows() == [
        ("n", "ordinal", "0 < 1 < 2 < 3 < 4 < 5 < 6 < 7 < ... < 29 (30)")
    ]


NAME = st.text(st.characters(codec="utf-8"), max_size=8)
VALUES = st.one_of(
    st.lists(NAME, min_size=1, max_size=4, unique=True),
    st.lists(st.integers(-(2**60), 2**60), min_size=1, max_size=4, unique=True),
    st.lists(st.floats(allow_nan=False), min_size=1, max_size=4, unique=True),
    st.just([True, False]),
)


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    names = draw(st.lists(NAME, unique=True, max_size=6))
    columns, ignored = [], []
    for name in names:
        kind = draw(st.sampled_from(["real", "ordinal", "nominal", "open", "ignore"]))
        if kind == "ignore":
            ignored.append(name)
        elif kind in ("real", "open"):
            columns.append(Column(name, "real" if kind == "real" else "nominal"))
        else:
            columns.append(Column(name, kind, tuple(draw(VALUES)), declared=True))
    target = draw(st.none() | NAME.filter(lambda name: name not in names))
    classes = None if target is None else draw(st.none() | VALUES.map(tuple))
    layout = Layout(
        draw(st.none() | st.sampled_from([";", "\t", "|", "whitespace"])),
        draw(st.sampled_from([".", ","])),
        draw(st.sampled_from(["utf-8-sig", "latin-1"])),
        draw(st.booleans()),
        draw(st.integers(0, 9)),
    )
    order = tuple(draw(st.permutations([*names, *([] if target is None else [target])])))
    known = {column.name: column for column in columns}
    return Schema(
        tuple(known[name] for name in order if name in known),
        target,
        classes,
        tuple(name for name in order if name in ignored),
        tuple(draw(st.lists(NAME, max_size=3))),
        draw(st.sampled_from(["infer", "ignore"])),
        layout,
        order,
    )


@given(schemas())
def test_a_schema_is_read_back_as_it_was_written(schema: Schema):
    assert Schema.from_toml(schema.to_toml()) == schema


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("target = label", r"not valid TOML: .*line 1"),
        ("[columns]\nage = 'real'\nage = 'real'", r"not valid TOML: .*line 3"),
        ("tarket = 'label'", r"the top level has no key 'tarket'. Hint: it may have target"),
        ("target = 3", r"'target' must be the name of a column. Got 3"),
        ("missing = '?'", r"'missing' must be a list of texts. Got '\?'"),
        ("undeclared = 'drop'", r"'undeclared' must be 'infer' or 'ignore'. Got 'drop'"),
        ("columns = ['age']", r"'columns' must be a table"),
        ("[columns]\nage = 'number'", r"'kind' of column 'age' must be one of 'real'.*'number'"),
        ("[columns]\nage = 3", r"column 'age' must be a kind or a table. Got 3"),
        ("[columns]\nage = {sort = 'real'}", r"column 'age' has no key 'sort'"),
        ("[columns]\nsize = 'ordinal'", r"'size' is ordinal but lists no categories. Hint"),
        ("[columns]\nage = {kind = 'real', categories = [1]}", r"'age' is 'real' and so has no"),
        ("[columns]\nc = {kind = 'nominal', categories = []}", r"categories of column 'c' must be"),
        ("[columns]\nc = {kind = 'nominal', categories = [[1]]}", r"categories of column 'c'"),
        ("[columns]\nc = {kind = 'nominal', categories = ['a', 'a']}", r"'c' lists .* twice: a"),
        ("[read]\nsep = ';'", r"\[read\] has no key 'sep'. Hint: it may have separator"),
        ("[read]\nseparator = '::'", r"'separator' of \[read\] must be one character"),
        ("[read]\ndecimal = ''", r"'decimal' of \[read\] must be one character"),
        ("[read]\nskip_rows = -1", r"'skip_rows' of \[read\] must be an int >= 0"),
        ("[read]\nheader = 1", r"'header' of \[read\] must be a bool. Got 1"),
        ("target = 'y'\n[read]\nheader = false", r"target 'y' is not under \[columns\]"),
        ("target = " + "[" * 9000 + "]" * 9000, "not valid: it is nested too deeply"),
        ("target = " + "{a = " * 9000 + "1" + "}" * 9000, "not valid: it is nested too deeply"),
        ("target" + ".a" * 3000 + " = 1", "not valid: it is nested too deeply"),
    ],
    ids=range(24),
)
def test_what_is_wrong_in_a_schema_is_named(text: str, why: str):
    with pytest.raises(SchemaError, match=why) as caught:
        Schema.from_toml(text, name="my.toml")
    assert str(caught.value).startswith("The schema my.toml is not ")


def test_a_schema_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(OSError, match=r"Cannot read the schema .*gone\.toml: No such file"):
        read_schema(tmp_path / "gone.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SchemaError, match="not UTF-8 text"):
        read_schema(tmp_path / "bytes.toml")


def test_another_target_turns_the_old_one_into_an_ignored_column():
    schema = Schema.from_toml(TEXT).with_target("size")
    assert (schema.target, schema.classes) == ("size", ("small", "medium", "large"))
    assert schema.names == ["age", "a colour", "shop"]
    assert schema.ignored == ("id", "label")
    assert schema.with_target(None) is schema
