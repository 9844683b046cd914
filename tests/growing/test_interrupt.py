"""Ctrl-C stops growing long before the tree is done."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from treebound.growing import grow
from treebound.tree import Column


@pytest.mark.skipif(os.name != "posix", reason="sends itself a POSIX signal")
def test_an_interrupt_is_answered_while_growing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 200))
    y = rng.integers(0, 2, len(X))
    columns = [Column(f"x{j}") for j in range(X.shape[1])]
    done = threading.Event()

    def interrupt():
        time.sleep(0.1)
        if not done.is_set():
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        thread.start()
        for _ in range(100):  # until it comes, however fast the machine
            grow(X, y, columns, [0, 1])
    done.set()
    thread.join()
