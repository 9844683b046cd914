"""``treebound check``."""

from __future__ import annotations

from dataclasses import asdict
from json import dumps

from treebound.cli.app import app, console
from treebound.cli.messages import print_result
from treebound.cli.options import Data, Json, TableOptions, read_training

_EXAMPLES = """\
Examples:

    treebound check data.csv --target label
    treebound check export.csv --target y --sep ";" --ignore id --json\
"""


@app.command(help_epilogue=_EXAMPLES)
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
    from treebound.cli.findings import remedy
    from treebound.data.check import HEADINGS, aligned, check_sample, file_findings

    table = read_training([data], options, target)
    lost = file_findings(table.raw)
    report = check_sample(table.sample(), str(table.schema.target), lost)
    if json:
        document = {
            "rows": report.n_rows,
            "target": report.target,
            "classes": {str(label): count for label, count in report.classes.items()},
            "columns": report.columns,
            "ignored": list(table.schema.ignored),
            "findings": [{**asdict(own), "remedy": remedy(own)} for own in report.findings],
        }
        console.print_json(dumps(document))
        return
    shown = {row[0]: row for row in report.rows()}
    rows = [shown.get(name, (name, kind, "", "", "")) for name, kind, _ in table.schema.rows()]
    print_result(f"{table.raw.name}: {report.n_rows:,} rows\n")
    print_result("\n".join(aligned([HEADINGS, *rows])))
    print_result("" if report.findings else "\nNothing looks suspicious.")
    for finding in report.findings:
        words = remedy(finding)
        print_result(f"{finding.subject} {finding.what}.\n    {words[:1].upper()}{words[1:]}.")
