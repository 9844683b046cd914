"""The page of an editor as people use it: every button, two windows, a stopped server."""

from __future__ import annotations

import html
import json
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pytest
from browser import narrow, scrolling_sideways
from edit.editor_case import fares, passengers
from edit.window import Window, opened_page, served, until
from matplotlib import pyplot

import treebound as tb
from treebound.edit import Editor
from treebound.edit.page import EditorPage
from treebound.exchange import load, load_regression
from treebound.show import to_html

pytestmark = pytest.mark.browser
HISTORY = "return data.history.length"
HOSTILE = '<img src=x onerror="document.title=1">"\\'


@pytest.fixture(scope="module")
def case():
    return passengers()


@pytest.fixture
def opened(driver, case, tmp_path):
    clf, X, y = case
    editor = clf.edit(X, y)
    with opened_page(driver, editor, tmp_path) as (window, stop):
        yield editor, window, stop


def test_every_button_does_its_step(opened, tmp_path) -> None:
    editor, window, _ = opened
    assert not window.driver.find_element("id", "undo").is_enabled()
    window.choose("R")
    window.press("#collapse")
    window.shows("collapsed to")
    window.ready("R")
    window.press("#grow button")
    window.shows("grown")
    window.press("#undo")
    window.shows("Undone")
    window.press("#redo")
    window.shows("Redone")
    window.choose("")
    window.press("#swap")
    window.shows("shown in the other order")
    leaf = next(end for end in ("L", "LL", "LLL", "LLLL") if editor_leaf(editor, end))
    window.choose(leaf)
    other = 1 - int(editor.tree.label[node(editor, leaf)])
    window.driver.execute_script(
        "document.getElementById('leaf-class').value = arguments[0]", other
    )
    window.press("#relabel button")
    window.shows("predict ")
    until(lambda: len(editor.history) == 4)
    assert window.text("steps") == "".join(editor.history)
    for name, before, now in editor.figures.lines(editor.figures_before):
        assert f"{name}{before}{now}" in window.text("figures")
    changed = sum(line["rows"] for line in editor.changes())
    listed = window.driver.execute_script("return data.changed.reduce((n, l) => n + l.rows, 0)")
    assert listed == changed > 0
    window.press("#report")
    window.shows("report done")
    window.press("#save")
    window.shows("save done")
    assert load(tmp_path / "edited.json").provenance.edits == editor.edits
    assert window.errors() == []


def node(editor: Editor, path: str) -> int:
    at = 0
    for side in path:
        at = int((editor.tree.left if side == "L" else editor.tree.right)[at])
    return at


def editor_leaf(editor: Editor, path: str) -> bool:
    return bool(editor.tree.feature[node(editor, path)] < 0)


def test_a_step_takes_its_note_and_author_along(opened, tmp_path) -> None:
    editor, window, _ = opened
    window.choose("R")
    assert window.text("h-node").startswith("If ")
    assert window.driver.find_element("id", "agreement").is_displayed()
    window.driver.find_element("id", "note").send_keys("guideline <3>")
    window.driver.find_element("id", "author").send_keys("A. Smith")
    window.press("#collapse")
    window.shows("collapsed to")
    until(lambda: editor.history)
    assert editor.history[0].endswith(" UTC. Note: guideline <3>")
    remark = editor.edits[0].remark
    assert (remark.note, remark.author) == ("guideline <3>", "A. Smith")
    assert abs(datetime.fromisoformat(remark.time) - datetime.now(UTC)) < timedelta(minutes=5)
    until(lambda: window.driver.execute_script("return at('note').value") == "")
    assert window.driver.execute_script("return at('author').value") == "A. Smith"
    assert "No estimate: the tree was edited" in window.text("summary")
    window.press("#save")
    window.shows("save done")
    model = load(tmp_path / "edited.json")
    assert model.provenance.edits == editor.edits
    assert "guideline \\u003c3\\u003e" in to_html(model)


