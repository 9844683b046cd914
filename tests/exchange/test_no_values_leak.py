"""Files and code hold no value of a column that no tree in them splits on."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import treebound as tb
from treebound.exchange import dumps, to_c, to_python, to_sql
from treebound.show import to_dot, to_html, to_latex, to_rules, to_text

# Values that occur nowhere else: of a number the digits, of a text the word.
UNUSED = {
    "unused_text": "zqsentinel", "unused_number": "73519", "unused_category": "zqcategory",
    "unused_order": "zqorder", "key": "zqkey", "unused_flag": "",
}  # fmt: skip
SENTINELS = re.compile("|".join(filter(None, UNUSED.values())))
RARE = re.compile("zqrare")


def _rows(n: int = 400) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "used": rng.normal(size=n).round(2),
        "colour": rng.choice(["red", "blue"], n),
        "unused_text": [f"zqsentinel{at % 40}" for at in range(n)],
        "unused_number": 73519 + rng.integers(0, 9, n) / 1e6,
        "unused_category": pd.Categorical([f"zqcategory{at % 4}" for at in range(n)]),
        "unused_order": pd.Categorical(
            [f"zqorder{at % 4}" for at in range(n)], [f"zqorder{at}" for at in range(4)],
            ordered=True,
        ),
        "key": [f"zqkey{at:04d}" for at in range(n)],
        "unused_flag": rng.random(n) < 0.5,
    })  # fmt: skip
    frame.loc[::20, "colour"] = [f"zqrare{at}" for at in range(len(frame) // 20)]
    y = np.where((frame["used"] > 0.3) | (frame["colour"] == "red"), "yes", "no")
    return frame, y


def _onnx(model: Any) -> str:
    onnx = pytest.importorskip("onnx")
    from treebound.exchange import to_onnx

    del onnx
    return to_onnx(model).SerializeToString().decode("latin-1")


FORMATS: dict[str, Callable[[Any], str]] = {
    "model file": lambda clf: dumps(clf.model_),
    "model file without path": lambda clf: dumps(clf.model_, pruning_path=False, row_record=False),
    "report": to_html,
    "report of another size": lambda clf: to_html(clf.prune_to(2)),
    "text": to_text,
    "rules": lambda clf: str(to_rules(clf)),
    "Python": to_python,
    "C": to_c,
    "SQL": to_sql,
    "DOT": to_dot,
    "LaTeX": to_latex,
    "ONNX": _onnx,
    "certificate": lambda clf: clf.certificate_.explain(),
}


@pytest.fixture(scope="module", params=["training", "held-out", "prior"])
def fitted(request: pytest.FixtureRequest) -> tuple[Any, pd.DataFrame, np.ndarray]:
    frame, y = _rows()
    clf = tb.BoundTreeClassifier(certificate=request.param)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf.fit(frame, y)
    assert set(clf.grown_tree_.feature.tolist()) == {-1, 0, 1}
    return clf, frame, y


@pytest.mark.parametrize("name", [*FORMATS])
def test_no_format_has_values_of_columns_without_a_split(fitted: Any, name: str) -> None:
    clf, _, _ = fitted
    text = FORMATS[name](clf)
    assert "used" in text or name == "certificate"
    assert not SENTINELS.findall(text)
    assert not RARE.findall(text)  # no split names these categories


def test_a_path_that_uses_a_column_is_omitted_with_its_values() -> None:
    frame, y = _rows()
    noisy = np.where(np.arange(len(y)) % 7 == 0, "no", y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = tb.BoundTreeClassifier(max_leaves=4).fit(
            frame[["used", "colour", "unused_text"]], noisy
        )
    assert "zqsentinel" in dumps(clf.model_)  # the grown tree splits on it
    assert "zqsentinel" not in dumps(clf.model_, pruning_path=False)
    assert "zqsentinel" not in dumps(clf.prune_to(2).model_, pruning_path=False)


def test_the_report_lists_values_of_the_trees_that_it_shows() -> None:
    frame, y = _rows()
    noisy = np.where(np.arange(len(y)) % 7 == 0, "no", y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = tb.BoundTreeClassifier(pruning="mdl").fit(
            frame[["used", "colour", "unused_text"]], noisy
        )
    report = to_html(clf)
    named = {*re.findall(r"zqsentinel\d+", dumps(clf.model_))}
    assert {*re.findall(r"zqsentinel\d+", report)} <= named
    assert "zqsentinel" in dumps(clf.model_)


def test_the_files_of_the_editor_and_the_monitor(fitted: Any, tmp_path: Path) -> None:
    clf, frame, y = fitted
    autosave = tmp_path / "steps.json"
    editor = clf.edit(frame, y, autosave=autosave)
    editor.collapse("")
    editor.use("", "used")
    text = autosave.read_text(encoding="utf-8") + dumps(editor.done().model_)
    monitor = clf.certificate_.monitor()
    monitor.update(y, clf.predict(frame))
    text += monitor.to_json()
    assert not SENTINELS.findall(text)
    assert not RARE.findall(text)


def test_a_checkpoint_has_no_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pl = pytest.importorskip("polars")
    frame, y = _rows(2000)
    path, written = tmp_path / "growing", []
    monkeypatch.setattr("treebound.growing.engine.QUICK_VALUES", 0)  # else it grows in memory
    monkeypatch.setattr("treebound.growing.engine.LocalEngine.gather_values", 100)  # and in a round
    monkeypatch.setattr(
        "treebound.growing.checkpoint.write_bytes", lambda _, content: written.append(content)
    )
    clf = tb.BoundTreeClassifier(pruning=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf.fit(pl.from_pandas(frame.assign(y=y)).lazy(), "y", checkpoint=path)
    assert written
    for content in written:
        assert not SENTINELS.findall(content.decode("latin-1"))
        assert not RARE.findall(content.decode("latin-1"))


def test_declared_categories_are_parameters_of_the_call() -> None:
    frame, y = _rows()
    order = [f"zqorder{at}" for at in range(4)]
    texts = frame[["used", "colour"]].assign(level=frame["unused_order"].astype(str))
    clf = tb.BoundTreeClassifier(ordinal_features={"level": order})
    clf.fit(texts, y)
    assert "zqorder" not in to_html(clf)
    assert "zqorder" in dumps(clf.model_)  # as the user gave them
