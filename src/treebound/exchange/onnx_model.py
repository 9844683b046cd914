"""Export to ONNX: a TreeEnsembleClassifier or TreeEnsembleRegressor with double thresholds.

There is one input for each column that the tree uses, of shape (rows, 1) and named after it:
strings for string categories, doubles for the rest; the graph encodes them. Numbers of a table
without column names are one input ``X``, a double matrix of all columns: they have no names, and
their places are those of the table. A missing number is NaN; a missing string is ``missing_text``.

The graph predicts exactly as ``predict`` does because

- thresholds and leaf weights are double tensors (``nodes_values_as_tensor``);
- NaN in a real column follows the operator's flag for missing values;
- each split of categories reads 0 where a value goes left and 1 where it goes right, missing values
  and unknown categories included;
- with ``handle_unknown="stop"``, each split is preceded by a split "is unknown" with its own leaf;
- a regression tree gives the number of the node, an exact float, by which the double is looked up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from treebound._utils.choices import Unknown
from treebound._utils.extras import require
from treebound._utils.validation import invalid
from treebound.data import Column
from treebound.exchange import code
from treebound.model import Model, RegressionModel
from treebound.model.methods import as_any_model
from treebound.tree.base import BaseTree
from treebound.tree.split import splits_of

_ML = "ai.onnx.ml"
_LEFT, _RIGHT = 0.0, 1.0  # how the sides of a split of categories are encoded


def to_onnx(source: Any, *, missing_text: str = "") -> Any:
    """Export the tree as an ONNX model with the same predictions.

    Parameters
    ----------
    source
        See :func:`treebound.exchange.to_python`. A graph cannot raise errors, so
        ``handle_unknown="error"`` is not possible.
    missing_text : str
        The text that marks a missing value in a string column.

    Returns
    -------
    onnx.ModelProto
        There is one input of shape (rows, 1) per column that the tree uses, with its name
        (``column0``, ... if the name is empty); for numbers without column names, one matrix ``X``
        of all columns. The outputs are ``label`` and ``probabilities``, float32, one column per
        class; of a regression tree ``prediction``, a double. An output with the name of a column
        gets a trailing underscore.

    Raises
    ------
    ValueError
        If the model's ``handle_unknown`` is ``"error"``.
    """
    onnx = require("onnx", extra="onnx", why="Writing an ONNX model")
    model = as_any_model(source, "to_onnx")
    if model.reading.handle_unknown == "error":
        hint = "an ONNX graph cannot raise errors; choose another policy."
        raise invalid("handle_unknown", "to_onnx", "another policy than 'error'", "error", hint)
    graph = _Graph(onnx, model, missing_text)
    entries = _entries(model.tree, graph, model.reading.handle_unknown)
    graph.close_inputs()
    if isinstance(model, RegressionModel):
        return graph.regression(entries, model.tree.value)
    tree, weights = model.tree, model.node_probabilities
    votes = graph.probabilities
    graph.add_ensemble(entries, weights, votes)
    if not np.array_equal(weights.astype(np.float32).argmax(axis=1), tree.label):
        # Labels chosen by cost, or by less than float32 precision, need votes of their own.
        ballots = np.zeros_like(weights)
        ballots[np.arange(tree.n_nodes), tree.label] = 1.0
        votes = graph.internal("votes")
        graph.add_ensemble(entries, ballots, votes)
    return graph.classification(votes, tree.classes)


class _Entry(NamedTuple):
    """A node of the operator; a leaf has the weights of the tree's node ``source``."""

    source: int
    mode: str = "LEAF"
    feature: int = 0
    value: float = 0.0
    missing_true: bool = False
    true: int = 0
    false: int = 0


def _entries(tree: BaseTree, graph: _Graph, handle_unknown: Unknown) -> list[_Entry]:
    """Translate the nodes: one entry per node, three per split where categories may stop."""
    splits = splits_of(tree, handle_unknown=handle_unknown)
    stops = [
        handle_unknown == "stop" and split is not None and not split.is_real for split in splits
    ]
    first = np.cumsum([0, *(3 if stop else 1 for stop in stops)]).tolist()  # of each node
    entries: list[_Entry] = []
    for node, split in enumerate(splits):
        if split is None:
            entries.append(_Entry(node))
            continue
        at, value, missing_true = split.feature, 0.5, False
        if stops[node]:
            place = graph.column(at, tuple(split.column.categories or ()), _RIGHT, _RIGHT)
            here = first[node]
            entries += [
                _Entry(node, "BRANCH_LEQ", place, value, missing_true, here + 1, here + 2),
                _Entry(node),
            ]
        if split.is_real:
            place, value, missing_true = graph.column(at), split.bound, split.missing_left
        else:
            # listed are the categories of the side that unknown ones do not take
            side = _RIGHT if split.unknown_left else _LEFT
            listed = tuple(split.values(left=side == _LEFT))
            place = graph.column(at, listed, side, _LEFT if split.missing_left else _RIGHT)
        children = first[tree.left[node]], first[tree.right[node]]
        entries.append(_Entry(node, "BRANCH_LEQ", place, value, missing_true, *children))
    return entries


