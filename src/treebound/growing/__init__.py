"""Growing trees: exact best-first CART."""

from treebound.growing.grow import grow
from treebound.growing.options import GrowOptions

__all__ = ["GrowOptions", "grow"]
