"""What the forms in other languages share: the order in which a tree is written, and names.

A tree is written as guard clauses. At every inner node the smaller child comes first, inside an
``if`` that ends in an answer; the larger child follows after it, at the same indentation. So
nesting grows with the logarithm of the number of leaves, whatever the depth of the tree, and a
chain of ten thousand tests is a plain list.
"""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from treebound.data import Column
from treebound.show.questions import Question, Unknown, check_unknown, plain, question
from treebound.tree import Tree
from treebound.tree.smoothing import Smoothing, probabilities

__all__ = [
    "Answer",
    "Guard",
    "Output",
    "answers",
    "check_options",
    "guards",
    "identifiers",
    "literal_type",
    "columns_tested",
]

Output = Literal["label", "proba"]


@dataclass(frozen=True)
class Guard:
    """``if``: what follows one level deeper holds for those who take this side.

    ``side`` is "left", "right", or "stop" for a category never seen that ends at this node.
    """

    level: int
    asked: Question
    side: Literal["left", "right", "stop"]


@dataclass(frozen=True)
class Answer:
    """``return``: what this node answers."""

    level: int
    node: int


def guards(tree: Tree, *, unknown: Unknown) -> Iterator[Guard | Answer]:
    """The tree as guard clauses, in the order in which they are written; no recursion."""
    stack: list[tuple[int, int]] = [(0, 0)]
    while stack:
        node, level = stack.pop()
        if tree.left[node] < 0:
            yield Answer(level, node)
            continue
        asked = question(tree, node, unknown=unknown)
        if unknown == "stop" and not asked.is_real:
            yield Guard(level, asked, "stop")
            yield Answer(level + 1, node)
        left, right = int(tree.left[node]), int(tree.right[node])
        # Of two equal children, the one that takes no missing values has the shorter condition.
        sizes = int(tree.size[left]), int(tree.size[right])
        small_left = sizes[0] < sizes[1] or (sizes[0] == sizes[1] and not asked.missing_left)
        small, large = (left, right) if small_left else (right, left)
        yield Guard(level, asked, "left" if small_left else "right")
        # The small child is written at once, one level deeper; the large one after all of it.
        stack += [(large, level)]
        if tree.left[small] < 0:
            yield Answer(level + 1, small)
        else:
            stack += [(small, level + 1)]


def columns_tested(tree: Tree, *, unknown: Unknown) -> list[int]:
    """The columns the code needs: those tested, and with ``"error"`` all columns of categories."""
    found = {int(feature) for feature in tree.feature if feature >= 0}
    if unknown == "error":
        found |= {j for j, column in enumerate(tree.columns) if column.kind != "real"}
    return sorted(found)


def answers(tree: Tree, *, output: Output, smoothing: Smoothing | None) -> list[Any]:
    """What each node answers: its label, or the list of its class probabilities."""
    if output == "proba":
        return probabilities(tree.counts, smoothing).tolist()
    return [plain(tree.classes[label]) for label in tree.label.tolist()]


def check_options(output: str, unknown: str, *, caller: str) -> None:
    """Raise unless the options of a code form are among those known."""
    check_unknown(unknown, caller=caller)
    if output not in ("label", "proba"):
        raise ValueError(
            f"The 'output' parameter of {caller} must be 'label' or 'proba'. "
            f"Got {output!r} instead."
        )


def literal_type(values: Sequence[Any], *, what: str) -> type:
    """The one type of some categories or labels, or an error naming what cannot be written."""
    types = {type(plain(value)) for value in values}
    if types == {int, float}:
        types = {float}
    if len(types) == 1 and types <= {str, int, float, bool}:
        return types.pop()
    if not types:
        return str
    found = " and ".join(sorted(kind.__name__ for kind in types))
    raise ValueError(
        f"{what} must be all text, all whole numbers, all floats or all booleans to be written "
        f"as code. Got {found} instead. Hint: convert the column to text before fitting."
    )


def identifiers(columns: Sequence[Column], reserved: frozenset[str]) -> list[str]:
    """A readable and unique ASCII identifier for every column.

    Examples
    --------
    >>> names = ["petal length (cm)", "class", "class!", "数"]
    >>> identifiers([Column(name) for name in names], frozenset({"class"}))
    ['petal_length_cm', 'class_1', 'class_2', 'x3']
    """
    taken: set[str] = set()
    made = []
    for place, column in enumerate(columns):
        folded = unicodedata.normalize("NFKD", column.name).encode("ascii", "ignore").decode()
        name = re.sub(r"\W+", "_", folded).strip("_").lower()[:40]
        if not name or not name[0].isalpha():
            name = f"x{place}"
        if name in reserved or keyword.iskeyword(name) or name in taken:
            name = f"{name}_{place}"
        while name in taken:
            name += "_"
        taken.add(name)
        made.append(name)
    return made
