"""A compact view of a tree for notebooks: plain HTML without scripts."""

from __future__ import annotations

import html
from collections.abc import Collection

from treebound._choices import Unknown
from treebound.model_methods import takes_model
from treebound.show.as_text import printed
from treebound.show.colours import class_colours
from treebound.show.words import node_lines, tree_in_words, typeset
from treebound.tree import Tree
from treebound.tree.split import one_line

_FRAME = "font-family:monospace;font-size:12px;line-height:1.5;overflow-x:auto;max-width:100%"
_BAR = "display:inline-flex;width:60px;height:9px;vertical-align:middle;margin-right:6px"


@takes_model
def to_notebook(
    tree: Tree,
    *,
    max_depth: int = 4,
    max_lines: int = 40,
    unknown: Unknown = "other",
    target: str | None = None,
    swapped: Collection[int] = (),
) -> str:
    """The tree as lines of HTML, one for each node, with a bar of class proportions."""
    lines: list[str] = []
    left = tree.n_nodes
    for node, words, inner in printed(tree, unknown, swapped, max_depth, style=typeset):
        if len(lines) >= max_lines:
            break
        lines.append(_line(tree, node, words, inner))
        left -= 1 if inner else int(tree.size[node])
    if left:
        lines.append(f"<div>... {left} more</div>")
    name = "" if target is None else f" for {html.escape(one_line(target))}"
    head = f"<div><b>Tree</b>{name}: {tree_in_words(tree)}</div>"
    return f'<div class="treebound-tree" style="{_FRAME}">{head}{"".join(lines)}</div>'


def _line(tree: Tree, node: int, words: str, inner: bool) -> str:
    """One node: its condition, its bar, and its class if it is an end."""
    text = html.escape(words) or "all rows" * inner
    if not inner:
        label, *hidden = node_lines(tree, node, None)
        text += f"{': ' if text else ''}<b>{html.escape(label)}</b>"
        text = " ".join([text, *hidden])
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
