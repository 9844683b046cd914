"""Rows that were used for fitting are refused as held-out rows, or the certificate states more."""

import numpy as np
import pandas as pd
import pytest

import treebound as tb
from treebound.certificate.row_record import RoleMatches, RowComparison, RowRecord
from treebound.data.row_hashes import RowSketch
from treebound.pruning import ReducedErrorPruner

CANNOT = "Whether these rows were used for fitting cannot be tested"


def table(rows, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=rows), "s": rng.choice(list("uvw"), rows)})
    X["b"] = rng.normal(size=rows).round(2)
    y = np.where((X["a"] > 0.3) ^ (rng.random(rows) < 0.2), "yes", "no")
    return X, y


@pytest.fixture(scope="module")
def fitted():
    X, y = table(900)
    return tb.BoundTreeClassifier().fit(X[:600], y[:600]), X, y


def test_given_rows_are_held_out_rows_by_the_statement_of_the_user(fitted):
    clf, X, y = fitted
    for kind in (None, "held-out"):
        fresh = tb.certify(clf, X[600:], y[600:], kind=kind)
        assert (fresh.kind, fresh.m) == ("held-out", 300)
        assert fresh.errors == (clf.predict(X[600:]) != y[600:]).sum()
        assert "- these rows were not used for fitting (stated)" in fresh.explain()
        assert "checked" not in fresh.explain()
        assert CANNOT not in str(fresh)


@pytest.mark.parametrize("rows", [slice(0, 600), slice(0, 500), slice(100, 160), slice(500, 900)])
@pytest.mark.parametrize("kind", [None, "held-out"])
def test_more_matches_than_chance_explains_are_refused(fitted, rows, kind):
    clf, X, y = fitted
    known, given = len(X[:600][rows]), len(X[rows])
    with pytest.raises(ValueError, match=f"{known} of {given} comparable rows equal training rows"):
        tb.certify(clf, X[rows], y[rows], kind=kind)


def test_all_training_rows_are_certified_if_the_user_insists(fitted):
    clf, X, y = fitted
    assert tb.certify(clf, X[:600], y[:600], kind="training") == clf.certificate_


@pytest.mark.parametrize("rows", [slice(0, 600), slice(100, 160)])
def test_rows_in_another_precision_are_refused(rows, tmp_path):
    # a table of float32, and its own file
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(600, 8)).astype(np.float32), columns=list("abcdefgh"))
    y = rng.integers(0, 2, 600)
    X.assign(y=y).to_csv(tmp_path / "table.csv", index=False)
    read = pd.read_csv(tmp_path / "table.csv")
    for fitted, given in ((X, read), (read, X)):
        fitted, given = (columns[list("abcdefgh")] for columns in (fitted, given))
        clf = tb.BoundTreeClassifier(pruning=None).fit(fitted, y)
        with pytest.raises(ValueError, match="more than chance explains"):
            clf.model_.certify(given[rows], y[rows])
    short = read.map(lambda value: float(f"{value:.6g}"))[list("abcdefgh")]
    with pytest.raises(ValueError, match="more than chance explains"):
        clf.model_.certify(short[rows], y[rows])


def test_few_validation_rows_are_refused_next_to_many_training_rows():
    X, y = table(30_600)
    grown = tb.BoundTreeClassifier(pruning=None, max_leaves=200).fit(X[:30_000], y[:30_000])
    rows = X[30_000:], y[30_000:]
    clf = tb.prune(grown, pruner="reduced-error", validation=rows)
    with pytest.raises(ValueError, match="600 of 600 comparable rows equal validation rows"):
        tb.certify(clf, *rows)


def test_repeated_rows_of_one_role_do_not_hide_those_of_another():
    X, y = table(1200)
    often = np.repeat(np.arange(600, 610), 30)
    grown = tb.BoundTreeClassifier(pruning=None).fit(X[:600], y[:600])
    clf = tb.prune(grown, pruner="reduced-error", validation=(X.iloc[often], y[often]))
    with pytest.raises(ValueError, match="300 of 300 comparable rows equal training rows"):
        tb.certify(clf, X[:300], y[:300])
    assert "often equal validation rows by chance" in str(tb.certify(clf, X[700:], y[700:]))


def test_rows_that_are_recorded_twice_do_not_look_repeated():
    X, y = table(900)
    clf = tb.BoundTreeClassifier().fit(X[:600], y[:600])
    for _ in range(2):
        clf = tb.prune(clf, X[:500], y[:500])
    sketch = clf.model_.provenance.row_record.sketches["training"]
    assert (sketch.rows, sketch.counts.max()) == (600, 1)
    assert CANNOT not in str(tb.certify(clf, X[600:], y[600:]))
    both = tb.prune(clf, X, y)
    assert both.model_.provenance.row_record.sketches["training"].rows == 900


