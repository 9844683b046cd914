"""The base of models of all kinds of trees: reading rows, routing them, the pruning path."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from itertools import compress, repeat
from typing import Any, Generic, Self

import numpy as np
from numpy.typing import NDArray

from treebound._utils._pool import Threads
from treebound._utils.frozen import set_fields
from treebound._utils.jobs import effective_jobs
from treebound._utils.versions import checked_state, state_with_version
from treebound.data import Column, Matrix, read_matrix
from treebound.data.frames import Table, read_table
from treebound.data.streams import Batches, is_stream, open_stream, until_settled
from treebound.growing import GrowOptions
from treebound.model.options import ReadingOptions
from treebound.model.provenance import Provenance
from treebound.pruning import PruningPath, PruningResult
from treebound.pruning.base import PathChoice
from treebound.pruning.path import PathTree
from treebound.tree.base import BaseTree


@dataclass(frozen=True, eq=False)
class BaseModel(Generic[PathTree, PathChoice]):
    """A fitted tree, its pruning path, and how it reads rows; immutable.

    Attributes
    ----------
    tree : Tree or RegressionTree
        The tree that predicts.
    pruning : PruningResult or None
        The result of pruning and its path; None if the tree was not pruned.
    step : int or None
        The step of the path selected by ``prune_to``; None for the tree that was fitted.
    options : GrowOptions
        The options of growing.
    reading : ReadingOptions
        How rows are read: unknown categories, names of columns, the target.
    provenance : Provenance
        The parameters and rows of ``fit``, and the edits.
    swapped : tuple of int
        Nodes whose right branch is shown first; nothing else depends on it.
    """

    tree: PathTree
    _: KW_ONLY
    pruning: PruningResult[PathTree, PathChoice] | None = None
    step: int | None = None
    options: GrowOptions = field(default_factory=GrowOptions)
    reading: ReadingOptions = field(default_factory=ReadingOptions)
    provenance: Provenance = field(default_factory=Provenance)
    swapped: tuple[int, ...] = ()

    def __getstate__(self) -> dict[str, Any]:
        return state_with_version(
            {attribute.name: getattr(self, attribute.name) for attribute in fields(self)}
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        set_fields(self, **checked_state(state))

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the training table."""
        return self.tree.columns

    @property
    def path(self) -> PruningPath[PathTree] | None:
        """The pruning path; None if the tree was not pruned."""
        return None if self.pruning is None else self.pruning.path

    @property
    def grown(self) -> PathTree:
        """The tree before pruning."""
        return self.tree if self.path is None else self.path.first

    @property
    def has_names(self) -> bool:
        """True if the training table had column names; those of a bare tree are x0, x1, ..."""
        if self.reading.named is not None:
            return self.reading.named
        return any(column.name != f"x{at}" for at, column in enumerate(self.columns))

    # -- rows --------------------------------------------------------------------------------

    def read(self, X: Any, *, whole: bool = False, check: bool = True) -> Matrix:
        """Read rows for prediction: the columns that the tree splits on, or the whole table."""
        table = read_table(X)
        options = self._options(table, self.tree, whole)
        return read_matrix(table, self.columns, **options, check=check)

    def _options(self, table: Table, tree: BaseTree, whole: bool) -> dict[str, Any]:
        """How the columns of a table are found, and which are needed."""
        named, needed = self.has_names, None
        if not whole:
            needed = np.zeros(len(self.columns), dtype=bool)
            needed[tree.feature[tree.feature >= 0]] = True
        if self.reading.named is None and not named and table.names is not None:
            used = compress(self.columns, repeat(True) if needed is None else needed)
            named = {column.name for column in used} <= {*table.names}
        return {"named": named, "needed": needed, "handle_unknown": self.reading.handle_unknown}

    def _has_all_columns(self, table: Table) -> bool:
        """Return True if a table has the columns of the training table, so that rows compare."""
        if self.has_names and table.names is not None:
            return {column.name for column in self.columns} <= {*table.names}
        return table.shape[1] == len(self.columns)

    @property
    def _hashed_names(self) -> list[str] | None:
        """The columns whose values the hash of a row is of; None for all, in their order."""
        return [column.name for column in self.columns] if self.has_names else None

    def batches(self, X: Batches, *, whole: bool) -> Iterator[tuple[Any, Any]]:
        """Batches with the rows to read in them; ``whole``: batches have all columns."""
        names = self._names_in(X, None, whole=False)
        for batch in X.read(None if whole else names):
            table = X.split(batch, names, None, None)[0]
            if table is not None:
                yield batch, table

    def _names_in(self, batches: Batches, target: str | None, *, whole: bool) -> list[str]:
        """The columns of a table in batches that are read."""
        inputs = [name for name in batches.names if name != target]
        if not self.has_names:
            return inputs
        used = {*self.tree.feature.tolist()}
        needed = {column.name for at, column in enumerate(self.columns) if whole or at in used}
        return [name for name in inputs if name in needed] or inputs[:1]

    def apply(self, X: Any, n_jobs: int | None = None) -> NDArray[np.int32]:
        """The node that each row of a table or Matrix reaches; tables may come in batches."""
        return self._values_at(None, X, n_jobs)

    def _values_at(
        self, values: NDArray[Any] | None, X: Any, n_jobs: int | None = None
    ) -> NDArray[Any]:
        """The value of the node that each row reaches, of one value for each node, or the node."""
        if is_stream(X):
            nodes = until_settled(lambda: [nodes for _, nodes in self.reached(X, n_jobs)])
            reached = np.concatenate(nodes) if nodes else np.empty(0, dtype=np.int32)
            return reached if values is None else values.take(reached, axis=0)
        with Threads(effective_jobs(n_jobs)):
            matrix = X if isinstance(X, Matrix) else self.read(X, check=False)
            return self.tree.values_at(values, matrix, n_jobs=n_jobs)

    def reached(
        self, X: Any, n_jobs: int | None = None, *, whole: bool = False
    ) -> Iterator[tuple[Any, NDArray[np.int32]]]:
        """Rows with the nodes that they reach: the table, or each batch, ``whole`` or as read."""
        batches = open_stream(X)
        if batches is None:
            yield X, self.apply(X, n_jobs)
            return
        for batch, table in self.batches(batches, whole=whole):
            yield batch, self.apply(table, n_jobs)

    # -- other trees -----------------------------------------------------------------------

    def prune_to(self, leaves: int | None = None, *, step: int | None = None) -> Self:
        """The model at another step of its path: of at most so many leaves, or of a number."""
        by_size, number = size_or_step(leaves, step)
        if self.pruning is None:
            why = "edited by hand" if self.provenance.edits else "fitted without pruning"
            raise ValueError(
                f"There is no pruning path: the model was {why}. "
                "Hint: fit it with another 'pruning'."
            )
        path = self.pruning.path
        path, at = path.reaching(number) if by_size else (path, path.step(number))
        return replace(self, tree=path.tree(at), pruning=replace(self.pruning, path=path), step=at)


def size_or_step(leaves: int | None, step: int | None) -> tuple[bool, int]:
    """Return whether a size was given to ``prune_to``, and the size or the step."""
    if leaves is not None and step is None:
        return True, leaves
    if step is not None and leaves is None:
        return False, step
    raise ValueError(
        "prune_to needs one of 'leaves' and 'step'. "
        f"Got leaves={leaves!r} and step={step!r} instead."
    )
