"""A tree, or a fitted classifier that has one: what shows and exports trees takes both."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, Concatenate, ParamSpec, TypeVar

from treebound.tree.model import Tree

__all__ = ["takes_classifier", "tree_of"]

P = ParamSpec("P")
R = TypeVar("R")


def tree_of(model: Any, caller: str) -> Tree:
    """The tree of a fitted classifier; a tree is its own.

    Parameters
    ----------
    model : Tree or classifier
    caller : str
        Who asks, for the error.
    """
    if isinstance(model, Tree):
        return model
    tree = getattr(model, "tree_", None)
    if isinstance(tree, Tree):
        return tree
    if hasattr(model, "fit"):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(model)
    hint = (
        "" if tree is None else " Hint: treebound.from_sklearn makes a Tree of a scikit-learn one."
    )
    raise TypeError(
        f"{caller} needs a Tree or a fitted BoundTreeClassifier. Got {model!r:.80} instead.{hint}"
    )


def takes_classifier(
    function: Callable[Concatenate[Tree, P], R],
) -> Callable[Concatenate[Any, P], R]:
    """Let a function of a tree take a fitted classifier too.

    It gets the tree, how the classifier answers, and what the target is called.
    """
    parameters = signature(function).parameters
    answering = {
        name: held
        for name, held in (
            ("unknown", "unknown"), ("smoothing", "smoothing"), ("target", "target_name_"),
        )
        if name in parameters
    }  # fmt: skip

    @wraps(function)
    def either(tree: Any, *args: P.args, **options: P.kwargs) -> R:
        if not isinstance(tree, Tree):
            found = tree_of(tree, function.__name__)
            for name, held in answering.items():
                options.setdefault(name, getattr(tree, held, parameters[name].default))
            tree = found
        return function(tree, *args, **options)

    return either  # type: ignore[return-value]  # the tree may be given by name, too