def test_a_click_uses_another_good_tree(driver, case, tmp_path) -> None:
    _, X, y = case
    clf = tb.BoundTreeClassifier(max_leaves=6).fit(X, y)
    trees = clf.alternatives(X, y, k=3, within=0.1)
    editor = clf.edit(X, y, alternatives=trees)
    with opened_page(driver, editor, tmp_path) as (window, _):
        window.press('[data-alternative="1"]')
        window.shows("alternative 2 with")
        assert (editor.done().predict(X) == trees[1].predict(X)).all()
        assert window.errors() == []


def test_the_page_fits_a_phone(driver, case, tmp_path) -> None:
    _, X, y = case
    clf = tb.BoundTreeClassifier(max_leaves=6).fit(X, y)
    editor = clf.edit(X, y, alternatives=clf.alternatives(X, y, k=3, within=0.1))
    with narrow(driver), opened_page(driver, editor, tmp_path) as (window, _):
        window.choose("")
        window.press("#swap")
        window.shows("shown in the other order")
        driver.execute_script("document.getElementById('surrogates').open = true")
        assert scrolling_sideways(driver) == []
        window.press('[data-alternative="1"]')  # the last column is within reach
        window.shows("alternative 2 with")


def test_a_threshold_is_moved_and_split_at(opened) -> None:
    editor, window, _ = opened
    window.choose("L")
    age = window.driver.execute_script("return data.columns.findIndex((c) => c.name === 'age')")
    window.press(f'[data-column="{age}"]')
    window.driver.execute_script(
        "const range = document.querySelector('.candidate.open input[type=range]');"
        "range.value = 25; range.dispatchEvent(new Event('input'))"
    )
    until(lambda: "rows" in window.driver.find_element("css selector", ".preview").text)
    preview = window.driver.find_element("css selector", ".preview").text
    field = window.driver.find_element("css selector", ".candidate.open input[type=number]")
    assert float(field.get_property("value")) == 25
    window.press(".candidate.open .split")
    window.shows("age <= 25")
    left = node(editor, "LL")
    assert preview.startswith(f"{editor.tree.rows[left]} and ")
    window.ready("L")
    window.press("#undo")
    window.shows("Undone")


def test_surrogates_are_listed_when_they_are_opened(opened) -> None:
    editor, window, _ = opened
    window.press("#surrogates summary")
    shown = (
        "return [...document.querySelectorAll('#surrogates li')].map((line) => line.textContent)"
    )
    until(lambda: window.driver.execute_script(shown))
    wanted = editor.surrogates("")
    assert window.driver.execute_script(shown) == [
        f"{split}: same side for {100 * share:.1f} % of the rows"
        for split, share in zip(wanted["split"], wanted["agreement"], strict=True)
    ]


def test_a_category_and_the_best_split_are_taken_by_keyboard(opened) -> None:
    from selenium.webdriver.common.keys import Keys

    editor, window, _ = opened
    root = window.driver.find_element("css selector", '.node[data-key="root"]')
    window.driver.execute_script("arguments[0].focus()", root)
    root.send_keys(Keys.ARROW_DOWN)
    window.press('.node[data-key="L"]', Keys.ENTER)
    window.ready("L")
    port = window.driver.execute_script("return data.columns.findIndex((c) => c.name === 'port')")
    window.press(f'[data-column="{port}"]', Keys.ENTER)
    until(lambda: window.driver.find_elements("css selector", ".candidate.open select"))
    select = window.driver.find_element("css selector", ".candidate.open select")
    window.driver.execute_script("arguments[0].value = JSON.stringify('a, \"b\"')", select)
    window.press(".candidate.open .split", Keys.ENTER)
    until(lambda: window.driver.execute_script(HISTORY) == 1)
    assert 'port = "a, \\"b\\""' in editor.history[0] or 'port = a, "b"' in editor.history[0]
    window.ready("L")
    window.press(".candidate.open .best", Keys.ENTER)
    until(lambda: window.driver.execute_script(HISTORY) == 2)
    window.press("body", Keys.CONTROL + "z")
    window.shows("Undone")


