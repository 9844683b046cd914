"""A tree as a plain Python function."""

from __future__ import annotations

import builtins
import keyword
import math
from typing import Any

from numpy.typing import NDArray

from treebound._utils.validation import invalid
from treebound.data import Column
from treebound.exchange import code
from treebound.model import RegressionModel
from treebound.model.methods import as_any_model
from treebound.tree.split import Split, plain

# Our names begin with an underscore, those of columns never do; these are the exceptions.
_RESERVED = frozenset({"row", "float", *keyword.kwlist})
_TAKEN = frozenset({"CLASSES", *keyword.kwlist, *dir(builtins)})

_SIGNS = code.Signs(missing="{0} != {0}", present="{0} == {0}", negated="not {}")
# The columns that the function reads, and the names of their variables.
UsedColumns = list[tuple[Column, str]]

_MISSING = '''
def _missing(value):
    """Return True if a value is None, NaN or pandas.NA."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True
'''
_NUMBER = '''
def _number(value):
    """A number as a float, NaN when it is missing."""
    number = float("nan") if _missing(value) else float(value)
    if number in (float("inf"), float("-inf")):
        raise ValueError("Infinity is not allowed. Hint: use None or a finite number.")
    return number
'''
_CATEGORY = '''
def _category(value, known):
    """A category; None when it is missing, _UNKNOWN when it is unknown."""
    if _missing(value):
        return None
    return value if value in known else _UNKNOWN
'''


def to_python(source: Any, *, name: str = "predict", output: code.Output = "label") -> str:
    """The tree as the source of a Python module with one function, with the same predictions.

    The function takes one row, a mapping from column names to values (categories, not codes;
    None, NaN or pandas.NA if missing). It imports nothing. Like ``predict`` it raises ValueError
    for an infinite number and, with ``handle_unknown="error"``, for an unknown category.

    Parameters
    ----------
    source : BoundTreeClassifier, Model or Tree
        Unknown categories and probabilities are as it has them;
        ``Model(tree, reading=ReadingOptions("stop"))`` chooses them for a tree.
    name : str
        Name of the function; it must not begin with an underscore.
    output : {"label", "proba"}
        Whether it returns the class, or a list of probabilities in the order of ``CLASSES``.

    Raises
    ------
    ValueError
        If ``name`` is not such a name.

    Examples
    --------
    >>> import treebound as tb
    >>> from sklearn.datasets import load_iris
    >>> clf = tb.BoundTreeClassifier(max_leaves=3).fit(*load_iris(return_X_y=True, as_frame=True))
    >>> module = {}
    >>> exec(to_python(clf), module)
    >>> module["predict"]({"petal length (cm)": 1.4, "petal width (cm)": 0.3})
    0
    """
    if not name.isidentifier() or name[0] == "_" or name in _TAKEN:
        must = "a Python identifier that is no keyword, no built-in name and not 'CLASSES', and "
        must += "does not begin with an underscore"
        raise invalid("name", "to_python", must, name)
    model = code.with_listed_categories(as_any_model(source, "to_python"))
    tree, values = model.tree, code.predictions(model, output, "to_python")
    names = code.identifiers(tree.columns, _RESERVED | {name})
    used = [(tree.columns[j], names[j]) for j in code.columns_used(tree)]
    body = []
    for step in code.branches(tree, model.reading.handle_unknown):
        indent = "    " * (step.level + 1)
        if isinstance(step, code.Return):
            body.append(f"{indent}return {_literal(values[step.node])}")
        else:
            body.append(f"{indent}if {_condition(step, names[step.split.feature])}:")
    checks = _checks(used) if model.reading.handle_unknown == "error" else []
    result = "The probabilities of CLASSES" if output == "proba" else "The class"
    labels = None if isinstance(model, RegressionModel) else model.classes
    result = "The predicted number" if labels is None else result
    edits = [f"# {line}" for line in code.edits_of(model)]
    doc = f'    """{result} of a row, a mapping from column names to values."""'
    head = [f"def {name}(row):", doc, *_reads(used), *checks]
    return "\n".join([*edits, *_preamble(labels, used), "", *head, *body, ""])


def _preamble(classes: NDArray[Any] | None, used: UsedColumns) -> list[str]:
    """Return the constants and the helpers that the function needs."""
    lines = []
    if classes is not None:
        labels = [plain(label) for label in classes]
        code.literal_type(labels, subject="The classes")
        lines.append(f"CLASSES = {_literal(labels)}")
    of_categories = [(column, local) for column, local in used if column.kind != "real"]
    if of_categories:
        lines.append("_UNKNOWN = object()")
    for column, local in of_categories:
        values = [plain(value) for value in column.categories or ()]
        code.category_type(column)
        lines.append(f"_KNOWN_{local.upper()} = {{{', '.join(map(_literal, values))}}}")
    if not used:
        return [*lines, ""]
    helpers = [_MISSING] + [_CATEGORY] * bool(of_categories)
    helpers += [_NUMBER] * (len(used) > len(of_categories))
    return [*lines, *("\n" + "\n".join(helpers)).splitlines(), ""]


def _reads(used: UsedColumns) -> list[str]:
    """One local variable for each column."""
    lines = []
    for column, local in used:
        known = "" if column.kind == "real" else f", _KNOWN_{local.upper()}"
        reader = "_category" if known else "_number"
        lines.append(f"    {local} = {reader}(row[{_literal(column.name)}]{known})")
    return lines


def _checks(used: UsedColumns) -> list[str]:
    """Raise for an unknown category in any column, as ``handle_unknown="error"`` does."""
    lines = []
    for column, local in used:
        if column.kind != "real":
            message = _literal(f"The column {column.name!r} has an unknown category.")
            lines += [f"    if {local} is _UNKNOWN:", f"        raise ValueError({message})"]
    return lines


def _condition(branch: code.Branch, local: str) -> str:
    """Return a Python expression that is true if a row takes the side of a branch."""
    if branch.side == "stop":
        return f"{local} is _UNKNOWN"
    if branch.split.is_real:
        return code.compared(branch, local, _literal(branch.split.threshold), _SIGNS)
    return _membership(branch.split, local, branch.side == "left")


def _membership(split: Split, local: str, left: bool) -> str:
    accepted = [_literal(value) for value in split.values()]
    accepted += ["None"] * split.missing_left + ["_UNKNOWN"] * (split.unknown_left is True)
    if len(accepted) > 1:
        return f"{local} {'in' if left else 'not in'} ({', '.join(accepted)})"
    if not accepted:
        return "False" if left else "True"
    if accepted[0] in ("None", "_UNKNOWN"):
        return f"{local} {'is' if left else 'is not'} {accepted[0]}"
    return f"{local} {'==' if left else '!='} {accepted[0]}"


def _literal(value: Any) -> str:
    """The value as a Python literal in ASCII, infinities included."""
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return ascii(value) if not isinstance(value, str) else _quoted(value)


def _quoted(value: str) -> str:
    """Text in double quotes; special characters are escaped."""
    inner = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in value.replace("\\", "\\\\"))
    return '"' + inner.replace('"', '\\"') + '"'
