"""What columns mean to the theory."""

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
    found = landscape_of(columns)
    assert (found.real, found.ordinal, found.nominal) == (4, (3, 3), (3, None))
    found = landscape_of(columns, observed=True)
    assert (found.real, found.ordinal, found.nominal) == (3, (3, 3, 2), (3, 2))