def test_two_windows_and_a_reload_show_one_state(opened) -> None:
    editor, window, _ = opened
    driver, first = window.driver, window.driver.current_window_handle
    driver.switch_to.new_window("tab")
    try:
        driver.get(driver.execute_script("return arguments[0]", _address(driver, first)))
        window.ready("")
        window.choose("L")
        window.press("#collapse")
        window.shows("collapsed")
    finally:
        driver.close()
        driver.switch_to.window(first)
    # a window that has not learned of it yet
    driver.execute_script("data.version = 0; act({ do: 'collapse', node: 'R' })")
    window.shows("another window")
    until(lambda: window.text("steps") == editor.history[0])
    assert len(editor.history) == 1
    driver.refresh()
    window.ready("")
    assert window.text("steps") == editor.history[0]


def _address(driver: Any, handle: str) -> str:
    here = driver.current_window_handle
    driver.switch_to.window(handle)
    address = driver.current_url
    driver.switch_to.window(here)
    return address


def test_a_stopped_server_is_reported_and_nothing_breaks(opened) -> None:
    editor, window, stop = opened
    stop()
    window.press("#collapse")
    window.shows("does not reply")
    assert editor.history == ()
    assert window.driver.find_elements("css selector", ".node")


def test_hostile_names_are_text(driver, tmp_path) -> None:
    rng = np.random.default_rng(0)
    names = [HOSTILE, "</script><script>document.title=1</script>", "a\nb", "$x^2$", "x" * 300]
    X = pd.DataFrame({name: rng.normal(size=80) for name in names})
    X["kind"] = rng.choice([HOSTILE, "__proto__", "&amp;"], 80)
    y = np.where(X[names[0]] + (X["kind"] == "__proto__") > 0.3, HOSTILE, "</style>")
    clf = tb.BoundTreeClassifier(max_leaves=4, pruning=None).fit(X, y)
    editor = clf.edit(X, y)
    with served(editor, tmp_path) as (address, _):
        driver.get_log("browser")  # of the tests before
        driver.get(address)
        window = Window(driver)
        window.ready("")
        for column in range(len(names) + 1):
            driver.execute_script(f"document.querySelector('[data-column=\"{column}\"]').click()")
            window.press(".candidate.open .split")
            steps = column + 1
            until(lambda steps=steps: driver.execute_script(HISTORY) == steps, names[:steps])
            window.ready("")
        assert len(editor.history) == len(names) + 1
        assert driver.title == "Edit"
        assert window.errors() == []


@pytest.mark.parametrize("width", [390, 1400])
def test_nothing_is_wider_than_the_window(opened, width) -> None:
    _, window, _ = opened
    driver = window.driver
    metrics = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        driver.refresh()
        window.ready("")
        window.choose("L")
        wide = driver.execute_script("return document.documentElement.scrollWidth")
        assert wide <= width
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


FRAME = """
<body><script type="module">
const source = %s;
const blob = new Blob([source], { type: "text/javascript" });
const { default: widget } = await import(URL.createObjectURL(blob));
const listeners = [];
window.sent = [];
window.deliver = (message) => listeners.forEach((listener) => listener(message));
const model = { get: () => %s, send: (message) => window.sent.push(message),
  on: (_, listener) => listeners.push(listener), off: () => {} };
widget.render({ model, el: document.body });
</script></body>
"""


