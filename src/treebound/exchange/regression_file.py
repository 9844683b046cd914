"""Regression models as JSON documents, and back. Loading executes no code."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec
import numpy as np

from treebound._utils.quantities import EstimatedFigure
from treebound._utils.versions import __version__
from treebound.certificate.row_record import RowRecord
from treebound.data.columns import Column
from treebound.data.numeric_target import TargetScale, TargetUnits
from treebound.exchange import document as doc
from treebound.exchange import regression_document as numbers
from treebound.exchange.document import FormatError
from treebound.exchange.model_file import (
    choice_fields,
    draw_document,
    encoded,
    inner_nodes,
    optional,
    read_provenance,
    record_document,
)
from treebound.exchange.parameters import parameters_document, read_parameters
from treebound.exchange.stored import (
    Listing,
    columns_of,
    document_of,
    edit_documents,
    listed_path,
    refuse,
    same_size,
    splits_of,
    stored_steps,
    table_of,
    thresholds,
)
from treebound.growing import GrowOptions
from treebound.model.number_estimate import NumberEstimate
from treebound.model.number_evidence import NumberCalibration, NumberEvidence, NumberSizeEstimate
from treebound.model.options import ReadingOptions
from treebound.model.regression import RegressionModel
from treebound.model.regression_parameters import (
    RegressionParameters,
    checked_parameters,
    parameter_values,
)
from treebound.pruning import PruningResult
from treebound.pruning.number_choice import NumberChoice
from treebound.pruning.number_pruner import DEFAULT_LEAF_SIZE
from treebound.pruning.path import PruningPath
from treebound.tree.leaf_values import Shrinkage
from treebound.tree.regression import RegressionTree


def regression_text(
    model: RegressionModel, *, pruning_path: bool = True, row_record: bool = True
) -> str:
    """Return a regression model as JSON text; equal models give equal texts."""
    if not pruning_path and model.pruning is not None:
        # calibration rows end at nodes of the grown tree
        evidence = replace(model.evidence, calibration=None, choice=model.choice)
        model = replace(model, pruning=None, step=None, evidence=evidence)
    record = model.provenance.row_record if row_record else None
    return encoded(_document(model, record))


def parse_regression(text: str | bytes) -> RegressionModel:
    """Read and check the text of a file of a regression model; bytes are UTF-8."""
    document = doc.parse(
        text, numbers.RegressionDocument, format=numbers.FORMAT, version=numbers.VERSION
    )
    columns = columns_of(document.columns)
    tree = _tree(document.nodes, columns, "nodes")
    pruning = optional(_pruning, document.pruning, columns)
    grown = tree if pruning is None else pruning.path.first
    stored = document.parameters
    parameters = (
        read_parameters(stored, RegressionParameters, checked_parameters) if stored else None
    )
    choice = optional(_choice, document.choice)
    residuals = np.array(document.residuals, dtype=np.float64)
    if (np.diff(residuals) < 0.0).any():
        raise FormatError("residuals", "must not decrease")
    if document.clip is not None and document.clip[0] > document.clip[1]:
        raise FormatError("clip", "must have the smaller number first")
    return RegressionModel(
        tree,
        pruning=pruning,
        step=None if document.pruning is None else document.pruning.step,
        options=GrowOptions()
        if parameters is None
        else _options(parameters, choice if pruning is None else pruning.choice),
        reading=ReadingOptions(document.handle_unknown, document.named, document.target),
        provenance=read_provenance(document, optional(parameter_values, parameters)),
        swapped=inner_nodes(document.swapped, tree),
        evidence=NumberEvidence(
            document.delta,
            optional(_calibration, document.calibration, grown),
            optional(_estimate, document.estimate),
            tuple(NumberSizeEstimate(*size) for size in document.sizes),
            residuals,
            np.array(document.validated, dtype=np.float64).reshape(-1, 2),
            choice,
        ),
        clip=document.clip,
    )


def _options(parameters: RegressionParameters, choice: NumberChoice | None) -> GrowOptions:
    """Return the options of growing, with the leaf size that was chosen."""
    options, size = checked_parameters(parameters)[1], parameters.min_samples_leaf
    if choice is not None:
        size = choice.min_samples_leaf
    return replace(options, min_samples_leaf=DEFAULT_LEAF_SIZE if size == "auto" else int(size))


def _document(model: RegressionModel, record: RowRecord | None) -> numbers.RegressionDocument:
    trees, evidence = [model.tree, model.grown], model.evidence
    listing = Listing(model.columns, trees, model.reading.handle_unknown)
    return numbers.RegressionDocument(
        format="treebound-regression-model",
        version=1,
        columns=listing.documents,
        nodes=_nodes(model.tree, listing),
        made_by=f"treebound {__version__}",
        target=model.reading.target,
        named=model.has_names,
        handle_unknown=model.reading.handle_unknown,
        parameters=parameters_document(model.provenance.parameters),
        edits=edit_documents(model.provenance.edits),
        swapped=model.swapped,
        pruning=_path_document(model, listing),
        choice=optional(_choice_document, evidence.choice),
        estimate=optional(_estimate_document, evidence.estimate),
        sizes=[(size.leaves, size.rmse, size.difference) for size in evidence.sizes],
        residuals=evidence.residuals.tolist(),
        validated=evidence.validated.tolist(),
        clip=model.clip,
        draw=optional(draw_document, model.provenance.draw),
        groups=model.provenance.groups,
        rows=optional(record_document, record),
        calibration=optional(
            partial(document_of, numbers.NumberCalibrationDocument), evidence.calibration
        ),
        delta=evidence.delta,
    )


# -- trees -----------------------------------------------------------------------------------------


def _nodes(tree: RegressionTree, listing: Listing) -> numbers.RegressionNodesDocument:
    exact = tree.sums is not None
    units = tree.units
    return document_of(
        numbers.RegressionNodesDocument,
        tree,
        threshold=thresholds(tree),
        category=listing.codes(tree),
        units=None if units is None else numbers.UnitsDocument(
            units.scale.centre, units.scale.unit, units.scale.most, units.square_shift,
            units.weight_unit, units.scale.digits,
        ),
        moments=None if exact else tree.moments.tolist(),
    )  # fmt: skip


def _tree(
    nodes: numbers.RegressionNodesDocument, columns: tuple[Column, ...], where: str
) -> RegressionTree:
    """Return the tree of a document; a FormatError names the place of the first problem."""
    fields, size = splits_of(nodes, columns, where), len(nodes.feature)
    same_size(nodes.value, size, f"{where}.value")
    if (nodes.sums is None) != (nodes.units is None) or (nodes.sums is None) == (
        nodes.moments is None
    ):
        raise FormatError(where, "must have 'sums' and 'units', or 'moments'")
    fields |= {"value": np.array(nodes.value), "monotone": nodes.monotone}
    try:
        with np.errstate(all="ignore"):  # the tree refuses what is not finite
            if nodes.sums is None:
                moments = table_of(nodes.moments or [], f"{where}.moments", (size, 3), np.float64)
                return RegressionTree(**fields, moments=moments)
            sums = table_of(nodes.sums, f"{where}.sums", (size, 3), np.int64)
            refuse(sums[:, 0] < 1, f"{where}.sums", "must have a weight of at least 1")
            refuse(sums[:, 2] < 0, f"{where}.sums", "must have squares of at least 0")
            assert nodes.units is not None
            return RegressionTree.of_sums(sums, _units(nodes.units), **fields)
    except ValueError as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(where, f"is not a tree: {error}".rstrip(".")) from None


def _units(document: numbers.UnitsDocument) -> TargetUnits:
    scale = TargetScale(document.centre, document.unit, document.most, document.digits)
    return TargetUnits(scale, document.square_shift, document.weight_unit)


# -- the path and the estimates --------------------------------------------------------------------


def _path_document(
    model: RegressionModel, listing: Listing
) -> numbers.RegressionPathDocument | None:
    if model.pruning is None:
        return None
    path, step, choice = model.pruning.path, model.step, model.pruning.choice
    steps = stored_steps(path, step)
    errors, scores = path.measured(steps)
    return numbers.RegressionPathDocument(
        grown=_nodes(path.first, listing),
        chosen=int(np.searchsorted(steps, path.chosen)),
        n_steps=path.n_considered,
        errors=errors.tolist(),
        scores=[score if math.isfinite(score) else None for score in scores.tolist()],
        cuts=[_cuts(path, at) for at in steps.tolist()],
        unit=path.unit,
        step=None if step is None else int(np.searchsorted(steps, step)),
        choice=None if choice is None else _choice_document(choice),
    )


def _cuts(path: PruningPath[RegressionTree], step: int) -> list[int]:
    cuts = path.cuts(step)
    assert cuts is not None  # subtrees of a regression tree are not raised
    return [int(node) for node in cuts]


def _choice_document(choice: NumberChoice) -> numbers.NumberChoiceDocument:
    shrinkage = numbers.ShrinkageDocument(choice.shrinkage.kind, choice.shrinkage.strength)
    finite = {
        name: value if math.isfinite(value) else None
        for name, value in vars(choice).items()
        if name in ("standard_error", "constant")
    }
    return document_of(
        numbers.NumberChoiceDocument,
        choice,
        shrinkage=shrinkage,
        weight=_price(choice.weight),
        weights=tuple(map(_price, choice.weights)),
        **finite,
    )


def _price(weight: float) -> Any:
    return "inf" if math.isinf(weight) else weight


def _pruning(
    document: numbers.RegressionPathDocument, columns: tuple[Column, ...]
) -> PruningResult[RegressionTree, NumberChoice]:
    first = _tree(document.grown, columns, "pruning.grown")
    path = listed_path(document, first)
    choice = optional(_choice, document.choice)
    return PruningResult(path.tree(), path, float(path.scores[path.chosen]), choice=choice)


def _choice(document: numbers.NumberChoiceDocument) -> NumberChoice:
    given = choice_fields(document, "losses", "leaves")
    given["weight"] = float(document.weight)
    given["weights"] = tuple(map(float, document.weights))
    given["shrinkage"] = Shrinkage(document.shrinkage.kind, document.shrinkage.strength)
    return NumberChoice(**given)


def _calibration(
    document: numbers.NumberCalibrationDocument, grown: RegressionTree
) -> NumberCalibration:
    nodes = np.array(document.nodes, dtype=np.int32)
    if not document.y:
        raise FormatError("calibration.y", "must have at least one row")
    same_size(document.nodes, len(document.y), "calibration.nodes")
    refuse(nodes >= grown.n_nodes, "calibration.nodes", "must be a node of the grown tree")
    if document.y_range is not None and document.y_range[0] > document.y_range[1]:
        raise FormatError("calibration.y_range", "must have the smaller number first")
    given = msgspec.structs.asdict(document)
    return NumberCalibration(**{**given, "y": np.array(document.y, dtype=float), "nodes": nodes})


def _estimate_document(estimate: NumberEstimate) -> numbers.NumberEstimateDocument:
    r2 = tuple(value if math.isfinite(value) else None for value in estimate.r2)
    return document_of(
        numbers.NumberEstimateDocument, estimate, r2=r2, rmse=tuple(estimate.rmse),
        mae=tuple(estimate.mae),
    )  # fmt: skip


def _estimate(document: numbers.NumberEstimateDocument) -> NumberEstimate:
    given = msgspec.structs.asdict(document)
    for name in ("rmse", "mae", "r2"):
        given[name] = EstimatedFigure(*(math.nan if v is None else v for v in given[name]))
    return NumberEstimate(**given)
