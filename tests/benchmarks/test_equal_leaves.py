"""Which draws the benchmark of trees of equal size runs."""

from argparse import Namespace

import equal_leaves
from equal_leaves import METHODS, QUICK, REFERENCE, SIZES, first_tasks, other_draws
from evidence import CUT_OFF, Task

OPTIONS = Namespace(draws=5, optimal_draws=2, limit=5.0)


def test_slow_methods_have_all_draws_only_where_their_first_draws_are_quick(monkeypatch) -> None:
    monkeypatch.setattr(equal_leaves, "method_version", lambda name, limit: "1.0")
    first = first_tasks(["quick", "slow", "cut off"], list(METHODS), OPTIONS)
    draws = {task.draw for task in first if task.method == f"{REFERENCE}, free"}
    assert draws == {0, 1, 2, 3, 4}
    assert {task.draw for task in first if task.method == "pystreed, 8"} == {0, 1}
    assert {task.draw for task in first if task.method == "scikit-learn, best-first, 8"} == draws
    assert {task.draw for task in first if task.method == "scikit-learn, depth, free"} == {0, 1}
    assert not any(task.method == "pycontree, free" for task in first)

    figures = {"quick": {"seconds": QUICK}, "slow": {"seconds": 1.1 * QUICK}, "cut off": CUT_OFF}
    further = other_draws({task: figures[task.table] for task in first}, OPTIONS)
    assert {task.table for task in further} == {"quick"}
    assert {task.draw for task in further} == {2, 3, 4}
    complete = {(task.draw, task.method) for task in [*first, *further] if task.table == "quick"}
    methods = [f"{name}, {size}" for name in METHODS for size in SIZES]
    methods.remove("pycontree, free")
    assert complete == {(draw, method) for draw in draws for method in methods}


def test_one_failure_leaves_out_the_other_draws() -> None:
    replies = [{"seconds": 0.1}, CUT_OFF]
    results = {Task("t", at, "imodels, 4", "1.0"): reply for at, reply in enumerate(replies)}
    assert other_draws(results, OPTIONS) == []
