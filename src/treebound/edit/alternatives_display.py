"""The best splits of the columns at a node as a matplotlib figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from treebound._extras import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

__all__ = ["AlternativesDisplay"]


class AlternativesDisplay:
    """The gain of the best split of each column at a node.

    Made by :meth:`treebound.edit.Editor.plot_alternatives`. The darker a bar, the more its split
    agrees with the one in place.

    Parameters
    ----------
    alternatives : sequence of mapping
        Lines with ``split``, ``gain`` and ``agreement``.
    title : str
        Where the node stands.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes that were drawn in.
    figure_ : matplotlib Figure
        Their figure.
    """

    ax_: Axes
    figure_: Figure | SubFigure

    def __init__(self, alternatives: Sequence[Mapping[str, Any]], title: str = "") -> None:
        self.alternatives = alternatives
        self.title = title

    def plot(self, ax: Axes | None = None) -> AlternativesDisplay:
        """Draw a bar for each split.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw in; by default those of a new figure.

        Returns
        -------
        AlternativesDisplay
            The display itself.
        """
        pyplot = require("matplotlib.pyplot", extra="plot", why="Drawing alternatives")
        listed = list(reversed(self.alternatives))
        if ax is None:
            height = 1.2 + 0.3 * len(listed)
            ax = pyplot.subplots(figsize=(7.0, height), layout="constrained")[1]
        assert ax is not None
        for place, line in enumerate(listed):
            agreement = line["agreement"]
            # an agreement of one half is chance
            alpha = 0.5 if agreement is None else 0.2 + 1.6 * (agreement - 0.5)
            ax.barh(place, line["gain"], color="#0072B2", alpha=alpha)
            if agreement is not None:
                ax.annotate(f" {100 * agreement:.0f} %", (line["gain"], place), va="center")
        # names are data: nothing in them is read as a formula
        names = [line["split"] if len(line["split"]) < 45 else f"{line['split'][:42]}..."
                 for line in listed]  # fmt: skip
        ax.set_yticks(range(len(listed)), names, parse_math=False)
        ax.margins(x=0.12)
        ax.set_xlabel("gain; per cent: agreement with the split in place")
        ax.set_title(self.title, loc="left", fontsize="medium", parse_math=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self
