"""Base class of the displays that are drawn in one pair of axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from treebound._utils.extras import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

# Okabe and Ito's colours, safe for colour-blind readers.
LINE, CHOSEN = "#0072B2", "#D55E00"


class Display:
    """A figure that is drawn in one pair of axes, which it keeps as ``ax_``."""

    ax_: Axes
    figure_: Figure | SubFigure

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the figure.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw in; by default those of a new figure.
        """
        pyplot = require("matplotlib.pyplot", extra="plot", why=f"A {type(self).__name__}")
        if ax is None:
            _, ax = pyplot.subplots(layout="constrained", **self._options())
        assert ax is not None
        self.ax_, self.figure_ = ax, ax.figure
        self._draw(ax)
        return self

    def _options(self) -> dict[str, Any]:
        """Options of a new figure."""
        return {}

    def _draw(self, ax: Axes) -> None:
        """Draw in the axes."""
        raise NotImplementedError
