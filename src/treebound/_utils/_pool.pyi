from collections.abc import Callable, Iterable
from typing import TypeVar

_T = TypeVar("_T")
_R = TypeVar("_R")

def each(function: Callable[[_T], _R], items: Iterable[_T], n_threads: int) -> list[_R]: ...
