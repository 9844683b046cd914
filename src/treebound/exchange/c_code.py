"""A tree as a C99 function of a struct."""

from __future__ import annotations

import math
import re
from typing import Any

from treebound._utils.validation import invalid
from treebound.exchange import code
from treebound.model import Model, RegressionModel
from treebound.model.methods import as_any_model
from treebound.tree.split import Split, plain

_KEYWORDS = """
    alignas alignof asm auto bool break case char const constexpr continue default do double else
    enum extern false float for goto if inline int long main nullptr register restrict return short
    signed sizeof static static_assert struct switch thread_local true typedef typeof union unsigned
    void volatile while
"""
# Names that math.h, stddef.h and string.h declare; those that begin with a prefix are reserved.
_PREFIXES = ("_", "x_", "mem", "str", "stp", "is", "M_", "FP_", "MATH_", "HUGE_", "LONG_LONG_")
_DECLARED = """
    x NAN INFINITY NULL bcmp bcopy bzero explicit_bzero ffs ffsl ffsll index rindex swab linux unix
    locale_t max_align_t offsetof ptrdiff_t signgam size_t wchar_t double_t float_t fpclassify
    math_errhandling signbit
"""
_MATH = """
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh drem erf erfc exp exp2 expm1
    fabs fdim finite floor fma fmax fmin fmod frexp gamma hypot ilogb j0 j1 jn ldexp lgamma lgamma_r
    llrint llround log log10 log1p log2 logb lrint lround modf nan nearbyint nextafter nexttoward
    pow remainder remquo rint round scalb scalbln scalbn significand sin sinh sqrt tan tanh tgamma
    trunc y0 y1 yn
"""
_RESERVED = frozenset(
    [*_KEYWORDS.split(), *_DECLARED.split()]
    + [name + suffix for name in _MATH.split() for suffix in ("", "f", "l", "f_r", "l_r")]
)

_SIGNS = code.Signs(missing="isnan({})", present="!isnan({})", negated="!({})")

_NOTE = """\
/* A decision tree. The columns, in the order of the struct, are named next to its fields.
 *
 * Missing values: NAN in a double, NULL in a pointer.
 * Columns of text categories are const char *, UTF-8, compared byte by byte.
 * Columns of whole-number or boolean categories are pointers to long long.
 * The function returns {invalid} for invalid values: an infinite number{refused}.
{edits} */
#include <math.h>
#include <stddef.h>
#include <string.h>

{classes}#define {upper}_UNKNOWN (-1)
#define {upper}_ABSENT (-2)
"""

_FIND = """
static int {name}_find_{kind}({type}value, {known}*known, int count)
{{
    int i;
    if ({absent})
        return {upper}_ABSENT;
    for (i = 0; i < count; i++)
        if ({equal})
            return i;
    return {upper}_UNKNOWN;
}}
"""
_PROBABILITIES = """
static const double {name}_probabilities[][{size}] = {{
{rows}
}};

static int {name}_give(double *out, int place, int label)
{{
    memcpy(out, {name}_probabilities[place], {size} * sizeof(double));
    return label;
}}
"""
_WHOLE = {
    "kind": "whole", "type": "const long long *", "known": "const long long ",
    "absent": "value == NULL", "equal": "*value == known[i]",
}  # fmt: skip
_FINDERS: dict[type, dict[str, str]] = {
    str: {
        "kind": "text", "type": "const char *", "known": "const char *const ",
        "absent": "value == NULL", "equal": "strcmp(value, known[i]) == 0",
    },
    int: _WHOLE,
    bool: _WHOLE,
    float: {
        "kind": "real", "type": "double ", "known": "const double ",
        "absent": "isnan(value)", "equal": "value == known[i]",
    },
}  # fmt: skip


