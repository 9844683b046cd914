"""The study: data sets x draws x models under a protocol, resumable, on one machine or many."""

from treebound.bench.models import (
    Draw,
    Estimator,
    Fitted,
    Learner,
    PrunedTree,
    SklearnCostComplexity,
)
from treebound.bench.protocols import PAPER, STANDARD, Protocol, protocol
from treebound.bench.runner import Study, run
from treebound.bench.samples import NamedSample, load_sample, load_samples
from treebound.bench.splits import RowFolds, Split, seeds_of, split
from treebound.bench.store import Store, StoreError

__all__ = [
    "PAPER",
    "STANDARD",
    "Draw",
    "Estimator",
    "Fitted",
    "Learner",
    "NamedSample",
    "Protocol",
    "PrunedTree",
    "RowFolds",
    "SklearnCostComplexity",
    "Split",
    "Store",
    "StoreError",
    "Study",
    "load_sample",
    "load_samples",
    "protocol",
    "run",
    "seeds_of",
    "split",
]
