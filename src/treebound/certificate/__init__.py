"""Certificates: upper limits on the risk of a tree, and what each of them assumes."""

from treebound.certificate.certificate import (
    CLASSES_AS_FOUND,
    KINDS,
    Assumption,
    Certificate,
    CertificateKind,
    certify_counts,
)
from treebound.certificate.frontier import Frontier, certify_proof
from treebound.certificate.held_out import (
    HeldOut,
    best_of_folds,
    counts_at,
    draw_apart,
    learn_apart,
)
from treebound.certificate.prior import (
    CertifiedTree,
    Prior,
    PriorOptions,
    PriorProof,
    search_trees,
)
from treebound.certificate.row_record import Role, RowRecord, RowsSeen
from treebound.certificate.training import certify_tree, reason_against

__all__ = [
    "CLASSES_AS_FOUND",
    "KINDS",
    "Assumption",
    "Certificate",
    "CertificateKind",
    "CertifiedTree",
    "Frontier",
    "HeldOut",
    "Prior",
    "PriorOptions",
    "PriorProof",
    "Role",
    "RowRecord",
    "RowsSeen",
    "best_of_folds",
    "certify_counts",
    "certify_proof",
    "certify_tree",
    "counts_at",
    "draw_apart",
    "learn_apart",
    "reason_against",
    "search_trees",
]
