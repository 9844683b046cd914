"""Of splits that are equally good the one with the widest gap is taken, whatever the order."""

import numpy as np
import pytest
from support import grow_coded

from treebound.data import Column

grow = grow_coded


@pytest.mark.parametrize("wide", [0, 1, 2])
def test_the_widest_gap_wins_whatever_the_order_of_the_columns(wide):
    y = np.array([0, 0, 0, 1, 1, 1])
    narrow = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])  # a gap of a fifth of the range
    far = np.array([0.0, 1.0, 2.0, 40.0, 41.0, 50.0])  # a gap of more than two thirds
    X = np.column_stack([far if j == wide else narrow for j in range(3)])
    tree = grow(X, y, [Column(f"x{j}") for j in range(3)], ["no", "yes"])
    assert (tree.n_leaves, int(tree.feature[0])) == (2, wide)
    assert tree.threshold[0] == 20.0


def test_scaling_and_shifting_a_column_changes_nothing():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, size=(80, 4)).astype(float)
    y = rng.integers(0, 3, size=80)
    columns = [Column(f"x{j}") for j in range(4)]
    plain = grow(X, y, columns, range(3))
    scaled = grow(X * [1.0, 8.0, 0.25, 2.0] + [0.0, 16.0, -4.0, 1.0], y, columns, range(3))
    np.testing.assert_array_equal(plain.feature, scaled.feature)
    np.testing.assert_array_equal(plain.counts, scaled.counts)


def test_a_category_is_as_far_from_the_others_as_can_be():
    y = np.array([0, 0, 1, 1])
    X = np.column_stack([[0.0, 1.0, 8.0, 9.0], [0.0, 0.0, 1.0, 1.0]])
    columns = [Column("size"), Column("colour", "nominal", ("red", "blue"))]
    assert grow(X, y, columns, ["no", "yes"]).feature[0] == 1
