"""Columns are found by name where the training table had names, otherwise by position."""

import numpy as np
import pandas as pd
import pytest

from treebound.data import Column, learn_matrix, read_matrix

NUMBERS = pd.DataFrame({"x0": [1.0, 2.0], "x1": [10.0, 20.0]})
MIXED = pd.DataFrame({"age": [1.0, 2.0], "colour": ["red", "blue"], "size": [5, 6]})


@pytest.mark.parametrize("training", [NUMBERS, MIXED])
def test_columns_in_another_order_are_found_by_name(training):
    columns = learn_matrix(training).columns
    expected = read_matrix(training, columns, named=True)
    swapped = training[training.columns[::-1]].assign(more="text")
    read = read_matrix(swapped, columns, named=True)
    assert read.columns == columns
    for ours, values in zip(read.values, expected.values, strict=True):
        np.testing.assert_array_equal(ours, values)


def test_without_names_in_training_columns_are_found_by_position():
    columns = learn_matrix(NUMBERS.to_numpy()).columns
    read = read_matrix(NUMBERS[["x1", "x0"]], columns, named=False)
    assert read.values[0].tolist() == [10.0, 20.0]
    renamed = read_matrix(NUMBERS.set_axis(["p", "q"], axis=1), columns, named=False)
    assert renamed.values[0].tolist() == [1.0, 2.0]


def test_an_array_is_read_by_position_even_if_training_had_names():
    columns = learn_matrix(NUMBERS).columns
    assert read_matrix(NUMBERS.to_numpy(), columns, named=True).values[1].tolist() == [10.0, 20.0]
    with pytest.raises(
        ValueError, match=r"X has 1 columns, but the tree was grown on 2.*'x0', 'x1'"
    ):
        read_matrix(np.ones((2, 1)), columns, named=True)


@pytest.mark.parametrize("training", [NUMBERS, MIXED])
def test_a_needed_column_that_is_absent_is_named(training):
    columns = learn_matrix(training).columns
    name = training.columns[1]
    with pytest.raises(ValueError, match=rf"X has no column '{name}', which the tree needs"):
        read_matrix(training.drop(columns=name), columns, named=True)


def test_columns_that_are_not_needed_may_be_absent():
    columns = learn_matrix(MIXED).columns
    read = read_matrix(MIXED[["size"]], columns, named=True, needed=[False, False, True])
    assert np.isnan(read.values[0]).all()
    assert read.values[1].tolist() == [-1, -1]
    assert read.values[2].tolist() == [5.0, 6.0]
    assert read.columns == columns
    assert read.complete


def test_columns_that_are_not_needed_may_change_their_type_or_hold_anything():
    columns = learn_matrix(MIXED).columns
    later = MIXED.assign(age=["old", "young"], colour="green", size=[np.nan, 1.0])
    read = read_matrix(
        later, columns, named=True, needed=[False, False, True], handle_unknown="error"
    )
    assert [column.missing for column in read.columns] == [False, False, True]
    plain = learn_matrix(NUMBERS).columns
    infinite = NUMBERS.assign(x1=np.inf)
    assert read_matrix(infinite, plain, named=True, needed=[True, False]).complete
    with pytest.raises(ValueError, match="infinity"):
        read_matrix(infinite, plain, named=True, needed=[False, True])


def test_columns_of_numbers_in_another_order_keep_their_marks():
    columns = (Column("p"), Column("q"))
    read = read_matrix(pd.DataFrame({"q": [np.nan, 1.0], "p": [1.0, 2.0]}), columns, named=True)
    assert [column.missing for column in read.columns] == [False, True]
