"""The certificates of an edited tree: which kinds survive an edit.

Tail inversion and compression hold for all trees at once, and so does a prior: an edited tree is
one of them, however it was chosen. Calibration rows test one tree, which must not depend on them.
The library cannot know what a person has seen, so they certify an edited tree only if the user
states that no figure of them was seen. Of several folds the best was chosen by its rows, and so
were the training rows outside it: such a tree has no certificate until it is certified from all
rows.
"""

from __future__ import annotations

from dataclasses import replace

from treebound.certificate.held_out import HeldOut
from treebound.certificate.prior import Prior
from treebound.edit.rows import EditedRows
from treebound.model import Model
from treebound.model.model import row_counts
from treebound.tree import Tree

_OTHER_ORDER = (
    "The prior of the fitted tree cannot be made again: the rows are in another order. Hint: "
    "certify the edited tree with rows that were not used for fitting."
)
_FOLDS = (
    "The fold was chosen by its errors, and the training rows are those outside it. Hint: "
    "certify(edited, X, y, kind='training') with all rows of fit."
)
_ROUNDING = 1e-6


class Certifier:
    """Makes models of edited trees, with the certificates that hold for them."""

    def __init__(self, start: Model, rows: EditedRows) -> None:
        self._start, self._rows = start, rows
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

    @property
    def calibration_reason(self) -> str:
        """Why calibration rows cannot certify an edited tree, whatever was seen; or empty."""
        held_out = self._start.evidence.calibration
        if held_out is None:
            return "There are no calibration rows: fit held none out."
        if held_out.folds > 1:
            return "A certificate by folds holds for the trees that were fitted without a fold."
        if self._rows.test_is_calibration:
            return "The test rows of the editor are calibration rows."
        return ""

    def check_calibration(self) -> None:
        """Raise an error if calibration rows cannot certify an edited tree."""
        if self.calibration_reason:
            raise ValueError(
                f"Calibration rows cannot certify the edited tree. {self.calibration_reason} Hint: "
                "the training rows can; or certify it with rows that were not used for fitting."
            )

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

    def last(self, tree: Tree, *, calibration_unseen: bool) -> Model:
        """Return the model of a tree when the edits end."""
        model, held_out = self.model(tree), self._start.evidence.calibration
        if not calibration_unseen:
            return model
        self.check_calibration()
        assert held_out is not None
        assert self._rows.calibration is not None
        counted = HeldOut.of(self._rows.calibration, tree, tree)
        counted = replace(counted, grouped=held_out.grouped)
        evidence = replace(model.evidence, calibration=counted, no_certificate="")
        return replace(model, evidence=evidence)
