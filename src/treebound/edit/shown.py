"""The tree of an editor as it is now, its figures, and the alternatives at a node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from treebound._utils.validation import invalid
from treebound.edit.candidates import Candidate, EditedTrees, NodeRows
from treebound.edit.figures import Figures, as_frame
from treebound.edit.kind import TargetKind
from treebound.edit.places import node_at, path_of, question, where
from treebound.edit.rows import EditedRows
from treebound.edit.steps import Steps
from treebound.model import Model, RegressionModel
from treebound.model.edits import Edit
from treebound.show.display import LINE, Display
from treebound.show.words import counted, prediction
from treebound.tree import Tree
from treebound.tree.base import BaseTree
from treebound.tree.regression import RegressionTree

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class AlternativesDisplay(Display):
    """The gain of the best split of each column at a node.

    Made by :meth:`treebound.edit.Editor.plot_alternatives`. The darker a bar, the more its split
    agrees with the current one.

    Parameters
    ----------
    alternatives : sequence of mapping
        Lines with ``split``, ``gain`` and ``agreement``.
    title : str
        The conditions of the node.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes that were drawn in.
    figure_ : matplotlib Figure
        Their figure.
    """

    def __init__(self, alternatives: Sequence[Mapping[str, Any]], title: str = "") -> None:
        self.alternatives = alternatives
        self.title = title

    def _options(self) -> dict[str, Any]:
        return {"figsize": (7.0, 1.2 + 0.3 * len(self.alternatives))}

    def _draw(self, ax: Axes) -> None:
        listed = list(reversed(self.alternatives))
        for place, line in enumerate(listed):
            agreement = line["agreement"]
            # an agreement of one half is chance
            alpha = 0.5 if agreement is None else 0.2 + 1.6 * (agreement - 0.5)
            ax.barh(place, line["gain"], color=LINE, alpha=alpha)
            if agreement is not None:
                ax.annotate(f" {100 * agreement:.0f} %", (line["gain"], place), va="center")
        # names are data: nothing in them is read as a formula
        names = [line["split"] if len(line["split"]) < 45 else f"{line['split'][:42]}..."
                 for line in listed]  # fmt: skip
        ax.set_yticks(range(len(listed)), names, parse_math=False)
        ax.margins(x=0.12)
        ax.set_xlabel("gain; per cent: agreement with the current split")
        ax.set_title(self.title, loc="left", fontsize="medium", parse_math=False)


class ShownTree:
    """The tree of an editor as it is now."""

    kind: TargetKind[Any, Any, Any]
    _start: Model | RegressionModel
    _rows: EditedRows[Any]
    _trees: EditedTrees[Any, Any]
    _steps: Steps

    @property
    def tree(self) -> Tree | RegressionTree:
        """The tree as it is now."""
        return self.model().tree

    @property
    def edits(self) -> tuple[Edit, ...]:
        """The steps so far: operation, node, its state before and after, note, author and time."""
        return self._steps.edits

    @property
    def history(self) -> tuple[str, ...]:
        """The steps so far, as sentences."""
        return tuple(map(str, self.edits))

    @property
    def undone(self) -> int:
        """Number of steps that can be redone."""
        return self._steps.undone

    @property
    def figures(self) -> Figures:
        """The figures of the tree as it is now."""
        return self._steps.now.figures

    @property
    def figures_before(self) -> Figures:
        """The figures of the tree before the first step."""
        return self._steps.first.figures

    def __str__(self) -> str:
        lines = [self.figures.compared_with(self.figures_before)]
        for node in range(self.tree.n_nodes):
            words = prediction(self.tree, node)
            if self.tree.feature[node] >= 0:
                words = f"{self._condition(self.tree, node)}?"
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
            node's share of the weight), errors with two leaves here (``rmse`` if the tree predicts
            numbers), rows on both sides, agreement, the share of rows that the current split sends
            to the same side, and adjusted, the same from 0, for the share of its larger side, to 1.
            Without pandas a list of dicts.

        See Also
        --------
        surrogates : The split of every column that agrees most.
        """
        return self._frame(self.rows_of(node).candidates())

    def surrogates(self, node: int | str) -> Any:
        """The split of every other column that divides the rows most like the current one.

        They are the surrogate splits of rpart's ``summary``, as :meth:`alternatives` has its
        primary splits: if a value is not available, the first of them is the best substitute.

        Parameters
        ----------
        node : int or str
            The number or path of an inner node.

        Returns
        -------
        pandas.DataFrame
            The columns of :meth:`alternatives`, by agreement, for the splits that agree on more
            rows than go to the larger side. Rows with missing values go to their sides.
        """
        at = self._inner_node(node, "surrogates", ", without a split to agree with")
        return self._frame(self.rows_of(at).surrogates())

    def _frame(self, listed: Sequence[Candidate]) -> Any:
        """Candidates as a table."""
        loss = self.kind.loss_name
        columns = (
            "column", "split", "gain", loss, "rows_left", "rows_right", "agreement", "adjusted",
        )  # fmt: skip
        return as_frame([candidate.entry(loss) for candidate in listed], columns)

    def plot_alternatives(
        self, node: int | str, *, ax: Axes | None = None, most: int = 12
    ) -> AlternativesDisplay:
        """Draw the best splits of the columns at a node: their gain, and agreement as colour.

        Parameters
        ----------
        node : int or str
            The number or path of the node.
        ax : matplotlib Axes, optional
            Axes to draw in; by default those of a new figure.
        most : int
            Maximum number of splits to draw.
        """
        at = self._node(node)
        loss = self.kind.loss_name
        listed = [candidate.entry(loss) for candidate in self.rows_of(at).candidates()]
        title = where(self.tree, at, self._start.reading.handle_unknown)
        return AlternativesDisplay(listed[:most], title).plot(ax=ax)

    def changed(self) -> Any:
        """The training rows with another prediction than before, by leaf.

        Returns
        -------
        pandas.DataFrame
            Leaf, path, prediction before and now, number of rows, how many became right and wrong
            (for how many the value is nearer and farther, if the tree predicts numbers), and their
            numbers in the table (None if there are validation rows). Without pandas a
            list of dicts.
        """
        better, worse = self.kind.effects
        columns = ("leaf", "path", "before", "now", "rows", better, worse, "numbers")
        return as_frame(self.changes(), columns)

    def changes(self) -> list[dict[str, Any]]:
        """The same as a list of dicts."""
        first, tree, rows, kind = self._steps.first.model.tree, self.tree, self._rows, self.kind
        sample, (better, worse) = rows.sample, kind.effects
        before = kind.predictions(first)[first.apply(sample.X, "other")]
        leaf, listed = tree.apply(sample.X, "other"), []
        predictions = kind.predictions(tree)
        other = before != predictions[leaf]
        for end, was in np.unique(np.c_[leaf[other], before[other]], axis=0).tolist():
            there = (leaf == end) & (before == was)
            now = float(predictions[int(end)])
            improved, worsened = kind.improved(sample, was, now)
            listed.append({
                "leaf": int(end), "path": path_of(tree, int(end)),
                "before": kind.named(was), "now": kind.named(now), "rows": int(there.sum()),
                better: int((improved & there).sum()), worse: int((worsened & there).sum()),
                "numbers": None if rows.numbers is None else rows.numbers[there].tolist(),
            })  # fmt: skip
        return listed

    def model(self) -> Model | RegressionModel:
        """The model of the tree as it is now; nothing is computed from held-out rows."""
        return self._steps.now.model

    # -- parts -----------------------------------------------------------------------------

    @property
    def training_rows(self) -> Any:
        """The training rows, encoded."""
        return self._rows.sample

    def rows_of(self, node: int | str) -> NodeRows[Any, Any]:
        """The training rows of a node, and the candidates for it."""
        return self._trees.rows_of(self.tree, self._node(node))

    def _node(self, node: int | str) -> int:
        return node_at(self.tree, node)

    def _inner_node(self, node: int | str, where: str, why: str = "") -> int:
        at = self._node(node)
        if self.tree.feature[at] < 0:
            raise invalid("node", where, "an inner node", node, f"this one is a leaf{why}.")
        return at

    def _condition(self, tree: BaseTree, node: int) -> str:
        return question(tree, node, self._start.reading.handle_unknown)
