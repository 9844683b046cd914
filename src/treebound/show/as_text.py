"""A tree as indented text, as in C4.5: one line for each side of a split."""

from __future__ import annotations

from collections.abc import Collection

from treebound.data.columns import Unknown
from treebound.model_methods import takes_model
from treebound.show.words import answer, class_and_counts
from treebound.tree import Tree
from treebound.tree.split import one_line, splits_of

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
    splits = splits_of(tree, unknown=unknown)
    lines: list[str] = []
    stack = [(0, 0 in swapped), (0, 0 not in swapped)]  # a node, and whether to write its left side
    while stack:
        node, left = stack.pop()
        split, depth = splits[node], int(tree.node_depth[node])
        assert split is not None
        child = int((tree.left if left else tree.right)[node])
        line = f"{_indent(depth)}{one_line(split.column.name)} "
        line += answer(split, left=left, digits=digits)
        if splits[child] is None:
            lines.append(f"{line}: {class_and_counts(tree, child)}")
        elif max_depth is not None and depth + 1 >= max_depth:
            hidden = int(tree.size[child]) - 1
            lines.append(f"{line}: {class_and_counts(tree, child)} ... {hidden} more")
        else:
            lines.append(line)
            stack += [(child, child in swapped), (child, child not in swapped)]
    return "\n".join(lines)


def _indent(depth: int) -> str:
    """Bars down to some depth, then a number, to keep the text of deep trees short."""
    return "|   " * depth if depth <= _DEEP else "|   " * _DEEP + f"... depth {depth}: "
