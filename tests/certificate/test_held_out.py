"""Calibration rows drawn by ``fit``: which they are, that the tree uses none, and their counts."""

from functools import partial

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.tree import DecisionTreeClassifier
from support import CODE_LENGTH, at_delta

import treebound as tb
from treebound.bounds.risk import binomial_upper
from treebound.data.draws import Draw, learn_without
from treebound.data.sample import LabelledRows
from treebound.pruning import BoundPruner, PaperPruner


def table(seed, rows=400):
    """Text of many categories, numbers, and a class that hangs on the numbers."""
    rng = np.random.default_rng(seed)
    words = np.array([f"w{i}" for i in rng.integers(0, 150, rows)], dtype=object)
    numbers = rng.random(rows).round(3)
    y = np.where(rng.random(rows) < numbers, "yes", "no")
    return [[word, number] for word, number in zip(words, numbers.tolist(), strict=True)], y


def drawn(X, y, weight=None, seed=0):
    """Which rows of positive weight are calibration rows."""
    rows = LabelledRows.of(X, y, weight)
    return Draw(seed).keyed(rows.learn()).calibration_rows(rows.n_rows).mask(rows.n_rows)


def split_off(X, y, weight=None, seed=0, inside=None):
    """The training rows, and the calibration rows."""
    inside = drawn(X, y, weight, seed) if inside is None else inside
    return learn_without(LabelledRows.of(X, y, weight), inside, "other")[:2]


@pytest.mark.parametrize(
    ("rows", "size"),
    [(2, 1), (10, 3), (300, 90), (500, 150), (1000, 150), (1500, 150), (3000, 300)],
)
def test_a_tenth_but_150_at_least_and_30_per_cent_at_most(rows, size):
    X, y = np.arange(float(rows))[:, None], np.arange(rows) % 2
    rest, calibration = split_off(X, y)
    assert (rest.n_rows, calibration.n_rows) == (rows - size, size)
    both = np.concatenate([rest.X.values[0], calibration.X.values[0]])
    assert sorted(both.tolist()) == X[:, 0].tolist()


@pytest.mark.parametrize("kind", ["held-out", "folds"])
def test_one_row_cannot_be_parted(kind):
    with pytest.raises(ValueError, match="needs at least 2 rows to calibrate on"):
        tb.BoundTreeClassifier(certificate=kind).fit([[1.0]], [0])


def test_which_rows_depends_on_seed_summary_and_number_alone():
    X, y = np.arange(500.0)[:, None], np.arange(500) % 3
    chosen = drawn(X, y)
    shuffled = np.random.default_rng(1).permutation(y)
    assert (drawn(X, shuffled) == chosen).all()
    assert (drawn(X[::-1], y) == chosen).all()
    for other in (drawn(X**2, y), drawn(X, np.minimum(y, 1)), drawn(X, y, seed=1)):
        assert (other != chosen).any()
    # Every share of classes can come about: rows are not dealt out by class.
    shares = {int((y[drawn(X, y, seed=seed)] == 0).sum()) for seed in range(20)}
    assert len(shares) > 5


def test_rows_of_weight_zero_are_in_neither_part():
    X, y = np.arange(400.0)[:, None], np.arange(400) % 2
    weight = np.where(np.arange(400) < 100, 0.0, 2.0)
    rest, calibration = split_off(X, y, weight)
    assert (rest.n_rows, calibration.n_rows) == (210, 90)
    assert min(rest.X.values[0].min(), calibration.X.values[0].min()) == 100.0


def test_columns_are_learned_without_the_calibration_rows():
    X, y = table(0)
    inside = drawn(X, y)
    rest, calibration = split_off(X, y, inside=inside)
    known = set(rest.columns[0].categories)
    assert known < {row[0] for row in X}
    assert (calibration.X.values[0] == -2).any()
    chosen = np.array(X, dtype=object)
    for word in {row[0] for row in X} - known:  # what only they have may be anything
        chosen[chosen[:, 0] == word, 0] = "other"
    again = split_off(chosen.tolist(), y, inside=inside)[0]
    assert again.columns == rest.columns
    assert [a.tolist() for a in again.X.values] == [b.tolist() for b in rest.X.values]


def test_a_missing_value_of_a_calibration_row_is_not_known_to_the_columns():
    X, y = np.arange(500.0)[:, None], np.arange(500) % 2
    inside = drawn(X, y)
    X[inside.argmax()] = np.nan
    rest, calibration = split_off(X, y, inside=inside)
    assert not rest.columns[0].missing
    assert calibration.columns[0].missing


