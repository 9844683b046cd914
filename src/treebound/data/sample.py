"""A sample: encoded rows with their classes and weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from treebound._utils.choices import Unknown
from treebound.data.columns import Column
from treebound.data.encoding import learn_matrix, read_matrix
from treebound.data.frames import Table, read_table
from treebound.data.groups import group_codes, group_labels
from treebound.data.learned import LearnedSchema, PartFacts, merge_facts
from treebound.data.matrix import Matrix
from treebound.data.raw import count_of_codes, spread
from treebound.data.summaries import TableSummary
from treebound.data.targets import (
    Labels,
    is_number_label,
    learn_classes,
    read_classes,
    refuse_quantity,
    used_labels,
)
from treebound.data.weights import (
    class_totals,
    is_whole,
    relative_weights,
    row_weights,
    scaled_weights,
)

ClassWeight = Literal["balanced"] | Mapping[Any, float] | None


class WeightedTargets:
    """The targets of rows with their weights, wherever the columns of the rows are."""

    y: NDArray[Any]
    weight: NDArray[np.float64] | None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.y)

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weight of each row, one if the rows are not weighted."""
        return np.ones(self.n_rows) if self.weight is None else self.weight

    @property
    def total(self) -> float:
        """The sum of the weights."""
        return float(self.n_rows) if self.weight is None else float(self.weight.sum())


