"""The base of estimators whose attribute ``model_`` is a fitted model of any kind."""

from __future__ import annotations

import os
import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from treebound._utils._pool import Threads
from treebound._utils.jobs import effective_jobs
from treebound._utils.validation import parameters_of
from treebound.data import Column, Matrix
from treebound.data.frames import read_table
from treebound.data.streams import in_database, is_on_dask, is_stream
from treebound.edit import Editor
from treebound.exchange import save, to_c, to_onnx, to_python, to_sql
from treebound.exchange.code import Output
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
    from sklearn.utils import Tags

    from treebound.show.report_data import AlternativeTrees

AnyModel = TypeVar("AnyModel", Model, RegressionModel)
_FEW_VALUES = 400_000  # one thread predicts them
# Methods of scikit-learn's trees, and the attributes that replace them.
OF_SKLEARN = {
    "get_n_leaves": "use n_leaves_.",
    "get_depth": "use depth_.",
    "cost_complexity_pruning_path": "use pruning_path_.",
}


class FittedTree(Generic[AnyModel]):
    """Attributes, texts, files and code of a fitted tree of any kind of target."""

    model_: AnyModel

    @abstractmethod
    def _fitted(self) -> AnyModel:
        """Return the model; raise scikit-learn's NotFittedError before ``fit``."""

    @classmethod
    @abstractmethod
    def _of_file(cls, path: str | os.PathLike[str]) -> Self:
        """Return a fitted estimator with the model of a file."""

    # Attributes that the estimator does not have, and what replaces them.
    _instead: ClassVar[Mapping[str, str]] = OF_SKLEARN

    def __getattr__(self, name: str) -> Any:
        """Raise an AttributeError; if something replaces the attribute, name it."""
        attribute = getattr(type(self), name, None)
        if isinstance(attribute, property) and attribute.fget is not None:
            return attribute.fget(self)  # its own error, such as NotFittedError
        hint = f" Hint: {self._instead[name]}" if name in self._instead else ""
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}.{hint}")

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

    @property
    def certificate_reason_(self) -> str | None:
        """The reason why there is no certificate; None if there is one."""
        return self._fitted().certificate_reason

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
            As in :meth:`to_text`.

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
        max_depth, digits : int, optional
            As in :meth:`to_dot`.

        See Also
        --------
        treebound.show.to_latex : The same as a function, also for a tree.
        """
        return to_latex(self, document=document, max_depth=max_depth, digits=digits)

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
        X, y : table, and labels or numbers, optional
            Rows for histograms in the nodes, by class, of the column that the node splits on, or of
            a regression tree for boxplots in the leaves; for example the training rows.
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
            self, X, y, max_depth=max_depth, digits=digits, ax=ax, fontsize=fontsize
        )
        return display.ax_

    # -- files and code --------------------------------------------------------------------

    def save(
        self, path: str | os.PathLike[str], *, pruning_path: bool = True, row_record: bool = True
    ) -> None:
        """Write the model as JSON, in the documented format.

        Parameters
        ----------
        path : str or path-like
            The file to write.
        pruning_path : bool
            Keep the pruning path. Without it the file has only the tree that predicts.
        row_record : bool
            Keep the hashes that identify the rows of ``fit``. With the hashes, one can test whether
            a row was used.

        See Also
        --------
        treebound.exchange.save : The same as a function, also for a tree.
        """
        save(self, path, pruning_path=pruning_path, row_record=row_record)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model written by :meth:`save`, with the same predictions; no code is executed.

        Parameters
        ----------
        path : str or path-like
            The file to read.
        """
        return cls._of_file(path)

    def to_python(self, *, name: str = "predict", output: Output = "label") -> str:
        """Return the source of a Python function with the same predictions.

        Parameters
        ----------
        name : str
            Name of the function; it must not begin with an underscore.
        output : {"label", "proba"}
            Return the prediction, or, of a classifier, a list of probabilities in the order of
            ``CLASSES``.

        See Also
        --------
        treebound.exchange.to_python : The same as a function, also for a tree.
        """
        return to_python(self, name=name, output=output)

    def to_c(self, *, name: str = "predict", output: Output = "label") -> str:
        """Return C source, ``predict(const struct predict_row *row)``, of the same predictions.

        Parameters
        ----------
        name : str
            Name of the function, and prefix of all other names; it must not begin with ``x_``.
        output : {"label", "proba"}
            Return the number, or the index of the class; with ``"proba"`` also write the
            probability of each class.

        See Also
        --------
        treebound.exchange.to_c : The same as a function, also for a tree.
        """
        return to_c(self, name=name, output=output)

    def to_sql(
        self,
        *,
        table: str | None = None,
        name: str = "prediction",
        output: Output = "label",
        dialect: str | None = None,
    ) -> str:
        """Return an SQL ``CASE`` expression with the same predictions.

        Parameters
        ----------
        table : str, optional
            If given, write a whole query, ``SELECT table.*, CASE ... AS prediction FROM table``.
        name : str
            Name of the result; probabilities are named after it and the class.
        output : {"label", "proba"}
            Write the prediction, or, of a classifier, the probability of each class, separated by
            commas.
        dialect : str, optional
            The database, such as ``"sqlite"``, ``"duckdb"``, ``"postgres"``, ``"mysql"``,
            ``"tsql"``, ``"bigquery"``, ``"snowflake"`` or ``"spark"``.

        See Also
        --------
        treebound.exchange.to_sql : The same as a function, also for a tree.
        """
        return to_sql(self, table=table, name=name, output=output, dialect=dialect)

    def to_onnx(self, *, missing_text: str = "") -> Any:
        """Return an ONNX model with the same predictions; numbers are doubles.

        Parameters
        ----------
        missing_text : str
            The text that marks a missing value in a string column.

        See Also
        --------
        treebound.exchange.to_onnx : The same as a function, also for a tree.
        """
        return to_onnx(self, missing_text=missing_text)

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


