"""Options that weigh rows and classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from treebound.data import Sample
    from treebound.data.frames import Table
    from treebound.model import Model
    from treebound.parameters import FitParameters

_group = Group("Weights", sort_key=3)


@Parameter(name="*")
@dataclass(frozen=True)
class WeightOptions:
    """What rows and errors count for."""

    class_weight: Annotated[
        list[str],
        Parameter(group=_group, negative="", help="Weights of the classes: balanced, or "
                  "LABEL=WEIGHT (may be repeated); only their ratios matter."),
    ] = ()  # type: ignore[assignment]  # fmt: skip
    costs: Annotated[
        list[str],
        Parameter(group=_group, negative="", help="What an error on a class costs: LABEL=COST (may "
                  "be repeated; 1 for the others). The tree answers the class of least cost."),
    ] = ()  # type: ignore[assignment]  # fmt: skip
    weight_column: Annotated[
        str | None,
        Parameter(group=_group, help="A column with the weight of each row; it is not split on."),
    ] = None

    def __post_init__(self) -> None:
        """Check the texts before a table is read."""
        if not self.balanced:
            _pairs(self.class_weight, "class-weight")
        _pairs(self.costs, "costs")

    @property
    def balanced(self) -> bool:
        """Whether all classes are to weigh the same."""
        return list(self.class_weight) == ["balanced"]

    @property
    def needs_labels(self) -> bool:
        """Whether the rows must be in memory to apply the options."""
        return bool(self.costs or self.weight_column or (self.class_weight and not self.balanced))

    def applied(self, sample: Sample, parameters: FitParameters) -> Sample:
        """The weighted sample; the classes are set in the parameters."""
        from treebound.data.weights import class_factors, class_totals, relative_weights
        from treebound.pruning import BoundPruner

        if self.weight_column is not None:
            sample = _weighted_by(sample, self.weight_column)
        if self.class_weight:
            weights: Any = (
                "balanced" if self.balanced else self._by_class(self.class_weight, sample)
            )
            parameters.class_weight = weights
            totals = class_totals(sample.y, sample.weight, sample.n_classes)
            sample = replace(sample, factors=class_factors(weights, sample.classes, totals))
        sample = replace(sample, weight=relative_weights(sample.weight))  # as Sample.learn does
        if self.costs:
            if parameters.pruning != "bound":
                raise ValueError(
                    "The option --costs needs --pruning bound. Got --pruning "
                    f"{parameters.pruning or 'none'} instead. Hint: use --class-weight."
                )
            parameters.pruning = BoundPruner(
                costs=self._by_class(self.costs, sample), n_jobs=parameters.n_jobs
            )
        return sample

    def divided(self, table: Table) -> tuple[Table, NDArray[Any] | None]:
        """The table without the column of weights, and the weights."""
        if self.weight_column is None:
            return table, None
        names = list(table.labels)
        at = names.index(self.weight_column)
        return table.select(names[:at] + names[at + 1 :]), table.column(at).floats()

    def promised(self, model: Model) -> Iterator[str]:
        """The limit on the mean cost, if errors differ in cost and rows promise it."""
        if self.costs and (model.proof is not None or model.held_out_counts() is not None):
            from treebound.promises import certify_cost

            yield str(certify_cost(model, costs=by_class(self.costs, model.classes.tolist())))

    def _by_class(self, texts: Sequence[str], sample: Sample) -> Any:
        option = "costs" if texts is self.costs else "class-weight"
        return by_class(texts, sample.classes.tolist(), option)


def by_class(texts: Sequence[str], classes: Sequence[Any], option: str = "costs") -> Any:
    """The numbers of LABEL=NUMBER by class."""
    labels = {str(label): label for label in classes}
    numbers = {}
    for name, value in _pairs(texts, option):
        if name not in labels:
            raise ValueError(
                f"The option --{option} must name classes. Got {name!r} instead. "
                f"Hint: the classes are {', '.join(list(labels)[:20])}."
            )
        numbers[labels[name]] = value
    return numbers


def _pairs(texts: Sequence[str], option: str) -> list[tuple[str, float]]:
    pairs = []
    for text in texts:
        name, _, value = text.rpartition("=")
        try:
            number = float(value)
        except ValueError:
            number = -1.0
        if not name or not 0.0 < number < float("inf"):
            alternative = "balanced or " if option == "class-weight" else ""
            raise ValueError(
                f"The option --{option} must be {alternative}LABEL=NUMBER with a number above 0. "
                f"Got {text!r} instead."
            )
        pairs.append((name, number))
    return pairs


def _weighted_by(sample: Sample, name: str) -> Sample:
    """The sample without the column of weights, with these weights; rows of weight 0 go."""
    from treebound.data import Matrix
    from treebound.data.weights import row_weights

    names = [column.name for column in sample.columns]
    if name not in names or sample.columns[names.index(name)].kind != "real":
        raise ValueError(
            f"The option --weight-column must name a column of numbers. Got {name!r} instead."
        )
    at = names.index(name)
    columns, values = list(sample.columns), list(sample.X.values)
    columns.pop(at)
    weight = row_weights(values.pop(at), sample.n_rows)
    rest = replace(sample, X=Matrix(tuple(columns), tuple(values)), weight=None)
    if weight is None:
        return rest
    keep = weight > 0
    return replace(rest.part(keep), weight=row_weights(weight[keep], keep.sum()))


def with_threshold(model: Model, text: str | None) -> Model:
    """The model that answers a class where its probability is at least a threshold.

    Costs ``FALSE:MISSED`` stand for the probability from which on the answer costs less.
    """
    if text is None:
        return model
    name, _, value = text.rpartition("=")
    labels = {str(label): label for label in model.classes.tolist()}
    false, costs, missed = value.partition(":")
    try:
        threshold = float(false) / (float(false) + float(missed)) if costs else float(value)
        return model.with_threshold(labels[name], threshold)
    except (KeyError, ValueError, ZeroDivisionError):
        raise ValueError(
            "The option --threshold must be LABEL=PROBABILITY, a class and a number from 0 to 1, "
            "or LABEL=FALSE:MISSED, the costs of answering the class falsely and of missing it. "
            f"Got {text!r} instead. Hint: the classes are {', '.join(list(labels)[:20])}."
        ) from None
