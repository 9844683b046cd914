"""Trees in columns that list other categories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from treebound.data.columns import Column
from treebound.tree.model import Tree


def recoded(tree: Tree, columns: Sequence[Column]) -> Tree:
    """The tree in columns that list other categories, among them all that its splits name."""
    return replace(tree, columns=tuple(columns), category=new_codes(tree, columns))


def new_codes(tree: Tree, columns: Sequence[Column]) -> NDArray[np.int32]:
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
