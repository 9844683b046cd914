"""Random trees with difficult names and numbers, rows for them, and a slow, obvious routing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from treebound.data import Column
from treebound.tree import Tree
from treebound.tree.regression import RegressionTree

NAMES = (
    "age", "class", "SELECT", "and", "missing", "petal length (cm)", "it's", 'write "hi"', "a,b",
    "two\nlines", "naïve", "数", "</script><script>alert(1)</script>", "*/", "back\\slash", "100%",
    "a_b & c # d {e}", "x <= 3", "$1", "tab\there", "~^", "ﬁ 🙂", "??/", "if", "int", "row", "--",
    "\u2028sep", " leading", "None",
)  # fmt: skip
WORDS = (
    "red", "a'b", 'a"b', "a,b", "a\nb", "a\\b", "é", "汉字", "🙂", "", " ", "true", "NULL", "None",
    "1", "<b>", "*/", "-- no", "%s", "{x}", "??=", "\\n", "nan", "missing", "and", "\u2029",
)  # fmt: skip
INTEGERS = (0, 1, -1, 7, 2**53, 2**53 + 1, 2**62 + 1, 2**63 - 1, -(2**63))
UNSEEN = {str: "never seen ✗", int: 123456789, float: 0.3, bool: None}


@dataclass
class Case:
    """A tree, encoded rows, and the same rows as a user would write them."""

    tree: Tree
    X: np.ndarray
    rows: list[dict[str, Any]]

    def labels(self, nodes: np.ndarray) -> list[Any]:
        return self.tree.classes[self.tree.label[nodes]].tolist()


def random_column(rng: np.random.Generator, name: str) -> Column:
    kind = str(rng.choice(["real", "ordinal", "nominal"]))
    missing = bool(rng.random() < 0.4)
    if kind == "real":
        return Column(name, "real", missing=missing)
    pools = (WORDS, WORDS, INTEGERS, (0.1, 0.2, 1e-300, 1.5, 2.0), (False, True))
    pool = pools[rng.integers(len(pools))]
    size = 2 if isinstance(pool[0], bool) else int(rng.integers(1, min(len(pool), 9)))
    order = rng.permutation(len(pool))[:size]
    declared = bool(rng.random() < 0.5)
    return Column(name, kind, tuple(pool[i] for i in order), declared, missing)  # type: ignore[arg-type]


def values_of(rng: np.random.Generator) -> list[float]:
    """A few numbers and their nearest neighbours: what adjacent floats look like."""
    centres = [0.1, 0.3, 1.0, 2.45, 1 / 3, 5.1e-311, 1e22, 123456.789, -7.25, 1e300, 0.0]
    centres += rng.normal(size=3).tolist()
    picked = [centres[i] for i in rng.permutation(len(centres))[:4]]
    return [
        v for c in picked for v in (math.nextafter(c, -math.inf), c, math.nextafter(c, math.inf))
    ]


def random_tree(
    seed: int,
    leaves: int,
    *,
    n_classes: int = 3,
    n_columns: int | None = None,
    chain: bool = False,
    infinite: bool = True,
) -> Tree:
    """A random tree; ``chain=True`` makes it as deep as it can be."""
    rng = np.random.default_rng(seed)
    names = rng.permutation(len(NAMES))[: n_columns or int(rng.integers(1, 7))]
    columns = tuple(random_column(rng, NAMES[i]) for i in names)
    pools = [values_of(rng) for _ in columns]
    left, right, order = _random_form(rng, leaves, chain)
    size = 2 * leaves - 1
    feature, category = np.full(size, -1), np.full(size, -1)
    threshold, missing_left = np.full(size, np.nan), np.zeros(size, dtype=bool)
    for node in np.flatnonzero(left >= 0):
        j = int(rng.integers(len(columns)))
        feature[node], missing_left[node] = j, rng.random() < 0.5
        count = len(columns[j].categories or ())
        if columns[j].kind == "real":
            threshold[node] = rng.choice(pools[j])
            if infinite and rng.random() < 0.05:
                threshold[node] = math.inf
        elif columns[j].kind == "ordinal":
            threshold[node] = rng.integers(0, count) + rng.choice([0.0, 0.5])
        else:
            category[node] = rng.integers(0, count + columns[j].missing)
    counts = np.zeros((size, n_classes))
    for node in reversed(order):
        weights = rng.integers(0, 20, size=n_classes)
        weights[rng.integers(n_classes)] += 1
        counts[node] = weights if left[node] < 0 else counts[left[node]] + counts[right[node]]
    classes = _classes(rng, n_classes)
    return Tree(
        feature=feature, threshold=threshold, category=category, missing_left=missing_left,
        left=left, right=right, counts=counts, rows=counts.sum(axis=1), columns=columns,
        classes=classes,
    )  # fmt: skip


def _classes(rng: np.random.Generator, count: int) -> np.ndarray:
    if rng.random() < 0.7:
        words = [word for word in WORDS if word] + [f"class {i}" for i in range(count)]
        return np.array(sorted({words[i] for i in rng.permutation(len(words))[:count]}))
    return np.sort(rng.permutation(10 * count)[:count]) - 5


def _random_form(
    rng: np.random.Generator, leaves: int, chain: bool
) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Children arrays of a random binary tree, in pre-order."""
    size = 2 * leaves - 1
    left, right = np.full(size, -1), np.full(size, -1)
    stack, order = [(leaves, -1)], []
    while stack:
        size, parent = stack.pop()
        node = len(order)
        order.append(node)
        if parent >= 0:
            right[parent] = node
        if size == 1:
            continue
        left[node] = node + 1
        part = (1 if rng.random() < 0.5 else size - 1) if chain else int(rng.integers(1, size))
        stack += [(size - part, node), (part, -1)]
    return left, right, order


