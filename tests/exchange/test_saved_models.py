"""Fitted models over all parameters: what is read back is the model that was saved."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
)
from support import CODE_LENGTH

import treebound as tb
from treebound.estimators.abstaining import AbstainingClassifier
from treebound.exchange import dumps, loads
from treebound.model import Evidence
from treebound.model.parameters import FitParameters, parameter_values
from treebound.pruning import PRUNERS, BasePruner, BoundPruner, PaperPruner
from treebound.show import to_text

N = 260


def _rows(rng: np.random.Generator, n: int = N) -> tuple[pd.DataFrame, np.ndarray]:
    frame = pd.DataFrame({
        "age": rng.normal(40, 10, n).round(1),
        "dose": rng.integers(0, 4, n),
        "size": rng.choice(["small", "medium", "large"], n),
        "colour": rng.choice(["blue", "green", "red", "white, or 'pale'"], n),
        "smokes": rng.random(n) < 0.4,
        "group": pd.Categorical(rng.choice(["x", "y"], n), categories=["x", "y", "z"]),
    })  # fmt: skip
    frame.loc[rng.random(n) < 0.1, "age"] = np.nan
    frame.loc[rng.random(n) < 0.05, "colour"] = None
    ill = (frame["age"] > 42) ^ (frame["colour"] == "red") ^ (rng.random(n) < 0.15)
    return frame, np.where(ill, "ill", "well")


COSTS: list[Any] = [
    None,
    {"ill": 5.0},
    {"well": 3},
    np.array([[0, 4.0], [1, 0]]),
    [[0, 2], [1, 0]],
    (3, 1),
]


def _pruner(rng: np.random.Generator) -> Any:
    chosen = COSTS[rng.integers(len(COSTS))]
    made = [
        None, *PRUNERS,
        BoundPruner(weight=float(rng.choice([0.3, 0.6])), costs=chosen),
        BoundPruner(score="log-loss", costs=chosen),
        PaperPruner(**CODE_LENGTH, search="optimal+raise", weight=0.5),
        BoundPruner(rule="small", folds=3, random_state=7),
        PRUNERS["cost-complexity"](alpha=0.01), PRUNERS["reduced-error"](validation_fraction=0.25),
        PRUNERS["pessimistic"](confidence=0.1), PRUNERS["kearns-mansour"](constant=0.1, delta=0.2),
    ]  # fmt: skip
    return made[rng.integers(len(made))]


def _parameters(rng: np.random.Generator) -> dict[str, Any]:
    def one_of(*values: Any) -> Any:
        return values[rng.integers(len(values))]

    parameters: dict[str, Any] = {
        "search": "wide",  # refused with most of the others
        "criterion": one_of("entropy", "gini", "misclassification"),
        "max_leaves": one_of(None, np.int64(6)),
        "max_depth": one_of(None, 5),
        "min_samples_leaf": one_of(1, 4),
        "thresholds": one_of("decimal", "midpoint", "observed"),
        "n_jobs": one_of(None, 1),
        "monotonic_cst": one_of(None, None, {"age": 1}, [1] + [0] * 5, np.array([1] + [0] * 5)),
        "forced_splits": one_of(None, None, ["smokes = True"], ("age <= 30", "colour = blue")),
        "interaction_cst": one_of(None, None, [["age", "colour"], [2]], "pairwise"),
        "pruning": _pruner(rng),
        "size": one_of(None, None, "small"),
        "cv": one_of(5, 5, 3, KFold(3), StratifiedKFold(4, shuffle=True, random_state=1)),
        "categorical_features": one_of("from_dtype", "from_dtype", ["dose"], (1,), {1},
                                       pd.Index(["dose"])),
        "ordinal_features": one_of(None, {"size": ["small", "medium", "large"]}, [2],
                                   {2: ("small", "medium", "large")}),
        "handle_unknown": one_of("other", "other", "majority", "stop", "missing", "error"),
        "smoothing": one_of("shrinkage", "laplace", "m-estimate", 3.5, None),
        "class_weight": one_of(None, None, "balanced", {"ill": 5}, {"ill": 2.5, "well": 1}),
        "costs": one_of(*COSTS),
        "certificate": one_of("training", "training", "held-out", "folds", "prior"),
        "random_state": one_of(0, 3),
    }  # fmt: skip
    assert parameters.keys() == parameter_values(FitParameters()).keys()
    # most combinations of many choices are refused: some of them at a time
    chosen = rng.random(len(parameters)) < 0.4
    return {
        name: value for keep, (name, value) in zip(chosen, parameters.items(), strict=True) if keep
    }


def _plain(value: Any) -> Any:
    """A parameter in a form that can be compared."""
    if isinstance(value, BasePruner):
        return type(value).__name__, {k: _plain(v) for k, v in value.get_params().items()}
    if isinstance(value, np.ndarray):
        return value.dtype.kind, value.tolist()
    if isinstance(value, KFold | StratifiedKFold | GroupKFold):
        return repr(value)
    return [*value] if isinstance(value, pd.Index) else value


def _models(seed: int) -> tuple[Any, pd.DataFrame, np.ndarray, np.ndarray | None]:
    """A fitted classifier, or None if its parameters are refused; and its rows."""
    rng = np.random.default_rng(seed)
    frame, y = _rows(rng)
    weight = rng.integers(1, 4, N) * rng.choice([1.0, 0.7]) if rng.random() < 0.25 else None
    clf = tb.BoundTreeClassifier(**_parameters(rng))
    order = [None, ["ill", "well"], ["well", "ill"]][rng.integers(3)]
    target = y if order is None else pd.Categorical(y, order, ordered=True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            clf.fit(frame, target, sample_weight=weight)
    except ValueError:
        return None, frame, y, weight
    return clf, frame, y, weight


def _new_rows(clf: Any, rng: np.random.Generator) -> pd.DataFrame:
    new, _ = _rows(rng)
    if clf.handle_unknown != "error":
        new.loc[:20, "colour"] = "never seen"
        new.loc[10:30, "size"] = None
    return new


def _edited(clf: Any, frame: pd.DataFrame, y: Any, weight: Any) -> tuple[Any, ...] | str:
    """Return the tree as edited: the children of the root collapsed; or why it refuses."""
    try:
        editor = clf.edit(frame, y, sample_weight=weight)
    except ValueError as error:
        return str(error)
    if editor.tree.feature[0] < 0:
        return editor.figures.lines(editor.figures), ()
    refusals = []
    for side in "LR":
        if editor.tree.feature[1 if side == "L" else editor.tree.right[0]] >= 0:
            try:
                editor.collapse(side)
            except ValueError as error:  # the rules of fit
                refusals.append(str(error))
    edited = editor.done()
    outcome = editor.figures, editor.history, refusals
    return *outcome, edited.predict(frame).tolist(), to_text(edited)


@pytest.mark.parametrize("block", range(8))
def test_what_is_read_back_is_what_was_saved(block: int) -> None:
    fitted = 0
    for seed in range(20 * block, 20 * (block + 1)):
        clf, frame, y, weight = _models(seed)
        if clf is None:
            continue
        fitted += 1
        text = dumps(clf.model_)
        again = tb.BoundTreeClassifier._of_model(loads(text))
        assert dumps(again.model_) == text, seed
        ours, theirs = clf.get_params(deep=False), again.get_params(deep=False)
        assert {k: _plain(v) for k, v in ours.items()} == {k: _plain(v) for k, v in theirs.items()}
        _check_equal(clf, again, _new_rows(clf, np.random.default_rng(seed + 1)), seed)
        if seed % 3 == 0:
            assert _edited(again, frame, y, weight) == _edited(clf, frame, y, weight), seed
    assert fitted >= 8


def _options(clf: Any) -> dict[str, Any]:
    """The options of growing; the order of the classes is part of a monotone tree."""
    options = {name: _plain(value) for name, value in vars(clf.model_.options).items()}
    del options["class_order"]
    return options


def _check_equal(clf: Any, again: Any, new: pd.DataFrame, seed: int) -> None:
    assert _options(again) == _options(clf), seed
    assert (again.predict(new) == clf.predict(new)).all(), seed
    assert (again.predict_proba(new) == clf.predict_proba(new)).all(), seed
    assert str(again.certificate_) == str(clf.certificate_), seed
    assert again.certificate_reason_ == clf.certificate_reason_, seed
    assert to_text(again) == to_text(clf), seed
    assert (again.feature_importances_ == clf.feature_importances_).all(), seed
    if clf.model_.path is not None:
        assert len(clf.model_.path) == len(again.model_.path)  # all of them have few leaves
        for step in {0, clf.model_.path.chosen, len(clf.model_.path) - 1}:
            one, other = clf.prune_to(step=step), again.prune_to(step=step)
            assert to_text(one) == to_text(other), seed
            assert str(one.certificate_) == str(other.certificate_), seed


@pytest.mark.parametrize("block", range(4))
def test_models_made_of_others_read_back(block: int) -> None:
    made = 0
    for seed in range(10 * block, 10 * (block + 1)):
        clf, _frame, _, _ = _models(seed)
        if clf is None:
            continue
        new = _new_rows(clf, np.random.default_rng(seed))
        models = [clf.model_.with_threshold("ill", 0.3), clf.prune_to(2).model_] if (
            clf.model_.path is not None
        ) else [clf.model_.with_threshold("ill", 0.3)]  # fmt: skip
        fresh = _rows(np.random.default_rng(seed + 500), 400)
        models += [abstaining.model_ for abstaining in clf.abstain(*fresh, max_risk=[0.15, 0.3])]
        for model in models:
            made += 1
            for path in (True, False):
                text = dumps(model, pruning_path=path)
                again = loads(text)
                assert dumps(again, pruning_path=path) == text, seed
                assert (again.predict(new) == model.predict(new)).all(), seed
                assert (again.predict_proba(new) == model.predict_proba(new)).all(), seed
                if model.abstention is not None:
                    ours, theirs = AbstainingClassifier(model), AbstainingClassifier(again)
                    assert str(ours.abstention_) == str(theirs.abstention_)
                    assert (ours.predict_proba(new) == theirs.predict_proba(new)).all()
    assert made > 10


def test_an_editor_of_a_loaded_model_knows_the_costs() -> None:
    rng = np.random.default_rng(1)
    n = 600
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n)})
    y = (rng.random(n) < np.where(X["a"] > 0.5, 0.35, 0.02)).astype(int)
    clf = tb.BoundTreeClassifier(pruning=BoundPruner(weight=0.6, costs={1: 20.0}), max_leaves=4)
    clf.fit(X, y)
    results = []
    for source in (clf, tb.BoundTreeClassifier._of_model(loads(dumps(clf.model_)))):
        editor = source.edit(X, y)
        editor.collapse("")
        results.append(editor.done().predict(X).tolist())
    assert results[0] == results[1] == [1] * n  # the class of least cost, not the majority


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"pruning": BoundPruner(score=lambda *_: 0.0)}, "pruning.score"),
        ({"pruning": PRUNERS["cost-complexity"](folds=ShuffleSplit(3))}, "pruning.folds"),
        ({"cv": RepeatedKFold(n_splits=2, n_repeats=1)}, "cv"),
        ({"pruning": type("Mine", (BoundPruner,), {})(weight=0.5)}, "pruning"),
    ],
)
def test_what_a_file_cannot_hold_is_refused_by_name(
    options: dict[str, Any], name: str, tmp_path: Any
) -> None:
    frame, y = _rows(np.random.default_rng(0))
    clf = tb.BoundTreeClassifier(**options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf.fit(frame[["age", "colour"]], y)
    with pytest.raises(ValueError, match=f"cannot hold the value of '{name}'"):
        clf.save(tmp_path / "model.json")
    assert not (tmp_path / "model.json").exists()


def test_the_hint_for_a_splitter_can_be_followed(tmp_path: Any) -> None:
    frame, y = _rows(np.random.default_rng(0))
    splitter = ShuffleSplit(3, random_state=0)
    clf = tb.BoundTreeClassifier(cv=splitter).fit(frame, y)
    with pytest.raises(ValueError, match=r"lists of folds, such as \[\*splitter.split\(X, y\)\]"):
        clf.save(tmp_path / "model.json")
    listed = tb.BoundTreeClassifier(cv=[*splitter.split(frame, y)]).fit(frame, y)
    listed.save(tmp_path / "model.json")
    assert tb.BoundTreeClassifier.load(tmp_path / "model.json").estimate_ == clf.estimate_


@pytest.mark.parametrize("splitter", [GroupKFold(3), KFold(3, shuffle=True, random_state=2)])
def test_a_pruner_is_stored_with_its_splitter(splitter: Any, tmp_path: Any) -> None:
    frame, y = _rows(np.random.default_rng(0))
    clf = tb.BoundTreeClassifier(pruning=BoundPruner(rule="small", folds=splitter))
    clf.fit(frame, y, groups=np.arange(len(y)) // 2)
    clf.save(tmp_path / "model.json")
    read = tb.BoundTreeClassifier.load(tmp_path / "model.json").get_params()["pruning__folds"]
    assert (type(read), vars(read)) == (type(splitter), vars(splitter))


def test_options_without_parameters_are_refused_and_delta_is_kept() -> None:
    frame, y = _rows(np.random.default_rng(0))
    clf = tb.BoundTreeClassifier(criterion="gini").fit(frame, y)
    bare = replace(clf.model_, provenance=replace(clf.model_.provenance, parameters={}))
    with pytest.raises(ValueError, match="options of growing"):
        dumps(replace(bare, options=replace(bare.options, max_depth=3)))
    tree = tb.Model(clf.tree_, evidence=Evidence(0.2))
    assert loads(dumps(tree)).evidence.delta == 0.2
    assert (loads(dumps(tree)).importances == tree.importances).all()
