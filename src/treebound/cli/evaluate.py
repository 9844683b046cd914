"""Quality of a model on new rows: ``treebound evaluate``, ``certify`` and ``compare``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from treebound._utils.validation import WordedError, WordedText
from treebound.cli.app import command, console, for_command_line
from treebound.cli.options import (
    Data,
    Delta,
    Json,
    LabelledOptions,
    Model,
    More,
    Switch,
    TableAnywhere,
    Target,
    Threshold,
)
from treebound.cli.output import check_output, plain_table, print_json, print_result
from treebound.cli.weighting import Numbers

if TYPE_CHECKING:
    from treebound.certificate import Certificate
    from treebound.certificate.abstention import Abstention
    from treebound.model import RegressionModel
    from treebound.model.model import Model as FittedModel

_MAX_CLASSES = 12  # in a confusion matrix
_MAX_PAIRS = 12  # of classes, if that is too large


@command(
    "treebound evaluate model.json test.csv",
    "treebound evaluate model.json test.csv --target label --json",
)
def evaluate(
    model: Model,
    data: TableAnywhere,
    /,
    *more: More,
    target: Target = None,
    delta: Delta = None,
    threshold: Threshold = None,
    plot: Path | None = None,
    json: Json = False,
    options: LabelledOptions = LabelledOptions(),  # noqa: B008  # frozen
) -> None:
    """Try a model on labelled rows that were not used for fitting.

    Prints how many rows are misclassified, every class with its precision and recall, the
    confusion matrix, and the certificate from these rows; of numbers, the RMSE, the mean absolute
    error, R2 and the certificate. The table may be larger than memory, unless it holds numbers.

    Parameters
    ----------
    plot
        File for a plot of the share of correct predictions by probability (PNG, SVG or PDF); not
        for numbers.
    """
    import numpy as np

    from treebound.cli.models import labelled_rows, loaded_any, tested_rows
    from treebound.cli.weighting import PredictionThreshold, cost_figures
    from treebound.model import RegressionModel
    from treebound.model.guarantees import certify_cost
    from treebound.show.quality import calibration_plot, figures_of

    check_output(plot, "png", reads=[model, data, *more, options.schema], force=True)
    fitted = loaded_any(model, data)
    if isinstance(fitted, RegressionModel):
        _refuse_for_numbers(threshold=threshold, plot=plot)
        rows = labelled_rows(fitted, [data, *more], options, target)
        _evaluate_numbers(fitted, rows, delta, json)
        return
    moved = None if threshold is None else PredictionThreshold.of(fitted, threshold)
    loaded = fitted if moved is None else moved.applied(fitted)
    tested = tested_rows(loaded, [data, *more], options, target)
    figures = figures_of(loaded, tested)
    table = np.array(figures["confusion"])
    if loaded.abstention is None:
        figures = {**cost_figures(loaded, table), **figures}
    if plot is not None:
        calibration_plot(figures).savefig(plot)
    certificate, cost_bound, refusal = None, None, ""
    try:
        certificate = loaded.certify_tested(tested, delta=delta)
        if loaded.costs is not None:
            cost_bound = certify_cost(loaded, tested, delta=delta)
    except ValueError as error:
        refusal = _in_options(error)
    if moved is not None:
        figures |= moved.figures(figures, figures_of(fitted, tested))
    if json:
        fields = None if certificate is None else _fields(certificate)
        some = {} if loaded.abstention is None else _predicted(figures, loaded.abstention)
        if cost_bound is not None:
            some["cost_certificate"] = asdict(cost_bound)
        print_json({**figures, "not_certified": refusal or None, "certificate": fields, **some})
    elif loaded.abstention is not None:
        _print_predicted(figures, loaded.abstention)
    else:
        if moved is not None:
            print_result(moved.words(figures))
        _print_figures(figures, loaded)
        if cost_bound is not None:
            print_result(str(cost_bound))
        print_result(refusal or str(certificate))
        if certificate is not None and _few_classes(certificate):
            print_result("\n".join(certificate.class_lines()))


def _in_options(error: ValueError) -> str:
    """Return the message of an error in the words of the command line."""
    parts = error.parts if isinstance(error, WordedError) else (str(error),)
    return for_command_line(WordedText(*parts))


def _refuse_for_numbers(**given: Any) -> None:
    """Raise a ValueError if an option was given that regression trees do not have."""
    for name, value in given.items():
        if value:
            raise ValueError(
                f"The option --{name.replace('_', '-')} is not offered for a regression tree. "
                "Hint: leave it out."
            )


def _evaluate_numbers(
    model: RegressionModel, rows: tuple[Any, Any], delta: float | None, json: bool
) -> None:
    """Print the errors of a regression tree next to those of the training mean, certified."""
    import numpy as np

    from treebound._utils.quantities import quantity

    table, y = rows
    errors = np.abs(model.predict(table, n_jobs=-1) - y)
    baseline = np.abs(float(model.tree.mean[0]) - y)
    spread = float(((y - y.mean()) ** 2).sum())
    figures: dict[str, Any] = {
        "rows": len(y),
        "rmse": float(np.sqrt((errors**2).mean())),
        "mae": float(errors.mean()),
        "r2": 1.0 - float((errors**2).sum()) / spread if spread else None,
        "baseline_rmse": float(np.sqrt((baseline**2).mean())),
        "baseline_mae": float(baseline.mean()),
    }
    certificate, refusal = None, ""
    try:
        certificate = model.certify(table, y, delta=delta)
    except ValueError as error:
        refusal = _in_options(error)
    if json:
        fields = None if certificate is None else asdict(certificate)
        print_json({**figures, "not_certified": refusal or None, "certificate": fields})
        return
    r2 = "" if figures["r2"] is None else f", R2 {figures['r2']:.4g}"
    print_result(
        f"RMSE {quantity(figures['rmse'])} on {len(y):,} rows (baseline "
        f"{quantity(figures['baseline_rmse'])}, always the training mean), mean absolute error "
        f"{quantity(figures['mae'])} (baseline {quantity(figures['baseline_mae'])}){r2}."
    )
    print_result(refusal or str(certificate))


@command(
    "treebound certify model.json",
    "treebound certify model.json test.csv --delta 0.01",
)
def certify(
    model: Model,
    data: Annotated[
        Path | None,
        Parameter(allow_leading_hyphen=True, help="Labelled rows that were not used for fitting, "
                  "unless --kind states otherwise: they give a certificate of their own, usually a "
                  "better one."),
    ] = None,
    /,
    *,
    target: Target = None,
    kind: Literal["training", "held-out", "prior"] | None = None,
    delta: Delta = None,
    costs: Numbers = (),
    groups: str | None = None,
    tolerance: float | None = None,
    y_range: tuple[float, float] | None = None,
    json: Json = False,
    verbose: Switch = False,
    options: LabelledOptions = LabelledOptions(),  # noqa: B008  # frozen
) -> None:  # fmt: skip
    """Print the certificate of a model: a bound on its errors on new examples.

    A model that was fitted with --costs also has a bound on the mean cost of a new example.

    Parameters
    ----------
    kind
        What the rows are: held-out if they were not used for fitting (the default), training for
        all training rows, prior for all training rows in their order, of which a fifth defines a
        prior over trees.
    costs
        Bound the mean cost alone, with these costs: LABEL=COST, what an error on a class costs
        (may be repeated; 1 for the others).
    groups
        A column with the group of each row, of which one is counted; required if fit had --groups.
    tolerance
        For numbers: bound the share of predictions that are off by more than this, chosen without
        these rows; by default as in fit.
    y_range
        For numbers: the least and the greatest possible value, to bound the mean absolute error
        and the RMSE; by default as in fit.
    verbose
        Also print what the proof of the bound uses.
    """
    from treebound.cli.models import (
        grouped_rows,
        labelled_rows,
        loaded_any,
        one_leaf,
        tested_rows,
    )
    from treebound.cli.weighting import by_class
    from treebound.model import RegressionModel
    from treebound.model.guarantees import SEPARATELY, certify_cost, unused_rows

    if kind is not None and data is None:
        raise ValueError(
            "The option --kind describes the rows of a table. Hint: name the table, or leave out "
            "--kind for the certificate of fit."
        )
    if groups is not None and (data is None or kind not in (None, "held-out")):
        raise ValueError(
            "The option --groups needs a table of rows that were not used for fitting. Hint: name "
            "one, or leave out --groups for the certificate of fit."
        )
    loaded = loaded_any(model, data)
    if isinstance(loaded, RegressionModel):
        _refuse_for_numbers(costs=costs, kind=kind if kind != "held-out" else None)
        number_rows = None
        if data is not None:
            number_rows = grouped_rows(loaded, data, options, target, groups)
        _certify_numbers(loaded, number_rows, tolerance, y_range, delta, json)
        return
    for name, value in (("tolerance", tolerance), ("y-range", y_range)):
        if value is not None:
            raise ValueError(f"The option --{name} needs a regression tree. Hint: leave it out.")
    if loaded.abstention is not None:
        if data is not None or costs:
            raise ValueError(
                "The bound of a tree that abstains is that of the rows which chose its leaves. "
                "Hint: leave out the table and --costs; 'treebound evaluate' counts the errors on "
                "new rows."
            )
        print_result(str(loaded.abstention))
        return
    if costs:
        by_label, rows = by_class(costs, loaded.classes.tolist()), None
        if data is not None:
            table = grouped_rows(loaded, data, options, target, groups)
            rows = unused_rows(loaded, *table, "certify_cost")
        bound = certify_cost(loaded, rows, costs=by_label, delta=delta)
        print_json(asdict(bound)) if json else print_result(str(bound))
        return
    cost_bound = None
    if data is None:
        certificate = loaded.certify(delta=delta)
        if loaded.has_cost_rows:
            cost_bound = certify_cost(loaded, delta=delta)
    elif kind in ("training", "prior"):
        certificate = loaded.certify(
            *labelled_rows(loaded, data, options, target), kind=kind, delta=delta
        )
    else:
        if groups is None:
            tested = tested_rows(loaded, [data], options, target)
        else:
            tested = loaded.tested(*grouped_rows(loaded, data, options, target, groups))
        certificate = loaded.certify_tested(tested, delta=delta)
        if loaded.costs is not None:
            cost_bound = certify_cost(loaded, tested, delta=delta)
    if json:
        more = {} if cost_bound is None else {"cost_certificate": asdict(cost_bound)}
        print_json({**_fields(certificate), **more})
        return
    if loaded.tree.n_leaves == 1:
        print_result(one_leaf(loaded.tree))
    if cost_bound is not None:
        print_result(f"{cost_bound}\n{SEPARATELY}\n")
    print_result(certificate.explain(by_class=_few_classes(certificate), proof=verbose))


def _certify_numbers(
    model: RegressionModel,
    rows: tuple[Any, Any, Any] | None,
    tolerance: float | None,
    y_range: tuple[float, float] | None,
    delta: float | None,
    json: bool,
) -> None:
    """Print the certificate of a regression tree, from its calibration rows or from other rows."""
    from treebound.estimators.verbs import certify as certify_model

    if rows is None:
        if tolerance is not None or y_range is not None:
            raise ValueError(
                "The options --tolerance and --y-range need a table: those of the calibration rows "
                "were chosen by fit. Hint: give rows that were not used for fitting."
            )
        certificate = certify_model(model, delta=delta)
    else:
        X, y, groups = rows
        certificate = model.certify(
            X, y, tolerance=tolerance, y_range=y_range, delta=delta, groups=groups
        )
    print_json(asdict(certificate)) if json else print_result(str(certificate))


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
    options: LabelledOptions = LabelledOptions(),  # noqa: B008  # frozen
) -> None:
    """Show where the predictions of two models differ, and which is right.

    Prints the regions where the predictions differ as rules, with the errors of both models there,
    and McNemar's exact test; of numbers, Wilcoxon's signed-rank test. Abstentions are not errors:
    their share is printed.

    Parameters
    ----------
    plot
        Where to draw the two trees side by side (PNG, SVG or PDF); not for numbers.
    """
    from treebound.cli.models import labelled_rows, loaded_any
    from treebound.model import RegressionModel
    from treebound.show.compare import compare_read
    from treebound.show.compare_numbers import compare_numbers

    check_output(plot, "png", reads=[a, b, data, options.schema], force=True)
    if str(data) == "-" or (str(a), str(b)) == ("-", "-"):
        raise ValueError(
            "Only one of the models can come on standard input, and the table is read twice. "
            "Hint: name files."
        )
    first, second = loaded_any(a), loaded_any(b)
    table, labels = labelled_rows(first, data, options, target)
    other, _ = labelled_rows(second, data, options, target)
    comparison: Any
    if isinstance(first, RegressionModel) and isinstance(second, RegressionModel):
        _refuse_for_numbers(plot=plot)
        comparison = compare_numbers((first, table), (second, other), labels)
    elif isinstance(first, RegressionModel) or isinstance(second, RegressionModel):
        raise ValueError(f"One of {a} and {b} predicts classes, and the other numbers.")
    else:
        comparison = compare_read((first, table), (second, other), labels)
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


def _predicted(figures: dict[str, Any], abstention: Abstention) -> dict[str, Any]:
    """Return the number of rows with a prediction, and of wrong predictions."""
    column = figures["classes"].index(abstention.label)
    predicted = sum(sum(row) - row[column] for row in figures["confusion"])
    right = sum(row[at] for at, row in enumerate(figures["confusion"]))
    return {"predicted": predicted, "errors_predicted": predicted - right}


def _print_predicted(figures: dict[str, Any], abstention: Abstention) -> None:
    """Print risk and share of the predicted rows, the bound, and the confusion matrix."""
    from treebound.cli.models import percent

    predicted, wrong = _predicted(figures, abstention).values()
    share, risk = percent(predicted / figures["rows"]), percent(wrong / max(predicted, 1))
    print_result(
        f"{predicted:,} of {figures['rows']:,} rows get a prediction ({share}), {wrong:,} of them "
        f"a wrong one ({risk}); the tree abstains on the others.\n{abstention}\n"
    )
    _print_confusion(figures, abstention)


def _print_figures(figures: dict[str, Any], model: FittedModel) -> None:
    """The errors, the quality of the probabilities, the classes and the confusion matrix."""
    from treebound.cli.models import one_leaf, percent
    from treebound.cli.weighting import cost_sentence
    from treebound.show.quality import quality_words

    if model.tree.n_leaves == 1:
        print_result(one_leaf(model.tree))
    if "mean_cost" in figures:
        print_result(cost_sentence(figures, "row"))
    print_result(
        f"{figures['errors']:,} of {figures['rows']:,} rows "
        f"{'is' if figures['errors'] == 1 else 'are'} misclassified "
        f"({percent(figures['error'])}; baseline {percent(figures['majority_error'])}, always "
        f"{figures['majority']!r}).\n{quality_words(figures)}\n"
    )
    names = ("class", "rows", "precision", "recall", "F1")
    columns = (figures[name] for name in ("rows_of_class", "precision", "recall", "f1"))
    rows = [
        (str(label), f"{count:,}", *("" if share is None else percent(share) for share in shares))
        for label, count, *shares in zip(figures["classes"], *columns, strict=True)
    ]
    print_result(plain_table(names, rows, numbers=names[1:]))
    print_result()
    _print_confusion(figures)
    print_result()


def _few_classes(certificate: Certificate) -> bool:
    return 1 < len(certificate.by_class) <= _MAX_CLASSES


def _fields(certificate: Certificate) -> dict[str, Any]:
    """Return a certificate as plain values, with its bounds by class."""
    by_class = [asdict(bound) for bound in certificate.by_class]
    return {**certificate.as_dict(), "by_class": by_class}


def _print_confusion(figures: dict[str, Any], abstention: Abstention | None = None) -> None:
    """The confusion matrix; if it does not fit, the errors that are made most often.

    No row is of the class for which a model abstains.
    """
    counts = figures["confusion"]
    labels = [str(label) for label in figures["classes"]]
    heads = [f"predicted {labels[0]}", *labels[1:]]
    width = max(map(len, labels)) + sum(2 + max(len(head), 6) for head in heads)
    if len(labels) <= _MAX_CLASSES and (width <= console.width or not console.is_terminal):
        rows = [
            (name, *(f"{count:,}" for count in row))
            for name, row in zip(labels, counts, strict=True)
            if abstention is None or name != str(abstention.label)
        ]
        print_result(plain_table(("true", *heads), rows, numbers=heads))
        return
    pairs = [(at, to) for at in range(len(labels)) for to in range(len(labels)) if at != to]
    often = sorted(pairs, key=lambda pair: -counts[pair[0]][pair[1]])[:_MAX_PAIRS]
    rows = [(labels[at], labels[to], f"{counts[at][to]:,}") for at, to in often if counts[at][to]]
    print_result("The errors that are made most often; --json has the confusion matrix.")
    print_result(plain_table(("true", "predicted", "rows"), rows, numbers=("rows",)))