def test_without_all_columns_the_sentence_states_that_rows_were_not_compared(fitted):
    clf, X, y = fitted
    certificate = tb.certify(clf.model_, X[["a"]][:600], y[:600])
    assert certificate.kind == "held-out"
    assert f"{CANNOT}: columns of the training table are absent." in str(certificate)


def test_few_rows_are_compared_and_the_sentence_states_that_they_are_few(fitted):
    clf, X, y = fitted
    few = tb.certify(clf, X[600:609], y[600:609])
    assert f"{CANNOT}: fewer than 10 of them can be compared with training rows." in str(few)
    with pytest.raises(ValueError, match="5 of 5 comparable rows equal training rows"):
        tb.certify(clf, X[:5], y[:5])


def test_rows_that_are_counted_in_a_database_are_not_compared_and_the_sentence_states_it(fitted):
    duckdb = pytest.importorskip("duckdb")
    from treebound.engines.sql import Relation

    clf, X, y = fitted
    some_rows = X.assign(y=y)[:600]  # noqa: F841  # DuckDB finds it by name
    relation = Relation(duckdb.sql("SELECT * FROM some_rows"), max_fetched_rows=100)
    words = str(tb.certify(clf, relation, "y"))
    assert f"{CANNOT}: more than 100 rows are counted in the database." in words


@pytest.mark.parametrize("role", ["calibration", "validation", "training"])
def test_rows_of_every_role_are_refused(role):
    X, y = table(1200)
    if role == "calibration":
        clf = tb.BoundTreeClassifier(certificate="held-out").fit(X[:900], y[:900])
    elif role == "training":
        pruner = ReducedErrorPruner(validation_fraction=0.3)
        clf = tb.BoundTreeClassifier(pruning=pruner).fit(X[:900], y[:900])
    else:
        grown = tb.BoundTreeClassifier(pruning=None).fit(X[:500], y[:500])
        clf = tb.prune(grown, pruner="reduced-error", validation=(X[500:900], y[500:900]))
    with pytest.raises(ValueError, match=f"comparable rows equal .*{role} rows"):
        tb.certify(clf, X[:900], y[:900])
    assert tb.certify(clf, X[900:], y[900:]).kind == "held-out"


@pytest.mark.parametrize("caller", ["abstain", "certify_cost"])
def test_other_guarantees_compare_rows_too(fitted, caller):
    clf, X, y = fitted
    options = {"max_risk": 0.5} if caller == "abstain" else {"costs": {"yes": 2.0}}
    with pytest.raises(ValueError, match=f"Hint: {caller} needs rows that were not used"):
        getattr(clf, caller)(X[:600], y[:600], **options)
    certificate = getattr(clf, caller)(X[600:606], y[600:606], **options)
    assert CANNOT in str(certificate.abstention_ if caller == "abstain" else certificate)


def test_rows_that_are_equal_by_chance_are_not_refused():
    rng = np.random.default_rng(0)
    for seed in range(200):  # about half of the rows occur several times
        X, y = rng.integers(0, 9, (400, 3)).astype(float), rng.integers(0, 2, 400)
        clf = tb.BoundTreeClassifier(max_leaves=2).fit(X[:300], y[:300])
        comparison = clf.model_.provenance.row_record.compare(
            clf.model_.hashes(X[300:], y[300:]), 100
        )
        assert not comparison.used, seed
        assert 0 < comparison.by_role[0].matches < 60


def test_rows_of_few_kinds_cannot_be_distinguished_and_the_sentence_states_it():
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 2, (400, 2)).astype(float), rng.integers(0, 2, 400)
    clf = tb.BoundTreeClassifier().fit(X[:300], y[:300])
    for rows in (slice(0, 300), slice(300, 400)):
        words = str(tb.certify(clf, X[rows], y[rows]))
        assert words.endswith(f"{CANNOT}: new rows often equal training rows by chance.")


def test_models_without_a_record_state_it():
    from sklearn.dummy import DummyClassifier
    from sklearn.tree import DecisionTreeClassifier

    X, y = table(300)
    clf = tb.BoundTreeClassifier().fit(X, y)
    other = DecisionTreeClassifier().fit(X[["a", "b"]], y)
    always = DummyClassifier().fit(X, y)
    sources = [(clf.tree_, X), (tb.Model(clf.tree_), X), (other, X[["a", "b"]]), (always, X)]
    for source, rows in sources:
        certificate = tb.certify(source, rows, y, delta=0.1)
        assert (certificate.kind, certificate.delta) == ("held-out", 0.1)
        assert f"{CANNOT}: the model has no record of its rows." in str(certificate)
    with pytest.raises(ValueError, match="'held-out' for a classifier that is no tree"):
        tb.certify(always, X, y, kind="training")
    for source in (other, always):
        with pytest.raises(ValueError, match="rows that were not used for fitting"):
            tb.certify(source)


