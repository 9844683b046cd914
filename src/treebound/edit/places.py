"""Nodes by number or path, and their conditions in words."""

from __future__ import annotations

from typing import Any

from treebound._utils.choices import Unknown
from treebound._utils.validation import Whole, invalid
from treebound.model.edits import place_in_words
from treebound.show.words import branch_condition
from treebound.tree.base import BaseTree
from treebound.tree.split import one_line, split_of


def node_at(tree: BaseTree, node: int | str) -> int:
    """The number of a node, from its number or path; a ValueError if it is not there."""
    if not isinstance(node, str):
        if not Whole(0).allows(node):
            raise invalid("node", "the editor", "a number or a text of L and R", node)
        if node >= tree.n_nodes:
            raise ValueError(
                f"There is no node {node}: the tree as it is now has the nodes 0 to "
                f"{tree.n_nodes - 1}. Hint: numbers change with every step, paths only below it; "
                "print the editor to see them."
            )
        return int(node)
    at = 0
    for place, side in enumerate(node):
        if side not in "LR":
            raise invalid("node", "the editor", "a number or a text of L and R", node)
        if tree.feature[at] < 0:
            raise ValueError(
                f"There is no node {node!r}: {node[:place]!r} is a leaf of the tree as it is now."
            )
        at = int(tree.left[at] if side == "L" else tree.right[at])
    return at


def turns(tree: BaseTree, node: int) -> list[tuple[int, bool]]:
    """The inner nodes above a node, and whether the way goes left."""
    at, turns = 0, []
    while at != node:
        right = int(tree.right[at])
        turns.append((at, node < right))
        at = int(tree.left[at]) if node < right else right
    return turns


def path_of(tree: BaseTree, node: int) -> str:
    """The path of a node from the root, such as ``"LR"``."""
    return "".join("L" if left else "R" for _, left in turns(tree, node))


def question(tree: BaseTree, node: int, handle_unknown: Unknown, *, left: bool = True) -> str:
    """One side of the split of a node, with the name of the column."""
    split = split_of(tree, node, handle_unknown=handle_unknown)
    return f"{one_line(split.column.name)} {branch_condition(split, left=left)}"


def conditions(tree: BaseTree, node: int, handle_unknown: Unknown) -> tuple[str, ...]:
    """The conditions that lead to a node."""
    return tuple(question(tree, at, handle_unknown, left=left) for at, left in turns(tree, node))


def where(tree: BaseTree, node: int, handle_unknown: Unknown) -> str:
    """The conditions of a node, to begin a sentence with."""
    return place_in_words(conditions(tree, node, handle_unknown))


def chosen_columns(tree: BaseTree, places: list[int]) -> dict[str, Any]:
    """The columns that a subtree was grown on, or those it was not, as an edit has them."""
    names = [column.name for column in tree.columns]
    excluded = tuple(name for at, name in enumerate(names) if at not in places)
    if len(excluded) < len(places):
        return {"excluded": excluded}
    return {"columns": tuple(names[at] for at in places)}
