"""Parameters of an estimator in a model file, and back: a closed set of types, never code.

What JSON does not distinguish is an object with a ``type``: tuples, sets, mappings, arrays, numbers
that are not finite, and the pruners of this package by name and parameters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, KeysView, Mapping, Sequence, ValuesView
from dataclasses import fields
from importlib import import_module
from inspect import signature
from typing import Any, TypeVar, get_args

import msgspec
import numpy as np

from treebound.exchange import document as doc
from treebound.exchange.document import FormatError
from treebound.model.parameters import FitParameters, checked_parameters
from treebound.model.regression_parameters import RegressionParameters
from treebound.pruning import STORED_PRUNERS, SquaredErrorPruner
from treebound.pruning.base import BasePruner

_SPLITTERS = get_args(doc.SplitterName)
_PRUNER_NAMES: dict[type, Any] = {kind: name for name, kind in STORED_PRUNERS.items()}
P = TypeVar("P", FitParameters, RegressionParameters)
_ARRAY_TYPES = "biuf"  # others are arrays of objects


def parameters_document(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters as JSON values; a ValueError names one that a file cannot hold."""
    return {name: _stored(value, name) for name, value in parameters.items()}


def parameters_of(document: Mapping[str, Any]) -> FitParameters:
    """Return the parameters of a classifier, checked."""
    return read_parameters(document, FitParameters, checked_parameters)


def read_parameters(document: Mapping[str, Any], kind: type[P], check: Callable[[P], Any]) -> P:
    """Return the parameters of a document, checked."""
    names = {attribute.name for attribute in fields(kind)}
    for name in document:
        if name not in names:
            raise FormatError(f"parameters.{name:.60}", "is not a parameter of the estimator")
    read = {name: _read(value, f"parameters.{name}") for name, value in document.items()}
    try:
        fitted = kind(**read)
        check(fitted)
    except (TypeError, ValueError) as error:
        raise FormatError("parameters", f"are not valid: {error}".rstrip(".")) from None
    return fitted


def _refused(value: Any, name: str) -> ValueError:
    hint = (
        "it holds numbers, texts, lists, mappings, arrays and the pruners "
        f"{', '.join(map(repr, STORED_PRUNERS))}"
    )
    if callable(getattr(value, "split", None)):
        hint = (
            f"it holds the splitters {', '.join(_SPLITTERS)}, numbers of folds and lists of folds, "
            "such as [*splitter.split(X, y)]"
        )
    return ValueError(
        f"A model file cannot hold the value of {name!r}: {value!r:.80}, of type "
        f"{type(value).__name__}. Hint: {hint}; fit with one of these, or pickle the estimator."
    )


def _stored(value: Any, name: str) -> Any:
    """A value as JSON has it."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int) and -(2**63) <= value < 2**64:
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else doc.NotFinite(str(value))  # type: ignore[arg-type]
    if isinstance(value, list | tuple | set | frozenset | Mapping | np.ndarray):
        return _container(value, name)
    if type(value) in _PRUNER_NAMES:
        pruner = {key: _stored(v, f"{name}.{key}") for key, v in vars(value).items()}
        return doc.PrunerDocument(_PRUNER_NAMES[type(value)], pruner)
    kind = type(value)
    if kind.__name__ in _SPLITTERS and kind.__module__.startswith("sklearn."):
        names = signature(kind).parameters
        splitter = {key: _stored(getattr(value, key), f"{name}.{key}") for key in names}
        return doc.SplitterDocument(kind.__name__, splitter)  # type: ignore[arg-type]
    listed = _listed(value)
    if listed is None:
        raise _refused(value, name)
    return _stored(listed, name)


def _container(value: Any, name: str) -> Any:
    if isinstance(value, list):
        return [_stored(each, name) for each in value]
    if isinstance(value, tuple):
        return doc.TupleDocument([_stored(each, name) for each in value])
    if isinstance(value, Mapping):
        items = [(_stored(key, name), _stored(each, name)) for key, each in value.items()]
        return doc.MappingDocument(items)
    if isinstance(value, np.ndarray):
        dtype = value.dtype.name if value.dtype.kind in _ARRAY_TYPES else "object"
        if dtype not in doc.ARRAY_TYPES:
            raise _refused(value, name)
        return doc.ArrayDocument(dtype, _stored(value.tolist(), name))  # type: ignore[arg-type]
    return doc.SetDocument([_stored(each, name) for each in sorted(value, key=repr)])


def _listed(value: Any) -> list[Any] | None:
    """Values of a column of a data frame, a range or another sequence; None of other objects."""
    for method in ("to_list", "tolist"):
        if callable(getattr(value, method, None)):
            listed = getattr(value, method)()
            return listed if isinstance(listed, list) else None
    return [*value] if isinstance(value, Sequence | KeysView | ValuesView) else None


# -- reading ---------------------------------------------------------------------------------------


def _read(value: Any, where: str) -> Any:
    """A stored value."""
    if isinstance(value, list):
        return [_read(each, where) for each in value]
    if not isinstance(value, dict):
        return value
    try:
        stored = msgspec.convert(value, doc.Stored)
    except msgspec.ValidationError as error:
        raise FormatError(where, f"is not a stored value: {error}".rstrip(".")) from None
    try:
        return _made(stored, where)
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(where, f"is not a stored value: {error}".rstrip(".")) from None


def _made(stored: doc.Stored, where: str) -> Any:
    if isinstance(stored, doc.NotFinite):
        return float(stored.value)
    if isinstance(stored, doc.MappingDocument):
        pairs = [(_read(key, where), _read(each, where)) for key, each in stored.items]
        if len({key for key, _ in pairs}) != len(pairs):
            raise FormatError(where, "has a key twice")
        return dict(pairs)
    if isinstance(stored, doc.PrunerDocument):
        return _pruner(stored, where)
    if isinstance(stored, doc.SplitterDocument):
        read = {name: _read(value, f"{where}.{name}") for name, value in stored.parameters.items()}
        return getattr(import_module("sklearn.model_selection"), stored.name)(**read)
    values = [_read(each, where) for each in stored.values]
    if isinstance(stored, doc.TupleDocument):
        return tuple(values)
    if isinstance(stored, doc.SetDocument):
        return {*values}
    if (dtype := np.dtype(stored.dtype)).kind in "iu":
        ends = np.iinfo(dtype)
        if not all(isinstance(each, int) and ends.min <= each <= ends.max for each in values):
            raise FormatError(where, f"must hold numbers of the type {dtype.name}")
    return np.array(values, dtype=dtype)


def _pruner(stored: doc.PrunerDocument, where: str) -> BasePruner | SquaredErrorPruner:
    kind = STORED_PRUNERS[stored.name]
    read = {name: _read(value, f"{where}.{name}") for name, value in stored.parameters.items()}
    pruner = kind(**read)
    pruner._check()
    return pruner
