"""Drawing rows: for calibration, validation and the prior, and folds for cross-validation.

Rows whose results are certified are drawn by their numbers, never by class. The draw depends on a
key: a hash of the seed and of a summary of the table, so that given the content of the table the
rows are as good as drawn at random, also from a table that is sorted by class; the same table gives
the same rows, in every engine. A model keeps the key, never the numbers of rows.

Folds and validation rows of a pruner are stratified. They depend on a seed and on the values of the
rows, not on their order or on the names of the classes, and a row of weight two counts as two rows.
Equal rows stay together, otherwise a validation part would have rows of the training part. If no
column has many values, equal rows are a coincidence and distributed like any others, unless every
row of a class occurs twice, or has twice the weight.

Rows of one group always stay together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from hashlib import blake2b
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from treebound._utils._pool import blocks, each
from treebound._utils.arrays import Ints
from treebound._utils.choices import Unknown
from treebound.data._row_hashes import chain_column, chain_rows, mixed
from treebound.data.matrix import Matrix, MatrixPart
from treebound.data.raw import smallest_ints
from treebound.data.row_hashes import row_hashes
from treebound.data.sample import LabelledRows, Sample
from treebound.data.summaries import TableSummary
from treebound.data.weights import is_whole, relative_weights

Keys = NDArray[np.uint64]
Mask = NDArray[np.bool_]
# Duplicates stay together if that leaves this many rows for each part.
_ENOUGH = 10
# In a table with more values than this in a column, equal rows are copies.
_MANY_VALUES = 100
# Of so many groups, hashes select a tenth well enough.
_MANY_GROUPS = 200


# -- selections ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Slice:
    """The rows (or groups) from one place to another of a random order of all of them."""

    key: int
    start: int
    stop: int

    def mask(self, m: int) -> Mask:
        """Which of m rows, or groups, are selected."""
        inside = np.zeros(m, dtype=bool)
        inside[np.random.default_rng(self.key).permutation(m)[self.start : self.stop]] = True
        return inside

    def split(self, sample: Sample) -> tuple[Sample, Sample]:
        """The other rows of a sample, and the selected ones."""
        places = np.arange(sample.n_rows)
        if sample.groups is not None:
            places = np.unique(sample.groups, return_inverse=True)[1]
        inside = self.mask(int(places.max(initial=-1)) + 1)[places]
        return sample.part(~inside), sample.part(inside)


@dataclass(frozen=True)
class Tenth:
    """About every tenth row (or group), by a hash of its number: for rows that come in parts."""

    key: int

    def mask(self, m: int) -> Mask:
        """Which of m rows, or groups, are selected."""
        return np.concatenate(each(lambda ends: self.has(np.arange(*ends)), blocks(m)))

    def of_groups(self, m: int) -> Slice | Tenth:
        """The selection among m groups: of few ones at least two, as one shows no differences."""
        if m >= _MANY_GROUPS:
            return self
        return Slice(self.key, 0, max(2, round(m / 10)) if m > 2 else 0)

    def has(self, numbers: Ints) -> Mask:
        """Return True for each of these numbers of rows (or groups) that is selected."""
        places = mixed(numbers.astype(np.uint64) ^ np.uint64(self.key)) % np.uint64(10)
        return np.asarray(places == 0)

    def count(self, start: int, stop: int) -> int:
        """The number of selected rows from one number to another."""
        step = 1 << 20
        numbers = (np.arange(a, min(a + step, stop)) for a in range(start, stop, step))
        return sum(int(self.has(some).sum()) for some in numbers)

    def split(self, sample: Sample) -> tuple[Sample, Sample]:
        """The other rows of a sample, and the selected ones."""
        if sample.groups is None:
            inside = self.mask(sample.n_rows)
        else:
            inside = RowsOfGroups.of(self, sample.groups).mask(sample.n_rows)
        return sample.part(~inside), sample.part(inside)


@dataclass(frozen=True)
class RowsOfGroups(Tenth):
    """The rows of selected groups, by the numbers of the rows."""

    bits: NDArray[np.uint8]  # a bit for each row

    @classmethod
    def of(cls, selection: Slice | Tenth, groups: Ints) -> RowsOfGroups:
        """The rows of the selected groups; ``groups`` has that of each row."""
        numbers, places = np.unique(groups, return_inverse=True)
        if isinstance(selection, Tenth):
            selection = selection.of_groups(len(numbers))
        if isinstance(selection, Slice):
            inside = selection.mask(len(numbers))[places]
        else:
            inside = selection.has(groups)
        return cls(selection.key, np.packbits(inside, bitorder="little"))

    def has(self, numbers: Ints) -> Mask:
        bits = self.bits[numbers >> 3] >> (numbers & 7)
        return np.asarray(bits & 1 != 0)


@dataclass(frozen=True)
class Stratified:
    """A share of the rows of each class, by the values of the rows."""

    key: int
    share: float

    def split(self, sample: Sample) -> tuple[Sample, Sample]:
        """The other rows of a sample, and the selected ones.

        Of a single row, or a single group, none is selected.
        """
        if sample.groups is not None:
            place = _group_places(sample, self.key)
            size = min(max(1, round(self.share * (int(place.max()) + 1))), int(place.max()))
            taken = _spread(place, size, int(place.max()) + 1)
            return sample.part(~taken), sample.part(taken)
        assigned = _Assignment.of(sample, self.key, parts=1.0 / self.share)
        size = min(max(1, round(self.share * assigned.total)), assigned.total - 1)
        exact = object if assigned.total * size >= 2**63 else np.int64
        inside = assigned.inside(
            lambda n: (n.astype(exact) * size // assigned.total).astype(np.int64)
        )
        return assigned.part(sample, assigned.units - inside), assigned.part(sample, inside)


Selection = Slice | Tenth | Stratified


# -- the draw of a fit -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Draw:
    """How a fit draws rows, and which selections it made.

    ``key`` is a hash of ``salt`` and of the rows; None as long as nothing had to be drawn. The
    selections are those of the fitted tree: among independent rows (or groups) for calibration,
    among the other rows for validation.
    """

    salt: int = 0  # random_state, or a random number if that is None
    key: int | None = None
    calibration: Slice | Tenth | None = None
    validation: Selection | None = None

    @classmethod
    def start(cls, random_state: int | None) -> Draw:
        """The draw of a fit before its rows are read."""
        return cls(random_number() if random_state is None else as_key(random_state))

    def keyed(self, rows: Sample | TableSummary) -> Draw:
        """The draw for these rows, or rows with this summary."""
        return replace(self, key=self.key_of(rows))

    def key_of(self, rows: Sample | TableSummary) -> int:
        """The key of these rows, or of rows with this summary."""
        if isinstance(rows, Sample):
            rows = TableSummary.of(rows.X, rows.y, rows.n_classes)
        return rows.hashed(self.salt)

    @property
    def _key(self) -> int:
        assert self.key is not None
        return self.key

    def tenth(self) -> Tenth:
        """Calibration rows of a large table, which may come in parts."""
        return Tenth(self._key)

    def calibration_rows(self, m: int) -> Slice:
        """Calibration rows: a tenth of m rows or groups, but at least 150 and at most 30 %."""
        return Slice(self._key, 0, round(min(0.3 * m, max(150.0, 0.1 * m))))

    def folds(self, m: int) -> list[Slice]:
        """Folds of nearly equal size: 3 below 500 rows, else 4 (chosen on the 25 data sets)."""
        parts = np.array_split(np.arange(m), min(3 if m < 500 else 4, m))
        return [Slice(self._key, int(part[0]), int(part[-1]) + 1) for part in parts]

    def prior_rows(self, m: int, share: float) -> Mask:
        """The rows that define the prior."""
        return Slice(self._key, 0, round(share * m)).mask(m)


def random_number() -> int:
    """A random whole number of 53 bits."""
    return int(np.random.default_rng().integers(2**53))


def as_key(seed: int) -> int:
    """A seed as a whole number that a model file can hold."""
    return int(seed) if seed < 2**53 else derived(seed)


def derived(key: int, *purpose: Any) -> int:
    """A key for one more draw."""
    digest = blake2b(repr((key, *purpose)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 11


def one_of_each(groups: NDArray[np.integer[Any]], key: int) -> NDArray[np.intp]:
    """The place of one row of each group, drawn by number: such rows are independent."""
    order = np.random.default_rng(key).permutation(len(groups))
    return np.sort(order[np.unique(groups[order], return_index=True)[1]])


def unknown_in_calibration(handle_unknown: Unknown) -> Unknown:
    """Return how categories are read that only calibration rows have: they are no error."""
    return "other" if handle_unknown == "error" else handle_unknown


def learn_without(
    rows: LabelledRows, calibration: Mask, handle_unknown: Unknown, **of_columns: Any
) -> tuple[Sample, Sample, Keys]:
    """Learn from the other rows: training rows, calibration rows, and the hashes of the latter.

    Nothing is learned from the calibration rows: categories and missing values that only they have
    are unknown to the columns. Only the types of the columns and the set of classes come from all
    rows. ``of_columns`` are the options of :meth:`Sample.learn`.
    """
    training, calibration_rows = rows.part(~calibration), rows.part(calibration)
    sample = training.learn(**of_columns, classes=rows.classes)
    weight = None
    if rows.weight is not None:
        weight = relative_weights(rows.weight[calibration], rows.weight[~calibration])
    calibration_sample = Sample.read(
        calibration_rows.table,
        calibration_rows.labels,
        columns=sample.columns,
        classes=sample.classes,
        named=False,
        handle_unknown=unknown_in_calibration(handle_unknown),
    )
    calibration_sample = replace(calibration_sample, weight=weight)
    names = None if rows.table.names is None else [column.name for column in sample.columns]
    return (
        sample,
        calibration_sample,
        row_hashes(calibration_rows.table, sample.classes, calibration_sample.y, names=names),
    )


# -- folds for cross-validation --------------------------------------------------------------------


@runtime_checkable
class Splitter(Protocol):
    """A cross-validation splitter, as scikit-learn has them."""

    def split(self, X: Any, y: Any) -> Iterable[tuple[Any, Any]]:
        """The places of the rows outside and inside each fold; with groups, of a third argument."""
        ...


def folds(sample: Sample, k: int | Splitter, seed: int | None) -> Iterator[tuple[Sample, Sample]]:
    """Yield, for each fold, the rows outside it and the rows inside it.

    Folds are stratified by class and shuffled. A class may have fewer rows than there are folds;
    a fold with no rows, or with all of them, is skipped. A splitter makes its own folds: it is
    given the class codes, and zeros in place of the columns.
    """
    if not isinstance(k, int | np.integer):
        yield from _split_by(k, sample)
        return
    if sample.groups is not None:
        place = _group_places(sample, seed)
        for fold in range(min(k, int(place.max()) + 1)):
            turn = place % (2 * k)  # there and back, so that sizes even out
            inside = np.minimum(turn, 2 * k - 1 - turn) == fold
            if not inside.all():
                yield sample.part(~inside), sample.part(inside)
        return
    assigned = _Assignment.of(sample, seed, parts=k)
    k = min(k, assigned.total)
    if assigned.simple and k > 1:  # the rows in turn
        turn = assigned.place % k
        for fold in range(k):
            mask = turn == fold
            yield sample.part(~mask), sample.part(mask)
        return
    for fold in range(k):
        inside = assigned.inside(partial(_taken, k, fold))
        if inside.any() and (inside < assigned.units).any():
            yield assigned.part(sample, assigned.units - inside), assigned.part(sample, inside)


def _split_by(splitter: Splitter, sample: Sample) -> Iterator[tuple[Sample, Sample]]:
    number = 0
    groups = {} if sample.groups is None else {"groups": sample.groups}
    parts_of_folds: Iterable[Any] = splitter  # type: ignore[assignment]  # a list of folds
    if hasattr(splitter, "split"):
        parts_of_folds = splitter.split(np.zeros((sample.n_rows, 1)), sample.y, **groups)
    for parts in parts_of_folds:
        number += 1
        try:
            outside, inside = (_places(part, sample.n_rows) for part in parts)
        except (IndexError, TypeError, ValueError) as error:
            raise ValueError(
                f"Fold {number} must be two arrays of places of rows, from 0 to "
                f"{sample.n_rows - 1:,}. Got {parts!r:.100} instead ({error})."
            ) from None
        if not len(outside) or not len(inside):
            raise ValueError(
                f"Fold {number} has {len(inside):,} rows inside and {len(outside):,} outside. "
                "Hint: neither part of a fold may be empty."
            )
        if len(np.intersect1d(outside, inside)):
            raise ValueError(
                f"Fold {number} has rows that are both inside and outside it. Hint: a row is "
                "either used to grow or to validate."
            )
        yield sample.part(outside), sample.part(inside)
    if not number:
        raise ValueError(f"{splitter!r:.100} made no folds. Hint: give a number of folds.")


def _places(part: Any, n_rows: int) -> Ints:
    """The places of rows that are given by their places or by a mask."""
    places = np.asarray(part)
    return np.arange(n_rows)[places] if places.size else np.empty(0, dtype=np.int64)


def _group_places(sample: Sample, seed: int | None) -> Ints:
    """The place of each row's group: by its commonest class, by size, then at random."""
    assert sample.groups is not None
    _, member = np.unique(sample.groups, return_inverse=True)
    n_groups = int(member.max()) + 1
    counts = np.zeros((n_groups, sample.n_classes))
    np.add.at(counts, (member, sample.y), sample.weights)
    key = np.zeros(n_groups, dtype=np.uint64)
    np.add.at(key, member, mixed(row_keys(sample.X, seed)))  # modulo 2^64
    common = counts.argmax(axis=1)
    rank = np.bincount(common, minlength=sample.n_classes)[common]  # classes by size, not by name
    order = np.lexsort((key, -counts.sum(axis=1), common, rank))
    place = np.empty(n_groups, dtype=np.int64)
    place[order] = np.arange(n_groups)
    return place[member]


