"""A table and an editor for the tests of the page."""

from __future__ import annotations

import numpy as np
import pandas as pd

import treebound as tb

__all__ = ["fares", "passengers"]


def passengers(
    rows: int = 300, **parameters: object
) -> tuple[tb.BoundTreeClassifier, pd.DataFrame, pd.Series]:
    """A fitted classifier with real, ordinal and nominal columns, and its rows."""
    frame, rng = _frame(rows)
    share = 0.7 * (frame["sex"] == "female") + 0.3 * (frame["class"] == "1")
    share += 0.3 * (frame["age"].fillna(50) < 12) - 0.2 * (frame["port"] == "Cobh")
    y = pd.Series(np.where(rng.random(rows) < share, "survived", "died"), name="fate")
    options = {"max_leaves": 6, "pruning": None, **parameters}
    return tb.BoundTreeClassifier(**options).fit(frame, y), frame, y


def fares(
    rows: int = 300, *, sample_weight: object = None, groups: object = None, **parameters: object
) -> tuple[tb.BoundTreeRegressor, pd.DataFrame, pd.Series]:
    """A fitted regressor with the same columns, and its rows."""
    frame, rng = _frame(rows)
    fare = 20.0 + 30.0 * (frame["class"] == "1") + 8.0 * (frame["sex"] == "female")
    fare += 0.3 * frame["age"].fillna(20) - 5.0 * (frame["port"] == "Cobh")
    y = pd.Series((fare + rng.normal(scale=6, size=rows)).round(2), name="fare")
    reg = tb.BoundTreeRegressor(**{"max_leaves": 6, **parameters})
    return reg.fit(frame, y, sample_weight=sample_weight, groups=groups), frame, y


def _frame(rows: int) -> tuple[pd.DataFrame, np.random.Generator]:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "sex": pd.Categorical(rng.choice(["female", "male"], rows)),
            "class": pd.Categorical(rng.choice(list("123"), rows), list("123"), ordered=True),
            "port": rng.choice(["Cherbourg", "Cobh", 'a, "b"'], rows),
            "age": np.where(rng.random(rows) < 0.1, np.nan, rng.gamma(4, 8, rows).round(1)),
            "siblings": rng.integers(0, 6, rows),
        }
    )
    return frame, rng
