"""Shared by the code writers: the order in which a tree is written, and names.

A tree is written as branches that end in a prediction. At each inner node the smaller child comes
first, inside an ``if``; the larger child follows at the same indentation. So nesting grows with
the logarithm of the number of leaves, not with the depth of the tree.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, TypeVar, get_args

import numpy as np

from treebound._utils.choices import Unknown
from treebound._utils.validation import OneOf, check, invalid
from treebound.data import Column
from treebound.model import Model, RegressionModel
from treebound.model.base import BaseModel
from treebound.tree.base import BaseTree
from treebound.tree.recoding import listed_columns, recoded
from treebound.tree.split import Split, one_line, plain, splits_of

Output = Literal["label", "proba"]
M = TypeVar("M", bound=BaseModel[Any, Any])


class Branch(NamedTuple):
    """``if``: the deeper lines that follow hold for values on this side of a split.

    ``side`` is "left", "right", or "stop" for an unknown category that ends at this node.
    """

    level: int
    split: Split
    side: Literal["left", "right", "stop"]


class Return(NamedTuple):
    """``return``: the prediction of a node."""

    level: int
    node: int


def branches(tree: BaseTree, handle_unknown: Unknown) -> Iterator[Branch | Return]:
    """Yield the branches and predictions of a tree in writing order, without recursion."""
    splits = splits_of(tree, handle_unknown=handle_unknown)
    lefts, rights, sizes = tree.left.tolist(), tree.right.tolist(), tree.size.tolist()
    stack: list[tuple[int, int]] = [(0, 0)]
    while stack:
        node, level = stack.pop()
        split = splits[node]
        if split is None:
            yield Return(level, node)
            continue
        if handle_unknown == "stop" and not split.is_real:
            yield Branch(level, split, "stop")
            yield Return(level + 1, node)
        left, right = lefts[node], rights[node]
        # of two children of equal size, the one without missing values has the shorter condition
        small_left = (sizes[left], split.missing_left) <= (sizes[right], False)
        yield Branch(level, split, "left" if small_left else "right")
        # the small child first, one level deeper; the large one after it
        small, large = (left, right) if small_left else (right, left)
        stack += [(large, level), (small, level + 1)]


class Signs(NamedTuple):
    """How a language tests numbers; comparisons with NaN are false."""

    missing: str
    present: str
    negated: str


def compared(branch: Branch, value: str, bound: str, signs: Signs) -> str:
    """Return the condition that a number takes the side of a branch."""
    split, left = branch.split, branch.side == "left"
    takes_missing = split.missing_left == left
    if split.kind == "missing":
        return (signs.missing if takes_missing else signs.present).format(value)
    # the side that takes missing values negates the opposite
    text = f"{value} {'<=' if left != takes_missing else '>'} {bound}"
    return signs.negated.format(text) if takes_missing else text


def with_listed_categories(model: M) -> M:
    """Return the model with the categories that code must know."""
    columns = listed_columns(model.columns, [model.tree], model.reading.handle_unknown)
    return replace(model, tree=recoded(model.tree, columns))


def edits_of(model: Model | RegressionModel) -> list[str]:
    """Return the lines of a comment that lists the changes by hand."""
    edits = model.provenance.edits
    return ["Edited by hand:", *(f"- {one_line(edit)}" for edit in edits)] if edits else []


def columns_used(tree: BaseTree) -> list[int]:
    """The columns that the code reads: those split on."""
    return [int(j) for j in np.unique(tree.feature[tree.feature >= 0])]


def predictions(model: Model | RegressionModel, output: Output, caller: str = "") -> list[Any]:
    """Return the prediction of each node: its label, class probabilities, or number."""
    check(caller, {"output": output}, {"output": OneOf(get_args(Output))})
    if isinstance(model, RegressionModel):
        if output != "label":
            raise invalid("output", caller, "'label' for a regression tree", output)
        return list(model.tree.value.tolist())
    if output == "proba":
        return list(model.node_probabilities.tolist())
    return [plain(label) for label in model.classes[model.tree.label]]


def literal_type(values: Sequence[Any], *, subject: str) -> type:
    """The common type of some categories or labels; an error if there is none."""
    types = {type(plain(value)) for value in values}
    if types == {int, float}:
        types = {float}
    if len(types) == 1 and types <= {str, int, float, bool}:
        return types.pop()
    if not types:
        return str
    names = " and ".join(sorted(kind.__name__ for kind in types))
    raise ValueError(
        f"{subject} must be all text, all integers, all floats or all booleans to be written "
        f"as code. Got {names} instead. Hint: convert the column to text before fitting."
    )


def category_type(column: Column) -> type:
    """The common type of the categories of a column; an error if there is none."""
    subject = f"The categories of the column {column.name!r}"
    return literal_type(column.categories or (), subject=subject)


def identifiers(columns: Sequence[Column], reserved: frozenset[str]) -> list[str]:
    """A readable and unique ASCII identifier for every column."""
    taken: set[str] = set()
    names = []
    for place, column in enumerate(columns):
        folded = unicodedata.normalize("NFKD", column.name).encode("ascii", "ignore").decode()
        name = re.sub(r"\W+", "_", folded).strip("_").lower()[:40]
        if not name or not name[0].isalpha():
            name = f"x{place}"
        if name in reserved or name in taken:
            name = f"{name}_{place}"
        while name in taken:
            name += "_"
        taken.add(name)
        names.append(name)
    return names
