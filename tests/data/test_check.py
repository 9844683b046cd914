"""treebound.check: a report of a table that reads as a text."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import treebound as tb

N = 60


def frame():
    return pd.DataFrame(
        {
            "when": pd.date_range("2024-01-01", periods=N),
            "share": ["NA" if i % 9 == 1 else f"{i}%" for i in range(N)],
            "colour": ["?" if i % 6 == 0 else "red" if i % 2 else "blue" for i in range(N)],
            "size": np.linspace(-1.0, 1.0, N),
        }
    )


LABELS = pd.Series(["good"] * (N - 5) + ["bad"] * 5, name="loan")


@pytest.mark.parametrize("library", [pd.DataFrame, pl.from_pandas])
def test_a_report_has_columns_classes_and_findings(library):
    report = tb.check(library(frame()), LABELS)
    assert (report.n_rows, report.target) == (N, "loan")
    assert report.classes == {"bad": 5, "good": N - 5}
    assert [column["name"] for column in report.columns] == ["share", "colour", "size"]
    assert report.columns[1]["commonest"] == {"red": 30, "blue": 20, "?": 10}
    problems = {one.column: one.problem for one in report.findings}
    assert problems["when"] == "holds dates or durations"
    assert problems["share"] == "holds numbers written as text, such as '0%', and besides 'NA'"
    assert problems["colour"].startswith("holds '?' in 10 rows")
    assert problems["loan"] == "is 'bad' in only 8.3 % of the rows"


def test_the_repr_is_a_text_to_read():
    lines = repr(tb.check(frame(), LABELS)).splitlines()
    assert lines[0] == "60 rows"
    assert "loan    target" in "\n".join(lines)
    assert "Column 'when' holds dates or durations." in lines
    plain = tb.check(np.random.default_rng(0).normal(size=(N, 2)), [0, 1] * 30, target="label")
    assert plain.target == "label"
    assert repr(plain).splitlines()[-1] == "Nothing looks suspicious."


def test_rows_without_a_label_are_reported():
    labels = LABELS.where(LABELS.index % 20 != 3)
    report = tb.check(frame(), labels)
    assert report.n_rows == N - 3
    (finding,) = [one for one in report.findings if "no label" in one.problem]
    assert str(finding).startswith("Column 'loan' has no label in 3 of 60 rows. Hint: drop these")
    numbers = tb.check(frame(), np.where(np.arange(N) % 2, 1.0, np.nan))
    assert numbers.classes == {1.0: N // 2}


def test_a_table_without_a_target():
    report = tb.check(frame())
    assert (report.target, report.classes) == (None, {})
    assert [row[0] for row in report.rows()] == ["share", "colour", "size"]
    assert "Column 'when' holds dates or durations." in repr(report)
    assert "every row" not in repr(report)
