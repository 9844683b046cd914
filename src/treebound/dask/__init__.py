"""Trees on Dask: the tree of :class:`treebound.BoundTreeClassifier`, grown where the rows are.

The estimator is loaded when first used: workers run ``tasks`` and need no scikit-learn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treebound._extras import loaded_late

if TYPE_CHECKING:
    from treebound.dask.classifier import DaskBoundTreeClassifier

__all__ = ["DaskBoundTreeClassifier"]

__getattr__ = loaded_late(__name__, {"DaskBoundTreeClassifier": "treebound.dask.classifier"})
