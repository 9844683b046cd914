"""One self-contained page with the tree, the pruning path and the certificate."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import re
from importlib.resources import files
from typing import Any

import numpy as np

from treebound._files import write_text
from treebound.show.colours import class_colours
from treebound.show.path_display import certified_path, spread
from treebound.show.questions import (
    one_line,
    question,
    rounded_thresholds,
    short_number,
    typeset,
)
from treebound.tree import Tree
from treebound.tree.fitted import tree_of

__all__ = ["html_report"]


def html_report(
    source: Any,
    *,
    path: str | os.PathLike[str] | None = None,
    pruning_path: Any = None,
    certificate: Any = None,
    title: str = "Decision tree",
    max_steps: int = 150,
) -> str:
    """A page with the tree, and with a slider along the pruning path where there is one.

    The page needs no network and no other file. Nodes can be folded, zoomed and walked through
    with the keyboard; pointing at one shows its training examples; it follows the light or dark
    setting of the reader.

    Parameters
    ----------
    source : Tree or BoundTreeClassifier
        A fitted classifier brings its pruning path and its certificate along.
    path : str or path-like, optional
        Where to write the page.
    pruning_path : PruningPath, optional
        The path to show; by default that of the classifier.
    certificate : Certificate, optional
        By default that of the classifier. With one, the tree of every step is certified.
    title : str
        The heading of the page.
    max_steps : int
        On a longer path, so many steps are shown, spread evenly.

    Returns
    -------
    str
        The page.

    Examples
    --------
    >>> import treebound as tb
    >>> from sklearn.datasets import load_iris
    >>> clf = tb.BoundTreeClassifier().fit(*load_iris(return_X_y=True))
    >>> page = html_report(clf, title="Irises")
    >>> page.splitlines()[0], "<title>Irises</title>" in page
    ('<!doctype html>', True)
    """
    tree = tree_of(source, "html_report")
    if pruning_path is None:
        pruning_path = getattr(source, "pruning_path_", None)
    if certificate is None:
        certificate = getattr(source, "certificate_", None)
    page = _page(title, _document(tree, pruning_path, certificate, max_steps))
    if path is not None:
        write_text(path, page)
    return page


def _page(title: str, document: dict[str, Any]) -> str:
    """The template with everything in it. Only its own script may run, known by its hash."""
    style, script = _static("report.css"), _static("report.js")
    policy = (
        f"default-src 'none'; img-src data:; style-src {_hash(style)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = {
        "TITLE": html.escape(title),
        "POLICY": policy,
        "STYLE": style,
        "SCRIPT": script,
        "DATA": _embedded(document),
    }
    # One pass over the template: what is filled in is not looked at again.
    return re.sub(r"@([A-Z]+)@", lambda found: parts[found[1]], _static("report.html"))


def _static(name: str) -> str:
    return (files("treebound.show") / "static" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _embedded(document: dict[str, Any]) -> str:
    """JSON that cannot end its script element, whatever the names in it."""
    text = json.dumps(document, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


# -- what the page is given ------------------------------------------------------------------


def _document(tree: Tree, path: Any, certificate: Any, max_steps: int) -> dict[str, Any]:
    store = _Store(tree if path is None else path.tree(0))
    if path is None:
        risk = None if certificate is None else float(certificate.risk)
        steps = [_step(store.add(tree), 0, tree.n_leaves, tree.errors, 0.0, risk)]
        start = chosen = last = 0
        unit = "errors"
    else:
        picked = spread(path, max_steps)
        steps = _steps(store, path, picked, certificate)
        chosen, last, unit = picked.index(int(path.chosen)), len(path) - 1, str(path.unit)
        start = _start(store.add(tree), steps, chosen)
    return {
        "summary": _summary(tree, certificate),
        "classes": [one_line(label) for label in tree.classes.tolist()],
        "colours": list(class_colours(tree.n_classes)),
        "stats": store.stats,
        "tests": store.tests,
        "nodes": store.nodes,
        "steps": steps,
        "start": start,
        "chosen": chosen,
        "last": last,
        "unit": unit,
    }


def _steps(store: _Store, path: Any, picked: list[int], certificate: Any) -> list[dict[str, Any]]:
    risks: list[float | None] = [None] * len(picked)
    if certificate is not None:
        risks = list(certified_path(path, picked, delta=float(certificate.delta)))
    return [
        _step(store.add(path.tree(step)), step, path.leaves[step], path.errors[step], score, risk)
        for step, score, risk in zip(picked, path.scores[picked].tolist(), risks, strict=True)
    ]


def _step(
    root: int, step: int, leaves: int, errors: float, score: float, certificate: float | None
) -> dict[str, Any]:
    return {
        "root": root,
        "step": int(step),
        "leaves": int(leaves),
        "errors": float(errors),
        "score": float(score) if np.isfinite(score) else None,
        "certificate": certificate,
    }


def _start(root: int, steps: list[dict[str, Any]], chosen: int) -> int:
    """The step of the tree itself, which may have been pruned to another than the chosen one."""
    if steps[chosen]["root"] == root:
        return chosen
    return next((k for k, step in enumerate(steps) if step["root"] == root), chosen)


def _summary(tree: Tree, certificate: Any) -> str:
    leaves = "1 leaf" if tree.n_leaves == 1 else f"{tree.n_leaves} leaves"
    share = 100 * tree.errors / float(tree.weight[0]) if tree.weight[0] > 0 else 0.0
    words = (
        f"{leaves}, depth {tree.depth}, {int(tree.rows[0])} training rows, "
        f"{short_number(tree.errors)} errors ({share:.3g} %)."
    )
    return words if certificate is None else f"{words} {certificate}"


class _Store:
    """The nodes of many trees, each different one once; equal subtrees share a number.

    Pruning a node changes it and those above it, so a path of many steps costs little more than
    its first tree. Children always have smaller numbers than their parents.
    """

    def __init__(self, first: Tree) -> None:
        self.stats: list[list[Any]] = []
        self.tests: list[list[str]] = []
        self.nodes: list[list[int]] = []
        self._known: dict[Any, int] = {}
        words = rounded_thresholds(first)
        self._thresholds = {
            (int(feature), float(value)): text
            for feature, value, text in zip(first.feature, first.threshold, words, strict=True)
            if text
        }

    def add(self, tree: Tree) -> int:
        """Take a tree in; the number of its root."""
        numbers = [0] * tree.n_nodes
        rows, label, counts = tree.rows.tolist(), tree.label.tolist(), tree.counts.tolist()
        left, right = tree.left.tolist(), tree.right.tolist()
        for node in range(tree.n_nodes - 1, -1, -1):
            key = ("stats", rows[node], label[node], tuple(counts[node]))
            entry = [self._number(key, self.stats, [rows[node], label[node], counts[node]])]
            if left[node] >= 0:
                entry += [self._test(tree, node), numbers[left[node]], numbers[right[node]]]
            numbers[node] = self._number(("node", *entry), self.nodes, entry)
        return numbers[0]

    def _number(self, key: Any, pool: list[Any], entry: Any) -> int:
        number = self._known.get(key)
        if number is None:
            number = self._known[key] = len(pool)
            pool.append(entry)
        return number

    def _test(self, tree: Tree, node: int) -> int:
        feature, value = int(tree.feature[node]), float(tree.threshold[node])
        place = value if value == value else None
        key = ("test", feature, place, int(tree.category[node]), bool(tree.missing_left[node]))
        if key in self._known:
            return self._known[key]
        asked = question(tree, node)
        threshold = self._thresholds.get((feature, value))
        yes, no = (asked.answer(left=left, threshold=threshold) for left in (True, False))
        return self._number(key, self.tests, [one_line(asked.column.name), typeset(yes), no])
