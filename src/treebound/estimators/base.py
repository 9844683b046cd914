"""The base of estimators whose attribute ``model_`` is a fitted model of any kind."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from treebound.data import Column, Matrix
from treebound.data.frames import read_table
from treebound.data.streams import is_stream
from treebound.edit import Editor
from treebound.growing import GrowOptions
from treebound.landscape import Landscape
from treebound.model import Model, RegressionModel
from treebound.show import (
    Rules,
    TreeDisplay,
    to_dot,
    to_latex,
    to_notebook,
    to_rules,
    to_text,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from scipy.sparse import csr_matrix

AnyModel = TypeVar("AnyModel", Model, RegressionModel)


class FittedTree(Generic[AnyModel]):
    """The attributes and texts of a fitted tree that do not depend on the kind of target."""

    model_: AnyModel

    @abstractmethod
    def _fitted(self) -> AnyModel:
        """Return the model; raise scikit-learn's NotFittedError before ``fit``."""

    # -- attributes ------------------------------------------------------------------------

    @property
    def columns_(self) -> tuple[Column, ...]:
        """Kind, categories and missing values of each column."""
        return self._fitted().columns

    @property
    def target_name_(self) -> str | None:
        """The name of ``y``, if it has one (a pandas or polars series)."""
        return self._fitted().reading.target

    @property
    def grow_options_(self) -> GrowOptions:
        """The options of growing."""
        return self._fitted().options

    @property
    def landscape_(self) -> Landscape:
        """The landscape of the columns; undeclared categories count as unbounded."""
        return self._fitted().tree.landscape

    @property
    def n_leaves_(self) -> int:
        """Number of leaves of the tree."""
        return self._fitted().tree.n_leaves

    @property
    def depth_(self) -> int:
        """Length of the longest path from the root to a leaf."""
        return self._fitted().tree.depth

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each column in the total decrease of impurity; they sum to one."""
        return self._fitted().importances

    # -- text ------------------------------------------------------------------------------

    def to_text(self, *, max_depth: int | None = None, digits: int | None = None) -> str:
        """Return the tree as indented text, one line for each side of a split.

        Parameters
        ----------
        max_depth : int, optional
            Deeper nodes are omitted and counted.
        digits : int, optional
            Significant digits of thresholds; by default they are exact.

        See Also
        --------
        treebound.show.to_text : The same as a function, also for a tree.
        """
        return to_text(self, max_depth=max_depth, digits=digits)

    def to_rules(self) -> Rules[Any]:
        """Return the tree as if-then rules, one for each leaf, with the same predictions.

        See Also
        --------
        treebound.show.to_rules : The same as a function, also for a tree.
        """
        return to_rules(self)

    def to_dot(self, *, max_depth: int | None = None, digits: int | None = None) -> str:
        """Return the tree in the DOT language, for ``dot -Tsvg``.

        Parameters
        ----------
        max_depth : int, optional
            Subtrees below this depth are drawn as one node.
        digits : int, optional
            Significant digits of thresholds; by default they are exact.

        See Also
        --------
        treebound.show.to_dot : The same as a function, also for a tree.
        """
        return to_dot(self, max_depth=max_depth, digits=digits)

    def to_latex(
        self, *, document: bool = False, max_depth: int | None = None, digits: int | None = None
    ) -> str:
        """Return the tree as a ``tikzpicture`` for pdflatex.

        Parameters
        ----------
        document : bool
            Write a whole document, cropped to the tree, instead of the picture alone.
        max_depth : int, optional
            Subtrees below this depth are drawn as one node.
        digits : int, optional
            Significant digits of thresholds; by default they are exact.

        See Also
        --------
        treebound.show.to_latex : The same as a function, also for a tree.
        """
        return to_latex(self, document=document, max_depth=max_depth, digits=digits)

    def plot(
        self,
        *,
        ax: Axes | None = None,
        max_depth: int | None = None,
        digits: int | None = None,
        fontsize: float | None = None,
    ) -> Axes:
        """Draw the tree with matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw in; by default those of a new figure of suitable size.
        max_depth : int, optional
            Deeper nodes are omitted and counted.
        digits : int, optional
            Significant digits of thresholds; by default they are exact.
        fontsize : float, optional
            In points; by default it depends on the number of leaves.

        See Also
        --------
        treebound.show.TreeDisplay : The same as an object with the positions of the nodes.
        """
        display = TreeDisplay.from_estimator(
            self, max_depth=max_depth, digits=digits, ax=ax, fontsize=fontsize
        )
        return display.ax_

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


class TreeEstimator(FittedTree[AnyModel]):
    """How an estimator of scikit-learn stores its model and reads rows."""

    n_features_in_: int
    n_jobs: int | None

    def _set_model(self, model: AnyModel) -> Self:
        """Set the model, and the names of its columns."""
        self.model_ = model
        self.n_features_in_ = len(model.columns)
        self.__dict__.pop("feature_names_in_", None)
        if model.reading.named:
            names = [column.name for column in model.columns]
            self.feature_names_in_ = np.array(names, dtype=object)
        return self

    def _with_model(self, model: AnyModel) -> Self:
        """Return a fitted copy with another model."""
        return copy(self)._set_model(model)

    def _editor(self, X: Any, y: Any, **options: Any) -> Editor:
        """Return an editor; warn of what it does to a certificate from calibration rows."""
        self._fitted()
        editor = Editor(self, X, y, finish=self._with_model, **options)
        if editor.notice:
            hint = " Hint: done(calibration_unseen=True) states that none was seen."
            words = editor.notice + hint * editor.calibration_can_certify
            warnings.warn(words, UserWarning, stacklevel=3)
        return editor

    # -- rows --------------------------------------------------------------------------------

    def _rows(self, X: Any) -> Any:
        """Return the rows in a form that the model reads; a table in batches as it is."""
        return X if is_stream(X) else self._read(X)

    def _read(self, X: Any) -> Matrix:
        """The rows of a table, after scikit-learn's checks of the state and the columns."""
        model, table = self._fitted(), read_table(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return model.read(table, whole=True)

    def _predict(self, X: Any, output: Any, predict: Callable[..., Any]) -> Any:
        """Return predictions for rows in memory or in batches."""
        return partial(predict, n_jobs=self.n_jobs)(self._fitted(), self._rows(X))

    def decision_path(self, X: Any) -> csr_matrix:
        """Return the nodes on the path of each row.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            The columns of the training table.

        Returns
        -------
        csr_matrix of shape (n_rows, n_nodes)
        """
        return self._fitted().tree.decision_path(self._read(X))
