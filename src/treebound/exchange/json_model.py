"""The model format, version 2: one JSON document per model.

The specification is in the documentation ("The model format"), the JSON Schema in this folder.
Loading parses and checks; it executes no code.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from importlib.metadata import version as installed_version
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound._files import write_text
from treebound.certificate import Certificate, HeldOut
from treebound.data.columns import KINDS, UNKNOWNS, Column
from treebound.exchange.errors import FormatError
from treebound.exchange.nodes import (
    array_of,
    fields_of,
    nodes_from_json,
    nodes_to_json,
    table_of,
)
from treebound.exchange.path_document import path_from_json, path_to_json
from treebound.model import Model
from treebound.parameters import FitParameters
from treebound.pruning import PruningPath, PruningResult
from treebound.tree import Tree
from treebound.tree.smoothing import SMOOTHINGS

__all__ = ["FORMAT", "VERSION", "json_schema", "load", "loads", "dumps", "save"]

FORMAT = "treebound-model"
VERSION = 2
_NEEDED = ("format", "version", "columns", "classes", "nodes")
_OPTIONAL: dict[str, Any] = {
    "made_by": "", "target": None, "named": None, "prediction": None, "parameters": None,
    "certificate": None, "pruning": None, "held_out": None, "class_factors": None,
}  # fmt: skip
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_DTYPES = {"O": "object", "U": "str"}
_CLASS_TYPES = (
    "object", "str", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
    "uint64", "float16", "float32", "float64",
)  # fmt: skip
_COLUMN = {"name": str, "kind": str, "declared": bool, "missing": bool}
_NAMES: dict[type, str] = {
    str: "a string", bool: "true or false", dict: "an object", int: "an integer",
    type(None): "null",
}  # fmt: skip
_PLAIN: dict[str, tuple[type, ...]] = {
    "made_by": (str,), "target": (str, type(None)), "named": (bool, type(None)),
    "prediction": (dict, type(None)), "parameters": (dict, type(None)),
    "certificate": (dict, type(None)), "held_out": (dict, type(None)),
}  # fmt: skip
_TYPES: dict[str, Any] = {"string": str, "integer": int, "number": float, "boolean": bool}


def dumps(model: Model) -> str:
    """Serialize a model to JSON text.

    Numbers round-trip exactly and keys have a fixed order, so equal models give equal texts.

    Parameters
    ----------
    model : Model
        The model to write.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If a name or category has a character that UTF-8 cannot hold.
    """
    tree = model.tree
    document = {
        "format": FORMAT,
        "version": VERSION,
        "made_by": f"treebound {installed_version('treebound')}",
        "target": model.target,
        "named": model.has_names,
        "columns": [_column_to_json(column) for column in tree.columns],
        "classes": {
            **_values_to_json(list(tree.classes), "classes"),
            "dtype": _DTYPES.get(tree.classes.dtype.kind, tree.classes.dtype.name),
        },
        "nodes": nodes_to_json(tree),
        "prediction": {"unknown": model.unknown, "smoothing": model.smoothing},
        "parameters": _parameters_to_json(model.parameters),
        "class_factors": model.class_factors,
        "certificate": _certificate_to_json(model.certificate),
        "pruning": None if model.path is None else path_to_json(model.path, model.step),
        "held_out": _held_out_to_json(model.held_out),
    }
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"A model file cannot hold {error.object[error.start]!r}, a lone surrogate, which is "
            "in a name or category. Hint: repair the text before fitting."
        ) from None
    return text


def save(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model file.

    The file is replaced at once when it is complete, so that no incomplete file is left.

    Parameters
    ----------
    model : Model
        The model to write.
    path : str or path-like
        The file to write.
    """
    write_text(path, dumps(model))


