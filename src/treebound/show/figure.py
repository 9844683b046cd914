"""A tree as a matplotlib figure."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils.extras import require
from treebound._utils.validation import Whole, check
from treebound.data import Sample
from treebound.data.number_sample import NumberSample
from treebound.model import Model, RegressionModel
from treebound.model.methods import as_any_model
from treebound.show.distributions import Boxplot, Distribution, boxplots, distributions
from treebound.show.drawing import (
    BAR,
    BOXPLOT,
    LINE,
    PAD,
    PLOT,
    PLOT_WIDTH,
    Box,
    Page,
    text_width,
    wrapped,
)  # fmt: skip
from treebound.show.layout import tidy, visible
from treebound.show.words import branch_condition, count, rounded, typeset
from treebound.tree import Tree
from treebound.tree.base import BaseTree
from treebound.tree.regression import RegressionTree
from treebound.tree.split import Split, one_line, splits_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(eq=False, repr=False)
class TreeDisplay:
    """A decision tree drawn with matplotlib.

    Each node shows its split (a leaf its class), a bar of the class proportions and the number of
    training rows. A regression tree shows its values, also by colour. Rows that satisfy the split
    go left. Use :meth:`from_estimator` to draw a fitted classifier or regressor.

    Parameters
    ----------
    model : Model or RegressionModel
        The model to draw; its target is the title.
    sample : Sample or NumberSample, optional
        Rows for histograms in the nodes, by class, of the column that the node splits on; of a
        regression tree for a boxplot in each leaf, on a common axis.
    max_depth, digits
        See :func:`treebound.show.to_text`.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Those of the drawing.
    places_ : dict of int to (float, float)
        Centre of every node that is drawn, in points.

    Examples
    --------
    >>> import treebound as tb
    >>> from sklearn.datasets import load_iris
    >>> from treebound.show import TreeDisplay
    >>> iris = load_iris(as_frame=True)
    >>> clf = tb.BoundTreeClassifier(max_leaves=3).fit(iris.data, iris.target_names[iris.target])
    >>> display = TreeDisplay.from_estimator(clf)
    >>> len(display.places_)
    5
    """

    model: Model | RegressionModel
    sample: Sample | NumberSample | None = None
    _: KW_ONLY
    max_depth: int | None = None
    digits: int | None = None
    ax_: Axes = field(init=False)
    figure_: Figure = field(init=False)
    places_: dict[int, tuple[float, float]] = field(init=False)

    def __post_init__(self) -> None:
        check("TreeDisplay", vars(self), {"max_depth": Whole(0, optional=True)})

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        max_depth: int | None = None,
        digits: int | None = None,
        ax: Axes | None = None,
        fontsize: float | None = None,
    ) -> TreeDisplay:
        """Draw the tree of a fitted classifier or regressor.

        Parameters
        ----------
        estimator : BoundTreeClassifier, BoundTreeRegressor, model or tree
            The fitted tree to draw.
        X, y : table, and labels or numbers, optional
            Rows for histograms in the nodes, by class, of the column that the node splits on, or of
            a regression tree for boxplots in the leaves; for example the training rows.
        max_depth, digits
            See :func:`treebound.show.to_text`.
        ax, fontsize
            See :meth:`plot`.

        Raises
        ------
        ValueError
            If only one of ``X`` and ``y`` is given.
        """
        model = as_any_model(estimator, "TreeDisplay.from_estimator")
        if (X is None) != (y is None):
            raise ValueError("Plots in the nodes need both 'X' and 'y'. Got one of them.")
        sample: Sample | NumberSample | None = None
        if X is not None:
            read = model.read_test if isinstance(model, Model) else model.read_sample
            sample = read(X, y)
        display = cls(model, sample, max_depth=max_depth, digits=digits)
        return display.plot(ax=ax, fontsize=fontsize)

    def plot(self, ax: Axes | None = None, *, fontsize: float | None = None) -> TreeDisplay:
        """Draw the tree.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw in; by default those of a new figure of suitable size.
        fontsize : float, optional
            In points; by default it depends on the number of leaves. If ``ax`` is too small for
            the tree, the text is shrunk.
        """
        require("matplotlib", extra="plot", why="Drawing a tree")
        tree = self.model.tree
        nodes, left, right = visible(tree, self.max_depth, self.model.swapped)
        leaves = left.count(-1)
        size = fontsize or (9.0 if leaves <= 16 else 8.0 if leaves <= 32 else 7.0)
        boxes = self._boxes(nodes, left, size)
        across = tidy(left, right, width=[box.width for box in boxes], gap=0.9 * size)
        down = _levels(tree, boxes, size)
        self.places_ = {
            box.node: (float(x), -float(down[tree.node_depth[box.node]]))
            for box, x in zip(boxes, across, strict=True)
        }
        page = Page(tree, boxes, self.places_, size, self.model.reading.target)
        self.ax_ = page.axes(ax)
        self.figure_ = self.ax_.figure  # type: ignore[assignment]
        page.draw(self.ax_, left, right)
        return self

    def _boxes(self, nodes: list[int], left: list[int], size: float) -> list[Box]:
        """The content and size of each drawn node."""
        tree, leaves = self.model.tree, left.count(-1)
        columns = 26 if leaves <= 16 else 18 if leaves <= 32 else 13
        splits = splits_of(tree, handle_unknown=self.model.reading.handle_unknown)
        plots: dict[int, Distribution | Boxplot] = {}
        if isinstance(self.sample, Sample) and isinstance(tree, Tree):
            plots |= distributions(tree, splits, self.sample)
        if isinstance(self.sample, NumberSample) and isinstance(tree, RegressionTree):
            plots |= boxplots(tree, self.sample)
        boxes = []
        for node, child in zip(nodes, left, strict=True):
            split = splits[node] if child >= 0 else None
            hidden = int(tree.size[node]) - 1 if split is None else 0
            plot = None if hidden else plots.get(node)
            if split is None:
                words = wrapped(_prediction(tree, node), columns)
            else:
                left_first = node not in self.model.swapped
                words = _split_lines(split, self.digits, columns, left=left_first)
            rows = count(int(tree.rows[node]))
            lines = (*words, f"n = {rows}", *([f"... {hidden:,} more"] if hidden else ()))
            bold = split is None
            width = max(
                text_width(line, size, bold=bold and k == 0) for k, line in enumerate(lines)
            )
            taken = len(lines) + (BAR if isinstance(tree, Tree) else 0) + 2 * PAD
            if plot is not None:
                width = max(width, PLOT_WIDTH * size)
                taken += BOXPLOT if isinstance(plot, Boxplot) else PLOT + 1.2
            height = taken * size * LINE
            boxes.append(Box(node, lines, width + 1.6 * size, height, bold, hidden, plot))
        return boxes


# -- content of a node -----------------------------------------------------------------------


def _prediction(tree: Tree | RegressionTree, node: int) -> str:
    if isinstance(tree, RegressionTree):
        return rounded(float(tree.value[node]), float(tree.deviation[0]))
    return one_line(tree.classes[tree.label[node]])


def _split_lines(split: Split, digits: int | None, columns: int, *, left: bool) -> list[str]:
    """The column's name, then the condition of the left child; numbers are never cut."""
    name = wrapped(one_line(split.column.name), columns)
    words = typeset(branch_condition(split, left=left, digits=digits))
    if len(name) == 1 and len(name[0]) + len(words) < columns:
        return [f"{name[0]} {words}"]
    return [*name, *([words] if split.is_real else wrapped(words, columns))]


def _levels(tree: BaseTree, boxes: list[Box], size: float) -> NDArray[np.float64]:
    """Vertical centre of each level; a level is as high as its highest node."""
    depths = [int(tree.node_depth[box.node]) for box in boxes]
    heights = np.zeros(max(depths) + 1)
    np.maximum.at(heights, depths, [box.height for box in boxes])
    gaps = np.full(len(heights), 2.4 * size)
    tops = np.concatenate([[0.0], np.cumsum(heights + gaps)[:-1]])
    return tops + heights / 2
