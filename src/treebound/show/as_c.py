"""A tree as C: one function on one struct, C99, nothing but the standard library."""

from __future__ import annotations

import math
import re
from typing import Any

from treebound.show.code import (
    Answer,
    Guard,
    Output,
    check_options,
    columns_tested,
    guards,
    identifiers,
    literal_type,
)
from treebound.show.questions import Question, Unknown, plain
from treebound.tree import Tree
from treebound.tree.fitted import takes_classifier
from treebound.tree.smoothing import Smoothing, probabilities

__all__ = ["c_code"]

_KEYWORDS = frozenset(
    (
        "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else",
        "enum", "extern", "float", "for", "goto", "if", "inline", "int", "long", "register",
        "restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch",
        "typedef", "union", "unsigned", "void", "volatile", "while", "isnan", "memcpy", "strcmp",
        "row", "out", "main", "unix", "linux", "bool", "true", "false", "nullptr",
    )
)  # fmt: skip

_NOTE = """\
/* A decision tree. The columns, in the order of the struct, are named beside its fields.
 *
 * Missing values: NAN in a double, NULL in a pointer.
 * Columns of text categories are const char *, UTF-8, compared byte by byte.
 * Columns of whole-number or boolean categories are pointers to long long.
 */
#include <math.h>
#include <stddef.h>
#include <string.h>

#define {upper}_CLASSES {classes}
#define UNSEEN (-1)
#define ABSENT (-2)
"""

_FIND_TEXT = """
static int {name}_find_text(const char *value, const char *const *known, int count)
{{
    int i;
    if (value == NULL)
        return ABSENT;
    for (i = 0; i < count; i++)
        if (strcmp(value, known[i]) == 0)
            return i;
    return UNSEEN;
}}
"""
_FIND_WHOLE = """
static int {name}_find_whole(const long long *value, const long long *known, int count)
{{
    int i;
    if (value == NULL)
        return ABSENT;
    for (i = 0; i < count; i++)
        if (*value == known[i])
            return i;
    return UNSEEN;
}}
"""
_FIND_REAL = """
static int {name}_find_real(double value, const double *known, int count)
{{
    int i;
    if (isnan(value))
        return ABSENT;
    for (i = 0; i < count; i++)
        if (value == known[i])
            return i;
    return UNSEEN;
}}
"""
_FINDERS = {
    str: ("text", "const char *", "const char *const ", _FIND_TEXT),
    int: ("whole", "const long long *", "const long long ", _FIND_WHOLE),
    bool: ("whole", "const long long *", "const long long ", _FIND_WHOLE),
    float: ("real", "double ", "const double ", _FIND_REAL),
}


@takes_classifier
def c_code(
    tree: Tree,
    *,
    name: str = "predict",
    output: Output = "label",
    unknown: Unknown = "majority",
    smoothing: Smoothing | None = "m-estimate",
) -> str:
    """The tree as C text: ``int predict(const struct predict_row *row)``, exact as the tree is.

    Thresholds are hexadecimal floats, so no digit is lost. The struct has one field a column
    that is tested: ``double`` for a real one (``NAN`` when missing), ``const char *`` in UTF-8
    for text categories, ``const long long *`` for whole-number and boolean ones (both ``NULL``
    when missing), ``double`` for float categories.

    Parameters
    ----------
    tree : Tree or BoundTreeClassifier
        A fitted classifier gives its tree, and ``unknown`` and ``smoothing`` as it has them.
    name : str
        Name of the function, and prefix of everything else.
    output : {"label", "proba"}
        With ``"label"`` the function returns the index of the class, whose text is
        ``predict_classes[index]``. With ``"proba"`` it is ``int predict(row, double *out)``,
        writes one probability a class to ``out``, and returns the index too.
    unknown : {"majority", "stop", "missing", "error"}
        What happens to a category never seen; with ``"error"`` the function returns -1.
    smoothing : {"laplace", "m-estimate", None}
        How probabilities are made of counts.

    Examples
    --------
    >>> import treebound as tb
    >>> from sklearn.datasets import load_iris
    >>> iris = load_iris(as_frame=True)
    >>> clf = tb.BoundTreeClassifier(max_leaves=3).fit(iris.data, iris.target_names[iris.target])
    >>> print(c_code(clf.tree_).splitlines()[-5])
        if (petal_width_cm > 0x1.c000000000000p+0) { /* 1.75 */
    """
    check_options(output, unknown, caller="c_code")
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) or name in _KEYWORDS:
        raise ValueError(
            f"The 'name' parameter of c_code must be a C identifier. Got {name!r} instead."
        )
    writer = _Writer(tree, name, identifiers(tree.columns, _KEYWORDS | {name}))
    used = columns_tested(tree, unknown=unknown)
    lines = [*writer.preamble(used), *writer.answers(output, unknown, smoothing)]
    lines += [*writer.head(used, output), *(writer.checks(used) if unknown == "error" else ())]
    opened = 0
    for step in guards(tree, unknown=unknown):
        while opened > step.level:
            lines.append("    " * opened + "}")
            opened -= 1
        indent = "    " * (step.level + 1)
        if isinstance(step, Guard):
            lines.append(f"{indent}if ({writer.condition(step)}) {{{writer.remark(step)}")
            opened += 1
        else:
            lines.append(f"{indent}{writer.answer(step)}")
    return "\n".join([*lines, "}", ""])


