"""A tree as DOT text, for Graphviz."""

from __future__ import annotations

from treebound.model import takes_model
from treebound.show.colours import fill_of
from treebound.show.words import answer, class_and_counts, counted, one_line
from treebound.tree import Tree
from treebound.tree.split import Split, Unknown, splits_of

__all__ = ["to_dot"]


@takes_model
def to_dot(
    tree: Tree,
    *,
    max_depth: int | None = None,
    digits: int | None = None,
    unknown: Unknown = "other",
) -> str:
    r"""The tree in the DOT language, for ``dot -Tsvg``.

    Parameters
    ----------
    tree : Tree or BoundTreeClassifier
        For a fitted classifier, its tree and ``unknown`` are used.
    max_depth : int, optional
        Subtrees below this depth are drawn as one node with the number of omitted nodes.
    digits : int, optional
        Significant digits of thresholds; rounded ones are marked with ``≈``. By default they are
        exact.
    unknown : {"other", "majority", "stop", "missing", "error"}
        How to handle unknown categories; with ``"error"`` a split on two declared categories
        reads ``= male`` instead of ``≠ female``.

    Returns
    -------
    str

    Examples
    --------
    >>> import numpy as np, treebound as tb
    >>> tree = tb.Tree(
    ...     feature=[0, -1, -1], threshold=[0.5, np.nan, np.nan], category=[-1, -1, -1],
    ...     missing_left=[False] * 3, left=[1, -1, -1], right=[2, -1, -1],
    ...     counts=[[3, 4], [3, 0], [0, 4]], rows=[7, 3, 4],
    ...     columns=(tb.Column("age"),), classes=["no", "yes"])
    >>> print(to_dot(tree))
    digraph tree {
        node [shape=box, style="rounded,filled", fontname="Helvetica", fillcolor="#FFFFFF"];
        edge [fontname="Helvetica", fontsize=10];
        0 [label="age\n7 rows", fillcolor="#FEFBF3"];
        1 [label="no (3 / 3)", fillcolor="#99C7E0"];
        2 [label="yes (4 / 4)", fillcolor="#F5D999"];
        0 -> 1 [label="<= 0.5"];
        0 -> 2 [label="> 0.5"];
    }
    """
    lines = [
        "digraph tree {",
        '    node [shape=box, style="rounded,filled", fontname="Helvetica", fillcolor="#FFFFFF"];',
        '    edge [fontname="Helvetica", fontsize=10];',
    ]
    edges = []
    splits = splits_of(tree, unknown=unknown)
    node = 0
    while node < tree.n_nodes:
        split = splits[node]
        whole = max_depth is None or int(tree.node_depth[node]) < max_depth
        label, colour = _label(tree, node, split, whole), fill_of(tree, node)
        lines.append(f'    {node} [label="{label}", fillcolor="{colour}"];')
        if split is not None and whole:
            for left, child in ((True, tree.left[node]), (False, tree.right[node])):
                words = _escaped(answer(split, left=left, digits=digits))
                edges.append(f'    {node} -> {child} [label="{words}"];')
        node += 1 if whole else int(tree.size[node])
    return "\n".join([*lines, *edges, "}"])


def _label(tree: Tree, node: int, split: Split | None, whole: bool) -> str:
    if split is None:
        return _escaped(class_and_counts(tree, node))
    if not whole:
        return _escaped(class_and_counts(tree, node)) + rf"\n... {int(tree.size[node]) - 1} more"
    return rf"{_escaped(one_line(split.column.name))}\n{counted(int(tree.rows[node]), 'row')}"


def _escaped(text: str) -> str:
    """Text for a double-quoted DOT string, with backslashes escaped."""
    return text.replace("\\", "\\\\").replace('"', '\\"')
