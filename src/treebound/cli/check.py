"""``treebound check``."""

from __future__ import annotations

from dataclasses import asdict
from json import dumps
from typing import TYPE_CHECKING, Any

from treebound.cli.app import app, console
from treebound.cli.options import Data, Switch, TableOptions, read_training
from treebound.cli.speaking import plain_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from treebound.cli.options import TrainingTable
    from treebound.data import Column, Sample

__all__ = ["check"]

_SHOWN = 5  # categories or classes
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
    json: Switch = False,
    options: TableOptions = TableOptions(),  # noqa: B008  # frozen
) -> None:
    """Say what the columns of a table look like, and what is odd about them.

    Looks for columns that number the rows, dates and numbers written as text, columns of one
    value, rows that are there twice, columns that alone tell the target, and targets of very many
    or very small classes; and says what to do about each.

    Parameters
    ----------
    target
        The column to predict; not needed if the schema names it.
    json
        Print all of it as JSON.
    """
    from treebound.cli.odd import all_oddities, remedy

    table = read_training([data], options, target)
    sample = table.sample()
    name = str(table.schema.target)
    columns = [
        _facts(column, values)
        for column, values in zip(sample.columns, sample.X.values, strict=True)
    ]
    odd = all_oddities(sample, name)
    if json:
        found = [{**asdict(one), "remedy": remedy(one)} for one in odd]
        counts = dict(zip(map(str, sample.classes.tolist()), _counts(sample), strict=True))
        document = {
            "rows": sample.n_rows, "target": name, "classes": counts, "columns": columns,
            "ignored": list(table.schema.ignored), "oddities": found,
        }  # fmt: skip
        console.print_json(dumps(document))
        return
    _print_columns(table, sample, columns)
    console.print()
    if not odd:
        _print("Nothing looks odd.")
    for one in odd:
        _print(f"{one.subject} {one.what}.\n    {remedy(one)[:1].upper()}{remedy(one)[1:]}.")


def _counts(sample: Sample) -> list[int]:
    import numpy as np

    return [int(count) for count in np.bincount(sample.y, minlength=sample.n_classes)]


def _facts(column: Column, values: NDArray[Any]) -> dict[str, Any]:
    """What there is to say of a column."""
    import numpy as np

    if column.kind == "real":
        known = values[~np.isnan(values)]
        low, high = (float(known.min()), float(known.max())) if len(known) else (None, None)
        size = len(np.unique(known))
        facts: dict[str, Any] = {"least": low, "greatest": high, "values": size}
    else:
        known = values[values >= 0]
        counts = np.bincount(known, minlength=len(column.categories or ()))
        order = np.argsort(-counts, kind="stable")[:_SHOWN]
        common = {str((column.categories or ())[at]): int(counts[at]) for at in order.tolist()}
        facts = {"commonest": common, "values": int((counts > 0).sum())}
    gone = len(values) - len(known)
    return {"name": column.name, "kind": column.kind, **facts, "missing": gone}


def _print_columns(table: TrainingTable, sample: Sample, columns: list[dict[str, Any]]) -> None:
    _print(f"{table.raw.name}: {sample.n_rows:,} rows")
    console.print()
    facts = {one["name"]: one for one in columns}
    rows = []
    for name, kind, _ in table.schema.rows():
        if name in facts:
            one = facts[name]
            gone = f"{100 * one['missing'] / sample.n_rows:.1f} %" if one["missing"] else ""
            rows.append((name, kind, f"{one['values']:,}", gone, _content(one)))
        elif kind == "target":
            rows.append((name, kind, f"{sample.n_classes:,}", "", _class_text(sample)))
        else:
            rows.append((name, kind, "", "", ""))
    heads = ("column", "kind", "values", "missing", "content")
    shown = plain_table(heads, rows, numbers=("values", "missing"))
    console.print(shown, soft_wrap=not console.is_terminal)


def _content(facts: dict[str, Any]) -> str:
    if facts["kind"] == "real":
        return "" if facts["least"] is None else f"{facts['least']:g} to {facts['greatest']:g}"
    words = [f"{name} ({count:,})" for name, count in facts["commonest"].items()]
    return ", ".join(words) + (", ..." if facts["values"] > _SHOWN else "")


def _class_text(sample: Sample) -> str:
    counts, labels = _counts(sample), sample.classes.tolist()
    order = sorted(range(len(labels)), key=lambda at: -counts[at])[:_SHOWN]
    words = [f"{labels[at]} ({counts[at]:,})" for at in order]
    return ", ".join(words) + (", ..." if len(labels) > _SHOWN else "")


def _print(text: str) -> None:
    console.print(text, highlight=False, soft_wrap=True, markup=False)