def random_rows(tree: Tree, seed: int, count: int) -> np.ndarray:
    """Encoded rows: values at and next to the thresholds, missing ones, unseen categories."""
    rng = np.random.default_rng(seed + 1)
    X = np.empty((count, len(tree.columns)))
    for j, column in enumerate(tree.columns):
        if column.kind == "real":
            used = tree.threshold[(tree.feature == j) & np.isfinite(tree.threshold)]
            pool = np.concatenate([used, np.nextafter(used, np.inf), [-1.0, 0.0, 5.0]])
        else:
            size = len(column.categories)
            unseen = [] if isinstance(column.categories[0], bool) else [-1.0]
            pool = np.concatenate([np.arange(size), unseen])
        pool = pool[np.isfinite(pool)]
        X[:, j] = np.where(rng.random(count) < 0.2, np.nan, rng.choice(pool, size=count))
    return X


def used_categories(tree: Tree) -> np.ndarray:
    """Which columns have categories and are split on."""
    return np.array([c.kind != "real" and j in tree.feature for j, c in enumerate(tree.columns)])


def decoded(
    X: np.ndarray, columns: tuple[Column, ...], *, nan: bool = True
) -> list[dict[str, Any]]:
    """The rows in the user's own values; missing is None, or NaN in every second float column."""
    floats = [c.kind == "real" or isinstance(c.categories[0], float) for c in columns]
    rows = []
    for values in X.tolist():
        row: dict[str, Any] = {}
        for j, (value, column) in enumerate(zip(values, columns, strict=True)):
            if math.isnan(value):
                row[column.name] = math.nan if nan and floats[j] and j % 2 else None
            elif column.kind == "real":
                row[column.name] = value
            elif value < 0:
                row[column.name] = UNSEEN[type(column.categories[0])]
            else:
                row[column.name] = column.categories[int(value)]
        rows.append(row)
    return rows


def regression_tree(tree: Tree, seed: int) -> RegressionTree:
    """A regression tree with the splits of a tree, and numbers of all magnitudes."""
    rng = np.random.default_rng(seed)
    mean = rng.normal(size=tree.n_nodes)
    for node in range(tree.n_nodes - 1, -1, -1):
        left, right = tree.left[node], tree.right[node]
        if left >= 0:
            share = tree.mass[left] / tree.mass[node] if tree.mass[node] else 0.5
            mean[node] = share * mean[left] + (1.0 - share) * mean[right]
    value = rng.normal(size=tree.n_nodes) * 10.0 ** rng.integers(-12, 13, tree.n_nodes)
    return RegressionTree(
        feature=tree.feature, threshold=tree.threshold, category=tree.category,
        missing_left=tree.missing_left, left=tree.left, right=tree.right,
        rows=tree.rows, columns=tree.columns, weighted=tree.weighted,
        moments=np.column_stack([tree.mass, mean, np.zeros(tree.n_nodes)]), value=value,
    )  # fmt: skip


@st.composite
def cases(draw: st.DrawFn, leaves: int = 20, rows: int = 40) -> Case:
    """A random tree with rows for it."""
    seed = draw(st.integers(0, 2**32))
    tree = random_tree(
        seed,
        draw(st.integers(1, leaves)),
        n_classes=draw(st.integers(2, 4)),
        chain=draw(st.booleans()),
    )
    X = random_rows(tree, seed, rows)
    return Case(tree, X, decoded(X, tree.columns))


def route(tree: Tree, X: np.ndarray, handle_unknown: str = "other") -> np.ndarray:
    """The node that each row reaches, one split after the other."""
    return np.array([_route(tree, row, handle_unknown) for row in X.tolist()], dtype=np.int64)


def _route(tree: Tree, row: list[float], handle_unknown: str) -> int:
    node = 0
    while tree.left[node] >= 0:
        column = tree.columns[tree.feature[node]]
        x = row[tree.feature[node]]
        if column.kind != "real" and x == -1:
            if handle_unknown == "stop":
                return node
            x = math.nan if handle_unknown == "missing" else x
        if column.kind != "real" and x == -1:
            heavier = tree.weight[tree.left[node]] >= tree.weight[tree.right[node]]
            left = handle_unknown == "majority" and heavier
        elif column.kind == "nominal" and math.isnan(x) and column.missing:
            left = tree.category[node] == len(column.categories)
        elif math.isnan(x):
            left = tree.missing_left[node]
        elif column.kind == "nominal":
            left = x == tree.category[node]
        else:
            left = x <= tree.threshold[node]
        node = int((tree.left if left else tree.right)[node])
    return node
