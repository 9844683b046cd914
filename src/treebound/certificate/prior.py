"""Certificates from a prior over trees that some of the rows define (after Langford 2005).

=========  ======================================================================================
A, B       a fifth of the rows, drawn by number (:mod:`treebound.data.draws`); the other rows
pi_A(h)    the prior: a probability for each tree h, computed from A alone
k_B(h)     errors of h on B
U(N, k, e) the exact binomial bound: the largest p with ``P[Bin(N, p) <= k] >= e``
=========  ======================================================================================

With probability ``1 - delta``, for all trees at once, ``R(h) <= U(|B|, k_B(h), delta pi_A(h))``:
given A the prior is fixed and B is independent of it, so that the bound of one tree fails with
probability at most ``delta pi_A(h)``, and these sum to at most delta. The tree may be chosen with
all rows, in any way.

The prior is a product over the nodes. With the rows of A at a node, and their class counts c:

- candidates: every gap between neighbouring values (at most ``cap``, evenly by rank), with missing
  on either side and alone where A has missing values; every category, of two the first;
  ``mu`` is uniform over the columns, then over the candidates of the column;
- ``gain`` is the log ratio of the evidence ``(n-1)! prod c_j! / (N+n-1)!`` with and without the
  split; a split has ``P = (1 - uniform) mu e^(tilt gain) / Z + uniform mu``;
- a node is split with probability ``F / (1 + F)``, ``F = sum mu e^gain``, kept between ``clip`` and
  ``1 - clip``; without candidates and at the largest depth it is a leaf;
- a leaf has label j with a probability proportional to ``(c_j + 1/2)^2``;
- columns that are identifiers have no candidates; which are, has a probability (`_log_columns`);
- the share ``hand`` of the splits goes to all other splits: half to candidates with missing values
  on the side where they do not go by A, half to the landscape (`_edited`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import comb, inf, isinf, isnan, log, log1p, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound.bounds.risk import risk_upper
from treebound.certificate._prior import PriorSearch
from treebound.certificate.certificate import errors_by_class
from treebound.data import Column, Sample
from treebound.data.columns import IDENTIFIER_ROWS, KINDS
from treebound.data.draws import Draw
from treebound.pruning.costs import Costs, cost_matrix
from treebound.tree.model import Tree
from treebound.tree.split import Split, split_of

# Log probabilities are sums of at most 10^5 terms, each off by less than 10^-14.
_SLACK = 1e-9


@dataclass(frozen=True)
class PriorOptions:
    """Constants of the prior, chosen on nine of the 25 data sets of the study.

    ``share`` of the rows is A. The other constants are explained in the module.
    """

    share: float = 0.2
    tilt: float = 0.4
    uniform: float = 0.05
    clip: float = 0.07
    cap: int = 48
    label_power: float = 2.0
    depth: int = 20
    hand: float = 0.01
    thresholds: str = "decimal"

    @classmethod
    def of(cls, thresholds: str, max_depth: int | None) -> PriorOptions:
        """The constants for trees with such thresholds, of at most this depth."""
        depth = cls.depth if max_depth is None else min(max_depth, cls.depth)
        return cls(thresholds=thresholds, depth=depth)


@dataclass(frozen=True, eq=False)
class PriorProof:
    """The counts and probabilities behind the certificate of one tree, for every delta."""

    log_prior: float
    counts_a: NDArray[np.int64]  # rows of A of each class at each node, every row once
    counts_b: NDArray[np.int64]
    errors: tuple[int, ...]  # rows B of each class that the tree misclassifies
    training_error: float  # share of all rows, A and B
    # Log probability of the split of each node, 0 at leaves, and of being a leaf, if known.
    log_splits: NDArray[np.float64] | None = None
    log_stops: NDArray[np.float64] | None = None

    @classmethod
    def of(
        cls,
        tree: Tree,
        log_prior: float,
        counts_a: NDArray[Any],
        counts_b: NDArray[Any],
        log_splits: NDArray[np.float64] | None = None,
        log_stops: NDArray[np.float64] | None = None,
    ) -> PriorProof:
        """The proof of a tree, from the rows of A and B at its nodes."""
        on_a, on_b = (errors_by_class(tree, counts)[1] for counts in (counts_a, counts_b))
        share = float(on_a.sum() + on_b.sum()) / max(int(counts_a[0].sum() + counts_b[0].sum()), 1)
        errors = tuple(on_b.tolist())
        return cls(log_prior, counts_a, counts_b, errors, share, log_splits, log_stops)

    @property
    def rows(self) -> tuple[int, ...]:
        """Rows B of each class."""
        return tuple(self.counts_b[0].tolist())

    @property
    def m(self) -> int:
        """Number of rows B."""
        return sum(self.rows)

    @property
    def wrong(self) -> int:
        """Errors on the rows B."""
        return sum(self.errors)

    def risk(self, delta: float) -> float:
        """The certified error."""
        return prior_bound(self.m, self.wrong, log(delta) + self.log_prior)


@dataclass(frozen=True, eq=False)
class CertifiedTree:
    """A tree, with the counts of all rows, its proof, its certified error, and what it costs."""

    tree: Tree
    proof: PriorProof
    risk: float
    cost: float = nan  # of all rows: the weighted errors, if errors do not differ
    score: float = nan  # to choose by: the bound, with costs in place of errors

    @property
    def leaves(self) -> int:
        """Number of leaves."""
        return self.tree.n_leaves

    @property
    def training_error(self) -> float:
        """Share of all rows that the tree misclassifies."""
        return self.proof.training_error


class Prior:
    """The prior of a sample: its rows A and B, and the probability of any tree.

    ``draw`` selects the rows A, unless they are given as ``rows_a``: by its key, or if it has none,
    by that of the sample. ``costs`` of errors steer the search and change no guarantee.
    """

    def __init__(
        self,
        sample: Sample,
        draw: Draw | None = None,
        options: PriorOptions = PriorOptions(),
        *,
        costs: Any = None,
        rows_a: NDArray[np.intp] | None = None,
    ) -> None:
        mask = np.zeros(sample.n_rows, dtype=bool)
        if rows_a is None:
            draw = draw or Draw()
            draw = draw.keyed(sample) if draw.key is None else draw
            mask = draw.prior_rows(sample.n_rows, options.share)
        else:
            mask[rows_a] = True
        self.sample, self.options, self.costs = sample, options, costs
        self.log_columns = _log_columns(sample.columns, sample.n_rows)
        self.a, self.b = sample.part(np.flatnonzero(mask)), sample.part(np.flatnonzero(~mask))
        self.kernel = _kernel(self.a, self.b, options, costs)

    def log_probability(self, tree: Tree) -> float:
        """Log of the prior probability of a tree, rounded down."""
        return self._log_prices(tree)[0]

    def _log_prices(self, tree: Tree) -> tuple[float, NDArray[Any], NDArray[Any]]:
        """The log probability of a tree, of the split of each node, and of being a leaf there."""
        reached, total = tree.apply(self.a.X), self.log_columns
        log_splits, log_stops = np.zeros(tree.n_nodes), np.zeros(tree.n_nodes)
        for node in range(tree.n_nodes):
            inside = (reached >= node) & (reached < node + tree.size[node])
            splits, log_go, log_stops[node] = self.kernel.candidates(
                inside.view(np.uint8), int(tree.node_depth[node])
            )
            if tree.left[node] < 0:
                counts = np.bincount(self.a.y[inside], minlength=self.a.n_classes)
                label = log_labels(counts, self.options.label_power)[tree.label[node]]
                total += float(log_stops[node] + label)
            else:
                log_splits[node] = self._log_split(tree, node, splits, log_go)
                total += float(log_splits[node])
        return total, log_splits, log_stops

    def _log_split(self, tree: Tree, node: int, splits: NDArray[np.void], log_go: float) -> float:
        same = splits["column"] == tree.feature[node]
        same &= splits["category"] == tree.category[node]
        if tree.category[node] < 0:
            same &= splits["threshold"] == tree.threshold[node]
        split = split_of(tree, node)
        beside = same & (splits["missing_left"] == split.missing_left)
        if beside.any():
            return log_go - float(splits["price"][beside][0])
        options = self.options
        share = log(options.hand / 2.0) if options.hand else -inf
        share += log(options.clip) if isinf(log_go) else log_go
        # half of the share is for candidates with missing values on the other side
        return share + (
            -float(splits["price"][same][0]) if same.any() else _edited(tree, split, self.a)
        )

    def certify(self, tree: Tree, delta: float) -> CertifiedTree:
        """The bound of any tree in the columns and classes of the sample, for all trees at once."""
        log_prior, *prices = self._log_prices(tree)
        counts_a, counts_b = (
            tree.counts_on(replace(part, weight=None))[0].astype(np.int64)
            for part in (self.a, self.b)
        )
        proof = PriorProof.of(tree, log_prior, counts_a, counts_b, *prices)
        return self._certified(tree, proof, delta)

    def _certified(self, tree: Tree, proof: PriorProof, delta: float) -> CertifiedTree:
        costs, score = Costs.of(tree, self.costs), proof.risk(delta)
        cost = float(costs.losses(tree)[tree.leaves].sum())
        if costs.chosen or tree.weighted:
            share = cost / max(costs.m, 1.0)
            errors = round(min(share, 1.0) * proof.m)
            score = prior_bound(proof.m, errors, log(delta) + proof.log_prior)
        return CertifiedTree(tree, proof, proof.risk(delta), cost, score)

    def tree_of(self, arrays: dict[str, Any], delta: float) -> CertifiedTree:
        """A tree of the search, with the counts of all rows."""
        sample = self.sample
        names = ("log_prior", "counts_a", "counts_b", "log_splits", "log_stops")
        log_prior, *grounds = (arrays.pop(name) for name in names)
        counts_a, counts_b, *_ = grounds
        tree = Tree(
            **arrays,
            counts=counts_a + counts_b,
            rows=(counts_a + counts_b).sum(axis=1),
            columns=sample.columns,
            classes=sample.classes,
        )
        if sample.weight is not None or sample.factors is not None:
            weights, _ = tree.counts_on(sample)
            tree = replace(tree, counts=weights, weighted=True, factors=sample.factors)
        proof = PriorProof.of(tree, log_prior + self.log_columns, *grounds)
        return self._certified(tree, proof, delta)


def log_labels(counts: NDArray[Any], power: float = PriorOptions.label_power) -> NDArray[Any]:
    """Log probability of each label of a leaf with these class counts on A."""
    weight = (counts + 0.5) ** power
    return np.asarray(np.log(weight / weight.sum(axis=-1, keepdims=True)))


def prior_bound(m: int, errors: int, log_level: float) -> float:
    """The exact binomial bound at a level that is a probability of the prior, rounded up."""
    return risk_upper(m, errors, log_level - _SLACK * (1.0 - log_level)) if m else 1.0


def _log_columns(columns: Sequence[Column], n_rows: int) -> float:
    """Log probability of the set of columns that are identifiers, fixed before the rows are seen.

    All rows, B too, determine which of the k undeclared nominal columns are not split on: each set
    of them has a prior of its own. The empty set has the probability 31 / 32; the others share the
    rest, sets of j columns ``1 / (j (j + 1))`` of it, in equal parts. With few rows there are none.
    """
    if n_rows < IDENTIFIER_ROWS:
        return 0.0
    undeclared = sum(column.kind == "nominal" and not column.declared for column in columns)
    j = sum(column.identifier for column in columns)
    if j:
        return -log(32.0) - log(j * (j + 1)) - log(comb(undeclared, j))
    return log(31.0 / 32.0) if undeclared else 0.0


# -- the search --------------------------------------------------------------------------------

TRUST, NOISE, KEPT, PRICES, MAX_RESTARTS = 0.5, 1.0, 24, 24, 100


def search_trees(
    prior: Prior,
    delta: float = 0.05,
    *,
    restarts: int | None = None,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> list[CertifiedTree]:
    """Trees with small bounds: grown several times with noise, then pruned exactly.

    ``restarts`` after the first run are by default as many as `max_work` allows, at most 100;
    ``seed`` of the noise changes the trees, not the guarantee. ``progress`` is called with the
    number of runs after each of them.
    """
    kernel, prices = prior.kernel, error_prices(prior.b.n_rows)
    runs = 1 + (MAX_RESTARTS if restarts is None else restarts)
    seeds = np.random.default_rng(seed).integers(0, 2**63, size=runs).tolist()
    most = max_work(prior.sample) if restarts is None else inf
    for at, seed in enumerate(seeds):
        if at and kernel.work * (1.0 + 1.0 / at) > most:  # as much for another run as for each
            break
        kernel.run(TRUST, NOISE if at else 0.0, seed, prices[-1])
        if progress is not None:
            progress(at + 1)
    trees: dict[bytes, CertifiedTree] = {}
    for price in prices:
        arrays = kernel.least(price)
        key = b"".join(arrays[name].tobytes() for name in ("feature", "threshold", "category",
                                                           "missing_left", "label"))  # fmt: skip
        if key not in trees:
            trees[key] = prior.tree_of(arrays, delta)
    certified = [*trees.values()]
    if all(tree.leaves > 1 for tree in certified):
        certified.append(prior.certify(certified[0].tree.collapsed([0]), delta))
    return sorted(certified, key=lambda tree: (tree.leaves, tree.risk))


def max_work(sample: Sample) -> float:
    """How many values the search may look at: about 20 times the time of growing and pruning."""
    return 1.2e6 + 25.0 * sample.n_rows * len(sample.columns)


def error_prices(m: int) -> list[float]:
    """Prices of an error on m rows in nats, from trees of few leaves to trees of many.

    The bound of a tree with the share q of errors at a price of c nats is least where an error is
    worth about ``sqrt(2 c / (m q (1 - q)))``: less on large tables.
    """
    most = min(5.0, 900.0 / max(m, 1) ** 0.5)
    return [float(price) for price in np.geomspace(0.02, most, PRICES)]


def _kernel(a: Sample, b: Sample, options: PriorOptions, costs: Any) -> PriorSearch:
    left, right = _floats(a), _floats(b)
    order = np.argsort(left, axis=1, kind="stable").astype(np.int32)
    columns = a.columns
    return PriorSearch(
        left,
        right,
        order,
        np.ascontiguousarray(a.y, dtype=np.int32),
        np.ascontiguousarray(b.y, dtype=np.int32),
        np.array([KINDS.index(column.kind) for column in columns], dtype=np.int32),
        np.array([len(column.categories or ()) for column in columns], dtype=np.int32),
        *_losses(b, costs),
        options,
        KEPT,
    )


def _losses(b: Sample, costs: Any) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """The cost matrix of errors on B and the weights of its rows; the mean cost is at most 1."""
    matrix = 1.0 - np.eye(b.n_classes) if costs is None else cost_matrix(b.classes, costs)
    matrix = matrix * (1.0 if b.factors is None else b.factors[:, None])
    weight = None if b.weight is None else np.ascontiguousarray(b.weight, dtype=np.float64)
    worst = matrix.max(axis=1)[b.y] * (1.0 if weight is None else weight)
    total = float(worst.sum())
    return np.ascontiguousarray(matrix * (b.n_rows / total if total else 1.0)), weight


def _floats(sample: Sample) -> NDArray[np.float64]:
    """One row for each column; unknown categories of an ordinal column are above all others."""
    values = np.empty((len(sample.columns), sample.n_rows))
    for at, column in enumerate(sample.columns):
        codes = sample.X.values[at]
        values[at] = codes
        if column.kind != "real":
            values[at, codes == -1] = np.nan
            if column.kind == "ordinal":
                values[at, codes < -1] = np.inf
    return values


# -- edited splits -----------------------------------------------------------------------------


def _edited(tree: Tree, split: Split, a: Sample) -> float:
    """Log probability of any split: column uniform, then a threshold or a category.

    Shorter decimals are more probable. Where missing values go is one of three choices.
    """
    total = -log(len(tree.columns)) - log(3.0)
    if split.is_real:
        return total + log_decimal(split.threshold)
    if split.kind == "category" and len(split.codes) > 1:
        return -inf  # the masses of single categories sum to 1
    code = split.codes[-1] if split.codes else -1
    return total + _log_category(split.column, code, a.X.values[split.feature])


def log_decimal(value: float) -> float:
    """Log of a fixed probability of a decimal number: fewer digits, more mass.

    Sign, number of digits k (``1 / (k (k + 1))``), the digits (``10^-k``), exponent e
    (``1 / (2 (|e| + 1) (|e| + 2))``); half of the mass is for infinity, the split of missing
    from present.
    """
    if isinf(value) or isnan(value):
        return log(0.5)
    digits, exponent = np.format_float_scientific(abs(value), trim="-").split("e")
    k = len(digits.replace(".", ""))
    e = abs(int(exponent) - (k - 1))
    return -2.0 * log(2.0) - log(k) - log1p(k) - k * log(10.0) - log(2.0) - log(e + 1) - log(e + 2)


def _log_category(column: Column, code: int, codes: NDArray[Any]) -> float:
    """Half of the mass for the categories of A and missing, half for any text."""
    size = len(column.categories or ())
    met = np.unique(codes[codes >= 0])
    if code in met or not 0 <= code < size:
        return log(0.5) - log(len(met) + 1.0)
    text = len(repr((column.categories or ())[code]).encode())
    return log(0.5) - log(text) - log1p(text) - 8.0 * text * log(2.0)
