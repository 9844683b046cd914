"""What a fitted classifier has and does by its model alone."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from treebound.certificate import Certificate, Frontier
from treebound.data import Column
from treebound.exchange import Exports, load, save, write_predictions
from treebound.growing import GrowOptions
from treebound.landscape import Landscape
from treebound.model import Model
from treebound.model.guarantees import certify_cost
from treebound.model.methods import as_method, learned
from treebound.pruning import PruningPath, PruningResult
from treebound.show import Forms, TreeDisplay, explain, to_notebook
from treebound.tree.model import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ModelMethods(Forms, Exports):
    """What a model has and what functions do with it, as attributes and methods."""

    if TYPE_CHECKING:
        model_: Model

        @classmethod
        def _of_model(cls, model: Model) -> Self: ...

    explain = as_method(explain)
    save = as_method(save)
    write_predictions = as_method(write_predictions)
    certify_cost = as_method(certify_cost, listed=False)

    classes_: NDArray[Any] = learned("classes", "The classes, sorted.")
    columns_: tuple[Column, ...] = learned(
        "columns", "Kind, categories and missing values of each column."
    )
    target_name_: str | None = learned(
        "target", "The name of ``y``, if it has one (a pandas or polars series)."
    )
    tree_: Tree = learned("tree", "The fitted tree.")
    grown_tree_: Tree = learned("grown", "The tree before pruning.")
    grow_options_: GrowOptions = learned("options", "The options of growing.")
    pruning_result_: PruningResult | None = learned(
        "pruning", "The result of pruning; None without pruning."
    )
    pruning_path_: PruningPath | None = learned(
        "path", "The candidate steps of pruning with their scores; None without pruning."
    )
    landscape_: Landscape = learned(
        "tree.landscape", "The landscape of the columns; undeclared categories count as unbounded."
    )
    n_leaves_: int = learned("tree.n_leaves", "Number of leaves of the tree.")
    depth_: int = learned("tree.depth", "Length of the longest path from the root to a leaf.")
    feature_importances_: NDArray[np.float64] = learned(
        "importances", "Share of each column in the total decrease of impurity; they sum to one."
    )
    certificate_: Certificate | None = learned(
        "certificate",
        "An upper bound on the true risk; None if it would not hold: ``certificate_reason_``.",
    )
    certificate_reason_: str | None = learned(
        "certificate_reason", "Why there is no certificate, in words; None if there is one."
    )
    frontier_: Frontier | None = learned(
        "frontier",
        'With ``certificate="prior"``: trees of few and many leaves, and their certified errors.',
    )

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

        See Also
        --------
        treebound.show.TreeDisplay : The same as an object with the positions of the nodes.
        """
        display = TreeDisplay.from_estimator(
            self, X, y, max_depth=max_depth, digits=digits, ax=ax, fontsize=fontsize
        )
        return display.ax_

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model written by :meth:`save`, with the same predictions; no code is executed.

        Parameters
        ----------
        path : str or path-like
            The file to read.
        """
        return cls._of_model(load(path))

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
