"""Where two models answer differently: ``treebound compare``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from treebound.cli.app import command
from treebound.cli.messages import print_json, print_result
from treebound.cli.options import Data, FileOptions, Json, Model, Target
from treebound.cli.overwrite import check_output


@command(
    "treebound compare old.json new.json data.csv",
    "treebound compare old.json new.json data.csv --target label --json",
)
def compare(
    a: Model,
    b: Model,
    data: Data,
    /,
    *,
    target: Target = None,
    json: Json = False,
    plot: Path | None = None,
    options: FileOptions = FileOptions(),  # noqa: B008  # frozen
) -> None:
    """Show where two models answer differently, and which is right.

    Prints the regions where the answers differ as rules, with the errors of both models there, and
    McNemar's exact test.

    Parameters
    ----------
    plot
        Where to draw the two trees side by side (PNG, SVG or PDF).
    """
    from treebound.cli.models import labelled_rows, loaded_model
    from treebound.show.compare import compare_read

    check_output(plot, "png", reads=[a, b, data, options.schema], force=True)
    if str(data) == "-" or (str(a), str(b)) == ("-", "-"):
        raise ValueError(
            "Only one of the models can come on standard input, and the table is read twice. "
            "Hint: name files."
        )
    models = [loaded_model(path) for path in (a, b)]
    tables = [labelled_rows(model, data, options, target) for model in models]
    comparison = compare_read(
        (models[0], tables[0].table()), (models[1], tables[1].table()), tables[0].labels()
    )
    if plot is not None:
        comparison.plot().savefig(plot, bbox_inches="tight")
    if not json:
        print_result(str(comparison))
        return
    figures = {
        name: value for name, value in vars(comparison).items() if name not in ("a", "b", "regions")
    }
    regions = [asdict(region) for region in comparison.regions]
    print_json({**figures, "regions": regions})
