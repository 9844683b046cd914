"""The learned object: typed columns, growth, and the tree itself."""

from treebound.tree.columns import Column, Kind, encode, landscape_of, learn_columns
from treebound.tree.model import Tree
from treebound.tree.sklearn_tree import from_sklearn, to_sklearn

__all__ = [
    "Column",
    "Kind",
    "Tree",
    "encode",
    "from_sklearn",
    "landscape_of",
    "learn_columns",
    "to_sklearn",
]
