"""The pruner protocol and base class, and the result of pruning."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, runtime_checkable

import numpy as np

from treebound._utils.html import paragraphs
from treebound._utils.validation import Parameters, check, invalid
from treebound.data import Sample
from treebound.data.draws import Draw, Selection
from treebound.growing.graph import CandidateGraph
from treebound.pruning.path import PathTree, PruningPath, count
from treebound.pruning.weight import WeightChoice
from treebound.tree.model import Tree
from treebound.tree.node_sums import NodeSums


class Choice(Protocol):
    """How a pruner chose among trees of several sizes."""

    @property
    def rule(self) -> str | None:
        """The rule of the choice; None if there was no choice."""
        ...

    @property
    def leaves(self) -> tuple[int, ...]:
        """Leaves of the trees that it chose from."""
        ...

    @property
    def index(self) -> int:
        """The place of the chosen tree."""
        ...

    def explain(self) -> str:
        """Describe the choice."""
        ...


# The kind of choice of a pruner: of a weight by errors unless another one is named.
if TYPE_CHECKING:
    from typing_extensions import TypeVar

    PathChoice = TypeVar("PathChoice", bound=Choice, default=WeightChoice)
else:
    from typing import TypeVar

    PathChoice = TypeVar("PathChoice", bound=Choice)

# Grows a tree on part of the sample, for pruners that cross-validate.
Grow = Callable[[Sample], Tree]
# Searches a graph of candidate trees instead.
Search = Callable[[Sample], CandidateGraph]


@runtime_checkable
class Pruner(Protocol):
    """An object that prunes a grown tree."""

    def prune(
        self,
        tree: Tree,
        sample: Sample | None = None,
        *,
        validation: Sample | NodeSums | None = None,
        grow: Grow | None = None,
    ) -> PruningResult:
        """Prune a tree; the tree that goes in is not changed.

        Parameters
        ----------
        tree : Tree
            A grown tree.
        sample : Sample, optional
            The rows that the counts and labels of the tree come from, for pruners that need
            them. Use ``tree.recounted(sample)`` for other rows.
        validation : Sample or NodeSums, optional
            Rows that were not grown on, for pruners that validate; or their sums at the nodes of
            the tree, if a pruner needs no more.
        grow : callable, optional
            ``grow(sample) -> Tree``: grows a tree on part of the sample, for pruners that
            cross-validate.
        """
        ...


@dataclass(frozen=True)
class PruningResult(Generic[PathTree, PathChoice]):
    """The result of pruning.

    Attributes
    ----------
    tree : Tree
        The pruned tree.
    path : PruningPath
        All candidate steps: ``len(path)``, ``path.table()``, ``path.tree(step)``.
    score : float
        The score of the pruned tree; lower is better.
    gap : float
        Upper bound on the score minus the lowest score of any pruning of this kind; 0 if the
        search is exact, NaN if unknown.
    choice : WeightChoice or None
        How :class:`BoundPruner` chose the weight of the tree, with the validated losses of the
        alternatives.
    fit_time : float
        Pruning time in seconds; NaN after copying or loading.
    """

    tree: PathTree
    path: PruningPath[PathTree]
    score: float
    gap: float = np.nan
    choice: PathChoice | None = None
    fit_time: float = np.nan

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "fit_time": np.nan}  # equal fits have equal pickles

    def __repr__(self) -> str:
        grown, sizes = count(self.path.first.n_leaves, "leaf"), count(len(self.path), "size")
        return f"<PruningResult: {self.tree.n_leaves:,} of {grown}, chosen among {sizes}>"

    def _repr_html_(self) -> str:
        return paragraphs(f"{self!r}\n{self.explain()}")

    def within(self, leaves: int) -> PruningResult[PathTree, PathChoice]:
        """The best result with at most ``leaves`` leaves: this one, or another step of its path.

        A path that ends earlier is extended by the pruning with the fewest training errors.
        """
        if self.tree.n_leaves <= leaves:
            return self
        path = self.path.within(leaves)
        return replace(self, tree=path.tree(), path=path, score=float(path.scores[path.chosen]))

    def explain(self) -> str:
        """Describe why the tree has this size, compared with the neighbouring sizes."""
        words = self.path.explain()
        return f"{self.choice_in_words}\n{words}" if self.choice_in_words else words

    @property
    def choice_in_words(self) -> str:
        """How the weight was chosen; empty if it was given."""
        choice = self.choice
        if choice is None:
            return ""
        limited = choice.rule is not None and self.tree.n_leaves < choice.leaves[choice.index]
        return f"{'Without the limit on leaves: ' * limited}{choice.explain()}"


class PruningRows(NamedTuple):
    """The input of a pruner in addition to the tree; see :meth:`Pruner.prune`."""

    sample: Sample | None
    validation: Sample | NodeSums | None
    grow: Grow | None
    search: Search | None = None  # of the bound pruner, as are
    folds: Sequence[Any] | None = None  # what BoundPruner.grow_folds gives


class BasePruner(Parameters, Pruner):
    """Base class of the pruners: checks the parameters, measures the time, calls ``_search``."""

    @property
    def needs_rows(self) -> bool:
        """Return True if pruning needs the rows; otherwise the counts in the tree are enough."""
        return False

    @property
    def raises_subtrees(self) -> bool:
        """Return True if a subtree may replace a node above it."""
        return False

    def takes_validation_rows(self, rows: int, columns: int) -> bool:
        """Return True if some rows of a table of this size are kept from growing to validate on."""
        return False

    def select_validation(self, key: int) -> Selection:
        """Select the validation rows; ``key`` is that of the rows of ``fit``."""
        raise NotImplementedError

    def validation_of(self, sample: Sample, key: int | None = None) -> Selection | None:
        """The selection of the validation rows of a sample, if any.

        Without a key, that of the rows and of the ``random_state`` of the pruner is used.
        """
        if not self.takes_validation_rows(sample.n_rows, len(sample.columns)):
            return None
        self._check()
        if key is None:
            key = Draw.start(vars(self).get("random_state", 0)).key_of(sample)
        return self.select_validation(key)

    def split_validation(
        self, sample: Sample, key: int | None = None
    ) -> tuple[Sample, Sample | None]:
        """The rows to grow on, and rows that ``prune`` needs as ``validation``, if any."""
        selection = self.validation_of(sample, key)
        return (sample, None) if selection is None else selection.split(sample)

    def prune(
        self,
        tree: Tree,
        sample: Sample | None = None,
        *,
        validation: Sample | NodeSums | None = None,
        grow: Grow | None = None,
    ) -> PruningResult:
        return self.prune_on(tree, PruningRows(sample, validation, grow))

    def prune_on(self, tree: Tree, rows: PruningRows) -> PruningResult:
        """Prune a tree; the rows may have been searched or grown on already."""
        start = perf_counter()
        self._check()
        if rows.sample is not None:
            _check_counts(tree, rows.sample)
        result = self._search(tree, rows)
        return replace(result, score=float(result.score), fit_time=perf_counter() - start)

    def _check(self) -> None:
        check(type(self).__name__, vars(self), self._constraints)

    @abstractmethod
    def _search(self, tree: Tree, rows: PruningRows) -> PruningResult:
        """Find the pruned tree."""

    def _to_validate(self, rows: PruningRows) -> tuple[Sample, Grow]:
        """The sample and ``grow`` for cross-validation, or an error."""
        if rows.sample is None or rows.grow is None:
            raise ValueError(
                f"{type(self).__name__} needs a sample and grow to validate on part of the rows. "
                "Hint: use it as the 'pruning' of BoundTreeClassifier or through treebound.prune, "
                "which know how to grow a tree, or set the constant that it would search for."
            )
        return rows.sample, rows.grow

    def _without(self, which: str, why: str) -> ValueError:
        """Return the error for rows that are needed and were not given."""
        return ValueError(f"{type(self).__name__} needs {which} to {why}. Got None instead.")


def _check_counts(tree: Tree, sample: Sample) -> None:
    """Raise a ValueError if the counts of the tree cannot come from the sample."""
    counts = sample.counts
    same = np.array_equal(counts, tree.counts[0])
    # growing rounds the weight of a row by up to 2^-51 of their sum
    rounding = 1e-9 + 2.0**-51 * sample.n_rows * float(counts.sum())
    if not same and not np.allclose(counts, tree.counts[0], rtol=1e-9, atol=rounding):
        root_counts = tree.counts[0].tolist()
        must = f"the rows the tree was counted on, with class weights {root_counts}"
        hint = "prune tree.recounted(sample), or give validation rows as 'validation'."
        raise invalid("sample", "prune", must, counts.tolist(), hint)
