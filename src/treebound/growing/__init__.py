"""A sample in, a tree out: exact best-first CART."""

from treebound.growing.grow import grow

__all__ = ["grow"]
