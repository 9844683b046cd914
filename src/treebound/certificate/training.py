"""The certificate from training rows: for all trees of a size at once, or by compression."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from math import log

import numpy as np
from numpy.typing import NDArray

from treebound._utils.validation import Whole, check, invalid
from treebound.bounds.compression import log_message_weight
from treebound.bounds.risk import risk_upper
from treebound.certificate.by_class import GHOST, by_class_training, inverted
from treebound.certificate.certificate import (
    CLASSES_AS_FOUND,
    DELTA,
    Assumption,
    Certificate,
    Method,
    errors_by_class,
)
from treebound.data import Column
from treebound.landscape import Landscape
from treebound.pruning import merge_equal_leaves
from treebound.tree.model import Tree
from treebound.tree.naming import needs_name
from treebound.tree.split import named_splits

# Two fits, each with a bound that fails with probability delta, fail together more often.
CHOSEN_ONCE = (
    "fit was not repeated with other thresholds, another kind of certificate or another delta to "
    "keep the smaller bound"
)


def certify_tree(
    tree: Tree,
    *,
    errors: int | None = None,
    row_counts: NDArray[np.int64] | None = None,
    landscape: Landscape | None = None,
    delta: float = 0.05,
    handle_unknown: str = "other",
) -> Certificate:
    """The smallest certificate of a tree from its training rows.

    By hypergeometric tail inversion over all trees with as many leaves, and by compression if
    the rows that name the splits are known (``thresholds="observed"``). ``row_counts`` are the
    training rows of each class at each node, if rows were weighted: every row counts once. In the
    landscape of the columns, undeclared categories count as unbounded.
    """
    check("certify", {"delta": delta}, DELTA)
    reason = reason_against(tree, row_counts)
    if reason:
        raise ValueError(f"There is no certificate for this tree. {reason}")
    m = int(tree.rows[0])
    class_rows, class_errors = errors_by_class(tree, row_counts)
    wrong = int(class_errors.sum()) if errors is None else errors
    check("certify", {"errors": wrong}, {"errors": Whole(0)})
    if wrong > m:
        raise invalid("errors", "certify", f"at most {m}, the number of training rows", wrong)
    least = _least(merge_equal_leaves(tree), wrong, landscape, delta)
    if landscape is None and any(map(_undeclared, tree.columns)):
        columns = tuple(replace(column, declared=column.kind != "real") for column in tree.columns)
        declared = _least(merge_equal_leaves(replace(tree, columns=columns)), wrong, None, delta)
        least = replace(least, declared_risk=declared.risk)
    certificate = replace(
        least,
        delta=float(delta),
        leaves=tree.n_leaves,
        assumptions=tuple(_assumptions(tree, least.method, landscape is not None, handle_unknown)),
        constant_error=1.0 - float(class_rows.max()) / m,
    )
    return certificate.of_tree(
        tree, partial(by_class_training, tree, class_rows, class_errors, float(delta), landscape)
    )


def reason_against(tree: Tree, row_counts: NDArray[np.int64] | None = None) -> str:
    """Why a tree has no certificate; empty if it can have one."""
    if tree.weighted and row_counts is None:
        return (
            "The examples were weighted, and their number in each class is not known. Hint: give "
            "the training rows."
        )
    if not tree.counted:
        return (
            "Subtrees were moved and not counted again. Hint: give the training rows, so that "
            "they can be counted."
        )
    return "" if tree.rows[0] > 0 else "The tree has no training examples."


def _least(tree: Tree, errors: int, landscape: Landscape | None, delta: float) -> Certificate:
    """The smallest of the certificates that hold simultaneously.

    If thresholds are training values there are two, and each gets half of delta. This holds even
    if subtrees were raised and rows no longer determine the tree: whether they do depends on the
    data, and the share of delta must not.
    """
    if tree.names is None or landscape is not None:
        return _by_tail_inversion(tree, errors, landscape, delta)
    kinds = [_by_tail_inversion(tree, errors, None, delta / 2.0)]
    if (tree.names[needs_name(tree)] >= 0).all():
        kinds.append(_by_compression(tree, errors, delta / 2.0))
    return min(kinds, key=lambda kind: kind.risk)


def _by_tail_inversion(
    tree: Tree, errors: int, landscape: Landscape | None, delta: float
) -> Certificate:
    """Hypergeometric tail inversion over all trees with as many leaves."""
    m, features = int(tree.rows[0]), tree.landscape if landscape is None else landscape
    risk, price = inverted(m, errors, tree.n_leaves, tree.n_classes, features, delta)
    return Certificate(risk, delta, errors, m, log_price=price, ghost=GHOST * m)


def _by_compression(tree: Tree, errors: int, delta: float) -> Certificate:
    """The compression bound of a tree whose splits are named by training rows."""
    assert tree.names is not None
    m = int(tree.rows[0])
    named = needs_name(tree)
    rows = len(np.unique(tree.names[named]))
    price = log_message_weight(
        m, tree.n_leaves, tree.n_classes, len(tree.columns), _log_splits(tree, named),
        int(named.sum()), rows,
    )  # fmt: skip
    risk = risk_upper(m - rows, errors, log(delta) - price)
    return Certificate(
        risk, delta, errors, m, method="compression", log_price=price, named_rows=rows
    )


def _log_splits(tree: Tree, named: NDArray[np.bool_]) -> float:
    """Log of the number of possible splits given their columns and rows."""
    # number of names in the subtree of each node
    below = np.concatenate([[0], np.cumsum(named)])
    inside = below[np.arange(tree.n_nodes) + tree.size] - below[:-1]
    total = 0.0
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        column = tree.columns[tree.feature[node]]
        if column.kind == "nominal" and not column.declared:
            # the category is one of those that occur as often among the names
            total += log(int(inside[node]) // (int(inside[tree.left[node]]) + 1))
        else:
            total += log(named_splits(column))
    return total


def _assumptions(
    tree: Tree, method: Method, declared_features: bool, handle_unknown: str
) -> Iterator[Assumption]:
    if tree.weighted:
        text = "errors are counted by rows, each once: the bound is about new rows without weights"
        yield Assumption(text, True)
    else:
        yield Assumption("every example counts once: there are no weights", True)
    yield Assumption("splits are thresholds and comparisons with one category", True)
    if method == "compression":
        yield Assumption("every threshold is the value of a training example", True)
    yield Assumption("the examples are independent draws, as the new ones will be", False)
    yield Assumption("every error counts once, whatever it costs", False)
    yield Assumption(CHOSEN_ONCE, False)
    yield Assumption("no preprocessing of the columns used the classes", False)
    yield Assumption(CLASSES_AS_FOUND, False)
    if any(not column.missing for column in tree.columns):
        text = "values are missing only in columns that have missing training values"
        yield Assumption(text, False)
    if declared_features:
        yield Assumption("the landscape given was known before the data were seen", False)
        return
    undeclared = list(filter(_undeclared, tree.columns))
    if undeclared:
        yield Assumption(f"categories not declared count as unbounded: {_named(undeclared)}", True)
    declared = [column for column in tree.columns if column.kind != "real" and column.declared]
    if declared:
        text = "were declared before the data were seen, and there are no others"
        yield Assumption(f"the categories of {_named(declared)} {text}", False)
    yield from new_categories(tree, handle_unknown)


def new_categories(tree: Tree, handle_unknown: str) -> Iterator[Assumption]:
    """Columns where a category that is new would not be covered."""
    # In the theory no split sends an unknown category to the side of a known one.
    undeclared = [column for column in filter(_undeclared, tree.columns) if not column.identifier]
    new = [column for column in undeclared if handle_unknown != "other" or column.kind == "ordinal"]
    if new:
        yield Assumption(f"no category is new: {_named(new)}", False)


def _undeclared(column: Column) -> bool:
    return column.kind != "real" and not column.declared


def _named(columns: list[Column]) -> str:
    names = ", ".join(repr(column.name) for column in columns[:5])
    return f"columns {names}{' and others' if len(columns) > 5 else ''}"
