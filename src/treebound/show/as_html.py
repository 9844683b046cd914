"""One self-contained page with the tree, the pruning path and the certificate."""

from __future__ import annotations

import os
from importlib.resources import files
from typing import Any

import numpy as np

from treebound._files import write_text
from treebound._html import assembled
from treebound.show.colours import class_colours
from treebound.show.path_display import certified_steps, spread
from treebound.show.words import answer, one_line, tree_in_words, typeset
from treebound.tree import Tree
from treebound.tree.fitted import tree_of
from treebound.tree.split import split_of

__all__ = ["to_html"]


def to_html(
    source: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    pruning_path: Any = None,
    certificate: Any = None,
    title: str = "Decision tree",
    max_steps: int = 150,
) -> str:
    """A page with the tree, and with a slider along the pruning path where there is one.

    The page needs no network and no other file, and only its own script can run in it. Nodes can
    be folded, zoomed and walked through with the keyboard; pointing at one shows its training
    examples; it follows the light or dark setting of the reader.

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
    >>> page = to_html(clf, title="Irises")
    >>> page.splitlines()[0], "<title>Irises</title>" in page
    ('<!doctype html>', True)
    """
    tree = tree_of(source, "to_html")
    if pruning_path is None:
        pruning_path = getattr(source, "pruning_path_", None)
    if certificate is None:
        certificate = getattr(source, "certificate_", None)
    document = _document(source, tree, pruning_path, certificate, max_steps)
    page = assembled(files("treebound.show") / "static", "report", title=title, data=document)
    if path is not None:
        write_text(path, page)
    return page


# -- what the page is given ------------------------------------------------------------------


def _document(
    source: Any, tree: Tree, path: Any, certificate: Any, max_steps: int
) -> dict[str, Any]:
    store = _Store()
    if path is None:
        risk = np.nan if certificate is None else float(certificate.risk)
        steps = [_step(store.add(tree), 0, tree.n_leaves, tree.errors, 0.0, risk)]
        start = chosen = last = 0
        unit = "errors"
    else:
        picked = spread(path, max_steps)
        delta = None if certificate is None else float(certificate.delta)
        made = certified_steps(source, path, picked, delta=delta)
        steps = [
            _step(store.add(found), step, path.leaves[step], path.errors[step], score, risk)
            for step, score, (found, risk) in zip(
                picked, path.scores[picked].tolist(), made, strict=True
            )
        ]
        chosen, last, unit = picked.index(int(path.chosen)), len(path) - 1, str(path.unit)
        start = _start(store.add(tree), steps, chosen)
    return {
        "summary": _summary(tree, certificate),
        "classes": [one_line(label) for label in tree.classes.tolist()],
        "colours": list(class_colours(tree.n_classes)),
        "stats": store.stats,
        "splits": store.splits,
        "nodes": store.nodes,
        "steps": steps,
        "start": start,
        "chosen": chosen,
        "last": last,
        "unit": unit,
    }


def _step(
    root: int, step: int, leaves: int, errors: float, score: float, certificate: float
) -> dict[str, Any]:
    return {
        "root": root,
        "step": int(step),
        "leaves": int(leaves),
        "errors": float(errors),
        "score": score if np.isfinite(score) else None,
        "certificate": certificate if np.isfinite(certificate) else None,
    }


def _start(root: int, steps: list[dict[str, Any]], chosen: int) -> int:
    """The step of the tree itself, which may have been pruned to another than the chosen one."""
    if steps[chosen]["root"] == root:
        return chosen
    return next((k for k, step in enumerate(steps) if step["root"] == root), chosen)


def _summary(tree: Tree, certificate: Any) -> str:
    return " ".join(
        [f"{tree_in_words(tree)}.", *([] if certificate is None else [str(certificate)])]
    )


class _Store:
    """The nodes of many trees, each different one once; equal subtrees share a number.

    Pruning a node changes it and those above it, so a path of many steps costs little more than
    its first tree. Children always have smaller numbers than their parents.
    """

    def __init__(self) -> None:
        self.stats: list[list[Any]] = []
        self.splits: list[list[str]] = []
        self.nodes: list[list[int]] = []
        self._known: dict[Any, int] = {}

    def add(self, tree: Tree) -> int:
        """Take a tree in; the number of its root."""
        numbers = [0] * tree.n_nodes
        rows, label, counts = tree.rows.tolist(), tree.label.tolist(), tree.counts.tolist()
        left, right = tree.left.tolist(), tree.right.tolist()
        for node in range(tree.n_nodes - 1, -1, -1):
            key = ("stats", rows[node], label[node], tuple(counts[node]))
            entry = [self._number(key, self.stats, [rows[node], label[node], counts[node]])]
            if left[node] >= 0:
                entry += [self._split(tree, node), numbers[left[node]], numbers[right[node]]]
            numbers[node] = self._number(("node", *entry), self.nodes, entry)
        return numbers[0]

    def _number(self, key: Any, pool: list[Any], entry: Any) -> int:
        number = self._known.get(key)
        if number is None:
            number = self._known[key] = len(pool)
            pool.append(entry)
        return number

    def _split(self, tree: Tree, node: int) -> int:
        split = split_of(tree, node)
        sides = typeset(answer(split, left=True)), answer(split, left=False)
        words = [one_line(split.column.name), *sides]
        return self._number(("split", *words), self.splits, words)
