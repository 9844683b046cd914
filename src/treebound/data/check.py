"""``treebound.check``: what the columns of a table look like, and what is suspicious about them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils.arrays import Floats
from treebound.data.columns import Column
from treebound.data.findings import (
    Finding,
    different_whole_numbers,
    few_repeated_rows,
    few_whole_values,
    findings,
    target_findings,
)
from treebound.data.frames import frame_of, read_table
from treebound.data.sample import Sample
from treebound.data.schema import lines_of
from treebound.data.targets import label_array, missing_labels

if TYPE_CHECKING:
    from treebound.data.files import RawTable

_SHOWN = 5  # categories or classes
_LONGEST = 40  # characters of a category
HEADINGS = ("column", "kind", "values", "missing", "content")


@dataclass(frozen=True)
class TableReport:
    """The findings of :func:`treebound.check`; the ``repr`` is a text to read.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    target : str or None
        The name of the target, if there is one.
    classes : dict
        Number of rows of each class.
    columns : tuple of dict
        Of each column ``name``, ``kind``, the number of distinct ``values`` and of ``missing``
        values, and ``least`` and ``greatest``, or the ``commonest`` categories.
    findings : tuple of Finding
        What is suspicious; each has ``column``, ``problem`` and ``remedy``.
    """

    n_rows: int
    target: str | None
    classes: Mapping[Any, int]
    columns: tuple[Mapping[str, Any], ...]
    findings: tuple[Finding, ...]

    def rows(self) -> list[tuple[str, ...]]:
        """One row for each column and the target: name, kind, values, missing, content."""
        rows: list[tuple[str, ...]] = []
        for column in self.columns:
            missing = f"{100 * column['missing'] / self.n_rows:.1f} %" if column["missing"] else ""
            rows.append(
                (column["name"], column["kind"], f"{column['values']:,}", missing, _content(column))
            )
        if self.target is None:
            return rows
        counts = {str(label): count for label, count in self.classes.items()}
        common = dict(sorted(counts.items(), key=lambda pair: -pair[1])[:_SHOWN])
        content = _content({"commonest": common, "values": len(counts)})
        return [*rows, (self.target, "target", f"{len(counts):,}", "", content)]

    def __repr__(self) -> str:
        lines = [f"{self.n_rows:,} rows", "", *aligned([HEADINGS, *self.rows()]), ""]
        lines += [finding.in_lines(finding.remedy) for finding in self.findings]
        return "\n".join(lines if self.findings else [*lines, "Nothing looks suspicious."])


def check(X: Any, y: Any = None, *, target: str | None = None) -> TableReport:
    """Look at a training table before fitting: kinds of columns, and what is suspicious.

    Finds columns that number the rows, identifiers that repeat, dates, numbers and missing values
    written as text, free text, units, categories that may be the same, codes, columns of one
    value, repeated rows, rows without a label, columns that are the target or determine it, and
    targets of very many, very small or very unequal classes.

    Parameters
    ----------
    X : table
        The columns, as for ``fit``.
    y : array-like of shape (n_rows,), optional
        The labels; rows without one are reported, and only the others are described.
    target : str, optional
        The name of the target; by default that of ``y``.

    Returns
    -------
    TableReport
        Prints as a text; ``findings`` has what is suspicious, each with a remedy.

    Examples
    --------
    >>> import treebound as tb
    >>> rows = [[i, "?" if i % 8 == 0 else "ab"[i % 2]] for i in range(40)]
    >>> tb.check(rows, [i % 2 for i in range(40)])
    40 rows
    <BLANKLINE>
    column  kind     values  missing  content
    x0      real         40           0 to 39
    x1      nominal       3           b (20), a (15), ? (5)
    y       target        2           0 (20), 1 (20)
    <BLANKLINE>
    Column 'x0' numbers the rows.
        Leave it out.
    Column 'x1' holds '?' in 5 rows, which looks like a missing value.
        Convert '?' to missing values.
    """
    import narwhals as nw

    dates: list[str] = []
    if nw.dependencies.is_into_dataframe(X):
        frame = frame_of(X)  # no tree can split dates and durations
        dates = [name for name, dtype in frame.schema.items() if dtype.is_temporal()]
        X = frame.drop(dates).to_native() if dates else X
    name = target or getattr(y, "name", None)
    named = name if isinstance(name, str) and name else "y"
    table, listed = read_table(X), date_findings(dates)
    if y is None:
        return check_sample(Sample.learn(table, [0] * table.shape[0]), None, listed)
    labelled = ~missing_labels(y)
    if len(labelled) == table.shape[0] and labelled.any() and not labelled.all():
        listed.append(unlabelled_finding(named, len(labelled), int(labelled.sum())))
        table, y = table.rows(labelled), label_array(y)[labelled]
    return check_sample(Sample.learn(table, y), named, listed)


def check_sample(
    sample: Sample,
    target: str | None,
    first: Sequence[Finding] = (),
    numbers: Floats | None = None,
) -> TableReport:
    """The report of rows that are read; ``first`` has findings of columns that are not.

    Without a target, and with one of ``numbers``, all rows have the same label.
    """
    pairs = zip(sample.columns, sample.X.values, strict=True)
    suspicious = findings(sample, numbers=numbers)
    counts = np.bincount(sample.y, minlength=sample.n_classes).tolist()
    return TableReport(
        sample.n_rows,
        target,
        {} if target is None else dict(zip(sample.classes.tolist(), counts, strict=True)),
        tuple(_facts(column, values) for column, values in pairs),
        (
            *first,
            *(() if target is None else target_findings(sample, target)),
            *suspicious,
            *different_whole_numbers(sample, {finding.column for finding in suspicious}),
            *few_whole_values(sample),
            *few_repeated_rows(sample, numbers),
        ),
    )


def unlabelled_finding(target: str, rows: int, labelled: int) -> Finding:
    """The finding that some rows have no label."""
    problem = f"has no label in {rows - labelled:,} of {rows:,} rows"
    return Finding(target, problem, "drop these rows: X[y.notna()], y[y.notna()]")


def date_findings(names: Sequence[str]) -> list[Finding]:
    """Columns of dates and durations."""
    remedy = "make numbers of it, such as days since a date, or month and weekday"
    return [Finding(name, "holds dates or durations", remedy) for name in names]


def file_findings(raw: RawTable, excluded: Collection[str]) -> list[Finding]:
    """Values lost in reading: dates that the user did not exclude, leading zeros of codes."""
    import pyarrow as pa
    import pyarrow.compute as pc

    table = raw.native()
    ignored = [name for name in raw.schema.ignored if name not in excluded]
    lost = date_findings([n for n in ignored if pa.types.is_temporal(table.column(n).type)])
    for column in raw.schema.columns if raw.from_text else ():
        texts = table.column(column.name)
        if column.kind == "real" and pc.any(pc.match_substring_regex(texts, r"^\s*0\d")).as_py():
            padded = texts.filter(pc.match_substring_regex(texts, r"^\s*0\d+\s*$"))
            if len(padded):
                problem = f"holds codes with leading zeros, such as {padded[0].as_py()!r}"
                remedy = "if they are codes, make it nominal: as numbers they lose the zeros"
                lost.append(Finding(column.name, problem, remedy, note=True))
    return lost


def _facts(column: Column, values: NDArray[Any]) -> dict[str, Any]:
    """Number of values, of missing ones, and the extent or the commonest categories."""
    facts: dict[str, Any] = {"name": column.name, "kind": column.kind}
    if column.kind == "real":
        present = values[~np.isnan(values)]
        low, high = (float(present.min()), float(present.max())) if len(present) else (None, None)
        facts |= {"least": low, "greatest": high, "values": len(np.unique(present))}
    else:
        categories, present = column.categories or (), values[values >= 0]
        counts = np.bincount(present, minlength=len(categories))
        order = np.argsort(-counts, kind="stable")[:_SHOWN].tolist()
        facts["commonest"] = {str(categories[at]): int(counts[at]) for at in order}
        facts["values"] = int((counts > 0).sum())
    return {**facts, "missing": len(values) - len(present)}


def _content(facts: Mapping[str, Any]) -> str:
    """The values of a column in a few words."""
    if "commonest" not in facts:
        return "" if facts["least"] is None else f"{facts['least']:g} to {facts['greatest']:g}"
    words = [f"{_in_short(name)} ({count:,})" for name, count in facts["commonest"].items()]
    return ", ".join(words) + (", ..." if facts["values"] > _SHOWN else "")


def _in_short(text: str) -> str:
    """A category on one line, cut if it is long."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of text as lines; the columns of numbers are aligned to the right."""
    return lines_of(rows, {HEADINGS.index("values"), HEADINGS.index("missing")})
