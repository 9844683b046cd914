"""The written model format: exact round trips, and a clear refusal of everything else."""

from __future__ import annotations

import base64
import copy
import json
import random
from dataclasses import replace

import jsonschema
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_trees import cases, random_tree

import treebound as tb
from treebound import Model
from treebound.certificate.row_record import RowRecord
from treebound.data import Column
from treebound.data.row_hashes import RowSketch
from treebound.exchange import FormatError, dumps, json_schema, load, loads, save
from treebound.model import Evidence, PredictionOptions, ReadingOptions
from treebound.pruning import PruningResult
from treebound.pruning.path import ListedPath
from treebound.tree import Tree

ARRAYS = (
    "feature", "threshold", "category", "missing_left", "left", "right", "counts", "rows", "label",
)  # fmt: skip


def same(
    one: Tree,
    other: Tree,
    columns: tuple[Column, ...] | None = None,
    *,
    only_named: bool = True,
) -> None:
    for name in ARRAYS:
        if name != "category":  # its codes are those of the categories that are listed
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
        assert getattr(one, name).dtype == getattr(other, name).dtype
    assert named_categories(one) == named_categories(other)
    columns = listed(one, only_named) if columns is None else columns
    assert columns == other.columns
    types = [[type(v) for v in c.categories or ()] for c in columns]
    assert types == [[type(v) for v in c.categories or ()] for c in other.columns]
    assert one.classes.tolist() == other.classes.tolist()
    assert one.classes.dtype == other.classes.dtype


def named_categories(tree: Tree) -> list:
    """The category of every split on a nominal column, None for missing."""
    named = []
    for feature, code in zip(tree.feature.tolist(), tree.category.tolist(), strict=True):
        if feature >= 0 and tree.columns[feature].kind == "nominal":
            categories = tree.columns[feature].categories
            named.append(categories[code] if code < len(categories) else None)
    return named


def listed(tree: Tree, only_named: bool) -> tuple[Column, ...]:
    """The columns as a file has them: categories of columns without a split are only counted."""
    columns = []
    for at, column in enumerate(tree.columns):
        size = column.n_categories
        if column.categories and at not in tree.feature:
            column = replace(column, categories=None, unlisted=size)
        elif column.kind == "nominal" and only_named and not isinstance(column.categories[0], bool):
            codes = set(tree.category[tree.feature == at].tolist())
            named = tuple(
                category for code, category in enumerate(column.categories) if code in codes
            )
            if not isinstance(column.categories[0], str):
                named = named or column.categories[:1]  # numbers keep their type
            column = replace(column, categories=named, unlisted=size - len(named))
        columns.append(column)
    return tuple(columns)


def document(seed: int = 3, leaves: int = 8) -> dict:
    return json.loads(dumps(Model(random_tree(seed, leaves))))


@given(cases(leaves=30, rows=1))
@settings(max_examples=60)
def test_a_tree_reads_back_as_it_was(case):
    reading, prediction = ReadingOptions("stop"), PredictionOptions(None)
    text = dumps(Model(case.tree, reading=reading, prediction=prediction))
    model = loads(text)
    same(case.tree, model.tree, only_named=False)
    assert (model.reading.handle_unknown, model.prediction.smoothing) == ("stop", None)
    assert dumps(model) == text
    text = dumps(Model(case.tree))
    same(case.tree, loads(text).tree)
    assert dumps(loads(text)) == text


@given(cases(leaves=12, rows=1))
@settings(max_examples=30)
def test_what_is_written_follows_the_schema(case):
    jsonschema.Draft202012Validator(json_schema()).validate(json.loads(dumps(Model(case.tree))))


def test_weights_and_thresholds_are_kept_to_the_last_bit(tmp_path):
    rng = np.random.default_rng(0)
    base = random_tree(1, 2, n_columns=1)
    leaves = rng.random((2, base.n_classes)) / 3
    tree = Tree(
        feature=[0, -1, -1], threshold=[np.nextafter(0.1, 1), np.nan, np.nan],
        category=[-1, -1, -1], missing_left=[True, False, False], left=[1, -1, -1],
        right=[2, -1, -1], counts=[leaves.sum(axis=0), *leaves], rows=[7, 3, 4], weighted=True,
        columns=(type(base.columns[0])("x"),), classes=base.classes,
    )  # fmt: skip
    save(Model(tree), tmp_path / "model.json")
    same(tree, load(tmp_path / "model.json").tree)