def test_a_class_that_only_calibration_rows_have_is_kept_and_counts_as_an_error():
    X, y = np.arange(500.0)[:, None], (np.arange(500) > 250).astype(int)
    alone = []  # rows that are drawn if they alone have the class
    for row in range(20):
        labels = np.where(np.arange(500) == row, 7, y)
        alone += [row] * bool(drawn(X, labels)[row])
    y[alone[0]] = 7
    clf = tb.BoundTreeClassifier(certificate="held-out").fit(X, y)
    assert clf.classes_.tolist() == [0, 1, 7]
    assert clf.tree_.counts[0, 2] == 0
    assert clf.certificate_.errors >= 1
    balanced = tb.BoundTreeClassifier(certificate="held-out", class_weight="balanced").fit(X, y)
    assert np.isfinite(balanced.tree_.counts).all()


def test_the_tree_is_that_of_the_other_rows():
    rng = np.random.default_rng(0)
    X = rng.random((600, 3))
    y = (X[:, 0] > rng.random(600)).astype(int)
    clf = tb.BoundTreeClassifier(certificate="held-out", random_state=3).fit(X, y)
    rest, calibration = split_off(X, y, seed=3)
    alone = tb.BoundTreeClassifier().fit(rest.X.dense, rest.y)
    assert clf.to_text() == alone.to_text()
    wrong = int((alone.predict(calibration.X.dense) != calibration.y).sum())
    assert clf.certificate_.risk == binomial_upper(150, wrong, 0.05)
    assert clf.certificate_.kind == "held-out"


@pytest.mark.parametrize("handle_unknown", ["other", "majority", "stop", "missing"])
@pytest.mark.parametrize("pruning", ["mdl", None])
def test_rows_count_as_they_are_predicted(handle_unknown, pruning):
    X, y = table(1)
    clf = tb.BoundTreeClassifier(
        certificate="held-out", handle_unknown=handle_unknown, pruning=pruning
    ).fit(X, y)
    order = np.flatnonzero(drawn(X, y))
    calibration = [X[row] for row in order]
    assert clf.certificate_.errors == (clf.predict(calibration) != y[order]).sum()
    if pruning is None:
        return
    path = clf.pruning_path_
    trees = len(path) + int(path.leaves[-1]) - 1
    for step in range(0, len(path), 7):
        moved = clf.prune_to(step=step)
        wrong = int((moved.predict(calibration) != y[order]).sum())
        share = 0.05 if step == clf.pruning_path_.chosen else 0.05 / trees
        assert moved.certificate_.errors == wrong
        assert moved.certificate_.risk == binomial_upper(120, wrong, share)
        assert moved.certificate_.delta == 0.05


def test_a_category_that_predict_refuses_does_not_stop_the_fit():
    X, y = table(2)
    clf = tb.BoundTreeClassifier(certificate="held-out", handle_unknown="error").fit(X, y)
    assert clf.certificate_.m == 120


def test_other_steps_state_that_they_share_delta():
    X, y = table(3)
    clf = tb.BoundTreeClassifier(certificate="held-out", pruning="mdl").fit(X, y)
    trees = clf.pruning_path_.n_considered
    steps = f"one of {trees} trees that prune_to can reach, which share delta"
    assert steps not in clf.certificate_.explain()
    assert steps in clf.prune_to(step=0).certificate_.explain()
    assert "fit was not repeated with another seed" in clf.certificate_.explain()
    assert "drawn by number, not by label (checked)" in clf.certificate_.explain()


def test_raised_subtrees_off_the_chosen_step_have_no_certificate():
    rng = np.random.default_rng(6)
    X = rng.random((120, 3)).round(2)
    y = ((X[:, 0] > 0.5) ^ (rng.random(120) < 0.1)).astype(int)
    pruner = PaperPruner(**CODE_LENGTH, weight=0.1)
    for seed in range(100):
        clf = tb.BoundTreeClassifier(
            certificate="held-out", pruning=pruner, random_state=seed, cv=None
        )
        path = clf.fit(X, y).pruning_path_
        raised = [step for step in range(len(path) - 1) if path.cuts(step) is None]
        if raised:
            break
    assert clf.certificate_.m == 36
    moved = clf.prune_to(step=raised[0])
    assert moved.certificate_ is None
    assert "raised subtrees" in moved.certificate_reason_


