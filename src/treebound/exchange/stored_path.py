"""The pruning path in a model file: the grown tree, and the cuts of each step."""

from __future__ import annotations

import math
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

from treebound.data import Column
from treebound.exchange.document import FormatError, NodesDocument, PathDocument
from treebound.exchange.nodes import nodes_of, refuse, same_size, tree_of
from treebound.pruning import PruningPath
from treebound.pruning.path import ListedPath
from treebound.tree import Tree

# Steps with more leaves than this are not stored: the file size grows with their square.
MOST_LEAVES = 200


def path_document(path: PruningPath, step: int | None) -> PathDocument:
    """The document of a path, and the step selected by ``prune_to``, if any."""
    kept = np.flatnonzero(path.leaves <= MOST_LEAVES)
    kept = np.union1d(kept, [path.chosen, path.chosen if step is None else step])
    errors, scores = path.measured(kept)
    cuts = [path.cuts(at) for at in kept.tolist()]
    return PathDocument(
        grown=nodes_of(path.first),
        unit=path.unit,
        chosen=int(np.searchsorted(kept, path.chosen)),
        step=None if step is None else int(np.searchsorted(kept, step)),
        n_steps=path.n_considered,
        errors=errors.tolist(),
        scores=[score if math.isfinite(score) else None for score in scores.tolist()],
        cuts=[
            nodes_of(path.tree(at)) if cut is None else cut.tolist()
            for at, cut in zip(kept.tolist(), cuts, strict=True)
        ],
    )


def stored_path(
    document: PathDocument, columns: tuple[Column, ...], classes: NDArray[np.generic]
) -> ListedPath:
    """The checked path of a document."""
    size = len(document.cuts)
    for name in ("errors", "scores"):
        same_size(getattr(document, name), size, f"pruning.{name}")
    if document.n_steps < size:
        raise FormatError("pruning.n_steps", f"must be at least {size}")
    for name in ("chosen", "step"):
        if (getattr(document, name) or 0) >= size:
            raise FormatError(f"pruning.{name}", "must be the number of a step")
    first = tree_of(document.grown, columns, classes, "pruning.grown")
    return ListedPath(
        first,
        _trees(document.cuts, first, "pruning.cuts"),
        np.array(document.errors, dtype=np.float64),
        np.array(document.scores, dtype=np.float64),  # None is NaN
        chosen=document.chosen,
        n_considered=document.n_steps,
        unit=document.unit,
    )


def _trees(
    cuts: list[list[int] | NodesDocument], first: Tree, where: str
) -> list[NDArray[np.intp] | Tree]:
    """All steps: cuts are checked together, and one by one where something is wrong."""
    lists = [cut for cut in cuts if isinstance(cut, list)]
    flat = list(chain.from_iterable(lists))
    if len(lists) == len(cuts) and max(flat, default=0) < first.n_nodes:
        ends = np.cumsum([len(cut) for cut in lists])
        base = np.repeat(np.arange(len(lists)), np.diff(ends, prepend=0)) * first.n_nodes
        placed = np.sort(base + np.array(flat, dtype=np.intp))  # by step, then by node
        nodes = placed - base
        below = placed[1:] < (placed + first.size[nodes])[:-1]
        if not first.is_leaf[nodes].any() and not below[base[1:] == base[:-1]].any():
            return [nodes[start:stop] for start, stop in pairwise([0, *ends.tolist()])]
    return [_tree(cut, first, f"{where}[{at}]") for at, cut in enumerate(cuts)]


def _tree(cut: list[int] | NodesDocument, first: Tree, where: str) -> NDArray[np.intp] | Tree:
    """One step: nodes of the first tree, none of them below another, or a whole tree."""
    if isinstance(cut, NodesDocument):
        return tree_of(cut, first.columns, first.classes, where)
    nodes = np.array(cut, dtype=np.intp)
    refuse(nodes >= first.n_nodes, where, "must be a node of the grown tree")
    refuse(first.is_leaf[nodes], where, "must be an inner node of the grown tree")
    nodes = np.sort(nodes)
    if (nodes[1:] < (nodes + first.size[nodes])[:-1]).any():
        raise FormatError(where, "has a node twice, or one below another")
    return nodes