@pytest.mark.parametrize(
    "classes",
    [["a", "b", "c"], [1, 2, 3], [0.5, 1.5, 2.5], np.array(["x", "yy", "z"], dtype=object),
     np.array([1, 2, 3], dtype=np.uint8), np.array([1, 2, 2**63], dtype=np.uint64)],
)  # fmt: skip
def test_class_labels_keep_their_type(classes):
    tree = random_tree(5, 3, n_classes=3)
    fields = {name: getattr(tree, name) for name in ARRAYS}
    tree = Tree(**fields, columns=tree.columns, classes=np.asarray(classes))
    same(tree, loads(dumps(Model(tree))).tree)


def test_class_labels_of_other_types_are_refused_when_saving():
    tree = random_tree(5, 2, n_classes=2)
    fields = {name: getattr(tree, name) for name in ARRAYS}
    classes = np.array([(1, 2), (3, 4)], dtype="i4,i4").astype(object)
    with pytest.raises(ValueError, match="strings, integers, finite numbers or booleans"):
        dumps(Model(Tree(**fields, columns=tree.columns, classes=classes)))


@pytest.mark.parametrize("chain", [True, False])
def test_a_tree_of_a_hundred_thousand_nodes_loads(chain):
    tree = random_tree(2, 50_001, chain=chain)
    same(tree, loads(dumps(Model(tree))).tree)


def break_at(path: str, value: object):
    def change(model: dict) -> None:
        *parents, last = [int(p) if p.isdigit() else p for p in path.split("/")]
        for part in parents:
            model = model[part]
        if value is DELETE:
            del model[last]
        else:
            model[last] = value

    return change


