"""The estimator, and the model behind it, which does not need scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treebound.classifier.estimator import BoundTreeClassifier

__all__ = ["BoundTreeClassifier"]


def __getattr__(name: str) -> Any:
    if name != "BoundTreeClassifier":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from treebound.classifier.estimator import BoundTreeClassifier

    globals()[name] = BoundTreeClassifier
    return BoundTreeClassifier