def load(path: str | os.PathLike[str]) -> Model:
    """Read and check a model file.

    Parameters
    ----------
    path : str or path-like
        The file to read.

    Returns
    -------
    Model

    Raises
    ------
    FormatError
        If the file is not a valid model; the message names the file and the location.
    OSError
        If the file cannot be read.
    """
    raw = Path(path).read_bytes()
    try:
        return loads(raw)
    except FormatError as error:
        place = f"{os.fspath(path)}: {error.path}" if error.path else os.fspath(path)
        raise FormatError(place, error.problem) from None


def loads(text: str | bytes) -> Model:
    """Read and check the text of a model file.

    Parameters
    ----------
    text : str or bytes
        JSON; bytes are UTF-8.

    Returns
    -------
    Model

    Raises
    ------
    FormatError
        If the text is not a valid model; the message names the location.
    """
    given = _parse(text)
    if not isinstance(given, dict):
        raise FormatError("", "must be a JSON object")
    if given.get("format") != FORMAT:
        raise FormatError("format", f"must be {FORMAT!r}, found {given.get('format')!r:.60}")
    if type(given.get("version")) is not int or given["version"] != VERSION:
        found = f"found {given.get('version')!r:.60}"
        raise FormatError("version", f"must be {VERSION}, {found} (of another release)")
    document = fields_of(given, "", _NEEDED, _OPTIONAL)
    columns = _columns_from_json(document["columns"])
    for name, kinds in _PLAIN.items():
        if type(document[name]) not in kinds:
            raise FormatError(name, f"must be {_words(kinds)}")
    classes = _classes_from_json(document["classes"])
    tree = nodes_from_json(document["nodes"], columns, classes)
    path, step = None, None
    if document["pruning"] is not None:
        path, step = path_from_json(document["pruning"], columns, classes)
    parameters = _parameters_from_json(document["parameters"] or {}, document["prediction"] or {})
    _, options = parameters.checked()
    grown = tree if path is None else path.first
    factors = document["class_factors"]
    return Model(
        tree,
        pruning=None if path is None else _result(path),
        step=step,
        options=options,
        unknown=parameters.unknown,
        smoothing=parameters.smoothing,
        class_factors=None if factors is None else _factors_from_json(factors, len(classes)),
        delta=parameters.delta,
        held_out=_held_out_from_json(document["held_out"], grown),
        target=document["target"],
        named=document["named"],
        parameters=parameters.values(),
    )


def _result(path: PruningPath) -> PruningResult:
    return PruningResult(path.tree(), path, float(path.scores[path.chosen]), fit_time=math.nan)


def json_schema() -> dict[str, Any]:
    """The JSON Schema of the format, for tools in other languages.

    Returns
    -------
    dict
    """
    text = files("treebound.exchange").joinpath("model-v2.schema.json").read_text("utf-8")
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
        if _SURROGATE.search(raw):  # a surrogate pair is a character, a lone one is invalid
            json.dumps(document, ensure_ascii=False).encode("utf-8")
        return document
    except FormatError:
        raise
    except UnicodeEncodeError as error:
        found = error.object[error.start]
        raise FormatError("", f"contains {found!r}, a lone surrogate") from None
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


def _words(kinds: tuple[type, ...]) -> str:
    return " or ".join(_NAMES[kind] for kind in kinds)


# -- parameters, held-out rows, certificate -------------------------------------------------

_ANSWERING = ("unknown", "smoothing")


