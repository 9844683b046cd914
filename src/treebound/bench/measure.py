"""One model on one draw: fit it, and measure its accuracy, size and speed."""

from __future__ import annotations

import platform
import traceback
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound.bench.models import Draw, Fitted, Learner, Part

# Quantities that a fitted model has itself.
_OF_MODEL = ("leaves", "depth", "bound", "certificate", "grow_seconds", "prune_seconds")
_ACCURACIES = ("train_accuracy", "validation_accuracy", "test_accuracy")
# All of them, in the order of the columns of the store.
QUANTITIES = (*_ACCURACIES, "log_loss", "brier", *_OF_MODEL)


def measured(model: Learner, draw: Draw, number: int) -> dict[str, Any]:
    """The result row of one model on one draw; a failed model gives a row with its error.

    Except for times, the row does not depend on process, machine or order: all randomness comes
    from the seed of the draw, and numerical libraries use one thread.
    """
    place = (draw.named.name, number, draw.seed, model.name)
    try:
        with thread_pools().limit(limits=1):
            quantities = _quantities(model.fit(draw), draw)
    except (Exception, SystemExit) as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        said = f"{type(error).__name__}: {error} ({where.name}, line {where.lineno})"
        return failed(*place, said)
    return {**failed(*place, None), **quantities}


def failed(dataset: str, draw: int, seed: int, model: str, error: str | None) -> dict[str, Any]:
    """The result row of a failed model."""
    return {
        "dataset": dataset,
        "draw": draw,
        "seed": seed,
        "model": model,
        "versions": versions(),
        **dict.fromkeys(QUANTITIES),
        "error": error,
    }


def _quantities(fitted: Fitted, draw: Draw) -> dict[str, Any]:
    def accuracy(part: Part | None) -> float | None:
        if part is None:
            return None
        sample = draw.part(part)
        return float(np.mean(fitted.predict(sample.X) == sample.y))

    parts: list[Part | None] = [fitted.trained_on, fitted.judged_on, "test"]
    test = draw.part("test")
    chances, y = fitted.probabilities(test.X), test.y
    return {
        **dict(zip(_ACCURACIES, map(accuracy, parts), strict=True)),
        "log_loss": log_loss(chances, y),
        "brier": brier_score(chances, y),
        **{name: getattr(fitted, name) for name in _OF_MODEL},
    }


def log_loss(chances: NDArray[np.float64], y: NDArray[np.integer]) -> float:
    """Mean negative log-likelihood of the true classes.

    Probabilities are clipped to the machine epsilon, as in scikit-learn.
    """
    of_truth = chances[np.arange(len(y)), y]
    return float(-np.log(np.clip(of_truth, np.finfo(np.float64).eps, 1.0)).mean())


def brier_score(chances: NDArray[np.float64], y: NDArray[np.integer]) -> float:
    """Mean squared distance between the probabilities and the true class's indicator, 0 to 2."""
    gap = chances.copy()
    gap[np.arange(len(y)), y] -= 1.0
    return float((gap**2).sum(axis=1).mean())


@lru_cache(maxsize=1)
def thread_pools() -> Any:
    """The thread pools of this process, cached: finding them takes longer than many fits."""
    import sklearn.utils.parallel  # noqa: F401  # its OpenMP pool is one of them
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@lru_cache(maxsize=1)
def versions() -> str:
    """The package versions that a result depends on, in one line."""
    listed = [f"python {platform.python_version()}"]
    for package in ("treebound", "numpy", "scipy", "scikit-learn"):
        try:
            listed.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return ", ".join(listed)
