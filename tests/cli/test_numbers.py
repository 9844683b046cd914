"""Targets of numbers on the command line: regression trees, and --task."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from commands import refused, run
from sklearn.metrics import mean_absolute_error, root_mean_squared_error

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
        "--max-leaves", "5", "--max-depth", "3", "--seed", "4",
        "--monotone", "area=+", "--size", "accurate", "--weight-column", "w",
    ]  # fmt: skip
    ignored = ("--ignore", "count,rooms")
    _, out, _ = run(capsys, "fit", path, "--target", "price", *ignored, *options)
    reg = tb.BoundTreeRegressor(
        max_leaves=5, max_depth=3, random_state=4, size="accurate",
        monotonic_cst={"area": 1},
    )  # fmt: skip
    reg.fit(frame[["area", "town"]], frame.price, sample_weight=frame.w)
    assert out.strip() == reg.to_text().strip()


def test_groups_are_kept_in_one_fold(table, capsys):
    path, frame = table
    options = ["--ignore", "count,rooms", "--groups", "w", "--certificate", "folds"]
    _, out, err = run(capsys, "fit", path, "--target", "price", *options)
    reg = tb.BoundTreeRegressor(certificate="folds")
    reg.fit(frame[["area", "town"]], frame.price, groups=frame.w)
    assert out.strip() == reg.to_text().strip()
    assert str(reg.certificate_) in err
    assert reg.certificate_.grouped


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize(("target", "task"), [("price", ()), ("count", ("--task", "regress"))])
def test_a_stream_gives_the_tree_of_memory(table, capsys, monkeypatch, target, task, large):
    path, frame = table
    if large:
        monkeypatch.setattr("treebound.pruning.bound.MAX_VALUES", 300)
        monkeypatch.setattr("treebound.data.files.BATCH_ROWS", 101)
    ignored = ("--ignore", ",".join({"price", "count", "rooms", "w"} - {target}))
    code, out, err = run(capsys, "fit", path, "--target", target, *ignored, "--stream", *task)
    assert code == 0, err
    reg = tb.BoundTreeRegressor(certificate=None).fit(frame[["area", "town"]], frame[target])
    assert out.strip() == reg.to_text().strip()
    assert reg.summary() in err
    options = (*ignored, "--stream", "--certificate", "held-out", *task)
    _, out, err = run(capsys, "fit", path, "--target", target, *options)
    reg = tb.BoundTreeRegressor(certificate="held-out").fit(frame[["area", "town"]], frame[target])
    assert out.strip() == reg.to_text().strip()
    assert str(reg.certificate_) in err
    line = refused(capsys, "fit", path, "--target", "town", "--stream", "--task", "regress")
    assert "The target column 'town' holds '" in line


@pytest.mark.parametrize("form", ["csv", "floats.csv", "parquet", "floats.parquet"])
@pytest.mark.parametrize("batch_rows", [90, 10**6])
def test_many_whole_numbers_are_recognised_in_a_stream(
    table, capsys, monkeypatch, tmp_path, form, batch_rows
):
    monkeypatch.setattr("treebound.data.files.BATCH_ROWS", batch_rows)
    frame = table[1][["area", "town", "count", "rooms"]]
    if form.startswith("floats"):
        frame = frame.astype({"count": float, "rooms": float})  # a text 312.0
    path = tmp_path / f"t.{form}"
    frame.to_csv(path, index=False) if form.endswith("csv") else frame.to_parquet(path)
    argv = ("fit", path, "--stream", "--target", "count", "--ignore", "rooms")
    code, out, err = run(capsys, *argv, "--tolerance", "20")
    assert code == 0, err
    reg = tb.BoundTreeRegressor(certificate=None).fit(frame[["area", "town"]], frame["count"])
    assert out.strip() == reg.to_text().strip()
    assert "--search is not offered for a target" in refused(capsys, *argv, "--search", "wide")
    few = ("fit", path, "--stream", "--target", "rooms", "--ignore", "count")
    assert "misclassified" in run(capsys, *few)[2]
    assert "--tolerance needs a target of numbers" in refused(capsys, *few, "--tolerance", "1")
    assert "misclassified" in run(capsys, *argv, "--task", "classify", "--max-leaves", "2")[2]


@pytest.mark.parametrize("target", ["price", "count"])
def test_the_decimal_mark_is_that_of_the_target_too(table, capsys, tmp_path, target):
    frame = table[1].astype({"count": float})[["area", "town", target]]  # a count is 312,0
    path, model = tmp_path / "comma.csv", tmp_path / "model.json"
    frame.to_csv(path, index=False, sep=";", decimal=",")
    reg = tb.BoundTreeRegressor().fit(frame[["area", "town"]], frame[target])
    for options in ((), ("--task", "regress"), ("--stream",)):
        code, out, err = run(capsys, "fit", path, "--target", target, "--decimal", ",", *options)
        assert code == 0, err
        assert out.strip() == reg.to_text().strip()
    _, out, _ = run(capsys, "check", path, "--target", target, "--decimal", ",")
    row = next(line.split() for line in out.splitlines() if line.startswith(target))
    assert row[:3] == [target, "target", str(frame[target].nunique())]
    run(capsys, "fit", path, "--target", target, "--decimal", ",", "-o", model)
    figures = json.loads(run(capsys, "evaluate", model, path, "--decimal", ",", "--json")[1])
    assert figures["r2"] == pytest.approx(reg.score(frame[["area", "town"]], frame[target]))


def test_classes_of_numbers_are_read_with_the_decimal_mark(table, capsys, tmp_path):
    frame, model = table[1][["area", "rooms"]], tmp_path / "model.json"
    path, other = tmp_path / "comma.csv", tmp_path / "floats.csv"
    frame.to_csv(path, index=False, sep=";", decimal=",")
    frame.astype(float).to_csv(other, index=False, sep=";", decimal=",")  # rooms: 3,0
    options = ("--decimal", ",")
    run(capsys, "fit", path, "--target", "rooms", *options, "-o", model)
    figures = [run(capsys, "evaluate", model, file, *options) for file in (path, other)]
    assert figures[0][0] == 0
    assert figures[0] == figures[1]


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
        (("--certificate", "training"), "--certificate must be auto, held-out or folds"),
        (("--search", "wide"), "--search is not offered for a target of numbers"),
        (("--abstain", "0.1"), "--abstain is not offered for a target of numbers"),
        (("--stream", "--weight-column", "w"), "takes none of --costs, --weight-column"),
        (("--pruning", "mdl"), "--pruning must be bound, cost-complexity or none"),
    ],
)
def test_options_without_a_meaning_for_numbers_are_refused(
    table, capsys, monkeypatch, tmp_path, options, words
):
    monkeypatch.chdir(tmp_path)
    assert words in refused(capsys, "fit", table[0], "--target", "price", "--quiet", *options)


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


@pytest.fixture
def saved(table, capsys, tmp_path):
    """A model file, its regressor, and the table."""
    path, frame = table
    model, report = tmp_path / "model.json", tmp_path / "tree.html"
    arguments = ("--ignore", "count,rooms,w", "--max-leaves", "5", "--quiet")
    outputs = ("-o", model, "--report", report)
    assert run(capsys, "fit", path, "--target", "price", *arguments, *outputs) == (0, "", "")
    assert "price" in report.read_text()
    assert '"missing_share"' in report.read_text()  # of the columns, and the range of numbers
    assert '"range"' in report.read_text()
    reg = tb.BoundTreeRegressor(max_leaves=5).fit(frame[["area", "town"]], frame.price)
    return model, reg, path, frame


def test_predict_writes_the_numbers_of_the_regressor(saved, capsys, tmp_path):
    model, reg, path, frame = saved
    expected = reg.predict(frame[["area", "town"]])
    _, out, _ = run(capsys, "predict", model, path, "--chunk-rows", "100")
    written = pd.read_csv(io.StringIO(out), float_precision="round_trip")
    np.testing.assert_array_equal(written.price, expected)
    target = tmp_path / "out.parquet"
    run(capsys, "predict", model, path, "-o", target, "--keep")
    np.testing.assert_array_equal(pd.read_parquet(target)["predicted price"], expected)
    assert "neither --threshold nor --proba" in refused(capsys, "predict", model, path, "--proba")


def test_evaluate_compares_with_the_mean(saved, capsys):
    model, reg, path, frame = saved
    figures = json.loads(run(capsys, "evaluate", model, path, "--json")[1])
    predicted = reg.predict(frame[["area", "town"]])
    assert figures["rows"] == 600
    assert figures["rmse"] == pytest.approx(root_mean_squared_error(frame.price, predicted))
    assert figures["mae"] == pytest.approx(mean_absolute_error(frame.price, predicted))
    assert figures["r2"] == pytest.approx(reg.score(frame[["area", "town"]], frame.price))
    assert figures["baseline_rmse"] == pytest.approx(frame.price.std(ddof=0))
    _, out, _ = run(capsys, "evaluate", model, path)
    assert out.startswith(f"RMSE {figures['rmse']:.4g} on 600 rows (baseline ")


def test_show_explain_and_prune_take_a_regression_tree(saved, capsys):
    model, reg, path, frame = saved
    assert run(capsys, "show", model)[1].strip() == reg.to_text().strip()
    assert "CASE" in run(capsys, "show", model, "--as", "sql")[1]
    _, out, _ = run(capsys, "explain", model, path, "--row", "1")
    assert str(reg.explain(frame[["area", "town"]].iloc[0])).splitlines()[0] in out
    _, out, _ = run(capsys, "explain", model, path, "--row", "1", "--reach", "300", "400")
    explained = reg.explain(frame[["area", "town"]].iloc[0], reach=(300.0, 400.0))
    assert explained.counterfactual is not None
    assert str(explained).splitlines()[-1] in out
    _, out, _ = run(capsys, "prune", model, path, "--leaves", "2")
    assert out.strip() == reg.prune_to(2).to_text().strip()
    assert "only pruned to another size" in refused(capsys, "prune", model, path)


@pytest.fixture(scope="module")
def certified(table, tmp_path_factory):
    """A model with calibration rows, the same regressor, and new rows."""
    _, frame = table
    folder = tmp_path_factory.mktemp("certified")
    reg = tb.BoundTreeRegressor(certificate="held-out", tolerance=30, cv=3, max_leaves=8).fit(
        frame[["area", "town"]], frame.price
    )
    rng = np.random.default_rng(8)
    new = pd.DataFrame({"area": rng.uniform(20, 200, 300).round(1)})
    new["town"] = rng.choice(["north", "south"], 300)
    new["price"] = (2.5 * new.area + 90 * (new.town == "north") + rng.normal(0, 20, 300)).round(2)
    new.to_csv(folder / "new.csv", index=False)
    return folder, reg, new


FIT = ["--certificate", "held-out", "--tolerance", "30", "--cv", "3",
       "--max-leaves", "8"]  # fmt: skip


def test_fit_takes_the_options_of_certificates(table, certified, capsys):
    path, _ = table
    folder, reg, _ = certified
    options = ["--target", "price", "--ignore", "count,rooms,w", *FIT]
    code, out, err = run(capsys, "fit", path, *options, "-o", folder / "model.json")
    assert code == 0, err
    assert str(reg.certificate_) in err
    loaded = tb.BoundTreeRegressor.load(folder / "model.json")
    assert loaded.certificate_ == reg.certificate_
    assert loaded.get_params()["cv"] == 3
    assert loaded.model_.provenance.row_record is not None
    _, out, _ = run(capsys, "fit", path, *options, "--json", "--quiet")
    assert json.loads(out)["certificate"]["exceeded"] == reg.certificate_.exceeded
    code, _, err = run(capsys, "fit", path, *options[:4], "--certificate", "folds")
    assert "calibration rows)" in err
    _, out, _ = run(capsys, "fit", path, *options[:4], "--cv", "0", "--json", "--quiet")
    values = json.loads(out)
    assert (values["estimate"], values["no_estimate"]) == (None, "there are no folds")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--certificate", "prior"], "--certificate must be auto, held-out or folds"),
        (["--tolerance", "0"], "--tolerance must be"),
    ],
)
def test_wrong_options_of_certificates_are_refused(table, capsys, options, words):
    path, _ = table
    assert words in refused(capsys, "fit", path, "--target", "price", "--quiet", *options)


def test_options_of_numbers_are_refused_for_classes(table, certified, capsys):
    path, _ = table
    line = refused(capsys, "fit", path, "--target", "rooms", "--tolerance", "1")
    assert "--tolerance needs a target of numbers" in line
    line = refused(capsys, "fit", path, "--target", "rooms", "--stream", "--tolerance", "1")
    assert "--tolerance needs a target of numbers" in line
    folder, _, _ = certified
    run(capsys, "fit", path, "--target", "town", "-o", folder / "classes.json")
    line = refused(capsys, "certify", folder / "classes.json", "--tolerance", "1")
    assert "--tolerance needs a regression tree" in line


def test_certify_and_evaluate_give_the_certificates_of_the_library(certified, capsys):
    folder, reg, new = certified
    model = folder / "regressor.json"
    reg.save(model)
    assert str(reg.certificate_) in run(capsys, "certify", model)[1]
    tight = tb.certify(reg, delta=0.2)
    _, out, _ = run(capsys, "certify", model, "--delta", "0.2", "--json")
    assert json.loads(out)["share"] == pytest.approx(tight.share)
    X, y = new[["area", "town"]], new.price
    _, out, _ = run(capsys, "certify", model, folder / "new.csv", "--tolerance", "50")
    assert out.strip().replace("\n", " ") == str(reg.certify(X, y, tolerance=50)).replace("\n", " ")
    _, out, _ = run(capsys, "evaluate", model, folder / "new.csv")
    assert str(reg.certify(X, y)).splitlines()[0] in out.replace("\n", " ")
    _, out, _ = run(capsys, "evaluate", model, folder / "new.csv", "--json", "--delta", "0.3")
    assert json.loads(out)["certificate"]["share"] == pytest.approx(
        reg.certify(X, y, delta=0.3).share
    )
    assert "need a table" in refused(capsys, "certify", model, "--tolerance", "3")
    assert "--costs is not offered" in refused(capsys, "certify", model, "--costs", "a=1")
    assert "--plot is not offered" in refused(
        capsys, "evaluate", model, folder / "new.csv", "--plot", folder / "p.png"
    )


def test_rows_of_fit_are_not_certified(table, certified, capsys):
    path, _ = table
    folder, reg, _ = certified
    reg.save(folder / "regressor.json")
    _, out, _ = run(capsys, "evaluate", folder / "regressor.json", path)
    assert "RMSE" in out
    assert "fitted or certified with these rows" in out.replace("\n", " ")


def test_monitor_watches_the_share_of_large_errors(certified, capsys):
    folder, reg, new = certified
    model, state = folder / "regressor.json", folder / "state.json"
    reg.save(model)
    code, out, err = run(capsys, "monitor", model, folder / "new.csv", "--state", state)
    assert code == 0, err
    far = int((np.abs(new.price - reg.predict(new[["area", "town"]])) > 30).sum())
    assert f"No alarm: {far} of 300 rows are predicted with an error of more than 30" in out
    drift = new.assign(price=new.price + 100)
    drift.loc[:9, "price"] = np.nan
    drift.to_csv(folder / "drift.csv", index=False)
    code, out, _ = run(capsys, "monitor", model, folder / "drift.csv", "--state", state)
    assert code == 3
    assert "Skipped so far: 10 rows without a label" in out
    plain = tb.BoundTreeRegressor().fit(new[["area", "town"]], new.price)
    plain.save(folder / "plain.json")
    line = refused(capsys, "monitor", folder / "plain.json", folder / "new.csv")
    assert "The model has no certificate to watch. There are no calibration rows" in line


def test_prune_counts_the_rows_of_another_table(table, certified, capsys):
    path, frame = table
    folder, reg, new = certified
    model, small = folder / "regressor.json", folder / "small.json"
    reg.save(model)
    # the rows of fit: the tree of the path, with its certificate
    run(capsys, "prune", model, path, "--leaves", "3", "-o", small)
    loaded = tb.BoundTreeRegressor.load(small)
    X = frame[["area", "town"]]
    assert (loaded.predict(X) == reg.prune_to(3).predict(X)).all()
    assert loaded.certificate_ == reg.prune_to(3).certificate_
    # other rows: means of these rows
    run(capsys, "prune", model, folder / "new.csv", "--leaves", "3", "-o", small, "--force")
    counted = tb.BoundTreeRegressor.load(small)
    assert counted.tree_.rows[0] == len(new)
    assert counted.tree_.mean[0] == pytest.approx(new.price.mean())
    assert counted.n_leaves_ == 3
    assert "none.csv" in refused(capsys, "prune", model, folder / "none.csv", "--leaves", "3")


def test_compare_lists_the_regions(certified, capsys):
    folder, reg, new = certified
    reg.save(folder / "a.json")
    other = reg.prune_to(3)
    other.save(folder / "b.json")
    rows = (new[["area", "town"]], new.price)
    _, out, _ = run(capsys, "compare", folder / "a.json", folder / "b.json", folder / "new.csv")
    assert out.split() == str(tb.compare(reg, other, *rows)).split()
    tb.BoundTreeClassifier().fit(new[["area"]], new.town.rename("price")).save(folder / "c.json")
    line = refused(capsys, "compare", folder / "a.json", folder / "c.json", folder / "new.csv")
    assert "classes" in line