def _parameters_to_json(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that JSON can represent; those of answering stand apart."""
    return {
        name: _plain(value)
        for name, value in parameters.items()
        if name not in _ANSWERING and _can(value)
    }


def _parameters_from_json(given: dict[str, Any], answering: dict[str, Any]) -> FitParameters:
    choices: dict[str, tuple[str | None, ...]] = {"unknown": UNKNOWNS, "smoothing": SMOOTHINGS}
    for name, value in fields_of(answering, "prediction", (), dict.fromkeys(choices)).items():
        if name in answering and (isinstance(value, list | dict) or value not in choices[name]):
            must = f"must be one of {', '.join(map(repr, choices[name]))}"
            raise FormatError(f"prediction.{name}", f"{must}, found {value!r:.60}")
    usual = FitParameters().values()
    for name in given:
        if name not in usual or name in _ANSWERING:
            raise FormatError(f"parameters.{name}", "is not a parameter of the classifier")
    parameters = FitParameters(**given, **answering)
    try:
        parameters.checked()
    except ValueError as error:
        raise FormatError("parameters", str(error)) from None
    return parameters


def _factors_from_json(given: Any, n_classes: int) -> tuple[float, ...]:
    if not isinstance(given, list) or len(given) != n_classes:
        raise FormatError("class_factors", f"must be a list of {n_classes} numbers, or null")
    factors = array_of(given, "class_factors", "number", n_classes)
    if not (np.isfinite(factors) & (factors > 0)).all():
        raise FormatError("class_factors", "must be finite numbers > 0")
    return tuple(factors.tolist())


def _held_out_to_json(held_out: HeldOut | None) -> dict[str, Any] | None:
    if held_out is None:
        return None
    return {"m": held_out.m, "errors": held_out.errors, "counts": held_out.counts.tolist()}


def _held_out_from_json(given: dict[str, Any] | None, grown: Tree) -> HeldOut | None:
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


def _certificate_to_json(certificate: Certificate | None) -> dict[str, Any] | None:
    if certificate is None:
        return None
    return {name: _plain(value) for name, value in asdict(certificate).items() if _can(value)}


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
        return math.isfinite(value)
    return value is None or isinstance(value, bool | int | str)


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
        fields = fields_of(entry, where, tuple(_COLUMN), {"categories": None})
        for name, kind in _COLUMN.items():
            if type(fields[name]) is not kind:
                raise FormatError(f"{where}.{name}", f"must be {_NAMES[kind]}")
        if fields["kind"] not in KINDS:
            raise FormatError(f"{where}.kind", f"must be one of {', '.join(KINDS)}")
        categories = fields["categories"]
        if (categories is None) != (fields["kind"] == "real"):
            raise FormatError(f"{where}.categories", "must be null exactly when the kind is 'real'")
        if categories is not None:
            fields["categories"] = tuple(_values_from_json(categories, f"{where}.categories"))
        columns.append(Column(**fields))
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
    fields = fields_of(given, "classes", ("type", "values"), {"dtype": "object"})
    values = _values_from_json({"type": fields["type"], "values": fields["values"]}, "classes")
    if not values:
        raise FormatError("classes.values", "must have at least one class")
    if fields["dtype"] not in _CLASS_TYPES:
        raise FormatError("classes.dtype", f"must be one of {', '.join(_CLASS_TYPES)}")
    longest = max(map(len, values)) if fields["type"] == "string" else 0
    # a text array allocates the longest label for every entry: too much for a single long one
    if fields["dtype"] == "str" and longest * len(values) > 2**18 + 16 * sum(map(len, values)):
        raise FormatError("classes.dtype", "takes too much memory, use 'object'")
    try:
        typed = np.array(values, dtype=fields["dtype"])
    except (ValueError, TypeError, OverflowError):
        typed = np.empty(0)
    if typed.tolist() != values:
        raise FormatError("classes.dtype", f"{fields['dtype']!r} cannot hold the values")
    return typed


def _values_to_json(values: list[Any], where: str) -> dict[str, Any]:
    """Categories or labels with their JSON type, to distinguish 1, 1.0, "1" and true."""
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
    return {"type": named[0], "values": plain}


def _values_from_json(given: Any, where: str) -> list[Any]:
    fields = fields_of(given, where, ("type", "values"), {})
    kind = _TYPES.get(fields["type"]) if isinstance(fields["type"], str) else None
    if kind is None:
        raise FormatError(f"{where}.type", f"must be one of {', '.join(_TYPES)}")
    values = fields["values"]
    if not isinstance(values, list):
        raise FormatError(f"{where}.values", "must be a list")
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
