"""The rules of fit that an edited tree must obey: order, forced splits, groups of columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from treebound.data import Sample
from treebound.edit.nodes import rows_at, stump
from treebound.edit.places import path_of, turns, where
from treebound.growing import GrowOptions
from treebound.growing.rules import forced_splits, groups_of
from treebound.model import Model
from treebound.tree import Tree
from treebound.tree.split import SplitTest, by_threshold, test_of


class EditRules:
    """The rules of a fitted model."""

    def __init__(self, model: Model, sample: Sample) -> None:
        self.model, self._sample = model, sample
        self._groups = groups_of(model.options.interaction_cst, model.columns)
        signs = (0,) * len(model.columns)
        self._signs = signs if model.tree.monotone is None else model.tree.monotone.signs
        self._first = forced_splits(model.options, model.columns)
        self._required = self._forced_at(model.tree, "")[1]

    def columns(self, tree: Tree, node: int) -> list[int]:
        """The columns that a node may split on, and whose values could be read."""
        allowed = set().union(*self._open_groups(tree, node))
        return [at for at in sorted(allowed) if not tree.columns[at].unlisted]

    def options(
        self, tree: Tree, node: int, columns: Sequence[int], *, ahead: bool = False
    ) -> GrowOptions:
        """The options of growing on some columns below a node; ``ahead``: more than one split."""
        names = [column.name for column in tree.columns]
        groups = [[names[at] for at in columns if at in group]
                  for group in self._open_groups(tree, node)]  # fmt: skip
        signs = {names[at]: self._signs[at] for at in columns if self._signs[at]}
        return replace(
            self.model.options,
            forced_splits=self._waiting(tree, node, columns) if ahead else None,
            interaction_cst=groups if len(self._groups) > 1 else None,
            monotonic_cst=signs or None,
        )

    def limits(self, tree: Tree, node: int) -> list[float] | None:
        """Between which numbers the upper sums of the classes must stay below a node."""
        if tree.monotone is None:
            return None
        lower, upper = tree.monotone.limits(tree)
        return [float(end) for pair in zip(lower[node], upper[node], strict=True) for end in pair]

    def _open_groups(self, tree: Tree, node: int) -> list[set[int]]:
        """The groups of columns that include all columns used above a node."""
        used = {int(tree.feature[at]) for at, _ in turns(tree, node)}
        return [group for group in self._groups if used <= group]

    def check(self, tree: Tree, step: str) -> None:
        """Refuse a tree that breaks a rule."""
        for node in np.flatnonzero(tree.feature >= 0).tolist():
            if tree.feature[node] not in self.columns(tree, node):
                name = tree.columns[int(tree.feature[node])].name
                raise ValueError(
                    f"{step} is refused: column {name!r} must not be used at node "
                    f"{path_of(tree, node)!r}, by the 'interaction_cst' of fit."
                )
        for path in self._required.keys() - self._forced_at(tree, step)[1].keys():
            raise self._refused(step, self._required[path], path)
        at = -1 if tree.monotone is None else tree.monotone.broken(tree)
        if at >= 0:
            raise ValueError(f"{step} is refused: {self._order(tree, at)}")
        self._check_labels(tree, step)

    # -- forced splits --------------------------------------------------------------

    def _forced_at(self, tree: Tree, step: str) -> tuple[NDArray[np.intp], dict[str, int]]:
        """The number of forced splits above each node, and the index of each by path.

        A node with another split than the next one that divides its rows is refused.
        """
        behind, forced = np.zeros(tree.n_nodes, dtype=np.intp), {}
        for node in np.flatnonzero(tree.feature >= 0).tolist() if self._first else []:
            at = int(behind[node])
            while at < len(self._first) and not self._same(tree, node, at):
                if self._divides(tree, node, self._first[at]):
                    raise self._refused(step, at, path_of(tree, node))
                at += 1
            if at < len(self._first):
                forced[path_of(tree, node)] = at
                at += 1
            behind[[tree.left[node], tree.right[node]]] = at
        return behind, forced

    def _same(self, tree: Tree, node: int, at: int) -> bool:
        """Return True if the split of a node is a forced split."""
        test, first = test_of(tree, node), self._first[at]
        if first.missing_left is None:
            test = test._replace(missing_left=None)
        return np.array_equal(np.array(test, dtype=float), np.array(first, dtype=float), True)

    def _divides(self, tree: Tree, node: int, test: SplitTest) -> bool:
        """Return True if a split leaves enough rows of a node on both sides."""
        here = self._sample.part(rows_at(tree, node, self._sample))
        return bool(stump(test, here, tree)[0].rows.min() >= self.model.options.min_samples_leaf)

    def _waiting(self, tree: Tree, node: int, columns: Sequence[int]) -> list[str]:
        """The forced splits that are not above a node yet, on these columns."""
        behind = self._forced_at(tree, "The step")[0]
        texts = list(self.model.options.forced_splits or ())
        return [texts[at] for at in range(int(behind[node]), len(texts))
                if self._first[at].feature in columns]  # fmt: skip

    def _refused(self, step: str, at: int, path: str) -> ValueError:
        text = list(self.model.options.forced_splits or ())[at]
        return ValueError(
            f"{step} is refused: node {path!r} must split on {text!r}, by the 'forced_splits' "
            "of fit."
        )

    # -- order -------------------------------------------------------------------------------

    def _order(self, tree: Tree, node: int) -> str:
        names = [repr(tree.columns[int(tree.feature[at])].name) for at, _ in turns(tree, node)
                 if self._signs[tree.feature[at]]]  # fmt: skip
        place = where(tree, node, self.model.reading.handle_unknown)
        place = place[:1].lower() + place[1:]
        return (
            f"{place}, the classes would break the order in {' or '.join(dict.fromkeys(names))} "
            "that 'monotonic_cst' requires."
        )

    def _check_labels(self, tree: Tree, step: str) -> None:
        """Refuse labels set by hand that break the order on the two sides of a split."""
        if tree.monotone is None:
            return
        rank = np.argsort(tree.monotone.order)[tree.label]
        majority = tree.by_majority().label
        for leaf in tree.leaves[tree.label[tree.leaves] != majority[tree.leaves]].tolist():
            for at, left in turns(tree, leaf):
                sign = self._signs[tree.feature[at]]
                other = int((tree.right if left else tree.left)[at])
                beyond = tree.leaves[(tree.leaves >= other)
                                     & (tree.leaves < other + tree.size[other])]  # fmt: skip
                rises = (rank[beyond] - rank[leaf]) * (sign if left else -sign)
                if sign and by_threshold(tree)[at] and (rises < 0).any():
                    raise ValueError(f"{step} is refused: {self._order(tree, leaf)}")
