"""Error and selection rates of several models in subgroups of the user's rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils.extras import require
from treebound._utils.validation import Number, check, invalid
from treebound.data.sample import same_length
from treebound.data.targets import read_classes
from treebound.model.methods import as_model

_USED = (
    "Some of these rows were used for fitting: the intervals do not describe new rows. Hint: use "
    "test rows."
)


@dataclass(frozen=True)
class SubgroupRate:
    """A rate of a model in a subgroup, with its interval.

    Attributes
    ----------
    model : int
        The number of the model.
    subgroup : str
        The subgroup.
    rate : str
        ``"error"``; ``"predicted LABEL"``, the share of rows for which the model predicts a class
        (the selection rate); ``"abstained"``, if the model abstains.
    rows, count : int
        Rows of the subgroup, and how many of them are counted. The errors of a model that abstains
        are of the rows for which it does not.
    value, low, high : float
        The rate on these rows, NaN if there are none, and the interval of the rate on new rows.
    """

    model: int
    subgroup: str
    rate: str
    rows: int
    count: int
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class SubgroupComparison:
    """Rates of models in subgroups; made by :func:`treebound.compare` with ``subgroups``.

    Attributes
    ----------
    rates : tuple of SubgroupRate
        One for each model, subgroup and rate.
    delta : float
        All intervals hold at once with probability ``1 - delta``.
    note : str
        Why the intervals do not describe new rows; empty if they do.
    """

    rates: tuple[SubgroupRate, ...]
    delta: float
    note: str = ""

    def __str__(self) -> str:
        share = 100 * (1 - self.delta)
        width = max(len(rate.subgroup) for rate in self.rates)
        kind = max(len(rate.rate) for rate in self.rates)
        lines = [self.note or f"With probability {share:g} %, all intervals hold at once."]
        lines += [
            f"model {rate.model}  {rate.subgroup:{width}}  {rate.rate:{kind}}  "
            f"{100 * rate.value:5.1f} % ({100 * rate.low:.1f} to {100 * rate.high:.1f} %) "
            f"of {rate.rows:,} rows"
            for rate in self.rates
        ]
        return "\n".join(lines)

    __repr__ = __str__

    def to_frame(self) -> Any:
        """The rates as a pandas DataFrame."""
        pandas = require("pandas", extra="study", why="A data frame of rates")
        columns = [*SubgroupRate.__dataclass_fields__]
        return pandas.DataFrame([asdict(rate) for rate in self.rates], columns=columns)


def compare_subgroups(
    models: Sequence[Any], X: Any, y: Any, subgroups: Any, delta: float = 0.05
) -> SubgroupComparison:
    """Return the rates of models in subgroups; see :func:`treebound.compare`."""
    check("compare", {"delta": delta}, {"delta": Number(0.0, 1.0, open=True)})
    fitted = [as_model(model, "compare") for model in models]
    if not fitted:
        raise invalid("models", "compare", "a list of at least one model", [])
    names = _subgroup_of_rows(X, subgroups)
    counts: list[tuple[int, str, str, NDArray[np.bool_]]] = []
    for number, model in enumerate(fitted):
        codes = read_classes(y, model.classes)
        predicted = model.tree.label[model.apply(X)]
        same_length(len(predicted), len(codes))
        same_length(len(names), len(codes))
        abstention = model.abstention
        labels = [
            (code, label)
            for code, label in enumerate(model.classes.tolist())
            if abstention is None or label != abstention.label
        ]
        abstained = ~np.isin(predicted, [code for code, _ in labels])
        for group in np.unique(names).tolist():
            inside = names == group
            counts.append((number, group, "error", (predicted != codes)[inside & ~abstained]))
            for code, label in labels if len(labels) > 2 else labels[-1:]:
                counts.append((number, group, f"predicted {label}", (predicted == code)[inside]))
            if abstention is not None:
                counts.append((number, group, "abstained", abstained[inside]))
    level = delta / len(counts)
    rates = [
        SubgroupRate(
            number, group, rate, len(hits), int(hits.sum()),
            float(hits.mean()) if len(hits) else nan,
            *_clopper_pearson(int(hits.sum()), len(hits), level),
        )
        for number, group, rate, hits in counts
    ]  # fmt: skip
    used = any(model.tested(X, y).comparison.used for model in fitted)
    return SubgroupComparison(tuple(rates), delta, _USED if used else "")


def _clopper_pearson(count: int, rows: int, delta: float) -> tuple[float, float]:
    """The two-sided interval of Clopper and Pearson (1934)."""
    from scipy.stats import beta

    low = float(beta.ppf(delta / 2, count, rows - count + 1)) if count else 0.0
    high = float(beta.isf(delta / 2, count + 1, rows - count)) if count < rows else 1.0
    return low, high


def _subgroup_of_rows(X: Any, subgroups: Any) -> NDArray[Any]:
    """The subgroup of each row, as text; a column of the table, or given as an array."""
    if isinstance(subgroups, str):
        columns = list(getattr(X, "columns", ()))
        if subgroups not in columns:
            must = "a column of the table, or an array with a value for each row"
            raise invalid("subgroups", "compare", must, subgroups)
        subgroups = X[subgroups]
    values = np.asarray(subgroups, dtype=object)
    missing = [value is None or value != value for value in values.tolist()]
    texts = ["missing" if gone else str(v) for gone, v in zip(missing, values, strict=True)]
    return np.array(texts)
