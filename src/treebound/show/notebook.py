"""A compact view of a tree for notebooks: plain HTML without scripts."""

from __future__ import annotations

import html
from collections.abc import Collection

from treebound.data.columns import Unknown
from treebound.model_methods import takes_model
from treebound.show.colours import class_colours
from treebound.show.words import answer, class_and_counts, tree_in_words, typeset
from treebound.tree import Tree
from treebound.tree.split import one_line, split_of

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
    skipped = 0
    stack = [(0, "")]
    while stack:
        node, words = stack.pop()
        if len(lines) >= max_lines:
            skipped += int(tree.size[node])
            continue
        whole = int(tree.node_depth[node]) < max_depth
        lines.append(_line(tree, node, words, whole))
        if tree.left[node] >= 0 and whole:
            split = split_of(tree, node, unknown=unknown)
            sides = [(False, tree.right[node]), (True, tree.left[node])]
            for left, child in sides[::-1] if node in swapped else sides:
                side = typeset(answer(split, left=left))
                stack.append((int(child), f"{one_line(split.column.name)} {side}"))
    if skipped:
        lines.append(f"<div>... {skipped} more</div>")
    name = "" if target is None else f" for {html.escape(one_line(target))}"
    head = f"<div><b>Tree</b>{name}: {tree_in_words(tree)}</div>"
    return f'<div class="treebound-tree" style="{_FRAME}">{head}{"".join(lines)}</div>'


def _line(tree: Tree, node: int, words: str, whole: bool) -> str:
    """One node: its condition, its bar, and its class if it is an end."""
    ends = bool(tree.left[node] < 0)
    text = html.escape(words)
    if ends or not whole:
        label = html.escape(class_and_counts(tree, node))
        text = f"{text}: <b>{label}</b>" if text else f"<b>{label}</b>"
    if not ends and not whole:
        text += f" ... {int(tree.size[node]) - 1} more"
    return (
        f'<div style="padding-left:{20 * int(tree.node_depth[node])}px;white-space:nowrap">'
        f"{_bar(tree, node)}{text or 'all rows'}</div>"
    )


def _bar(tree: Tree, node: int) -> str:
    weight = float(tree.weight[node]) or 1.0
    parts = []
    for colour, count in zip(class_colours(tree.n_classes), tree.counts[node], strict=True):
        if count > 0:
            share = 100 * float(count) / weight
            parts.append(f'<span style="background:{colour};width:{share:.4g}%"></span>')
    return f'<span style="{_BAR}">{"".join(parts)}</span>'
