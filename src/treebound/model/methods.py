"""The model of anything that has one."""

from __future__ import annotations

from typing import Any

from treebound.model import Model
from treebound.tree.model import Tree


def as_model(source: Any, caller: str) -> Model:
    """The model of a fitted classifier, or of a bare tree; a model is returned as is."""
    if isinstance(source, Model):
        return source
    if isinstance(source, Tree):
        return Model(source)
    model = vars(source).get("model_") if hasattr(source, "__dict__") else None
    if isinstance(model, Model):
        return model
    if hasattr(source, "fit"):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(source)
    hint = ""
    if hasattr(source, "tree_"):
        hint = " Hint: treebound.from_sklearn makes a Tree of a scikit-learn one."
    raise TypeError(
        f"{caller} needs a Tree or a fitted BoundTreeClassifier. Got {source!r:.80} instead.{hint}"
    )
