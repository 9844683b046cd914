"""The study: data sets x draws x models under a protocol, resumable, on one machine or many."""

from treebound.bench.models import Draw, Estimator, Fitted, Learner, PrunedTree
from treebound.bench.protocols import PAPER, STANDARD, Protocol
from treebound.bench.runner import run
from treebound.bench.samples import NamedSample, load_sample

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
    "load_sample",
    "run",
]
