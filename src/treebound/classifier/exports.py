"""The forms a fitted classifier takes: thin methods over ``treebound.show`` and ``.exchange``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from typing import Self

    from treebound.show import Rules
    from treebound.tree.model import Tree

__all__ = ["TreeExports"]


class TreeExports:
    """How a fitted tree is read, printed, shipped and kept."""

    tree_: Tree

    # -- to read ---------------------------------------------------------------------------

    def to_text(self, **options: Any) -> str:
        """The tree as indented text, see :func:`treebound.show.text`."""
        from treebound.show import text

        return text(self, **options)

    def rules(self, **options: Any) -> Rules:
        """The tree as if-then rules, one a leaf, see :func:`treebound.show.rules`."""
        from treebound.show import rules

        return rules(self, **options)

    def to_dot(self, **options: Any) -> str:
        """The tree in the DOT language of Graphviz, see :func:`treebound.show.dot`."""
        from treebound.show import dot

        return dot(self, **options)

    def to_latex(self, **options: Any) -> str:
        """The tree as LaTeX, see :func:`treebound.show.latex`."""
        from treebound.show import latex

        return latex(self, **options)

    def to_html(self, path: str | os.PathLike[str] | None = None, **options: Any) -> str:
        """One self-contained page with the tree, see :func:`treebound.show.html_report`.

        Parameters
        ----------
        path : str or path-like, optional
            Where to write the page.

        Returns
        -------
        str
            The page.
        """
        from treebound.show import html_report

        return html_report(self, path=path, **options)

    def _picture(self) -> str:
        """The small picture for notebooks, nothing before fitting."""
        from treebound.show import html_repr

        return html_repr(self.tree_) if hasattr(self, "tree_") else ""

    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + self._picture()  # type: ignore[misc]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] += self._picture()
        return bundle

    # -- to run elsewhere ------------------------------------------------------------------

    def to_python(self, **options: Any) -> str:
        """The tree as a Python function, see :func:`treebound.show.python_code`."""
        from treebound.show import python_code

        return python_code(self, **options)

    def to_c(self, **options: Any) -> str:
        """The tree as a C function, see :func:`treebound.show.c_code`."""
        from treebound.show import c_code

        return c_code(self, **options)

    def to_sql(self, **options: Any) -> str:
        """The tree as an SQL expression, see :func:`treebound.show.sql_code`."""
        from treebound.show import sql_code

        return sql_code(self, **options)

    def to_onnx(self, **options: Any) -> Any:
        """The tree as an ONNX model, see :func:`treebound.exchange.to_onnx`."""
        from treebound.exchange import to_onnx

        return to_onnx(self, **options)

    # -- to keep ---------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as JSON, in the written format of the documentation.

        All that is needed to answer, to certify and to move along the pruning path is kept (of a
        path with more than 200 leaves, the steps up to there). Parameters that JSON cannot hold,
        such as a pruner object, are not: they have their defaults again if the model is refitted.

        Parameters
        ----------
        path : str or path-like

        Examples
        --------
        >>> import tempfile
        >>> from sklearn.datasets import load_iris
        >>> import treebound as tb
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = tb.BoundTreeClassifier().fit(X, y)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     clf.save(f"{folder}/model.json")
        ...     again = tb.BoundTreeClassifier.load(f"{folder}/model.json")
        >>> bool((again.predict(X) == clf.predict(X)).all())
        True
        """
        from treebound.classifier.storage import model_of
        from treebound.exchange import save

        check_is_fitted(self)
        save(model_of(self), path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that :meth:`save` wrote; nothing in the file is executed.

        Parameters
        ----------
        path : str or path-like

        Returns
        -------
        BoundTreeClassifier
            Fitted; it answers as the one that was saved.
        """
        from treebound.classifier.storage import restored
        from treebound.exchange import load

        return restored(cls, load(path))
