"""Names in a drawing are wrapped between their parts."""

import pytest

from treebound.show.drawing import wrapped


@pytest.mark.parametrize(
    ("text", "columns", "lines"),
    [
        ("hours_per_week", 13, ["hours_per_", "week"]),
        ("hours_per_week", 14, ["hours_per_week"]),
        ("mean concave points", 13, ["mean concave", "points"]),
        ("native-country", 9, ["native-", "country"]),
        ("lengthening", 8, ["lengthening"]),
        ("antidisestablishment", 8, ["antidis…"]),
        ("one two three four five six", 8, ["one two", "three", "four …"]),
        ("a_b", 26, ["a_b"]),
        ("", 8, [""]),
    ],
)
def test_a_name_is_broken_between_its_parts(text, columns, lines):
    assert wrapped(text, columns) == lines
