"""The study: data sets x draws x models under a protocol, resumable, on one machine or many."""

from treebound.bench.models import (
    Draw,
    Estimator,
    Fitted,
    Growth,
    Model,
    PrunedTree,
    SklearnCostComplexity,
)
from treebound.bench.protocols import PAPER, STANDARD, Protocol, protocol
from treebound.bench.runner import Study, run
from treebound.bench.sources import Table, load_table, load_tables
from treebound.bench.splits import Split, seeds_of, split
from treebound.bench.store import Store

__all__ = [
    "PAPER",
    "STANDARD",
    "Draw",
    "Estimator",
    "Fitted",
    "Growth",
    "Model",
    "Protocol",
    "PrunedTree",
    "SklearnCostComplexity",
    "Split",
    "Store",
    "Study",
    "Table",
    "load_table",
    "load_tables",
    "protocol",
    "run",
    "seeds_of",
    "split",
]
