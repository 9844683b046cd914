"""Attributes and methods of a fitted classifier that need only its model."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Self

from numpy.typing import NDArray

from treebound._utils.choices import CertificateKind
from treebound.certificate import Certificate, Frontier
from treebound.certificate.mean_cost import MeanCost
from treebound.estimators.base import FittedTree
from treebound.exchange import load, write_predictions
from treebound.landscape import Landscape
from treebound.model import Model
from treebound.model.guarantees import certify_cost, unused_rows
from treebound.model.methods import as_model
from treebound.pruning import Estimate, PruningPath, PruningResult, SizeEstimate
from treebound.show import Explanation, explain, to_html
from treebound.tree.model import Tree


class ModelMethods(FittedTree[Model]):
    """The attributes and methods of a classifier whose attribute ``model_`` is a fitted model."""

    if TYPE_CHECKING:

        @classmethod
        def _of_model(cls, model: Model) -> Self: ...

    def _fitted(self) -> Model:
        """Return the model; raise scikit-learn's NotFittedError before ``fit``."""
        return as_model(self, type(self).__name__)

    # -- attributes ------------------------------------------------------------------------

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, sorted."""
        return self._fitted().classes

    @property
    def tree_(self) -> Tree:
        """The fitted tree."""
        return self._fitted().tree

    @property
    def grown_tree_(self) -> Tree:
        """The tree before pruning."""
        return self._fitted().grown

    @property
    def search_(self) -> Literal["greedy", "wide"]:
        """How the top of the tree was found: what ``search="auto"`` meant."""
        return self._fitted().search

    @property
    def pruning_result_(self) -> PruningResult | None:
        """The result of pruning; None without pruning."""
        return self._fitted().pruning

    @property
    def pruning_path_(self) -> PruningPath | None:
        """The candidate steps of pruning with their scores; None without pruning."""
        return self._fitted().path

    @property
    def certificate_(self) -> Certificate | None:
        """An upper bound on the true risk; None if it would not hold: ``certificate_reason_``."""
        return self._fitted().certificate

    @property
    def frontier_(self) -> Frontier | None:
        """Trees of few and many leaves and their certified errors, with ``certificate="prior"``."""
        return self._fitted().evidence.frontier

    @property
    def estimate_(self) -> Estimate | None:
        """The estimated error on new rows, by cross-validation; None with ``cv=None``."""
        return self._fitted().estimate

    @property
    def sizes_(self) -> tuple[SizeEstimate, ...]:
        """Leaves, estimated error and difference from the chosen tree, for about six sizes."""
        estimate = self._fitted().evidence.estimate
        return () if estimate is None else estimate.sizes

    def summary(self) -> str:
        """Describe the fitted tree in a few lines, the estimated error first.

        Examples
        --------
        >>> import treebound as tb
        >>> from sklearn.datasets import load_breast_cancer
        >>> data = load_breast_cancer()
        >>> clf = tb.BoundTreeClassifier().fit(data.data, data.target_names[data.target])
        >>> from textwrap import fill
        >>> print(fill(clf.summary(), 80))
        Estimated error 7.0 % (about 4.9 to 10.0 %; 5-fold cross-validation; baseline
        37.3 %, always 'benign'). Certified: at most 24.0 % with 95 % confidence. 10
        leaves of 20 grown, depth 6, 569 training rows.
        """
        return self._fitted().summary()

    # -- certificates ----------------------------------------------------------------------

    def certify(
        self,
        X: Any = None,
        y: Any = None,
        *,
        kind: CertificateKind | None = None,
        landscape: Landscape | None = None,
        delta: float | None = None,
        groups: Any = None,
    ) -> Certificate:
        """Bound the risk of the tree on new examples.

        Parameters
        ----------
        X, y : table and labels, optional
            Rows to certify from; by default those of ``fit``.
        kind : {"training", "held-out", "prior"}, optional
            What the rows are.
        landscape : Landscape, optional
            The features to split on, for a certificate from training rows.
        delta : float, optional
            Probability that the bound fails; by default 0.05.
        groups : array-like of shape (n_rows,), optional
            The group of each row, of which one is counted; required if ``fit`` had groups.

        See Also
        --------
        treebound.certify : The same as a function, for any tree.
        """
        from treebound.estimators.verbs import certify

        self._fitted()
        return certify(self, X, y, kind=kind, landscape=landscape, delta=delta, groups=groups)

    def certify_cost(
        self,
        X: Any = None,
        y: Any = None,
        *,
        costs: Any = None,
        delta: float | None = None,
        groups: Any = None,
    ) -> MeanCost:
        """Bound the mean cost of a new example, if errors differ in cost.

        Parameters
        ----------
        X, y : table and labels, optional
            Rows that were not used for fitting; by default those that ``fit`` held out.
        costs : array-like or mapping, optional
            A matrix with a row for the true class and a column for the predicted one, or the cost
            of an error on each class (1 for classes that a mapping leaves out); by default those of
            ``fit``.
        delta : float, optional
            Probability that the bound fails; by default 0.05.
        groups : array-like of shape (n_rows,), optional
            The group of each row, of which one is counted; required if ``fit`` had groups.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> import treebound as tb
        >>> rows = load_breast_cancer(return_X_y=True)
        >>> clf = tb.BoundTreeClassifier(certificate="held-out").fit(*rows)
        >>> print(clf.certify_cost(costs={0: 5.0, 1: 1.0}))
        With probability 95 %, a new example costs at most 0.6017 on average (0.2867 on the 150
        counted here).
        """
        rows = unused_rows(self._fitted(), X, y, groups, "certify_cost")
        return certify_cost(self._fitted(), rows, costs=costs, delta=delta)

    # -- text, rules, figures, reports -----------------------------------------------------

    def explain(self, row: Any) -> Explanation:
        """Explain the prediction for a row, and the smallest change that would alter it.

        Parameters
        ----------
        row : mapping, sequence, pandas Series, or table of one row
            The values by column name, or in the order of the columns.

        See Also
        --------
        treebound.show.explain : The same as a function, also for a tree.
        """
        explained: Explanation = explain(self, row)
        return explained

    def to_html(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        test: tuple[Any, Any] | None = None,
        rows: Any = None,
        alternatives: Any = None,
        title: str | None = None,
        facts: Mapping[str, str] | None = None,
        tree_facts: Mapping[str, str] | None = None,
    ) -> str:
        """Write a report on one HTML page: the tree, its size, and its certificate.

        Parameters
        ----------
        path : str or path-like, optional
            File to write the report to.
        test : tuple (X, y), optional
            Test rows and their classes, for a confusion matrix. Rows that were used for fitting are
            refused.
        rows : table, optional
            Rows that describe the columns of the tree, such as those of ``fit``.
        alternatives : Alternatives, optional
            Other good trees to list and to show on a click.
        title : str, optional
            The heading; by default it names the target.
        facts : mapping of str to str, optional
            More facts for the head of the report, such as the file that the rows came from.
        tree_facts : mapping of str to str, optional
            Facts of this tree, such as its cross-validated error; hidden at other sizes.

        Returns
        -------
        str
            The HTML page.

        See Also
        --------
        treebound.show.to_html : The same as a function, also for a tree.
        """
        return to_html(
            self,
            path,
            test=test,
            rows=rows,
            alternatives=alternatives,
            title=title,
            facts=facts,
            tree_facts=tree_facts,
        )

    # -- files and code --------------------------------------------------------------------

    @classmethod
    def _of_file(cls, path: str | os.PathLike[str]) -> Self:
        return cls._of_model(load(path))

    def write_predictions(
        self, X: Any, path: str | os.PathLike[str], *, proba: bool = False, keep: bool = False
    ) -> None:
        """Write the predictions for a table to a CSV or Parquet file.

        Parameters
        ----------
        X : table
            The rows; a pyarrow dataset or a lazy polars frame is read in batches.
        path : path-like
            The file, ``.csv`` or ``.parquet``; it appears when it is complete.
        proba : bool
            Write the probability of every class too.
        keep : bool
            Write the columns of X too.

        See Also
        --------
        treebound.exchange.write_predictions : The same as a function, also for a tree.
        """
        write_predictions(self, X, path, proba=proba, keep=keep)
