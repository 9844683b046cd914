"""Models of a study: a name and a way to learn from one draw.

A pruned tree is declared by how it is grown, what prunes it, and which part of the data the
pruner may look at; any other scikit-learn classifier takes part through :class:`Estimator`.

Examples
--------
A new model is a declaration:

>>> from sklearn.neighbors import KNeighborsClassifier
>>> Estimator("1-NN", KNeighborsClassifier(n_neighbors=1))
Estimator(name='1-NN', estimator=KNeighborsClassifier(n_neighbors=1), takes='one-hot')
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from time import thread_time
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from treebound.bench.sources import Table
from treebound.bench.splits import Split, split

if TYPE_CHECKING:
    from treebound.tree import Tree

__all__ = ["Draw", "Estimator", "Fitted", "Growth", "Model", "PrunedTree", "SklearnCostComplexity"]

Part = Literal["train", "test", "growing", "validation"]
Matrix = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Growth:
    """How a tree is grown before anything prunes it."""

    criterion: Literal["gini", "entropy", "misclassification"] = "gini"
    order: Literal["gain", "impurity"] = "gain"
    max_leaves: int | None = None

    def __call__(self, table: Table, X: Matrix, y: Codes, sample_weight: Any = None) -> Tree:
        """Grow a tree on rows of a table."""
        from treebound.growing.grow import grow

        return grow(
            X,
            y,
            table.columns,
            table.classes,
            sample_weight=sample_weight,
            criterion=self.criterion,
            growth_order=self.order,
            max_leaves=self.max_leaves,
            n_jobs=1,
        )


class Draw:
    """One split of one table; trees that several models start from are grown once."""

    def __init__(self, table: Table, seed: int, *, test_fraction: float = 0.15) -> None:
        self.table = table
        self.seed = seed
        self.split: Split = split(table.n_examples, seed, test_fraction)
        self._grown: dict[tuple[Growth, Part], tuple[Tree, float]] = {}

    def part(self, name: Part) -> tuple[Matrix, Codes]:
        """Encoded rows and class codes of a part."""
        rows = getattr(self.split, name)
        return self.table.X[rows], self.table.y[rows]

    def grown(self, growth: Growth, part: Part = "train") -> tuple[Tree, float]:
        """The tree grown on a part, and the seconds that took."""
        if (growth, part) not in self._grown:
            X, y = self.part(part)
            start = thread_time()
            tree = growth(self.table, X, y)
            self._grown[growth, part] = tree, thread_time() - start
        return self._grown[growth, part]


@dataclass(frozen=True)
class Fitted:
    """What a model learned, and what the study wants to know of it.

    ``probabilities`` maps encoded rows to one column per class of the table; ``predict`` to class
    codes. Times are CPU seconds of the one thread that works, so that a busy machine or a full
    cluster does not change them.
    """

    predict: Callable[[Matrix], Codes]
    probabilities: Callable[[Matrix], Matrix]
    grow_seconds: float
    prune_seconds: float | None = None
    leaves: int | None = None
    height: int | None = None
    bound: float | None = None
    certificate: float | None = None
    trained_on: Part = "train"
    judged_on: Part | None = None


class Model(ABC):
    """A way to learn from one draw. Subclasses are frozen dataclasses: their fields name them."""

    name: str

    @property
    def settings(self) -> str:
        """Everything the model was declared with, defaults included, in one line."""
        fields = {key: _described(value) for key, value in vars(self).items() if key != "name"}
        return f"{type(self).__name__}({_listed(fields)})"

    @property
    def oracle(self) -> bool:
        """Whether the model looks at the test part, and so is out of competition."""
        return False

    @abstractmethod
    def fit(self, draw: Draw) -> Fitted:
        """Learn from the draw's training part."""


