"""Trees from tables: ``treebound fit | predict | prune | show | certify``."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from cyclopts import Parameter
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

import treebound as tb
from treebound.cli.app import app, console
from treebound.cli.models import (
    answers_for,
    check_rows,
    labelled_rows,
    loaded_model,
    save_model,
    schema_of,
)
from treebound.cli.output import table_form, table_writer, write_result
from treebound.cli.overwrite import check_output
from treebound.data.columns import Unknown
from treebound.datasets import Schema, iter_table, read_table
from treebound.exchange import Exports
from treebound.growing.options import Thresholds
from treebound.show import Forms
from treebound.tree.impurity import Criterion

if TYPE_CHECKING:
    from treebound.datasets import Dataset

__all__: list[str] = []

# What is said besides the result goes here, so that the result can be piped.
_aside = Console(stderr=True)

Pruner = Literal[
    "bound", "kearns-mansour", "cost-complexity", "reduced-error", "pessimistic", "mdl"
]
Pruning = Literal[Pruner, "none"]
Output = Annotated[Path | None, Parameter(name=["--output", "-o"], allow_leading_hyphen=True)]
Data = Annotated[Path, Parameter(allow_leading_hyphen=True)]
Switch = Annotated[bool, Parameter(negative="")]
# Every form that the classifier has as a method, and the pictures.
_METHODS = [name for forms in (Forms, Exports) for name in vars(forms) if name.startswith("to_")]
_PICTURES = ("svg", "png", "pdf")
_LIMITED = ("text", "dot", "latex", *_PICTURES)  # those that a depth can limit
if TYPE_CHECKING:
    Form = str
else:
    Form = Literal[(*(name.removeprefix("to_") for name in _METHODS), *_PICTURES)]


@app.command
def fit(
    data: Data,
    /,
    *,
    target: str | None = None,
    schema: Path | None = None,
    pruning: Pruning = "bound",
    criterion: Criterion = "entropy",
    max_leaves: int | None = None,
    min_samples_leaf: int = 1,
    thresholds: Thresholds = "decimal",
    unknown: Unknown = "other",
    delta: float = 0.05,
    jobs: int | None = None,
    output: Output = None,
    report: Path | None = None,
    force: Switch = False,
    quiet: Switch = False,
) -> None:
    """Fit a tree to a table: a CSV or Parquet file, or '-' for one on standard input.

    Parameters
    ----------
    data
        The table.
    target
        The column to predict; not needed if the schema names it.
    schema
        A TOML file that says what the columns are; what it does not say is inferred and shown.
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
    output
        Where to write the model (JSON). Without it the tree is printed.
    report
        Where to write a page that shows the tree.
    force
        Write over files of another kind too.
    quiet
        Say nothing but errors.
    """
    check_output(output, "model", reads=[data, schema], force=force)
    check_output(report, "html", reads=[data, schema], force=force)
    if output is not None and output == report:
        raise ValueError(f"The model and the page cannot both be {output}.")
    classifier = tb.BoundTreeClassifier(
        criterion=criterion,
        max_leaves=max_leaves,
        min_samples_leaf=min_samples_leaf,
        thresholds=thresholds,
        pruning=None if pruning == "none" else pruning,
        unknown=unknown,
        delta=delta,
        n_jobs=jobs,
    )
    classifier._checked()  # before the table is read
    with _progress(f"reading {data}", quiet):
        table = read_table(str(data), schema, target=target)
    _check_target(table, data)
    if not quiet:
        _aside.print(_types(table.schema), soft_wrap=not _aside.is_terminal)
    with _progress(f"fitting {len(table.frame):,} rows", quiet), _warnings_as_lines(quiet):
        classifier.fit(table.frame, table.target)
    if not quiet:
        _say(_summary(classifier))
    if output is not None:
        save_model(classifier, output)
    if report is not None:
        classifier.to_html(report)
    if output is None:
        write_result(classifier.to_text(), None)


@app.command
def predict(
    model: Data,
    data: Data,
    /,
    *,
    schema: Path | None = None,
    output: Output = None,
    proba: Switch = False,
    keep: Switch = False,
    chunk_rows: int = 100_000,
    force: Switch = False,
    quiet: Switch = False,
) -> None:
    """Answer for every row of a table, chunk by chunk: the table may be larger than memory.

    Parameters
    ----------
    model
        A model that 'treebound fit' wrote, or '-' for one on standard input.
    data
        A CSV or Parquet file, or '-' for one on standard input.
    schema
        A TOML file that says how the file is laid out and which texts are missing values.
    output
        A CSV or Parquet file; by default CSV on standard output.
    proba
        Also write the probability of every class.
    keep
        Also write the columns of the table.
    chunk_rows
        Rows in memory at a time.
    force
        Write over a file of another kind too.
    quiet
        Show no progress.
    """
    check_output(output, table_form(output), reads=[model, data, schema], force=force)
    classifier = loaded_model(model, data)
    columns = schema_of(classifier, schema)
    with table_writer(output) as writer, _progress(f"reading {data}", quiet) as say:
        done = 0
        for frame in iter_table(str(data), columns, chunk_rows, others=keep):
            writer.write(answers_for(classifier, frame, proba=proba, keep=keep))
            done += len(frame)
            say(f"{done:,} rows")


@app.command
def prune(
    model: Data,
    data: Data,
    /,
    *,
    target: str | None = None,
    schema: Path | None = None,
    pruning: Pruner = "bound",
    leaves: int | None = None,
    output: Output = None,
    force: Switch = False,
) -> None:
    """Prune the tree of a model again.

    Parameters
    ----------
    model
        A model that 'treebound fit' wrote, or '-' for one on standard input; if it kept the grown
        tree, that one is pruned.
    data
        The training table, or another one: counts, answers and errors are those of its rows. For
        "reduced-error", rows that took no part in fitting, which only judge.
    target
        The column to predict; by default the one the model was fitted to.
    schema
        A TOML file that says how the file is laid out and which texts are missing values.
    pruning
        The pruner.
    leaves
        Keep at most so many leaves instead of as many as the pruner chooses.
    output
        Where to write the pruned model; without it the tree is printed.
    force
        Write over a file of another kind too.
    """
    check_output(output, "model", reads=[model, data, schema], force=force)
    classifier = loaded_model(model, data)
    _check_leaves(leaves, classifier.grown_tree_.n_leaves)
    table = labelled_rows(classifier, data, schema, target)
    rows = (table.frame, table.target)
    if pruning == "reduced-error":
        pruned: Any = tb.prune(classifier, validation=rows, pruner=pruning)
    else:
        pruned = tb.prune(classifier, *rows, pruner=pruning)
    if leaves is not None:
        pruned = pruned.prune_to(leaves)
    _say(_summary(pruned))
    if output is not None:
        save_model(pruned, output)
    else:
        write_result(pruned.to_text(), None)


@app.command
def show(
    model: Data,
    /,
    *,
    as_: Annotated[Form, Parameter(name=["--as"])] = "text",
    max_depth: int | None = None,
    output: Output = None,
    force: Switch = False,
) -> None:
    """Show the tree of a model as text, rules, a picture, a page, or code.

    Parameters
    ----------
    model
        A model that 'treebound fit' wrote, or '-' for one on standard input.
    as_
        The form.
    max_depth
        Leave out what is deeper (text, dot and pictures).
    output
        A file; by default standard output.
    force
        Write over a file of another kind too.
    """
    check_output(output, as_, reads=[model], force=force)
    classifier = loaded_model(model)
    write_result(_shown(classifier, as_, max_depth), output)


@app.command
def certify(
    model: Data,
    data: Annotated[Path | None, Parameter(allow_leading_hyphen=True)] = None,
    /,
    *,
    target: str | None = None,
    schema: Path | None = None,
    delta: float | None = None,
    json: Switch = False,
) -> None:
    """Say what a model promises on new examples.

    Parameters
    ----------
    model
        A model that 'treebound fit' wrote, or '-' for one on standard input.
    data
        Labelled rows that took no part in fitting: the promise is then the Clopper-Pearson bound
        of a test set, and usually better. The training rows are known as such, all together.
    target
        The column to predict; by default the one the model was fitted to.
    schema
        A TOML file that says how the file is laid out and which texts are missing values.
    delta
        The promise holds with probability 1 - delta; by default as the model was fitted.
    json
        Print the certificate as JSON.
    """
    from dataclasses import asdict
    from json import dumps

    classifier = loaded_model(model, data)
    level = classifier.delta if delta is None else delta
    rows = None if data is None else labelled_rows(classifier, data, schema, target)
    if rows is not None and _are_training_rows(classifier, rows):
        _say("These are the rows that the model was fitted to; this is what they promise.")
        rows = None
    if rows is not None:
        wrong = int(np.sum(classifier.predict(rows.frame) != np.asarray(rows.target)))
        certificate: Any = tb.certify_holdout(wrong, len(rows.frame), delta=level)
    elif classifier.certificate_reason_ is not None:
        raise ValueError(f"There is no certificate for {model}: {classifier.certificate_reason_}")
    else:
        certificate = tb.certify(classifier, delta=level)
    if json:
        console.print_json(dumps(asdict(certificate), default=str))
    else:
        console.print(str(certificate), highlight=False, soft_wrap=True)


def _are_training_rows(classifier: tb.BoundTreeClassifier, rows: Dataset) -> bool:
    """Whether a table has, in every leaf, as many rows of each class as the model was fitted to."""
    from treebound.data import Sample

    tree = classifier.tree_
    sample = Sample.read(rows.frame, rows.target, columns=tree.columns, classes=tree.classes)
    counts, reached = tree.counts_on(sample)
    if tree.weighted:
        return bool(np.array_equal(reached, tree.rows))
    return bool(np.array_equal(counts, tree.counts))


# -- checks ------------------------------------------------------------------------------------


def _check_target(table: Dataset, data: Path) -> None:
    """Raise unless there are rows, and a target of classes."""
    if table.target is None:
        names = ", ".join(table.schema.names[:20])
        raise ValueError(
            f"Which column is to be predicted? Hint: name it with --target, one of {names}."
        )
    check_rows(table, data)
    if table.target.dtype.kind == "f" and bool((table.target % 1 != 0).any()):
        raise ValueError(
            f"The target column {table.schema.target!r} holds numbers with a fraction, not classes "
            f"(for example {table.target[table.target % 1 != 0].iloc[0]:g}). Hint: name another "
            "column with --target, or make classes of it."
        )


def _check_leaves(leaves: int | None, grown: int) -> None:
    if leaves is not None and not 1 <= leaves <= grown:
        raise ValueError(
            f"The option --leaves must be from 1 to {grown:,}, the leaves of the grown tree. "
            f"Got {leaves:,} instead."
        )


# -- what is shown -----------------------------------------------------------------------------


def _types(schema: Schema) -> Table:
    table = Table(title="columns", title_justify="left", box=None, pad_edge=False)
    for heading in ("column", "kind", "categories"):
        table.add_column(heading, overflow="fold")
    for row in schema.rows():
        table.add_row(*row)
    return table


def _summary(classifier: tb.BoundTreeClassifier) -> str:
    grown, tree = classifier.grown_tree_, classifier.tree_
    lines = [
        f"{_leaves(grown.n_leaves)} grown, {tree.n_leaves:,} kept; {_number(tree.errors)} of "
        f"{_number(tree.weight[0])} training examples are misclassified."
    ]
    certificate = classifier.certificate_
    reason = classifier.certificate_reason_
    lines.append(str(certificate) if certificate is not None else f"No certificate: {reason}")
    return "\n".join(lines)


def _leaves(count: int) -> str:
    return "1 leaf" if count == 1 else f"{count:,} leaves"


def _number(value: float) -> str:
    """A whole number in full, any other to six digits."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.6g}"


