"""A tree as indented text, in the manner of C4.5: one line an answer."""

from __future__ import annotations

from treebound.show.questions import one_line, question, rounded_thresholds, short_number
from treebound.tree import Tree
from treebound.tree.fitted import takes_classifier

__all__ = ["answer_of", "text"]

_DEEP = 40


@takes_classifier
def text(tree: Tree, *, max_depth: int | None = None, exact: bool = False) -> str:
    """The tree as indented text, one line an answer of a test.

    Parameters
    ----------
    tree : Tree or BoundTreeClassifier
        A fitted classifier gives its tree.
    max_depth : int, optional
        Nodes deeper than this are left out and counted.
    exact : bool
        Write thresholds in full; otherwise they are rounded as far as the tree stays the same.

    Returns
    -------
    str
        Leaves end in their class and ``(right / rows)``: the training weight of that class and
        of all classes.

    Examples
    --------
    >>> import treebound as tb
    >>> from sklearn.datasets import load_iris
    >>> iris = load_iris(as_frame=True)
    >>> clf = tb.BoundTreeClassifier(max_leaves=3).fit(iris.data, iris.target_names[iris.target])
    >>> print(text(clf.tree_))
    petal length (cm) <= 2.45: setosa (50 / 50)
    petal length (cm) > 2.45
    |   petal width (cm) <= 1.75: versicolor (49 / 54)
    |   petal width (cm) > 1.75: virginica (45 / 46)
    """
    if tree.n_nodes == 1:
        return answer_of(tree, 0)
    thresholds = [None] * tree.n_nodes if exact else rounded_thresholds(tree)
    lines: list[str] = []
    stack = [(0, False), (0, True)]  # a node, and which of its two answers to write
    while stack:
        node, left = stack.pop()
        depth = int(tree.node_depth[node])
        words = question(tree, node).words(left=left, threshold=thresholds[node])
        child = int((tree.left if left else tree.right)[node])
        line = _indent(depth) + words
        if tree.left[child] < 0:
            lines.append(f"{line}: {answer_of(tree, child)}")
        elif max_depth is not None and depth + 1 >= max_depth:
            hidden = int(tree.size[child]) - 1
            lines.append(f"{line}: {answer_of(tree, child)} ... {hidden} more")
        else:
            lines.append(line)
            stack += [(child, False), (child, True)]
    return "\n".join(lines)


def _indent(depth: int) -> str:
    """Bars down to some depth, then a number, so that a very deep tree stays small."""
    return "|   " * depth if depth <= _DEEP else "|   " * _DEEP + f"... depth {depth}: "


def answer_of(tree: Tree, node: int) -> str:
    """The class of a node and how often it was right, such as ``setosa (50 / 50)``."""
    label = int(tree.label[node])
    right = short_number(float(tree.counts[node, label]))
    return f"{one_line(tree.classes[label])} ({right} / {short_number(float(tree.weight[node]))})"
