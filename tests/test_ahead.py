"""A thread reads the next items while one is used."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from itertools import count

import pytest

from treebound._utils.ahead import read_ahead


@pytest.mark.parametrize("n_items", [1, 2, 5])
def test_items_are_in_order(n_items):
    for n in (0, 1, 2, 7, 100):
        assert list(read_ahead(iter(range(n)), n_items)) == list(range(n))
    assert list(read_ahead([None, None], n_items)) == [None, None]


@pytest.mark.parametrize("n_items", [1, 2, 5])
def test_no_more_items_are_read_than_stated(n_items):
    seen = []

    def items():
        for item in range(20):
            seen.append(item)
            yield item

    for item in read_ahead(items(), n_items):
        deadline = time.monotonic() + 10
        while len(seen) < min(20, item + 1 + n_items) and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(0.005)  # for an item too many
        assert len(seen) == min(20, item + 1 + n_items)


def test_another_thread_reads():
    threads = {threading.get_ident()}

    def items():
        for _ in range(3):
            threads.add(threading.get_ident())
            yield

    assert len(list(read_ahead(items(), 2))) == 3
    assert len(threads) == 2


@pytest.mark.parametrize("kind", [ValueError, StopIteration, KeyboardInterrupt])
def test_an_error_is_raised_after_the_items_before_it(kind):
    class Failing:
        numbers = count()

        def __iter__(self):
            return self

        def __next__(self):
            number = next(self.numbers)
            if number == 3:
                raise kind("here")
            return number

    read = []
    if kind is StopIteration:
        read.extend(read_ahead(Failing(), 2))
    else:
        with pytest.raises(kind, match="here"):
            read.extend(read_ahead(Failing(), 2))
    assert read[:3] == [0, 1, 2]


def waits_until(condition):
    deadline = time.monotonic() + 30
    while not condition() and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.01)
    return condition()


def test_the_thread_ends_if_the_iteration_is_stopped():
    closed, threads = threading.Event(), []

    def items():
        threads.append(threading.current_thread())
        try:
            yield from count()
        finally:
            closed.set()

    ahead = read_ahead(items(), 2)
    assert next(ahead) == 0
    ahead.close()
    assert waits_until(closed.is_set)
    assert waits_until(lambda: not threads[0].is_alive())


def test_stopping_does_not_wait_for_the_item_in_progress():
    release, stopped = threading.Event(), threading.Event()

    def items():
        yield 0
        release.wait(60)
        yield 1

    def stop():
        ahead = read_ahead(items(), 2)
        next(ahead)
        ahead.close()
        stopped.set()

    thread = threading.Thread(target=stop)
    thread.start()
    assert stopped.wait(30)  # and items still waits
    release.set()
    thread.join()


# The first item is used while the second one takes a minute.
_SCRIPT = """
import os, signal, sys, threading, time
from treebound._utils.ahead import read_ahead

def items():
    yield 0
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
    time.sleep(60)

signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    for item in read_ahead(items(), 2):
        pass
except KeyboardInterrupt:
    print("interrupted", flush=True)
os._exit(0)
"""


@pytest.mark.skipif(os.name != "posix", reason="sends itself a POSIX signal")
def test_an_interrupt_is_answered_while_an_item_is_read():
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT], capture_output=True, text=True, timeout=50
    )
    assert done.stdout == "interrupted\n", done.stderr


def test_a_process_ends_whose_iteration_was_not_closed():
    script = (
        "from itertools import count\n"
        "from treebound._utils.ahead import read_ahead\n"
        "ahead = read_ahead(count(), 2)\n"
        "print(next(ahead))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=50
    )
    assert (done.stdout, done.stderr, done.returncode) == ("0\n", "", 0)
