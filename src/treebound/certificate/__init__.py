"""Certificates: upper limits on the risk of a tree, and what each of them assumes."""

from treebound.certificate.certificate import Certificate
from treebound.certificate.frontier import Frontier

__all__ = ["Certificate", "Frontier"]
