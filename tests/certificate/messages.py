"""A message that encodes a tree, and its decoder: the proof of the compression bound as a program.

A message is a nested tuple: ``("leaf", label)`` or ``(column, extra, left, right)``, where extra is
a pair ``(choice, choices)``: a number below ``choices``, sent in addition to the column. The
decoder sees the message, the named rows as a multiset, and what was declared of the columns; no
other row.
"""

from __future__ import annotations

from math import inf, isnan

import numpy as np

NAN = float("nan")


def is_named(column, extra):
    """Return True if a split needs a row: undeclared, and not missing against present."""
    if column.declared:
        return False
    return column.kind == "nominal" or extra != (2, 3)


def named_below(message, columns):
    """Number of splits of a message that rows must name."""
    if message[0] == "leaf":
        return 0
    column, extra, left, right = message
    here = is_named(columns[column], extra)
    return here + named_below(left, columns) + named_below(right, columns)


def value(matrix, row, column):
    """A number, NaN where missing; missing is a category of a nominal column."""
    value_ = float(matrix.values[column][row])
    if matrix.columns[column].kind == "real":
        return value_
    if matrix.columns[column].kind == "ordinal":
        return NAN if value_ < 0 else value_
    return None if value_ == -1 else value_


def encode(tree, sample, node=0):
    """The message of a tree, and the names of its splits in the order of the nodes."""
    if tree.left[node] < 0:
        return ("leaf", int(tree.label[node])), []
    left, left_names = encode(tree, sample, tree.left[node])
    right, right_names = encode(tree, sample, tree.right[node])
    at = int(tree.feature[node])
    column, extra = tree.columns[at], None
    size = len(column.categories or ())
    name = int(tree.names[node])
    if column.kind == "nominal":
        category = int(tree.category[node])
        if not column.declared:
            names = [*left_names, name, *right_names]
            category = None if category == size else category
            usual = repeated(sample.X, names, at, len(left_names) + 1)
            choices = len(names) // (len(left_names) + 1)
            extra = (usual.index(category), choices)
        elif size + column.missing == 2:
            extra = (0, 1)
            if category == 1:  # the same split, with the children exchanged
                left, right, left_names, right_names = right, left, right_names, left_names
        else:
            extra = (category, size + column.missing)
    else:
        extra = threshold_extra(tree, node, column, size)
    here = [name] if is_named(column, extra) else []
    return (at, extra, left, right), [*left_names, *here, *right_names]


def threshold_extra(tree, node, column, size):
    threshold, to_left = float(tree.threshold[node]), bool(tree.missing_left[node])
    ranks = size - 1 if column.declared else 1
    rank = int(threshold) if column.declared and threshold < inf else 0
    if not column.missing:
        return (rank, ranks)
    if threshold == inf:
        return (2 * ranks, 2 * ranks + 1)
    return (2 * rank + (not to_left), 2 * ranks + 1)


def repeated(matrix, names, column, times):
    """The categories that occur so often among the names, in a fixed order."""
    value_ = [value(matrix, row, column) for row in names]
    kinds = sorted(set(value_), key=lambda c: (c is None, c))
    return [c for c in kinds if value_.count(c) == times]


def decode(message, names, columns, matrix, number):
    """The tree of a message: nested tuples of (column, goes left?, left, right).

    ``names`` is a sorted list, with repetitions: a multiset. ``matrix`` is looked up at these rows
    only.
    """
    if message[0] == "leaf":
        assert not names
        return message
    at, (choice, _), left, right = message
    column, below = columns[at], named_below(left, columns)
    if column.kind == "nominal":
        if not column.declared:
            category = repeated(matrix, names, at, below + 1)[choice]
            mine = [row for row in names if value(matrix, row, at) == category]
            mine.remove(max(mine, key=lambda row: number[row]))
        else:
            category = None if choice == len(column.categories) else choice
            mine = [row for row in names if value(matrix, row, at) == category]
        rest = [row for row in names if value(matrix, row, at) != category]
        split = ("==", category)
    else:
        ranks = len(column.categories) - 1 if column.declared else 1
        to_left = column.missing and choice < 2 * ranks and choice % 2 == 0
        key = order_by(matrix, at, to_left, number)
        ordered = sorted(names, key=key)
        if column.missing and choice == 2 * ranks:
            threshold = inf
        elif column.declared:
            threshold = choice // 2 if column.missing else choice
        else:
            name = ordered[below]
            threshold = value(matrix, name, at)
            ordered.remove(name)
        mine = [row for row in ordered if goes_left(value(matrix, row, at), threshold, to_left)]
        rest = [row for row in ordered if row not in mine]
        if is_named(column, message[1]):
            assert mine == ordered[:below]
        split = ("<=", threshold, to_left)
    parts = [(left, sorted(mine)), (right, sorted(rest))]
    return (at, split, *(decode(one, rows, columns, matrix, number) for one, rows in parts))


def order_by(matrix, column, to_left, number):
    def key(row):
        value_ = value(matrix, row, column)
        return ((-inf if to_left else inf) if isnan(value_) else value_, number[row])

    return key


def goes_left(value_, threshold, to_left):
    return to_left if isnan(value_) else value_ <= threshold


def prediction(decoded, matrix, row):
    """The prediction of a decoded tree for a row of a matrix."""
    while decoded[0] != "leaf":
        at, split, left, right = decoded
        value_ = value(matrix, row, at)
        yes = value_ == split[1] if split[0] == "==" else goes_left(value_, *split[1:])
        decoded = left if yes else right
    return decoded[1]


def choices_of(message):
    """The number of choices at every split, multiplied."""
    if message[0] == "leaf":
        return 1
    _, (choice, choices), left, right = message
    assert 0 <= choice < choices
    return choices * choices_of(left) * choices_of(right)


def random_matrix(rng, rows, columns, *, unknown=False):
    """Values with many ties; missing where a column may be."""
    from treebound.data import Matrix

    values = []
    for column in columns:
        size = len(column.categories or ())
        if column.kind == "real":
            value_ = rng.integers(0, 6, rows) / 4 + rng.choice([0.0, 0.125], rows)
            value_[(rng.random(rows) < 0.3) & column.missing] = np.nan
        else:
            value_ = rng.integers(0, size, rows).astype(np.int8)
            value_[(rng.random(rows) < 0.3) & column.missing] = -1
            new = unknown and column.kind == "nominal" and not column.declared
            value_[(rng.random(rows) < 0.2) & new] = -2
        values.append(value_)
    return Matrix(tuple(columns), tuple(values))
