"""The estimator, and the model behind it, which does not need scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treebound._utils.extras import loaded_late

if TYPE_CHECKING:
    from treebound.estimators.estimator import BoundTreeClassifier

__all__ = ["BoundTreeClassifier"]

__getattr__ = loaded_late(__name__, {"BoundTreeClassifier": "treebound.estimators.estimator"})