class _Writer:
    """Writes the parts of the C text of one tree, with one local variable a column."""

    def __init__(self, tree: Tree, name: str, names: list[str]) -> None:
        self.tree = tree
        self.name = name
        self.names = names
        self.tables: dict[int, int] = {}

    def preamble(self, used: list[int]) -> list[str]:
        """The struct of a row, the categories, and the functions that look them up."""
        upper, count = self.name.upper(), self.tree.n_classes
        text = _NOTE.format(upper=upper, classes=count)
        labels = ", ".join(_text(str(plain(label))) for label in self.tree.classes)
        text += f"\nconst char *const {self.name}_classes[{upper}_CLASSES] = {{{labels}}};\n"
        text += f"\nstruct {self.name}_row {{\n{self._fields(used)}}};\n"
        finders: dict[str, str] = {}
        for j in used:
            if self.tree.columns[j].kind != "real":
                text += self._known(j)
                finder = _FINDERS[self._type(j)]
                finders[finder[0]] = finder[3].format(name=self.name)
        return (text + "".join(finders.values())).splitlines()

    def _type(self, j: int) -> type:
        column = self.tree.columns[j]
        what = f"The categories of the column {column.name!r}"
        return literal_type(column.categories or (), what=what)

    def _fields(self, used: list[int]) -> str:
        lines = []
        for j in used:
            column = self.tree.columns[j]
            kind = "double " if column.kind == "real" else _FINDERS[self._type(j)][1]
            lines.append(
                f"    {kind}{self.names[j]}; /* {_comment(column.name)}, {column.kind} */\n"
            )
        return "".join(lines) or "    char unused; /* no column is tested */\n"

    def _known(self, j: int) -> str:
        values = [_constant(plain(value)) for value in self.tree.columns[j].categories or ()]
        kind = _FINDERS[self._type(j)][2]
        listed = ", ".join(values) or "0"
        return f"static {kind}{self.name}_{self.names[j]}[] = {{{listed}}};\n"

    def answers(self, output: Output, unknown: Unknown, smoothing: Smoothing | None) -> list[str]:
        """The probabilities of every node that answers, if they are asked for."""
        if output == "label":
            return []
        steps = guards(self.tree, unknown=unknown)
        nodes = dict.fromkeys(step.node for step in steps if isinstance(step, Answer))
        self.tables = {node: place for place, node in enumerate(nodes)}
        table = probabilities(self.tree.counts, smoothing).tolist()
        rows = [f"    {{{', '.join(map(_real, table[node]))}}}," for node in nodes]
        size = f"{self.name.upper()}_CLASSES"
        return [
            "",
            f"static const double {self.name}_probabilities[][{size}] = {{",
            *rows,
            "};",
            "",
            f"static int {self.name}_give(double *out, int place, int label)",
            "{",
            f"    memcpy(out, {self.name}_probabilities[place], {size} * sizeof(double));",
            "    return label;",
            "}",
        ]

    def head(self, used: list[int], output: Output) -> list[str]:
        """The beginning of the function: one local variable a column."""
        out = ", double *out" if output == "proba" else ""
        lines = ["", f"int {self.name}(const struct {self.name}_row *row{out})", "{"]
        for j in used:
            column, local = self.tree.columns[j], self.names[j]
            if column.kind == "real":
                lines.append(f"    const double {local} = row->{local};")
                continue
            finder, count = _FINDERS[self._type(j)][0], len(column.categories or ())
            call = f"{self.name}_find_{finder}(row->{local}, {self.name}_{local}, {count})"
            lines.append(f"    const int {local} = {call};")
        return lines if used else [*lines, "    (void)row;"]

    def checks(self, used: list[int]) -> list[str]:
        """Refuse a category never seen, as ``unknown="error"`` does, in any column."""
        names = [self.names[j] for j in used if self.tree.columns[j].kind != "real"]
        return [line for n in names for line in (f"    if ({n} == UNSEEN)", "        return -1;")]

    def condition(self, guard: Guard) -> str:
        """Whether a row takes the side of a guard, as a C expression."""
        asked, local = guard.asked, self.names[guard.asked.feature]
        if guard.side == "stop":
            return f"{local} == UNSEEN"
        left = guard.side == "left"
        if asked.is_real:
            # Every comparison with NAN is false: who is to keep it writes "not the opposite".
            bound = _real(asked.threshold)
            keeps_missing = asked.missing_left == left
            sign, opposite = ("<=", ">") if left else (">", "<=")
            return f"!({local} {opposite} {bound})" if keeps_missing else f"{local} {sign} {bound}"
        text = _codes(asked, local)
        return text if left else f"!({text})"

    def remark(self, guard: Guard) -> str:
        """A comment that says in words what a number stands for."""
        asked = guard.asked
        if guard.side == "stop":
            return ""
        if asked.is_real:
            return f" /* {asked.threshold!r} */"
        return f" /* {_comment(asked.left_categories[-1])} */" if asked.left_codes else ""

    def answer(self, step: Answer) -> str:
        """The statement that answers for a node."""
        label = int(self.tree.label[step.node])
        if not self.tables:
            return f"return {label};"
        return f"return {self.name}_give(out, {self.tables[step.node]}, {label});"


