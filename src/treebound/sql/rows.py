"""The rows of a relation: checked, weighted, some of them held out, and coded in the database.

Only counts, categories and the ends of columns are fetched. The rows stay where they are: as a
temporary table of values and codes, or, where nothing may be written, as a query.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import frexp
from typing import Any, NamedTuple, Self

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from treebound._validation import invalid
from treebound.certificate import draw_tenth
from treebound.data import Unknown
from treebound.data.encoding import chosen_columns
from treebound.data.parts import Schema
from treebound.data.targets import learn_classes, read_classes
from treebound.data.units import WeightTotal
from treebound.data.weights import class_factors
from treebound.exchange.sql_code import nodes_to_sql
from treebound.sql.relation import (
    Coding,
    Relation,
    categories_of,
    coded_columns,
    fetch,
    is_number,
    number_codings,
    plain_value,
)
from treebound.sql.stores import Store, store_of
from treebound.tree.model import Tree

__all__ = ["CodedRows", "RelationRows", "pick"]

# Weights are summed in pieces of so many bits: sums of whole numbers are exact in any order.
_PIECE_BITS, _PIECES = 30, 5
# Held-out rows are drawn by number, and the numbers are sent to the database.
MOST_HELD_OUT = 20_000
_ROW, _NODE = "treebound_row", "treebound_node"


class CodedRows(NamedTuple):
    """Rows as values and codes, and what was learned of them.

    The frame has the columns ``slot``, ``label``, ``units`` (where rows have weights), and for
    every column j its stored code ``cj``, and its number ``vj`` if it is real.
    """

    store: Store
    frame: Any
    codings: list[Coding]
    classes_of: NDArray[np.int64]  # the class of each stored label
    schema: Schema
    total: WeightTotal


class RelationRows:
    """The rows of a relation with a weight above zero.

    Parameters
    ----------
    relation : Relation
    target, weight : str
        Columns of labels, and of weights.
    """

    def __init__(self, relation: Relation, target: Any, weight: Any = None) -> None:

        self.types = relation.frame.collect_schema()
        for parameter, name in (("y", target), ("sample_weight", weight), ("id", relation.id)):
            if name is None and parameter != "y":
                continue
            if not isinstance(name, str) or name not in self.types:
                some = ", ".join(map(repr, self.types.names()[:10]))
                must = f"the name of a column of the relation, {some}"
                found = name if isinstance(name, str | None) else type(name)
                raise invalid(parameter, "fit", must, found)
        self.target, self.weight, self.id = target, weight, relation.id
        self.names = [n for n in self.types.names() if n not in (target, weight, relation.id)]
        if not self.names:
            raise ValueError(f"The relation has no column beside {target!r}.")
        self._store = store_of(relation.frame)
        self._kept: list[Any] = []
        self._frame = relation.frame
        if weight is not None:
            self._frame = self._weighted()
        self._aside: Any = None
        self.classes, self._labels, self._classes_of = self._learn_classes()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Remove temporary tables."""
        for frame in self._kept:
            self._store.drop(frame)

    def _keep(self, frame: Any) -> Any:
        kept = self._store.keep(frame)
        self._kept.append(kept)
        return kept

    def _weighted(self) -> Any:
        """The rows of a weight above zero, if every weight is a number."""

        weight = nw.col(self.weight).cast(nw.Float64)
        good = (weight >= 0.0) & (weight <= np.finfo(float).max) & ~weight.is_nan()
        bad = nw.when(good).then(nw.lit(0)).otherwise(nw.lit(1))
        n = int(fetch(self._frame.select(bad.sum().alias("n")))["n"][0] or 0)
        if n:
            raise ValueError(
                f"Weights must be finite numbers from 0 on. The column {self.weight!r} of the "
                f"relation has {n} others. Hint: leave these rows out."
            )
        return self._frame.filter(weight > 0.0)

    def _learn_classes(self) -> tuple[NDArray[Any], Any, NDArray[np.int64]]:
        """The classes; numbers of labels as a table there; the class of each number."""

        name = self.target
        frame = self._as_bytes(self._frame.select(nw.col(name).alias("y")), {"y": name})
        table = self._keep(
            frame.group_by("y").agg(nw.len().alias("n")).with_row_index("code", order_by=["y"])
        )
        found = fetch(table)
        if not len(found["y"]):
            raise ValueError("The relation has no rows of a weight above zero.")
        values = [plain_value(value) for value in found["y"][np.argsort(found["code"])]]
        missing = [v is None or v != v for v in values]
        if any(missing):
            n = int(found["n"][np.argsort(found["code"])][missing].sum())
            raise ValueError(
                f"The column {name!r} of the relation has {n} rows without a label. Hint: leave "
                "them out."
            )
        labels = np.array(values) if not isinstance(values[0], str) else values
        classes, codes = learn_classes(labels)
        return classes, table.select("y", "code"), codes.astype(np.int64)

    def _as_bytes(self, frame: Any, names: Mapping[str, str]) -> Any:
        """Text columns as bytes; ``names`` are those of the relation."""

        texts = [at for at, name in names.items() if self.types[name] == nw.String]
        return self._store.bytes_of(frame, texts) if texts else frame

    # -- held-out rows -------------------------------------------------------------------------

    def hold_out(self, seed: int | None) -> None:
        """Set rows aside that are drawn by number; nothing is learned from them."""

        if self.id is None and not self._store.keeps:
            raise ValueError(
                "Held-out rows are drawn by number, and the rows of this database have none, as "
                "no temporary table can be written. Hint: name a key with Relation(..., id=...), "
                "or use certify='training'."
            )
        counts = {"n": nw.len()}
        if self.id is not None:
            counts["ids"] = nw.col(self.id).n_unique()
        found = fetch(self._frame.select(**counts))
        m = int(found["n"][0])
        if self.id is not None and int(found["ids"][0]) != m:
            raise ValueError(
                f"The column {self.id!r} must tell rows apart. It has {int(found['ids'][0])} "
                f"different values in {m} rows. Hint: name another key."
            )
        if m < 2:
            raise ValueError(f"certify='held-out' needs at least 2 rows. Got {m} instead.")
        chosen = draw_tenth(m, seed)[0][:MOST_HELD_OUT].tolist()
        numbered = self._keep(
            self._frame.with_row_index(_ROW, order_by=[self.target if self.id is None else self.id])
        )
        self._aside = self._keep(self._store.only(numbered, _ROW, chosen))
        self._frame = self._keep(self._store.only(numbered, _ROW, chosen, out=True))

    def count_aside(self, tree: Tree, *, unknown: Unknown) -> NDArray[np.int64]:
        """Held-out rows of each class that come to rest at each node of a tree."""
        text = nodes_to_sql(tree, unknown=unknown, dialect=self._store.dialect)

        nodes = nw.from_native(self._store.select(self._aside.to_native(), f"{text} AS {_NODE}"))
        nodes = self._as_bytes(nodes.select(_NODE, self.target), {self.target: self.target})
        found = fetch(nodes.group_by(_NODE, self.target).agg(nw.len().alias("n")))
        labels = [plain_value(value) for value in found[self.target]]
        counts = np.zeros((tree.n_nodes, len(self.classes)), dtype=np.int64)
        codes = read_classes(np.array(labels), self.classes)
        np.add.at(counts, (found[_NODE].astype(np.intp), codes), found["n"].astype(np.int64))
        return counts

    # -- coding --------------------------------------------------------------------------------

    def code(
        self, *, categorical_features: Any, ordinal_features: Any, class_weight: Any
    ) -> CodedRows:
        """Learn the columns, and keep the rows as values and codes."""

        names = {f"x{j}": name for j, name in enumerate(self.names)} | {"y": self.target}
        columns = [nw.col(name).alias(at) for at, name in names.items()]
        if self.weight is not None:
            columns.append(nw.col(self.weight).cast(nw.Float64).alias("w"))
        frame = self._as_bytes(self._frame.select(columns), names)
        codings, tables = self._codings(frame, categorical_features, ordinal_features)
        for at, table in [("y", self._labels), *tables.items()]:
            frame = frame.join(table, on=at, how="left").rename({"code": f"code_{at}"})
        weights = Weights(frame, self.weight is not None, self.classes, self._classes_of)
        weights.set_factors(class_weight)
        slot, label = nw.lit(0, dtype=nw.Int32), nw.col("code_y").cast(nw.Int32)
        stored = [slot.alias("slot"), label.alias("label"), *weights.units()]
        for j, coding in enumerate(codings):
            stored += coded_columns(j, coding, self.types[self.names[j]])
        schema = Schema(
            tuple(coding.column for coding in codings),
            tuple(self.names),
            self.classes,
            weights.factors,
            (),
            weights.n_rows,
        )
        kept = self._keep(frame.select(stored))
        return CodedRows(self._store, kept, codings, self._classes_of, schema, weights.total)

    def _codings(
        self, frame: Any, categorical_features: Any, ordinal_features: Any
    ) -> tuple[list[Coding], dict[str, Any]]:
        """How columns are stored, and tables with the numbers of categories."""
        nominal, ordinal = chosen_columns(tuple(self.names), categorical_features, ordinal_features)
        types = {f"x{j}": self.types[name] for j, name in enumerate(self.names)}
        named = nominal | ordinal.keys()
        numbers = [
            j for j, n in enumerate(self.names) if is_number(self.types[n], n) and j not in named
        ]
        found = dict(zip(numbers, number_codings(frame, types, self.names, numbers), strict=True))
        tables = {}
        for j, name in enumerate(self.names):
            if j in found:
                continue
            options: dict[str, Any] = {"categorical_features": [name]} if j in nominal else {}
            if j in ordinal:
                order = ordinal[j]
                options = {"ordinal_features": [name] if order is None else {name: list(order)}}
            table, found[j] = categories_of(
                self._store, frame, f"x{j}", name, self.types[name], options
            )
            self._kept.append(table)
            tables[f"x{j}"] = table
        return [found[j] for j in range(len(self.names))], tables


