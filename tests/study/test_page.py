"""The page works in a real browser: every view opens, sorts, filters and explains itself."""

import json
import re
from dataclasses import replace

import pytest
import stand_ins
from browser import chromium

from treebound._utils.files import write_text
from treebound.study.page import page
from treebound.study.results import Results


@pytest.fixture(scope="module")
def results():
    """The published figures, with some spread, times, and one cell beyond noise."""
    printed = stand_ins.printed_results(spread=0.01)
    rows = []
    for at, row in enumerate(printed.rows):
        row = {**row, "grow_seconds": 0.001 * (1 + at % 7), "versions": "python 3, </script>"}
        if (row["dataset"], row["model"]) == ("wine", "RE"):
            row["test_accuracy"] += 0.2
        rows.append(row)
    return Results(printed.study, rows)


def test_page_is_one_document_without_requests(results):
    text = page(results)
    assert text.count("<html") == 1
    assert not re.search("@[A-Z]+@", text)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
    assert not re.search(r"<(script|img|iframe)[^>]*\ssrc=|@import|url\(", text)
    data = re.search(r'id="study">(.*?)</script>', text, re.S).group(1)
    content = json.loads(data)
    assert len(content["datasets"]) == 25
    assert content["about"][2]["text"].endswith("</script>")


HOSTILE = (
    """<img src=x onerror="document.title='attack'"><script>document.title='attack'</script>"""
)


@pytest.fixture(scope="module")
def hostile(results):
    """A hostile store: every text in it tries to run."""
    study = replace(
        results.study,
        protocol=HOSTILE,
        datasets=[{**one, "title": HOSTILE} for one in results.study.datasets],
        models=[{**one, "settings": HOSTILE} for one in results.study.models],
    )
    rows = [{**row, "versions": HOSTILE} for row in results.rows]
    return Results(study, [{**rows[0], "error": HOSTILE}, *rows[1:]])


def test_no_text_of_a_store_is_markup(hostile):
    text = page(hostile)
    assert text.count("<script") == 2
    assert "<img" not in text


@pytest.mark.browser
def test_no_text_of_a_store_runs(browser, hostile, tmp_path):
    path = tmp_path / "hostile.html"
    write_text(path, page(hostile))
    browser.get(path.as_uri())
    for view in ("overview", "compare", "costs", "datasets", "method"):
        go(browser, view)
        assert "onerror" in find(browser, "h1")[0].text
        assert browser.title.startswith("treebound study: <img")
    assert find(browser, "img") == []


@pytest.mark.browser
def test_only_the_pages_own_script_may_run(browser, results, tmp_path):
    path = tmp_path / "changed.html"
    added = (
        "<script>document.title = 'attack'</script><img src=x onerror=\"document.title='attack'\">"
    )
    path.write_text(page(results).replace("</body>", f"{added}</body>"), encoding="utf-8")
    browser.get(path.as_uri())
    assert find(browser, "#tabs button")
    assert browser.title.startswith("treebound study")
    refused = [entry["message"] for entry in browser.get_log("browser")]
    assert any("Content Security Policy" in message for message in refused)


def test_page_of_a_study_of_one_model_and_one_draw(tmp_path):
    study = stand_ins.study(stand_ins.trees()[:1], draws=1, count=1)
    stand_ins.run_study(study, tmp_path / "results.sqlite")
    text = page(Results.read(tmp_path / "results.sqlite"))
    content = json.loads(re.search(r'id="study">(.*?)</script>', text, re.S).group(1))
    assert content["ranking"] is None
    assert content["pairs"] == {}


@pytest.fixture(scope="module")
def browser():
    with chromium() as driver:
        yield driver


