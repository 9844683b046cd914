"""``treebound predict``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from treebound.cli.app import app
from treebound.cli.messages import progress
from treebound.cli.options import Data, FileOptions, Force, Model, Output, Quiet, Switch
from treebound.cli.overwrite import check_output

if TYPE_CHECKING:
    from treebound.cli.output import Answers
    from treebound.data.files import RawTable
    from treebound.model import Model as FittedModel

__all__ = ["predict"]

_EXAMPLES = """\
Examples:

    treebound predict model.json new.csv -o answers.csv --proba
    treebound predict model.json new.parquet -o answers.parquet --keep
    cat new.csv | treebound predict model.json - | sort | uniq -c\
"""


@app.command(help_epilogue=_EXAMPLES)
def predict(
    model: Model,
    data: Data,
    /,
    *more: Path,
    output: Output = None,
    proba: Switch = False,
    threshold: str | None = None,
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
    more
        Further files with rows of the same table.
    output
        A CSV or Parquet file; by default CSV on standard output.
    proba
        Also write the probability of every class.
    threshold
        LABEL=PROBABILITY: answer this class wherever its probability is at least so large; or
        LABEL=FALSE:MISSED, the costs of answering it falsely and of missing it, such as bad=1:15.
    keep
        Also write the columns of the table.
    chunk_rows
        Rows in memory at a time.
    """
    from treebound.cli.models import loaded_model, schema_of
    from treebound.cli.output import table_form, table_writer
    from treebound.cli.weighting import with_threshold
    from treebound.data.files import iter_raw

    check_output(
        output, table_form(output), reads=[model, data, *more, options.schema], force=force
    )
    if chunk_rows < 1:
        raise ValueError(f"The option --chunk-rows must be an int >= 1. Got {chunk_rows} instead.")
    loaded = with_threshold(loaded_model(model, data), threshold)
    columns = schema_of(loaded, options)
    with table_writer(output) as writer, progress(f"reading {data}", quiet) as tell:
        done = 0
        for chunk in iter_raw([str(path) for path in (data, *more)], columns, chunk_rows):
            writer.write(_answers(loaded, chunk, proba, keep), chunk if keep else None)
            done += len(chunk)
            tell(f"{done:,} rows")


def _answers(model: FittedModel, chunk: RawTable, proba: bool, keep: bool) -> Answers:
    """What every node answers, and the node of every row."""
    from treebound.cli.output import Answers

    tree = model.tree
    name = model.target or "prediction"
    if keep and name in chunk.names:
        name = f"predicted {name}"
    columns = {name: tree.classes[tree.label]}
    if proba:
        shares = model.node_probabilities
        for at, label in enumerate(tree.classes.tolist()):
            columns[f"P({label})"] = shares[:, at]
    table = chunk.table()  # says what is wrong with the columns, even where there are no rows
    return Answers(columns, model.apply(table) if len(chunk) else None)
