"""The rules of fit that an edited tree must obey: ordered columns, forbidden ones, groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from treebound.edit.places import path_of, turns, where
from treebound.growing import GrowOptions
from treebound.growing.rules import column_groups
from treebound.model import Model
from treebound.tree import Tree

__all__ = ["Rules"]


class Rules:
    """The rules of a fitted model."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._groups = column_groups(model.options, model.columns)
        signs = (0,) * len(model.columns)
        self._signs = signs if model.tree.monotone is None else model.tree.monotone.signs

    def columns(self, tree: Tree, node: int) -> list[int]:
        """The columns that may be asked at a node, and whose values could be read."""
        allowed = set().union(*self._open_groups(tree, node))
        return [at for at in sorted(allowed) if not tree.columns[at].unlisted]

    def options(self, tree: Tree, node: int, columns: Sequence[int]) -> GrowOptions:
        """The options of growing on some columns below a node."""
        names = [column.name for column in tree.columns]
        groups = [[names[at] for at in columns if at in group]
                  for group in self._open_groups(tree, node)]  # fmt: skip
        signs = {names[at]: self._signs[at] for at in columns if self._signs[at]}
        return replace(
            self._model.options,
            first=None,
            forbidden=None,
            interaction_cst=groups if len(self._groups) > 1 else None,
            monotonic_cst=signs or None,
        )

    def _open_groups(self, tree: Tree, node: int) -> list[set[int]]:
        """The groups of columns that have all columns asked above a node."""
        asked = {int(tree.feature[at]) for at, _ in turns(tree, node)}
        return [group for group in self._groups if asked <= group]

    def check(self, tree: Tree, step: str) -> None:
        """Refuse a tree that breaks a rule."""
        for node in np.flatnonzero(tree.feature >= 0).tolist():
            if tree.feature[node] not in self.columns(tree, node):
                name = tree.columns[int(tree.feature[node])].name
                raise ValueError(
                    f"{step} is refused: column {name!r} must not be asked at node "
                    f"{path_of(tree, node)!r}, by the 'forbidden' or 'interaction_cst' of fit."
                )
        at = -1 if tree.monotone is None else tree.monotone.broken(tree)
        if at >= 0:
            raise ValueError(f"{step} is refused: {self._order(tree, at)}")
        self._check_answers(tree, step)

    def _order(self, tree: Tree, node: int) -> str:
        names = [repr(tree.columns[int(tree.feature[at])].name) for at, _ in turns(tree, node)
                 if self._signs[tree.feature[at]]]  # fmt: skip
        place = where(tree, node, self._model.unknown)
        place = place[:1].lower() + place[1:]
        return (
            f"{place}, the classes would break the order in {' or '.join(dict.fromkeys(names))} "
            "that 'monotonic_cst' asks for."
        )

    def _check_answers(self, tree: Tree, step: str) -> None:
        """Refuse answers by hand that break the order on the two sides of a split."""
        if tree.monotone is None:
            return
        rank = np.argsort(tree.monotone.order)[tree.label]
        usual = replace(tree, label=None).label  # type: ignore[arg-type]
        for leaf in tree.leaves[tree.label[tree.leaves] != usual[tree.leaves]].tolist():
            for at, left in turns(tree, leaf):
                sign = self._signs[tree.feature[at]]
                other = int((tree.right if left else tree.left)[at])
                beyond = tree.leaves[(tree.leaves >= other)
                                     & (tree.leaves < other + tree.size[other])]  # fmt: skip
                rises = (rank[beyond] - rank[leaf]) * (sign if left else -sign)
                if sign and np.isfinite(tree.threshold[at]) and (rises < 0).any():
                    raise ValueError(f"{step} is refused: {self._order(tree, leaf)}")
