"""The certificate: its sentences, its assumptions, when there is none, and the sum of its parts."""

from dataclasses import replace

import numpy as np
import pytest
from support import CODE_LENGTH, coded_sample, grow_coded

import treebound as tb
from treebound import certify
from treebound.bounds.compression import log_message_weight
from treebound.bounds.risk import binomial_upper, log_leaves_prior, risk_upper, tail_inversion
from treebound.certificate.certificate import certify_counts
from treebound.certificate.training import certify_tree, reason_against
from treebound.data import Column
from treebound.growing import GrowOptions, grow
from treebound.pruning import BoundPruner, PaperPruner, merge_equal_leaves
from treebound.tree.model import Tree

REAL = tuple(Column(f"x{i}") for i in range(10))


def chain(leaves, m, errors, *, n_classes=2, columns=REAL, names=None):
    """A chain of that many leaves, by turns of two classes, with all errors in the last one."""
    n_nodes = 2 * leaves - 1
    inner = np.arange(n_nodes) % 2 == 0
    inner[-1] = False
    counts = np.zeros((n_nodes, n_classes))
    places = np.flatnonzero(~inner)
    labels = np.arange(leaves) % min(2, n_classes)
    counts[places, labels] = 1
    counts[-1, labels[-1]] = m - errors - (leaves - 1)
    counts[-1, 1 - labels[-1]] += errors
    for node in np.flatnonzero(inner)[::-1]:
        counts[node] = counts[node + 1] + counts[node + 2]
    return Tree(
        feature=np.where(inner, 0, -1),
        threshold=np.where(inner, 0.0, np.nan),
        category=np.full(n_nodes, -1),
        missing_left=np.zeros(n_nodes, bool),
        left=np.where(inner, np.arange(n_nodes) + 1, -1),
        right=np.where(inner, np.arange(n_nodes) + 2, -1),
        counts=counts,
        rows=counts.sum(axis=1).astype(int),
        columns=columns,
        classes=np.arange(n_classes),
        names=names,
    )


def random_sample(seed, rows=80, noise=0.2):
    rng = np.random.default_rng(seed)
    X = rng.random((rows, 3)).round(2)
    y = ((X[:, 0] > 0.5) ^ (rng.random(rows) < noise)).astype(int)
    return X, y


# -- words ---------------------------------------------------------------------------------------


def test_readable():
    certificate = certify(chain(12, 5000, 250, n_classes=10))
    assert "With probability 95 %, at most 13." in str(certificate)
    assert str(certificate).endswith("(5.0 % on the 5,000 training examples, 12 leaves).")
    assert "With probability 99.9 %, " in str(certify(chain(1, 100, 1), delta=0.001))
    assert "1 leaf)" in str(certify(chain(1, 100, 1)))
    words = certificate.explain()
    assert "a bound, not an estimate" in words
    assert "At most 5 % of all samples of this size" in words
    assert "independent draws" in words
    assert "(checked)" in words
    assert "(stated)" in words
    assert not certificate.vacuous


def test_a_limit_of_100_per_cent_is_no_guarantee():
    for nothing in (certify(chain(12, 40, 5)), certify_counts(3, 3)):
        assert nothing.vacuous
        assert str(nothing).startswith("Too few examples for a guarantee about new ones")
        assert "Any risk up to 100 % is possible." in nothing.explain()
        assert "at most" not in nothing.explain()
    assert "A certificate from" in certify(chain(12, 40, 5)).explain()


def test_a_useful_limit_is_not_called_otherwise():
    X, y = random_sample(0, rows=2000, noise=0.05)
    useful = tb.BoundTreeClassifier().fit(X, y).certificate_
    assert useful.risk < useful.constant_error
    assert useful.useful
    assert str(useful).startswith("With probability 95 %, at most ")
    assert f"; baseline {100 * useful.constant_error:.1f} %)." in str(useful)


def test_a_tree_of_one_leaf_is_mentioned_first():
    alone = certify(chain(1, 400, 20))
    assert str(alone).startswith(
        "The tree has one leaf and always predicts 0 (95.0 % of these examples). With probability "
    )


@pytest.mark.parametrize("certify", ["training", "held-out", "folds", "prior"])
def test_every_kind_of_certificate_names_the_prediction_of_one_leaf(certify):
    X, y = np.random.default_rng(0).normal(size=(600, 3)), np.repeat(["good", "bad"], [540, 60])
    clf = tb.BoundTreeClassifier(certificate=certify, max_leaves=1, random_state=0).fit(X, y)
    assert str(clf.certificate_).startswith("The tree has one leaf and always predicts 'good' (")
    held_out = tb.certify(clf, X[::7] + 1.0, y[::7], kind="held-out")
    assert str(held_out).startswith("The tree has one leaf and always predicts 'good' (")


