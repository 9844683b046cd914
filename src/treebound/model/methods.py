"""Functions of a model, and methods of the classifier made of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from inspect import cleandoc
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


def learned(name: str, description: str) -> Any:
    """What a model has, as an attribute of the classifier; there is none before ``fit``."""
    of_model = attrgetter(name)

    def attribute(self: Any) -> Any:
        return of_model(as_model(self, name))

    return property(attribute, doc=description)


# The first parameter of a function, in its description, and the heading if it is the only one.
_FIRST = re.compile(r"(\nParameters\n-+\n)\w+(?: : .*)?\n(?:    .*\n)*(?=\S)")
_ONLY = re.compile(r"\nParameters\n-+\n\w+(?: : .*)?\n(?:    .*\n)*\n")


def as_method(
    function: Callable[Concatenate[Any, P], R], *, listed: bool = True
) -> Callable[Concatenate[Any, P], R]:
    """A function of a model as a method of the classifier, described as one.

    ``listed``: the function is in the reference, and has the examples.
    """

    @wraps(function)
    def method(self: Any, /, *args: P.args, **options: P.kwargs) -> R:
        return function(self, *args, **options)

    text = cleandoc(function.__doc__ or "")
    if listed:
        text, _, _ = text.partition("\n\nExamples\n")
    summary, *others = _FIRST.sub(r"\1", _ONLY.sub("\n", text), count=1).split("\n\n")
    if listed:
        name = f"{function.__module__.rpartition('.')[0]}.{function.__name__}"
        others.append(f"See Also\n--------\n{name} : The same as a function, also of a tree.")
    method.__doc__ = "\n\n".join([summary, *others])
    return method