class Weights:
    """The weights of rows as whole numbers, whose sums are exact in any order.

    Parameters
    ----------
    frame : LazyFrame
        With the stored labels ``code_y`` and, if rows have weights, ``w``.
    given : bool
    classes : ndarray
    classes_of : ndarray
        The class of each stored label.
    """

    def __init__(
        self, frame: Any, given: bool, classes: NDArray[Any], classes_of: NDArray[np.int64]
    ) -> None:

        self._frame, self._given, self._classes = frame, given, classes
        self._classes_of = classes_of
        found = fetch(frame.group_by("code_y").agg(nw.len().alias("n")))
        self._rows = np.zeros(len(classes), dtype=np.int64)
        np.add.at(self._rows, classes_of[found["code_y"].astype(np.intp)], found["n"])
        self.n_rows = int(self._rows.sum())
        self.factors: NDArray[np.float64] | None = None
        self.total = WeightTotal(Fraction(self.n_rows))

    def set_factors(self, class_weight: Any) -> None:
        """Class weights, and the total of all weights."""
        totals = [Fraction(int(n)) for n in self._rows]
        if self._given:
            totals, self.total = self._exact()
        if class_weight is None:
            return
        self.factors = class_factors(class_weight, self._classes, totals)
        if self.factors is None:
            return
        if self._given:
            _, self.total = self._exact()
            return
        each = self.factors.tolist()
        total = sum((n * Fraction(f) for n, f in zip(totals, each, strict=True)), Fraction(0))
        used = [f for f, n in zip(each, totals, strict=True) if n]
        whole = all(f == int(f) for f in used)
        self.total = WeightTotal(total, all(f == 1.0 for f in used), whole)

    def _weight(self) -> Any:
        """The weight of a row with that of its class."""

        if self.factors is None:
            return nw.col("w")
        factors = [float(self.factors[k]) for k in self._classes_of]
        factor = pick(
            nw.col("code_y"),
            list(enumerate(factors)),
            nw.lit,
            lambda c, a, b: nw.when(c).then(a).otherwise(b),
        )
        return nw.col("w") * factor if self._given else factor

    def _exact(self) -> tuple[list[Fraction], WeightTotal]:
        """The exact sum of the weights of each class, and of all."""

        frame = self._frame.select("code_y", self._weight().alias("w"))
        w = nw.col("w")
        most = float(fetch(frame.select(w.max().alias("most")))["most"][0])
        scale = 2.0 ** (_PIECE_BITS - frexp(most)[1])
        frame = frame.with_columns((w * scale).alias("rest"))
        for i in range(_PIECES):  # whole bits of the rest, again and again: nothing is rounded
            frame = frame.with_columns(nw.col("rest").floor().alias(f"p{i}"))
            rest = (nw.col("rest") - nw.col(f"p{i}")) * 2.0**_PIECE_BITS
            frame = frame.with_columns(rest.alias("rest"))
        wanted = [nw.col(f"p{i}").cast(nw.Int64).sum().alias(f"p{i}") for i in range(_PIECES)]
        wanted += [
            nw.col("rest").max().alias("rest"),
            (w - w.floor()).max().alias("fraction"),
            w.min().alias("least"),
            w.max().alias("most"),
        ]
        found = fetch(frame.group_by("code_y").agg(wanted))
        if float(found["rest"].max()) > 0.0:
            raise ValueError(
                "The weights differ too much: the least is below the greatest by a factor of 2^97. "
                "Hint: leave out rows of so little weight."
            )
        totals = [Fraction(0)] * len(self._classes)
        for at, label in enumerate(found["code_y"].astype(np.intp).tolist()):
            for i in range(_PIECES):
                piece = Fraction(int(found[f"p{i}"][at])) / Fraction(scale)
                totals[self._classes_of[label]] += piece / 2 ** (_PIECE_BITS * i)
        ones = float(found["least"].min()) == float(found["most"].max()) == 1.0
        whole = float(found["fraction"].max()) == 0.0
        return totals, WeightTotal(sum(totals, Fraction(0)), ones, whole)

    def units(self) -> list[Any]:
        """The column ``units``, rounded as in memory: a half to the even number, at least 1."""

        if self.total.ones:
            return []
        scaled = self._weight() * 2.0**self.total.shift
        floor = scaled.floor()
        rest, odd = scaled - floor, floor - (floor / 2.0).floor() * 2.0
        up = (rest > 0.5) | ((rest == 0.5) & (odd == 1.0))
        units = nw.when(up).then(floor + 1.0).otherwise(floor)
        least = nw.when(units < 1.0).then(nw.lit(1.0)).otherwise(units)
        return [least.cast(nw.Int64).alias("units")]


def pick(
    number: Any, values: Sequence[tuple[int, Any]], constant: Any, when: Any, other: Any = None
) -> Any:
    """A CASE that gives the value of a number, by halves; ``values`` are in order."""
    if len(values) == 1:
        at, value = values[0]
        value = constant(value) if isinstance(value, int | float) else value
        return value if other is None else when(number == constant(at), value, constant(other))
    half = len(values) // 2
    low, high = values[:half], values[half:]
    return when(
        number < constant(high[0][0]),
        pick(number, low, constant, when, other),
        pick(number, high, constant, when, other),
    )