def _spread(place: Ints, size: int, total: int) -> NDArray[np.bool_]:
    """Which of ``total`` places are taken if ``size`` of them are taken evenly."""
    return (place + 1) * size // total > place * size // total


def _taken(k: int, fold: int, n: Ints) -> Ints:
    """How many of the first n blocks go to a fold when assigned to k folds in turn."""
    return (n + k - 1 - fold) // k


@dataclass(frozen=True)
class _Assignment:
    """The order in which rows are assigned: by class, then at random, equal rows together."""

    units: Ints  # the weight of every row in whole units of its class
    before: Ints  # units of equal rows that precede it
    block: Ints  # units that are assigned together; divides the units of its group of equal rows
    place: Ints  # number of blocks before the first one of its group
    total: int  # number of blocks
    simple: bool = False  # whether every row is a block of its own

    @classmethod
    def of(cls, sample: Sample, seed: int | None, parts: float) -> _Assignment:
        keys = row_keys(sample.X, seed)
        whole = is_whole(sample.weight)
        units = sample.weights.astype(np.int64) if whole else np.ones(sample.n_rows, dtype=np.int64)
        if sample.weight is None:
            rank = _class_ranks(sample.y, keys, units).astype(smallest_ints(sample.n_classes))
            by_key = np.argsort(keys)  # with a stable sort by class much faster than lexsort
            sequence = by_key[np.argsort(rank[sample.y[by_key]], kind="stable")]
            if not _has_equal(keys[sequence]):  # no two rows are equal, as in most tables
                place = np.empty_like(units)
                place[sequence] = np.arange(sample.n_rows)
                return cls(units, np.zeros_like(units), units, place, sample.n_rows, simple=True)
        order = np.lexsort((keys, sample.y))
        new = (np.diff(keys[order]) != 0) | (np.diff(sample.y[order]) != 0)
        first = np.flatnonzero(np.r_[True, new])  # start of each group of equal rows
        size = np.add.reduceat(units[order], first)
        label, key = sample.y[order][first], keys[order][first]
        common = np.zeros(sample.n_classes, dtype=np.int64)
        np.gcd.at(common, label, size)
        if (size // common[label]).sum() < _ENOUGH * parts:
            common[:] = 1
        copies = len(size) >= _ENOUGH * parts and not _is_coarse(sample.X)
        block = common[label] if whole and not copies else size
        blocks = size // block
        sequence = np.lexsort((key, _class_ranks(label, key, blocks)[label]))
        place = np.empty_like(blocks)
        place[sequence] = np.cumsum(blocks[sequence]) - blocks[sequence]
        group, start = np.empty_like(order), np.empty_like(units)
        group[order] = np.repeat(np.arange(len(first)), np.diff(np.r_[first, len(order)]))
        start[order] = np.cumsum(units[order]) - units[order]
        before = start - start[order][first][group]
        return cls(units, before, block[group], place[group], int(blocks.sum()))

    def inside(self, taken: Callable[[Ints], Ints]) -> Ints:
        """Units of every row in the part that takes ``taken(n)`` of the first n blocks."""
        if self.simple:
            return taken(self.place + 1) - taken(self.place)

        def of_equal_rows(units: Ints) -> Ints:
            blocks, rest = np.divmod(units, self.block)
            so_far = taken(self.place + blocks)
            next_one = taken(self.place + blocks + 1) - so_far
            inside: Ints = self.block * (so_far - taken(self.place)) + rest * next_one
            return inside

        return of_equal_rows(self.before + self.units) - of_equal_rows(self.before)

    def part(self, sample: Sample, units: Ints) -> Sample:
        """The rows with the given units."""
        positive = units > 0
        part = sample.part(positive)
        if part.weight is None or bool((units == self.units)[positive].all()):
            return part
        return replace(part, weight=part.weight / self.units[positive] * units[positive])


def copies_of(sample: Sample) -> Ints | None:
    """The group of equal rows of each row; None if no row is a copy of another one."""
    keys = row_keys(sample.X, 0)
    if not _has_equal(np.sort(keys)):
        return None
    if _is_coarse(sample.X, min(_MANY_VALUES, sample.n_rows // 4)):
        return None
    pairs = np.column_stack([keys, sample.y.astype(np.uint64)])
    return np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1)


def _has_equal(sequence: Keys) -> bool:
    """Return True if two neighbours are equal."""
    return bool((sequence[1:] == sequence[:-1]).any())


def _is_coarse(matrix: Matrix, many: int = _MANY_VALUES) -> bool:
    """Return True if no column has so many values that equal rows must be copies."""
    return all(len(np.unique(values)) <= many for values in matrix.values)


def _class_ranks(label: NDArray[np.int32], key: Keys, blocks: Ints) -> Ints:
    """Rank of the classes by size, then by their rows; independent of their names."""
    n_classes = int(label.max()) + 1
    fingerprint = np.zeros(n_classes, dtype=np.uint64)
    np.add.at(fingerprint, label, mixed(key) * blocks.astype(np.uint64))  # modulo 2^64
    sizes = np.bincount(label, weights=blocks)
    ranks = np.empty(n_classes, dtype=np.int64)
    ranks[np.lexsort((fingerprint, sizes))] = np.arange(n_classes)
    return ranks


def _random_key(seed: int | None = None) -> np.uint64:
    """A random key, of a seed if there is one."""
    return np.random.default_rng(seed).integers(2**63, dtype=np.uint64)


_key_of_seed = lru_cache(maxsize=8)(_random_key)  # each fold has the same one


def row_keys(matrix: Matrix, seed: int | None) -> Keys:
    """A random key for every row that depends only on its values."""
    whole = matrix.whole if isinstance(matrix, MatrixPart) else matrix
    known: dict[int, Keys] = whole.kernel_cache.setdefault("row keys", {})
    if seed is not None and seed in known:
        keys = known[seed]
        return keys[matrix.rows] if isinstance(matrix, MatrixPart) else keys
    start = _random_key() if seed is None else _key_of_seed(seed)
    keys = np.full(matrix.n_rows, start, dtype=np.uint64)
    dense, columns = matrix.dense, () if matrix.dense is not None else matrix.values

    def chain(ends: tuple[int, int]) -> None:
        rows = slice(*ends)
        if dense is not None:
            chain_rows(dense[rows], keys[rows])
        for column in columns:
            chain_column(column[rows], keys[rows])

    each(chain, blocks(matrix.n_rows, len(matrix.columns)))
    if seed is not None and whole is matrix:
        known[seed] = keys
    return keys
