"""Output for users of scikit-learn: probabilities as frames, a tree in notebooks."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from treebound.show import to_notebook

__all__ = ["FrameOutput", "NotebookOutput"]

Container = Literal["default", "pandas", "polars"]
_CONTAINERS = ("default", "pandas", "polars", None)


class FrameOutput:
    """Mixin to return probabilities as a frame with a column for each class."""

    classes_: NDArray[Any]

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
        0    0.95        0.02       0.02
        1    0.95        0.02       0.02
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


class NotebookOutput:
    """Mixin to show the tree of a classifier in notebooks."""

    def _picture(self) -> str:
        """The tree as HTML, empty before fitting."""
        return to_notebook(self) if hasattr(self, "tree_") else ""

    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + self._picture()  # type: ignore[misc]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] += self._picture()
        return bundle