def _say(text: str) -> None:
    _aside.print(text, highlight=False, soft_wrap=True, markup=False)


@contextmanager
def _warnings_as_lines(quiet: bool) -> Iterator[None]:
    """Say what fitting warns of in one line each."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for warning in caught if not quiet else ():
        _say(f"Warning: {' '.join(str(warning.message).split())}")


def _shown(classifier: tb.BoundTreeClassifier, form: str, max_depth: int | None) -> str | bytes:
    if max_depth is not None and form not in _LIMITED:
        raise ValueError(f"A tree as {form} is always whole. Hint: leave out --max-depth.")
    limited = {} if max_depth is None else {"max_depth": max_depth}
    if form in _PICTURES:
        return _picture(classifier, form, limited)
    made = getattr(classifier, f"to_{form}")(**limited)
    return bytes(made.SerializeToString()) if form == "onnx" else str(made)


def _picture(classifier: tb.BoundTreeClassifier, form: str, options: dict[str, Any]) -> bytes:
    display = tb.show.TreeDisplay.from_estimator(classifier, **options)
    stream = BytesIO()
    display.figure_.savefig(stream, format=form, bbox_inches="tight")
    return stream.getvalue()


@contextmanager
def _progress(what: str, quiet: bool) -> Iterator[Any]:
    """A moving line on standard error while the block runs; call what it yields to change it."""
    if quiet or not _aside.is_terminal:
        yield lambda text: None
        return
    parts: Iterable[Any] = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*parts, console=_aside, transient=True) as progress:
        task = progress.add_task(what, total=None)
        yield lambda text: progress.update(task, description=f"{what}: {text}")
