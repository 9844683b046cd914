"""A tree as indented text, as in C4.5: one line for each side of a split."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from treebound._choices import Unknown
from treebound.model_methods import takes_model
from treebound.show.words import answer, class_and_counts, node_lines
from treebound.tree import Tree
from treebound.tree.split import one_line, split_of

_DEEP = 40


@takes_model
def to_text(
    tree: Tree,
    *,
    max_depth: int | None = None,
    digits: int | None = None,
    unknown: Unknown = "other",
    swapped: Collection[int] = (),
) -> str:
    """The tree as indented text, one line for each side of a split.

    Parameters
    ----------
    tree : Tree or BoundTreeClassifier
        For a fitted classifier, its tree and ``unknown`` are used.
    max_depth : int, optional
        Deeper nodes are omitted and counted.
    digits : int, optional
        Significant digits of thresholds; rounded ones are marked with ``≈``. By default they are
        exact.
    unknown : {"other", "majority", "stop", "missing", "error"}
        How to handle unknown categories; with ``"error"`` a split on two declared categories
        reads ``= male`` instead of ``≠ female``.
    swapped : collection of int
        Nodes whose right branch is written first.

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
    if tree.n_nodes == 1:
        return class_and_counts(tree, 0)
    lines = []
    limit = None if max_depth is None else max(max_depth, 1)
    for node, words, inner in printed(tree, unknown, swapped, limit, digits):
        line = f"{_indent(int(tree.node_depth[node]) - 1)}{words}"
        lines.append(line if inner else f"{line}: {' '.join(node_lines(tree, node, None))}")
    return "\n".join(lines[1:])  # without the root, which has no condition


def printed(
    tree: Tree,
    unknown: Unknown,
    swapped: Collection[int],
    max_depth: int | None,
    digits: int | None = None,
    style: Callable[[str], str] = str,
) -> Iterator[tuple[int, str, bool]]:
    """The nodes in the order of printing, how they are reached, and whether others follow below."""
    stack = [(0, "")]
    while stack:
        node, words = stack.pop()
        deep = max_depth is not None and int(tree.node_depth[node]) >= max_depth
        inner = bool(tree.left[node] >= 0) and not deep
        yield node, words, inner
        if inner:
            split = split_of(tree, node, unknown=unknown)
            sides = [(False, tree.right[node]), (True, tree.left[node])]
            for left, child in sides[::-1] if node in swapped else sides:
                side = style(answer(split, left=left, digits=digits))
                stack.append((int(child), f"{one_line(split.column.name)} {side}"))


def _indent(depth: int) -> str:
    """Bars down to some depth, then a number, to keep the text of deep trees short."""
    return "|   " * depth if depth <= _DEEP else "|   " * _DEEP + f"... depth {depth}: "
