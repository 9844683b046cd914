"""Model: a fitted tree with all that reading rows, predicting, pruning and certifying need.

After ``fit`` nobody else reads rows: columns by name where fit had names, unknown categories and
class weights as they were fitted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from functools import cached_property, partial, wraps
from inspect import cleandoc, signature
from math import log
from typing import Any, Concatenate, Literal, NamedTuple, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from treebound._validation import Number, check, invalid
from treebound._versions import checked_state, state_with_version
from treebound.certificate import (
    Assumption,
    Certificate,
    CertificateKind,
    Frontier,
    HeldOut,
    Prior,
    PriorOptions,
    PriorProof,
    RowRecord,
    RowsSeen,
    certify_counts,
    certify_proof,
    certify_tree,
    counts_at,
    reason_against,
)
from treebound.certificate.by_class import by_class_on_rows
from treebound.certificate.referral import Referral
from treebound.data import Column, Matrix, Sample, Unknown, read_matrix
from treebound.data.frames import Table, read_table
from treebound.data.raw import some_names
from treebound.data.row_hashes import RowSketch, row_hashes
from treebound.data.streams import Batches, is_stream, open_stream, until_settled
from treebound.data.targets import read_classes
from treebound.growing import GrowOptions, grow
from treebound.landscape import Landscape
from treebound.pruning import Pruner, PruningPath, PruningResult
from treebound.tree.impurity import importances
from treebound.tree.model import Tree
from treebound.tree.smoothing import Smoothing, probabilities

__all__ = ["Model", "Tested", "as_method", "as_model", "takes_model"]

P = ParamSpec("P")
R = TypeVar("R")
_UNSEEN = Assumption(
    "no figure of the held-out rows was seen before the edits ended, the certificate of the fitted "
    "tree included", False,
)  # fmt: skip


class Tested(NamedTuple):
    """Labelled rows at the nodes that they reach.

    Attributes
    ----------
    counts : ndarray of int64, shape (n_nodes, n_classes)
        Number of rows of each class that end at each node.
    seen : RowsSeen
        Which of them took part in fitting.
    """

    counts: NDArray[np.int64]
    seen: RowsSeen


@dataclass(frozen=True, eq=False)
class Model:
    """A fitted tree, its pruning path, and how it reads rows and answers; immutable.

    ``BoundTreeClassifier`` holds one as ``model_``; model files hold one. ``Model(tree)`` makes one
    of a bare tree.

    Attributes
    ----------
    tree : Tree
        The tree that predicts.
    pruning : PruningResult or None
        What pruning chose and its path; None if the tree was not pruned.
    step : int or None
        The step of the path selected by ``prune_to``; None for the tree that was fitted.
    options : GrowOptions
        The options of growing.
    unknown : {"other", "majority", "stop", "missing", "error"}
        How categories that were not seen in training are handled.
    smoothing : {"shrinkage", "m-estimate", "laplace"} or None
        How counts become probabilities.
    target : str or None
        The name of the target.
    named : bool or None
        Whether the training table had column names, so that rows are read by name. None if it is
        not known, as for a bare tree: by name if a table has these names, else by position.
    delta : float
        The certificate holds with probability ``1 - delta``.
    held_out : HeldOut or None
        Counts of the rows that were held out by ``fit``.
    proof : PriorProof or None
        What the certificate by a prior rests on.
    frontier : Frontier or None
        The other trees that the prior certifies.
    row_counts : ndarray of int64 or None
        If the rows were weighted: training rows of each class at each node of the grown tree.
    rows : RowRecord or None
        What is kept of the rows that took part in fitting, to recognise them.
    parameters : mapping
        The other parameters of the classifier that fitted it.
    no_certificate : str
        Why the training rows give no certificate, if the tree itself does not tell.
    edits : tuple of str
        What was changed by hand after fitting, as sentences.
    swapped : tuple of int
        Nodes whose right branch is shown first; nothing else depends on it.
    referral : Referral or None
        Where the tree refers instead of answering, and its promise.
    """

    tree: Tree
    _: KW_ONLY
    pruning: PruningResult | None = None
    step: int | None = None
    options: GrowOptions = field(default_factory=GrowOptions)
    unknown: Unknown = "other"
    smoothing: Smoothing | None = "shrinkage"
    target: str | None = None
    named: bool | None = None
    delta: float = 0.05
    held_out: HeldOut | None = None
    proof: PriorProof | None = None
    frontier: Frontier | None = None
    row_counts: NDArray[np.int64] | None = None
    rows: RowRecord | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    no_certificate: str = ""
    edits: tuple[str, ...] = ()
    swapped: tuple[int, ...] = ()
    referral: Referral | None = None

    def __getstate__(self) -> dict[str, Any]:
        state = {item.name: getattr(self, item.name) for item in fields(self)}
        if self.held_out is not None:
            state["held_out"] = replace(self.held_out, shown_before=self.held_out.shown)
        return state_with_version(state)

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(checked_state(state))

    # -- what it holds ---------------------------------------------------------------------

    @property
    def path(self) -> PruningPath | None:
        """The pruning path; None if the tree was not pruned."""
        return None if self.pruning is None else self.pruning.path

    @property
    def grown(self) -> Tree:
        """The tree before pruning."""
        return self.tree if self.path is None else self.path.first

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the training table."""
        return self.tree.columns

    @property
    def classes(self) -> NDArray[Any]:
        """The class labels, sorted."""
        return self.tree.classes

    @property
    def has_names(self) -> bool:
        """Whether the training table had column names; those of a bare tree are x0, x1, ..."""
        if self.named is not None:
            return self.named
        return any(column.name != f"x{at}" for at, column in enumerate(self.columns))

    @property
    def importances(self) -> NDArray[np.float64]:
        """Share of each column in the total decrease of impurity."""
        return importances(self.tree, self.options.criterion)

    # -- reading rows ----------------------------------------------------------------------

    def read(self, X: Any, *, whole: bool = False) -> Matrix:
        """Read rows for prediction; columns that the tree does not ask may be absent.

        Parameters
        ----------
        X : table
            By name where the training table had names, otherwise in the order of its columns.
        whole : bool
            Whether to read and check all columns.
        """
        table = read_table(X)
        reading = self._reading(table, self.tree)
        return read_matrix(
            table, self.columns, **{**reading, **({"needed": None} if whole else {})}
        )

    def read_sample(
        self, X: Any, y: Any, sample_weight: Any = None, *, whole: bool = False
    ) -> Sample:
        """Read labelled rows, with the class weights of the model.

        Parameters
        ----------
        X : table
            See :meth:`read`; the columns that the grown tree asks.
        y : array-like of shape (n_rows,)
            Labels, each one of the classes.
        sample_weight : array-like of shape (n_rows,) or number, optional
            The weight of each row.
        whole : bool
            Whether to read and check all columns.
        """
        table = read_table(X)
        reading = self._reading(table, self.grown)
        return Sample.read(
            table,
            y,
            sample_weight,
            columns=self.columns,
            classes=self.classes,
            factors=self.tree.factors,
            **{**reading, **({"needed": None} if whole else {})},
        )

    def read_test(self, X: Any, y: Any) -> Sample:
        """Read labelled rows that each count once, without class weights.

        Parameters
        ----------
        X, y : table and labels
            See :meth:`read_sample`.
        """
        return replace(self.read_sample(X, y), factors=None)

    def _reading(self, table: Table, tree: Tree) -> dict[str, Any]:
        """How the columns of a table are found, and which of them the tree asks."""
        asked = np.zeros(len(tree.columns), dtype=bool)
        asked[tree.feature[tree.feature >= 0]] = True
        named = self.has_names
        if self.named is None and not named and table.names is not None:
            needed = {self.columns[at].name for at in np.flatnonzero(asked).tolist()}
            named = needed <= {*table.names}
        return {"named": named, "needed": asked, "unknown": self.unknown}

    # -- answers ---------------------------------------------------------------------------

    def apply(self, X: Any, n_jobs: int | None = None) -> NDArray[np.int32]:
        """The node that each row reaches.

        Parameters
        ----------
        X : table or Matrix
            The rows; a dataset of pyarrow or a lazy frame of polars is read in batches.
        n_jobs : int, optional
            Number of threads.

        Returns
        -------
        ndarray of int32, shape (n_rows,)
        """
        if is_stream(X):
            nodes = until_settled(lambda: [nodes for _, nodes in self.reached(X, n_jobs)])
            return np.concatenate(nodes) if nodes else np.empty(0, dtype=np.int32)
        matrix = X if isinstance(X, Matrix) else self.read(X)
        return self.tree.apply(matrix, n_jobs=n_jobs)

    def reached(
        self, X: Any, n_jobs: int | None = None, *, whole: bool = False
    ) -> Iterator[tuple[Any, NDArray[np.int32]]]:
        """Rows with the nodes that they reach: the table, or each batch of one in batches.

        Parameters
        ----------
        X, n_jobs
            See :meth:`apply`.
        whole : bool
            Whether batches have all columns of the table, or those that the tree asks.

        Yields
        ------
        table, ndarray of int32
        """
        batches = open_stream(X)
        if batches is None:
            yield X, self.apply(X, n_jobs)
            return
        names = self._names_in(batches, None, whole=False)
        for batch in batches.read(None if whole else names):
            table = batches.split(batch, names, None, None)[0]
            if table is not None:
                yield batch, self.apply(table, n_jobs)

    def _names_in(self, batches: Batches, target: str | None, *, whole: bool) -> list[str]:
        """The columns of a table in batches that are read."""
        others = [name for name in batches.names if name != target]
        if not self.has_names:
            return others
        asked = {self.columns[at].name for at in self.tree.feature.tolist() if at >= 0}
        own = {column.name for column in self.columns} if whole else asked
        return [name for name in others if name in own] or others[:1]

    def predict(self, X: Any, n_jobs: int | None = None) -> NDArray[Any]:
        """The class of each row.

        Parameters
        ----------
        X, n_jobs
            See :meth:`apply`.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return self.classes[self.tree.label].take(self.apply(X, n_jobs))

    def predict_proba(self, X: Any, n_jobs: int | None = None) -> NDArray[np.float64]:
        """The probability of each class for each row.

        Parameters
        ----------
        X, n_jobs
            See :meth:`apply`.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        return self.node_probabilities.take(self.apply(X, n_jobs), axis=0)

    @cached_property
    def node_probabilities(self) -> NDArray[np.float64]:
        """The probability of each class at each node."""
        return probabilities(self.tree, self.smoothing)

    def errors_on(self, X: Any, y: Any) -> tuple[int, int]:
        """Number of rows that are misclassified, and of rows.

        Parameters
        ----------
        X, y : table and labels
            The name of the labels, if the table is read in batches.
        """
        counts = until_settled(lambda: self._tested(X, y, None)).counts
        right = int(counts[np.arange(len(counts)), self.tree.label].sum())
        return int(counts.sum()) - right, int(counts.sum())

    def tested(self, X: Any, y: Any) -> Tested:
        """Count labelled rows, and compare them with those of ``fit``.

        Parameters
        ----------
        X, y : table and labels
            The name of the labels, if the table is read in batches.
        """
        return until_settled(lambda: self._tested(X, y, self.rows))

    def _tested(self, X: Any, y: Any, record: RowRecord | None) -> Tested:
        n, hashes, sketch = len(self.classes), [], None
        counts = np.zeros(self.tree.n_nodes * n, dtype=np.int64)
        for table, labels in self._labelled(X, y, whole=record is not None):
            reached, codes = self.apply(table), read_classes(labels, self.classes)
            same_length(len(reached), len(codes))
            counts += np.bincount(reached.astype(np.int64) * n + codes, minlength=len(counts))
            own = None if record is None else self.hashes(table, labels)
            if record is not None and own is not None:
                hashes.append(record.covered(own))
                part = RowSketch.of(own)
                sketch = part if sketch is None else sketch.merge(part)
        seen = RowsSeen()
        if record is not None:
            seen = record.recognise(np.concatenate(hashes) if hashes else None, sketch)
        return Tested(counts.reshape(-1, n), seen)

    def _labelled(self, X: Any, y: Any, *, whole: bool) -> Iterator[tuple[Any, Any]]:
        """Tables with their labels: one, or each of many batches."""
        batches = open_stream(X)
        if batches is None:
            yield X, y
            return
        if not isinstance(y, str) or y not in batches.names:
            must = f"the name of one of its columns, {some_names(batches.names)}"
            raise invalid("y", "", must, y if isinstance(y, str) else type(y))
        names = self._names_in(batches, y, whole=whole)
        for batch in batches.read([*names, y]):
            table, labels, _ = batches.split(batch, names, y, None)
            if table is not None:
                yield table, labels

    # -- other trees -----------------------------------------------------------------------

    def prune_to(self, leaves: int | None = None, *, step: int | None = None) -> Model:
        """The model at another step of its pruning path.

        Parameters
        ----------
        leaves : int
            The largest tree on the path with at most this many leaves.
        step : int
            The tree at this step of the path.
        """
        if (leaves is None) == (step is None):
            raise ValueError(
                "prune_to needs one of 'leaves' and 'step'. "
                f"Got leaves={leaves!r} and step={step!r} instead."
            )
        by_size, frontier = step is None, self.frontier
        number: int = leaves if by_size else step  # type: ignore[assignment]
        if frontier is not None:
            at = frontier.step_with(number) if by_size else frontier.step(number)
            tree, proof = frontier[at].tree, frontier[at].proof
            counts = proof.counts_a + proof.counts_b if tree.weighted else None
            return replace(self, tree=tree, proof=proof, row_counts=counts, step=at)
        if self.pruning is None:
            why = "edited by hand" if self.edits else "fitted with pruning=None"
            raise ValueError(
                f"There is no pruning path: the model was {why}. "
                "Hint: fit it with another 'pruning'."
            )
        path = self.pruning.path
        path, at = path.reaching(number) if by_size else (path, path.step(number))
        return replace(self, tree=path.tree(at), pruning=replace(self.pruning, path=path), step=at)

    def with_threshold(self, label: Any, probability: float) -> Model:
        """The model that answers a class wherever its probability is at least a threshold.

        Elsewhere it answers the most probable of the others. Its labels are then no longer those
        that were fitted, so it has no certificate.

        Parameters
        ----------
        label : object
            One of the classes.
        probability : float
            From 0 to 1.
        """
        check("with_threshold", {"probability": probability}, {"probability": Number(0.0, 1.0)})
        at = int(read_classes([label], self.classes)[0])
        shares = self.node_probabilities.copy()
        chosen = shares[:, at] >= probability
        shares[:, at] = -1.0
        answers = np.where(chosen, at, shares.argmax(axis=1)).astype(np.int32)
        return replace(
            self,
            tree=replace(self.tree, label=answers),
            pruning=None,
            step=None,
            held_out=None,
            proof=None,
            frontier=None,
            no_certificate="The classes were chosen by a threshold.",
        )

    def prune(
        self,
        pruner: Pruner,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        *,
        validation: tuple[Any, ...] | None = None,
    ) -> Model:
        """The model with its grown tree pruned again.

        Parameters
        ----------
        pruner : Pruner
        X, y, sample_weight : table, labels and weights, optional
            The training rows, or other rows that the tree is counted on again.
        validation : (X, y) or (X, y, sample_weight), optional
            Validation rows.
        """
        sample = None if X is None else self.read_sample(X, y, sample_weight)
        judge = None if validation is None else self.read_sample(*validation)
        tree = self.grown if sample is None else self.grown.recounted(sample)
        result = pruner.prune(
            tree, sample, validation=judge, grow=partial(grow, options=self.options)
        )
        rows = self.rows
        if rows is not None and sample is not None:
            rows = rows.with_rows("training", self.hashes(X, y))
        if rows is not None and validation is not None:
            rows = rows.with_rows("validation", self.hashes(*validation[:2]))
        reason = "" if sample is None else _new_missing(result.path.first, sample.columns)
        return replace(
            self,
            tree=result.tree,
            pruning=result,
            step=None,
            held_out=None,  # they were not counted on this tree
            proof=None,
            frontier=None,
            row_counts=row_counts(result.path.first, sample),
            rows=rows,
            no_certificate=reason or self.no_certificate * (sample is None),
        )

    # -- certificates ----------------------------------------------------------------------

    @cached_property
    def certificate(self) -> Certificate | None:
        """The certificate from ``fit``; None if it would not hold."""
        return self._certificate(self.delta)

    def _certificate(self, delta: float) -> Certificate | None:
        if self.proof is not None:
            return certify_proof(self.tree, self.proof, delta, self.unknown)
        if self.held_out is None:
            return None if self._reason else self._by_training(delta)
        path = self.path
        if self.edits:
            certificate = self.held_out.certificate(delta, self.tree, None)
            return replace(certificate, assumptions=(*certificate.assumptions, _UNSEEN))
        if path is None or self.step in (None, path.chosen):
            return self.held_out.certificate(delta, self.tree, path)
        return self.held_out.certificate_at(path, self.step, delta)

    def _by_training(self, delta: float, landscape: Landscape | None = None) -> Certificate:
        return certify_tree(
            self.tree, row_counts=self.rows_at_nodes, landscape=landscape, delta=delta,
            unknown=self.unknown,
        )  # fmt: skip

    @property
    def rows_at_nodes(self) -> NDArray[np.int64] | None:
        """The row counts at the nodes of the tree, where the rows were weighted."""
        if self.row_counts is None or self.path is None:
            return self.row_counts
        step = self.path.chosen if self.step is None else self.step
        return counts_at(self.path, step, self.row_counts)

    @property
    def _reason(self) -> str:
        """Why the training rows give no certificate; empty if they do."""
        return self.no_certificate or reason_against(self.tree, self.rows_at_nodes)

    @property
    def certificate_reason(self) -> str | None:
        """Why there is no certificate, in words; None if there is one."""
        if self.certificate is not None:
            return None
        return self._reason or (
            "The held-out rows were counted on the grown tree; this tree has raised subtrees."
        )

    def hashes(self, X: Any, y: Any) -> NDArray[np.uint64] | None:
        """A hash of each labelled row; None if the table lacks columns of the training table."""
        table, names = read_table(X), [column.name for column in self.columns]
        if self.has_names and table.names is not None:
            absent = not {*names} <= {*table.names}
        else:
            absent = table.shape[1] != len(names)
        if absent:
            return None
        codes = read_classes(y, self.classes)
        same_length(table.shape[0], len(codes))
        return row_hashes(table, self.classes, codes, names=names if self.has_names else None)

    def certify(
        self,
        X: Any = None,
        y: Any = None,
        *,
        kind: CertificateKind | None = None,
        landscape: Landscape | None = None,
        delta: float | None = None,
    ) -> Certificate:
        """Bound the risk of the tree on new examples.

        Parameters
        ----------
        X, y : table and labels, optional
            Rows to certify from; without them those of ``fit``.
        kind : {"training", "held-out", "prior"}, optional
            What the rows are; by default the record of the rows of ``fit`` tells. ``"prior"``: all
            training rows, of which a fifth defines a prior over trees.
        landscape : Landscape, optional
            The features to split on, for a certificate from training rows.
        delta : float, optional
            Probability that the bound fails; by default that of the model.

        Raises
        ------
        ValueError
            If there is no certificate; the message says why.
        """
        if X is None or self.referral is not None:
            return self._own(kind, landscape, self.delta if delta is None else delta)
        if kind in (None, "held-out"):
            return self.certify_tested(self.tested(X, y), kind, landscape=landscape, delta=delta)
        if is_stream(X):
            raise invalid("kind", "certify", "None or 'held-out' for rows in batches", kind)
        level = self.delta if delta is None else delta
        if kind == "prior":
            return self._from_prior(X, y, level)
        if kind != "training":
            must = "'training', 'prior' or 'held-out' for rows that are given"
            raise invalid("kind", "certify", must, kind)
        return self._from_training(X, y, landscape, level)

    def certify_tested(
        self,
        tested: Tested,
        kind: Literal["held-out"] | None = None,
        *,
        landscape: Landscape | None = None,
        delta: float | None = None,
    ) -> Certificate:
        """Bound the risk from rows that were counted, see :meth:`certify`.

        Parameters
        ----------
        tested : Tested
            The counts.
        kind, landscape, delta
            See :meth:`certify`.
        """
        level, seen = self.delta if delta is None else delta, tested.seen
        if kind is None:
            if self.rows is None:
                raise _kind_needed()
            if seen.some:
                raise ValueError(seen.refusal)
            if seen.all:
                return self._own(None, landscape, level)
        rows, label = tested.counts.sum(axis=0), self.tree.label
        errors = rows - np.bincount(
            label, weights=tested.counts[np.arange(len(label)), label], minlength=len(rows)
        ).astype(np.int64)
        m = int(rows.sum())
        certificate = certify_counts(
            int(errors.sum()),
            m,
            level,
            seen=seen,
            constant_error=1.0 - float(rows.max()) / m,
        )
        return certificate.with_class_limits(
            partial(by_class_on_rows, self.classes.tolist(), rows, errors, log(level))
        )

    def _own(self, kind: str | None, landscape: Landscape | None, delta: float) -> Certificate:
        """The certificate from the rows of fit; a tree that refers has a promise instead."""
        own: CertificateKind = "training" if self.held_out is None else self.held_out.kind
        own = own if self.proof is None else "prior"
        if landscape is not None or (kind == "training" and own != kind):
            if self._reason:
                raise ValueError(f"There is no certificate for this tree. {self._reason}")
            return self._by_training(delta, landscape)
        if kind is not None and kind != own:
            must = f"{own!r}, the kind of the rows that fit had, or None"
            raise invalid("kind", "certify", must, kind, "give such rows as X and y.")
        certificate = self._certificate(delta)
        if certificate is None:
            raise ValueError(f"There is no certificate for this tree. {self.certificate_reason}")
        return certificate

    def _from_prior(self, X: Any, y: Any, delta: float) -> Certificate:
        """The certificate of any tree from all training rows, in the order of ``fit``."""
        sample = replace(self.read_sample(X, y, whole=True), factors=None)
        proof = self.prior(sample).certify(self.tree, delta).proof
        return certify_proof(self.tree, proof, delta, self.unknown)

    def held_out_counts(self) -> tuple[NDArray[np.int64], int] | None:
        """The rows that fit held out, at each node, and how many trees share their delta."""
        held_out, path = self.held_out, self.path
        if held_out is None:
            return None
        if path is None:
            return held_out.counts, held_out.folds
        step = path.chosen if self.step is None else self.step
        shares = held_out.folds * (1 if step == path.chosen else path.n_considered)
        counts = counts_at(path, step, held_out.counts)
        return None if counts is None else (counts, shares)

    def prior(self, sample: Sample) -> Prior:
        """The prior of fit again, from its rows in their order."""
        options = PriorOptions.of(self.options.thresholds, self.options.max_depth)
        return Prior(sample, self.parameters.get("random_state", 0), options)

    def _from_training(
        self, X: Any, y: Any, landscape: Landscape | None, delta: float
    ) -> Certificate:
        """The certificate from training rows that are given, each counted once."""
        sample = self.read_test(X, y)
        reason = _new_missing(self.tree, sample.columns)
        if reason:
            raise ValueError(f"There is no certificate for this tree. {reason}")
        counted = replace(self.tree.recounted(sample), label=self.tree.label)
        if _same_counts(counted, self.tree):
            counted = self.tree  # its own training rows: which of them name its splits is known
        errors, _ = self.errors_on(X, y)
        return certify_tree(
            counted, errors=errors, landscape=landscape, delta=delta, unknown=self.unknown
        )


