"""Figures and settings of a model in words, for readers of the report."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from treebound.certificate.certificate import Certificate, bound_percent
from treebound.certificate.held_out import HeldOut
from treebound.model import Model, RegressionModel, summary
from treebound.model.parameters import FitParameters
from treebound.model.regression_parameters import RegressionParameters
from treebound.model.summary import percent
from treebound.pruning import WeightChoice
from treebound.show.words import count, number
from treebound.tree import Tree
from treebound.tree.split import one_line, plain

# Parameters that do not change the tree.
_NOT_SHOWN = frozenset(("n_jobs",))
_NAMES = {
    "class_weight": "Weights of the classes",
    "categorical_features": "Nominal columns",
    "certificate": "Kind of certificate",
    "criterion": "Criterion of splits",
    "costs": "Costs of errors",
    "cv": "Folds of the cross-validation",
    "forced_splits": "Splits at the top",
    "growth_order": "Order of growth",
    "handle_unknown": "Categories not seen in training",
    "interaction_cst": "Groups of columns that may be combined",
    "max_depth": "Maximum depth",
    "max_leaves": "Maximum number of leaves",
    "min_samples_leaf": "Minimum number of rows in a leaf",
    "monotonic_cst": "Columns with a fixed direction",
    "ordinal_features": "Ordinal columns",
    "pruning": "Pruning",
    "random_state": "Seed of random choices",
    "search": "Search",
    "size": "Rule for the size",
    "smoothing": "Probabilities",
    "thresholds": "Thresholds",
}
_NUMBER_NAMES = _NAMES | {
    "clip": "Quantiles between which numbers are learned",
    "smoothing": "Shrinkage of the predictions",
    "tolerance": "Largest error that does not count",
    "y_range": "Range of the target",
}
_MARKS = str.maketrans("", "", "'\"{}")
_RULES = {
    "accurate": "the size with the least {loss}",
    "balanced": "the smallest size within half a standard error of the least {loss}",
    "small": "the smallest size within one standard error of the least {loss}",
    "detailed": "the largest size within half a standard error of the least {loss}",
}


class Tile(NamedTuple):
    """A figure at the head of the report: its name, its value, and a remark."""

    name: str
    value: str
    remark: str = ""


class TrainingCost(NamedTuple):
    """The mean cost of the predictions of a tree, and that of the cheapest constant prediction."""

    cost: float
    baseline: float
    baseline_label: str


def tiles(model: Model) -> list[Tile]:
    """The first figures of a model: its error, its certificate, its leaves and its rows."""
    tree, abstention = model.tree, model.abstention
    size = [
        Tile("Leaves", count(tree.n_leaves), f"depth {tree.depth}"),
        Tile("Rows", count(int(tree.rows[0])), "used for training"),
    ]
    if abstention is not None:
        sure = f"with {100 * (1 - abstention.delta):.6g} % confidence"
        return [
            Tile("Certified error of predictions", f"≤ {bound_percent(abstention.risk)}", sure),
            Tile("Cases with a prediction", percent(abstention.coverage), "it abstains on others"),
            *size,
        ]
    return [*_cost(model), _error(model), _certified(model), *size]


def _cost(model: Model) -> list[Tile]:
    """The mean cost, if there are costs."""
    estimate, cost = model.estimate, mean_cost(model)
    if estimate is not None and estimate.mean_cost is not None:
        remark = f"baseline {estimate.baseline_cost:.4g} (cheapest constant prediction)"
        return [Tile("Estimated mean cost", f"{estimate.mean_cost:.4g}", remark)]
    if cost is None:
        return []
    remark = f"baseline {cost.baseline:.4g} (always {cost.baseline_label!r})"
    return [Tile("Mean training cost", f"{cost.cost:.4g}", remark)]


def _error(model: Model) -> Tile:
    """The estimated error; the training error of a tree that has no estimate."""
    estimate, other = model.estimate, model.size_estimate
    if estimate is not None:
        low, high = estimate.interval
        remark = f"about {100 * low:.1f} to {percent(high)}; {baseline(model.tree)}"
        return Tile("Estimated error", percent(estimate.error), remark)
    if other is not None:
        remark = f"{summary.points(other.difference)}; {baseline(model.tree)}"
        return Tile("Estimated error", percent(other.error), remark)
    return Tile("Training error", percent(_training_error(model.tree)), baseline(model.tree))


def baseline(tree: Tree) -> str:
    """The error of the most frequent class, such as ``baseline 37.3 % (always 'benign')``."""
    counts = tree.counts[0]
    most = int(counts.argmax())
    wrong = 1.0 - float(counts[most]) / (float(tree.weight[0]) or 1.0)
    label = tree.classes.tolist()[most]
    label = one_line(label) if isinstance(label, str) else label
    return f"baseline {percent(wrong)} (always {label!r})"


def _training_error(tree: Tree) -> float:
    return tree.errors / (float(tree.weight[0]) or 1.0)


def _certified(model: Model) -> Tile:
    certificate = model.certificate
    if certificate is None:
        return Tile("Certified error", "none", "see the certificate below")
    if not certificate.useful:
        reason = summary.no_guarantee(model, certificate)
        return Tile("Certified error", "none", reason[:1].lower() + reason[1:])
    sure = f"with {100 * certificate.confidence:.6g} % confidence"
    return Tile("Certified error", f"≤ {bound_percent(certificate.risk)}", sure)


def headline(model: Model) -> str:
    """The sentence that the report begins with."""
    if model.abstention is not None:
        return without_hint(str(model.abstention))
    return " ".join([*summary.cost_estimate(model), without_hint(summary.headline(model))])


def plain_lines(certificate: Certificate) -> list[str]:
    """The explanation of a certificate without the terms of its proof and of programs."""
    technical = re.compile(r"^Kind:|\bnats\b|\bdelta\b|=['\"]")
    lines = certificate.explain(proof=False).splitlines()
    return [line for line in lines if line.startswith("- ") or not technical.search(line)]


def without_hint(reason: str | None) -> str:
    """A reason without its hint, which is for programmers."""
    return (reason or "").partition(" Hint:")[0]


def mean_cost(model: Model) -> TrainingCost | None:
    """The mean cost on the training rows; None if no costs were chosen."""
    matrix, tree = model.costs, model.tree
    if matrix is None or model.abstention is not None:
        return None
    total = float(tree.weight[0]) or 1.0
    leaves = tree.leaves
    cost = float((tree.counts[leaves] @ matrix)[np.arange(len(leaves)), tree.label[leaves]].sum())
    constant = tree.counts[0] @ matrix
    cheapest = int(constant.argmin())
    label = one_line(tree.classes[cheapest])
    return TrainingCost(cost / total, float(constant[cheapest]) / total, label)


def choice_in_words(choice: WeightChoice) -> str:
    """How validation chose the size of a tree, in a sentence; empty if it did not."""
    if choice.rule is None:
        return ""
    return f"It is {_RULES[choice.rule].format(loss=f'{choice.reason} {choice.unit}')}."


# -- the fit ---------------------------------------------------------------------------------------


def rows_of_fit(model: Model | RegressionModel) -> list[tuple[str, str]]:
    """The number of training, validation and calibration rows, and of groups."""
    calibration, groups = _calibration_rows(model), model.provenance.groups
    facts = [
        ("Training rows", count(int(model.tree.rows[0]))),
        ("Validation rows", _validation_rows(model)),
        ("Calibration rows", calibration),
    ]
    return [*facts, ("Groups", count(groups))] if groups else facts


def _validation_rows(model: Model | RegressionModel) -> str:
    """The number of rows that chose the size, or how it was chosen without them."""
    record, draw, grown = model.provenance.row_record, model.provenance.draw, model.grown
    sketches = {} if record is None else record.sketches
    if "validation" in sketches:
        return count(sketches["validation"].rows)
    if draw is not None and draw.validation is not None and "training" in sketches:
        rest = sketches["training"].rows - int(grown.rows[0])
        return (
            f"{count(rest)}, which chose the size" if rest > 0 else "a tenth, which chose the size"
        )
    if draw is not None and draw.validation is not None:
        return "a tenth, which chose the size"
    return "none"


def _calibration_rows(model: Model | RegressionModel) -> str:
    """The number of rows that were held out for the certificate."""
    calibration, record = model.evidence.calibration, model.provenance.row_record
    if calibration is None:
        return "none"
    used = calibration.m if isinstance(calibration, HeldOut) else len(calibration.y)
    rows = used
    if record is not None and "calibration" in record.sketches:
        rows = record.sketches["calibration"].rows
    words = count(rows)
    if calibration.folds > 1:
        words += f", the best of {calibration.folds} folds"
    if calibration.grouped:
        words += f"; {count(used)} of them count, one of each group"
    return words


# -- settings ------------------------------------------------------------------------------------


def settings(model: Model | RegressionModel) -> list[tuple[str, str]]:
    """Name and value of the parameters that differ from their defaults, in words."""
    of_numbers = isinstance(model, RegressionModel)
    names = _NUMBER_NAMES if of_numbers else _NAMES
    usual = vars(RegressionParameters() if of_numbers else FitParameters())
    return [
        (names.get(name, name.replace("_", " ").capitalize()), _value(name, value))
        for name, value in sorted(model.provenance.parameters.items())
        if name not in _NOT_SHOWN and repr(value) != repr(usual.get(name))
    ]


def _value(name: str, value: Any) -> str:
    """The value of a parameter; of declared categories only their number."""
    if name == "ordinal_features" and isinstance(value, Mapping):
        return ", ".join(
            f"{one_line(key)}: {len(item):,} categories" for key, item in value.items()
        )
    return _in_words(value)


def _in_words(value: Any) -> str:
    value = plain(value)
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return number(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{_in_words(key)}: {_in_words(item)}" for key, item in value.items())
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple | set | frozenset):
        inner = (_in_words(item) for item in value)
        nested = any(not isinstance(item, str | int | float) for item in value)
        return ("; " if nested else ", ").join(inner)
    made = re.fullmatch(r"(\w+?)(?:Pruner)?\((.*)\)", repr(value), flags=re.DOTALL)
    if not isinstance(value, str) and made is not None:  # an object such as a pruner
        words = re.sub(r"(?<!^)(?=[A-Z])", "-", made[1]).lower()
        inside = re.sub(r"(\w+)=", r"\1 ", made[2]).translate(_MARKS)
        return f"{words} ({inside})" if inside else words
    return one_line(value)
