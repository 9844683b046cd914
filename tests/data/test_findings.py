"""Suspicious columns and repeated rows are named, with what to do; ordinary tables are not."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

import treebound as tb
from treebound.data import Sample
from treebound.data.findings import (
    different_whole_numbers,
    few_repeated_rows,
    few_whole_values,
    findings,
    warn_of_findings,
)
from treebound.data.row_hashes import RowSketch, row_hashes

N = 400
RNG = np.random.default_rng(0)
Y = RNG.integers(0, 2, N)


def problems_of(y=Y, **columns):
    """The suspicious columns, and their problems."""
    columns = columns or {"x": RNG.normal(size=len(y))}
    return {one.column: f"{one.problem}; {one.remedy}" for one in findings(sample(y, **columns))}


def sample(y, **columns):
    return Sample.learn(pd.DataFrame(columns), y)


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_digits])
@pytest.mark.parametrize("as_frame", [False, True])
def test_ordinary_tables_are_not_suspicious(load, as_frame):
    X, y = load(return_X_y=True, as_frame=as_frame)
    listed = [one for one in findings(Sample.learn(X, y)) if "same value" not in one.problem]
    assert listed == []


def test_ordinary_columns_are_not_suspicious():
    columns = {
        "real": RNG.normal(size=N),
        "whole": RNG.integers(0, 50, N),
        "years": RNG.integers(1900, 2020, N),
        "names": RNG.choice(["red", "green", "A1", "v2.5.1"], N),
        "numbers as names": RNG.choice(["1", "2", "3"], N),
        "zip codes": RNG.choice(["01234", "99999"], N),
        "flag": RNG.random(N) < 0.5,
        "missing": np.where(RNG.random(N) < 0.5, np.nan, RNG.normal(size=N)),
        "declared ids": pd.Categorical([f"k{i}" for i in range(N)]),
    }
    assert problems_of(**columns) == {}


@pytest.mark.parametrize(
    "text",
    [lambda i: f"1,{100 + i}", lambda i: f"{i},5", lambda i: f"{i}.5 %", lambda i: f"$ 1,{100 + i}",
     lambda i: f"1 {100 + i % 9}.5", lambda i: f"{i}.25"],
)  # fmt: skip
def test_numbers_written_as_text(text):
    problems = problems_of(price=[text(i) for i in range(N)])
    assert list(problems) == ["price"]
    assert "holds numbers written as text, such as" in problems["price"]
    assert "convert it to numbers" in problems["price"]


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d/%m/%y", "%d.%m.%Y", "%Y-%m-%dT%H:%M:%S"])
def test_dates_as_text(form):
    dates = pd.date_range("2019-12-20", periods=N, freq="7h").strftime(form)
    problems = problems_of(when=dates)
    assert "holds dates as text" in problems["when"]
    assert "days since a date" in problems["when"]


def test_values_that_name_the_row():
    order = RNG.permutation(N)
    problems = problems_of(
        text=[f"customer {i}" for i in order],
        numbered=np.arange(N) + 1000,
        shuffled=order.astype(float),
        order_id=RNG.integers(10**6, 10**9, N),
        repeated=order % (N - 1),
    )
    assert set(problems) == {"text", "numbered", "shuffled", "order_id"}
    assert "'categorical_features'" in problems.pop("text")
    assert all("leave it out" in words for words in problems.values())


def test_columns_of_one_value():
    problems = problems_of(
        real=np.full(N, 2.5),
        empty=np.full(N, np.nan),
        text=["a"] * N,
        almost=np.where(np.arange(N) == 137, 1.0, 0.0),
        almost_text=np.where(np.arange(N) == 137, "b", "a"),
        sometimes=np.where(np.arange(N) == 137, np.nan, 0.0),
    )
    assert set(problems) == {"real", "empty", "text"}


@pytest.mark.parametrize("n", [300, 60_000])
def test_repeated_rows_are_reported_with_their_share(n):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(n, 3)).round(4), rng.integers(0, 2, n)
    X[:, 1] = rng.integers(0, 3, n)

    def share(copies):
        twice = np.concatenate([np.arange(n), rng.choice(n, copies, replace=False)])
        rng.shuffle(twice)
        listed = [str(one) for one in findings(Sample.learn(X[twice], y[twice]))]
        assert all("copies of others" in one for one in listed)
        return listed

    assert share(0) == []
    assert share(n // 20) == []
    (listed,) = share(n)
    assert "repeats rows: 5" in listed or "repeats rows: 4" in listed
    assert "drop the copies" in listed


def test_rows_that_differ_after_six_digits_are_not_copies():
    rng = np.random.default_rng(2)
    X = (1_600_000_000 + rng.permutation(3000)[:, None]).astype(float)
    sample = Sample.learn(X, rng.integers(0, 2, 3000))
    sketch = RowSketch.of(row_hashes(sample.X, sample.classes, sample.y, names=None))
    assert len(sketch.hashes) < 10
    for given in (None, sketch):
        assert not any("copies of others" in str(one) for one in findings(sample, given))


def test_the_same_rows_with_other_labels_are_no_copies():
    X = np.repeat(RNG.normal(size=(N, 2)), 2, axis=0)
    assert findings(Sample.learn(X, [0, 1] * N)) == []
    assert findings(Sample.learn(X, np.repeat(Y, 2))) != []


def test_the_same_rows_with_other_numbers_are_no_copies():
    X, y = np.repeat(RNG.normal(size=(N, 2)), 2, axis=0), RNG.normal(size=2 * N)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tb.BoundTreeRegressor(cv=None).fit(X, y)
    learned = Sample.learn(X, np.zeros(2 * N, dtype=int))
    assert findings(learned, numbers=y) == [*few_repeated_rows(learned, y)] == []
    (one,) = findings(learned, numbers=np.repeat(y[::2], 2))
    assert one.problem.startswith("repeats rows: 50 %")
    with pytest.warns(UserWarning, match="repeats rows: 50 %"):
        tb.BoundTreeRegressor(cv=None).fit(X, np.repeat(y[::2], 2))


def test_few_values_repeat_by_accident():
    X = RNG.integers(0, 3, (N, 4)).astype(float)
    assert findings(Sample.learn(X, Y)) == []


def test_small_tables_are_never_suspicious():
    assert findings(Sample.learn([[1.0, "2020-01-01"]] * 10, [0, 1] * 5)) == []


def test_each_is_warned_of_once_and_many_together():
    columns = {f"c{i}": np.full(N, float(i)) for i in range(9)}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_findings(sample(Y, **columns))
    problems = [str(one.message) for one in caught]
    assert len(problems) == 6
    assert problems[0] == "Column 'c0' has the same value in every row. Hint: leave it out."
    assert "'c8'" in problems[-1]
    assert all(one.filename == __file__ for one in caught)


def test_copies_in_one_group_count_once():
    X, y = np.repeat(RNG.normal(size=(200, 2)), 2, axis=0), np.repeat([0, 1], 200)
    alone, pairs = np.arange(400), np.repeat(np.arange(200), 2)
    (finding,) = findings(Sample.learn(X, y, groups=alone // 3))
    assert finding.remedy == "drop the copies, or put all copies of a row in one group"
    assert not [*findings(Sample.learn(X, y, groups=pairs))]


def test_copies_are_found_by_very_many_combinations_of_few_values():
    X = np.random.default_rng(4).integers(0, 20, (100, 10)).astype(float)
    (finding,) = findings(Sample.learn(np.tile(X, (3, 1)), [0, 1, 1, 0] * 75))
    assert finding.problem.startswith("repeats rows: 67 % of them are copies of others")


def test_copies_are_found_beside_a_column_that_is_mostly_missing():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 2))
    X[rng.random(300) < 0.95, 0] = np.nan
    X = np.concatenate([X, X])
    problems = findings(Sample.learn(X, [0, 1] * 300))
    assert [one.problem for one in problems if one.column is None] == [
        "repeats rows: 50 % of them are copies of others, "
        "while pruning and certificate count each as new"
    ]


@pytest.mark.parametrize("text", ["?", "-", "N/A", " na ", "null", ""])
def test_texts_that_mean_missing(text):
    (one,) = findings(sample(Y, a=np.where(np.arange(N) % 10 == 0, text, "red")))
    assert one.note
    assert one.problem == f"holds {text!r} in 40 rows, which looks like a missing value"
    problems = problems_of(a=np.where(np.arange(N) % 10 == 0, text, (np.arange(N) % 5).astype(str)))
    assert f"numbers written as text, such as '0', and besides {text!r}" in problems["a"]


def test_codes_with_leading_zeros_stay_text():
    (one,) = findings(sample(Y, a=[f"{i % 50:05d}" for i in range(N)]))
    assert one.note
    assert one.problem == "holds codes with leading zeros, such as '00000'"
    assert "keep it as text" in one.remedy


@pytest.mark.parametrize("kind", [int, str])
def test_identifiers_that_repeat_are_groups(kind):
    patient = [kind(1000 + i // 4) for i in range(N)]
    problems = problems_of(patient_id=patient, patient=patient, x=RNG.normal(size=N))
    assert list(problems) == ["patient_id"] if kind is int else "patient_id" in problems
    assert "repeats: 100 values in 400 rows" in problems["patient_id"]
    assert "groups" in problems["patient_id"]


def test_another_whole_number_in_every_row_may_identify_it():
    rng = np.random.default_rng(0)
    rows = 1_500
    numbers = rng.permutation(10 * rows)[:rows] + 7.0
    columns = {
        "numbers": numbers,
        "large": 10**17 + 1_000 * numbers,
        "halves": numbers + 0.5,
        "twice": np.append(numbers[:-1], numbers[0]),
        "gaps": np.append(numbers[:-1], np.nan),
    }
    y = rng.integers(0, 2, rows)
    listed = [*different_whole_numbers(sample(y, **columns), ())]
    assert [finding.column for finding in listed] == ["numbers", "large"]
    assert all(finding.note for finding in listed)
    assert not [*different_whole_numbers(sample(y, **columns), {"numbers", "large"})]
    few = {name: values[:900] for name, values in columns.items()}
    assert not [*different_whole_numbers(sample(y[:900], **few), ())]


def test_few_whole_numbers_may_be_codes():
    columns = {
        "code": RNG.integers(1, 5, N),
        "flag": RNG.integers(0, 2, N),
        "amount": RNG.integers(0, 100, N),
        "grade": np.where(RNG.random(N) < 0.1, np.nan, RNG.integers(0, 3, N)),
        "half": RNG.integers(0, 4, N) / 2,
    }
    (one,) = few_whole_values(sample(Y, **columns))
    assert one.note
    assert (one.column, one.problem) == (
        "code", "holds few whole numbers, 1 to 4 (and so does 'grade')",
    )  # fmt: skip


def test_numbered_names_that_repeat_are_identifiers():
    rng = np.random.default_rng(0)
    names = [f"C{number:04d}" for number in rng.integers(0, 60, 300)]
    sample = Sample.learn(
        pd.DataFrame({"customer": names, "x": rng.normal(size=300)}), [0, 1] * 150
    )
    (finding,) = findings(sample)
    assert "looks like an identifier, and repeats" in finding.problem
    assert "groups" in finding.remedy


def test_a_range_past_the_largest_double_is_read_without_a_warning() -> None:
    X = np.array([[1.7e308], [-1.7e308], [1.0], [-1e308]] * 5)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        report = tb.check(X, [0, 1, 0, 1] * 5)
        clf = tb.BoundTreeClassifier().fit(X, [0, 1, 0, 1] * 5)
    assert "whole numbers" not in str(report)
    assert clf.tree_.threshold[0] == 0.0


@pytest.mark.parametrize("every", [2, 50])
def test_numbers_with_and_without_a_unit(every):
    texts = [f"{60 + i / 10} kg" if i % every == 1 else f"{60 + i / 10}" for i in range(N)]
    problems = problems_of(weight=texts, group=np.arange(N) % 3)
    expected = "holds numbers with and without a unit, such as '60.1 kg' next to '60.0'"
    assert expected in problems["weight"]
    assert "remove the unit, and convert it to numbers" in problems["weight"]


def test_free_text():
    texts = [f"The patient came in with {i % 40} complaints" for i in range(N)]
    assert (
        "holds free text, such as 'The patient came in with 0 complaints'"
        in (problems_of(note=texts)["note"])
    )
    assert problems_of(note=[f"new york {i % 40}" for i in range(N)]) == {}
    long_names = [f"Desktop Computer, Network Server, Room {i % 30}" for i in range(N)]
    assert problems_of(place=long_names) == {}


def test_numbers_as_text_name_the_text_that_is_no_number():
    texts = ["c", *map(str, range(1000, 1000 + N - 1))]  # one of many, that is not looked at first
    listed = problems_of(affected=[texts[i % 350] for i in range(N)], group=np.arange(N) % 3)
    assert "such as '1000', and besides 'c'; convert it to numbers" in listed["affected"]


@pytest.mark.parametrize(
    ("texts", "alike"),
    [(["Y", "yes", "no"], "'Y' next to 'yes'"), (["Red", "red ", "blue"], "'Red' next to 'red '"),
     (["y", "n", "maybe", "yes"], None), (["Y", "N"], None), (["a", "b"], None)],
)  # fmt: skip
def test_categories_that_may_be_the_same(texts, alike):
    problem = problems_of(reply=[texts[i % len(texts)] for i in range(N)]).get("reply")
    expected = f"holds {alike}, which may be the same category; write them alike"
    assert (problem or "").startswith(expected if alike else "")
    assert (problem is None) == (alike is None)


def test_a_few_repeated_rows_are_a_note_of_check():
    X, y = RNG.normal(size=(430, 2)), RNG.integers(0, 2, 430)
    X[:12], y[:12] = X[100:112], y[100:112]
    (finding,) = few_repeated_rows(Sample.learn(X, y))
    assert finding.note
    assert str(finding).startswith("The table repeats rows: 12 of 430 are copies of others.")
    assert [*few_repeated_rows(Sample.learn(X[12:], y[12:]))] == []
    assert [*few_repeated_rows(Sample.learn(X.round(0), y))] == []  # equal by chance


@pytest.mark.parametrize("kind", ["real", "nominal"])
def test_fit_warns_of_a_column_that_determines_the_class(kind):
    y = RNG.integers(0, 3, 3000)
    leak = y * 2.5 + RNG.random(3000) if kind == "real" else np.array(["u", "v", "w"])[y]
    leak[:3] = leak[3:6]  # a few errors
    frame = pd.DataFrame({"noise": RNG.normal(size=3000), "leak": leak})
    with pytest.warns(UserWarning, match="Column 'leak' (alone determines|is) 'y'") as caught:
        tb.BoundTreeClassifier().fit(frame, y)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tb.BoundTreeClassifier().fit(frame[["noise"]].assign(more=RNG.normal(size=3000)), y)
