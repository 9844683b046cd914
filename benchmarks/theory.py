"""How long growth functions and VC dimensions take.

    python benchmarks/theory.py

Prints the goals with what was measured, and a table of how the time grows with the examples, the
leaves and the classes; keeps both as benchmarks/results/theory.json. Only the closed and the fast
forms are timed with warm caches, all others as the first call.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import treebound as tb
from treebound._utils.files import write_text
from treebound.bounds._cache import SizedCache

RESULTS = Path(__file__).parent / "results"
REAL = tb.Landscape(real=20)
MIXED = tb.Landscape(real=10, ordinal=(3, 5), nominal=(2, 4))
WIDER = tb.Landscape(real=5, ordinal=(3, 5), nominal=(2, 4, 10))
FORMS = ("closed", "chain", "fast", "tight", "chain-sum", "best")
LANDSCAPES = {"20 real": REAL, "mixed": MIXED}


def chain(leaves: int) -> tb.TreeShape:
    """A caterpillar."""
    shape = leaf = tb.TreeShape.leaf()
    for _ in range(leaves - 1):
        shape = tb.TreeShape.node(shape, leaf)
    return shape


def balanced(height: int) -> tb.TreeShape:
    """The complete shape with ``2**height`` leaves."""
    shape = tb.TreeShape.leaf()
    for _ in range(height):
        shape = tb.TreeShape.node(shape, shape)
    return shape


def bushy(leaves: int) -> tb.TreeShape:
    """A shape between both: a third of the leaves on one side."""
    if leaves < 3:
        return balanced(leaves - 1)
    return tb.TreeShape.node(bushy(leaves - leaves // 3), bushy(leaves // 3))


def seconds(job: Callable[[], Any], *, calls: int = 1, repeat: int = 3) -> float:
    """Processor time of one call, the least of a few runs."""
    best = float("inf")
    for _ in range(repeat):
        start = time.process_time()
        for _ in range(calls):
            job()
        best = min(best, (time.process_time() - start) / calls)
    return best


def growth(
    shape: tb.TreeShape, m: int, landscape: tb.Landscape, form: str, n_classes: int = 2
) -> Callable[[], float]:
    """A job with another number of examples every time."""
    sizes = count(m)
    return lambda: tb.bounds.log_growth(shape, next(sizes), n_classes, landscape, form=form)


def all_dimensions(landscape: tb.Landscape) -> None:
    """VC dimensions of every shape with up to eight leaves."""
    for leaves in range(1, 9):
        for shape in tb.TreeShape.enumerate(leaves):
            tb.bounds.vc_dimension(shape, landscape)


def forget() -> None:
    """Empty every cache of the bounds, so that the next call is timed as the first."""
    for name, module in list(sys.modules.items()):
        if name.startswith("treebound.bounds"):
            for value in list(vars(module).values()):
                if isinstance(value, SizedCache):
                    value.clear()
                elif hasattr(value, "cache_clear"):
                    value.cache_clear()


def first_call(job: Callable[[], Any]) -> Callable[[], Any]:
    """The job with empty caches."""

    def first() -> Any:
        forget()
        return job()

    return first


def goals() -> Iterable[tuple[str, float, float]]:
    """Name, seconds allowed, seconds taken."""
    ten = tb.Landscape(real=10)
    for name, landscape in LANDSCAPES.items():
        for kind, shape in {"chain": chain(75), "bushy": bushy(75)}.items():
            for form, allowed in (("closed", 20e-6), ("chain", 20e-6), ("fast", 100e-6)):
                job = growth(shape, 10**6, landscape, form)
                yield (
                    f"{form}, 75-leaf {kind}, m about 10^6, {name}",
                    allowed,
                    seconds(job, calls=500, repeat=7),
                )
        for most, m in ((75, 4000), (10_000, 10**6)):
            leaves = np.arange(1, most + 1)
            job = lambda m=m, leaves=leaves, landscape=landscape: tb.bounds.log_growth_leaves(  # noqa: E731
                leaves, m, 2, landscape
            )
            work = f"all trees, 1 to {most:,} leaves at once, m = {m:,}, {name}"
            yield work, 200e-6 if most == 75 else 20e-3, seconds(job, calls=20, repeat=7)
    for kind in ("tight", "chain-sum"):
        job = first_call(growth(chain(200), 1000, MIXED, kind, n_classes=1000))
        yield f"{kind}, 200-leaf chain, 1,000 classes, m = 1,000, mixed", 2.0, seconds(job)
    for name, landscape in {**LANDSCAPES, "wider": WIDER}.items():
        job = first_call(growth(chain(75), 2000, landscape, "tight"))
        yield f"tight, 75-leaf chain, m = 2,000, {name}", 2.0, seconds(job)
    for name, landscape in {"10 real": ten, "mixed": MIXED, "wider": WIDER}.items():
        job = first_call(partial(all_dimensions, landscape))
        yield f"VC dimension, all 49 shapes up to 8 leaves, {name}", 1.0, seconds(job)
        for kind, shape in {"balanced": balanced(5), "chain": chain(32)}.items():
            job = first_call(partial(tb.bounds.vc_dimension, shape, landscape))
            yield f"VC dimension, 32-leaf {kind}, {name}", 10.0, seconds(job, repeat=2)


def scaling() -> Iterable[dict[str, Any]]:
    """How the time of each form grows with one of m, leaves and classes."""
    for m in (250, 500, 1000, 2000, 4000):
        yield row("m", m, bushy(30), m, 2)
    for leaves in (5, 10, 20, 40, 80):
        yield row("leaves", leaves, bushy(leaves), 1000, 2)
    for n_classes in (2, 3, 5, 10, 100, 1000):
        yield row("classes", n_classes, bushy(10), 1000, n_classes)


def row(varied: str, value: int, shape: tb.TreeShape, m: int, n_classes: int) -> dict[str, Any]:
    """Seconds of every form at one point: sums over part sizes with empty caches."""
    times = {}
    for form in FORMS:
        job = growth(shape, m, MIXED, form, n_classes)
        if form in ("closed", "chain", "fast"):
            times[form] = seconds(job, calls=200)
        else:
            times[form] = seconds(first_call(job))
    return {"varied": varied, "value": value, **times}


def human(taken: float) -> str:
    """Seconds in the unit that reads best."""
    if taken < 1e-3:
        return f"{taken * 1e6:.1f} us"
    return f"{taken * 1e3:.1f} ms" if taken < 1 else f"{taken:.2f} s"


def main() -> None:
    """Measure, print, keep."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    console = Console(width=110)
    table = Table(title="Goals")
    for heading in ("what", "goal", "taken", ""):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    met = []
    for name, allowed, taken in goals():
        met.append({"what": name, "goal": allowed, "seconds": taken})
        table.add_row(name, human(allowed), human(taken), "met" if taken <= allowed else "missed")
    console.print(table)
    growing = Table(title="Time as one size grows (mixed landscape; m = 1,000, 2 classes else)")
    for heading in ("varied", "value", *FORMS):
        growing.add_column(heading, justify="left" if heading == "varied" else "right")
    rows = list(scaling())
    for one in rows:
        forms = (human(one[form]) for form in FORMS)
        growing.add_row(one["varied"], f"{one['value']:,}", *forms)
    console.print(growing)
    RESULTS.mkdir(exist_ok=True)
    document = {"python": platform.python_version(), "goals": met, "scaling": rows}
    write_text(RESULTS / "theory.json", json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
