"""Editor: change a fitted tree by hand, and keep the certificate where it holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from treebound._validation import Whole, check, invalid
from treebound.edit.candidates import (
    ALTERNATIVE,
    alternatives,
    best_split,
    grown_nodes,
    usable_columns,
)
from treebound.edit.certifying import Certifier
from treebound.edit.figures import Figures, as_frame, figures_of
from treebound.edit.nodes import Nodes, planted, rows_at, sides
from treebound.edit.places import node_at, path_of, question, where
from treebound.edit.rows import read_rows
from treebound.model import Model, as_model
from treebound.show.words import class_and_counts, counted, one_line
from treebound.tree import Tree
from treebound.tree.parsing import SplitTest, column_named, parse_split

__all__ = ["Editor", "Step"]

_CHANGES = (
    "leaf", "path", "before", "now", "rows", "became_right", "became_wrong", "numbers",
)  # fmt: skip


@dataclass(frozen=True)
class Step:
    """A step of an editor: what was done, and the figures before and after.

    Attributes
    ----------
    sentence : str
        What was done.
    before, after : Figures
        The figures of the tree.
    """

    sentence: str
    before: Figures
    after: Figures

    def __str__(self) -> str:
        return f"{self.sentence}\n{self.after.beside(self.before)}"

    __repr__ = __str__


@dataclass(frozen=True, eq=False)
class _State:
    """A tree, and the step that led to it."""

    tree: Tree
    figures: Figures
    sentence: str = ""


class Editor:
    """Change a fitted tree by hand.

    Made by :meth:`treebound.BoundTreeClassifier.edit`. A node is its number, or its path from the
    root as a text of ``L`` and ``R`` (the root is ``""``). The tree is counted again on the
    training rows after every step, so a certificate by tail inversion, which holds for all trees
    of its size at once, holds for the edited tree too.

    Parameters
    ----------
    source : BoundTreeClassifier or Model
        It is not changed.
    X, y : table and labels
        The rows it was fitted on.
    test : (X, y), optional
        Rows to show the test error of; they are spent by that, and the model records them.
    sample_weight : array-like of shape (n_rows,), optional
        The weights of ``fit``.
    finish : callable, optional
        Makes the result of :meth:`done` of the edited model; by default it is the model.

    Raises
    ------
    ValueError
        If these are not the rows that the tree was trained on.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import treebound as tb
    >>> iris = load_iris(as_frame=True)
    >>> y = iris.target_names[iris.target]
    >>> clf = tb.BoundTreeClassifier(max_leaves=3).fit(iris.data, y)
    >>> editor = clf.edit(iris.data, y)
    >>> editor.split("R", "petal length (cm) <= 4.75").after.leaves
    3
    >>> print(editor.history[0])
    Where petal length (cm) > 2: petal length (cm) <= 4.75 instead of petal width (cm) <= 1.75.
    >>> editor.done().model_.edits == editor.history
    True
    """

    def __init__(
        self,
        source: Any,
        X: Any,
        y: Any,
        *,
        test: tuple[Any, Any] | None = None,
        sample_weight: Any = None,
        finish: Callable[[Model], Any] | None = None,
    ) -> None:
        self._start = as_model(source, "edit")
        self._rows = read_rows(self._start, X, y, test, sample_weight)
        self._finish = finish
        self._certifier = Certifier(self._start, self._rows)
        self._states = [_State(self._start.tree, self._figures(self._start.tree))]
        self._at = 0

    # -- what it shows ---------------------------------------------------------------------

    @property
    def tree(self) -> Tree:
        """The tree as it is now."""
        return self._states[self._at].tree

    @property
    def history(self) -> tuple[str, ...]:
        """The steps so far, as sentences."""
        return tuple(state.sentence for state in self._states[1 : self._at + 1])

    @property
    def figures(self) -> Figures:
        """The figures of the tree as it is now."""
        return self._states[self._at].figures

    @property
    def figures_before(self) -> Figures:
        """The figures of the tree before the first step."""
        return self._states[0].figures

    def __str__(self) -> str:
        lines = [self.figures.beside(self.figures_before)]
        for node in range(self.tree.n_nodes):
            words = class_and_counts(self.tree, node)
            if self.tree.feature[node] >= 0:
                words = f"{self._asked(self.tree, node)}?"
            lines.append(f"{node:>4}  {'|   ' * int(self.tree.node_depth[node])}{words}")
        return "\n".join([*lines, *self.history])

    def __repr__(self) -> str:
        return f"<Editor: {counted(len(self.history), 'step')}>\n{self}"

    def alternatives(self, node: int | str) -> Any:
        """The best split of every column at a node.

        Parameters
        ----------
        node : int or str
            The number or path of the node.

        Returns
        -------
        pandas.DataFrame
            By gain: column, split as it is printed, gain (the decrease of impurity times the
            node's share of the weight), errors with two leaves here, rows on both sides, and
            agreement, the share of rows that the split in place parts in the same way. Without
            pandas a list of dicts.
        """
        at = self._node(node)
        return as_frame(alternatives(self._start, self.tree, at, self._rows.sample), ALTERNATIVE)

    def changed(self) -> Any:
        """The training rows that now get another answer, by leaf.

        Returns
        -------
        pandas.DataFrame
            Leaf, path, answer before and now, number of rows, how many became right and wrong, and
            their numbers in the table (None if the pruner kept rows back). Without pandas a list
            of dicts.
        """
        sample, first, tree = self._rows.sample, self._states[0].tree, self.tree
        before = first.label[first.apply(sample.X, "other")]
        leaf = tree.apply(sample.X, "other")
        now = tree.label[leaf]
        labels, rows = tree.classes.tolist(), []
        other = before != now
        for end, was in np.unique(np.c_[leaf[other], before[other]], axis=0).tolist():
            there = np.flatnonzero((leaf == end) & (before == was))
            numbers = self._rows.numbers
            entry = {
                "leaf": end,
                "path": path_of(tree, end),
                "before": labels[was],
                "now": labels[tree.label[end]],
                "rows": len(there),
                "became_right": int((sample.y[there] == tree.label[end]).sum()),
                "became_wrong": int((sample.y[there] == was).sum()),
                "numbers": None if numbers is None else numbers[there].tolist(),
            }
            rows.append(entry)
        return as_frame(rows, _CHANGES)

    # -- steps -----------------------------------------------------------------------------

    def split(self, node: int | str, text: str, *, keep: bool = True) -> Step:
        """Split a node as a text says.

        Parameters
        ----------
        node : int or str
            The number or path of the node.
        text : str
            A split as it is printed: ``"age <= 30"``, ``"sex = male"``, ``"age is missing"``.
        keep : bool
            Whether what stood below is kept, without splits that no longer part any rows; if
            False, both sides are grown again, to as many leaves as they had.

        Returns
        -------
        Step

        Raises
        ------
        ValueError
            If this is no split of the columns, or all rows of the node go to one side.
        """
        at = self._node(node)
        test = parse_split(text, self.tree.columns)
        here = self._rows.sample.part(rows_at(self.tree, at, self._rows.sample))
        decided = test._replace(missing_left=bool(test.missing_left))
        left = sides(decided, here, self.tree)
        if left.all() or not left.any():
            raise ValueError(
                f"{text!r} parts no rows: all {here.n_rows:,} training rows of node {node!r} go to "
                "one side."
            )
        if test.missing_left is None:  # no training value is missing: to the larger child
            larger = here.part(left).mass >= here.part(~left).mass
            decided = test._replace(missing_left=larger)
        return self._split(at, decided, keep)

    def use(self, node: int | str, column: str, *, keep: bool = True) -> Step:
        """Split a node at the best threshold or category of a column.

        Parameters
        ----------
        node : int or str
            The number or path of the node.
        column : str
            The name of the column.
        keep : bool
            See :meth:`split`.

        Returns
        -------
        Step
        """
        at = self._node(node)
        feature = column_named(column, self.tree.columns, "use")
        rows = rows_at(self.tree, at, self._rows.sample)
        best = best_split(self._rows.sample, rows, feature, self._start.options)
        if best is None:
            raise ValueError(
                f"Column {column!r} has no split at node {node!r}: its {len(rows):,} rows are all "
                "of one class or one value, or a side would be smaller than the options of growing "
                "allow."
            )
        return self._split(at, best[0], keep)

    def _split(self, node: int, test: SplitTest, keep: bool) -> Step:
        tree, sample = self.tree, self._rows.sample
        below = [Nodes.leaf(), Nodes.leaf()]
        if tree.feature[node] >= 0:
            children = [int(tree.left[node]), int(tree.right[node])]
            if keep:
                below = [Nodes.of(tree, child) for child in children]
            else:
                rows = rows_at(tree, node, sample)
                left = sides(test, sample.part(rows), tree)
                parts, columns = (rows[left], rows[~left]), usable_columns(tree)
                below = [
                    grown_nodes(
                        sample, part, columns, self._start.options, int(tree.size[child] + 1) // 2
                    )[0]
                    for part, child in zip(parts, children, strict=True)
                ]
        nodes = Nodes.split(test, *below)
        edited = planted(tree, node, nodes, sample)
        now = self._asked(edited, node)
        was = f" instead of {self._asked(tree, node)}" if tree.feature[node] >= 0 else ""
        return self._did(edited, node, f"{now}{was}")

    def collapse(self, node: int | str) -> Step:
        """Make a node a leaf.

        Parameters
        ----------
        node : int or str
            The number or path of an inner node.

        Returns
        -------
        Step
        """
        at, tree = self._node(node), self.tree
        if tree.feature[at] < 0:
            raise invalid("node", "collapse", "an inner node", node, "this one is a leaf.")
        leaves = int(tree.size[at] + 1) // 2
        edited = planted(tree, at, Nodes.leaf(), self._rows.sample)
        label = one_line(edited.classes[edited.label[at]])
        return self._did(edited, at, f"{counted(leaves, 'leaf')} collapsed to {label}")

    def grow(
        self, node: int | str, *, columns: Sequence[str] | None = None, max_leaves: int = 2
    ) -> Step:
        """Grow a subtree in the place of a node, with the options of the classifier.

        Parameters
        ----------
        node : int or str
            The number or path of the node.
        columns : sequence of str, optional
            The columns to split on; by default all.
        max_leaves : int
            The most leaves of the subtree.

        Returns
        -------
        Step
        """
        check("grow", {"max_leaves": max_leaves}, {"max_leaves": Whole(2)})
        at, tree = self._node(node), self.tree
        if isinstance(columns, str):
            raise invalid("columns", "grow", "a sequence of names", columns)
        places = usable_columns(tree)
        if columns is not None:
            places = sorted({column_named(name, tree.columns, "grow") for name in columns})
        if not places:
            raise invalid("columns", "grow", "at least one name", columns)
        rows = rows_at(tree, at, self._rows.sample)
        nodes, grown = grown_nodes(self._rows.sample, rows, places, self._start.options, max_leaves)
        if grown.n_leaves == 1:
            raise ValueError(
                f"Nothing grows at node {node!r}: its {len(rows):,} rows are of one class or alike "
                "in these columns, or a leaf would be smaller than the options of growing allow."
            )
        edited = planted(tree, at, nodes, self._rows.sample)
        words = f"{counted(grown.n_leaves, 'leaf')} grown"
        return self._did(edited, at, words + self._chosen(places))

    def answer(self, node: int | str, label: Any) -> Step:
        """Let a leaf answer a class, whatever its majority.

        Parameters
        ----------
        node : int or str
            The number or path of a leaf.
        label : object
            One of the classes.

        Returns
        -------
        Step
        """
        at, tree = self._node(node), self.tree
        labels = tree.classes.tolist()
        if tree.feature[at] >= 0:
            raise invalid("node", "answer", "a leaf", node, "collapse it first.")
        if label not in labels:
            raise invalid("label", "answer", f"one of {labels!r:.200}", label)
        answers = tree.label.copy()
        answers[at] = labels.index(label)
        share = tree.counts[at, answers[at]] / tree.weight[at]
        return self._did(
            replace(tree, label=answers),
            at,
            f"answer {one_line(label)} ({100 * share:.3g} % of the training examples here) "
            f"instead of {one_line(labels[tree.label[at]])}",
        )

    def undo(self) -> Step:
        """Take the last step back.

        Returns
        -------
        Step
        """
        if not self._at:
            raise ValueError("There is no step to undo.")
        before = self.figures
        sentence = self._states[self._at].sentence
        self._at -= 1
        return Step(f"Undone: {sentence}", before, self.figures)

    def redo(self) -> Step:
        """Do the step again that was undone last.

        Returns
        -------
        Step
        """
        if self._at + 1 == len(self._states):
            raise ValueError("There is no undone step to redo.")
        before = self.figures
        self._at += 1
        return Step(f"Done again: {self._states[self._at].sentence}", before, self.figures)

    # -- the end ---------------------------------------------------------------------------

    def done(self) -> Any:
        """The edited classifier.

        Returns
        -------
        BoundTreeClassifier
            A fitted copy with the edited tree, without a pruning path; ``model_.edits`` has the
            steps. Rows that fit held out are counted on it now, for the first time; if a figure of
            them was seen before, there is no certificate, and ``certificate_reason_`` says so.
        """
        model = self._start
        if self.history:
            model = replace(
                self._certifier.last(self.tree),
                rows=self._rows.record,
                edits=(*self._start.edits, *self.history),
            )
        elif self._rows.record is not self._start.rows:
            model = replace(model, rows=self._rows.record)
        return model if self._finish is None else self._finish(model)

    # -- parts -----------------------------------------------------------------------------

    def _figures(self, tree: Tree) -> Figures:
        return figures_of(self._certifier.model(tree), self._rows.test)

    def _did(self, tree: Tree, node: int, words: str) -> Step:
        """Take a step; steps that were undone are forgotten."""
        state = _State(
            tree, self._figures(tree), f"{where(self.tree, node, self._start.unknown)}: {words}."
        )
        before = self.figures
        self._states[self._at + 1 :] = [state]
        self._at += 1
        return Step(state.sentence, before, state.figures)

    def _node(self, node: int | str) -> int:
        return node_at(self.tree, node)

    def _chosen(self, places: list[int]) -> str:
        """The columns that a subtree was grown on, or those it was not, in words."""
        names = [one_line(column.name) for column in self.tree.columns]
        others = [name for at, name in enumerate(names) if at not in places]
        if not others:
            return ""
        if len(others) < len(places):
            return f" without {', '.join(others)}"
        return f" on {', '.join(names[at] for at in places)}"

    def _asked(self, tree: Tree, node: int) -> str:
        return question(tree, node, self._start.unknown)
