"""One model on one draw: fit it, and measure its accuracy, size and speed."""

from __future__ import annotations

import platform
import traceback
from functools import lru_cache
from importlib.metadata import version
from typing import Any

import numpy as np

from treebound.study.models import FittedLearner, Learner, StudyDraw
from treebound.study.splits import Part

# Quantities that a fitted model has itself.
_OF_MODEL = ("leaves", "depth", "bound", "certificate", "grow_seconds", "prune_seconds")
_OF_ANSWERS = ("train_accuracy", "validation_accuracy", "test_accuracy", "log_loss", "brier")
# All of them, in the order of the columns of the store.
QUANTITIES = (*_OF_ANSWERS, *_OF_MODEL)


def measured(model: Learner, draw: StudyDraw) -> dict[str, Any]:
    """The quantities of one model on one draw, or the error of a model that failed.

    Except for times, they do not depend on process, machine or order: all randomness comes from
    the seed of the draw, and numerical libraries use one thread.
    """
    try:
        return _quantities(model.fit(draw), draw)
    except (Exception, SystemExit) as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        message = f"{type(error).__name__}: {error} ({where.name}, line {where.lineno})"
        return {"error": message}


def _quantities(fitted: FittedLearner, draw: StudyDraw) -> dict[str, Any]:
    def accuracy(part: Part | None) -> float | None:
        if part is None:
            return None
        sample = draw.part(part)
        return float(np.mean(fitted.predict(sample.X) == sample.y))

    test = draw.part("test")
    chances = fitted.probabilities(test.X)
    of_truth = chances[np.arange(test.n_rows), test.y]
    hits = np.eye(test.n_classes)[test.y]
    return {
        "train_accuracy": accuracy(fitted.trained_on),
        "validation_accuracy": accuracy(fitted.judged_on),
        "test_accuracy": accuracy("test"),
        # clipped to the machine epsilon, as in scikit-learn
        "log_loss": float(-np.log(np.clip(of_truth, np.finfo(np.float64).eps, 1.0)).mean()),
        "brier": float(((chances - hits) ** 2).sum(axis=1).mean()),  # 0 to 2
        **{name: getattr(fitted, name) for name in _OF_MODEL},
    }


@lru_cache(maxsize=1)
def versions() -> str:
    """The package versions that a result depends on, in one line."""
    packages = ("treebound", "numpy", "scipy", "scikit-learn")
    versions = (f"{package} {version(package)}" for package in packages)
    listed = [f"python {platform.python_version()}", *versions]
    return ", ".join(listed)
