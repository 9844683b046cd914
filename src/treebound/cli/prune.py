"""``treebound prune``."""

from __future__ import annotations

from typing import Any

from treebound.cli.app import command
from treebound.cli.fit import Pruner
from treebound.cli.messages import print_message
from treebound.cli.options import Data, FileOptions, Force, Model, Output, Target
from treebound.cli.overwrite import check_output


@command(
    "treebound prune model.json data.csv --leaves 5 -o small.json",
    "treebound prune model.json data.csv --pruning cost-complexity",
    "treebound prune model.json validation.csv --pruning reduced-error -o pruned.json",
)
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
    "reduced-error", validation rows that took no part in fitting.

    Parameters
    ----------
    pruning
        The pruner.
    leaves
        Keep at most this many leaves, instead of as many as the pruner chooses.
    output
        Where to write the pruned model; without it the tree is printed.
    """
    from treebound.cli.models import labelled_rows, loaded_model, summary, write_model
    from treebound.verbs import prune as prune_model

    check_output(output, "model", reads=[model, data, options.schema], force=force)
    loaded = loaded_model(model, data)
    grown = loaded.grown.n_leaves
    if leaves is not None and not 1 <= leaves <= grown:
        raise ValueError(
            f"The option --leaves must be from 1 to {grown:,}, the leaves of the grown tree. "
            f"Got {leaves:,} instead."
        )
    table = labelled_rows(loaded, data, options, target)
    rows = (table.table(), table.labels())
    if pruning == "reduced-error":
        pruned: Any = prune_model(loaded, validation=rows, pruner=pruning)
    else:
        pruned = prune_model(loaded, *rows, pruner=pruning)
    if leaves is not None:
        pruned = pruned.prune_to(leaves)
    print_message(summary(pruned))
    write_model(pruned, output)
