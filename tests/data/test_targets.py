"""Targets of any type."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

import treebound as tb
from treebound.data.targets import learn_classes, refuse_quantity


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        ([2, 1, 2], [1, 2]),
        (np.array([5, -3, 5], dtype=np.int8), [-3, 5]),
        (np.array([2**40, 1, 2**40]), [1, 2**40]),
        (np.array([3, 1, 3], dtype=np.uint64), [1, 3]),
        ([2.0, 1.0, 2.0], [1.0, 2.0]),
        ([True, False, True], [False, True]),
        (["b", "a", "b"], ["a", "b"]),
        (("b", "a", "b"), ["a", "b"]),
        (np.array(["b", "a", "b"], dtype=object), ["a", "b"]),
        (np.array([2, 1, 2], dtype=object), [1, 2]),
        (np.array([True, False, True], dtype=object), [False, True]),
        (pd.Series(["b", "a", "b"]), ["a", "b"]),
        (pd.Series(["b", "a", "b"], dtype="category"), ["a", "b"]),
        (pd.Series(["b", "a", "b"], dtype="string[pyarrow]"), ["a", "b"]),
        (pd.Series([2, 1, 2], dtype="Int64"), [1, 2]),
        (pd.Series([True, False, True], dtype="boolean"), [False, True]),
        (pl.Series(["b", "a", "b"]), ["a", "b"]),
        (pl.Series(["b", "a", "b"], dtype=pl.Categorical), ["a", "b"]),
        (pa.chunked_array([["b"], ["a", "b"]]), ["a", "b"]),
        ([datetime.date(2021, 1, 1), datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)], None),
    ],
)
def test_classes_are_sorted_and_codes_point_at_them(y, classes):
    learned, codes = learn_classes(y)
    assert codes.tolist() == [1, 0, 1]
    assert codes.dtype == np.int32
    if classes is not None:
        assert learned.tolist() == classes
        assert learned.dtype.kind != "O" or isinstance(classes[0], str)


def test_a_column_vector_is_flattened_with_a_warning():
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        assert learn_classes(np.array([[1], [0]]))[1].tolist() == [1, 0]


@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        ([0.5, 1.5], ValueError, "Unknown label type: continuous"),
        ([1.0, np.nan], ValueError, "Input y contains NaN"),
        ([1.0, np.inf], ValueError, "Input y contains infinity"),
        (["a", None], ValueError, "Input y contains NaN"),
        (pd.Series(["a", None]), ValueError, "Input y contains NaN"),
        (pd.Series([1, None], dtype="Int64"), ValueError, "Input y contains NaN"),
        (pl.Series([1, None]), ValueError, "Input y contains NaN"),
        (["a", 1], ValueError, "Unknown label type.*Got int, str"),
        ([1j, 2j], ValueError, "Complex data not supported"),
        (np.zeros((3, 2)), ValueError, "should be a 1d array"),
        (7, ValueError, "should be a 1d array"),
        (np.ma.masked_array([1, 2], mask=[True, False]), ValueError, "Input y contains NaN"),
        (np.array([1, 2], dtype="m8[D]"), ValueError, "y must hold numbers, text.*Got timedelta"),
        (pd.Series(pd.to_timedelta([1, 2])), ValueError, "y must hold numbers.*Got Duration"),
        ("label", ValueError, "Got the text 'label'.*leave this column out of X"),
        (sparse.csr_array(np.eye(2)), TypeError, "Sparse data"),
    ],
)
def test_trouble_with_a_target(y, error, message):
    with pytest.raises(error, match=message):
        learn_classes(y)


def test_classes_that_do_not_occur_are_dropped():
    texts = ["b", "a", "c", "b"]
    for y in (
        pd.Series(texts, dtype="category")[:2],
        pa.chunked_array([texts]).dictionary_encode()[:2],
        pl.Series(texts, dtype=pl.Categorical)[:2],
        pl.Series(texts, dtype=pl.Enum(["a", "b", "c"]))[:2],
    ):
        classes, codes = learn_classes(y)
        assert (classes.tolist(), codes.tolist()) == (["a", "b"], [1, 0])


@pytest.mark.parametrize("seed", range(20))
def test_texts_of_every_library_have_the_classes_of_numpy(seed):
    rng = np.random.default_rng(seed)
    size = [1, 3, 8, 9, 20][seed % 5]
    words = [
        "".join(rng.choice(list("ab\u00e9\u20ac"), rng.integers(0, size + 1))) for _ in range(9)
    ]
    words += [str(i) for i in range(200 * (seed % 2))]  # more than the quick way takes
    texts = rng.choice(words, 500)
    expected, inverse = np.unique(texts, return_inverse=True)
    listed = texts.tolist()
    tables = [
        texts,
        texts.astype(object),
        listed,
        pl.Series(listed)[3:],
        pd.Series(listed, dtype="str"),
        pa.chunked_array([listed]),
        pa.chunked_array([listed[:100], listed[100:]], pa.large_string()),
    ]
    for y in tables:
        classes, codes = learn_classes(y)
        assert classes[codes].tolist() == texts.tolist()[-len(codes) :]
        if len(codes) == len(texts):
            assert classes.tolist() == expected.tolist()
            assert codes.tolist() == inverse.tolist()


@pytest.mark.parametrize(("labels", "rows"), [(101, 10_000), (501, 250_000), (31_623, 10**12)])
def test_many_numbers_are_a_quantity(labels, rows):
    refuse_quantity(labels - 1, rows)
    with pytest.raises(
        ValueError, match=r"different numbers.*BoundTreeRegressor.*y.astype"
    ) as error:
        refuse_quantity(labels, rows)
    options = error.value.worded(lambda setting: f"--{setting.name} {setting.value}")
    assert options.endswith("make texts of them: --task classify.")


@pytest.mark.parametrize("dtype", [np.int64, np.float64, object])
def test_a_quantity_is_refused_as_classes_and_its_texts_are_not(dtype):
    X, y = np.arange(600.0)[:, None], (np.arange(600) % 150).astype(dtype)
    with pytest.raises(ValueError, match="y holds 150 different numbers in 600 rows"):
        tb.BoundTreeClassifier().fit(X, y)
    assert len(tb.BoundTreeClassifier(max_leaves=2).fit(X, y.astype(str)).classes_) == 150
    tb.BoundTreeClassifier(max_leaves=2).fit(X, y % 100)


@pytest.mark.parametrize("rows", [600, 80_000])
def test_a_quantity_is_refused_in_streams_and_databases(rows):
    frame = pl.DataFrame({"x": np.arange(rows) * 1.0, "y": np.arange(rows)})
    for dtype in (pl.Int64, pl.Float64):
        lazy = frame.lazy().with_columns(pl.col("y").cast(dtype))
        with pytest.raises(ValueError, match=r"different numbers.*BoundTreeRegressor"):
            tb.BoundTreeClassifier().fit(lazy, "y")
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.sql("SELECT * FROM frame")
    with pytest.raises(ValueError, match=f"{rows:,} different numbers in {rows:,} rows"):
        tb.BoundTreeClassifier().fit(relation, "y")
