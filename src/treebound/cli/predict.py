"""``treebound predict``."""

from __future__ import annotations

from treebound._validation import as_int
from treebound.cli.app import command
from treebound.cli.databases import is_database, nodes_of, refuse_file_options, relation_of
from treebound.cli.messages import progress
from treebound.cli.options import (
    Data,
    FileOptions,
    Force,
    Model,
    More,
    Output,
    Quiet,
    Switch,
    Threshold,
)  # fmt: skip
from treebound.cli.overwrite import check_output


@command(
    "treebound predict model.json new.csv -o answers.csv --proba",
    "treebound predict model.json new.parquet -o answers.parquet --keep",
    "cat new.csv | treebound predict model.json - | sort | uniq -c",
)
def predict(
    model: Model,
    data: Data,
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
    """Answer for every row of a table, chunk by chunk.

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
    from treebound.cli.models import loaded_model, schema_of
    from treebound.cli.weighting import with_threshold
    from treebound.data.files import Source
    from treebound.exchange.answers import table_form, table_writer

    form = table_form(output)
    check_output(output, form, reads=[model, data, *more, options.schema], force=force)
    as_int("chunk_rows", "", chunk_rows, 1)
    loaded = with_threshold(loaded_model(model, data), threshold)
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
    with writing as writer, progress(f"reading {data}", quiet) as tell:
        done = 0
        for chunk in source.chunks(chunk_rows, None if keep else columns.names):
            table = chunk.table()  # says what is wrong with the columns, even without rows
            nodes = loaded.apply(table) if len(chunk) else None
            kept = (chunk.arrow() if form == "parquet" else chunk.native()) if keep else None
            writer.write(nodes, kept)
            done += len(chunk)
            tell(f"{done:,} rows")
