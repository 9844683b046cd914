from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self, TypeVar

_T = TypeVar("_T")
_R = TypeVar("_R")

class Threads:
    def __init__(self, n_threads: int) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...

def each(
    function: Callable[[_T], _R], items: Iterable[_T], n_threads: int | None = None
) -> list[_R]: ...
def threads_in_context() -> int: ...
def blocks(n_rows: int, width: int = 1) -> list[tuple[int, int]]: ...
