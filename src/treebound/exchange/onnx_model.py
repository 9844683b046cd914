"""ONNX: the tree as a TreeEnsembleClassifier with double thresholds.

All-real models take one input ``X``, a double matrix. With ordinal or nominal columns there is one
input a column, of shape (rows, 1) and named after it: strings for string categories, doubles for
the rest; the graph encodes them. A missing number is NaN; a missing string is the text given as
``missing_text``.

Three things make the graph answer exactly as ``predict`` does:

- thresholds and leaf weights are double tensors (``nodes_values_as_tensor``);
- each test reads its column in the encoding that sends a missing value and a category never seen
  where the tree sends them: NaN goes where the operator is told to send missing values, a code
  below or above all categories goes left or right by itself;
- with ``unknown="stop"``, a test "is unknown" with a leaf of its own stands before each such test.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from treebound._extras import require
from treebound.data import Column
from treebound.tree import Tree
from treebound.tree.fitted import takes_classifier
from treebound.tree.smoothing import Smoothing, probabilities

__all__ = ["to_onnx"]

_ML = "ai.onnx.ml"
_OPSET = 17
_BELOW = -1.0  # a code below every category


@takes_classifier
def to_onnx(
    tree: Tree,
    *,
    unknown: str = "majority",
    smoothing: Smoothing | None = "m-estimate",
    missing_text: str = "",
) -> Any:
    """An ONNX model that answers as the tree does.

    Parameters
    ----------
    tree : Tree or BoundTreeClassifier
        A fitted classifier gives its tree, and ``unknown`` and ``smoothing`` as it has them.
    unknown : {"majority", "stop", "missing"}
        What to do with a category never seen, as in the classifier. A graph cannot refuse an
        example, so "error" is not possible here.
    smoothing : {"laplace", "m-estimate", None}
        How counts become probabilities, as in the classifier.
    missing_text : str
        The text that stands for a missing value in a string column.

    Returns
    -------
    onnx.ModelProto
        Outputs ``label`` (the class) and ``probabilities`` (float, one column a class).
    """
    onnx = require("onnx", extra="onnx", why="Writing an ONNX model")
    if unknown not in ("majority", "stop", "missing"):
        raise ValueError(
            f"The 'unknown' parameter of to_onnx must be 'majority', 'stop' or 'missing'. "
            f"Got {unknown!r} instead. Hint: an ONNX graph cannot refuse an example."
        )
    graph = _Graph(onnx, tree, missing_text)
    weights = probabilities(tree.counts, smoothing)
    ensemble = _ensemble(tree, graph, unknown)
    graph.close_inputs()
    graph.add_ensemble(ensemble, weights, "probabilities")
    votes = "probabilities"
    if not np.array_equal(weights.astype(np.float32).argmax(axis=1), tree.label):
        # Answers chosen by cost, or by less than a float can show, get a vote of their own.
        ballots = np.zeros_like(weights)
        ballots[np.arange(tree.n_nodes), tree.label] = 1.0
        votes = "votes"
        graph.add_ensemble(ensemble, ballots, votes)
    return graph.model(votes)


@dataclass
class _Ensemble:
    """The nodes as the operator wants them: parallel lists, ids in order."""

    feature: list[int] = field(default_factory=list)
    value: list[float] = field(default_factory=list)
    mode: list[str] = field(default_factory=list)
    true: list[int] = field(default_factory=list)
    false: list[int] = field(default_factory=list)
    missing_true: list[int] = field(default_factory=list)
    source: list[int] = field(default_factory=list)  # the tree's node that a leaf answers for

    def add(
        self, feature: int, value: float, mode: str, missing: bool, source: int, true: int = 0
    ) -> int:
        self.feature.append(feature)
        self.value.append(value)
        self.mode.append(mode)
        self.missing_true.append(int(missing))
        self.source.append(source)
        self.true.append(true)
        self.false.append(0)
        return len(self.feature) - 1


def _ensemble(tree: Tree, graph: _Graph, unknown: str) -> _Ensemble:
    """Translate the nodes, one test (with unknown="stop", two) for each inner node."""
    out = _Ensemble()
    entry = np.zeros(tree.n_nodes, dtype=np.int64)  # where the translation of a node begins
    test = np.zeros(tree.n_nodes, dtype=np.int64)
    for node in range(tree.n_nodes):
        entry[node] = len(out.feature)
        column = int(tree.feature[node])
        if column < 0:
            out.add(0, 0.0, "LEAF", False, node)
            continue
        if tree.columns[column].kind != "real" and unknown == "stop":
            guard = out.add(graph.version(column, _BELOW, np.nan), -0.5, "BRANCH_LEQ", False, node)
            out.true[guard] = out.add(0, 0.0, "LEAF", False, node)
            out.false[guard] = len(out.feature)
        test[node] = _add_test(out, tree, graph, node, unknown)
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        out.true[test[node]] = int(entry[tree.left[node]])
        out.false[test[node]] = int(entry[tree.right[node]])
    return out


def _add_test(out: _Ensemble, tree: Tree, graph: _Graph, node: int, unknown: str) -> int:
    at = int(tree.feature[node])
    column = tree.columns[at]
    threshold = float(tree.threshold[node])
    missing_left = bool(tree.missing_left[node])
    if column.kind == "real":
        version = graph.version(at, np.nan, np.nan)
        return out.add(version, threshold, "BRANCH_LEQ", missing_left, node)
    above = float(len(column.categories or ()))
    unknown_left = bool(tree.weight[tree.left[node]] >= tree.weight[tree.right[node]])
    if column.kind == "ordinal":
        code = np.nan if unknown == "missing" else _BELOW if unknown_left else above
        version = graph.version(at, code, np.nan)
        # Present values end at the last category; unknown lies above it, to the right.
        return out.add(version, min(threshold, above - 1), "BRANCH_LEQ", missing_left, node)
    category = float(tree.category[node])
    if column.missing:
        # Missing is a category of its own here, the code after the last.
        code = above if unknown == "missing" else np.nan
        return out.add(graph.version(at, code, above), category, "BRANCH_EQ", unknown_left, node)
    if unknown == "missing":
        unknown_left = missing_left
    # What must go left is NaN and told to; what must go right equals no category.
    unknown_code = np.nan if unknown_left else _BELOW
    missing_code = np.nan if missing_left else above
    version = graph.version(at, unknown_code, missing_code)
    return out.add(version, category, "BRANCH_EQ", unknown_left or missing_left, node)


class _Graph:
    """The ONNX graph under construction."""

    def __init__(self, onnx: Any, tree: Tree, missing_text: str) -> None:
        self.onnx = onnx
        self.helper = onnx.helper
        self.double = onnx.TensorProto.DOUBLE
        self.tree = tree
        self.missing_text = missing_text
        self.all_real = all(column.kind == "real" for column in tree.columns)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.versions: dict[tuple[int, str, str], int] = {}
        self.parts: list[str] = []

    def version(self, at: int, unknown: float, missing: float) -> int:
        """Where the encoded matrix holds column ``at`` with these codes for unknown and missing."""
        if self.all_real:
            return at
        key = (at, repr(float(unknown)), repr(float(missing)))
        if key not in self.versions:
            self.versions[key] = len(self.parts)
            self.parts.append(self._encode(at, unknown, missing))
        return self.versions[key]

    def close_inputs(self) -> None:
        """Lead what the tests read into one double matrix called ``encoded``."""
        make = self.helper.make_node
        if self.all_real:
            self.nodes.append(make("Identity", ["X"], ["encoded"]))
            return
        if not self.parts:  # a single leaf reads nothing, but needs to know the number of rows
            self.version(0, _BELOW, _BELOW)
        self.nodes.append(make("Concat", self.parts, ["encoded"], axis=1))

    def inputs(self) -> list[Any]:
        """The declared inputs: one matrix, or one (rows, 1) tensor for each column."""
        info = self.helper.make_tensor_value_info
        columns = self.tree.columns
        if self.all_real:
            return [info("X", self.double, [None, len(columns)])]
        text = self.onnx.TensorProto.STRING
        return [
            info(column.name, text if _holds_text(column) else self.double, [None, 1])
            for column in columns
        ]

    def _encode(self, at: int, unknown: float, missing: float) -> str:
        """Add the encoding of one column; the name of the (rows, 1) double tensor it gives."""
        column = self.tree.columns[at]
        if column.kind == "real":
            return column.name
        name = f"column{at}_version{len(self.parts)}"
        if _holds_text(column):
            return self._encode_text(name, column, unknown, missing)
        return self._encode_numbers(name, column, unknown, missing)

    def _encode_text(self, name: str, column: Column, unknown: float, missing: float) -> str:
        keys = list(column.categories or ())
        if self.missing_text in keys:
            raise ValueError(
                f"The 'missing_text' parameter of to_onnx must not be a category. Got "
                f"{self.missing_text!r}, a category of column {column.name!r}, instead. "
                "Hint: choose a text that no column has."
            )
        encoder = self.helper.make_node(
            "LabelEncoder",
            [column.name],
            [f"{name}_float"],
            domain=_ML,
            keys_strings=[*keys, self.missing_text],
            values_floats=[*map(float, range(len(keys))), missing],
            default_float=unknown,
        )
        cast = self.helper.make_node("Cast", [f"{name}_float"], [name], to=self.double)
        self.nodes += [encoder, cast]
        return name

    def _encode_numbers(self, name: str, column: Column, unknown: float, missing: float) -> str:
        """Compare with every category at once: which one, if any, is it?"""
        values = np.array([[float(value) for value in column.categories or ()]])
        if values[0].tolist() != list(column.categories or ()):
            raise ValueError(
                f"An ONNX model takes numbers as doubles, which cannot hold the categories of "
                f"column {column.name!r}. Hint: turn them into strings before fitting."
            )
        make = self.helper.make_node
        self._constant(f"{name}_values", values)
        self._constant(f"{name}_unknown", np.array([[unknown]]))
        self._constant(f"{name}_missing", np.array([[missing]]))
        self._constant(f"{name}_half", np.array([[0.5]]))
        self.nodes += [
            make("Equal", [column.name, f"{name}_values"], [f"{name}_equal"]),
            make("Cast", [f"{name}_equal"], [f"{name}_hits"], to=self.double),
            make("ArgMax", [f"{name}_hits"], [f"{name}_which"], axis=1, keepdims=1),
            make("Cast", [f"{name}_which"], [f"{name}_code"], to=self.double),
            make("ReduceMax", [f"{name}_hits"], [f"{name}_most"], axes=[1], keepdims=1),
            make("Greater", [f"{name}_most", f"{name}_half"], [f"{name}_any"]),
            make("Where", [f"{name}_any", f"{name}_code", f"{name}_unknown"], [f"{name}_known"]),
            make("IsNaN", [column.name], [f"{name}_nan"]),
            make("Where", [f"{name}_nan", f"{name}_missing", f"{name}_known"], [name]),
        ]
        return name

    def _constant(self, name: str, values: np.ndarray) -> None:
        self.constants.append(self.onnx.numpy_helper.from_array(values, name))

    def add_ensemble(self, nodes: _Ensemble, weights: np.ndarray, scores: str) -> None:
        """Add the operator; every leaf gives every class its weight.

        Only its scores are used: for two classes onnxruntime's own label is 1 as soon as that
        class has a positive score.
        """
        count = len(nodes.feature)
        leaves = [at for at in range(count) if nodes.mode[at] == "LEAF"]
        classes = range(self.tree.n_classes)
        tensor = self.onnx.numpy_helper.from_array
        leaf_weights = np.array([weights[nodes.source[at]] for at in leaves]).ravel()
        self.nodes.append(
            self.helper.make_node(
                "TreeEnsembleClassifier",
                ["encoded"],
                [f"{scores}_label", scores],
                domain=_ML,
                nodes_treeids=[0] * count,
                nodes_nodeids=list(range(count)),
                nodes_featureids=nodes.feature,
                nodes_modes=nodes.mode,
                nodes_values_as_tensor=tensor(np.array(nodes.value), "nodes_values"),
                nodes_truenodeids=nodes.true,
                nodes_falsenodeids=nodes.false,
                nodes_missing_value_tracks_true=nodes.missing_true,
                class_treeids=[0] * (len(leaves) * len(classes)),
                class_nodeids=[at for at in leaves for _ in classes],
                class_ids=[at for _ in leaves for at in classes],
                class_weights_as_tensor=tensor(leaf_weights, "class_weights"),
                post_transform="NONE",
                classlabels_int64s=list(classes),
            )
        )

    def model(self, votes: str) -> Any:
        """Answer with the class that has the most votes, close the graph and check it."""
        labels = _label_values(self.tree)
        self.constants.append(self.onnx.numpy_helper.from_array(labels, "classes"))
        make = self.helper.make_node
        self.nodes += [
            make("ArgMax", [votes], ["answer"], axis=1, keepdims=0),
            make("Gather", ["classes", "answer"], ["label"], axis=0),
        ]
        info = self.helper.make_tensor_value_info
        kind = self.helper.np_dtype_to_tensor_dtype(labels.dtype)
        outputs = [
            info("label", kind, [None]),
            info("probabilities", self.onnx.TensorProto.FLOAT, [None, self.tree.n_classes]),
        ]
        graph = self.helper.make_graph(
            self.nodes, "treebound", self.inputs(), outputs, initializer=self.constants
        )
        opsets = [self.helper.make_opsetid("", _OPSET), self.helper.make_opsetid(_ML, 3)]
        model = self.helper.make_model(
            graph, opset_imports=opsets, producer_name="treebound", ir_version=8
        )
        self.onnx.checker.check_model(model)
        return model


def _holds_text(column: Column) -> bool:
    categories = column.categories or ()
    return column.kind != "real" and all(isinstance(value, str) for value in categories)


def _label_values(tree: Tree) -> np.ndarray:
    """The class labels as a tensor can hold them; others become their place in ``classes``."""
    values = tree.classes.tolist()
    for kind, dtype in ((str, object), (bool, np.bool_), (int, np.int64), (float, np.float64)):
        if all(type(value) is kind for value in values):
            return np.array(values, dtype=dtype)
    return np.arange(len(values))