class _Graph:
    """The ONNX graph under construction."""

    def __init__(self, onnx: Any, model: Model | RegressionModel, missing_text: str) -> None:
        self.onnx = onnx
        self.helper = onnx.helper
        self.double = onnx.TensorProto.DOUBLE
        self.columns = model.columns
        self.used = code.columns_used(model.tree) or [0]  # one gives the number of rows
        self.edits = "\n".join(code.edits_of(model))
        self.missing_text = missing_text
        real = all(column.kind == "real" for column in self.columns)
        self.is_matrix = real and not model.has_names
        self.nodes: list[Any] = []
        self.versions: dict[Any, int] = {}
        self.parts: list[str] = []
        self.inputs = _input_names(self.columns)
        self.prefix = "treebound/"  # of all internal names
        while any(name.startswith(self.prefix) for name in self.inputs):
            self.prefix = f"_{self.prefix}"
        self.label, self.probabilities, self.prediction = (
            _unique(name, self.inputs) for name in ("label", "probabilities", "prediction")
        )

    def internal(self, name: str) -> str:
        """An internal name that differs from all column names."""
        return self.prefix + name

    def column(self, at: int, *encoding: Any) -> int:
        """Index of a column in the matrix: a real one as it is, or encoded by ``_encode``."""
        if self.is_matrix:
            return at
        key = (at, *encoding)
        if key not in self.versions:
            self.versions[key] = len(self.parts)
            self.parts.append(self._encode(at, *encoding) if encoding else self.inputs[at])
        return self.versions[key]

    def close_inputs(self) -> None:
        """Concatenate the encoded columns into one double matrix."""
        make, encoded = self.helper.make_node, self.internal("encoded")
        if self.is_matrix:
            self.nodes.append(make("Identity", ["X"], [encoded]))
            return
        if not self.parts:  # a single leaf reads nothing, but needs the number of rows
            real = self.columns[0].kind == "real"
            self.parts.append(self.inputs[0] if real else self._encode(0, (), _LEFT, _LEFT))
        self.nodes.append(make("Concat", self.parts, [encoded], axis=1))

    def declared(self) -> list[Any]:
        """Return the inputs: one matrix, or one (rows, 1) tensor for each column that is used."""
        info = self.helper.make_tensor_value_info
        if self.is_matrix:
            return [info("X", self.double, [None, len(self.columns)])]
        text = self.onnx.TensorProto.STRING
        return [
            info(
                self.inputs[at],
                text if _holds_text(self.columns[at]) else self.double,
                [None, 1],
            )
            for at in self.used
        ]

    def _encode(self, at: int, listed: Sequence[Any], side: float, missing: float) -> str:
        """Encode a column as (rows, 1) doubles: the side of some categories, or the other one."""
        column = self.columns[at]
        categories: Sequence[Any] = column.categories or ()
        absent: Any = math.nan
        kind: Any = np.float64
        if _holds_text(column):
            absent, kind = self.missing_text, object
            if absent in categories:
                must = f"a text that is not a category, as it is of column {column.name!r}"
                raise invalid("missing_text", "to_onnx", must, absent)
        elif any(float(value) != value for value in categories):
            raise ValueError(
                f"An ONNX model takes numbers as doubles, which cannot hold the categories of "
                f"column {column.name!r}. Hint: turn them into strings before fitting."
            )
        name, tensor = self.internal(f"column{at}_version{len(self.parts)}"), self._tensor
        sides = np.array([*[side] * len(listed), missing])
        encoder = self.helper.make_node(
            "LabelEncoder",
            [self.inputs[at]],
            [name],
            domain=_ML,
            keys_tensor=tensor(np.array([*listed, absent], dtype=kind), "keys"),
            values_tensor=tensor(sides, "sides"),
            default_tensor=tensor(np.array([_LEFT + _RIGHT - side]), "others"),
        )
        self.nodes.append(encoder)
        return name

    def _tensor(self, values: np.ndarray, name: str) -> Any:
        return self.onnx.numpy_helper.from_array(values, name)

    def add_ensemble(self, entries: list[_Entry], weights: np.ndarray, scores: str) -> None:
        """Add the operator; each leaf gives each class its weight."""
        # only its scores are used: of two classes onnxruntime takes 1 if that has a positive score
        leaves = [at for at, entry in enumerate(entries) if entry.mode == "LEAF"]
        leaf_weights = weights[[entries[at].source for at in leaves]].ravel()
        classes = range(weights.shape[1])
        self.nodes.append(
            self.helper.make_node(
                "TreeEnsembleClassifier",
                [self.internal("encoded")],
                [self.internal(f"label of {scores}"), scores],
                domain=_ML,
                **self._splits(entries),
                class_treeids=[0] * leaf_weights.size,
                class_nodeids=[at for at in leaves for _ in classes],
                class_ids=[at for _ in leaves for at in classes],
                class_weights_as_tensor=self._tensor(leaf_weights, "class_weights"),
                post_transform="NONE",
                classlabels_int64s=list(classes),
            )
        )

    def _splits(self, entries: list[_Entry]) -> dict[str, Any]:
        """Return the attributes of the nodes."""
        _, modes, features, values, missing, true, false = zip(*entries, strict=True)
        return {
            "nodes_treeids": [0] * len(entries),
            "nodes_nodeids": list(range(len(entries))),
            "nodes_featureids": features,
            "nodes_modes": modes,
            "nodes_values_as_tensor": self._tensor(np.array(values), "nodes_values"),
            "nodes_truenodeids": true,
            "nodes_falsenodeids": false,
            "nodes_missing_value_tracks_true": list(map(int, missing)),
        }

    def regression(self, entries: list[_Entry], numbers: np.ndarray) -> Any:
        """Add the number of each row; build and check the model."""
        leaves = [at for at, entry in enumerate(entries) if entry.mode == "LEAF"]
        # the operator returns floats, exact for the places of up to 2**24 leaves
        places = np.arange(len(leaves), dtype=np.float64)
        make, names = self.helper.make_node, ("place", "whole place", "row shape", "numbers")
        place, whole, shape, table = map(self.internal, names)
        self.nodes += [
            make(
                "TreeEnsembleRegressor",
                [self.internal("encoded")],
                [place],
                domain=_ML,
                **self._splits(entries),
                target_treeids=[0] * len(leaves),
                target_nodeids=leaves,
                target_ids=[0] * len(leaves),
                target_weights_as_tensor=self._tensor(places, "target_weights"),
                n_targets=1,
                post_transform="NONE",
            ),
            make("Cast", [place], [f"{whole}s"], to=self.onnx.TensorProto.INT64),
            make("Reshape", [f"{whole}s", shape], [whole]),
            make("Gather", [table, whole], [self.prediction], axis=0),
        ]
        values = np.asarray(numbers[[entries[at].source for at in leaves]], dtype=np.float64)
        output = self.helper.make_tensor_value_info(self.prediction, self.double, [None])
        constants = [self._tensor(values, table), self._tensor(np.array([-1]), shape)]
        return self._model([output], constants)

    def classification(self, votes: str, classes: np.ndarray) -> Any:
        """Add the label, the class with the most votes; build and check the model."""
        labels = _label_values(classes)
        make = self.helper.make_node
        self.nodes += [
            make("ArgMax", [votes], [self.internal("predicted class")], axis=1, keepdims=0),
            make(
                "Gather",
                [self.internal("classes"), self.internal("predicted class")],
                [self.label],
                axis=0,
            ),
        ]
        info = self.helper.make_tensor_value_info
        kind = self.helper.np_dtype_to_tensor_dtype(labels.dtype)
        outputs = [
            info(self.label, kind, [None]),
            info(self.probabilities, self.onnx.TensorProto.FLOAT, [None, len(classes)]),
        ]
        return self._model(outputs, [self._tensor(labels, self.internal("classes"))])

    def _model(self, outputs: list[Any], constants: list[Any]) -> Any:
        """Build and check the model."""
        graph = self.helper.make_graph(
            self.nodes, "treebound", self.declared(), outputs, initializer=constants
        )
        opsets = [self.helper.make_opsetid("", 17), self.helper.make_opsetid(_ML, 4)]
        model = self.helper.make_model(
            graph,
            opset_imports=opsets,
            producer_name="treebound",
            ir_version=8,
            doc_string=self.edits,
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


def _label_values(classes: np.ndarray) -> np.ndarray:
    """Return the class labels if a tensor can hold them, otherwise their indices."""
    values = classes.tolist()
    for kind, dtype in ((str, object), (bool, np.bool_), (int, np.int64), (float, np.float64)):
        if all(type(value) is kind for value in values):
            return np.array(values, dtype=dtype)
    return np.arange(len(values))
