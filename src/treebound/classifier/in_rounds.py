"""Fitting on rows that are not in memory at once: grow in rounds, prune by the counts alone."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from treebound._files import check_writable
from treebound._jobs import effective_jobs
from treebound.data.parts import Schema
from treebound.data.streams import Batches, TableStream
from treebound.data.weights import warn_if_total_is_light
from treebound.growing import GrowOptions, Limits, Progress, grow_on_engine, make_bins
from treebound.growing.engine import Engine, stream_engine
from treebound.growing.grow import FINE_BINS
from treebound.pruning import PRUNERS, Pruner, make_pruner
from treebound.tree.model import Tree

__all__ = ["MOST_GROWN_LEAVES", "fit_in_rounds", "fit_stream", "refuse_what_needs_rows"]

# Without another limit: labels that are noise would be grown to a leaf for nearly every row.
MOST_GROWN_LEAVES = 1 << 16


def refuse_what_needs_rows(classifier: Any, pruner: Pruner | None) -> None:
    """Raise a ValueError for parameters that need the rows again once the tree is grown."""
    if getattr(pruner, "needs_rows", False):
        able = [name for name in PRUNERS if not getattr(make_pruner(name), "needs_rows", False)]
        raise ValueError(
            f"The pruner {pruner!r} looks at the rows again, and they are not in memory. "
            f"Hint: these need only the counts in the tree: {', '.join(map(repr, able))}, None; "
            "others too where the constant they would look for is given."
        )
    if classifier.certify == "holdout":
        raise ValueError(
            "The 'certify' parameter must be 'training' for rows that are not in memory. Got "
            "'holdout' instead. Hint: certify the fitted classifier with other rows."
        )


def fit_stream(
    classifier: Any,
    batches: Batches,
    y: Any,
    sample_weight: Any,
    *,
    progress: Callable[[Progress], None] | None = None,
    reading: Callable[[str, int], None] | None = None,
    limits: Limits | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> None:
    """Fit a classifier on a table that is read batch by batch.

    Parameters
    ----------
    classifier : BoundTreeClassifier
    batches : Batches
    y, sample_weight : str
        The columns of labels and of weights; the second may be None.
    progress : callable, optional
        Called after every pass of the growth.
    reading : callable, optional
        Called after every batch with what it is read for, and the rows so far.
    limits : Limits, optional
    checkpoint : str or path-like, optional
        A file that keeps the tree as far as it is grown. Where it exists, growth goes on from it.
    """
    pruner, options = classifier._checked()
    refuse_what_needs_rows(classifier, pruner)
    if checkpoint is not None:
        check_writable(Path(checkpoint))
    say = reading or (lambda _what, _rows: None)
    what = ["learning"]
    stream = TableStream(batches, y, sample_weight, tell=lambda rows: say(what[0], rows))
    schema = stream.learn(
        categorical_features=classifier.categorical_features,
        ordinal_features=classifier.ordinal_features,
        class_weight=classifier.class_weight,
    )
    what[0] = "coding"
    engine = stream_engine(
        stream.samples(schema),
        make_bins(schema.columns, schema.sample),
        n_threads=effective_jobs(classifier.n_jobs),
    )
    classifier.target_name_ = y
    fit_in_rounds(
        classifier,
        engine,
        schema,
        pruner,
        options,
        progress=progress,
        limits=limits,
        checkpoint=checkpoint,
    )


def fit_in_rounds(
    classifier: Any,
    engine: Engine,
    schema: Schema,
    pruner: Pruner | None,
    options: GrowOptions,
    *,
    progress: Callable[[Progress], None] | None = None,
    limits: Limits | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> None:
    """Grow on the rows of an engine, prune, and set what ``fit`` sets.

    Parameters
    ----------
    classifier : BoundTreeClassifier
    engine : Engine
    schema : Schema
        What the rows are.
    pruner : Pruner or None
    options : GrowOptions
    progress : callable, optional
    limits : Limits, optional
    checkpoint : str or path-like, optional
    """
    unlimited = options.max_leaves is None
    if unlimited:
        options = replace(options, max_leaves=MOST_GROWN_LEAVES)
    total = engine.facts.total
    grown = grow_on_engine(
        engine,
        schema.columns,
        schema.classes,
        options,
        weighted=schema.factors is not None or not total.ones,
        limits=limits,
        progress=progress,
        checkpoint=checkpoint,
        finer=lambda: make_bins(schema.columns, schema.sample, FINE_BINS),
    )
    if unlimited and grown.n_leaves >= MOST_GROWN_LEAVES:
        warnings.warn(
            f"Growth was stopped at {MOST_GROWN_LEAVES} leaves. Hint: set 'max_grown_leaves' to "
            "grow on, or to a smaller number where labels are noisy.",
            UserWarning,
            stacklevel=4,
        )
    classifier.grow_options_ = options
    classifier._delta, classifier._unknown = classifier.delta, classifier.unknown
    classifier._held_out = None
    classifier.n_features_in_ = len(schema.columns)
    if schema.names is not None:
        classifier.feature_names_in_ = np.array(schema.names, dtype=object)
    elif hasattr(classifier, "feature_names_in_"):
        del classifier.feature_names_in_
    _prune(classifier, grown, pruner, float(total.total), engine.facts.n_rows)


def _prune(classifier: Any, grown: Tree, pruner: Pruner | None, weight: float, n_rows: int) -> None:
    tree, result = grown, None
    if pruner is not None:
        if grown.weighted:
            warn_if_total_is_light(weight, n_rows, stacklevel=5)
        result = pruner.prune(grown)
        if classifier.max_leaves is not None:
            result = result.within(classifier.max_leaves)
        tree, grown = result.tree, result.path.first
    classifier._set_tree(tree, grown=grown, result=result)
