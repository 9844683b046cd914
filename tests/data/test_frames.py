"""Any table in, typed columns and their values out."""

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from hypothesis import given
from hypothesis import strategies as st
from library_tables import BACKENDS, encode, learned
from scipy import sparse

from treebound.data import Column, landscape_of, learn_matrix, read_matrix
from treebound.data.frames import read_series, read_table


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
    columns, encoded = learned(X)
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
    columns, encoded = learned(X)
    assert all(c.missing for c in columns)
    assert kinds(columns) == ["real", "nominal", "nominal", "real"]
    np.testing.assert_array_equal(encoded, [[1.5, 0, 1, 3], [np.nan] * 4])
    np.testing.assert_array_equal(encode(X, columns), encoded)


PANDAS = {
    "int8": pd.Series([1, -2, 3], dtype="int8"),
    "uint64": pd.Series([1, 2**63 + 1, 3], dtype="uint64"),
    "float32": pd.Series([1.5, np.nan, 3], dtype="float32"),
    "float64": pd.Series([1.5, np.nan, 3]),
    "Int64": pd.Series([1, None, 3], dtype="Int64"),
    "Float64": pd.Series([1.5, None, 3], dtype="Float64"),
    "arrow": pd.Series([1, None, 3], dtype="int32[pyarrow]"),
    "bool": pd.Series([True, False, True]),
    "boolean": pd.Series([True, None, True], dtype="boolean"),
    "text": pd.Series(["b", None, "a"]),
    "objects": pd.Series([2, None, 1], dtype=object),
    "nominal": pd.Series(["b", None, "a"], dtype=pd.CategoricalDtype(["b", "a", "c"])),
    "ordinal": pd.Series([3, None, 1], dtype=pd.CategoricalDtype([3, 2, 1], ordered=True)),
    "dictionary": pd.Series(
        pd.array(pa.array(["b", None, "a"]).dictionary_encode()), name="dictionary"
    ),
}


@pytest.mark.parametrize("name", PANDAS)
def test_columns_of_pandas_are_read_as_by_narwhals(name):
    series = PANDAS[name].iloc[[0, 1, 2, 0]]
    read = read_table(pd.DataFrame({"x": series})).raw[0]
    other = read_series(nw.from_native(series, series_only=True))
    assert (read.family, read.categories, read.ordered, read.declared) == (
        other.family, other.categories, other.ordered, other.declared
    )  # fmt: skip
    assert read.values.dtype == other.values.dtype
    np.testing.assert_array_equal(read.values, other.values)
    np.testing.assert_array_equal(read.present, other.present)


def test_a_pandas_frame_of_floats_is_one_array():
    X = np.arange(6.0).reshape(3, 2)
    frame = pd.DataFrame(X, columns=["a", "b"], copy=False)
    for table in (frame, nw.from_native(frame)):
        assert read_table(table).names == ("a", "b")
        np.testing.assert_array_equal(read_table(table).matrix, X)
    assert read_table(pd.DataFrame({"a": X[:, 0].copy(), "b": X[:, 1].copy()})).matrix is None
    assert read_table(frame.assign(c=["x", "y", "z"])).matrix is None


def test_pandas_categoricals_declare_their_categories():
    X = pd.DataFrame(
        {
            "o": pd.Categorical(["b", "a", None], categories=["b", "c", "a"], ordered=True),
            "u": pd.Categorical(["b", "a", None], categories=["b", "c", "a"]),
            "i": pd.Categorical([7, 5, 7]),
        }
    )
    columns, encoded = learned(X)
    assert columns[0] == Column("o", "ordinal", ("b", "c", "a"), declared=True, missing=True)
    assert columns[1] == Column("u", "nominal", ("b", "c", "a"), declared=True, missing=True)
    assert columns[2] == Column("i", "nominal", (5, 7), declared=True)
    np.testing.assert_array_equal(encoded, [[0, 0, 1], [2, 2, 0], [np.nan, np.nan, 1]])


