"""The report page in a real browser: slider, keys, folding, hovering, light and dark."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from show.test_html import HOSTILE, FakePath, hostile_tree, on_path
from sklearn.datasets import load_breast_cancer

import treebound as tb
from treebound.certificate.certificate import bound_percent
from treebound.show import to_html

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def classifier() -> tb.BoundTreeClassifier:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return tb.BoundTreeClassifier().fit(X, np.array(["malignant", "benign"])[y])


@pytest.fixture
def page(driver, classifier, tmp_path: Path):
    to_html(classifier, path=tmp_path / "report.html", title="Tumours")
    driver.get((tmp_path / "report.html").as_uri())
    yield driver
    assert driver.get_log("browser") == []


def nodes(driver) -> list:
    return driver.find_elements("css selector", ".node")


def words(driver) -> str:
    return driver.find_element("id", "status").text


def press(driver, *keys: str) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    ActionChains(driver).send_keys(*keys).perform()


def test_the_page_opens_at_the_chosen_step(page, classifier) -> None:
    path = classifier.pruning_path_
    assert page.title == "Tumours"
    assert words(page).startswith(f"{path.leaves[path.chosen]} leaves · estimated error ")
    assert words(page).endswith("chosen")
    assert len(nodes(page)) == classifier.tree_.n_nodes


def test_the_slider_shows_the_tree_of_every_step(page, classifier) -> None:
    from selenium.webdriver.common.keys import Keys

    path = classifier.pruning_path_
    slider = page.find_element("id", "slider")
    slider.send_keys(Keys.HOME)
    for step in range(len(path) - 1, max(len(path) - 5, -1), -1):
        tree = path.tree(step)
        leaves = "1 leaf" if tree.n_leaves == 1 else f"{tree.n_leaves} leaves"
        assert words(page).startswith(f"{leaves} · ")
        risk = tb.certify(tree).risk
        assert f"certified error at most {bound_percent(risk)}" in words(page)
        head = page.find_element("id", "summary").text
        if tree.n_leaves == 1:
            first, _, head = head.partition(". ")
            assert first.startswith("The tree has one leaf and always predicts 'benign' (62.7 %")
        tiles = page.find_element("id", "tiles").text.split("\n")
        assert tiles[2].endswith("baseline 37.3 % (always 'benign')")
        assert tiles[tiles.index("Leaves") + 1 :][:2] == [f"{tree.n_leaves}", f"depth {tree.depth}"]
        assert tiles[tiles.index("Rows") + 1] == "569"
        certified = tiles[tiles.index("Certified error") + 1]
        assert certified == (f"≤ {bound_percent(risk)}" if risk < 1 - 357 / 569 else "none")
        useful = risk < 1 - 357 / 569
        assert (f"Certified: at most {bound_percent(risk)} with 95 %" in head) == useful
        page.execute_script("at('d-rules').open = true")
        rules = page.find_elements("css selector", "#rules tbody tr")
        assert len(rules) == tree.n_leaves
        assert "score" not in page.find_element("tag name", "body").text
        assert len(nodes(page)) == tree.n_nodes
        slider.send_keys(Keys.ARROW_RIGHT)
    page.find_element("id", "chosen").click()
    assert words(page).endswith("chosen")


def test_a_second_slider_selects_by_the_certified_error(driver, tmp_path: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    clf = tb.BoundTreeClassifier(certificate="prior").fit(X, y)
    to_html(clf, path=tmp_path / "report.html")
    driver.get((tmp_path / "report.html").as_uri())
    slider, trees = driver.find_element("id", "bound"), list(clf.frontier_)

    def shown(risk: float) -> None:
        best = min((one for one in trees if one.risk <= risk), key=lambda one: one.training_error)
        assert words(driver).startswith(f"{best.leaves} leaves · ")
        assert len(nodes(driver)) == best.tree.n_nodes

    assert words(driver).endswith("chosen")
    slider.send_keys(Keys.HOME)
    shown(min(one.risk for one in trees))
    for _ in range(3):
        slider.send_keys(*[Keys.ARROW_RIGHT] * 30)
        shown(float(slider.get_attribute("value")))
    slider.send_keys(Keys.END)
    shown(1.0)
    slider.send_keys(Keys.HOME)
    driver.find_element("id", "chosen").click()
    assert float(slider.get_attribute("value")) == pytest.approx(clf.certificate_.risk, abs=1e-3)
    assert driver.get_log("browser") == []


def test_only_a_frontier_has_a_second_slider(page) -> None:
    assert not page.find_element("id", "bound").is_displayed()


def test_keys_walk_and_fold_the_tree(page, classifier) -> None:
    from selenium.webdriver.common.keys import Keys

    count = len(nodes(page))
    page.execute_script("document.querySelector('.node[tabindex=\"0\"]').focus()")

    def here() -> str:
        return page.execute_script("return document.activeElement.dataset.key")

    assert here() == "root"
    press(page, Keys.ARROW_DOWN)
    assert here() == "L"
    press(page, Keys.ARROW_RIGHT)
    assert here() == "R"
    press(page, Keys.ARROW_UP)
    assert here() == "root"
    press(page, Keys.ENTER)
    assert len(nodes(page)) == 1
    assert f"… {classifier.tree_.n_nodes - 1} more" in nodes(page)[0].text
    assert nodes(page)[0].get_attribute("aria-expanded") == "false"
    press(page, Keys.SPACE)
    assert len(nodes(page)) == count


def test_every_control_is_reached_by_tab(page) -> None:
    from selenium.webdriver.common.keys import Keys

    reached = []
    page.execute_script("goTo(data.chosen - 1)")  # the button is hidden at the chosen size
    page.execute_script("document.activeElement.blur()")
    for _ in range(22):
        press(page, Keys.TAB)
        script = "return document.activeElement.id || document.activeElement.dataset.key"
        reached.append(page.execute_script(script))
    names = ("theme", "slider", "chosen", "depth", "smaller", "larger", "fit", "root", "paste")
    for name in names:
        assert name in reached


def test_hovering_and_focus_show_the_examples_of_a_node(page, classifier) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    card = page.find_element("id", "card")
    assert not card.is_displayed()
    ActionChains(page).move_to_element(nodes(page)[1]).perform()
    tree = classifier.tree_
    assert card.is_displayed()
    assert f"({tree.rows[1]} rows)" in card.text
    for label, count in zip(tree.classes, tree.counts[1], strict=True):
        assert count == 0 or f"{label}" in card.text
    assert tree.columns[tree.feature[0]].name in card.text


def test_zoom_by_key_and_button(page) -> None:
    def scale() -> float:
        text = page.find_element("id", "world").get_attribute("transform")
        return float(text.split("scale(")[1].rstrip(")"))

    first = scale()
    page.find_element("id", "larger").click()
    assert scale() == pytest.approx(1.25 * first)
    press(page, "-", "-")
    assert scale() == pytest.approx(0.8 * first)
    press(page, "0")
    assert scale() == pytest.approx(first)


def test_light_and_dark_follow_the_system_and_the_button(page) -> None:
    def background() -> str:
        return page.execute_script("return getComputedStyle(document.body).backgroundColor")

    def system(scheme: str) -> None:
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    system("light")
    assert background() == "rgb(255, 255, 255)"
    system("dark")
    assert background() == "rgb(20, 23, 28)"
    page.find_element("id", "theme").click()
    assert background() == "rgb(255, 255, 255)"
    system("light")


def test_hostile_names_are_text_and_run_nothing(driver, tmp_path: Path) -> None:
    from selenium.common.exceptions import NoAlertPresentException

    to_html(hostile_tree(), path=tmp_path / "report.html", title=HOSTILE)
    driver.get((tmp_path / "report.html").as_uri())
    with pytest.raises(NoAlertPresentException):
        driver.switch_to.alert.accept()
    assert driver.title == HOSTILE
    assert driver.find_elements("tag name", "img") == []
    assert len(nodes(driver)) == 5
    assert HOSTILE in driver.find_element("id", "legend").text
    assert driver.get_log("browser") == []


def test_a_large_path_opens_folded_and_can_be_unfolded(driver, tmp_path: Path) -> None:
    from random_trees import random_tree

    path = FakePath(random_tree(8, 500), chosen=0)
    to_html(on_path(path.tree(0), path), tmp_path / "report.html")
    driver.get((tmp_path / "report.html").as_uri())
    assert len(nodes(driver)) < 200
    driver.find_element("css selector", "#depth option[value=all]").click()
    assert len(nodes(driver)) == 999
    assert driver.get_log("browser") == []
