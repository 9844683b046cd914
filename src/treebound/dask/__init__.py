"""Trees on Dask: the tree of :class:`treebound.BoundTreeClassifier`, grown where the rows are."""

from treebound.dask.classifier import DaskBoundTreeClassifier

__all__ = ["DaskBoundTreeClassifier"]