@dataclass(frozen=True, eq=False)
class EncodedRows(WeightedTargets):
    """Encoded rows with a target and weights: what samples of classes and of numbers share."""

    X: Matrix
    y: NDArray[Any]
    weight: NDArray[np.float64] | None

    def _check_rows(self) -> None:
        """Raise a ValueError if lengths differ, or a weight or a code is out of range."""
        same_length(self.X.n_rows, len(self.y))
        if self.weight is not None:
            same_length(len(self.y), len(self.weight))
            if not (np.isfinite(self.weight) & (self.weight > 0.0)).all():
                raise ValueError(
                    f"The 'weight' of a {type(self).__name__} must be finite numbers > 0, or None."
                )
        self.X.check_codes()

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of ``X``."""
        return self.X.columns

    def without_identifiers(self) -> Self:
        """Return the sample to grow trees on: all values of identifiers are missing."""
        matrix = self.X.without_identifiers()
        return self if matrix is self.X else replace(self, X=matrix)


def joined_rows(
    samples: Sequence[EncodedRows],
) -> tuple[Matrix, NDArray[Any], NDArray[np.float64] | None]:
    """Return the columns, targets and weights of samples, one after the other."""
    weight = None
    if any(sample.weight is not None for sample in samples):
        weight = np.concatenate([sample.weights for sample in samples])
    X = Matrix.stacked([sample.X for sample in samples])
    return X, np.concatenate([sample.y for sample in samples]), weight


@dataclass(frozen=True, eq=False)
class Sample(EncodedRows):
    """Encoded and checked rows with their classes and weights; immutable.

    Made by :meth:`learn` from a table and a target, or by :meth:`read` with the columns and
    classes of an existing tree; a :meth:`part` of a sample is a sample.

    Attributes
    ----------
    X : Matrix
        The encoded columns.
    y : ndarray of int32
        The class of each row, an index into ``classes``.
    weight : ndarray of float64 or None
        The sample weight of each row, all positive; None if the rows are not weighted. Whole
        numbers stand for repeated rows.
    classes : ndarray
        The class labels, sorted.
    factors : ndarray of float64 or None
        The class weights, one for each class: sums over the rows of a class are multiplied by
        its factor.
    groups : ndarray of int64 or None
        The group of each row; folds and held-out parts keep groups together.

    Raises
    ------
    ValueError
        If a code, a class or a weight is out of range.
    """

    y: NDArray[np.int32]
    classes: NDArray[Any]
    factors: NDArray[np.float64] | None = None
    groups: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        """Check the codes: the kernels use them as indices."""
        self._check_rows()
        last = len(self.classes) - 1
        if len(self.y) and not (self.y.min() >= 0 and self.y.max() <= last):
            raise ValueError(
                f"The 'y' of a Sample must be classes from 0 to {last}. "
                f"Got {self.y.min()} to {self.y.max()} instead."
            )

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def masses(self) -> NDArray[np.float64] | None:
        """The sample weight of each row times its class weight; None if every row counts once."""
        if self.factors is None:
            return self.weight
        return self.factors[self.y] * self.weights

    @property
    def mass(self) -> float:
        """The sum of the weights times the class weights."""
        return self.total if self.factors is None else float(self.counts @ self.factors)

    @property
    def counts(self) -> NDArray[np.float64]:
        """Total weight of each class."""
        if self.weight is None:
            return count_of_codes(self.y, self.n_classes).astype(np.float64)
        sums = np.bincount(self.y, weights=self.weight, minlength=self.n_classes)
        return sums.astype(np.float64, copy=False)

    def part(self, rows: NDArray[Any] | slice) -> Sample:
        """Select rows.

        Parameters
        ----------
        rows : index array, slice or mask
            The rows to keep.
        """
        X = self.X.part(rows)
        if not isinstance(rows, slice):  # taking by places is the fastest
            rows = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        weight = None if self.weight is None else self.weight[rows]
        groups = None if self.groups is None else self.groups[rows]
        return Sample(X, self.y[rows], weight, self.classes, self.factors, groups)

    @classmethod
    def empty(
        cls,
        columns: Sequence[Column],
        classes: NDArray[Any],
        factors: NDArray[np.float64] | None = None,
    ) -> Sample:
        """A sample of no rows."""
        labels = np.empty(0, dtype=np.int32)
        return cls(Matrix.empty(columns), labels, None, classes, factors)

    @staticmethod
    def joined(samples: Sequence[Sample]) -> Sample:
        """The rows of samples with the same columns and classes, one after the other."""
        samples = [sample for sample in samples if sample.n_rows] or samples[:1]
        if len(samples) == 1:
            return samples[0]
        return Sample(*joined_rows(samples), samples[0].classes, samples[0].factors)

    @classmethod
    def learn(
        cls,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        classes: NDArray[Any] | None = None,
        class_weight: ClassWeight = None,
        groups: Any = None,
        categorical_features: Any = "from_dtype",
        ordinal_features: Any = None,
    ) -> Sample:
        """Learn columns and classes from a training table and its target.

        Rows of weight zero are dropped first.

        Parameters
        ----------
        X : table
            Any data frame that narwhals supports, an array, or nested lists.
        y : array-like of shape (n_rows,)
            The label of each row.
        sample_weight : array-like of shape (n_rows,) or number, optional
            The weight of each row, or of every row. Whole numbers stand for repeated rows; of
            others only the ratios matter.
        classes : ndarray, optional
            All classes, if some of them may have no rows here.
        class_weight : "balanced", mapping of class to weight, or None
            Multiplies the sample weights; only the ratios matter.
        groups : array-like of shape (n_rows,), optional
            The group of each row, such as a patient.
        categorical_features : "from_dtype", or a sequence of names, of indices, or a boolean mask
            Columns to treat as nominal regardless of dtype; the others follow their dtype: ordered
            categoricals and enums are ordinal, other categoricals, text and booleans nominal,
            numbers real. Categories come from the dtype if it declares them, otherwise from the
            data, sorted. An undeclared nominal column that is not named here is an identifier if
            there are at least 50 rows and its values are distinct in more than 90 % of them.
        ordinal_features : sequence of names or indices, or mapping to ordered categories
            Columns to treat as ordinal regardless of dtype. A mapping declares the categories.

        Examples
        --------
        >>> from treebound.data import Sample
        >>> sample = Sample.learn([[1.0, "red"], [2.0, "blue"]], ["no", "yes"])
        >>> sample.y.tolist(), sample.classes.tolist(), sample.columns[1].categories
        ([0, 1], ['no', 'yes'], ('blue', 'red'))
        """
        return LabelledRows.of(X, y, sample_weight, groups).learn(
            class_weight=class_weight,
            categorical_features=categorical_features,
            ordinal_features=ordinal_features,
            classes=classes,
        )

    @classmethod
    def read(
        cls,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        columns: Sequence[Column],
        classes: NDArray[Any],
        named: bool,
        needed: Sequence[bool] | NDArray[np.bool_] | None = None,
        handle_unknown: Unknown = "other",
        factors: NDArray[np.float64] | None = None,
    ) -> Sample:
        """Read a table and its labels with the columns and classes of a tree.

        Columns are found by name if the training table was ``named`` and X has names too, otherwise
        by position; those that are not ``needed`` may then be absent. Unknown categories are an
        error, missing, or -2, which routing handles. ``factors`` are the class weights.
        """
        rows = LabelledRows.of(X, y, sample_weight)
        codes = read_classes(Labels(rows.classes, rows.codes), np.asarray(classes))
        matrix = read_matrix(
            rows.table, columns, named=named, needed=needed, handle_unknown=handle_unknown
        )
        return cls(matrix, codes, relative_weights(rows.weight), classes, factors)


class RawRows(NamedTuple):
    """A table and its labels or numbers, weights and groups, as they were given."""

    table: Any
    y: Any
    weight: Any = None
    groups: Any = None

    @property
    def target(self) -> str | None:
        """The name of y, if it has one."""
        name = getattr(self.y, "name", None)
        return name if isinstance(name, str) and name else None


class LabelledRows(NamedTuple):
    """Labelled rows of a table with their weights and groups, without rows of weight zero."""

    table: Table
    classes: NDArray[Any]  # labels that occur
    codes: NDArray[np.int32]  # which of them every row has
    weight: NDArray[np.float64] | None  # as it was given
    groups: NDArray[np.int64] | None = None
    numbers: NDArray[np.intp] | None = None  # of the rows in the table; None for all of them

    @classmethod
    def of(
        cls, X: Any, y: Any, sample_weight: Any, groups: Any = None, *, part: bool = False
    ) -> LabelledRows:
        """The rows of a table, or of a part of one, checked."""
        table = read_table(X)
        classes, codes = learn_classes(y)
        same_length(table.shape[0], len(codes))
        weight = row_weights(sample_weight, len(codes), part=part)
        rows, labels = cls(table, classes, codes, weight), group_labels(groups, len(codes))
        if weight is not None and not weight.all():
            labels = None if labels is None else labels[weight > 0]
            rows = rows.part(weight > 0)
        return rows if labels is None else rows._replace(groups=group_codes([labels]))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.codes)

    def check_classes(self) -> None:
        """Raise a ValueError if the labels are a quantity and not classes."""
        if is_number_label(self.classes):
            refuse_quantity(len(self.classes), self.n_rows)

    @property
    def labels(self) -> NDArray[Any]:
        """The label of each row."""
        return self.classes[self.codes]

    @property
    def row_numbers(self) -> NDArray[np.intp]:
        """The number of each row in the table."""
        return np.arange(self.n_rows) if self.numbers is None else self.numbers

    @property
    def units(self) -> NDArray[np.intp]:
        """The place of each row, or of its group, among those that are independent."""
        if self.groups is None:
            return np.arange(self.n_rows)
        return np.unique(self.groups, return_inverse=True)[1]

    @property
    def n_units(self) -> int:
        """The number of independent rows: of rows, or of groups."""
        return int(self.units.max(initial=-1)) + 1

    def part(self, keep: NDArray[np.bool_]) -> LabelledRows:
        """Some of the rows, with the labels that occur in them."""
        classes, codes = used_labels(self.classes, self.codes[keep])
        weight = None if self.weight is None or not len(codes) else self.weight[keep]
        weight = row_weights(weight, len(codes), part=True)
        groups = None if self.groups is None else self.groups[keep]
        numbers = self.row_numbers[keep]
        return LabelledRows(self.table.rows(keep), classes, codes, weight, groups, numbers)

    def learn(
        self,
        *,
        class_weight: ClassWeight = None,
        categorical_features: Any = "from_dtype",
        ordinal_features: Any = None,
        classes: NDArray[Any] | None = None,
    ) -> Sample:
        """Learn columns and classes from all of the rows, see :meth:`Sample.learn`.

        ``classes`` are all classes, if some of them may have no rows here.
        """
        kinds = {"categorical_features": categorical_features, "ordinal_features": ordinal_features}
        matrix = learn_matrix(self.table, **kinds)
        facts = self.facts(matrix)
        if classes is not None:
            facts = replace(facts, calibration_classes=classes)
        schema = merge_facts(
            [facts], class_weight=class_weight, categorical_features=categorical_features
        ).with_identifiers()
        return self.sample(replace(matrix, columns=schema.columns), schema)

    def facts(self, matrix: Matrix, sample_rows: int = 0) -> PartFacts:
        """The facts of a part of the rows, with a summary and values of some rows."""
        sample: tuple[NDArray[Any], ...] = ()
        summary = None
        if sample_rows:
            some = spread(self.n_rows, sample_rows)
            sample = tuple(
                values[some].astype(np.float64) if column.kind == "real" else np.empty(0)
                for column, values in zip(matrix.columns, matrix.values, strict=True)
            )
            summary = TableSummary.of(matrix, self.codes, len(self.classes))
        totals = tuple(class_totals(self.codes, self.weight, len(self.classes)))
        return PartFacts(
            self.n_rows,
            self.table.names,
            matrix.columns,
            self.classes,
            totals,
            is_whole(self.weight),
            sample,
            summary,
        )

    def sample(self, matrix: Matrix, schema: LearnedSchema) -> Sample:
        """The rows with the columns, classes and weights of all parts."""
        codes, weight = self.codes, self.weight
        if schema.classes is not self.classes:
            codes = read_classes(Labels(self.classes, codes), schema.classes)
        if schema.scale is not None:
            weight = scaled_weights(np.ones(len(codes)) if weight is None else weight, schema.scale)
            weight = None if bool((weight == 1.0).all()) else weight
        return Sample(matrix, codes, weight, schema.classes, schema.factors, self.groups)


def same_length(rows: int, labels: int) -> None:
    if rows != labels:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {[rows, labels]}"
        )
