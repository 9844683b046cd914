"""The drawing of the nodes of a tree, at their places, in axes measured in points."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from treebound._utils.extras import require
from treebound.show.colours import class_colours, fill_of
from treebound.show.distributions import Boxplot, Distribution
from treebound.show.words import side_names
from treebound.tree import Tree
from treebound.tree.regression import RegressionTree
from treebound.tree.split import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Layout is in points, and a new figure has that size.
PAD = 0.45  # padding of the text of a node, in lines
BAR = 0.55  # height of the bar of proportions, in lines
LINE = 1.25  # line spacing, in font sizes
PLOT = 3.4  # height of a histogram, in lines
BOXPLOT = 1.3  # height of a boxplot, in lines
PLOT_WIDTH = 11.0  # minimum width of a histogram, in font sizes
_LEGEND_CLASSES = 12
_PIECE = re.compile(r"\s*[^\s_.-]*[_.-]+|\s*[^\s_.-]+|\s+")


@dataclass(frozen=True)
class Box:
    """One node as it is drawn."""

    node: int
    lines: tuple[str, ...]
    width: float
    height: float
    bold: bool
    hidden: int  # nodes below this one that the depth limit omits
    plot: Distribution | Boxplot | None = None


def wrapped(text: str, columns: int, *, most: int = 3) -> list[str]:
    """Text in a few short lines, broken at spaces or after ``_``, ``-`` and ``.``."""
    lines = [""]
    for piece in _PIECE.findall(text):
        if lines[-1] and len((lines[-1] + piece).rstrip()) > columns:
            lines.append("")
        lines[-1] += piece if lines[-1] else piece.lstrip()
    lines = [line.rstrip() for line in lines if line.strip()] or [text]
    if len(lines) > most:
        lines = [*lines[: most - 1], f"{lines[most - 1]} …"]
    return [line if len(line) <= columns + 4 else line[: columns - 1] + "…" for line in lines]


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Width of a line of text, in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=size, weight="bold" if bold else "normal")
    with warnings.catch_warnings():  # warn of missing glyphs once, when drawing
        warnings.simplefilter("ignore", UserWarning)
        return float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0])


class Page:
    """The drawing of boxes at their places, in axes measured in points."""

    def __init__(
        self,
        tree: Tree | RegressionTree,
        boxes: list[Box],
        places: dict[int, tuple[float, float]],
        size: float,
        target: str | None,
    ) -> None:
        self.tree = tree
        self.boxes = boxes
        self.places = places
        self.size = size
        labels = tree.classes.tolist() if isinstance(tree, Tree) else []
        self.labels = [one_line(label) for label in labels]
        self.sides = side_names(self.labels)
        self.title = None if target is None else wrapped(one_line(target), 40, most=1)[0]
        self.legend = 0 < len(self.labels) <= _LEGEND_CLASSES
        right = max(places[box.node][0] + box.width / 2 for box in boxes)
        low = min(places[box.node][1] - box.height / 2 for box in boxes)
        self.rows = self._legend_rows(right) if self.legend else []
        wide = max((row[-1][1] + row[-1][2] for row in self.rows), default=0.0)
        if self.title is not None:
            wide = max(wide, text_width(self.title, 1.15 * size, bold=True))
        middle = right / 2
        above = len(self.rows) + (1.2 if self.title is not None else 0.0)
        high = above * size * 1.6 + (size if above else 0)
        self.left, self.right = min(0.0, middle - wide / 2), max(right, middle + wide / 2)
        self.low, self.high = low, high

    def _legend_rows(self, room: float) -> list[list[tuple[int, float, float]]]:
        """The classes in rows: index, offset and width of each."""
        rows: list[list[tuple[int, float, float]]] = [[]]
        at = 0.0
        for k, label in enumerate(self.labels):
            wide = text_width(wrapped(label, 26, most=1)[0], self.size) + 2.6 * self.size
            if rows[-1] and at + wide > max(room, 20 * self.size):
                rows.append([])
                at = 0.0
            rows[-1].append((k, at, wide))
            at += wide
        return rows

    def axes(self, ax: Axes | None) -> Axes:
        """The axes to draw in, in points, with the font size scaled to fit."""
        margin = self.size
        wide, tall = self.right - self.left + 2 * margin, self.high - self.low + 2 * margin
        if ax is None:
            pyplot = require("matplotlib.pyplot", extra="plot", why="Drawing a tree")
            # Agg images have at most 2**16 pixels per side.
            scale = min(1.0, 2**15 / (pyplot.rcParams["figure.dpi"] * max(wide, tall) / 72))
            figure = pyplot.figure(figsize=(wide * scale / 72, tall * scale / 72))
            ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        ax.set_xlim(self.left - margin, self.right + margin)
        ax.set_ylim(self.low - margin, self.high + margin)
        ax.set_aspect("equal")
        ax.axis("off")
        frame = ax.get_window_extent()
        points = 72 / ax.figure.dpi
        self.scale = min(frame.width * points / wide, frame.height * points / tall)
        if self.scale < 0.9:  # small text is relatively wider
            self.scale *= 0.93
        return ax

    def draw(self, ax: Axes, left: list[int], right: list[int]) -> None:
        """Draw edges, then boxes with their bars, then text."""
        self._edges(ax, left, right)
        for box in self.boxes:
            self._box(ax, box)
        self._bars(ax)
        for box in self.boxes:
            self._words(ax, box)
            if isinstance(box.plot, Boxplot):
                self._boxplot(ax, box, box.plot)
            elif box.plot is not None:
                self._plot(ax, box, box.plot)
        if self.title is not None:
            middle, top = (self.left + self.right) / 2, self.high - 0.8 * self.size
            self._text(ax, middle, top, self.title, 1.15, weight="bold")
        for place, row in enumerate(self.rows):
            self._legend(ax, place, row)

    def _text(
        self, ax: Axes, x: float, y: float, words: str, size: float = 1.0, **style: Any
    ) -> None:
        """Words around a point, of a size relative to that of the figure."""
        style = {"ha": "center", "va": "center", "parse_math": False, **style}
        ax.text(x, y, words, fontsize=size * self.size * self.scale, **style)

    def _edges(self, ax: Axes, left: list[int], right: list[int]) -> None:
        from matplotlib.collections import LineCollection

        lines = []
        for place, box in enumerate(self.boxes):
            if left[place] < 0:
                continue
            x, y = self.places[box.node]
            for side, child in enumerate((left[place], right[place])):
                below = self.boxes[child]
                x2, y2 = self.places[below.node]
                start, end = y - box.height / 2, y2 + below.height / 2
                lines.append([(x, start), (x2, end)])
                if place == 0:
                    frame = {"facecolor": ax.get_facecolor(), "edgecolor": "none"}
                    self._text(
                        ax, (x + x2) / 2, (start + end) / 2, self.sides[side], 0.9, alpha=0.7,
                        zorder=1.5, bbox={**frame, "pad": self.scale},
                    )  # fmt: skip
        ax.add_collection(
            LineCollection(lines, colors="#888888", linewidths=0.9 * self.scale, zorder=1)
        )

    def _box(self, ax: Axes, box: Box) -> None:
        from matplotlib.patches import FancyBboxPatch

        x, y = self.places[box.node]
        rounding = 0.5 * self.size
        ax.add_patch(
            FancyBboxPatch(
                (x - box.width / 2, y - box.height / 2), box.width, box.height,
                boxstyle=f"round,pad=0,rounding_size={rounding}",
                facecolor=fill_of(self.tree, box.node), edgecolor="#666666",
                linewidth=(1.1 if box.bold else 0.7) * self.scale,
                linestyle="--" if box.hidden else "-", zorder=2,
            )
        )  # fmt: skip

    def _fill(self, ax: Axes, parts: list[tuple[float, float, float, float, int]]) -> None:
        """Rectangles, each with its corner, width, height and class."""
        from matplotlib.collections import PatchCollection
        from matplotlib.patches import Rectangle

        colours = class_colours(len(self.labels))
        patches = [Rectangle((x, y), width, height) for x, y, width, height, _ in parts]
        faces = [colours[part[-1]] for part in parts]
        ax.add_collection(PatchCollection(patches, facecolors=faces, edgecolors="none", zorder=3))

    def _bars(self, ax: Axes) -> None:
        """The class proportions at the bottom of each box."""
        parts = []
        line = self.size * LINE
        tree = self.tree
        for box in self.boxes if isinstance(tree, Tree) else []:
            assert isinstance(tree, Tree)
            x, y = self.places[box.node]
            room = box.width - 1.2 * self.size
            at, foot = x - room / 2, y - box.height / 2 + PAD * line
            weight = float(tree.weight[box.node]) or 1.0
            for k, part in enumerate(tree.counts[box.node].tolist()):
                if part > 0:
                    parts.append((at, foot, room * part / weight, BAR * line, k))
                    at += room * part / weight
        self._fill(ax, parts)

    def _words(self, ax: Axes, box: Box) -> None:
        x, y = self.places[box.node]
        line = self.size * LINE
        top = y + box.height / 2 - PAD * line
        for place, words in enumerate(box.lines):
            plain = words.startswith(("n = ", "... "))
            weight = "bold" if box.bold and not plain else "normal"
            colour = "#444444" if plain else "#000000"
            y = top - (place + 0.5) * line
            self._text(ax, x, y, words, weight=weight, color=colour, zorder=4)

    def _plot(self, ax: Axes, box: Box, plot: Distribution) -> None:
        """The histogram of a node: stacked bars, and a line where the split is."""
        x, y = self.places[box.node]
        line, room = self.size * LINE, box.width - 1.2 * self.size
        base = y - box.height / 2 + (PAD + BAR + 1.2) * line
        begin, step = x - room / 2, room / len(plot.counts)
        tallest = float(plot.counts.sum(axis=1).max()) or 1.0
        gap = 0.04 if plot.cut is not None or not plot.left else 0.12
        parts = []
        for place, bar in enumerate(plot.counts.tolist()):
            at, foot = begin + (place + gap / 2) * step, base
            for k, part in enumerate(bar):
                high = 0.95 * PLOT * line * part / tallest
                if high > 0:
                    parts.append((at, foot, (1 - gap) * step, high, k))
                    foot += high
        self._fill(ax, parts)
        ax.plot([begin, begin + room], [base, base], color="#666666", lw=0.6 * self.scale, zorder=3)
        cut = plot.cut if plot.cut is not None else sum(plot.left)
        if 0 < cut < len(plot.counts):
            at = begin + cut * step
            ax.plot([at, at], [base, base + PLOT * line], color="#000000", ls=":",
                    lw=1.1 * self.scale, zorder=4)  # fmt: skip
        self._plot_words(ax, plot, begin, step, base)

    def _boxplot(self, ax: Axes, box: Box, plot: Boxplot) -> None:
        """The boxplot of a leaf; its box has room for the axis of all leaves."""
        from matplotlib.patches import Rectangle

        x, y = self.places[box.node]
        line, room = self.size * LINE, box.width - 1.2 * self.size
        middle, half = y - box.height / 2 + (PAD + 0.5 * BOXPLOT) * line, 0.3 * BOXPLOT * line
        low, high = plot.ends

        def at(value: float) -> float:
            return x - room / 2 + room * ((value - low) / (high - low) if high > low else 0.5)

        first, start, median, end, last = map(at, plot.values)
        style: dict[str, Any] = {"color": "#333333", "lw": 0.8 * self.scale, "zorder": 4}
        for ends in ((first, start), (end, last)):
            ax.plot(ends, (middle, middle), **style)
        ax.add_patch(
            Rectangle((start, middle - half), end - start, 2 * half, facecolor="#FFFFFF",
                      edgecolor="#333333", linewidth=0.8 * self.scale, zorder=4)
        )  # fmt: skip
        style |= {"lw": 1.6 * self.scale, "zorder": 5}
        ax.plot((median, median), (middle - half, middle + half), **style)

    def _plot_words(
        self, ax: Axes, plot: Distribution, begin: float, step: float, base: float
    ) -> None:
        """Label the ends of the axis below a histogram, or its categories if they fit."""
        style: dict[str, Any] = {"size": 0.75, "color": "#444444", "va": "top", "zorder": 4}
        below = base - 0.15 * self.size
        if not plot.left:
            end = begin + step * len(plot.counts)
            self._text(ax, begin, below, plot.ends[0], ha="left", **style)
            self._text(ax, end, below, plot.ends[-1], ha="right", **style)
            return
        for place, shown in enumerate(plot.ends):
            while shown and text_width(shown, 0.75 * self.size) > 0.96 * step:
                shown = shown.rstrip("…")[:-1] + "…" if len(shown) > 2 else ""
            self._text(ax, begin + (place + 0.5) * step, below, shown, **style)

    def _legend(self, ax: Axes, place: int, row: list[tuple[int, float, float]]) -> None:
        wide = row[-1][1] + row[-1][2]
        begin, side = (self.left + self.right - wide) / 2, 0.8 * self.size
        y = self.high - (place + 0.5 + (1.2 if self.title else 0.0)) * 1.6 * self.size
        self._fill(ax, [(begin + at, y - 0.5 * side, side, side, k) for k, at, _ in row])
        for k, at, _ in row:
            label = wrapped(self.labels[k], 26, most=1)[0]
            self._text(ax, begin + at + 1.2 * self.size, y, label, ha="left")
