"""DaskBoundTreeClassifier: fit and predict on Dask DataFrames and Arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial, wraps
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from treebound._extras import require
from treebound._jobs import effective_jobs
from treebound._validation import with_parameters
from treebound.classifier import BoundTreeClassifier
from treebound.classifier.not_in_memory import fit_parts, refuse_groups, rows_to_gather
from treebound.classifier.progress import Watch
from treebound.dask.partitions import (
    Partitions,
    is_array,
    is_frame,
    learn,
    numbers,
    partitions,
    plain_numbers,
    size,
)
from treebound.dask.waiting import PartitionError
from treebound.data.folds import LeftOut
from treebound.data.learned import LearnedSchema, put_together, with_numbers
from treebound.data.parts import PartReader
from treebound.growing._kernels import Bins
from treebound.growing.engine import Engine, stream_engine
from treebound.growing.options import Progress

# Values of real columns that bins are chosen from, in all partitions.
_SAMPLE_ROWS = 1 << 17
# Partitions that are read for these where nothing else must be learned.
_SAMPLED = 4


def _lazy(name: str) -> Any:
    """A method of the classifier that is lazy on Dask collections, and as usual elsewhere."""
    method = getattr(BoundTreeClassifier, name)

    @wraps(method)
    def answer(self: DaskBoundTreeClassifier, X: Any) -> Any:
        check_is_fitted(self)
        return self._mapped(X, name) if is_frame(X) or is_array(X) else method(self, X)

    return answer


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
        verbose: int = 0,
        callback: Callable[[Progress], None] | None = None,
        checkpoint: Any = None,
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
        verbose, callback, checkpoint
            As in :meth:`treebound.BoundTreeClassifier.fit`.

        Returns
        -------
        self
        """
        self.checked()
        refuse_groups(groups)
        watch = Watch.of(verbose, callback, checkpoint)
        if columns is not None:
            X = X[[*columns, *_names(y, sample_weight)]]
        rows = partitions(self._client(), X, y, sample_weight)
        with ExitStack() as stack:

            def engine(reader: PartReader, bins: Bins) -> Engine:
                schema = reader.schema
                read = replace(reader, schema=replace(schema, sample=())).read
                n_rows = schema.n_rows + schema.held_out
                if rows.client is None:
                    threads = effective_jobs(self.n_jobs)
                    return stream_engine(rows.here(read), bins, n_rows, n_threads=threads)
                from treebound.dask.engine import DaskEngine

                first = None if reader.rows is None else _first_rows(rows, schema)
                engine = DaskEngine(
                    rows, read, bins, len(schema.classes), n_rows=n_rows, first=first,
                    gather_rows=rows_to_gather(self, n_rows),
                )  # fmt: skip
                stack.callback(engine.close)
                rows.release()
                return engine

            model = fit_parts(
                self, partial(self._learn, rows, X, y, sample_weight),
                lambda reader: rows.each(reader.read), engine,
                target=_name_of(y), watch=watch,
            )  # fmt: skip
        return self._set_model(model)

    def _client(self) -> Any:
        """The client given, or the current one; None where there is no cluster."""
        if self.client is not None:
            return self.client
        try:
            distributed = require("distributed", extra="dask", why="DaskBoundTreeClassifier")
            return distributed.default_client()
        except (ImportError, ValueError):
            return None

    def _learn(
        self, rows: Partitions, X: Any, y: Any, weight: Any, held_out: LeftOut | None
    ) -> LearnedSchema:
        """What columns and classes are.

        Columns of plain numbers are looked at in a few partitions only, which are kept until they
        are coded. Where that fails, all are read for an error with the number of the partition.
        """
        names = [name for name in getattr(X, "columns", ()) if name not in _names(y, weight)]
        plain = [name for name in plain_numbers(X) if name in names]
        if plain and self.ordinal_features is None and isinstance(self.categorical_features, str):
            some = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), _SAMPLED)).astype(int))
            with suppress(ValueError, TypeError, PartitionError):
                others = X[[name for name in X.columns if name not in plain]]  # read without these
                schema = self._put_together(partitions(rows.client, others, y, weight), held_out)
                rows.keep(some.tolist())
                return with_numbers(
                    schema, names, rows.each(partial(numbers, names=plain), some.tolist())
                )
        return self._put_together(rows, held_out)

    def _put_together(self, rows: Partitions, held_out: LeftOut | None) -> LearnedSchema:
        """What all partitions tell, without the rows held out."""
        facts = rows.each(
            partial(
                learn,
                categorical_features=self.categorical_features,
                ordinal_features=self.ordinal_features,
                sample_rows=max(256, _SAMPLE_ROWS // len(rows)),
                held_out=held_out,
            ),
            first=None if held_out is None else _first_rows(rows),
        )
        numbered = [replace(part, number=k) for k, part in enumerate(facts)]
        return put_together(numbered, class_weight=self.class_weight)

    # -- answering -------------------------------------------------------------------------

    predict = _lazy("predict")
    predict_proba = _lazy("predict_proba")
    predict_log_proba = _lazy("predict_log_proba")
    apply = _lazy("apply")

    def _mapped(self, X: Any, method: str) -> Any:
        """What a method gives for every partition, when it is computed."""
        nothing: NDArray[Any] = np.empty((0, len(self.classes_)))
        if not method.endswith("proba"):
            nothing = self.classes_[:0] if method == "predict" else np.empty(0, dtype=np.int32)
        name = self.target_name_ if method == "predict" else None
        answer = partial(_answers, self.to_local(), method, nothing, name)
        if is_frame(X):
            return X.map_partitions(answer, meta=answer(X._meta))
        X = X.rechunk({1: X.shape[1]})
        kept = None if nothing.ndim == 1 else (X.chunks[0], nothing.shape[1:])
        dropped = 1 if kept is None else None
        return X.map_blocks(
            answer, dtype=nothing.dtype, meta=nothing, chunks=kept, drop_axis=dropped
        )

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
        if not (is_frame(X) or is_array(X)):
            return float(super().score(X, y, sample_weight))
        rows = partitions(self._client(), X, y, sample_weight)
        right, total = np.sum(rows.each(partial(_right, self.to_local())), axis=0)
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
        del parameters["client"]
        return BoundTreeClassifier(**parameters)._with_model(self.model_)


def _first_rows(rows: Partitions, schema: LearnedSchema | None = None) -> list[int]:
    """The number of the first row of every partition, where columns were not learned in these."""
    learned = schema is not None and not schema.held_out and len(schema.part_rows) == len(rows)
    sizes = schema.part_rows if schema and learned else rows.each(size)
    return [0, *accumulate(sizes)][:-1]


def _name_of(y: Any) -> str | None:
    """The name of the target; that of an array is of its graph."""
    name = y if isinstance(y, str) else None if is_array(y) else y.name
    return name if isinstance(name, str) and name else None


def _names(*columns: Any) -> set[str]:
    """Those that are names of columns."""
    return {name for name in columns if isinstance(name, str)}


def _answers(
    local: BoundTreeClassifier, method: str, nothing: Any, name: str | None, rows: Any
) -> Any:
    """What a classifier says of a partition: a pandas object with its index, or an array."""
    answers = getattr(local, method)(rows) if len(rows) else nothing
    if isinstance(rows, np.ndarray):
        return answers
    import pandas

    if answers.ndim == 2:
        return pandas.DataFrame(answers, index=rows.index, columns=local.classes_)
    kind = pandas.Series(local.classes_).dtype if method == "predict" else answers.dtype
    return pandas.Series(answers, index=rows.index, name=name, dtype=kind)


def _right(local: BoundTreeClassifier, X: Any, y: Any, weight: Any) -> tuple[float, float]:
    """The weight of rows that get their class, and of all."""
    if not len(y):
        return 0.0, 0.0
    weights = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=np.float64)
    right = local.predict(X) == np.asarray(y)
    return float(weights[right].sum()), float(weights.sum())
