"""Reduced-error pruning: minimise the errors on validation rows."""

from __future__ import annotations

from typing import ClassVar

from treebound._validation import Number, OneOf, Whole, parameter, with_parameters
from treebound.data import Sample
from treebound.data.folds import held_out
from treebound.pruning.base import BasePruner, PruningResult, Rows
from treebound.pruning.greedy import greedy_on
from treebound.pruning.least_cost import least_cost
from treebound.pruning.validation import errors_on
from treebound.tree.model import Tree


@with_parameters
class ReducedErrorPruner(BasePruner):
    """Reduced-error pruning (Quinlan 1987) on validation rows.

    Parameters
    ----------
    validation_fraction : float
        The share of the rows that the classifier holds out: the tree is grown on the others and
        pruned on these. ``prune`` itself gets the validation rows as ``validation``.
    search : {"collapse", "greedy"}
        ``"collapse"``: bottom-up, a node becomes a leaf unless its subtree makes fewer errors;
        the result is the smallest pruning with the fewest errors. ``"greedy"``: the paper's
        search, which may also replace a node by one of its children.
    random_state : int or None
        Seed of the held-out part.

    Notes
    -----
    Counts and labels of the pruned tree come from the sample, not from the validation rows. If a
    child is raised and there is no sample to recount on, labels are kept and the tree is marked as
    not counted (``tree.counted``).

    Pruning on the test part is the study's Oracle.

    Examples
    --------
    >>> import treebound as tb
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> sample = tb.Sample.learn(X, y)
    >>> grown = tb.growing.grow(sample.part(slice(None, None, 2)))
    >>> rest = sample.part(slice(1, None, 2))
    >>> grown.n_leaves, ReducedErrorPruner().prune(grown, validation=rest).tree.n_leaves
    (12, 3)
    """

    name: ClassVar[str] = "reduced-error"
    validation_fraction: float = parameter(Number(0.0, 1.0, open=True), default=0.15)
    search: str = parameter(OneOf(("collapse", "greedy")), default="collapse")
    random_state: int | None = parameter(Whole(0, optional=True), default=0)

    @property
    def needs_rows(self) -> bool:
        return True

    @property
    def raises_subtrees(self) -> bool:
        return self.search == "greedy"

    def hold_out(self, sample: Sample) -> tuple[Sample, Sample | None]:
        """The rows to grow on, and those to prune on."""
        self._check()
        return held_out(sample, self.validation_fraction, self.random_state)

    def _search(self, tree: Tree, rows: Rows) -> PruningResult:
        if not isinstance(rows.validation, Sample):
            raise self._without("validation rows", "count errors on")
        if self.search == "greedy":
            return greedy_on(tree, rows.validation, sample=rows.sample, unit="validation errors")
        as_leaf, staying = errors_on(tree, rows.validation)
        return least_cost(tree, as_leaf, as_node=staying, unit="validation errors")
