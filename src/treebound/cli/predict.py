"""Predictions for new rows: ``treebound predict`` and ``treebound explain``."""

from __future__ import annotations

from json import dumps
from os.path import isfile
from typing import TYPE_CHECKING

from treebound._utils.ahead import read_ahead
from treebound._utils.progress import Progress
from treebound._utils.validation import as_int, invalid
from treebound.cli.app import command, console
from treebound.cli.options import (
    Data,
    FileOptions,
    Force,
    Model,
    More,
    Output,
    Quiet,
    Switch,
    TableAnywhere,
    Threshold,
    file_names,
    is_database,
    nodes_of,
    refuse_file_options,
    relation_of,
)  # fmt: skip
from treebound.cli.output import check_output, print_message, print_result, progress

if TYPE_CHECKING:
    from treebound.show import Explanation

# Rows read at a time to explain: few, since the first ones are wanted.
_CHUNK = 1000


@command(
    "treebound predict model.json new.csv -o predictions.csv --proba",
    "treebound predict model.json new.parquet -o predictions.parquet --keep",
    "cat new.csv | treebound predict model.json - | sort | uniq -c",
)
def predict(
    model: Model,
    data: TableAnywhere,
    /,
    *more: More,
    output: Output = None,
    proba: Switch = False,
    threshold: Threshold = None,
    keep: Switch = False,
    chunk_rows: int = 100_000,
    force: Force = False,
    quiet: Quiet = False,
    options: FileOptions = FileOptions(),  # noqa: B008  # frozen
) -> None:
    """Predict every row of a table, chunk by chunk.

    The table may be larger than memory. Columns that the model does not know are left alone.

    Parameters
    ----------
    output
        A CSV or Parquet file; by default CSV on standard output.
    proba
        Also write the probability of every class.
    keep
        Also write the columns of the table.
    chunk_rows
        Rows in memory at a time.
    """
    from treebound.cli.models import loaded_any, schema_of
    from treebound.cli.weighting import PredictionThreshold
    from treebound.data.files import Source
    from treebound.exchange.predictions import table_form, table_writer
    from treebound.model import RegressionModel

    form = table_form(output)
    check_output(output, form, reads=[model, data, *more, options.schema], force=force)
    as_int("chunk_rows", "", chunk_rows, 1)
    loaded = loaded_any(model, data)
    if isinstance(loaded, RegressionModel):
        if threshold is not None or proba:
            raise ValueError("A regression tree takes neither --threshold nor --proba.")
    elif threshold is not None:
        loaded = PredictionThreshold.of(loaded, threshold).applied(loaded)
    if is_database(data):
        refuse_file_options(options, more)
        with table_writer(output, loaded, proba) as writer, relation_of(data) as relation:
            for rows, nodes in nodes_of(loaded, relation, chunk_rows):
                writer.write(nodes, rows if keep else None)
        return
    columns = schema_of(loaded, options)
    paths = [str(path) for path in (data, *more)]
    source = Source(paths, columns, unknown="keep", complete=False)
    writing = table_writer(output, loaded, proba)
    with writing as writer, progress(f"reading {data}", quiet) as show:
        done, n_rows = 0, source.n_rows()
        chunks = source.chunks(chunk_rows, None if keep else columns.names)
        if all(isfile(path) for path in paths):  # rows of a pipe may be long in coming
            chunks = read_ahead(chunks, 1)
        for chunk in chunks:
            table = chunk.table()  # checks the columns, even without rows
            nodes = loaded.apply(table, n_jobs=-1) if len(chunk) else None
            extra = (chunk.arrow() if form == "parquet" else chunk.native()) if keep else None
            writer.write(nodes, extra)
            done += len(chunk)
            show(Progress("predicting", done, n_rows))


@command(
    "treebound explain model.json new.csv",
    "treebound explain model.json new.csv --row 7",
    "treebound explain model.json new.csv --rows 100 --json",
    "treebound explain prices.json new.csv --row 2 --reach 100 150",
)
def explain(
    model: Model,
    data: Data,
    /,
    *,
    row: int | None = None,
    rows: int = 10,
    reach: tuple[float, float] | None = None,
    json: Switch = False,
    options: FileOptions = FileOptions(),  # noqa: B008  # frozen
) -> None:
    """Explain predictions: the path of a row, and the smallest change for another one.

    Parameters
    ----------
    row
        Explain this row alone; the first is 1.
    rows
        Explain at most this many rows, the first ones.
    reach
        For numbers: the smallest change that brings the prediction into this range, LOW HIGH.
    json
        Print a JSON object for each row, one on a line.
    """
    import numpy as np

    from treebound.cli.models import loaded_any, schema_of
    from treebound.data.files import Source, no_rows
    from treebound.show import explain as explain_row

    for name, value in (("row", row), ("rows", rows)):
        if value is not None:
            as_int(name, "", value, 1)
    loaded = loaded_any(model, data)
    first, last = (0, rows) if row is None else (row - 1, row)
    count = 0
    columns = schema_of(loaded, options)
    source = Source(file_names([data]), columns, unknown="keep", complete=False)
    for chunk in source.chunks(_CHUNK):
        wanted = range(max(first, count), min(last, count + len(chunk)))
        table, places = chunk.table(), count + np.arange(len(chunk))
        for at in wanted:
            explanation = explain_row(loaded, table.rows(places == at), reach=reach)
            _print(at + 1, explanation, json=json, spaced=at > first)
        count += len(chunk)
        if count > last:  # there is no need to read on
            break
    if not count:
        raise no_rows(data)
    if row is not None and row > count:
        raise invalid("row", "", f"from 1 to {count:,}, the rows of {data}", row)
    if row is None and count > last:
        print_message(f"{data} has more rows. Hint: --rows or --row.")


def _print(row: int, explanation: Explanation, *, json: bool, spaced: bool) -> None:
    if json:
        print_result(dumps({"row": row, **explanation.to_dict()}))
        return
    if spaced:
        console.print()
    console.print(f"Row {row}", style="dim", highlight=False)
    print_result(str(explanation))
