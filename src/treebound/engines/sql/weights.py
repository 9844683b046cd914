"""The weights of rows as whole numbers, whose sums are exact in any order."""

from __future__ import annotations

from fractions import Fraction
from math import frexp
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treebound.data.weights import WeightTotal, class_factors
from treebound.engines.sql.stores import ROWS, SqlStore, pick, rounded

# Weights are summed in pieces of so many bits.
_PIECE_BITS, _PIECES = 30, 5


class TableLabels(NamedTuple):
    """The labels of a relation ``y``: a table of them there, and what they are.

    The rows of a target of numbers have one label, and no table.
    """

    table: str  # with a number of each
    classes: NDArray[Any]
    class_of: NDArray[np.int64]  # by the number
    rows: NDArray[np.int64]  # by the number

    @property
    def join(self) -> str:
        """SQL that adds the number of its label to each row."""
        return f"JOIN {self.table} AS ty ON y = ty.value" if self.table else ""

    @property
    def code(self) -> str:
        """SQL of the number of the label of a row."""
        return "ty.code" if self.table else "0"


class Weights:
    """The weights ``w`` of a relation, the greatest of which is ``most``, and of classes.

    Weights that are not whole are scaled to mean 1, together with those of ``validation`` rows, a
    relation without classes.
    """

    def __init__(
        self,
        store: SqlStore,
        native: Any,
        labels: TableLabels,
        most: float | None,
        class_weight: Any,
        validation: Any = None,
    ) -> None:
        self._store, self._native, self._labels = store, native, labels
        self.scale: float | None = None
        self.least = 1.0  # weight of a row
        if most is None:
            counts = np.bincount(labels.class_of, labels.rows, len(labels.classes))
            self._weight, totals = "", [Fraction(n) for n in counts.tolist()]
            self.total = WeightTotal(sum(totals, Fraction(0)))
        else:
            self._weight = "w"
            totals, self.total = self._exact(most)
        self.factors = class_factors(class_weight, labels.classes, totals)
        all_rows, rows = self.total, int(labels.rows.sum())
        if most is not None and validation is not None:
            n = int(store.fetch(f"SELECT COUNT(*) AS n FROM {ROWS}", validation)["n"][0])
            all_rows += self._exact(most, validation)[1] if n else WeightTotal()
            rows += n
        if not all_rows.whole:
            self.scale = float(rows / all_rows.total)
            self._weight = f"(w * {self._store.number(self.scale)})"
            most = (most or 1.0) * self.scale
            if self.factors is None:
                _, self.total = self._exact(most)
        if self.factors is None:
            return
        factors = [float(self.factors[k]) for k in labels.class_of]
        factor = pick(self._labels.code, list(enumerate(map(self._store.number, factors))))
        self._weight = factor if most is None else f"{self._weight} * {factor}"
        _, self.total = self._exact(max(factors) * (1.0 if most is None else most))

    def _exact(self, most: float, native: Any = None) -> tuple[list[Fraction], WeightTotal]:
        """The exact sum of the weights of each class, and of all, here or of another relation."""
        weight, number = self._weight, self._store.number
        scale = 2.0 ** (_PIECE_BITS - 1 - frexp(most)[1])
        query = f"SELECT {self._labels.code} AS code, {weight} AS w, "
        query += f"{weight} * {number(scale)} AS rest FROM {ROWS} {self._labels.join}"
        pieces = [f"p{i}" for i in range(_PIECES)]
        for i, piece in enumerate(pieces):  # the whole bits of the rest: nothing is rounded
            before = ", ".join(["code", "w", *pieces[:i]])
            query = (
                f"SELECT {before}, CAST(FLOOR(rest) AS BIGINT) AS {piece}, "
                f"(rest - FLOOR(rest)) * {number(2.0**_PIECE_BITS)} AS rest FROM ({query}) AS s{i}"
            )
        sums = ", ".join(f"SUM({piece}) AS {piece}" for piece in pieces)
        fetched = self._store.fetch(
            f"SELECT code, {sums}, MAX(rest) AS rest, MAX(w - FLOOR(w)) AS part, MIN(w) AS least, "
            f"MAX(w) AS most FROM ({query}) AS s GROUP BY code",
            self._native if native is None else native,
        )
        if fetched["rest"].max() > 0.0:
            raise ValueError(
                "The weights differ too much: the least is less than 2^-97 of the greatest. Hint: "
                "leave out rows of so little weight."
            )
        totals = [Fraction(0)] * len(self._labels.classes)
        for at, label in enumerate(fetched["code"].astype(np.intp).tolist()):
            for i, piece in enumerate(pieces):
                value = Fraction(int(fetched[piece][at])) / 2 ** (_PIECE_BITS * i)
                totals[self._labels.class_of[label]] += value / Fraction(scale)
        self.least = float(fetched["least"].min())
        ones = self.least == fetched["most"].max() == 1.0
        return totals, WeightTotal(sum(totals, Fraction(0)), bool(ones), not fetched["part"].any())

    def units(self) -> list[str]:
        """The column ``units``, rounded as in memory: a half to the even number, at least 1."""
        if self.total.ones:
            return []
        x = f"({self._weight} * {self._store.number(2.0**self.total.shift)})"
        return [f"CASE WHEN {x} < 1 THEN 1 ELSE {rounded(x)} END AS units"]
