"""Dask DataFrames and Arrays: learned and coded on the workers, predicted lazily."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from treebound._utils.arrays import Ints
from treebound._utils.extras import require
from treebound.data.draws import Tenth
from treebound.data.groups import group_codes
from treebound.data.learned import SAMPLE_ROWS, LearnedSchema, merge_facts, with_numbers
from treebound.data.number_sample import AnySample
from treebound.data.parts import START, BaseReader, PartRows, PartStart, count_rows
from treebound.data.ranks import (
    CountedBits,
    LeadingBits,
    between,
    numbers_at,
    quantile_ranks,
)
from treebound.data.raw import spread
from treebound.data.roles import ColumnRoles
from treebound.data.summaries import ColumnSummary, TableSummary, merged
from treebound.engines.dask.partitions import (
    Partitions,
    check_groups,
    group_labels,
    is_array,
    is_frame,
    learn,
    number_bits,
    numbers,
    partitions,
    plain_numbers,
    summaries,
    with_labels,
)
from treebound.engines.dask.waiting import PartitionError
from treebound.growing._bins import Bins
from treebound.growing.engine import Engine, stream_engine
from treebound.model import Model, RegressionModel
from treebound.model.number_errors import NumberErrors
from treebound.model.regression import ENDS
from treebound.model.rows import accuracy

# Rows that are drawn in all partitions, twice those that bins need: partitions differ in size.
_DRAWN_ROWS = 2 * SAMPLE_ROWS
# Partitions that are read for these if nothing else must be learned.
_SAMPLED = 4


def current_client() -> Any:
    """The client in use; None without a cluster."""
    try:
        return require("distributed", extra="dask", why="A cluster of Dask").default_client()
    except (ImportError, ValueError):
        return None


class DaskTable:
    """A frame or an array on Dask, with labels and weights as columns or collections.

    Workers read the partitions and keep them as codes, one or two bytes for each value; only counts
    are sent here. Without a cluster, partitions are read here one after the other.
    """

    def __init__(self, X: Any, roles: ColumnRoles, *, numeric: bool = False) -> None:
        self._numeric = numeric  # whether the target is of numbers
        y, groups = roles.target, roles.groups
        check_groups(X, groups)
        name = y if isinstance(y, str) else getattr(y, "name", None)
        self.target: str | None = name if isinstance(name, str) and not is_array(y) else None
        self._names: list[str] = []
        lazy, *self._labels = with_labels(X, y, roles.weight)
        if is_frame(X):
            self._names = roles.columns_to_learn(list(X.columns), "the frame")
            self._grouped = lazy
            lazy = lazy[[*self._names, *(name for name in self._labels if isinstance(name, str))]]
        self._X, self._partitions = lazy, partitions(current_client(), lazy, *self._labels)
        self._groups, self._stack = groups, ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def learn(
        self, *, calibration: Tenth | None = None, class_weight: Any = None, **kinds: Any
    ) -> LearnedSchema:
        """Learn columns and classes, without calibration rows.

        Columns of plain numbers are read in a few partitions only, which are stored until they
        are coded. If that fails, all are read, for an error with the number of the partition.
        """
        rows, X = self._partitions, self._X
        chosen = set(self._names)
        options = {"class_weight": class_weight, "numeric": self._numeric, **kinds}
        plain = [name for name in plain_numbers(X) if name in chosen]
        by_type = isinstance(kinds["categorical_features"], str)
        if plain and by_type and kinds["ordinal_features"] is None:
            some = spread(len(rows), _SAMPLED).tolist()
            with suppress(ValueError, TypeError, PartitionError):
                unread = set(plain)
                read = X[[name for name in X.columns if name not in unread]]
                parts = partitions(rows.client, read, *self._labels)
                schema = _learned(parts, calibration, **options)
                rows.keep(some)
                samples = rows.each(partial(numbers, names=plain), some)
                return with_numbers(schema, self._names, samples)
        return _learned(rows, calibration, **options)

    def groups(self) -> Ints | None:
        """The group of each row of a weight above zero; None if rows are independent."""
        if self._groups is None:
            return None
        client, labels = self._partitions.client, self._labels
        if is_frame(self._X):
            labels = [name for name in labels if isinstance(name, str)]
            X = self._grouped[[*dict.fromkeys([self._groups, *labels])]]
            parts = partitions(client, X, *self._labels)
            return group_codes(parts.each(partial(group_labels, name=self._groups)))
        labels = [self._groups, *self._labels[1:]]
        parts = partitions(client, self._groups, *labels)
        return group_codes(parts.each(partial(group_labels, name=None)))

    def summary(self, schema: LearnedSchema, calibration: Tenth | None = None) -> TableSummary:
        """The summary of the rows that were learned from; columns left unread are read for it."""
        names, parts = schema.unread, list[tuple[ColumnSummary, ...]]()
        if names:
            labels = [name for name in self._labels if isinstance(name, str)]
            read = self._X[[*names, *labels]]
            numbered = partitions(self._partitions.client, read, *self._labels)
            first = None if calibration is None else _starts(self._partitions, calibration)
            parts = numbered.each(
                partial(summaries, names=names, calibration=calibration), first=first
            )
        return schema.summary(dict(zip(names, merged(parts), strict=True)))

    def quantiles(
        self, quantiles: Sequence[float], n_rows: int, calibration: Tenth | None
    ) -> list[float] | None:
        """Return quantiles of the target, without calibration rows; None if it is read here."""
        rows = self._partitions
        if rows.client is None:
            return None
        target = rows
        if is_frame(self._X):  # no other columns are read
            labels = [name for name in self._labels if isinstance(name, str)]
            target = partitions(rows.client, self._X[labels], *self._labels)
        first = None if calibration is None else _starts(rows, calibration)

        def count(leading: LeadingBits) -> list[list[CountedBits]]:
            function = partial(number_bits, leading=leading, calibration=calibration)
            return target.each(function, first=first)

        ranks = quantile_ranks(quantiles, n_rows)
        ends = iter(numbers_at([rank for pair in ranks for rank in pair], count))
        return [between((next(ends), next(ends)), q, n_rows) for q in quantiles]

    def rows(self, reader: BaseReader[AnySample]) -> Iterable[PartRows[AnySample]]:
        """The rows, partition by partition, here."""
        return self._partitions.each(reader.read)

    def engine(
        self, reader: BaseReader[AnySample], bins: Bins, *, n_threads: int, gather_rows: int
    ) -> Engine:
        """An engine on the workers, once they have coded their partitions; or here."""
        rows, schema = self._partitions, reader.schema
        reader = replace(reader, schema=replace(schema, sample=()))
        n_rows = schema.n_rows + schema.calibration
        draws = reader.calibration is not None or reader.validation is not None
        if rows.client is None:
            return stream_engine(rows.here(reader), bins, n_rows, n_threads=n_threads)
        from treebound.engines.dask.engine import DaskEngine

        engine = DaskEngine(
            rows,
            reader.read,
            bins,
            reader.n_channels,
            n_rows=n_rows,
            first=_starts(rows, reader.calibration, schema) if draws else None,
            gather_rows=gather_rows,
        )
        self._stack.callback(engine.close)
        rows.release()
        return engine


def _learned(
    rows: Partitions, calibration: Tenth | None, class_weight: Any, numeric: bool, **kinds: Any
) -> LearnedSchema:
    """Learn columns and classes from all partitions, without calibration rows."""
    sample_rows = max(256, _DRAWN_ROWS // len(rows))
    facts = rows.each(
        partial(learn, sample_rows=sample_rows, calibration=calibration, numeric=numeric, **kinds),
        first=None if calibration is None else _starts(rows, calibration),
    )
    return merge_facts(
        facts, class_weight=class_weight, categorical_features=kinds["categorical_features"]
    )


def _starts(
    rows: Partitions, calibration: Tenth | None, schema: LearnedSchema | None = None
) -> list[PartStart]:
    """Return the start of every partition; count rows if it is not known."""
    learned = schema is not None and not schema.calibration and len(schema.part_rows) == len(rows)
    sizes = schema.part_rows if schema and learned else rows.each(count_rows)
    starts = [START]
    for size in sizes[:-1]:
        row, training = starts[-1]
        n_calibration = 0 if calibration is None else calibration.count(row, row + size)
        starts.append(PartStart(row + size, training + size - n_calibration))
    return starts


# -- predictions -------------------------------------------------------------------------------


def lazy_predictions(
    model: Model | RegressionModel, X: Any, output: str, predict: Callable[..., Any]
) -> Any:
    """Return the predictions for every partition, as a lazy collection.

    ``output`` is "node"; "label" or "proba" of a classifier; "value" or "interval" of a regressor.
    """
    nothing = _no_predictions(model, output)
    predicted = partial(_predictions, model, output, predict, nothing)
    if is_frame(X):
        import pandas

        index = pandas.Index([], dtype=X.index.dtype, name=X.index.name)
        return X.map_partitions(predicted, meta=predicted(pandas.DataFrame(index=index)))
    X = X.rechunk({1: X.shape[1]})
    chunks = None if nothing.ndim == 1 else (X.chunks[0], nothing.shape[1:])
    dropped = 1 if chunks is None else None
    return X.map_blocks(
        predicted, dtype=nothing.dtype, meta=nothing, chunks=chunks, drop_axis=dropped
    )


def _no_predictions(model: Model | RegressionModel, output: str) -> NDArray[Any]:
    """Return the predictions for no rows."""
    if output == "node":
        return np.empty(0, dtype=np.int32)
    if isinstance(model, Model):
        return model.classes[:0] if output == "label" else np.empty((0, len(model.classes)))
    return np.empty(0) if output == "value" else np.empty((0, 2))


def _predictions(
    model: Model | RegressionModel,
    output: str,
    predict: Callable[..., Any],
    nothing: NDArray[Any],
    rows: Any,
) -> Any:
    """Return the predictions for a partition: a pandas object with its index, or an array."""
    predicted = predict(model, rows) if len(rows) else nothing
    if isinstance(rows, np.ndarray):
        return predicted
    import pandas

    if predicted.ndim == 2:
        names = model.classes if isinstance(model, Model) else ENDS
        return pandas.DataFrame(predicted, index=rows.index, columns=names)
    if output == "node":
        return pandas.Series(predicted, index=rows.index)
    kind = pandas.Series(model.classes if isinstance(model, Model) else nothing).dtype
    return pandas.Series(predicted, index=rows.index, name=model.reading.target, dtype=kind)


def accuracy_on_dask(model: Model, X: Any, y: Any, weight: Any) -> float:
    """Return the accuracy, by weight; rows are counted on the workers."""
    rows = partitions(current_client(), *with_labels(X, y, weight))
    return accuracy(model.tree, sum(rows.each(partial(_counts, model))))


def _counts(model: Model, X: Any, y: Any, weight: Any) -> NDArray[np.float64]:
    """Return the weight of the rows of each class at each node, of a partition."""
    if not len(y):
        return np.zeros((model.tree.n_nodes, len(model.classes) + 1))
    return model.weights_at_nodes(X, y, weight)


def errors_on_dask(model: RegressionModel, X: Any, y: Any, weight: Any) -> NumberErrors:
    """Return the sums of squares by which predictions are scored; workers add them."""
    rows = partitions(current_client(), *with_labels(X, y, weight))
    return sum(rows.each(partial(_errors, model)), NumberErrors())


def _errors(model: RegressionModel, X: Any, y: Any, weight: Any) -> NumberErrors:
    """Return the sums of a partition."""
    return model.errors_on(X, y, weight) if len(y) else NumberErrors()
