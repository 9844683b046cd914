"""The ONNX export, run by onnxruntime, predicts as the tree does."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_trees import Case, cases, random_rows, random_tree, regression_tree, route
from support import collapsed_root

from treebound.data import Column
from treebound.exchange import to_onnx
from treebound.model import (
    Model,
    PredictionOptions,
    Provenance,
    ReadingOptions,
    RegressionModel,
)
from treebound.tree import Tree
from treebound.tree.smoothing import probabilities

onnxruntime = pytest.importorskip("onnxruntime")
MISSING = "(missing)"


def run(model: Any, feed: dict[str, np.ndarray]) -> tuple[list[Any], np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    label, scores = session.run(["label", "probabilities"], feed)
    return label.tolist(), scores


def feed_of(model: Any, case: Case) -> dict[str, np.ndarray]:
    """The rows as a caller in another language would hand them over."""
    columns = {column.name: column for column in case.tree.columns}
    feed = {}
    for name in (value.name for value in model.graph.input):
        column = columns[name]
        values = [row[column.name] for row in case.rows]
        if column.kind != "real" and isinstance((column.categories or (0,))[0], str):
            given = [[MISSING if value is None else value] for value in values]
            feed[column.name] = np.array(given, dtype=object)
        else:
            given = [[math.nan if value is None else float(value)] for value in values]
            feed[column.name] = np.array(given, dtype=np.float64)
    return feed


def fits_doubles(tree: Tree) -> bool:
    values = [v for c in tree.columns for v in c.categories or () if not isinstance(v, str)]
    return all(float(value) == value for value in values)


@given(cases(leaves=15, rows=30), st.sampled_from(["other", "majority", "stop", "missing"]))
@settings(max_examples=80)
def test_it_predicts_as_the_tree_does(case, handle_unknown):
    assume(fits_doubles(case.tree))
    model = to_onnx(Model(case.tree, reading=ReadingOptions(handle_unknown)), missing_text=MISSING)
    label, scores = run(model, feed_of(model, case))
    nodes = route(case.tree, case.X, handle_unknown)
    assert label == case.labels(nodes)
    expected = probabilities(case.tree)[nodes]
    np.testing.assert_allclose(scores, expected, rtol=1e-6)


@given(
    cases(leaves=15, rows=30),
    st.sampled_from(["other", "majority", "stop", "missing"]),
    st.integers(0, 10**6),
)
@settings(max_examples=60)
def test_it_gives_the_very_numbers_of_a_regression_tree(case, handle_unknown, seed):
    assume(fits_doubles(case.tree))
    tree = regression_tree(case.tree, seed)
    reading = ReadingOptions(handle_unknown)
    model = to_onnx(RegressionModel(tree, reading=reading), missing_text=MISSING)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    (predicted,) = session.run(["prediction"], feed_of(model, case))
    assert predicted.dtype == np.float64
    np.testing.assert_array_equal(predicted, tree.value[route(case.tree, case.X, handle_unknown)])


def test_the_inputs_are_the_columns_that_the_tree_uses():
    tree = next(tree for tree in (random_tree(seed, 3) for seed in range(99)) if is_sparse(tree))
    used = {tree.columns[at].name for at in tree.feature[tree.feature >= 0].tolist()}
    model = to_onnx(tree, missing_text=MISSING)
    assert {value.name for value in model.graph.input} == used


def is_sparse(tree: Tree) -> bool:
    return fits_doubles(tree) and len({*tree.feature[tree.feature >= 0].tolist()}) < len(
        tree.columns
    )


def test_edits_are_its_description():
    tree = stump([[2, 0], [0, 1]])
    edits = (collapsed_root("a"), collapsed_root("b"))
    model = Model(tree, provenance=Provenance(edits=edits))
    words = f"Edited by hand:\n- {edits[0]}\n- {edits[1]}"
    assert to_onnx(model, missing_text=MISSING).doc_string == words


@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(1, 25))
@settings(max_examples=25)
def test_real_columns_with_adjacent_floats(seed, n_classes, leaves):
    tree = random_tree(seed, leaves, n_classes=n_classes, n_columns=3)
    columns = tuple(Column(f"x{at}") for at in range(len(tree.columns)))
    threshold = np.where(tree.feature >= 0, np.random.default_rng(seed).normal(size=tree.n_nodes),
                         np.nan)  # fmt: skip
    tree = replace(tree, columns=columns, threshold=threshold, category=np.full(tree.n_nodes, -1))
    X = random_rows(tree, seed, 50)
    label, scores = run(to_onnx(Model(tree, prediction=PredictionOptions(None))), {"X": X})
    nodes = route(tree, X)
    assert label == tree.classes[tree.label[nodes]].tolist()
    np.testing.assert_allclose(scores, probabilities(tree, None)[nodes], rtol=1e-6)


def stump(counts: list[list[float]], label: list[int] | None = None) -> Tree:
    column = Column("colour", "nominal", ("", "red"))
    return Tree(
        feature=[0, -1, -1], threshold=[np.nan] * 3, category=[0, -1, -1],
        missing_left=[False] * 3, left=[1, -1, -1], right=[2, -1, -1],
        counts=[np.sum(counts, axis=0), *counts], rows=[3, 2, 1],
        columns=(column,), classes=np.array([-4, 9]), label=label,
    )  # fmt: skip


def nominal_chain(seed: int) -> tuple[Tree, np.ndarray]:
    """A chain of splits on one nominal column whose leaves often have equal weights."""
    rng = np.random.default_rng(seed)
    size, n_classes = int(rng.integers(3, 9)), int(rng.integers(2, 6))
    column = Column("c", "nominal", tuple(f"v{i}" for i in range(size)), missing=seed % 3 == 0)
    n = size - 1  # splits; node 2 i splits, 2 i + 1 is its left leaf, the last one a leaf
    counts = np.zeros((2 * n + 1, n_classes))
    leaves = [*range(1, 2 * n, 2), 2 * n]
    counts[leaves, rng.integers(0, n_classes, len(leaves))] = 5
    for node in range(2 * n - 2, -1, -2):
        counts[node] = counts[node + 1] + counts[node + 2]
    inner = np.arange(2 * n + 1) % 2 == 0
    inner[-1] = False
    order = rng.permutation(size + column.missing)[:n]
    label = counts.argmax(axis=1)
    if seed % 4 == 1:  # costs
        label = rng.integers(0, n_classes, len(label))
    tree = Tree(
        feature=np.where(inner, 0, -1), threshold=np.full(len(inner), np.nan),
        category=np.where(inner, order[np.minimum(np.arange(len(inner)) // 2, n - 1)], -1),
        missing_left=inner & (rng.random(len(inner)) < 0.3) & (not column.missing),
        left=np.where(inner, np.arange(len(inner)) + 1, -1),
        right=np.where(inner, np.arange(len(inner)) + 2, -1),
        counts=counts, rows=counts.sum(axis=1), columns=(column,),
        classes=[f"k{i}" for i in range(n_classes)], label=label,
    )  # fmt: skip
    X = np.array([[-1.0], [np.nan], *([float(code)] for code in range(size))])
    return tree, X


@pytest.mark.parametrize("handle_unknown", ["other", "majority", "stop", "missing"])
@pytest.mark.parametrize("seed", range(60))
def test_chains_of_one_nominal_column_with_equal_leaves(seed, handle_unknown):
    tree, X = nominal_chain(seed)
    categories = tree.columns[0].categories
    texts = [["never seen"], [MISSING], *([category] for category in categories)]
    model = to_onnx(Model(tree, reading=ReadingOptions(handle_unknown)), missing_text=MISSING)
    label, scores = run(model, {"c": np.array(texts, dtype=object)})
    nodes = route(tree, X, handle_unknown)
    assert label == tree.classes[tree.label[nodes]].tolist()
    np.testing.assert_allclose(scores, probabilities(tree)[nodes], rtol=1e-6)


@pytest.mark.parametrize("label", [None, [0, 1, 1]])
def test_labels_by_cost_or_by_a_hair_are_kept(label):
    tree = stump([[20_000_001.0, 20_000_000.0], [20_000_000.0, 20_000_001.0]], label)
    feed = {"colour": np.array([[""], ["red"]], dtype=object)}
    predicted, scores = run(to_onnx(tree, missing_text=MISSING), feed)
    assert predicted == ([-4, 9] if label is None else [9, 9])
    np.testing.assert_allclose(scores, probabilities(tree)[1:], rtol=1e-6)


def test_an_unknown_rule_that_a_graph_cannot_follow_is_refused():
    with pytest.raises(ValueError, match="cannot raise errors"):
        to_onnx(Model(random_tree(1, 2), reading=ReadingOptions("error")))


def test_the_missing_text_must_not_be_a_category():
    tree = stump([[2, 0], [0, 1]])
    with pytest.raises(ValueError, match=r"'missing_text'.*column 'colour'"):
        to_onnx(tree)
    to_onnx(tree, missing_text="?")


NAMES = (
    "label", "predicted class", "encoded", "probabilities", "classes", "column0_version0", "",
    "votes", "X", "treebound/encoded", "_treebound/label", "label_", "column0", "nodes_values",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["text", "whole", "real"])
def test_names_of_columns_never_meet_names_of_the_graph(name, kind):
    columns = {
        "text": Column(name, "nominal", ("a", "b")),
        "whole": Column(name, "nominal", (1, 2)),
        "real": Column(name),
    }
    tree = Tree(
        feature=[0, -1, -1], threshold=[1.5 if kind == "real" else np.nan, np.nan, np.nan],
        category=[-1 if kind == "real" else 0, -1, -1], missing_left=[False] * 3,
        left=[1, -1, -1], right=[2, -1, -1], counts=[[3, 3], [3, 0], [0, 3]], rows=[6, 3, 3],
        columns=(columns[kind], Column("column0_" if name else "column0", "nominal", ("u", "v"))),
        classes=["no", "yes"], label=[0, 1, 0],
    )  # fmt: skip
    model = to_onnx(tree, missing_text="?")
    inputs = [given.name for given in model.graph.input]
    assert inputs[0] == (name or "column0_")
    text = kind == "text"
    values = np.array([["a"], ["b"]], dtype=object) if text else np.array([[1.0], [2.0]])
    assert len(inputs) == 1  # the other column is not used
    feed = {inputs[0]: values}
    session = onnxruntime.InferenceSession(model.SerializeToString())
    assert [output.name.rstrip("_") for output in session.get_outputs()] == [
        "label",
        "probabilities",
    ]
    label, _ = session.run(None, feed)
    assert label.tolist() == ["yes", "no"]


def test_numbers_that_a_double_cannot_hold_are_refused():
    column = Column("id", "nominal", (2**53, 2**53 + 1))
    tree = replace(stump([[2, 0], [0, 1]]), columns=(column,))
    with pytest.raises(ValueError, match=r"cannot hold the categories of column 'id'.*strings"):
        to_onnx(tree)


def test_minus_zero_is_the_category_zero():
    column = Column("c", "nominal", (1.0, 0.0))
    tree = replace(stump([[2, 0], [0, 1]]), columns=(column,), category=[1, -1, -1])
    feed = {"c": np.array([[0.0], [-0.0], [1.0], [np.nan]])}
    predicted, _ = run(to_onnx(tree), feed)
    assert predicted == [-4, -4, 9, 9]
