"""The landscape of columns."""

from treebound.data import Column, landscape_of


def test_landscape_counts_missing_and_undeclared():
    columns = (
        Column("r"),
        Column("rm", missing=True),
        Column("o", "ordinal", ("a", "b"), declared=True, missing=True),
        Column("u", "ordinal", ("a", "b")),
        Column("n", "nominal", ("a", "b"), declared=True, missing=True),
        Column("m", "nominal", ("a", "b")),
    )
    landscape = landscape_of(columns)
    assert (landscape.real, landscape.ordinal, landscape.nominal) == (4, (3, 3), (3, None))
    landscape = landscape_of(columns, observed=True)
    assert (landscape.real, landscape.ordinal, landscape.nominal) == (3, (3, 3, 2), (3, 2))