class TreeEstimator(FittedTree[AnyModel]):
    """How an estimator of scikit-learn stores its model and reads rows."""

    n_features_in_: int
    feature_names_in_: NDArray[Any]  # if the columns have names
    n_jobs: int | None

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def _set_model(self, model: AnyModel) -> Self:
        """Set the model, and the names of its columns."""
        self.model_ = model
        self.n_features_in_ = len(model.columns)
        if "feature_names_in_" in vars(self):
            del self.feature_names_in_
        if model.reading.named:
            names = [column.name for column in model.columns]
            self.feature_names_in_ = np.array(names, dtype=object)
        return self

    def _with_model(self, model: AnyModel) -> Self:
        """Return a fitted copy with another model."""
        return copy(self)._set_model(model)

    # -- rows --------------------------------------------------------------------------------

    def _rows(self, X: Any) -> Any:
        """Return the rows in a form that the model reads; a table in batches as it is."""
        return X if is_stream(X) else self._read(X)

    def _read(self, X: Any) -> Matrix:
        """The rows of a table, after scikit-learn's checks of the state and the columns."""
        model, table = self._fitted(), read_table(X)
        with Threads(effective_jobs(self._jobs(*table.shape))):
            validate_data(self, X, reset=False, skip_check_array=True)
            return model.read(table, whole=True, check=False)

    def _jobs(self, n_rows: int, n_columns: int) -> int | None:
        """Return ``n_jobs``, or 1 for few values: to start threads takes as long as they do."""
        return 1 if n_rows * n_columns < _FEW_VALUES else self.n_jobs

    def _predict(self, X: Any, output: Any, predict: Callable[..., Any], **options: Any) -> Any:
        """Return predictions, lazily in a database (as further columns) and on Dask."""
        if in_database(X):
            from treebound.engines.sql import with_predictions

            return with_predictions(self._fitted(), X, output, **options)
        predict = partial(predict, n_jobs=self.n_jobs, **options)
        if is_on_dask(X):
            from treebound.engines.dask.table import lazy_predictions

            return lazy_predictions(self._fitted(), X, output, predict)
        rows = self._rows(X)
        if isinstance(rows, Matrix):
            predict = partial(predict, n_jobs=self._jobs(rows.n_rows, len(rows.columns)))
        return predict(self._fitted(), rows)

    def apply(self, X: Any) -> Any:
        """Return the node of ``tree_`` that each row reaches, an array of shape (n_rows,).

        These are leaves, or inner nodes too with ``handle_unknown="stop"``. ``X`` is a table as for
        ``predict``.
        """
        return self._predict(X, "node", type(self._fitted()).apply)

    def decision_path(self, X: Any) -> csr_matrix:
        """Return the nodes on the path of each row, as a matrix of shape (n_rows, n_nodes).

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            The columns of the training table.
        """
        return self._fitted().tree.decision_path(self._read(X))

    # -- other trees -----------------------------------------------------------------------

    def prune_to(self, leaves: int | None = None, *, step: int | None = None) -> Self:
        """Return a fitted copy at another step of the pruning path, without refitting.

        Parameters
        ----------
        leaves : int
            The largest tree on the path with at most this many leaves; usually better than a tree
            that was stopped at this size while growing.
        step : int
            The tree at this step of ``pruning_path_``.

        Returns
        -------
        BoundTreeClassifier or BoundTreeRegressor
            A fitted copy, whose ``estimate_`` is None; this estimator is not changed.

        Raises
        ------
        ValueError
            If both or none of ``leaves`` and ``step`` are given, there is no such step, or there
            was no pruning (``pruning=None``).

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> import treebound as tb
        >>> clf = tb.BoundTreeClassifier().fit(*load_wine(return_X_y=True))
        >>> clf.prune_to(2).n_leaves_, clf.prune_to(step=0).n_leaves_
        (2, 8)
        """
        return self._with_model(self._fitted().prune_to(leaves, step=step))

    @parameters_of(Editor)
    def edit(
        self,
        X: Any,
        y: Any,
        *,
        test: tuple[Any, Any] | None = None,
        sample_weight: Any = None,
        groups: Any = None,
        autosave: str | os.PathLike[str] | None = None,
        alternatives: AlternativeTrees | None = None,
    ) -> Editor:
        """Change the tree by hand; this estimator is not changed.

        X and y must be the rows that the tree was trained on; others raise a ValueError.

        Returns
        -------
        Editor
            A notebook with anywidget shows it as a page to edit in. Its method ``done`` gives a
            fitted classifier or regressor with the edited tree.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> import treebound as tb
        >>> rows = load_iris(return_X_y=True, as_frame=True)
        >>> clf = tb.BoundTreeClassifier().fit(*rows)
        >>> editor = clf.edit(*rows)
        >>> step = editor.collapse("R")
        >>> editor.done().n_leaves_, clf.n_leaves_
        (2, 7)

        A regression tree is edited in the same way:

        >>> from sklearn.datasets import load_diabetes
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> editor = tb.BoundTreeRegressor(max_leaves=3).fit(X, y).edit(X, y)
        >>> print(editor.relabel("L", 110, note="guideline"))
        If s5 <= -0.004: predict 110 instead of 111.77. Note: guideline
        leaves          3 -> 3
        training RMSE   60.89 -> 60.88
        """
        self._fitted()
        editor = Editor(
            self,
            X,
            y,
            test=test,
            sample_weight=sample_weight,
            groups=groups,
            autosave=autosave,
            alternatives=alternatives,
            finish=self._with_model,
        )
        if editor.notice:
            hint = " Hint: done(calibration_unseen=True) states that none was seen."
            words = editor.notice + hint * editor.calibration_can_certify
            warnings.warn(words, UserWarning, stacklevel=2)
        return editor
