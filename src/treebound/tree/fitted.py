"""Accept a tree or a fitted classifier."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from inspect import cleandoc, signature
from typing import Any, Concatenate, ParamSpec, TypeVar

from treebound.tree.model import Tree

__all__ = ["as_method", "takes_classifier", "tree_of"]

P = ParamSpec("P")
R = TypeVar("R")
# The first parameter of a function, in its description.
_TREE = re.compile(r"(\nParameters\n-+\n)\w+ : .*\n(?:    .*\n)*")


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


def as_method(function: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """A function of a tree or classifier as a method of the classifier, described as one."""

    @wraps(function)
    def method(self: Any, /, *args: P.args, **options: P.kwargs) -> R:
        return function(self, *args, **options)

    parameters = signature(function).parameters
    own = [f"``{name}``" for name in ("unknown", "smoothing") if name in parameters]
    text, _, _ = cleandoc(function.__doc__ or "").partition("\n\nExamples\n")
    summary, *others = _TREE.sub(r"\1", text, count=1).split("\n\n")
    if own:
        others.insert(0, f"By default taken from the classifier: {', '.join(own)}.")
    name = f"{function.__module__.rpartition('.')[0]}.{function.__name__}"
    others.append(f"See Also\n--------\n{name} : The same as a function, also of a tree.")
    method.__doc__ = "\n\n".join([summary, *others])
    return method
