"""Rows and groups that a database draws are those that memory draws."""

from __future__ import annotations

import narwhals as nw
import numpy as np
import pytest

from treebound.data.draws import RowsOfGroups, Slice, Tenth
from treebound.engines.sql.drawing import tenth_of
from treebound.engines.sql.stores import store_of

duckdb = pytest.importorskip("duckdb")


@pytest.mark.parametrize("key", [0, 1, 123456789012345, 2**53 - 1])
@pytest.mark.parametrize("start", [0, 2**31 - 5, 2**40 + 3])
def test_a_tenth_by_sql_is_that_of_memory(key, start):
    with duckdb.connect(config={"threads": 1}) as connection:
        rows = connection.sql(f"SELECT i AS n, i + {start} AS place FROM range(3000) AS r(i)")
        store = store_of(nw.from_native(rows))
        table = store.keep("SELECT * FROM \0", rows)
        numbers = np.sort(store.fetch(tenth_of(store, f"{table} AS t", key))["n"])
    expected = np.flatnonzero(Tenth(key).has(start + np.arange(3000)))
    assert len(expected) > 200
    np.testing.assert_array_equal(numbers, expected)


@pytest.mark.parametrize("n_groups", [40, 250])
@pytest.mark.parametrize("selection", [Tenth(5), Slice(7, 3, 9)])
def test_rows_of_groups_are_selected_by_their_numbers(selection, n_groups):
    groups = np.random.default_rng(0).permutation(np.arange(1003) % n_groups)
    rows = RowsOfGroups.of(selection, groups)
    of_groups = selection.of_groups(n_groups) if isinstance(selection, Tenth) else selection
    expected = of_groups.mask(n_groups)[groups]
    assert 0 < expected.sum() < 1003
    np.testing.assert_array_equal(rows.mask(1003), expected)
    some = np.array([0, 1002, 17, 8, 7])
    np.testing.assert_array_equal(rows.has(some), expected[some])
    assert rows.count(5, 700) == expected[5:700].sum()
