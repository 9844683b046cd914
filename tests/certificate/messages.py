"""The message that tells a tree, and its decoder: the proof of the compression bound as a program.

A message is a nested tuple: ``("leaf", label)`` or ``(column, extra, left, right)``, where extra is
a pair ``(choice, choices)``: what is sent beside the column, as a number below ``choices``. The
decoder sees the message, the named rows as a multiset, and what was declared of the columns; no
other row.
"""

from __future__ import annotations

from math import inf, isnan

import numpy as np

NAN = float("nan")


def is_named(column, extra):
    """Whether a split needs a row: undeclared, and not missing against present."""
    if column.declared:
        return False
    return column.kind == "nominal" or extra != (2, 3)


def named_below(message, columns):
    """Number of splits of a message that rows must tell."""
    if message[0] == "leaf":
        return 0
    column, extra, left, right = message
    here = is_named(columns[column], extra)
    return here + named_below(left, columns) + named_below(right, columns)


def value(matrix, row, column):
    """A number, NaN where missing; missing is a category of a nominal column."""
    found = float(matrix.values[column][row])
    if matrix.columns[column].kind == "real":
        return found
    if matrix.columns[column].kind == "ordinal":
        return NAN if found < 0 else found
    return None if found == -1 else found


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
        asked = int(tree.category[node])
        if not column.declared:
            names = [*left_names, name, *right_names]
            asked = None if asked == size else asked
            usual = repeated(sample.X, names, at, len(left_names) + 1)
            choices = len(names) // (len(left_names) + 1)
            extra = (usual.index(asked), choices)
        elif size + column.missing == 2:
            extra = (0, 1)
            if asked == 1:  # the same split, with the children exchanged
                left, right, left_names, right_names = right, left, right_names, left_names
        else:
            extra = (asked, size + column.missing)
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
    found = [value(matrix, row, column) for row in names]
    kinds = sorted(set(found), key=lambda c: (c is None, c))
    return [c for c in kinds if found.count(c) == times]


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
            asked = repeated(matrix, names, at, below + 1)[choice]
            mine = [row for row in names if value(matrix, row, at) == asked]
            mine.remove(max(mine, key=lambda row: number[row]))
        else:
            asked = None if choice == len(column.categories) else choice
            mine = [row for row in names if value(matrix, row, at) == asked]
        others = [row for row in names if value(matrix, row, at) != asked]
        split = ("==", asked)
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
        others = [row for row in ordered if row not in mine]
        if is_named(column, message[1]):
            assert mine == ordered[:below]
        split = ("<=", threshold, to_left)
    parts = [(left, sorted(mine)), (right, sorted(others))]
    return (at, split, *(decode(one, rows, columns, matrix, number) for one, rows in parts))


def order_by(matrix, column, to_left, number):
    def key(row):
        found = value(matrix, row, column)
        return ((-inf if to_left else inf) if isnan(found) else found, number[row])

    return key


def goes_left(found, threshold, to_left):
    return to_left if isnan(found) else found <= threshold


def answer(decoded, matrix, row):
    """The answer of a decoded tree to a row of a matrix."""
    while decoded[0] != "leaf":
        at, split, left, right = decoded
        found = value(matrix, row, at)
        yes = found == split[1] if split[0] == "==" else goes_left(found, *split[1:])
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
            found = rng.integers(0, 6, rows) / 4 + rng.choice([0.0, 0.125], rows)
            found[(rng.random(rows) < 0.3) & column.missing] = np.nan
        else:
            found = rng.integers(0, size, rows).astype(np.int8)
            found[(rng.random(rows) < 0.3) & column.missing] = -1
            new = unknown and column.kind == "nominal" and not column.declared
            found[(rng.random(rows) < 0.2) & new] = -2
        values.append(found)
    return Matrix(tuple(columns), tuple(values))
