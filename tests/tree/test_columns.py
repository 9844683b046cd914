"""Any table in, a schema and one float64 matrix out."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from treebound.data.columns import Column, encode, landscape_of, learn_columns

PANDAS = {
    "pandas": lambda data: pd.DataFrame(data),
    "pandas object": lambda data: pd.DataFrame(
        {k: pd.Series(v, dtype=object if isinstance(v[0], str) else None) for k, v in data.items()}
    ),
    "pandas nullable": lambda data: pd.DataFrame(data).convert_dtypes(),
    "pandas pyarrow": lambda data: pd.DataFrame(data).convert_dtypes(dtype_backend="pyarrow"),
}
BACKENDS = {**PANDAS, "polars": pl.DataFrame, "pyarrow": pa.table}


@pytest.fixture(params=BACKENDS)
def frame(request):
    return BACKENDS[request.param]


def kinds(columns):
    return [c.kind for c in columns]


# -- types from dtypes -------------------------------------------------------------------------


def test_numbers_text_and_booleans_of_every_library(frame):
    X = frame(
        {"a": [1.5, 2.5, 3.5], "s": ["y", "x", "y"], "b": [True, False, True], "n": [3, 1, 2]}
    )
    columns, encoded = learn_columns(X)
    assert columns == (
        Column("a"),
        Column("s", "nominal", ("x", "y")),
        Column("b", "nominal", (False, True), declared=True),
        Column("n"),
    )
    np.testing.assert_array_equal(encoded, [[1.5, 1, 1, 3], [2.5, 0, 0, 1], [3.5, 1, 1, 2]])
    assert encoded.dtype == np.float64
    np.testing.assert_array_equal(encode(X, columns), encoded)


def test_missing_values_of_every_library(frame):
    X = frame({"a": [1.5, None], "s": ["x", None], "b": [True, None], "n": [3, None]})
    columns, encoded = learn_columns(X)
    assert all(c.missing for c in columns)
    assert kinds(columns) == ["real", "nominal", "nominal", "real"]
    np.testing.assert_array_equal(encoded, [[1.5, 0, 1, 3], [np.nan] * 4])
    np.testing.assert_array_equal(encode(X, columns), encoded)


def test_pandas_categoricals_declare_their_categories():
    X = pd.DataFrame(
        {
            "o": pd.Categorical(["b", "a", None], categories=["b", "c", "a"], ordered=True),
            "u": pd.Categorical(["b", "a", None], categories=["b", "c", "a"]),
            "i": pd.Categorical([7, 5, 7]),
        }
    )
    columns, encoded = learn_columns(X)
    assert columns[0] == Column("o", "ordinal", ("b", "c", "a"), declared=True, missing=True)
    assert columns[1] == Column("u", "nominal", ("b", "c", "a"), declared=True, missing=True)
    assert columns[2] == Column("i", "nominal", (5, 7), declared=True)
    np.testing.assert_array_equal(encoded, [[0, 0, 1], [2, 2, 0], [np.nan, np.nan, 1]])


def test_polars_enums_are_ordinal_and_categoricals_nominal():
    X = pl.DataFrame(
        {
            "e": pl.Series(["b", "a", None], dtype=pl.Enum(["b", "c", "a"])),
            "c": pl.Series(["b", "a", None], dtype=pl.Categorical),
        }
    )
    columns, encoded = learn_columns(X)
    assert columns[0] == Column("e", "ordinal", ("b", "c", "a"), declared=True, missing=True)
    assert columns[1] == Column("c", "nominal", ("a", "b"), missing=True)
    np.testing.assert_array_equal(encoded, [[0, 1], [2, 0], [np.nan, np.nan]])


def test_arrow_dictionaries():
    ordered = pa.DictionaryArray.from_arrays([0, 1, None], ["z", "a"], ordered=True)
    chunks = pa.chunked_array([["q", "p"], ["r"]]).dictionary_encode()
    columns, encoded = learn_columns(pa.table({"o": ordered, "u": chunks}))
    assert columns[0] == Column("o", "ordinal", ("z", "a"), declared=True, missing=True)
    assert columns[1] == Column("u", "nominal", ("p", "q", "r"))
    np.testing.assert_array_equal(encoded, [[0, 1], [1, 0], [np.nan, 2]])


def test_float64_array_is_not_copied():
    for order in "CF":
        X = np.asarray(np.random.default_rng(0).normal(size=(5, 3)), order=order)
        columns, encoded = learn_columns(X)
        assert encoded is X
        assert encode(X, columns) is X
        assert [c.name for c in columns] == ["x0", "x1", "x2"]


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint64, ">f8", np.float16, object])
def test_other_numeric_arrays_become_float64(dtype):
    columns, encoded = learn_columns(np.array([[1, 2], [3, 4]], dtype=dtype))
    assert kinds(columns) == ["real", "real"]
    assert encoded.dtype == np.float64
    np.testing.assert_array_equal(encoded, [[1, 2], [3, 4]])


def test_boolean_and_text_arrays_are_nominal():
    columns, encoded = learn_columns(np.array([[True, False], [True, True]]))
    assert columns[0] == Column("x0", "nominal", (False, True), declared=True)
    np.testing.assert_array_equal(encoded, [[1, 0], [1, 1]])
    columns, encoded = learn_columns(np.array([["u", "v"], ["t", "v"]]))
    assert [c.categories for c in columns] == [("t", "u"), ("v",)]
    np.testing.assert_array_equal(encoded, [[1, 0], [0, 0]])


def test_lists_keep_numbers_and_text_apart():
    columns, encoded = learn_columns([[1, "a", None], [2.5, None, True]])
    assert kinds(columns) == ["real", "nominal", "nominal"]
    np.testing.assert_array_equal(encoded, [[1, 0, np.nan], [2.5, np.nan, 1]])


def test_column_without_any_value_has_no_category():
    X = pd.DataFrame({"a": [1.0, 2.0], "nothing": pd.Series([None, None], dtype=object)})
    columns, encoded = learn_columns(X)
    assert columns[1] == Column("nothing", "nominal", (), missing=True)
    later = encode(pd.DataFrame({"a": [1.0], "nothing": ["something"]}), columns)
    np.testing.assert_array_equal(later, [[1, -1]])
    assert np.isnan(encode(pd.DataFrame({"a": [1.0], "nothing": [None]}), columns)[0, 1])
    assert np.isnan(encoded[:, 1]).all()


def test_categories_do_not_depend_on_the_order_of_rows(frame):
    one, _ = learn_columns(frame({"s": ["b", "c", "a"]}))
    other, _ = learn_columns(frame({"s": ["a", "c", "b"]}))
    assert one == other == (Column("s", "nominal", ("a", "b", "c")),)


def test_columns_named_by_numbers_are_named_by_position():
    columns, _ = learn_columns(pd.DataFrame({10: [1.0, 2.0], 20: ["a", "b"]}))
    assert [c.name for c in columns] == ["x0", "x1"]


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
    columns, encoded = learn_columns(
        pd.DataFrame({"a": [1, 2, 3], "b": [7.0, 5.0, 7.0]}), categorical_features=choice
    )
    assert columns == (Column("a"), Column("b", "nominal", (5, 7)))
    np.testing.assert_array_equal(encoded[:, 1], [1, 0, 1])


def test_ordinal_features_by_name_or_mapping():
    X = pd.DataFrame({"size": ["S", "L", "M"], "grade": [3, 1, 3]})
    columns, encoded = learn_columns(
        X, ordinal_features={"size": ["S", "M", "L"], "grade": [1, 2, 3]}
    )
    assert columns[0] == Column("size", "ordinal", ("S", "M", "L"), declared=True)
    np.testing.assert_array_equal(encoded, [[0, 2], [2, 0], [1, 2]])
    columns, encoded = learn_columns(X, ordinal_features=["grade"])
    assert columns[1] == Column("grade", "ordinal", (1, 3))
    np.testing.assert_array_equal(encoded[:, 1], [1, 0, 1])


def test_parameters_override_the_dtype():
    X = pd.DataFrame({"o": pd.Categorical(["b", "a"], categories=["b", "a"], ordered=True)})
    assert learn_columns(X, categorical_features=["o"])[0][0].kind == "nominal"
    X = pd.DataFrame({"u": pd.Categorical(["b", "a"], categories=["b", "a"])})
    assert learn_columns(X, ordinal_features=["u"])[0][0] == Column(
        "u", "ordinal", ("b", "a"), declared=True
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"categorical_features": ["z"]}, "not in the table: 'z'. Hint: the 2 columns are a, b"),
        ({"categorical_features": [2]}, "not in the table: 2"),
        ({"categorical_features": [True]}, "one entry a column, 2 in all. Got 1"),
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
        learn_columns(pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, 2.0]}), **options)


# -- trouble -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (pd.DataFrame({"m": [1, "a"]}), ValueError, r"'m' must hold.*Got int \(1\), str \('a'\)"),
        (pd.DataFrame({"m": [True, 2]}, dtype=object), ValueError, "bool.*int"),
        ([[{"a": 1}], [2]], ValueError, "'x0' must hold.*Got dict"),
        (pd.DataFrame({"d": pd.to_datetime(["2020-01-01"])}), ValueError, "Hint: make numbers"),
        (pl.DataFrame({"d": pl.Series([0]).cast(pl.Date)}), ValueError, "'d' must.*Got Date"),
        (np.array([["2020-01-01"]], dtype="M8[D]"), ValueError, "Hint: make numbers"),
        (pl.DataFrame({"l": [[1, 2], [3]]}), ValueError, "'l' must hold numbers.*Got List"),
        (pd.DataFrame({"a": [1.0, np.inf]}), ValueError, "infinity.*column 'a', row 1"),
        (np.array([[1.0, 2.0], [-np.inf, 1.0]]), ValueError, "infinity.*column 'x0', row 1"),
        ([["a", np.inf], ["b", 1.0]], ValueError, "infinity.*column 'x1', row 0"),
        (pd.DataFrame({"a": []}), ValueError, "0 sample"),
        (pd.DataFrame(index=[0, 1]), ValueError, "0 feature"),
        (np.empty((0, 2)), ValueError, "0 sample"),
        (np.empty((0, 2), dtype=object), ValueError, "0 sample"),
        (np.empty((2, 0)), ValueError, "0 feature"),
        ([], ValueError, "Expected 2D array"),
        ([1, 2], ValueError, "Reshape your data"),
        ([[1, 2], [3]], ValueError, "inhomogeneous"),
        (np.ones((2, 2)) * 1j, ValueError, "Complex data not supported"),
        (sparse.csr_array(np.eye(2)), TypeError, "Sparse data was passed"),
        (pl.LazyFrame({"a": [1]}), TypeError, "Hint: collect it first"),
        (pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"]), ValueError, "more than once: 'a'"),
        (pa.table([[1], [2]], names=["a", "a"]), ValueError, "more than once: 'a'"),
        ("text", ValueError, "X must be a data frame.*Got 'text'"),
        (None, ValueError, "X must be a data frame.*Got None"),
    ],
)
def test_trouble_with_a_training_table(X, error, message):
    with pytest.raises(error, match=message):
        learn_columns(X)


def test_a_mixed_object_column_is_found_past_its_first_rows():
    X = pd.DataFrame({"m": pd.Series(["a"] * 500 + [3], dtype=object)})
    with pytest.raises(ValueError, match="one type only"):
        learn_columns(X)


def test_one_value_and_fewer_rows_than_columns_are_no_trouble():
    columns, encoded = learn_columns(pd.DataFrame({"a": [1.0], "s": ["x"], "b": [True]}))
    assert encoded.tolist() == [[1, 0, 1]]
    assert landscape_of(columns).informative.n_features == 3


TRAINING = pd.DataFrame(
    {"a": [1.0, 2.0], "s": ["x", "y"], "c": pd.Categorical([1, 2]), "b": [True, False]}
)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X.drop(columns="s"), "X has 3 columns, but the tree was grown on 4"),
        (lambda X: X[["s", "a", "c", "b"]], "Column 0 of X is 's'.*grown with 'a'"),
        (lambda X: X.assign(a=["1", "2"]), "'a' changed its type: it is real.*Got text"),
        (lambda X: X.assign(a=[True, False]), "'a' changed its type: it is real.*Got booleans"),
        (lambda X: X.assign(s=[1, 2]), "'s' changed its type: it is nominal.*Got numbers"),
        (lambda X: X.assign(c=["1", "2"]), "'c' changed its type: it is nominal.*Got text"),
        (lambda X: X.assign(b=["t", "f"]), "'b' changed its type.*held booleans.*Got text"),
        (lambda X: X.assign(a=[np.inf, 0]), "infinity.*column 'a', row 0"),
    ],
)
def test_trouble_with_a_later_table(change, message):
    columns, _ = learn_columns(TRAINING)
    with pytest.raises(ValueError, match=message):
        encode(change(TRAINING), columns)


def test_later_tables_may_come_from_another_library():
    columns, encoded = learn_columns(TRAINING)
    for later in (
        pl.from_pandas(TRAINING.astype({"c": int})),
        pa.table(TRAINING.astype({"c": int}).to_dict("list")),
        TRAINING.to_numpy(dtype=object),
        TRAINING.to_numpy(dtype=object).tolist(),
        TRAINING.astype({"s": "category", "c": int, "b": object}),
    ):
        np.testing.assert_array_equal(encode(later, columns), encoded)


def test_unknown_categories():
    columns, _ = learn_columns(
        pd.DataFrame({"s": ["x", "y"], "o": pd.Categorical([1, 2], ordered=True)})
    )
    later = pd.DataFrame({"s": ["z", "y", None], "o": [3, None, 1]})
    for unknown in ("majority", "stop"):
        np.testing.assert_array_equal(
            encode(later, columns, unknown=unknown), [[-1, -1], [1, np.nan], [np.nan, 0]]
        )
    missing = encode(later, columns, unknown="missing")
    np.testing.assert_array_equal(missing, [[np.nan, np.nan], [1, np.nan], [np.nan, 0]])
    with pytest.raises(ValueError, match=r"'s' holds a category .* 2 known ones: 'z', in row 0"):
        encode(later, columns, unknown="error")
    with pytest.raises(ValueError, match=r"'o' holds .*: 3.0, in row 0. Hint: choose another"):
        encode(later[["s", "o"]].assign(s=["x", "x", "x"]), columns, unknown="error")


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
            columns, _ = learn_columns(build({"s": train}))
        except (TypeError, ValueError):
            raise AssertionError(f"cannot read {train}") from None
        found = encode([[v] for v in later], columns)[:, 0].tolist()
        categories = columns[0].categories or ()
        assert categories == tuple(sorted({v for v in train if v is not None}))
        for value, code in zip(later, found, strict=True):
            if value is None:
                assert math.isnan(code)
            else:
                assert code == (categories.index(value) if value in categories else -1)
        expected = expected or columns
        assert columns == expected


def test_landscape_counts_missing_and_undeclared():
    columns = (
        Column("r"),
        Column("rm", missing=True),
        Column("o", "ordinal", ("a", "b"), declared=True, missing=True),
        Column("u", "ordinal", ("a", "b")),
        Column("n", "nominal", ("a", "b"), declared=True, missing=True),
        Column("m", "nominal", ("a", "b")),
    )
    found = landscape_of(columns)
    assert (found.real, found.ordinal, found.nominal) == (4, (3, 3), (3, None))
    found = landscape_of(columns, observed=True)
    assert (found.real, found.ordinal, found.nominal) == (3, (3, 3, 2), (3, 2))
