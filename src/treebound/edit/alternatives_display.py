"""The best splits of the columns at a node as a matplotlib figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from treebound.show.display import LINE, Display

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class AlternativesDisplay(Display):
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
        ax.set_xlabel("gain; per cent: agreement with the split in place")
        ax.set_title(self.title, loc="left", fontsize="medium", parse_math=False)
