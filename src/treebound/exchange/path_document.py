"""The pruning path in a model file: the grown tree, and the cuts of each step."""

from __future__ import annotations

import math
from itertools import chain, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound.data import Column
from treebound.exchange.errors import FormatError
from treebound.exchange.nodes import array_of, fields_of, nodes_from_json, nodes_to_json, refuse
from treebound.pruning import PruningPath
from treebound.tree import Tree

__all__ = ["StoredPath", "path_from_json", "path_to_json"]

# Steps with more leaves than this are not stored: the file size grows with their square.
MOST_LEAVES = 200
_FIELDS = ("grown", "chosen", "n_steps", "errors", "scores", "cuts")


class StoredPath(PruningPath):
    """A pruning path loaded from a model file.

    Parameters
    ----------
    first : Tree
        The input tree.
    trees : list of ndarray or Tree
        For each step the inner nodes of the first tree that become leaves, or the tree itself
        if a subtree was raised.
    errors, scores : ndarray of float64
        For each step.
    chosen : int
        The chosen step.
    n_steps : int
        Number of steps the pruner considered; steps with many leaves are not stored.
    unit : str
        What ``errors`` counts.
    """

    def __init__(
        self,
        first: Tree,
        trees: list[NDArray[np.intp] | Tree],
        errors: NDArray[np.float64],
        scores: NDArray[np.float64],
        *,
        chosen: int,
        n_steps: int,
        unit: str,
    ) -> None:
        self.first = first
        self.chosen = chosen
        self.unit = unit
        self._n_steps = n_steps
        self._trees = trees
        self._errors = errors
        self._scores = scores
        lost = (first.size - 1) // 2  # leaves lost when the node becomes one
        self._leaves = np.array(
            [t.n_leaves if isinstance(t, Tree) else first.n_leaves - lost[t].sum() for t in trees],
            dtype=np.int64,
        )

    @property
    def n_considered(self) -> int:
        return self._n_steps

    @property
    def leaves(self) -> NDArray[np.int64]:
        return self._leaves

    @property
    def errors(self) -> NDArray[np.float64]:
        return self._errors

    @property
    def scores(self) -> NDArray[np.float64]:
        return self._scores

    def cuts(self, step: int) -> NDArray[np.intp] | None:
        kept = self._trees[step]
        return None if isinstance(kept, Tree) else kept

    def _tree(self, step: int) -> Tree:
        kept = self._trees[step]
        return kept if isinstance(kept, Tree) else super()._tree(step)


def path_to_json(path: PruningPath, step: int | None = None) -> dict[str, Any]:
    """The document of a path, and the step selected by ``prune_to``, if any."""
    kept = np.flatnonzero(path.leaves <= MOST_LEAVES)
    kept = np.union1d(kept, [path.chosen, path.chosen if step is None else step])
    errors, scores = path.measured(kept)
    cuts = [path.cuts(step) for step in kept.tolist()]
    return {
        "grown": nodes_to_json(path.first),
        "unit": path.unit,
        "chosen": int(np.searchsorted(kept, path.chosen)),
        "step": None if step is None else int(np.searchsorted(kept, step)),
        "n_steps": path.n_considered,
        "errors": errors.tolist(),
        "scores": [score if math.isfinite(score) else None for score in scores.tolist()],
        "cuts": [
            nodes_to_json(path.tree(step)) if cut is None else cut.tolist()
            for step, cut in zip(kept.tolist(), cuts, strict=True)
        ],
    }


def path_from_json(
    given: Any, columns: tuple[Column, ...], classes: NDArray[Any], where: str = "pruning"
) -> tuple[StoredPath, int | None]:
    """Read and check the document of a path; return the path and the selected step."""
    fields = fields_of(given, where, _FIELDS, {"unit": "errors", "step": None})
    if not isinstance(fields["cuts"], list) or not fields["cuts"]:
        raise FormatError(f"{where}.cuts", "must be a list with an entry for each step")
    first = nodes_from_json(fields["grown"], columns, classes, f"{where}.grown")
    size = len(fields["cuts"])
    trees = _trees(fields["cuts"], first, f"{where}.cuts")
    scores = fields["scores"]
    absent = [score is None for score in scores] if isinstance(scores, list) else []
    if any(absent):
        scores = [0.0 if score is None else score for score in scores]
    values = array_of(scores, f"{where}.scores", "number", size)
    values[np.array(absent, dtype=bool)] = np.nan
    if type(fields["n_steps"]) is not int or not size <= fields["n_steps"] <= 2**62:
        raise FormatError(f"{where}.n_steps", f"must be an integer of at least {size}")
    for name in ("chosen", "step"):
        found = 0 if name == "step" and fields[name] is None else fields[name]
        if type(found) is not int or not 0 <= found < size:
            raise FormatError(f"{where}.{name}", "must be the number of a step")
    if type(fields["unit"]) is not str:
        raise FormatError(f"{where}.unit", "must be a string")
    path = StoredPath(
        first,
        trees,
        array_of(fields["errors"], f"{where}.errors", "number", size, least=0.0),
        values,
        chosen=fields["chosen"],
        n_steps=fields["n_steps"],
        unit=fields["unit"],
    )
    return path, fields["step"]


def _trees(given: list[Any], first: Tree, where: str) -> list[NDArray[np.intp] | Tree]:
    """All steps: cuts are checked together, and one by one where something is wrong."""
    if all(type(cut) is list for cut in given):
        flat = list(chain.from_iterable(given))
        if set(map(type, flat)) <= {int} and (
            not flat or (min(flat) >= 0 and max(flat) < first.n_nodes)
        ):
            ends = np.cumsum([len(cut) for cut in given])
            base = np.repeat(np.arange(len(given)), np.diff(ends, prepend=0)) * first.n_nodes
            placed = np.sort(base + np.array(flat, dtype=np.intp))  # by step, then by node
            nodes = placed - base
            below = placed[1:] < (placed + first.size[nodes])[:-1]
            if not first.is_leaf[nodes].any() and not below[base[1:] == base[:-1]].any():
                starts = [0, *ends.tolist()]
                return [nodes[start:stop] for start, stop in pairwise(starts)]
    return [_tree(cut, first, f"{where}[{at}]") for at, cut in enumerate(given)]


def _tree(given: Any, first: Tree, where: str) -> NDArray[np.intp] | Tree:
    """One step: nodes of the first tree, none of them below another, or a whole tree."""
    if isinstance(given, dict):
        return nodes_from_json(given, first.columns, first.classes, where)
    size = len(given) if isinstance(given, list) else 0
    cut = np.sort(array_of(given, where, "integer", size, 0, first.n_nodes - 1))
    refuse(first.is_leaf[cut], where, "must be an inner node of the grown tree")
    if (cut[1:] < (cut + first.size[cut])[:-1]).any():
        raise FormatError(where, "has a node twice, or one below another")
    return cut.astype(np.intp)
