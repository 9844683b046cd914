"""A tree as a Python function that needs nothing but Python."""

from __future__ import annotations

import keyword
import math
from typing import Any

from treebound.show.code import (
    Answer,
    Guard,
    Output,
    answers,
    check_options,
    columns_tested,
    guards,
    identifiers,
    literal_type,
)
from treebound.show.questions import Question, Unknown, plain
from treebound.tree import Tree
from treebound.tree.fitted import takes_classifier
from treebound.tree.smoothing import Smoothing

__all__ = ["python_code"]

_RESERVED = frozenset({"row", "float", "missing", "number", "category", "rank", "unseen", "match"})

_MISSING = '''
def missing(value):
    """Whether a value is None, NaN or pandas.NA."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True
'''
_NUMBER = '''
def number(value):
    """A number as a float, NaN when it is missing."""
    return float("nan") if missing(value) else float(value)
'''
_CATEGORY = '''
def category(value, known):
    """A category; None when it is missing, UNSEEN when it is not one of those known."""
    if missing(value):
        return None
    return value if value in known else UNSEEN
'''
_RANK = '''
def rank(value, known):
    """The place of a category in its order; NaN when it is missing, -1 when it is not known."""
    return float("nan") if missing(value) else known.get(value, -1)
'''


@takes_classifier
def python_code(
    tree: Tree,
    *,
    name: str = "predict",
    output: Output = "label",
    unknown: Unknown = "majority",
    smoothing: Smoothing | None = "m-estimate",
) -> str:
    """The tree as the text of a Python module with one function, which answers exactly as it.

    The function takes one row, a mapping from column names to values in the user's own form
    (categories, not codes; None, NaN or pandas.NA when missing). It is plain Python: no import.

    Parameters
    ----------
    tree : Tree or BoundTreeClassifier
        A fitted classifier gives its tree, and ``unknown`` and ``smoothing`` as it has them.
    name : str
        Name of the function.
    output : {"label", "proba"}
        Whether it returns the class, or the list of probabilities in the order of ``CLASSES``.
    unknown : {"majority", "stop", "missing", "error"}
        What happens to a category never seen; with ``"error"`` the function raises ValueError.
    smoothing : {"laplace", "m-estimate", None}
        How probabilities are made of counts.

    Examples
    --------
    >>> import treebound as tb
    >>> from sklearn.datasets import load_iris
    >>> iris = load_iris(as_frame=True)
    >>> clf = tb.BoundTreeClassifier(max_leaves=3).fit(iris.data, iris.target_names[iris.target])
    >>> module = {}
    >>> exec(python_code(clf.tree_), module)
    >>> module["predict"]({"petal length (cm)": 1.4, "petal width (cm)": 0.3})
    'setosa'
    """
    check_options(output, unknown, caller="python_code")
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ValueError(
            f"The 'name' parameter of python_code must be a Python identifier. "
            f"Got {name!r} instead."
        )
    writer = _Writer(tree, identifiers(tree.columns, _RESERVED | {name}))
    given = answers(tree, output=output, smoothing=smoothing)
    body = []
    for step in guards(tree, unknown=unknown):
        indent = "    " * (step.level + 1)
        if isinstance(step, Answer):
            body.append(f"{indent}return {_literal(given[step.node])}")
        else:
            body.append(f"{indent}if {writer.condition(step)}:{_remark(step)}")
    used = columns_tested(tree, unknown=unknown)
    checks = writer.checks(used) if unknown == "error" else []
    # Assignments on one row of text each, then the checks, then the tests.
    head = [f"def {name}(row):", f"    {_doc(tree, output)}", *writer.reads(used), *checks]
    return "\n".join([*writer.preamble(used), "", *head, *body, ""])


def _doc(tree: Tree, output: Output) -> str:
    what = "The probabilities of CLASSES" if output == "proba" else "The class"
    return f'"""{what} of a row, a mapping from column names to values."""'


