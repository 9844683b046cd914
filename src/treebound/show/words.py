"""Formatting of names, numbers and splits, shared by all readable forms."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from treebound._utils.quantities import quantity
from treebound._utils.validation import Whole, check
from treebound.growing import GrowOptions
from treebound.growing.rules import groups_of
from treebound.tree.model import Tree
from treebound.tree.regression import RegressionTree
from treebound.tree.split import Split, one_line


def branch_condition(split: Split, *, left: bool, digits: int | None = None) -> str:
    """One side of a split without the column: ``<= 30 or missing``, ``= red``, ``is missing``."""
    # missing values are named if training had some; of two categories that can occur, the other is
    # named: ``= male`` in place of ``≠ female``
    takes_missing = left == split.missing_left
    if split.kind == "missing":
        return "is missing" if takes_missing else "is present"
    if split.kind == "category":
        right_only = split.values(left=False) if split.closed and not left else []
        sign, values = (
            ("=" if left else "≠", split.values()) if len(right_only) != 1 else ("=", right_only)
        )
        return f"{sign} {' or '.join(map(one_line, values)) or '(none)'}"
    if split.is_real:
        value = number(split.threshold, digits)
    else:
        value = one_line(split.last_value) if split.codes else "(none)"
    named = split.column.missing or math.isinf(split.threshold)
    return f"{'<=' if left else '>'} {value}{' or missing' if named and takes_missing else ''}"


def p_value_in_words(p_value: float) -> str:
    """``p = 0.0123``; a number that is too small for a double is not 0."""
    return f"p = {p_value:.3g}" if p_value > 0.0 else "p < 1e-300"


def side_names(labels: Iterable[str]) -> tuple[str, str]:
    """The labels of the edges to the left and to the right, unlike the names of the classes."""
    if any(label.lower() in ("yes", "no", "y", "n") for label in labels):
        return "met", "not met"
    return "yes", "no"


def typeset(words: str) -> str:
    """A condition with ``≤`` instead of ``<=``, for forms that are not parsed."""
    return f"≤{words[2:]}" if words.startswith("<=") else words


def prediction(tree: Tree | RegressionTree, node: int) -> str:
    """The prediction of a node with its training weight."""
    if isinstance(tree, RegressionTree):
        return value_and_weight(tree, node)
    return class_and_counts(tree, node)


def value_and_weight(tree: RegressionTree, node: int) -> str:
    """The value of a node and its training weight, such as ``412.5 (87 rows)``."""
    weight = float(tree.weight[node])
    of = f"weight {count(weight)}" if tree.weighted else counted(weight, "row")
    return f"{rounded(float(tree.value[node]), float(tree.deviation[0]))} ({of})"


def rounded(value: float, scale: float) -> str:
    """A prediction with as many decimals as a thousandth of the spread of the target needs."""
    return quantity(value, 3, scale) if scale > 0.0 else quantity(value)


def class_and_counts(tree: Tree, node: int) -> str:
    """The class of a node and its training weight, such as ``setosa (50 / 50)``."""
    label = int(tree.label[node])
    right = count(float(tree.counts[node, label]))
    return f"{one_line(tree.classes[label])} ({right} / {count(float(tree.weight[node]))})"


def node_lines(tree: Tree | RegressionTree, node: int, split: Split | None) -> list[str]:
    """The lines of a node: its column and rows; without a split its prediction, hidden nodes."""
    if split is not None:
        return [one_line(split.column.name), counted(int(tree.rows[node]), "row")]
    hidden = int(tree.size[node]) - 1
    return [prediction(tree, node), *([f"... {hidden:,} more"] if hidden else [])]


def tree_in_words(tree: Tree | RegressionTree) -> str:
    """Leaves, depth, rows and training errors, such as ``3 leaves, depth 2, 150 rows, ...``."""
    if isinstance(tree, RegressionTree):
        return (
            f"{counted(tree.n_leaves, 'leaf')}, depth {tree.depth}, "
            f"{counted(int(tree.rows[0]), 'training row')}"
        )
    share = 100 * tree.errors / (float(tree.weight[0]) or 1.0)
    return (
        f"{counted(tree.n_leaves, 'leaf')}, depth {tree.depth}, "
        f"{counted(int(tree.rows[0]), 'training row')}, {counted(tree.errors, 'error')} "
        f"({share:.3g} %)"
    )


def number(value: float, digits: int | None = None) -> str:
    """A number that reads back as the same float; with ``digits``, rounded ones have ``≈``."""
    if digits is not None:
        check("", {"digits": digits}, {"digits": Whole(1)})
        rounded = float(f"{value:.{digits}g}")
        return number(value) if rounded == value else f"≈{number(rounded)}"
    return repr(value).removesuffix(".0")


def count(value: float) -> str:
    """Format a count or a weight: integers in full, others to four digits or one decimal."""
    if math.isfinite(value) and value == int(value):
        return f"{int(value):,}"
    return f"{value:,.1f}" if 1000 <= abs(value) < 1e15 else f"{value:.4g}"


def counted(value: float, noun: str) -> str:
    """A count with its noun."""
    many = "leaves" if noun == "leaf" else f"{noun}s"
    return f"{count(value)} {noun if value == 1 else many}"


def rules_in_words(options: GrowOptions, tree: Tree | RegressionTree) -> list[str]:
    """A sentence for each rule that a tree was grown by."""
    sentences, columns = [], tree.columns
    if isinstance(tree, RegressionTree):
        subject, signs = "The prediction", tree.monotone or ()
    else:
        subject, signs = _event(tree), () if tree.monotone is None else tree.monotone.signs
    for sign, word in ((1, "rises"), (-1, "falls")):
        names = [columns[at].name for at, direction in enumerate(signs) if direction == sign]
        if names:
            sentences.append(f"{subject} only {word} with {_named(names)}.")
    first = [one_line(text) for text in options.forced_splits or ()]
    if first:
        sentences.append(f"Splits at the top: {'; '.join(first)}.")
    if options.interaction_cst is not None:
        groups = [sorted(group) for group in groups_of(options.interaction_cst, columns)]
        together = "; ".join(_named([columns[at].name for at in group]) for group in groups)
        sentences.append(f"A path uses columns of one group only: {together}.")
    return sentences


def _event(tree: Tree) -> str:
    """The quantity that only rises or falls with a column, such as the probability of a class."""
    if tree.monotone is None:
        return ""
    labels = [one_line(label) for label in tree.classes[list(tree.monotone.order)].tolist()]
    if len(labels) == 2:
        return f"The probability of class {labels[-1]}"
    return f"The probability of high classes ({' < '.join(labels)})"


def _named(names: Sequence[str]) -> str:
    return ", ".join(map(one_line, names))
