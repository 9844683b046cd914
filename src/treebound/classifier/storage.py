"""A fitted classifier as the document of the model format, and back."""

from __future__ import annotations

from dataclasses import asdict, is_dataclass
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound.exchange import FormatError, SavedModel
from treebound.exchange.nodes import nodes_from_json, nodes_to_json
from treebound.exchange.nodes import number as _number
from treebound.pruning import PruningPath, PruningResult
from treebound.tree.model import Tree

__all__ = ["StoredPath", "model_of", "restored"]

_ANSWERING = ("unknown", "smoothing")
# Steps of the path with more leaves than this are not kept: the file would grow with their square.
_MOST_LEAVES = 200


def model_of(classifier: Any) -> SavedModel:
    """What is kept of a fitted classifier."""
    parameters = classifier.get_params(deep=False)
    certificate = classifier.certificate_
    return SavedModel(
        tree=classifier.tree_,
        prediction={name: parameters.pop(name) for name in _ANSWERING},
        parameters={name: _plain(value) for name, value in parameters.items() if _can(value)},
        certificate=_fields(certificate) if is_dataclass(certificate) else None,
        pruning=_pruning(classifier),
        target=classifier.target_name_,
        named=hasattr(classifier, "feature_names_in_"),
    )


def restored(cls: Any, model: SavedModel) -> Any:
    """A fitted classifier from what was kept."""
    known = cls().get_params(deep=False)
    for name in model.parameters:
        if name not in known or name in _ANSWERING:
            raise FormatError(f"parameters.{name}", "is not a parameter of the classifier")
    classifier = cls(**model.parameters, **model.prediction)
    try:
        _, classifier.grow_options_ = classifier._checked()
    except ValueError as error:
        raise FormatError("parameters", str(error)) from None
    tree = model.tree
    names = [column.name for column in tree.columns]
    classifier.n_features_in_ = len(names)
    if model.named:
        classifier.feature_names_in_ = np.array(names, dtype=object)
    classifier.target_name_ = model.target
    classifier._delta, classifier._unknown = classifier.delta, classifier.unknown
    classifier._held_out = None
    result, grown = None, tree
    if model.pruning is not None:
        path = StoredPath(tree, model.pruning)
        grown = path.first
        score = float(path.scores[path.chosen])
        result = PruningResult(tree, path, score, fit_time=float("nan"))
    classifier._set_tree(tree, grown=grown, result=result)
    return classifier


# -- what JSON can hold ------------------------------------------------------------------------


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return value


def _can(value: Any) -> bool:
    value = _plain(value)
    if isinstance(value, list):
        return all(map(_can, value))
    if isinstance(value, dict):
        return all(isinstance(name, str) and _can(item) for name, item in value.items())
    if isinstance(value, float):
        return isfinite(value)
    return value is None or isinstance(value, bool | int | str)


def _fields(certificate: Any) -> dict[str, Any]:
    return {name: _plain(value) for name, value in asdict(certificate).items() if _can(value)}


# -- the pruning path --------------------------------------------------------------------------


def _pruning(classifier: Any) -> dict[str, Any] | None:
    path: PruningPath | None = classifier.pruning_path_
    if path is None:
        return None
    kept = [s for s in range(len(path)) if path.leaves[s] <= _MOST_LEAVES or s == path.chosen]
    steps = []
    for step in kept:
        cuts = path.cuts(step)
        steps.append(
            {
                "leaves": int(path.leaves[step]),
                "errors": float(path.errors[step]),
                "score": float(path.scores[step]) if isfinite(path.scores[step]) else None,
                **({"nodes": nodes_to_json(path.tree(step))} if cuts is None
                   else {"cut": cuts.tolist()}),
            }
        )  # fmt: skip
    grown = nodes_to_json(path.first)
    return {"grown": grown, "chosen": kept.index(path.chosen), "steps": steps}


class StoredPath(PruningPath):
    """A pruning path as a model file keeps it.

    Parameters
    ----------
    tree : Tree
        The tree of the model, for its columns and classes.
    document : dict
        The field ``pruning`` of the model format.
    """

    def __init__(self, tree: Tree, document: dict[str, Any]) -> None:
        self.first = nodes_from_json(
            document["grown"], tree.columns, tree.classes, where="pruning.grown"
        )
        self._steps = [self._checked_step(at, s) for at, s in enumerate(document["steps"])]
        chosen = document.get("chosen")
        if type(chosen) is not int or not 0 <= chosen < len(self._steps):
            raise FormatError("pruning.chosen", "must be the number of a step")
        self.chosen = chosen

    def _checked_step(self, at: int, step: Any) -> dict[str, Any]:
        where = f"pruning.steps[{at}]"
        if not isinstance(step, dict):
            raise FormatError(where, "must be an object")
        number = _number(step.get("errors"), f"{where}.errors")
        if number < 0:
            raise FormatError(f"{where}.errors", f"must not be negative, found {number:g}")
        if step.setdefault("score", None) is not None:
            _number(step["score"], f"{where}.score")
        if "nodes" in step:
            tree = nodes_from_json(
                step["nodes"], self.first.columns, self.first.classes, where=f"{where}.nodes"
            )
            step, leaves = {**step, "nodes": tree}, tree.n_leaves
        else:
            leaves = self._leaves_left(step.get("cut"), f"{where}.cut")
        if type(step.get("leaves")) is not int or step["leaves"] != leaves:
            raise FormatError(f"{where}.leaves", f"must be {leaves}, as the tree of this step has")
        return step

    def _leaves_left(self, cut: Any, where: str) -> int:
        """Leaves of the grown tree with some of its nodes made leaves."""
        inner, size = ~self.first.is_leaf, self.first.size
        leaves, end = self.first.n_leaves, 0
        if not isinstance(cut, list) or not all(
            type(node) is int and 0 <= node < len(inner) and inner[node] for node in cut
        ):
            raise FormatError(where, "must be a list of inner nodes of the grown tree")
        for node in sorted(cut):
            if node < end:
                raise FormatError(where, f"has node {node}, which is below another one or twice")
            end = node + int(size[node])
            leaves -= int(size[node]) // 2
        return leaves

    def _column(self, name: str) -> NDArray[np.float64]:
        return np.array([step[name] for step in self._steps], dtype=np.float64)

    @property
    def leaves(self) -> NDArray[np.int64]:
        return self._column("leaves").astype(np.int64)

    @property
    def errors(self) -> NDArray[np.float64]:
        return self._column("errors")

    @property
    def scores(self) -> NDArray[np.float64]:
        return self._column("score")

    def cuts(self, step: int) -> NDArray[np.intp] | None:
        cut = self._steps[step].get("cut")
        return None if cut is None else np.array(cut, dtype=np.intp)

    def _tree(self, step: int) -> Tree:
        kept = self._steps[step]
        tree: Tree = kept["nodes"] if "nodes" in kept else super()._tree(step)
        return tree
