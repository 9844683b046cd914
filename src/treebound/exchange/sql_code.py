"""A tree as an SQL ``CASE`` expression, the same text for SQLite, DuckDB and PostgreSQL."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from treebound.data import Column
from treebound.exchange.code import (
    Answer,
    Branch,
    Output,
    answers,
    branches,
    check_options,
    columns_used,
    literal_type,
)
from treebound.model import takes_model
from treebound.tree import Tree
from treebound.tree.smoothing import Smoothing
from treebound.tree.split import Split, Unknown, plain

__all__ = ["to_sql"]

_REMARK = "/* -x < -t is x > t, but false of NaN in every database */"


@takes_model
def to_sql(
    tree: Tree,
    *,
    table: str | None = None,
    name: str = "prediction",
    output: Output = "label",
    unknown: Unknown = "other",
    smoothing: Smoothing | None = "m-estimate",
) -> str:
    """The tree as an SQL ``CASE`` expression with the same predictions.

    Columns have the names and values of the training table; ``NULL``, and ``NaN`` if the database
    has it, are missing. The same text runs in SQLite, DuckDB and PostgreSQL. There is one ``WHEN``
    for each leaf, the smaller child first, so the length of a condition grows with the logarithm
    of the number of leaves, and nesting does not grow with the depth of the tree.

    Parameters
    ----------
    tree : Tree or BoundTreeClassifier
        For a fitted classifier, its tree, ``unknown`` and ``smoothing`` are used.
    table : str, optional
        If given, write a whole query, ``SELECT *, CASE ... AS prediction FROM table``.
    name : str
        Name of the result; probabilities are named after it and the class.
    output : {"label", "proba"}
        Write the class, or the probability of each class, separated by commas.
    unknown : {"other", "majority", "stop", "missing", "error"}
        How to handle unknown categories; with ``"error"`` the result is
        ``NULL``, as SQL has no portable way to raise errors.
    smoothing : {"laplace", "m-estimate", None}
        How counts become probabilities.

    Returns
    -------
    str

    Notes
    -----
    Real columns are cast to ``DOUBLE PRECISION``, as in ``predict``. Numbers of more than fifteen
    digits are written as a quotient of integers, because some databases parse long decimals
    inexactly.

    Examples
    --------
    >>> import treebound as tb
    >>> from sklearn.datasets import load_iris
    >>> iris = load_iris(as_frame=True)
    >>> clf = tb.BoundTreeClassifier(max_leaves=3).fit(iris.data, iris.target_names[iris.target])
    >>> print(to_sql(clf))
    CASE  /* -x < -t is x > t, but false of NaN in every database */
        WHEN CAST("petal length (cm)" AS DOUBLE PRECISION) <= 2.0e0 THEN 'setosa'
        WHEN -CAST("petal width (cm)" AS DOUBLE PRECISION) < -1.75e0 THEN 'virginica'
        ELSE 'versicolor'
    END
    """
    check_options(output, unknown, caller="to_sql")
    given = answers(tree, output=output, smoothing=smoothing)
    literal_type(tree.classes.tolist(), what="The classes")
    conditions = list(_conditions(tree, unknown))
    if output == "label":
        made = {name: _case(conditions, given)}
    else:
        made = {
            f"{name} {plain(label)}": _case(conditions, [values[k] for values in given])
            for k, label in enumerate(tree.classes.tolist())
        }
    if table is None and output == "label":
        return made[name]
    columns = ",\n".join(f"{text} AS {_identifier(key)}" for key, text in made.items())
    return columns if table is None else f"SELECT *, {columns}\nFROM {_identifier(table)}"


def _case(conditions: Sequence[tuple[str, int | None]], given: Sequence[Any]) -> str:
    """The expression, given the prediction of each node."""
    lines = [f"CASE  {_REMARK}" if any(" < " in text for text, _ in conditions) else "CASE"]
    for condition, node in conditions:
        value = "NULL" if node is None else _literal(plain(given[node]))
        lines.append(f"    WHEN {condition} THEN {value}" if condition else f"    ELSE {value}")
    if len(lines) == 2 and lines[1].startswith("    ELSE"):
        lines.insert(1, "    WHEN 1 = 0 THEN NULL")  # a CASE must have a WHEN
    return "\n".join([*lines, "END"])


def _conditions(tree: Tree, unknown: Unknown) -> Any:
    """The conditions in order, each with its node; the last one is ``""``."""
    if unknown == "error":
        for j in columns_used(tree, unknown=unknown):
            if tree.columns[j].kind != "real":
                yield _unknown(tree.columns[j]), None
    taken: list[str] = []
    for step in branches(tree, unknown=unknown):
        del taken[step.level :]
        if isinstance(step, Answer):
            yield " AND ".join(taken), step.node
        else:
            taken.append(_side(step))


def _side(branch: Branch) -> str:
    """A condition that is true on the side of a branch, and false or NULL otherwise."""
    split = branch.split
    if branch.side == "stop":
        return _unknown(split.column)
    left = branch.side == "left"
    return _bounded(split, left) if split.is_real else _among(split, left)


def _bounded(split: Split, left: bool) -> str:
    """One side of a threshold. ``-x < -t`` is ``x > t``, but false for NaN in every database.

    DuckDB and PostgreSQL order NaN above all numbers, in others every comparison is false: in
    both cases neither ``NaN <= t`` nor ``-NaN < -t`` is true.
    """
    value = f"CAST({_identifier(split.column.name)} AS DOUBLE PRECISION)"
    if split.kind == "missing":
        return _absent(value, may_be_nan=True)[left != split.missing_left]
    if math.isinf(split.threshold):  # every value on one side
        return "1 = 1" if left == split.missing_left else "1 = 0"
    if split.missing_left:
        far = f"-{value} < {_real(-split.threshold)}"
        return f"({value} IS NULL OR NOT {far})" if left else far
    near = f"{value} <= {_real(split.threshold)}"
    return near if left else f"({value} IS NULL OR NOT {near})"


def _among(split: Split, left: bool) -> str:
    """One side of a split on categories, missing and unknown values included."""
    name, may_be_nan = _identifier(split.column.name), _may_be_nan(split.column)
    absent, present = _absent(name, may_be_nan=may_be_nan)
    takes_missing = split.missing_left == left
    if split.unknown_left is not left:
        body = _listed(name, "IN", split.values(left=left))
        if not body:
            return absent if takes_missing else "1 = 0"
    else:
        body = _listed(name, "NOT IN", split.values(left=not left))
        if not body:
            return "1 = 1" if takes_missing else present
        body = f"{body} AND {present}" if may_be_nan and not takes_missing else body
    return f"({absent} OR {body})" if takes_missing else body


def _unknown(column: Column) -> str:
    """Whether a value is present but not a category of the column."""
    name, may_be_nan = _identifier(column.name), _may_be_nan(column)
    _, present = _absent(name, may_be_nan=may_be_nan)
    listed = _listed(name, "NOT IN", column.categories or ())
    return f"{listed} AND {present}" if listed and may_be_nan else listed or present


def _may_be_nan(column: Column) -> bool:
    what = f"The categories of the column {column.name!r}"
    return literal_type(column.categories or (), what=what) is float


def _absent(value: str, *, may_be_nan: bool) -> tuple[str, str]:
    """Whether a value is missing, and whether it is not: two conditions."""
    if not may_be_nan:
        return f"{value} IS NULL", f"{value} IS NOT NULL"
    number = f"({value} <= 0 OR -{value} < 0)"  # true for every number, false for NaN
    return f"({value} IS NULL OR NOT {number})", number


def _listed(name: str, word: str, values: Sequence[Any]) -> str:
    """``name IN (...)``, ``name = ...`` for one value, ``""`` for none."""
    written = [_literal(plain(value)) for value in values]
    if len(written) == 1:
        return f"{name} {'=' if word == 'IN' else '<>'} {written[0]}"
    return f"{name} {word} ({', '.join(written)})" if written else ""


# -- constants -------------------------------------------------------------------------------


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return str(value)
    return _real(value) if isinstance(value, float) else _quoted(value, "'")


def _identifier(name: str) -> str:
    return _quoted(name, '"')


def _quoted(text: str, mark: str) -> str:
    if "\0" in text:
        raise ValueError(f"SQL cannot hold the character NUL. Got {text!r} instead.")
    return mark + text.replace(mark, mark * 2) + mark


def _real(value: float) -> str:
    """An exact double: a short decimal, or a quotient or product of integers."""
    if not math.isfinite(value):
        raise ValueError(f"SQL has no portable way to write {value!r}.")
    digits = repr(value).lstrip("-").split("e")[0].replace(".", "").strip("0")
    # Any parser finds the nearest double for up to 15 digits and such exponents.
    if len(digits) <= 15 and (value == 0 or 1e-7 < abs(value) < 1e15):
        return f"{value!r}e0" if "e" not in repr(value) else repr(value)
    top, bottom = abs(value).as_integer_ratio()
    power = bottom.bit_length() - 1
    while top % 2 == 0 and power == 0 and top > 2**53:
        top //= 2
    doublings = (abs(int(value)) // top).bit_length() - 1 if power == 0 else 0
    steps = "".join(f" / {factor}" for factor in _powers(power))
    steps += "".join(f" * {factor}" for factor in _powers(doublings))
    sign = "-" if value < 0 else ""
    return f"{sign}(CAST({top} AS DOUBLE PRECISION){steps}) /* {value!r} */"


def _powers(exponent: int) -> list[int]:
    """Factors whose product is ``2**exponent``, each an integer of 63 bits."""
    return [2**62] * (exponent // 62) + ([2 ** (exponent % 62)] if exponent % 62 else [])
