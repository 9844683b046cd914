"""The format of files of regression models, version 1: fields, types and limits.

Columns, draws and stored values are those of :mod:`treebound.exchange.document`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, field
from msgspec.json import schema_components

from treebound._utils.choices import Unknown
from treebound.certificate.row_record import Role
from treebound.exchange.document import (
    ColumnDocument,
    DrawDocument,
    EditDocument,
    Finite,
    Index,
    Object,
    Positive,
    SketchDocument,
    Weight,
    Whole,
)

FORMAT, VERSION = "treebound-regression-model", 1
Sum = Annotated[int, Meta(ge=-(2**62), le=2**62)]


class UnitsDocument(Object):
    """The units of the exact sums."""

    centre: Finite
    unit: Positive
    most: Weight
    square_shift: Annotated[int, Meta(ge=0, le=126)]
    weight_unit: Positive
    digits: Annotated[int, Meta(ge=0, le=6)] | None = None


class RegressionNodesDocument(Object):
    """The nodes of a regression tree, in pre-order.

    Trees that were grown have exact ``sums`` and their ``units``, others ``moments``.
    """

    feature: list[Index]
    threshold: list[Finite | Literal["inf"] | None]
    category: list[Index]
    missing_left: list[bool]
    right: list[Index]
    rows: list[Whole]
    value: list[Finite]
    sums: list[list[Sum]] | None = None
    units: UnitsDocument | None = None
    moments: list[list[Finite]] | None = None
    weighted: bool = False
    monotone: tuple[Annotated[int, Meta(ge=-1, le=1)], ...] | None = None


class ShrinkageDocument(Object):
    """The shrinkage of leaf values."""

    kind: Literal["rows", "F"] = "rows"
    strength: Weight = 0.0


class NumberChoiceDocument(Object):
    """How weight, leaf size and shrinkage were chosen."""

    weight: Weight | Literal["inf"]  # an infinite alpha leaves one leaf
    rule: Literal["accurate", "balanced", "small"] | None
    reason: str
    min_samples_leaf: Annotated[int, Meta(ge=1, le=2**31 - 1)]
    shrinkage: ShrinkageDocument
    weights: tuple[Weight | Literal["inf"], ...] = ()
    leaves: tuple[Annotated[int, Meta(ge=1, le=2**31 - 1)], ...] = ()
    losses: tuple[Weight, ...] = ()
    standard_error: Weight | None = None
    constant: Weight | None = None
    tried: tuple[Whole, Whole, Whole] = (1, 1, 1)


class RegressionPathDocument(Object):
    """The pruning path: the nodes that are collapsed at each step."""

    grown: RegressionNodesDocument
    chosen: Whole
    n_steps: Whole
    errors: list[Weight]
    scores: list[Finite | None]
    cuts: Annotated[list[list[Whole]], Meta(min_length=1)]
    unit: str = "errors"
    step: Whole | None = None
    choice: NumberChoiceDocument | None = None


class NumberEstimateDocument(Object):
    """Estimated errors: pairs of a value and its standard error."""

    rmse: tuple[Weight, Weight]
    mae: tuple[Weight, Weight]
    r2: tuple[Finite | None, Finite | None]
    baseline_rmse: Weight
    baseline_mae: Weight
    rows: Whole
    by: str
    heavy_tailed: bool = False


class NumberCalibrationDocument(Object):
    """The numbers of the calibration rows, and the nodes of the grown tree where they end."""

    y: list[Finite]
    nodes: list[Annotated[int, Meta(ge=0, le=2**31 - 1)]]
    tolerance: Weight
    y_range: tuple[Finite, Finite] | None = None
    folds: Annotated[int, Meta(ge=1, le=2**31 - 1)] = 1
    grouped: bool = False


class RegressionDocument(Object):
    """A file of a regression model."""

    format: Literal["treebound-regression-model"]
    version: Literal[1]
    columns: list[ColumnDocument]
    nodes: RegressionNodesDocument
    made_by: str = ""
    target: str | None = None
    named: bool | None = None
    handle_unknown: Unknown = "other"
    parameters: dict[str, Any] = field(default_factory=dict)
    edits: tuple[EditDocument, ...] = ()
    swapped: tuple[int, ...] = ()
    pruning: RegressionPathDocument | None = None
    choice: NumberChoiceDocument | None = None
    estimate: NumberEstimateDocument | None = None
    sizes: list[tuple[Whole, Weight, Finite]] = field(default_factory=list)
    residuals: list[Weight] = field(default_factory=list)
    validated: list[tuple[Finite, Finite]] = field(default_factory=list)
    clip: tuple[Finite, Finite] | None = None
    draw: DrawDocument | None = None
    groups: Whole = 0
    rows: dict[Role, SketchDocument] | None = None
    calibration: NumberCalibrationDocument | None = None
    delta: Annotated[float, Meta(gt=0.0, lt=1.0)] = 0.05


def regression_json_schema() -> dict[str, Any]:
    """The JSON Schema of the format of regression models, for tools in other languages."""
    (model,), parts = schema_components((RegressionDocument,), ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:treebound:regression-model:{VERSION}",
        "title": f"regression model, version {VERSION}",
        **model,
        "$defs": parts,
    }
