"""``treebound fit``."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from treebound._validation import invalid
from treebound.cli.app import app
from treebound.cli.databases import fit_database, is_database
from treebound.cli.messages import errors, plain_table, print_message, progress, write_result
from treebound.cli.options import Data, Force, Output, Quiet, TableOptions, read_training
from treebound.cli.overwrite import check_distinct, check_output
from treebound.cli.streams import fit_files, must_stream, warnings_as_lines
from treebound.cli.weighting import WeightOptions

if TYPE_CHECKING:
    from treebound.data import Sample
    from treebound.model import Model
    from treebound.parameters import FitParameters

Pruner = Literal[
    "bound", "kearns-mansour", "cost-complexity", "reduced-error", "pessimistic", "mdl"
]
Pruning = Literal[Pruner, "none"]
# As the library has them; said here again so that help need not load it.
Criterion = Literal["entropy", "gini", "misclassification"]
Thresholds = Literal["decimal", "midpoint", "observed"]
Size = Literal["accurate", "balanced", "small", "detailed"]
Unknown = Literal["other", "majority", "stop", "missing", "error"]
Certify = Literal["training", "held-out", "folds", "prior"]
Rules = Annotated[list[str], Parameter(negative="", show_default=False, allow_leading_hyphen=True)]

_EXAMPLES = """\
Examples:

    treebound fit data.csv --target label
    treebound fit folder/*.parquet --target label -o model.json
    treebound fit data.csv --target label --cv 5 -o model.json --page page.html
    treebound fit data.csv --target label --class-weight balanced --size small
    treebound fit data.csv --target label --certify folds --refer 0.05
    treebound fit data.tsv --target y --ignore id --ordinal size=S,M,L
    treebound fit data.csv --target ill --monotone age=+ --first "sex = male"
    treebound fit "duckdb:///file.db?table=visits" --target state --ignore id
    treebound fit export.csv --target y --sep ";" --encoding latin-1 --missing "?"\
"""


@app.command(help_epilogue=_EXAMPLES)
def fit(
    data: Data,
    /,
    *more: Path,
    target: str | None = None,
    pruning: Pruning = "bound",
    size: Size | None = None,
    criterion: Criterion = "entropy",
    max_leaves: int | None = None,
    min_samples_leaf: int = 1,
    thresholds: Thresholds = "decimal",
    monotone: Rules = (),  # type: ignore[assignment]
    class_order: str | None = None,
    first: Rules = (),  # type: ignore[assignment]
    unknown: Unknown = "other",
    certify: Certify = "training",
    delta: float = 0.05,
    target_risk: float | None = None,
    refer: Annotated[list[float], Parameter(negative="", show_default=False)] = (),  # type: ignore[assignment]
    jobs: int | None = None,
    cv: int | None = None,
    output: Output = None,
    page: Path | None = None,
    stream: Annotated[bool, Parameter(negative="")] = False,
    checkpoint: Path | None = None,
    force: Force = False,
    verbose: Annotated[bool, Parameter(negative="")] = False,
    quiet: Quiet = False,
    weights: WeightOptions = WeightOptions(),  # noqa: B008  # frozen
    options: TableOptions = TableOptions(),  # noqa: B008  # frozen
) -> None:
    """Fit a tree to a table: a file, a table of DuckDB, or '-' for standard input.

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
    size
        The tree of the least cross-validated error (accurate), or the smallest within half a
        standard error of it (balanced; the default from 1,000 rows on), or within one (small), or
        the largest within half (detailed).
    criterion
        What a split should decrease.
    max_leaves
        Most leaves of the tree.
    min_samples_leaf
        Least rows in a leaf.
    thresholds
        Where between two values a threshold lies: at the decimal with the fewest digits, halfway,
        or at the value on the left.
    monotone
        Columns with which the probability of the second class, or of the higher ones in
        --class-order, only rises or only falls: NAME=+ or NAME=-; may be repeated.
    class_order
        The classes from low to high, LABEL,LABEL,..., for --monotone with more than two.
    first
        A split that comes first, as it is printed, such as 'age <= 18'; may be repeated. Columns
        that are never asked are named with --ignore.
    unknown
        What to do with categories that training did not know.
    certify
        What the certificate is computed from: the training rows, rows held out, the best of
        several folds, or a prior over trees from a fifth of the rows.
    delta
        The certificate holds with probability 1 - delta.
    target_risk
        With --certify prior: the most accurate tree that is certified at this risk or below.
    refer
        Answer only where at most this share of the answered cases is misclassified, and give the
        label 'refer' (or -1) elsewhere. May be repeated: the promises share delta, and each has a
        file of its own, such as model-0.05.json.
    jobs
        Threads for growing.
    cv
        Also fit to parts of the rows, this many times, and say how often the rest is misclassified.
    output
        Where to write the model (JSON). Without it the tree is printed.
    page
        Where to write an HTML page that shows the tree.
    stream
        Read batch by batch even if it fits in memory.
    checkpoint
        A file that keeps the tree as far as it is grown, for tables that are read batch by batch:
        the same command goes on from it.
    verbose
        Also print the kind of every column.
    """
    from treebound.cli.models import save_model, summary
    from treebound.parameters import FitParameters
    from treebound.show import to_html, to_text

    _check_files(more)
    reads = [data, *more, options.schema]
    outputs, pages = _names(output, refer), _names(page, refer)
    for each in outputs:
        check_output(each, "model", reads=reads, force=force)
    for each in pages:
        check_output(each, "html", reads=reads, force=force)
    check_output(checkpoint, None, reads=reads, force=force)
    check_distinct(output=output, page=page, checkpoint=checkpoint)
    if cv is not None and cv < 2:
        raise invalid("cv", "", "an int >= 2, the number of folds", cv)
    parameters = FitParameters(
        criterion=criterion,
        max_leaves=max_leaves,
        min_samples_leaf=min_samples_leaf,
        thresholds=thresholds,
        monotonic_cst=_signs(monotone) or None,
        class_order=None if class_order is None else class_order.split(","),
        first=list(first) or None,
        pruning=None if pruning == "none" else pruning,
        size=size,
        class_weight="balanced" if weights.balanced else None,
        ordinal_features=options.ordered or None,
        unknown=unknown,
        certify=certify,
        delta=delta,
        target_risk=target_risk,
        n_jobs=jobs,
    )
    parameters.checked()  # before the table is read
    if is_database(data):
        if more or cv is not None or stream or checkpoint or weights.costs or (
            weights.class_weight and not weights.balanced
        ):  # fmt: skip
            raise ValueError(
                "A table of a database takes none of further files, --cv, --stream, --checkpoint, "
                "--costs and --class-weight LABEL=WEIGHT."
            )
        with progress(f"fitting {data}", quiet), warnings_as_lines(quiet):
            model = fit_database(parameters, data, target, weights.weight_column, options)
        sample = None
    elif must_stream([data, *more], stream or checkpoint is not None):
        if cv is not None:
            raise ValueError("A table that is read batch by batch cannot be cross-validated.")
        if weights.needs_labels:
            raise ValueError(
                "A table that is read batch by batch takes neither --costs, --weight-column nor "
                "--class-weight LABEL=WEIGHT. Hint: --class-weight balanced."
            )
        with progress(f"fitting {data}", quiet) as tell, warnings_as_lines(quiet):
            model = fit_files(parameters, [data, *more], target, options, tell, checkpoint)
        sample = None
    else:
        model, sample = _fit_in_memory(
            parameters, [data, *more], options, weights, target, cv, verbose, quiet
        )
    if not quiet:
        print_message(summary(model))
        for line in weights.promised(model):
            print_message(line)
    models = [model]
    if refer:
        from treebound.promises import refer as referring

        models = referring(model, list(refer))
        for each_model in models:
            print_message(str(each_model.referral))
    # The result first: cross-validation takes longer, and may be interrupted.
    for each_model, each in zip(models, outputs, strict=True):
        if each is not None:
            save_model(each_model, each)
        else:
            write_result(to_text(each_model), None)
    facts = _facts([data, *more], model)
    try:
        if cv is not None and sample is not None:
            facts["Cross-validated errors"] = _cross_validated(parameters, sample, model, cv, quiet)
    except KeyboardInterrupt as stop:
        stop.args = ("Cross-validation was stopped; the tree of all rows is fitted.",)
        raise
    finally:
        for each_model, each in zip(models, pages, strict=True):
            if each is not None:
                to_html(each_model, each, facts=facts)


def _names(path: Path | None, risks: Sequence[float]) -> list[Path | None]:
    """A file for each model: of several, the name tells the risk that it promises."""
    if path is None or len(risks) < 2:
        return [path] * max(len(risks), 1)
    return [path.with_stem(f"{path.stem}-{risk:g}") for risk in risks]


def _signs(texts: Sequence[str]) -> dict[str, int]:
    """The columns of --monotone."""
    found = {}
    for text in texts:
        name, _, sign = text.rpartition("=")
        if not name or sign not in ("+", "-"):
            raise invalid("monotone", "", "NAME=+ or NAME=-", text)
        found[name] = 1 if sign == "+" else -1
    return found


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
    paths: list[Path],
    options: TableOptions,
    weights: WeightOptions,
    target: str | None,
    folds: int | None,
    verbose: bool,
    quiet: bool,
) -> tuple[Model, Sample]:
    """Read the whole table, print what is suspicious, and fit."""
    from treebound.certificate import RowRecord
    from treebound.classifier.fitting import fit_sample, fit_table
    from treebound.cli.check import brief_lines

    with progress(f"reading {paths[0]}", quiet):
        table = read_training(paths, options, target)
        sample = weights.sample(table, parameters)
    if folds is not None and folds > sample.n_rows:
        raise invalid("cv", "", f"at most {sample.n_rows}, the number of rows", folds)
    if verbose:
        columns = plain_table(("column", "kind", "categories"), table.schema.rows())
        errors.print(columns, soft_wrap=not errors.is_terminal)
    if not quiet:
        names = f"{len(sample.columns):,} column{'s' * (len(sample.columns) != 1)}"
        print_message(
            f"{paths[0]}: {sample.n_rows:,} rows, {names}, target {table.schema.target!r} with "
            f"{sample.n_classes:,} classes."
        )
        for column in table.raw.schema.ignored:
            if column not in options.checked_schema(target).ignored:
                print_message(
                    f"Warning: Column {column!r} is left out: a tree cannot split on its type "
                    "(a date, a list, a map). Hint: make columns of the parts that matter."
                )
        for line in brief_lines(sample, str(table.schema.target)):
            print_message(line)
    name = table.schema.target
    with progress(f"fitting {sample.n_rows:,} rows", quiet), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is suspicious was printed above
        if parameters.certify in ("held-out", "folds"):  # columns are learned without some rows
            X, row_weights = weights.divided(table.raw.table())
            model = fit_table(parameters, X, table.raw.labels(), row_weights)
            model = replace(model, target=name)
        else:
            rows = RowRecord.of(sample, named=True)
            model = fit_sample(parameters, sample, target=name, rows=rows)
    return model, sample


def _cross_validated(
    parameters: FitParameters, sample: Sample, model: Model, k: int, quiet: bool
) -> str:
    """Cross-validate and print the result; the share of errors."""
    from treebound.classifier.fitting import cross_validated
    from treebound.cli.models import constant_error, percent
    from treebound.show.quality import quality_line
    from treebound.show.words import counted

    with progress(f"cross-validating, {k} folds", quiet):
        folds = cross_validated(parameters, sample, k)
    shares = [fold.errors / fold.rows for fold in folds]
    sizes = [fold.leaves for fold in folds]
    least, most = min(sizes), max(sizes)
    size = counted(most, "leaf") if least == most else f"{least:,} to {most:,} leaves"
    total = percent(sum(fold.errors for fold in folds) / sample.n_rows)
    print_message(
        f"{len(folds)}-fold cross-validation: {total} of the rows are misclassified "
        f"({percent(min(shares))} to {percent(max(shares))} in a fold; a constant answer: "
        f"{percent(constant_error(model.tree))}) by trees of {size}."
    )
    print_message(quality_line([fold.truth for fold in folds], [fold.shares for fold in folds]))
    return f"{total} ({len(folds)} folds)"
