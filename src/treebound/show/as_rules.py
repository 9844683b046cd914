"""A tree as if/then rules: one rule a leaf, as objects, a data frame and exact text."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

from treebound._extras import require
from treebound.data.frames import is_missing
from treebound.show.questions import (
    Question,
    Unknown,
    check_unknown,
    plain,
    question,
    short_number,
)
from treebound.tree import Tree
from treebound.tree.fitted import takes_classifier
from treebound.tree.smoothing import Smoothing, probabilities

__all__ = ["Condition", "Rule", "Rules", "rules"]

_WORDS = frozenset(
    ("if", "and", "or", "then", "in", "not", "is", "missing", "unseen", "present", "true", "inf")
)
_SIMPLE = re.compile(r"[^\W\d]\w*\Z")


@dataclass(frozen=True)
class Condition:
    """What a rule asks of one column; all tests on the path are merged into one.

    Attributes
    ----------
    column : str
        The column's name.
    low, high : float or None
        A real value must be ``low < value <= high``; None where there is no bound.
    categories : tuple or None
        The categories accepted; None for a real column.
    others : tuple or None
        The categories refused; None for a real column.
    missing : bool
        Whether a missing value is accepted.
    unseen : bool
        Whether a category that the column does not have is accepted.
    """

    column: str
    low: float | None = None
    high: float | None = None
    categories: tuple[Any, ...] | None = None
    others: tuple[Any, ...] | None = None
    missing: bool = False
    unseen: bool = False

    def matches(self, value: Any) -> bool:
        """Whether a value (None or NaN when missing) meets the condition."""
        if is_missing(value):
            return self.missing
        if self.categories is not None and self.others is not None:
            unseen = value not in self.others
            return value in self.categories or (self.unseen and unseen)
        number = float(value)
        above = self.low is None or number > self.low
        return above and (self.high is None or number <= self.high)

    def __str__(self) -> str:
        name = _name(self.column)
        extra = [word for word in ("missing", "unseen") if getattr(self, word)]
        body = self._categories(name) if self.categories is not None else self._interval(name)
        if body is None:
            body, extra = f"{name} is {extra[0]}", extra[1:]
        text = " or ".join([body, *extra])
        return f"({text})" if extra else text

    def _interval(self, name: str) -> str | None:
        if self.low is not None and self.high is not None:
            return f"{self.low!r} < {name} <= {self.high!r}"
        if self.low is not None:
            return f"{name} > {self.low!r}"
        return f"{name} <= {self.high!r}" if self.high is not None else f"{name} is present"

    def _categories(self, name: str) -> str | None:
        yes, no = self.categories or (), self.others or ()
        if not yes and (self.missing or self.unseen):
            return None
        # Few refused categories read better than many accepted ones.
        if len(yes) == 1 or len(yes) <= len(no):
            return f"{name} = {_value(yes[0])}" if len(yes) == 1 else f"{name} in {_set(yes)}"
        return f"{name} != {_value(no[0])}" if len(no) == 1 else f"{name} not in {_set(no)}"


@dataclass(frozen=True)
class Rule:
    """One way through the tree: the conditions, and what the node at its end answers.

    Attributes
    ----------
    node : int
        The node reached: a leaf, or an inner node where unseen categories stop.
    conditions : tuple of Condition
        What must hold, one condition a column, in the order in which the tree asks.
    label : object
        The class answered.
    probability : float
        The probability of that class.
    probabilities : tuple of float
        The probabilities of all classes, in the order of ``tree.classes``.
    rows : int
        Training rows that reach the node.
    counts : dict
        Training weight by class.
    """

    node: int
    conditions: tuple[Condition, ...]
    label: Any
    probability: float
    probabilities: tuple[float, ...]
    rows: int
    counts: dict[Any, float]

    @property
    def weight(self) -> float:
        """Training weight that reaches the node."""
        return sum(self.counts.values())

    def matches(self, row: Mapping[str, Any]) -> bool:
        """Whether a row, given as values by column name, meets every condition."""
        return all(condition.matches(row[condition.column]) for condition in self.conditions)

    @property
    def premise(self) -> str:
        """The conditions as text, ``true`` when there is none."""
        return " and ".join(map(str, self.conditions)) or "true"

    def __str__(self) -> str:
        counts = ", ".join(
            f"{_value(label)}: {short_number(count)}" for label, count in self.counts.items()
        )
        rows = "1 row" if self.rows == 1 else f"{self.rows} rows"
        return (
            f"if {self.premise} then {_value(self.label)}"
            f"  # {rows}, p = {self.probability:.4g}, {{{counts}}}"
        )


class Rules(Sequence[Rule]):
    """The rules of a tree, in the order of its leaves; exactly one matches any row.

    Written out (``str``), a rule is ``if CONDITIONS then LABEL  # rows, probability, counts``.
    A condition is one of

    ======================================  =====================================================
    ``name <= 1.5``, ``name > 1.5``         a bound on a real column, written exactly
    ``1.5 < name <= 2.5``                   two bounds
    ``name = "a"``, ``name in {"a", "b"}``  categories accepted
    ``name != "a"``, ``name not in {...}``  every category *of the column* but these
    ``name is missing``                     also ``is unseen`` and ``is present``
    ``(name <= 1.5 or missing)``            a missing value too; ``or unseen``: a new category too
    ======================================  =====================================================

    joined by ``and``, or the word ``true``. Names that are not one plain word, and categories and
    labels, are JSON: ``"petal length (cm)" <= 2.45``.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = tuple(rules)

    @overload
    def __getitem__(self, place: int) -> Rule: ...
    @overload
    def __getitem__(self, place: slice) -> Rules: ...
    def __getitem__(self, place: int | slice) -> Rule | Rules:
        return Rules(self._rules[place]) if isinstance(place, slice) else self._rules[place]

    def __len__(self) -> int:
        return len(self._rules)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._rules)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"<{len(self)} rules>\n{self.to_text()}"

    def to_text(self) -> str:
        """The rules as text, one line each."""
        return "\n".join(map(str, self._rules))

    def to_frame(self) -> Any:
        """The rules as a pandas data frame, with one column of counts a class."""
        pandas = require("pandas", extra="study", why="A data frame of rules")
        labels = list(self._rules[0].counts) if self._rules else []
        table = {
            "node": [rule.node for rule in self],
            "rule": [rule.premise for rule in self],
            "label": [rule.label for rule in self],
            "probability": [rule.probability for rule in self],
            "rows": [rule.rows for rule in self],
            "weight": [rule.weight for rule in self],
        }
        for label in labels:
            table[f"count {label}"] = [rule.counts[label] for rule in self]
        return pandas.DataFrame(table)


