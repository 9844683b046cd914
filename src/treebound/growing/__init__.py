"""Growing trees.

``grow`` grows on a sample in memory, ``grow_numbers`` on a target of numbers, and
``grow_on_engine`` and ``grow_numbers_on_engine`` on the rows of an engine, which may be in files
or on other machines.
"""

from treebound._utils.progress import Progress
from treebound.growing.grow import (
    grow,
    grow_numbers,
    grow_numbers_on_engine,
    grow_on_engine,
    make_bins,
)
from treebound.growing.options import GrowOptions, Limits

__all__ = [
    "GrowOptions",
    "Limits",
    "Progress",
    "grow",
    "grow_numbers",
    "grow_numbers_on_engine",
    "grow_on_engine",
    "make_bins",
]