TEXTS = st.lists(
    st.sampled_from(["", "a", "é", "b" * 12, "b" * 13, "b" * 11 + "c", "日本"]), max_size=40
)


@given(TEXTS, st.integers(0, 5), st.booleans(), st.sampled_from(["text", "category"]))
def test_texts_of_polars_are_read_as_those_of_a_list(texts, skipped, missing, kind):
    texts = ["x"] * skipped + texts + ([None] if missing else ["y"])
    series = pl.Series("s", texts[:3], dtype=pl.String)
    series = series.append(pl.Series("s", texts[3:], dtype=pl.String))
    series = (series if kind == "text" else series.cast(pl.Categorical))[skipped:]
    read = read_series(nw.from_native(series, series_only=True), "s")
    present = [text for text in texts[skipped:] if text is not None]
    assert read.categories == tuple(sorted(set(present)))
    decoded = [None if code < 0 else read.categories[code] for code in read.values.tolist()]
    assert decoded == texts[skipped:]


def test_many_texts_of_polars():
    texts = [f"text {i % 200}" for i in range(1000)]
    read = read_series(nw.from_native(pl.Series("s", texts), series_only=True), "s")
    assert [read.categories[code] for code in read.values.tolist()] == texts
    assert len(read.categories) == 200


def test_polars_enums_are_ordinal_and_categoricals_nominal():
    X = pl.DataFrame(
        {
            "e": pl.Series(["b", "a", None], dtype=pl.Enum(["b", "c", "a"])),
            "c": pl.Series(["b", "a", None], dtype=pl.Categorical),
        }
    )
    columns, encoded = learned(X)
    assert columns[0] == Column("e", "ordinal", ("b", "c", "a"), declared=True, missing=True)
    assert columns[1] == Column("c", "nominal", ("a", "b"), missing=True)
    np.testing.assert_array_equal(encoded, [[0, 1], [2, 0], [np.nan, np.nan]])


def test_arrow_dictionaries():
    ordered = pa.DictionaryArray.from_arrays([0, 1, None], ["z", "a"], ordered=True)
    chunks = pa.chunked_array([["q", "p"], ["r"]]).dictionary_encode()
    columns, encoded = learned(pa.table({"o": ordered, "u": chunks}))
    assert columns[0] == Column("o", "ordinal", ("z", "a"), declared=True, missing=True)
    assert columns[1] == Column("u", "nominal", ("p", "q", "r"))
    np.testing.assert_array_equal(encoded, [[0, 1], [1, 0], [np.nan, 2]])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_floats_are_not_copied(dtype, order):
    X = np.asarray(np.random.default_rng(0).normal(size=(5, 3)), dtype=dtype, order=order)
    matrix = learn_matrix(X)
    assert matrix.dense is X
    assert read_matrix(X, matrix.columns, named=False).dense is X
    assert [c.name for c in matrix.columns] == ["x0", "x1", "x2"]
    assert all(np.shares_memory(values, X) for values in matrix.values)


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [(np.float32, np.float32), (np.float16, np.float32), (np.int8, np.float64),
     (np.uint64, np.float64), (">f8", np.float64), (object, np.float64)],
)  # fmt: skip
def test_other_numbers_become_floats(dtype, expected):
    matrix = learn_matrix(np.array([[1, 2], [3, 4]], dtype=dtype))
    assert kinds(matrix.columns) == ["real", "real"]
    assert {values.dtype for values in matrix.values} == {np.dtype(expected)}
    np.testing.assert_array_equal(np.column_stack(matrix.values), [[1, 2], [3, 4]])


