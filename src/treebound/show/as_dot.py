"""A tree as DOT text, for Graphviz."""

from __future__ import annotations

from typing import Any

from treebound.model.methods import as_any_model
from treebound.show.colours import fill_of
from treebound.show.layout import visible
from treebound.show.words import branch_condition, node_lines
from treebound.tree.split import splits_of


def to_dot(source: Any, *, max_depth: int | None = None, digits: int | None = None) -> str:
    r"""The tree in the DOT language, for ``dot -Tsvg``.

    Parameters
    ----------
    source
        See :func:`treebound.show.to_text`.
    max_depth : int, optional
        Subtrees below this depth are drawn as one node with the number of omitted nodes.
    digits
        See :func:`treebound.show.to_text`.

    Examples
    --------
    >>> import treebound as tb
    >>> clf = tb.BoundTreeClassifier(pruning=None).fit([[0], [1]] * 3, ["no", "yes"] * 3)
    >>> print(to_dot(clf))
    digraph tree {
        node [shape=box, style="rounded,filled", fontname="Helvetica", fillcolor="#FFFFFF"];
        edge [fontname="Helvetica", fontsize=10];
        0 [label="x0\n6 rows", fillcolor="#FAFCFD"];
        1 [label="no (3 / 3)", fillcolor="#99C7E0"];
        2 [label="yes (3 / 3)", fillcolor="#F5D999"];
        0 -> 1 [label="<= 0.5"];
        0 -> 2 [label="> 0.5"];
    }
    """
    model = as_any_model(source, "to_dot")
    tree = model.tree
    lines = [
        "digraph tree {",
        '    node [shape=box, style="rounded,filled", fontname="Helvetica", fillcolor="#FFFFFF"];',
        '    edge [fontname="Helvetica", fontsize=10];',
    ]
    edges = []
    splits = splits_of(tree, handle_unknown=model.reading.handle_unknown)
    nodes, left, right = visible(tree, max_depth)
    for place, node in enumerate(nodes):
        split = splits[node] if left[place] >= 0 else None
        label = r"\n".join(map(_escaped, node_lines(tree, node, split)))
        lines.append(f'    {node} [label="{label}", fillcolor="{fill_of(tree, node)}"];')
        if split is not None:
            for side, child in ((True, left[place]), (False, right[place])):
                words = _escaped(branch_condition(split, left=side, digits=digits))
                edges.append(f'    {node} -> {nodes[child]} [label="{words}"];')
    return "\n".join([*lines, *edges, "}"])


def _escaped(text: str) -> str:
    """Text for a double-quoted DOT string, with backslashes escaped."""
    return text.replace("\\", "\\\\").replace('"', '\\"')
