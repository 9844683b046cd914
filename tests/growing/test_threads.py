"""The tree is the same in every array for every number of threads."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from test_histograms import random_problem

from treebound import BoundTreeClassifier
from treebound._utils._pool import each
from treebound.growing._memory import grow_arrays

THREADS = (2, 3, 8, 16)


def assert_equal_for_all_threads(rng, max_rows, threads=THREADS):
    arguments, options = random_problem(rng, max_rows)
    kernel = {"crossing": [None, 2, 10, 50, 2**62][rng.integers(5)]}
    expected = grow_arrays(*arguments, options=options, **kernel)
    for n_threads in threads:
        results = grow_arrays(
            *arguments, options=options, **kernel, n_threads=n_threads, thread_values=1
        )
        for name, array in expected.items():
            np.testing.assert_array_equal(results[name], array, err_msg=f"{name} {n_threads}")


@pytest.mark.parametrize("part", range(4))
def test_small_tables(part):
    """Subtrees are grown by threads as soon as there are two."""
    for seed in range(100):
        assert_equal_for_all_threads(np.random.default_rng([200 + part, seed]), 400)


@pytest.mark.parametrize("seed", range(6))
def test_large_tables(seed):
    """Rows of a node are shared by blocks, too."""
    rng = np.random.default_rng([300, seed])
    assert_equal_for_all_threads(rng, 60_000, [int(rng.choice(THREADS))])


@pytest.mark.heavy
@pytest.mark.parametrize("part", range(20))
def test_thousands_of_tables(part):
    for seed in range(250):
        rng = np.random.default_rng([400 + part, seed])
        assert_equal_for_all_threads(rng, 400 if seed % 10 else 30_000)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("noise", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("max_leaves", [-1, 60])
def test_columns_of_a_large_table(n_classes, noise, max_leaves):
    """Coding, counting, dividing and sorting by blocks; subtrees of hundreds of rows."""
    rng = np.random.default_rng(n_classes)
    n = 70_000
    columns = [*rng.normal(size=(6, n)), rng.integers(0, 50, n).astype(float)]
    score = columns[0] + columns[1] * columns[2] + columns[6] / 25
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    y = np.where(rng.random(n) < noise, rng.integers(0, n_classes, n), y).astype(np.int32)
    none = [0] * len(columns)
    options = {
        "criterion": 0, "by_impurity": False, "max_leaves": max_leaves, "max_depth": 2**31 - 1,
        "min_samples_leaf": 20, "min_weight": 0, "min_samples_split": 2, "min_gain": 0.0,
        "thresholds": 0,
    }  # fmt: skip
    arguments = (columns, y, None, n_classes, none, none, none)
    expected = grow_arrays(*arguments, options=options)
    for n_threads in (2, 7):
        results = grow_arrays(*arguments, options=options, n_threads=n_threads)
        for name, array in expected.items():
            np.testing.assert_array_equal(results[name], array, err_msg=f"{name} {n_threads}")


def test_a_fit_with_folds():
    """Folds, their subtrees and prediction share threads; nothing depends on how many they are."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50_000, 4))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=len(X)) > 0).astype(int)
    first, *rest = [BoundTreeClassifier(n_jobs=jobs).fit(X, y) for jobs in (1, 2, 5)]
    for other in rest:
        assert other.pruning_result_.choice == first.pruning_result_.choice
        np.testing.assert_array_equal(other.predict_proba(X), first.predict_proba(X))
        for name in ("feature", "threshold", "counts", "rows"):
            for tree, same in ((first.tree_, other.tree_), (first.grown_tree_, other.grown_tree_)):
                np.testing.assert_array_equal(getattr(same, name), getattr(tree, name))


# -- the pool ----------------------------------------------------------------------------------


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_results_are_in_order(n_threads):
    assert each(lambda k: k * k, range(50), n_threads) == [k * k for k in range(50)]


def test_no_more_threads_than_requested():
    """Not even where calls are nested, and whoever calls counts too."""
    running, most, lock = 0, 0, threading.Lock()

    def leaf(_):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        threading.Event().wait(0.002)
        with lock:
            running -= 1

    each(lambda _: each(leaf, range(6), 3), range(6), 3)
    assert 1 < most <= 3