def _codes(asked: Question, local: str) -> str:
    """Whether a category code goes left; ABSENT < UNSEEN < every code."""
    if asked.column.kind == "nominal":
        taken = [str(code) for code in asked.left_codes]
        taken += ["ABSENT"] * asked.missing_left + ["UNSEEN"] * (asked.unknown_left is True)
        return " || ".join(f"{local} == {code}" for code in taken) or "0"
    text = f"{local} <= {len(asked.left_codes) - 1}"
    if not asked.missing_left and not asked.unknown_left:
        return f"{local} >= 0 && {text}"
    if not asked.missing_left:
        return f"{local} != ABSENT && {text}"
    return text if asked.unknown_left else f"{local} != UNSEEN && {text}"


# -- constants -------------------------------------------------------------------------------


def _constant(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, float):
        return _real(value)
    if not -(2**63) <= value < 2**63:
        raise ValueError(f"A whole-number category must fit in 64 bits. Got {value} instead.")
    return "(-9223372036854775807LL - 1)" if value == -(2**63) else f"{int(value)}LL"


def _real(value: float) -> str:
    """A double, to the last bit."""
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return "NAN" if math.isnan(value) else value.hex()


def _text(value: str) -> str:
    """A C string of the UTF-8 bytes; what is not a plain character is a three-digit octal."""
    data = value.encode("utf-8")
    if 0 in data:
        raise ValueError(f"A C string cannot hold the character NUL. Got {value!r} instead.")
    special = frozenset(b'"\\?')
    plain_bytes = (chr(b) if 32 <= b < 127 and b not in special else f"\\{b:03o}" for b in data)
    return '"' + "".join(plain_bytes) + '"'


def _comment(value: Any) -> str:
    """Text that can neither end a comment nor continue its line."""
    text = ascii(value) if isinstance(value, str) else str(value)
    return text.replace("*", "\\x2a").replace("?", "\\x3f")
