"""Through the classifier: every form against ``predict`` on tables as people have them."""

from __future__ import annotations

import html
import sqlite3

import numpy as np
import pytest
from sklearn.datasets import load_iris

import treebound as tb

pd = pytest.importorskip("pandas")

SIZES = ["small", "it's middling", 'very "large"']


def table(rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "weight, kg": np.round(rng.normal(70, 12, rows), 1),
            "count": rng.integers(0, 6, rows),
            "town": rng.choice(["Zürich", "北京", "a'b", "two\nlines"], rows),
            "size": pd.Categorical(rng.choice(SIZES, rows), categories=SIZES, ordered=True),
            "flag": rng.random(rows) < 0.4,
        }
    )
    frame.loc[rng.random(rows) < 0.1, "weight, kg"] = np.nan
    frame.loc[rng.random(rows) < 0.1, "town"] = None
    return frame


def labels(frame: pd.DataFrame, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    score = (frame["weight, kg"].fillna(60) > 68).astype(int) + (frame["town"] == "北京")
    score += (frame["size"].cat.codes.to_numpy() > 0) & frame["flag"]
    score = np.where(rng.random(len(frame)) < 0.1, rng.integers(0, 4, len(frame)), score)
    return np.array(["no", "maybe", "yes'", "très"])[score]


def with_strangers(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    """The same table with towns that were never seen."""
    rng = np.random.default_rng(seed)
    frame = frame.copy()
    frame.loc[rng.random(len(frame)) < 0.2, "town"] = "Atlantis"
    return frame


@pytest.fixture(scope="module", params=["majority", "stop", "missing"])
def fitted(request) -> tuple[tb.BoundTreeClassifier, pd.DataFrame]:
    frame = table(600, 0)
    clf = tb.BoundTreeClassifier(handle_unknown=request.param, pruning=None, max_leaves=40)
    clf.fit(frame, labels(frame, 0))
    assert {column.kind for column in clf.tree_.columns} == {"real", "ordinal", "nominal"}
    return clf, with_strangers(table(300, 1), 1)


def records(frame: pd.DataFrame) -> list[dict]:
    return frame.astype({"size": object}).to_dict("records")


def test_rules_agree_with_predict(fitted) -> None:
    clf, frame = fitted
    made = clf.to_rules()
    chances = clf.predict_proba(frame)
    for row, label, chance in zip(records(frame), clf.predict(frame), chances, strict=True):
        (rule,) = (rule for rule in made if rule.matches(row))
        assert rule.label == label
        assert rule.probabilities == tuple(chance)


def test_python_agrees_with_predict(fitted) -> None:
    clf, frame = fitted
    module: dict = {}
    exec(clf.to_python(), module)
    assert [module["predict"](row) for row in records(frame)] == clf.predict(frame).tolist()
    exec(clf.to_python(output="proba"), module)
    predicted = [module["predict"](row) for row in records(frame)]
    assert predicted == clf.predict_proba(frame).tolist()


def test_sqlite_agrees_with_predict(fitted) -> None:
    clf, frame = fitted
    with sqlite3.connect(":memory:") as connection:
        frame.astype({"size": str}).to_sql("people", connection, index=False)
        predicted = connection.execute(clf.to_sql(table="people")).fetchall()
    assert [row[-1] for row in predicted] == clf.predict(frame).tolist()


def test_duckdb_agrees_with_predict_on_the_frame_itself(fitted) -> None:
    duckdb = pytest.importorskip("duckdb")
    clf, frame = fitted
    with duckdb.connect(":memory:") as connection:
        connection.register("people", frame)
        predicted = connection.execute(clf.to_sql(table="people")).fetchall()
        chances = connection.execute(clf.to_sql(table="people", output="proba")).fetchall()
    assert [row[-1] for row in predicted] == clf.predict(frame).tolist()
    wanted = clf.predict_proba(frame).tolist()
    assert [list(row[-len(clf.classes_) :]) for row in chances] == wanted


def test_forms_to_read_have_the_names_in_them(fitted) -> None:
    clf, _ = fitted
    for written in (clf.to_text(), clf.to_dot(), clf.to_html()):
        assert "weight, kg" in written
    assert r"weight{,} kg" in clf.to_latex()


def test_a_notebook_shows_the_tree_beside_the_parameters(fitted) -> None:
    clf, _ = fitted
    for shown in (clf._repr_mimebundle_()["text/html"], clf._repr_html_()):
        assert "treebound-tree" in shown
        assert "weight, kg" in shown
    fresh = tb.BoundTreeClassifier()
    assert "treebound-tree" not in fresh._repr_html_()


def test_results_of_a_fit_print_sentences_and_html() -> None:
    iris = load_iris()
    clf = tb.BoundTreeClassifier().fit(iris.data, iris.target_names[iris.target])
    certificate, result = clf.certificate_, clf.pruning_result_
    assert repr(certificate) == f"<Certificate: {certificate}>"
    assert repr(result).startswith(f"<PruningResult: {clf.n_leaves_} of ")
    for shown in (certificate, result):
        assert "\n" not in repr(shown)
        assert "array(" not in repr(shown)
        assert html.escape(shown.explain().splitlines()[-1].removeprefix("- ")) in (
            shown._repr_html_()
        )
    assert "<li>" in certificate._repr_html_()
