"""Comparing two trees: where they differ, which is right, and McNemar's test."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import treebound as tb
from treebound.show.as_rules import to_rules
from treebound.show.compare import joined


def people(rows: int, seed: int) -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 80, rows).astype(float),
            "colour": rng.choice(["red", "green", "blue"], rows),
            "dose": np.where(rng.random(rows) < 0.2, np.nan, rng.normal(size=rows).round(1)),
        }
    )
    yes = (frame["age"] > 50) & (frame["colour"] != "red") ^ (rng.random(rows) < 0.2)
    return frame, pd.Series(np.where(yes, "yes", "no"), name="target")


@pytest.fixture(scope="module")
def models() -> tuple[tb.BoundTreeClassifier, tb.BoundTreeClassifier]:
    one = tb.BoundTreeClassifier(pruning=None, max_leaves=6).fit(*people(300, 0))
    other = tb.BoundTreeClassifier(pruning=None, max_leaves=9).fit(*people(300, 1))
    return one, other


def test_counts_are_those_of_predict(models) -> None:
    X, y = people(500, 2)
    a, b = (model.predict(X) for model in models)
    comparison = tb.compare(*models, X, y)
    assert comparison.differing == (a != b).sum() > 0
    assert (comparison.errors_a, comparison.errors_b) == ((a != y).sum(), (b != y).sum())
    assert comparison.only_a == ((a == y) & (b != y)).sum()
    assert comparison.only_b == ((b == y) & (a != y)).sum()
    assert sum(region.errors_a for region in comparison.regions) == ((a != b) & (a != y)).sum()
    assert [r.rows for r in comparison.regions] == sorted(
        (r.rows for r in comparison.regions), reverse=True
    )
    assert comparison.seen == ()


@pytest.mark.parametrize("swapped", [False, True])
def test_an_abstention_is_no_error(swapped) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 2))
    y = np.where(X[:, 0] + rng.normal(0, 0.7, 1000) > 0, "yes", "no")
    first, second, test_X, test_y = slice(200), slice(200, 400), X[400:], y[400:]
    clf = tb.BoundTreeClassifier(pruning=None, max_leaves=4).fit(X[first], y[first])
    careful = clf.abstain(X[second], y[second], max_risk=0.2)
    plain = tb.BoundTreeClassifier(pruning=None, max_leaves=6).fit(X[second], y[second])
    trees = (plain, careful) if swapped else (careful, plain)
    a, b = (model.predict(test_X) for model in trees)
    comparison = tb.compare(*trees, test_X, test_y)
    for predicted, errors, abstained in (
        (a, comparison.errors_a, comparison.abstained_a),
        (b, comparison.errors_b, comparison.abstained_b),
    ):
        assert abstained == (predicted == "abstain").sum()
        assert errors == ((predicted != test_y) & (predicted != "abstain")).sum()
    both = (a != "abstain") & (b != "abstain")
    assert 0 < both.sum() < len(test_y)
    assert comparison.only_a == (both & (a == test_y) & (b != test_y)).sum()
    assert comparison.only_b == (both & (b == test_y) & (a != test_y)).sum()
    shown, share = str(comparison), 100 * (~both).mean()
    assert f"abstains on {(~both).sum()} rows ({share:.1f} %)" in shown
    assert "of the rows with two predictions" in shown
    for region in comparison.regions:
        assert region.a != "abstain" or region.errors_a == 0
        assert region.b != "abstain" or region.errors_b == 0


def test_every_row_matches_the_rules_of_its_region(models) -> None:
    X, y = people(200, 3)
    a, b = (model.predict(X) for model in models)
    rules = [{rule.node: rule for rule in to_rules(model)} for model in models]
    ends = [model.apply(X) for model in models]
    rows = X.to_dict("records")
    names = {region.rule for region in tb.compare(*models, X, y).regions}
    for at in np.flatnonzero(a != b).tolist():
        pair = [rules[k][int(ends[k][at])] for k in range(2)]
        assert all(rule.matches(rows[at]) for rule in pair)
        assert joined(pair[0].regions, pair[1].regions) in names


def test_regions_of_one_column_are_intersected() -> None:
    X = np.array([*range(10), *range(9, -1, -1), *range(10, 20), *range(19, 9, -1)])[:, None] * 1.0
    a = tb.BoundTreeClassifier().fit(X, X[:, 0] > 4.5)
    b = tb.BoundTreeClassifier().fit(X, X[:, 0] > 9.5)
    (region,) = tb.compare(a, b, X, X[:, 0] > 9.5).regions
    low, high = a.tree_.threshold[0], b.tree_.threshold[0]
    assert region.rule == f"{low:g} < x0 <= {high:g}"
    assert (region.a, region.b, region.rows) == (True, False, 10)
    assert (region.errors_a, region.errors_b) == (10, 0)


def test_mcnemar_is_the_two_sided_binomial_test(models) -> None:
    comparison = tb.compare(*models, *people(500, 2))
    few, total = (
        sorted([comparison.only_a, comparison.only_b])[0],
        comparison.only_a + comparison.only_b,
    )
    assert comparison.p_value == pytest.approx(min(1.0, 2 * binom.cdf(few, total, 0.5)))
    same = tb.compare(models[0], models[0], *people(50, 2))
    assert (same.differing, same.p_value, same.regions) == (0, 1.0, ())


def test_rows_of_fit_are_named(models) -> None:
    comparison = tb.compare(*models, *people(300, 0))
    assert comparison.seen == ("a",)
    assert "were used for fitting a" in str(comparison)


def test_text_frame_and_picture(models) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    comparison = tb.compare(*models, *people(500, 2))
    assert f"differ for {comparison.differing} of 500 rows" in str(comparison)
    assert repr(comparison) == str(comparison)
    frame = comparison.to_frame()
    assert frame["rows"].sum() == comparison.differing
    assert list(frame) == ["rule", "a", "b", "rows", "errors_a", "errors_b"]
    figure = comparison.plot()
    assert [ax.get_title()[:2] for ax in figure.axes] == ["a:", "b:"]
    import matplotlib.pyplot as plt

    plt.close(figure)


def test_trees_may_know_other_columns_and_categories() -> None:
    X, y = people(200, 4)
    a = tb.BoundTreeClassifier(pruning=None, max_leaves=4).fit(X[["age", "colour"]], y)
    b = tb.BoundTreeClassifier(pruning=None, max_leaves=4).fit(
        X[X["colour"] != "blue"], y[X["colour"] != "blue"]
    )
    comparison = tb.compare(a, b, X, y)
    assert comparison.differing == (a.predict(X[["age", "colour"]]) != b.predict(X)).sum()


def test_trees_of_other_classes_are_refused(models) -> None:
    X, y = people(50, 0)
    other = tb.BoundTreeClassifier().fit(X, np.arange(50) % 2)
    with pytest.raises(ValueError, match="no class in common"):
        tb.compare(models[0], other, X, y)
    with pytest.raises(TypeError, match="compare needs a Tree"):
        tb.compare(models[0], "tree", X, y)
    with pytest.raises(ValueError, match="inconsistent"):
        tb.compare(*models, X, y[:-1])


def test_costs_are_compared_if_they_are_the_same_or_of_one_tree():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(900, 3))
    y = np.where(rng.random(900) < 1 / (1 + np.exp(2 - 2 * X[:, 0])), "bad", "good")
    new, truth = X[600:], y[600:]

    def fitted(**options):
        return tb.BoundTreeClassifier(**options).fit(X[:600], y[:600])

    plain, costly, small = (
        fitted(),
        fitted(costs={"bad": 6.0}),
        fitted(costs={"bad": 6.0}, max_leaves=2),
    )

    def mean_cost(clf):
        wrong = clf.predict(new) != truth
        return (wrong * np.where(truth == "bad", 6.0, 1.0)).mean()

    for pair in ((plain, costly), (costly, plain), (costly, small)):
        comparison = tb.compare(*pair, new, truth)
        assert comparison.mean_costs == pytest.approx([mean_cost(clf) for clf in pair])
        words = "Mean cost per row: {:.4g} of a, {:.4g} of b.".format(*comparison.mean_costs)
        assert str(comparison).splitlines()[1] == words
    assert tb.compare(plain, plain, new, truth).mean_costs is None
    other = fitted(costs={"bad": 3.0})
    assert tb.compare(costly, other, new, truth).mean_costs is None
    assert "Mean cost" not in str(tb.compare(costly, other, new, truth))
