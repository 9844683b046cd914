"""The rows of a relation: checked, weighted, drawn, and coded in the database.

Only counts, categories and the ends of columns are fetched. The rows stay where they are: as a
temporary table of values and codes, or as a query if nothing may be written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, Self

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from treebound._utils.choices import Unknown
from treebound._utils.validation import Setting, WordedError
from treebound.data.draws import Draw, Slice, Tenth, derived, unknown_in_calibration
from treebound.data.encoding import chosen_columns, read_matrix
from treebound.data.frames import read_table
from treebound.data.groups import column_labels, refuse_missing_groups
from treebound.data.learned import LearnedSchema
from treebound.data.matrix import Matrix
from treebound.data.number_sample import NumberSample, WeightedNumbers
from treebound.data.numeric_target import NumberFacts
from treebound.data.ranks import between, quantile_ranks
from treebound.data.roles import ColumnRoles
from treebound.data.sample import RawRows
from treebound.data.summaries import ColumnSummary, TableSummary
from treebound.data.targets import learn_classes, read_classes, refuse_quantity
from treebound.data.weights import WeightTotal, scaled_weights
from treebound.engines.sql.drawing import (
    GROUP,
    ROW,
    NumberedRows,
    RelationNumbers,
    fetch_matrix,
)
from treebound.engines.sql.numbers import (
    check_numbers,
    clipped,
    number_facts,
    target_summary,
    with_integers,
)
from treebound.engines.sql.predictions import nodes_in_order, rows_at_nodes
from treebound.engines.sql.relation import (
    Coding,
    Relation,
    categories_of,
    distinct,
    fetch_table,
    in_words,
    is_number,
    number_codings,
)
from treebound.engines.sql.stores import ROWS, SqlStore, as_array, store_of
from treebound.engines.sql.weights import TableLabels, Weights
from treebound.growing.shard import SelectedRole
from treebound.model.regression import check_in_range
from treebound.tree.model import Tree
from treebound.tree.node_sums import NodeSums, summed_up
from treebound.tree.regression import RegressionTree

# Rows are selected by number, and the numbers are sent to the database.
MAX_SELECTED = 20_000


class CodedRows(NamedTuple):
    """Rows as values and codes, and what was learned of them.

    The table has the columns ``slot``, ``label``, the ``channels``, the words ``w0``, ``w1``, ...
    of codes, and the number ``vj`` of every column j that is real.
    """

    store: SqlStore
    table: str
    words: list[str]
    codings: list[Coding]
    classes_of: NDArray[np.int64]  # the class of each stored label
    schema: LearnedSchema
    total: WeightTotal
    channels: list[str]  # ``units`` if rows have weights; ``q`` and ``q2`` of a target of numbers
    numbers: NumberFacts | None = None  # of a target of numbers


class ColumnKinds(NamedTuple):
    """Which columns of a relation are numbers, and the others by the names that they are given."""

    numbers: list[int]
    values: dict[str, Any]  # the expressions of numbers
    names: dict[str, str]  # the others
    nominal: set[int]  # chosen by the user
    ordinal: Mapping[int, Any]

    def options(self, at: str) -> dict[str, Any]:
        """How the categories of a column are learned."""
        j, name = int(at[1:]), self.names[at]
        if j in self.ordinal:
            order = self.ordinal[j]
            return {"ordinal_features": [name] if order is None else {name: list(order)}}
        return {"categorical_features": [name]} if j in self.nominal else {}


class RelationRows:
    """The rows of a relation with a weight above zero; columns are given by name."""

    def __init__(self, relation: Relation, roles: ColumnRoles, *, numeric: bool = False) -> None:
        self._numeric = numeric  # whether the target is of numbers
        self.types = relation.types("fit", id=relation.id)
        named = self.types.names(), "the relation"
        roles.check(*named)
        self.target, self.weight, self._groups = roles.target, roles.weight, roles.groups
        self.id = relation.id
        self.names = roles.columns_to_learn(*named, relation.id)
        self._store = store_of(relation.frame)
        self._frame = relation.frame
        self._type_empty_columns()
        self._max_weight: float | None = None
        if self.weight is not None:
            self._leave_out_weightless()
        self._all = self._frame
        self._numbered: NumberedRows | None = None
        self._selected: dict[str, Any] = {}  # calibration and validation rows
        self._uncalibrated = self._frame  # training and validation rows
        self.summary: TableSummary | None = None  # of the rows that columns are learned from
        self.n_groups = 0  # 0 if each row is a group of its own
        self._max_fetched_rows = relation.max_fetched_rows
        # the columns and classes of selected rows that were fetched
        self._fetched: dict[tuple[str, Unknown], tuple[Matrix, NDArray[np.int32]]] = {}

    def __enter__(self) -> Self:
        try:
            if self._numeric:
                self._count_numbers()
            else:
                self._learn_classes()
            if self._groups is not None:
                self._count_groups()
        except BaseException:
            self._store.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        """Remove temporary tables."""
        self._store.close()

    def _type_empty_columns(self) -> None:
        """Read columns without a type in which every value is NULL as text, as in memory."""
        untyped = [name for name in self.names if self.types[name] == nw.Unknown]
        if not untyped:
            return
        counts = {f"n{j}": nw.col(name).count() for j, name in enumerate(untyped)}
        present = self._frame.select(**counts).collect("pyarrow").to_native().to_pylist()[0]
        empty = [name for j, name in enumerate(untyped) if not present[f"n{j}"]]
        self.types = nw.Schema({**self.types, **dict.fromkeys(empty, nw.String())})
        self._frame = (
            self._frame.with_columns(nw.col(*empty).cast(nw.String)) if empty else self._frame
        )

    def _leave_out_weightless(self) -> None:
        """Keep the rows of a weight above zero, if every weight is a number."""
        weight = nw.col(self.weight).cast(nw.Float64)
        good = (weight >= 0.0) & (weight <= np.finfo(float).max) & ~weight.is_nan()
        bad = nw.when(good).then(nw.lit(0)).otherwise(nw.lit(1))
        native = self._frame.select(bad=bad, w=weight).to_native()
        fetched = self._store.fetch(f"SELECT SUM(bad) AS n, MAX(w) AS most FROM {ROWS}", native)
        if fetched["n"][0]:
            raise ValueError(
                f"Weights must be finite numbers from 0 on. The column {self.weight!r} of the "
                f"relation has other values in {int(fetched['n'][0]):,} rows. Hint: remove them."
            )
        self._max_weight = float(fetched["most"][0] or 0.0)
        self._frame = self._frame.filter(weight > 0.0)

    def _learn_classes(self) -> None:
        """The classes; a table of labels with numbers there; the class and rows of each number."""
        native = self._read({"y": self.target})
        if self.types[self.target].is_numeric():
            counted = f"SELECT COUNT(DISTINCT y) AS labels, COUNT(y) AS n FROM {ROWS}"
            counts = self._store.fetch(counted, native)
            refuse_quantity(int(counts["labels"][0]), int(counts["n"][0]))
        table, values, rows = distinct(self._store, native, "y", self.target)
        if not len(values):
            raise ValueError("The relation has no rows of a weight above zero.")
        missing = [value is None or value != value for value in values.tolist()]
        if any(missing):
            raise ValueError(
                f"The column {self.target!r} of the relation has {int(rows[missing].sum())} rows "
                "without a label. Hint: leave them out."
            )
        classes, codes = learn_classes(values)
        self._labels = TableLabels(table, classes, codes.astype(np.int64), rows)

    def _count_numbers(self) -> None:
        """Count the rows of a target of numbers; all of them have one label."""
        if not self.types[self.target].is_numeric():
            raise ValueError(
                f"The column {self.target!r} of the relation has the type "
                f"{self.types[self.target]}, not numbers. Hint: use BoundTreeClassifier to predict "
                "classes."
            )
        native = self._read_target()
        n_rows = int(self._store.fetch(f"SELECT COUNT(*) AS n FROM {ROWS}", native)["n"][0])
        if not n_rows:
            raise ValueError("The relation has no rows of a weight above zero.")
        check_numbers(self._store, native, self.target, n_rows)
        one = np.zeros(1, dtype=np.int64)
        self._labels = TableLabels("", one, one, np.array([n_rows]))

    def _count_groups(self) -> None:
        """Count the groups; each row must have one."""
        counted = f"SELECT COUNT(DISTINCT g) AS n, COUNT(g) AS known FROM {ROWS}"
        group = nw.col(self._groups)
        if self.types[self._groups].is_float():
            group = nw.when(~group.is_nan()).then(group)
        native = self._read({"g": self._groups}) if self.types[self._groups] == nw.String else None
        native = self._read({}, g=group) if native is None else native
        fetched = self._store.fetch(counted, native)
        refuse_missing_groups(self._groups, self.n_rows - int(fetched["known"][0]))
        n_groups = int(fetched["n"][0])
        self.n_groups = n_groups if n_groups < self.n_rows else 0

    def check_range(self, y_range: tuple[float, float]) -> None:
        """Raise a ValueError if a number is outside a declared range."""
        ends = f"SELECT MIN(y) AS low, MAX(y) AS high FROM {ROWS}"
        fetched = self._store.fetch(ends, self._read_target())
        check_in_range(np.array([fetched["low"][0], fetched["high"][0]]), y_range)

    def _read_target(self) -> Any:
        """The relation of the target ``y``."""
        if self._numeric:
            return self._read({}, y=self._number(self.target))
        return self._read({"y": self.target})

    def _read(self, names: Mapping[str, str], *, frame: Any = None, **more: Any) -> Any:
        """The relation of some columns, by names of ours, text by its bytes; and of more."""
        frame = self._frame if frame is None else frame
        frame = frame.select(**{at: nw.col(name) for at, name in names.items()}, **more)
        suffixes = self._store.suffixes({at: self.types[name] for at, name in names.items()})
        columns = ", ".join(f"{at}{suffixes.get(at, '')} AS {at}" for at in (*names, *more))
        return self._store.relation(f"SELECT {columns} FROM {ROWS}", frame.to_native())

    @property
    def n_rows(self) -> int:
        """Number of rows, without those that are selected."""
        return int(self._labels.rows.sum())

    @property
    def can_draw(self) -> bool:
        """Return True if calibration and validation rows can be marked, in a temporary table."""
        return self._store.keeps

    def fetched(self) -> RawRows:
        """All rows in memory, in the order of the key."""
        frame = self._all if self.id is None else self._all.sort(self.id)
        table = fetch_table(frame, self.types)
        weight = None if self.weight is None else table.column(self.weight).cast("float64")
        labels = table.column(self.target)
        weights = None if weight is None else weight.to_numpy()
        groups = None
        if self._groups is not None:
            groups = column_labels(table.column(self._groups), None, self._groups)
        return RawRows(table.select(self.names), labels, weights, groups)

    # -- rows that are drawn ---------------------------------------------------------------------

    def draw_calibration(
        self, draw: Draw, of_columns: Mapping[str, Any], *, large: bool = False
    ) -> Draw:
        """Draw the rows, or groups, that certify the tree; nothing else is learned from them.

        Of a ``large`` table as in memory, else at most 20,000.
        """
        if not self.can_draw:
            certificate = Setting("certificate", "training")
            if self._numeric:
                certificate = Setting("certificate", python="certificate=None")
            raise WordedError(
                "Calibration rows are stored in a temporary table, and none can be written here. "
                "Hint: use ",
                certificate,
                ", and certify the fitted tree with other rows.",
            )
        rows = self._number_rows()
        draw = replace(draw, key=draw.key_of(self._summary(of_columns)))
        m = self.n_groups or self.n_rows
        part: Slice | Tenth = draw.calibration_rows(m)
        if large and not self.n_groups:
            part = draw.tenth()
        elif not large and isinstance(part, Slice):
            part = replace(part, stop=min(part.stop, MAX_SELECTED))
        self._selected["calibration"], self._frame = rows.take(part)
        self._uncalibrated = self._frame
        self._count_rows()
        return replace(draw, calibration=part)

    def draw_validation(self, draw: Draw, of_columns: Mapping[str, Any]) -> Draw:
        """Draw at most 20,000 rows that validate the pruner; nothing else is learned from them.

        Without numbers of rows there are none.
        """
        if not self.can_draw:
            return draw
        rows = self._number_rows()
        if draw.key is None:
            draw = replace(draw, key=draw.key_of(self._summary(of_columns)))
        size = min(self.n_rows // 10, MAX_SELECTED)
        if self.n_groups:  # a group alone does not show how much groups differ
            left = len(rows.left)
            size = min(max(2, left // 10), MAX_SELECTED) if left > 2 else 0
        if not size:  # there are too few rows
            return draw
        assert draw.key is not None
        other = Slice(derived(draw.key, "validation"), 0, size)
        self._selected["validation"], self._frame = rows.take(other)
        self._count_rows()
        return replace(draw, validation=other)

    def draw_tenth(self, draw: Draw, of_columns: Mapping[str, Any], seed: int | None) -> Draw:
        """Draw a tenth of the rows or groups of a large table to validate the pruner, as in memory.

        Columns are still learned from these rows.
        """
        if not self.can_draw:
            return draw
        rows = self._number_rows()
        self.summary = self._summary(of_columns)
        key = draw.key_of(self.summary)
        other = Tenth(derived(key, "validation", seed))
        self._selected["validation"], self._frame = rows.take(other)
        self._count_rows()
        return replace(draw, key=key, validation=other)

    def _number_rows(self) -> NumberedRows:
        """The rows with numbers, in the order of the key if there is one."""
        if self._numbered is None:
            if self.id is not None:
                counted = f"SELECT COUNT(DISTINCT id) AS n FROM {ROWS}"
                ids = int(self._store.fetch(counted, self._read({"id": self.id}))["n"][0])
                if ids != self.n_rows:
                    raise ValueError(
                        f"The column {self.id!r} must have a different value in every row. It has "
                        f"{ids} different values in {self.n_rows} rows. Hint: name another key."
                    )
            groups = self._groups if self.n_groups else None
            self._numbered = NumberedRows(
                self._store,
                self._frame,
                self.types,
                self.id,
                groups,
                self.n_groups or self.n_rows,
            )
        return self._numbered

    def _count_rows(self) -> None:
        """Count the rows of each label that are left."""
        fetched = self._store.fetch(
            f"SELECT code, COUNT(*) AS n FROM (SELECT {self._labels.code} AS code FROM {ROWS} "
            f"{self._labels.join}) AS s GROUP BY code",
            self._read_target(),
        )
        left = np.zeros_like(self._labels.rows)
        left[fetched["code"].astype(np.intp)] = fetched["n"].astype(np.int64)
        self._labels = self._labels._replace(rows=left)

    def _summary(self, of_columns: Mapping[str, Any]) -> TableSummary:
        """The summary of all rows, as it is of the same rows in memory."""
        store, kinds = self._store, self._kinds(**of_columns)
        native, labels = self._read(kinds.names, **kinds.values), self._labels
        columns: dict[int, ColumnSummary] = {}
        if kinds.numbers:
            ends = ", ".join(f"MIN(x{j}) AS low{j}, MAX(x{j}) AS high{j}" for j in kinds.numbers)
            wanted = ", ".join(
                f"MIN(x{j}) AS low{j}, MAX(x{j}) AS high{j}, COUNT(x{j}) AS n{j}, "
                f"SUM(CASE WHEN x{j} = low{j} THEN 1 ELSE 0 END) AS at_low{j}, "
                f"SUM(CASE WHEN x{j} = high{j} THEN 1 ELSE 0 END) AS at_high{j}"
                for j in kinds.numbers
            )
            text = f"SELECT {wanted} FROM {ROWS} CROSS JOIN (SELECT {ends} FROM {ROWS}) AS e"
            fetched = store.fetch(text, native)
            for j in kinds.numbers:
                known = int(fetched[f"n{j}"][0])
                columns[j] = ColumnSummary(missing=self.n_rows - known)
                if known:
                    low, high, at_low, at_high = (
                        fetched[f"{name}{j}"][0] for name in ("low", "high", "at_low", "at_high")
                    )
                    columns[j] = replace(
                        columns[j],
                        low=float(low),
                        high=float(high),
                        at_low=int(at_low),
                        at_high=int(at_high),
                    )
        for at, name in kinds.names.items():
            options = kinds.options(at)
            table, coding = categories_of(
                store, native, at, name, self.types[name], options, self.n_rows
            )
            if table:
                store.drop(table)
            columns[int(at[1:])] = (
                ColumnSummary()  # of an identifier
                if coding.column.identifier or coding.codes is None
                else ColumnSummary.of_codes(coding.column, coding.codes, coding.rows)
            )
        class_rows = np.bincount(labels.class_of, labels.rows, len(labels.classes))
        summary = TableSummary(
            tuple(class_rows.astype(np.int64).tolist()),
            tuple(columns[j] for j in range(len(self.names))),
        )
        if not self._numeric:
            return summary
        return summary.with_target(target_summary(store, self._read_target(), self.target))

    def validation_sums(self, tree: Tree) -> NodeSums | None:
        """The validation rows, at the nodes of a tree."""
        if "validation" not in self._selected:
            return None
        resting = self.count_selected(tree, role="validation")
        counts = summed_up(tree, resting.astype(np.float64))
        return NodeSums(counts, counts)

    def class_rows(self, tree: Tree) -> NDArray[np.int64]:
        """The rows of each class at each node of a tree."""
        counts = rows_at_nodes(self._frame, tree, self.target, "other")
        return summed_up(tree, counts.astype(np.float64)).astype(np.int64)

    def count_selected(
        self, tree: Tree, *, handle_unknown: Unknown = "other", role: str = "calibration"
    ) -> NDArray[np.int64]:
        """Count the drawn rows of each class that stop at each node of a tree.

        Rows that may be fetched are routed in memory: the query of a large tree takes long.
        """
        unknown = unknown_in_calibration(handle_unknown)
        if (role, unknown) not in self._fetched:
            frame = self._selected[role]
            counted = self._store.fetch(f"SELECT COUNT(*) AS n FROM {ROWS}", frame.to_native())
            if int(counted["n"][0]) > self._max_fetched_rows:
                return rows_at_nodes(frame, tree, self.target, unknown)
            self._fetched[role, unknown] = self._fetch_selected(tree, unknown, role)
        X, codes = self._fetched[role, unknown]
        counts = np.zeros((tree.n_nodes, tree.n_classes), dtype=np.int64)
        np.add.at(counts, (tree.apply(X), codes), 1)
        return counts

    def _fetch_selected(
        self, tree: Tree, unknown: Unknown, role: str
    ) -> tuple[Matrix, NDArray[np.int32]]:
        """The drawn rows in memory: their columns and classes, as those of a tree."""
        label = "treebound_y"
        types = {**self.types, label: self.types[self.target]}
        frame = self._selected[role].select(*self.names, nw.col(self.target).alias(label))
        table = fetch_table(frame, types)
        matrix = read_matrix(
            read_table(table.select(self.names)), tree.columns, named=True, handle_unknown=unknown
        )
        return matrix, read_classes(as_array(table.column(label)), tree.classes)

    def drawn_numbers(
        self,
        role: SelectedRole,
        schema: LearnedSchema,
        handle_unknown: Unknown,
        relation: Relation,
    ) -> WeightedNumbers | None:
        """The numbers of the drawn rows, in the order of the table; None without any.

        More rows than may be fetched at once are fetched in pieces for each tree. If no more may be
        fetched at all, their nodes are found in the database: this takes long if the tree is large.
        """
        frame = self._selected.get(role)
        if frame is None:
            return None
        wanted = {"treebound_y": self._number(self.target)}
        if self.weight is not None:
            wanted["treebound_w"] = nw.col(self.weight).cast(nw.Float64)
        numbers = [ROW, GROUP] if self.n_groups else [ROW]
        fetched = self._store.fetch(
            f"SELECT {', '.join([*numbers, *wanted])} FROM {ROWS}",
            frame.with_columns(**wanted).to_native(),
        )
        order, weight = np.argsort(fetched[ROW]), None
        if self.weight is not None:
            weight = fetched["treebound_w"][order].astype(np.float64)
            weight = weight if schema.scale is None else scaled_weights(weight, schema.scale)
        y = fetched["treebound_y"][order].astype(np.float64)
        groups = fetched[GROUP][order].astype(np.int64) if self.n_groups else None
        if not len(y):  # there are too few groups
            return NumberSample(Matrix.empty(schema.columns), y, weight, groups)
        most = relation.max_fetched_rows
        fetch = partial(
            fetch_matrix,
            names=self.names,
            types=self.types,
            columns=schema.columns,
            handle_unknown=handle_unknown,
        )
        if len(y) <= most:
            return NumberSample(fetch(frame), y, weight, groups)
        if relation.stays:
            nodes = partial(
                nodes_in_order, self._store, frame, handle_unknown=handle_unknown, by=ROW
            )
            return RelationNumbers(y, weight, groups, nodes)
        starts = fetched[ROW][order][::most].tolist()

        def nodes_of(tree: RegressionTree) -> NDArray[np.int32]:
            ends = [*starts[1:], None]
            pieces = [nw.col(ROW) >= start for start in starts]
            pieces = [
                piece if end is None else piece & (nw.col(ROW) < end)
                for piece, end in zip(pieces, ends, strict=True)
            ]
            return np.concatenate([tree.apply(fetch(frame.filter(piece))) for piece in pieces])

        return RelationNumbers(y, weight, groups, nodes_of)

    def clip_range(self, quantiles: tuple[float, float]) -> tuple[float, float]:
        """Return quantiles of the numbers of training and validation rows, as numpy has them."""
        native = self._uncalibrated.select(y=self._number(self.target)).to_native()
        n = int(self._store.fetch(f"SELECT COUNT(*) AS n FROM {ROWS}", native)["n"][0])
        ranks = quantile_ranks(quantiles, n)
        wanted = sorted({rank for pair in ranks for rank in pair})
        fetched = self._store.fetch(
            f"SELECT y, r FROM (SELECT y, ROW_NUMBER() OVER (ORDER BY y) - 1 AS r FROM {ROWS}) "
            f"AS s WHERE r IN ({', '.join(map(str, wanted))})",
            native,
        )
        numbers = dict(zip(fetched["r"].tolist(), fetched["y"].tolist(), strict=True))
        low, high = (
            between((numbers[first], numbers[second]), q, n)
            for q, (first, second) in zip(quantiles, ranks, strict=True)
        )
        return low, high

    # -- coding --------------------------------------------------------------------------------

    def code(
        self,
        *,
        categorical_features: Any,
        ordinal_features: Any,
        class_weight: Any = None,
        clip: tuple[float, float] | None = None,
    ) -> CodedRows:
        """Learn the columns, and keep the rows as values and codes, numbers moved into a range."""
        store = self._store
        kinds = self._kinds(categorical_features, ordinal_features)
        values = dict(kinds.values)
        learned, n_learned = None, self.n_rows
        if self.summary is not None:  # columns are learned from validation rows too
            learned = self._read(kinds.names, **values, frame=self._uncalibrated)
            n_learned = sum(self.summary.class_rows)
        if self.weight is not None:
            values["w"] = nw.col(self.weight).cast(nw.Float64)
        if self._numeric:
            native = self._read(kinds.names, **values, y=self._number(self.target))
            if clip is not None:
                columns = ", ".join([*kinds.names, *values])
                native = store.relation(
                    f"SELECT {columns}, {clipped('y', clip, store)} AS y FROM {ROWS}", native
                )
        else:
            native = self._read({**kinds.names, "y": self.target}, **values)
        codings = number_codings(store, native, self.names, kinds.numbers)
        joins = [self._labels.join]
        for at, name in kinds.names.items():
            j, options = int(at[1:]), kinds.options(at)
            table, codings[j] = categories_of(
                store,
                native if learned is None else learned,
                at,
                name,
                self.types[name],
                options,
                n_learned,
            )
            if codings[j].column.identifier:
                continue
            joins.append(f"LEFT JOIN {table} AS t{j} ON {at} = t{j}.value")
        weights = Weights(
            store, native, self._labels, self._max_weight, class_weight, self._validation_weights()
        )
        stored = ["0 AS slot", f"CAST({self._labels.code} AS INTEGER) AS label", *weights.units()]
        channels, numbers = [] if weights.total.ones else ["units"], None
        ordered = in_words([codings[j] for j in range(len(self.names))])
        words = list(dict.fromkeys(coding.word for coding in ordered))
        for word in words:
            codes = [c.stored(j, store) for j, c in enumerate(ordered) if c.word == word]
            stored.append(f"CAST({' + '.join(codes)} AS BIGINT) AS {word}")
        reals = [j for j, coding in enumerate(ordered) if coding.codes is None]
        stored += [f"x{j} AS v{j}" for j in reals]
        query = f"SELECT {', '.join(stored)} FROM {ROWS} {' '.join(joins)}"
        if self._numeric:
            numbers = number_facts(store, native, weights.least)
            query = f"SELECT {', '.join(stored)}, y FROM {ROWS} {' '.join(joins)}"
            stay = ["slot", "label", *channels, *words, *(f"v{j}" for j in reals)]
            query, channels = with_integers(query, stay, numbers, weights.total, store)
        table = store.keep(query, native)
        schema = LearnedSchema(
            tuple(coding.column for coding in ordered),
            tuple(self.names),
            self._labels.classes,
            weights.factors,
            weights.scale,
            (),
            (self.n_rows,),
            identifiers=tuple(c.column for c in ordered if c.column.identifier),
        )
        return CodedRows(
            store,
            table,
            words,
            ordered,
            self._labels.class_of,
            schema,
            weights.total,
            channels,
            numbers,
        )

    def _validation_weights(self) -> Any:
        """The weights ``w`` of validation rows; None if there are no such rows or weights."""
        frame = self._selected.get("validation")
        if frame is None or self.weight is None:
            return None
        return frame.select(w=nw.col(self.weight).cast(nw.Float64)).to_native()

    def _kinds(
        self, categorical_features: Any, ordinal_features: Any, class_weight: Any = None
    ) -> ColumnKinds:
        """The kinds of the columns."""
        nominal, ordinal = chosen_columns(tuple(self.names), categorical_features, ordinal_features)
        chosen = nominal | ordinal.keys()
        numbers = [
            j for j, n in enumerate(self.names) if is_number(self.types[n], n) and j not in chosen
        ]
        names = {f"x{j}": n for j, n in enumerate(self.names) if j not in numbers}
        values = {f"x{j}": self._number(self.names[j]) for j in numbers}
        return ColumnKinds(numbers, values, names, nominal, ordinal)

    def _number(self, name: str) -> Any:
        """A column as float64, with NULL for NaN."""
        value = nw.col(name)
        if self.types[name].is_float():
            value = nw.when(~value.is_nan()).then(value)
        return value.cast(nw.Float64)
