"""Figures that the report computes agree with the library: rows, rules, figures, words."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from browser import narrow, scrolling_sideways
from random_trees import decoded, random_rows, random_tree

import treebound as tb
from treebound.certificate.certificate import bound_percent
from treebound.cli import main
from treebound.cli.models import schema_of
from treebound.cli.options import FileOptions
from treebound.data.files import Source
from treebound.exchange import dumps, loads
from treebound.model import Model, ReadingOptions
from treebound.pruning import BoundPruner
from treebound.show import explain, to_html, to_rules
from treebound.show.report_words import settings, tiles
from treebound.tree.impurity import importances

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def case() -> tuple[tb.BoundTreeClassifier, pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "sex": pd.Categorical(rng.choice(["female", "male"], 500)),
            "class": pd.Categorical(rng.choice(list("123"), 500), list("123"), ordered=True),
            "port": rng.choice(["Cherbourg", "Cobh", 'a, "b"'], 500),
            "age": np.where(rng.random(500) < 0.1, np.nan, rng.gamma(4, 8, 500).round(1)),
        }
    )
    share = 0.7 * (frame["sex"] == "female") + 0.3 * (frame["class"] == "1")
    share += 0.3 * (frame["age"].fillna(50) < 12) - 0.2 * (frame["port"] == "Cobh")
    y = pd.Series(np.where(rng.random(500) < share, "survived", "died"), name="fate")
    return tb.BoundTreeClassifier().fit(frame[:400], y[:400]), frame, y


def opened(driver, page: str, folder: Path) -> Any:
    (folder / "report.html").write_text(page, encoding="utf-8")
    driver.get((folder / "report.html").as_uri())
    return driver


def text(driver, name: str) -> str:
    return driver.find_element("id", name).text


def test_a_long_report_fits_a_phone(driver, tmp_path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "region_of_residence_at_time_of_application": pd.Categorical(
                rng.choice([f"administrative district number {k}" for k in range(30)], 500)
            ),
            "monthly income before taxes (thousands)": rng.gamma(2, 2, 500).round(2),
        }
    )
    high = frame["monthly income before taxes (thousands)"] > 4
    y = np.where(
        high | frame.iloc[:, 0].astype(str).str.endswith("7"),
        "application was rejected after review",
        "accepted without further questions",
    )
    clf = tb.BoundTreeClassifier(pruning=None, max_leaves=8).fit(frame, y)
    with narrow(driver):
        opened(driver, clf.to_html(rows=frame), tmp_path)
        driver.execute_script(
            "for (const part of document.querySelectorAll('details')) part.open = true"
        )
        assert scrolling_sideways(driver) == []
        # the values of a column have the width of the page
        narrowest = driver.execute_script(
            "const cells = [...document.querySelectorAll('#columns td.words')];"
            "return Math.min(...cells.map((cell) => cell.clientWidth))"
        )
        assert narrowest > 300


# Rows come as codes; -2 is an unknown category and null a missing number.
EXPLAIN = """
const root = data.steps[data.start].root;
return arguments[0].map((row) => {
  const cells = row.map((cell) => (cell === null ? NaN : cell));
  const { way, end } = wayOf(root, cells), change = smallestChange(root, cells, statsOf(end)[1]);
  return { way: way.map((step) => step.left), label: statsOf(end)[1], rows: statsOf(end)[0],
    next: nextBest(chancesOf(end), statsOf(end)[1]),
    chances: chancesOf(end),
    change: change && { prediction: change.prediction, size: change.size, rows: change.rows,
      columns: change.changed.map((move) => move.region.column),
      words: change.changed.map((move) => regionWords(move.region)),
      values: change.changed.map((move) => (Number.isNaN(move.value) ? null : move.value)) } };
});
"""


@pytest.mark.parametrize("unknown", ["other", "majority", "stop"])
def test_rows_are_routed_explained_and_changed_as_by_the_library(
    driver, tmp_path: Path, unknown: str
) -> None:
    for seed in range(4):
        tree = random_tree(seed, 25, n_classes=3)
        model = Model(tree, reading=ReadingOptions(unknown))
        opened(driver, to_html(model), tmp_path)
        listed = loads(dumps(model))  # it knows the categories that the report lists
        X = random_rows(tree, seed, 25)
        codes = []
        for row in X.tolist():
            cells: list[float | None] = []
            for value, column in zip(row, tree.columns, strict=True):
                if column.kind == "real":
                    cells.append(None if math.isnan(value) else value)
                else:
                    cells.append(-1 if math.isnan(value) else -2 if value < 0 else int(value))
            codes.append(cells)
        for at, (column, known) in enumerate(zip(tree.columns, listed.columns, strict=True)):
            for cells in codes if column.kind != "real" else ():
                if cells[at] >= 0:
                    category, listed_categories = (
                        column.categories[cells[at]],
                        known.categories or (),
                    )
                    cells[at] = (
                        listed_categories.index(category) if category in listed_categories else -2
                    )
        names = [column.name for column in tree.columns]
        labels = tree.classes.tolist()
        shown = driver.execute_script(EXPLAIN, codes)
        for row, page in zip(decoded(X, tree.columns), shown, strict=True):
            explanation = explain(listed, row)
            assert explain(model, row).prediction == explanation.prediction
            assert page["way"] == [step.left for step in explanation.path]
            assert labels[page["label"]] == explanation.prediction
            assert page["rows"] == explanation.rows
            assert labels[page["next"]] == explanation.next_best
            assert page["chances"] == pytest.approx(
                list(explanation.probabilities.values()), abs=1e-15
            )
            change = explanation.counterfactual
            assert (page["change"] is None) == (change is None)
            if change is None:
                continue
            assert labels[page["change"]["prediction"]] == change.prediction
            assert page["change"]["rows"] == tree.rows[change.node]
            assert [names[k] for k in page["change"]["columns"]] == [
                one.column for one in change.changes
            ]
            assert page["change"]["size"] == sum(one.size for one in change.changes)
            assert page["change"]["words"] == [
                one.condition.replace("<=", "≤") for one in change.changes
            ]
            for k, value, one in zip(
                page["change"]["columns"], page["change"]["values"], change.changes, strict=True
            ):
                column = listed.columns[k]
                if column.kind != "real" and value is not None:
                    if value == -2:
                        assert one.new not in column.categories
                        assert one.new is not None
                        continue
                    value = None if value < 0 else column.categories[value]
                assert value == one.new
    assert driver.get_log("browser") == []


def test_rules_importances_and_confusion_are_those_of_the_library(
    driver, tmp_path: Path, case
) -> None:
    clf, frame, y = case
    opened(driver, clf.to_html(test=(frame[400:], y[400:])), tmp_path)
    script = """const root = rootNow(); return { shares: importances(root),
      training: trainingConfusion(root), test: testConfusion(data.steps[state.step].test),
      rules: rulesOf(root).map(({ id }) => [statsOf(id)[0], statsOf(id)[1]]) };"""
    explanation = driver.execute_script(script)
    assert explanation["shares"] == pytest.approx(
        importances(clf.tree_, "entropy").tolist(), abs=1e-12
    )
    for name, rows in (("training", slice(400)), ("test", slice(400, None))):
        expected = pd.crosstab(y[rows], clf.predict(frame[rows])).to_numpy().tolist()
        assert explanation[name] == expected
    labels = clf.classes_.tolist()
    rules = [(rule.rows, labels.index(rule.label)) for rule in to_rules(clf)]
    assert [tuple(rule) for rule in explanation["rules"]] == rules
    shown = driver.find_elements("css selector", "#rules tbody tr")
    for row, rule in zip(shown, to_rules(clf), strict=True):
        assert f"{rule.probability:.3f}" in row.text
    assert f"{100 * clf.score(frame[400:], y[400:]):.1f} % right" in text(driver, "confusion")
    error = 1 - clf.score(frame[400:], y[400:])
    assert f"Test errors\n{100 * error:.0f} of 100 ({100 * error:.1f} %)" in text(driver, "facts")


def test_the_page_is_a_document_with_every_section(driver, tmp_path: Path, case) -> None:
    clf, _, _ = case
    opened(driver, clf.to_html(), tmp_path)
    assert driver.title == "Decision tree for fate"
    headings = [one.text for one in driver.find_elements("tag name", "h2") if one.text]
    assert headings == [
        "Tree", "Go through the tree for one case", "Explain a row", "Rules", "Certificate",
        "Why this size", "Importance of the columns", "Confusion matrix",
        "Columns that the tree uses", "About the fit",
    ]  # fmt: skip
    assert text(driver, "certificate") == ""  # closed at first
    script = "document.querySelectorAll('details').forEach((one) => { one.open = true; })"
    driver.execute_script(script)
    certificate = text(driver, "certificate")
    for line in clf.certificate_.explain().splitlines():
        technical = line.startswith("Kind:") or "nats" in line or "='" in line
        assert (line.removeprefix("- ") in certificate) != technical
    columns = text(driver, "columns")
    assert all(column.name in columns for column in clf.columns_)
    whole = text(driver, "made") + driver.find_element("tag name", "body").text
    assert not re.search(r"\bscore\b|\bnats\b|ghost|step \d|None|certificate=", whole)
    assert f"The tree with {clf.n_leaves_} leaves was chosen" in text(driver, "why")
    assert "All settings have their default values." in text(driver, "settings")


def test_a_pasted_row_is_explained_in_the_words_of_the_library(
    driver, tmp_path: Path, case
) -> None:
    clf, _, _ = case
    opened(driver, clf.to_html(), tmp_path)
    listed = loads(dumps(clf.model_, pruning_path=False))
    pasted = {
        'male,3,"a, ""b""",30': ["male", "3", 'a, "b"', 30.0],
        "female\t1\tCobh\t": ["female", "1", "Cobh", None],
        "age;port;sex;class\n7;Rome;male;2": ["male", "2", "Rome", 7.0],
    }
    for line, row in pasted.items():
        driver.execute_script("at('paste').value = arguments[0]; at('row').requestSubmit();", line)
        explanation = explain(listed, row)
        assert explanation.prediction == clf.explain(row).prediction
        shown = text(driver, "explanation")
        for step in explanation.path:
            assert step.condition.replace("<=", "≤") in shown
            assert f"{step.rows} of {step.of}" in shown
        probability = explanation.probabilities[explanation.prediction]
        assert f"fate = {explanation.prediction} (probability {probability:.3f}" in shown
        assert f"Next best: {explanation.next_best} " in shown
        assert f"It would be {explanation.counterfactual}".replace("<=", "≤") in shown
        lit = driver.execute_script("return [...document.querySelectorAll('.node.lit')].length")
        assert lit == len(explanation.path) + 1


