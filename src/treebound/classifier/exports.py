"""The forms a fitted classifier takes: thin methods over ``treebound.show`` and ``.exchange``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:

    from treebound.show import Rules
    from treebound.tree.model import Tree

__all__ = ["TreeExports"]


class TreeExports:
    """How a fitted tree is read, printed, shipped and kept."""

    tree_: Tree
    unknown: Any
    smoothing: Any

    def _fitted_tree(self) -> Tree:
        check_is_fitted(self)
        return self.tree_

    def to_text(self, **options: Any) -> str:
        """The tree as indented text, see :func:`treebound.show.text`."""
        from treebound.show import text

        return text(self._fitted_tree(), **options)

    def rules(self, **options: Any) -> Rules:
        """The tree as if-then rules, one a leaf, see :func:`treebound.show.rules`."""
        from treebound.show import rules

        unknown = "majority" if self.unknown == "error" else self.unknown
        return rules(
            self._fitted_tree(), **{"smoothing": self.smoothing, "unknown": unknown, **options}
        )

    def to_dot(self, **options: Any) -> str:
        """The tree in the DOT language of Graphviz, see :func:`treebound.show.dot`."""
        from treebound.show import dot

        return dot(self._fitted_tree(), **options)
