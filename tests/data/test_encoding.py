"""Columns as the parameters make them, and later tables read with known columns."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from library_tables import BACKENDS, encode, learned

from treebound.data import Column

# -- types from parameters ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "choice",
    [
        ["b"],
        [1],
        [False, True],
        np.array([1]),
        np.array([False, True]),
        pd.Index(["b"]),
        {"b": 0}.keys(),
    ],
)
def test_categorical_features_by_name_index_or_mask(choice):
    columns, encoded = learned(
        pd.DataFrame({"a": [1, 2, 3], "b": [7.0, 5.0, 7.0]}), categorical_features=choice
    )
    assert columns == (Column("a"), Column("b", "nominal", (5, 7)))
    np.testing.assert_array_equal(encoded[:, 1], [1, 0, 1])


def test_ordinal_features_by_name_or_mapping():
    X = pd.DataFrame({"size": ["S", "L", "M"], "grade": [3, 1, 3]})
    columns, encoded = learned(X, ordinal_features={"size": ["S", "M", "L"], "grade": [1, 2, 3]})
    assert columns[0] == Column("size", "ordinal", ("S", "M", "L"), declared=True)
    np.testing.assert_array_equal(encoded, [[0, 2], [2, 0], [1, 2]])
    columns, encoded = learned(X, ordinal_features=["grade"])
    assert columns[1] == Column("grade", "ordinal", (1, 3))
    np.testing.assert_array_equal(encoded[:, 1], [1, 0, 1])


def test_parameters_override_the_dtype():
    X = pd.DataFrame({"o": pd.Categorical(["b", "a"], categories=["b", "a"], ordered=True)})
    assert learned(X, categorical_features=["o"])[0][0].kind == "nominal"
    X = pd.DataFrame({"u": pd.Categorical(["b", "a"], categories=["b", "a"])})
    assert learned(X, ordinal_features=["u"])[0][0] == Column(
        "u", "ordinal", ("b", "a"), declared=True
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"categorical_features": ["z"]},
            "of the table, 'a', 'b'. Got 'z'",
        ),
        ({"categorical_features": [2]}, "of the table, 'a', 'b'. Got 2"),
        ({"categorical_features": [True]}, r"one entry for each of the 2 columns. Got \[True\]"),
        ({"categorical_features": "a"}, "must be 'from_dtype', or a sequence"),
        ({"categorical_features": None}, "must be 'from_dtype', or a sequence"),
        ({"categorical_features": [1.5]}, "must be 'from_dtype', or a sequence"),
        ({"ordinal_features": "a"}, "must be None, a mapping, or a sequence"),
        ({"ordinal_features": {"a": []}}, "categories in order, each once"),
        ({"ordinal_features": {"a": [1, 1]}}, "categories in order, each once"),
        ({"ordinal_features": {"a": [1]}}, "Column 'a' holds a category.*2.0, in row 1"),
        ({"ordinal_features": {"a": ["1", "2"]}}, "Column 'a' changed its type"),
        ({"ordinal_features": ["a"], "categorical_features": ["a"]}, "named in both"),
    ],
)
def test_wrong_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        learned(pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, 2.0]}), **options)


# -- later tables -----------------------------------------------------------------------------


TRAINING = pd.DataFrame(
    {"a": [1.0, 2.0], "s": ["x", "y"], "c": pd.Categorical([1, 2]), "b": [True, False]}
)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X.drop(columns="s"), "X has no column 's', which the tree needs"),
        (lambda X: X.to_numpy()[:, 1:], "X has 3 columns, but the tree was grown on 4"),
        (lambda X: X.assign(a=["1", "2"]), "'a' changed its type: it is real.*Got text"),
        (lambda X: X.assign(a=[True, False]), "'a' changed its type: it is real.*Got booleans"),
        (lambda X: X.assign(s=[1, 2]), "'s' changed its type: it is nominal.*Got numbers"),
        (lambda X: X.assign(c=["1", "2"]), "'c' changed its type: it is nominal.*Got text"),
        (lambda X: X.assign(b=["t", "f"]), "'b' changed its type.*held booleans.*Got text"),
        (lambda X: X.assign(a=[np.inf, 0]), "infinity.*column 'a', row 0"),
    ],
)
def test_trouble_with_a_later_table(change, message):
    columns, _ = learned(TRAINING)
    with pytest.raises(ValueError, match=message):
        encode(change(TRAINING), columns)


def test_later_tables_may_come_from_another_library():
    columns, encoded = learned(TRAINING)
    for later in (
        pl.from_pandas(TRAINING.astype({"c": int})),
        pa.table(TRAINING.astype({"c": int}).to_dict("list")),
        TRAINING.to_numpy(dtype=object),
        TRAINING.to_numpy(dtype=object).tolist(),
        TRAINING.astype({"s": "category", "c": int, "b": object}),
    ):
        np.testing.assert_array_equal(encode(later, columns), encoded)


def test_unknown_categories():
    columns, _ = learned(pd.DataFrame({"s": ["x", "y"], "o": pd.Categorical([1, 2], ordered=True)}))
    later = pd.DataFrame({"s": ["z", "y", None], "o": [3, None, 1]})
    for handle_unknown in ("other", "majority", "stop"):
        np.testing.assert_array_equal(
            encode(later, columns, handle_unknown=handle_unknown),
            [[-2, -2], [1, np.nan], [np.nan, 0]],
        )
    missing = encode(later, columns, handle_unknown="missing")
    np.testing.assert_array_equal(missing, [[np.nan, np.nan], [1, np.nan], [np.nan, 0]])
    with pytest.raises(ValueError, match=r"'s' holds a category .* 2 known ones: 'z', in row 0"):
        encode(later, columns, handle_unknown="error")
    with pytest.raises(ValueError, match=r"'o' holds .*: 3.0, in row 0. Hint: choose another"):
        encode(later[["s", "o"]].assign(s=["x", "x", "x"]), columns, handle_unknown="error")


@given(
    st.lists(st.sampled_from(["a", "b", "é", "", None]), min_size=1, max_size=30),
    st.lists(st.sampled_from(["a", "c", "b", None]), min_size=1, max_size=30),
)
def test_encoding_is_the_position_among_the_categories(train, later):
    if not any(v is not None for v in train):
        return
    expected = None
    for build in BACKENDS.values():
        try:
            columns, _ = learned(build({"s": train}))
        except (TypeError, ValueError):
            raise AssertionError(f"cannot read {train}") from None
        codes = encode([[v] for v in later], columns)[:, 0].tolist()
        categories = columns[0].categories or ()
        assert categories == tuple(sorted({v for v in train if v is not None}))
        for value, code in zip(later, codes, strict=True):
            if value is None:
                assert math.isnan(code)
            else:
                assert code == (categories.index(value) if value in categories else -2)
        expected = expected or columns
        assert columns == expected
