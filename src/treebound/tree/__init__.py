"""Trees: splits, counts and routing."""

from treebound.tree.model import Tree
from treebound.tree.regression import RegressionTree

__all__ = ["RegressionTree", "Tree"]
