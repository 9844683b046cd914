"""Caches that are bounded by the memory of what they keep, shared by all calls."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

from treebound.shapes import TreeShape

Value = TypeVar("Value")


class SizedCache(Generic[Value]):
    """The values used last, up to a total size."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.size = 0
        self._lock = Lock()
        self._kept: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()

    def get(self, key: Hashable) -> Value | None:
        """The value of a key, or None."""
        with self._lock:
            entry = self._kept.get(key)
            if entry is None:
                return None
            self._kept.move_to_end(key)
            return entry[0]

    def put(self, key: Hashable, value: Value, size: int) -> None:
        """Keep a value; what was not used for longest is dropped when there is too much."""
        with self._lock:
            old = self._kept.pop(key, None)
            self.size += size - (old[1] if old else 0)
            self._kept[key] = (value, size)
            while self.size > self.limit:
                _, (_, dropped) = self._kept.popitem(last=False)
                self.size -= dropped

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._kept.clear()
            self.size = 0


def from_below(
    shape: TreeShape,
    lookup: Callable[[TreeShape], Value | None],
    compute: Callable[[TreeShape, dict[TreeShape, Value]], Value],
) -> Value:
    """The value of a shape from those of its subtrees; what is kept is not computed again."""
    value = lookup(shape)
    if value is not None:
        return value
    values: dict[TreeShape, Value] = {}
    for part in shape.subshapes():
        value = lookup(part)
        values[part] = compute(part, values) if value is None else value
    return values[shape]