def row_counts(tree: Tree, sample: Sample | None) -> NDArray[np.int64] | None:
    """Rows of each class at each node, if they are weighted; otherwise the tree has them."""
    if sample is None or (sample.weight is None and sample.factors is None):
        return None
    counts, _ = tree.counts_on(replace(sample, weight=None))
    return counts.astype(np.int64)


def same_length(rows: int, labels: int) -> None:
    if rows != labels:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {[rows, labels]}"
        )


def _same_counts(counted: Tree, tree: Tree) -> bool:
    same = tree.counted and (counted.weighted, counted.columns) == (tree.weighted, tree.columns)
    return same and np.array_equal(counted.counts, tree.counts)


def _new_missing(tree: Tree, columns: tuple[Column, ...]) -> str:
    """Why rows with these missing values certify nothing; empty if they do.

    A first missing value of a nominal column goes with the larger child, perhaps beside a
    category: such a split is not in the class of trees that a certificate counts.
    """
    asked = np.unique(tree.feature[(tree.feature >= 0) & tree.missing_left])
    for at in asked.tolist():
        column = tree.columns[at]
        if column.kind == "nominal" and columns[at].missing and not column.missing:
            return (
                f"Column {column.name!r} has missing values in these rows and had none in the rows "
                "that the tree was grown on. Hint: fit on these rows."
            )
    return ""


