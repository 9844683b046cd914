"""Rules, figures, explanations and comparisons of regression trees, against ``predict``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.cbook import boxplot_stats
from matplotlib.patches import Rectangle
from scipy.stats import wilcoxon

import treebound as tb
from treebound.exchange.regression_file import parse_regression, regression_text
from treebound.show import NumberExplanation, TreeDisplay, explain, to_html
from treebound.show.colours import fill_of
from treebound.show.distributions import boxplots
from treebound.show.report_numbers import number_report_data
from treebound.show.words import rounded


@pytest.fixture(scope="module")
def case() -> tuple[tb.BoundTreeRegressor, pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "rooms": rng.integers(1, 9, 600),
            "area": np.where(rng.random(600) < 0.1, np.nan, rng.normal(80, 25, 600).round(1)),
            "town": rng.choice(["A", "B", "C"], 600),
        }
    )
    price = 40 * frame["rooms"] + 30 * (frame["town"] == "B") + frame["area"].fillna(60)
    y = pd.Series((price + rng.normal(0, 15, 600)).round(2), name="price")
    return tb.BoundTreeRegressor(max_leaves=12).fit(frame, y), frame, y


def rows_of(frame: pd.DataFrame) -> list[dict]:
    return [
        {name: None if value != value else value for name, value in row.items()}
        for row in frame.to_dict("records")
    ]


def test_exactly_one_rule_matches_each_row_and_has_its_value(case) -> None:
    reg, frame, _ = case
    rules = reg.to_rules()
    assert len(rules) == reg.n_leaves_
    for row, value in zip(rows_of(frame[:150]), reg.predict(frame[:150]), strict=True):
        (rule,) = [rule for rule in rules if rule.matches(row)]
        assert rule.value == value
    assert sum(rule.rows for rule in rules) == len(frame)
    assert rules.to_frame().columns.tolist() == ["node", "rule", "value", "rows", "weight"]
    shown = [str(rule).split(" then ")[1].split("  #")[0] for rule in rules]
    assert shown == [rounded(rule.value, float(reg.tree_.deviation[0])) for rule in rules]
    assert all(f": {value} (" in reg.to_text() for value in shown)


def test_figures_have_every_value(case) -> None:
    reg, _, _ = case
    lines = [line for line in reg.to_text().split("\n") if ": " in line]
    shown = [line.rsplit(": ", 1)[1].split(" (")[0] for line in lines]
    assert len(shown) == reg.n_leaves_
    for written in (reg.to_dot(), reg.to_latex()):
        assert all(value in written for value in shown)
    display = TreeDisplay.from_estimator(reg)
    assert set(shown) <= {words.get_text() for words in display.ax_.texts}
    with pytest.raises(ValueError, match="need both 'X' and 'y'"):
        TreeDisplay.from_estimator(reg, case[1])


def test_leaves_have_boxplots_on_a_common_axis(case) -> None:
    reg, frame, y = case
    display = TreeDisplay.from_estimator(reg, frame, y)
    boxes = boxplots(reg.tree_, reg.model_.read_sample(frame, y))
    assert sorted(boxes) == reg.tree_.leaves.tolist()
    nodes = reg.apply(frame)
    for leaf, box in boxes.items():
        numbers = y[nodes == leaf]
        (drawn,) = boxplot_stats(numbers)
        names = ("whislo", "q1", "med", "q3", "whishi")
        assert box.values == pytest.approx([drawn[name] for name in names])
        assert box.ends[0] <= box.values[0] <= box.values[4] <= box.ends[1]
    rectangles = [patch for patch in display.ax_.patches if isinstance(patch, Rectangle)]
    assert len(rectangles) == reg.n_leaves_
    assert len(reg.plot(frame, y).patches) == len(display.ax_.patches)
    # folded leaves have none: their rows are those of several leaves
    assert len(TreeDisplay.from_estimator(reg, frame, y, max_depth=0).ax_.patches) == 1


@pytest.mark.parametrize("certificate", [None, "held-out"])
def test_the_report_has_residuals_and_the_spread_of_leaves(case, certificate) -> None:
    _, frame, y = case
    reg = tb.BoundTreeRegressor(max_leaves=6, certificate=certificate).fit(frame, y)
    data = number_report_data(reg.model_, 60)
    start = data["steps"][data["start"]]
    if certificate is None:
        assert start["residuals"]["role"] == "cross-validated rows"
        assert start["residuals"]["rows"] == len(frame)
        assert [step["residuals"] is None for step in data["steps"]].count(False) == 1
        rmse = np.sqrt(np.mean(np.array(start["residuals"]["points"])[:, 1] ** 2))
        assert rmse == pytest.approx(reg.estimate_.rmse.value, rel=0.15)  # 300 of 600 rows
        loaded = parse_regression(regression_text(reg.model_))
        again = number_report_data(loaded, 60)
        assert again["steps"][again["start"]]["residuals"] == start["residuals"]
    else:
        inside = reg.model_.provenance.draw.calibration.mask(len(frame))
        for step in data["steps"]:
            model = reg.prune_to(step=step["step"])
            residuals = y[inside] - model.predict(frame[inside])
            points = np.array(step["residuals"]["points"])
            assert step["residuals"]["role"] == "calibration rows"
            assert np.sort(points[:, 1]) == pytest.approx(np.sort(residuals), abs=1e-3)
            assert data["lines"][step["certified"][0]] == str(model.certificate_).split("\n")[0]
    tree = reg.tree_
    for stats in data["stats"]:
        nodes = np.flatnonzero(tree.value == stats[5])
        if len(nodes) and stats[0] == tree.rows[nodes[0]] and stats[12] is not None:
            assert stats[11] == tree.mean[nodes[0]]
            assert stats[12] < stats[5] < stats[13]


def test_the_smallest_and_the_largest_leaf_have_the_ends_of_the_scale(case) -> None:
    tree = case[0].tree_
    values = tree.value[tree.leaves]
    low, high = (int(tree.leaves[at]) for at in (np.argmin(values), np.argmax(values)))
    assert fill_of(tree, low) == "#80B8D8"
    assert fill_of(tree, high) == "#F2CF80"


@pytest.mark.parametrize("at", range(0, 60, 7))
def test_a_row_is_explained_and_changed_into_a_range(case, at: int) -> None:
    reg, frame, _ = case
    explained = reg.explain(frame.iloc[at])
    assert isinstance(explained, NumberExplanation)
    assert explained.prediction == reg.predict(frame.iloc[[at]])[0]
    assert explained.interval == tuple(reg.predict_interval(frame.iloc[[at]])[0])
    assert explained.counterfactual is None
    assert all(step.condition in str(explained) for step in explained.path)
    values = np.unique(reg.tree_.value[reg.tree_.leaves])
    low, high = values[-3], values[-1]
    change = reg.explain(frame.iloc[at], reach=(low, high)).counterfactual
    changed = frame.iloc[[at]].assign(**{one.column: one.new for one in change.changes})
    assert reg.predict(changed)[0] == change.prediction
    assert low <= change.prediction <= high
    if explained.prediction >= low:
        assert change.changes == ()
    elif len(change.changes) > 1:  # then no number of rooms is enough
        for rooms in range(1, 9):
            assert reg.predict(frame.iloc[[at]].assign(rooms=rooms))[0] < low


def test_a_range_that_no_leaf_has_and_bad_ranges(case) -> None:
    reg, frame, _ = case
    explained = reg.explain(frame.iloc[0], reach=(1e6, 2e6))
    assert explained.counterfactual is None
    assert "No change of known values gives a value from 1,000,000 to 2,000,000." in str(explained)
    for wrong in ((2.0, 1.0), 3, ("a", "b")):
        with pytest.raises(ValueError, match="'reach' parameter of explain must be a pair"):
            reg.explain(frame.iloc[0], reach=wrong)
    clf = tb.BoundTreeClassifier().fit(frame[["area", "town"]], frame["rooms"] > 4)
    with pytest.raises(ValueError, match="'reach' parameter of explain must be None"):
        explain(clf, frame.iloc[0], reach=(1.0, 2.0))
    assert "from 0.3 to 0.7" in str(reg.explain(frame.iloc[0], reach=(1 / 3, 2 / 3)))


def test_two_regression_trees_are_compared(case) -> None:
    reg, frame, y = case
    small = reg.prune_to(3)
    comparison = tb.compare(reg, small, frame, y)
    a, b = reg.predict(frame), small.predict(frame)
    assert comparison.rmse_a == pytest.approx(np.sqrt(np.mean((a - y) ** 2)))
    assert comparison.mae_b == pytest.approx(np.abs(b - y).mean())
    assert comparison.differing == (a != b).sum()
    assert comparison.difference == pytest.approx(np.abs(a - b).mean())
    assert comparison.p_value == wilcoxon(np.abs(a - y) - np.abs(b - y)).pvalue
    assert f"The values differ for {comparison.differing} of 600 rows" in str(comparison)
    assert comparison.to_frame()["rows"].sum() == comparison.differing
    assert tb.compare(reg, reg, frame, y).p_value == 1.0
    clf = tb.BoundTreeClassifier().fit(frame[["area", "town"]], frame["rooms"] > 4)
    with pytest.raises(ValueError, match="two trees of classes or two regression trees"):
        tb.compare(reg, clf, frame, y)


WAYS = """
return arguments[0].map((row) => {
  const cells = row.map((cell) => (cell === null ? NaN : cell));
  const { way, end } = wayOf(rootNow(), cells);
  return [way.map((step) => step.left), statsOf(end)[5]];
});"""


@pytest.mark.browser
def test_the_report_of_a_regression_tree(driver, tmp_path: Path, case) -> None:
    reg, frame, _ = case
    report = reg.to_html(tmp_path / "report.html", rows=frame)
    assert report.startswith("<!doctype html>")
    driver.get((tmp_path / "report.html").as_uri())
    assert driver.title == "Decision tree for price"

    def text(name: str) -> str:
        return driver.find_element("id", name).text

    assert text("summary").startswith(str(reg.estimate_))
    assert text("tiles").split("\n")[:2] == ["Estimated RMSE", str(reg.estimate_.rmse)]
    baseline = f"baseline {reg.estimate_.baseline_rmse:.4g} (always the mean)"
    assert text("tiles").split("\n")[2] == baseline
    assert f"{reg.n_leaves_} leaves · estimated RMSE" in text("status")
    assert not driver.find_element("id", "chosen").is_displayed()
    listed = driver.find_elements("css selector", "#other-sizes tbody tr")
    for row, size in zip(listed, reg.sizes_, strict=True):
        leaves, _, rmse, change = row.text.split()
        assert int(leaves) == size.leaves
        assert float(rmse.replace(",", "")) == pytest.approx(size.rmse, rel=1e-3)
        assert (change == "chosen") == (size.leaves == reg.n_leaves_)
    known = driver.execute_script("return data.columns.map((column) => column.categories)")
    rows = frame[:60]
    cells = [
        [float(row.rooms), None if np.isnan(row.area) else row.area,
         known[2].index(row.town) if row.town in known[2] else -2]
        for row in rows.itertuples()
    ]  # fmt: skip
    ways = driver.execute_script(WAYS, cells)
    for at, (way, value) in enumerate(ways):
        explained = reg.explain(rows.iloc[at])
        assert way == [step.left for step in explained.path]
        assert value == explained.prediction
    assert len(driver.find_elements("css selector", "#rules tbody tr")) == reg.n_leaves_
    shares = driver.execute_script("return importances(rootNow())")
    assert shares == pytest.approx(reg.feature_importances_.tolist())
    driver.execute_script("goTo(data.steps.length - 1)")
    assert text("tiles").split("\n")[0] in ("Estimated RMSE", "Training RMSE")
    assert "1\ndepth 0" in text("tiles")
    assert baseline in text("tiles")
    assert driver.find_element("id", "chosen").is_displayed()
    assert f"for the tree of {reg.n_leaves_} leaves only" in text("confusion")
    driver.execute_script("goTo(data.start); at('question').querySelector('button').click()")
    assert driver.find_elements("css selector", ".node.lit")
    plot = "return document.querySelectorAll('svg.residuals .dot').length"
    assert driver.execute_script(plot) == 300
    assert "600 rows, cross-validated; 300 are drawn" in text("confusion")
    strips = "return document.querySelectorAll('svg.strip').length"
    assert driver.execute_script(strips) == reg.n_leaves_
    driver.execute_script("goTo(data.steps.length - 1)")
    assert driver.execute_script(strips) == 1
    assert driver.get_log("browser") == []
    with pytest.raises(ValueError, match="'test' parameter of to_html must be None"):
        to_html(reg, test=(frame, frame["rooms"]))