READ = """
return arguments[0].map((text) => {
  try {
    const cells = pastedRow(text).map((cell, k) => cellFrom(k, cell));
    return cells.map((cell) => (Number.isNaN(cell) ? null : cell));
  } catch (error) {
    return error.message;
  }
});
"""


def test_pasted_values_are_read_as_predict_reads_a_table(driver, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "colour": rng.choice(["red", "blue", "a;b", "1"], 300),
            "size": pd.Categorical(rng.choice([1, 2, 30], 300)),
            "flag": rng.random(300) < 0.5,
            "x": rng.normal(size=300).round(2),
        }
    )
    score = (frame["colour"] == "red") + 2 * (frame["size"].astype(int) == 2) + 1.5 * frame["flag"]
    y = np.where(score + (frame["x"] > 0) > 1.7, "yes", "no")
    # unlike "other", it makes the report list all categories
    clf = tb.BoundTreeClassifier(pruning=None, handle_unknown="majority").fit(frame, y)
    colours, sizes = clf.columns_[0].categories, clf.columns_[1].categories
    opened(driver, clf.to_html(), tmp_path)
    unknown, missing = -2, -1
    rows = {
        'red,1,true,"0.5"': [colours.index("red"), sizes.index(1), 1, 0.5],
        '0.5,"a;b"': "The row has 2 values, but there are 4 columns",
        '"a;b",2,false,.5': [colours.index("a;b"), sizes.index(2), 0, 0.5],
        'x,colour,flag,size\n1e-3,"a;b",true,30': [colours.index("a;b"), sizes.index(30), 1, 0.001],
        "RED,01,TRUE,-1.": [unknown, sizes.index(1), 1, -1.0],
        "red,1.0,False,-1.": [colours.index("red"), sizes.index(1), 0, -1.0],
        "01\t30.0\t1\t0x30": "x must be a number. Got 0x30 instead.",
        "01\t30.0\ttRUE\t+3": "flag must be one of False, True. Got tRUE instead.",
        "01\t30.0\t2\t+3": [unknown, sizes.index(30), unknown, 3.0],
        "01\t30.0\t1\t+3": [unknown, sizes.index(30), 1, 3.0],
        "1;0x1;0;NA": "size must be one of 1, 2, 30. Got 0x1 instead.",
        "1;7;0;NA": [colours.index("1"), unknown, 0, None],
        "NULL,,nan,": [missing, missing, missing, None],
        "none,3,1,1_0": "x must be a number. Got 1_0 instead.",
        "none,3,0.5,1": [unknown, unknown, unknown, 1.0],
        "red,1,true,Infinity": "x must be a number. Got Infinity instead.",
        " red , 1 ,true, 1e999": "x must be a number. Got 1e999 instead.",
        ' red , 1 ,true,"-1\n"': [colours.index("red"), sizes.index(1), 1, -1.0],
    }
    for (text, expected), read in zip(
        rows.items(), driver.execute_script(READ, list(rows)), strict=True
    ):
        if isinstance(expected, str):
            assert read.startswith(expected), text
        else:
            assert read == expected, text