def test_a_bound_above_the_baseline_is_mentioned_first():
    poor = certify(chain(6, 400, 150))  # a third of the rows are of the other class
    assert poor.constant_error == pytest.approx(1 - poor_share(6, 400, 150))
    assert poor.constant_error <= poor.risk < 1
    assert not poor.useful
    assert str(poor).startswith("This guarantees no more than always predicting the most frequent")
    assert "A certificate from" in poor.explain()


def poor_share(leaves, m, errors):
    return chain(leaves, m, errors).counts[0].max() / m


def every_kind():
    X, y = random_sample(0, rows=400)
    yield tb.BoundTreeClassifier().fit(X, y).certificate_
    yield tb.BoundTreeClassifier(thresholds="observed").fit(X, y).certificate_
    for kind in ("held-out", "folds", "prior"):
        yield tb.BoundTreeClassifier(certificate=kind).fit(X, y).certificate_


def test_every_kind_states_its_method_and_that_classes_are_as_found():
    certificates = list(every_kind())
    assert [one.kind for one in certificates] == [
        "training",
        "training",
        "held-out",
        "folds",
        "prior",
    ]
    assert [one.method for one in certificates[:3]] == ["tail inversion", "compression", "binomial"]
    for one in certificates:
        assert f"Kind: {one.kind}" in one.explain()
        assert "the set of classes was taken from the training examples" in one.explain()
    for one in certificates[:2]:  # calibration rows may have missing values that training had not
        assert "values are missing only in columns" in one.explain()
    everywhere = chain(3, 500, 9, columns=(Column("x", missing=True),))
    assert "values are missing only" not in certify(everywhere).explain()


@pytest.mark.parametrize(
    ("column", "handle_unknown", "stated"),
    [
        (Column("c", "nominal", tuple("abc")), "other", False),
        (Column("c", "nominal", tuple("abc")), "majority", True),
        (Column("c", "nominal", tuple("abc")), "missing", True),
        (Column("c", "ordinal", tuple("abc")), "other", True),
        (Column("c"), "majority", False),
    ],
)
def test_new_categories_are_covered_or_the_assumption_is_stated(column, handle_unknown, stated):
    certificate = certify_tree(
        chain(3, 500, 9, columns=(*REAL, column)), handle_unknown=handle_unknown
    )
    about = [one for one in certificate.assumptions if "no category is new" in one.text]
    assert [(one.text, one.checked) for one in about] == [
        ("no category is new: columns 'c'", False)
    ] * stated


def test_declared_categories_are_all_there_are():
    columns = (*REAL, Column("c", "nominal", tuple("abc"), declared=True))
    (stated,) = [one for one in certify(chain(3, 500, 9, columns=columns)).assumptions
                 if "'c'" in one.text]  # fmt: skip
    assert "declared before the data were seen, and there are no others" in stated.text
    assert not stated.checked


# -- how the parts add up ------------------------------------------------------------------------


def test_parts_add_up_to_the_bound():
    tree = chain(12, 5000, 250, n_classes=10)
    certificate = certify(tree)
    log_growth = tb.bounds.log_growth_leaves(12, 25_000, 10, tb.Landscape(real=10))
    log_prior = float(log_leaves_prior(12))
    again = tail_inversion(
        5000, 250, lambda _: log_growth, delta=0.05, ghost=certificate.ghost, log_prior=log_prior
    )
    assert certificate.risk == again
    assert certificate.log_price == log_growth - log_prior
    assert certificate.errors == 250
    assert certify_tree(tree, errors=300).risk > certificate.risk
    assert certify(tree, landscape=tb.Landscape(real=100)).risk > certificate.risk
    assert certify(tree, delta=0.01).risk > certificate.risk


def test_sibling_leaves_of_one_prediction_count_as_one_leaf():
    tree = chain(12, 5000, 250)
    alike = replace(tree, label=np.where(tree.is_leaf, 0, tree.label))
    certificate = certify(alike)
    assert certificate.leaves == 12
    assert (
        certificate.log_price == certify(alike.collapsed([0])).log_price < certify(tree).log_price
    )
    assert certificate.errors == alike.errors


