"""Shapes, landscapes and samples for the tests of the theory, and the stored exact values."""

from __future__ import annotations

import json
from functools import cache, partial
from typing import Any

import numpy as np
from hypothesis import strategies as st
from support import VECTORS

from treebound import Landscape, TreeShape, bounds
from treebound.bounds import partitioning

LEAF = TreeShape.leaf()

# The tree theorems as functions, by name.
tree_theorems = {
    name: partial(bounds.tree_partitions, theorem=name) for name in partitioning.THEOREMS
}
# The corrected theorems by the name the stored values know them under.
THEOREMS = {
    "real": tree_theorems["real"],
    "ord1": tree_theorems["ordinal-by-feature"],
    "ord2": tree_theorems["ordinal-by-size"],
    "nom1": tree_theorems["nominal-by-feature"],
    "nom2": tree_theorems["nominal-by-size"],
    "mix": tree_theorems["mixture"],
    "full": tree_theorems["by-size"],
    "budget": tree_theorems["within-budget"],
    "best": tree_theorems["by-feature"],
    "loose_printed": tree_theorems["fast"],
    "loose_total": tree_theorems["fast-within-budget"],
}
ONLY = {"real": "real", "ord1": "ordinal", "ord2": "ordinal", "nom1": "nominal", "nom2": "nominal"}


@cache
def vectors(name: str) -> Any:
    """One table of the stored exact values."""
    return json.loads((VECTORS / "bounds.json").read_text())[name]


def case(row: dict[str, Any]) -> tuple[TreeShape, Landscape]:
    """Shape and landscape of a stored row."""
    landscape = Landscape(row["real"], tuple(row["ordinal"]), tuple(row["nominal"]))
    return TreeShape.parse(row["shape"]), landscape


def count_realizable(X: Any, kinds: list[str], shape: TreeShape, c: int) -> int:
    """Number of c-partitions of a sample that a shape makes."""
    return len(bounds.realizable_partitions(X, kinds, shape, c))


def applies(name: str, landscape: Landscape) -> bool:
    """Return True if a named theorem applies to this landscape."""
    kinds = {
        "real": landscape.real > 0,
        "ordinal": bool(landscape.ordinal),
        "nominal": bool(landscape.nominal),
    }
    return name not in ONLY or all(kind == ONLY[name] for kind, there in kinds.items() if there)


def chain(leaves: int) -> TreeShape:
    """A caterpillar: every right child is a leaf."""
    shape = LEAF
    for _ in range(leaves - 1):
        shape = TreeShape.node(shape, LEAF)
    return shape


def balanced(height: int) -> TreeShape:
    """The complete shape with ``2**height`` leaves."""
    shape = LEAF
    for _ in range(height):
        shape = TreeShape.node(shape, shape)
    return shape


def shapes(most: int = 6, least: int = 1) -> st.SearchStrategy[TreeShape]:
    """Any shape with ``least`` to ``most`` leaves."""
    return st.sampled_from(
        [shape for leaves in range(least, most + 1) for shape in TreeShape.enumerate(leaves)]
    )


def landscapes(
    *, real: int = 3, columns: int = 2, categories: int = 5, undeclared: bool = False
) -> st.SearchStrategy[Landscape]:
    """Any mixture of few features."""
    counts = st.integers(1, categories)
    nominal = st.one_of(counts, st.none()) if undeclared else counts
    return st.builds(
        Landscape,
        st.integers(0, real),
        st.lists(counts, max_size=columns).map(tuple),
        st.lists(nominal, max_size=columns).map(tuple),
    )


@st.composite
def samples(draw: Any, *, rows: int = 5) -> tuple[np.ndarray, list[str], Landscape]:
    """A sample, the kinds of its columns, and a landscape that declares its categories."""
    m = draw(st.integers(2, rows))
    kinds = sorted(
        draw(st.lists(st.sampled_from(["real", "ordinal", "nominal"]), min_size=1, max_size=3)),
        key=["real", "ordinal", "nominal"].index,
    )
    declared = [m if kind == "real" else draw(st.integers(1, 4)) for kind in kinds]
    rows_of = st.tuples(*(st.integers(0, count - 1) for count in declared))
    X = np.array(draw(st.lists(rows_of, min_size=m, max_size=m)), dtype=float)
    by_kind = {
        kind: tuple(n for k, n in zip(kinds, declared, strict=True) if k == kind)
        for kind in ("ordinal", "nominal")
    }
    return X, kinds, Landscape(kinds.count("real"), by_kind["ordinal"], by_kind["nominal"])