DELETE = object()
TWO = base64.b64encode(np.array([3, 7], dtype="<u8").tobytes()).decode()
SAME = base64.b64encode(np.array([7, 7], dtype="<u8").tobytes()).decode()
BROKEN = [
    ("format", "something", "format"),
    ("version", 0, "version"),
    ("version", 1, "version"),
    ("version", 3, "version"),
    ("version", True, "version"),
    ("version", 2.0, "version"),
    ("extra", 1, "extra"),
    ("target", 1, "target"),
    ("nodes", [], "nodes"),
    ("nodes", DELETE, "nodes"),
    ("nodes/right", DELETE, "nodes.right"),
    ("nodes/left", [], "nodes.left"),
    ("nodes/right/0", 1, "nodes"),
    ("nodes/right/0", -1, "nodes"),
    ("nodes/right/14", 3, "nodes.right[14]"),
    ("nodes/right/0", 10**30, "nodes.right[0]"),
    ("nodes/right/0", 2**40, "nodes.right[0]"),
    ("nodes/names", [0], "nodes.names"),
    ("nodes/weighted", 1, "nodes.weighted"),
    ("nodes/counted", None, "nodes.counted"),
    ("nodes/feature/0", 99, "nodes.feature[0]"),
    ("nodes/feature/0", 0.0, "nodes.feature[0]"),
    ("nodes/feature/0", True, "nodes.feature[0]"),
    ("nodes/feature/0", -1, "nodes.category[0]"),
    ("nodes/counts/0/0", -1, "nodes.counts[0][0]"),
    ("nodes/counts/0/0", 10**400, "nodes.counts[0][0]"),
    ("nodes/counts/0/0", 10**6, "nodes"),
    ("nodes/counts/0", [1], "nodes.counts[0]"),
    ("nodes/counts/0", "abc", "nodes.counts[0]"),
    ("nodes/rows/0", 10**6, "nodes"),
    ("nodes/rows/14", -1, "nodes.rows[14]"),
    ("nodes/label/2", 3, "nodes.label[2]"),
    ("nodes/missing_left/1", 0, "nodes.missing_left[1]"),
    ("nodes/threshold/14", 0.5, "nodes.threshold[14]"),
    ("nodes/category/14", 0, "nodes.category[14]"),
    ("nodes/more", [], "nodes.more"),
    ("classes/values", [], "classes.values"),
    ("classes/values/0", None, "classes.values[0]"),
    ("classes/type", "integer", "classes.values[0]"),
    ("classes/dtype", "U16000", "classes.dtype"),
    ("classes/dtype", "int8", "classes.dtype"),
    ("classes/dtype", 7, "classes.dtype"),
    ("classes/dtype", "M8[s]", "classes.dtype"),
    ("columns", {}, "columns"),
    ("columns/0/kind", "text", "columns[0].kind"),
    ("columns/0/name", 5, "columns[0].name"),
    ("columns/0/missing", 1, "columns[0].missing"),
    ("columns/0/more", 1, "columns[0].more"),
    ("prediction", {"handle_unknown": "guess"}, "prediction.handle_unknown"),
    ("prediction", {"smoothing": []}, "prediction.smoothing"),
    ("prediction", {"other": 1}, "prediction.other"),
    ("parameters", 3, "parameters"),
    ("certificate", [], "certificate"),
    ("pruning", {"cuts": [[]]}, "pruning.grown"),
    ("pruning", {"cuts": 3}, "pruning.cuts"),
    ("pruning", 3, "pruning"),
    ("held_out", [], "held_out"),
    ("made_by", None, "made_by"),
    ("named", "yes", "named"),
    ("prediction", None, "prediction"),
    ("parameters", {"depth": 3}, "parameters.depth"),
    ("parameters", {"class_weight": {"0": 5}}, "parameters.class_weight"),
    ("parameters", {"class_weight": {"type": "call", "values": []}}, "parameters.class_weight"),
    (
        "parameters",
        {"class_weight": {"type": "mapping", "items": [[0, 1], [0, 2]]}},
        "parameters.class_weight",
    ),
    (
        "parameters",
        {"class_weight": {"type": "mapping", "items": [[[0], 1]]}},
        "parameters.class_weight",
    ),
    (
        "parameters",
        {"monotonic_cst": {"type": "array", "dtype": "int8", "values": [300]}},
        "parameters.monotonic_cst",
    ),
    (
        "parameters",
        {"pruning": {"type": "pruner", "name": "mine", "parameters": {}}},
        "parameters.pruning",
    ),
    (
        "parameters",
        {"pruning": {"type": "pruner", "name": "bound", "parameters": {"x": 1}}},
        "parameters.pruning",
    ),
    (
        "parameters",
        {"pruning": {"type": "pruner", "name": "bound", "parameters": {"delta": 2}}},
        "parameters.pruning",
    ),
    ("delta", 1.0, "delta"),
    ("parameters", {"max_leaves": 0}, "parameters"),
    ("no_certificate", None, "no_certificate"),
    ("nodes/factors", [1.0], "nodes.factors"),
    ("nodes/factors", [1.0, 0.0, 1.0], "nodes.factors[1]"),
    ("nodes/factors", [1.0, "2", 1.0], "nodes.factors[1]"),
    ("held_out", {"m": 3, "errors": 1}, "held_out.counts"),
    ("held_out", {"m": 0, "errors": 0, "counts": []}, "held_out.m"),
    ("held_out", {"m": 3, "errors": 1, "counts": [[1, 1, 1]]}, "held_out.counts"),
    ("held_out", {"m": 3, "errors": 1, "counts": [[1, 1]] * 15}, "held_out.counts[0]"),
    ("held_out", {"m": 3, "errors": 1, "counts": [[1, 1, 0]] * 15}, "held_out"),
    ("held_out", {"m": 3, "errors": 4, "counts": [[1, 1, 1]] * 15}, "held_out"),
    ("swapped", [14], "swapped[0]"),
    ("swapped", [0, 99], "swapped[1]"),
    ("swapped", [0, -1], "swapped[1]"),
    ("rows", [], "rows"),
    ("rows", {"test": {}}, "rows"),
    ("rows", {"training": {"hashes": "", "counts": []}}, "rows[...].rows"),
    ("rows", {"training": {"hashes": "!", "counts": [], "rows": 0}}, "rows[...].hashes"),
    ("rows", {"training": {"hashes": "", "counts": [1], "rows": 1}}, "rows.training.hashes"),
    ("rows", {"training": {"hashes": TWO, "counts": [1, 0], "rows": 1}}, "rows[...].counts[1]"),
    ("rows", {"training": {"hashes": TWO, "counts": [1, 1], "rows": 3}}, "rows.training.rows"),
    ("rows", {"training": {"hashes": SAME, "counts": [1, 1], "rows": 2}}, "rows.training.hashes"),
]


