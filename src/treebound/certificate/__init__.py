"""Certificates: upper limits on the risk of a tree, and what each of them assumes."""

from treebound.certificate.certificate import (
    CLASSES_AS_FOUND,
    KINDS,
    Assumption,
    Certificate,
    CertificateKind,
    certify_counts,
    certify_tree,
    reason_against,
)
from treebound.certificate.held_out import HeldOut, learn_apart
from treebound.certificate.row_record import RowRecord, RowsSeen

__all__ = [
    "CLASSES_AS_FOUND",
    "KINDS",
    "Assumption",
    "Certificate",
    "CertificateKind",
    "HeldOut",
    "RowRecord",
    "RowsSeen",
    "certify_counts",
    "certify_tree",
    "learn_apart",
    "reason_against",
]
