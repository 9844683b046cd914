"""The learned object: splits, counts, and where a row goes."""

from treebound.tree.model import Tree

__all__ = ["Tree"]
