"""The estimators, and the models behind them, which do not need scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treebound._utils.extras import loaded_late

if TYPE_CHECKING:
    from treebound.estimators.estimator import BoundTreeClassifier
    from treebound.estimators.regressor import BoundTreeRegressor

__all__ = ["BoundTreeClassifier", "BoundTreeRegressor"]

__getattr__ = loaded_late(
    __name__,
    {
        "BoundTreeClassifier": "treebound.estimators.estimator",
        "BoundTreeRegressor": "treebound.estimators.regressor",
    },
)