@takes_classifier
def rules(
    tree: Tree, *, smoothing: Smoothing | None = "m-estimate", unknown: Unknown = "majority"
) -> Rules:
    """The tree as if/then rules, one a leaf, that together answer exactly as the tree does.

    Parameters
    ----------
    tree : Tree or BoundTreeClassifier
        A fitted classifier gives its tree, and ``unknown`` and ``smoothing`` as it has them.
    smoothing : {"laplace", "m-estimate", None}
        How probabilities are made of counts.
    unknown : {"majority", "stop", "missing", "error"}
        Where a category that was never seen goes. With ``"stop"`` there is one rule more for
        every node where such a row may stop; with ``"error"`` no rule matches it.

    Returns
    -------
    Rules
        A sequence of :class:`Rule`; ``str`` gives the text, ``to_frame()`` a data frame.

    Examples
    --------
    >>> import treebound as tb
    >>> from sklearn.datasets import load_iris
    >>> iris = load_iris(as_frame=True)
    >>> clf = tb.BoundTreeClassifier(max_leaves=3).fit(iris.data, iris.target_names[iris.target])
    >>> print(rules(clf.tree_)[0].premise)
    "petal length (cm)" <= 2.45
    """
    check_unknown(unknown, caller="rules")
    chances = probabilities(tree.counts, smoothing).tolist()
    labels = [plain(label) for label in tree.classes.tolist()]
    made = []
    for node, conditions in _ways(tree, unknown):
        answer = int(tree.label[node])
        made.append(
            Rule(
                node=node,
                conditions=conditions,
                label=labels[answer],
                probability=chances[node][answer],
                probabilities=tuple(chances[node]),
                rows=int(tree.rows[node]),
                counts=dict(zip(labels, tree.counts[node].tolist(), strict=True)),
            )
        )
    return Rules(made)


