"""Methods of a fitted classifier that explain, draw, export and save its model."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from treebound.exchange import Exports, load, save, write_predictions
from treebound.model import Model
from treebound.model_methods import as_method, as_model
from treebound.show import Explanation, Forms, TreeDisplay, explain, to_notebook

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Container = Literal["default", "pandas", "polars"]
_CONTAINERS = ("default", "pandas", "polars", None)


class ModelMethods(Forms, Exports):
    """Explain, draw, export and save; the functions of ``show`` and ``exchange`` as methods."""

    if TYPE_CHECKING:
        model_: Model

        def _set_model(self, model: Model) -> None: ...

    write_predictions = as_method(write_predictions)

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
        no (probability 0.942, 40 of 40 training examples here)
          because    this row  training rows that went this way
          x1 ≠ blue  red       40 of 60
        Next best: yes (probability 0.0585, 0 of 40 training examples here)
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

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        pruning_path: bool = True,
        row_record: bool = True,
    ) -> None:
        """Write the model as JSON, in the documented format.

        The file holds everything needed to predict, to certify and to use the pruning path (its
        steps of at most 200 leaves). It lists the categories only of columns that a tree in it
        asks. Parameters that JSON cannot represent, such as a pruner object, are reset to their
        defaults.

        Parameters
        ----------
        path : str or path-like
            The file to write.
        pruning_path : bool
            Whether to keep the pruning path; without it the file has only the tree that predicts.
        row_record : bool
            Whether to keep the hashes by which rows that had a part in fitting are recognised. Who
            has the hashes can test whether a row was used.

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
        model = as_model(self, "save")
        save(model, path, pruning_path=pruning_path, row_record=row_record)

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
        model = load(path)
        if model.referral is not None:
            raise ValueError(
                "This model refers some cases. Hint: "
                "treebound.classifier.referring.ReferringClassifier.load."
            )
        classifier = cls(**model.parameters)
        classifier._set_model(model)
        return classifier

    # -- notebooks -------------------------------------------------------------------------

    def _picture(self) -> str:
        """The tree as HTML, empty before fitting."""
        return to_notebook(self) if "model_" in vars(self) else ""

    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + self._picture()  # type: ignore[misc]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] += self._picture()
        return bundle


class FrameOutput:
    """Mixin to return probabilities as a frame with a column for each class."""

    if TYPE_CHECKING:

        @property
        def classes_(self) -> NDArray[Any]: ...

    def set_output(self, *, transform: Container | None = None) -> Self:
        """Set the output type of :meth:`predict_proba` and :meth:`predict_log_proba`.

        It applies to this classifier only; clones, as made by model selection, return arrays.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"} or None
            An array, or a frame with a column for each class; None changes nothing.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If ``transform`` is none of these.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> import treebound as tb
        >>> iris = load_iris(as_frame=True)
        >>> clf = tb.BoundTreeClassifier().fit(iris.data, iris.target_names[iris.target])
        >>> print(clf.set_output(transform="pandas").predict_proba(iris.data.head(2)).round(2))
           setosa  versicolor  virginica
        0    0.95        0.03       0.03
        1    0.95        0.03       0.03
        """
        if transform not in _CONTAINERS:
            raise ValueError(
                "The 'transform' parameter of set_output must be one of 'default', 'pandas', "
                f"'polars', None. Got {transform!r} instead."
            )
        if transform is not None:
            self._container = transform
        return self

    def _framed(self, values: NDArray[np.float64], X: Any) -> Any:
        """The values in the chosen container; a pandas frame keeps the index of X."""
        container = getattr(self, "_container", "default")
        if container == "default":
            return values
        library: Any = import_module(container)  # assumed to be installed
        if container == "polars":
            return library.DataFrame(values, schema=[str(label) for label in self.classes_])
        index = X.index if isinstance(X, library.DataFrame) else None
        return library.DataFrame(values, columns=self.classes_, index=index)
