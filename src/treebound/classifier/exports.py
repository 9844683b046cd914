"""Methods of a fitted classifier to explain, draw, export and save it."""

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
    """Mixin to explain, draw, export and save a fitted tree."""

    tree_: Tree

    if TYPE_CHECKING:

        def _check_fitted(self) -> None: ...

    # -- explanations and figures ----------------------------------------------------------

    def explain(self, row: Any) -> Explanation:
        """Explain the prediction for a row, and the smallest change that would alter it.

        Parameters
        ----------
        row : mapping, sequence, pandas Series, or table of one row
            The values by column name, or in the order of the columns.

        Returns
        -------
        Explanation
            The path in words, the next best class, and the smallest change of the row that changes
            the prediction. ``print`` it, or show it in a notebook.

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
            Rows for histograms in the nodes, by class, of the column that the node splits on; for
            example the training rows.
        ax : matplotlib Axes, optional
            Axes to draw in; by default those of a new figure of suitable size.
        max_depth : int, optional
            Deeper nodes are omitted and counted.
        digits : int, optional
            Significant digits of thresholds; by default they are exact.
        fontsize : float, optional
            In points; by default it depends on the number of leaves.

        Returns
        -------
        matplotlib Axes

        See Also
        --------
        treebound.show.TreeDisplay : The same as an object with the positions of the nodes.
        """
        display = TreeDisplay.from_estimator(
            self, X, y, max_depth=max_depth, digits=digits, ax=ax, fontsize=fontsize
        )
        return display.ax_

    # -- model files -----------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as JSON, in the documented format.

        The file holds everything needed to predict, to certify and to use the pruning path (its
        steps of at most 200 leaves). Parameters that JSON cannot represent, such as a pruner
        object, are reset to their defaults.

        Parameters
        ----------
        path : str or path-like
            The file to write.

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
        """Read a model written by :meth:`save`; no code is executed.

        Parameters
        ----------
        path : str or path-like
            The file to read.

        Returns
        -------
        BoundTreeClassifier
            A fitted classifier with the same predictions.
        """
        from treebound.classifier.storage import restored

        classifier: Self = restored(cls, load(path))
        return classifier
