"""Models of classes as JSON documents, and back. Loading executes no code."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from treebound._utils.versions import __version__
from treebound.certificate import Certificate, Frontier
from treebound.certificate.abstention import Abstention
from treebound.certificate.held_out import HeldOut, counts_at
from treebound.certificate.prior import CertifiedTree, PriorProof
from treebound.certificate.row_record import RowRecord
from treebound.data.columns import Column
from treebound.data.draws import Draw, Selection, Slice, Stratified, Tenth
from treebound.data.row_hashes import RowSketch
from treebound.exchange import document as doc
from treebound.exchange.document import FormatError
from treebound.exchange.parameters import parameters_document, parameters_of
from treebound.exchange.regression_document import NumberChoiceDocument, RegressionDocument
from treebound.exchange.stored import (
    Listing,
    classes_document,
    classes_of,
    columns_of,
    document_of,
    edit_documents,
    path_document,
    read_edits,
    rows_of_stored,
    same_size,
    stored_path,
    stored_trees,
    table_of,
    tree_of,
)
from treebound.growing import GrowOptions
from treebound.model import Model
from treebound.model.evidence import Evidence
from treebound.model.options import PredictionOptions, ReadingOptions
from treebound.model.parameters import (
    FitParameters,
    checked_parameters,
    parameter_values,
    with_class_order,
)
from treebound.model.provenance import Provenance
from treebound.pruning import (
    Estimate,
    PruningPath,
    PruningResult,
    SizeEstimate,
    WeightChoice,
)
from treebound.tree import Tree
from treebound.tree.base import BaseTree

R = TypeVar("R")


def dumps(model: Model, *, pruning_path: bool = True, row_record: bool = True) -> str:
    """A model as JSON text, with the options of ``save``; equal models give equal texts."""
    if not pruning_path:
        model = _without_path(model)
    return encoded(_document(model, row_record))


def _scalar(value: Any) -> Any:
    """Return a numpy number as a number."""
    if isinstance(value, np.generic):
        return value.item()
    raise NotImplementedError(f"a model file cannot hold {type(value).__name__}")


def encoded(document: msgspec.Struct) -> str:
    """Return a document as JSON text."""
    try:
        text = msgspec.json.encode(document, enc_hook=_scalar).decode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"A model file cannot hold {error.object[error.start]!r}, a lone surrogate, which is "
            "in a name or category. Hint: repair the text before fitting."
        ) from None
    return text + "\n"


def read_file(path: Path, parse: Callable[[bytes], R]) -> R:
    """Read a file; errors name it."""
    raw = path.read_bytes()
    try:
        return parse(raw)
    except FormatError as error:
        place = f"{os.fspath(path)}: {error.path}" if error.path else os.fspath(path)
        raise FormatError(place, error.problem) from None


def loads(text: str | bytes) -> Model:
    """Read and check the text of a model file; bytes are UTF-8."""
    document = doc.parse(text, doc.ModelDocument)
    columns, classes = columns_of(document.columns), classes_of(document.classes)
    parameters = parameters_of(document.parameters) if document.parameters else None
    tree = tree_of(document.nodes, columns, classes)
    path = optional(stored_path, document.pruning, columns, classes)
    trees = [tree] if path is None else path.counted_trees
    return Model(
        tree,
        pruning=None if path is None else _result(path, document.pruning),
        step=_step(document),
        options=GrowOptions() if parameters is None else _options(parameters, tree),
        reading=ReadingOptions(document.prediction.handle_unknown, document.named, document.target),
        prediction=PredictionOptions(
            document.prediction.smoothing, document.prediction.free_shrinkage
        ),
        evidence=Evidence(
            delta=document.delta,
            calibration=optional(_held_out, document.held_out, trees),
            proof=optional(_proof, document.proof, tree, "proof"),
            frontier=optional(_frontier, document.frontier, tree, document.delta),
            row_counts=optional(_row_counts, document.row_counts, trees),
            no_certificate=document.no_certificate,
            estimate=optional(_estimate, document.estimate, classes),
            no_estimate=document.no_estimate,
        ),
        provenance=read_provenance(document, optional(parameter_values, parameters)),
        swapped=inner_nodes(document.swapped, tree),
        abstention=optional(_abstention, document.abstention, columns),
    )


def _options(parameters: FitParameters, tree: Tree) -> GrowOptions:
    """Return the options of growing; the order of the classes is stored with the tree."""
    order = None if tree.monotone is None else tree.monotone.order
    if order is not None and order != (0, 1):
        labels = tuple(tree.classes[list(order)].tolist())
        parameters = with_class_order(parameters, labels)
    return checked_parameters(parameters)[1]


def optional(convert: Callable[..., R], value: Any, *arguments: Any) -> R | None:
    """A part of a model, or of its document, if it has one."""
    return None if value is None else convert(value, *arguments)


def read_provenance(
    document: doc.ModelDocument | RegressionDocument, parameters: dict[str, Any] | None
) -> Provenance:
    """Return the parameters and rows of ``fit``, and the edits."""
    return Provenance(
        parameters=parameters or {},
        row_record=optional(_read_record, document.rows),
        draw=optional(_read_draw, document.draw),
        edits=read_edits(document.edits),
        groups=document.groups,
    )


def inner_nodes(nodes: tuple[int, ...], tree: BaseTree) -> tuple[int, ...]:
    """Return the nodes whose children are swapped; raise unless they are inner nodes."""
    for at, node in enumerate(nodes):
        if not (0 <= node < tree.n_nodes and tree.left[node] >= 0):
            raise FormatError(f"swapped[{at}]", f"{node!r:.40} is not an inner node")
    return nodes


def _document(model: Model, row_record: bool) -> doc.ModelDocument:
    tree, listing = model.tree, listing_of(model)
    reading, evidence, provenance = model.reading, model.evidence, model.provenance
    record = provenance.row_record if row_record else None
    _check_options(model)
    return doc.ModelDocument(
        format="treebound-model",
        version=2,
        made_by=f"treebound {__version__}",
        target=reading.target,
        named=model.has_names,
        columns=listing.documents,
        classes=classes_document(tree.classes),
        nodes=listing.nodes(tree),
        prediction=document_of(
            doc.Prediction, model.prediction, handle_unknown=reading.handle_unknown
        ),
        delta=evidence.delta,
        parameters=parameters_document(provenance.parameters),
        certificate=optional(Certificate.as_dict, model.certificate),
        no_certificate=evidence.no_certificate,
        estimate=optional(_estimate_document, evidence.estimate),
        no_estimate=evidence.no_estimate,
        edits=edit_documents(provenance.edits),
        swapped=model.swapped,
        pruning=_pruning(model, listing),
        held_out=optional(_held_out_document, evidence.calibration, model),
        proof=optional(partial(document_of, doc.ProofDocument), evidence.proof),
        frontier=optional(_frontier_document, evidence.frontier, model.step, listing),
        abstention=optional(_abstention_document, model.abstention, listing),
        row_counts=optional(_stored_counts, evidence.row_counts, model),
        rows=optional(record_document, record),
        draw=optional(draw_document, provenance.draw),
        groups=provenance.groups,
    )


def listing_of(model: Model) -> Listing:
    """The columns of a file that has all trees of a model."""
    trees = [
        model.tree,
        model.grown,
        *(certified.tree for certified in model.evidence.frontier or ()),
    ]
    trees += stored_trees(model.path, model.step)
    if model.abstention is not None:
        trees.append(model.abstention.tree)
    return Listing(model.columns, trees, model.reading.handle_unknown)


def _check_options(model: Model) -> None:
    """Raise a ValueError if the parameters do not give the options of growing."""
    if not model.provenance.parameters and vars(model.options) != vars(GrowOptions()):
        raise ValueError(
            "A model file cannot hold the options of growing of a model without parameters. "
            "Hint: leave 'options' at its default, or fit a BoundTreeClassifier."
        )


def _without_path(model: Model) -> Model:
    """The model of the tree alone; held-out rows are kept where they were counted on that tree."""
    path, evidence = model.path, model.evidence
    if path is None:
        return replace(model, evidence=replace(evidence, frontier=None), step=None)
    step = path.chosen if model.step is None else model.step
    calibration, row_counts = evidence.calibration, evidence.row_counts
    if calibration is not None:
        counts = counts_at(path, step, calibration.counts) if step == path.chosen else None
        calibration = None if counts is None else replace(calibration, counts=counts)
        evidence = replace(evidence, calibration=calibration)
        if counts is None:
            reason = "The model was saved without its pruning path."
            evidence = replace(evidence, no_certificate=reason)
    if row_counts is not None:
        evidence = replace(evidence, row_counts=counts_at(path, step, row_counts))
    return replace(model, pruning=None, step=None, evidence=evidence)


def _pruning(model: Model, listing: Listing) -> doc.PathDocument | None:
    if model.pruning is None:
        return None
    document = path_document(model.pruning.path, model.step, listing)
    choice = model.pruning.choice
    if choice is not None:
        values = {name: None if value != value else value for name, value in vars(choice).items()}
        document.choice = msgspec.convert(values, doc.ChoiceDocument)
    return document


def _result(path: PruningPath, document: doc.PathDocument | None) -> PruningResult:
    score = float(path.scores[path.chosen])
    choice = None if document is None or document.choice is None else _choice(document.choice)
    return PruningResult(path.tree(), path, score, fit_time=math.nan, choice=choice)


def _choice(document: doc.ChoiceDocument) -> WeightChoice:
    strengths = ("strengths",) if document.strengths else ()
    return WeightChoice(**choice_fields(document, "losses", "leaves", *strengths))


def choice_fields(
    document: doc.ChoiceDocument | NumberChoiceDocument, *measured: str
) -> dict[str, Any]:
    """Return the fields of a choice; the lists ``measured`` have a value for each weight."""
    for name in measured:
        same_size(getattr(document, name), len(document.weights), f"pruning.choice.{name}")
    if document.rule is not None and document.weight not in document.weights:
        raise FormatError("pruning.choice.weight", "must be one of the weights")
    given = msgspec.structs.asdict(document)
    none = [name for name in ("standard_error", "constant") if given[name] is None]
    return {**given, **dict.fromkeys(none, math.nan)}


def _estimate_document(estimate: Estimate) -> doc.EstimateDocument:
    values = {**estimate.as_dict(), "interval": estimate.interval}
    return msgspec.convert(
        {name: values[name] for name in doc.EstimateDocument.__struct_fields__},
        doc.EstimateDocument,
    )


def _estimate(document: doc.EstimateDocument, classes: NDArray[Any]) -> Estimate:
    labels = classes.tolist()
    same_size(document.recall, len(labels), "estimate.recall")
    confusion: tuple[tuple[int, ...], ...] = ()
    if document.confusion:
        shape = (len(labels), len(labels))
        counts = table_of(document.confusion, "estimate.confusion", shape, np.int64)
        if counts.sum() != document.rows:
            raise FormatError("estimate.confusion", f"must have {document.rows:,} rows")
        confusion = tuple(map(tuple, counts.tolist()))
    if document.baseline_label not in labels:
        raise FormatError("estimate.baseline_label", "must be one of the classes")
    low, high = document.interval
    if not low <= document.error <= high:
        raise FormatError("estimate.interval", "must contain the error")
    sizes = tuple(SizeEstimate(**msgspec.structs.asdict(size)) for size in document.sizes)
    recall = tuple(math.nan if share is None else share for share in document.recall)
    values = {**msgspec.structs.asdict(document), "classes": tuple(labels)}
    return Estimate(**{**values, "recall": recall, "confusion": confusion, "sizes": sizes})


# -- held-out rows, certificate, record of rows ---------------------------------------------------


def _counts(rows: list[list[int]], where: str, tree: Tree) -> NDArray[np.int64]:
    """Rows of each class at each node of a tree."""
    return table_of(rows, where, (tree.n_nodes, tree.n_classes), np.int64)


def _all_counts(rows: list[list[int]], where: str, trees: Sequence[Tree]) -> NDArray[np.int64]:
    """Rows of each class at each node of several trees, one after the other."""
    shape = sum(tree.n_nodes for tree in trees), trees[0].n_classes
    return table_of(rows, where, shape, np.int64)


def _stored_counts(counts: NDArray[np.int64], model: Model) -> list[list[int]]:
    """Counts at the nodes of the trees that a file has."""
    if model.path is not None:
        counts = counts[rows_of_stored(model.path, model.step)]
    table: list[list[int]] = counts.tolist()
    return table


def _held_out_document(held_out: HeldOut, model: Model) -> doc.HeldOutDocument:
    document = document_of(doc.HeldOutDocument, held_out)
    return msgspec.structs.replace(document, counts=_stored_counts(held_out.counts, model))


def _held_out(document: doc.HeldOutDocument, trees: Sequence[Tree]) -> HeldOut:
    counts = _all_counts(document.counts, "held_out.counts", trees)
    if counts[0].sum() != document.m or document.errors > document.m:
        raise FormatError("held_out", "must have m rows at the root, and no more errors")
    return HeldOut(**{**msgspec.structs.asdict(document), "counts": counts})


def _proof(document: doc.ProofDocument, tree: Tree, where: str) -> PriorProof:
    counts_a = _counts(document.counts_a, f"{where}.counts_a", tree)
    counts_b = _counts(document.counts_b, f"{where}.counts_b", tree)
    if ((counts_a + counts_b).sum(axis=1) != tree.rows).any():
        raise FormatError(where, "must have counts that add up to the rows of each node")
    prices = (document.log_splits, document.log_stops)
    for each in prices:
        optional(same_size, each, tree.n_nodes, where)
    arrays = (optional(np.array, each) for each in prices)
    return PriorProof.of(tree, document.log_prior, counts_a, counts_b, *arrays)


_SELECTIONS: dict[Any, type[Any]] = {"slice": Slice, "tenth": Tenth, "stratified": Stratified}


def draw_document(draw: Draw) -> doc.DrawDocument:
    """Return the document of a draw."""
    rules = {kind: rule for rule, kind in _SELECTIONS.items()}

    def document(selection: Selection) -> doc.SelectionDocument:
        return doc.SelectionDocument(rule=rules[type(selection)], **vars(selection))

    return doc.DrawDocument(
        draw.salt,
        draw.key,
        optional(document, draw.calibration),
        optional(document, draw.validation),
    )


def _read_draw(document: doc.DrawDocument) -> Draw:
    """Return the draw of a document."""

    def selection(stored: doc.SelectionDocument) -> Any:
        kind = _SELECTIONS[stored.rule]
        if kind is Stratified and not stored.share:
            raise FormatError("draw", "must have a share of the rows above 0")
        return kind(**{each.name: getattr(stored, each.name) for each in fields(kind)})

    calibration, validation = document.calibration, document.validation
    if calibration is not None and calibration.rule == "stratified":
        raise FormatError("draw.calibration", "must not be drawn by class")
    return Draw(
        document.salt,
        document.key,
        optional(selection, calibration),
        optional(selection, validation),
    )


def _frontier_document(
    frontier: Frontier, step: int | None, listing: Listing
) -> doc.FrontierDocument:
    trees = [
        doc.CertifiedDocument(
            listing.nodes(member.tree),
            document_of(doc.ProofDocument, member.proof),
            member.cost,
        )
        for member in frontier
    ]
    return doc.FrontierDocument(trees, frontier.chosen, step)


def _frontier(document: doc.FrontierDocument, like: Tree, delta: float) -> Frontier:
    for name in ("chosen", "step"):
        if (getattr(document, name) or 0) >= len(document.trees):
            raise FormatError(f"frontier.{name}", "must be the number of a tree")
    trees = []
    for at, each in enumerate(document.trees):
        tree = tree_of(each.nodes, like.columns, like.classes, f"frontier.trees[{at}].nodes")
        proof = _proof(each.proof, tree, f"frontier.trees[{at}].proof")
        cost = float(tree.errors) if each.cost is None else each.cost
        trees.append(CertifiedTree(tree, proof, proof.risk(delta), cost))
    return Frontier(tuple(trees), document.chosen)


def _abstention_document(abstention: Abstention, listing: Listing) -> doc.AbstentionDocument:
    classes = classes_document(abstention.tree.classes)
    nodes = listing.nodes(abstention.tree)
    return document_of(doc.AbstentionDocument, abstention, classes=classes, nodes=nodes)


def _abstention(document: doc.AbstentionDocument, columns: tuple[Column, ...]) -> Abstention:
    tree = tree_of(document.nodes, columns, classes_of(document.classes), "abstention.nodes")
    same_size(document.predicts, tree.n_nodes, "abstention.predicts")
    if not document.errors <= document.predicted <= document.m:
        raise FormatError("abstention", "must have errors <= predicted <= m")
    values = msgspec.structs.asdict(document)
    for name in ("classes", "nodes"):
        del values[name]
    return Abstention(tree, **{**values, "predicts": np.array(document.predicts)})


def _step(document: doc.ModelDocument) -> int | None:
    """The step of the path, or of the frontier, selected by ``prune_to``."""
    steps = document.frontier if document.pruning is None else document.pruning
    return None if steps is None else steps.step


def _row_counts(counts: list[list[int]], trees: Sequence[Tree]) -> NDArray[np.int64]:
    table = _all_counts(counts, "row_counts", trees)
    if (table.sum(axis=1) != np.concatenate([tree.rows for tree in trees])).any():
        raise FormatError("row_counts", "must add up to the rows of each node")
    return table


def _sketch_document(sketch: RowSketch) -> doc.SketchDocument:
    hashes = sketch.hashes.astype("<u8").tobytes()
    return doc.SketchDocument(hashes, sketch.counts.tolist(), sketch.rows)


def record_document(record: RowRecord) -> dict[Any, doc.SketchDocument]:
    """Return the document of a record of rows."""
    return {role: _sketch_document(sketch) for role, sketch in record.sketches.items()}


def _read_record(document: Mapping[Any, doc.SketchDocument]) -> RowRecord:
    """Return the record of rows of a document."""
    return RowRecord({role: _sketch(each, f"rows.{role}") for role, each in document.items()})


def _sketch(document: doc.SketchDocument, where: str) -> RowSketch:
    size = len(document.counts)
    if len(document.hashes) != 8 * size or size > RowSketch.SIZE:
        raise FormatError(f"{where}.hashes", f"must be {size} numbers, at most {RowSketch.SIZE}")
    hashes = np.frombuffer(document.hashes, dtype="<u8").astype(np.uint64)
    if (hashes[1:] <= hashes[:-1]).any():
        raise FormatError(f"{where}.hashes", "must increase")
    if sum(document.counts) > document.rows or (
        size < RowSketch.SIZE and sum(document.counts) < document.rows
    ):
        raise FormatError(f"{where}.rows", "must be the number of rows that were hashed")
    return RowSketch(hashes, np.array(document.counts, dtype=np.int64), document.rows)
