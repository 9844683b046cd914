"""How names, numbers and colours are written."""

from treebound.data import Column
from treebound.exchange.code import identifiers
from treebound.show.as_latex import escaped
from treebound.show.colours import class_colours
from treebound.show.explain import value_in_words
from treebound.show.words import count, counted, number
from treebound.tree.split import one_line


def test_thresholds_are_exact_or_marked_as_rounded():
    assert [number(2.45), number(102.0), number(0.1 + 0.2)] == ["2.45", "102", repr(0.1 + 0.2)]
    assert number(0.1 + 0.2, digits=3) == "≈0.3"


def test_counts_are_whole_or_short():
    assert [count(2_000_000.0), count(0.123456)] == ["2,000,000", "0.1235"]
    assert count(200965.25) == "200,965.2"
    assert [counted(1, "leaf"), counted(2, "leaf")] == ["1 leaf", "2 leaves"]
    assert [counted(0, "error"), counted(1.0, "row")] == ["0 errors", "1 row"]


def test_names_and_values_are_one_visible_line():
    assert [one_line("two\nlines"), one_line(3), one_line("")] == ["two\\nlines", "3", "''"]
    words = [value_in_words(value) for value in (4.50, None, "red")]
    assert words == ["4.5", "missing", "red"]


def test_latex_is_ascii():
    text = r"100\% of na{\"\i}ve $\alpha${,} \texttt{U+6570}"
    assert escaped("100% of naïve α, 数") == text


def test_identifiers_are_readable_and_unique():
    columns = [Column(name) for name in ("petal length (cm)", "class", "class!", "数")]
    names = ["petal_length_cm", "class_1", "class_2", "x3"]
    assert identifiers(columns, frozenset({"class"})) == names


def test_two_classes_have_the_first_two_colours():
    assert class_colours(2) == ("#0072B2", "#E69F00")