@pytest.mark.parametrize(("path", "value", "named"), BROKEN)
def test_a_broken_document_is_refused_with_the_place(path, value, named):
    model = document()
    break_at(path, value)(model)
    with pytest.raises(FormatError) as caught:
        loads(json.dumps(model))
    assert caught.value.path == named


def test_inner_nodes_whose_children_are_swapped_are_read_back():
    model = document()
    inner = [node for node, left in enumerate(loads(json.dumps(model)).tree.left) if left > 0]
    model["swapped"] = inner
    assert loads(json.dumps(model)).swapped == tuple(inner)
    assert json.loads(dumps(loads(json.dumps(model))))["swapped"] == inner


def test_a_number_past_the_doubles_is_refused():
    model = document()
    model["nodes"]["counts"][0][0] = 12345
    with pytest.raises(FormatError) as caught:
        loads(json.dumps(model).replace("12345", "1e999"))
    assert caught.value.path == "nodes.counts[0][0]"


def test_tests_need_their_own_kind_of_value():
    tree = random_tree(11, 12, n_columns=6)
    model = json.loads(dumps(Model(tree)))
    kinds = [tree.columns[f].kind if f >= 0 else "leaf" for f in tree.feature]
    nominal, real = kinds.index("nominal"), kinds.index("real")
    for name, node, value in [
        ("threshold", nominal, 1.0),
        ("threshold", real, None), ("threshold", real, "1.5"), ("category", real, 0),
        ("threshold", real, "-inf"), ("threshold", real, [1]),
    ]:  # fmt: skip
        broken = copy.deepcopy(model)
        broken["nodes"][name][node] = value
        with pytest.raises(FormatError) as caught:
            loads(json.dumps(broken))
        assert caught.value.path == f"nodes.{name}[{node}]"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is not JSON"),
        ("[]", "must be a JSON object"),
        ("null", "must be a JSON object"),
        ('{"format": NaN}', "NaN"),
        ('{"format": 1, "format": 2}', "given twice"),
        ("[" * 200_000, "nested too deeply"),
        ('{"version": ' + "9" * 10_000 + "}", "is not JSON in UTF-8"),
        (b"\xff\xfe\x00", "not"),
        ('{"format": "\\ud800"}', "surrogates not allowed"),
        ('{"\\udfff": 1}', "surrogates not allowed"),
        ('{"format": "\ud800"}', "surrogates not allowed"),
    ],
)
def test_text_that_is_no_model_is_refused(text, problem):
    with pytest.raises(FormatError, match=problem):
        loads(text)


def test_a_truncated_file_is_refused_with_its_name(tmp_path):
    path = tmp_path / "half.json"
    text = dumps(Model(random_tree(4, 9)))
    path.write_text(text[: len(text) // 2], encoding="utf-8")
    with pytest.raises(FormatError, match=r"half\.json.*is not JSON"):
        load(path)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (break_at("nodes/feature/0", 99), "model.json: nodes.feature[0] "),
        (break_at("format", "other"), "model.json: format "),
        (None, "model.json must be a JSON object"),
    ],
)
def test_a_file_that_is_refused_is_named_with_the_place(change, place, tmp_path):
    path, model = tmp_path / "model.json", document()
    if change is not None:
        change(model)
    path.write_text(json.dumps(model if change is not None else []), encoding="utf-8")
    with pytest.raises(FormatError) as caught:
        load(path)
    assert str(caught.value).startswith(f"Not a valid treebound model: {tmp_path}/{place}")


