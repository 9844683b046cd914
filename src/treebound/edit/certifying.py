"""The certificates of an edited tree: which kinds survive an edit.

Tail inversion and compression hold for all trees at once, and so does a prior: an edited tree is
one of them, however it was chosen. Rows that fit held out test one tree, which must not depend on
them: they are counted once, when the edits end. Of several folds the best was chosen by its rows.
"""

from __future__ import annotations

from dataclasses import replace

from treebound.certificate.held_out import HeldOut
from treebound.certificate.prior import Prior
from treebound.edit.rows import EditedRows
from treebound.model import Model
from treebound.model.model import row_counts
from treebound.tree import Tree

_HINT = "Hint: certify the edited tree with rows that took no part."
_SEEN = f"The rows that fit held out were looked at before the edits ended. {_HINT}"
_FOLDS = f"A certificate by folds holds for the trees that were fitted without a fold. {_HINT}"
_OTHER_ORDER = (
    f"The prior of the fitted tree cannot be made again: the rows are in another order. {_HINT}"
)
_ROUNDING = 1e-6


class Certifier:
    """Makes models of edited trees, with the certificates that hold for them."""

    def __init__(self, start: Model, rows: EditedRows) -> None:
        self._start, self._rows = start, rows
        self._prior = None if start.proof is None else self._same_prior()

    def _same_prior(self) -> Prior | None:
        """The prior of fit, if it gives the fitted tree the same proof again."""
        start = self._start
        prior = start.prior(self._rows.sample, None if start.draw is None else start.draw.key)
        assert start.proof is not None
        proof = prior.certify(start.tree, start.delta).proof
        same = (proof.rows, proof.errors) == (start.proof.rows, start.proof.errors)
        if same and abs(proof.log_prior - start.proof.log_prior) <= _ROUNDING:
            return prior
        return None

    def model(self, tree: Tree) -> Model:
        """The model of a tree while it is edited: nothing is computed from held-out rows."""
        start, reason = self._start, self._start.no_certificate
        proof = None
        if start.proof is not None:
            proof = None if self._prior is None else self._prior.certify(tree, start.delta).proof
            reason = reason or ("" if proof is not None else _OTHER_ORDER)
        if start.held_out is not None:
            reason = reason or "The rows that fit held out are counted when the edits end."
        return replace(
            start,
            tree=tree,
            pruning=None,
            step=None,
            held_out=None,
            proof=proof,
            frontier=None,
            referral=None,
            row_counts=row_counts(tree, self._rows.sample),
            no_certificate=reason,
        )

    def last(self, tree: Tree) -> Model:
        """The model of a tree when the edits end."""
        model, held_out = self.model(tree), self._start.held_out
        if held_out is None:
            return model
        reason = self._start.no_certificate
        if held_out.folds > 1:
            reason = reason or _FOLDS
        elif held_out.shown or self._rows.test_is_calibration:
            reason = reason or _SEEN
        if reason:
            return replace(model, no_certificate=reason)
        assert self._rows.calibration is not None
        held_out.show()  # a second tree would be chosen by the first
        counted = HeldOut.of(self._rows.calibration, tree, tree)
        return replace(model, held_out=counted, no_certificate="")
