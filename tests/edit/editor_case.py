"""A table and an editor for the tests of the page."""

from __future__ import annotations

import numpy as np
import pandas as pd

import treebound as tb

__all__ = ["passengers"]


def passengers(
    rows: int = 300, **parameters: object
) -> tuple[tb.BoundTreeClassifier, pd.DataFrame, pd.Series]:
    """A fitted classifier with real, ordinal and nominal columns, and its rows."""
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
    share = 0.7 * (frame["sex"] == "female") + 0.3 * (frame["class"] == "1")
    share += 0.3 * (frame["age"].fillna(50) < 12) - 0.2 * (frame["port"] == "Cobh")
    y = pd.Series(np.where(rng.random(rows) < share, "survived", "died"), name="fate")
    options = {"max_leaves": 6, "pruning": None, **parameters}
    return tb.BoundTreeClassifier(**options).fit(frame, y), frame, y