def test_a_pair_of_surrogates_is_one_character():
    model = document()
    model["target"] = "🙂"
    assert loads(json.dumps(model, ensure_ascii=True)).reading.target == "🙂"


def test_text_that_cannot_be_written_is_refused_when_saving():
    with pytest.raises(ValueError, match="a lone surrogate"):
        dumps(Model(random_tree(1, 2), reading=ReadingOptions(target="\ud800")))


# -- documents made to use up time or memory: none of these tests would end if it were not linear --


def step_document() -> dict:
    """A model with a pruning path of three steps."""
    tree = random_tree(3, 4)
    inner = np.flatnonzero(~tree.is_leaf)
    cuts = [np.array([], dtype=np.intp), inner[-1:], np.array([0])]
    errors = np.array([1.0, 2.0, 9.0])
    path = ListedPath(tree, cuts, errors, np.array([3.0, np.inf, 2.5]), chosen=1, unit="costs")
    result = PruningResult(path.tree(1), path, 0.0, fit_time=0.0)
    return json.loads(dumps(Model(path.tree(2), pruning=result, step=2)))


def test_a_path_reads_back_as_it_was():
    model = step_document()
    jsonschema.Draft202012Validator(json_schema()).validate(model)
    read = loads(json.dumps(model))
    path = read.path
    assert (path.chosen, read.step, path.unit) == (1, 2, "costs")
    assert len(path) == path.n_considered == 3
    assert path.leaves.tolist() == [4, path.tree(1).n_leaves, 1]
    assert path.errors.tolist() == [1.0, 2.0, 9.0]
    assert path.scores[[0, 2]].tolist() == [3.0, 2.5]
    assert np.isnan(path.scores[1])
    same(read.tree, path.tree(2), path.first.columns)
    assert json.loads(dumps(read)) == model


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        ("pruning/chosen", 3, "pruning.chosen"), ("pruning/chosen", None, "pruning.chosen"),
        ("pruning/step", -1, "pruning.step"), ("pruning/n_steps", 2, "pruning.n_steps"),
        ("pruning/unit", 3, "pruning.unit"), ("pruning/errors/0", -1, "pruning.errors[0]"),
        ("pruning/errors", [1], "pruning.errors"), ("pruning/scores/0", "x", "pruning.scores[0]"),
        ("pruning/scores", None, "pruning.scores"), ("pruning/cuts", [], "pruning.cuts"),
        ("pruning/cuts/0", [6], "pruning.cuts[0][0]"),
        ("pruning/cuts/0", [99], "pruning.cuts[0][0]"),
        ("pruning/cuts/2", [0, 0], "pruning.cuts[2]"), ("pruning/cuts/2", "0", "pruning.cuts[2]"),
        ("pruning/cuts/2", {}, "pruning.cuts[2].feature"), ("pruning/more", 1, "pruning.more"),
        ("pruning/grown/rows/0", 3, "pruning.grown"),
    ],
)  # fmt: skip
def test_a_broken_path_is_refused_with_the_place(path, value, named):
    model = step_document()
    break_at(path, value)(model)
    with pytest.raises(FormatError) as caught:
        loads(json.dumps(model))
    assert caught.value.path == named


