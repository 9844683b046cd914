"""Export to ONNX: a TreeEnsembleClassifier with double thresholds.

All-real models take one input ``X``, a double matrix. With ordinal or nominal columns there is one
input for each column, of shape (rows, 1) and named after it: strings for string categories, doubles
for the rest; the graph encodes them. A missing number is NaN; a missing string is
``missing_text``.

The graph predicts exactly as ``predict`` does because

- thresholds and leaf weights are double tensors (``nodes_values_as_tensor``);
- each split reads its column in an encoding that sends missing values and unknown categories to
  their side: NaN follows the operator's flag for missing values; in a nominal column they have the
  code of the split's category, or of none;
- with ``unknown="stop"``, each split is preceded by a split "is unknown" with its own leaf.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from treebound._extras import require
from treebound._validation import invalid
from treebound.data import Column
from treebound.model import takes_model
from treebound.tree import Tree
from treebound.tree.smoothing import Smoothing, probabilities
from treebound.tree.split import Split, Unknown, check_unknown, splits_of

__all__ = ["to_onnx"]

_ML = "ai.onnx.ml"
_OPSET = 17
_BELOW = -1.0  # a code below every category


@takes_model
def to_onnx(
    tree: Tree,
    *,
    unknown: Unknown = "other",
    smoothing: Smoothing | None = "m-estimate",
    missing_text: str = "",
) -> Any:
    """Export the tree as an ONNX model with the same predictions.

    Parameters
    ----------
    tree : Tree or BoundTreeClassifier
        For a fitted classifier, its tree, ``unknown`` and ``smoothing`` are used.
    unknown : {"other", "majority", "stop", "missing"}
        How to handle unknown categories, as in the classifier. A graph cannot raise errors, so
        ``"error"`` is not possible.
    smoothing : {"laplace", "m-estimate", None}
        How counts become probabilities, as in the classifier.
    missing_text : str
        The text that marks a missing value in a string column.

    Returns
    -------
    onnx.ModelProto
        If all columns are real, the input is one matrix ``X``; otherwise there is one input of
        shape (rows, 1) per column, with its name (``column0``, ... if the name is empty). The
        outputs are ``label`` and ``probabilities``, float32, one column per class. An output with
        the name of a column gets a trailing underscore.

    Raises
    ------
    ValueError
        If ``unknown`` is ``"error"``.
    """
    onnx = require("onnx", extra="onnx", why="Writing an ONNX model")
    check_unknown(unknown, caller="to_onnx")
    if unknown == "error":
        hint = "an ONNX graph cannot raise errors; choose another policy."
        raise invalid("unknown", "to_onnx", "another policy than 'error'", unknown, hint)
    graph = _Graph(onnx, tree, missing_text)
    weights = probabilities(tree.counts, smoothing)
    ensemble = _ensemble(tree, graph, unknown)
    graph.close_inputs()
    votes = graph.probabilities
    graph.add_ensemble(ensemble, weights, votes)
    if not np.array_equal(weights.astype(np.float32).argmax(axis=1), tree.label):
        # Labels chosen by cost, or by less than float32 precision, need votes of their own.
        ballots = np.zeros_like(weights)
        ballots[np.arange(tree.n_nodes), tree.label] = 1.0
        votes = graph.own("votes")
        graph.add_ensemble(ensemble, ballots, votes)
    return graph.model(votes)


@dataclass
class _Ensemble:
    """The nodes in the operator's layout: parallel lists, ids in order."""

    feature: list[int] = field(default_factory=list)
    value: list[float] = field(default_factory=list)
    mode: list[str] = field(default_factory=list)
    true: list[int] = field(default_factory=list)
    false: list[int] = field(default_factory=list)
    missing_true: list[int] = field(default_factory=list)
    source: list[int] = field(default_factory=list)  # the tree's node of each entry

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