def to_c(source: Any, *, name: str = "predict", output: code.Output = "label") -> str:
    """The tree as C source, ``int predict(const struct predict_row *row)``, with the same results.

    Thresholds are hexadecimal floats, so they are exact. The struct has one field for each column
    that the tree splits on, ``x_`` and its name: ``double`` for a real one (``NAN`` if missing),
    ``const char *`` in UTF-8 for text categories, ``const long long *`` for integer and boolean
    ones (both ``NULL`` if missing), ``double`` for float categories. The function returns -1
    where ``predict`` raises: for an infinite number and, with ``handle_unknown="error"``, for an
    unknown category.

    Parameters
    ----------
    source
        See :func:`treebound.exchange.to_python`.
    name : str
        Name of the function, and prefix of all other names; it must not begin with ``x_``. Any
        other name is a ValueError.
    output : {"label", "proba"}
        With ``"label"`` the function returns the index of the class in ``predict_classes``.
        With ``"proba"`` it is ``int predict(row, double *out)`` and also writes the probability
        of each class to ``out``.

    Examples
    --------
    >>> import treebound as tb
    >>> clf = tb.BoundTreeClassifier(pruning=None).fit([[0], [1]] * 3, ["no", "yes"] * 3)
    >>> print(to_c(clf).splitlines()[-5])
        if (x_x0 > 0x1.0000000000000p-1) { /* 0.5 */
    """
    identifier = re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII)
    if identifier is None or name in _RESERVED or name.startswith(_PREFIXES):
        must = "a C identifier that is no keyword, no name of the C library and not 'x', and that "
        raise invalid("name", "to_c", must + "does not begin with '_' or 'x_'", name)
    model = code.with_listed_categories(as_any_model(source, "to_c"))
    values = code.predictions(model, output, "to_c")
    writer = _Writer(model, name)
    steps = list(code.branches(model.tree, model.reading.handle_unknown))
    lines, opened = writer.preamble(), 0
    if output == "proba":
        lines += writer.probabilities(steps, values)
    lines += writer.head()
    for step in steps:
        while opened > step.level:
            lines.append("    " * opened + "}")
            opened -= 1
        indent = "    " * (step.level + 1)
        if isinstance(step, code.Branch):
            lines.append(f"{indent}if ({writer.condition(step)}) {{{_remark(step)}")
            opened += 1
        else:
            lines.append(f"{indent}{writer.returned(step)}")
    return "\n".join([*lines, "}", ""])


