"""Typed columns, and their landscape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from treebound._utils.validation import invalid
from treebound.landscape import Landscape

Kind = Literal["real", "ordinal", "nominal"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Column:
    """An input column: name, kind and categories.

    Attributes
    ----------
    name : str
        The column's name; ``"x0"``, ``"x1"``, ... for a table without names.
    kind : {"real", "ordinal", "nominal"}
        Threshold tests for real and ordinal columns, ``x == category`` for nominal ones.
    categories : tuple or None
        The categories of an ordinal (in order) or nominal column; None for a real one, and for
        one whose values are not read.
    declared : bool
        Whether the categories were declared before the data were seen (by the dtype or the user).
        Undeclared categories count as unbounded in a certificate.
    missing : bool
        Whether values were missing in training.
    unlisted : int
        Number of further categories that are not listed: a model file lists only those that its
        trees need.
    identifier : bool
        True if the column identifies rows: no tree is grown on it. A fitted model lists none of
        its categories.
    """

    name: str
    kind: Kind = "real"
    categories: tuple[Any, ...] | None = None
    declared: bool = False
    missing: bool = False
    unlisted: int = 0
    identifier: bool = False

    @property
    def is_read(self) -> bool:
        """Return True if the values are read, False for a column that no tree splits on."""
        return not self.unlisted or self.categories is not None

    @property
    def n_categories(self) -> int:
        """Number of categories; 0 for a real column."""
        return len(self.categories or ()) + self.unlisted

    def with_missing(self, missing: bool) -> Column:
        """A copy of the column, with or without missing values in training."""
        return replace(self, missing=missing)

    def without_values(self) -> Column:
        """A copy of an identifier that lists no category: every value counts as missing."""
        return replace(self, categories=None, unlisted=self.n_categories, missing=True)


def may_miss(columns: tuple[Column, ...], missing: Sequence[bool]) -> tuple[Column, ...]:
    """The columns, with ``missing`` set where values are missing."""
    if not any(missing):
        return columns
    return tuple(c.with_missing(c.missing or has) for c, has in zip(columns, missing, strict=True))


# A nominal column of at least so many rows, with a larger share of distinct values, is an
# identifier.
IDENTIFIER_ROWS, _IDENTIFIER_SHARE = 50, 0.9


def is_identifier(kind: Kind, declared: bool, n_categories: int, n_rows: int) -> bool:
    """Return True if a column identifies rows: nominal, not declared, values almost all distinct.

    The rule depends on the number of rows and of categories only, so that it gives the same result
    in memory, in batches and in a database.
    """
    if kind != "nominal" or declared or n_rows < IDENTIFIER_ROWS:
        return False
    return n_categories > _IDENTIFIER_SHARE * n_rows


def place_of(name: Any, names: Sequence[str], parameter: str) -> int:
    """The place of a column that a parameter names, or numbers."""
    if isinstance(name, str) and name in names:
        return list(names).index(name)
    whole = isinstance(name, int | np.integer) and not isinstance(name, bool)
    if whole and 0 <= name < len(names):
        return int(name)
    shown = ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")
    raise invalid(parameter, "", f"names or numbers of columns of the table, {shown}", name)


def landscape_of(columns: Sequence[Column], *, observed: bool = False) -> Landscape:
    """Landscape of a set of columns, missing values included.

    A real column with missing values counts as two real columns; an ordinal one as two ordinal
    columns with one more category; in a nominal column, missing is one more category.
    Categories that were not declared count as unbounded (an undeclared ordinal column as real),
    unless they are ``observed``: valid for a pruning score, not for a certificate. For the same
    reason identifiers count in a certificate, and not if ``observed``: which columns are
    identifiers is known from the rows only.
    """
    real = 0
    ordinal: list[int] = []
    nominal: list[int | None] = []
    for column in columns:
        if observed and column.identifier:
            continue
        copies = 2 if column.missing else 1
        counted = column.declared or observed
        size = column.n_categories
        if column.kind == "real" or (column.kind == "ordinal" and not counted):
            real += copies
        elif column.kind == "ordinal":
            ordinal += [max(size + column.missing, 1)] * copies
        else:
            nominal.append(max(size + column.missing, 1) if counted else None)
    return Landscape(real, tuple(ordinal), tuple(nominal))
