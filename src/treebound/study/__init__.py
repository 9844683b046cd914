"""The study: data sets x draws x models under a protocol, resumable, on one machine or many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treebound._utils.extras import loaded_late

if TYPE_CHECKING:
    from treebound.study import datasets
    from treebound.study.models import Estimator, FittedLearner, Learner, PrunedTree, StudyDraw
    from treebound.study.protocols import PAPER, STANDARD, Protocol
    from treebound.study.runner import run
    from treebound.study.samples import NamedSample, load_sample

__all__ = [
    "PAPER",
    "STANDARD",
    "StudyDraw",
    "Estimator",
    "FittedLearner",
    "Learner",
    "NamedSample",
    "Protocol",
    "PrunedTree",
    "datasets",
    "load_sample",
    "run",
]

_HOME = {
    "PAPER": "protocols",
    "STANDARD": "protocols",
    "StudyDraw": "models",
    "Estimator": "models",
    "FittedLearner": "models",
    "Learner": "models",
    "NamedSample": "samples",
    "Protocol": "protocols",
    "PrunedTree": "models",
    "datasets": "datasets",
    "load_sample": "samples",
    "run": "runner",
}

__getattr__ = loaded_late(__name__, {name: f"{__name__}.{at}" for name, at in _HOME.items()})
