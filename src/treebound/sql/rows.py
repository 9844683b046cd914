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
import pyarrow
import pyarrow.compute
from numpy.typing import NDArray

from treebound._validation import invalid
from treebound.certificate import draw_tenth
from treebound.data import Unknown
from treebound.data.encoding import chosen_columns
from treebound.data.parts import Schema
from treebound.data.targets import learn_classes, read_classes
from treebound.data.weights import WeightTotal, class_factors
from treebound.exchange.sql_code import nodes_to_sql
from treebound.sql.relation import (
    Coding,
    Relation,
    categories_of,
    distinct,
    is_number,
    labels_array,
    number_codings,
    texts,
)
from treebound.sql.stores import ROWS, Store, store_of
from treebound.tree.model import Tree
from treebound.tree.node_sums import NodeSums, summed_up

__all__ = ["CodedRows", "RelationRows", "pick"]

# Weights are summed in pieces of so many bits: sums of whole numbers are exact in any order.
_PIECE_BITS, _PIECES = 30, 5
# Rows are set aside by number, and the numbers are sent to the database.
MOST_SET_ASIDE = 20_000
_ROW, _NODE, _LABEL = "treebound_row", "treebound_node", "treebound_label"


class CodedRows(NamedTuple):
    """Rows as values and codes, and what was learned of them.

    The table has the columns ``slot``, ``label``, ``units`` (where rows have weights), and for
    every column j its stored code ``cj``, and its number ``vj`` if it is real.
    """

    store: Store
    table: str
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
    columns : sequence of str, optional
        The columns to learn from; by default all others.
    """

    def __init__(
        self, relation: Relation, target: Any, weight: Any = None, columns: Any = None
    ) -> None:
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
        others = [n for n in self.types.names() if n not in (target, weight, relation.id)]
        self.names = others if columns is None else list(columns)
        for name in self.names:
            if name not in others:
                must = f"names of columns of the relation, {', '.join(map(repr, others[:10]))}"
                raise invalid("columns", "fit", must, name)
        if not self.names:
            raise ValueError(f"The relation has no column beside {target!r}.")
        self._store = store_of(relation.frame)
        self._kept: list[str] = []
        self._frame = relation.frame
        self._most_weight = 1.0
        if weight is not None:
            self._frame = self._weighted()
        self._aside: dict[str, Any] = {}

    def __enter__(self) -> Self:
        try:
            self.classes, self._labels, self._classes_of = self._learn_classes()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        """Remove temporary tables."""
        for table in self._kept:
            self._store.drop(table)

    def _keep(self, text: str, native: Any) -> str:
        self._kept.append(self._store.keep(text, native))
        return self._kept[-1]

    def _weighted(self) -> Any:
        """The rows of a weight above zero, if every weight is a number."""
        weight = nw.col(self.weight).cast(nw.Float64)
        good = (weight >= 0.0) & (weight <= np.finfo(float).max) & ~weight.is_nan()
        bad = nw.when(good).then(nw.lit(0)).otherwise(nw.lit(1))
        native = self._frame.select(bad=bad, w=weight).to_native()
        found = self._store.fetch(f"SELECT SUM(bad) AS n, MAX(w) AS most FROM {ROWS}", native)
        if found["n"][0]:
            raise ValueError(
                f"Weights must be finite numbers from 0 on. The column {self.weight!r} of the "
                f"relation has {int(found['n'][0])} others. Hint: leave these rows out."
            )
        self._most_weight = float(found["most"][0] or 0.0)
        return self._frame.filter(weight > 0.0)

    def _learn_classes(self) -> tuple[NDArray[Any], str, NDArray[np.int64]]:
        """The classes; a table of labels with numbers there; the class of each number."""
        name = self.target
        native = self._read({"y": nw.col(name)}, {"y": name})
        table, values, rows = distinct(self._store, native, "y")
        self._kept.append(table)
        if not len(values):
            raise ValueError("The relation has no rows of a weight above zero.")
        missing = [value is None or value != value for value in values]
        if any(missing):
            raise ValueError(
                f"The column {name!r} of the relation has {int(rows[missing].sum())} rows without "
                "a label. Hint: leave them out."
            )
        classes, codes = learn_classes(labels_array(values))
        self._label_rows = rows
        return classes, table, codes.astype(np.int64)

    def _read(self, columns: Mapping[str, Any], names: Mapping[str, str]) -> Any:
        """The relation of some columns, text as bytes; ``names`` are theirs in the relation."""
        frame = self._frame.select(**columns)
        text = [at for at, name in names.items() if self.types[name] == nw.String]
        native = frame.to_native()
        return self._store.bytes_of(native, text) if text else native

    @property
    def n_rows(self) -> int:
        """How many rows there are, those apart that are set aside."""
        return int(self._label_rows.sum())

    def fetched(self) -> tuple[Any, Any, Any]:
        """Columns, labels and weights of all rows, in memory; in the order of the key."""
        frame = self._frame if self.id is None else self._frame.sort(self.id)
        table = frame.collect(backend="pyarrow").to_native()
        columns = table.select(self.names)
        for j, name in enumerate(self.names):
            dtype = self.types[name]
            if isinstance(dtype, nw.Enum):
                codes = pyarrow.compute.index_in(
                    table.column(name).cast("string"), pyarrow.array(list(dtype.categories))
                ).combine_chunks()
                ordered = pyarrow.DictionaryArray.from_arrays(
                    codes, list(dtype.categories), ordered=True
                )
                columns = columns.set_column(j, name, ordered)
        weight = None if self.weight is None else table.column(self.weight).cast("float64")
        return columns, table.column(self.target), None if weight is None else weight.to_numpy()

    # -- rows that are set aside -----------------------------------------------------------------

    def set_aside(self, seed: int | None, *, certify: bool, choose: bool) -> None:
        """Draw rows by number, to certify the tree and to choose a weight of pruning.

        Nothing else is learned from them. Without numbers no weight is chosen.
        """
        if certify and not self._store.keeps:
            raise ValueError(
                "Held-out rows are kept in a temporary table, and none can be written here. Hint: "
                "use certify='training', and certify the fitted classifier with other rows."
            )
        if not certify and not (choose and self._store.keeps):
            return
        table, m = self._numbered(), self.n_rows
        like = self._frame.to_native()
        order = np.random.default_rng(seed).permutation(m)
        sizes = {"held-out": len(draw_tenth(m, seed)[0]) if certify else 0}
        sizes["left-out"] = (m - sizes["held-out"]) // 10 if choose else 0
        start = 0
        for kind, size in sizes.items():
            chosen = order[start : start + min(size, MOST_SET_ASIDE)]
            start += len(chosen)
            if len(chosen):
                self._aside[kind] = self._labelled(
                    self._part(table, like, f"{_ROW} IN ({_listed(chosen)})")
                )
        self._frame = self._part(table, like, f"{_ROW} NOT IN ({_listed(order[:start])})")
        native = self._read({"y": nw.col(self.target)}, {"y": self.target})
        found = self._store.fetch(
            f"SELECT ty.code AS code, COUNT(*) AS n FROM {ROWS} JOIN {self._labels} AS ty ON y = "
            "ty.value GROUP BY ty.code",
            native,
        )
        self._label_rows = np.zeros_like(self._label_rows)
        self._label_rows[found["code"].astype(np.intp)] = found["n"].astype(np.int64)

    def _part(self, table: str, like: Any, condition: str) -> Any:
        """Some rows of a table that has numbers of rows beside the columns of a relation."""
        text = f"SELECT * FROM {table} AS t WHERE {condition}"
        return nw.from_native(self._store.relation(text, like, {_ROW: "int64"}, inside=False))

    def _numbered(self) -> str:
        """A table of all rows with numbers."""
        m, frame = self.n_rows, self._frame
        if self.id is None:
            number = f"ROW_NUMBER() OVER {self._store.any_order} - 1 AS {_ROW}"
            return self._keep(f"SELECT *, {number} FROM {ROWS}", frame.to_native())
        native = self._read({"id": nw.col(self.id)}, {})
        ids = int(self._store.fetch(f"SELECT COUNT(DISTINCT id) AS n FROM {ROWS}", native)["n"][0])
        if ids != m:
            raise ValueError(
                f"The column {self.id!r} must tell rows apart. It has {ids} different values in "
                f"{m} rows. Hint: name another key."
            )
        # the number comes last, as it does without a key
        numbered = frame.with_row_index(_ROW, order_by=[self.id]).select(*self.types.names(), _ROW)
        return self._keep(f"SELECT * FROM {ROWS}", numbered.to_native())

    def _labelled(self, frame: Any) -> Any:
        """A relation with a copy of the label by a name of ours."""
        native = frame.with_columns(nw.col(self.target).alias(_LABEL)).to_native()
        text = [_LABEL] if self.types[self.target] == nw.String else []
        return self._store.bytes_of(native, text)

    def left_out(self, tree: Tree) -> NodeSums | None:
        """The rows that the weight of pruning is chosen on, at the nodes of a tree."""
        if "left-out" not in self._aside:
            return None
        resting = self.count_aside(tree, unknown="other", kind="left-out")
        counts = summed_up(tree, resting.astype(np.float64))
        return NodeSums(counts, counts)

    def count_aside(
        self, tree: Tree, *, unknown: Unknown, kind: str = "held-out"
    ) -> NDArray[np.int64]:
        """Rows of each class that come to rest at each node of a tree."""
        text = nodes_to_sql(tree, unknown=unknown, dialect=self._store.dialect)
        found = self._store.fetch(
            f"SELECT {_NODE}, {_LABEL}, COUNT(*) AS n FROM (SELECT {text} AS {_NODE}, {_LABEL} "
            f"FROM {ROWS}) AS s GROUP BY {_NODE}, {_LABEL}",
            self._aside[kind],
        )
        counts = np.zeros((tree.n_nodes, len(self.classes)), dtype=np.int64)
        codes = read_classes(labels_array([texts(v) for v in found[_LABEL].tolist()]), self.classes)
        np.add.at(counts, (found[_NODE].astype(np.intp), codes), found["n"].astype(np.int64))
        return counts

    # -- coding --------------------------------------------------------------------------------

    def code(
        self, *, categorical_features: Any, ordinal_features: Any, class_weight: Any
    ) -> CodedRows:
        """Learn the columns, and keep the rows as values and codes."""
        store = self._store
        nominal, ordinal = chosen_columns(tuple(self.names), categorical_features, ordinal_features)
        chosen = nominal | ordinal.keys()
        numbers = [
            j for j, n in enumerate(self.names) if is_number(self.types[n], n) and j not in chosen
        ]
        columns = {
            f"x{j}": self._number(name) if j in numbers else nw.col(name)
            for j, name in enumerate(self.names)
        }
        columns["y"] = nw.col(self.target)
        if self.weight is not None:
            columns["w"] = nw.col(self.weight).cast(nw.Float64)
        names = {f"x{j}": n for j, n in enumerate(self.names) if j not in numbers}
        native = self._read(columns, {**names, "y": self.target})
        codings = number_codings(store, native, self.names, numbers)
        joins = [f"JOIN {self._labels} AS ty ON y = ty.value"]
        for at, name in names.items():
            j = int(at[1:])
            options: dict[str, Any] = {"categorical_features": [name]} if j in nominal else {}
            if j in ordinal:
                order = ordinal[j]
                options = {"ordinal_features": [name] if order is None else {name: list(order)}}
            table, codings[j] = categories_of(store, native, at, name, self.types[name], options)
            self._kept.append(table)
            joins.append(f"LEFT JOIN {table} AS t{j} ON {at} = t{j}.value")
        weights = _Weights(store, native, joins[0], self.classes, self._classes_of)
        weights.learn(
            self._label_rows, None if self.weight is None else self._most_weight, class_weight
        )
        stored = ["0 AS slot", "CAST(ty.code AS INTEGER) AS label", *weights.units()]
        ordered = [codings[j] for j in range(len(self.names))]
        for j, coding in enumerate(ordered):
            stored += _stored(j, coding, store.double)
        table = store.keep(f"SELECT {', '.join(stored)} FROM {ROWS} {' '.join(joins)}", native)
        schema = Schema(
            tuple(coding.column for coding in ordered),
            tuple(self.names),
            self.classes,
            weights.factors,
            weights.scale,
            (),
            (self.n_rows,),
        )
        return CodedRows(store, table, ordered, self._classes_of, schema, weights.total)

    def _number(self, name: str) -> Any:
        """A column as float64, with NULL for NaN."""
        value = nw.col(name)
        if self.types[name].is_float():
            value = nw.when(~value.is_nan()).then(value)
        return value.cast(nw.Float64)


def _listed(numbers: NDArray[Any]) -> str:
    return ", ".join(map(str, numbers.tolist()))


def _stored(j: int, coding: Coding, double: str) -> list[str]:
    """SQL of the stored code of a column, -1 where it is missing, and of its number."""
    if coding.codes is not None:
        return [f"COALESCE(CAST(t{j}.code AS INTEGER), -1) AS c{j}"]
    cell = coding.cell(f"x{j}", 0, double)
    return [f"COALESCE(CAST({cell} AS SMALLINT), -1) AS c{j}", f"x{j} AS v{j}"]


class _Weights:
    """The weights of rows as whole numbers, whose sums are exact in any order.

    Parameters
    ----------
    store, native
        The relation, with weights ``w`` if rows have them.
    join : str
        Joins the number of its label, ``ty.code``, to each row.
    classes : ndarray
    classes_of : ndarray
        The class of each number.
    """

    def __init__(
        self,
        store: Store,
        native: Any,
        join: str,
        classes: NDArray[Any],
        classes_of: NDArray[np.int64],
    ) -> None:
        self._store, self._native = store, native
        self._classes, self._classes_of = classes, classes_of
        self._from = f"FROM {ROWS} {join}"
        self.factors: NDArray[np.float64] | None = None
        self.scale: float | None = None
        self._weight = ""

    def learn(self, rows: NDArray[np.int64], most: float | None, class_weight: Any) -> None:
        """Class weights, and the total; of rows by label, and the greatest weight if they have."""
        totals = [Fraction(0)] * len(self._classes)
        for k, n in zip(self._classes_of.tolist(), rows.tolist(), strict=True):
            totals[k] += n
        self.total = WeightTotal(sum(totals, Fraction(0)))
        if most is not None:
            self._weight = "w"
            totals, self.total = self._exact(most)
        self.factors = class_factors(class_weight, self._classes, totals)
        if not self.total.whole:
            self.scale = float(int(rows.sum()) / self.total.total)
            self._weight = f"(w * CAST('{self.scale!r}' AS {self._store.double}))"
            most = (most or 1.0) * self.scale
            if self.factors is None:
                _, self.total = self._exact(most)
        if self.factors is None:
            return
        factors = [float(self.factors[k]) for k in self._classes_of]
        each = [f"CAST('{factor!r}' AS {self._store.double})" for factor in factors]
        factor = pick("ty.code", list(enumerate(each)))
        self._weight = factor if most is None else f"{self._weight} * {factor}"
        _, self.total = self._exact(max(factors) * (1.0 if most is None else most))

    def _exact(self, most: float) -> tuple[list[Fraction], WeightTotal]:
        """The exact sum of the weights of each class, and of all."""
        weight, double = self._weight, self._store.double
        scale = 2.0 ** (_PIECE_BITS - 1 - frexp(most)[1])
        power = f"CAST('{2.0**_PIECE_BITS!r}' AS {double})"
        query = f"SELECT ty.code AS code, {weight} AS w, {weight} * CAST('{scale!r}' AS {double}) "
        query += f"AS rest {self._from}"
        pieces = [f"p{i}" for i in range(_PIECES)]
        for i, piece in enumerate(pieces):  # the whole bits of the rest: nothing is rounded
            before = ", ".join(["code", "w", *pieces[:i]])
            query = (
                f"SELECT {before}, CAST(FLOOR(rest) AS BIGINT) AS {piece}, "
                f"(rest - FLOOR(rest)) * {power} AS rest FROM ({query}) AS s{i}"
            )
        sums = ", ".join(f"SUM({piece}) AS {piece}" for piece in pieces)
        found = self._store.fetch(
            f"SELECT code, {sums}, MAX(rest) AS rest, MAX(w - FLOOR(w)) AS part, MIN(w) AS least, "
            f"MAX(w) AS most FROM ({query}) AS s GROUP BY code",
            self._native,
        )
        if found["rest"].max() > 0.0:
            raise ValueError(
                "The weights differ too much: the least is less than 2^-97 of the greatest. Hint: "
                "leave out rows of so little weight."
            )
        totals = [Fraction(0)] * len(self._classes)
        for at, label in enumerate(found["code"].astype(np.intp).tolist()):
            for i, piece in enumerate(pieces):
                value = Fraction(int(found[piece][at])) / 2 ** (_PIECE_BITS * i)
                totals[self._classes_of[label]] += value / Fraction(scale)
        ones = found["least"].min() == found["most"].max() == 1.0
        return totals, WeightTotal(sum(totals, Fraction(0)), bool(ones), not found["part"].any())

    def units(self) -> list[str]:
        """The column ``units``, rounded as in memory: a half to the even number, at least 1."""
        if self.total.ones:
            return []
        x = f"({self._weight} * CAST('{2.0**self.total.shift!r}' AS {self._store.double}))"
        odd = f"FLOOR({x}) <> 2 * FLOOR({x} / 2)"
        up = f"{x} - FLOOR({x}) > 0.5 OR ({x} - FLOOR({x}) = 0.5 AND {odd})"
        units = f"CAST(FLOOR({x}) AS BIGINT) + CASE WHEN {up} THEN 1 ELSE 0 END"
        return [f"CASE WHEN {x} < 1 THEN 1 ELSE {units} END AS units"]


def pick(number: str, values: Sequence[tuple[int, str]], other: str | None = None) -> str:
    """SQL that gives the value of a number, by halves; ``values`` are in order.

    Numbers that have none get ``other``; None if all have one.
    """
    if len(values) == 1:
        at, value = values[0]
        return (
            value if other is None else f"CASE WHEN {number} = {at} THEN {value} ELSE {other} END"
        )
    half = len(values) // 2
    low, high = values[:half], values[half:]
    return (
        f"CASE WHEN {number} < {high[0][0]} THEN {pick(number, low, other)} "
        f"ELSE {pick(number, high, other)} END"
    )