class _Writer:
    """Writes the parts of the C source of one tree, with one local variable for each column."""

    # Our names begin with the name of the function, those of columns with x_, so that they cannot
    # collide with keywords, macros or each other.

    def __init__(self, model: Model | RegressionModel, name: str) -> None:
        tree = model.tree
        self.columns = tree.columns
        self.edits = code.edits_of(model)
        self.classes = None if isinstance(model, RegressionModel) else model.classes
        self.returns: list[str] = (
            [_real(value) for value in model.tree.value.tolist()]
            if isinstance(model, RegressionModel)
            else list(map(str, model.tree.label.tolist()))
        )
        self.invalid = "NAN" if self.classes is None else "-1"
        self.name, self.upper = name, name.upper()
        self.refuses = model.reading.handle_unknown == "error"
        self.names = [f"x_{text}" for text in code.identifiers(tree.columns, frozenset())]
        self.used = code.columns_used(tree)
        of_categories = [(j, tree.columns[j]) for j in self.used if tree.columns[j].kind != "real"]
        self.finders = {j: _FINDERS[code.category_type(column)] for j, column in of_categories}
        self.places: dict[int, int] = {}

    def preamble(self) -> list[str]:
        """The struct of a row, the categories, and the functions that look them up."""
        refused = ", an unknown category" if self.refuses else ""
        classes = "" if self.classes is None else len(self.classes)
        text = _NOTE.format(
            upper=self.upper,
            classes=classes and f"#define {self.upper}_CLASSES {classes}\n",
            invalid=self.invalid,
            refused=refused,
            edits="".join(f" * {_comment(line)}\n" for line in self.edits),
        )
        if self.classes is not None:
            labels = ", ".join(_text(str(plain(label))) for label in self.classes)
            size = f"{self.upper}_CLASSES"
            text += f"\nconst char *const {self.name}_classes[{size}] = {{{labels}}};\n"
        fields = ""
        for j in self.used:
            column, finder = self.columns[j], self.finders.get(j)
            kind = "double " if finder is None else finder["type"]
            fields += f"    {kind}{self.names[j]}; /* {_comment(column.name)}, {column.kind} */\n"
        fields = fields or "    char x_; /* there is no split */\n"
        text += f"\nstruct {self.name}_row {{\n{fields}}};\n"
        for j, finder in self.finders.items():
            values = [_constant(plain(value)) for value in self.columns[j].categories or ()]
            listed = ", ".join(values) or "0"
            text += f"static {finder['known']}{self.name}_{self.names[j]}[] = {{{listed}}};\n"
        for finder in {each["kind"]: each for each in self.finders.values()}.values():
            text += _FIND.format(name=self.name, upper=self.upper, **finder)
        return text.splitlines()

    def probabilities(self, steps: list[Any], shares: list[list[float]]) -> list[str]:
        """Return the table of the probabilities of every node where rows can end."""
        nodes = dict.fromkeys(step.node for step in steps if isinstance(step, code.Return))
        self.places = {node: place for place, node in enumerate(nodes)}
        rows = "\n".join(f"    {{{', '.join(map(_real, shares[node]))}}}," for node in nodes)
        return _PROBABILITIES.format(
            name=self.name, size=f"{self.upper}_CLASSES", rows=rows
        ).splitlines()

    def head(self) -> list[str]:
        """The beginning of the function: local variables, and checks for invalid values."""
        out = ", double *out" if self.places else ""
        kind = "double" if self.classes is None else "int"
        lines = ["", f"{kind} {self.name}(const struct {self.name}_row *row{out})", "{"]
        refused = []
        for j in self.used:
            local = self.names[j]
            if j not in self.finders:
                lines.append(f"    const double {local} = row->{local};")
                refused.append(f"isinf({local})")
                continue
            find = f"{self.name}_find_{self.finders[j]['kind']}"
            count = len(self.columns[j].categories or ())
            lines.append(
                f"    const int {local} = {find}(row->{local}, {self.name}_{local}, {count});"
            )
            if self.refuses:
                refused.append(f"{local} == {self.upper}_UNKNOWN")
        for condition in refused:
            lines += [f"    if ({condition})", f"        return {self.invalid};"]
        return lines if self.used else [*lines, "    (void)row;"]

    def condition(self, branch: code.Branch) -> str:
        """Return a C expression that is true if a row takes the side of a branch."""
        split, local = branch.split, self.names[branch.split.feature]
        if branch.side == "stop":
            return f"{local} == {self.upper}_UNKNOWN"
        if split.is_real:
            return code.compared(branch, local, _real(split.threshold), _SIGNS)
        text = self._codes(split, local)
        return text if branch.side == "left" else f"!({text})"

    def _codes(self, split: Split, local: str) -> str:
        """Return the condition for codes that go left; ABSENT < UNKNOWN < every code."""
        absent, unknown = f"{self.upper}_ABSENT", f"{self.upper}_UNKNOWN"
        if split.column.kind == "nominal" or not split.codes:
            codes = [str(number) for number in split.codes]
            codes += [absent] * split.missing_left + [unknown] * (split.unknown_left is True)
            return " || ".join(f"{local} == {taken}" for taken in codes) or "0"
        text = f"{local} <= {split.codes[-1]}"
        if split.missing_left:
            return text if split.unknown_left else f"{local} != {unknown} && {text}"
        return f"{local} != {absent} && {text}" if split.unknown_left else f"{local} >= 0 && {text}"

    def returned(self, step: code.Return) -> str:
        """The return statement of a node."""
        value = self.returns[step.node]
        if not self.places:
            return f"return {value};"
        return f"return {self.name}_give(out, {self.places[step.node]}, {value});"


def _remark(branch: code.Branch) -> str:
    """A comment that explains a number."""
    split = branch.split
    if branch.side == "stop" or split.kind == "missing":
        return ""
    if split.is_real:
        return f" /* {split.threshold!r} */"
    return f" /* {_comment(split.last_value)} */" if split.codes else ""


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
    """An exact double."""
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return "NAN" if math.isnan(value) else value.hex()


def _text(value: str) -> str:
    """A C string of the UTF-8 bytes; special characters are three-digit octal escapes."""
    data = value.encode("utf-8")
    if 0 in data:
        raise ValueError(f"A C string cannot hold the character NUL. Got {value!r} instead.")
    special = frozenset(b'"\\?')
    plain_bytes = (chr(b) if 32 <= b < 127 and b not in special else f"\\{b:03o}" for b in data)
    return '"' + "".join(plain_bytes) + '"'


def _comment(value: Any) -> str:
    """Text that cannot close a comment or continue its line."""
    text = ascii(value) if isinstance(value, str) else str(value)
    return text.replace("*", "\\x2a").replace("?", "\\x3f")
