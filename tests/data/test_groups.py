"""Groups of rows."""

import numpy as np
import pandas as pd
import pytest

from treebound.data import Sample

X, Y = np.arange(8.0)[:, None], np.array([0, 1] * 4)


@pytest.mark.parametrize(
    "missing",
    [
        np.array([1.0, 1.0, np.nan, 2.0, 2.0, 3.0, 3.0, np.nan]),
        np.array(["a", "a", None, "b", "b", "c", "c", None], dtype=object),
        np.array([1, 1, float("nan"), 2, "b", "c", "c", None], dtype=object),
        pd.Series([1, 1, None, 2, 2, 3, 3, None], dtype="Int64"),
        pd.to_datetime(pd.Series(["2020-01-01"] * 6 + [None] * 2)),
    ],
)
def test_a_row_without_a_group_is_refused(missing):
    with pytest.raises(ValueError, match=r"'groups'.* a group for each row. Got 2 rows without"):
        Sample.learn(X, Y, groups=missing)


@pytest.mark.parametrize("groups", [list("aabbccdd"), [0, 0, 1, 1, 2, 2, "b", "b"]])
def test_groups_are_numbers(groups):
    labels = np.array(groups, dtype=object)
    np.testing.assert_array_equal(
        Sample.learn(X, Y, groups=labels).groups, [0, 0, 1, 1, 2, 2, 3, 3]
    )