def test_the_widget_passes_commands_and_replies(driver, case, tmp_path) -> None:
    from importlib.resources import files

    clf, X, y = case
    editor = clf.edit(X, y)
    page = EditorPage(editor, title="Edit")
    source = (files("treebound.edit") / "static" / "widget.js").read_text(encoding="utf-8")
    quoted = [json.dumps(text).replace("<", "\\u003c") for text in (source, page.html())]
    (tmp_path / "notebook.html").write_text(FRAME % tuple(quoted), encoding="utf-8")
    driver.get((tmp_path / "notebook.html").as_uri())

    def pump() -> list[dict]:
        """Reply to the messages of the page, as Python does."""
        messages = driver.execute_script("return window.sent?.splice(0) ?? []")
        for message in messages:
            reply = {"id": message["id"], "reply": page.reply(message["request"])}
            driver.execute_script("window.deliver(arguments[0])", reply)
        return messages

    until(pump)
    driver.switch_to.frame(0)
    until(lambda: driver.find_elements("css selector", ".candidate"))
    driver.find_element("id", "collapse").click()
    driver.switch_to.default_content()
    until(lambda: pump() and editor.history)
    driver.switch_to.frame(0)
    window = Window(driver)
    window.shows("collapsed")
    for button, name in (("save", "model.json"), ("report", "report.html")):
        until(lambda: not driver.execute_script("return busy"))
        driver.find_element("id", button).click()
        driver.switch_to.default_content()
        until(pump)
        driver.switch_to.frame(0)
        window.shows(f"{name} is downloaded")
    driver.switch_to.default_content()


def test_an_editor_shows_itself_as_a_widget(case) -> None:
    pytest.importorskip("anywidget")
    clf, X, y = case
    bundle = clf.edit(X, y)._repr_mimebundle_()
    content = bundle[0] if isinstance(bundle, tuple) else bundle
    assert "application/vnd.jupyter.widget-view+json" in content
    assert '<img alt="The tree"' in content["text/html"]


def test_an_editor_without_a_widget_is_a_picture_and_text(case, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "anywidget", None)
    clf, X, y = case
    editor, figures = clf.edit(X, y), pyplot.get_fignums()
    content = editor._repr_mimebundle_()
    assert 'src="data:image/svg+xml;base64,' in content["text/html"]
    assert html.escape(str(editor)) in content["text/html"]
    assert "monospace" in content["text/html"]
    assert content["text/plain"].startswith(repr(editor))
    assert pyplot.get_fignums() == figures
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "<img" not in editor._repr_mimebundle_()["text/html"]


def test_every_button_does_its_step_for_numbers(driver, tmp_path) -> None:
    reg, X, y = fares()
    editor = reg.edit(X, y)
    with opened_page(driver, editor, tmp_path) as (window, _):
        assert "predicts" in window.text("where")
        assert "standard deviation" in window.text("where")
        window.choose("R")
        window.press("#collapse")
        window.shows("collapsed to")
        window.ready("R")
        window.press("#grow button")
        window.shows("grown")
        window.press("#undo")
        window.shows("Undone")
        window.press("#redo")
        window.shows("Redone")
        window.choose("")
        window.press("#swap")
        window.shows("shown in the other order")
        leaf = next(end for end in ("L", "LL", "LLL", "LLLL") if editor_leaf(editor, end))
        window.choose(leaf)
        field = driver.find_element("id", "leaf-value")
        shown = float(field.get_attribute("value"))
        assert shown == pytest.approx(float(editor.tree.value[node(editor, leaf)]))
        field.clear()
        field.send_keys("12.5")
        window.press("#relabel button")
        window.shows("predict 12.5 instead of")
        until(lambda: len(editor.history) == 4)
        for name, before, now in editor.figures.lines(editor.figures_before):
            assert f"{name}{before}{now}" in window.text("figures")
        assert "training RMSE" in window.text("figures")
        assert "nearer" in window.text("changed")
        window.choose("")
        column = next(k for k, name in enumerate(X.columns) if name == "age")
        window.press(f'[data-column="{column}"]')
        window.press(".candidate.open input[type=number]", "5")
        until(lambda: "RMSE" in driver.find_element("css selector", ".preview").text)
        window.press(".candidate.open .best")
        until(lambda: len(editor.history) == 5)
        window.press("#save")
        window.shows("save done")
        model = load_regression(tmp_path / "edited.json")
        assert model.provenance.edits == editor.edits
        assert window.errors() == []
