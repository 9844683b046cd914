"""Growing trees.

``grow`` grows on a sample in memory, ``grow_on_engine`` on the rows of an engine, which may be in
files or on other machines.
"""

from treebound.growing.grow import grow, grow_on_engine, make_bins
from treebound.growing.options import GrowOptions, Limits, Progress

__all__ = ["GrowOptions", "Limits", "Progress", "grow", "grow_on_engine", "make_bins"]
