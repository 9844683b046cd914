"""Random tables of all types of columns, and the comparison with the tree of memory."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from random_samples import ARRAYS, random_options, random_values, random_weights

from treebound import BoundTreeClassifier

WORDS = np.array(["a", "A", "é", "z z", 'q"t', "it's", "", "\u00df", "ss", "{rows}"], dtype=object)


def random_column(rng, n):
    """A column of any type that a database has; some values are missing."""
    missing = rng.random(n) < rng.choice([0.0, 0.1, 0.6])
    kind = rng.integers(5)
    if kind == 0:
        return pa.array(rng.choice(WORDS[: rng.integers(1, len(WORDS) + 1)], n), mask=missing)
    if kind == 1:
        return pa.array(rng.random(n) < 0.5, mask=missing)
    if kind == 2:
        return pa.array(rng.integers(-5, rng.choice([0, 40, 2**40]), n), mask=missing)
    values = random_values(rng, n)
    if kind == 3:
        values = np.where(missing, np.nan, values)
    return pa.array(values, mask=missing & (rng.random(n) < 0.5))


def random_table(rng, max_rows=90):
    n = int(rng.integers(2, max_rows))
    columns = {f"x {j}": random_column(rng, n) for j in range(rng.integers(1, 4))}
    if rng.random() < 0.3:
        columns["copy"] = next(iter(columns.values()))  # ties between columns
    n_classes = int(rng.choice([2, 2, 3, 5]))
    rank = pa.compute.rank(next(iter(columns.values())), tiebreaker="first").to_numpy()
    score = rank + n * rng.choice([0.0, 0.3, 3.0]) * rng.normal(size=n)
    y = np.argsort(np.argsort(score)) * n_classes // n
    labels = np.array(["no", "Yes", "yes", "ß", "u"], dtype=object)[y]
    columns["label"] = pa.array([y, labels, y > 0][rng.integers(3)])
    weight = random_weights(rng, n)
    if weight is not None:
        weight[rng.random(n) < 0.1] = 0.0
        weight[0] = 1.0
        columns["weight"] = pa.array(weight)
    return pa.table(columns)


def people(n=600, seed=0):
    rng = np.random.default_rng(seed)
    age, income = rng.integers(18, 80, n), np.exp(rng.normal(size=n))
    town = rng.choice(["Ulm", "ulm", "Bonn", 'a"b'], n).astype(object)
    bought = (age + 20 * (town == "Ulm") - 10 * income + 10 * rng.normal(size=n)) > 45
    income[rng.random(n) < 0.1] = np.nan
    return pa.table(
        {
            "id": rng.permutation(n),
            "the age": age,
            'in"come': pa.array(income, mask=rng.random(n) < 0.05),
            "select": pa.array(town, mask=rng.random(n) < 0.1),
            "label": np.where(bought, "yes", "no"),
        }
    )


def random_parameters(rng):
    options = vars(random_options(rng)).copy()
    for name in ("growth_order", "class_order"):  # which the classifier does not have
        options.pop(name)
    if options["thresholds"] == "observed":
        options["thresholds"] = "decimal"
    if options["max_leaves"] is None:
        options["max_leaves"] = 6
    return {**options, "pruning": None, "class_weight": ["balanced", *[None] * 5][rng.integers(6)]}


def in_memory(table, parameters):
    weight = table["weight"].to_numpy() if "weight" in table.column_names else None
    rows = table.drop([name for name in ("label", "weight") if name in table.column_names])
    return BoundTreeClassifier(**parameters).fit(rows, table["label"], sample_weight=weight)


def assert_same(model, expected):
    for one in ("grown_tree_", "tree_"):
        for name in ARRAYS:
            np.testing.assert_array_equal(
                getattr(getattr(model, one), name), getattr(getattr(expected, one), name), name
            )
    assert model.columns_ == expected.columns_
    assert model.classes_.tolist() == expected.classes_.tolist()