@dataclass(frozen=True)
class PrunedTree(Model):
    """A grown tree, and what prunes it.

    Parameters
    ----------
    name : str
    growth : Growth
    pruner : Pruner or None
        None leaves the tree as it was grown.
    prune_on : {"train", "validation", "test"}
        The part the pruner may look at. With "validation" the tree is grown on the rest of the
        training part; "test" is the oracle.
    bound : bool
        Whether the pruner's score is a risk bound worth a column in the tables.
    """

    name: str
    growth: Growth
    pruner: Any = None
    prune_on: Part = "train"
    bound: bool = False

    @property
    def oracle(self) -> bool:
        """Whether the model looks at the test part."""
        return self.prune_on == "test"

    def fit(self, draw: Draw) -> Fitted:
        """Grow (or take the tree another model of this draw has grown), then prune."""
        grown_on: Part = "growing" if self.prune_on == "validation" else "train"
        tree, grow_seconds = draw.grown(self.growth, grown_on)
        bound, prune_seconds = None, None
        if self.pruner is not None:
            result, prune_seconds = self._prune(tree, draw)
            tree = result.tree
            bound = float(result.score) if self.bound else None
        return Fitted(
            predict=lambda X: tree.predict_codes(X).astype(np.int64),
            probabilities=_smoothed(tree),
            grow_seconds=grow_seconds,
            prune_seconds=prune_seconds,
            leaves=tree.n_leaves,
            height=tree.height,
            bound=bound,
            certificate=_certified(tree, *draw.part(grown_on)),
            trained_on=grown_on,
            judged_on="validation" if self.prune_on == "validation" else None,
        )

    def _prune(self, tree: Tree, draw: Draw) -> tuple[Any, float]:
        from sklearn.base import clone

        def grow_again(X: Matrix, y: Codes, sample_weight: Any = None) -> Tree:
            return self.growth(draw.table, X, y, sample_weight)

        X, y = draw.part(self.prune_on)
        pruner = clone(self.pruner)
        start = thread_time()
        result = pruner.prune(tree, X, y, grow=grow_again)
        return result, thread_time() - start


@dataclass(frozen=True)
class Estimator(Model):
    """Any scikit-learn classifier.

    Parameters
    ----------
    name : str
    estimator : classifier
        Cloned for every draw; its ``random_state``, if it has one, is set to the draw's seed.
    takes : {"one-hot", "codes", "frame"}
        What it is given: nominal columns one-hot encoded (ordinal ones as ranks), the encoded
        matrix, or a pandas frame with categorical dtypes.
    """

    name: str
    estimator: Any
    takes: Literal["one-hot", "codes", "frame"] = "one-hot"

    def fit(self, draw: Draw) -> Fitted:
        """Fit a clone; the time to fit counts as growing."""
        estimator = self._prepared(draw)
        rows = draw.split.train
        given = draw.table.frame.iloc[rows] if self.takes == "frame" else draw.table.X[rows]
        start = thread_time()
        estimator.fit(given, draw.table.y[rows])
        return _fitted(estimator, draw, thread_time() - start, frame=self.takes == "frame")

    def _prepared(self, draw: Draw) -> Any:
        from sklearn.base import clone

        estimator = _seeded(clone(self.estimator), draw.seed)
        return _one_hot(estimator, draw.table) if self.takes == "one-hot" else estimator


@dataclass(frozen=True)
class SklearnCostComplexity(Model):
    """Cost-complexity pruning as scikit-learn users do it.

    The alphas of ``cost_complexity_pruning_path`` on the training part, chosen by
    ``GridSearchCV``; the time of the final refit counts as growing, the rest as pruning. A path
    longer than ``most_alphas`` is thinned evenly, ends kept: a full one takes scikit-learn half a
    minute on two thousand rows.
    """

    name: str
    criterion: str = "gini"
    folds: int = 5
    most_alphas: int = 20

    def fit(self, draw: Draw) -> Fitted:
        """Search the alphas of the pruning path."""
        from sklearn.model_selection import GridSearchCV
        from sklearn.tree import DecisionTreeClassifier

        X, y = draw.part("train")
        encoder = _one_hot(None, draw.table)
        wide = encoder.fit_transform(X)
        tree = DecisionTreeClassifier(criterion=self.criterion, random_state=draw.seed)
        start = thread_time()
        # Rounding leaves alphas a hair below zero, which the tree refuses.
        alphas = np.unique(tree.cost_complexity_pruning_path(wide, y).ccp_alphas.clip(min=0.0))
        if len(alphas) > self.most_alphas:
            kept = np.linspace(0, len(alphas) - 1, self.most_alphas).round().astype(int)
            alphas = alphas[kept]
        search = GridSearchCV(tree, {"ccp_alpha": alphas}, cv=self.folds, refit=False)
        with warnings.catch_warnings():
            # A class with fewer examples than folds is what these data are, not a mistake.
            warnings.filterwarnings("ignore", message="The least populated class")
            search.fit(wide, y)
        chosen = thread_time()
        tree.set_params(**search.best_params_).fit(wide, y)
        done = thread_time()
        encoder.steps.append(("classifier", tree))
        fitted = _fitted(encoder, draw, done - chosen, frame=False)
        return replace(fitted, prune_seconds=chosen - start)