def test_a_caller_that_waits_helps_with_loops_inside_its_items():
    """Of two threads one has no item left: the two items inside the other need both at once."""
    both, started = threading.Barrier(2, timeout=60), threading.Barrier(2, timeout=60)
    helped = []

    def inner(_):
        both.wait()
        helped.append(threading.get_ident())

    def outer(_):
        started.wait()
        if threading.current_thread() is not threading.main_thread():
            each(inner, range(2), 2)

    each(outer, range(2), 2)
    assert len(set(helped)) == 2


def test_nested_loops_of_several_callers_are_done_once():
    done = [np.zeros((4, 5, 6), dtype=int) for _ in range(3)]

    def call(counts):
        for _ in range(30):
            each(lambda i: each(lambda j: each(lambda k: count(counts, i, j, k), range(6)),
                                range(5)), range(4), 3)  # fmt: skip

    def count(counts, i, j, k):
        counts[i, j, k] += 1

    callers = [threading.Thread(target=call, args=(counts,)) for counts in done]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert all((counts == 30).all() for counts in done)


def test_an_error_is_that_of_the_call():
    def fails(k):
        if k == 3:
            raise ValueError("three")
        return k

    with pytest.raises(ValueError, match="three"):
        each(fails, range(8), 4)
    assert each(lambda k: k, range(8), 4) == list(range(8))


def test_a_helper_that_joins_as_a_loop_ends():
    """It must not take an item of the next loop, under a number that another helper has."""
    rng = np.random.default_rng(0)
    columns, y = rng.integers(0, 40, (2, 300)).astype(float), rng.integers(0, 2, 300)
    options = {
        "criterion": 0, "by_impurity": False, "max_leaves": 100, "max_depth": 2**31 - 1,
        "min_samples_leaf": 1, "min_weight": 0, "min_samples_split": 2, "min_gain": 0.0,
        "thresholds": 0,
    }  # fmt: skip
    arguments = (list(columns), y.astype(np.int32), None, 2, [0, 0], [0, 0], [0, 0])
    expected = grow_arrays(*arguments, options=options, crossing=2)
    for attempt in range(2_000):  # of many loops of two items
        results = grow_arrays(
            *arguments, options=options, crossing=2, n_threads=2 + attempt % 2, thread_values=1
        )
        for name, array in expected.items():
            np.testing.assert_array_equal(results[name], array, err_msg=f"{name} {attempt}")


def test_several_callers_at_once():
    results = {}

    def caller(name):
        results[name] = [each(lambda k: k + name, range(20), 3) for _ in range(50)]

    callers = [threading.Thread(target=caller, args=(name,)) for name in range(4)]
    for thread in callers:
        thread.start()
    for thread in callers:
        thread.join()
    for name in range(4):
        assert results[name] == [[k + name for k in range(20)]] * 50


_FORK = """
import os
from treebound import BoundTreeClassifier
from treebound._utils._pool import each

print(each(lambda k: k, range(4), 3))
child = os.fork()
print(each(lambda k: k + 1, range(4), 3), flush=True)
if child:
    print(os.waitpid(child, 0)[1])
else:
    os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_forked_process_has_threads_of_its_own():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _FORK], capture_output=True, text=True, timeout=60
    )
    assert done.stdout.splitlines()[-1] == "0", done.stderr
    assert done.stdout.count("[1, 2, 3, 4]") == 2


_IDLE = """
import time
from treebound import BoundTreeClassifier
from treebound._utils._pool import each

each(lambda k: sum(range(100_000)), range(40), 4)
time.sleep(0.1)
before = time.process_time()
time.sleep(0.5)
print(time.process_time() - before < 0.05)
"""


def test_threads_sleep_while_there_is_nothing_to_do():
    done = subprocess.run([sys.executable, "-c", _IDLE], capture_output=True, text=True)
    assert done.stdout == "True\n", done.stderr
