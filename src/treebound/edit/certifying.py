"""The certificates of an edited tree: which kinds survive an edit.

Tail inversion and compression hold for all trees at once, and so does a prior: an edited tree is
one of them, however it was chosen. Calibration rows test one tree, which must not depend on them.
The library cannot know what a person has seen, so they certify an edited tree only if the user
states that no figure of them was seen. Of several folds the best was chosen by its rows, and so
were the training rows outside it: such a tree has no certificate until it is certified from all
rows. Trees that predict numbers have certificates from calibration rows only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Generic

import numpy as np

from treebound.certificate.held_out import HeldOut
from treebound.certificate.prior import Prior
from treebound.data import Sample
from treebound.data.number_sample import NumberSample
from treebound.edit.kind import AnyModel, AnyTree
from treebound.edit.rows import EditedRows
from treebound.model import Model, RegressionModel
from treebound.model.model import row_counts
from treebound.tree import Tree
from treebound.tree.regression import RegressionTree

_OTHER_ORDER = (
    "The prior of the fitted tree cannot be made again: the rows are in another order. Hint: "
    "certify the edited tree with rows that were not used for fitting."
)
_FOLDS = (
    "The fold was chosen by its errors, and the training rows are those outside it. Hint: "
    "certify the edited tree by the kind 'training', with all rows of fit."
)
_ROUNDING = 1e-6
_UNSEEN = (
    "only if no figure of them was seen before the edits end, the certificate of the fitted tree "
    "included."
)


class BaseCertifier(ABC, Generic[AnyModel, AnyTree]):
    """Makes models of edited trees, with the certificates that hold for them."""

    other_rows: ClassVar[str]  # the rows that certify an edited tree otherwise

    def __init__(self, start: AnyModel, rows: EditedRows[Any]) -> None:
        self._start, self._rows = start, rows

    @property
    def calibration_reason(self) -> str:
        """Why calibration rows cannot certify an edited tree, whatever was seen; or empty."""
        calibration = self._start.evidence.calibration
        if calibration is None:
            return "There are no calibration rows: fit held none out."
        if calibration.folds > 1:
            return "A certificate by folds holds for the trees that were fitted without a fold."
        if self._rows.test_is_calibration:
            return "The test rows of the editor are calibration rows."
        return ""

    def check_calibration(self) -> None:
        """Raise an error if calibration rows cannot certify an edited tree."""
        if self.calibration_reason:
            raise ValueError(
                f"Calibration rows cannot certify the edited tree. {self.calibration_reason} Hint: "
                f"{self.other_rows}"
            )

    def notice(self, model: AnyModel) -> str:
        """Basis of the certificate of an edited tree, if ``fit`` held out calibration rows."""
        if self._start.evidence.calibration is None:
            return ""
        sentence = self._basis(model)
        if self.calibration_reason:
            return f"{sentence} {self.calibration_reason}"
        return f"{sentence} The calibration rows that fit held out can certify it {_UNSEEN}"

    @abstractmethod
    def _basis(self, model: AnyModel) -> str:
        """Basis of the certificate without calibration rows, as a sentence."""

    @abstractmethod
    def first(self) -> AnyModel:
        """Return the model before the first step: with the estimate of the fitted tree."""

    @abstractmethod
    def model(self, tree: AnyTree) -> AnyModel:
        """Return the model of a tree while it is edited: without calibration rows."""

    def last(self, tree: AnyTree, *, calibration_unseen: bool) -> AnyModel:
        """Return the model of a tree when the edits end."""
        if not calibration_unseen:
            return self.model(tree)
        self.check_calibration()
        return self._calibrated(tree)

    @abstractmethod
    def _calibrated(self, tree: AnyTree) -> AnyModel:
        """Return the model of a tree with the certificate from the calibration rows."""


class Certifier(BaseCertifier[Model, Tree]):
    """Makes models of edited trees that predict classes."""

    other_rows = "the training rows can; or certify it with rows that were not used for fitting."

    def __init__(self, start: Model, rows: EditedRows[Sample]) -> None:
        super().__init__(start, rows)
        self._prior = None if start.evidence.proof is None else self._same_prior()

    def _same_prior(self) -> Prior | None:
        """The prior of fit, if it gives the fitted tree the same proof again."""
        start, draw, fitted = self._start, self._start.provenance.draw, self._start.evidence.proof
        assert fitted is not None
        prior = start.prior(self._rows.sample, None if draw is None else draw.key)
        proof = prior.certify(start.tree, start.evidence.delta).proof
        same = (proof.rows, proof.errors) == (fitted.rows, fitted.errors)
        if same and abs(proof.log_prior - fitted.log_prior) <= _ROUNDING:
            return prior
        return None

    def _basis(self, model: Model) -> str:
        """Basis of the certificate without calibration rows, as a sentence."""
        if model.certificate is None:
            return f"The edited tree has no certificate. {model.certificate_reason}"
        return "The certificate of the edited tree is computed from the training rows."

    def first(self) -> Model:
        """Return the model before the first step: with the estimate of the fitted tree."""
        model, fitted = self.model(self._start.tree), self._start.evidence
        if self._start.step is not None:
            return model
        evidence = replace(model.evidence, estimate=fitted.estimate, no_estimate=fitted.no_estimate)
        return replace(model, evidence=evidence)

    def model(self, tree: Tree) -> Model:
        """Return the model of a tree while it is edited: without calibration rows."""
        evidence, proof = self._start.evidence, None
        reason = evidence.no_certificate
        if evidence.proof is not None:
            proof = None if self._prior is None else self._prior.certify(tree, evidence.delta).proof
            reason = reason or ("" if proof is not None else _OTHER_ORDER)
        if evidence.calibration is not None and evidence.calibration.folds > 1:
            reason = reason or _FOLDS
        counted = evidence.of_counts(row_counts(self._rows.sample, tree), reason)
        return self._start.with_tree(tree, evidence=replace(counted, proof=proof), abstention=None)

    def _calibrated(self, tree: Tree) -> Model:
        """Return the model of a tree with the certificate from the calibration rows."""
        model, calibration = self.model(tree), self._start.evidence.calibration
        assert calibration is not None
        assert self._rows.calibration is not None
        counted = HeldOut.of(self._rows.calibration, tree, tree)
        counted = replace(counted, grouped=calibration.grouped)
        evidence = replace(model.evidence, calibration=counted, no_certificate="")
        return replace(model, evidence=evidence)


class NumberCertifier(BaseCertifier[RegressionModel, RegressionTree]):
    """Makes models of edited trees that predict numbers."""

    other_rows = "certify it with rows that were not used for fitting."
    _rows: EditedRows[NumberSample]

    def _basis(self, model: RegressionModel) -> str:
        """Basis of the certificate without calibration rows, as a sentence."""
        return "The edited tree has no certificate."

    def first(self) -> RegressionModel:
        """Return the model before the first step: with the estimate of the fitted tree."""
        start = self._start
        if start.step is not None:
            return self.model(start.tree)
        return start.with_tree(start.tree, evidence=replace(start.evidence, calibration=None))

    def model(self, tree: RegressionTree) -> RegressionModel:
        """Return the model of a tree while it is edited: without calibration rows."""
        return self._start.with_tree(tree)

    def _calibrated(self, tree: RegressionTree) -> RegressionModel:
        """Return the model of a tree with the certificate from the calibration rows."""
        fitted, rows = self._start.evidence.calibration, self._rows.calibration
        assert fitted is not None
        assert rows is not None
        nodes = tree.apply(rows.X).astype(np.int32)
        calibration = replace(fitted, y=rows.y, nodes=nodes)
        model = self.model(tree)
        return replace(model, evidence=replace(model.evidence, calibration=calibration))
