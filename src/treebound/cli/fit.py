"""``treebound fit``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from treebound.cli.app import app
from treebound.cli.messages import errors, plain_table, print_message, progress
from treebound.cli.options import Data, Force, Output, Quiet, TableOptions, read_training
from treebound.cli.overwrite import check_distinct, check_output
from treebound.cli.streams import fit_files, must_stream, warnings_as_lines

if TYPE_CHECKING:
    from treebound.data import Sample
    from treebound.model import Model
    from treebound.parameters import FitParameters

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
    treebound fit data.csv --target label --cv 5 -o model.json --page page.html
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
    page: Path | None = None,
    stream: Annotated[bool, Parameter(negative="")] = False,
    checkpoint: Path | None = None,
    force: Force = False,
    verbose: Annotated[bool, Parameter(negative="")] = False,
    quiet: Quiet = False,
    options: TableOptions = TableOptions(),  # noqa: B008  # frozen
) -> None:
    """Fit a tree to a table: a CSV or Parquet file, or '-' for standard input.

    Several files, a folder, and a file that does not fit in memory are read batch by batch.

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
    page
        Where to write an HTML page that shows the tree.
    stream
        Read a single file batch by batch too.
    checkpoint
        A file that keeps the tree as far as it is grown, for tables that are read batch by batch:
        the same command goes on from it.
    verbose
        Also print the kind of every column.
    """
    from treebound.cli.models import save_model, summary
    from treebound.cli.output import write_result
    from treebound.parameters import FitParameters
    from treebound.show import to_html, to_text

    _check_files(more)
    reads = [data, *more, options.schema]
    check_output(output, "model", reads=reads, force=force)
    check_output(page, "html", reads=reads, force=force)
    check_output(checkpoint, None, reads=reads, force=force)
    check_distinct(output=output, page=page, checkpoint=checkpoint)
    if cv is not None and cv < 2:
        raise ValueError(f"The option --cv must be an int >= 2, the number of folds. Got {cv}.")
    parameters = FitParameters(
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
    parameters.checked()  # before the table is read
    if must_stream([data, *more], stream or checkpoint is not None):
        if target is None or cv is not None or options != TableOptions():
            raise ValueError(
                "A table that is read batch by batch needs --target, and takes neither --cv nor "
                "options that say how to read it. Hint: write it as Parquet, with the types it "
                "should have."
            )
        with progress(f"fitting {data}", quiet) as tell, warnings_as_lines(quiet):
            model = fit_files(parameters, [data, *more], target, tell, checkpoint)
        sample = None
    else:
        model, sample = _fit_in_memory(parameters, data, options, target, cv, verbose, quiet)
    if not quiet:
        print_message(summary(model))
    # The result first: cross-validation takes longer, and may be interrupted.
    if output is not None:
        save_model(model, output)
    else:
        write_result(to_text(model), None)
    facts = _facts([data, *more], model)
    try:
        if cv is not None and sample is not None:
            facts["Cross-validated errors"] = _cross_validated(parameters, sample, model, cv, quiet)
    except KeyboardInterrupt as stop:
        stop.args = ("Cross-validation was stopped; the tree of all rows is fitted.",)
        raise
    finally:
        if page is not None:
            to_html(model, page, facts=facts)


def _check_files(more: Sequence[Path]) -> None:
    """Raise if a further file does not exist: it may be meant as the target."""
    for path in more:
        if not path.exists():
            raise ValueError(
                f"There is no file {path}. Hint: the column to predict is named with an option, "
                f"--target {path}."
            )


def _facts(paths: Sequence[Path], model: Model) -> dict[str, str]:
    """Where the tree of a page comes from."""
    table = paths[0].name + (f" and {len(paths) - 1} more" if len(paths) > 1 else "")
    rows = f"{int(model.tree.rows[0]):,} rows"
    return {"Table": f"{table}, {rows}", "Fitted on": date.today().isoformat()}


def _fit_in_memory(
    parameters: FitParameters,
    data: Path,
    options: TableOptions,
    target: str | None,
    folds: int | None,
    verbose: bool,
    quiet: bool,
) -> tuple[Model, Sample]:
    """Read the whole table, print what is suspicious, and fit."""
    from treebound.certificate import RowRecord
    from treebound.classifier.fitting import fit_sample
    from treebound.cli.findings import brief_lines

    with progress(f"reading {data}", quiet):
        table = read_training(data, options, target)
        sample = table.sample()
    if folds is not None and folds > sample.n_rows:
        raise ValueError(
            f"The option --cv must be at most {sample.n_rows}, the number of rows. Got {folds}."
        )
    if verbose:
        columns = plain_table(("column", "kind", "categories"), table.schema.rows())
        errors.print(columns, soft_wrap=not errors.is_terminal)
    if not quiet:
        names = f"{len(sample.columns):,} column{'s' * (len(sample.columns) != 1)}"
        print_message(
            f"{data}: {sample.n_rows:,} rows, {names}, target {table.schema.target!r} with "
            f"{sample.n_classes:,} classes."
        )
        for line in brief_lines(sample, str(table.schema.target)):
            print_message(line)
    with progress(f"fitting {sample.n_rows:,} rows", quiet):
        rows = RowRecord.of(sample, named=True)
        model = fit_sample(parameters, sample, target=table.schema.target, rows=rows)
    return model, sample


def _cross_validated(
    parameters: FitParameters, sample: Sample, model: Model, k: int, quiet: bool
) -> str:
    """Cross-validate and print the result; the share of errors."""
    from treebound.classifier.fitting import cross_validated
    from treebound.cli.models import constant_error, leaves, percent

    with progress(f"cross-validating, {k} folds", quiet):
        folds = cross_validated(parameters, sample, k)
    shares = [fold.errors / fold.rows for fold in folds]
    sizes = [fold.leaves for fold in folds]
    least, most = min(sizes), max(sizes)
    size = leaves(most) if least == most else f"{least:,} to {most:,} leaves"
    total = percent(sum(fold.errors for fold in folds) / sample.n_rows)
    print_message(
        f"{len(folds)}-fold cross-validation: {total} of the rows are misclassified "
        f"({percent(min(shares))} to {percent(max(shares))} in a fold; a constant answer: "
        f"{percent(constant_error(model.tree))}) by trees of {size}."
    )
    return f"{total} ({len(folds)} folds)"
