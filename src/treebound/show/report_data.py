"""The data of the report: trees, columns, certificates and parameters as plain values."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from treebound._utils.choices import Unknown
from treebound._utils.validation import invalid
from treebound._utils.versions import __version__
from treebound.certificate import Certificate
from treebound.certificate.abstention import Abstention
from treebound.certificate.certificate import bound_percent
from treebound.data import Column, Matrix, Sample
from treebound.data.raw import MISSING
from treebound.model import Model, RegressionModel
from treebound.model.guarantees import SEPARATELY, certify_cost
from treebound.model.summary import percent
from treebound.pruning import PruningPath
from treebound.pruning.estimate import Estimate
from treebound.show.colours import class_colours
from treebound.show.path_display import spread
from treebound.show.quality import confusion, quality_at, quality_words
from treebound.show.report_words import (
    choice_in_words,
    headline,
    mean_cost,
    plain_lines,
    rows_of_fit,
    settings,
    tiles,
    without_hint,
)
from treebound.show.words import branch_condition, count, number, rules_in_words, typeset
from treebound.tree import Tree
from treebound.tree.base import BaseTree
from treebound.tree.recoding import listed_columns, recoded
from treebound.tree.split import Split, one_line, plain, splits_of

AnyModel = TypeVar("AnyModel", bound=Model | RegressionModel)
AnyTree = TypeVar("AnyTree", bound=BaseTree)


@runtime_checkable
class AlternativeTrees(Protocol):
    """Other good trees, and the share of rows for which they and the first one disagree."""

    @property
    def models(self) -> tuple[Model, ...]:
        """The models."""

    @property
    def disagreement(self) -> tuple[float, ...]:
        """The shares."""


def check_alternatives(alternatives: object, owner: str) -> None:
    """Raise a ValueError for an argument that is not a list of alternative trees."""
    if alternatives is not None and not isinstance(alternatives, AlternativeTrees):
        must = "the result of clf.alternatives(X, y), or None"
        raise invalid("alternatives", owner, must, alternatives)


def report_data(
    model: Model,
    max_steps: int,
    test: Sample | None,
    rows: Matrix | None = None,
    alternatives: AlternativeTrees | None = None,
) -> dict[str, Any]:
    """The data of the report, as read by ``report_model.js``.

    Test rows, and rows that describe the columns, are encoded as the model reads them.
    """
    tree, path, certificate = model.tree, model.path, model.certificate
    picked, chosen, last = _picked(model, max_steps)
    fitted = None
    if path is not None and model.step is None and path.leaves[path.chosen] == tree.n_leaves:
        fitted = int(path.chosen)
    shown = [model if at == fitted else model.prune_to(step=at) for at in picked] or [model]
    more_models = [] if alternatives is None else list(alternatives.models)
    trees = [tree, *(one.tree for one in (*shown, *more_models))]
    described = {} if rows is None else described_columns(rows, trees)
    columns = listed_columns(tree.columns, trees, model.reading.handle_unknown)
    store = ClassStore(model, columns)
    steps = [
        _step(model, one, at, store, test) for one, at in zip(shown, picked or [0], strict=True)
    ]
    root = store.add(tree, model.swapped)
    extra = [_alternative(one, store, test) for one in more_models]
    start = start_of(root, steps, chosen)
    if steps[start]["root"] == root and certificate is not None:
        cost = store.numbers_of(_cost_bound(model))
        steps[start]["certified"] = [*cost, *store.certified(certificate)]
        steps[start]["certificate"] = float(certificate.risk)
        steps[start].update(store.head(model), estimated=_estimated_error(model))
    limit = None if path is None else path.limit
    return {
        "kind": "classes",
        "target": None if model.reading.target is None else one_line(model.reading.target),
        "classes": [one_line(label) for label in tree.classes.tolist()],
        "colours": list(class_colours(tree.n_classes)),
        "columns": [
            {**column_data(column), **described.get(at, {})} for at, column in enumerate(columns)
        ],
        "weighted": bool((tree.weight != tree.rows).any()),
        "stats": list(store.stats),
        "splits": store.splits,
        "nodes": list(store.nodes),
        "steps": [*steps, *extra],
        "alternatives": [] if alternatives is None else alternative_rows(alternatives),
        "start": start,
        "chosen": chosen,
        "last": last,
        "grown": model.grown.n_leaves,
        "frontier": model.evidence.frontier is not None,
        "unit": "errors" if path is None else path.counted,
        "estimate": None if model.evidence.estimate is None else _estimate(model.evidence.estimate),
        "limit": None if limit is None else int(limit),
        "lines": list(store.lines),
        "reason": without_hint(model.certificate_reason),
        "abstention": None if model.abstention is None else _abstention(model.abstention),
        "abstains": None if model.abstention is None else one_line(model.abstention.label),
        "handle_unknown": model.reading.handle_unknown,
        "factors": None if tree.factors is None else tree.factors.tolist(),
        "choice": _choice(model, steps),
        "criterion": model.options.criterion,
        "fit_rows": rows_of_fit(model),
        "settings": settings(model),
        "rules": rules_in_words(model.options, tree),
        "edits": [one_line(edit) for edit in model.provenance.edits],
        "made_by": f"treebound {__version__}",
    }


# Trees of at most so many leaves are shown, and of so many times those of the chosen tree, but only
# the chosen one and smaller ones if that is more than a browser can draw.
_MAX_LEAVES, _TIMES_CHOSEN, _MANY_LEAVES = 64, 4, 4_000


def picked_steps(
    path: PruningPath[Any], step: int | None, max_steps: int
) -> tuple[list[int], int, int]:
    """The steps to show, the place of the chosen one among them, and the last of all."""
    leaves, chosen = path.leaves, int(path.chosen)
    size = int(leaves[chosen])
    max_leaves = max(_MAX_LEAVES, size, min(_TIMES_CHOSEN * size, _MANY_LEAVES))
    small = np.flatnonzero(leaves <= max_leaves)
    current = set() if step is None else {step}
    most = max_steps - len(current)
    places = spread(leaves[small], int(np.searchsorted(small, chosen)), most)
    picked = sorted({*small[places].tolist(), *current})
    return picked, picked.index(chosen), len(leaves) - 1


def _picked(model: Model, max_steps: int) -> tuple[list[int], int, int]:
    """The steps of a path, or the trees of a frontier."""
    if model.path is not None:
        return picked_steps(model.path, model.step, max_steps)
    if model.evidence.frontier is None:
        return [], 0, 0
    several = [*range(len(model.evidence.frontier))][::-1]  # as a path: from many leaves to few
    return several, several.index(model.evidence.frontier.chosen), len(several) - 1


def _step(
    model: Model, pruned: Model, at: int, store: ClassStore, test: Sample | None
) -> dict[str, Any]:
    """The tree of a step, its errors, score and certificate, and results on test rows."""
    errors, score = pruned.tree.errors, math.nan
    if model.path is not None:
        errors, score = model.path.errors[at], float(model.path.scores[at])
    limit = pruned.certificate if model.certificate is not None else None
    ends = None if test is None else _ends(pruned.tree, test)
    cost = mean_cost(pruned)
    return {
        "root": store.add(pruned.tree, pruned.swapped),
        "step": at,
        "leaves": pruned.tree.n_leaves,
        **store.head(pruned),
        "cost": None if cost is None else cost.cost,
        "estimated": _estimated_error(pruned),
        "errors": float(errors),
        "score": score if math.isfinite(score) else None,
        "certificate": None if limit is None else float(limit.risk),
        "certified": [] if limit is None else store.certified(limit),
        "test": None if ends is None else _cells(confusion(pruned.tree, ends)),
        "quality": None if ends is None or not ends.any() else _quality(pruned, ends),
    }


def _cost_bound(model: Model) -> list[str]:
    """The bound on the mean cost, as lines; none without costs or rows that bound it."""
    return [str(certify_cost(model)), SEPARATELY] if model.has_cost_rows else []


def _estimated_error(model: Model) -> float | None:
    """The estimated error of the tree; None if its size was not estimated."""
    estimate = model.estimate or model.size_estimate
    return None if estimate is None else estimate.error


def _estimate(estimate: Estimate) -> dict[str, Any]:
    """How the error was estimated, the confusion matrix, and the errors of other sizes."""
    cells = _cells(np.array(estimate.confusion)) if estimate.confusion else None
    sizes = [[size.leaves, size.error, size.difference, size.mean_cost] for size in estimate.sizes]
    return {"method": estimate.method, "rows": estimate.rows, "confusion": cells, "sizes": sizes}


def _alternative(model: Model, store: ClassStore, test: Sample | None) -> dict[str, Any]:
    """Another tree, as a step that the slider skips."""
    step = _step(replace(model, pruning=None), model, 0, store, test)
    return {**step, "alternative": True}


def alternative_rows(alternatives: AlternativeTrees) -> list[list[str]]:
    """The table of other good trees: columns, leaves, errors, disagreement."""
    listed = []
    for model, share in zip(alternatives.models, alternatives.disagreement, strict=True):
        tree, certificate = model.tree, model.certificate
        used = dict.fromkeys(tree.feature[tree.feature >= 0].tolist())
        listed.append(
            [
                ", ".join(one_line(tree.columns[at].name) for at in used) or "none",
                count(tree.n_leaves),
                percent(tree.errors / (float(tree.weight[0]) or 1.0)),
                "none" if certificate is None else f"≤ {bound_percent(certificate.risk)}",
                percent(share),
            ]
        )
    return listed


def _abstention(abstention: Abstention) -> str:
    label = one_line(abstention.label)
    return f"If the tree predicts {label!r}, it abstains: a person decides. {abstention}"


def _choice(model: Model, steps: list[dict[str, Any]]) -> dict[str, Any] | None:
    """How the size was chosen by validation, and the step of the smallest tree that is level."""
    result = model.pruning
    if result is None or result.choice is None:
        return None
    choice, small = result.choice, None
    if choice.rule is not None:
        leaves = choice.leaves[choice.at("small")]
        small = next((k for k, step in enumerate(steps) if step["leaves"] == leaves), None)
    return {"words": choice_in_words(choice), "small": small}


def start_of(root: int, steps: list[dict[str, Any]], chosen: int) -> int:
    """The step of the tree itself, which may differ from the chosen one."""
    if steps[chosen]["root"] == root:
        return chosen
    return next((k for k, step in enumerate(steps) if step["root"] == root), chosen)


def column_data(column: Column) -> dict[str, Any]:
    """A column; its categories are those that the trees of the report need."""
    categories = [plain(value) for value in column.categories or ()]
    shown, written = [one_line(value) for value in categories], [_written(v) for v in categories]
    return {
        "name": one_line(column.name),
        "key": column.name,
        "kind": column.kind,
        "categories": shown,
        "written": written if written != shown else None,
        "numeric": any(isinstance(value, int | float) for value in categories),
        "boolean": any(isinstance(value, bool) for value in categories),
        "open": column.unlisted > 0,
        "identifier": column.identifier,
        "size": column.n_categories,
        "declared": column.declared,
        "missing": column.missing,
    }


def described_columns(rows: Matrix, trees: Iterable[BaseTree]) -> dict[int, dict[str, Any]]:
    """The range and the share of missing values of each column that a tree uses, by rows."""
    used = {at for tree in trees for at in tree.feature.tolist() if at >= 0}
    described: dict[int, dict[str, Any]] = {}
    for at in sorted(used):
        values, real = rows.values[at], rows.columns[at].kind == "real"
        missing = np.isnan(values) if values.dtype.kind == "f" else values == MISSING
        described[at] = {"missing_share": float(missing.mean()) if len(values) else None}
        present = values[~missing]
        if real and len(present):
            low, high = (
                number(float(f"{float(end):.6g}")) for end in (present.min(), present.max())
            )
            described[at]["range"] = f"{low} to {high}"
    return described


def _written(value: Any) -> str:
    """A category as tables write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _ends(tree: Tree, test: Sample) -> NDArray[np.int64]:
    """Test rows of each class that end at each node."""
    ends = np.zeros((tree.n_nodes, tree.n_classes), dtype=np.int64)
    np.add.at(ends, (tree.apply(test.X), test.y), 1)
    return ends


