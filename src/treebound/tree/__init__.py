"""The learned object: typed columns, growth, and the tree itself."""

from treebound.tree.columns import Column, Kind, landscape_of
from treebound.tree.grow import grow
from treebound.tree.model import Tree

__all__ = ["Column", "Kind", "Tree", "grow", "landscape_of"]
