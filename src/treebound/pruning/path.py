"""The pruning path: the candidate steps of a pruner, and the chosen one.

Step 0 is the input tree, the last step the smallest one. Trees are rebuilt on demand.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from numbers import Integral
from typing import TYPE_CHECKING, Any, Generic, Self, cast

import numpy as np
from numpy.typing import NDArray

import treebound.pruning._dp as _dp
from treebound._utils.arrays import Floats, Ints
from treebound._utils.extras import require
from treebound._utils.validation import Whole, check, invalid
from treebound.tree.base import BaseTree, nodes_left
from treebound.tree.model import Tree

# A node of the first tree and its replacement; None if there is not one.
Replaced = tuple[int | None, str | None]
NEVER = np.iinfo(np.int32).max

# The kind of the trees of a path: classification trees unless another one is named.
if TYPE_CHECKING:
    from typing_extensions import TypeVar

    PathTree = TypeVar("PathTree", bound=BaseTree, default=Tree)
else:
    from typing import TypeVar

    PathTree = TypeVar("PathTree", bound=BaseTree)


class PruningPath(ABC, Generic[PathTree]):
    """The candidate steps of a pruner, with their leaves, errors and scores.

    Attributes
    ----------
    leaves : ndarray of int64
        Number of leaves at each step.
    errors : ndarray of float64
        Errors at each step, counted in ``unit``: training or validation errors, or their cost,
        scaled so that the worst predictions cost as much as the effective rows are.
    scores : ndarray of float64
        Score of each step; lower is better.
    chosen : int
        The chosen step.
    unit : str
        The unit of ``errors``, in words.
    first : Tree or RegressionTree
        The input tree, at step 0.
    limit : int or None
        Maximum number of leaves, if there was a limit.
    searched : bool
        True if the steps are trees by size that a search found, not prunings of the first tree.
    """

    leaves: Ints
    errors: Floats
    scores: Floats
    searched = False

    def __init__(
        self,
        first: PathTree,
        *,
        chosen: int = 0,
        unit: str = "errors",
        node_errors: Floats | None = None,
        replaced: Mapping[int, Replaced] | None = None,
        n_considered: int | None = None,
    ) -> None:
        self.first, self.chosen, self.unit, self._considered = first, chosen, unit, n_considered
        self.limit: int | None = None
        self._replaced = replaced or {}  # by step, if subtrees were raised
        # of each node of the first tree as a leaf
        self._node_errors = first.node_losses if node_errors is None else node_errors

    def _choosing(self, chosen: int, **changes: Any) -> Self:
        """A copy with another chosen step."""
        other = copy(self)
        for name, value in {**changes, "chosen": chosen}.items():
            setattr(other, name, value)
        return other

    def with_first(self, tree: PathTree) -> Self:
        """The path of the same tree with other labels, if the errors do not depend on them."""
        return self._choosing(self.chosen, first=tree)

    @property
    def counted(self) -> str:
        """The unit of the errors; with weighted classes, weighted errors."""
        factors = self.first.factors if isinstance(self.first, Tree) else None
        weighted = factors is not None and self.unit.endswith("errors")
        return f"weighted {self.unit}" if weighted else self.unit

    def measured(self, steps: Ints) -> tuple[Floats, Floats]:
        """Errors and scores of some steps; of a large tree's path, faster than of all."""
        return self.errors[steps], self.scores[steps]

    @abstractmethod
    def cuts(self, step: int) -> NDArray[np.intp] | None:
        """The inner nodes of the first tree that are leaves at a step; None after raising."""

    @property
    def counted_trees(self) -> list[PathTree]:
        """The trees whose nodes, one tree after the other, are the rows of a table of counts."""
        steps = range(len(self)) if self.searched else ()
        return [self.first, *(self.tree(step) for step in steps)]

    def rows_of_counts(self, step: int) -> NDArray[np.intp] | None:
        """The rows of such a table for the nodes of a step's tree; None after raising."""
        if self.searched:
            sizes = 2 * self.leaves - 1
            start = self.first.n_nodes + int(sizes[:step].sum())
            return np.arange(start, start + int(sizes[step]))
        cuts = self.cuts(step)
        return None if cuts is None else nodes_left(self.first, cuts)

    def _tree(self, step: int) -> PathTree:
        cuts = self.cuts(step)
        assert cuts is not None  # a path with raised subtrees has a _tree of its own
        return self.first.collapsed(cuts)

    def _replacements(self) -> list[Replaced]:
        """For each step, the replaced node (of the first tree) and its replacement."""
        cuts = [self.cuts(step) for step in range(len(self))]
        by_cuts = (_replacement(self.first, *both) for both in itertools.pairwise(cuts))
        return [self._replaced.get(step, row) for step, row in enumerate([(None, None), *by_cuts])]

    def __len__(self) -> int:
        return len(self.leaves)

    @property
    def n_considered(self) -> int:
        """Number of trees that can be reached; a model file may keep fewer steps.

        The steps of the pruner, and one tree for each smaller size than that of the last step.
        """
        return self._considered or len(self) + int(self.leaves.min()) - 1

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__}: {len(self):,} steps, "
            f"{self.leaves[0]:,} to {self.leaves[-1]:,} leaves, chosen {self.chosen}>"
        )

    def tree(self, step: int | None = None) -> PathTree:
        """The tree at a step.

        Parameters
        ----------
        step : int, optional
            By default the chosen one; negative steps count from the end.
        """
        return self._tree(self.chosen if step is None else self.step(step))

    def reaching(self, leaves: int) -> tuple[PruningPath[PathTree], int]:
        """A path with a tree of at most ``leaves`` leaves, and the step of the largest one.

        On ties, the step with the lowest score. If this path ends earlier, the other one is longer
        by the pruning with the fewest errors.
        """
        check("prune_to", {"leaves": leaves}, {"leaves": Whole(1)})
        fitting = self.leaves[self.leaves <= leaves]
        if not len(fitting):
            longer = self._extended(leaves)
            return longer._choosing(self.chosen, limit=self.limit), len(longer) - 1
        most = np.flatnonzero(self.leaves == fitting.max())
        if len(most) == 1:
            return self, int(most[0])
        return self, int(most[np.argmin(self.measured(most)[1])])

    def offered_size(self, leaves: int) -> int:
        """The number of leaves of a tree of at most ``leaves`` leaves that is quick to compute."""
        path, step = self.reaching(leaves)
        return int(path.leaves[step])

    def within(self, leaves: int) -> PruningPath[PathTree]:
        """The path with its best step of at most ``leaves`` leaves chosen.

        A path without such a step is extended by the pruning of that size with the fewest errors;
        its score is NaN if unknown.
        """
        fitting = np.flatnonzero(self.leaves <= leaves)
        if not len(fitting):
            longer = self._extended(leaves)
            return longer._choosing(longer.chosen, limit=leaves)
        scores = self.measured(fitting)[1][::-1]  # on ties the last, the smallest tree
        return self._choosing(int(fitting[::-1][np.argmin(scores)]), limit=leaves)

    def _extended(self, leaves: int) -> PruningPath[PathTree]:
        """The path with one more step, of at most ``leaves`` leaves."""
        from treebound.pruning.optimal import BestBySize

        sizes = BestBySize(self.first, self._node_errors)
        size = int(np.argmin(sizes.errors(leaves))) + 1
        return self._with_step(sizes.cuts(size), np.nan)

    def _with_step(
        self, cuts: NDArray[np.intp], score: float, errors: float | None = None
    ) -> PruningPath[PathTree]:
        if errors is None:
            nodes = nodes_left(self.first, cuts)
            leaves = nodes[self.first.is_leaf[nodes] | np.isin(nodes, cuts)]
            errors = self._node_errors[leaves].sum()
        return ListedPath(
            self.first, [*self._listed(), cuts], np.append(self.errors, errors),
            np.append(self.scores, score), np.append(self.leaves, self._size(cuts)),
            replaced=self._replaced, node_errors=self._node_errors, chosen=len(self),
            unit=self.unit, n_considered=self.n_considered,
        )  # fmt: skip

    def _listed(self) -> list[Any]:
        return [self.cuts(step) for step in range(len(self))]

    def _size(self, cuts: NDArray[np.intp]) -> int:
        """Number of leaves after some nodes have become leaves."""
        return self.first.n_leaves - int(((self.first.size[cuts] - 1) // 2).sum())

    def table(self) -> list[dict[str, Any]]:
        """The steps as a table.

        Returns
        -------
        list of dict
            For each step: step, node, replaced_by, leaves, errors, score. ``node`` is the node of
            the first tree that the step replaced, ``replaced_by`` is ``"leaf"``, ``"left"`` or
            ``"right"`` (the raised child). Both are None at step 0; a step of more than one
            replacement has ``"rearranged"`` and no node.
        """
        names = ("step", "node", "replaced_by", "leaves", "errors", "score")
        numbers = np.column_stack([self.leaves, self.errors, self.scores]).tolist()
        return [
            dict(zip(names, (step, *replaced, int(leaves), *values), strict=True))
            for step, (replaced, (leaves, *values)) in enumerate(
                zip(self._replacements(), numbers, strict=True)
            )
        ]

    def to_frame(self) -> Any:
        """The steps as a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            The columns of :meth:`table`, indexed by step.
        """
        pandas = require("pandas", extra="study", why="A pruning path as a frame")
        return pandas.DataFrame(self.table()).set_index("step")

    def explain(self) -> str:
        """Describe the chosen step and its neighbours."""
        at = self.chosen
        among = f"{len(self):,} steps" if self.limit is None else self._within()
        lines = [f"{self._describe(at)}, the least of {among}."]
        for step, why in ((at - 1, "The step before"), (at + 1, "The next step")):
            if 0 <= step < len(self):
                worse = signed(self.scores[step] - self.scores[at])
                lines.append(f"{why}: {self._describe(step)}{worse and ', '}{worse}.")
        return "\n".join(lines)

    def _within(self) -> str:
        return f"the steps with at most {count(self.limit or 1, 'leaf')}"

    def _describe(self, step: int) -> str:
        words = count(self.leaves[step], "leaf")
        errors, score = self.errors[step], self.scores[step]
        if not np.isnan(errors):
            words += f" with {number(errors)} {self.counted}"
        return words if np.isnan(score) else f"{words}: score {number(score)}"

    def step(self, step: int) -> int:
        """The number of a step, checked; negative ones count from the end."""
        whole = isinstance(step, Integral) and not isinstance(step, bool)
        if not whole or not -len(self) <= step < len(self):
            raise invalid("step", "", f"an int from 0 to {len(self) - 1}", step)
        return int(step) % len(self)


class NestedPath(PruningPath[PathTree]):
    """A path of nested trees: ``when`` is the step at which each inner node becomes a leaf.

    ``errors`` are those of each node as a leaf; they are the scores, too.
    """

    def __init__(
        self, tree: PathTree, when: NDArray[np.integer[Any]], errors: Floats, **options: Any
    ) -> None:
        super().__init__(tree, node_errors=np.ascontiguousarray(errors, np.float64), **options)
        self.when = np.where(tree.is_leaf, 0, when).astype(np.int32)
        self.n_steps = int(self.when[self.when < NEVER].max(initial=0)) + 1
        self._until = _dp.collapsed_before(tree.left, tree.right, self.when)
        self.leaves = np.rint(self.along(np.ones(tree.n_nodes))).astype(np.int64)
        self.errors = self.scores = self.along(self._node_errors)

    def along(self, values: Floats) -> Floats:
        """Sum of node values over the leaves of the tree, at each step."""
        values = np.ascontiguousarray(values, dtype=np.float64)
        return _dp.sums_along(self.when, self._until, values, self.n_steps)

    def along_inner(self, values: Floats) -> Floats:
        """Sum of node values over the inner nodes of the tree, at each step."""
        inner = ~self.first.is_leaf
        gone = np.minimum(np.minimum(self.when, self._until)[inner], self.n_steps)
        lost = np.bincount(gone, weights=values[inner], minlength=self.n_steps + 1)
        return np.asarray(values[inner].sum() - lost.cumsum()[: self.n_steps], dtype=np.float64)

    def cuts(self, step: int) -> NDArray[np.intp]:
        """The inner nodes that are leaves at a step."""
        return _dp.cuts_at(self.first.left, self.when, self._until, step)


def weakest_link_steps(tree: PathTree, risk: Floats) -> tuple[NestedPath[PathTree], Floats]:
    """The path of weakest-link pruning, and the alpha of each step after the first.

    Nodes that collapse at the same alpha form one step.
    """
    nodes, alphas = _dp.weakest_links(tree.left, tree.right, np.ascontiguousarray(risk))
    fresh = np.ones(len(alphas), dtype=bool)
    fresh[1:] = alphas[1:] > alphas[:-1]
    when = np.full(tree.n_nodes, NEVER)
    when[nodes] = np.cumsum(fresh)
    return NestedPath(tree, when, risk), alphas[fresh]


class ListedPath(PruningPath[PathTree]):
    """A path of listed prunings, which need not be nested, with errors and scores.

    A step is an array of the nodes that become leaves or, if a subtree was raised, the tree itself
    or a function that makes it.
    """

    def __init__(
        self,
        tree: PathTree,
        steps: Sequence[Any],
        errors: Floats,
        scores: Floats,
        leaves: Ints | None = None,
        searched: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(tree, **options)
        self.searched = searched
        self.errors, self.scores, self._steps = errors, scores, steps
        if leaves is None:
            sizes = [
                cut.n_leaves if isinstance(cut, BaseTree) else self._size(cut) for cut in steps
            ]
            leaves = np.array(sizes, dtype=np.int64)
        self.leaves = leaves

    def _listed(self) -> list[Any]:
        return list(self._steps)

    def cuts(self, step: int) -> NDArray[np.intp] | None:
        cut = self._steps[step]
        return cut if isinstance(cut, np.ndarray) else None

    def _tree(self, step: int) -> PathTree:
        tree: Any = self._steps[step]
        if isinstance(tree, BaseTree):
            return cast(PathTree, tree)
        return cast(PathTree, tree()) if callable(tree) else super()._tree(step)


def _replacement(
    tree: BaseTree, before: NDArray[np.intp] | None, now: NDArray[np.intp] | None
) -> Replaced:
    """The node whose collapse leads from one pruning to the next, if there is one."""
    if before is None or now is None:
        return None, "rearranged"
    new = np.setdiff1d(now, before)
    if not len(new) and len(now) == len(before):
        return None, None
    if len(new) != 1:
        return None, "rearranged"
    node, gone = int(new[0]), np.setdiff1d(before, now)
    inside = (gone > node) & (gone < node + tree.size[node])
    return (node, "leaf") if inside.all() else (None, "rearranged")


# -- words ---------------------------------------------------------------------------------------


def number(value: float) -> str:
    """Format a number: integers in full, others to four digits."""
    value = float(value)
    return f"{value:,.0f}" if value.is_integer() else f"{value:,.4g}"


def count(value: float, noun: str) -> str:
    """``1 leaf``, ``12 leaves``, ``3 errors``."""
    many = "leaves" if noun == "leaf" else f"{noun}s"
    return f"{number(value)} {noun if float(value) == 1.0 else many}"


def signed(worse: float) -> str:
    """How much worse a score is, in words; empty if unknown."""
    if np.isnan(worse):
        return ""
    if worse == 0.0:
        return "just as good"
    return f"{number(abs(worse))} {'worse' if worse > 0 else 'better'}"