# -- the region of a node: what a path allows of every column it tests -----------------------


@dataclass(frozen=True)
class _Region:
    """What a path allows of one column; made smaller by every test on it."""

    low: float | None = None
    high: float | None = None
    codes: frozenset[int] | None = None
    missing: bool = True
    unseen: bool = True

    def after(self, asked: Question, *, left: bool) -> _Region:
        """The region of those that go left, or right, at a test."""
        missing = self.missing and asked.missing_left == left
        if not asked.is_real:
            own = frozenset(asked.left_codes)
            codes = self.codes if self.codes is not None else _all_codes(asked)
            unseen = self.unseen and asked.unknown_left is left
            return _Region(None, None, codes & own if left else codes - own, missing, unseen)
        if left:
            high = asked.threshold if self.high is None else min(self.high, asked.threshold)
            return _Region(self.low, high, None, missing, False)
        low = asked.threshold if self.low is None else max(self.low, asked.threshold)
        return _Region(low, self.high, None, missing, False)

    def only_unseen(self) -> _Region:
        """The region of the unseen categories alone, those that stop at a node."""
        return _Region(None, None, frozenset(), False, True)


def _all_codes(asked: Question) -> frozenset[int]:
    return frozenset(range(len(asked.column.categories or ())))


def _ways(tree: Tree, unknown: Unknown) -> Iterator[tuple[int, tuple[Condition, ...]]]:
    """Every end of the tree with its conditions; no recursion, so any depth will do."""
    stack: list[tuple[int, dict[int, _Region]]] = [(0, {})]
    while stack:
        node, regions = stack.pop()
        if tree.left[node] < 0:
            yield node, _conditions(tree, regions)
            continue
        asked = question(tree, node, unknown=unknown)
        here = regions.get(asked.feature, _Region())
        if unknown == "stop" and not asked.is_real and here.unseen:
            yield node, _conditions(tree, {**regions, asked.feature: here.only_unseen()})
        for child, left in ((tree.right[node], False), (tree.left[node], True)):
            smaller = {**regions, asked.feature: here.after(asked, left=left)}
            stack.append((int(child), smaller))


def _conditions(tree: Tree, regions: Mapping[int, _Region]) -> tuple[Condition, ...]:
    made = []
    for feature, region in regions.items():
        column = tree.columns[feature]
        if region.codes is None:
            made.append(Condition(column.name, region.low, region.high, missing=region.missing))
            continue
        values = [plain(value) for value in column.categories or ()]
        made.append(
            Condition(
                column.name,
                categories=tuple(v for i, v in enumerate(values) if i in region.codes),
                others=tuple(v for i, v in enumerate(values) if i not in region.codes),
                missing=region.missing,
                unseen=region.unseen,
            )
        )
    return tuple(made)


# -- how names and values are written --------------------------------------------------------


def _name(name: str) -> str:
    return name if _SIMPLE.match(name) and name not in _WORDS else _value(name)


def _value(value: Any) -> str:
    value = plain(value)
    if isinstance(value, float) and math.isinf(value):
        return repr(value)
    if not (value is None or isinstance(value, str | int | float)):
        value = str(value)
    text = json.dumps(value, ensure_ascii=False)
    # Characters that would break the line, or could not be seen, are escaped as JSON does it.
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def _set(values: Sequence[Any]) -> str:
    return "{" + ", ".join(map(_value, values)) + "}"
