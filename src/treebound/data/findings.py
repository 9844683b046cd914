"""Suspicious columns, targets and rows of a table, with remedies.

Each search first looks at a sample of rows or categories, and at all of them only if that looks
suspicious.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils.arrays import Floats
from treebound._utils.validation import Part, Phrase, Setting, WordedText
from treebound.data.columns import Column
from treebound.data.number_sample import number_hashes
from treebound.data.row_hashes import RowSketch, row_hashes
from treebound.data.sample import Sample
from treebound.data.schema import has_decimal_comma

_FEW_ROWS = 20  # with fewer, nothing is suspicious
_PROBE = 64  # rows checked first
_CATEGORIES = 100  # categories checked
_MANY_VALUES = 100
_LOOKED_THROUGH = 5_000  # rows checked for many values where rows are repeated
_FIRST_ROWS = 1_000  # rows checked for few values
_MANY_ROWS = 1_000  # in fewer, whole numbers may all differ by chance
_SHOWN = 5
_REPEATED = 0.1
_MANY_COMBINATIONS = 40  # as a power of two
_MANY_CLASSES = 100
_FEW_OF_A_CLASS = 5
_LARGEST_CODE = 1e9
_FEW_CODES = 10
_TO_NOMINAL = "if they are codes of names, name it in 'categorical_features'"
_FEW_UNITS = 3
_WORDS_OF_TEXT = 4  # of free text, in most rows
_MINORITY = 0.1
_LEAK_ROWS = 20_000  # rows checked for columns that determine the class
_LEAK_ERRORS = 0.005  # error rate allowed for such a column
_LEAK_CHANGES = 4  # changes of the class along the rows checked first, more than the classes need

_DATE = re.compile(r"\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})([ T].*)?")
_PLAIN = re.compile(r"\s*[-+]?\d*\.?\d+(e[-+]?\d+)?\s*", re.IGNORECASE)
# Grouped digits, a decimal comma, a currency or a unit: a number that programs do not parse.
_WRITTEN = re.compile(
    r"\s*[-+(]?[$€£¥]?\s?(\d{1,3}([,'. ]\d{3})+([.,]\d+)?|\d+,\d+|\d+(\.\d+)?\s?[%€$£]|"
    r"(?<=[$€£¥])\d+(\.\d+)?)\)?\s*"
)
_WITH_UNIT = re.compile(r"\s*[-+]?\d*\.?\d+\s?(?P<unit>[A-Za-zµ°]{1,5}(/[A-Za-z0-9]{1,4})?)\s*")
_YES_AND_NO = {
    **dict.fromkeys(("y", "yes", "true", "t"), "yes"),
    **dict.fromkeys(("n", "no", "false", "f"), "no"),
}
_LEADING_ZERO = re.compile(r"\s*0\d+\s*")
_ABSENT = re.compile(
    r"\s*(|[?.-]|--|#?n[./]?a\.?|nan|null|nil|missing|not available)\s*", re.IGNORECASE
)
_NUMBERED_NAME = re.compile(r"\s*[A-Za-z]{1,12}[-_ ./]?\d{2,}\s*")
_NAME_OF_ID = re.compile(r"(^|[^a-z])(id|uuid|guid|key|index|row)$", re.IGNORECASE)


@dataclass(frozen=True)
class Finding:
    """Something suspicious about a column, or about the rows.

    Attributes
    ----------
    column : str or None
        The column; None for the rows.
    problem : str
        The problem, as the rest of a sentence about the column.
    remedy : str
        A way to solve it, as an imperative.
    note : bool
        True if it is as often right as wrong: ``check`` names it, ``fit`` does not warn.
    """

    column: str | None
    problem: str
    remedy: str
    note: bool = False

    @property
    def subject(self) -> str:
        """The column or the table, in words."""
        return "The table" if self.column is None else f"Column {self.column!r}"

    def __str__(self) -> str:
        return f"{self.subject} {self.problem}. Hint: {self.remedy}."

    def in_lines(self, remedy: str) -> str:
        """Return the problem, and the remedy on a second line."""
        return f"{self.subject} {self.problem}.\n    {remedy[:1].upper()}{remedy[1:]}."


def warn_of_findings(
    sample: Sample,
    sketch: RowSketch | None = None,
    numbers: Floats | None = None,
    *,
    stacklevel: int = 2,
) -> None:
    """Warn of what is suspicious about a training sample, the first few by name.

    ``numbers`` is the target of each row if that is a number: rows with different ones differ.
    """
    warn_of_identifiers(sample.columns, sample.n_rows, stacklevel=stacklevel + 1)
    listed = (
        *leaks(sample, "y", _likely_leaks(sample)),
        *_of_values(sample),
        *_repeated_rows(sample, sketch, numbers),
    )
    serious = [finding for finding in listed if not finding.note]
    for finding in serious[:_SHOWN]:
        warnings.warn(str(finding), UserWarning, stacklevel=stacklevel)
    if len(serious) > _SHOWN:
        more = ", ".join(
            repr(finding.column) for finding in serious[_SHOWN:][:20] if finding.column
        )
        words = f"Other columns are suspicious too: {more}. Hint: see treebound.check."
        warnings.warn(words, UserWarning, stacklevel=stacklevel)


def warn_of_identifiers(columns: Sequence[Column], n_rows: int, *, stacklevel: int = 2) -> None:
    """Warn of the columns that no tree is grown on because they identify rows."""
    for finding in identifier_findings(columns, n_rows):
        warnings.warn(str(finding), UserWarning, stacklevel=stacklevel)


def identifier_findings(columns: Sequence[Column], n_rows: int) -> list[Finding]:
    """The columns that identify rows, the first few one by one."""
    named = [column for column in columns if column.identifier]
    listed = [_identifier(column, n_rows) for column in named[:_SHOWN]]
    if len(named) > _SHOWN:
        names = ", ".join(repr(column.name) for column in named[_SHOWN:][:20])
        problem = (
            f"has {len(named) - _SHOWN} more columns that identify rows and are not learned from"
        )
        remedy = "to learn from a column, name it in 'categorical_features'"
        listed.append(Finding(None, f"{problem}: {names}", remedy))
    return listed


def _identifier(column: Column, n_rows: int) -> Finding:
    """That a column is not learned from, and what to do if it holds numbers or dates as text."""
    texts, absent = _texts(column)
    written = _text_finding(column, texts, absent, n_rows) if texts else None
    if written is not None and not written.note:
        problem = (
            f"{written.problem}; as almost every row has its own value, it is not learned from"
        )
        return Finding(column.name, problem, written.remedy)
    values = f"{column.n_categories:,} values in {n_rows:,} rows"
    problem = f"identifies rows ({values}) and is not learned from"
    return Finding(column.name, problem, "to learn from it, name it in 'categorical_features'")


def findings(
    sample: Sample, sketch: RowSketch | None = None, numbers: Floats | None = None
) -> list[Finding]:
    """Find suspicious columns and rows of a training sample.

    Numbers, dates and missing values written as text, columns with one value, columns with a
    different value in almost every row, and a table in which more than a tenth of the rows repeat
    others (and a column has over 100 values, or all of them very many combinations, so
    that this is not by chance), by their sketch. ``numbers`` is the target of each row if that is a
    number.
    """
    listed = identifier_findings(sample.columns, sample.n_rows)
    return [*listed, *_of_values(sample), *_repeated_rows(sample, sketch, numbers)]


def _of_values(sample: Sample) -> Iterator[Finding]:
    """Find suspicious values of the columns that trees are grown on."""
    if sample.n_rows < _FEW_ROWS:
        return
    yield from _real_columns(sample)
    for column, codes in zip(sample.columns, sample.X.values, strict=True):
        if column.kind != "real" and not column.identifier:
            yield from _categories(column, codes)


def target_findings(sample: Sample, target: str) -> list[Finding]:
    """Find problems of the target, and columns that determine it.

    A single class, very many classes, classes of very few rows, and columns that alone determine
    the class of almost every row: such a column is often a consequence of the class, or its code.
    """
    if sample.n_rows < _FEW_ROWS:
        return []
    counts = np.bincount(sample.y, minlength=sample.n_classes)
    labels = sample.classes.tolist()
    if sample.n_classes == 1:
        label = labels[0]
        remedy = "a tree has nothing to predict; name another target"
        return [Finding(target, f"is {label!r} in every row", remedy)]
    return [*_classes(target, counts, labels), *leaks(sample, target)]


def leaks(sample: Sample, target: str, places: Sequence[int] | None = None) -> Iterator[Finding]:
    """Find columns that alone determine the class, among those at some places or all."""
    n_rows, n_columns = sample.n_rows, len(sample.columns)
    few = n_rows < _FEW_ROWS or sample.n_classes > n_rows // 10
    if few or sample.n_classes < 2 or n_columns < 2:
        return
    step = max(1, n_rows // _LEAK_ROWS)
    for at in range(n_columns) if places is None else places:
        leak = _leak(sample.columns[at], sample.X.values[at], sample, step, target)
        if leak is not None:
            yield leak


def _likely_leaks(sample: Sample) -> list[int]:
    """The places of columns that seem to determine the class in a few rows."""
    rows = slice(None, None, max(1, sample.n_rows // (_PROBE * max(1, sample.n_classes // 4))))
    y, values = sample.y[rows], sample.X.values
    real = [at for at, column in enumerate(sample.columns) if column.kind == "real"]
    likely = [
        at
        for at, column in enumerate(sample.columns)
        if column.kind != "real" and not column.identifier
        and _errors_by_lookup(values[at][rows], y, sample.n_classes) <= _LEAK_CHANGES
    ]  # fmt: skip
    if real:
        order = np.argsort(np.array([values[at][rows] for at in real]), axis=1, kind="stable")
        changes = np.count_nonzero(np.diff(y[order], axis=1), axis=1)
        few = np.flatnonzero(changes <= 2 * sample.n_classes + _LEAK_CHANGES).tolist()
        likely += [real[place] for place in few]
    return sorted(likely)


def _classes(target: str, counts: NDArray[np.intp], labels: list[Any]) -> Iterator[Finding]:
    rows, n = int(counts.sum()), len(counts)
    if n > min(_MANY_CLASSES, rows // 10):
        remedy = (
            "if it is a number, use BoundTreeRegressor; if it is a name, predict something else; "
            "else join classes"
        )
        yield Finding(target, f"has {n:,} classes for {rows:,} rows", remedy)
        return
    if alike := _alike([label for label in labels if isinstance(label, str)]):
        shown = " next to ".join(map(repr, alike[:3]))
        problem = f"holds {shown}, which may be the same class"
        yield Finding(target, problem, "write them alike", note=True)
    few = int((counts < _FEW_OF_A_CLASS).sum())
    if few:
        words = f"{few} classes" if few > 1 else "a class"
        problem = f"has {words} of fewer than {_FEW_OF_A_CLASS} rows"
        yield Finding(target, problem, "join them to others, or find more such rows")
        return
    least = int(np.argmin(counts))
    if counts[least] < rows * min(_MINORITY, 0.5 / n):
        share = f"{100 * counts[least] / rows:.1f} % of the rows"
        if 1000 * counts[least] < rows:
            share = f"{counts[least]:,} of {rows:,} rows"
        problem = f"is {labels[least]!r} in only {share}"
        remedy = "if that class matters most, give it more weight: class_weight='balanced'"
        yield Finding(target, problem, remedy, note=True)


def _leak(
    column: Column, values: NDArray[Any], sample: Sample, step: int, target: str
) -> Finding | None:
    """Find out if a column alone determines the class: in some rows first, then in all."""
    wrong = _wrong_by_lookup(column, values[::step], sample.y[::step], sample.n_classes)
    if wrong is not None and step > 1:
        wrong = _wrong_by_lookup(column, values, sample.y, sample.n_classes)
    if wrong is None:
        return None
    remedy = f"leave it out, unless it is known before {target!r} is"
    if wrong == 0 and _distinct(values) == sample.n_classes:
        return Finding(column.name, f"is {target!r} in other words: one value per class", remedy)
    how = "in every row" if wrong == 0 else f"in all but {wrong:,} of {sample.n_rows:,} rows"
    return Finding(column.name, f"alone determines {target!r} {how}", remedy)


def _errors_by_lookup(codes: NDArray[Any], y: NDArray[np.int32], n_classes: int) -> int:
    """Errors of predicting the most frequent class of each category."""
    table = np.zeros((int(codes.max(initial=-1)) + 3, n_classes), dtype=np.int64)
    np.add.at(table, (codes.astype(np.int64) + 2, y), 1)
    return len(y) - int(table.max(axis=1).sum())


def _wrong_by_lookup(
    column: Column, values: NDArray[Any], y: NDArray[np.int32], n_classes: int
) -> int | None:
    """Errors of predicting the most frequent class of each value; None if that is not a rule.

    It is a rule if few rows are wrong, far fewer than with a constant prediction; and if it is
    short: of few categories, or, along a number, of about as many pieces as there are classes.
    """
    rows = len(y)
    distinct, at = np.unique(values, return_inverse=True)
    pairs, counts = np.unique(at * n_classes + y, return_counts=True)
    value, label = np.divmod(pairs, n_classes)
    order = np.lexsort((-counts, value))  # the commonest class of a value first
    first = order[np.flatnonzero(np.diff(value, prepend=-1))]
    wrong = rows - int(counts[first].sum())
    least = rows - int(np.bincount(y).max())  # with a constant prediction
    if wrong > min(_LEAK_ERRORS * rows, 0.1 * least):
        return None
    if column.kind != "real":
        return wrong if len(distinct) <= max(rows // 20, 2) else None
    pieces = 1 + np.count_nonzero(np.diff(label[first]))
    return wrong if pieces <= 2 * n_classes + _LEAK_ERRORS * rows else None


# -- real columns --------------------------------------------------------------------------------

_CONSTANT = ("has the same value in every row", "leave it out")
_NUMBERED = ("numbers the rows", "leave it out")


def _real_columns(sample: Sample) -> Iterator[Finding]:
    at, probe = _probe(sample)
    if not at:
        return
    same = (probe == probe[0]).all(axis=0) | (probe != probe).all(axis=0)
    with np.errstate(over="ignore"):  # a range past the largest double is wide enough
        spread = probe.max(axis=0) - probe.min(axis=0) >= len(probe) - 1
    for place in np.flatnonzero(same | spread).tolist():
        column, values = sample.columns[at[place]], sample.X.values[at[place]]
        if same[place]:
            if (values == values[0]).all() or np.isnan(values).all():
                yield Finding(column.name, *_CONSTANT)
        elif _numbers_rows(values):
            yield Finding(column.name, *_NUMBERED)
        elif _NAME_OF_ID.search(column.name):
            yield from _identifiers(column.name, values)


def _identifiers(name: str, values: NDArray[Any]) -> Iterator[Finding]:
    """A column that is called an identifier: of rows, or of things with several rows each."""
    distinct, rows = _distinct(values), len(values)
    if distinct > 0.9 * rows:
        yield Finding(name, *_NUMBERED)
    elif distinct > max(_SHOWN**2, 0.01 * rows):
        problem = f"looks like an identifier, and repeats: {distinct:,} values in {rows:,} rows"
        yield Finding(
            name, problem, "leave it out, and give it as groups if its rows belong together"
        )


def few_whole_values(sample: Sample) -> Iterator[Finding]:
    """Real columns of three to ten whole numbers, which may be codes of names."""
    codes = []
    for column, values in zip(sample.columns, sample.X.values, strict=True):
        if column.kind == "real" and 3 <= _distinct(values[:_FIRST_ROWS]) <= _FEW_CODES + 1:
            distinct = np.unique(values[~np.isnan(values)])
            small = np.abs(distinct) < _LARGEST_CODE
            if 3 <= len(distinct) <= _FEW_CODES and (small & (distinct == np.rint(distinct))).all():
                codes.append((column.name, f"{distinct[0]:.0f} to {distinct[-1]:.0f}"))
    if codes and sample.n_rows >= _FEW_ROWS:
        (name, extent), more = codes[0], [repr(other) for other, _ in codes[1:]]
        problem = f"holds few whole numbers, {extent}"
        if more:
            shown = ", ".join(more[:_SHOWN]) + (", ..." if len(more) > _SHOWN else "")
            further = f"does {shown}" if len(more) == 1 else f"do {len(more)} more: {shown}"
            problem += f" (and so {further})"
        yield Finding(name, problem, _TO_NOMINAL, note=True)


def different_whole_numbers(sample: Sample, known: Collection[str | None]) -> Iterator[Finding]:
    """Real columns with another whole number in each of many rows, other than the known ones."""
    if sample.n_rows < _MANY_ROWS:
        return
    for column, values in zip(sample.columns, sample.X.values, strict=True):
        if column.kind != "real" or column.name in known:
            continue
        if _are_different(values[:_PROBE]) and _are_different(values):
            problem = "has another whole number in every row, as an identifier has"
            remedy = "leave it out, unless larger numbers mean more of something"
            yield Finding(column.name, problem, remedy, note=True)


def _are_different(values: NDArray[Any]) -> bool:
    """Return True if the values are whole numbers, each once."""
    return bool((values == np.rint(values)).all()) and _distinct(values) == len(values)


def _probe(sample: Sample) -> tuple[list[int], NDArray[np.floating[Any]]]:
    """Real columns whose first and last values are equal, missing or whole, and some rows."""
    rows = slice(None, None, max(1, sample.n_rows // _PROBE))
    dense = sample.X.dense
    if dense is None:
        at = [i for i, column in enumerate(sample.columns) if column.kind == "real"]
        first, last = np.array([sample.X.values[i][[0, -1]] for i in at]).reshape(-1, 2).T
    else:
        at, first, last = list(range(dense.shape[1])), dense[0], dense[-1]
    chosen = (
        (first == last) | (first != first) | ((np.rint(first) == first) & (np.rint(last) == last))
    )
    at = [at[place] for place in np.flatnonzero(chosen).tolist()]
    values = sample.X.values
    return at, dense[rows, at] if dense is not None else np.array([values[i][rows] for i in at]).T


def _numbers_rows(values: NDArray[Any]) -> bool:
    """Return True if the values are consecutive integers, in any order."""
    low, high = values.min(), values.max()
    if high != low + (len(values) - 1) or not (values == np.rint(values)).all():
        return False
    return bool((np.bincount((values - low).astype(np.int64)) == 1).all())


# -- columns of categories -----------------------------------------------------------------------


def _categories(column: Column, codes: NDArray[Any]) -> Iterator[Finding]:
    categories = column.categories or ()
    if (codes[:_PROBE] == codes[0]).all() and (codes == codes[0]).all():
        yield Finding(column.name, *_CONSTANT)
        return
    if column.declared:
        return
    if _NAME_OF_ID.search(column.name) and (named := [*_identifiers(column.name, codes)]):
        yield from named
        return
    texts, absent = _texts(column)
    if texts:
        finding = _text_finding(column, texts, absent, int(np.count_nonzero(codes >= 0)))
        if finding is not None:
            yield finding
            return
    if len(categories) > 0.9 * len(codes):
        yield Finding(column.name, "has another value in almost every row", "leave it out")
    elif texts and all(map(_NUMBERED_NAME.fullmatch, texts)):  # such as C0048
        yield from _identifiers(column.name, codes)
    if texts and (alike := _alike([text for text in categories if text not in absent])):
        shown = " next to ".join(map(repr, alike[:3]))
        problem = f"holds {shown}, which may be the same category"
        yield Finding(column.name, problem, "write them alike", note=True)
    if absent:
        rows = int(np.isin(codes, [categories.index(text) for text in absent]).sum())
        words = ", ".join(map(repr, absent[:3]))
        problem = f"holds {words} in {rows:,} rows, which looks like a missing value"
        yield Finding(column.name, problem, f"convert {words} to missing values", note=True)


def _texts(column: Column) -> tuple[list[str], list[str]]:
    """Some categories if all of these are texts, and all those that look like a missing value."""
    categories = column.categories or ()
    some = categories[:: max(1, len(categories) // _CATEGORIES)]
    absent = [text for text in categories if isinstance(text, str) and _ABSENT.fullmatch(text)]
    return [*some] if all(isinstance(text, str) for text in some) else [], absent


def _alike(categories: Sequence[Any]) -> list[str]:
    """The first categories that differ only in case or spaces, or as ``Y`` and ``yes`` do."""
    known = {_plain_text(text) for text in categories}
    binary = known <= _YES_AND_NO.keys()
    by_meaning: dict[str, list[str]] = {}
    for text in categories:
        plain = _plain_text(text)
        by_meaning.setdefault(_YES_AND_NO[plain] if binary else plain, []).append(text)
    return next((texts for texts in by_meaning.values() if len(texts) > 1), [])


def _plain_text(text: str) -> str:
    return " ".join(text.lower().split())


def _text_finding(column: Column, texts: list[str], absent: list[str], rows: int) -> Finding | None:
    """Find dates, numbers, codes and free text in some texts of a column; rows have a value."""
    name, n_categories = column.name, column.n_categories or 0
    texts = [text for text in texts if text not in absent] or texts

    def most(pattern: re.Pattern[str]) -> str:
        """A text that matches, if almost all do."""
        of_it = [text for text in texts if pattern.fullmatch(text)]
        return repr(of_it[0]) if len(of_it) >= 0.9 * len(texts) else ""

    if example := most(_DATE):
        remedy = "make numbers of it, such as days since a date, or month and weekday"
        return Finding(name, f"holds dates as text, such as {example}", remedy)
    if n_categories > _SHOWN**2:
        repeats = n_categories < _REPEATED * rows  # long names, not free text
        finding = None if repeats else _free_text(name, texts)
        finding = finding or _units(column, texts, absent)
        if finding is not None:
            return finding
    problem, remedy = "holds numbers written as text, such as ", "convert it to numbers"
    commas = [text for text in texts if has_decimal_comma(text)]
    # 1,234 may be one thousand, but only a decimal comma has other numbers of digits after it
    if len(commas) >= 0.9 * len(texts) and any(len(text.split(",")[1]) != 3 for text in commas):
        return Finding(name, f"{problem}{commas[0]!r}", _read_commas(absent))
    example, unparsed = most(_WRITTEN), absent
    if not example:
        # A few plain numbers as text are probably meant as names, if nothing is missing among them.
        example = most(_PLAIN)
        if not example or (n_categories <= _SHOWN**2 and not absent):
            return None
        zeros = next((text for text in texts if _LEADING_ZERO.fullmatch(text)), None)
        if zeros is not None:
            problem = f"holds codes with leading zeros, such as {zeros!r}"
            return Finding(name, problem, "keep it as text: numbers would lose them", note=True)
        present = [text for text in map(str, column.categories or ()) if text not in absent]
        unparsed = absent + [text for text in present if _PLAIN.fullmatch(text) is None]
    if unparsed:
        example += f", and besides {', '.join(map(repr, unparsed[:3]))}"
        remedy += f", and {', '.join(map(repr, unparsed[:3]))} to missing values"
    return Finding(name, problem + example, remedy)


def _read_commas(absent: list[str]) -> str:
    """Return the remedy for numbers with a decimal comma; some texts are missing values."""
    parts: list[Part] = [
        Phrase("", "use "),
        Setting("decimal", ",", python="convert it", of="fit"),
        Phrase(" to numbers", " to read it as numbers"),
    ]
    if absent:
        gone = ", ".join(map(repr, absent[:3]))
        parts += [Phrase(", and", ", and convert"), f" {gone} to missing values"]
    return WordedText(*parts)


def _free_text(name: str, texts: Sequence[str]) -> Finding | None:
    """Find texts of several words each."""
    long = [text for text in texts if len(text.split()) >= _WORDS_OF_TEXT]
    if len(long) <= 0.5 * len(texts):
        return None
    shown = long[0] if len(long[0]) <= 40 else f"{long[0][:40]}..."
    remedy = "leave it out, or make columns of the facts that matter"
    return Finding(name, f"holds free text, such as {shown!r}", remedy)


def _units(column: Column, texts: Sequence[str], absent: Sequence[str]) -> Finding | None:
    """Find numbers of which some have a unit, such as ``63.3 kg`` next to ``63.3``."""
    plain = [text for text in texts if _PLAIN.fullmatch(text)]
    units = [text for text in texts if _WITH_UNIT.fullmatch(text)]
    if not plain or len(plain) + len(units) < 0.9 * len(texts):
        return None
    rest = [str(c) for c in column.categories or () if not _PLAIN.fullmatch(str(c))]
    matches = {text: _WITH_UNIT.fullmatch(text) for text in rest if text not in absent}
    with_unit = [text for text, match in matches.items() if match is not None]
    if not 0 < len({match["unit"] for match in matches.values() if match}) <= _FEW_UNITS:
        return None
    problem = (
        f"holds numbers with and without a unit, such as {with_unit[0]!r} next to {plain[0]!r}"
    )
    remedy = "remove the unit, and convert it to numbers"
    rest_texts = [text for text in rest if text not in with_unit][:3]
    if rest_texts:
        remedy += f", and {', '.join(map(repr, rest_texts))} to missing values"
    return Finding(column.name, problem, remedy)


# -- rows ----------------------------------------------------------------------------------------


def _repeated_rows(
    sample: Sample, sketch: RowSketch | None, numbers: Floats | None
) -> Iterator[Finding]:
    if sample.n_rows < _FEW_ROWS:
        return
    share = 1.0 if sketch is None else _share_of_copies(sketch)
    remedy = "drop the copies, or give fit the same group for all copies of a row"
    if share > _REPEATED:  # a sketch has six digits of each number: rows may differ in others
        hashes = _hashes(sample, numbers)
        if sample.groups is not None:  # copies in one group count once
            pairs = np.unique(np.column_stack([hashes, sample.groups.astype(np.uint64)]), axis=0)
            hashes, remedy = pairs[:, 0], "drop the copies, or put all copies of a row in one group"
        share = _share_of_copies(RowSketch.of(hashes))
    if share > _REPEATED and _is_various(sample):
        problem = f"repeats rows: {100 * share:.0f} % of them are copies of others"
        yield Finding(None, f"{problem}, while pruning and certificate count each as new", remedy)


def few_repeated_rows(sample: Sample, numbers: Floats | None = None) -> Iterator[Finding]:
    """Find some rows that repeat others, fewer than :func:`findings` reports."""
    if sample.n_rows < _FEW_ROWS:
        return
    copies = sample.n_rows - len(np.unique(_hashes(sample, numbers)))
    if 0 < copies <= _REPEATED * sample.n_rows and _is_various(sample):
        problem = f"repeats rows: {copies:,} of {sample.n_rows:,} are copies of others"
        yield Finding(None, problem, "drop the copies, unless they are different cases", note=True)


def _hashes(sample: Sample, numbers: Floats | None) -> NDArray[np.uint64]:
    """Return a hash of all digits of each row, with its class or number."""
    if numbers is not None:
        return number_hashes(sample.X, numbers, None, exact=True)
    return row_hashes(sample.X, sample.classes, sample.y, names=None, exact=True)


def _is_various(sample: Sample) -> bool:
    """Return True if rows would hardly repeat by chance: by the values of a column, or of all."""
    distinct = [_distinct(values[:_LOOKED_THROUGH]) for values in sample.X.values]
    combinations = float(np.log2(np.maximum(distinct, 1)).sum())
    return max(distinct, default=0) > _MANY_VALUES or combinations > _MANY_COMBINATIONS


def _share_of_copies(sketch: RowSketch) -> float:
    """Return the share of rows that are copies of others."""
    return 1.0 - len(sketch.hashes) / max(int(sketch.counts.sum()), 1)


def _distinct(values: NDArray[Any]) -> int:
    """Number of distinct values; missing counts as one."""
    ordered = np.sort(values)  # missing last
    below, above = ordered[:-1], ordered[1:]
    return len(ordered) and 1 + int(np.count_nonzero((below != above) & (below == below)))
