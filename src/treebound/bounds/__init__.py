"""What a class of trees can do, and what that says of risk: the paper, corrected."""

from treebound.bounds.counting import (
    catalan,
    falling_factorial,
    log_catalan,
    log_falling_factorial,
    log_stirling,
    log_wedderburn_etherington,
    splits_of_size,
    stirling,
    wedderburn_etherington,
)
from treebound.bounds.growth import log_growth, log_growth_leaves

__all__ = [
    "catalan",
    "falling_factorial",
    "log_catalan",
    "log_falling_factorial",
    "log_growth",
    "log_growth_leaves",
    "log_stirling",
    "log_wedderburn_etherington",
    "splits_of_size",
    "stirling",
    "wedderburn_etherington",
]
