"""Models of a study: a name and a way to learn from one draw.

A pruned tree is declared by its growing options, its pruner, and the part of the data that the
pruner may use; any scikit-learn classifier can be included as an :class:`Estimator`.

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
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from time import thread_time
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from treebound._utils.arrays import Codes, Floats
from treebound._utils.extras import require
from treebound.data import Column, Matrix, Sample
from treebound.growing.options import GrowOptions
from treebound.study.samples import NamedSample
from treebound.study.splits import Part, split

if TYPE_CHECKING:
    import pandas as pd

    from treebound.tree import Tree


class StudyDraw:
    """One split of one data set. Trees that several models share are grown once.

    Parameters
    ----------
    named : NamedSample
        The data set to split.
    seed : int
        Seed of the split.
    test_fraction : float
        Share of the rows in the test part.
    """

    def __init__(self, named: NamedSample, seed: int, *, test_fraction: float = 0.15) -> None:
        self.named = named
        self.seed = seed
        self._parts = split(named.sample.n_rows, seed, test_fraction)
        self._grown: dict[tuple[GrowOptions, Part], tuple[Tree, float]] = {}

    def part(self, name: Part) -> Sample:
        """The rows of a part."""
        return self.named.sample.part(self._parts[name])

    def grown(self, options: GrowOptions, part: Part = "train") -> tuple[Tree, float]:
        """A tree grown on a part, and the CPU seconds that growing took."""
        from treebound.growing import grow

        if (options, part) not in self._grown:
            sample = self.part(part)
            start = thread_time()
            tree = grow(sample, options)
            self._grown[options, part] = tree, thread_time() - start
        return self._grown[options, part]


@dataclass(frozen=True)
class FittedLearner:
    """A fitted model, with the quantities that the study measures.

    Parameters
    ----------
    predict : callable
        Maps a Matrix to class codes.
    probabilities : callable
        Maps a Matrix to one column of probabilities per class of the sample.
    grow_seconds, prune_seconds : float
        CPU seconds of the working thread, which do not depend on the load of the machine.
    leaves, depth : int, optional
        Size of the tree, if it is one.
    bound : float, optional
        The pruner's score, if it is a risk bound.
    certificate : float, optional
        The certified risk.
    trained_on : {"train", "growing"}
        The part that the model learned from.
    judged_on : {"validation"}, optional
        The part that it was pruned with.
    """

    predict: Callable[[Matrix], Codes]
    probabilities: Callable[[Matrix], Floats]
    grow_seconds: float
    prune_seconds: float | None = None
    leaves: int | None = None
    depth: int | None = None
    bound: float | None = None
    certificate: float | None = None
    trained_on: Part = "train"
    judged_on: Part | None = None


class Learner(ABC):
    """A way to learn from one draw. Subclasses are frozen dataclasses."""

    name: str

    @property
    def settings(self) -> str:
        """All parameters of the model, defaults included, in one line."""
        fields = {key: _described(value) for key, value in vars(self).items() if key != "name"}
        return f"{type(self).__name__}({_listed(fields)})"

    @property
    def oracle(self) -> bool:
        """True if the model uses the test rows, and so is not comparable."""
        return False

    @abstractmethod
    def fit(self, draw: StudyDraw) -> FittedLearner:
        """Learn from the draw's training part."""


