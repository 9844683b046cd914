"""Identifiers keep their type: nothing becomes a float before it is a category or a class."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import treebound as tb
from treebound.data import learn_matrix, read_matrix
from treebound.data.targets import learn_classes, read_classes

NEAR = [2**53, 2**53 + 1, 2**53 + 2, 2**53 + 3]
HUGE = [2**64, 2**64 + 1, 2**64 + 2, 2**64 + 3]


def frame(values, dtype="int64"):
    return pd.DataFrame({"id": pd.Series(values, dtype=dtype)})


TABLES = {
    "array": lambda ids: np.array(ids, dtype=np.int64)[:, None],
    "unsigned": lambda ids: np.array(ids, dtype=np.uint64)[:, None],
    "lists": lambda ids: [[one] for one in ids],
    "int64": frame,
    "Int64": lambda ids: frame(ids, "Int64"),
    "object": lambda ids: frame(ids, object),
    "int64[pyarrow]": lambda ids: frame(ids, "int64[pyarrow]"),
    "polars": lambda ids: pl.DataFrame({"id": ids}),
    "pyarrow": lambda ids: pa.table({"id": ids}),
}


@pytest.mark.parametrize("later", sorted(TABLES))
@pytest.mark.parametrize("first", sorted(TABLES))
@pytest.mark.filterwarnings("ignore:X (has|does not have)")
def test_identifiers_past_the_floats_are_told_apart(first, later):
    ids = NEAR * 5
    y = np.array([0, 1, 0, 1] * 5)
    clf = tb.BoundTreeClassifier(pruning=None, categorical_features=[0]).fit(TABLES[first](ids), y)
    assert clf.columns_[0].categories == tuple(NEAR)
    assert clf.tree_.errors == 0
    np.testing.assert_array_equal(clf.predict(TABLES[later](NEAR)), [0, 1, 0, 1])
    unseen = TABLES[later]([2**53 + 4, 2**53 - 1])
    assert read_matrix(unseen, clf.columns_, named=False).values[0].tolist() == [-2, -2]


def test_nullable_identifiers_may_be_missing():
    for table in (
        frame([*NEAR, None], "Int64"),
        frame([*NEAR, None], object),
        pl.DataFrame({"id": [*NEAR, None]}),
        pa.table({"id": [*NEAR, None]}),
    ):
        matrix = learn_matrix(table, categorical_features=["id"])
        assert matrix.columns[0].categories == tuple(NEAR)
        assert matrix.values[0].tolist() == [0, 1, 2, 3, -1]


def test_integers_past_64_bits_are_categories_too():
    matrix = learn_matrix(frame(HUGE, object), categorical_features=["id"])
    assert matrix.columns[0].categories == tuple(HUGE)
    assert matrix.values[0].tolist() == [0, 1, 2, 3]
    read = read_matrix(frame([HUGE[2], 5], object), matrix.columns, named=True)
    assert read.values[0].tolist() == [2, -2]


def test_declared_ranks_past_the_floats_keep_their_order():
    matrix = learn_matrix(frame(NEAR[::-1]), ordinal_features={"id": NEAR})
    assert matrix.values[0].tolist() == [3, 2, 1, 0]


def test_a_float_is_compared_with_what_it_is():
    matrix = learn_matrix(frame(NEAR), categorical_features=["id"])
    floats = pd.DataFrame({"id": [float(2**53), float(2**53 + 2), 0.5]})
    assert read_matrix(floats, matrix.columns, named=True).values[0].tolist() == [0, 2, -2]


@pytest.mark.parametrize(
    "labels",
    [
        [2**63, 2**63 + 1],
        [2**64, 2**64 + 1],
        [-1, 2**63],
        [2**53, 2**53 + 1],
        np.array([2**63, 2**63 + 1], dtype=np.uint64),
        np.array([2**64, 2**64 + 1], dtype=object),
        pd.Series([2**63, 2**63 + 1]),
        pd.Series([2**53, 2**53 + 1], dtype="Int64"),
        pd.Series([2**64, 2**64 + 1], dtype=object),
        pl.Series([2**63, 2**63 + 1], dtype=pl.UInt64),
    ],
    ids=str,
)
def test_large_labels_are_classes(labels):
    listed = [int(label) for label in labels]
    classes, codes = learn_classes(labels)
    assert ([int(c) for c in classes], codes.tolist()) == (listed, [0, 1])
    assert read_classes(labels, classes).tolist() == [0, 1]
    y = [listed[0]] * 5 + [listed[1]] * 5
    clf = tb.BoundTreeClassifier(pruning=None).fit(np.arange(10.0)[:, None], y)
    assert [int(label) for label in clf.predict([[0.0], [9.0]])] == listed


@pytest.mark.parametrize("ordered", [False, True])
def test_a_dictionary_of_arrow_inside_pandas(ordered):
    kind = pa.dictionary(pa.int8(), pa.string(), ordered=ordered)
    values = pa.DictionaryArray.from_arrays(
        pa.array([0, 1, 1, None, 0], pa.int8()), ["v", "u"], ordered=ordered
    )
    X = pd.DataFrame({"c": pd.Series(values, dtype=pd.ArrowDtype(kind))})
    matrix = learn_matrix(X)
    column = matrix.columns[0]
    assert column.kind == ("ordinal" if ordered else "nominal")
    assert column.categories == (("v", "u") if ordered else ("u", "v"))
    assert matrix.values[0].tolist() == ([0, 1, 1, -1, 0] if ordered else [1, 0, 0, -1, 1])
    clf = tb.BoundTreeClassifier(pruning=None).fit(X, [0, 1, 1, 2, 0])
    assert clf.predict(X).tolist() == [0, 1, 1, 2, 0]
