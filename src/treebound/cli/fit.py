"""``treebound fit``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from treebound.cli.app import app
from treebound.cli.options import Data, Force, Output, Quiet, TableOptions, read_training
from treebound.cli.overwrite import check_output
from treebound.cli.speaking import aside, plain_table, progress, say
from treebound.cli.streams import fit_files, must_stream, warnings_as_lines

if TYPE_CHECKING:
    from treebound.classifier.model import TreeModel
    from treebound.data import Sample

__all__ = ["Pruner", "fit"]

Pruner = Literal[
    "bound", "kearns-mansour", "cost-complexity", "reduced-error", "pessimistic", "mdl"
]
Pruning = Literal[Pruner, "none"]
# As the library has them; said here again so that help need not load it.
Criterion = Literal["entropy", "gini", "misclassification"]
Thresholds = Literal["decimal", "midpoint", "observed"]
Unknown = Literal["other", "majority", "stop", "missing", "error"]

_EXAMPLES = """\
Examples:

    treebound fit data.csv --target label
    treebound fit folder/*.parquet --target label -o model.json
    treebound fit data.csv --target label --cv 5 -o model.json --report page.html
    treebound fit data.tsv --target y --ignore id --ordinal size=S,M,L
    treebound fit export.csv --target y --sep ";" --encoding latin-1 --missing "?"\
"""


@app.command(help_epilogue=_EXAMPLES)
def fit(
    data: Data,
    /,
    *more: Path,
    target: str | None = None,
    pruning: Pruning = "bound",
    criterion: Criterion = "entropy",
    max_leaves: int | None = None,
    min_samples_leaf: int = 1,
    thresholds: Thresholds = "decimal",
    unknown: Unknown = "other",
    delta: float = 0.05,
    jobs: int | None = None,
    cv: int | None = None,
    output: Output = None,
    report: Path | None = None,
    stream: Annotated[bool, Parameter(negative="")] = False,
    checkpoint: Path | None = None,
    force: Force = False,
    quiet: Quiet = False,
    options: TableOptions = TableOptions(),  # noqa: B008  # frozen
) -> None:
    """Fit a tree to a table: a CSV or Parquet file, or '-' for standard input.

    Several files and folders may be parts of one table. What does not fit in memory is read batch
    by batch.

    Parameters
    ----------
    more
        Further files with rows of the same table.
    target
        The column to predict; not needed if the schema names it.
    pruning
        How the grown tree is pruned.
    criterion
        What a split should decrease.
    max_leaves
        Most leaves of the tree.
    min_samples_leaf
        Least rows in a leaf.
    thresholds
        Where between two values a threshold lies: at the decimal with the fewest digits, halfway,
        or at the value on the left.
    unknown
        What to do with categories that training did not know.
    delta
        The certificate holds with probability 1 - delta.
    jobs
        Threads for growing.
    cv
        Also fit to parts of the rows, this many times, and say how often the rest is misclassified.
    output
        Where to write the model (JSON). Without it the tree is printed.
    report
        Where to write a page that shows the tree.
    stream
        Read batch by batch even if it fits in memory.
    checkpoint
        A file that keeps the tree as far as it is grown, for tables that are read batch by batch:
        the same command goes on from it.
    """
    from treebound.classifier.model import TreeModel
    from treebound.cli.models import save_model, summary
    from treebound.cli.output import write_result

    check_output(output, "model", reads=[data, *more, options.schema], force=force)
    check_output(report, "html", reads=[data, *more, options.schema], force=force)
    if output is not None and output == report:
        raise ValueError(f"The model and the page cannot both be {output}.")
    if cv is not None and cv < 2:
        raise ValueError(f"The option --cv must be an int >= 2, the number of folds. Got {cv}.")
    model = TreeModel(
        criterion=criterion,
        max_leaves=max_leaves,
        min_samples_leaf=min_samples_leaf,
        thresholds=thresholds,
        pruning=None if pruning == "none" else pruning,
        ordinal_features=options.ordered or None,
        unknown=unknown,
        delta=delta,
        n_jobs=jobs,
    )
    model._checked()  # before the table is read
    if must_stream([data, *more], stream or checkpoint is not None):
        if cv is not None:
            raise ValueError("A table that is read batch by batch cannot be cross-validated.")
        with progress(f"fitting {data}", quiet) as tell, warnings_as_lines(quiet):
            fit_files(model, [data, *more], target, options, tell, checkpoint)
        sample = None
    else:
        sample = _fit_in_memory(model, [data, *more], options, target, cv, quiet)
    if not quiet:
        say(summary(model))
    if cv is not None and sample is not None:
        with progress(f"cross-validating, {cv} folds", quiet):
            words = _cross_validated(model, sample, cv)
        say(words)
    if output is not None:
        save_model(model, output)
    if report is not None:
        model.to_html(report)
    if output is None:
        write_result(model.to_text(), None)


def _fit_in_memory(
    model: TreeModel,
    paths: list[Path],
    options: TableOptions,
    target: str | None,
    folds: int | None,
    quiet: bool,
) -> Sample:
    """Read the whole table, say what it is, and fit."""
    from treebound.classifier.model import fit_sample
    from treebound.cli.odd import brief_lines

    with progress(f"reading {paths[0]}", quiet):
        table = read_training(paths, options, target)
        sample = table.sample()
    if folds is not None and folds > sample.n_rows:
        raise ValueError(
            f"The option --cv must be at most {sample.n_rows}, the number of rows. Got {folds}."
        )
    if not quiet:
        columns = plain_table(("column", "kind", "categories"), table.schema.rows())
        columns.title, columns.title_justify = "columns", "left"
        aside.print(columns, soft_wrap=not aside.is_terminal)
        for line in brief_lines(sample, str(table.schema.target)):
            say(line)
    with progress(f"fitting {sample.n_rows:,} rows", quiet):
        fit_sample(model, sample, target_name=table.schema.target)
    return sample


def _cross_validated(model: TreeModel, sample: Sample, folds: int) -> str:
    from treebound.classifier.model import cross_validated
    from treebound.cli.models import leaves

    found = cross_validated(model, sample, folds)
    wrong = [one.errors for one in found]
    shares = [one.errors / one.rows for one in found]
    sizes = [one.leaves for one in found]
    least, most = min(sizes), max(sizes)
    size = leaves(most) if least == most else f"{least:,} to {most:,} leaves"
    return (
        f"{len(found)}-fold cross-validation: {sum(wrong) / sample.n_rows:.1%} of the rows are "
        f"misclassified ({min(shares):.1%} to {max(shares):.1%} in a fold) by trees of {size}."
    ).replace("%", " %")
