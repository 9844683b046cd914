"""A tree as a plain Python function."""

from __future__ import annotations

import builtins
import keyword
import math
from typing import Any

from treebound._validation import invalid
from treebound.data.columns import Unknown
from treebound.exchange.code import (
    Answer,
    Branch,
    Output,
    answers,
    branches,
    check_options,
    columns_used,
    identifiers,
    literal_type,
)
from treebound.model_methods import takes_model
from treebound.tree import Tree
from treebound.tree.smoothing import Smoothing
from treebound.tree.split import Split, plain

# Our names begin with an underscore, those of columns never do; these are the exceptions.
_RESERVED = frozenset({"row", "float", *keyword.kwlist})
_TAKEN = frozenset({"CLASSES", *keyword.kwlist, *dir(builtins)})

_MISSING = '''
def _missing(value):
    """Whether a value is None, NaN or pandas.NA."""
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
_RANK = '''
def _rank(value, known):
    """The rank of a category; NaN when it is missing, -1 when it is unknown."""
    return float("nan") if _missing(value) else known.get(value, -1)
'''


@takes_model
def to_python(
    tree: Tree,
    *,
    name: str = "predict",
    output: Output = "label",
    unknown: Unknown = "other",
    smoothing: Smoothing | None = "shrinkage",
) -> str:
    """The tree as the source of a Python module with one function, with the same predictions.

    The function takes one row, a mapping from column names to values (categories, not codes;
    None, NaN or pandas.NA if missing). It imports nothing. Like ``predict`` it raises ValueError
    for an infinite number.

    Parameters
    ----------
    tree : Tree or BoundTreeClassifier
        For a fitted classifier, its tree, ``unknown`` and ``smoothing`` are used.
    name : str
        Name of the function; it must not begin with an underscore.
    output : {"label", "proba"}
        Whether it returns the class, or a list of probabilities in the order of ``CLASSES``.
    unknown : {"other", "majority", "stop", "missing", "error"}
        How to handle unknown categories; with ``"error"`` the function raises ValueError.
    smoothing : {"shrinkage", "m-estimate", "laplace", None}
        How counts become probabilities.

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
    check_options(output, unknown, caller="to_python")
    if not name.isidentifier() or name[0] == "_" or name in _TAKEN:
        must = "a Python identifier that is no keyword, no built-in name and not 'CLASSES', and "
        must += "does not begin with an underscore"
        raise invalid("name", "to_python", must, name)
    writer = _Writer(tree, identifiers(tree.columns, _RESERVED | {name}))
    values = answers(tree, output=output, smoothing=smoothing)
    body = []
    for step in branches(tree, unknown=unknown):
        indent = "    " * (step.level + 1)
        if isinstance(step, Answer):
            body.append(f"{indent}return {_literal(values[step.node])}")
        else:
            body.append(f"{indent}if {writer.condition(step)}:{_remark(step)}")
    used = columns_used(tree)
    checks = writer.checks(used) if unknown == "error" else []
    head = [f"def {name}(row):", f"    {_doc(output)}", *writer.reads(used), *checks]
    return "\n".join([*writer.preamble(used), "", *head, *body, ""])


def _doc(output: Output) -> str:
    what = "The probabilities of CLASSES" if output == "proba" else "The class"
    return f'"""{what} of a row, a mapping from column names to values."""'


class _Writer:
    """Writes the conditions of one tree, with one local variable for each column."""

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
            lines.append("_UNKNOWN = object()")
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
        """One local variable for each column."""
        return [f"    {self.names[j]} = {self._read(j)}" for j in used]

    def _read(self, j: int) -> str:
        column = self.tree.columns[j]
        value = f"row[{_literal(column.name)}]"
        if column.kind == "real":
            return f"_number({value})"
        return f"{'_rank' if column.kind == 'ordinal' else '_category'}({value}, {self._known(j)})"

    def _known(self, j: int) -> str:
        return f"_KNOWN_{self.names[j].upper()}"

    def checks(self, used: list[int]) -> list[str]:
        """Raise for an unknown category in any column, as ``unknown="error"`` does."""
        lines = []
        for j in used:
            column, local = self.tree.columns[j], self.names[j]
            if column.kind != "real":
                message = _literal(f"The column {column.name!r} has an unknown category.")
                unknown = _is_unknown(column.kind, local)
                lines += [f"    if {unknown}:", f"        raise ValueError({message})"]
        return lines

    def condition(self, branch: Branch) -> str:
        """Whether a row takes the side of a branch, as a Python expression."""
        split, local = branch.split, self.names[branch.split.feature]
        if branch.side == "stop":
            return _is_unknown(split.column.kind, local)
        left = branch.side == "left"
        if split.column.kind == "nominal":
            return _membership(split, local, left)
        if split.kind == "missing" and not split.unknown_left:
            return f"{local} != {local}" if left == split.missing_left else f"{local} == {local}"
        return _comparison(split, local, left)


def _is_unknown(kind: str, local: str) -> str:
    return f"{local} == -1" if kind == "ordinal" else f"{local} is _UNKNOWN"


def _remark(branch: Branch) -> str:
    """A comment that names the category of a rank."""
    split = branch.split
    if branch.side == "stop" or split.column.kind != "ordinal" or not split.codes:
        return ""
    return f"  # up to {_literal(split.last_value)}"


def _comparison(split: Split, local: str, left: bool) -> str:
    """``local <= bound``, or its opposite, with NaN and -1 on the correct side.

    Every comparison with NaN is false: the side that keeps NaN negates the opposite.
    """
    bound = _literal(split.threshold) if split.is_real else str(len(split.codes) - 1)
    if not split.is_real and split.unknown_left is False:
        right = f"{local} > {bound} or {local} == -1"
        if split.missing_left:
            return f"not ({right})" if left else right
        return f"0 <= {local} <= {bound}" if left else f"not 0 <= {local} <= {bound}"
    if split.missing_left:
        return f"not {local} > {bound}" if left else f"{local} > {bound}"
    return f"{local} <= {bound}" if left else f"not {local} <= {bound}"


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