@dataclass(frozen=True)
class PrunedTree(Learner):
    """A grown tree and its pruner.

    Parameters
    ----------
    name : str
        Name of the model in the results.
    options : GrowOptions
        How to grow the tree.
    pruner : Pruner or None
        None keeps the grown tree.
    judge : {None, "validation", "test"}
        The validation rows of reduced-error pruning. With ``"validation"`` the tree is grown on the
        rest of the training part; ``"test"`` is the oracle.
    recount : bool
        Whether the pruner recounts raised subtrees on the rows that the tree was grown on. The
        paper's own code keeps the labels.
    bound : bool
        Whether to report the pruner's score as a risk bound.
    """

    name: str
    options: GrowOptions
    pruner: Any = None
    judge: Literal["validation", "test"] | None = None
    recount: bool = True
    bound: bool = False

    @property
    def oracle(self) -> bool:
        """True if the model uses the test rows."""
        return self.judge == "test"

    def fit(self, draw: StudyDraw) -> FittedLearner:
        """Grow (or reuse the tree of another model of this draw), then prune."""
        from sklearn.base import clone

        from treebound.growing import grow
        from treebound.tree.smoothing import probabilities

        grown_on: Part = "growing" if self.judge == "validation" else "train"
        tree, grow_seconds = draw.grown(self.options, grown_on)
        sample = draw.part(grown_on)
        bound, prune_seconds = None, None
        if self.pruner is not None:
            pruner, again = clone(self.pruner), partial(grow, options=self.options)
            rows = sample if self.recount else None
            judge = None if self.judge is None else draw.part(self.judge)
            start = thread_time()
            result = pruner.prune(tree, rows, validation=judge, grow=again)
            prune_seconds = thread_time() - start
            tree, bound = result.tree, float(result.score) if self.bound else None
        return FittedLearner(
            predict=lambda X: tree.label[tree.apply(X)],
            probabilities=lambda X: probabilities(tree)[tree.apply(X)],
            grow_seconds=grow_seconds,
            prune_seconds=prune_seconds,
            leaves=tree.n_leaves,
            depth=tree.depth,
            bound=bound,
            certificate=_certified(tree, sample),
            trained_on=grown_on,
            judged_on="validation" if self.judge == "validation" else None,
        )


@dataclass(frozen=True)
class Estimator(Learner):
    """Any scikit-learn classifier.

    Parameters
    ----------
    name : str
        As of a :class:`PrunedTree`.
    estimator : classifier
        Cloned for every draw; its ``random_state``, if it has one, is set to the draw's seed.
    takes : {"one-hot", "frame"}
        Its input: an array with nominal columns one-hot encoded and ordinal ones as ranks, or a
        pandas frame with categorical dtypes.
    """

    name: str
    estimator: Any
    takes: Literal["one-hot", "frame"] = "one-hot"

    def fit(self, draw: StudyDraw) -> FittedLearner:
        """Fit a clone; fitting time counts as growing."""
        from sklearn.base import clone
        from sklearn.pipeline import make_pipeline

        train = draw.part("train")
        form = encoded_frame if self.takes == "frame" else encoded_array
        estimator = clone(self.estimator)
        if "random_state" in estimator.get_params():
            estimator.set_params(random_state=draw.seed)
        if self.takes == "one-hot":
            estimator = make_pipeline(_one_hot(train.columns), estimator)
        table = form(train.X)
        start = thread_time()
        estimator.fit(table, train.y)
        return _fitted(estimator, form, train.n_classes, thread_time() - start)


@dataclass(frozen=True)
class SklearnCostComplexity(Learner):
    """Cost-complexity pruning with scikit-learn's tools; the final refit counts as growing."""

    name: str
    criterion: str = "gini"
    folds: int = 5
    max_alphas: int = 20  # a full path takes half a minute on two thousand rows

    def fit(self, draw: StudyDraw) -> FittedLearner:
        """Search the alphas of the pruning path."""
        from sklearn.model_selection import GridSearchCV
        from sklearn.pipeline import make_pipeline
        from sklearn.tree import DecisionTreeClassifier

        train = draw.part("train")
        y, encoder = train.y, _one_hot(train.columns)
        wide = encoder.fit_transform(encoded_array(train.X))
        tree = DecisionTreeClassifier(criterion=self.criterion, random_state=draw.seed)
        start = thread_time()
        # rounding leaves alphas slightly below zero, which the tree rejects
        alphas = np.unique(tree.cost_complexity_pruning_path(wide, y).ccp_alphas.clip(min=0.0))
        if len(alphas) > self.max_alphas:
            alphas = alphas[np.linspace(0, len(alphas) - 1, self.max_alphas).round().astype(int)]
        search = GridSearchCV(tree, {"ccp_alpha": alphas}, cv=self.folds, refit=False)
        with warnings.catch_warnings():
            # some data sets have classes with fewer examples than folds
            warnings.filterwarnings("ignore", message="The least populated class")
            search.fit(wide, y)
        chosen = thread_time()
        tree.set_params(**search.best_params_).fit(wide, y)
        done = thread_time()
        both = make_pipeline(encoder, tree)
        fitted = _fitted(both, encoded_array, train.n_classes, done - chosen)
        return replace(fitted, prune_seconds=chosen - start)


