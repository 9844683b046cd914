"""Targets of numbers on the command line: regression trees, and --task."""

import json

import numpy as np
import pandas as pd
import pytest
from commands import refused, run

import treebound as tb


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Houses: the price has a fraction, the count is whole with many values, rooms has few."""
    rng = np.random.default_rng(3)
    n = 600
    frame = pd.DataFrame({"area": rng.uniform(20, 200, n).round(1)})
    frame["town"] = rng.choice(["north", "south"], n)
    frame["w"] = rng.integers(1, 4, n)
    frame["price"] = (2.5 * frame.area + 90 * (frame.town == "north") + rng.normal(0, 20, n)).round(
        2
    )
    frame["count"] = frame.price.round().astype(int)
    frame["rooms"] = rng.integers(1, 7, n)
    path = tmp_path_factory.mktemp("houses") / "houses.csv"
    frame.to_csv(path, index=False)
    return path, frame


@pytest.mark.parametrize("target", ["price", "count"])
def test_many_numbers_are_recognised_and_the_tree_is_that_of_the_regressor(table, capsys, target):
    path, frame = table
    ignored = ",".join({"price", "count", "rooms", "w"} - {target})
    code, out, err = run(capsys, "fit", path, "--target", target, "--ignore", ignored)
    assert code == 0, err
    distinct = f"{frame[target].nunique():,} numbers from"
    assert f"target '{target}' with {distinct}" in err
    assert "a regression tree. Hint: --task classify makes classes" in err
    reg = tb.BoundTreeRegressor().fit(frame[["area", "town"]], frame[target])
    assert out.strip() == reg.to_text().strip()
    assert reg.summary() in err


def test_options_of_growing_are_those_of_the_regressor(table, capsys):
    path, frame = table
    options = [
        "--max-leaves", "5", "--max-depth", "3", "--min-samples-leaf", "20", "--seed", "4",
        "--monotone", "area=+", "--size", "accurate", "--weight-column", "w",
    ]  # fmt: skip
    ignored = ("--ignore", "count,rooms")
    _, out, _ = run(capsys, "fit", path, "--target", "price", *ignored, *options)
    reg = tb.BoundTreeRegressor(
        max_leaves=5, max_depth=3, min_samples_leaf=20, random_state=4, size="accurate",
        monotonic_cst={"area": 1},
    )  # fmt: skip
    reg.fit(frame[["area", "town"]], frame.price, sample_weight=frame.w)
    assert out.strip() == reg.to_text().strip()


def test_few_numbers_are_classes_unless_the_task_is_given(table, capsys):
    path, _ = table
    common = ("--ignore", "count,price,w", "--max-leaves", "3")
    _, _, err = run(capsys, "fit", path, "--target", "rooms", *common)
    assert "target 'rooms' with 6 classes" in err
    _, out, err = run(capsys, "fit", path, "--target", "rooms", "--task", "regress", *common)
    assert "target 'rooms' with 6 numbers from 1 to 6: a regression tree.\n" in err
    assert "rows)" in out
    _, _, err = run(capsys, "fit", path, "--target", "price", "--task", "classify", *common[:0])
    assert "target 'price' with " in err
    assert "classes." in err.splitlines()[0]


def test_json_has_the_estimates(table, capsys):
    path, frame = table
    arguments = ("--target", "price", "--ignore", "count,rooms,w", "--json", "--quiet")
    code, out, err = run(capsys, "fit", path, *arguments)
    assert (code, err) == (0, "")
    figures = json.loads(out)
    reg = tb.BoundTreeRegressor().fit(frame[["area", "town"]], frame.price)
    assert (figures["task"], figures["leaves"]) == ("regress", reg.n_leaves_)
    assert figures["estimate"]["rmse"][0] == pytest.approx(reg.model_.estimate.rmse.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--costs", "1=2"), "--costs is not offered for a target of numbers"),
        (("--class-weight", "balanced"), "--class-weight is not offered for a target of numbers"),
        (("--certificate", "folds"), "--certificate is not offered for a target of numbers"),
        (("--search", "wide"), "--search is not offered for a target of numbers"),
        (("--abstain", "0.1"), "--abstain is not offered for a target of numbers"),
        (("--report", "tree.html"), "--report is not offered for a target of numbers"),
        (("--stream", "--task", "regress"), "fitted to files that fit in memory"),
        (("--pruning", "mdl"), "--pruning must be 'bound', 'cost-complexity'"),
    ],
)
def test_options_without_a_meaning_for_numbers_are_refused(
    table, capsys, monkeypatch, tmp_path, options, words
):
    monkeypatch.chdir(tmp_path)
    assert words in refused(capsys, "fit", table[0], "--target", "price", *options)


def test_texts_are_no_numbers(table, capsys):
    line = refused(capsys, "fit", table[0], "--target", "town", "--task", "regress")
    assert "The target column 'town' holds '" in line
    assert "which is no number. Hint: --task regress needs numbers" in line


def test_check_shows_the_range_of_the_numbers(table, capsys, tmp_path):
    path, frame = table
    _, out, _ = run(capsys, "check", path, "--target", "price")
    row = next(line.split() for line in out.splitlines() if line.startswith("price"))
    assert row[:3] == ["price", "target", str(frame.price.nunique())]
    assert f"{frame.price.min():.4g} to {frame.price.max():.4g}" in out
    outliers = frame.assign(price=np.where(frame.index < 3, 1e6, frame.price))
    outliers.to_csv(tmp_path / "t.csv", index=False)
    _, out, _ = run(capsys, "check", tmp_path / "t.csv", "--target", "price")
    assert "has outliers: 2 rows have" in out
    assert "clip" not in out
    _, out, _ = run(capsys, "check", path, "--target", "rooms", "--task", "regress")
    assert "If they are classes, use --task classify." in out
    document = json.loads(run(capsys, "check", path, "--target", "price", "--json")[1])
    assert document["classes"] == {}
