"""Parameters with scikit-learn's interface, without importing it."""

from __future__ import annotations

from inspect import signature
from typing import Any, Self

__all__ = ["Parameters"]


class Parameters:
    """An object whose parameters are the arguments of ``__init__``, stored as attributes.

    This supports ``sklearn.base.clone``, model selection and nested parameters such as
    ``pruning__weight``.
    """

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        """All parameters and their defaults."""
        if cls.__init__ is object.__init__:
            return {}
        given = list(signature(cls.__init__).parameters.values())[1:]
        return {one.name: one.default for one in given}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name.

        Parameters
        ----------
        deep : bool
            Whether to include nested parameters, as ``outer__inner``.
        """
        found: dict[str, Any] = {}
        for name in sorted(self._defaults()):
            value = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                inner = value.get_params().items()
                found.update((f"{name}__{key}", one) for key, one in inner)
            found[name] = value
        return found

    def set_params(self, **params: Any) -> Self:
        """Change some parameters.

        Parameters
        ----------
        **params
            By name; ``outer__inner`` is a nested parameter.

        Raises
        ------
        ValueError
            If there is no parameter of a name.
        """
        known = sorted(self._defaults())
        inner: dict[str, dict[str, Any]] = {}
        for key, value in params.items():
            name, nested, rest = key.partition("__")
            if name not in known:
                raise ValueError(
                    f"Invalid parameter {name!r} for {type(self).__name__}. "
                    f"Hint: its parameters are {', '.join(map(repr, known))}."
                )
            if nested:
                inner.setdefault(name, {})[rest] = value
            else:
                setattr(self, name, value)
        for name, values in inner.items():
            getattr(self, name).set_params(**values)
        return self

    def __repr__(self) -> str:
        """The constructor call, without default parameters."""
        changed = [
            f"{name}={getattr(self, name)!r}"
            for name, default in self._defaults().items()
            if not _same(getattr(self, name), default)
        ]
        return f"{type(self).__name__}({', '.join(changed)})"


def _same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and repr(value) == repr(default))
