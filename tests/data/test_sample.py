"""A sample is checked when it is made: wrong codes, classes and weights do not pass."""

import numpy as np
import pandas as pd
import pytest

from treebound.data import Column, Matrix, Sample

NUMBERS = (Column("x"),)


def sample_of(values, y=(0, 1), weight=None, columns=NUMBERS, classes=(0, 1)):
    weight = None if weight is None else np.array(weight, dtype=float)
    matrix = Matrix(tuple(columns), (np.array(values),))
    return Sample(matrix, np.array(y, dtype=np.int32), weight, np.array(classes))


@pytest.mark.parametrize("y", [(0, 2), (0, -1)])
def test_a_class_out_of_range_is_named(y):
    with pytest.raises(ValueError, match="'y' of a Sample must be classes from 0 to 1"):
        sample_of([0.0, 1.0], y)


@pytest.mark.parametrize("weight", [(1.0, -1.0), (1.0, 0.0), (1.0, np.nan), (1.0, np.inf)])
def test_a_weight_that_is_not_above_zero_is_refused(weight):
    with pytest.raises(ValueError, match="'weight' of a Sample must be finite numbers > 0"):
        sample_of([0.0, 1.0], weight=weight)


def test_columns_of_another_length_are_refused():
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[2, 1\]"):
        sample_of([0.0, 1.0], y=(0,))
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[2, 1\]"):
        sample_of([0.0, 1.0], weight=(1.0,))


@pytest.mark.parametrize("kind", ["ordinal", "nominal"])
@pytest.mark.parametrize("codes", [(0, 2), (0, -3), (0.0, 0.5), (0.0, np.inf)])
def test_a_code_out_of_range_is_named(kind, codes):
    columns = [Column("c", kind, ("a", "b"))]
    with pytest.raises(ValueError, match=f"{kind} column 'c' must be whole numbers from -2 to 1"):
        sample_of(codes, columns=columns)


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        ([1.0, -1.0], "must not be negative. Got -1.0 in row 1"),
        ([1.0, np.nan], "Input sample_weight contains NaN"),
        ([1.0], r"sample_weight.shape == \(1,\), expected \(2,\)"),
        ([0.0, 0.0], "at least one non-zero"),
    ],
)
def test_wrong_weights_are_named(weight, words):
    with pytest.raises(ValueError, match=words):
        Sample.learn([[0.0], [1.0]], [0, 1], weight)
    with pytest.raises(ValueError, match=words):
        Sample.read(
            [[0.0], [1.0]], [0, 1], weight, columns=NUMBERS, classes=np.array([0, 1]), named=False
        )


def test_rows_of_weight_zero_are_gone_before_anything_is_learned():
    X = pd.DataFrame({"a": [1.0, np.nan, 3.0], "s": ["u", "v", None]})
    sample = Sample.learn(X, ["yes", "no", "yes"], [2.0, 0.0, 0.5])
    assert sample.classes.tolist() == ["yes"]
    assert sample.columns == (Column("a"), Column("s", "nominal", ("u",), missing=True))
    assert sample.weight.tolist() == [1.6, 0.4]  # of mean 1
    assert sample.total == 2.0
    plain = Sample.learn(X, ["yes", "no", "yes"], [1.0, 0.0, 1.0])
    assert plain.weight is None
    read = Sample.read(
        X, ["yes"] * 3, [1.0, 0.0, 1.0], columns=sample.columns, classes=sample.classes, named=True
    )
    assert read.weight is None
    assert read.columns == sample.columns


def test_reading_keeps_columns_and_classes():
    learned = Sample.learn([[1.0, "u"], [2.0, "v"]], [5, 7])
    read = Sample.read(
        [[3.0, "v"], [np.nan, "w"]],
        [7, 7],
        columns=learned.columns,
        classes=learned.classes,
        named=True,
    )
    assert read.y.tolist() == [1, 1]
    assert [values.tolist() for values in read.X.values][1] == [1, -2]
    assert [column.missing for column in read.columns] == [True, False]
    with pytest.raises(ValueError, match=r"y must hold classes of the tree, 5, 7. Got 1 instead"):
        Sample.read([[3.0, "v"]], [1], columns=learned.columns, classes=learned.classes, named=True)


def test_rows_of_weight_zero_are_gone_before_labels_are_read():
    known = {"columns": NUMBERS, "classes": np.array(["a", "b"]), "named": False}
    sample = Sample.read([[0.0], [1.0], [2.0]], ["a", "new", "b"], [1.0, 0.0, 2.0], **known)
    assert (sample.y.tolist(), sample.weights.tolist()) == ([0, 1], [1.0, 2.0])
    with pytest.raises(ValueError, match="Got 'new' instead"):
        Sample.read([[0.0], [1.0]], ["a", "new"], [1.0, 0.5], **known)


def test_a_part_of_a_sample_is_a_sample():
    whole = Sample.learn([[1.0, "u"], [2.0, "v"], [3.0, "u"]], [5, 7, 5], [1.0, 2.0, 3.0])
    part = whole.part(np.array([2, 0]))
    assert (part.y.tolist(), part.weight.tolist()) == ([0, 0], [3.0, 1.0])
    assert [values.tolist() for values in part.X.values] == [[3.0, 1.0], [0, 0]]
    assert part.classes is whole.classes
    assert part.counts.tolist() == [4.0, 0.0]
