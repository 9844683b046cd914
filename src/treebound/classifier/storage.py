"""Conversion of a fitted classifier to the model format and back."""

from __future__ import annotations

from dataclasses import asdict, is_dataclass
from math import isfinite
from typing import Any

import numpy as np

from treebound.certificate import HeldOut
from treebound.exchange import FormatError, SavedModel
from treebound.exchange.nodes import fields_of, table_of
from treebound.pruning import PruningResult
from treebound.tree.model import Tree

__all__ = ["model_of", "restored"]

_ANSWERING = ("unknown", "smoothing")


def model_of(classifier: Any) -> SavedModel:
    """The content of a model file, from a fitted classifier."""
    parameters = classifier.get_params(deep=False)
    certificate = classifier.certificate_
    return SavedModel(
        tree=classifier.tree_,
        prediction={name: parameters.pop(name) for name in _ANSWERING},
        parameters={name: _plain(value) for name, value in parameters.items() if _can(value)},
        certificate=_fields(certificate) if is_dataclass(certificate) else None,
        pruning=classifier.pruning_path_,
        step=classifier._step,
        held_out=_held_out(classifier._held_out),
        target=classifier.target_name_,
        named=hasattr(classifier, "feature_names_in_"),
    )


def restored(cls: Any, model: SavedModel) -> Any:
    """A fitted classifier from the content of a model file."""
    known = vars(cls())  # as scikit-learn wants it, the parameters and nothing else
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
    path, result, grown = model.pruning, None, tree
    if path is not None:
        grown = path.first
        score = float(path.scores[path.chosen])
        result = PruningResult(path.tree(), path, score, fit_time=float("nan"))
    classifier._held_out = _counts(model.held_out, grown)
    classifier._set_tree(tree, grown=grown, result=result, step=model.step)
    return classifier


def _held_out(held_out: HeldOut | None) -> dict[str, Any] | None:
    if held_out is None:
        return None
    return {"m": held_out.m, "errors": held_out.errors, "counts": held_out.counts.tolist()}


def _counts(given: dict[str, Any] | None, grown: Tree) -> HeldOut | None:
    """The checked results on held-out rows."""
    if given is None:
        return None
    fields = fields_of(given, "held_out", ("m", "errors", "counts"), {})
    for name, least in (("m", 1), ("errors", 0)):
        if type(fields[name]) is not int or not least <= fields[name] <= 2**53:
            raise FormatError(f"held_out.{name}", f"must be an integer of at least {least}")
    shape = (grown.n_nodes, grown.n_classes)
    counts = table_of(fields["counts"], "held_out.counts", "integer", shape)
    if counts[0].sum() != fields["m"] or fields["errors"] > fields["m"]:
        raise FormatError("held_out", "must have m rows at the root, and no more errors")
    return HeldOut(fields["m"], fields["errors"], counts)


# -- values for JSON ---------------------------------------------------------------------------


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
