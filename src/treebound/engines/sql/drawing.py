"""Rows of a relation that are drawn by number, as in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from treebound._utils.choices import Unknown
from treebound.data.columns import Column
from treebound.data.draws import Slice, Tenth
from treebound.data.encoding import read_matrix
from treebound.data.frames import read_table
from treebound.data.matrix import Matrix
from treebound.data.number_sample import WeightedNumbers
from treebound.engines.sql.relation import fetch_table
from treebound.engines.sql.stores import ROWS, SqlStore
from treebound.tree.regression import RegressionTree

ROW = "treebound_row"  # the number of a row
GROUP = "treebound_group"  # the number of its group
_LABEL = "treebound_group_label"
_HALF = 32  # bits of a half of a hash


@dataclass(frozen=True, eq=False)
class RelationNumbers(WeightedNumbers):
    """Validation or calibration rows of a relation, whose columns stay there."""

    y: NDArray[np.float64]
    weight: NDArray[np.float64] | None
    groups: NDArray[np.int64] | None
    nodes: Callable[[RegressionTree], NDArray[np.int32]]

    def nodes_of(self, tree: RegressionTree) -> NDArray[np.int32]:
        return self.nodes(tree)


class NumberedRows:
    """The rows of a relation with numbers, in a temporary table, and which of them are left.

    The rows of a group are drawn together if ``groups`` names their column; the groups are numbered
    in the order of their labels.
    """

    def __init__(
        self, store: SqlStore, frame: Any, types: Any, key: str | None, groups: str | None, m: int
    ) -> None:
        self._store, self._unit = store, ROW if groups is None else GROUP
        self._m = m  # rows or groups in all
        self._more = dict.fromkeys([ROW] if groups is None else [ROW, GROUP], "int64")
        names = [*types.names()]
        label = types.get(groups)
        if groups is not None:
            column = nw.col(groups)
            if label in (nw.Enum, nw.Categorical):  # in memory their labels are texts
                column, label = column.cast(nw.String), nw.String()
            frame = frame.with_columns(column.alias(_LABEL))
            names.append(_LABEL)
        self._like = frame.select(names).to_native()
        columns = ["*"]
        if key is None:
            columns.append(f"CAST(ROW_NUMBER() OVER {store.any_order} - 1 AS BIGINT) AS {ROW}")
        else:  # the number comes last, as it does without a key
            frame = frame.with_row_index(ROW, order_by=[key])
            names.append(ROW)
        if groups is not None:
            suffix = store.suffixes({_LABEL: label}).get(_LABEL, "")
            columns.append(
                f"CAST(DENSE_RANK() OVER (ORDER BY {_LABEL}{suffix}) - 1 AS BIGINT) AS {GROUP}"
            )
        native = frame.select(names).to_native()
        self._table = store.keep(f"SELECT {', '.join(columns)} FROM {ROWS}", native)
        self._conditions = list[str]()  # of the rows that are left
        self._taken = list[Slice | Tenth]()

    @property
    def left(self) -> NDArray[np.int64]:
        """The numbers of the rows or groups that are left."""
        numbers = np.arange(self._m)
        for selection in self._taken:
            if isinstance(selection, Tenth) and self._unit == GROUP:
                inside = selection.has(numbers)
            else:
                inside = selection.mask(len(numbers))
            numbers = numbers[~inside]
        return numbers

    def take(self, selection: Slice | Tenth) -> tuple[Any, Any]:
        """The frames of the selected rows (or groups) of those that are left, and of the rest."""
        if isinstance(selection, Tenth) and self._unit == GROUP:
            selection = selection.of_groups(len(self.left))
        if isinstance(selection, Slice):
            left = self.left
            chosen = left[selection.mask(len(left))]
            numbers = self._store.table_of(n=chosen if len(chosen) else np.array([-1]))
        else:
            numbers = self._store.keep(self._tenth(selection))
        self._taken.append(selection)
        among = f"IN (SELECT n FROM {numbers} AS q)"
        taken = self._where([*self._conditions, f"{self._unit} {among}"])
        self._conditions.append(f"{self._unit} NOT {among}")
        return taken, self._where(self._conditions)

    def _where(self, conditions: list[str]) -> Any:
        text = f"SELECT * FROM {self._table} AS t WHERE {' AND '.join(conditions)}"
        return nw.from_native(self._store.relation(text, self._like, **self._more))

    def _tenth(self, selection: Tenth) -> str:
        """SQL of the numbers ``n`` of the selected rows or groups, by the hash of memory."""
        where = f" WHERE {' AND '.join(self._conditions)}" if self._conditions else ""
        place = f"DISTINCT {GROUP} AS n, {GROUP} AS place"
        if self._unit == ROW:  # rows are numbered again without those that were taken
            place = f"{ROW} AS n, ROW_NUMBER() OVER (ORDER BY {ROW}) - 1 AS place"
        source = f"(SELECT {place} FROM {self._table} AS t{where}) AS s"
        return tenth_of(self._store, source, selection.key)


def tenth_of(store: SqlStore, source: str, key: int) -> str:
    """SQL of the numbers ``n`` whose ``place`` a :class:`Tenth` selects.

    The hash of 64 bits is computed in halves (``h``, ``l``): products of a half and 16 bits fit
    into a BIGINT everywhere.
    """

    def bits(x: str, shift: int, n: int) -> str:
        return store.bits(x, shift, n)

    def xor(a: str, b: str | int) -> str:
        return f"({a} + {b} - 2 * ({a} & {b}))"

    def product(x: str, c: int) -> str:
        return f"{x} * {c & 65535} + {bits(f'({x} * {c >> 16})', 0, 16)} * 65536"

    def halves(c: int) -> tuple[int, int]:
        return c >> _HALF, c & (2**_HALF - 1)

    def then(query: str, h: str, l: str, *more: str) -> str:  # noqa: E741
        columns = ", ".join(["n", f"{h} AS h", f"{l} AS l", *more])
        return f"SELECT {columns} FROM ({query}{store.fence}) AS s"

    def shifted(query: str, shift: int) -> str:
        """The hash, and the hash shifted to the right, combined by exclusive or."""
        high = f"{bits('h', shift, _HALF - shift)} AS x"
        low = f"{bits('h', 0, shift)} * {2 ** (_HALF - shift)} + {bits('l', shift, _HALF - shift)}"
        return then(then(query, "h", "l", high, f"{low} AS y"), xor("h", "x"), xor("l", "y"))

    def times(query: str, c: int) -> str:
        """The product modulo 2^64."""
        high, low = halves(c)
        query = then(query, "h", "l", f"{product('l', low)} AS y", f"l * {low >> 16} AS z")
        # y lacks the bits of z from the 16th on, which belong to the upper half
        upper = f"{bits('y', _HALF, 31)} + {bits('z', 16, _HALF)} + {product('h', low)}"
        upper += f" + {product('l', high)}"
        return then(query, bits(f"({upper})", 0, _HALF), bits("y", 0, _HALF))

    place = "CAST(place AS BIGINT)"
    query = f"SELECT n, {bits(place, _HALF, 31)} AS h, {bits(place, 0, _HALF)} AS l FROM {source}"
    high, low = halves(key)
    query = then(query, xor("h", high), xor("l", low))
    high, low = halves(0x9E3779B97F4A7C15)
    query = then(query, f"h + {high}", f"l + {low}")
    carried = f"(h + {bits('l', _HALF, 1)})"
    query = then(query, bits(carried, 0, _HALF), bits("l", 0, _HALF))
    query = times(shifted(query, 30), 0xBF58476D1CE4E5B9)
    query = shifted(times(shifted(query, 27), 0x94D049BB133111EB), 31)
    return f"SELECT n FROM ({query}) AS s WHERE (h * {2**_HALF % 10} + l) % 10 = 0"


def fetch_matrix(
    frame: Any, names: list[str], types: Mapping[str, Any], columns: tuple[Column, ...],
    handle_unknown: Unknown,
) -> Matrix:  # fmt: skip
    """The columns of numbered rows, in their order."""
    table = fetch_table(frame.select(*names, ROW), {**types, ROW: nw.Int64()}).sort_by(ROW)
    rows = read_table(table.select(names))
    return read_matrix(rows, columns, named=True, handle_unknown=handle_unknown)
