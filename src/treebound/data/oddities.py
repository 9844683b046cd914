"""Warnings of columns and rows that are probably not what they seem, with remedies.

Each check first looks at a sample of rows or categories, and at all of them only if that looks
odd.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound.data.columns import Column
from treebound.data.folds import mixed_bits
from treebound.data.sample import Sample

__all__ = ["Oddity", "oddities", "target_oddities", "warn_of_oddities"]

_FEW_ROWS = 20  # with fewer, nothing is odd
_PROBE = 64  # rows checked first
_CATEGORIES = 100  # categories checked
_MANY_VALUES = 100
_LOOKED_THROUGH = 5_000  # rows compared with each other
_LOOKED_AT = 4  # columns searched for copies
_FIRST_ROWS = 1_000  # rows checked for many values
_SHOWN = 5
_REPEATED = 0.1
_MANY_CLASSES = 100
_FEW_OF_A_CLASS = 5
_TOLD_ROWS = 20_000  # rows checked for columns that determine the class
_TOLD = 0.005  # error rate allowed for such a column

_DATE = re.compile(r"\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})([ T].*)?")
_PLAIN = re.compile(r"\s*[-+]?\d*\.?\d+(e[-+]?\d+)?\s*", re.IGNORECASE)
# Grouped digits, a decimal comma, a currency or a unit: a number that programs do not parse.
_WRITTEN = re.compile(
    r"\s*[-+(]?[$€£¥]?\s?(\d{1,3}([,'. ]\d{3})+([.,]\d+)?|\d+,\d+|\d+(\.\d+)?\s?[%€$£]|"
    r"(?<=[$€£¥])\d+(\.\d+)?)\)?\s*"
)
_NAME_OF_ID = re.compile(r"(^|[^a-z])(id|uuid|guid|key|index|row)$", re.IGNORECASE)


@dataclass(frozen=True)
class Oddity:
    """Something odd about a column, or about the rows.

    Attributes
    ----------
    column : str or None
        The column; None for the rows.
    what : str
        What was found.
    remedy : str
        What to do about it.
    """

    column: str | None
    what: str
    remedy: str

    @property
    def subject(self) -> str:
        """The odd thing, in words."""
        return "The table" if self.column is None else f"Column {self.column!r}"

    def __str__(self) -> str:
        return f"{self.subject} {self.what}. Hint: {self.remedy}."


def warn_of_oddities(sample: Sample, *, stacklevel: int = 2) -> None:
    """Warn of the oddities of a training sample, the first few by name."""
    found = oddities(sample)
    for one in found[:_SHOWN]:
        warnings.warn(str(one), UserWarning, stacklevel=stacklevel)
    if len(found) > _SHOWN:
        more = ", ".join(repr(one.column) for one in found[_SHOWN:][:20] if one.column)
        warnings.warn(f"Other columns are odd too: {more}.", UserWarning, stacklevel=stacklevel)


def oddities(sample: Sample) -> list[Oddity]:
    """Find oddities in the columns and rows of a training sample.

    Numbers and dates written as text, columns with one value, columns with a different value in
    almost every row, and a table in which more than a tenth of the rows repeat others (and some
    column has over 100 values, so that this is not by chance).

    Parameters
    ----------
    sample : Sample
        The training rows.

    Returns
    -------
    list of Oddity
        Each has ``column``, ``what`` and ``remedy``; ``str`` gives a sentence.

    Examples
    --------
    >>> from treebound.data import Sample
    >>> from treebound.data.oddities import oddities
    >>> rows = [[f"1,{100 + i}", 7.0] for i in range(40)]
    >>> for one in oddities(Sample.learn(rows, [0, 1] * 20)):
    ...     print(one)
    Column 'x1' has the same value in every row. Hint: leave it out.
    Column 'x0' holds numbers written as text, such as '1,100'. Hint: convert it to numbers.
    """
    if sample.n_rows < _FEW_ROWS:
        return []
    found = [*_real_columns(sample)]
    for column, codes in zip(sample.columns, sample.X.values, strict=True):
        if column.kind != "real":
            found += _categories(column, codes)
    return [*found, *_repeated_rows(sample)]


def target_oddities(sample: Sample, target: str) -> list[Oddity]:
    """Find oddities in the target, and columns that determine it.

    A single class, very many classes, classes of very few rows, and columns that alone determine
    the class of almost every row: such a column is often a consequence of the class, or its code.

    Parameters
    ----------
    sample : Sample
    target : str
        The name of the target.

    Examples
    --------
    >>> from treebound.data import Sample
    >>> from treebound.data.oddities import target_oddities
    >>> rows = [[i % 7, 100 + i % 2] for i in range(40)]
    >>> for one in target_oddities(Sample.learn(rows, [i % 2 for i in range(40)]), "y"):
    ...     print(one)
    Column 'x1' alone tells 'y' in every row. Hint: leave it out, unless it is known before 'y' is.
    """
    if sample.n_rows < _FEW_ROWS:
        return []
    counts = np.bincount(sample.y, minlength=sample.n_classes)
    if sample.n_classes == 1:
        label = sample.classes.tolist()[0]
        remedy = "a tree has nothing to tell apart; name another target"
        return [Oddity(target, f"is {label!r} in every row", remedy)]
    found = [*_classes(target, counts)]
    if len(sample.columns) > 1 and sample.n_classes <= sample.n_rows // 10:
        step = max(1, sample.n_rows // _TOLD_ROWS)
        found += [
            told
            for column, values in zip(sample.columns, sample.X.values, strict=True)
            if (told := _told(column, values, sample, step, target)) is not None
        ]
    return found


def _classes(target: str, counts: NDArray[np.intp]) -> Iterator[Oddity]:
    rows, n = int(counts.sum()), len(counts)
    if n > min(_MANY_CLASSES, rows // 10):
        remedy = "if it is a number or a name, predict something else; else join classes"
        yield Oddity(target, f"has {n:,} classes for {rows:,} rows", remedy)
        return
    few = int((counts < _FEW_OF_A_CLASS).sum())
    if few:
        words = f"{few} classes" if few > 1 else "a class"
        what = f"has {words} of fewer than {_FEW_OF_A_CLASS} rows"
        yield Oddity(target, what, "join them to others, or find more such rows")


def _told(
    column: Column, values: NDArray[Any], sample: Sample, step: int, target: str
) -> Oddity | None:
    """Whether a column alone determines the class: in some rows first, then in all."""
    wrong = _wrong_by_lookup(column, values[::step], sample.y[::step], sample.n_classes)
    if wrong is None:
        return None
    if step > 1:
        wrong = _wrong_by_lookup(column, values, sample.y, sample.n_classes)
        if wrong is None:
            return None
    how = "in every row" if wrong == 0 else f"in all but {wrong:,} of {sample.n_rows:,} rows"
    remedy = f"leave it out, unless it is known before {target!r} is"
    return Oddity(column.name, f"alone tells {target!r} {how}", remedy)


def _wrong_by_lookup(
    column: Column, values: NDArray[Any], y: NDArray[np.int32], n_classes: int
) -> int | None:
    """Errors of predicting the most frequent class of each value; None if that is not a rule.

    It is a rule if few rows are wrong, far fewer than with a constant prediction; and if it is
    short: of few categories, or, along a number, of about as many pieces as there are classes.
    """
    rows = len(y)
    order = np.lexsort((y, values))
    value, label = values[order], y[order]
    new_value = np.flatnonzero(_changes(value))
    new_pair = np.flatnonzero(_changes(value) | _changes(label))
    count = np.diff(new_pair, append=rows)
    first_pair = np.searchsorted(new_pair, new_value)
    wrong = rows - int(np.maximum.reduceat(count, first_pair).sum())
    least = rows - int(np.bincount(y).max())  # with a constant prediction
    if wrong > min(_TOLD * rows, 0.1 * least):
        return None
    if column.kind != "real":
        return wrong if len(new_value) <= max(rows // 20, 2) else None
    # the class of each value: that of its longest run
    longest = np.repeat(
        np.maximum.reduceat(count, first_pair), np.diff(first_pair, append=len(count))
    )
    at_value = np.repeat(np.arange(len(new_value)), np.diff(first_pair, append=len(count)))
    is_answer = np.flatnonzero(count == longest)
    answer = label[new_pair[is_answer[_changes(at_value[is_answer])]]]
    pieces = int(_changes(answer).sum())
    return wrong if pieces <= 2 * n_classes + _TOLD * rows else None


def _changes(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Mask of the entries of a sorted array that differ from the previous one; the first does."""
    changed = np.ones(len(values), dtype=bool)
    same = values[1:] == values[:-1]
    if values.dtype.kind == "f":
        same |= np.isnan(values[1:]) & np.isnan(values[:-1])
    changed[1:] = ~same
    return changed