def _cells(counts: NDArray[np.int64]) -> list[list[int]]:
    """The nonzero cells of a confusion matrix: (true class, predicted class, rows)."""
    return [[int(a), int(b), int(counts[a, b])] for a, b in np.argwhere(counts)]


def _quality(model: Model, ends: NDArray[np.int64]) -> dict[str, Any]:
    """The quality of the probabilities, in words and as points of a calibration plot."""
    figures = quality_at(model, ends)
    points = [[part["probability"], part["right"], part["rows"]] for part in figures["calibration"]]
    return {"words": quality_words(figures), "calibration": points}


class NodeStore(Generic[AnyModel]):
    """The distinct nodes of many trees and lines of certificates; equal subtrees share a number."""

    # Pruning changes a node and its ancestors only, so that a path takes little more space than
    # its first tree. Children have smaller numbers than their parents.

    def __init__(self, model: AnyModel, columns: tuple[Column, ...]) -> None:
        self.stats: dict[Any, int] = {}
        self.nodes: dict[tuple[int, ...], int] = {}
        self.splits: list[list[Any]] = []
        self.columns = columns
        self.lines: dict[str, int] = {}  # of certificates and of the head
        self.model: AnyModel = model
        self._unknown: Unknown = model.reading.handle_unknown
        self._known: dict[Any, int] = {}  # the numbers of splits

    def numbers_of(self, texts: Iterable[str]) -> list[int]:
        """The numbers of lines of text."""
        return [self.lines.setdefault(text, len(self.lines)) for text in texts]

    def stats_of(self, tree: Any) -> list[tuple[Any, ...]]:
        """The figures of each node."""
        raise NotImplementedError

    def add(self, tree: AnyTree, swapped: Collection[int]) -> int:
        """Add a tree; return the number of its root."""
        tree = recoded(tree, self.columns)
        numbers = [0] * tree.n_nodes
        left, right = tree.left.tolist(), tree.right.tolist()
        stats, splits = self.stats_of(tree), self._splits(tree)
        for node in range(tree.n_nodes - 1, -1, -1):
            entry: tuple[int, ...] = (self.stats.setdefault(stats[node], len(self.stats)),)
            if left[node] >= 0:
                entry += (splits[node], numbers[left[node]], numbers[right[node]])
                entry += (1,) * (node in swapped)
            numbers[node] = self.nodes.setdefault(entry, len(self.nodes))
        return numbers[0]

    def _splits(self, tree: BaseTree) -> dict[int, int]:
        """The numbers of the splits of the inner nodes; each split is described once."""
        numbers = {}
        for split in filter(None, splits_of(tree, handle_unknown=self._unknown)):
            # of a threshold the bits, as NaN does not equal itself
            key = (split.feature, split.threshold.hex(), split.kind, split.codes,
                   split.missing_left, split.unknown_left)  # fmt: skip
            if key not in self._known:
                sides = (
                    typeset(branch_condition(split, left=True)),
                    branch_condition(split, left=False),
                )
                self._known[key] = len(self.splits)
                name = one_line(split.column.name)
                self.splits.append([name, *sides, split.feature, *_rule(split)])
            numbers[split.node] = self._known[key]
        return numbers