def test_a_landscape_belongs_to_training_rows(fitted):
    clf, X, y = fitted
    with pytest.raises(ValueError, match="'landscape' parameter of certify must be None"):
        tb.certify(clf, X[600:], y[600:], landscape=clf.landscape_)


# -- batches and roles, against direct counts ----------------------------------------------------


def hashes(rng, rows, kinds):
    return rng.integers(0, 2**63, kinds, dtype=np.uint64)[rng.integers(0, kinds, rows)]


@pytest.mark.parametrize("kinds", [50, 3000, 10**6])
def test_each_role_is_compared_on_its_own(kinds):
    rng = np.random.default_rng(0)
    used = {"training": hashes(rng, 5000, kinds), "validation": hashes(rng, 600, kinds)}
    record = RowRecord({role: RowSketch.of(hashes) for role, hashes in used.items()})
    given = np.concatenate([used["validation"][:100], hashes(rng, 200, kinds)])
    whole = record.compare(given, len(given))
    parts = sum((record.compare(part, len(part)) for part in np.split(given, 3)), RowComparison())
    assert whole == parts
    for matches in whole.by_role:
        rows, sketch = used[matches.role], record.sketches[matches.role]
        last = np.unique(rows)[:1024][-1] if len(np.unique(rows)) > 1024 else np.uint64(2**64 - 1)
        covered = given[given <= last]
        assert matches.comparable == len(covered)
        assert matches.matches == np.isin(covered, rows).sum()
        assert sketch.rows == len(rows)


def test_the_sentence_names_the_roles_that_it_is_about():
    roles = (
        RoleMatches("training", 0.01, comparable=3),
        RoleMatches("validation", 0.9, comparable=20),
        RoleMatches("calibration", 0.01, comparable=9),
    )
    assert RowComparison(20, roles).note == (
        f"{CANNOT}: fewer than 10 of them can be compared with training and calibration rows; new "
        "rows often equal validation rows by chance."
    )
    assert RowComparison(20, (RoleMatches("training", 0.01, comparable=10),)).note == ""


@pytest.mark.parametrize("comparable", [9, 10, 11, 40, 1000])
@pytest.mark.parametrize("chance", [0.0, 0.3, 0.5, 0.502, 0.9, 0.995])
def test_rows_that_could_all_match_by_chance_are_those_that_would_not_be_refused(
    comparable, chance
):
    matches = RoleMatches("training", chance, comparable, comparable)
    assert matches.few == (comparable < 10)
    if not matches.few:
        assert matches.by_chance == (not matches.significant)
        assert matches.by_chance == (chance**comparable >= 1e-3)


def test_matches_are_refused_from_the_number_that_chance_does_not_explain():
    """Of 20 rows at a chance of one in ten: six match with probability 0.011, eight with 0.0004."""
    for matches, expected in ((0, False), (6, False), (8, True), (20, True)):
        assert RoleMatches("training", 0.1, 20, matches).significant == expected


def test_the_chance_of_a_match_has_the_stated_margin():
    distinct = np.arange(1, 101, dtype=np.uint64)
    once = RowRecord({"training": RowSketch.of(distinct)}).compare(distinct, 100)
    assert once.by_role[0].chance == pytest.approx(3.0 / 100.0)


def test_the_chance_of_a_match_is_that_of_good_and_turing_and_three_deviations_of_esty():
    # 40 rows occur once, 20 twice and 10 three times: n = 110, f1 = 40, f2 = 20
    hashes = np.repeat(np.arange(70, dtype=np.uint64), [1] * 40 + [2] * 20 + [3] * 10)
    matches = RowRecord({"training": RowSketch.of(hashes)}).compare(hashes, 110).by_role[0]
    variance = (40 * (1 - 40 / 110) + 2 * 20) / 110**2
    assert matches.chance == pytest.approx(1 - 40 / 110 + 3 * variance**0.5 + 3 / 110)


def test_an_empty_sketch_matches_no_row():
    nothing = np.empty(0, dtype=np.uint64)
    some = np.arange(20, dtype=np.uint64)
    matches = RowRecord({"training": RowSketch.of(nothing)}).compare(some, 20).by_role[0]
    assert (matches.chance, matches.matches, matches.comparable) == (0.0, 0, 20)
    assert not matches.significant
    assert not matches.by_chance


def test_rows_that_all_occur_twice_may_all_match_by_chance():
    twice = np.repeat(np.arange(50, dtype=np.uint64), 2)
    matches = RowRecord({"training": RowSketch.of(twice)}).compare(twice, 100).by_role[0]
    assert matches.chance == 1.0
    assert matches.by_chance
    assert not matches.significant
