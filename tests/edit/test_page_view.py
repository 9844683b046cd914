"""The page of an editor: how it is looked at, by mouse, by keyboard alone, and on a phone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from edit.editor_case import passengers
from edit.window import Window, opened_page, served, until

import treebound as tb

pytestmark = pytest.mark.browser
SCALE = "return view.scale"
SHOWN = "return shown.length"


@pytest.fixture
def opened(driver, tmp_path) -> Iterator[tuple[Any, Window]]:
    clf, X, y = passengers(max_leaves=12)
    editor = clf.edit(X, y)
    with opened_page(driver, editor, tmp_path) as (window, _):
        yield editor, window
        assert window.errors() == []


def test_buttons_of_the_view_change_the_view_and_no_tree(opened) -> None:
    from selenium.webdriver.support.select import Select

    editor, window = opened
    script = window.driver.execute_script
    whole, nodes = script(SCALE), script(SHOWN)
    assert nodes == editor.tree.n_nodes
    window.press("#larger")
    assert script(SCALE) == pytest.approx(1.25 * whole)
    window.press("#smaller")
    window.press("#smaller")
    assert script(SCALE) == pytest.approx(0.8 * whole)
    window.press("#fit")
    assert script(SCALE) == pytest.approx(whole)
    depth = Select(window.driver.find_element("id", "depth"))
    depth.select_by_value("2")
    until(lambda: script(SHOWN) == 7, "a tree of depth 2")
    depth.select_by_value("all")
    until(lambda: script(SHOWN) == nodes, "the whole tree")
    window.press("#fold")
    until(lambda: script(SHOWN) == 1, "the root alone")
    window.press("#fold")
    until(lambda: script(SHOWN) == nodes, "the whole tree again")
    assert editor.history == ()


def test_the_theme_is_switched_by_button_and_key(opened) -> None:
    _, window = opened
    colour = "return getComputedStyle(document.body).backgroundColor"
    light = window.driver.execute_script(colour)
    window.press("#theme")
    dark = window.driver.execute_script(colour)
    assert dark != light
    assert window.text("theme") == "Light"
    window.press("body", "t")
    assert window.driver.execute_script(colour) == light


def test_all_columns_are_shown_on_demand(driver, tmp_path) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 20)), columns=[f"c{at}" for at in range(20)])
    y = np.where(X.sum(axis=1) > 0, "yes", "no")
    editor = tb.BoundTreeClassifier(pruning=None, max_leaves=3).fit(X, y).edit(X, y)
    with served(editor, tmp_path) as (address, _):
        driver.get(address)
        window = Window(driver)
        window.ready("")
        assert len(driver.find_elements("css selector", ".candidate")) == 12
        assert driver.find_element("id", "all-columns").text == "Show all 20"
        window.press("#all-columns")
        assert len(driver.find_elements("css selector", ".candidate")) == 20
        assert not driver.find_elements("id", "all-columns")


def test_a_threshold_is_dragged_by_mouse(opened) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    editor, window = opened
    window.choose("L")
    age = window.driver.execute_script("return data.columns.findIndex((c) => c.name === 'age')")
    window.press(f'[data-column="{age}"]')
    slider = window.driver.find_element("css selector", ".candidate.open input[type=range]")
    window.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", slider)
    window.rests(slider)
    line = "return Number(document.querySelector('.candidate.open .cut').getAttribute('x1'))"
    before = window.driver.execute_script(line)
    drag = ActionChains(window.driver).move_to_element(slider).click_and_hold()
    drag.move_by_offset(slider.size["width"] // 4, 0).release().perform()
    until(lambda: "rows" in window.driver.find_element("css selector", ".preview").text)
    assert window.driver.execute_script(line) > before + 20
    field = window.driver.find_element("css selector", ".candidate.open input[type=number]")
    value = field.get_property("value")
    window.press(".candidate.open .split")
    window.shows(f"age <= {value}")
    assert f"age <= {value}" in editor.history[0]


def test_what_stands_below_is_kept_or_grown_again(opened) -> None:
    editor, window = opened
    window.press("#keep")
    window.press(".candidate:nth-child(2) > button")
    window.press(".candidate.open .best")
    until(lambda: len(editor.history) == 1)
    again = tb.BoundTreeClassifier.edit(*_fitted())
    again.use("", editor.tree.columns[editor.tree.feature[0]].name, keep=False)
    assert editor.tree.n_leaves == again.tree.n_leaves
    assert editor.tree.threshold.tolist() == pytest.approx(
        again.tree.threshold.tolist(), nan_ok=True
    )


def _fitted() -> tuple[Any, ...]:
    return passengers(max_leaves=12)


def test_a_subtree_grows_on_the_columns_that_are_ticked(opened) -> None:
    editor, window = opened
    window.choose("R")
    window.press("#grow summary")
    names = window.driver.execute_script("return data.columns.map((c) => c.name)")
    for at, name in enumerate(names):
        if name not in ("age", "port"):
            window.press(f'#grow .columns input[value="{at}"]')
    window.press("#grow-leaves", "\ue009a\ue000", "4")  # all of it is replaced
    window.press("#grow button")
    window.shows("grown on port, age")
    below = editor.tree.feature[int(editor.tree.right[0]) :]
    assert {names[at] for at in below if at >= 0} <= {"age", "port"}


def test_a_tree_is_edited_by_keyboard_alone(opened) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    editor, window = opened
    script = window.driver.execute_script

    def press(key: str, *, control: bool = False) -> None:
        until(lambda: script("return !busy && chosen.node !== null"), "the page at rest")
        chain = ActionChains(window.driver)
        chain = chain.key_down(Keys.CONTROL) if control else chain
        chain = chain.send_keys(key)
        (chain.key_up(Keys.CONTROL) if control else chain).perform()

    def tab_to(selector: str) -> None:
        for _ in range(80):
            if script("return document.activeElement.matches(arguments[0])", selector):
                return
            press(Keys.TAB)
        raise AssertionError(f"no key leads to {selector}")

    tab_to(".node")
    press(Keys.ARROW_DOWN)
    press(Keys.ENTER)
    window.ready("L")
    tab_to("#collapse")
    press(Keys.ENTER)
    until(lambda: len(editor.history) == 1, "collapsed")
    tab_to(".candidate > button")
    press(Keys.ENTER)
    tab_to(".candidate.open .split")
    press(Keys.SPACE)
    until(lambda: len(editor.history) == 2, "split")
    press("z", control=True)
    until(lambda: len(editor.history) == 1, "undone")
    press("y", control=True)
    until(lambda: len(editor.history) == 2, "done again")


def test_every_step_works_on_a_phone(opened) -> None:
    editor, window = opened
    driver = window.driver
    phone = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    try:
        driver.refresh()
        window.ready("")
        window.choose("L")
        assert driver.execute_script("return document.getElementById('card').hidden")
        window.press("#collapse")
        until(lambda: len(editor.history) == 1)
        window.ready("L")
        window.press(".candidate > button")
        window.press(".candidate.open .split")
        until(lambda: len(editor.history) == 2)
        window.press("#undo")
        until(lambda: len(editor.history) == 1)
        assert driver.execute_script("return document.documentElement.scrollWidth") <= 390
        small = driver.execute_script(
            "return [...document.querySelectorAll('#bar button, #actions button')]"
            ".filter((b) => b.getBoundingClientRect().height < 32).map((b) => b.id)"
        )
        assert small == []
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
