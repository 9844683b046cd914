"""Import trees of LightGBM, XGBoost and Spark MLlib as :class:`~treebound.tree.Tree`.

These libraries keep no class counts, so the training data are needed to recount them. The result
can be pruned, shown and exported like any other tree. It routes every row as the library does;
trees for which that is impossible are an error.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treebound._utils.validation import InWords, invalid
from treebound.data import Column, Sample
from treebound.data.frames import Table, read_table
from treebound.data.raw import RawColumn
from treebound.data.targets import learn_classes
from treebound.tree import Tree
from treebound.tree.model import NO_SPLIT
from treebound.tree.split import SplitTest

# LightGBM treats values up to this magnitude as zero.
_ZERO = float(np.float32(1e-35))


class _Node(NamedTuple):
    """A node of the other library: a leaf, or a split."""

    feature: int = -1
    threshold: float = np.nan
    category: float = np.nan  # NaN: a split at a threshold
    missing_left: bool = False


# Gives a node of the other library, and its children, left and right.
_Read = Callable[[Any], tuple[_Node, tuple[Any, ...]]]


def from_lightgbm(
    model: Any, X: Any, y: Any, *, tree_index: int = 0, sample_weight: Any = None
) -> Tree:
    """Import one tree of a LightGBM model.

    Parameters
    ----------
    model : lightgbm.LGBMModel or lightgbm.Booster
        A fitted model. Splits on categorical features must be of the form ``x == category``: fit
        with a large ``max_cat_to_onehot``.
    X, y : array-like
        The training data, for the class counts. Categories must be integers, as LightGBM
        reads 3.7 as category 3.
    tree_index : int
        Index of the tree in the model.
    sample_weight : array-like, optional
        The weight of each row.
    """
    booster = getattr(model, "booster_", model)  # a bare booster has none
    if not hasattr(booster, "dump_model"):
        raise TypeError(invalid("model", "", "a fitted LightGBM model or booster", model))
    root = _tree_of(booster.dump_model()["tree_info"], tree_index)["tree_structure"]
    return _imported(root, _read_lightgbm, read_table(X), y, sample_weight)


def _read_lightgbm(source: dict[str, Any]) -> tuple[_Node, tuple[Any, ...]]:
    """A node, and its children."""
    if "split_feature" not in source:
        return _Node(), ()
    children = source["left_child"], source["right_child"]
    feature = source["split_feature"]
    if source["decision_type"] == "==":
        categories = str(source["threshold"]).split("||")
        if len(categories) != 1:
            raise ValueError(
                f"The tree splits feature {feature} by a set of {len(categories)} categories; only "
                "'x == category' can be imported. Hint: fit LightGBM with a max_cat_to_onehot "
                "greater than the number of categories."
            )
        return _Node(feature, category=float(categories[0])), children
    if source["missing_type"] == "Zero":
        raise ValueError(
            f"The tree treats zero as missing in feature {feature}, which cannot be imported. "
            "Hint: fit LightGBM with zero_as_missing=False."
        )
    threshold = float(source["threshold"])
    # without missing training values LightGBM treats NaN as zero
    never = source["missing_type"] == "None"
    missing_left = threshold >= 0.0 if never else bool(source["default_left"])
    if -_ZERO <= threshold <= _ZERO:  # all values treated as zero go the same way
        threshold = _ZERO if threshold >= 0.0 else float(np.nextafter(-_ZERO, -np.inf))
    return _Node(feature, threshold, missing_left=missing_left), children


def from_xgboost(
    model: Any, X: Any, y: Any, *, tree_index: int = 0, sample_weight: Any = None
) -> Tree:
    """Import one tree of an XGBoost model.

    Parameters
    ----------
    model : xgboost.XGBModel or xgboost.Booster
        A fitted model of trees (``gbtree`` or ``dart``), without categorical splits.
    X, y : array-like
        The training data, for the class counts. Values equal to the model's parameter
        ``missing`` are read as missing.
    tree_index, sample_weight
        See :func:`treebound.exchange.from_lightgbm`.

    Returns
    -------
    Tree
        Like XGBoost it compares in single precision: ``float32(x) < condition``. Missing values
        must be NaN in all rows it is applied to.

    Raises
    ------
    ValueError
        If the model has no trees, or the tree splits on sets of categories.
    """
    missing = None
    if hasattr(model, "get_booster"):  # not a bare booster
        model, missing = model.get_booster(), model.missing
    if not hasattr(model, "save_raw"):
        raise TypeError(invalid("model", "", "a fitted XGBoost model or booster", model))
    kept = json.loads(bytes(model.save_raw("json")))["learner"]["gradient_booster"]
    kept = kept.get("gbtree", kept)  # a dart model is a weighted gbtree model
    if "trees" not in kept["model"]:
        other = InWords(f"one of {kept.get('name', 'another kind')!r}")
        hint = "fit with booster='gbtree'."
        raise invalid("model", "from_xgboost", "a model of trees", other, hint)
    tree = _tree_of(kept["model"]["trees"], tree_index)
    if tree.get("categories_nodes"):
        raise ValueError(
            "The tree splits by sets of categories; only thresholds can be imported from XGBoost. "
            "Hint: give it one-hot encoded columns."
        )
    condition = np.array(tree["split_conditions"], dtype=np.float32)
    # float32(x) < condition is float32(x) <= the next lower float32
    below = np.nextafter(condition, np.float32(-np.inf)).astype(np.float64)
    threshold = float64_threshold(below).tolist()

    def read(at: int) -> tuple[_Node, tuple[int, ...]]:
        children = tree["left_children"][at], tree["right_children"][at]
        if children[0] < 0:
            return _Node(), ()
        missing_left = tree["default_left"][at] != 0
        return _Node(tree["split_indices"][at], threshold[at], missing_left=missing_left), children

    return _imported(0, read, _without(read_table(X), missing), y, sample_weight)


def _without(table: Table, value: Any) -> Table:
    """The table with a given value read as missing."""
    if value is None or value != value:
        return table
    floats = [table.column(at).floats() for at in range(table.shape[1])]
    columns = [np.where(column == value, np.nan, column) for column in floats]
    return Table(table.names, table.shape, np.column_stack(columns))


def from_spark(model: Any, X: Any, y: Any, *, sample_weight: Any = None) -> Tree:
    """Import a Spark MLlib ``DecisionTreeClassificationModel``.

    Parameters
    ----------
    model : pyspark.ml.classification.DecisionTreeClassificationModel
        Splits on categorical features must separate one category from the others.
    X, y : array-like
        The training data, the columns in the order of the model's feature vector.
    sample_weight : array-like, optional
        The weight of each row.
    """
    return _imported(model._java_obj.rootNode(), _read_spark, read_table(X), y, sample_weight)


def _read_spark(source: Any) -> tuple[_Node, tuple[Any, ...]]:
    """A node, and its children, swapped where the right one has the category alone."""
    if source.getClass().getSimpleName() != "InternalNode":
        return _Node(), ()
    split, children = source.split(), (source.leftChild(), source.rightChild())
    feature = int(split.featureIndex())
    if split.getClass().getSimpleName() == "ContinuousSplit":
        return _Node(feature, float(split.threshold())), children
    sides = [list(split.leftCategories()), list(split.rightCategories())]
    for swapped, side in enumerate(sides):
        if len(side) == 1:
            node = _Node(feature, category=float(side[0]))
            return node, children[::-1] if swapped else children
    raise ValueError(
        f"The tree splits feature {feature} by a set of {len(sides[0])} categories; only "
        "'x == category' can be imported. Hint: one-hot encode the column for Spark."
    )


# -- shared helpers -------------------------------------------------------------------------


def preorder(
    left: NDArray[Any], right: NDArray[Any]
) -> tuple[NDArray[np.intp], NDArray[np.int32], NDArray[np.int32]]:
    """The nodes below node 0 in pre-order, and the links to children in that order; -1 is none."""
    order = []
    stack = [0]
    lefts, rights = left.tolist(), right.tolist()
    while stack:
        node = stack.pop()
        order.append(node)
        if lefts[node] >= 0:
            stack += [rights[node], lefts[node]]
    place = np.full(len(lefts) + 1, -1, dtype=np.int32)  # -1 indexes the last entry
    place[order] = np.arange(len(order))
    return np.array(order), place[left[order]], place[right[order]]


def bare_tree(
    left: NDArray[Any],
    right: NDArray[Any],
    columns: tuple[Column, ...],
    classes: NDArray[Any],
    **splits: NDArray[Any],
) -> Tree:
    """The tree without counts of nodes in any order; what leaves have in ``splits`` is ignored."""
    order, left, right = preorder(left, right)
    leaf = left < 0
    fields: dict[str, Any] = {
        name: np.where(leaf, NO_SPLIT[name], splits[name][order]) for name in SplitTest._fields
    }
    if "label" in splits:
        fields["label"] = splits["label"][order]
    return Tree(
        **fields,
        left=left,
        right=right,
        counts=np.zeros((len(order), len(classes))),
        rows=np.zeros(len(order), dtype=np.int64),
        columns=columns,
        classes=classes,
    )


def float64_threshold(threshold: NDArray[np.float64]) -> NDArray[np.float64]:
    """The greatest float64 whose float32 rounding is at most the threshold."""
    with np.errstate(over="ignore"):
        low = threshold.astype(np.float32)
        low = np.where(low > threshold, np.nextafter(low, np.float32(-np.inf)), low)
        high = np.nextafter(low, np.float32(np.inf))
        # Halfway between two float32 neighbours; check which of them it rounds to.
        half = low.astype(np.float64) / 2 + high.astype(np.float64) / 2
        half = np.where(half.astype(np.float32) <= threshold, half, np.nextafter(half, -np.inf))
    finite = np.isfinite(low) & np.isfinite(high)
    return np.where(finite, half, threshold)


def _tree_of(trees: list[Any], index: int) -> Any:
    if not 0 <= index < len(trees):
        must = f"from 0 to {len(trees) - 1}: the model has {len(trees)} trees"
        raise invalid("tree_index", "", must, index)
    return trees[index]


def _imported(root: Any, read: _Read, table: Table, y: Any, sample_weight: Any) -> Tree:
    """The tree below a root, with the counts of the examples."""
    sources, nodes, links = [root], [], []
    for source in sources:  # which grows meanwhile
        node, children = read(source)
        nodes.append(node)
        links.append((len(sources), len(sources) + 1) if children else (-1, -1))
        sources += children
    feature, threshold, nominal, missing_left = map(np.array, zip(*nodes, strict=True))
    columns, category = [], np.full(len(feature), -1)
    for at, label in enumerate(table.labels):
        asking = (feature == at) & ~np.isnan(nominal)
        columns.append(_column(label, table.column(at), nominal[asking]))
        if asking.any():
            category[asking] = np.searchsorted(columns[-1].categories or (), nominal[asking])
    classes, _ = learn_classes(y)
    left, right = np.array(links).T
    tree = bare_tree(
        left,
        right,
        tuple(columns),
        classes,
        feature=feature,
        threshold=threshold,
        category=category,
        missing_left=missing_left,
    )
    return tree.recounted(
        Sample.read(table, y, sample_weight, columns=columns, classes=classes, named=False)
    )


def _column(label: str, raw: RawColumn, used: np.ndarray) -> Column:
    if raw.categories is not None:
        raise ValueError(
            f"Column {label!r} must hold numbers, as the model was fitted on them. Got categories "
            "instead. Hint: give the codes that the model saw."
        )
    missing = not bool(raw.present.all())
    if not len(used):
        return Column(label, missing=missing)
    values = np.union1d(raw.floats()[raw.present], used)
    if not (values == np.floor(values)).all():
        raise ValueError(
            f"Column {label!r} must hold whole numbers, as the model splits it by categories. Got "
            f"{values[values != np.floor(values)][0]} instead."
        )
    return Column(label, "nominal", tuple(values.tolist()), missing=missing)