def test_undeclared_categories_cost_and_the_gain_is_shown():
    colour = Column("colour", "nominal", ("red", "green", "blue"))
    tree = chain(12, 5000, 250, columns=(*REAL[:3], colour))
    certificate = certify(tree)
    declared = certify(replace(tree, columns=(*REAL[:3], replace(colour, declared=True))))
    assert certificate.declared_risk == declared.risk < certificate.risk
    assert declared.declared_risk is None
    assert "'colour'" in certificate.explain()
    assert "Declaring the categories beforehand" in certificate.explain()


def test_the_least_of_two_kinds_shares_delta():
    X, y = random_sample(1, rows=300)
    tree = BoundPruner().prune(grow_coded(X, y, REAL[:3], [0, 1], thresholds="observed")).tree
    certificate = certify(tree, delta=0.1)
    named = tree.names[tree.names >= 0]
    rows = len(set(named.tolist()))
    price = log_message_weight(300, tree.n_leaves, 2, 3, 0.0, len(named), rows)
    assert certificate.method == "compression"
    assert (certificate.named_rows, certificate.log_price) == (rows, price)
    assert certificate.risk == risk_upper(300 - rows, int(tree.errors), np.log(0.05) - price)
    inversion = certify(replace(tree, names=None), delta=0.05)
    assert inversion.method == "tail inversion"
    assert certificate.risk < inversion.risk
    # A landscape of the user contains nothing about the rows: all of delta is the tail inversion's.
    certificate = certify(tree, landscape=tree.landscape, delta=0.05)
    assert certificate.risk == inversion.risk


def test_a_raised_subtree_costs_its_names_but_not_the_share_of_delta():
    # Whether subtrees were raised depends on the rows, so the share of delta must not hang on it.
    X, y = random_sample(6, noise=0.1)
    sample = coded_sample(X, y, REAL[:3], [0, 1])
    grown = grow(sample, GrowOptions(thresholds="observed", max_leaves=12))
    tree = PaperPruner(**CODE_LENGTH, weight=0.1).prune(grown, sample).tree
    assert (tree.names[~tree.is_leaf] < 0).any()
    tree = merge_equal_leaves(tree)
    assert (tree.names[~tree.is_leaf] < 0).any()
    certificate = certify(tree, delta=0.1)
    assert certificate.method == "tail inversion"
    assert certificate.risk == certify(replace(tree, names=None), delta=0.05).risk


@pytest.mark.parametrize("declared", [False, True])
def test_small_cases(declared):
    column = Column("c", "nominal", tuple("abc"), declared=declared)
    X, y = np.array([[0.0], [0.0], [1.0], [2.0]]), np.array([0, 0, 1, 1])
    two = grow_coded(X, y, [column], [0, 1], thresholds="observed")
    assert two.n_leaves == 2
    assert certify(two).risk > 0.8
    assert certify_tree(two, errors=3).vacuous
    one_leaf = grow_coded(X, y, [column], [0, 1], thresholds="observed", max_leaves=1)
    assert certify(one_leaf).errors == 2
    one_class = grow_coded(X, 0 * y, [column], [0], thresholds="observed")
    # no row is named, one class, one leaf: only the prior of the size is left to pay
    assert certify(one_class).risk <= binomial_upper(4, 0, 0.05 / 2 * 6 / np.pi**2) * (1 + 1e-8)


def test_declared_columns_name_no_row():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (500, 2)).astype(float)
    y = (X[:, 0] < 2).astype(int)
    columns = [Column("o", "ordinal", tuple("abcd"), declared=True),
               Column("n", "nominal", tuple("abcd"), declared=True)]  # fmt: skip
    certificate = certify(grow_coded(X, y, columns, [0, 1], thresholds="observed"))
    assert (certificate.method, certificate.named_rows, certificate.leaves) == ("compression", 0, 2)
    price = np.log(np.pi**2 / 6 * 4 * 2 * 2 * 3)  # size, labels, columns, thresholds
    assert certificate.log_price == pytest.approx(price)