# Texts of each kind of column, as files have them.
WRITTEN = {
    "flag": ["True", "true", "TRUE", "False", "false", "FALSE", " True ", "tRUE", "1", "0", "1.0",
             "2", "yes"],
    "dose": ["1", "2", "03", "2.0", " 4", "1e0", "5", "1.5", "x"],
    "level": ["low", "mid", "high", " mid ", "Low", "top"],
    "rank": ["1", "2", "3", "3.0", "4", "0"],
    "name": ['"a, ""b"""', "c;d", "plain", " plain ", '"x ""y"""', "Plain", "1", "True", "other"],
    "x": ["-1", "0.5", ".5", "5.", "1e3", "+2", " 3 ", "1_0", "0x1", "inf", "one"],
}  # fmt: skip
ABSENT = ["", "NA", "N/A", "NaN", "nan", "null", "NULL", " NA ", "None", "?"]
LABEL = """
return arguments[0].map((text) => {
  try {
    const cells = pastedRow(text).map((cell, k) => cellFrom(k, cell));
    return data.classes[statsOf(wayOf(rootNow(), cells).end)[1]];
  } catch (error) {
    return null;
  }
});
"""


@pytest.mark.parametrize("unknown", ["other", "majority", "missing", "stop"])
@pytest.mark.parametrize("name", [*WRITTEN])
def test_every_kind_of_value_is_read_as_by_predict(
    driver, tmp_path: Path, name: str, unknown: str
) -> None:
    rng = np.random.default_rng(2)
    n = 240
    frame = pd.DataFrame(
        {
            "pad": rng.normal(size=n).round(1),
            "flag": rng.random(n) < 0.4,
            "dose": rng.integers(1, 5, n),
            "level": rng.choice(["low", "mid", "high"], n),
            "rank": rng.integers(1, 4, n),
            "name": rng.choice(['a, "b"', "c;d", "plain", 'x "y"', "1", "True"], n),
            "x": rng.normal(size=n).round(2),
        }
    )
    value = np.where(frame["x"] > 0.3, "above", "below") if name == "x" else frame[name].astype(str)
    y = np.where(rng.random(n) < 0.2, "absent", value)
    frame[name] = frame[name].astype(object).where(y != "absent", None)
    if name == "x":
        frame["x"] = frame["x"].astype(float)
    clf = tb.BoundTreeClassifier(
        pruning=None,
        handle_unknown=unknown,
        categorical_features=["dose"],
        ordinal_features={"level": ["low", "mid", "high"], "rank": [1, 2, 3]},
    ).fit(frame, y)
    assert set(clf.tree_.feature.tolist()) == {-1, [*frame].index(name)}
    model = loads(dumps(clf.model_))
    valid = {"flag": "true", "dose": "1", "level": "low", "rank": "1", "name": "plain", "x": "1"}
    lines = []
    for text in (*WRITTEN[name], *ABSENT):
        lines.append(",".join(["0.1", *({**valid, name: text}.values())]))
    shown = driver_labels(driver, clf, tmp_path, lines)
    for line, label in zip(lines, shown, strict=True):
        assert label == predicted(model, [*frame], line, tmp_path), line
    assert len(set(shown)) > 1