def fitted(
    certify: str = "training", **options: object
) -> tuple[tb.BoundTreeClassifier, pd.DataFrame, np.ndarray]:
    """A classifier whose table has a column of 200 addresses that the tree does not use."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "mail": [f"person{i % 200}@example.org" for i in range(600)],
            "colour": rng.choice(["red", "green", "blue"], 600),
            "x": rng.normal(size=600).round(2),
        }
    )
    y = np.where((frame["x"] > 0) ^ (rng.random(600) < 0.1), "yes", "no")
    y = np.where(frame["colour"] == "red", "red", y)
    clf = tb.BoundTreeClassifier(certificate=certify, min_samples_leaf=5, **options)
    return clf.fit(frame, y), frame, y


def test_categories_of_columns_that_are_not_used_are_only_counted(tmp_path):
    clf, frame, y = fitted()
    clf.save(tmp_path / "model.json")
    text = (tmp_path / "model.json").read_text(encoding="utf-8")
    assert "example.org" not in text
    assert "red" in text
    alone = dumps(clf.model_, pruning_path=False)
    assert "red" in alone
    assert "green" not in alone
    assert "blue" not in alone
    assert json.loads(text)["columns"][0]["categories"] == 200
    again = tb.BoundTreeClassifier.load(tmp_path / "model.json")
    assert again.predict(frame).tolist() == clf.predict(frame).tolist()
    assert again.landscape_ == clf.landscape_
    assert again.certificate_ == clf.certificate_
    assert dumps(again.model_) == text
    assert "example.org" not in again.to_html()
    pruned = tb.prune(again, frame, y)
    assert pruned.tree_.n_leaves == tb.prune(clf, frame, y).tree_.n_leaves


@pytest.fixture(scope="module")
def stored() -> dict[str, dict]:
    """Documents of models with all that they can rest on."""
    classifiers = {kind: fitted(kind)[0] for kind in ("training", "held-out", "prior")}
    models = {kind: clf.model_ for kind, clf in classifiers.items()}
    models["abstaining"] = classifiers["held-out"].abstain(max_risk=0.3).model_
    documents = {name: json.loads(dumps(model)) for name, model in models.items()}
    documents["training"]["pruning"]["choice"].update(
        weight=0.5, rule="small", weights=[0.2, 0.5], losses=[0.1, 0.2], leaves=[5, 3]
    )
    return documents


@pytest.mark.parametrize(
    ("kind", "path", "value", "named"),
    [
        ("training", "estimate/recall", [0.5, 0.5], "estimate.recall"),
        ("training", "estimate/confusion/0/0", 1, "estimate.confusion"),
        ("training", "estimate/confusion", [[600]], "estimate.confusion"),
        ("training", "estimate/baseline_label", "other", "estimate.baseline_label"),
        ("training", "estimate/interval", [0.2, 0.3], "estimate.interval"),
        ("training", "estimate/interval", [0.0, 0.01], "estimate.interval"),
        ("training", "pruning/choice/losses", [0.1], "pruning.choice.losses"),
        ("training", "pruning/choice/leaves", [1, 2, 3], "pruning.choice.leaves"),
        ("training", "pruning/choice/strengths", [1.0], "pruning.choice.strengths"),
        ("training", "pruning/choice/weight", 0.3, "pruning.choice.weight"),
        ("prior", "frontier/step", 99, "frontier.step"),
        ("prior", "proof/log_splits", [0.0], "proof"),
        ("prior", "proof/log_stops", [0.0], "proof"),
        ("prior", "frontier/trees/0/proof/log_stops", [], "frontier.trees[0].proof"),
        ("held-out", "draw/calibration/rule", "stratified", "draw.calibration"),
        ("held-out", "draw/validation", {"rule": "stratified", "key": 1}, "draw"),
        ("abstaining", "abstention/errors", 151, "abstention"),
        ("abstaining", "abstention/predicted", 151, "abstention"),
        ("abstaining", "abstention/m", 149, "abstention"),
        ("abstaining", "abstention/predicts", [True], "abstention.predicts"),
    ],
)
def test_false_evidence_is_refused_with_the_place(kind, path, value, named, stored):
    model = copy.deepcopy(stored[kind])
    loads(json.dumps(model))
    break_at(path, value)(model)
    with pytest.raises(FormatError) as caught:
        loads(json.dumps(model))
    assert caught.value.path == named


def test_evidence_at_the_ends_of_its_range_is_read(stored):
    model = copy.deepcopy(stored["training"])
    error = model["estimate"]["error"]
    model["estimate"]["recall"][1] = None
    for interval in ([error, 1.0], [0.0, error]):
        model["estimate"]["interval"] = interval
        estimate = loads(json.dumps(model)).evidence.estimate
        assert estimate.interval == tuple(interval)
    assert np.isnan(estimate.recall[1])
    assert estimate.recall[0] == model["estimate"]["recall"][0]
    choice = loads(json.dumps(model)).pruning.choice
    assert (choice.weights, choice.losses, choice.leaves) == ((0.2, 0.5), (0.1, 0.2), (5, 3))
    assert np.isnan(choice.standard_error)
    model["estimate"]["confusion"] = []
    assert loads(json.dumps(model)).evidence.estimate.confusion == ()
    model = copy.deepcopy(stored["abstaining"])
    model["abstention"].update(errors=150, predicted=150, m=150)
    abstention = loads(json.dumps(model)).abstention
    assert (abstention.errors, abstention.predicted, abstention.m) == (150, 150, 150)
    model = copy.deepcopy(stored["prior"])
    last = len(model["frontier"]["trees"]) - 1
    model["frontier"].update(chosen=0, step=last)
    assert loads(json.dumps(model)).step == last


def test_everything_that_a_model_rests_on_is_written_again(stored):
    for model in stored.values():
        assert json.loads(dumps(loads(json.dumps(model)))) == model


def test_a_split_on_a_column_without_its_categories_is_refused():
    clf, _, _ = fitted()
    model = json.loads(dumps(clf.model_))
    model["columns"][1].update(categories=3, unlisted=0)
    with pytest.raises(FormatError) as caught:
        loads(json.dumps(model))
    assert caught.value.path == "columns[1].categories"


@pytest.mark.parametrize("weight", [None, "balanced"])
@pytest.mark.parametrize("certify", ["training", "held-out"])
def test_a_file_without_the_pruning_path_has_the_tree_and_its_certificate(certify, weight):
    clf, frame, _ = fitted(certify, class_weight=weight)
    model = loads(dumps(clf.model_, pruning_path=False))
    same(clf.tree_, model.tree)
    assert model.path is None
    assert model.certificate.risk == clf.certificate_.risk
    assert model.predict(frame).tolist() == clf.predict(frame).tolist()
    moved = loads(dumps(clf.model_.prune_to(leaves=2), pruning_path=False))
    assert moved.tree.n_leaves == 2
    if certify == "held-out":  # the other steps share delta, which the file no longer states
        assert moved.certificate is None
        assert "without its pruning path" in moved.certificate_reason


def test_the_record_of_rows_is_kept_or_omitted():
    clf, frame, y = fitted()
    again = loads(dumps(clf.model_))
    with pytest.raises(ValueError, match="comparable rows equal training rows"):
        again.certify(frame, y)
    for role, sketch in clf.model_.provenance.row_record.sketches.items():
        read = again.provenance.row_record.sketches[role]
        assert (read.hashes.tolist(), read.counts.tolist(), read.rows) == (
            sketch.hashes.tolist(), sketch.counts.tolist(), sketch.rows,
        )  # fmt: skip
    assert loads(dumps(clf.model_, row_record=False)).provenance.row_record is None
    jsonschema.Draft202012Validator(json_schema()).validate(json.loads(dumps(clf.model_)))


def test_a_reason_against_a_certificate_and_class_weights_are_kept():
    tree = replace(random_tree(3, 4), weighted=True, factors=(1.0, 2.0, 3.0))
    again = loads(dumps(Model(tree, evidence=Evidence(no_certificate="Rows were weighted."))))
    assert (again.evidence.no_certificate, tuple(again.tree.factors)) == (
        "Rows were weighted.", (1.0, 2.0, 3.0),
    )  # fmt: skip
    assert again.certificate is None


def test_weights_names_and_counts_that_are_none_are_kept():
    tree = replace(
        random_tree(3, 3), weighted=True, counted=False, names=np.array([4, -1, 2, -1, -1])
    )
    model = json.loads(dumps(Model(tree)))
    jsonschema.Draft202012Validator(json_schema()).validate(model)
    read = loads(json.dumps(model)).tree
    assert (read.weighted, read.counted, read.names.tolist()) == (True, False, [4, -1, 2, -1, -1])


def test_a_key_given_twice_among_many_is_refused():
    pairs = ", ".join(f'"k{i}": 0' for i in range(100_000))
    with pytest.raises(FormatError, match="k7 is given twice"):
        loads("{" + pairs + ', "k7": 1}')


def test_many_columns_load_and_one_given_twice_is_named():
    model = document()
    extra = {"kind": "real", "categories": None, "declared": False, "missing": False}
    model["columns"] += [{"name": f"c{i}", **extra} for i in range(50_000)]
    assert len(loads(json.dumps(model)).tree.columns) > 50_000
    model["columns"].append({"name": "c7", **extra})
    with pytest.raises(FormatError, match=r"columns\[\d+\]\.name 'c7' is given twice"):
        loads(json.dumps(model))


def test_one_long_label_among_many_takes_no_memory():
    model = document(leaves=1)
    labels = ["x" * 100_000, *(f"{i:06}" for i in range(50_000))]
    model["classes"] = {"type": "string", "values": labels, "dtype": "str"}
    model["nodes"]["counts"] = [[1] * len(labels)]
    with pytest.raises(FormatError, match=r"classes\.dtype"):
        loads(json.dumps(model))


SCALARS = [None, True, -1, 0, 1, 2**31, -(2**70), 0.5, 1e308, "inf", "", [], {}, [[]], "x" * 99]


@given(st.integers(0, 2**32))
@settings(max_examples=400)
def test_random_damage_is_refused_or_harmless(seed):
    """Fuzz: after any change the document loads as a valid tree or raises FormatError."""
    rng = random.Random(seed)
    model = document(seed=rng.randrange(50), leaves=rng.randrange(1, 8))
    if rng.random() < 0.4:
        model = step_document()
    for _ in range(rng.randrange(1, 4)):
        where: object = model
        while isinstance(where, (dict, list)) and where:
            key = rng.choice(list(where) if isinstance(where, dict) else range(len(where)))
            if rng.random() < 0.3 or not isinstance(where[key], (dict, list)) or not where[key]:
                action = rng.random()
                if action < 0.7:
                    where[key] = copy.deepcopy(rng.choice(SCALARS))
                elif action < 0.85:
                    del where[key]
                elif isinstance(where, list):
                    where.insert(key, copy.deepcopy(where[key]))
                break
            where = where[key]
    try:
        read = loads(json.dumps(model))
    except FormatError:
        return
    tree = read.tree
    if read.path is not None:
        assert read.path.tree().n_leaves == read.path.leaves[read.path.chosen]
    assert tree.n_nodes == 2 * tree.n_leaves - 1
    inner = ~tree.is_leaf
    assert (tree.left[inner] == np.flatnonzero(inner) + 1).all()
    assert tree.size[0] == tree.n_nodes


@given(st.binary(max_size=60))
@settings(max_examples=200)
def test_random_bytes_are_refused(data):
    with pytest.raises(FormatError):
        loads(data)


@pytest.mark.parametrize("rows", [1, RowSketch.SIZE - 1, RowSketch.SIZE, RowSketch.SIZE + 1, 5000])
def test_a_record_of_rows_is_read_back(rows, stored):
    """A sketch has the least hashes of many rows, and all hashes of few."""
    sketch = RowSketch.of(np.random.default_rng(0).integers(0, 2**63, rows, dtype=np.uint64))
    model = loads(json.dumps(stored["training"]))
    record = RowRecord({"training": sketch})
    model = replace(model, provenance=replace(model.provenance, row_record=record))
    read = loads(dumps(model)).provenance.row_record.sketches["training"]
    assert len(read.hashes) == min(rows, RowSketch.SIZE)
    assert read.hashes.tolist() == sketch.hashes.tolist()
    assert (read.counts.tolist(), read.rows) == (sketch.counts.tolist(), rows)
    assert loads(dumps(model, row_record=False)).provenance.row_record is None
    document = json.loads(dumps(model))
    document["rows"]["training"]["rows"] = int(sketch.counts.sum()) - 1
    with pytest.raises(FormatError, match=r"rows\.training\.rows must be the number of rows"):
        loads(json.dumps(document))