def _kind_needed() -> ValueError:
    return ValueError(
        "There is no record of the rows that this tree was fitted on. Hint: say what these rows "
        "are: kind='training' if they had a part in fitting, kind='held-out' if not."
    )


# -- functions of a model, and methods of the classifier made of them ------------------------------


def as_model(source: Any, caller: str) -> Model:
    """The model of a fitted classifier, or of a bare tree; a model is returned as is."""
    if isinstance(source, Model):
        return source
    if isinstance(source, Tree):
        return Model(source)
    held = vars(source).get("model_") if hasattr(source, "__dict__") else None
    if isinstance(held, Model):
        return held
    if hasattr(source, "fit"):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(source)
    hint = ""
    if hasattr(source, "tree_"):
        hint = " Hint: treebound.from_sklearn makes a Tree of a scikit-learn one."
    raise TypeError(
        f"{caller} needs a Tree or a fitted BoundTreeClassifier. Got {source!r:.80} instead.{hint}"
    )


def takes_model(function: Callable[Concatenate[Tree, P], R]) -> Callable[Concatenate[Any, P], R]:
    """Let a function of a tree also take a model or classifier, with its way to answer.

    The function gets the tree and, by default, ``unknown``, ``smoothing``, the target's name and
    the nodes whose right branch is shown first.
    """
    parameters = signature(function).parameters

    @wraps(function)
    def either(tree: Any, *args: P.args, **options: P.kwargs) -> R:
        if not isinstance(tree, Tree):
            model = as_model(tree, function.__name__)
            answers = {
                "unknown": model.unknown, "smoothing": model.smoothing, "target": model.target,
                "swapped": model.swapped,
            }  # fmt: skip
            for name in answers.keys() & parameters.keys():
                options.setdefault(name, answers[name])
            tree = model.tree
        return function(tree, *args, **options)

    return either  # type: ignore[return-value]  # the tree may be given by name, too


# The first parameter of a function, in its description.
_FIRST = re.compile(r"(\nParameters\n-+\n)\w+ : .*\n(?:    .*\n)*")


def as_method(function: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """A function of a model as a method of the classifier, described as one."""

    @wraps(function)
    def method(self: Any, /, *args: P.args, **options: P.kwargs) -> R:
        return function(self, *args, **options)

    parameters = signature(function).parameters
    own = [f"``{name}``" for name in ("unknown", "smoothing") if name in parameters]
    text, _, _ = cleandoc(function.__doc__ or "").partition("\n\nExamples\n")
    summary, *others = _FIRST.sub(r"\1", text, count=1).split("\n\n")
    if own:
        others.insert(0, f"By default taken from the classifier: {', '.join(own)}.")
    name = f"{function.__module__.rpartition('.')[0]}.{function.__name__}"
    others.append(f"See Also\n--------\n{name} : The same as a function, also of a tree.")
    method.__doc__ = "\n\n".join([summary, *others])
    return method