def _described(value: Any) -> str:
    """A description that is the same in every process: no addresses, all defaults."""
    if hasattr(value, "get_params"):
        params = {key: _described(item) for key, item in value.get_params(deep=False).items()}
        return f"{type(value).__name__}({_listed(params)})"
    return getattr(value, "__qualname__", None) or repr(value)


def _listed(fields: dict[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in sorted(fields.items()))


def _one_hot(columns: tuple[Column, ...]) -> Any:
    """An encoder of the nominal columns."""
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder

    nominal = [at for at, column in enumerate(columns) if column.kind == "nominal"]
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_column_transformer((encoder, nominal), remainder="passthrough")


def _fitted(
    estimator: Any, form: Callable[[Matrix], Any], n_classes: int, seconds: float
) -> FittedLearner:
    """The fitted model of a scikit-learn classifier, in the class codes of the sample."""
    last = estimator[-1] if hasattr(estimator, "steps") else estimator
    seen = np.asarray(estimator.classes_, dtype=np.int64)

    def predict(X: Matrix) -> Codes:
        return np.asarray(estimator.predict(form(X)), dtype=np.int32)

    def probabilities(X: Matrix) -> Floats:
        shares = np.zeros((X.n_rows, n_classes))
        if hasattr(estimator, "predict_proba"):
            shares[:, seen] = estimator.predict_proba(form(X))
        else:
            shares[np.arange(X.n_rows), predict(X)] = 1.0
        return shares

    return FittedLearner(
        predict=predict,
        probabilities=probabilities,
        grow_seconds=seconds,
        leaves=_size(last, "get_n_leaves", "n_leaves_"),
        depth=_size(last, "get_depth", "depth_"),
    )


def encoded_array(X: Matrix) -> Floats:
    """The columns as one float64 array: numbers, category codes, NaN for missing."""
    columns = [
        values if column.kind == "real" else np.where(values < 0, np.nan, values)
        for column, values in zip(X.columns, X.values, strict=True)
    ]
    return np.column_stack(columns).astype(np.float64)


def encoded_frame(X: Matrix) -> pd.DataFrame:
    """The columns as a pandas frame with categorical dtypes."""
    pandas = require("pandas", extra="study", why="Handing a data frame to an estimator")
    frame: pd.DataFrame = pandas.DataFrame()
    for column, values in zip(X.columns, X.values, strict=True):
        if column.kind != "real":
            codes, names = np.maximum(values, -1), list(column.categories or ())
            values = pandas.Categorical.from_codes(codes, names, column.kind == "ordinal")
        frame[column.name] = values
    return frame


def _size(estimator: Any, method: str, attribute: str) -> int | None:
    """The number of leaves: a method of scikit-learn's trees, an attribute of ours, or None."""
    with suppress(AttributeError, TypeError):
        return int(getattr(estimator, method, lambda: getattr(estimator, attribute))())
    return None


def _certified(tree: Tree, sample: Sample) -> float:
    """The risk certified from the rows the tree was grown on.

    They are recounted: a subtree may have been raised without a sample.
    """
    from treebound.certificate.training import certify_tree

    errors = int(np.sum(tree.label[tree.apply(sample.X)] != sample.y))
    return float(certify_tree(tree.recounted(sample), errors=errors).risk)
