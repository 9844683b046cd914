"""A tree as an SQL ``CASE`` expression."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from textwrap import dedent
from typing import Any

import numpy as np

from treebound._utils.choices import Unknown
from treebound._utils.extras import require
from treebound._utils.validation import OneOf, check
from treebound.data import Column
from treebound.exchange import code
from treebound.model import Model, RegressionModel
from treebound.model.methods import as_any_model
from treebound.tree.base import BaseTree
from treebound.tree.split import Split, plain

_NATIVE = frozenset(("sqlite", "duckdb", "postgres"))  # written here, the others by sqlglot
_NO_NAN = frozenset(("sqlite", "mysql", "tsql", "fabric"))
_NO_BOOLEANS = frozenset(("sqlite", "tsql", "fabric", "oracle"))
_NO_SQL = frozenset(("dax", "prql"))  # sqlglot translates them to SQL, and no SQL to them
_EXACT_DECIMALS = frozenset(("duckdb", "postgres"))
_REMARK = "/* x - x = 0 is true for every number, but not for NaN */"


def to_sql(
    source: Any,
    *,
    table: str | None = None,
    name: str = "prediction",
    output: code.Output = "label",
    dialect: str | None = None,
) -> str:
    """The tree as an SQL ``CASE`` expression with the same predictions.

    Columns have the names and values of the training table; ``NULL``, and ``NaN`` if the database
    has it, are missing. There is one ``WHEN`` for each leaf, the smaller child first, so the length
    of a condition grows with the logarithm of the number of leaves, and nesting does not grow with
    the depth of the tree. With ``handle_unknown="error"`` the result for an unknown category is
    ``NULL``, as SQL has no portable way to raise errors.

    Parameters
    ----------
    source
        See :func:`treebound.exchange.to_python`.
    table, name, output
        See :meth:`treebound.BoundTreeClassifier.to_sql`.
    dialect : str, optional
        The database; all but ``"sqlite"``, ``"duckdb"`` and ``"postgres"`` need sqlglot (the extra
        ``sql``). By default, a text that runs in these three.

    Notes
    -----
    ``predict`` rounds numbers to float64; SQL compares decimals of more than fifteen digits as they
    are. Thresholds of more than fifteen digits are written as a quotient of integers where the
    database may read long decimals inexactly.

    Examples
    --------
    >>> import treebound as tb
    >>> from sklearn.datasets import load_iris
    >>> clf = tb.BoundTreeClassifier(max_leaves=3).fit(*load_iris(return_X_y=True, as_frame=True))
    >>> print(to_sql(clf, dialect="sqlite"))
    CASE
        WHEN "petal length (cm)" <= 2.0 THEN 0
        WHEN "petal width (cm)" > 1.75 THEN 2
        ELSE 1
    END
    """
    model = as_any_model(source, "to_sql")
    values = code.predictions(model, output, "to_sql")
    if isinstance(model, Model):
        code.literal_type(model.classes.tolist(), subject="The classes")
    text = _translated(_Writer(dialect).query(model, table, name, values), dialect)
    return _remark(code.edits_of(model)) + text


def _remark(lines: list[str]) -> str:
    """Return a comment; text in it cannot begin or end one."""
    escaped = [line.replace("*/", "* /").replace("/*", "/ *") for line in lines]
    return "/* {} */\n".format("\n   ".join(escaped)) if lines else ""


def case_of(
    tree: BaseTree,
    columns: Mapping[str, Sequence[Any]],
    handle_unknown: Unknown,
    dialect: str | None,
    suffixes: Mapping[str, str],
) -> str:
    """Expressions of the values of nodes, with names; some columns are written with suffixes."""
    writer = _Writer(dialect, suffixes)
    conditions = list(writer.conditions(tree, handle_unknown))
    written = []
    for name, values in columns.items():
        case = writer.case(conditions, values)
        if isinstance(values[0], float):  # a literal may be a decimal
            case = f"CAST({case} AS DOUBLE PRECISION)"
        written.append(f"{case} AS {_identifier(name)}")
    return _translated(", ".join(written), dialect)


def dialects() -> tuple[str, ...]:
    """Return the names of the databases that SQL can be written for."""
    sqlglot = require("sqlglot", extra="sql", why="SQL for other databases")
    return tuple(sorted({*filter(None, sqlglot.Dialect.classes)} - _NO_SQL))


def _translated(text: str, dialect: str | None) -> str:
    """A query, or expressions of one, as a database writes them."""
    if dialect is None or dialect in _NATIVE:
        return text
    sqlglot = require("sqlglot", extra="sql", why=f"SQL for {dialect!r}")
    check("to_sql", {"dialect": dialect}, {"dialect": OneOf(dialects())})
    whole = text.startswith("SELECT")
    query = text if whole else f"SELECT {text}"
    written: str = sqlglot.transpile(query, read="postgres", write=dialect, pretty=True)[0]
    return written if whole else dedent(written.removeprefix("SELECT").lstrip("\n"))


class _Writer:
    """Writes conditions and values for one database."""

    def __init__(self, dialect: str | None, suffixes: Mapping[str, str] | None = None) -> None:
        self.suffixes = suffixes or {}
        self.has_nan = dialect not in _NO_NAN
        self.true, self.false = ("1", "0") if dialect in _NO_BOOLEANS else ("(1=1)", "(1=0)")
        self.exact_decimals = dialect in _EXACT_DECIMALS
        self.plain_bounds = False

    def query(
        self,
        model: Model | RegressionModel,
        table: str | None,
        name: str,
        values: Sequence[Any],
    ) -> str:
        """Return the expression, the list of expressions, or the whole query."""
        conditions = list(self.conditions(model.tree, model.reading.handle_unknown))
        if isinstance(model, RegressionModel) or not isinstance(values[0], list):
            columns = {name: self.case(conditions, values)}
            if table is None:
                return columns[name]
        else:
            columns = {
                f"{name} {plain(label)}": self.case(conditions, [shares[k] for shares in values])
                for k, label in enumerate(model.classes.tolist())
            }
        text = ",\n".join(f"{case} AS {_identifier(key)}" for key, case in columns.items())
        if table is None:
            return text
        source = _identifier(table)  # Oracle has no bare * before other columns
        return f"SELECT {source}.*, {text}\nFROM {source}"

    def case(self, conditions: Sequence[tuple[str, int | None]], values: Sequence[Any]) -> str:
        """The expression with these predictions of the nodes."""
        guarded = any(" = 0" in text or " <> 0" in text for text, _ in conditions)
        lines = [f"CASE  {_REMARK}" if guarded and self.has_nan else "CASE"]
        for condition, node in conditions:
            value = "NULL" if node is None else self.literal(values[node])
            lines.append(f"    WHEN {condition} THEN {value}" if condition else f"    ELSE {value}")
        if len(lines) == 2 and lines[1].startswith("    ELSE"):
            lines.insert(1, "    WHEN 1 = 0 THEN NULL")  # a CASE must have a WHEN
        return "\n".join([*lines, "END"])

    def conditions(
        self, tree: BaseTree, handle_unknown: Unknown
    ) -> Iterator[tuple[str, int | None]]:
        """The conditions in order, each with its node; the last one is ``""``."""
        if handle_unknown == "error":
            for j in code.columns_used(tree):
                if tree.columns[j].kind != "real":
                    yield self.is_unknown(tree.columns[j]), None
        thresholds = tree.threshold[np.isfinite(tree.threshold)].tolist()
        self.plain_bounds = all(map(_is_short, thresholds))
        taken: list[str] = []
        for step in code.branches(tree, handle_unknown):
            del taken[step.level :]
            if isinstance(step, code.Return):
                yield " AND ".join(taken), step.node
            else:
                taken.append(self.side(step))

    def side(self, branch: code.Branch) -> str:
        """A condition that is true on the side of a branch, and false or NULL otherwise."""
        split, left = branch.split, branch.side == "left"
        if branch.side == "stop":
            return self.is_unknown(split.column)
        return self.bounded(split, left) if split.is_real else self.among(split, left)

    def bounded(self, split: Split, left: bool) -> str:
        """One side of a threshold. NaN is above all numbers or unordered, but never below one."""
        value = _identifier(split.column.name)
        absent, present = self.absent(value, may_be_nan=True)
        takes_missing = split.missing_left == left
        if split.kind == "missing":
            return _either(*absent) if takes_missing else present
        if math.isinf(split.threshold):  # every value on one side
            return "1 = 1" if takes_missing else "1 = 0"
        # predict rounds whole numbers to float64: up to 2**53 that changes no comparison
        if abs(split.threshold) >= 2**53:
            value = f"CAST({value} AS DOUBLE PRECISION)"
        text = f"{value} {'<=' if left else '>'} {self.bound(split.threshold)}"
        if takes_missing:
            return _either(text, *absent)
        return text if left or not self.has_nan else f"{text} AND {present}"

    def among(self, split: Split, left: bool) -> str:
        """One side of a split on categories, missing and unknown values included."""
        name, may_be_nan = self.named(split.column), code.category_type(split.column) is float
        absent, present = self.absent(name, may_be_nan=may_be_nan)
        takes_missing = split.missing_left == left
        if split.unknown_left is not left:
            body = self.listed(name, "IN", split.values(left=left))
            if not body:
                return _either(*absent) if takes_missing else "1 = 0"
        else:
            body = self.listed(name, "NOT IN", split.values(left=not left))
            if not body:
                return "1 = 1" if takes_missing else present
            if may_be_nan and self.has_nan and not takes_missing:
                body = f"{body} AND {present}"
        return _either(body, *absent) if takes_missing else body

    def is_unknown(self, column: Column) -> str:
        """Return the condition that a value is present and not a category of the column."""
        name, may_be_nan = self.named(column), code.category_type(column) is float
        _, present = self.absent(name, may_be_nan=may_be_nan)
        listed = self.listed(name, "NOT IN", column.categories or ())
        return f"{listed} AND {present}" if listed and may_be_nan else listed or present

    def named(self, column: Column) -> str:
        """Return a column of categories with its suffix, which sets how texts are compared."""
        return _identifier(column.name) + self.suffixes.get(column.name, "")

    def absent(self, value: str, *, may_be_nan: bool) -> tuple[list[str], str]:
        """The conditions of which one is true for a missing value; that of a present one."""
        if may_be_nan and self.has_nan:
            return [f"{value} IS NULL", f"{value} - {value} <> 0"], f"{value} - {value} = 0"
        return [f"{value} IS NULL"], f"{value} IS NOT NULL"

    def listed(self, name: str, word: str, values: Sequence[Any]) -> str:
        """``name IN (...)``, ``name = ...`` for one value, ``""`` for none."""
        written = [self.literal(value) for value in values]
        if len(written) == 1:
            return f"{name} {'=' if word == 'IN' else '<>'} {written[0]}"
        return f"{name} {word} ({', '.join(written)})" if written else ""

    def literal(self, value: Any) -> str:
        """Return a category or prediction as a literal."""
        value = plain(value)
        if isinstance(value, bool):
            return self.true if value else self.false
        if isinstance(value, int):
            return str(value)
        return self.real(value) if isinstance(value, float) else _quoted(value, "'")

    def bound(self, value: float) -> str:
        """Return a threshold; all thresholds of a tree are written in the same way.

        They are plain decimals if FLOAT holds all of them: DuckDB compares a column of that type
        with a decimal in FLOAT, and with a double in DOUBLE.
        """
        return repr(value) if self.plain_bounds else self.real(value)

    def real(self, value: float) -> str:
        """An exact double: a short decimal, or a quotient or product of integers."""
        if not math.isfinite(value):
            raise ValueError(f"SQL has no portable way to write {value!r}.")
        written = repr(value)
        digits = written.lstrip("-").split("e")[0].replace(".", "").strip("0")
        # Any parser finds the nearest double for up to 15 digits and such exponents.
        short = len(digits) <= 15 and (value == 0 or 1e-7 < abs(value) < 1e15)
        if short or self.exact_decimals:
            return written if "e" in written else f"{written}e0"
        return _quotient(value)


def _is_short(value: float) -> bool:
    """Return True for a decimal without an exponent that FLOAT holds."""
    return abs(value) < 2**24 and float(np.float32(value)) == value and "e" not in repr(value)


def _either(*conditions: str) -> str:
    return conditions[0] if len(conditions) == 1 else f"({' OR '.join(conditions)})"


def _identifier(name: str) -> str:
    return _quoted(name, '"')


def _quoted(text: str, mark: str) -> str:
    if "\0" in text:
        raise ValueError(f"SQL cannot hold the character NUL. Got {text!r} instead.")
    return mark + text.replace(mark, mark * 2) + mark


def _quotient(value: float) -> str:
    """A double as a quotient or product of integers of 63 bits."""
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
