"""The model of anything that has one."""

from __future__ import annotations

from typing import Any

from treebound.model import Model
from treebound.model.regression import RegressionModel
from treebound.tree.model import Tree
from treebound.tree.regression import RegressionTree


def as_model(source: Any, caller: str) -> Model:
    """The model of a fitted classifier, or of a bare tree; a model is returned as is."""
    if isinstance(source, Model):
        return source
    if isinstance(source, Tree):
        return Model(source)
    model = vars(source).get("model_") if hasattr(source, "__dict__") else None
    if isinstance(model, Model):
        return model
    if isinstance(model, RegressionModel) or isinstance(source, RegressionModel | RegressionTree):
        raise TypeError(
            f"{caller} is not offered for regression trees. Got {source!r:.80} instead."
        )
    if hasattr(source, "fit"):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(source)
    hint = ""
    if hasattr(source, "tree_"):
        hint = " Hint: treebound.from_sklearn makes a Tree of a scikit-learn one."
    raise TypeError(
        f"{caller} needs a Tree or a fitted BoundTreeClassifier. Got {source!r:.80} instead.{hint}"
    )


def as_regression_model(source: Any, caller: str) -> RegressionModel:
    """The model of a fitted regressor, or of a bare regression tree."""
    model = as_any_model(source, caller)
    if isinstance(model, RegressionModel):
        return model
    raise TypeError(
        f"{caller} needs a RegressionTree or a fitted BoundTreeRegressor. "
        f"Got {source!r:.80} instead."
    )


def as_any_model(source: Any, caller: str) -> Model | RegressionModel:
    """The model of a fitted classifier or regressor, or of a bare tree of either kind."""
    if isinstance(source, RegressionTree):
        return RegressionModel(source)
    fitted = vars(source).get("model_") if hasattr(source, "__dict__") else None
    for model in (source, fitted):
        if isinstance(model, RegressionModel):
            return model
    return as_model(source, caller)


def is_regression(source: Any) -> bool:
    """Return True for a regression tree, its model or a fitted regressor of this package."""
    fitted = vars(source).get("model_") if hasattr(source, "__dict__") else None
    return isinstance(source, RegressionTree | RegressionModel) or isinstance(
        fitted, RegressionModel
    )
