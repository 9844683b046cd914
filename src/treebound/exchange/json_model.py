"""The written model format, version 1: one JSON document a model.

The specification is in the documentation ("The model format"), the JSON Schema beside this file.
Loading parses and checks; it executes nothing.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.metadata import version as installed_version
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound._files import write_text
from treebound.data.columns import KINDS, UNKNOWNS, Column
from treebound.exchange.errors import FormatError
from treebound.exchange.nodes import nodes_from_json, nodes_to_json
from treebound.tree import Tree
from treebound.tree.smoothing import SMOOTHINGS

__all__ = ["FORMAT", "VERSION", "SavedModel", "json_schema", "load", "loads", "dumps", "save"]

FORMAT = "treebound-model"
VERSION = 1
_TOP = {
    "format", "version", "made_by", "target", "named", "columns", "classes", "nodes", "prediction",
    "parameters", "certificate", "pruning",
}  # fmt: skip
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_TYPES: dict[str, Any] = {"string": str, "integer": int, "number": float, "boolean": bool}


@dataclass(frozen=True)
class SavedModel:
    """What a model file holds.

    Attributes
    ----------
    tree : Tree
        The tree that answers.
    prediction : dict
        How it answers: ``unknown`` and ``smoothing``, as the classifier's parameters.
    parameters : dict
        The other parameters of the classifier, as far as JSON can hold them.
    certificate : dict or None
        The risk certificate, field by field.
    pruning : dict or None
        The pruning path: the grown tree's ``nodes`` and one entry a step.
    target : str or None
        The name of what is predicted.
    named : bool
        Whether the training table named its columns; else they are called x0, x1, ...
    """

    tree: Tree
    prediction: dict[str, Any] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)
    certificate: dict[str, Any] | None = None
    pruning: dict[str, Any] | None = None
    target: str | None = None
    named: bool = True


def dumps(model: SavedModel) -> str:
    """The text of a model file.

    Numbers are written so that they read back as the same double; keys stand in a fixed order, so
    the same model always gives the same text.
    """
    tree = model.tree
    document = {
        "format": FORMAT,
        "version": VERSION,
        "made_by": f"treebound {installed_version('treebound')}",
        "target": model.target,
        "named": model.named,
        "columns": [_column_to_json(column) for column in tree.columns],
        "classes": _values_to_json(list(tree.classes), "classes", dtype=tree.classes.dtype),
        "nodes": nodes_to_json(tree),
        "prediction": dict(model.prediction),
        "parameters": dict(model.parameters),
        "certificate": model.certificate,
        "pruning": model.pruning,
    }
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"A model file cannot hold {error.object[error.start]!r}, half of a character, which "
            "is in a name or category. Hint: repair the text before fitting."
        ) from None
    return text


def save(model: SavedModel, path: str | os.PathLike[str]) -> None:
    """Write a model file, atomically."""
    write_text(path, dumps(model))


def load(path: str | os.PathLike[str]) -> SavedModel:
    """Read and check a model file.

    Raises
    ------
    FormatError
        If the file is not a model; the message names the file and the place in it.
    OSError
        If the file cannot be read.
    """
    raw = Path(path).read_bytes()
    try:
        return loads(raw)
    except FormatError as error:
        place = f"{os.fspath(path)}: {error.path}" if error.path else os.fspath(path)
        raise FormatError(place, error.problem) from None


def loads(text: str | bytes) -> SavedModel:
    """Read and check the text of a model file."""
    document = _parse(text)
    if not isinstance(document, dict):
        raise FormatError("", "must be a JSON object")
    if document.get("format") != FORMAT:
        raise FormatError("format", f"must be {FORMAT!r}, found {document.get('format')!r:.60}")
    if type(document.get("version")) is not int or document["version"] != VERSION:
        found = document.get("version")
        raise FormatError("version", f"must be {VERSION}, found {found!r:.60}; a newer treebound?")
    for name in document:
        if name not in _TOP:
            raise FormatError(name, "is not a field of version 1")
    if type(document.get("made_by", "")) is not str:
        raise FormatError("made_by", "must be a string")
    columns = _columns_from_json(document.get("columns"))
    classes = _classes_from_json(document.get("classes"))
    tree = nodes_from_json(document.get("nodes"), columns, classes)
    pruning = _optional_object(document, "pruning")
    if pruning is not None:
        _check_pruning(pruning, columns, classes)
    return SavedModel(
        tree=tree,
        prediction=_prediction(document),
        parameters=_optional_object(document, "parameters") or {},
        certificate=_optional_object(document, "certificate"),
        pruning=pruning,
        target=_target(document),
        named=_named(document, columns),
    )


def json_schema() -> dict[str, Any]:
    """The JSON Schema of the format, for tools in other languages."""
    text = files("treebound.exchange").joinpath("model-v1.schema.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


# -- parsing --------------------------------------------------------------------------------


def _parse(text: str | bytes) -> Any:
    def refuse_constant(name: str) -> Any:
        raise FormatError("", f"contains {name}, which is not JSON")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise FormatError(_first_repeated(name for name, _ in pairs), "is given twice")
        return found

    try:
        raw = text.encode("utf-8") if isinstance(text, str) else text
        document = json.loads(raw, parse_constant=refuse_constant, object_pairs_hook=unique)
        if _SURROGATE.search(raw):  # a pair of them is one character, a lone one is no text
            json.dumps(document, ensure_ascii=False).encode("utf-8")
        return document
    except FormatError:
        raise
    except UnicodeEncodeError as error:
        found = error.object[error.start]
        raise FormatError("", f"contains {found!r}, half of a character") from None
    except json.JSONDecodeError as error:
        raise FormatError(
            "", f"is not JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        ) from None
    except UnicodeDecodeError as error:
        raise FormatError("", f"is not UTF-8 text, at byte {error.start}") from None
    except RecursionError:
        raise FormatError("", "is nested too deeply") from None
    except ValueError as error:  # an integer with thousands of digits
        raise FormatError("", f"cannot be read: {error}") from None


def _optional_object(document: dict[str, Any], name: str) -> dict[str, Any] | None:
    value = document.get(name)
    if value is not None and not isinstance(value, dict):
        raise FormatError(name, "must be an object or null")
    return value


def _target(document: dict[str, Any]) -> str | None:
    target = document.get("target")
    if target is not None and type(target) is not str:
        raise FormatError("target", "must be a string or null")
    return target


def _named(document: dict[str, Any], columns: tuple[Column, ...]) -> bool:
    named = document.get("named")
    if named is None:
        return any(column.name != f"x{at}" for at, column in enumerate(columns))
    if type(named) is not bool:
        raise FormatError("named", "must be true or false")
    return named


def _prediction(document: dict[str, Any]) -> dict[str, Any]:
    given = _optional_object(document, "prediction") or {}
    allowed: dict[str, tuple[str | None, ...]] = {
        "unknown": UNKNOWNS,
        "smoothing": SMOOTHINGS,
    }
    for name, value in given.items():
        if name not in allowed:
            raise FormatError(f"prediction.{name}", "is not a field of version 1")
        if value not in allowed[name]:
            raise FormatError(
                f"prediction.{name}", f"must be one of {allowed[name]}, found {value!r:.60}"
            )
    return given


# -- columns and classes --------------------------------------------------------------------


def _column_to_json(column: Column) -> dict[str, Any]:
    where = f"columns[{column.name!r}].categories"
    return {
        "name": column.name,
        "kind": column.kind,
        "categories": None
        if column.categories is None
        else _values_to_json(list(column.categories), where),
        "declared": column.declared,
        "missing": column.missing,
    }


def _columns_from_json(given: Any) -> tuple[Column, ...]:
    if not isinstance(given, list):
        raise FormatError("columns", "must be a list")
    columns = []
    for at, entry in enumerate(given):
        where = f"columns[{at}]"
        fields = {"name": str, "kind": str, "declared": bool, "missing": bool}
        if not isinstance(entry, dict):
            raise FormatError(where, "must be an object")
        for name, kind in fields.items():
            if type(entry.get(name)) is not kind:
                raise FormatError(f"{where}.{name}", f"must be a {_json_name(kind)}")
        for name in entry:
            if name not in (*fields, "categories"):
                raise FormatError(f"{where}.{name}", "is not a field of version 1")
        if entry["kind"] not in KINDS:
            raise FormatError(f"{where}.kind", f"must be one of {', '.join(KINDS)}")
        categories = entry.get("categories")
        if (categories is None) != (entry["kind"] == "real"):
            raise FormatError(f"{where}.categories", "must be null exactly when the kind is 'real'")
        if categories is not None:
            categories = tuple(_values_from_json(categories, f"{where}.categories"))
        columns.append(
            Column(entry["name"], entry["kind"], categories, entry["declared"], entry["missing"])
        )
    names = [column.name for column in columns]
    if len(set(names)) != len(names):
        twice = _first_repeated(names)
        at = len(names) - 1 - names[::-1].index(twice)
        raise FormatError(f"columns[{at}].name", f"{twice!r:.60} is given twice")
    return tuple(columns)


def _first_repeated(names: Iterable[str]) -> str:
    seen: set[str] = set()
    return next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]


def _classes_from_json(given: Any) -> NDArray[Any]:
    values = _values_from_json(given, "classes")
    if not values:
        raise FormatError("classes.values", "must have at least one class")
    text = given.get("dtype", "object")
    try:
        dtype = np.dtype(text) if isinstance(text, str) and len(text) < 16 else None
    except TypeError:
        dtype = None
    if dtype is None or dtype.kind not in "OUbiuf":
        raise FormatError("classes.dtype", f"must name a plain numpy dtype, found {text!r:.60}")
    # An array of text has room for the longest label in each place, or for more: not too much.
    if dtype.kind == "U" and dtype.itemsize * len(values) > 2**20 + 64 * sum(map(len, values)):
        raise FormatError("classes.dtype", f"{text!r} takes too much memory for these labels")
    classes = np.empty(len(values), dtype=object)
    classes[:] = values
    try:
        typed = classes.astype(dtype)
    except (ValueError, TypeError, OverflowError):
        raise FormatError("classes.dtype", f"{text!r} cannot hold the values") from None
    if typed.tolist() != values:
        raise FormatError("classes.dtype", f"{text!r} cannot hold the values")
    return typed


def _values_to_json(values: list[Any], where: str, dtype: np.dtype[Any] | None = None) -> Any:
    """Categories or class labels with their JSON type, so that 1, 1.0, "1" and true stay apart."""
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    kinds = {type(value) for value in plain}
    named = [name for name, kind in _TYPES.items() if kinds <= {kind}]
    if not named:
        found = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise ValueError(
            "A model file can hold strings, integers, finite numbers or booleans, all of one "
            f"kind, in {where}. Found {found} instead. Hint: convert them before fitting."
        )
    if any(isinstance(value, float) and not math.isfinite(value) for value in plain):
        raise ValueError(f"A model file cannot hold NaN or infinity in {where}.")
    written: dict[str, Any] = {"type": named[0], "values": plain}
    if dtype is not None:
        written["dtype"] = "object" if dtype.kind == "O" else dtype.str.lstrip("<>|=")
    return written


def _values_from_json(given: Any, where: str) -> list[Any]:
    if not isinstance(given, dict) or not isinstance(given.get("values"), list):
        raise FormatError(where, "must be an object with a type and a list of values")
    kind = _TYPES.get(given["type"]) if isinstance(given.get("type"), str) else None
    if kind is None:
        raise FormatError(f"{where}.type", f"must be one of {', '.join(_TYPES)}")
    values = given["values"]
    if kind is float:
        values = [float(v) if type(v) is int and abs(v) < 2**53 else v for v in values]
    for at, value in enumerate(values):
        if type(value) is not kind or (type(value) is float and not math.isfinite(value)):
            raise FormatError(f"{where}.values[{at}]", f"must be a {given['type']}")
        if type(value) is int and not -(2**63) <= value < 2**64:
            raise FormatError(f"{where}.values[{at}]", "must fit in 64 bits")
    if len(set(values)) != len(values):
        raise FormatError(f"{where}.values", "must be distinct")
    return values


def _check_pruning(
    pruning: dict[str, Any], columns: tuple[Column, ...], classes: NDArray[Any]
) -> None:
    """The grown tree must be a tree; the steps are checked when the path is rebuilt."""
    if not isinstance(pruning.get("steps"), list):
        raise FormatError("pruning.steps", "must be a list")
    nodes_from_json(pruning.get("grown"), columns, classes, where="pruning.grown")


def _json_name(kind: type) -> str:
    return next(name for name, type_ in _TYPES.items() if type_ is kind)
