"""How fast the page of an editor reacts, in a headless Chromium.

    python benchmarks/editor.py [--rows 100000]

Prints the milliseconds from an action to the page that shows its result, in the page's own clock:
a click on a node until its facts and until all alternatives with histograms are shown, a moved
threshold until its preview, and each step until the tree is drawn again. The aim is 100 ms. The
medians are stored in benchmarks/results/editor.json.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
from evidence import RESULTS, commit, now, save

import treebound as tb
from treebound.edit.page import EditorPage
from treebound.edit.server import serve

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from browser import chromium  # type: ignore[import-not-found]

# Run an action and wait until a condition holds; the result is the time in milliseconds.
TIMED = """
const done = arguments[0], begin = performance.now();
%s;
const look = () => {
  if (%s) requestAnimationFrame(() => done(performance.now() - begin));
  else setTimeout(look, 1);
};
look();
"""
CLICK = (
    "document.querySelector('.node[data-key=\"{}\"]')"
    ".dispatchEvent(new MouseEvent('click', {{bubbles: true}}))"
)
SHOWN = "chosen.key === '{0}' && at('h-node').textContent === placeOfNode('{0}')"
LISTED = "chosen.node?.key === '{}' && document.querySelector('.candidate')"
STEPPED = "data.version === {} && chosen.node !== null"


def table(rows: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Fourteen columns of real numbers, one of categories and one of whole numbers."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"c{at}": rng.normal(size=rows) for at in range(14)})
    X["kind"], X["count"] = rng.choice(list("abcdef"), rows), rng.integers(0, 50, rows)
    score = X["c0"] + X["c1"] * (X["kind"] == "a") + rng.normal(scale=0.5, size=rows)
    return X, np.where(score > 0, "yes", "no")


def timed(driver: Any, action: str, condition: str) -> float:
    return float(driver.execute_async_script(TIMED % (action, condition)))


def measured(driver: Any, repeats: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {}
    version = 0

    def add(name: str, action: str, condition: str) -> None:
        times.setdefault(name, []).append(timed(driver, action, condition))

    for _ in range(repeats):
        for key, name in (("L", "a node"), ("root", "the root")):
            path = "" if key == "root" else key
            add(f"click on {name}: its facts", CLICK.format(key), SHOWN.format(path))
            add(f"click on {name}: its alternatives, after that", "0", LISTED.format(path))
        driver.execute_script("document.querySelector('[data-column=\"1\"]').click()")
        move = (
            "document.querySelector('.preview').textContent = '';"
            "const range = document.querySelector('.candidate.open input[type=range]');"
            "range.value = 0.3; range.dispatchEvent(new Event('input'))"
        )
        add("move a threshold: its preview", move, "document.querySelector('.preview').textContent")
        for name, command in (
            ("replace a split", "{do: 'split', node: '', text: 'c0 <= 0.1', keep: true}"),
            ("best split of a column", "{do: 'use', node: 'L', column: 'c1', keep: false}"),
            ("collapse a subtree", "{do: 'collapse', node: 'R'}"),
            ("relabel a leaf", "{do: 'relabel', node: 'R', label: 0}"),
            ("grow a subtree", "{do: 'grow', node: 'R', max_leaves: 3}"),
            ("swap branches", "{do: 'swap', node: ''}"),
            ("undo", "{do: 'undo'}"),
            ("redo", "{do: 'redo'}"),
            *[("undo", "{do: 'undo'}")] * 6,
        ):
            version += 1
            add(name, f"act({command})", f"data.version === {version}")
            timed(driver, "0", STEPPED.format(version))
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=5)
    chosen = parser.parse_args()
    X, y = table(chosen.rows)
    clf = tb.BoundTreeClassifier(max_leaves=30, pruning=None).fit(X, y)
    page = EditorPage(clf.edit(X, y), title="Edit")
    address: list[str] = []
    started = {"started": address.append}
    threading.Thread(target=serve, args=(page,), kwargs=started, daemon=True).start()
    while not address:
        time.sleep(0.05)
    with chromium() as driver:
        driver.get(address[0])
        driver.set_script_timeout(60)
        timed(driver, "0", LISTED.format(""))
        times = measured(driver, chosen.repeats)
    size = {"rows": chosen.rows, "columns": X.shape[1], "leaves": clf.n_leaves_}
    medians = {name: round(median(values), 1) for name, values in times.items()}
    print(*(f"{count:,} {things}" for things, count in size.items()), sep=", ", end="; ")
    print(f"median of {chosen.repeats}")
    for name, milliseconds in medians.items():
        print(f"{name:<42} {milliseconds:7.0f} ms")
    head = {"date": now(), "commit": commit(), "repeats": chosen.repeats}
    save(RESULTS, "editor", {**head, **size, "milliseconds": medians})


if __name__ == "__main__":
    main()
