"""Options that weigh rows and classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from treebound._utils.validation import Number, invalid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from treebound.data.frames import Table
    from treebound.data.raw import RawColumn
    from treebound.model import Model
    from treebound.model.parameters import FitParameters

Numbers = Annotated[tuple[str, ...], Parameter(negative="", show_default=False)]


@Parameter(name="*", group=Group("Weights", sort_key=3))
@dataclass(frozen=True)
class WeightOptions:
    """Weights of rows and classes, and costs of errors.

    Parameters
    ----------
    class_weight
        Weights of the classes: balanced, or LABEL=WEIGHT (may be repeated); only their ratios
        matter.
    costs
        Cost of an error on a class: LABEL=COST (may be repeated; 1 for the others). The tree
        predicts the class of least cost.
    weight_column
        A column with the weight of each row; it is not split on.
    groups
        A column with the group of each row, such as a patient with several rows; it is not split
        on. Folds and held-out rows never split a group, and a certificate counts one row of each.
    """

    class_weight: Numbers = ()
    costs: Numbers = ()
    weight_column: str | None = None
    groups: str | None = None

    def __post_init__(self) -> None:
        """Check the texts before a table is read."""
        if not self.balanced:
            _pairs(self.class_weight, "class_weight")
        _pairs(self.costs, "costs")

    @property
    def balanced(self) -> bool:
        """True if all classes are to weigh the same."""
        return self.class_weight == ("balanced",)

    @property
    def needs_labels(self) -> bool:
        """True if the rows must be in memory to apply the options."""
        by_label = self.costs or (self.class_weight and not self.balanced)
        return bool(by_label or self.weight_column or self.groups)

    def applied(self, parameters: FitParameters, labels: Any) -> FitParameters:
        """The parameters with the weights and costs of the classes, checked."""
        from treebound.data.targets import learn_classes
        from treebound.model.parameters import checked_parameters

        classes = learn_classes(labels)[0].tolist()
        if self.class_weight and not self.balanced:
            class_weight = by_class(self.class_weight, classes, "class_weight")
            parameters = replace(parameters, class_weight=class_weight)
        if self.costs:
            parameters = replace(parameters, costs=by_class(self.costs, classes))
        checked_parameters(parameters)
        return parameters

    def divided(self, table: Table) -> tuple[Table, NDArray[Any] | None, NDArray[Any] | None]:
        """The table without the columns of weights and groups, the weights, and the groups."""
        names = list(table.labels)
        weight, groups = self.weight_column, self.groups
        if weight is not None:
            numeric = weight in names and table.column(names.index(weight)).categories is None
            if not numeric:
                must = "the name of a column of numbers"
                raise invalid("weight_column", "", must, weight)
        if groups is not None and groups not in names:
            hint = f"the columns are {', '.join(map(repr, names[:20]))}."
            raise invalid("groups", "", "the name of a column", groups, hint)
        return (
            table.select([label for label in names if label not in (weight, groups)]),
            None if weight is None else table.column(names.index(weight)).floats(),
            None if groups is None else group_codes(table.column(names.index(groups)), groups),
        )

    def cost_bound(self, model: Model) -> Iterator[str]:
        """Yield the bound on the mean cost, if errors differ in cost and there are rows for it."""
        if self.costs and model.has_cost_rows:
            from treebound.model.guarantees import certify_cost

            yield str(certify_cost(model, costs=by_class(self.costs, model.classes.tolist())))


def group_codes(column: RawColumn, name: str) -> NDArray[Any]:
    """The groups of a column, as codes or numbers; each row must have one."""
    values, missing = column.values, column.missing
    if missing is None:
        missing = values != values if column.categories is None else values < 0
    if missing.any():
        raise ValueError(
            f"Column {name!r} (--groups) has no value in row {int(missing.argmax()) + 1:,}. Hint: "
            "give each row a group."
        )
    return values


def cost_figures(model: Model, confusion: NDArray[Any]) -> dict[str, Any]:
    """Return the mean cost of the counted rows, and that of the cheapest constant prediction.

    Nothing if the model was fitted without costs. The constant is chosen on the training rows.
    """
    matrix = model.costs
    if matrix is None:
        return {}
    tree, rows = model.tree, float(confusion.sum())
    constant = int((tree.counts[0] @ matrix).argmin())
    return {
        "mean_cost": float((confusion * matrix).sum()) / rows,
        "baseline_cost": float(confusion.sum(axis=1) @ matrix[:, constant]) / rows,
        "baseline": tree.classes.tolist()[constant],
    }


def cost_sentence(figures: dict[str, Any], rows: str) -> str:
    """Return the mean cost next to that of the baseline, in words."""
    return (
        f"Mean cost {figures['mean_cost']:.4g} per {rows} "
        f"(baseline {figures['baseline_cost']:.4g}, always {figures['baseline']!r})."
    )


def by_class(texts: Sequence[str], classes: Sequence[Any], option: str = "costs") -> Any:
    """The numbers of LABEL=NUMBER by class."""
    labels = {str(label): label for label in classes}
    numbers = {}
    for name, value in _pairs(texts, option):
        if name not in labels:
            hint = f"the classes are {', '.join(list(labels)[:20])}."
            raise invalid(option, "", "names of classes", name, hint)
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


@dataclass(frozen=True)
class PredictionThreshold:
    """Probability from which on a class is predicted, and the costs that it comes from."""

    label: Any
    probability: float
    costs: tuple[float, float] | None  # of predicting the class falsely, and of missing it

    @classmethod
    def of(cls, model: Model, text: str) -> PredictionThreshold:
        """Read LABEL=PROBABILITY or LABEL=FALSE:MISSED."""
        name, _, value = text.rpartition("=")
        labels = {str(label): label for label in model.classes.tolist()}
        try:
            false, *missed = (float(part) for part in value.split(":"))
            probability = false / (false + missed[0]) if missed else false
            finite = all(Number(0.0).allows(number) for number in (false, *missed))
        except (ValueError, ZeroDivisionError):
            finite = False
        if not finite or name not in labels or probability > 1.0 or len(missed) > 1:
            raise ValueError(
                "The option --threshold must be LABEL=PROBABILITY, a class and a number from 0 to "
                "1, or LABEL=FALSE:MISSED, the costs of predicting the class falsely and of "
                f"missing it. Got {text!r} instead. Hint: the classes are "
                f"{', '.join(list(labels)[:20])}."
            )
        if not missed:
            return cls(labels[name], probability, None)
        probability = _of_weighted(model, list(labels).index(name), probability)
        return cls(labels[name], probability, (false, missed[0]))

    def applied(self, model: Model) -> Model:
        """The model that predicts the class if its probability is at least that."""
        return model.with_threshold(self.label, self.probability)

    def figures(self, tested: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
        """The threshold, and what errors cost for each row with it and without it."""
        if self.costs is None:
            return {"threshold": self.probability}
        costs = {"cost": self._cost(tested), "cost_without_threshold": self._cost(before)}
        return {"threshold": self.probability, **costs}

    def _cost(self, tested: dict[str, Any]) -> float:
        assert self.costs is not None
        at, table = tested["classes"].index(self.label), tested["confusion"]
        false = sum(row[at] for row in table) - table[at][at]
        missed = sum(table[at]) - table[at][at]
        return float(self.costs[0] * false + self.costs[1] * missed) / int(tested["rows"])

    def words(self, figures: dict[str, Any]) -> str:
        """:meth:`figures` in words."""
        sentence = f"{self.label!r} is predicted from a probability of {self.probability:.3g} on."
        if self.costs is None:
            return sentence
        return (
            f"{sentence} Errors cost {figures['cost']:.3g} for each row, without this threshold "
            f"{figures['cost_without_threshold']:.3g}."
        )


def _of_weighted(model: Model, at: int, probability: float) -> float:
    """A threshold as the model sees it, whose probabilities are of rows with class weights."""
    factors = model.tree.factors
    if factors is None:
        return probability
    if len(factors) > 2:
        raise ValueError(
            "The option --threshold takes no costs for a model of more than two classes that were "
            "weighted. Hint: fit without --class-weight, or with --costs."
        )
    weighted, rest = probability * factors[at], (1.0 - probability) * factors[1 - at]
    return float(weighted / (weighted + rest))
