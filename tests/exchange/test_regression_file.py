"""Files of regression models: everything reads back, and damaged files are refused."""

from __future__ import annotations

import copy
import json
import math
import random
import warnings
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_trees import random_tree, regression_tree
from sklearn.model_selection import KFold

import treebound as tb
from treebound.exchange import (
    FormatError,
    load,
    load_regression,
    regression_json_schema,
    save,
)
from treebound.exchange.regression_file import parse_regression, regression_text
from treebound.model import RegressionModel
from treebound.pruning import SquaredErrorPruner


def table(rows=300, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "size": rng.normal(size=rows).round(2),
            "colour": rng.choice(["red", "green", "blue"], rows),
            "unused": rng.choice(["secret a", "secret b"], rows),
        }
    )
    X.loc[rng.random(rows) < 0.1, "size"] = np.nan
    y = 3.0 * (X["size"].fillna(0.0) > 0.2) + 2.0 * (X["colour"] == "red") + rng.normal(size=rows)
    return X, pd.Series(y.round(3), name="price")


def fitted(**options) -> RegressionModel:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tb.BoundTreeRegressor(**options).fit(*table()).model_


OPTIONS = [
    {},
    {"pruning": None, "max_leaves": 5},
    {"max_leaves": 4, "handle_unknown": "stop"},
    {"certificate": "held-out"},
    {"pruning": "cost-complexity", "monotonic_cst": {"size": 1}},
    {"clip": (0.05, 0.95), "smoothing": ("F", 4.0), "size": "small"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_what_is_read_back_is_what_was_saved(options, tmp_path):
    model = fitted(**options)
    save(model, tmp_path / "model.json")
    again = load_regression(tmp_path / "model.json")
    assert regression_text(again) == regression_text(model)
    for name in ("tree", "grown"):
        one, other = getattr(again, name), getattr(model, name)
        for array in ("feature", "threshold", "missing_left", "value", "moments", "sums", "rows"):
            np.testing.assert_array_equal(getattr(one, array), getattr(other, array))
    X, _ = table(seed=1)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.summary() == model.summary()
    assert (again.estimate, again.clip) == (model.estimate, model.clip)
    assert again.evidence.sizes == model.evidence.sizes
    assert again.options == model.options
    assert again.reading == model.reading
    assert again.certificate == model.certificate
    assert again.provenance.draw == model.provenance.draw
    np.testing.assert_array_equal(again.evidence.residuals, model.evidence.residuals)
    if model.pruning is not None:
        assert again.pruning.choice == model.pruning.choice
        back = len(again.path) // 2  # large steps are not stored: counted from the last one
        chosen = model.prune_to(step=len(model.path) - back)
        other = again.prune_to(step=len(again.path) - back)
        np.testing.assert_array_equal(other.tree.value, chosen.tree.value)
        assert parse_regression(regression_text(chosen)).step == len(again.path) - back


@given(st.integers(0, 10**6), st.integers(1, 12))
@settings(max_examples=40)
def test_a_bare_tree_reads_back_as_it_was(seed, leaves):
    tree = regression_tree(random_tree(seed, leaves), seed)
    again = parse_regression(regression_text(RegressionModel(tree))).tree
    for attribute in fields(tree):
        before, after = getattr(tree, attribute.name), getattr(again, attribute.name)
        if attribute.name not in ("columns", "category"):  # of categories only those in use
            np.testing.assert_array_equal(before, after, attribute.name)


def test_path_and_rows_are_optional_and_no_unused_category_is_stored():
    model = fitted(certificate="held-out", max_leaves=3)
    assert 2 not in model.tree.feature
    short = regression_text(model, pruning_path=False, row_record=False)
    assert "secret" not in short
    again = parse_regression(short)
    assert (again.pruning, again.evidence.calibration, again.provenance.row_record) == (
        None,
        None,
        None,
    )
    np.testing.assert_array_equal(again.tree.value, model.tree.value)


def test_files_follow_the_schema(document):
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(regression_json_schema())
    validator.validate(document)
    assert not validator.is_valid({**document, "version": 2})


def test_the_two_formats_are_distinguished(tmp_path):
    clf = tb.BoundTreeClassifier().fit(*load_classes())
    clf.save(tmp_path / "classes.json")
    save(fitted(), tmp_path / "numbers.json")
    with pytest.raises(FormatError, match="format must be 'treebound-regression-model'"):
        load_regression(tmp_path / "classes.json")
    with pytest.raises(
        FormatError, match=r"format must be 'treebound-model'.*BoundTreeRegressor\.load"
    ):
        load(tmp_path / "numbers.json")


def load_classes():
    X, y = table()
    return X[["size"]], (y > 2).astype(str)


@pytest.fixture(scope="module")
def document():
    return json.loads(regression_text(fitted(certificate="held-out")))


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda d: d.update(version=2), "version"),
        (lambda d: d["nodes"]["value"].append(1.0), r"nodes\.value"),
        (lambda d: d["nodes"]["value"].__setitem__(0, None), r"nodes\.value"),
        (lambda d: d["nodes"].update(moments=[[1.0, 1.0, 1.0]]), "nodes must have 'sums'"),
        (lambda d: d["nodes"]["sums"][0].__setitem__(0, 0), r"nodes\.sums"),
        (lambda d: d["nodes"]["sums"][0].__setitem__(1, 7), "nodes is not a tree"),
        (lambda d: d["nodes"]["units"].update(unit=0.0), r"nodes\.units\.unit"),
        (lambda d: d["residuals"].reverse(), "residuals must not decrease"),
        (lambda d: d["calibration"]["nodes"].__setitem__(0, 10**6), r"calibration\.nodes\[0\]"),
        (lambda d: d["pruning"].update(chosen=10**6), r"pruning\.chosen"),
        (lambda d: d["parameters"].update(unknown=1), r"parameters\.unknown"),
        (lambda d: d["parameters"].update(max_leaves=-1), "parameters are not valid"),
        (lambda d: d.update(clip=[2.0, 1.0]), "clip"),
        (lambda d: d.update(swapped=[10**6]), "swapped"),
        (lambda d: d.update(extra=1), "extra is not a field"),
    ],
)
def test_damage_is_refused_with_its_place(document, change, place):
    damaged = copy.deepcopy(document)
    change(damaged)
    with pytest.raises(FormatError, match=place):
        parse_regression(json.dumps(damaged))


