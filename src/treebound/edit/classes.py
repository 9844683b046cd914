"""Classes as the target of a tree that is edited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils.arrays import Floats
from treebound._utils.validation import invalid
from treebound.data import Sample
from treebound.data.draws import Selection
from treebound.data.frames import Table, read_table
from treebound.data.sample import LabelledRows
from treebound.edit.certifying import Certifier
from treebound.edit.figures import Figures
from treebound.edit.kind import TargetKind
from treebound.edit.places import turns
from treebound.edit.rows import EditedRows
from treebound.growing import GrowOptions, grow
from treebound.model import Model
from treebound.pruning.costs import Costs, probable_labels
from treebound.show.report_data import report_data
from treebound.show.report_words import mean_cost
from treebound.show.words import counted
from treebound.tree import Tree
from treebound.tree.impurity import impurity
from treebound.tree.naming import naming_rows
from treebound.tree.split import by_threshold, one_line


class ClassKind(TargetKind[Model, Tree, Sample]):
    """Classes as target: predictions are indices of classes."""

    loss_name = "errors"
    effects = ("became_right", "became_wrong")
    effect_heads = ("right", "wrong")
    alike = "of one class"

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._costs = _costs_of(model)

    # -- rows ------------------------------------------------------------------------------

    def labelled(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> LabelledRows:
        """Check rows with their classes."""
        return LabelledRows.of(read_table(X), y, sample_weight, groups)

    def read(self, model: Model, rows: LabelledRows) -> Sample:
        """Read rows with all columns, as growing needs them."""
        sample = model.read_sample(rows.table, rows.labels, rows.weight, whole=True)
        return replace(sample, groups=rows.groups)

    def read_test(self, X: Any, y: Any) -> Sample:
        """Read test rows with all columns; each counts once."""
        return replace(self.model.read_sample(X, y, whole=True), factors=None)

    def training_rows(self, sample: Sample, validation: Selection | None) -> Sample:
        """Return the rows that the tree was grown on, without validation rows."""
        return sample if validation is None else validation.split(sample)[0]

    def part(self, sample: Sample, rows: NDArray[np.bool_]) -> Sample:
        """Select rows by a mask."""
        return sample.part(rows)

    def hashes(self, table: Table, labels: Any) -> NDArray[np.uint64] | None:
        """Return a hash of each row; None if the table lacks columns of the training table."""
        return self.model.hashes(table, labels)

    def counts_agree(self, sample: Sample) -> bool:
        """Return True if the rows give the counts of the tree, or if it has none."""
        tree = self.model.tree
        if not tree.counted:
            return True
        again = tree.recounted(sample)
        same = np.array_equal(again.rows, tree.rows) and again.weighted == tree.weighted
        slack = 1e-9 * sample.total
        return same and np.allclose(again.counts, tree.counts, rtol=1e-9, atol=slack)

    def total(self, sample: Sample) -> float:
        """Return the mass of all rows."""
        return sample.mass

    def bands(self, sample: Sample, training: Sample) -> tuple[NDArray[np.int32], int]:
        """Return the class of each row, and the number of classes."""
        return sample.y, sample.n_classes

    # -- trees -----------------------------------------------------------------------------

    def bare(self, structure: Mapping[str, Any], like: Tree) -> Tree:
        """Return a tree of some splits without counts."""
        n = len(structure["left"])
        return Tree(
            **structure, counts=np.zeros((n, like.n_classes)), rows=np.zeros(n, dtype=np.int64),
            columns=like.columns, classes=like.classes, weighted=like.weighted,
            factors=like.factors, monotone=like.monotone,
        )  # fmt: skip

    def counted(self, bare: Tree, sample: Sample, like: Tree) -> Tree:
        """Return a tree with the counts of the training rows."""
        tree = bare.recounted(sample)
        return tree if like.names is None else replace(tree, names=naming_rows(tree, sample))

    def stump(self, bare: Tree, sample: Sample, left: NDArray[np.bool_]) -> Tree:
        """Return a split with the counts of some rows, of which these go left."""
        n = bare.n_classes
        cells = left.view(np.int8) * np.int32(n) + sample.y
        counts = np.bincount(cells, sample.weight, minlength=2 * n).reshape(2, -1)[::-1]
        counts = np.concatenate([counts.sum(axis=0, keepdims=True), counts])
        n_left = np.count_nonzero(left)
        rows = np.array([len(left), n_left, len(left) - n_left])
        return replace(bare, counts=counts, rows=rows, label=None)  # type: ignore[arg-type]

    def predictions(self, tree: Tree) -> Floats:
        """Return the index of the class of each node."""
        return tree.label.astype(np.float64)

    def defaults(self, tree: Tree) -> Floats:
        """Return the classes that are not set by hand: least cost, most probable, majority."""
        strength, costs = self.model.prediction.smoothing, self._costs
        if self.model.prediction.free_shrinkage and isinstance(strength, float):
            return probable_labels(tree, strength, costs).astype(np.float64)
        if costs is not None and costs.chosen:
            return costs.labels(tree.counts).astype(np.float64)
        return self.plain_defaults(tree)

    def plain_defaults(self, tree: Tree) -> Floats:
        """Return the class of most training rows at each node."""
        return tree.by_majority().label.astype(np.float64)

    def with_predictions(self, tree: Tree, predictions: Floats) -> Tree:
        """Return the tree with other classes."""
        return replace(tree, label=predictions.astype(np.int32))

    def grow(
        self,
        sample: Sample,
        columns: Sequence[str],
        options: GrowOptions,
        limits: Sequence[float] | None,
    ) -> Tree:
        """Grow a tree on some columns."""
        return grow(replace(sample, X=sample.X.select(columns)), options, limits=limits)

    def sides(self, sample: Sample, left: NDArray[np.bool_]) -> Sample:
        """Return the rows with the side of a split as their class."""
        y = left.astype(np.int32)
        return replace(sample, y=y, classes=np.array([0, 1]), factors=None)

    def gain(self, stump: Tree) -> float:
        """Return the decrease of impurity by a split, in mass."""
        mass = stump.mass * impurity(stump.masses, self.model.options.criterion)
        return float(mass[0] - mass[1] - mass[2])

    def loss(self, stump: Tree) -> float:
        """Return the weight that two leaves misclassify."""
        return stump.errors

    def loss_in_words(self, loss: float) -> str:
        """Return the number of errors."""
        return counted(loss, "error")

    # -- order -----------------------------------------------------------------------------

    def signs(self, tree: Tree) -> tuple[int, ...] | None:
        """Return the sign of each column of a monotone tree."""
        return None if tree.monotone is None else tree.monotone.signs

    def limits(self, tree: Tree, node: int) -> list[float] | None:
        """Return between which numbers the upper sums of the classes must stay below a node."""
        if tree.monotone is None:
            return None
        lower, upper = tree.monotone.limits(tree)
        return [float(end) for pair in zip(lower[node], upper[node], strict=True) for end in pair]

    def out_of_order(self, tree: Tree) -> int:
        """Return the first node that breaks the order of a monotone tree; -1 if there is none."""
        if tree.monotone is None:
            return -1
        at = tree.monotone.broken(tree)
        return at if at >= 0 else self._label_out_of_order(tree)

    def _label_out_of_order(self, tree: Tree) -> int:
        """Return a leaf whose class by hand breaks the order on the two sides of a split."""
        assert tree.monotone is not None
        rank, signs = np.argsort(tree.monotone.order)[tree.label], tree.monotone.signs
        by_majority = tree.by_majority().label
        for leaf in tree.leaves[tree.label[tree.leaves] != by_majority[tree.leaves]].tolist():
            for at, left in turns(tree, leaf):
                sign = signs[tree.feature[at]]
                other = int((tree.right if left else tree.left)[at])
                beyond = tree.leaves[(tree.leaves >= other)
                                     & (tree.leaves < other + tree.size[other])]  # fmt: skip
                rises = (rank[beyond] - rank[leaf]) * (sign if left else -sign)
                if sign and by_threshold(tree)[at] and (rises < 0).any():
                    return int(leaf)
        return -1

    # -- what is shown ---------------------------------------------------------------------

    def figures(self, model: Model, test: Sample | None) -> Figures:
        """Return leaves, errors, mean cost and certified error."""
        tree, cost = model.tree, mean_cost(model)
        wrong = weighted = None
        if test is not None:
            wrong = float((tree.label[model.apply(test.X)] != test.y).mean())
        if cost is None and self._costs is not None:
            worst = float(tree.counts[0] @ self._costs.worst)
            weighted = float(self._costs.losses(tree)[tree.leaves].sum()) / worst if worst else 0.0
        return Figures(
            tree.n_leaves,
            tree.errors / float(tree.weight[0]),
            wrong,
            None if cost is None else cost.cost,
            weighted,
            None if model.certificate is None else model.certificate.risk,
        )

    def certifier(self, rows: EditedRows[Sample]) -> Certifier:
        """Return what makes models of edited trees."""
        return Certifier(self.model, rows)

    def report_data(self, model: Model, training: Sample) -> dict[str, Any]:
        """Return the data of the page."""
        return report_data(model, 1, None)

    def improved(
        self, sample: Sample, before: float, now: float
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which rows another class makes right, and which it makes wrong."""
        return sample.y == now, sample.y == before

    def parse(self, label: Any, tree: Tree) -> float:
        """Return the index of a class that a user sets by hand."""
        labels = tree.classes.tolist()
        if label not in labels:
            raise invalid("label", "relabel", f"one of {labels!r:.200}", label)
        return float(labels.index(label))

    def named(self, prediction: float) -> Any:
        """Return the label of a class."""
        return self.model.classes.tolist()[int(prediction)]

    def in_words(self, prediction: Any) -> str:
        """Return the label of a class as it is shown."""
        return one_line(prediction)

    def stored(self, prediction: float) -> int:
        """Return the index of a class as the file of steps has it."""
        return int(prediction)

    def share(self, tree: Tree, node: int) -> float | None:
        """Return the share of the rows of a node that have the predicted class."""
        weight = float(tree.weight[node])
        return float(tree.counts[node, tree.label[node]]) / weight if weight else 0.0


def _costs_of(model: Model) -> Costs | None:
    """The costs of errors, or of class weights; None if all errors cost the same."""
    chosen = model.costs
    if chosen is None and model.tree.factors is None:
        return None
    return Costs.of(model.tree, chosen)
