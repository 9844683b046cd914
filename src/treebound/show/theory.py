"""Figures of the theory: a Ferrers diagram, and the forms of the growth function."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treebound.bounds.counting import splits_of_size
from treebound.bounds.growth import log_growth
from treebound.bounds.stumps import OrdinalAttribution, ordinal_attribution
from treebound.landscape import Landscape
from treebound.shapes import TreeShape
from treebound.show.display import Display

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours, safe for colour-blind readers, and dashes.
_STYLES = {
    "fast": ("#d55e00", (0, (1, 1.2))),
    "tight": ("#009e73", (0, (5, 2))),
    "closed": ("#0072b2", "solid"),
    "chain": ("#cc79a7", "dashdot"),
}
_BEST = "#c8c8c8"


@dataclass(eq=False, repr=False)
class FerrersDisplay(Display):
    """The Ferrers diagram of an ordinal stump, with the attribution of its cells.

    A row is a feature, a cell one of its thresholds; its colour is the size of the smaller part of
    the 2-partition that the greedy procedure of the ordinal stump theorem assigns it to. Use
    :meth:`from_landscape` to compute and draw one.

    Parameters
    ----------
    attribution : OrdinalAttribution
        The result of ``treebound.bounds.stumps.ordinal_attribution``.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Those of the drawing.
    cells_ : list of matplotlib Circle
        The cells, row by row.

    Examples
    --------
    >>> from treebound.show import FerrersDisplay
    >>> display = FerrersDisplay.from_landscape(6, (6, 6, 6, 6, 5, 5, 5, 2, 2))
    >>> display.attribution.per_size, len(display.cells_)
    ((6, 15, 8), 34)
    """

    attribution: OrdinalAttribution
    cells_: list[Any] = field(init=False)

    @classmethod
    def from_landscape(
        cls, m: int, ordinal: Sequence[int] | Landscape, *, ax: Axes | None = None
    ) -> FerrersDisplay:
        """Attribute the thresholds of ordinal features on ``m`` examples, and draw it.

        Parameters
        ----------
        m : int
            Number of examples.
        ordinal : sequence of int or Landscape
            Category counts of the ordinal features; other features of a landscape are ignored.
        ax : matplotlib Axes, optional
            Axes to draw in; by default those of a new figure.
        """
        counts = ordinal.ordinal if isinstance(ordinal, Landscape) else tuple(ordinal)
        return cls(ordinal_attribution(m, counts)).plot(ax=ax)

    def _options(self) -> dict[str, Any]:
        columns, rows = len(self.attribution.conjugate), len(self.attribution.cells)
        size = (min(14.0, 3.9 + 0.34 * columns), min(14.0, max(2.4, 1.1 + 0.34 * rows)))
        return {"figsize": size}

    def _draw(self, ax: Axes) -> None:
        from matplotlib.patches import Circle

        self._draw_margins(ax)
        self._draw_legend(ax)
        colours = self._colours()
        self.cells_ = []
        for row, cells in enumerate(self.attribution.cells):
            for column, size in enumerate(cells):
                cell = Circle((column, row), 0.36, fc=colours[size], ec="#555555", lw=0.7)
                self.cells_.append(ax.add_patch(cell))

    def _colours(self) -> dict[int, Any]:
        """A sequential colour for each part size that occurs, none for 0."""
        from matplotlib import colormaps

        used = [k for k, count in enumerate(self.attribution.per_size, start=1) if count]
        ramp = colormaps["viridis"](np.linspace(0.05, 0.95, max(len(used), 2)))
        return {0: "none", **dict(zip(used, ramp, strict=False))}

    def _draw_margins(self, ax: Axes) -> None:
        """Category counts on the left, the conjugate on top, as the paper draws them."""
        columns, rows = len(self.attribution.conjugate), len(self.attribution.cells)
        ax.set_aspect("equal")
        ax.set_xlim(-0.7, max(columns, 1) - 0.3)
        ax.set_ylim(max(rows, 3) - 0.3, -0.7)  # do not enlarge a single row
        ax.set_xticks(range(columns), [str(count) for count in self.attribution.conjugate])
        ax.set_yticks(range(rows), [str(count) for count in self.attribution.ordinal])
        ax.tick_params(length=0, top=False, labeltop=True, labelbottom=False)
        ax.set_ylabel("categories")
        examples, bound = self.attribution.m, self.attribution.total
        ax.set_title(f"{examples} examples, bound {bound}", loc="left", pad=12)
        for side in ax.spines.values():
            side.set_visible(False)

    def _draw_legend(self, ax: Axes) -> None:
        from matplotlib.lines import Line2D

        m, per_size = self.attribution.m, self.attribution.per_size
        used = {k: colour for k, colour in self._colours().items() if k}
        entries = {
            f"part of {k}: {per_size[k - 1]} of {splits_of_size(m, k):,}": colour
            for k, colour in used.items()
        }
        if any(0 in cells for cells in self.attribution.cells):
            entries["not used"] = "none"
        marker = {"marker": "o", "ls": "", "markersize": 8, "mec": "#555555", "mew": 0.7}
        handles = [Line2D([], [], mfc=colour, **marker) for colour in entries.values()]  # type: ignore[arg-type]
        if handles:
            where = (1.02, 1.0)
            ax.legend(handles, entries, loc="upper left", bbox_to_anchor=where, frameon=False)


@dataclass(eq=False, repr=False)
class GrowthDisplay(Display):
    """The forms of the log growth function against the number of examples.

    Use :meth:`from_shape` to compute and draw them.

    Parameters
    ----------
    examples : array of int
        The numbers of examples, m.
    log_growth : dict of str to array
        For each form its natural log at each m.
    n_classes : int
        Number of classes; the dashed line is ``m ln n``, the log of all labellings.
    title : str
        Title of the figure.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Those of the drawing.
    lines_ : dict of str to matplotlib Line2D
        The line of each form.

    Examples
    --------
    >>> import treebound as tb
    >>> from treebound.show import GrowthDisplay
    >>> display = GrowthDisplay.from_shape(
    ...     tb.TreeShape.parse("((..).)"), 3, tb.Landscape(real=10), examples=[10, 100, 1000]
    ... )
    >>> sorted(display.lines_)
    ['best', 'chain', 'closed', 'fast', 'tight']
    """

    examples: ArrayLike
    log_growth: dict[str, NDArray[np.float64]]
    _: KW_ONLY
    n_classes: int
    title: str = ""
    lines_: dict[str, Any] = field(init=False)

    @classmethod
    def from_shape(
        cls,
        shape: TreeShape,
        n_classes: int,
        landscape: Landscape,
        *,
        examples: Sequence[int] | None = None,
        forms: Sequence[str] = ("fast", "tight", "closed", "chain", "best"),
        ax: Axes | None = None,
    ) -> GrowthDisplay:
        """Compute the forms for a shape, and draw them.

        Parameters
        ----------
        shape : TreeShape
            The shape of the trees.
        n_classes : int
            Number of classes.
        landscape : Landscape
            The features.
        examples : sequence of int, optional
            The numbers of examples; by default from 2 to 1,000, evenly on a log scale.
        forms : sequence of str
            Forms of :func:`treebound.bounds.log_growth`.
        ax : matplotlib Axes, optional
            Axes to draw in; by default those of a new figure.
        """
        if examples is None:
            examples = sorted({round(m) for m in np.geomspace(2, 1000, 28)})
        at = [int(m) for m in examples]
        logs = {
            form: np.array([log_growth(shape, m, n_classes, landscape, form=form) for m in at])
            for form in forms
        }
        kinds = landscape.real, len(landscape.ordinal), len(landscape.nominal)
        named = zip(kinds, ("real", "ordinal", "nominal"), strict=True)
        features = " + ".join(f"{count} {kind}" for count, kind in named if count)
        title = f"{_short(str(shape))}, {n_classes} classes, {features or 'no'} features"
        return cls(at, logs, n_classes=n_classes, title=title).plot(ax=ax)

    def _options(self) -> dict[str, Any]:
        return {"figsize": (6.4, 4.2)}

    def _draw(self, ax: Axes) -> None:
        self.lines_ = {form: self._line(ax, form, logs) for form, logs in self.log_growth.items()}
        everything = np.asarray(self.examples) * math.log(self.n_classes)
        highest = max((float(np.max(v)) for v in self.log_growth.values()), default=1.0)
        ax.plot(self.examples, everything, color="#888888", lw=0.9, ls="dashed", label="m ln n")
        ax.set_xscale("log")
        ax.set_ylim(0.0, 1.08 * highest)  # m ln n may leave the figure, the forms do not
        ax.set_xlabel("examples m")
        ax.set_ylabel("ln of the growth function (nats)")
        ax.set_title(self.title)
        ax.grid(alpha=0.25, lw=0.6)
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
        ax.legend(frameon=False)

    def _line(self, ax: Axes, form: str, values: NDArray[np.float64]) -> Any:
        if form == "best":  # a broad band behind the others
            style: dict[str, Any] = {"color": _BEST, "lw": 6.0, "zorder": 1}
        else:
            colour, dashes = _STYLES.get(form, ("#000000", "dashdot"))
            style = {"color": colour, "ls": dashes, "lw": 1.8, "zorder": 3}
        return ax.plot(self.examples, values, label=form, **style)[0]


def _short(text: str) -> str:
    return text if len(text) <= 24 else f"{text.count('.')} leaves"
