"""``treebound check``, and what ``fit`` says of a suspicious table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from treebound.cli.app import command
from treebound.cli.messages import print_json, print_result
from treebound.cli.options import Data, Json, TableOptions
from treebound.cli.training import read_training

if TYPE_CHECKING:
    from treebound.data import Sample
    from treebound.data.findings import Finding

_BRIEF = 5


@command(
    "treebound check data.csv --target label",
    'treebound check export.csv --target y --sep ";" --ignore id --json',
)
def check(
    data: Data,
    /,
    *,
    target: str | None = None,
    json: Json = False,
    options: TableOptions = TableOptions(),  # noqa: B008  # frozen
) -> None:
    """Show what the columns of a table look like, and what is suspicious.

    Looks for columns that number the rows, identifiers that repeat, dates, numbers and missing
    values written as text, codes, columns of one value, repeated rows, columns that alone tell the
    target, and targets of very many, very small or very unequal classes; and says what to do.

    Parameters
    ----------
    target
        The column to predict; not needed if the schema names it.
    """
    from treebound.data import Sample
    from treebound.data.check import HEADINGS, aligned, check_sample, file_findings

    table = read_training([data], options, target)
    ordered = options.ordered or None
    sample = Sample.learn(table.table(), table.labels(), ordinal_features=ordered)
    lost = file_findings(table, options.checked_schema(target).ignored)
    report = check_sample(sample, str(table.schema.target), lost)
    if json:
        document = {
            "rows": report.n_rows,
            "target": report.target,
            "classes": {str(label): count for label, count in report.classes.items()},
            "columns": report.columns,
            "ignored": list(table.schema.ignored),
            "findings": [{**asdict(own), "remedy": remedy(own)} for own in report.findings],
        }
        print_json(document)
        return
    shown = {row[0]: row for row in report.rows()}
    rows = [shown.get(name, (name, kind, "", "", "")) for name, kind, _ in table.schema.rows()]
    print_result(f"{table.name}: {report.n_rows:,} rows\n")
    print_result("\n".join(aligned([HEADINGS, *rows])))
    print_result("" if report.findings else "\nNothing looks suspicious.")
    for finding in report.findings:
        print_result(finding.told(remedy(finding)))


def remedy(finding: Finding) -> str:
    """What to do about it, with the option that does so."""
    name = finding.column or ""
    quoted = name if name.replace("_", "").isalnum() else f'"{name}"'
    words = finding.remedy.replace(", or give fit the same group for all copies of a row", "")
    words = words.replace("class_weight='balanced'", "--class-weight balanced")
    words = words.replace("make it nominal", f"use --nominal {quoted}")
    if words.startswith("leave it out"):
        return words.replace("leave it out", f"leave it out with --ignore {quoted}", 1)
    if words.endswith("to missing values"):
        return words + " (--missing TEXT)"
    return words


def brief_lines(sample: Sample, target: str) -> Iterator[str]:
    """The first few in a line each, and how many more there are."""
    from treebound.data.findings import findings, target_findings

    both = (*target_findings(sample, target), *findings(sample))
    serious = [finding for finding in both if not finding.note]
    for finding in serious[:_BRIEF]:
        yield f"Warning: {finding.subject} {finding.what}. Hint: {remedy(finding)}."
    if len(serious) > _BRIEF:
        yield f"Warning: {len(serious) - _BRIEF} more. Hint: 'treebound check' lists them."
