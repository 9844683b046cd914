"""Trees on Dask: the tree of :class:`treebound.BoundTreeClassifier`, grown where the rows are.

The estimator is loaded when first used: workers run ``tasks`` and need no scikit-learn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treebound.dask.classifier import DaskBoundTreeClassifier

__all__ = ["DaskBoundTreeClassifier"]


def __getattr__(name: str) -> Any:
    if name != "DaskBoundTreeClassifier":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from treebound.dask.classifier import DaskBoundTreeClassifier

    globals()[name] = DaskBoundTreeClassifier
    return DaskBoundTreeClassifier