class ClassStore(NodeStore[Model]):
    """The nodes of trees of classes."""

    def certified(self, limit: Certificate) -> list[int]:
        """The numbers of the lines of a certificate."""
        return self.numbers_of(plain_lines(limit))

    def head(self, model: Model) -> dict[str, Any]:
        """The first sentence about a model and its first figures, as numbers of lines."""
        (first,) = self.numbers_of([headline(model)])
        return {"headline": first, "tiles": [self.numbers_of(tile) for tile in tiles(model)]}

    def stats_of(self, tree: Tree) -> list[tuple[Any, ...]]:
        """Rows, label, counts and probabilities of each node."""
        chances = self.model.probabilities_of(tree).tolist()
        rows, label, counts = tree.rows.tolist(), tree.label.tolist(), tree.counts.tolist()
        return [
            (rows[node], label[node], tuple(counts[node]), tuple(chances[node]))
            for node in range(tree.n_nodes)
        ]


def _rule(split: Split) -> list[Any]:
    """The routing rule: threshold and its text, codes, and the sides of missing and unknown."""
    bound: Any = split.bound if split.is_real else None
    if split.is_real and math.isinf(split.bound):
        bound = "Infinity" if split.bound > 0 else "-Infinity"
    text = number(split.threshold) if split.is_real and not math.isnan(split.threshold) else ""
    return [bound, text, list(split.codes), split.missing_left, split.unknown_left]
