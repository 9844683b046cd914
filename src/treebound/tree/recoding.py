"""Trees in columns that list other categories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from treebound._utils.choices import Unknown
from treebound.data.columns import Column
from treebound.tree.base import BaseTree

T = TypeVar("T", bound=BaseTree)


def listed_columns(
    columns: Sequence[Column], trees: Sequence[BaseTree], unknown: Unknown
) -> tuple[Column, ...]:
    """The columns of a file that holds some trees: of categories only those that these need.

    A column without a split lists none. A nominal one lists those that splits name if other
    categories are handled like unknown ones (``"other"``), else all; booleans and ordinal
    columns list all.
    """
    return tuple(
        _listed(column, _codes_in(trees, at), unknown) for at, column in enumerate(columns)
    )


def _codes_in(trees: Sequence[BaseTree], at: int) -> NDArray[np.int32] | None:
    """The codes that splits on a column name; None if there is no split on it."""
    codes = [tree.category[tree.feature == at] for tree in trees]
    return np.unique(np.concatenate(codes)) if any(map(len, codes)) else None


def _listed(column: Column, codes: NDArray[np.int32] | None, unknown: Unknown) -> Column:
    categories = column.categories
    if column.kind == "real" or not categories:
        return column
    if codes is None:
        return replace(column, categories=None, unlisted=column.n_categories)
    truths = all(isinstance(value, bool | np.bool_) for value in categories)
    if column.kind != "nominal" or unknown != "other" or truths:
        return column
    named = tuple(categories[code] for code in codes.tolist() if code < len(categories))
    if not named and not isinstance(categories[0], str):
        named = categories[:1]  # of numbers one, which determines their type
    return replace(column, categories=named, unlisted=column.n_categories - len(named))


def recoded(tree: T, columns: Sequence[Column]) -> T:
    """The tree in columns that list other categories, among them all that its splits name."""
    return replace(tree, columns=tuple(columns), category=new_codes(tree, columns))


def new_codes(tree: BaseTree, columns: Sequence[Column]) -> NDArray[np.int32]:
    """The category of each split as a code of other columns; missing is the one after the last."""
    codes = tree.category.copy()
    for at, (old, new) in enumerate(zip(tree.columns, columns, strict=True)):
        if old.kind != "nominal" or old.categories == new.categories:
            continue
        listed, size = old.categories or (), len(old.categories or ())
        place = {value: code for code, value in enumerate(new.categories or ())}
        for node in np.flatnonzero(tree.feature == at).tolist():
            code = int(tree.category[node])
            codes[node] = place[listed[code]] if code < size else len(place)
    return codes