# -- real columns --------------------------------------------------------------------------------

_CONSTANT = ("has the same value in every row", "leave it out")
_NUMBERED = ("numbers the rows", "leave it out")


def _real_columns(sample: Sample) -> Iterator[Oddity]:
    at, probe = _probe(sample)
    if not at:
        return
    same = (probe == probe[0]).all(axis=0) | (probe != probe).all(axis=0)
    spread = probe.max(axis=0) - probe.min(axis=0) >= len(probe) - 1
    for place in np.flatnonzero(same | spread).tolist():
        column, values = sample.columns[at[place]], sample.X.values[at[place]]
        if same[place]:
            if _constant(values):
                yield Oddity(column.name, *_CONSTANT)
        elif _numbers_rows(values) or (
            _NAME_OF_ID.search(column.name) and _distinct(probe[:, place]) == len(probe)
        ):
            yield Oddity(column.name, *_NUMBERED)


def _probe(sample: Sample) -> tuple[list[int], NDArray[np.floating[Any]]]:
    """Real columns whose first and last values are equal, missing or whole, and some rows."""
    rows = slice(None, None, max(1, sample.n_rows // _PROBE))
    dense = sample.X.dense
    if dense is None:
        at = [i for i, column in enumerate(sample.columns) if column.kind == "real"]
        first, last = np.array([sample.X.values[i][[0, -1]] for i in at]).reshape(-1, 2).T
    else:
        at, first, last = list(range(dense.shape[1])), dense[0], dense[-1]
    odd = (first == last) | (first != first) | ((np.rint(first) == first) & (np.rint(last) == last))
    at = [at[place] for place in np.flatnonzero(odd).tolist()]
    values = sample.X.values
    return at, dense[rows, at] if dense is not None else np.array([values[i][rows] for i in at]).T


def _constant(values: NDArray[Any]) -> bool:
    if np.isnan(values[0]):
        return bool(np.isnan(values).all())
    return bool((values == values[0]).all())


def _numbers_rows(values: NDArray[Any]) -> bool:
    """Whether the values are consecutive integers, in any order."""
    low, high = values.min(), values.max()
    if high - low != len(values) - 1 or not (values == np.rint(values)).all():
        return False
    return bool((np.bincount((values - low).astype(np.int64)) == 1).all())


# -- columns of categories -----------------------------------------------------------------------


def _categories(column: Column, codes: NDArray[Any]) -> Iterator[Oddity]:
    known = column.categories or ()
    if (codes[:_PROBE] == codes[0]).all() and (codes == codes[0]).all():
        yield Oddity(column.name, *_CONSTANT)
        return
    if column.declared:
        return
    step = max(1, len(known) // _CATEGORIES)
    texts = [text for text in known[::step] if isinstance(text, str)]
    if texts and len(texts) == len(known[::step]):
        what, remedy = _text_of(texts, len(known))
        if what:
            yield Oddity(column.name, what, remedy)
            return
    if len(known) > 0.9 * len(codes):
        yield Oddity(column.name, "has another value in almost every row", "leave it out")


def _text_of(texts: list[str], n_categories: int) -> tuple[str, str]:
    """The kind of the texts of a column, if not names, and the remedy."""

    def most(pattern: re.Pattern[str]) -> str:
        """A text that matches, if almost all do."""
        of_it = [text for text in texts if pattern.fullmatch(text)]
        return repr(of_it[0]) if len(of_it) >= 0.9 * len(texts) else ""

    if example := most(_DATE):
        remedy = "make numbers of it, such as days since a date, or month and weekday"
        return f"holds dates as text, such as {example}", remedy
    what, remedy = "holds numbers written as text, such as ", "convert it to numbers"
    if example := most(_WRITTEN):
        return what + example, remedy
    # A few plain numbers as text are probably meant as names.
    if n_categories > _SHOWN**2 and (example := most(_PLAIN)):
        others = [repr(text) for text in texts if _PLAIN.fullmatch(text) is None][:3]
        if others:
            example += f", and besides {', '.join(others)}"
            remedy += ", and what is none to missing values"
        return what + example, remedy
    return "", ""


# -- rows ----------------------------------------------------------------------------------------


def _repeated_rows(sample: Sample) -> Iterator[Oddity]:
    if sample.n_rows <= _MANY_VALUES:
        return
    parts = max(1, sample.n_rows // _LOOKED_THROUGH)
    chosen = None
    for values in sample.X.values[:: 1 + len(sample.columns) // _LOOKED_AT]:
        if values.dtype == np.int8:
            continue
        rows: Any = slice(None)
        distinct = _distinct(values if parts == 1 else values[:_FIRST_ROWS])
        if distinct <= _MANY_VALUES:
            continue
        if parts > 1:
            rows = _rows_that_share(values, parts)
            distinct = _distinct(values[rows])
        # repeated rows have repeated values in every column
        if 1.0 - distinct / max(len(values[rows]), 1) <= _REPEATED:
            return
        chosen = rows if chosen is None else chosen
    if chosen is None:
        return
    hashes = _row_hashes(sample if parts == 1 else sample.part(chosen))
    share = 1.0 - _distinct(hashes) / max(len(hashes), 1)
    if share > _REPEATED:
        remedy = "drop the copies, or give their number as sample_weight"
        what = f"repeats rows: {share:.0%} of them are copies of others"
        yield Oddity(None, f"{what}, while pruning and certificate count each as new", remedy)


def _row_hashes(sample: Sample) -> NDArray[np.uint64]:
    """A hash of each row."""
    steps = np.arange(1, len(sample.columns) + 2, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    factors = mixed_bits(steps) | np.uint64(1)
    found: NDArray[np.uint64] = _bits(sample.y) * factors[0]
    if sample.X.dense is not None:
        bits = _bits(sample.X.dense)
        found += ((bits ^ (bits >> np.uint64(32))) * factors[1:]).sum(axis=1, dtype=np.uint64)
        return found
    for column, factor in zip(sample.X.values, factors[1:], strict=True):
        bits = _bits(column)
        found += (bits ^ (bits >> np.uint64(32))) * factor
    return found


def _distinct(values: NDArray[Any]) -> int:
    """Number of distinct values; missing counts as one."""
    ordered = np.sort(values)  # missing last
    below, above = ordered[:-1], ordered[1:]
    return len(ordered) and 1 + int(np.count_nonzero((below != above) & (below == below)))


def _rows_that_share(values: NDArray[Any], parts: int) -> Any:
    """About one row in ``parts``, chosen by value: all copies of a row, or none."""
    hashes = _bits(values) * np.uint64(0x9E3779B97F4A7C15)  # its upper bits depend on all bits
    return np.flatnonzero(hashes < np.uint64(2**64 // parts))


def _bits(values: NDArray[Any]) -> NDArray[np.uint64]:
    if values.dtype.kind == "f":
        plain = np.ascontiguousarray(values, dtype=np.float64) + 0.0  # -0 is 0
        return plain.view(np.uint64)
    return values.astype(np.int64).view(np.uint64)
