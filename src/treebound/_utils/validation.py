"""Parameters of objects and functions: constraints, errors, and scikit-learn's interface."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from functools import cache, wraps
from inspect import cleandoc, signature
from math import inf
from numbers import Integral, Real
from operator import index
from typing import Any, ClassVar, Protocol, Self, SupportsIndex, TypeVar, dataclass_transform


class InWords(str):
    """Description of a value that an error shows instead of the value."""

    __repr__ = str.__str__


@dataclass(frozen=True)
class Setting:
    """A parameter that an error names, and the value that is meant; interfaces word it."""

    name: str
    value: object = None
    python: str = ""  # words of the library other than the name and the value
    of: str = ""  # the command that has the option, if it is not the one that is called

    def in_python(self) -> str:
        """Return the words of the library."""
        return self.python or (repr(self.name) if self.value is None else f"{self!s}")

    def __str__(self) -> str:
        return f"{self.name}={self.value!r}"


@dataclass(frozen=True)
class Phrase:
    """Words that differ between the library and the command line."""

    python: str
    command_line: str

    def in_python(self) -> str:
        """Return the words of the library."""
        return self.python


# The value of a parameter that is not given.
OMITTED = Phrase("None", "omitted")
Part = str | Setting | Phrase
Hint = str | tuple[Part, ...]


def join_parts(parts: tuple[Part, ...], word: Callable[[Setting | Phrase], str]) -> str:
    """Return the text of some parts in the words of an interface."""
    return "".join(part if isinstance(part, str) else word(part) for part in parts)


def _in_python(part: Setting | Phrase) -> str:
    return part.in_python()


class WordedText(str):
    """A text of parts that interfaces word; as a ``str`` it has the words of the library."""

    parts: tuple[Part, ...]

    def __new__(cls, *parts: Part) -> Self:
        text = super().__new__(cls, join_parts(parts, _in_python))
        text.parts = parts
        return text

    def __reduce__(self) -> Any:
        return type(self), self.parts


def parts_of(text: str | None) -> tuple[Part, ...]:
    """Return the parts of a text that interfaces word; any other text is one part."""
    return text.parts if isinstance(text, WordedText) else (text or "",)


def as_clause(sentence: str) -> WordedText:
    """Return a sentence as it is written after a colon: its first letter is small."""
    first, *rest = parts_of(sentence)
    if isinstance(first, str):
        first = first[:1].lower() + first[1:]
    return WordedText(first, *rest)


class WordedError(ValueError):
    """An error of texts and settings; its message has the words of the library."""

    def __init__(self, *parts: Part) -> None:
        self.parts = parts
        super().__init__(join_parts(parts, _in_python))

    def worded(self, word: Callable[[Any], str]) -> str:
        """Return the message in the words of an interface."""
        return join_parts(self.parts, word)

    def __reduce__(self) -> Any:
        return type(self), self.parts


def invalid(name: str, owner: str, must: Hint, value: object, hint: Hint = "") -> WordedError:
    """The error for an invalid parameter of a class or function, worded as in scikit-learn."""
    of = f" of {owner}" if owner else ""
    subject = Setting(name, python=f"{name!r} parameter{of}")
    hints: tuple[Part, ...] = (" Hint: ", *_parts(hint)) if hint else ()
    got = f". Got {value!r:.200} instead."
    return WordedError("The ", subject, " must be ", *_parts(must), got, *hints)


def _parts(words: Hint) -> tuple[Part, ...]:
    return parts_of(words) if isinstance(words, str) else words


@contextmanager
def error_context(place: str) -> Iterator[None]:
    """Begin the message of a ValueError in the block with its place: a file, a batch."""
    try:
        yield
    except WordedError as error:
        raise WordedError(f"{place}: ", *error.parts) from None
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None


def as_int(name: str, owner: str, value: object, least: int, must: str = "an int") -> int:
    """``value`` as an int of at least ``least``, or the error of the parameter."""
    if type(value) is int and value >= least:
        return value
    number = least - 1
    # bool is an int to Python, but True examples are never what was meant.
    if isinstance(value, SupportsIndex) and not isinstance(value, bool):
        # An array has an index too, but only one of no dimension gives it.
        with suppress(TypeError):
            number = index(value)
    if number < least:
        raise invalid(name, owner, f"{must} >= {least}", value)
    return number


class Constraint(Protocol):
    """A condition on a parameter, as a test and in words."""

    @property
    def must(self) -> str: ...

    def allows(self, value: Any) -> bool: ...


@dataclass(frozen=True)
class OneOf:
    """One of a few names, which may include None, or a number."""

    choices: tuple[str | None, ...]
    number: Constraint | None = None

    @property
    def must(self) -> str:
        names = "one of " + ", ".join(map(repr, self.choices))
        return names if self.number is None else f"{names}, or {self.number.must}"

    def allows(self, value: Any) -> bool:
        if value is None or isinstance(value, str):
            return value in self.choices
        return self.number is not None and self.number.allows(value)


def _or_none(words: str, optional: bool) -> str:
    """Return the words of a constraint; the command line has no word for None."""
    return WordedText(words, Phrase(" or None", "")) if optional else words


@dataclass(frozen=True)
class Whole:
    """An integer of at least ``least``, or None if optional."""

    least: int
    optional: bool = False

    @property
    def must(self) -> str:
        return _or_none(f"an int >= {self.least}", self.optional)

    def allows(self, value: Any) -> bool:
        if value is None:
            return self.optional
        whole = type(value) is int or (isinstance(value, Integral) and not isinstance(value, bool))
        return whole and value >= self.least


@dataclass(frozen=True)
class Number:
    """A finite number in a range, closed unless ``open``.

    ``infinite`` also allows infinity, but not NaN.
    """

    low: float
    high: float = inf
    open: bool = False
    optional: bool = False
    infinite: bool = False

    @property
    def must(self) -> str:
        if self.low == -inf:
            words = "a number" if self.infinite else "a finite number"
        elif self.high == inf:
            words = f"a finite number {'>' if self.open else '>='} {self.low:g}"
        else:
            ends = "open interval ({}, {})" if self.open else "range [{}, {}]"
            words = "a number in the " + ends.format(f"{self.low:g}", f"{self.high:g}")
        return _or_none(words, self.optional)

    def allows(self, value: Any) -> bool:
        if value is None:
            return self.optional
        if type(value) is not float and (not isinstance(value, Real) or isinstance(value, bool)):
            return False
        try:
            number = float(value)
        except OverflowError:  # an int beyond all floats
            return False
        if self.open:
            return self.low < number < self.high
        return (self.infinite or -inf < number < inf) and self.low <= number <= self.high


@dataclass(frozen=True)
class Flag:
    """True or False."""

    must: str = "True or False"

    def allows(self, value: Any) -> bool:
        return type(value).__name__ in ("bool", "bool_")


@dataclass(frozen=True)
class Jobs:
    """A number of threads as joblib counts them."""

    must: str = WordedText("an int other than 0", Phrase(", or None", ""))

    def allows(self, value: Any) -> bool:
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        return value is None or (whole and value != 0)


@dataclass(frozen=True)
class Folds:
    """A number of folds, a cross-validation splitter, or a list of folds."""

    optional: bool = False
    most: ClassVar[int] = 1000  # each fold is a fit

    @property
    def must(self) -> str:
        listed = ", a splitter (an object with a method 'split') or a list of folds"
        if not self.optional:
            return WordedText(f"an int from 2 to {self.most:,}", Phrase(listed, ""))
        optional = Phrase(f"{listed}, or None", ", or 0 for no folds")
        return WordedText(f"an int from 2 to {self.most:,}", optional)

    def allows(self, value: Any) -> bool:
        if value is None:
            return self.optional
        if isinstance(value, str | bytes | type):  # texts have a 'split' too, but another one
            return False
        listed = isinstance(value, list) and len(value) > 0
        counted = Whole(2).allows(value) and value <= self.most
        return listed or counted or callable(getattr(value, "split", None))


def check(owner: str, values: Mapping[str, Any], constraints: Mapping[str, Constraint]) -> None:
    """Raise the error of the first invalid parameter."""
    for name, constraint in constraints.items():
        if not constraint.allows(values[name]):
            raise invalid(name, owner, constraint.must, values[name])


class Parameters:
    """An object whose parameters are the arguments of ``__init__``, stored as attributes.

    This supports ``sklearn.base.clone``, model selection and nested parameters such as
    ``pruning__weight``.
    """

    _constraints: ClassVar[dict[str, Constraint]] = {}
    _elsewhere: ClassVar[dict[str, str]] = {}  # what does the work of parameters that do not exist

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        """All parameters and their defaults."""
        return _arguments(cls.__init__)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; ``deep``: also nested ones, as ``outer__inner``."""
        values: dict[str, Any] = {}
        for name in sorted(self._defaults()):
            value = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                inner = value.get_params().items()
                values.update((f"{name}__{key}", value) for key, value in inner)
            values[name] = value
        return values

    def set_params(self, **params: Any) -> Self:
        """Change some parameters by name; ``outer__inner`` is a nested one."""
        names = sorted(self._defaults())
        inner: dict[str, dict[str, Any]] = {}
        for key, value in params.items():
            name, nested, rest = key.partition("__")
            if name not in names:
                raise ValueError(
                    f"Invalid parameter {name!r} for {type(self).__name__}. "
                    f"Hint: its parameters are {', '.join(map(repr, names))}."
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


@cache  # to read a signature takes longer than to check a few parameters
def _arguments(init: Callable[..., None]) -> dict[str, Any]:
    """The arguments of a method, and their defaults."""
    arguments = list(signature(init).parameters.values())[1:]
    return {argument.name: argument.default for argument in arguments}


def _same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and repr(value) == repr(default))


