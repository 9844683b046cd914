"""A small picture of a tree for notebooks: plain HTML, no script."""

from __future__ import annotations

import html

from treebound.show.as_text import answer_of
from treebound.show.colours import class_colours
from treebound.show.questions import one_line, question, rounded_thresholds, short_number, typeset
from treebound.tree import Tree
from treebound.tree.fitted import takes_classifier

__all__ = ["html_repr"]

_FRAME = "font-family:monospace;font-size:12px;line-height:1.5;overflow-x:auto;max-width:100%"
_BAR = "display:inline-flex;width:60px;height:9px;vertical-align:middle;margin-right:6px"


@takes_classifier
def html_repr(tree: Tree, *, max_depth: int = 4, max_lines: int = 40) -> str:
    """The tree as a few lines of HTML: one an answer, with a bar of class proportions.

    Parameters
    ----------
    tree : Tree or BoundTreeClassifier
        A fitted classifier gives its tree.
    max_depth : int
        Nodes deeper than this are left out and counted.
    max_lines : int
        So are those past this many lines.

    Examples
    --------
    >>> import numpy as np, treebound as tb
    >>> tree = tb.Tree(
    ...     feature=[-1], threshold=[np.nan], category=[-1], missing_left=[False], left=[-1],
    ...     right=[-1], counts=[[3, 4]], rows=[7], columns=(), classes=["no", "yes"])
    >>> html_repr(tree).startswith("<div")
    True
    """
    thresholds = rounded_thresholds(tree)
    lines: list[str] = []
    skipped = 0
    stack = [(0, "")]
    while stack:
        node, words = stack.pop()
        whole = int(tree.node_depth[node]) < max_depth and len(lines) < max_lines
        if len(lines) >= max_lines:
            skipped += int(tree.size[node])
            continue
        lines.append(_line(tree, node, words, whole))
        if tree.left[node] >= 0 and whole:
            asked = question(tree, node)
            for left, child in ((False, tree.right[node]), (True, tree.left[node])):
                answer = typeset(asked.answer(left=left, threshold=thresholds[node]))
                stack.append((int(child), f"{one_line(asked.column.name)} {answer}"))
    if skipped:
        lines.append(f"<div>... {skipped} more</div>")
    leaves = "1 leaf" if tree.n_leaves == 1 else f"{tree.n_leaves} leaves"
    head = (
        f"<div><b>Tree</b>: {leaves}, depth {tree.depth}, {int(tree.rows[0])} rows, "
        f"{short_number(tree.errors)} training errors</div>"
    )
    return f'<div class="treebound-tree" style="{_FRAME}">{head}{"".join(lines)}</div>'


def _line(tree: Tree, node: int, words: str, whole: bool) -> str:
    """One node: where it hangs, its bar, and its class if it is an end."""
    ends = bool(tree.left[node] < 0)
    text = html.escape(words)
    if ends or not whole:
        answer = html.escape(answer_of(tree, node))
        text = f"{text}: <b>{answer}</b>" if text else f"<b>{answer}</b>"
    if not ends and not whole:
        text += f" ... {int(tree.size[node]) - 1} more"
    if not text:
        text = "all rows"
    return (
        f'<div style="padding-left:{20 * int(tree.node_depth[node])}px;white-space:nowrap">'
        f"{_bar(tree, node)}{text}</div>"
    )


def _bar(tree: Tree, node: int) -> str:
    weight = float(tree.weight[node]) or 1.0
    parts = []
    for colour, count in zip(class_colours(tree.n_classes), tree.counts[node], strict=True):
        if count > 0:
            share = 100 * float(count) / weight
            parts.append(f'<span style="background:{colour};width:{share:.4g}%"></span>')
    return f'<span style="{_BAR}">{"".join(parts)}</span>'
