"""A tree as if-then rules, one per leaf."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from treebound._utils.choices import Unknown
from treebound._utils.extras import require
from treebound.data import Column
from treebound.data.raw import is_missing
from treebound.model import RegressionModel
from treebound.model.methods import as_any_model
from treebound.show.words import count, counted, number, rounded
from treebound.tree.base import BaseTree
from treebound.tree.split import Split, plain, splits_of

_WORDS = frozenset(
    ("if", "and", "or", "then", "in", "not", "is", "missing", "present", "true", "false", "inf")
)
_SIMPLE = re.compile(r"[^\W\d]\w*\Z")


@dataclass(frozen=True)
class Region:
    """The values of one column that a rule allows: all splits on the path, merged."""

    column: Column
    low: float = -math.inf  # of real values: low < value <= high
    high: float = math.inf
    codes: frozenset[int] = frozenset()  # of the allowed categories
    missing: bool = True  # whether missing values are allowed
    unknown: bool = True  # whether unknown categories are allowed
    names_missing: bool = True  # whether the text mentions allowed missing values

    def values(self, *, inside: bool = True) -> list[Any]:
        """The categories in the region, or outside."""
        categories = enumerate(self.column.categories or ())
        return [plain(value) for code, value in categories if (code in self.codes) == inside]

    def matches(self, value: Any) -> bool:
        """Return True if a value is in the region; None and NaN are missing."""
        if is_missing(value):
            return self.missing
        if self.column.kind == "real":
            return self.low < float(value) <= self.high
        if value in self.values():
            return True
        return self.unknown and value not in (self.column.categories or ())

    def __str__(self) -> str:
        name = _name(self.column.name)
        text = self._categories(name)
        if self.column.kind == "real":
            empty = self.low >= self.high
            text = None if empty else self.interval(name) or f"{name} is present"
        if text is None:
            return f"{name} is missing" if self.missing else "false"
        named = self.missing and (self.names_missing or text.endswith(" is present"))
        return f"({text} or missing)" if named else text

    def interval(self, name: str) -> str:
        """The bounds of a real column; empty if there is none."""
        low, high = number(self.low), number(self.high)
        if math.isinf(self.low):
            return f"{name} <= {high}" if math.isfinite(self.high) else ""
        return f"{name} > {low}" if math.isinf(self.high) else f"{low} < {name} <= {high}"

    def _categories(self, name: str) -> str | None:
        signs, values = ("=", "in"), self.values()
        if self.unknown:
            signs, values = ("!=", "not in"), self.values(inside=False)
        if not values:
            return f"{name} is present" if self.unknown else None
        if len(values) == 1:
            return f"{name} {signs[0]} {_value(values[0])}"
        return f"{name} {signs[1]} {{{', '.join(map(_value, values))}}}"


def whole_region(column: Column, handle_unknown: Unknown) -> Region:
    """The region of a column before any split on it."""
    codes = frozenset(range(len(column.categories or ())))
    # a column without missing values in training has none to mention, unless unknown categories
    # are read as missing
    unknown_is_missing = handle_unknown == "missing" and column.kind != "real"
    return Region(
        column,
        codes=codes,
        unknown=column.n_categories > 0,
        names_missing=column.missing or unknown_is_missing,
    )


def part_of(region: Region, split: Split, *, left: bool) -> Region:
    """The part of a region on one side of a split."""
    part = replace(region, missing=region.missing and split.missing_left == left)
    if not split.is_real:
        codes = part.codes.intersection if left else part.codes.difference
        unknown = part.unknown and split.unknown_left is left
        return replace(part, codes=codes(split.codes), unknown=unknown)
    if left:
        return replace(part, high=min(part.high, split.bound))
    return replace(part, low=max(part.low, split.bound))


@dataclass(frozen=True)
class Premise:
    """The end of a path through the tree, and the conditions of the path."""

    node: int
    regions: tuple[Region, ...]

    def matches(self, row: Mapping[str, Any]) -> bool:
        """Return True if a row satisfies the conditions.

        Parameters
        ----------
        row : mapping
            The values by column name; None or NaN if missing.
        """
        return all(region.matches(row[region.column.name]) for region in self.regions)

    @property
    def premise(self) -> str:
        """The conditions as text, ``true`` if there are none."""
        return " and ".join(map(str, self.regions)) or "true"

    def _record(self, figures: dict[str, Any], rows: int, weight: float) -> dict[str, Any]:
        return {"node": self.node, "rule": self.premise, **figures, "rows": rows, "weight": weight}


@dataclass(frozen=True)
class Rule(Premise):
    """A path through the tree: its conditions, and the prediction at its end.

    Attributes
    ----------
    node : int
        A leaf, or an inner node where unknown categories stop.
    regions : tuple of Region
        The conditions: one region for each column, in the order of the splits; as text, each is
        as :class:`Rules` writes it.
    label : object
        The predicted class.
    probability : float
        The probability of that class.
    probabilities : tuple of float
        The probabilities of all classes, in the order of ``tree.classes``.
    rows : int
        Number of training rows at the node.
    counts : dict
        Training weight by class.
    """

    label: Any
    probability: float
    probabilities: tuple[float, ...]
    rows: int
    counts: dict[Any, float]

    @property
    def weight(self) -> float:
        """Training weight at the node."""
        return sum(self.counts.values())

    def record(self) -> dict[str, Any]:
        """The rule as a row of a table."""
        figures = {"label": self.label, "probability": self.probability}
        counts = {f"count {label}": weight for label, weight in self.counts.items()}
        return self._record(figures, self.rows, self.weight) | counts

    def __str__(self) -> str:
        counts = ", ".join(
            f"{_value(label)}: {count(weight)}" for label, weight in self.counts.items() if weight
        )
        return (
            f"if {self.premise} then {_value(self.label)}"
            f"  # {counted(self.rows, 'row')}, p = {self.probability:.4g}, {{{counts}}}"
        )


@dataclass(frozen=True)
class NumberRule(Premise):
    """A path through a regression tree: its conditions, and the value at its end.

    Attributes
    ----------
    node, regions
        See :class:`Rule`.
    value : float
        The predicted number.
    rows : int
        Number of training rows at the node.
    weight : float
        Training weight at the node.
    spread : float
        Standard deviation of all training rows; the value is rounded by it as text.
    """

    value: float
    rows: int
    weight: float
    spread: float = 0.0

    def record(self) -> dict[str, Any]:
        """The rule as a row of a table."""
        return self._record({"value": self.value}, self.rows, self.weight)

    def __str__(self) -> str:
        value = rounded(self.value, self.spread)
        return f"if {self.premise} then {value}  # {counted(self.rows, 'row')}"


AnyRule = TypeVar("AnyRule", Rule, NumberRule)


class Rules(tuple[AnyRule, ...]):
    """The rules of a tree, in the order of its leaves; exactly one matches each row.

    As text (``str``), a rule is ``if CONDITIONS then LABEL  # rows, probability, counts``, or
    ``if CONDITIONS then VALUE  # rows`` for a regression tree, with a rounded value; the attribute
    ``value`` and ``to_frame()`` have all digits. A condition is one of

    ======================================  =====================================================
    ``name <= 1.5``, ``name > 1.5``         a bound on a real column, written exactly
    ``1.5 < name <= 2.5``                   two bounds
    ``name = "a"``, ``name in {"a", "b"}``  one of these categories
    ``name != "a"``, ``name not in {...}``  any value but these, unknown categories included
    ``name is missing``                     also ``is present``: any value
    ``(name <= 1.5 or missing)``            a missing value too, if training had some
    ``false``                               no value: no row matches
    ======================================  =====================================================

    joined by ``and``, or the word ``true``. Names that are not one plain word, and categories and
    labels, are JSON: ``"petal length (cm)" <= 2.45``.
    """

    def __str__(self) -> str:
        return "\n".join(map(str, self))

    def __repr__(self) -> str:
        return f"<{len(self):,} rules>\n{self}"

    def to_frame(self) -> Any:
        """The rules as a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            One row for each rule: node, rule, label, probability, rows, weight, and the count of
            each class; or node, rule, value, rows and weight.
        """
        pandas = require("pandas", extra="study", why="A data frame of rules")
        return pandas.DataFrame([rule.record() for rule in self])


def to_rules(source: Any) -> Rules[Any]:
    """The tree as if-then rules, one for each leaf, with the same predictions.

    With ``handle_unknown="stop"`` there is one more rule for each node where rows may stop; with
    ``"error"`` no rule matches a row with an unknown category in a column that the tree splits on.

    Parameters
    ----------
    source
        See :func:`treebound.show.to_text`.

    Returns
    -------
    Rules
        A sequence of :class:`treebound.show.Rule`, or :class:`treebound.show.NumberRule` for a
        regression tree; ``str`` gives the text, ``to_frame()`` a data frame.

    Examples
    --------
    >>> import treebound as tb
    >>> from sklearn.datasets import load_iris
    >>> clf = tb.BoundTreeClassifier(max_leaves=3).fit(*load_iris(return_X_y=True, as_frame=True))
    >>> print(to_rules(clf)[0].premise)
    "petal length (cm)" <= 2
    """
    model = as_any_model(source, "to_rules")
    if isinstance(model, RegressionModel):
        return _number_rules(model)
    tree, chances = model.tree, model.node_probabilities.tolist()
    counts, label = tree.counts.tolist(), tree.label.tolist()
    labels = [plain(label) for label in tree.classes.tolist()]
    return Rules(
        Rule(
            node=node,
            regions=regions,
            label=labels[label[node]],
            probability=chances[node][label[node]],
            probabilities=tuple(chances[node]),
            rows=int(tree.rows[node]),
            counts=dict(zip(labels, counts[node], strict=True)),
        )
        for node, regions in ends(tree, model.reading.handle_unknown)
    )


def _number_rules(model: RegressionModel) -> Rules[NumberRule]:
    tree = model.tree
    return Rules(
        NumberRule(
            node=node,
            regions=regions,
            value=float(tree.value[node]),
            rows=int(tree.rows[node]),
            weight=float(tree.weight[node]),
            spread=float(tree.deviation[0]),
        )
        for node, regions in ends(tree, model.reading.handle_unknown)
    )


def ends(tree: BaseTree, handle_unknown: Unknown) -> Iterator[tuple[int, tuple[Region, ...]]]:
    """Every end of the tree with its regions, without recursion."""
    splits = splits_of(tree, handle_unknown=handle_unknown)
    # with "error", an unknown category is refused in every column that the tree splits on
    used = np.unique(tree.feature[tree.feature >= 0]).tolist() if handle_unknown == "error" else []
    closed = {
        at: replace(whole_region(tree.columns[at], handle_unknown), unknown=False)
        for at in used
        if tree.columns[at].kind != "real"
    }
    stack: list[tuple[int, dict[int, Region]]] = [(0, {})]
    while stack:
        node, regions = stack.pop()
        split = splits[node]
        if split is None:
            known_only = {at: region for at, region in closed.items() if at not in regions}
            yield node, (*regions.values(), *known_only.values())
            continue
        at = split.feature
        here = regions.get(at) or whole_region(split.column, handle_unknown)
        if handle_unknown == "stop" and here.unknown:
            stays = replace(here, codes=frozenset(), missing=False)  # unknown categories only
            yield node, tuple({**regions, at: stays}.values())
        for child, left in ((tree.right[node], False), (tree.left[node], True)):
            stack.append((int(child), {**regions, at: part_of(here, split, left=left)}))


# -- names and values as text --------------------------------------------------------


def _name(name: str) -> str:
    return name if _SIMPLE.match(name) and name not in _WORDS else _value(name)


def _value(value: Any) -> str:
    value = plain(value)
    if isinstance(value, float) and math.isinf(value):
        return repr(value)
    if not (value is None or isinstance(value, str | int | float)):
        value = str(value)
    text = json.dumps(value, ensure_ascii=False)
    # Line breaks and invisible characters are escaped as in JSON.
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)
