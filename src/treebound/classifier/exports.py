"""The forms a fitted classifier takes: those of ``treebound.show`` and ``treebound.exchange``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from treebound.exchange import Exports, load, save
from treebound.show import Forms, to_notebook

if TYPE_CHECKING:
    from typing import Self

    from treebound.tree.model import Tree

__all__ = ["TreeExports"]


class TreeExports(Forms, Exports):
    """How a fitted tree is read, printed, shipped and kept."""

    tree_: Tree

    def _picture(self) -> str:
        """The small picture for notebooks, nothing before fitting."""
        return to_notebook(self) if hasattr(self, "tree_") else ""

    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + self._picture()  # type: ignore[misc]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] += self._picture()
        return bundle

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

        classifier: Self = restored(cls, load(path))
        return classifier
