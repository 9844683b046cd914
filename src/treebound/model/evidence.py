"""The evidence for the certificate of a model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treebound._utils.choices import CertificateKind
from treebound.certificate.frontier import Frontier
from treebound.certificate.held_out import HeldOut
from treebound.certificate.prior import PriorProof
from treebound.pruning.estimate import Estimate


@dataclass(frozen=True, eq=False)
class Evidence:
    """The counts and proofs of the certificate of a model, and the estimate of its error.

    Attributes
    ----------
    delta : float
        The certificate holds with probability ``1 - delta``.
    calibration : HeldOut or None
        Counts of the calibration rows, which ``fit`` held out.
    proof : PriorProof or None
        The proof of a certificate by a prior.
    frontier : Frontier or None
        The other trees that the prior certifies.
    row_counts : ndarray of int64 or None
        If the rows were weighted: training rows of each class at each node of the grown tree.
    no_certificate : str
        Why the training rows give no certificate, if the tree itself does not show it.
    estimate : Estimate or None
        The estimated error of the fitted tree on new rows.
    no_estimate : str
        Why there is no estimate, as a clause.
    """

    delta: float = 0.05
    calibration: HeldOut | None = None
    proof: PriorProof | None = None
    frontier: Frontier | None = None
    row_counts: NDArray[np.int64] | None = None
    no_certificate: str = ""
    estimate: Estimate | None = None
    no_estimate: str = ""

    @property
    def kind(self) -> CertificateKind:
        """The kind of the certificate."""
        if self.proof is not None:
            return "prior"
        return "training" if self.calibration is None else self.calibration.kind

    def of_counts(self, row_counts: NDArray[np.int64] | None, no_certificate: str) -> Evidence:
        """Return the evidence for a tree that was not fitted: the counts of its rows alone."""
        return Evidence(self.delta, row_counts=row_counts, no_certificate=no_certificate)