def test_masked_values_are_missing():
    numbers = np.ma.masked_array([[1, 2], [3, 4]], mask=[[False, True], [False, False]])
    np.testing.assert_array_equal(learned(numbers)[1], [[1, np.nan], [3, 4]])
    texts = np.ma.masked_array([["a"], ["b"]], mask=[[False], [True]])
    columns, encoded = learned(texts)
    assert columns == (Column("x0", "nominal", ("a",), missing=True),)
    np.testing.assert_array_equal(encoded, [[0], [np.nan]])


def test_boolean_and_text_arrays_are_nominal():
    columns, encoded = learned(np.array([[True, False], [True, True]]))
    assert columns[0] == Column("x0", "nominal", (False, True), declared=True)
    np.testing.assert_array_equal(encoded, [[1, 0], [1, 1]])
    columns, encoded = learned(np.array([["u", "v"], ["t", "v"]]))
    assert [c.categories for c in columns] == [("t", "u"), ("v",)]
    np.testing.assert_array_equal(encoded, [[1, 0], [0, 0]])


def test_lists_distinguish_numbers_from_text():
    columns, encoded = learned([[1, "a", None], [2.5, None, True]])
    assert kinds(columns) == ["real", "nominal", "nominal"]
    np.testing.assert_array_equal(encoded, [[1, 0, np.nan], [2.5, np.nan, 1]])


def test_column_without_any_value_has_no_category():
    X = pd.DataFrame({"a": [1.0, 2.0], "nothing": pd.Series([None, None], dtype=object)})
    columns, encoded = learned(X)
    assert columns[1] == Column("nothing", "nominal", (), missing=True)
    later = encode(pd.DataFrame({"a": [1.0], "nothing": ["something"]}), columns)
    np.testing.assert_array_equal(later, [[1, -2]])
    assert np.isnan(encode(pd.DataFrame({"a": [1.0], "nothing": [None]}), columns)[0, 1])
    assert np.isnan(encoded[:, 1]).all()


def test_categories_do_not_depend_on_the_order_of_rows(frame):
    one, _ = learned(frame({"s": ["b", "c", "a"]}))
    other, _ = learned(frame({"s": ["a", "c", "b"]}))
    assert one == other == (Column("s", "nominal", ("a", "b", "c")),)


def test_columns_named_by_numbers_are_named_by_position():
    columns, _ = learned(pd.DataFrame({10: [1.0, 2.0], 20: ["a", "b"]}))
    assert [c.name for c in columns] == ["x0", "x1"]


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
        (pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"]), ValueError, "one column named 'a'"),
        (pa.table([[1], [2]], names=["a", "a"]), ValueError, "more than one column named 'a'"),
        (pd.Series([1.0, 2.0]), ValueError, r"Expected 2D array.*X\.iloc\[\[0\]\]"),
        ([{"a": 1}, {"a": 2}], ValueError, "list of dictionaries.*pandas.DataFrame"),
        (ds.dataset(pa.table({"a": [1]})), TypeError, "Got InMemoryDataset.*in batches"),
        ("text", ValueError, "X must be a data frame.*Got 'text'"),
        (None, ValueError, "X must be a data frame.*Got None"),
    ],
)
def test_trouble_with_a_training_table(X, error, message):
    with pytest.raises(error, match=message):
        learned(X)


def test_a_mixed_object_column_is_found_past_its_first_rows():
    X = pd.DataFrame({"m": pd.Series(["a"] * 500 + [3], dtype=object)})
    with pytest.raises(ValueError, match="one type only"):
        learned(X)


def test_one_value_and_fewer_rows_than_columns_are_no_trouble():
    columns, encoded = learned(pd.DataFrame({"a": [1.0], "s": ["x"], "b": [True]}))
    assert encoded.tolist() == [[1, 0, 1]]
    assert landscape_of(columns).informative.n_features == 3


def test_a_single_row_is_no_table():
    with pytest.raises(ValueError, match=r"Expected 2D array, got a series.*X.iloc\[\[0\]\]"):
        learn_matrix(pd.DataFrame({"a": [1.0]}).iloc[0])