class _Writer:
    """Writes the conditions of one tree, with one local variable a column."""

    def __init__(self, tree: Tree, names: list[str]) -> None:
        self.tree = tree
        self.names = names

    def preamble(self, used: list[int]) -> list[str]:
        """The constants and the helpers that the function needs."""
        labels = [plain(label) for label in self.tree.classes]
        literal_type(labels, what="The classes")
        lines = [f"CLASSES = {_literal(labels)}"]
        kinds = {self.tree.columns[j].kind for j in used}
        if "nominal" in kinds:
            lines.append("UNSEEN = object()")
        for j in used:
            column = self.tree.columns[j]
            if column.kind == "real":
                continue
            values = [plain(value) for value in column.categories or ()]
            literal_type(values, what=f"The categories of the column {column.name!r}")
            pairs = ", ".join(f"{_literal(value)}: {code}" for code, value in enumerate(values))
            lines.append(f"{self._known(j)} = {{{pairs}}}")
        helpers = {"real": _NUMBER, "nominal": _CATEGORY, "ordinal": _RANK}
        wanted = [helpers[kind] for kind in sorted(kinds)]
        text = "\n".join([_MISSING, *wanted] if wanted else [])
        return [*lines, *(("\n" + text).splitlines() if wanted else []), ""]

    def reads(self, used: list[int]) -> list[str]:
        """One local variable a column."""
        return [f"    {self.names[j]} = {self._read(j)}" for j in used]

    def _read(self, j: int) -> str:
        column = self.tree.columns[j]
        value = f"row[{_literal(column.name)}]"
        if column.kind == "real":
            return f"number({value})"
        return f"{'rank' if column.kind == 'ordinal' else 'category'}({value}, {self._known(j)})"

    def _known(self, j: int) -> str:
        return f"KNOWN_{self.names[j].upper()}"

    def checks(self, used: list[int]) -> list[str]:
        """Raise for a category never seen, as ``unknown="error"`` does, in any column."""
        lines = []
        for j in used:
            column, local = self.tree.columns[j], self.names[j]
            if column.kind == "real":
                continue
            test = f"{local} == -1" if column.kind == "ordinal" else f"{local} is UNSEEN"
            message = _literal(f"The column {column.name!r} has a category never seen.")
            lines += [f"    if {test}:", f"        raise ValueError({message})"]
        return lines

    def condition(self, guard: Guard) -> str:
        """Whether a row takes the side of a guard, as a Python expression."""
        asked, local = guard.asked, self.names[guard.asked.feature]
        if guard.side == "stop":
            return f"{local} == -1" if asked.column.kind == "ordinal" else f"{local} is UNSEEN"
        left = guard.side == "left"
        if asked.column.kind == "nominal":
            return _membership(asked, local, left)
        bound = _literal(asked.threshold) if asked.is_real else str(len(asked.left_codes) - 1)
        unknown_right = not asked.is_real and asked.unknown_left is False
        return _comparison(local, bound, left, asked.missing_left, unknown_right)


def _remark(guard: Guard) -> str:
    """A comment that says which category a rank stands for."""
    ranked = guard.side != "stop" and guard.asked.column.kind == "ordinal"
    if not ranked or not guard.asked.left_codes:
        return ""
    return f"  # up to {_literal(guard.asked.left_categories[-1])}"


def _comparison(local: str, bound: str, left: bool, missing_left: bool, unknown_right: bool) -> str:
    """``local <= bound``, or its opposite, with NaN and -1 on their side.

    Every comparison with NaN is false; so who is to keep NaN writes the opposite of the opposite.
    """
    if unknown_right:
        if missing_left:
            inside = f"not ({local} > {bound} or {local} == -1)"
            return inside if left else f"{local} > {bound} or {local} == -1"
        return f"0 <= {local} <= {bound}" if left else f"not 0 <= {local} <= {bound}"
    if missing_left:
        return f"not {local} > {bound}" if left else f"{local} > {bound}"
    return f"{local} <= {bound}" if left else f"not {local} <= {bound}"


def _membership(asked: Question, local: str, left: bool) -> str:
    accepted = [_literal(value) for value in asked.left_categories]
    accepted += ["None"] * asked.missing_left + ["UNSEEN"] * (asked.unknown_left is True)
    if len(accepted) > 1:
        return f"{local} {'in' if left else 'not in'} ({', '.join(accepted)})"
    if not accepted:  # a test on "missing" in a column where none goes left
        return "False" if left else "True"
    if accepted[0] in ("None", "UNSEEN"):
        return f"{local} {'is' if left else 'is not'} {accepted[0]}"
    return f"{local} {'==' if left else '!='} {accepted[0]}"


def _literal(value: Any) -> str:
    """The value as Python writes it, in ASCII, infinities included."""
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return ascii(value) if not isinstance(value, str) else _quoted(value)


def _quoted(value: str) -> str:
    """Text in double quotes; readable letters stay as they are, the rest is escaped."""
    inner = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in value.replace("\\", "\\\\"))
    return '"' + inner.replace('"', '\\"') + '"'
