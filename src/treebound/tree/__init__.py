"""The learned object: typed columns, growth, and the tree itself."""

from treebound.tree.columns import Column, Kind, landscape_of
from treebound.tree.model import Tree

__all__ = ["Column", "Kind", "Tree", "landscape_of"]
