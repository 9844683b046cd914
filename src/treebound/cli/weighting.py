"""Options that weigh rows and classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from treebound._validation import invalid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from treebound.data.frames import Table
    from treebound.model import Model
    from treebound.parameters import FitParameters

Numbers = Annotated[tuple[str, ...], Parameter(negative="")]


@Parameter(name="*", group=Group("Weights", sort_key=3))
@dataclass(frozen=True)
class WeightOptions:
    """What rows and errors count for.

    Parameters
    ----------
    class_weight
        Weights of the classes: balanced, or LABEL=WEIGHT (may be repeated); only their ratios
        matter.
    costs
        What an error on a class costs: LABEL=COST (may be repeated; 1 for the others). The tree
        answers the class of least cost.
    weight_column
        A column with the weight of each row; it is not split on.
    """

    class_weight: Numbers = ()
    costs: Numbers = ()
    weight_column: str | None = None

    def __post_init__(self) -> None:
        """Check the texts before a table is read."""
        if not self.balanced:
            _pairs(self.class_weight, "class_weight")
        _pairs(self.costs, "costs")

    @property
    def balanced(self) -> bool:
        """Whether all classes are to weigh the same."""
        return self.class_weight == ("balanced",)

    @property
    def needs_labels(self) -> bool:
        """Whether the rows must be in memory to apply the options."""
        return bool(self.costs or self.weight_column or (self.class_weight and not self.balanced))

    def applied(self, parameters: FitParameters, labels: Any) -> FitParameters:
        """The parameters with the weights and costs of the classes."""
        from treebound.data.targets import learn_classes
        from treebound.pruning import BoundPruner

        classes = learn_classes(labels)[0].tolist()
        if self.class_weight and not self.balanced:
            class_weight = by_class(self.class_weight, classes, "class_weight")
            parameters = replace(parameters, class_weight=class_weight)
        if not self.costs:
            return parameters
        if parameters.pruning != "bound":
            raise ValueError(
                "The option --costs needs --pruning bound. Got --pruning "
                f"{parameters.pruning or 'none'} instead. Hint: use --class-weight."
            )
        costs = by_class(self.costs, classes)
        return replace(parameters, pruning=BoundPruner(costs=costs, n_jobs=parameters.n_jobs))

    def divided(self, table: Table) -> tuple[Table, NDArray[Any] | None]:
        """The table without the column of weights, and the weights."""
        name = self.weight_column
        if name is None:
            return table, None
        names = list(table.labels)
        if name not in names or table.column(names.index(name)).categories is not None:
            raise ValueError(
                f"The option --weight-column must name a column of numbers. Got {name!r} instead."
            )
        weight = table.column(names.index(name)).floats()
        return table.select([own for own in names if own != name]), weight

    def promised(self, model: Model) -> Iterator[str]:
        """The limit on the mean cost, if errors differ in cost and rows promise it."""
        if self.costs and (model.proof is not None or model.held_out_counts() is not None):
            from treebound.promises import certify_cost

            yield str(certify_cost(model, costs=by_class(self.costs, model.classes.tolist())))


def by_class(texts: Sequence[str], classes: Sequence[Any], option: str = "costs") -> Any:
    """The numbers of LABEL=NUMBER by class."""
    labels = {str(label): label for label in classes}
    numbers = {}
    for name, value in _pairs(texts, option):
        if name not in labels:
            raise ValueError(
                f"The {option!r} parameter must name classes. Got {name!r} instead. "
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
            alternative = "balanced or " if option == "class_weight" else ""
            raise invalid(option, "", f"{alternative}LABEL=NUMBER with a number above 0", text)
        pairs.append((name, number))
    return pairs


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