@pytest.fixture
def opened(browser, results, tmp_path):
    path = tmp_path / "report.html"
    write_text(path, page(results))
    browser.set_window_size(1200, 900)
    browser.get_log("browser")  # what a page before this one left behind
    browser.get(path.as_uri())
    yield browser
    errors = [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    assert errors == []


def find(browser, selector):
    return browser.find_elements("css selector", selector)


def until(browser, holds):
    """Wait for what the browser does a frame later."""
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(browser, 10, poll_frequency=0.05).until(lambda _: holds())


def go(browser, view):
    (tab,) = find(browser, f"[data-view={view}]")
    tab.click()
    assert tab.get_attribute("aria-selected") == "true"
    (panel,) = find(browser, f"#view-{view}")
    return panel


@pytest.mark.browser
def test_every_view_opens_and_fits(opened):
    views = [tab.get_attribute("data-view") for tab in find(opened, "[role=tab]")]
    assert views == ["overview", "compare", "costs", "datasets", "method"]
    for width in (1200, 390):
        opened.set_window_size(width, 900)
        for view in views:
            panel = go(opened, view)
            assert len(panel.text) > 100
            fits = "return document.documentElement.scrollWidth <= window.innerWidth"
            assert opened.execute_script(fits), (width, view)


@pytest.mark.browser
def test_no_word_of_a_plot_is_cut_and_no_name_is_covered(opened):
    inside = """
    const out = [];
    for (const svg of document.querySelectorAll('.plot > svg')) {
      const box = svg.getBoundingClientRect();
      for (const text of svg.querySelectorAll('text')) {
        const own = text.getBoundingClientRect();
        if (own.left < box.left - 1 || own.right > box.right + 1) out.push(text.textContent);
      }
      const names = [...svg.querySelectorAll('text.name')].map((t) => t.getBoundingClientRect());
      names.forEach((a, i) => names.slice(i + 1).forEach((b) => {
        if (a.left < b.right && b.left < a.right && a.top + 3 < b.bottom && b.top + 3 < a.bottom)
          out.push('covered');
      }));
    }
    return out;"""
    for width in (1200, 390):
        opened.set_window_size(width, 900)
        for view in ("compare", "costs", "datasets"):
            go(opened, view)
            assert opened.execute_script(inside) == [], (width, view)


@pytest.mark.browser
def test_wide_tables_announce_scrolling_and_headers_sorting(opened):
    opened.set_window_size(500, 900)
    go(opened, "overview")
    wide = """const box = document.querySelector('#table-accuracy').parentNode;
    return [box.scrollWidth > box.clientWidth, box.classList.contains('more'),
      !box.nextSibling.hidden, box.tabIndex];"""
    until(opened, lambda: opened.execute_script(wide) == [True, True, True, 0])
    end = """const box = document.querySelector('#table-accuracy').parentNode;
    box.scrollLeft = 1e6; box.dispatchEvent(new Event('scroll'));
    return box.classList.contains('more');"""
    assert opened.execute_script(end) is False
    opened.set_window_size(1400, 900)
    until(opened, lambda: opened.execute_script(wide) == [False, False, False, -1])
    sign = """return getComputedStyle(document.querySelector('#table-accuracy thead button'),
      '::after').content;"""
    assert "↕" in opened.execute_script(sign)


@pytest.mark.browser
def test_tables_sort_both_ways(opened):
    go(opened, "overview")

    def column(at):
        cells = find(opened, f"#table-accuracy tbody td:nth-child({at})")
        return [cell.text for cell in cells]

    assert column(1)[0].startswith("Acute")
    heads = find(opened, "#table-accuracy thead button")
    heads[2].click()
    values = [float(text) for text in column(3)]
    assert values == sorted(values, reverse=True)
    heads[2].click()
    assert [float(text) for text in column(3)] == sorted(values)
    heads[0].click()
    assert column(1)[0].startswith("Acute")
    heads[0].click()
    assert column(1)[0].startswith("Zoo")


@pytest.mark.browser
def test_models_can_be_compared_and_hidden(opened):
    go(opened, "compare")
    assert "critical difference" in find(opened, "#ranks svg")[0].text
    before = find(opened, "#forest svg")[0].text
    pick = find(opened, "#pick-other")[0]
    pick.find_element("xpath", "option[.='KM']").click()
    assert "Ours minus KM" in find(opened, "#forest svg")[0].text
    assert find(opened, "#forest svg")[0].text != before
    pick.find_element("xpath", "option[.='Ours']").click()
    assert "Choose two different models" in find(opened, "#forest")[0].text

    go(opened, "costs")
    shown = len(find(opened, "#leaves-plot .mark"))
    find(opened, ".legend button")[0].click()
    assert len(find(opened, "#leaves-plot .mark")) == shown - 1
    find(opened, ".bar input")[0].click()
    assert len(find(opened, "#leaves-plot .mark")) == (shown - 1) * 26


@pytest.mark.browser
def test_points_explain_themselves(opened):
    from selenium.webdriver import ActionChains

    go(opened, "datasets")
    find(opened, "#pick-dataset")[0].find_element("xpath", "option[.='Wine']").click()
    assert find(opened, "#view-datasets h2")[0].text == "Wine"
    point = find(opened, "#draws-plot .mark")[0]
    ActionChains(opened).move_to_element(point).perform()
    (tip,) = find(opened, "#tip")
    assert re.match(r"OG, draw 0\n9\d\.\d\d %", tip.text)
    lit = find(opened, "#draws-plot .lit")
    assert len(lit) == 6
    assert {point.get_attribute("data-draw") for point in lit} == {"0"}


@pytest.mark.browser
def test_keys_and_theme(opened):
    from selenium.webdriver import Keys

    go(opened, "overview")
    find(opened, "[role=tab]")[0].send_keys(Keys.ARROW_RIGHT)
    assert opened.current_url.endswith("#compare")

    def theme():
        return opened.execute_script(
            "return [document.documentElement.dataset.theme,"
            "getComputedStyle(document.body).backgroundColor]"
        )

    first = theme()
    find(opened, "#theme")[0].click()
    second = theme()
    assert first != second
    find(opened, "#theme")[0].click()
    assert theme() == first