@pytest.mark.parametrize(
    ("left", "right", "splits"),
    [
        # To the right: of 3 names below the root each may be its category, then of 2.
        ([1, -1, 3, -1, 5, -1, -1], [2, -1, 4, -1, 6, -1, -1], 3 * 2),
        # To the left: names there are of the category of the root, which occurs 3 times in 3.
        ([1, 2, 3, -1, -1, -1, -1], [6, 5, 4, -1, -1, -1, -1], 1 * 1),
    ],
)
def test_a_category_is_one_of_those_that_occur_often_enough_among_the_names(left, right, splits):
    """Two splits on an undeclared column, then one on a number; a row names each of them."""
    columns = (Column("c", "nominal", tuple("abcde")), Column("x", missing=True))
    inner = np.array(left) > 0
    feature, names = np.full(7, -1), np.full(7, -1)
    feature[inner], names[inner] = [0, 0, 1], [3, 7, 9]
    counts = (
        np.where(inner, 0, [9, 900, 300, 300, 90, 90, 300])[:, None] * np.eye(2)[[0, 1] * 3 + [0]]
    )
    for node in np.flatnonzero(inner)[::-1]:
        counts[node] = counts[left[node]] + counts[right[node]]
    tree = Tree(
        feature=feature, threshold=np.where(feature == 1, 0.5, np.nan),
        category=np.where(feature == 0, [0, 1] + [2] * 5, -1), missing_left=np.zeros(7, bool),
        left=left, right=right, counts=counts, rows=counts.sum(axis=1).astype(int),
        columns=columns, classes=np.arange(2), names=names,
    )  # fmt: skip
    certificate = certify_tree(tree)
    assert (certificate.method, certificate.named_rows) == ("compression", 3)
    # missing values go to either side of the threshold, or are separated from all others
    m = int(tree.rows[0])
    price = log_message_weight(m, certificate.leaves, 2, 2, np.log(splits * 3), 3, 3)
    assert certificate.log_price == pytest.approx(price, rel=1e-12)


# -- when there is none --------------------------------------------------------------------------


def test_no_certificate_for_weights_and_the_reason_is_stated():
    rng = np.random.default_rng(0)
    X, y = random_sample(0, 60)
    for weights in (rng.random(60), rng.integers(1, 3, 60), np.full(60, 2.0)):
        tree = grow_coded(X, y, REAL[:3], [0, 1], sample_weight=weights)
        assert "weighted" in reason_against(tree)
        with pytest.raises(ValueError, match="There is no certificate for this tree"):
            certify(tree)
        with pytest.raises(ValueError, match="weighted"):
            certify(tree.collapsed([0]))
    plain = grow_coded(X, y, REAL[:3], [0, 1])
    assert reason_against(plain) == ""
    assert certify(plain).m == 60
    with pytest.raises(ValueError, match="'errors' parameter of certify must be an int >= 0"):
        certify_tree(plain, errors=1.5)
    with pytest.raises(ValueError, match="'errors' parameter of certify must be at most 60"):
        certify_tree(plain, errors=61)


def test_one_row_is_certified_and_none_is_not():
    one = chain(1, 1, 0)
    assert reason_against(one) == ""
    certificate = certify(one)
    assert (certificate.m, certificate.errors, certificate.vacuous) == (1, 0, True)
    none = replace(one, counts=np.zeros((1, 2)), rows=np.zeros(1, dtype=int))
    with pytest.raises(ValueError, match="The tree has no training examples"):
        certify(none)


# -- the training rows, given again --------------------------------------------------------------


def test_training_rows_given_again_change_nothing():
    X, y = random_sample(2, 300)
    clf = tb.BoundTreeClassifier(thresholds="observed").fit(X, y)
    assert certify(clf, X, y, kind="training") == clf.certificate_
    assert clf.certificate_.method == "compression"


def test_predictions_stay_those_of_the_model_on_other_rows():
    X, y = random_sample(3, 300)
    tree = tb.BoundTreeClassifier().fit(X, y).tree_
    certificate = certify(tree, X[:100], 1 - y[:100], kind="training")
    wrong = (tree.predict(coded_sample(X[:100], y[:100], tree.columns, [0, 1]).X) == y[:100]).sum()
    assert (certificate.errors, certificate.m) == (wrong, 100)


# -- held-out examples ---------------------------------------------------------------------------


def test_held_out_examples():
    certificate = certify_counts(12, 400)
    assert certificate.risk == binomial_upper(400, 12, 0.05)
    assert "12 of 400 held-out examples" in str(certificate)
    assert certify_counts(0, 10, delta=0.5).risk == pytest.approx(1 - 0.5**0.1)


def test_certificate_can_be_checked_on_held_out_examples():
    certificate = certify(chain(12, 5000, 250))
    assert certificate.agrees_with(60, 1000)
    assert not certificate.agrees_with(250, 1000)