def driver_labels(driver, clf: Any, folder: Path, lines: list[str]) -> list[str | None]:
    """The class that the report gives each pasted line; None if it refuses it."""
    labels: list[str | None] = opened(driver, clf.to_html(), folder).execute_script(LABEL, lines)
    return labels


def predicted(model: Model, names: list[str], line: str, folder: Path) -> str | None:
    """The class that the command line predicts for a line of a file; None if it refuses it."""
    path = folder / "rows.csv"
    path.write_text(",".join(names) + "\n" + line + "\n", encoding="utf-8")
    source = Source([str(path)], schema_of(model, FileOptions()), unknown="keep", complete=False)
    try:
        (chunk,) = source.chunks(None)
        return str(model.predict(chunk.table())[0])
    except ValueError:
        return None


def test_a_line_of_the_file_is_read_with_its_target(driver, tmp_path: Path, capsys) -> None:
    rng = np.random.default_rng(0)
    n = 300
    frame = pd.DataFrame({"x": rng.normal(size=n).round(2), "kind": rng.choice(["a", "b"], n)})
    frame["ill"] = ((frame["x"] > 0) ^ (frame["kind"] == "a")).astype(int)
    frame["row"] = np.arange(n)
    frame["count"] = rng.integers(0, 2, n)  # a value that could be the target, too
    rows, page = tmp_path / "rows.csv", tmp_path / "report.html"
    frame.to_csv(rows, index=False)
    with pytest.raises(SystemExit) as stop:
        main(
            [
                "fit",
                str(rows),
                "--target",
                "ill",
                "--ignore",
                "row",
                "--report",
                str(page),
                "--quiet",
            ]
        )
    assert not stop.value.code
    driver.get(page.as_uri())
    header, *lines = rows.read_text(encoding="utf-8").splitlines()
    shown = driver.execute_script(LABEL, lines[:40])
    assert shown == frame["ill"].astype(str)[:40].tolist()
    assert shown == driver.execute_script(LABEL, [f"{header}\n{line}" for line in lines[:40]])
    # without the columns of a file, the place of the target must be clear
    clf = tb.BoundTreeClassifier().fit(frame[["x", "kind"]], frame["ill"])
    opened(driver, clf.to_html(), tmp_path)
    assert driver.execute_script(LABEL, ["0.5,a,0", "0,0.5,a", "0.5,1,a"]) == ["0", "0", "0"]
    assert driver.execute_script(LABEL, ["0.5,a,2", "a,1", "0.5,a,1,1"]) == [None] * 3
    clf = tb.BoundTreeClassifier().fit(frame[["x", "count"]], frame["ill"])
    opened(driver, clf.to_html(), tmp_path)
    assert driver.execute_script(LABEL, ["0.5,1,0"]) == [None]


