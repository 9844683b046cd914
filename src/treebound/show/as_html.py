"""A self-contained HTML report of a tree."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from treebound._utils.files import write_text
from treebound._utils.html import assembled
from treebound._utils.validation import invalid
from treebound.model import Model, RegressionModel
from treebound.model.methods import as_any_model
from treebound.show.report_data import AlternativeTrees, check_alternatives, report_data
from treebound.show.report_numbers import number_report_data
from treebound.tree.split import one_line

_MAX_STEPS = 40  # of a longer path


def to_html(
    source: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    test: tuple[Any, Any] | None = None,
    rows: Any = None,
    alternatives: AlternativeTrees | None = None,
    title: str | None = None,
    facts: Mapping[str, str] | None = None,
    tree_facts: Mapping[str, str] | None = None,
    file_columns: Sequence[str] = (),
) -> str:
    """Write a report in one HTML file: the tree, its size, and its certificate.

    The report needs no network and no other files, and runs only its own script. Nodes can be
    folded, zoomed and reached with the keyboard; a tooltip shows their training examples. A slider
    selects a size of the pruning path, and the whole report describes that tree. A row that
    is typed or pasted is explained, and its path is highlighted. The report follows the reader's
    light or dark setting and can be printed.

    Parameters
    ----------
    source : BoundTreeClassifier, BoundTreeRegressor, model or tree
        A fitted model includes its pruning path, certificate and parameters.
    path : str or path-like, optional
        File to write the report to.
    test : tuple (X, y), optional
        Test rows and their classes, for a confusion matrix; not for regression trees. Rows that
        were used for fitting are refused.
    rows : table, optional
        Rows that describe the columns of the tree, such as those of ``fit``: the report shows the
        range and the share of missing values of each.
    alternatives : Alternatives, optional
        Other good trees, from :meth:`treebound.BoundTreeClassifier.alternatives`: the report lists
        them and shows the one that is clicked. Their first tree need not be that of the report.
    title : str, optional
        The heading of the report; by default it names the target.
    facts : mapping of str to str, optional
        More facts for the head of the report, such as the file that the rows came from.
    tree_facts : mapping of str to str, optional
        Facts about the fitted tree, such as its cross-validated error: at other sizes the report
        names the size they belong to.
    file_columns : sequence of str, optional
        The columns of the file that the rows came from, in order, so that a line of it can be
        pasted, target included.

    Returns
    -------
    str
        The HTML text.

    Raises
    ------
    ValueError
        If ``test`` is not such a tuple, or more of its rows equal rows that were used for fitting
        than chance explains.

    Examples
    --------
    >>> import treebound as tb
    >>> from sklearn.datasets import load_iris
    >>> clf = tb.BoundTreeClassifier().fit(*load_iris(return_X_y=True))
    >>> report = to_html(clf, title="Irises")
    >>> report.splitlines()[0], "<title>Irises</title>" in report
    ('<!doctype html>', True)
    """
    model = as_any_model(source, "to_html")
    if isinstance(model, RegressionModel) and test is not None:
        raise invalid("test", "to_html", "None for a regression tree", type(test))
    sample = None
    if test is not None:
        if not isinstance(test, tuple | list) or len(test) != 2:
            raise invalid("test", "to_html", "a tuple (X, y) of rows and classes", type(test))
        if isinstance(model, Model):
            hint = "give rows as 'test' that were not used before; without it, the report has none."
            model.tested(*test, caller="to_html").comparison.refuse_used(hint)
            sample = model.read_test(*test)
    if title is None:
        target = "" if model.reading.target is None else f" for {one_line(model.reading.target)}"
        title = f"Decision tree{target}"
    described = None if rows is None else model.read(rows)
    if isinstance(model, RegressionModel):
        if alternatives is not None:
            must = "None for a regression tree"
            raise invalid("alternatives", "to_html", must, type(alternatives))
        content = number_report_data(model, _MAX_STEPS, described)
    else:
        check_alternatives(alternatives, "to_html")
        content = report_data(model, _MAX_STEPS, sample, described, alternatives)
    static = files("treebound.show") / "static"
    scripts = (
        "report_model.js", "report_tree.js", "report_questions.js", "report_numbers.js",
        "report_sections.js",
    )  # fmt: skip
    page = assembled(
        static / "report.html",
        title=title,
        data={
            **content,
            "facts": list((facts or {}).items()),
            "tree_facts": list((tree_facts or {}).items()),
            "file": list(file_columns),
        },
        styles=[static / "report.css"],
        scripts=[static / name for name in scripts],
        parts={"TOP": static / "top.html", "TREE": static / "tree.html"},
    )
    if path is not None:
        write_text(path, page)
    return page
