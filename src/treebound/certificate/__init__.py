"""Certificates: upper bounds on the risk of a tree, and the assumptions of each."""

from treebound.certificate.certificate import Certificate
from treebound.certificate.frontier import Frontier

__all__ = ["Certificate", "Frontier"]
