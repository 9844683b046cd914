"""Numbers as the target of a tree that is edited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils.arrays import Floats, sum_of_products
from treebound._utils.quantities import quantity
from treebound._utils.validation import Number, invalid
from treebound.data import Sample
from treebound.data.draws import Selection
from treebound.data.frames import Table, read_table
from treebound.data.number_sample import NumberSample
from treebound.data.numbers import read_numbers
from treebound.data.sample import LabelledRows
from treebound.edit.certifying import NumberCertifier
from treebound.edit.figures import Figures
from treebound.edit.kind import TargetKind
from treebound.edit.rows import EditedRows
from treebound.growing import GrowOptions, grow_numbers
from treebound.model import RegressionModel
from treebound.show.colours import value_scale
from treebound.show.report_numbers import number_report_data, training_rmse
from treebound.show.words import rounded
from treebound.tree.leaf_values import shrunk_values
from treebound.tree.monotone import limits, signs_of
from treebound.tree.regression import RegressionTree

_FIFTHS = (0.2, 0.4, 0.6, 0.8)  # where bands of numbers end, as shares of the training rows
_ROUNDING = 1e-9


class NumberKind(TargetKind[RegressionModel, RegressionTree, NumberSample]):
    """Numbers as target: predictions are values."""

    loss_name = "rmse"
    effects = ("nearer", "farther")
    effect_heads = ("nearer", "farther")
    alike = "of one number"

    # -- rows ------------------------------------------------------------------------------

    def labelled(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> LabelledRows:
        """Check rows with their numbers, which may have fractions, unlike classes."""
        numbers = read_numbers(y)
        no_classes = np.zeros(len(numbers), dtype=int)
        rows = LabelledRows.of(read_table(X), no_classes, sample_weight, groups)
        distinct, codes = np.unique(numbers[rows.row_numbers], return_inverse=True)
        return rows._replace(classes=distinct, codes=codes.astype(np.int32))

    def read(self, model: RegressionModel, rows: LabelledRows) -> NumberSample:
        """Read rows with all columns, as growing needs them."""
        sample = model.read_sample(rows.table, rows.labels, rows.weight, whole=True)
        return replace(sample, groups=rows.groups).without_identifiers()

    def read_test(self, X: Any, y: Any) -> NumberSample:
        """Read test rows with all columns; each counts once."""
        return self.model.read_sample(X, y, whole=True)

    def training_rows(self, sample: NumberSample, validation: Selection | None) -> NumberSample:
        """Return the rows that the tree was grown on, with clipped numbers if it was."""
        if validation is not None:
            sample = sample.split(validation)[0]
        return sample if self.model.clip is None else sample.clipped(*self.model.clip)

    def part(self, sample: NumberSample, rows: NDArray[np.bool_]) -> NumberSample:
        """Select rows by a mask."""
        return sample.part(rows)

    def hashes(self, table: Table, labels: Any) -> NDArray[np.uint64] | None:
        """Return a hash of each row; None if the table lacks columns of the training table."""
        return self.model.hashes(read_table(table), read_numbers(labels))

    def counts_agree(self, sample: NumberSample) -> bool:
        """Return True if the rows give the weights, means and squares of the tree."""
        tree = self.model.tree
        try:
            again = tree.recounted(sample.X, sample.target)
        except ValueError:  # a node without rows
            return False
        if not np.array_equal(again.rows, tree.rows) or again.weighted != tree.weighted:
            return False
        spread = float(tree.deviation[0])
        slack = [1e-9 * sample.total, 1e-6 * spread, 1e-6 * spread**2 * sample.total]
        return bool((np.abs(again.moments - tree.moments) <= slack + 1e-9 * tree.moments).all())

    def total(self, sample: NumberSample) -> float:
        """Return the weight of all rows."""
        return sample.total

    def bands(self, sample: NumberSample, training: NumberSample) -> tuple[NDArray[np.int32], int]:
        """Return the band that the number of each row is in, and the number of bands."""
        ends = _band_ends(training)
        return np.searchsorted(ends, sample.y).astype(np.int32), len(ends) + 1

    # -- trees -----------------------------------------------------------------------------

    def bare(self, structure: Mapping[str, Any], like: RegressionTree) -> RegressionTree:
        """Return a tree of some splits without counts."""
        n = len(structure["left"])
        return RegressionTree(
            **structure, moments=np.zeros((n, 3)), rows=np.zeros(n, dtype=np.int64),
            columns=like.columns, weighted=like.weighted, monotone=like.monotone,
        )  # fmt: skip

    def counted(
        self, bare: RegressionTree, sample: NumberSample, like: RegressionTree
    ) -> RegressionTree:
        """Return a tree with the sums of the training rows."""
        return bare.recounted(sample.X, sample.target)

    def stump(
        self, bare: RegressionTree, sample: NumberSample, left: NDArray[np.bool_]
    ) -> RegressionTree:
        """Return a split with the moments of some rows, of which these go left."""
        moments, rows = np.zeros((3, 3)), np.zeros(3, dtype=np.int64)
        for node, there in enumerate((np.ones(len(left), dtype=bool), left, ~left)):
            weights, numbers = sample.weights[there], sample.y[there]
            rows[node] = len(numbers)
            if len(numbers):
                mean = float(np.average(numbers, weights=weights))
                squares = sum_of_products(weights, (numbers - mean) ** 2)
                moments[node] = float(weights.sum()), mean, squares
        return replace(bare, moments=moments, rows=rows, value=moments[:, 1])

    def predictions(self, tree: RegressionTree) -> Floats:
        """Return the value of each node."""
        return tree.value

    def defaults(self, tree: RegressionTree) -> Floats:
        """Return the values that are not set by hand: shrunk means in the range of the target."""
        values = shrunk_values(tree, self.model.shrinkage)
        y_range = self._range
        return values if y_range is None else np.clip(values, *y_range)

    def plain_defaults(self, tree: RegressionTree) -> Floats:
        """Return the mean of each node, in the order that a monotone tree needs."""
        return tree.in_order(tree.mean)

    def slack(self, tree: RegressionTree) -> float:
        """Return the difference of values that rounding explains."""
        return _ROUNDING * float(tree.deviation[0])

    def with_predictions(self, tree: RegressionTree, predictions: Floats) -> RegressionTree:
        """Return the tree with other values."""
        return replace(tree, value=predictions)

    @property
    def _range(self) -> tuple[float, float] | None:
        """The declared range of the target."""
        y_range: tuple[float, float] | None = self.model.provenance.parameters.get("y_range")
        return y_range

    def grow(
        self,
        sample: NumberSample,
        columns: Sequence[str],
        options: GrowOptions,
        limits: Sequence[float] | None,
    ) -> RegressionTree:
        """Grow a tree on some columns."""
        matrix, target, weight = sample.X.select(columns), sample.target, 0.0
        if limits is not None:
            limits = target.scale.integers(np.array(limits)).tolist()
        chosen = self.model.provenance.parameters.get("min_samples_leaf") == "auto"
        if chosen and sample.weight is not None:  # a row of weight two counts as two rows
            weight, options = float(options.min_samples_leaf), replace(options, min_samples_leaf=1)
        return grow_numbers(matrix, target, options, min_weight=weight, limits=limits)

    def sides(self, sample: NumberSample, left: NDArray[np.bool_]) -> Sample:
        """Return the rows with the side of a split as their class."""
        y = left.astype(np.int32)
        return Sample(sample.X, y, sample.weight, np.array([0, 1]), None, None)

    def gain(self, stump: RegressionTree) -> float:
        """Return the decrease of the squared deviations by a split."""
        return float(stump.gains[0])

    def loss(self, stump: RegressionTree) -> float:
        """Return the RMSE of two leaves on the rows of the node."""
        return float(np.sqrt(stump.squares[1:].sum() / stump.weight[0]))

    def loss_in_words(self, loss: float) -> str:
        """Return the RMSE."""
        return f"RMSE {quantity(loss)}"

    # -- order -----------------------------------------------------------------------------

    def signs(self, tree: RegressionTree) -> tuple[int, ...] | None:
        """Return the sign of each column of a monotone tree."""
        return tree.monotone

    def limits(self, tree: RegressionTree, node: int) -> list[float] | None:
        """Return between which numbers means must stay below a node of a monotone tree."""
        if tree.monotone is None:
            return None
        lower, upper = self._limits(tree, tree.monotone)
        return [float(lower[node]), float(upper[node])]

    def _limits(self, tree: RegressionTree, signs: tuple[int, ...]) -> tuple[Floats, Floats]:
        lower, upper = limits(tree, tree.mean[:, None], signs, -np.inf, np.inf)
        return lower[:, 0], upper[:, 0]

    def out_of_order(self, tree: RegressionTree) -> int:
        """Return the first node that breaks the order of a monotone tree; -1 if there is none."""
        if tree.monotone is None:
            return -1
        lower, upper = self._limits(tree, tree.monotone)
        slack = 1e-6 * float(tree.deviation[0])
        split = np.flatnonzero(signs_of(tree, tree.monotone))
        checked = {*tree.left[split].tolist(), *tree.right[split].tolist()}
        for node in range(tree.n_nodes):
            of_node = [tree.mean[node]] * (node in checked) + [tree.value[node]]
            if min(of_node) < lower[node] - slack or max(of_node) > upper[node] + slack:
                return node
        return -1

    # -- what is shown ---------------------------------------------------------------------

    def figures(self, model: RegressionModel, test: NumberSample | None) -> Figures:
        """Return leaves, root mean squared errors and the certified share of large errors."""
        error = None
        if test is not None:
            error = float(np.sqrt(((test.y - model.tree.predict(test.X)) ** 2).mean()))
        certified = None if model.certificate is None else model.certificate.share
        tree = model.tree
        return Figures(tree.n_leaves, training_rmse(tree), error, None, None, certified, "RMSE")

    def certifier(self, rows: EditedRows[NumberSample]) -> NumberCertifier:
        """Return what makes models of edited trees."""
        return NumberCertifier(self.model, rows)

    def report_data(self, model: RegressionModel, training: NumberSample) -> dict[str, Any]:
        """Return the data of the page, with the bands of numbers in bars."""
        ends = [self.in_words(end) for end in _band_ends(training).tolist()]
        inside = [f"{low} to {high}" for low, high in pairwise(ends)]
        return {
            **number_report_data(model, 1),
            "bands": [f"up to {ends[0]}", *inside, f"above {ends[-1]}"],
            "band_colours": list(value_scale(len(ends) + 1)),
        }

    def improved(
        self, sample: NumberSample, before: float, now: float
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return for which rows another value is nearer, and for which it is farther."""
        was, new = np.abs(sample.y - before), np.abs(sample.y - now)
        return new < was, new > was

    def parse(self, label: Any, tree: RegressionTree) -> float:
        """Return the value that a user sets by hand."""
        if isinstance(label, bool) or not Number(-np.inf, open=True).allows(label):
            raise invalid("label", "relabel", "a finite number", label)
        y_range = self._range
        if y_range is not None and not y_range[0] <= label <= y_range[1]:
            raise invalid("label", "relabel", f"in the 'y_range' of fit, {tuple(y_range)}", label)
        return float(label)

    def named(self, prediction: float) -> Any:
        """Return a value."""
        return float(prediction)

    def in_words(self, prediction: Any) -> str:
        """Return a value, rounded as the tree shows it."""
        return rounded(prediction, float(self.model.tree.deviation[0]))

    def stored(self, prediction: float) -> float:
        """Return a value as the file of steps has it."""
        return float(prediction)

    def share(self, tree: RegressionTree, node: int) -> float | None:
        """Return None: there are no classes."""
        return None


def _band_ends(training: NumberSample) -> Floats:
    """Return the ends of the bands of numbers in bars: fifths of the training rows."""
    return np.unique(np.quantile(training.y, _FIFTHS))
