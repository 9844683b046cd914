"""Certificates: upper limits on the risk of a tree, and what each of them assumes."""

from treebound.certificate.certificate import (
    CLASSES_AS_FOUND,
    Assumption,
    Certificate,
    certify_holdout,
    certify_tree,
    reason_against,
)
from treebound.certificate.held_out import HeldOut, learn_apart

__all__ = [
    "CLASSES_AS_FOUND",
    "Assumption",
    "Certificate",
    "HeldOut",
    "certify_holdout",
    "certify_tree",
    "learn_apart",
    "reason_against",
]
