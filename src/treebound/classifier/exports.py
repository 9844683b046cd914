"""The forms a fitted classifier takes: those of ``treebound.show`` and ``treebound.exchange``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from treebound.exchange import Exports, load, save
from treebound.show import Explanation, Forms, TreeDisplay, explain

if TYPE_CHECKING:
    from typing import Self

    from matplotlib.axes import Axes

    from treebound.tree.model import Tree

__all__ = ["TreeExports"]


class TreeExports(Forms, Exports):
    """How a fitted tree is read, printed, shipped and kept."""

    tree_: Tree

    def _check_fitted(self) -> None:
        raise NotImplementedError

    # -- to understand ---------------------------------------------------------------------

    def explain(self, row: Any) -> Explanation:
        """Why a row is answered as it is, and what would have to change for another answer.

        Parameters
        ----------
        row : mapping, sequence, pandas Series, or table of one row
            The values by column name, or in the order of the columns.

        Returns
        -------
        Explanation
            The path in words, the next best class, and the least change of the row that gives
            another answer. ``print`` it, or show it in a notebook.

        Examples
        --------
        >>> import treebound as tb
        >>> clf = tb.BoundTreeClassifier().fit([[1, "red"], [2, "red"], [3, "blue"]] * 20,
        ...                                    ["no", "no", "yes"] * 20)
        >>> print(clf.explain([2.5, "red"]))
        no (probability 0.955, 40 of 40 training examples here)
          because    this row  training rows that went this way
          x1 ≠ blue  red       40 of 60
        Next best: yes (probability 0.0455, 0 of 40 training examples here)
        It would be yes with x1 = blue instead of red
        """
        return explain(self, row)

    def plot(
        self,
        X: Any = None,
        y: Any = None,
        *,
        ax: Axes | None = None,
        max_depth: int | None = None,
        digits: int | None = None,
        fontsize: float | None = None,
    ) -> Axes:
        """Draw the tree with matplotlib.

        Parameters
        ----------
        X, y : table and labels, optional
            Rows whose values are drawn in the nodes, such as the training rows: a small histogram,
            by class, of the column that the node asks about.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure of the size the tree needs.
        max_depth : int, optional
            Nodes deeper than this are left out and counted.
        digits : int, optional
            Round thresholds to so many significant digits.
        fontsize : float, optional
            In points; by default it depends on how many leaves there are.

        Returns
        -------
        matplotlib Axes

        See Also
        --------
        treebound.show.TreeDisplay : The same as an object that knows where every node is.
        """
        display = TreeDisplay.from_estimator(
            self, X, y, max_depth=max_depth, digits=digits, ax=ax, fontsize=fontsize
        )
        return display.ax_

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

        self._check_fitted()
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
