"""The model format, version 2: the fields of the JSON document, their types and limits.

The JSON Schema and the checks of a file follow from these definitions; rules that they cannot
express, such as lists of equal length, are checked in ``model_file.py`` and by ``Tree``. The
specification is in the documentation ("The model format").
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from typing import Annotated, Any, Generic, Literal, TypeVar, get_args

from msgspec import UNSET, Meta, Struct, UnsetType, ValidationError, convert, field
from msgspec.json import schema_components

from treebound._utils.choices import PrunerName, Size, Unknown
from treebound.certificate.row_record import Role
from treebound.data.columns import Kind
from treebound.model.edits import Operation
from treebound.tree.smoothing import NamedSmoothing

FORMAT, VERSION = "treebound-model", 2
D = TypeVar("D", bound=Struct)
T = TypeVar("T")
_READERS = {
    FORMAT: "BoundTreeClassifier.load",
    "treebound-regression-model": "BoundTreeRegressor.load",
}

_MAX = sys.float_info.max
Finite = Annotated[float, Meta(ge=-_MAX, le=_MAX)]
Weight = Annotated[float, Meta(ge=0.0, le=_MAX)]
Positive = Annotated[float, Meta(gt=0.0, le=_MAX)]
Index = Annotated[int, Meta(ge=-1, le=2**31 - 1)]
Row = Annotated[int, Meta(ge=-1, le=2**62)]
Whole = Annotated[int, Meta(ge=0, le=2**62)]
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
ClassType = Literal[
    "object", "str", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
    "uint64", "float16", "float32", "float64",
]  # fmt: skip
ArrayType = Literal[
    "object", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64",
]  # fmt: skip
ARRAY_TYPES: tuple[str, ...] = get_args(ArrayType)


class Object(Struct, forbid_unknown_fields=True):
    """An object in the document."""


class ListedValues(Object, Generic[T], tag_field="type"):
    """Categories or classes of one type; classes have a type of numpy."""

    values: list[T]
    dtype: ClassType | UnsetType = UNSET


class Strings(ListedValues[str], tag="string"):
    """Categories or classes that are texts; classes have a type of numpy."""


class Integers(ListedValues[int], tag="integer"):
    """Integers of 64 bits."""


class Numbers(ListedValues[Finite], tag="number"):
    """Finite doubles."""


class Booleans(ListedValues[bool], tag="boolean"):
    """True or false."""


Values = Strings | Integers | Numbers | Booleans


Size31 = Annotated[int, Meta(ge=1, le=2**31 - 1)]


class ColumnDocument(Object):
    """A column: the categories that its trees need, and how many there are besides.

    Only their number if no tree splits on the column.
    """

    name: str
    kind: Kind
    declared: bool
    missing: bool
    categories: Values | Size31 | None = None
    unlisted: Annotated[int, Meta(ge=0, le=2**31 - 1)] = 0
    identifier: bool = False


class MonotoneDocument(Object):
    """Columns in which probabilities only rise or fall: their signs, and classes low to high."""

    signs: tuple[Annotated[int, Meta(ge=-1, le=1)], ...]
    order: tuple[Whole, ...]


class NodesDocument(Object):
    """The nodes of a tree, in pre-order."""

    feature: list[Index]
    threshold: list[Finite | Literal["inf"] | None]
    category: list[Index]
    missing_left: list[bool]
    right: list[Index]
    counts: list[list[Weight]]
    rows: list[Whole]
    label: list[Whole]
    names: list[Row] | None = None
    weighted: bool = False
    counted: bool = True
    factors: list[Positive] | None = None
    monotone: MonotoneDocument | None = None


class ChoiceDocument(Object):
    """How the weight of the tree was chosen, and the alternatives."""

    weight: Weight
    rule: Size | None = None
    reason: str = ""
    unit: str = "error"
    weights: tuple[Weight, ...] = ()
    losses: tuple[Weight, ...] = ()
    leaves: tuple[Annotated[int, Meta(ge=1, le=2**31 - 1)], ...] = ()
    standard_error: Weight | None = None
    constant: Weight | None = None
    strengths: tuple[Positive, ...] = ()


class PathDocument(Object):
    """The pruning path."""

    grown: NodesDocument
    chosen: Whole
    n_steps: Whole
    errors: list[Weight]
    scores: list[Finite | None]
    cuts: Annotated[list[list[Whole] | NodesDocument], Meta(min_length=1)]
    unit: str = "errors"
    step: Whole | None = None
    choice: ChoiceDocument | None = None


class Prediction(Object):
    """How rows are read and predicted."""

    handle_unknown: Unknown = "other"
    smoothing: NamedSmoothing | Positive | None = "shrinkage"
    free_shrinkage: bool = False


class HeldOutDocument(Object):
    """The rows that fit held out."""

    m: Annotated[int, Meta(ge=1, le=2**53)]
    errors: Annotated[int, Meta(ge=0, le=2**53)]
    counts: list[list[Whole]]
    folds: Annotated[int, Meta(ge=1, le=2**31 - 1)] = 1
    grouped: bool = False
    alternatives: Annotated[int, Meta(ge=1, le=2**31 - 1)] = 1


class ProofDocument(Object):
    """The evidence of a certificate by a prior."""

    log_prior: Annotated[float, Meta(ge=-_MAX, le=0.0)]
    counts_a: list[list[Whole]]
    counts_b: list[list[Whole]]
    log_splits: list[Finite] | None = None
    log_stops: list[Finite] | None = None


class CertifiedDocument(Object):
    """A tree of the frontier, and the evidence of its certificate."""

    nodes: NodesDocument
    proof: ProofDocument
    cost: Annotated[float, Meta(ge=0.0, le=_MAX)] | None = None


class FrontierDocument(Object):
    """The trees that a prior certifies."""

    trees: Annotated[list[CertifiedDocument], Meta(min_length=1)]
    chosen: Whole
    step: Whole | None = None


class AbstentionDocument(Object):
    """The nodes that predict, the bound on the risk there, and the tree that always predicts."""

    label: bool | int | float | str
    predicts: list[bool]
    max_risk: Annotated[float, Meta(gt=0.0, lt=1.0)]
    risk: Annotated[float, Meta(ge=0.0, le=1.0)]
    delta: Annotated[float, Meta(gt=0.0, lt=1.0)]
    errors: Whole
    predicted: Whole
    m: Whole
    classes: Values
    nodes: NodesDocument
    grouped: bool = False
    note: str = ""


class SketchDocument(Object):
    """The smallest hashes of some rows: 64-bit numbers, the low byte first, in base64."""

    hashes: bytes
    counts: list[Annotated[int, Meta(ge=1, le=2**62)]]
    rows: Whole


class SelectionDocument(Object):
    """Rows that were drawn: places of a random order, a tenth by number, or a share of classes."""

    rule: Literal["slice", "tenth", "stratified"]
    key: Whole
    start: Whole = 0
    stop: Whole = 0
    share: Annotated[float, Meta(ge=0.0, lt=1.0)] = 0.0


class SizeDocument(Object):
    """The estimated error of a tree of at most so many leaves."""

    leaves: Annotated[int, Meta(ge=1)]
    error: Share
    difference: Annotated[float, Meta(ge=-1.0, le=1.0)]
    mean_cost: Annotated[float, Meta(ge=0.0)] | None = None


class EstimateDocument(Object):
    """The estimated error on new rows; ``confusion`` has a row for each true class, or is empty."""

    error: Share
    interval: tuple[Share, Share]
    standard_error: Annotated[float, Meta(ge=0.0)]
    method: str
    folds: Whole
    rows: Whole
    baseline: Share
    baseline_label: bool | int | float | str
    recall: list[Share | None]
    confusion: list[list[Whole]] = field(default_factory=list)
    mean_cost: Annotated[float, Meta(ge=0.0)] | None = None
    baseline_cost: Annotated[float, Meta(ge=0.0)] | None = None
    balanced_accuracy: Share | None = None
    sizes: list[SizeDocument] = field(default_factory=list)


class DrawDocument(Object):
    """The key by which rows were drawn, and how."""

    salt: Whole
    key: Whole | None = None
    calibration: SelectionDocument | None = None
    validation: SelectionDocument | None = None


class NodeStateDocument(Object):
    """A node before or after an edit."""

    leaves: Annotated[int, Meta(ge=1)]
    prediction: bool | int | float | str
    split: str | None = None
    share: Share | None = None


class EditDocument(Object):
    """A change by hand."""

    operation: Operation
    node: Annotated[str, Meta(pattern="^[LR]*$")]
    conditions: tuple[str, ...]
    before: NodeStateDocument
    after: NodeStateDocument
    columns: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    alternative: Annotated[int, Meta(ge=1)] | None = None
    note: str = ""
    author: str = ""
    time: str = ""


class TupleDocument(Object, tag_field="type", tag="tuple"):
    """A tuple in a parameter."""

    values: list[Any]


class SetDocument(Object, tag_field="type", tag="set"):
    """A set in a parameter."""

    values: list[Any]


class MappingDocument(Object, tag_field="type", tag="mapping"):
    """A mapping in a parameter: pairs of key and value."""

    items: list[tuple[Any, Any]]


class ArrayDocument(Object, tag_field="type", tag="array"):
    """A numpy array in a parameter; texts are objects."""

    dtype: ArrayType
    values: list[Any]


class NotFinite(Object, tag_field="type", tag="number"):
    """A number in a parameter that is not finite."""

    value: Literal["nan", "inf", "-inf"]


class PrunerDocument(Object, tag_field="type", tag="pruner"):
    """A pruner of this package, by name, and its parameters."""

    name: PrunerName | Literal["paper", "squared-error"]
    parameters: dict[str, Any]


SplitterName = Literal["KFold", "StratifiedKFold", "GroupKFold", "StratifiedGroupKFold"]


class SplitterDocument(Object, tag_field="type", tag="splitter"):
    """A cross-validation splitter of scikit-learn, by name, and its parameters."""

    name: SplitterName
    parameters: dict[str, Any]


Stored = (
    TupleDocument
    | SetDocument
    | MappingDocument
    | ArrayDocument
    | NotFinite
    | PrunerDocument
    | SplitterDocument
)
Parameter = None | bool | int | float | str | list[Any] | Stored


class ModelDocument(Object):
    """A model file."""

    format: Literal["treebound-model"]
    version: Literal[2]
    columns: list[ColumnDocument]
    classes: Values
    nodes: NodesDocument
    made_by: str = ""
    target: str | None = None
    named: bool | None = None
    prediction: Prediction = field(default_factory=Prediction)
    delta: Annotated[float, Meta(gt=0.0, lt=1.0)] = 0.05
    parameters: dict[str, Any] = field(default_factory=dict)  # values are a Parameter each
    certificate: dict[str, Any] | None = None
    no_certificate: str = ""
    estimate: EstimateDocument | None = None
    no_estimate: str = ""
    edits: tuple[EditDocument, ...] = ()
    swapped: tuple[int, ...] = ()
    pruning: PathDocument | None = None
    held_out: HeldOutDocument | None = None
    proof: ProofDocument | None = None
    frontier: FrontierDocument | None = None
    abstention: AbstentionDocument | None = None
    row_counts: list[list[Whole]] | None = None
    rows: dict[Role, SketchDocument] | None = None
    draw: DrawDocument | None = None
    groups: Whole = 0


def json_schema() -> dict[str, Any]:
    """The JSON Schema of the format, for tools in other languages."""
    kinds = (ModelDocument, dict[str, Parameter])
    (model, parameters), parts = schema_components(kinds, ref_template="#/$defs/{name}")
    parts["ModelDocument"]["properties"]["parameters"] = {**parameters, "default": {}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:treebound:model:{VERSION}",
        "title": f"treebound model, version {VERSION}",
        **model,
        "$defs": parts,
    }


# -- parsing --------------------------------------------------------------------------------------


class FormatError(ValueError):
    """A model file does not follow the format; ``path`` locates the problem.

    Parameters
    ----------
    path : str
        Location in the document, e.g. ``"nodes.threshold[3]"``; empty for the whole document.
    problem : str
        What was expected there and what was found.
    """

    def __init__(self, path: str, problem: str) -> None:
        self.path = path
        self.problem = problem
        super().__init__(f"Not a valid treebound model: {path or 'the document'} {problem}.")


def parse(text: str | bytes, kind: type[D], *, format: str = FORMAT, version: int = VERSION) -> D:
    """Return the document of a model file; a FormatError names the place of what is wrong."""
    value = _json(text)
    if not isinstance(value, dict):
        raise FormatError("", "must be a JSON object")
    if value.get("format") != format:
        stored = value.get("format")
        reader = _READERS.get(stored) if isinstance(stored, str) else None
        hint = f" (read it with {reader})" if reader else ""
        raise FormatError("format", f"must be {format!r}, found {stored!r:.60}{hint}")
    if type(value.get("version")) is not int or value["version"] != version:
        stored = f"{value.get('version')!r:.60}"
        why = "another release wrote the file; fit the model again"
        raise FormatError("version", f"must be {version}, found {stored} ({why})")
    try:
        return convert(value, kind)
    except ValidationError as error:
        raise _format_error(str(error)) from None


_PLACE = re.compile(r"(.*?)(?: - at (?:`key` in )?`\$\.?(.*)`)?", re.S)
_FIELD = re.compile(r"Object (?:missing required|contains unknown) field `(.*)`", re.S)


def _format_error(message: str) -> FormatError:
    """The error of msgspec with the place first: ``nodes.rows[3] must be `int` >= 0``."""
    problem, place = _PLACE.fullmatch(message).groups(default="")  # type: ignore[union-attr]
    named = _FIELD.fullmatch(problem)
    if named is not None:
        prefix = f"{place}." if place else ""
        missing = problem.startswith("Object missing")
        must = "is missing" if missing else "is not a field of this version"
        return FormatError(f"{prefix}{named[1]:.60}", must)
    problem = problem.replace("Expected", "must be").replace(", got", ", found")
    return FormatError(place, problem if problem.startswith("must") else f"is wrong: {problem}")


def first_repeated(names: list[str]) -> str | None:
    """The first name that occurs more than once."""
    return next((name for name, times in Counter(names).items() if times > 1), None)


def _json(text: str | bytes) -> Any:
    """The JSON value; keys that occur twice and halves of characters are errors."""

    def refuse_constant(name: str) -> Any:
        raise FormatError("", f"contains {name}, which is not JSON")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        twice = first_repeated([name for name, _ in pairs])
        if twice is not None:
            raise FormatError(twice, "is given twice")
        return dict(pairs)

    try:
        raw = text.encode("utf-8") if isinstance(text, str) else text
        value = json.loads(raw, parse_constant=refuse_constant, object_pairs_hook=unique)
        if re.search(rb"\\u[dD][89a-fA-F]", raw):  # a pair is a character, a lone one is invalid
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        return value
    except FormatError:
        raise
    except RecursionError:
        raise FormatError("", "is nested too deeply") from None
    except ValueError as error:  # of JSON, of UTF-8, or of an integer with thousands of digits
        raise FormatError("", f"is not JSON in UTF-8: {error}") from None
