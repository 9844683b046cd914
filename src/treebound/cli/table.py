"""Trees from tables: ``treebound fit | predict | prune | show | certify``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from cyclopts import Parameter
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

import treebound as tb
from treebound.classifier.parameters import check_parameters
from treebound.cli.app import app, console
from treebound.cli.output import check_writable, table_writer, write_result
from treebound.datasets import Schema, iter_table, read_schema, read_table
from treebound.exchange import Exports
from treebound.show import Forms

if TYPE_CHECKING:
    import pandas as pd

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
    criterion: Literal["entropy", "gini", "misclassification"] = "entropy",
    max_leaves: int | None = None,
    min_samples_leaf: int = 1,
    unknown: Literal["majority", "stop", "missing", "error"] = "majority",
    delta: float = 0.05,
    jobs: int | None = None,
    output: Output = None,
    report: Path | None = None,
    quiet: Annotated[bool, Parameter(negative="")] = False,
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
        Most leaves of the grown tree.
    min_samples_leaf
        Least rows in a leaf.
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
    quiet
        Say nothing but errors.
    """
    for path in (output, report):
        if path is not None and str(path) != "-":
            check_writable(path)
    classifier = tb.BoundTreeClassifier(
        criterion=criterion,
        max_leaves=max_leaves,
        min_samples_leaf=min_samples_leaf,
        pruning=None if pruning == "none" else pruning,
        unknown=unknown,
        delta=delta,
        n_jobs=jobs,
    )
    check_parameters(classifier)
    with _progress(f"reading {data}", quiet):
        table = read_table(str(data), schema, target=target)
    _need_target(table)
    if not quiet:
        _aside.print(_types(table.schema), soft_wrap=not _aside.is_terminal)
    with _progress(f"fitting {len(table.frame):,} rows", quiet):
        classifier.fit(table.frame, table.target)
    if not quiet:
        _aside.print(_summary(classifier), highlight=False, soft_wrap=True)
    if output is not None:
        _save(classifier, output)
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
    proba: Annotated[bool, Parameter(negative="")] = False,
    keep: Annotated[bool, Parameter(negative="")] = False,
    chunk_rows: int = 100_000,
    quiet: Annotated[bool, Parameter(negative="")] = False,
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
    quiet
        Show no progress.
    """
    classifier = _loaded(model, data)
    columns = _schema_of(classifier, schema)
    with table_writer(output) as writer, _progress(f"reading {data}", quiet) as say:
        done = 0
        for frame in iter_table(str(data), columns, chunk_rows, others=keep):
            writer.write(_answers(classifier, frame, proba=proba, keep=keep))
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
) -> None:
    """Prune the tree of a model again, its errors counted on the table given.

    Parameters
    ----------
    model
        A model that 'treebound fit' wrote, or '-' for one on standard input; if it kept the grown
        tree, that one is pruned.
    data
        The training table, or another one.
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
    """
    if output is not None and str(output) != "-":
        check_writable(output)
    classifier = _loaded(model, data)
    table = _labelled(classifier, data, schema, target)
    pruned: Any = tb.prune(classifier, table.frame, table.target, pruner=pruning)
    if leaves is not None:
        pruned = pruned.prune_to(leaves=leaves)
    _aside.print(_summary(pruned), highlight=False, soft_wrap=True)
    if output is not None:
        _save(pruned, output)
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
    """
    classifier = _loaded(model)
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
    json: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Say what a model promises on new examples.

    Parameters
    ----------
    model
        A model that 'treebound fit' wrote, or '-' for one on standard input.
    data
        Labelled rows that took no part in fitting: the promise is then the Clopper-Pearson bound
        of a test set, and usually better.
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

    classifier = _loaded(model, data)
    level = classifier.delta if delta is None else delta
    if data is not None:
        table = _labelled(classifier, data, schema, target)
        wrong = int(np.sum(classifier.predict(table.frame) != np.asarray(table.target)))
        certificate: Any = tb.certify_holdout(wrong, len(table.frame), delta=level)
    elif classifier.certificate_reason_ is not None:
        raise ValueError(f"There is no certificate for {model}: {classifier.certificate_reason_}")
    else:
        certificate = tb.certify(classifier.tree_, delta=level)
    if json:
        console.print_json(dumps(asdict(certificate), default=str))
    else:
        console.print(str(certificate), highlight=False, soft_wrap=True)


# -- models, tables and answers ----------------------------------------------------------------


def _loaded(model: Path, data: Path | None = None) -> tb.BoundTreeClassifier:
    if str(model) != "-":
        return tb.BoundTreeClassifier.load(model)
    if str(data) == "-":
        raise ValueError("The model and the table cannot both come on standard input.")
    from treebound.classifier.storage import restored
    from treebound.exchange import loads

    piped: tb.BoundTreeClassifier = restored(tb.BoundTreeClassifier, loads(sys.stdin.buffer.read()))
    return piped


def _need_target(table: Dataset) -> None:
    if table.target is None:
        names = ", ".join(table.schema.names[:20])
        raise ValueError(
            f"Which column is to be predicted? Hint: name it with --target, one of {names}."
        )


def _schema_of(
    classifier: tb.BoundTreeClassifier, layout: Path | None = None, target: str | None = None
) -> Schema:
    """The columns as the model knows them, in a file laid out as a schema says."""
    given = Schema() if layout is None else read_schema(layout)
    columns = tuple(replace(column, declared=True) for column in classifier.columns_)
    classes = None if target is None else tuple(classifier.classes_.tolist())
    known = {column.name for column in columns} | {target}
    named = set(given.order)
    # Without a header the schema's own order says which column is which.
    order = given.order if known - {None} <= named else ()
    ignored = tuple(name for name in given.order if name not in known)
    return Schema(columns, target, classes, ignored, given.missing, "ignore", given.layout, order)


def _labelled(
    classifier: tb.BoundTreeClassifier, data: Path, schema: Path | None, target: str | None
) -> Dataset:
    name = target or classifier.target_name_
    if name is None:
        raise ValueError("The model does not name its target. Hint: name the column with --target.")
    return read_table(str(data), _schema_of(classifier, schema, name))


def _answers(
    classifier: tb.BoundTreeClassifier, frame: pd.DataFrame, *, proba: bool, keep: bool
) -> pd.DataFrame:
    import pandas as pd

    known = frame[[column.name for column in classifier.columns_]]
    name = classifier.target_name_ or "prediction"
    if keep and name in frame.columns:
        name = f"predicted {name}"
    answers = frame.copy() if keep else pd.DataFrame(index=frame.index)
    if not len(frame):
        answers[name] = pd.Series(dtype=classifier.classes_.dtype)
    else:
        answers[name] = classifier.predict(known)
    if proba:
        width = len(classifier.classes_)
        given = classifier.predict_proba(known) if len(frame) else np.empty((0, width))
        for at, label in enumerate(classifier.classes_.tolist()):
            answers[f"P({label})"] = given[:, at]
    return answers


def _save(classifier: tb.BoundTreeClassifier, path: Path) -> None:
    if str(path) == "-":
        from treebound.classifier.storage import model_of
        from treebound.exchange import dumps

        write_result(dumps(model_of(classifier)), None)
    else:
        classifier.save(path)


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
        f"{grown.n_leaves} leaves grown, {tree.n_leaves} kept; {tree.errors:g} of "
        f"{tree.weight[0]:g} training examples are misclassified."
    ]
    certificate = classifier.certificate_
    reason = classifier.certificate_reason_
    lines.append(str(certificate) if certificate is not None else f"No certificate: {reason}")
    return "\n".join(lines)


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
