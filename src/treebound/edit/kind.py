"""The kind of a target: all that editing a tree needs to know about classes or numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from treebound._utils.arrays import Floats
from treebound.data import Sample
from treebound.data.draws import Selection
from treebound.data.frames import Table
from treebound.data.number_sample import NumberSample
from treebound.data.sample import LabelledRows
from treebound.growing import GrowOptions
from treebound.model import Model, RegressionModel
from treebound.tree import Tree
from treebound.tree.regression import RegressionTree

if TYPE_CHECKING:
    from treebound.edit.certifying import BaseCertifier
    from treebound.edit.figures import Figures
    from treebound.edit.rows import EditedRows

AnyModel = TypeVar("AnyModel", bound=Model | RegressionModel)
AnyTree = TypeVar("AnyTree", bound=Tree | RegressionTree)
AnySample = TypeVar("AnySample", bound=Sample | NumberSample)


class TargetKind(ABC, Generic[AnyModel, AnyTree, AnySample]):
    """The target of a model, as editing needs it.

    The prediction of a node is a number in both cases: the index of its class, or its value.
    """

    loss_name: ClassVar[str]  # the loss of a split, as a column of a table
    effects: ClassVar[tuple[str, str]]  # names of the numbers of rows that improve and worsen
    effect_heads: ClassVar[tuple[str, str]]  # the same as short heads of a table
    alike: ClassVar[str]  # rows that no split divides any further

    def __init__(self, model: AnyModel) -> None:
        self.model = model

    # -- rows ------------------------------------------------------------------------------

    @abstractmethod
    def labelled(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> LabelledRows:
        """Check rows; classes and numbers are their labels."""

    @abstractmethod
    def read(self, model: AnyModel, rows: LabelledRows) -> AnySample:
        """Read rows with all columns, as growing needs them."""

    @abstractmethod
    def read_test(self, X: Any, y: Any) -> AnySample:
        """Read test rows with all columns; each counts once."""

    @abstractmethod
    def training_rows(self, sample: AnySample, validation: Selection | None) -> AnySample:
        """Return the rows that the tree was grown on, without validation rows."""

    @abstractmethod
    def part(self, sample: AnySample, rows: NDArray[np.bool_]) -> AnySample:
        """Select rows by a mask."""

    @abstractmethod
    def hashes(self, table: Table, labels: Any) -> NDArray[np.uint64] | None:
        """Return a hash of each row; None if the table lacks columns of the training table."""

    @abstractmethod
    def counts_agree(self, sample: AnySample) -> bool:
        """Return True if the rows give the counts of the tree, or if it has none."""

    @abstractmethod
    def total(self, sample: AnySample) -> float:
        """Return the weight of all rows, as gains are shares of it."""

    @abstractmethod
    def bands(self, sample: AnySample, training: AnySample) -> tuple[NDArray[np.int32], int]:
        """Return the part of a bar that each row belongs to, and the number of parts."""

    # -- trees -----------------------------------------------------------------------------

    @abstractmethod
    def bare(self, structure: Mapping[str, Any], like: AnyTree) -> AnyTree:
        """Return a tree of some splits without counts."""

    @abstractmethod
    def counted(self, bare: AnyTree, sample: AnySample, like: AnyTree) -> AnyTree:
        """Return a tree with the counts of the training rows; every node has rows.

        If rows name the splits of the tree before, they are looked up again.
        """

    @abstractmethod
    def stump(self, bare: AnyTree, sample: AnySample, left: NDArray[np.bool_]) -> AnyTree:
        """Return a split with the counts of some rows, of which these go left."""

    @abstractmethod
    def predictions(self, tree: AnyTree) -> Floats:
        """Return the prediction of each node."""

    @abstractmethod
    def defaults(self, tree: AnyTree) -> Floats:
        """Return the predictions that follow from the rows."""

    @abstractmethod
    def plain_defaults(self, tree: AnyTree) -> Floats:
        """Return the predictions of a tree that was just grown."""

    @abstractmethod
    def with_predictions(self, tree: AnyTree, predictions: Floats) -> AnyTree:
        """Return the tree with other predictions."""

    def by_hand(self, tree: AnyTree, *, plain: bool = False) -> NDArray[np.bool_]:
        """Return the nodes whose prediction was set by hand."""
        defaults = self.plain_defaults(tree) if plain else self.defaults(tree)
        return np.abs(self.predictions(tree) - defaults) > self.slack(tree)

    def slack(self, tree: AnyTree) -> float:
        """Return the difference of predictions that rounding explains."""
        return 0.0

    @abstractmethod
    def grow(
        self,
        sample: AnySample,
        columns: Sequence[str],
        options: GrowOptions,
        limits: Sequence[float] | None,
    ) -> AnyTree:
        """Grow a tree on some columns."""

    @abstractmethod
    def sides(self, sample: AnySample, left: NDArray[np.bool_]) -> Sample:
        """Return the rows with the side of a split as their class."""

    @abstractmethod
    def gain(self, stump: AnyTree) -> float:
        """Return the decrease of the loss of growing by a split, in weight."""

    @abstractmethod
    def loss(self, stump: AnyTree) -> float:
        """Return the loss of a split with two leaves."""

    @abstractmethod
    def loss_in_words(self, loss: float) -> str:
        """Return a loss with its unit."""

    # -- order -----------------------------------------------------------------------------

    @abstractmethod
    def signs(self, tree: AnyTree) -> tuple[int, ...] | None:
        """Return the sign of each column of a monotone tree."""

    @abstractmethod
    def limits(self, tree: AnyTree, node: int) -> list[float] | None:
        """Return the limits of predictions below a node of a monotone tree."""

    @abstractmethod
    def out_of_order(self, tree: AnyTree) -> int:
        """Return the first node that breaks the order of a monotone tree; -1 if there is none."""

    # -- what is shown ---------------------------------------------------------------------

    @abstractmethod
    def figures(self, model: AnyModel, test: AnySample | None) -> Figures:
        """Return the figures of a model that is being edited."""

    @abstractmethod
    def certifier(self, rows: EditedRows[AnySample]) -> BaseCertifier[AnyModel, AnyTree]:
        """Return what makes models of edited trees."""

    @abstractmethod
    def report_data(self, model: AnyModel, training: AnySample) -> dict[str, Any]:
        """Return the data of the page."""

    @abstractmethod
    def improved(
        self, sample: AnySample, before: float, now: float
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which rows another prediction improves, and which it worsens."""

    @abstractmethod
    def parse(self, label: Any, tree: AnyTree) -> float:
        """Return the prediction that a user sets by hand; raise a ValueError for no prediction."""

    @abstractmethod
    def named(self, prediction: float) -> Any:
        """Return a prediction as the user knows it."""

    @abstractmethod
    def in_words(self, prediction: Any) -> str:
        """Return a prediction, as the user knows it, as it is shown."""

    @abstractmethod
    def stored(self, prediction: float) -> int | float:
        """Return a prediction as the file of steps has it."""

    @abstractmethod
    def share(self, tree: AnyTree, node: int) -> float | None:
        """Return the share of the rows of a node that have the predicted class, if any."""


def kind_of(model: Model | RegressionModel) -> TargetKind[Any, Any, Any]:
    """Return the kind of the target of a model."""
    from treebound.edit.classes import ClassKind
    from treebound.edit.numbers import NumberKind

    return NumberKind(model) if isinstance(model, RegressionModel) else ClassKind(model)