def _ensemble(tree: Tree, graph: _Graph, unknown: Unknown) -> _Ensemble:
    """Translate the nodes: one entry per inner node, three with unknown="stop"."""
    out = _Ensemble()
    entry = np.zeros(tree.n_nodes, dtype=np.int64)  # first entry of each node
    place = np.zeros(tree.n_nodes, dtype=np.int64)
    for node, split in enumerate(splits_of(tree, unknown=unknown)):
        entry[node] = len(out.feature)
        if split is None:
            out.add(0, 0.0, "LEAF", False, node)
            continue
        if not split.is_real and unknown == "stop":
            version = graph.version(split.feature, _BELOW, np.nan)
            stop = out.add(version, -0.5, "BRANCH_LEQ", False, node)
            out.true[stop] = out.add(0, 0.0, "LEAF", False, node)
            out.false[stop] = len(out.feature)
        place[node] = _add_split(out, graph, split)
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        left, right = int(entry[tree.left[node]]), int(entry[tree.right[node]])
        # "is not": onnxruntime joins chains of BRANCH_EQ whose leaves have equal weights, wrongly
        swap = out.mode[place[node]] == "BRANCH_NEQ"
        out.true[place[node]], out.false[place[node]] = (right, left) if swap else (left, right)
    return out


def _add_split(out: _Ensemble, graph: _Graph, split: Split) -> int:
    at, missing_left = split.feature, split.missing_left
    if split.is_real:
        bound = split.threshold
        if split.kind == "missing":
            bound = math.inf if split.present_left else -math.inf
        version = graph.version(at, np.nan, np.nan)
        return out.add(version, bound, "BRANCH_LEQ", missing_left, split.node)
    above = float(len(split.column.categories or ()))
    if split.column.kind == "ordinal":
        version = graph.version(at, _BELOW if split.unknown_left else above, np.nan)
        return out.add(version, len(split.codes) - 1.0, "BRANCH_LEQ", missing_left, split.node)
    # values to send left have the code of the category, values to send right that of none
    category = float(split.codes[0]) if split.codes else 2 * _BELOW
    version = graph.version(
        at, category if split.unknown_left else _BELOW, category if missing_left else above
    )
    return out.add(version, category, "BRANCH_NEQ", False, split.node)


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
        self.inputs = _input_names(tree.columns)
        self.prefix = "treebound/"  # of all internal names
        while any(name.startswith(self.prefix) for name in self.inputs):
            self.prefix = f"_{self.prefix}"
        self.label, self.probabilities = (
            _unique(name, self.inputs) for name in ("label", "probabilities")
        )

    def own(self, name: str) -> str:
        """An internal name that differs from all column names."""
        return self.prefix + name

    def version(self, at: int, unknown: float, missing: float) -> int:
        """Index of column ``at``, with these codes for unknown and missing, in the matrix."""
        if self.all_real:
            return at
        key = (at, repr(float(unknown)), repr(float(missing)))
        if key not in self.versions:
            self.versions[key] = len(self.parts)
            self.parts.append(self._encode(at, unknown, missing))
        return self.versions[key]

    def close_inputs(self) -> None:
        """Concatenate the encoded columns into one double matrix."""
        make, encoded = self.helper.make_node, self.own("encoded")
        if self.all_real:
            self.nodes.append(make("Identity", ["X"], [encoded]))
            return
        if not self.parts:  # a single leaf reads nothing, but needs the number of rows
            self.version(0, _BELOW, _BELOW)
        self.nodes.append(make("Concat", self.parts, [encoded], axis=1))

    def declared(self) -> list[Any]:
        """The declared inputs: one matrix, or one (rows, 1) tensor for each column."""
        info = self.helper.make_tensor_value_info
        columns = self.tree.columns
        if self.all_real:
            return [info("X", self.double, [None, len(columns)])]
        text = self.onnx.TensorProto.STRING
        return [
            info(name, text if _holds_text(column) else self.double, [None, 1])
            for name, column in zip(self.inputs, columns, strict=True)
        ]

    def _encode(self, at: int, unknown: float, missing: float) -> str:
        """Add the encoding of one column; return the name of its (rows, 1) double tensor."""
        column = self.tree.columns[at]
        given = self.inputs[at]
        if column.kind == "real":
            return given
        name = self.own(f"column{at}_version{len(self.parts)}")
        if _holds_text(column):
            self._encode_text(given, name, column, unknown, missing)
        else:
            self._encode_numbers(given, name, column, unknown, missing)
        return name

    def _encode_text(
        self, given: str, name: str, column: Column, unknown: float, missing: float
    ) -> None:
        keys = list(column.categories or ())
        if self.missing_text in keys:
            must = f"a text that is not a category, as it is of column {column.name!r}"
            raise invalid("missing_text", "to_onnx", must, self.missing_text)
        encoder = self.helper.make_node(
            "LabelEncoder",
            [given],
            [f"{name}_float"],
            domain=_ML,
            keys_strings=[*keys, self.missing_text],
            values_floats=[*map(float, range(len(keys))), missing],
            default_float=unknown,
        )
        cast = self.helper.make_node("Cast", [f"{name}_float"], [name], to=self.double)
        self.nodes += [encoder, cast]

    def _encode_numbers(
        self, given: str, name: str, column: Column, unknown: float, missing: float
    ) -> None:
        """Encode numbers by comparing them with all categories."""
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
            make("Equal", [given, f"{name}_values"], [f"{name}_equal"]),
            make("Cast", [f"{name}_equal"], [f"{name}_hits"], to=self.double),
            make("ArgMax", [f"{name}_hits"], [f"{name}_which"], axis=1, keepdims=1),
            make("Cast", [f"{name}_which"], [f"{name}_code"], to=self.double),
            make("ReduceMax", [f"{name}_hits"], [f"{name}_most"], axes=[1], keepdims=1),
            make("Greater", [f"{name}_most", f"{name}_half"], [f"{name}_any"]),
            make("Where", [f"{name}_any", f"{name}_code", f"{name}_unknown"], [f"{name}_known"]),
            make("IsNaN", [given], [f"{name}_nan"]),
            make("Where", [f"{name}_nan", f"{name}_missing", f"{name}_known"], [name]),
        ]

    def _constant(self, name: str, values: np.ndarray) -> None:
        self.constants.append(self.onnx.numpy_helper.from_array(values, name))

    def add_ensemble(self, nodes: _Ensemble, weights: np.ndarray, scores: str) -> None:
        """Add the operator; each leaf gives each class its weight.

        Only its scores are used: for two classes onnxruntime's label is 1 whenever that class
        has a positive score.
        """
        count = len(nodes.feature)
        leaves = [at for at in range(count) if nodes.mode[at] == "LEAF"]
        classes = range(self.tree.n_classes)
        tensor = self.onnx.numpy_helper.from_array
        leaf_weights = np.array([weights[nodes.source[at]] for at in leaves]).ravel()
        self.nodes.append(
            self.helper.make_node(
                "TreeEnsembleClassifier",
                [self.own("encoded")],
                [self.own(f"label of {scores}"), scores],
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
        """Add the label, the class with the most votes; build and check the model."""
        labels = _label_values(self.tree)
        self.constants.append(self.onnx.numpy_helper.from_array(labels, self.own("classes")))
        make = self.helper.make_node
        self.nodes += [
            make("ArgMax", [votes], [self.own("answer")], axis=1, keepdims=0),
            make("Gather", [self.own("classes"), self.own("answer")], [self.label], axis=0),
        ]
        info = self.helper.make_tensor_value_info
        kind = self.helper.np_dtype_to_tensor_dtype(labels.dtype)
        outputs = [
            info(self.label, kind, [None]),
            info(self.probabilities, self.onnx.TensorProto.FLOAT, [None, self.tree.n_classes]),
        ]
        graph = self.helper.make_graph(
            self.nodes, "treebound", self.declared(), outputs, initializer=self.constants
        )
        opsets = [self.helper.make_opsetid("", _OPSET), self.helper.make_opsetid(_ML, 3)]
        model = self.helper.make_model(
            graph, opset_imports=opsets, producer_name="treebound", ir_version=8
        )
        self.onnx.checker.check_model(model)
        return model


def _input_names(columns: tuple[Column, ...]) -> list[str]:
    """The names of the inputs: those of the columns, but ONNX forbids empty names."""
    taken = {column.name for column in columns}
    return [column.name or _unique(f"column{at}", taken) for at, column in enumerate(columns)]


def _unique(name: str, taken: Iterable[str]) -> str:
    """The name, with trailing underscores until it is unique."""
    while name in taken:
        name += "_"
    return name


def _holds_text(column: Column) -> bool:
    categories = column.categories or ()
    return column.kind != "real" and all(isinstance(value, str) for value in categories)


def _label_values(tree: Tree) -> np.ndarray:
    """The class labels if a tensor can hold them, otherwise their indices."""
    values = tree.classes.tolist()
    for kind, dtype in ((str, object), (bool, np.bool_), (int, np.int64), (float, np.float64)):
        if all(type(value) is kind for value in values):
            return np.array(values, dtype=dtype)
    return np.arange(len(values))
