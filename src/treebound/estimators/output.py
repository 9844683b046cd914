"""Probabilities as they are returned: logarithms, and containers that ``set_output`` names."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from treebound._utils.validation import OneOf, check
from treebound.data.streams import in_database, is_on_dask
from treebound.model import Model

Container = Literal["default", "pandas", "polars"]


def check_container(transform: Container | None) -> None:
    """Raise an error for what is no container or not installed; None changes nothing."""
    choices = OneOf((*get_args(Container), None))
    check("set_output", {"transform": transform}, {"transform": choices})
    if transform in ("pandas", "polars") and find_spec(transform) is None:
        raise ModuleNotFoundError(
            f"set_output(transform={transform!r}) needs {transform}, which is not installed. "
            f"Hint: pip install {transform}",
            name=transform,
        )


def framed(values: Any, X: Any, classes: NDArray[Any], container: Container) -> Any:
    """Probabilities of the rows of X in a container; a pandas frame keeps the index of X."""
    if container == "default" or in_database(X) or is_on_dask(X):
        return values
    library: Any = import_module(container)
    if container == "polars":
        return library.DataFrame(values, schema=[str(label) for label in classes])
    index = X.index if isinstance(X, library.DataFrame) else None
    return library.DataFrame(values, columns=classes, index=index)


def log_shares(model: Model, X: Any, n_jobs: int | None) -> Any:
    """The logarithms of the probabilities; minus infinity for zero."""
    with np.errstate(divide="ignore"):
        return np.log(model.predict_proba(X, n_jobs))