SCALARS = [None, True, -1, 0, 1, 2**31, -(2**70), 0.5, 1e308, 5e-324, "inf", "", [], {}, [[]]]


@given(st.integers(0, 2**32))
@settings(max_examples=300)
def test_random_damage_is_refused_or_harmless(document, seed):
    rng = random.Random(seed)
    damaged = copy.deepcopy(document)
    for _ in range(rng.randrange(1, 4)):
        where: object = damaged
        while isinstance(where, dict | list) and where:
            key = rng.choice(list(where) if isinstance(where, dict) else range(len(where)))
            if rng.random() < 0.3 or not isinstance(where[key], dict | list) or not where[key]:
                if rng.random() < 0.8:
                    where[key] = copy.deepcopy(rng.choice(SCALARS))
                else:
                    del where[key]
                break
            where = where[key]
    try:
        read = parse_regression(json.dumps(damaged))
    except FormatError:
        return
    tree = read.tree
    assert tree.n_nodes == 2 * tree.n_leaves - 1
    assert np.isfinite(tree.value).all()
    parse_regression(regression_text(read))


@pytest.mark.parametrize(
    "pruner",
    [
        SquaredErrorPruner(),
        SquaredErrorPruner(weight=0.7, folds=None, smoothing=("F", 2.0)),
        SquaredErrorPruner(
            price="cost-complexity", rule="small", folds=KFold(3), random_state=4, n_jobs=2
        ),
    ],
)
def test_pruner_objects_are_stored(pruner, tmp_path):
    regressor = tb.BoundTreeRegressor(pruning=pruner).fit(*table())
    regressor.save(tmp_path / "model.json")
    loaded = tb.BoundTreeRegressor.load(tmp_path / "model.json")
    assert type(loaded.pruning) is SquaredErrorPruner
    names = vars(pruner).keys() - {"folds"}
    assert [vars(loaded.pruning)[name] for name in names] == [vars(pruner)[name] for name in names]
    assert repr(loaded.pruning.folds) == repr(pruner.folds)
    again = tb.BoundTreeRegressor(**loaded.get_params(deep=False)).fit(*table())
    assert again.to_text() == regressor.to_text()


def test_pruners_belong_to_one_kind_of_target(tmp_path):
    document = json.loads(regression_text(fitted(pruning=SquaredErrorPruner())))
    assert document["parameters"]["pruning"]["name"] == "squared-error"
    for name, parameters in (("bound", {}), ("squared-error", {"weight": -1.0})):
        damaged = copy.deepcopy(document)
        damaged["parameters"]["pruning"] = {
            "type": "pruner",
            "name": name,
            "parameters": parameters,
        }
        with pytest.raises(FormatError, match=r"'pruning'|'weight'"):
            parse_regression(json.dumps(damaged).encode())
    X, y = table()
    with pytest.raises(ValueError, match="a pruner of trees of classes"):
        tb.BoundTreeClassifier(pruning=SquaredErrorPruner()).fit(X, y > 1.0)


def test_numbers_that_json_cannot_hold_are_refused():
    model = RegressionModel(regression_tree(random_tree(1, 3), 1))
    changed = replace(model, clip=(0.0, math.inf))
    with pytest.raises(FormatError):
        parse_regression(regression_text(changed))
