"""Model files: a model of classes or numbers is written to a file, and read from it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from treebound._utils.files import write_text
from treebound.exchange.model_file import dumps, loads, read_file
from treebound.exchange.regression_file import parse_regression, regression_text
from treebound.model import Model, RegressionModel
from treebound.model.methods import as_any_model


def save(
    model: Any,
    path: str | os.PathLike[str],
    *,
    pruning_path: bool = True,
    row_record: bool = True,
) -> None:
    """Write a model as JSON, in the documented format.

    The file holds everything needed to predict, to certify and to use the pruning path (its steps
    of at most 200 leaves). It lists categories only of columns that a tree in it splits on, and
    with ``handle_unknown="other"`` only those that splits name. All parameters of the classifier
    are stored; one that the format cannot hold, such as a pruner of another package, is an error.
    The file is replaced at once when it is complete, so that no incomplete file is left.

    Parameters
    ----------
    model : BoundTreeClassifier, BoundTreeRegressor, Model, RegressionModel, Tree or RegressionTree
        The model to write.
    path : str or path-like
        The file to write.
    pruning_path : bool
        Keep the pruning path; without it the file has only the tree that predicts, and
        no other step can be chosen or certified.
    row_record : bool
        Keep the hashes by which rows that were used for fitting are recognised. With them, every
        reader of the file can test whether a row was used.

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
    source = as_any_model(model, "save")
    options = {"pruning_path": pruning_path, "row_record": row_record}
    if isinstance(source, RegressionModel):
        write_text(path, regression_text(source, **options))
    else:
        write_text(path, dumps(source, **options))


def load(path: str | os.PathLike[str]) -> Model:
    """Read and check a model file.

    Parameters
    ----------
    path : str or path-like
        The file to read.

    Raises
    ------
    FormatError
        If the file is not a valid model; the message names the file and the location.
    OSError
        If the file cannot be read.
    """
    return read_file(Path(path), loads)


def load_regression(path: str | os.PathLike[str]) -> RegressionModel:
    """Read and check a file of a regression model, see :func:`load`."""
    return read_file(Path(path), parse_regression)
