"""A tree as DOT text, for Graphviz."""

from __future__ import annotations

from treebound.show.as_text import answer_of
from treebound.show.colours import fill_of
from treebound.show.questions import one_line, question, rounded_thresholds, short_number
from treebound.tree import Tree
from treebound.tree.fitted import takes_classifier

__all__ = ["dot"]


@takes_classifier
def dot(tree: Tree, *, max_depth: int | None = None, exact: bool = False) -> str:
    r"""The tree in the DOT language; ``dot -Tsvg`` draws it.

    Parameters
    ----------
    tree : Tree or BoundTreeClassifier
        A fitted classifier gives its tree.
    max_depth : int, optional
        Subtrees below this depth are one node that says how many nodes it stands for.
    exact : bool
        Write thresholds in full; otherwise they are rounded as far as the tree stays the same.

    Examples
    --------
    >>> import numpy as np, treebound as tb
    >>> tree = tb.Tree(
    ...     feature=[0, -1, -1], threshold=[0.5, np.nan, np.nan], category=[-1, -1, -1],
    ...     missing_left=[False] * 3, left=[1, -1, -1], right=[2, -1, -1],
    ...     counts=[[3, 4], [3, 0], [0, 4]], rows=[7, 3, 4],
    ...     columns=(tb.Column("age"),), classes=["no", "yes"])
    >>> print(dot(tree))
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
    thresholds = [None] * tree.n_nodes if exact else rounded_thresholds(tree)
    edges = []
    node = 0
    while node < tree.n_nodes:
        whole = max_depth is None or int(tree.node_depth[node]) < max_depth
        inner = bool(tree.left[node] >= 0)
        label, colour = _label(tree, node, whole), fill_of(tree, node)
        lines.append(f'    {node} [label="{label}", fillcolor="{colour}"];')
        if inner and whole:
            asked = question(tree, node)
            for left, child in ((True, tree.left[node]), (False, tree.right[node])):
                words = _escaped(asked.answer(left=left, threshold=thresholds[node]))
                edges.append(f'    {node} -> {child} [label="{words}"];')
        node += 1 if whole else int(tree.size[node])
    return "\n".join([*lines, *edges, "}"])


def _label(tree: Tree, node: int, whole: bool) -> str:
    if tree.left[node] < 0:
        return _escaped(answer_of(tree, node))
    if not whole:
        return _escaped(answer_of(tree, node)) + rf"\n... {int(tree.size[node]) - 1} more"
    name = one_line(tree.columns[tree.feature[node]].name)
    return rf"{_escaped(name)}\n{short_number(float(tree.rows[node]))} rows"


def _escaped(text: str) -> str:
    """Text inside a double-quoted DOT string: a backslash would start an escape of its own."""
    return text.replace("\\", "\\\\").replace('"', '\\"')
