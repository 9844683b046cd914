"""A tree as indented lines, one for each side of a split: text as in C4.5, HTML for notebooks."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator
from typing import Any

from treebound.model import Model
from treebound.model_methods import as_model
from treebound.show.colours import class_colours
from treebound.show.words import answer, class_and_counts, node_lines, tree_in_words, typeset
from treebound.tree import Tree
from treebound.tree.split import one_line, split_of

_DEEP = 40
_FRAME = "font-family:monospace;font-size:12px;line-height:1.5;overflow-x:auto;max-width:100%"
_BAR = "display:inline-flex;width:60px;height:9px;vertical-align:middle;margin-right:6px"


def to_text(source: Any, *, max_depth: int | None = None, digits: int | None = None) -> str:
    """The tree as indented text, one line for each side of a split.

    Parameters
    ----------
    source : BoundTreeClassifier, Model or Tree
        Unknown categories and probabilities are as it has them; ``Model(tree, unknown="stop")``
        chooses them for a tree.
    max_depth : int, optional
        Deeper nodes are omitted and counted.
    digits : int, optional
        Significant digits of thresholds; rounded ones are marked with ``≈``. By default they are
        exact.

    Returns
    -------
    str
        Leaves end in their class and ``(correct / all)``: the training weight of that class and
        of all classes.

    Examples
    --------
    >>> import treebound as tb
    >>> from sklearn.datasets import load_iris
    >>> iris = load_iris(as_frame=True)
    >>> clf = tb.BoundTreeClassifier(max_leaves=3).fit(iris.data, iris.target_names[iris.target])
    >>> print(to_text(clf))
    petal length (cm) <= 2: setosa (50 / 50)
    petal length (cm) > 2
    |   petal width (cm) <= 1.75: versicolor (49 / 54)
    |   petal width (cm) > 1.75: virginica (45 / 46)
    """
    model = as_model(source, "to_text")
    tree = model.tree
    if tree.n_nodes == 1:
        return class_and_counts(tree, 0)
    lines = []
    limit = None if max_depth is None else max(max_depth, 1)
    for node, words, inner in _printed(model, limit, digits):
        line = f"{_indent(int(tree.node_depth[node]) - 1)}{words}"
        lines.append(line if inner else f"{line}: {' '.join(node_lines(tree, node, None))}")
    return "\n".join(lines[1:])  # without the root, which has no condition


def _printed(
    model: Model,
    max_depth: int | None,
    digits: int | None = None,
    style: Callable[[str], str] = str,
) -> Iterator[tuple[int, str, bool]]:
    """The nodes in the order of printing, how they are reached, and whether others follow below."""
    tree, stack = model.tree, [(0, "")]
    while stack:
        node, words = stack.pop()
        deep = max_depth is not None and int(tree.node_depth[node]) >= max_depth
        inner = bool(tree.left[node] >= 0) and not deep
        yield node, words, inner
        if inner:
            split = split_of(tree, node, unknown=model.unknown)
            sides = [(False, tree.right[node]), (True, tree.left[node])]
            for left, child in sides[::-1] if node in model.swapped else sides:
                side = style(answer(split, left=left, digits=digits))
                stack.append((int(child), f"{one_line(split.column.name)} {side}"))


def _indent(depth: int) -> str:
    """Bars down to some depth, then a number, to keep the text of deep trees short."""
    return "|   " * depth if depth <= _DEEP else "|   " * _DEEP + f"... depth {depth}: "


def to_notebook(source: Any, *, max_depth: int = 4, max_lines: int = 40) -> str:
    """The tree as lines of HTML, one for each node, with a bar of class proportions."""
    model = as_model(source, "to_notebook")
    tree, target = model.tree, model.target
    lines: list[str] = []
    left = tree.n_nodes
    for node, words, inner in _printed(model, max_depth, style=typeset):
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
