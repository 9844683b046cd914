"""Accept a tree or a fitted classifier."""

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
    """The tree of a fitted classifier; a tree is returned as is.

    Parameters
    ----------
    model : Tree or classifier
    caller : str
        Name of the caller, for the error message.
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
    """Let a function of a tree also accept a fitted classifier.

    The function gets its tree, ``unknown``, ``smoothing`` and target name.
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
