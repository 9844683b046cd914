"""One model on one draw: fit it, and measure its accuracy, size and speed."""

from __future__ import annotations

import platform
import traceback
from functools import lru_cache
from importlib.metadata import version
from typing import Any

import numpy as np

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
    chances = fitted.probabilities(test.X)
    of_truth = chances[np.arange(test.n_rows), test.y]
    hits = np.eye(test.n_classes)[test.y]
    return {
        **dict(zip(_ACCURACIES, map(accuracy, parts), strict=True)),
        # clipped to the machine epsilon, as in scikit-learn
        "log_loss": float(-np.log(np.clip(of_truth, np.finfo(np.float64).eps, 1.0)).mean()),
        "brier": float(((chances - hits) ** 2).sum(axis=1).mean()),  # 0 to 2
        **{name: getattr(fitted, name) for name in _OF_MODEL},
    }


@lru_cache(maxsize=1)
def thread_pools() -> Any:
    """The thread pools of this process, cached: finding them takes longer than many fits."""
    import sklearn.utils.parallel  # noqa: F401  # its OpenMP pool is one of them
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@lru_cache(maxsize=1)
def versions() -> str:
    """The package versions that a result depends on, in one line."""
    packages = ("treebound", "numpy", "scipy", "scikit-learn")
    listed = [f"python {platform.python_version()}", *(f"{own} {version(own)}" for own in packages)]
    return ", ".join(listed)
