"""How a fitted model reads labelled rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from treebound._utils.validation import Phrase, Setting, WordedError, invalid
from treebound.certificate.row_record import RowComparison, RowRecord
from treebound.data import Column, Sample
from treebound.data.draws import one_of_each
from treebound.data.frames import read_table
from treebound.data.groups import group_codes, group_labels
from treebound.data.roles import check_names
from treebound.data.row_hashes import row_hashes
from treebound.data.sample import same_length
from treebound.data.streams import is_stream, open_stream, until_settled
from treebound.data.targets import read_classes
from treebound.data.weights import check_rows
from treebound.model.base import BaseModel
from treebound.pruning import WeightChoice
from treebound.tree.model import Tree


@dataclass(frozen=True, eq=False)
class IndependentRows:
    """One row of each group of a table, drawn by number: rows that are independent."""

    rows: NDArray[np.bool_]  # which rows were drawn
    grouped: bool  # False if each row is a group of its own

    @classmethod
    def of(cls, groups: Any, n_rows: int) -> Self:
        """Draw one row of each group."""
        labels, drawn = group_labels(groups, n_rows), np.ones(n_rows, dtype=bool)
        codes = None if labels is None else group_codes([labels])
        if codes is not None:
            drawn[:] = False
            drawn[one_of_each(codes, key=0)] = True
        return cls(drawn, codes is not None)


def check_groups(n_groups: int, independent: IndependentRows | None) -> None:
    """Raise an error for rows without groups if the model was fitted with groups."""
    if n_groups and independent is None:
        raise WordedError(
            "The model was fitted with groups, whose rows are not independent, and a certificate "
            "counts one row of each. Hint: ",
            Phrase("give", "use 'treebound certify' with"),
            " the group of each row, ",
            Setting("groups", "COLUMN", python="groups=...", of="certify"),
            "; if the rows are independent, number them.",
        )


class Tested(NamedTuple):
    """Labelled rows of each class that end at each node, compared with the rows of fit."""

    counts: NDArray[np.int64]
    comparison: RowComparison = RowComparison()
    independent: IndependentRows | None = None  # None if no groups were given

    @property
    def grouped(self) -> bool:
        """True if one row of each group was counted."""
        return self.independent is not None and self.independent.grouped


class LabelledRowReader(BaseModel[Tree, WeightChoice]):
    """How a model reads labelled rows: columns by name if fit had names, classes as fitted."""

    @property
    def classes(self) -> NDArray[Any]:
        """The class labels, sorted."""
        return self.tree.classes

    def read_sample(
        self, X: Any, y: Any, sample_weight: Any = None, *, whole: bool = False
    ) -> Sample:
        """Read labelled rows: the columns that the grown tree uses, or the whole table."""
        table = read_table(X)
        return Sample.read(
            table,
            y,
            sample_weight,
            columns=self.columns,
            classes=self.classes,
            factors=self.tree.factors,
            **self._options(table, self.grown, whole),
        )

    def read_test(self, X: Any, y: Any) -> Sample:
        """Read labelled rows that each count once, without class weights."""
        return replace(self.read_sample(X, y), factors=None)

    def _labelled(self, X: Any, y: Any, *, whole: bool) -> Iterator[tuple[Any, Any]]:
        """Tables with their labels: one, or each of many batches, whose labels ``y`` names."""
        batches = open_stream(X)
        if batches is None:
            yield X, y
            return
        check_names("", batches.names, "a table that is streamed", y=y)
        names = self._names_in(batches, y, whole=whole)
        for batch in batches.read([*names, y]):
            table, labels, _ = batches.split(batch, names, y, None)
            if table is not None:
                yield table, labels

    def hashes(self, X: Any, y: Any) -> NDArray[np.uint64] | None:
        """A hash of each labelled row; None if the table lacks columns of the training table."""
        table = read_table(X)
        if not self._has_all_columns(table):
            return None
        codes = read_classes(y, self.classes)
        same_length(table.shape[0], len(codes))
        return row_hashes(table, self.classes, codes, names=self._hashed_names)

    def accuracy(
        self, X: Any, y: Any, sample_weight: Any = None, *, n_jobs: int | None = None
    ) -> float:
        """Share of rows (or of their weight) whose class is predicted, from one count.

        Of a table in batches, ``y`` names the labels, and rows have no weights.
        """
        counts: Any = until_settled(
            lambda: sum(
                self.weights_at_nodes(table, labels, sample_weight, n_jobs=n_jobs)
                for table, labels in self._labelled(X, y, whole=False)
            )
        )
        return accuracy(self.tree, np.asarray(counts))

    def weights_at_nodes(
        self, X: Any, y: Any, weight: Any = None, *, n_jobs: int | None = None
    ) -> NDArray[np.float64]:
        """Return the weight of the rows of each class that end at each node, of rows in memory.

        The last column is that of classes that the tree does not know.
        """
        reached, codes = self.apply(X, n_jobs), read_classes(y, self.classes, other_labels=True)
        same_length(len(reached), len(codes))
        weights = None if weight is None else np.asarray(weight, dtype=np.float64)
        same_length(len(reached), len(codes if weights is None else weights))
        n = len(self.classes) + 1
        sums = np.bincount(reached.astype(np.intp) * n + codes, weights, self.tree.n_nodes * n)
        return sums.astype(np.float64).reshape(-1, n)

    def tested(self, X: Any, y: Any, groups: Any = None, *, caller: str = "certify") -> Tested:
        """Count labelled rows at the nodes, and compare them with those of ``fit``.

        Of rows with groups one of each is counted.
        """
        record = self.provenance.row_record or RowRecord()
        if groups is None:
            return until_settled(lambda: self._counted(X, y, record))
        if is_stream(X):
            raise invalid("groups", caller, "None for rows that are not in memory", groups)
        table, labels = read_table(X), self.classes[read_classes(y, self.classes)]
        same_length(table.shape[0], len(labels))
        drawn = IndependentRows.of(groups, len(labels))
        counted = self._counted(table.rows(drawn.rows), labels[drawn.rows], record)
        return counted._replace(independent=drawn)

    def _counted(self, X: Any, y: Any, record: RowRecord | None) -> Tested:
        """Count labelled rows at the nodes, and compare them with a record."""
        n, comparison = len(self.classes), RowComparison()
        counts = np.zeros(self.tree.n_nodes * n, dtype=np.int64)
        for table, labels in self._labelled(X, y, whole=record is not None):
            reached = self.tree.apply(self.read(table))
            codes = read_classes(labels, self.classes)
            same_length(len(reached), len(codes))
            counts += np.bincount(reached.astype(np.int64) * n + codes, minlength=len(counts))
            if record is not None:
                hashes = self.hashes(table, labels) if record.sketches else None
                comparison += record.compare(hashes, len(codes))
        check_rows(counts.sum())
        return Tested(counts.reshape(-1, n), comparison)


def right_of(tree: Tree, counts: NDArray[Any]) -> Any:
    """Return the number (or weight) of rows whose class is predicted, from those at the nodes."""
    return counts[np.arange(len(counts)), tree.label].sum()


def accuracy(tree: Tree, counts: NDArray[Any]) -> float:
    """Return the share of rows (or of their weight) whose class is predicted."""
    check_rows(counts.sum())
    return float(right_of(tree, counts) / counts.sum())


def new_missing(tree: Tree, columns: tuple[Column, ...]) -> str:
    """Why rows with these missing values certify nothing; empty if they do.

    A first missing value of a nominal column goes with the larger child, perhaps with a
    category: such a split is not in the class of trees that a certificate counts.
    """
    used = np.unique(tree.feature[(tree.feature >= 0) & tree.missing_left])
    for at in used.tolist():
        column = tree.columns[at]
        if column.kind == "nominal" and columns[at].missing and not column.missing:
            return (
                f"Column {column.name!r} has missing values in these rows and had none in the rows "
                "that the tree was grown on. Hint: fit on these rows."
            )
    return ""