def test_the_slider_states_which_tree_facts_belong_to(driver, tmp_path: Path, case) -> None:
    clf, _, _ = case
    report = clf.to_html(facts={"Table": "ships.csv"}, tree_facts={"Cross-validated": "12.3 %"})
    opened(driver, report, tmp_path)
    assert "Cross-validated\n12.3 %" in text(driver, "facts")
    fitted = f"the tree of {clf.n_leaves_} leaves"
    assert fitted not in text(driver, "facts")
    driver.execute_script("goTo(data.start === 0 ? 1 : 0)")
    assert f"Cross-validated\n12.3 %, {fitted}" in text(driver, "facts")
    assert "Table\nships.csv" in text(driver, "facts")
    driver.execute_script("goTo(data.start)")
    assert fitted not in text(driver, "facts")


def test_the_page_does_not_list_categories_that_no_tree_uses(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    mails = [f"user{i % 100}@example.org" for i in range(300)]
    frame = pd.DataFrame({"mail": mails, "x": rng.normal(size=300)})
    page = tb.BoundTreeClassifier().fit(frame, frame["x"] > 0).to_html()
    assert "example.org" not in page


def test_a_row_that_cannot_be_read_states_why_and_clear_takes_the_path_away(
    driver, tmp_path: Path, case
) -> None:
    clf, _, _ = case
    opened(driver, clf.to_html(), tmp_path)
    for line, message in (
        ("male,3", "The row has 2 values, but there are 4 columns"),
        ("male,3,Cobh,old", "age must be a number. Got old instead."),
    ):
        driver.execute_script("at('paste').value = arguments[0]; at('row').requestSubmit();", line)
        assert message in text(driver, "explanation")
    driver.execute_script("at('paste').value = 'male,3,Cobh,3'; at('row').requestSubmit();")
    assert driver.find_elements("css selector", ".node.lit")
    driver.find_element("id", "clear").click()
    assert not driver.find_elements("css selector", ".node.lit")
    assert text(driver, "explanation") == ""


def test_a_click_on_a_leaf_lights_its_path(driver, tmp_path: Path, case) -> None:
    clf, _, _ = case
    opened(driver, clf.to_html(), tmp_path)
    leaf = driver.find_elements("css selector", ".node.leaf")[0]
    key = leaf.get_attribute("data-key")
    driver.execute_script("arguments[0].dispatchEvent(new Event('click', {bubbles: true}))", leaf)
    assert len(driver.find_elements("css selector", ".node.lit")) == len(key) + 1
    rule = to_rules(clf)[0]
    assert f"fate = {rule.label} (probability {rule.probability:.3f}" in text(driver, "explanation")


def test_the_slider_runs_over_the_logarithm_of_the_leaves(driver, tmp_path: Path, case) -> None:
    clf, _, _ = case
    opened(driver, clf.to_html(), tmp_path)
    leaves = np.array(driver.execute_script("return data.steps.map((step) => step.leaves)"))
    assert leaves.max() == 64 < clf.pruning_path_.leaves.max()
    script = """const slider = at('slider'); slider.value = arguments[0];
      slider.dispatchEvent(new Event('input')); return data.steps[state.step].leaves;"""
    for place in (0.0, 0.3, 0.5, 0.8, 1.0):
        wanted = leaves.max() ** place
        got = driver.execute_script(script, str(place))
        assert abs(math.log(got / wanted)) == pytest.approx(
            np.abs(np.log(leaves / wanted)).min(), abs=1e-9
        )
    assert driver.execute_script(script, "0") == 1
    assert "1\ndepth 0" in text(driver, "tiles")


@pytest.mark.parametrize("width", [390, 1400])
def test_nothing_is_wider_than_the_window(driver, tmp_path: Path, width: int) -> None:
    rng = np.random.default_rng(0)
    names = [f"class number {k} with a rather long description" for k in range(9)] + ["W" * 40]
    X = pd.DataFrame({f"a column with a long name, {k}": rng.normal(size=400) for k in range(3)})
    y = np.array(names)[np.clip((3 * X.iloc[:, 0] + 5).astype(int), 0, 9)]
    clf = tb.BoundTreeClassifier().fit(X, y)
    size = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        opened(driver, clf.to_html(), tmp_path)
        assert driver.execute_script("return document.documentElement.scrollWidth") <= width
        assert all(name in text(driver, "legend") for name in names)
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


# The reply that fits a value, by the words on the buttons.
REPLY = """const row = arguments[0], replies = [];
restart();
while (true) {
  const { split } = questionAfter(rootNow(), replyState.replies);
  if (!split) break;
  const column = data.columns[split.column], cell = row[split.column];
  const offered = [...at('question').querySelectorAll('[data-reply]')]
    .map((one) => one.dataset.reply);
  const missing = cell === null || (column.kind !== 'real' && cell === MISSING);
  let reply;
  if (missing && offered.includes('missing')) reply = 'missing';
  else if (column.kind !== 'real' && cell === UNKNOWN && offered.includes('other')) reply = 'other';
  else reply = goesLeft(split, cell === null ? NaN : cell) ? 'left' : 'right';
  at('question').querySelector(`[data-reply="${reply}"]`).click();
  if (replyState.replies.length > 100) break;
}
return [at('question').querySelector('.result').textContent.trim(),
        [...document.querySelectorAll('.node.lit')].at(-1)?.dataset.key ?? 'root'];"""


@pytest.mark.parametrize("policy", ["other", "majority", "stop", "missing"])
def test_the_questionnaire_ends_where_predict_does(driver, tmp_path: Path, case, policy) -> None:
    _, frame, y = case
    clf = tb.BoundTreeClassifier(max_leaves=9, handle_unknown=policy, pruning=None)
    clf.fit(frame[:400], y[:400])
    opened(driver, clf.to_html(), tmp_path)
    rows = frame[400:430].copy()
    rows["port"] = np.where(np.arange(len(rows)) % 3 == 0, "Atlantis", rows["port"])
    categories = driver.execute_script("return data.columns.map((column) => column.categories)")
    for at, label in enumerate(clf.predict(rows)):
        cells = []
        for known, (name, value) in zip(categories, rows.iloc[at].items(), strict=True):
            if name == "age":
                cells.append(None if np.isnan(value) else value)
            else:
                cells.append(known.index(value) if value in known else -2)
        result, key = driver.execute_script(REPLY, cells)
        assert result == f"fate = {label}"
        path = clf.explain(rows.iloc[at]).path
        assert key == ("".join("L" if step.left else "R" for step in path) or "root")
    assert driver.get_log("browser") == []


def test_the_questionnaire_is_used_by_keyboard(driver, tmp_path: Path, case) -> None:
    from selenium.webdriver.common.keys import Keys

    clf, _, _ = case
    opened(driver, clf.to_html(), tmp_path)
    section = driver.find_element("id", "question")
    assert section.text.startswith("Question 1: ")
    assert not driver.find_element("id", "back").is_enabled()
    section.find_element("css selector", "button").send_keys("2")
    assert driver.execute_script("return replyState.replies") == ["right"]
    assert driver.find_elements("css selector", ".node.lit")
    driver.switch_to.active_element.send_keys(Keys.BACKSPACE)
    assert driver.execute_script("return replyState.replies") == []
    assert not driver.find_elements("css selector", ".node.lit")
    driver.switch_to.active_element.send_keys("1")
    assert len(section.find_elements("css selector", ".replies li")) >= 1
    driver.execute_script("goTo(data.steps.length - 1)")  # another tree begins anew
    assert driver.execute_script("return replyState.replies") == []


def test_the_questionnaire_states_whether_the_model_abstains(driver, tmp_path: Path, case) -> None:
    _, frame, y = case
    clf = tb.BoundTreeClassifier(certificate="held-out").fit(frame, y)
    (model,) = [clf.abstain(max_risk=0.25)]
    opened(driver, to_html(model), tmp_path)
    abstains = driver.execute_script("return data.abstains")
    endings = driver.execute_script(
        """return rulesOf(rootNow()).map(({ id }) => [data.classes[statsOf(id)[1]],
             made('div', {}, ...resultParts(id)).textContent]);"""
    )
    assert any(label == abstains for label, _ in endings)
    for label, words in endings:
        assert ("The model abstains" in words) == (label == abstains)
        assert ("does not abstain" in words) == (label != abstains)


def test_columns_have_a_range_and_a_share_of_missing_values(driver, tmp_path: Path, case) -> None:
    clf, frame, _ = case
    opened(driver, to_html(clf, rows=frame), tmp_path)
    shown = driver.execute_script("goTo(0); return at('columns').textContent")
    age = frame["age"]
    assert f"{age.min():g} to {age.max():g}" in shown
    assert f"{100 * age.isna().mean():.1f} %" in shown


def test_with_costs_sizes_are_compared_by_their_costs(driver, tmp_path: Path, case) -> None:
    _, frame, y = case
    clf = tb.BoundTreeClassifier(costs={"survived": 4.0}).fit(frame, y)
    script = """return [...at('other-sizes').querySelectorAll('tr')].map(
                  (row) => [...row.children].map((cell) => cell.textContent));"""
    opened(driver, to_html(clf), tmp_path)
    heading, *rows = driver.execute_script(script)
    assert heading == ["Size", "estimated mean cost", "estimated error", "difference of costs"]
    chosen = clf.estimate_.mean_cost
    assert len(rows) == len(clf.sizes_) > 1
    for size, (_, cost, error, difference) in zip(clf.sizes_, rows, strict=True):
        assert float(cost) == pytest.approx(size.mean_cost, rel=1e-3)
        assert error == f"{100 * size.error:.1f} %"
        if size.leaves == clf.n_leaves_:
            assert difference == "chosen"
        else:
            assert float(difference) == pytest.approx(size.mean_cost - chosen, rel=1e-3)
    opened(driver, to_html(tb.BoundTreeClassifier().fit(frame, y)), tmp_path)
    assert driver.execute_script(script)[0] == ["Size", "estimated error", "difference"]


def test_the_estimated_errors_are_drawn_at_the_sizes_of_the_table(
    driver, tmp_path: Path, case
) -> None:
    _, frame, y = case
    number = np.arange(len(frame)) % 17 + frame["age"].fillna(0)
    for fitted in (
        tb.BoundTreeClassifier().fit(frame, y),
        tb.BoundTreeRegressor().fit(frame, number),
    ):
        opened(driver, to_html(fitted), tmp_path)
        path = driver.execute_script(
            "return document.querySelector('#risks .l-estimated').getAttribute('d')"
        )
        most = max(step.leaves for step in [*fitted.sizes_])
        shown = driver.execute_script("return mostLeaves")
        assert most > 1
        sizes = [size for size in fitted.sizes_ if size.leaves <= shown]
        assert path.count("M") + path.count("L") == len(sizes) > 1


def test_with_costs_the_mean_cost_comes_first(case) -> None:
    _, frame, y = case
    costs = {"died": 1.0, "survived": 4.0}
    clf = tb.BoundTreeClassifier(pruning=BoundPruner(costs=costs)).fit(frame, y)
    estimate = clf.model_.estimate
    name, value, remark = tiles(clf.model_)[0]
    assert (name, value) == ("Estimated mean cost", f"{estimate.mean_cost:.4g}")
    assert remark == f"baseline {estimate.baseline_cost:.4g} (cheapest constant prediction)"
    model = replace(clf.model_, evidence=replace(clf.model_.evidence, estimate=None))
    name, value, remark = tiles(model)[0]
    price = y.map(costs)
    assert name == "Mean training cost"
    assert value == f"{float((price * (clf.predict(frame) != y)).mean()):.4g}"
    assert remark == f"baseline {(y == 'died').mean():.4g} (always 'survived')"


def test_settings_are_in_words_and_only_those_that_were_changed(case) -> None:
    _, frame, y = case
    clf = tb.BoundTreeClassifier(
        max_leaves=1200, n_jobs=1, class_weight={"died": 2, "survived": 1.5},
        pruning=BoundPruner(weight=0.5),
    ).fit(frame, y)  # fmt: skip
    assert settings(clf.model_) == [
        ("Weights of the classes", "died: 2, survived: 1.5"),
        ("Maximum number of leaves", "1,200"),
        ("Pruning", "bound (weight 0.5)"),
    ]
    report = clf.to_html()
    data = report[report.index('id="data"') :]
    assert "class_weight" not in data.split("</script>")[0]
    assert settings(tb.BoundTreeClassifier().fit(frame, y).model_) == []


def test_the_report_begins_with_the_estimate_and_lists_other_sizes(
    driver, tmp_path: Path, case
) -> None:
    clf, _, _ = case
    opened(driver, clf.to_html(), tmp_path)
    estimate = clf.model_.estimate
    assert text(driver, "summary") == clf.model_.summary().split("\n")[0]
    first = text(driver, "tiles").split("\n")[:3]
    assert first[:2] == ["Estimated error", f"{100 * estimate.error:.1f} %"]
    assert first[2].startswith(f"about {100 * estimate.interval[0]:.1f} to ")
    assert f"{estimate.method} ({estimate.rows} rows)" in text(driver, "confusion")
    sizes = driver.find_elements("css selector", "#other-sizes tbody tr")
    for row, size in zip(sizes, estimate.sizes, strict=True):
        assert f"{100 * size.error:.1f} %" in row.text
        assert ("chosen" in row.text) == (size.leaves == clf.n_leaves_)
        assert size.leaves == clf.n_leaves_ or f"{100 * size.difference:+.1f} points" in row.text
    other = next(size for size in estimate.sizes if size.leaves != clf.n_leaves_)
    driver.execute_script(
        "goTo(data.steps.findIndex((step) => step.leaves === arguments[0]))", other.leaves
    )
    assert f"estimated error {100 * other.error:.1f} %" in text(driver, "status")
    assert text(driver, "tiles").split("\n")[1] == f"{100 * other.error:.1f} %"
    assert estimate.method not in text(driver, "confusion")
    assert driver.get_log("browser") == []


def test_other_good_trees_are_listed_and_shown(driver, tmp_path: Path, case) -> None:
    clf, frame, y = case
    trees = clf.alternatives(frame[:400], y[:400], k=3, within=0.05)
    assert len(trees) > 1
    opened(driver, clf.to_html(alternatives=trees), tmp_path)
    before = text(driver, "ends")
    listed = driver.find_elements("css selector", "#alternatives tbody tr")
    for row, model, share in zip(listed, trees, trees.disagreement, strict=True):
        assert f"{100 * share:.1f} %" in row.text
        assert f"≤ {bound_percent(model.certificate.risk)}" in row.text
    for k, model in enumerate(trees):
        driver.execute_script(f"document.querySelector('[data-alternative=\"{k}\"]').click()")
        assert len(driver.find_elements("css selector", ".node")) == model.tree.n_nodes
        assert f"alternative {k + 1}" in text(driver, "status")
        assert text(driver, "tiles").split("\n")[-2] == "400"
    assert text(driver, "ends") == before
    driver.find_element("id", "chosen").click()
    assert text(driver, "status").endswith("chosen")
    opened(driver, clf.to_html(), tmp_path)
    assert not driver.find_element("id", "d-alternatives").is_displayed()
    assert driver.get_log("browser") == []