def _described(value: Any) -> str:
    """A value in words that are the same in every process: no addresses, no left-out defaults."""
    if hasattr(value, "get_params"):
        params = {key: _described(one) for key, one in value.get_params(deep=False).items()}
        return f"{type(value).__name__}({_listed(params)})"
    return getattr(value, "__qualname__", None) or repr(value)


def _listed(fields: dict[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in sorted(fields.items()))


def _seeded(estimator: Any, seed: int) -> Any:
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=seed)
    return estimator


def _one_hot(estimator: Any, table: Table) -> Any:
    """A pipeline that one-hot encodes nominal columns before the estimator (None for none)."""
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder

    nominal = [at for at, column in enumerate(table.columns) if column.kind == "nominal"]
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    steps: list[tuple[str, Any]] = [
        ("encode", ColumnTransformer([("nominal", encoder, nominal)], remainder="passthrough"))
    ]
    if estimator is not None:
        steps.append(("classifier", estimator))
    return Pipeline(steps)


def _fitted(estimator: Any, draw: Draw, seconds: float, *, frame: bool) -> Fitted:
    """What can be asked of any fitted classifier, in the class codes of the table."""
    last = estimator[-1] if hasattr(estimator, "steps") else estimator
    seen = np.asarray(estimator.classes_, dtype=np.int64)

    def given(X: Matrix) -> Any:
        return _frame_of(draw.table, X) if frame else X

    def probabilities(X: Matrix) -> Matrix:
        found = np.zeros((len(X), draw.table.n_classes))
        if hasattr(estimator, "predict_proba"):
            found[:, seen] = estimator.predict_proba(given(X))
        else:
            found[np.arange(len(X)), estimator.predict(given(X))] = 1.0
        return found

    return Fitted(
        predict=lambda X: np.asarray(estimator.predict(given(X)), dtype=np.int64),
        probabilities=probabilities,
        grow_seconds=seconds,
        leaves=_ask(last, "get_n_leaves", "n_leaves_"),
        height=_ask(last, "get_depth", "depth_"),
    )


def _frame_of(table: Table, X: Matrix) -> Any:
    return Table(table.name, table.title, X, table.y[:0], table.columns, table.classes).frame


def _ask(estimator: Any, method: str, attribute: str) -> int | None:
    try:
        if hasattr(estimator, method):
            return int(getattr(estimator, method)())
        return int(getattr(estimator, attribute))
    except (AttributeError, TypeError):
        return None


def _smoothed(tree: Tree) -> Callable[[Matrix], Matrix]:
    def probabilities(X: Matrix) -> Matrix:
        from treebound.tree.smoothing import probabilities as smoothed

        return smoothed(tree.counts)[tree.apply(X)]

    return probabilities


def _certified(tree: Tree, X: Matrix, y: Codes) -> float | None:
    """The risk certified from the rows the tree was grown on.

    They are counted again: raising a subtree may leave counts behind that are not theirs.
    """
    from treebound.pruning import certify

    errors = int(np.sum(tree.predict_codes(X) != y))
    certificate = certify(tree.recounted(X, y), errors)
    return None if certificate is None else float(certificate.risk)