def test_weighted_rows_count_once():
    rng = np.random.default_rng(0)
    X = rng.random((600, 2))
    y = (X[:, 0] > rng.random(600)).astype(int)
    clf = tb.BoundTreeClassifier(certificate="held-out").fit(
        X, y, sample_weight=rng.random(600) + 0.5
    )
    order = np.flatnonzero(drawn(X, y))
    assert clf.certificate_.errors == (clf.predict(X[order]) != y[order]).sum()
    assert "weighted or not" in clf.certificate_.explain()


def noise(seed, rows=1200, columns=3):
    """Labels that are independent of all columns: every tree has the risk 0.4 or more."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, columns)), rng.random(rows) < 0.4


def test_calibration_rows_of_a_large_table_do_not_choose_the_weight(monkeypatch):
    monkeypatch.setattr("treebound.pruning.bound.MAX_VALUES", 3000)
    X, y = noise(0)
    clf = at_delta(tb.BoundTreeClassifier(certificate="held-out").fit(X, y), 0.1)
    choice, held_out = clf.pruning_result_.choice, clf.model_.evidence.calibration
    assert choice.reason == "validation"
    assert clf.grown_tree_.rows[0] < 0.95 * (len(y) - held_out.m)
    certificate = clf.certificate_
    assert certificate.risk == pytest.approx(binomial_upper(held_out.m, held_out.errors, 0.1))
    assert (certificate.delta, certificate.kind) == (0.1, "held-out")
    again = tb.exchange.loads(tb.exchange.dumps(clf.model_))
    assert again.certificate.risk == certificate.risk
    groups = np.arange(len(y)) // 3
    grouped = (
        tb.BoundTreeClassifier(certificate="held-out")
        .fit(X, y, groups=groups)
        .model_.evidence.calibration
    )
    assert grouped.m == 120  # one row of each group in 30 % of 400, less than 150


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("draws", [40, pytest.param(3000, marks=pytest.mark.heavy)])
def test_the_limit_holds_though_the_same_rows_chose_the_tree(draws, ordered, monkeypatch):
    monkeypatch.setattr("treebound.pruning.bound.MAX_VALUES", 3000)
    broken = 0
    for seed in range(draws):
        X, y = noise(seed)
        if ordered:
            X, y = X[np.argsort(y, kind="stable")], np.sort(y)
        clf = tb.BoundTreeClassifier(certificate="held-out", size="accurate").fit(X, y)
        true = np.where(clf.tree_.label == 0, 0.4, 0.6)  # of each leaf, by its label
        share = clf.tree_.rows[clf.tree_.is_leaf] / clf.tree_.rows[0]
        broken += clf.certify(delta=0.1).risk < float(share @ true[clf.tree_.is_leaf])
    assert broken <= 0.1 * draws + 3.0 * np.sqrt(0.09 * draws)


# -- trees that prune_to can reach -----------------------------------------------------------------


@pytest.mark.parametrize("pruning", ["mdl", "cost-complexity", "kearns-mansour"])
def test_every_tree_that_prune_to_reaches_has_its_share_of_delta(pruning):
    X, y = table(4)
    clf = tb.BoundTreeClassifier(certificate="held-out", pruning=pruning, max_leaves=60).fit(X, y)
    path = clf.pruning_path_
    assert path.n_considered >= len(path)
    shares = set()
    for moved in (
        *(clf.prune_to(step=step) for step in range(len(path)) if step != path.chosen),
        *(clf.prune_to(leaves) for leaves in range(1, int(path.leaves.min()))),
    ):
        counted = moved.model_.held_out_counts()
        shares.add(counted[1])
        certificate = moved.certificate_
        assert certificate.risk == binomial_upper(
            certificate.m, certificate.errors, 0.05 / path.n_considered
        )
    assert shares == {path.n_considered}


def test_trees_below_the_end_of_a_path_are_counted_once():
    X, y = table(5)
    path = tb.BoundTreeClassifier(pruning=None).fit(X, y).tree_
    whole = PruningCase(path)
    end = int(whole.path.leaves.min())
    assert end > 4
    trees = len(whole.path) + end - 1
    assert whole.path.n_considered == trees
    below = whole.path.reaching(3)[0]
    again = below.reaching(2)[0]
    assert (below.n_considered, again.n_considered) == (trees, trees)
    sizes = [whole.path.reaching(leaves)[0].tree(-1).n_leaves for leaves in range(1, end)]
    assert all(size <= leaves for leaves, size in enumerate(sizes, start=1))
    assert whole.path.within(3).n_considered == trees


class PruningCase:
    """A path that ends at more than one leaf: that of the pruner, cut off."""

    def __init__(self, tree):
        from treebound.pruning.path import ListedPath

        path = BoundPruner(weight=0.1).prune(tree).path
        steps = [step for step in range(len(path)) if path.leaves[step] >= 5]
        self.path = ListedPath(
            tree, [path.cuts(step) for step in steps], path.errors[steps], path.scores[steps]
        )


# -- groups ----------------------------------------------------------------------------------------


def grouped(rng, groups):
    """Large groups are difficult: a row drawn from a random group is easier than a random row."""
    sizes = np.where(rng.random(groups) < 0.1, 40, 2)
    members = np.repeat(np.arange(groups), sizes)
    x = rng.normal(size=len(members))
    noise = np.where(np.repeat(sizes, sizes) > 2, 0.45, 0.02)
    return x[:, None], ((x > 0) ^ (rng.random(len(x)) < noise)).astype(int), members


@pytest.mark.parametrize("kind", ["held-out", "folds"])
def test_a_bound_from_groups_states_that_it_is_about_a_row_of_a_random_group(kind, tmp_path):
    X, y, members = grouped(np.random.default_rng(0), 600)
    clf = tb.BoundTreeClassifier(certificate=kind).fit(X, y, groups=members)
    words = "of new examples, each a row drawn at random from a random group, are misclassified"
    assert words in str(clf.certificate_)
    assert "rows of large groups may be misclassified more often (stated)" in (
        clf.certificate_.explain()
    )
    lines = [line for line in clf.certificate_.class_lines() if " of its new cases" in line]
    assert lines
    assert all("new cases, each a row drawn at random from a random group, are" in s for s in lines)
    assert "each a row drawn at random from a random group, cost" in str(
        clf.certify_cost(costs={1: 2.0})
    )
    some = clf.abstain(max_risk=0.4).abstention_
    assert "of the predicted new cases, each a row drawn at random from a random group, are" in str(
        some
    )
    clf.save(tmp_path / "model.json")
    again = tb.BoundTreeClassifier.load(tmp_path / "model.json")
    assert str(again.certificate_) == str(clf.certificate_)
    fresh_X, fresh_y, fresh = grouped(np.random.default_rng(1), 4000)
    wrong = clf.predict(fresh_X) != fresh_y
    by_group = np.bincount(fresh, wrong) / np.bincount(fresh)
    assert by_group.mean() < clf.certificate_.risk < wrong.mean()
    plain = tb.BoundTreeClassifier(certificate=kind).fit(X, y)
    assert "group" not in plain.certificate_.explain()


@pytest.mark.parametrize("draws", [60, pytest.param(2000, marks=pytest.mark.heavy)])
def test_bounds_from_groups_hold_for_rows_of_random_groups(draws):
    wrong = 0
    for seed in range(draws):
        X, y, members = grouped(np.random.default_rng(seed), 120)
        clf = tb.BoundTreeClassifier(
            certificate="held-out", max_leaves=2, random_state=seed, cv=None
        )
        clf.fit(X, y, groups=members)
        at = np.linspace(-4, 4, 4001)[:, None]
        weight = np.exp(-(at[:, 0] ** 2) / 2)
        flipped = (weight * (clf.predict(at) != (at[:, 0] > 0))).sum() / weight.sum()
        noise = 0.1 * 0.45 + 0.9 * 0.02
        wrong += flipped * (1 - noise) + (1 - flipped) * noise > clf.certify(delta=0.1).risk
    assert wrong <= binom.ppf(0.999, draws, 0.1)


def test_new_rows_of_a_model_with_groups_need_their_groups():
    X, y, members = grouped(np.random.default_rng(0), 400)
    clf = tb.BoundTreeClassifier(costs={1: 1.1}, cv=None).fit(X, y, groups=members)
    new_X, new_y, new = grouped(np.random.default_rng(1), 500)
    for certify in (
        partial(clf.certify, new_X, new_y),
        partial(clf.certify_cost, new_X, new_y),
        partial(clf.abstain, new_X, new_y, max_risk=0.4),
    ):
        with pytest.raises(ValueError, match="fitted with groups, whose rows are not independent"):
            certify()
        certify(groups=np.arange(len(new_y)))
    certificate = clf.certify(new_X, new_y, groups=new)
    assert certificate.m == len(np.unique(new))
    assert certificate.grouped
    assert clf.certify_cost(new_X, new_y, groups=new).m == certificate.m
    assert clf.abstain(new_X, new_y, max_risk=0.4, groups=new).abstention_.grouped
    assert not clf.certify(new_X, new_y, groups=np.arange(len(new_y))).grouped
    wrong = clf.predict(new_X) != new_y
    by_group = np.bincount(new, wrong) / np.bincount(new)
    assert by_group.mean() < certificate.risk < wrong.mean()
    # of a model without groups, and of any classifier, groups are counted if they are given
    plain = tb.BoundTreeClassifier(cv=None).fit(X, y)
    assert plain.certify(new_X, new_y).m == len(new_y)
    assert plain.certify(new_X, new_y, groups=new).grouped
    other = tb.certify(DecisionTreeClassifier(max_depth=1).fit(X, y), new_X, new_y, groups=new)
    assert (other.m, other.grouped) == (certificate.m, True)
    with pytest.raises(ValueError, match="'groups' parameter of certify must be None without rows"):
        clf.certify(groups=members)
    for name, options in (("certify_cost", {}), ("abstain", {"max_risk": 0.4})):
        with pytest.raises(ValueError, match=f"'groups' parameter of {name} must be None without"):
            getattr(clf, name)(groups=members, **options)


def test_new_rows_of_a_regressor_with_groups_need_their_groups(tmp_path):
    X, y, members = grouped(np.random.default_rng(0), 400)
    reg = tb.BoundTreeRegressor(certificate=None).fit(X, X[:, 0] + y, groups=members)
    reg.save(tmp_path / "reg.json")
    new_X, new_y, new = grouped(np.random.default_rng(1), 500)
    for model in (reg, tb.BoundTreeRegressor.load(tmp_path / "reg.json")):
        with pytest.raises(ValueError, match="if the rows are independent, number"):
            model.certify(new_X, new_X[:, 0] + new_y)
        certificate = model.certify(new_X, new_X[:, 0] + new_y, groups=new)
        assert (certificate.m, certificate.grouped) == (len(np.unique(new)), True)


def test_a_landscape_is_refused_for_a_regressor():
    X = np.arange(40.0).reshape(-1, 1)
    reg = tb.BoundTreeRegressor(max_leaves=2).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="'landscape' parameter of certify must be None"):
        tb.certify(reg, landscape=reg.landscape_)


def test_a_tree_with_groups_has_no_training_certificate_after_pruning():
    X, y, members = grouped(np.random.default_rng(0), 400)
    clf = tb.BoundTreeClassifier(cv=None).fit(X, y, groups=members)
    assert clf.certificate_ is None
    assert tb.prune(clf, X, y).certificate_ is None


@pytest.mark.parametrize("certificate", ["held-out", "folds"])
def test_the_baseline_is_the_share_of_calibration_rows_of_other_classes(certificate):
    rng = np.random.default_rng(0)
    X = rng.random((900, 2))
    y = np.where(X[:, 0] < 0.7, "often", "rare")
    clf = tb.BoundTreeClassifier(certificate=certificate).fit(X, y)
    rows = {bound.label: bound.m for bound in clf.certificate_.by_class}
    baseline = rows["rare"] / (rows["rare"] + rows["often"])
    assert 0.2 < baseline < 0.4
    assert clf.certificate_.constant_error == pytest.approx(baseline)
    assert clf.prune_to(1).certificate_.constant_error == pytest.approx(baseline)


@pytest.mark.parametrize(("leaves", "alone"), [(1, False), (2, True), (3, True)])
def test_a_tree_that_could_be_pruned_is_certified_alone(leaves, alone):
    """Its bound and those of its prunings hold together with a smaller probability."""
    X = np.arange(600.0)[:, None]
    y = np.minimum(X[:, 0] // 200, leaves - 1).astype(int)
    clf = tb.BoundTreeClassifier(certificate="held-out", pruning="cost-complexity").fit(X, y)
    assert clf.pruning_path_.n_considered == clf.n_leaves_ == leaves
    text = "bounds hold with probability 1 - 2 delta"
    assert (text in clf.certificate_.explain()) == alone
