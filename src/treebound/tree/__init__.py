"""Trees: splits, counts and routing."""

from treebound.tree.model import Tree

__all__ = ["Tree"]
