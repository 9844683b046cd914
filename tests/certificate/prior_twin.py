"""The prior over trees again, slowly, in exact rationals: a walk of its own.

``tilt`` is 1, so that every probability is rational. A tree is a label, or a tuple (column, rule,
left, right); a rule is ("<=", threshold, missing_left) or ("==", category).
"""

from fractions import Fraction
from itertools import pairwise
from math import factorial

import numpy as np

CLIP, UNIFORM = Fraction(7, 100), Fraction(1, 20)


def evidence(counts):
    n, total = len(counts), sum(counts)
    top = factorial(n - 1)
    for count in counts:
        top *= factorial(count)
    return Fraction(top, factorial(total + n - 1))


def class_counts(y, n):
    return [sum(label == k for label in y) for k in range(n)]


def goes_left(rule, value):
    if rule[0] == "==":
        return value == rule[1]  # None is missing, and a category like others
    return rule[2] if value is None else value <= rule[1]


def rules_of(column, rows, cap):
    """All rules of one column; rows are tuples with None for missing."""
    kind, at = column
    values = [row[at] for row in rows]
    present = sorted({value for value in values if value is not None})
    missing = None in values
    if kind == "nominal":
        several = [*present, None] if missing else present
        several = several if len(several) > 2 else several[:-1]  # the second of two is the first
        return [("==", value) for value in several]
    cuts = [low if kind == "ordinal" else (low + high) / 2 for low, high in pairwise(present)]
    if len(cuts) > cap:
        cuts = [cuts[i] for i in np.linspace(0, len(cuts) - 1, cap).round().astype(int)]
    if missing and present:
        return [("<=", cut, side) for cut in cuts for side in (False, True)] + [
            ("<=", np.inf, False)
        ]
    heavier = [2 * sum(v <= cut for v in values if v is not None) >= len(values) for cut in cuts]
    return [("<=", cut, left) for cut, left in zip(cuts, heavier, strict=True)]


def node(columns, rows, y, n, depth, cap=48, deepest=20):
    """Probability to split, and of each (column, rule) among the splits."""
    by_column = {}
    if len(rows) >= 2 and depth < deepest:
        by_column = {c[1]: rules for c in columns if (rules := rules_of(c, rows, cap))}
    if not by_column:
        return Fraction(0), {}
    before = evidence(class_counts(y, n))
    share, factor = {}, {}
    for at, rules in by_column.items():
        for rule in rules:
            side = [goes_left(rule, row[at]) for row in rows]
            left = [label for label, inside in zip(y, side, strict=True) if inside]
            right = [label for label, inside in zip(y, side, strict=True) if not inside]
            share[at, rule] = Fraction(1, len(by_column) * len(rules))
            after = evidence(class_counts(left, n)) * evidence(class_counts(right, n))
            factor[at, rule] = after / before
    total = sum(share[key] * factor[key] for key in share)
    split = min(1 - CLIP, max(CLIP, total / (1 + total)))
    return split, {
        key: (1 - UNIFORM) * share[key] * factor[key] / total + UNIFORM * share[key]
        for key in share
    }


def labels(y, n):
    weights = [Fraction(2 * count + 1, 2) ** 2 for count in class_counts(y, n)]
    return [weight / sum(weights) for weight in weights]


def divided(at, rule, rows, y):
    side = [goes_left(rule, row[at]) for row in rows]
    for wanted in (True, False):
        side_rows = [i for i, inside in enumerate(side) if inside == wanted]
        yield [rows[i] for i in side_rows], [y[i] for i in side_rows]


def trees(columns, rows, y, n, depth=0, deepest=20):
    """All trees with their probabilities."""
    split, chance = node(columns, rows, y, n, depth, deepest=deepest)
    for label, chance_ in enumerate(labels(y, n)):
        yield label, (1 - split) * chance_
    for (at, rule), chance_ in chance.items():
        left, right = divided(at, rule, rows, y)
        below = list(trees(columns, *right, n, depth + 1, deepest))
        for one, first in trees(columns, *left, n, depth + 1, deepest):
            for other, second in below:
                yield (at, rule, one, other), split * chance_ * first * second
