"""``treebound fit`` and ``treebound prune``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from treebound._utils.choices import (
    CertificateChoice,
    PrunerName,
    Size,
    TreeSearch,
)
from treebound._utils.validation import invalid
from treebound.cli.app import command
from treebound.cli.options import (
    Data,
    Force,
    Json,
    LabelledOptions,
    Many,
    Model,
    Output,
    TableAnywhere,
    TableOptions,
    Target,
    is_database,
)  # fmt: skip
from treebound.cli.output import (
    check_distinct,
    check_output,
    print_json,
    print_message,
)
from treebound.cli.training import Training
from treebound.cli.weighting import WeightOptions

if TYPE_CHECKING:
    from treebound.model import RegressionModel
    from treebound.model.model import Model as FittedModel
    from treebound.model.parameters import FitParameters
    from treebound.model.regression_parameters import RegressionParameters

PruningAgain = Literal[PrunerName, "log-loss"]
Pruning = Literal[PruningAgain, "none"]


@Parameter(name="*")
@dataclass(frozen=True)
class TreeOptions:
    """How a tree is grown, pruned and certified.

    Parameters
    ----------
    pruning
        How the grown tree is pruned; log-loss: for probabilities.
    size
        The tree of the least cross-validated error (accurate), or the smallest within half a
        standard error of it (balanced; the default from 1,000 rows on), or within one (small), or
        the largest within half (detailed); or the best of at most 12 leaves (readable).
    cv
        Folds for the size of the tree and for the estimate of its error; 0 fits without folds.
    search
        How the top of the tree is found: by the best split alone (greedy), or by trying several
        columns at the root and at its children (wide; about twenty times as long); auto is wide up
        to 50,000 values, with --max-leaves of at most 16 up to 500,000, and greedy for more.
    max_leaves
        Maximum number of leaves.
    max_depth
        Maximum depth of the grown tree.
    monotone
        Columns with which the probability of the second class, or the number, only rises or only
        falls: NAME=+ or NAME=-; may be repeated. More than two classes need an order: --ordinal
        TARGET=LOW,...,HIGH.
    certificate
        What the certificate is computed from: the training rows, a tenth of the rows that is held
        out for calibration, the best of several folds, or a prior over trees from a fifth of the
        rows; auto holds rows out from 10,000 rows on, and takes the training rows below. Numbers
        have certificates from held-out rows and folds only. 'certify --delta' changes its
        probability.
    tolerance
        For numbers: the certificate bounds the share of predictions that are off by more than
        this; by default half a standard deviation.
    seed
        Seed of the folds, and of the rows that the certificate is computed from.
    """

    pruning: Pruning = "bound"
    size: Size | None = None
    cv: int = 5
    search: TreeSearch = "greedy"
    max_leaves: int | None = None
    max_depth: int | None = None
    monotone: Many = ()
    certificate: CertificateChoice = "auto"
    tolerance: float | None = None
    seed: int = 0

    def parameters(self, class_order: Sequence[str] | None, **further: Any) -> FitParameters:
        """The parameters of the library, checked before a table is read."""
        from treebound.model.parameters import FitParameters, checked_parameters, with_class_order

        values = {**vars(self), "cv": self.cv or None, **further}
        for name in _NUMBERS_ONLY:
            values.pop(name)
        values["monotonic_cst"] = _signs(values.pop("monotone")) or None
        values["random_state"] = values.pop("seed")
        values["pruning"] = None if self.pruning == "none" else self.pruning
        parameters = with_class_order(FitParameters(**values), class_order)
        checked_parameters(parameters)
        return parameters

    def for_numbers(self, **further: Any) -> RegressionParameters:
        """The parameters of a regression tree; a ValueError names an option it does not have."""
        from treebound.model.regression_parameters import RegressionParameters, checked_parameters

        usual = TreeOptions()
        for field in fields(self):
            if field.name not in _FOR_NUMBERS and vars(self)[field.name] != vars(usual)[field.name]:
                raise _not_for_numbers(field.name)
        if self.certificate in ("training", "prior"):
            must = "auto, held-out or folds for a target of numbers"
            raise invalid("certificate", "", must, self.certificate)
        if self.pruning not in _PRUNING_NUMBERS:
            must = "bound, cost-complexity or none for a target of numbers"
            raise invalid("pruning", "", must, self.pruning)
        names = ("size", "max_leaves", "max_depth", "certificate", "tolerance")
        parameters = RegressionParameters(
            **{name: vars(self)[name] for name in names},
            cv=self.cv or None,
            monotonic_cst=_signs(self.monotone) or None,
            random_state=self.seed,
            pruning=None if self.pruning == "none" else self.pruning,
            **further,
        )
        checked_parameters(parameters)
        return parameters

    @property
    def numbers_only(self) -> list[str]:
        """The options that were given and that only a target of numbers has."""
        given = (name for name in _NUMBERS_ONLY if vars(self)[name] is not None)
        return [f"--{name.replace('_', '-')}" for name in given]


_NUMBERS_ONLY = ("tolerance",)
_PRUNING_NUMBERS = ("bound", "cost-complexity", "none")
_FOR_NUMBERS = (
    "pruning",
    "size",
    "cv",
    "max_leaves",
    "max_depth",
    "monotone",
    "certificate",
    *_NUMBERS_ONLY,
    "seed",
)


def _not_for_numbers(name: str) -> ValueError:
    option = f"--{name.replace('_', '-')}"
    why = ", whose trees are always grown greedily" if name == "search" else ""
    return ValueError(
        f"The option {option} is not offered for a target of numbers{why}. Hint: leave it out, or "
        "predict classes with --task classify."
    )


@command(
    "treebound fit data.csv --target label",
    "treebound fit folder/*.parquet --target label -o model.json",
    "treebound fit data.csv --target label -o model.json --report tree.html",
    "treebound fit data.csv --target label --class-weight balanced --size small",
    "treebound fit data.csv --target label --pruning log-loss",
    "treebound fit data.csv --target label --certificate folds --abstain 0.05",
    "treebound fit data.csv --target label --alternatives 5",
    "treebound fit data.tsv --target y --ignore id --ordinal size=S,M,L",
    "treebound fit data.csv --target ill --monotone age=+",
    "treebound fit houses.csv --target price --max-leaves 12",
    "treebound fit houses.csv --target price --certificate held-out --tolerance 50",
    'treebound fit "duckdb:///file.db?table=visits" --target state --ignore id',
    'treebound fit export.csv --target y --sep ";" --encoding latin-1 --missing "?"',
)
def fit(
    data: TableAnywhere,
    /,
    *more: Path,
    target: str | None = None,
    tree: TreeOptions = TreeOptions(),  # frozen
    abstain: Annotated[list[float], Parameter(negative="", show_default=False)] = (),  # type: ignore[assignment]
    alternatives: int | None = None,
    jobs: int = -1,
    json: Json = False,
    output: Output = None,
    report: Path | None = None,
    stream: Annotated[bool, Parameter(negative="", show=False)] = False,
    quiet: Annotated[bool, Parameter(negative="", show=False)] = False,
    threshold: Annotated[str | None, Parameter(show=False)] = None,
    weights: WeightOptions = WeightOptions(),  # noqa: B008  # frozen
    options: TableOptions = TableOptions(),  # noqa: B008  # frozen
) -> None:
    """Fit a tree to a table: a file, a DuckDB table, or '-' for standard input.

    Several files and folders may be parts of one table. What does not fit in memory is read batch
    by batch.

    Parameters
    ----------
    more
        Further files with rows of the same table.
    target
        The column to predict; not needed if the schema names it.
    abstain
        Predict only where at most this share of the predicted cases is misclassified, and give the
        label 'abstain' (or -1) elsewhere. May be repeated: all bounds hold at once, and each model
        has a file of its own, such as model-0.05.json.
    alternatives
        Also print a table of at most so many good trees that differ, the fitted one first: their
        columns, leaves and errors. Their certificates hold for all of them at once.
    jobs
        Number of threads; -1 for one per core.
    output
        Where to write the model (JSON). Without it the tree is printed.
    report
        Where to write an HTML report that shows the tree.
    """
    from treebound.cli.models import summary, write_model
    from treebound.model import RegressionModel
    from treebound.model.summary import summary_values
    from treebound.show import to_html

    _check_files(more)
    if threshold is not None:  # the library calls another option --thresholds
        raise ValueError(
            "The option --threshold belongs to 'evaluate' and 'predict', which move it on a fitted "
            "tree. Hint: --costs LABEL=COST fits a tree to costs."
        )
    reads = [data, *more, options.schema]
    outputs, reports = _names(output, abstain), _names(report, abstain)
    for paths, form in ((outputs, "model"), (reports, "html")):
        for path in paths:
            check_output(path, form, reads=reads, force=None)
    check_distinct(output=output, report=report)
    if alternatives is not None and alternatives < 1:
        raise invalid("alternatives", "", "at least 1", alternatives)
    if alternatives is not None and (stream or is_database(data)):
        raise invalid("alternatives", "", "omitted for rows not in memory", alternatives)
    columns_as: dict[str, Any] = {
        "categorical_features": options.nominal_columns(target) or "from_dtype",
        "ordinal_features": options.ordered or None,
        "n_jobs": jobs,
    }
    given = {"abstain": abstain, "costs": weights.costs,
             "class_weight": weights.class_weight, "alternatives": alternatives}  # fmt: skip

    def for_numbers() -> RegressionParameters:
        for name, value in given.items():
            if value:
                raise _not_for_numbers(name)
        return tree.for_numbers(**columns_as)

    training = Training(
        [data, *more], target, options, weights, quiet, stream, for_numbers, tree.numbers_only
    )
    class_weight = "balanced" if weights.balanced else None
    parameters = tree.parameters(
        options.class_order(target),
        class_weight=class_weight,
        **columns_as,
    )
    model, columns, find_alternatives, rows = training.fit(parameters)
    files = data.name + (f" and {len(more)} more" if more else "")
    facts = {
        "Table": files,
        "Fitted on": date.today().isoformat(),
    }
    if isinstance(model, RegressionModel):
        _print_regression(model, output, json, quiet)
        if report is not None:
            to_html(model, report, rows=rows, facts=facts, file_columns=columns)
        return
    if not quiet:
        print_message(summary(model))
    models = _abstaining(model, abstain) if abstain else [model]
    if not quiet:
        abstentions = [str(one.abstention) for one in models if one.abstention is not None]
        bounds = [*weights.cost_bound(model)]
        _print_bounds(model, [*bounds, *abstentions])
        if weights.costs and not bounds:
            print_message("Hint: --certificate held-out, folds or prior bounds the mean cost, too.")
    for variant, path in zip(models, outputs, strict=True):
        if path is not None or not json:
            write_model(variant, path)
    several = None
    if alternatives is not None:
        if find_alternatives is None:
            raise invalid("alternatives", "", "omitted for rows not in memory", alternatives)
        several = find_alternatives(alternatives)
        if not json:
            print_message(f"\n{several}")
    if json:
        listed = {} if several is None else {"alternatives": several.table()}
        print_json({**summary_values(model), **listed})
    offered = None if abstain else several
    for variant, path in zip(models, reports, strict=True):
        if path is not None:
            described: dict[str, Any] = {"rows": rows, "facts": facts, "file_columns": columns}
            to_html(variant, path, alternatives=offered, **described)


def _print_regression(model: RegressionModel, output: Path | None, json: bool, quiet: bool) -> None:
    """Print the estimated errors of a regression tree; print or write the tree."""
    from treebound.cli.models import write_model
    from treebound.cli.numbers import summary_values

    if not quiet:
        print_message(model.summary())
    if output is not None or not json:
        write_model(model, output)
    if json:
        print_json(summary_values(model))


def _abstaining(model: FittedModel, risks: Sequence[float]) -> list[FittedModel]:
    """Return a model for each largest risk."""
    from treebound.model.guarantees import abstain

    return abstain(model, list(risks))


def _print_bounds(model: FittedModel, bounds: Sequence[str]) -> None:
    """Print the bounds besides the certificate, and that each holds separately."""
    from treebound.model.guarantees import SEPARATELY

    for bound in bounds:
        print_message(bound)
    if bounds and model.certificate is not None:
        print_message(SEPARATELY)


def _names(path: Path | None, risks: Sequence[float]) -> list[Path | None]:
    """Return a file for each model; the names of several contain their largest risk."""
    if path is None or len(risks) < 2:
        return [path] * max(len(risks), 1)
    return [path.with_stem(f"{path.stem}-{risk:g}") for risk in risks]


def _signs(texts: Sequence[str]) -> dict[str, int]:
    """The columns of --monotone."""
    signs = {}
    for text in texts:
        name, _, sign = text.rpartition("=")
        if not name or sign not in ("+", "-"):
            raise invalid("monotone", "", "NAME=+ or NAME=-", text)
        signs[name] = 1 if sign == "+" else -1
    return signs


def _check_files(more: Sequence[Path]) -> None:
    """Raise if a further file does not exist: it may be meant as the target."""
    for path in more:
        if not path.exists():
            hint = f"the column to predict is named with an option, --target {path}."
            if "=" in str(path):
                hint = "an option takes one value; repeat it, as in --costs A=20 --costs B=5."
            raise ValueError(f"There is no file {path}. Hint: {hint}")


def _smaller(model: RegressionModel, X: Any, y: Any, leaves: int) -> RegressionModel:
    """Return a regression tree with fewer leaves; other rows than those of fit are counted."""
    smaller = model.prune_to(leaves)
    return smaller if _are_rows_of_fit(model, X, y) else smaller.recounted(X, y)


def _are_rows_of_fit(model: FittedModel | RegressionModel, X: Any, y: Any) -> bool:
    """Return True if these are all rows that a model was fitted with, as far as it can compare."""
    record, hashes = model.provenance.row_record, model.hashes(X, y)
    if record is None or hashes is None:
        return False
    n_fitted = sum(sketch.rows for sketch in record.sketches.values())
    return len(hashes) == n_fitted and not record.unknown(hashes)[1]


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
    pruning: PruningAgain = "bound",
    leaves: int | None = None,
    output: Output = None,
    force: Force = False,
    options: LabelledOptions = LabelledOptions(),  # noqa: B008  # frozen
) -> None:
    """Prune the tree of a model again.

    A model keeps the tree it was pruned from, so that nothing is fitted anew. The table is the
    training table, or another one: counts, labels and errors are those of its rows. For
    "reduced-error", validation rows that were not used for fitting.

    Parameters
    ----------
    pruning
        The pruner; log-loss: for probabilities.
    leaves
        Keep at most this many leaves, instead of as many as the pruner chooses. With the training
        table and the pruner of fit, this is the tree of that size which fit compared.
    output
        Where to write the pruned model; without it the tree is printed.
    """
    from treebound.cli.models import labelled_rows, loaded_any, summary, write_model
    from treebound.estimators.verbs import prune as prune_model
    from treebound.model import RegressionModel

    check_output(output, "model", reads=[model, data, options.schema], force=force)
    loaded = loaded_any(model, data)
    grown = loaded.grown.n_leaves
    if leaves is not None and not 1 <= leaves <= grown:
        raise ValueError(
            f"The option --leaves must be from 1 to {grown:,}, the leaves of the grown tree. "
            f"Got {leaves:,} instead."
        )
    if isinstance(loaded, RegressionModel):
        if leaves is None or pruning != "bound":
            raise ValueError(
                "A regression tree is only pruned to another size. Hint: give --leaves, without "
                "--pruning."
            )
        smaller = _smaller(loaded, *labelled_rows(loaded, data, options, target), leaves)
        print_message(smaller.summary())
        write_model(smaller, output)
        return
    rows = labelled_rows(loaded, data, options, target)
    fitted = loaded.path is not None and loaded.provenance.parameters.get("pruning") == pruning
    if leaves is not None and fitted and _are_rows_of_fit(loaded, *rows):
        pruned = loaded.prune_to(leaves)  # a tree of the path of fit, with its estimate
        print_message(summary(pruned))
        write_model(pruned, output)
        return
    if pruning == "reduced-error":
        pruned = prune_model(loaded, validation=rows, pruner=pruning)
    else:
        pruned = prune_model(loaded, *rows, pruner=pruning)
    if leaves is not None:
        pruned = pruned.prune_to(leaves)
    print_message(summary(pruned))
    write_model(pruned, output)
