"""Ctrl-C stops growing long before the tree is done."""

import os
import subprocess
import sys

import pytest

# Grows for as long as it takes, and is interrupted from a thread of its own.
_SCRIPT = """
import os, signal, sys, threading
import numpy as np
from treebound.data import Sample
from treebound.growing import GrowOptions, grow
from treebound.growing.graph import search

rng = np.random.default_rng(0)
sample = Sample.learn(rng.normal(size=(20_000, 200)), rng.integers(0, 2, 20_000))
# A background job ignores interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    for _ in range(100):
        {"grow": grow, "search": search}[sys.argv[1]](sample, GrowOptions(n_jobs=int(sys.argv[2])))
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize("jobs", ["1", "3"])
@pytest.mark.parametrize("function", ["grow", "search"])
@pytest.mark.skipif(os.name != "posix", reason="sends itself a POSIX signal")
def test_an_interrupt_is_answered_while_growing(function, jobs):
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, function, jobs], capture_output=True, text=True
    )
    assert done.stdout == "interrupted\n", done.stderr
