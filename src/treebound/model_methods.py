"""Functions of a model, and methods of the classifier made of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from inspect import cleandoc, signature
from operator import attrgetter
from typing import Any, Concatenate, ParamSpec, TypeVar

from treebound.model import Model
from treebound.tree.model import Tree

P = ParamSpec("P")
R = TypeVar("R")


def as_model(source: Any, caller: str) -> Model:
    """The model of a fitted classifier, or of a bare tree; a model is returned as is."""
    if isinstance(source, Model):
        return source
    if isinstance(source, Tree):
        return Model(source)
    held = vars(source).get("model_") if hasattr(source, "__dict__") else None
    if isinstance(held, Model):
        return held
    if hasattr(source, "fit"):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(source)
    hint = ""
    if hasattr(source, "tree_"):
        hint = " Hint: treebound.from_sklearn makes a Tree of a scikit-learn one."
    raise TypeError(
        f"{caller} needs a Tree or a fitted BoundTreeClassifier. Got {source!r:.80} instead.{hint}"
    )


def takes_model(function: Callable[Concatenate[Tree, P], R]) -> Callable[Concatenate[Any, P], R]:
    """Let a function of a tree also take a model or classifier, with its way to answer.

    The function gets the tree and, by default, ``unknown``, ``smoothing``, the target's name and
    the nodes whose right branch is shown first.
    """
    parameters = signature(function).parameters

    @wraps(function)
    def either(tree: Any, *args: P.args, **options: P.kwargs) -> R:
        if not isinstance(tree, Tree):
            model = as_model(tree, function.__name__)
            answers = {
                "unknown": model.unknown, "smoothing": model.smoothing, "target": model.target,
                "swapped": model.swapped,
            }  # fmt: skip
            for name in answers.keys() & parameters.keys():
                options.setdefault(name, answers[name])
            tree = model.tree
        return function(tree, *args, **options)

    return either  # type: ignore[return-value]  # the tree may be given by name, too


def learned(name: str, description: str) -> Any:
    """What a model has, as an attribute of the classifier; there is none before ``fit``."""
    of_model = attrgetter(name)

    def attribute(self: Any) -> Any:
        return of_model(as_model(self, name))

    return property(attribute, doc=description)


# The first parameter of a function, in its description.
_FIRST = re.compile(r"(\nParameters\n-+\n)\w+(?: : .*)?\n(?:    .*\n)*")


def as_method(
    function: Callable[Concatenate[Any, P], R], *, listed: bool = True
) -> Callable[Concatenate[Any, P], R]:
    """A function of a model as a method of the classifier, described as one.

    ``listed``: the function is in the reference, and has the examples.
    """

    @wraps(function)
    def method(self: Any, /, *args: P.args, **options: P.kwargs) -> R:
        return function(self, *args, **options)

    parameters = signature(function).parameters
    own = [f"``{name}``" for name in ("unknown", "smoothing") if name in parameters]
    text = cleandoc(function.__doc__ or "")
    if listed:
        text, _, _ = text.partition("\n\nExamples\n")
    summary, *others = _FIRST.sub(r"\1", text, count=1).split("\n\n")
    if own:
        others.insert(0, f"By default taken from the classifier: {', '.join(own)}.")
    if listed:
        name = f"{function.__module__.rpartition('.')[0]}.{function.__name__}"
        others.append(f"See Also\n--------\n{name} : The same as a function, also of a tree.")
    method.__doc__ = "\n\n".join([summary, *others])
    return method
