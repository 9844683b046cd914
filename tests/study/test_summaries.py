"""The tables computed from the paper's figures are those of the paper."""

import csv
import io
import shutil
import subprocess

import numpy as np
import pytest
import stand_ins
from published import compare, published_table

from treebound.study.results import Results
from treebound.study.sheets import Cell, Sheet, as_csv, as_latex, as_markdown
from treebound.study.summaries import (
    accuracy_table,
    dataset_table,
    differences_table,
    ranks_table,
    sheets_of,
    wins_table,
)


@pytest.fixture(scope="module")
def printed():
    return stand_ins.printed_results()


def footer(sheet, name):
    (line,) = [row for row in sheet.footer if row[0].text == name]
    return [cell.text for cell in line[1:]]


def test_summary_of_the_published_figures_is_the_published_summary(printed):
    sheet = accuracy_table(printed)
    assert sheet.header == ["Data set", "OG", "CC", "RE", "KM", "Ours", "Oracle"]
    assert footer(sheet, "Number of best") == ["6", "4", "5", "11", "14", "—"]
    assert footer(sheet, "Mean accuracy (%)") == [
        "78.46",
        "77.78",
        "79.16",
        "80.19",
        "80.03",
        "85.61",
    ]
    # These means are of cells the paper rounded, so their last digit may differ by one.
    fractions = np.array(footer(sheet, "Mean fraction of oracle (%)"), dtype=float)
    np.testing.assert_allclose(fractions, [91.01, 90.14, 92.21, 93.23, 93.04, 100], atol=0.011)
    assert footer(sheet, "Mean pruning time (s)") == ["—", "9.98", "0.95", "6.57", "2.87", "0.95"]
    leaves = np.array(footer(sheet, "Mean number of leaves"), dtype=float)
    np.testing.assert_allclose(leaves, [37.02, 6.19, 7.29, 15.56, 12.00, 7.08], atol=0.011)


def test_mixed_sets_are_starred_and_the_best_are_bold(printed):
    rows = {row[0].value: row for row in accuracy_table(printed).rows}
    assert rows["zoo"][0].text == "Zoo* (101, 7)"
    assert "*" not in rows["wine"][0].text
    assert [cell.bold for cell in rows["wine"][1:]] == [True, False, False, True, False, False]


def test_appendix_table_has_what_was_measured_and_nothing_else(printed):
    sheet = dataset_table(printed, [entry["name"] for entry in printed.datasets].index("iris"))
    lines = {row[0].text: [cell.text for cell in row[1:]] for row in sheet.rows}
    assert lines["Leaves"][0] == "8.0 (0.0)"
    assert lines["Val. acc."][0] == "—"
    assert "Certificate" not in lines


def test_figures_equal_to_the_published_are_within_noise(printed):
    assert all(one.within_noise for one in compare(printed))
    sheet = published_table(printed)
    assert footer(sheet, "Within noise") == ["25 of 25"] * 6


def test_a_cell_beyond_two_standard_errors_is_marked(printed):
    rows = [dict(row) for row in printed.rows]
    for row in rows:
        if (row["dataset"], row["model"]) == ("wine", "RE"):
            row["test_accuracy"] += 0.05  # the deviation is .084: 2.98 standard errors of 25 draws
    changed = Results(printed.study, rows)
    (cell,) = [one for one in compare(changed) if not one.within_noise]
    assert (cell.dataset["name"], cell.model) == ("wine", "RE")
    assert cell.errors == pytest.approx(0.05 / (0.084 / 5), rel=0.01)
    rows = {row[0].value: row for row in published_table(changed).rows}
    assert [cell.bold for cell in rows["wine"][1:]] == [False, False, True, False, False, False]


def test_cells_without_spread_must_agree_to_the_printed_digits(printed):
    rows = [dict(row) for row in printed.rows]
    for row in rows:
        if (row["dataset"], row["model"]) == ("mushroom", "OG"):
            row["test_accuracy"] -= 0.001
    (cell,) = [one for one in compare(Results(printed.study, rows)) if not one.within_noise]
    assert cell.errors == -np.inf or cell.errors == np.inf


def test_wins_mirror_losses(printed):
    sheet = wins_table(printed)
    names = sheet.header[1:]
    cells = {
        (row[0].text, name): cell.text
        for row in sheet.rows
        for name, cell in zip(names, row[1:], strict=True)
    }
    assert cells["OG", "OG"] == "—"
    for one in names:
        for other in names:
            if one != other:
                mirrored = " / ".join(reversed(cells[other, one].split(" / ")))
                assert cells[one, other] == mirrored


def test_differences_are_against_our_model(printed):
    sheet = differences_table(printed)
    assert [row[0].text for row in sheet.rows] == [f"Ours − {m}" for m in ("OG", "CC", "RE", "KM")]
    assert sheet.rows[0][1].value == pytest.approx(0.0157, abs=1e-4)


def test_ranks_need_three_models_and_two_sets(printed, tmp_path):
    assert ranks_table(printed) is not None
    stand_ins.run_study(stand_ins.study(stand_ins.trees(), draws=2), tmp_path / "results.sqlite")
    small = Results.read(tmp_path / "results.sqlite")
    assert ranks_table(small) is None
    assert published_table(small) is None
    assert [sheet.key for sheet in sheets_of(small)][:4] == [
        "accuracy",
        "cost",
        "differences",
        "wins",
    ]


def test_failed_and_missing_results_are_reported(printed):
    rows = [dict(row) for row in printed.rows][:-1]
    rows[0].update(dict.fromkeys(["test_accuracy", "leaves"]), error="ValueError: no")
    notes = " ".join(accuracy_table(Results(printed.study, rows)).notes)
    assert "1 results are missing" in notes
    assert "1 results failed and are not counted, the first: OG on acute_inflammation" in notes


def test_csv_holds_values_not_roundings(printed):
    lines = list(csv.reader(io.StringIO(as_csv(accuracy_table(printed)))))
    assert len({len(line) for line in lines}) == 1
    assert lines[1][0] == "acute_inflammation"
    assert float(lines[1][2]) == 0.9156


def test_markdown_has_one_width(printed):
    for sheet in sheets_of(printed):
        lines = [line for line in as_markdown(sheet).splitlines() if line.startswith("|")]
        assert {line.replace("\\|", "").count("|") for line in lines} == {len(sheet.header) + 1}


def test_latex_escapes_what_latex_reads():
    text = as_latex(
        [Sheet("k", "50 % of a_b & {c}", ["x", "^"], [[Cell("#1"), Cell("~", bold=True)]])]
    )
    assert r"50 \% of a\_b \& \{c\}" in text
    assert r"\#1 & \textbf{\textasciitilde{}} \\" in text
    assert text.count(r"\begin{") == text.count(r"\end{")


@pytest.mark.heavy
def test_latex_compiles(tmp_path, printed):
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed")
    (tmp_path / "tables.tex").write_text(as_latex(sheets_of(printed)), encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "tables.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
