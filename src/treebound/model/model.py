"""Model: a fitted tree with all that reading rows, predicting, pruning and certifying need."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property, partial
from math import log
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from treebound._utils.choices import CertificateKind
from treebound._utils.validation import Number, WordedError, check, invalid, parts_of
from treebound.certificate.abstention import Abstention
from treebound.certificate.by_class import by_class_on_rows
from treebound.certificate.certificate import (
    DEPENDENT_ROWS,
    NONE_OF_GROUPS,
    Assumption,
    Certificate,
    certify_counts,
)
from treebound.certificate.frontier import certify_proof
from treebound.certificate.held_out import counts_at
from treebound.certificate.prior import Prior, PriorOptions
from treebound.certificate.training import certify_tree, reason_against
from treebound.data import Sample
from treebound.data.draws import Draw
from treebound.data.streams import is_stream
from treebound.data.targets import read_classes
from treebound.growing import grow
from treebound.landscape import Landscape
from treebound.model.base import size_or_step
from treebound.model.evidence import Evidence
from treebound.model.options import PredictionOptions
from treebound.model.parameters import fitted_costs
from treebound.model.rows import (
    LabelledRowReader,
    Tested,
    check_groups,
    new_missing,
    right_of,
)
from treebound.model.summary import summary_lines
from treebound.pruning import BoundPruner, Pruner, PruningResult
from treebound.pruning.costs import Costs, cost_matrix, probable_labels
from treebound.pruning.estimate import Estimate, SizeEstimate
from treebound.tree.impurity import importances
from treebound.tree.model import Tree
from treebound.tree.smoothing import SHRINKAGE, Smoothing, probabilities

_UNSEEN = Assumption(
    "no figure of the calibration rows was seen before the edits ended, the certificate of the "
    "fitted tree included", False,
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Model(LabelledRowReader):
    """A fitted tree, its pruning path, and how it reads rows and predicts; immutable.

    ``BoundTreeClassifier`` holds one as ``model_``; model files hold one. ``Model(tree)`` makes one
    of a bare tree.

    Attributes
    ----------
    tree, pruning, step, options, reading, provenance, swapped
        See :class:`~treebound.model.base.BaseModel`.
    prediction : PredictionOptions
        How counts become predictions.
    evidence : Evidence
        The counts and proofs of the certificate, and its ``delta``.
    abstention : Abstention or None
        The leaves where the tree predicts, and the bound on its risk there.
    """

    _: KW_ONLY
    prediction: PredictionOptions = field(default_factory=PredictionOptions)
    evidence: Evidence = field(default_factory=Evidence)
    abstention: Abstention | None = None

    @property
    def counted_trees(self) -> list[Tree]:
        """The trees at whose nodes rows are counted: see ``PruningPath.counted_trees``."""
        return [self.tree] if self.path is None else self.path.counted_trees

    @property
    def search(self) -> Literal["greedy", "wide"]:
        """How the top of the tree was found; a file keeps it as the trees of the path."""
        return "wide" if self.path is not None and self.path.searched else "greedy"

    @property
    def importances(self) -> NDArray[np.float64]:
        """Share of each column in the total decrease of impurity."""
        return importances(self.tree, self.options.criterion)

    @property
    def has_cost_rows(self) -> bool:
        """True if there are costs, and rows of ``fit`` that bound the mean cost."""
        rows = self.evidence.proof is not None or self.held_out_counts() is not None
        return self.costs is not None and self.abstention is None and rows

    @property
    def estimate(self) -> Estimate | None:
        """The estimated error on new rows of the tree that was fitted.

        None after ``prune_to`` and edits, or if there were no folds: see ``no_estimate``.
        """
        return self.evidence.estimate if self.step is None else None

    @property
    def size_estimate(self) -> SizeEstimate | None:
        """The estimated error of a tree that ``prune_to`` chose, if its size was estimated."""
        fitted = self.evidence.estimate
        if fitted is None or self.step is None:
            return None
        return next((size for size in fitted.sizes if size.leaves == self.tree.n_leaves), None)

    @property
    def no_estimate(self) -> str | None:
        """Why there is no estimate, as a clause; None if there is one."""
        if self.estimate is not None:
            return None
        if self.evidence.estimate is not None:
            return "it was made for the fitted tree only"
        if self.evidence.no_estimate:
            return self.evidence.no_estimate
        if self.provenance.edits:
            return "the tree was edited"
        return "the tree was given" if self.pruning is None else "the tree was pruned again"

    @property
    def always_predicting(self) -> Model:
        """The model itself, or without the abstention of one that abstains."""
        if self.abstention is None:
            return self
        return replace(self, tree=self.abstention.tree, abstention=None)

    @property
    def costs(self) -> NDArray[np.float64] | None:
        """The costs of errors that the tree was fitted with: true class by predicted class.

        None if all errors cost the same, or if the tree abstains, for which costs are not defined.
        """
        costs = fitted_costs(self.provenance.parameters)
        if costs is None or self.abstention is not None:
            return None
        return cost_matrix(self.classes, costs)

    def summary(self) -> str:
        """Describe the model in a few lines, without the tree.

        Estimated error, baseline and certified error come first, then the size of the tree and, if
        it has more than 30 leaves, what smaller trees cost.
        """
        return "\n".join(summary_lines(self))

    # -- predictions -----------------------------------------------------------------------

    def predict(self, X: Any, n_jobs: int | None = None) -> NDArray[Any]:
        """The class of each row."""
        return self._values_at(self.classes[self.tree.label], X, n_jobs)

    def predict_proba(self, X: Any, n_jobs: int | None = None) -> NDArray[np.float64]:
        """The probability of each class for each row."""
        return self._values_at(self.node_probabilities, X, n_jobs)

    @cached_property
    def node_probabilities(self) -> NDArray[np.float64]:
        """The probability of each class at each node."""
        return self.probabilities_of(self.tree)

    def probabilities_of(self, tree: Tree) -> NDArray[np.float64]:
        """The probability of each class at each node of another tree of the model."""
        return probabilities(tree, self.prediction.smoothing, free=self.prediction.free_shrinkage)

    # -- other trees -----------------------------------------------------------------------

    def prune_to(self, leaves: int | None = None, *, step: int | None = None) -> Self:
        """The model at another step of its path: of at most so many leaves, or of a number."""
        by_size, number = size_or_step(leaves, step)
        frontier = self.evidence.frontier
        if frontier is not None:
            at = frontier.step_with(number) if by_size else frontier.step(number)
            tree, proof = frontier[at].tree, frontier[at].proof
            counts = proof.counts_a + proof.counts_b if tree.weighted else None
            evidence = replace(self.evidence, proof=proof, row_counts=counts)
            return replace(self, tree=tree, evidence=evidence, step=at)
        return super().prune_to(leaves, step=step)

    @property
    def _as_grown(self) -> Tree:
        """The tree before pruning, without labels that costs or shrinkage chose afterwards."""
        tree, strength = self.grown, self.prediction.smoothing
        if not tree.counted:
            return tree
        if self.path is not None:
            return tree.by_majority()
        if not self.prediction.free_shrinkage or not isinstance(strength, float):
            return tree
        by_hand = tree.label != probable_labels(tree, strength, None)
        return replace(tree, label=np.where(by_hand, tree.label, tree.by_majority().label))

    def with_threshold(self, label: Any, probability: float) -> Model:
        """Return the model that predicts a class if its probability is at least a threshold.

        Otherwise it predicts the most probable other class. Its labels are no longer the fitted
        ones, so it has no certificate.
        """
        if self.abstention is not None:
            raise ValueError(
                "A model that abstains has a bound for its predictions, and a threshold would "
                "change them. Hint: use the model that abstain was called on."
            )
        check("with_threshold", {"probability": probability}, {"probability": Number(0.0, 1.0)})
        at = int(read_classes([label], self.classes)[0])
        shares = self.node_probabilities.copy()
        chosen = shares[:, at] >= probability
        shares[:, at] = -1.0
        labels = np.where(chosen, at, shares.argmax(axis=1)).astype(np.int32)
        reason = "The classes were chosen by a threshold."
        return self.with_tree(
            replace(self.tree, label=labels),
            evidence=self.evidence.of_counts(self.rows_at_nodes, reason),
        )

    def with_tree(self, tree: Tree, **changes: Any) -> Model:
        """Return the model with another tree: without the path and evidence of the fitted one."""
        evidence = self.evidence.of_counts(self.evidence.row_counts, self.evidence.no_certificate)
        return replace(
            self, **{"tree": tree, "pruning": None, "step": None, "evidence": evidence, **changes}
        )

    def prune(
        self,
        pruner: Pruner,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        *,
        validation: tuple[Any, ...] | None = None,
    ) -> Model:
        """The model with its grown tree pruned again, see :func:`treebound.prune`."""
        sample = None if X is None else self.read_sample(X, y, sample_weight)
        unseen = None if validation is None else self.read_sample(*validation)
        tree = self._as_grown if sample is None else self.grown.recounted(sample)
        provenance, prediction = self.provenance, self.prediction
        smoothing = "shrinkage" if prediction.free_shrinkage else prediction.smoothing
        smoothing = provenance.parameters.get("smoothing", smoothing)
        if smoothing != "shrinkage":
            pruner = with_smoothing(pruner, smoothing)
        result = pruner.prune(
            tree, sample, validation=unseen, grow=partial(grow, options=self.options)
        )
        result, strength = with_probable_labels(result, pruner)
        record, draw, reason = provenance.row_record, provenance.draw, self.evidence.no_certificate
        if record is not None and sample is not None:
            record = record.with_rows("training", self.hashes(X, y))
        if record is not None and validation is not None:
            record = record.with_rows("validation", self.hashes(*validation[:2]))
        if sample is not None:
            draw = Draw(0 if draw is None else draw.salt)
            reason = new_missing(result.path.first, sample.columns)
            reason = str(NONE_OF_GROUPS) if provenance.groups else reason
        return self.with_tree(
            result.tree,
            pruning=result,
            prediction=PredictionOptions(strength or smoothing, strength is not None),
            evidence=self.evidence.of_counts(row_counts(sample, result.path.first), reason),
            provenance=replace(provenance, row_record=record, draw=draw),
        )

    # -- certificates ----------------------------------------------------------------------

    @cached_property
    def certificate(self) -> Certificate | None:
        """The certificate from ``fit``; None if it would not hold."""
        return self._certificate(self.evidence.delta)

    def _certificate(self, delta: float) -> Certificate | None:
        proof, calibration = self.evidence.proof, self.evidence.calibration
        if proof is not None:
            return certify_proof(self.tree, proof, delta, self.reading.handle_unknown)
        if calibration is None:
            return None if self._reason else self._by_training(delta)
        certificate = calibration.certificate(delta, self.tree, self.path, self.step)
        if certificate is None or not self.provenance.edits:
            return certificate
        return replace(certificate, assumptions=(*certificate.assumptions, _UNSEEN))

    def _by_training(self, delta: float, landscape: Landscape | None = None) -> Certificate:
        # the calibration fold was chosen among several by its errors: they share delta
        calibration = self.evidence.calibration
        folds = 1 if calibration is None else calibration.folds
        certificate = certify_tree(
            self.tree, row_counts=self.rows_at_nodes, landscape=landscape, delta=delta / folds,
            handle_unknown=self.reading.handle_unknown,
        )  # fmt: skip
        return replace(certificate, delta=delta)

    @property
    def rows_at_nodes(self) -> NDArray[np.int64] | None:
        """The row counts at the nodes of the tree, where the rows were weighted."""
        counts = self.evidence.row_counts
        if counts is None or self.path is None:
            return counts
        step = self.path.chosen if self.step is None else self.step
        return counts_at(self.path, step, counts)

    @property
    def _reason(self) -> str:
        """Why the training rows give no certificate; empty if they do."""
        stored = self.evidence.no_certificate
        if stored.startswith(DEPENDENT_ROWS):
            return NONE_OF_GROUPS
        return stored or reason_against(self.tree, self.rows_at_nodes)

    @property
    def certificate_reason(self) -> str | None:
        """Why there is no certificate, in words; None if there is one."""
        raised = (
            "The calibration rows were counted on the grown tree; this tree has raised subtrees."
        )
        return None if self.certificate is not None else self._reason or raised

    def certify(
        self,
        X: Any = None,
        y: Any = None,
        *,
        kind: CertificateKind | None = None,
        landscape: Landscape | None = None,
        delta: float | None = None,
        groups: Any = None,
    ) -> Certificate:
        """Bound the risk of the tree on new examples, see :func:`treebound.certify`."""
        if groups is not None and (X is None or kind not in (None, "held-out")):
            must = "None without rows that were not used for fitting"
            raise invalid("groups", "certify", must, groups)
        if X is None or self.abstention is not None:
            return self._of_fit(kind, landscape, self.evidence.delta if delta is None else delta)
        if kind in (None, "held-out"):
            if landscape is not None:
                raise invalid("landscape", "certify", "None for held-out rows", landscape)
            return self.certify_tested(self.tested(X, y, groups), delta=delta)
        if is_stream(X):
            raise invalid("kind", "certify", "None or 'held-out' for rows in batches", kind)
        level = self.evidence.delta if delta is None else delta
        grouped = self.evidence.no_certificate.startswith(DEPENDENT_ROWS)
        if kind in ("prior", "training") and grouped:
            raise WordedError("There is no certificate of this kind. ", *NONE_OF_GROUPS.parts)
        if kind == "prior":
            return self._from_prior(X, y, level)
        if kind != "training":
            must = "'training', 'prior' or 'held-out' for rows that are given"
            raise invalid("kind", "certify", must, kind)
        return self._from_training(X, y, landscape, level)

    def certify_tested(self, tested: Tested, *, delta: float | None = None) -> Certificate:
        """Bound the risk from rows that were counted and not used for fitting."""
        check_groups(self.provenance.groups, tested.independent)
        tested.comparison.refuse_used(
            "give rows that were not used before; without rows, certify gives the certificate of "
            "fit."
        )
        level = self.evidence.delta if delta is None else delta
        wrong = self.tree.label[:, None] != np.arange(len(self.classes))
        rows, errors = tested.counts.sum(axis=0), (tested.counts * wrong).sum(axis=0)
        m = int(rows.sum())
        constant_error = 1.0 - float(rows.max()) / m
        certificate = certify_counts(
            int(errors.sum()),
            m,
            level,
            comparison=tested.comparison,
            constant_error=constant_error,
        )
        certificate = certificate.about_groups() if tested.grouped else certificate
        return certificate.of_tree(
            self.tree, partial(by_class_on_rows, self.classes.tolist(), rows, errors, log(level))
        )

    def _of_fit(self, kind: str | None, landscape: Landscape | None, delta: float) -> Certificate:
        """Return the certificate from the rows of fit; a tree that abstains has none."""
        fitted = self.evidence.kind
        if landscape is not None or (kind == "training" and fitted != kind):
            if self._reason:
                reason = parts_of(self._reason)
                raise WordedError("There is no certificate for this tree. ", *reason)
            return self._by_training(delta, landscape)
        if kind is not None and kind != fitted:
            must = f"{fitted!r}, the kind of the rows that fit had, or None"
            raise invalid("kind", "certify", must, kind, "give such rows as X and y.")
        certificate = self._certificate(delta)
        if certificate is None:
            reason = parts_of(self.certificate_reason)
            raise WordedError("There is no certificate for this tree. ", *reason)
        return certificate

    def _from_prior(self, X: Any, y: Any, delta: float) -> Certificate:
        """The certificate of any tree from all training rows, in the order of ``fit``."""
        sample = replace(self.read_sample(X, y, whole=True), factors=None)
        proof = self.prior(sample).certify(self.tree, delta).proof
        return certify_proof(self.tree, proof, delta, self.reading.handle_unknown)

    def held_out_counts(self) -> tuple[NDArray[np.int64], int] | None:
        """Return the calibration rows at each node, and how many trees share their delta."""
        calibration = self.evidence.calibration
        if calibration is None:
            return None
        counts, shares = calibration.at(self.path, self.step)
        return None if counts is None else (counts, shares)

    def prior(self, sample: Sample, key: int | None = None) -> Prior:
        """The prior of some rows, drawn by their content and the seed of fit, or by a key."""
        options = PriorOptions.of(self.options.thresholds, self.options.max_depth)
        return Prior(sample, replace(self.provenance.draw or Draw(), key=key), options)

    def _from_training(
        self, X: Any, y: Any, landscape: Landscape | None, delta: float
    ) -> Certificate:
        """The certificate from training rows that are given, each counted once."""
        sample = self.read_test(X, y)
        reason = new_missing(self.tree, sample.columns)
        if reason:
            raise ValueError(f"There is no certificate for this tree. {reason}")
        counted = replace(self.tree.recounted(sample), label=self.tree.label)
        if _same_counts(counted, self.tree):
            counted = self.tree  # its own training rows: which of them name its splits is known
        counts = self.weights_at_nodes(X, y)
        return certify_tree(
            counted,
            errors=int(counts.sum() - right_of(self.tree, counts)),
            landscape=landscape,
            delta=delta,
            handle_unknown=self.reading.handle_unknown,
        )


def with_smoothing(pruner: Pruner, smoothing: Smoothing | None) -> Pruner:
    """The pruner, which validates log-loss by this smoothing unless it has its own."""
    if not isinstance(pruner, BoundPruner) or pruner.score != "log-loss":
        return pruner
    if pruner.smoothing == "auto":
        return BoundPruner(**{**pruner.get_params(deep=False), "smoothing": smoothing})
    return pruner


def with_probable_labels(
    result: PruningResult, pruner: Pruner
) -> tuple[PruningResult, float | None]:
    """Return the result, and the strength of shrinkage if that is more than the usual one.

    The trees then predict the most probable class, or that of least cost.
    """
    strength = None if result.choice is None else result.choice.strength
    if strength is None or strength <= SHRINKAGE:
        return result, None
    first = result.path.first
    costs = Costs.of(first, pruner.costs) if isinstance(pruner, BoundPruner) else None
    path = result.path.with_first(replace(first, label=probable_labels(first, strength, costs)))
    return replace(result, path=path, tree=path.tree()), strength


def row_counts(sample: Sample | None, *trees: Tree) -> NDArray[np.int64] | None:
    """Rows of each class at each node, if they are weighted; otherwise the trees have them."""
    if sample is None or (sample.weight is None and sample.factors is None):
        return None
    rows = replace(sample, weight=None)
    return np.concatenate([tree.counts_on(rows)[0] for tree in trees]).astype(np.int64)


def _same_counts(counted: Tree, tree: Tree) -> bool:
    same = tree.counted and (counted.weighted, counted.columns) == (tree.weighted, tree.columns)
    return same and np.array_equal(counted.counts, tree.counts)
