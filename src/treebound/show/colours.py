"""One colour for each class, the same in every picture of a tree."""

from __future__ import annotations

import colorsys
from functools import lru_cache

from treebound.tree import Tree
from treebound.tree.regression import RegressionTree

# Okabe and Ito's eight colours without black, safe for colour-blind readers.
_OKABE_ITO = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")


@lru_cache(maxsize=32)
def class_colours(count: int) -> tuple[str, ...]:
    """A colour for each class, ``#rrggbb``; beyond seven classes, spread over the hues."""
    colours = list(_OKABE_ITO[:count])
    for extra in range(count - len(colours)):
        # steps of the golden ratio never repeat a hue
        hue, light = (0.15 + extra * 0.61803398875) % 1.0, (0.45, 0.65)[extra % 2]
        colours.append(_hexadecimal(colorsys.hls_to_rgb(hue, light, 0.55)))
    return tuple(colours)


def fill_of(tree: Tree | RegressionTree, node: int) -> str:
    """The colour of a node: that of its class, paler for impure nodes; or by its value."""
    if isinstance(tree, RegressionTree):
        return value_colour(tree, node)
    weight = float(tree.weight[node])
    share = float(tree.counts[node, tree.label[node]]) / weight if weight > 0 else 0.0
    guess = 1 / max(tree.n_classes, 2)
    purity = max(0.0, (share - guess) / (1 - guess))
    depth = 0.4 if tree.left[node] < 0 else 0.2
    colour = class_colours(tree.n_classes)[int(tree.label[node])]
    return mixed_with_white(colour, 0.02 + (depth - 0.02) * purity)


def value_colour(tree: RegressionTree, node: int) -> str:
    """The colour of a value: blue for the smallest leaf, white, orange for the largest."""
    return mixed_with_white(*value_tint(tree, node))


def value_tint(tree: RegressionTree, node: int) -> tuple[str, float]:
    """The colour of a value before it is mixed with white, and its share."""
    low, high = tree.value_range
    place = 2 * (float(tree.value[node]) - low) / (high - low) - 1 if high > low else 0.0
    colour = _OKABE_ITO[1] if place > 0 else _OKABE_ITO[0]
    return colour, 0.05 + 0.45 * min(1.0, abs(place))


def value_scale(count: int) -> tuple[str, ...]:
    """Colours of so many values in order, from blue for small ones to orange for large ones."""
    colours = []
    for at in range(count):
        place = 2 * at / (count - 1) - 1 if count > 1 else 0.0
        colour = _OKABE_ITO[1] if place > 0 else _OKABE_ITO[0]
        colours.append(mixed_with_white(colour, 0.15 + 0.85 * abs(place)))
    return tuple(colours)


def mixed_with_white(colour: str, share: float) -> str:
    """Mix a colour with white: ``share`` of the colour, the rest white."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (1 - share + share * part for part in parts)
    return _hexadecimal((red, green, blue))


def _hexadecimal(parts: tuple[float, float, float]) -> str:
    return "#" + "".join(f"{round(255 * part):02X}" for part in parts)
