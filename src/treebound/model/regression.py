"""RegressionModel: a fitted regression tree that reads rows, predicts and prunes."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from treebound._utils.arrays import Floats
from treebound._utils.quantities import quantity
from treebound._utils.validation import (
    Number,
    Phrase,
    Setting,
    WordedError,
    WordedText,
    check,
    invalid,
    parts_of,
)
from treebound.certificate.number_certificate import NumberCertificate, certify_numbers
from treebound.certificate.row_record import RowRecord
from treebound.data import read_matrix
from treebound.data.frames import Table, read_table
from treebound.data.number_sample import NumberSample, number_hashes
from treebound.data.numbers import read_numbers
from treebound.data.roles import check_names
from treebound.data.sample import LabelledRows, same_length
from treebound.data.streams import open_stream, until_settled
from treebound.data.weights import check_rows, relative_weights, row_weights
from treebound.model.base import BaseModel
from treebound.model.number_errors import NumberErrors
from treebound.model.number_estimate import NumberEstimate, quantile
from treebound.model.number_evidence import NumberCalibration, NumberEvidence, NumberSizeEstimate
from treebound.model.rows import IndependentRows, check_groups
from treebound.pruning.number_choice import NumberChoice
from treebound.pruning.number_pruner import SquaredErrorPruner, spreads
from treebound.pruning.path import count
from treebound.tree.base import nodes_left, standing_nodes
from treebound.tree.leaf_values import DEFAULT_SHRINKAGE, Shrinkage, with_shrunk_values
from treebound.tree.regression import RegressionTree, importances

ENDS = ("lower", "upper")  # of an interval
_CERTIFY = Phrase("call certify with rows", "give 'treebound certify' labelled rows")


def default_tolerance(tree: RegressionTree) -> float:
    """Return half a standard deviation of the training rows, rounded to three digits."""
    return float(f"{0.5 * float(tree.deviation[0]):.3g}")


def check_in_range(numbers: Floats, y_range: tuple[float, float]) -> None:
    """Raise a ValueError if a number is outside a declared range."""
    outside = (numbers < y_range[0]) | (numbers > y_range[1])
    if outside.any():
        row = int(outside.argmax())
        outlier = f"{quantity(numbers[row], 6)} in row {row:,}"
        must = f"a range that contains all numbers of y, {outlier} too"
        raise invalid("y_range", "", must, tuple(y_range))


@dataclass(frozen=True, eq=False)
class RegressionModel(BaseModel[RegressionTree, NumberChoice]):
    """A fitted regression tree, its pruning path, and how it reads rows; immutable.

    ``BoundTreeRegressor`` holds one as ``model_``. ``RegressionModel(tree)`` makes one of a bare
    tree.

    Attributes
    ----------
    tree, pruning, step, options, reading, provenance, swapped
        See :class:`~treebound.model.base.BaseModel`.
    evidence : NumberEvidence
        The calibration rows of the certificate and its ``delta``, and the estimates of errors.
    clip : tuple of float, or None
        The range into which the numbers of the training rows were moved.
    """

    _: KW_ONLY
    evidence: NumberEvidence = field(default_factory=NumberEvidence)
    clip: tuple[float, float] | None = None

    @property
    def choice(self) -> NumberChoice | None:
        """How leaf size and shrinkage were chosen; None if they were given."""
        return self.evidence.choice if self.pruning is None else self.pruning.choice

    @property
    def shrinkage(self) -> Shrinkage:
        """How strongly the values of nodes are shrunk."""
        if self.choice is not None:
            return self.choice.shrinkage
        smoothing = self.provenance.parameters.get("smoothing")
        return DEFAULT_SHRINKAGE if smoothing == "auto" else Shrinkage.of(smoothing)

    @property
    def estimate(self) -> NumberEstimate | None:
        """Estimated errors of the fitted tree; None without validation rows, or of another size."""
        return self.evidence.estimate

    @property
    def no_estimate(self) -> str | None:
        """Why there is no estimate, as a clause; None if there is one."""
        if self.estimate is not None:
            return None
        if self.step is not None:
            return "it was made for the tree that was fitted"
        if self.provenance.edits:
            return "the tree was edited"
        if not self.provenance.parameters:
            return "the tree was given"
        if self.provenance.parameters.get("pruning") is None:
            return "the tree was not pruned"
        choice = None if self.pruning is None else self.pruning.choice
        return "the tree was pruned again" if choice is None else choice.reason

    @property
    def importances(self) -> Floats:
        """Share of each column in the total decrease of squared error."""
        return importances(self.tree)

    def predict(self, X: Any, n_jobs: int | None = None) -> Floats:
        """The predicted number of each row."""
        return self._values_at(self.tree.value, X, n_jobs)

    def predict_interval(self, X: Any, coverage: float = 0.9, n_jobs: int | None = None) -> Floats:
        """The lower and the upper end of an interval for each row, shape (n_rows, 2)."""
        return self._values_at(self.node_intervals(coverage), X, n_jobs)

    @property
    def has_intervals(self) -> bool:
        """True if there are residuals for intervals."""
        return self.evidence.calibration is not None or len(self.evidence.residuals) > 0

    def node_intervals(self, coverage: float = 0.9) -> Floats:
        """The interval of each node, shape (n_nodes, 2).

        Half its width is a quantile of the scaled residuals of validation rows times the spread of
        the node: the standard deviation of its training rows, shrunk by ten rows to that of all
        leaves.
        """
        check("predict_interval", {"coverage": coverage}, {"coverage": Number(0.0, 1.0, open=True)})
        scaled = self._scaled_residuals()
        if not len(scaled):
            hint = "fit with certificate='held-out', or with pruning and a number of folds as cv"
            if self.step is not None:
                hint = "fit with this number of leaves as max_leaves"
            elif self.provenance.edits:
                hint = "fit with certificate='held-out', and edit before any figure is seen"
            why = self.no_estimate if self.step is None else "they are those of the fitted tree"
            raise ValueError(f"There are no residuals for an interval: {why}. Hint: {hint}.")
        half = quantile(scaled, coverage) * spreads(self.tree)
        return np.column_stack([self.tree.value - half, self.tree.value + half])

    def _scaled_residuals(self) -> Floats:
        """Sorted residuals of calibration rows, else of validation rows, in units of spread."""
        if self.evidence.calibration is None:
            return self.evidence.residuals
        errors, nodes = self._calibration_errors(self.evidence.calibration)
        return np.sort(errors / spreads(self.tree)[nodes])

    # -- certificates ----------------------------------------------------------------------

    def _calibration_errors(
        self, calibration: NumberCalibration
    ) -> tuple[Floats, NDArray[np.intp]]:
        """The absolute error of each calibration row, and its node in the tree."""
        nodes: NDArray[np.intp] = calibration.nodes.astype(np.intp)
        if self.path is not None:
            step = self.path.chosen if self.step is None else self.step
            cuts = self.path.cuts(step)
            assert cuts is not None  # regression trees are only cut
            place = np.zeros(self.path.first.n_nodes, dtype=np.intp)
            place[nodes_left(self.path.first, cuts)] = np.arange(self.tree.n_nodes)
            nodes = place[standing_nodes(self.path.first, cuts)[nodes]]
        return np.abs(calibration.y - self.tree.value[nodes]), nodes

    @property
    def unseen_predictions(self) -> tuple[Floats, str]:
        """Prediction and number of rows the tree was not grown on, and the role of these rows."""
        calibration = self.evidence.calibration
        if calibration is None:
            role = "" if self.estimate is None else f"{self.estimate.by} rows"
            return self.evidence.validated, role
        nodes = self._calibration_errors(calibration)[1]
        return np.column_stack([self.tree.value[nodes], calibration.y]), "calibration rows"

    @cached_property
    def certificate(self) -> NumberCertificate | None:
        """The certificate from the calibration rows; None if there are none."""
        return self._certificate(self.evidence.delta)

    def _certificate(self, delta: float) -> NumberCertificate | None:
        calibration, trees = self.evidence.calibration, 1
        if calibration is None:
            return None
        if self.path is not None and self.step not in (None, self.path.chosen):
            trees = self.path.n_considered  # other trees that prune_to reaches share a second delta
        return certify_numbers(
            self._calibration_errors(calibration)[0],
            calibration.tolerance,
            delta,
            y_range=calibration.y_range,
            folds=calibration.folds,
            trees=trees,
            grouped=calibration.grouped,
        )

    @property
    def certificate_reason(self) -> str | None:
        """Why there is no certificate, in words; None if there is one."""
        if self.certificate is not None:
            return None
        draw = self.provenance.draw
        if self.provenance.edits and draw is not None and draw.calibration is not None:
            return WordedText(
                "The tree was edited, and figures of the calibration rows may have been seen "
                "before. Hint: ",
                _CERTIFY,
                " that were not used for fitting.",
            )
        return WordedText(
            "There are no calibration rows. Hint: fit with ",
            Setting("certificate", "held-out", of="fit"),
            " or ",
            Setting("certificate", "folds", python="'folds'", of="fit"),
            ", or ",
            _CERTIFY,
            " that were not used for fitting.",
        )

    def certify(
        self,
        X: Any = None,
        y: Any = None,
        *,
        tolerance: float | None = None,
        y_range: tuple[float, float] | None = None,
        delta: float | None = None,
        groups: Any = None,
    ) -> NumberCertificate:
        """Bound the errors of new predictions by rows that were not used for fitting."""
        level = self.evidence.delta if delta is None else delta
        check("certify", {"delta": level}, {"delta": Number(0.0, 1.0, open=True)})
        if X is None:
            if groups is not None:
                raise invalid("groups", "certify", "None without rows", type(groups))
            return self._of_fit(tolerance, y_range, level)
        numbers = read_numbers(y)
        table, drawn = read_table(X), None
        same_length(table.shape[0], len(numbers))
        if groups is not None:
            drawn = IndependentRows.of(groups, len(numbers))
            table, numbers = table.rows(drawn.rows), numbers[drawn.rows]
        check_groups(self.provenance.groups, drawn)
        check_rows(len(numbers))
        record = self.provenance.row_record or RowRecord()
        comparison = record.compare(self.hashes(table, numbers), len(numbers))
        comparison.refuse_used("certify needs rows that were not used before.")
        fitted = self.provenance.parameters
        tolerance = fitted.get("tolerance") if tolerance is None else tolerance
        y_range = fitted.get("y_range") if y_range is None else y_range
        if tolerance is None:
            tolerance = default_tolerance(self.tree)
        check("certify", {"tolerance": tolerance}, {"tolerance": Number(0.0)})
        predictions = self.predict(table)
        if y_range is not None:
            check_in_range(numbers, y_range)
            predictions = np.clip(predictions, *y_range)
        return certify_numbers(
            np.abs(numbers - predictions),
            tolerance,
            level,
            y_range=y_range,
            grouped=drawn is not None and drawn.grouped,
            note=comparison.note,
        )

    def _of_fit(self, tolerance: Any, y_range: Any, delta: float) -> NumberCertificate:
        """Return the certificate from the calibration rows of fit, with its tolerance and range."""
        for name, value in (("tolerance", tolerance), ("y_range", y_range)):
            if value is not None:
                raise invalid(name, "certify", "None without rows", value, "it was set by fit.")
        certificate = self._certificate(delta)
        if certificate is None:
            reason = parts_of(self.certificate_reason)
            raise WordedError("There is no certificate for this tree. ", *reason)
        return certificate

    def hashes(self, table: Table, numbers: Floats) -> NDArray[np.uint64] | None:
        """A hash of each row; None if the table lacks columns of the training table."""
        if not self._has_all_columns(table):
            return None
        return number_hashes(table, numbers, self._hashed_names)

    # -- other trees -----------------------------------------------------------------------

    @property
    def size_estimate(self) -> NumberSizeEstimate | None:
        """The estimated error of a tree that ``prune_to`` chose, if its size was estimated."""
        if self.step is None:
            return None
        sizes = self.evidence.sizes
        return next((size for size in sizes if size.leaves == self.tree.n_leaves), None)

    def with_tree(self, tree: RegressionTree, **changes: Any) -> Self:
        """Return the model with another tree: without the path and evidence of the fitted one."""
        evidence = NumberEvidence(self.evidence.delta, choice=self.choice)
        return replace(
            self, **{"tree": tree, "pruning": None, "step": None, "evidence": evidence, **changes}
        )

    def recounted(self, X: Any, y: Any) -> Self:
        """Return the model with the sums and values of other rows, without path and evidence."""
        sample = self.read_sample(X, y)
        tree = self.tree.recounted(sample.X, sample.target)
        return self.with_tree(with_shrunk_values(tree, self.shrinkage))

    def prune_to(self, leaves: int | None = None, *, step: int | None = None) -> Self:
        """The model at another step of its path; its estimate is one of those of sizes."""
        model = super().prune_to(leaves, step=step)
        return replace(model, evidence=model.evidence.of_another_size())

    def prune(
        self,
        pruner: SquaredErrorPruner,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        *,
        validation: tuple[Any, ...] | None = None,
    ) -> Self:
        """The model with its grown tree pruned again, see :func:`treebound.prune`."""
        tree = self.grown
        tree, provenance = tree.with_values(tree.mean), self.provenance
        if X is not None:
            sample = self.read_sample(X, y, sample_weight)
            tree = tree.recounted(sample.X, sample.target)
        unseen = None if validation is None else self.read_sample(*validation)
        fit = pruner.prune(tree, unseen)
        record = provenance.row_record
        if record is not None and validation is not None:
            table, numbers = read_table(validation[0]), read_numbers(validation[1])
            record = record.with_rows("validation", self.hashes(table, numbers))
        return replace(
            self,
            tree=fit.result.tree,
            pruning=fit.result,
            step=None,
            provenance=replace(provenance, row_record=record),
            evidence=NumberEvidence.of_fit(fit, self.evidence.delta),
        )

    def read_sample(
        self, X: Any, y: Any, sample_weight: Any = None, *, whole: bool = False
    ) -> NumberSample:
        """Read rows with numbers: the columns that the grown tree splits on, or all."""
        table, numbers = read_table(X), read_numbers(y)
        rows = LabelledRows.of(table, np.zeros(len(numbers), dtype=int), sample_weight)
        matrix = read_matrix(
            rows.table, self.columns, **self._options(rows.table, self.grown, whole)
        )
        return NumberSample(matrix, numbers[rows.row_numbers], relative_weights(rows.weight))

    def errors_on(
        self, X: Any, y: Any, sample_weight: Any = None, *, n_jobs: int | None = None
    ) -> NumberErrors:
        """Sums of squares of rows and predictions; ``y`` names the numbers of a table in batches.

        Of a table in batches, ``sample_weight`` is the name of a column, too.
        """
        batches = open_stream(X)
        if batches is None:
            return self._errors_of(X, y, sample_weight, n_jobs)
        check_names("score", batches.names, "a table that is streamed", y=y)
        wanted = [y]
        if sample_weight is not None:
            check_names("score", batches.names, "a table that is streamed", w=sample_weight)
            wanted.append(sample_weight)
        names = [name for name in self._names_in(batches, y, whole=False) if name not in wanted]

        def read() -> NumberErrors:
            total = NumberErrors()
            for batch in batches.read([*names, *wanted]):
                table, numbers, weight = batches.split(batch, names, y, sample_weight)
                if table is not None:
                    total += self._errors_of(table, numbers, weight, n_jobs)
            return total

        return until_settled(read)

    def _errors_of(self, X: Any, y: Any, weight: Any, n_jobs: int | None) -> NumberErrors:
        """The sums of rows in memory."""
        numbers, predictions = read_numbers(y), self.predict(X, n_jobs)
        same_length(len(predictions), len(numbers))
        return NumberErrors.of(numbers, predictions, row_weights(weight, len(numbers), part=True))

    def summary(self) -> str:
        """Describe the tree, its estimated errors and those of other sizes."""
        tree, lines = self.tree, []
        if self.estimate is not None:
            lines.append(str(self.estimate))
        elif self.size_estimate is not None:
            lines.append(f"Estimated RMSE {quantity(self.size_estimate.rmse)}.")
        else:
            baseline = f"baseline RMSE {quantity(tree.deviation[0])}, always the mean"
            lines.append(f"No estimate: {self.no_estimate} ({baseline}).")
        if self.certificate is not None:
            lines.append(str(self.certificate))
        grown = "" if self.grown is tree else f" of {self.grown.n_leaves:,} grown"
        size = f"{count(tree.n_leaves, 'leaf')}{grown}"
        lines.append(f"{size}, depth {tree.depth}, {count(int(tree.rows[0]), 'training row')}.")
        choice = None if self.pruning is None else self.pruning.choice
        if self.evidence.sizes and self.step is None:
            sizes = [f"{size.leaves:,}: {quantity(size.rmse)}" for size in self.evidence.sizes]
            lines.append(f"RMSE by number of leaves: {'; '.join(sizes)}.")
        if choice is not None and choice.rule is not None and self.step is None:
            lines.append(
                "These errors chose the size, leaves of at least "
                f"{count(choice.min_samples_leaf, 'row')} and shrinkage {choice.shrinkage}, so "
                "they are a little too small."
            )
        if self.clip is not None:
            low, high = map(quantity, self.clip)
            lines.append(f"Training values were clipped to {low} to {high}.")
        return "\n".join(lines)
