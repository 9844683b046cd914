"""A tree as indented lines, one for each side of a split, as in C4.5."""

from __future__ import annotations

from typing import Any

from treebound._utils.html import fixed_width
from treebound.model import Model
from treebound.model.methods import as_any_model
from treebound.model.summary import headline
from treebound.show.words import branch_condition, node_lines, prediction, tree_in_words
from treebound.tree.split import one_line, split_of

_DEEP = 40
_NOTEBOOK_DEPTH, _NOTEBOOK_LINES = 4, 40


def to_text(source: Any, *, max_depth: int | None = None, digits: int | None = None) -> str:
    """The tree as indented text, one line for each side of a split.

    Parameters
    ----------
    source : BoundTreeClassifier, BoundTreeRegressor, model or tree
        Unknown categories and probabilities are as it has them;
        ``Model(tree, reading=ReadingOptions("stop"))`` chooses them for a tree.
    max_depth : int, optional
        Deeper nodes are omitted and counted.
    digits : int, optional
        Significant digits of thresholds; rounded ones are marked with ``≈``. By default they are
        exact.

    Returns
    -------
    str
        Leaves end in their class and ``(correct / all)``: the training weight of that class and
        of all classes. Those of a regression tree end in their value and their training weight.

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
    model = as_any_model(source, "to_text")
    tree = model.tree
    if tree.n_nodes == 1:
        return prediction(tree, 0)
    limit = tree.depth if max_depth is None else max(max_depth, 1)
    lines, stack = [], [(0, "")]
    while stack:
        node, words = stack.pop()
        depth = int(tree.node_depth[node])
        inner = bool(tree.left[node] >= 0) and depth < limit
        end = "" if inner else f": {' '.join(node_lines(tree, node, None))}"
        lines.append(f"{_indent(depth - 1)}{words}{end}")
        if inner:
            split = split_of(tree, node, handle_unknown=model.reading.handle_unknown)
            sides = [(False, tree.right[node]), (True, tree.left[node])]
            for left, child in sides[::-1] if node in model.swapped else sides:
                side = branch_condition(split, left=left, digits=digits)
                stack.append((int(child), f"{one_line(split.column.name)} {side}"))
    return "\n".join(lines[1:])  # without the root, which has no condition


def _indent(depth: int) -> str:
    """Bars down to some depth, then a number, to keep the text of deep trees short."""
    return "|   " * depth if depth <= _DEEP else "|   " * _DEEP + f"... depth {depth}: "


def to_notebook(source: Any) -> str:
    """The beginning of the text, as HTML."""
    model = as_any_model(source, "to_notebook")
    lines = to_text(model, max_depth=_NOTEBOOK_DEPTH).split("\n")
    more = len(lines) - _NOTEBOOK_LINES
    if more > 0:
        lines[_NOTEBOOK_LINES:] = [f"... {more:,} more lines"]
    name = "" if model.reading.target is None else f" for {one_line(model.reading.target)}"
    lead = []
    if isinstance(model, Model) and model.provenance.parameters:  # a bare tree has no estimate
        lead = [headline(model)]
    text = "\n".join([*lead, f"Tree{name}: {tree_in_words(model.tree)}", *lines])
    return fixed_width(text, "treebound-tree")
