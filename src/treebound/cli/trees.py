"""The tree of a model: ``treebound prune | show``."""

from __future__ import annotations

from io import BytesIO
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from treebound.classifier.model import TreeModel
from treebound.cli.app import app
from treebound.cli.fit import Pruner
from treebound.cli.models import labelled_rows, loaded_model, save_model, summary
from treebound.cli.options import Data, FileOptions, Force, Model, Output, Target
from treebound.cli.output import write_result
from treebound.cli.overwrite import check_output
from treebound.cli.speaking import say
from treebound.exchange import Exports
from treebound.show import Forms
from treebound.verbs import prune as prune_model

__all__ = ["prune", "show"]

# Every form that the classifier has as a method, and the pictures.
_METHODS = [name for forms in (Forms, Exports) for name in vars(forms) if name.startswith("to_")]
_PICTURES = ("svg", "png", "pdf")
_LIMITED = ("text", "dot", "latex", *_PICTURES)  # those that a depth can limit
Form: Any = Literal[(*(name.removeprefix("to_") for name in _METHODS), *_PICTURES)]

_PRUNE = """\
Examples:

    treebound prune model.json data.csv --leaves 5 -o small.json

    treebound prune model.json data.csv --pruning cost-complexity

    treebound prune model.json judge.csv --pruning reduced-error -o pruned.json\
"""
_SHOW = """\
Examples:

    treebound show model.json

    treebound show model.json --as svg -o tree.svg

    treebound show model.json --as sql > score.sql\
"""


@app.command(help_epilogue=_PRUNE)
def prune(
    model: Model,
    data: Data,
    /,
    *,
    target: Target = None,
    pruning: Pruner = "bound",
    leaves: int | None = None,
    output: Output = None,
    force: Force = False,
    options: FileOptions = FileOptions(),  # noqa: B008  # frozen
) -> None:
    """Prune the tree of a model again.

    A model keeps the tree it was pruned from, so that nothing is fitted anew. The table is the
    training table, or another one: counts, answers and errors are those of its rows. For
    "reduced-error", rows that took no part in fitting, which only judge.

    Parameters
    ----------
    pruning
        The pruner.
    leaves
        Keep at most so many leaves instead of as many as the pruner chooses.
    output
        Where to write the pruned model; without it the tree is printed.
    """
    check_output(output, "model", reads=[model, data, options.schema], force=force)
    loaded = loaded_model(model, data)
    _check_leaves(leaves, loaded.grown_tree_.n_leaves)
    table = labelled_rows(loaded, data, options, target)
    rows = (table.table(), table.labels())
    if pruning == "reduced-error":
        pruned: Any = prune_model(loaded, validation=rows, pruner=pruning)
    else:
        pruned = prune_model(loaded, *rows, pruner=pruning)
    if leaves is not None:
        pruned = pruned.prune_to(leaves)
    say(summary(pruned))
    if output is not None:
        save_model(pruned, output)
    else:
        write_result(pruned.to_text(), None)


@app.command(help_epilogue=_SHOW)
def show(
    model: Model,
    /,
    *,
    as_: Annotated[Form, Parameter(name=["--as"])] = "text",
    max_depth: int | None = None,
    output: Output = None,
    force: Force = False,
) -> None:
    """Show the tree of a model as text, rules, a picture, a page, or code.

    Parameters
    ----------
    as_
        The form.
    max_depth
        Leave out what is deeper (text, dot and pictures).
    output
        A file; by default standard output.
    """
    check_output(output, as_, reads=[model], force=force)
    write_result(_shown(loaded_model(model), as_, max_depth), output)


def _check_leaves(leaves: int | None, grown: int) -> None:
    if leaves is not None and not 1 <= leaves <= grown:
        raise ValueError(
            f"The option --leaves must be from 1 to {grown:,}, the leaves of the grown tree. "
            f"Got {leaves:,} instead."
        )


def _shown(model: TreeModel, form: str, max_depth: int | None) -> str | bytes:
    if max_depth is not None and form not in _LIMITED:
        raise ValueError(f"A tree as {form} is always whole. Hint: leave out --max-depth.")
    limited = {} if max_depth is None else {"max_depth": max_depth}
    if form in _PICTURES:
        return _picture(model, form, limited)
    made = getattr(model, f"to_{form}")(**limited)
    return bytes(made.SerializeToString()) if form == "onnx" else str(made)


def _picture(model: TreeModel, form: str, options: dict[str, Any]) -> bytes:
    from treebound.show import TreeDisplay

    display = TreeDisplay.from_estimator(model, **options)
    stream = BytesIO()
    display.figure_.savefig(stream, format=form, bbox_inches="tight")
    return stream.getvalue()
