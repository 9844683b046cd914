"""``treebound evaluate`` and ``treebound certify``: what a model is worth on new rows."""

from __future__ import annotations

from dataclasses import asdict
from json import dumps
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from treebound.cli.app import app, console
from treebound.cli.options import Data, FileOptions, Model, Switch, Target
from treebound.cli.speaking import plain_table, say

__all__ = ["certify", "evaluate"]

_MOST_CLASSES = 12  # in a confusion matrix on a terminal
_TRAINING = (
    "These rows took part in fitting, so new rows will be misclassified more often: see "
    "'treebound certify MODEL'."
)
_OWN = "These rows took part in fitting, so this is the model's own certificate."

_EVALUATE = """\
Examples:

    treebound evaluate model.json test.csv
    treebound evaluate model.json test.csv --target label --json\
"""
_CERTIFY = """\
Examples:

    treebound certify model.json
    treebound certify model.json test.csv --delta 0.01\
"""


@app.command(help_epilogue=_EVALUATE)
def evaluate(
    model: Model,
    data: Data,
    /,
    *,
    target: Target = None,
    delta: float | None = None,
    json: Switch = False,
    options: FileOptions = FileOptions(),  # noqa: B008  # frozen
) -> None:
    """Try a model on labelled rows that took no part in fitting.

    Prints how many rows are misclassified, every class with its precision and recall, the
    confusion matrix, and what the rows promise of new ones.

    Parameters
    ----------
    delta
        The promise holds with probability 1 - delta; by default as the model was fitted.
    json
        Print all figures as JSON.
    """
    from treebound.cli.figures import figures_of
    from treebound.cli.models import labelled_rows, loaded_model

    loaded = loaded_model(model, data)
    rows = labelled_rows(loaded, data, options, target)
    figures = figures_of(loaded, rows)
    kind = "held-out" if loaded.rows is None else None
    try:
        certificate = loaded.certify(rows.table(), rows.labels(), kind=kind, delta=delta)
        refusal = _TRAINING if certificate.kind == "training" else ""
    except ValueError as error:
        certificate, refusal = None, str(error)
    if json:
        promise = None if refusal or certificate is None else asdict(certificate)
        figures = {**figures, "not_held_out": refusal or None, "certificate": promise}
        console.print_json(dumps(figures, default=_plain))
        return
    loss = figures["log_loss"]
    _print(
        f"{figures['errors']:,} of {figures['rows']:,} rows "
        f"{'is' if figures['errors'] == 1 else 'are'} misclassified "
        f"({_percent(figures['error'])}; always {figures['majority']!r}: "
        f"{_percent(figures['majority_error'])})."
        + ("" if loss is None else f" Log-loss {loss:.3f}.")
    )
    console.print()
    _print_classes(figures)
    console.print()
    _print_confusion(figures)
    console.print()
    _print(refusal or str(certificate))


@app.command(help_epilogue=_CERTIFY)
def certify(
    model: Model,
    data: Annotated[
        Path | None,
        Parameter(allow_leading_hyphen=True, help="Labelled rows. Those that took no part in "
                  "fitting give a certificate of their own, usually a better one; the rows of fit "
                  "are recognised."),
    ] = None,
    /,
    *,
    target: Target = None,
    kind: Literal["training", "held-out"] | None = None,
    delta: float | None = None,
    json: Switch = False,
    options: FileOptions = FileOptions(),  # noqa: B008  # frozen
) -> None:  # fmt: skip
    """Say what a model promises on new examples.

    Parameters
    ----------
    kind
        What the rows are, for a model that has no record of its rows.
    delta
        The promise holds with probability 1 - delta; by default as the model was fitted.
    json
        Print the certificate as JSON.
    """
    from treebound.cli.models import labelled_rows, loaded_model

    loaded = loaded_model(model, data)
    if data is None:
        certificate = loaded.certify(delta=delta)
    else:
        rows = labelled_rows(loaded, data, options, target)
        certificate = loaded.certify(rows.table(), rows.labels(), kind=kind, delta=delta)
        if kind is None and certificate.kind == "training":
            say(_OWN)
    if json:
        console.print_json(dumps(asdict(certificate), default=str))
    else:
        _print(str(certificate))


def _print_classes(figures: dict[str, Any]) -> None:
    def text(share: float | None) -> str:
        return "" if share is None else _percent(share)

    names = ("class", "rows", "precision", "recall", "F1")
    columns = (figures[name] for name in ("rows_of_class", "precision", "recall", "f1"))
    rows = [
        (str(label), f"{count:,}", *map(text, shares))
        for label, count, *shares in zip(figures["classes"], *columns, strict=True)
    ]
    console.print(plain_table(names, rows, numbers=names[1:]), soft_wrap=not console.is_terminal)


def _print_confusion(figures: dict[str, Any]) -> None:
    """Rows are the true classes, columns the answers; the commonest classes if there are many."""
    counts = figures["confusion"]
    labels = [str(label) for label in figures["classes"]]
    chosen = list(range(len(labels)))
    if len(labels) > _MOST_CLASSES:
        asked = figures["rows_of_class"]
        chosen = sorted(sorted(chosen, key=lambda at: -asked[at])[:_MOST_CLASSES])
        _print(f"The {_MOST_CLASSES} commonest of {len(labels)} classes; --json has all.")
    heads = [f"predicted {labels[at]}" if at == chosen[0] else labels[at] for at in chosen]
    rows = [(labels[at], *(f"{counts[at][to]:,}" for to in chosen)) for at in chosen]
    shown = plain_table(("true", *heads), rows, numbers=heads)
    console.print(shown, soft_wrap=not console.is_terminal)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _print(text: str) -> None:
    console.print(text, highlight=False, soft_wrap=True, markup=False)


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)
