"""Items of an iterator that are read before they are needed."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

T = TypeVar("T")
_END: Any = object()
_GLANCE = 0.1  # seconds between two looks for Ctrl-C, which Windows does not notice in a wait


def read_ahead(items: Iterable[T], n_items: int) -> Iterator[T]:
    """Yield the items in order; a thread reads up to ``n_items`` more while one is used.

    An error of the iterable is raised after the items before it. If the iteration stops early, the
    thread ends after the item that it is reading; nothing waits for it but the end of the process.
    """
    iterator, ahead = iter(items), deque[Future[T]]()
    reader = ThreadPoolExecutor(1, "treebound-reader")
    try:
        for _ in range(n_items):
            ahead.append(reader.submit(next, iterator, _END))
        while True:
            while not ahead[0].done():
                wait([ahead[0]], _GLANCE)
            item = ahead.popleft().result()
            if item is _END:
                return
            ahead.append(reader.submit(next, iterator, _END))
            yield item
            del item  # not in memory in addition to those ahead
    finally:
        reader.shutdown(wait=False, cancel_futures=True)
