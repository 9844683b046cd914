"""DaskBoundTreeClassifier: fit and predict on Dask DataFrames and Arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from treebound._extras import require
from treebound._jobs import effective_jobs
from treebound.classifier import BoundTreeClassifier
from treebound.classifier.fitting import fit_parts, refuse_groups, refuse_what_needs_a_table
from treebound.dask import tasks
from treebound.dask.collections import (
    is_array,
    is_frame,
    map_rows,
    partitions,
    partitions_of,
    plain_numbers,
)
from treebound.dask.engine import DaskEngine, PartitionError, in_partition
from treebound.data import Sample
from treebound.data.folds import LeftOut
from treebound.data.parts import Schema, put_together, with_numbers
from treebound.growing._bins import Bins
from treebound.growing.checkpoint import check_checkpoint
from treebound.growing.engine import Engine, stream_engine
from treebound.parameters import with_parameters

__all__ = ["DaskBoundTreeClassifier"]

# Values of real columns that bins are chosen from, in all partitions.
_SAMPLE_ROWS = 1 << 17
# Partitions that are read for these where nothing else must be learned.
_SAMPLED = 16
# Parameters that a classifier without Dask has not.
_OWN = ("client", "checkpoint")


@with_parameters
class DaskBoundTreeClassifier(BoundTreeClassifier):
    """:class:`treebound.BoundTreeClassifier` on a Dask cluster: exactly the same tree.

    Workers read the partitions and keep them as codes, one or two bytes for each value; only counts
    are sent to the client. The tree does not depend on the partitions or the number of workers.
    Workers may leave or join while it grows.

    Parameters
    ----------
    client : distributed.Client or None
        The cluster; None takes the current client, or Dask's local scheduler if there is none.
    checkpoint : str, path-like or None
        A file in which the unfinished tree is saved after every round. If it exists, ``fit``
        continues from it; it is removed when the tree is grown.
    **parameters
        Those of :class:`treebound.BoundTreeClassifier`.

    Notes
    -----
    ``predict``, ``predict_proba`` and ``apply`` are lazy on Dask collections and as usual on
    tables in memory. Pruners that need the rows again raise an error before anything is grown.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_wine
    >>> from treebound.dask import DaskBoundTreeClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> X, y = da.from_array(X, chunks=(50, -1)), da.from_array(y, chunks=50)
    >>> clf = DaskBoundTreeClassifier().fit(X, y)
    >>> clf.n_leaves_, clf.predict(X)[:3].compute().tolist()
    (6, [0, 0, 0])
    """

    client: Any = None
    checkpoint: Any = None

    def __getstate__(self) -> dict[str, Any]:
        """A client cannot be sent or kept."""
        state: dict[str, Any] = super().__getstate__()
        return {**state, "client": None}

    # -- learning --------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: None = None,
        *,
        columns: Sequence[str] | None = None,
    ) -> DaskBoundTreeClassifier:
        """Grow a tree on the workers and prune it.

        Parameters
        ----------
        X : dask DataFrame or Array
            The rows; every partition has the same columns.
        y : dask Series or Array, or str
            The class of every row, in the partitions of X; or the name of a column of X.
        sample_weight : dask Series or Array, or str, optional
            The weight of every row, in the partitions of X; or the name of a column of X.
        groups : None
            Groups need rows in memory.
        columns : sequence of str, optional
            The columns of a data frame to learn from; by default all others.

        Returns
        -------
        self
        """
        with self._unchanged_on_error():
            self.checked()
            refuse_what_needs_a_table(self)
            if groups is not None:
                refuse_groups(self, in_memory=False)
            check_checkpoint(self.checkpoint)
            if columns is not None:
                X = X[[*columns, *_names(y, sample_weight)]]
            raw = partitions(X, y, sample_weight)
            client = self._client()
            plain = [c for c in plain_numbers(X) if c not in _names(y, sample_weight)]
            schema = self._learn(client, raw, plain, (X, y, sample_weight))
            read = partial(tasks.read, schema=replace(schema, sample=()))
            name = y if isinstance(y, str) else getattr(y, "name", None)
            # the name of an array is that of its graph
            named = isinstance(name, str) and bool(name) and not is_array(y)
            target = name if named else None
            with ExitStack() as stack:

                def engine(bins: Bins, rows: LeftOut | None) -> Engine:
                    if client is None:
                        threads = effective_jobs(self.n_jobs)
                        samples = _computed(raw, read)
                        return stream_engine(samples, bins, n_threads=threads, rows=rows)
                    numbered = _numbered(client, raw, schema, rows)
                    found = DaskEngine(client, numbered, read, bins, len(schema.classes), rows)
                    stack.callback(found.close)
                    return found

                model = fit_parts(
                    self, schema, lambda: _samples(client, raw, read), engine,
                    target=target, checkpoint=self.checkpoint,
                )  # fmt: skip
            self._set_model(model)
        return self

    def _client(self) -> Any:
        """The client given, or the current one; None where there is no cluster."""
        if self.client is not None:
            return self.client
        try:
            return _dask("distributed").default_client()
        except (ImportError, ValueError):
            return None

    def _learn(
        self, client: Any, raw: list[Any], plain: list[str], given: tuple[Any, Any, Any]
    ) -> Schema:
        """What columns and classes are.

        Columns of plain numbers are looked at in a few partitions only. Where that fails, all are
        read for an error with the number of the partition.
        """
        if plain and self.ordinal_features is None and isinstance(self.categorical_features, str):
            try:
                return self._learn_rest(client, raw, plain, given)
            except (ValueError, TypeError, PartitionError):
                return self._learn_all(client, raw)
        return self._learn_all(client, raw)

    def _learn_all(self, client: Any, raw: list[Any]) -> Schema:
        options = {
            "categorical_features": self.categorical_features,
            "ordinal_features": self.ordinal_features,
            "sample_rows": max(256, _SAMPLE_ROWS // len(raw)),
        }
        learn = _dask().delayed(in_partition, pure=False)
        asked = [
            learn(number, tasks.learn, part, number=number, **options)
            for number, part in enumerate(raw)
        ]
        return put_together(_results(client, asked), class_weight=self.class_weight)

    def _learn_rest(
        self, client: Any, raw: list[Any], plain: list[str], given: tuple[Any, Any, Any]
    ) -> Schema:
        X, y, weight = given
        names = [c for c in X.columns if c not in _names(y, weight)]
        rest = [name for name in names if name not in plain]
        delayed = _dask().delayed
        learn, look = delayed(tasks.learn, pure=False), delayed(tasks.numbers, pure=False)
        known = partitions_of(X, y, weight, rest)
        asked = [learn(part, number=number) for number, part in enumerate(known)]
        chosen = np.unique(np.linspace(0, len(raw) - 1, min(len(raw), _SAMPLED)).astype(int))
        asked += [look(raw[at], plain) for at in chosen]
        found = _results(client, asked)
        schema = put_together(found[: len(known)], class_weight=self.class_weight)
        return with_numbers(schema, names, found[len(known) :])

    # -- answering -------------------------------------------------------------------------

    def predict(self, X: Any) -> Any:
        """The class of every row.

        Parameters
        ----------
        X : dask DataFrame or Array, or a table in memory
            The columns of the training data.

        Returns
        -------
        dask Series or Array, or ndarray
            Lazy for a Dask collection.
        """
        check_is_fitted(self)
        if not _is_lazy(X):
            return super().predict(X)
        return self._mapped(X, "predict", self.classes_[:0])

    def predict_proba(self, X: Any) -> Any:
        """The probability of every class, for every row.

        Parameters
        ----------
        X : dask DataFrame or Array, or a table in memory
            The columns of the training data.

        Returns
        -------
        dask DataFrame or Array, or ndarray
            One column for each class; lazy for a Dask collection.
        """
        check_is_fitted(self)
        if not _is_lazy(X):
            return super().predict_proba(X)
        return self._mapped(X, "predict_proba", np.empty((0, len(self.classes_))))

    def predict_log_proba(self, X: Any) -> Any:
        """The logarithm of :meth:`predict_proba`.

        Parameters
        ----------
        X : dask DataFrame or Array, or a table in memory
            The columns of the training data.

        Returns
        -------
        dask DataFrame or Array, or ndarray
            One column for each class; lazy for a Dask collection.
        """
        check_is_fitted(self)
        if not _is_lazy(X):
            return super().predict_log_proba(X)
        return self._mapped(X, "predict_log_proba", np.empty((0, len(self.classes_))))

    def apply(self, X: Any) -> Any:
        """The node of ``tree_`` that predicts for every row.

        Parameters
        ----------
        X : dask DataFrame or Array, or a table in memory
            The columns of the training data.

        Returns
        -------
        dask Series or Array, or ndarray
            Lazy for a Dask collection.
        """
        check_is_fitted(self)
        if not _is_lazy(X):
            return super().apply(X)
        return self._mapped(X, "apply", np.empty(0, dtype=np.int32))

    def _mapped(self, X: Any, method: str, nothing: Any) -> Any:
        name = self.target_name_ if method == "predict" else None
        answer = partial(_answers, self.to_local(), method, nothing, name)
        if is_frame(X):
            return map_rows(X, answer, answer(X._meta))
        width = nothing.shape[1] if nothing.ndim == 2 else None
        return map_rows(X, answer, nothing.dtype, width)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy: the share of rows, by weight, whose class is predicted. Computed at once.

        Parameters
        ----------
        X : dask DataFrame or Array
            The columns of the training data.
        y : dask Series or Array, or the name of a column of X
            The true class of every row, in the partitions of X.
        sample_weight : dask Series or Array, or the name of a column of X, optional
            The weight of every row, in the partitions of X.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        if not _is_lazy(X):
            return float(super().score(X, y, sample_weight))
        dask = _dask()
        count = dask.delayed(in_partition, pure=False)
        local = dask.delayed(self.to_local())
        asked = [
            count(number, _right, local, part)
            for number, part in enumerate(partitions(X, y, sample_weight))
        ]
        found = _results(self._client(), asked)
        right, total = np.sum(found, axis=0)
        return float(right / total)

    # -- keeping ---------------------------------------------------------------------------

    def to_local(self) -> BoundTreeClassifier:
        """The same model without Dask.

        Returns
        -------
        BoundTreeClassifier
        """
        check_is_fitted(self)
        parameters = self.get_params(deep=False)
        for name in _OWN:
            parameters.pop(name)
        return BoundTreeClassifier(**parameters)._with_model(self.model_)

    def save(self, path: Any, *, pruning_path: bool = True, row_record: bool = True) -> None:
        """Write the model as JSON, as :meth:`treebound.BoundTreeClassifier.save` does.

        Parameters
        ----------
        path : str or path-like
            The file to write.
        pruning_path, row_record : bool
            Whether to keep the pruning path, and the hashes of rows.
        """
        self.to_local().save(path, pruning_path=pruning_path, row_record=row_record)


def _dask(module: str = "dask") -> Any:
    return require(module, extra="dask", why="DaskBoundTreeClassifier")


def _is_lazy(X: Any) -> bool:
    return is_frame(X) or is_array(X)


def _computed(raw: list[Any], read: Any) -> Iterator[Sample]:
    """Partitions one after the other, by the local scheduler."""
    for number, part in enumerate(raw):
        yield in_partition(number, lambda part=part: read(part.compute()))


def _samples(client: Any, raw: list[Any], read: Any) -> list[Sample]:
    """The rows of all partitions, here."""
    made = _dask().delayed(in_partition, pure=False)
    return _results(client, [made(number, read, part) for number, part in enumerate(raw)])


def _numbered(
    client: Any, raw: list[Any], schema: Schema, rows: LeftOut | None
) -> list[tuple[Any, int]]:
    """Partitions with the numbers of their first rows, where those matter."""
    sizes = schema.part_rows
    if rows is not None and len(sizes) != len(raw):  # columns were learned in other partitions
        made = _dask().delayed(in_partition, pure=False)
        sizes = tuple(_results(client, [made(k, tasks.size, part) for k, part in enumerate(raw)]))
    first = np.cumsum([0, *sizes]).tolist() if rows is not None else [0] * len(raw)
    return list(zip(raw, first, strict=False))


def _names(*given: Any) -> set[str]:
    """Those that are names of columns."""
    return {name for name in given if isinstance(name, str)}


def _results(client: Any, asked: list[Any]) -> list[Any]:
    """What the tasks of all partitions give, on the cluster or by the local scheduler."""
    if client is None:
        return [in_partition(number, task.compute) for number, task in enumerate(asked)]
    futures = client.compute(asked)
    try:
        return list(client.gather(futures))
    except Exception:
        for number, future in enumerate(futures):
            if future.status == "error":
                in_partition(number, future.result)
        raise


def _answers(
    local: BoundTreeClassifier, method: str, nothing: Any, name: str | None, rows: Any
) -> Any:
    """What a classifier says of a partition: a pandas object with its index, or an array."""
    found = getattr(local, method)(rows) if len(rows) else nothing
    if isinstance(rows, np.ndarray):
        return found
    import pandas

    if found.ndim == 2:
        return pandas.DataFrame(found, index=rows.index, columns=local.classes_)
    kind = pandas.Series(local.classes_).dtype if method == "predict" else found.dtype
    return pandas.Series(found, index=rows.index, name=name, dtype=kind)


def _right(local: BoundTreeClassifier, part: tuple[Any, Any, Any]) -> tuple[float, float]:
    """The weight of rows that get their class, and of all."""
    X, y, weight = part
    if not len(y):
        return 0.0, 0.0
    weights = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=np.float64)
    right = local.predict(X) == np.asarray(y)
    return float(weights[right].sum()), float(weights.sum())
