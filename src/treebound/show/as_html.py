"""One self-contained page: the tree, and a report about it."""

from __future__ import annotations

import os
from importlib.resources import files
from typing import Any

from treebound._files import write_text
from treebound._html import assembled
from treebound._validation import invalid
from treebound.data import Sample
from treebound.show.report_data import report_data
from treebound.show.words import one_line
from treebound.tree.fitted import tree_of
from treebound.tree.split import Unknown

__all__ = ["to_html"]


def to_html(
    source: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    test: tuple[Any, Any] | None = None,
    pruning_path: Any = None,
    certificate: Any = None,
    title: str | None = None,
    max_steps: int = 150,
) -> str:
    """A report on one page: the tree, why it has this size, and what it promises.

    The page needs no network and no other file, and only its own script can run in it. Nodes can
    be folded, zoomed and walked through with the keyboard; pointing at one shows its training
    examples. A slider runs over the sizes of the pruning path, and all that the page says is about
    the tree that is shown. A row that is typed or pasted is explained, and its path lights up. It
    follows the light or dark setting of the reader and can be printed.

    Parameters
    ----------
    source : Tree or BoundTreeClassifier
        A fitted classifier brings its pruning path, its certificate and its parameters along.
    path : str or path-like, optional
        Where to write the page.
    test : tuple (X, y), optional
        Rows that had no part in fitting, and their classes: the page has their confusion matrix.
    pruning_path : PruningPath, optional
        The path to show; by default that of the classifier.
    certificate : Certificate, optional
        By default that of the classifier. With one, the tree of every step is certified.
    title : str, optional
        The heading of the page; by default it names the target.
    max_steps : int
        On a longer path, about so many steps are shown.

    Returns
    -------
    str
        The page.

    Examples
    --------
    >>> import treebound as tb
    >>> from sklearn.datasets import load_iris
    >>> clf = tb.BoundTreeClassifier().fit(*load_iris(return_X_y=True))
    >>> page = to_html(clf, title="Irises")
    >>> page.splitlines()[0], "<title>Irises</title>" in page
    ('<!doctype html>', True)
    """
    tree = tree_of(source, "to_html")
    if pruning_path is None:
        pruning_path = getattr(source, "pruning_path_", None)
    if certificate is None:
        certificate = getattr(source, "certificate_", None)
    sample = None
    if test is not None:
        if not isinstance(test, tuple | list) or len(test) != 2:
            raise invalid("test", "to_html", "a tuple (X, y) of rows and classes", type(test))
        unknown: Unknown = getattr(source, "unknown", "other")
        sample = Sample.read(*test, columns=tree.columns, classes=tree.classes, unknown=unknown)
    if title is None:
        target = getattr(source, "target_name_", None)
        title = "Decision tree" + ("" if target is None else f" for {one_line(target)}")
    page = assembled(
        files("treebound.show") / "static",
        "report",
        title=title,
        data=report_data(source, tree, pruning_path, certificate, max_steps, sample),
        scripts=("report_model", "report_tree", "report_sections"),
    )
    if path is not None:
        write_text(path, page)
    return page