def parameter(constraint: Constraint, *, default: Any) -> Any:
    """A field of a class with parameters that must keep to a constraint."""
    return field(default=default, metadata={"constraint": constraint})


P = TypeVar("P", bound=Parameters)


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(parameter,))
def with_parameters(cls: type[P]) -> type[P]:
    """A class whose fields are parameters; one that does not exist is refused with a hint."""
    cls = dataclass(kw_only=True, eq=False, repr=False)(cls)
    declared, init = fields(cls), cls.__init__  # type: ignore[arg-type]
    names = [field.name for field in declared]

    @wraps(init)
    def checked_init(self: Any, **parameters: Any) -> None:
        for name in parameters.keys() - names:
            hint = cls._elsewhere.get(name, f"the parameters are {', '.join(names)}.")
            raise TypeError(f"{type(self).__name__} has no parameter {name!r}. Hint: {hint}")
        init(self, **parameters)

    cls.__init__ = checked_init  # type: ignore[method-assign]
    cls._constraints = constraints_of(cls)
    return cls


def constraints_of(cls: Any) -> dict[str, Constraint]:
    """Constraints of the fields of a dataclass, by name."""
    return {x.name: x.metadata["constraint"] for x in fields(cls) if x.metadata}


# The beginning of the first section of a description.
_SECTION = re.compile(r"\n\n(?=\w[\w ]*\n-+\n)|$")
_HEADING = "\n\nParameters\n----------\n"
F = TypeVar("F", bound=Callable[..., Any])


def parameters_of(source: Any) -> Callable[[F], F]:
    """Describe parameters of a function or class as another one does, unless it does itself."""
    shared = _described(source)

    def described(target: F) -> F:
        names, entries = [*signature(target).parameters], _described(target)
        summary, _, rest = cleandoc(target.__doc__ or "").partition(_HEADING)
        text = "\n\n".join([summary, *rest.split("\n\n")[1:]])
        entries = {of: entry for of, entry in shared.items() if {*of} <= {*names}} | entries
        order = sorted(entries, key=lambda of: min(map(names.index, {*of} & {*names}), default=-1))
        section = _HEADING + "\n".join(entries[of] for of in order) + "\n\n"
        target.__doc__ = _SECTION.sub(lambda _: section, text, count=1).rstrip()
        return target

    return described


def _described(source: Any) -> dict[tuple[str, ...], str]:
    """The entries of the parameters in a description, by the names that they describe."""
    section = cleandoc(source.__doc__ or "").partition(_HEADING)[2].partition("\n\n")[0]
    entries = re.split(r"\n(?=\S)", section) if section else []
    return {tuple(re.findall(r"\w+", re.split(" : |\n", entry)[0])): entry for entry in entries}
