"""Small studies of scikit-learn trees, and a program that runs one so that it can be killed."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from dataclasses import dataclass

import numpy as np
from published import MODELS, published
from sklearn.tree import DecisionTreeClassifier

from treebound.data import Sample
from treebound.study import Estimator, FittedLearner, Learner, NamedSample, Protocol, StudyDraw, run
from treebound.study.measure import QUANTITIES
from treebound.study.results import Results
from treebound.study.runner import Study
from treebound.study.store import StoredStudy


@dataclass(frozen=True)
class Slow(Learner):
    """A stump that takes its time, so that there is something to interrupt."""

    name: str
    seconds: float = 0.1

    def fit(self, draw: StudyDraw) -> FittedLearner:
        time.sleep(self.seconds)
        return Estimator(self.name, DecisionTreeClassifier(max_depth=1)).fit(draw)


@dataclass(frozen=True)
class Fails(Learner):
    """A model that fails on one seed."""

    name: str
    seed: int

    def fit(self, draw: StudyDraw) -> FittedLearner:
        if draw.seed == self.seed:
            raise ArithmeticError("no luck with this draw")
        return Estimator(self.name, DecisionTreeClassifier(max_depth=2)).fit(draw)


@dataclass(frozen=True)
class Ends(Learner):
    """A model that takes its process with it, or never comes back, on one seed."""

    name: str
    how: str
    seed: int

    def fit(self, draw: StudyDraw) -> FittedLearner:
        if draw.seed == self.seed:
            if self.how == "exit":
                raise SystemExit("done")
            if self.how == "die":
                os._exit(3)
            if self.how == "killed":
                os.kill(os.getpid(), signal.SIGSEGV)
            while True:
                time.sleep(60)
        return Estimator(self.name, DecisionTreeClassifier(max_depth=2)).fit(draw)


def samples(count: int = 2, rows: int = 60) -> list[NamedSample]:
    """Noisy samples of two real columns and three classes."""
    samples = []
    for at in range(count):
        rng = np.random.default_rng(at)
        X = rng.normal(size=(rows, 2))
        y = (X[:, 0] + 0.3 * rng.normal(size=rows) > 0).astype(int) + (X[:, 1] > 0.8)
        samples.append(NamedSample(f"toy{at}", Sample.learn(X, y), f"Toy {at}"))
    return samples


def trees() -> tuple[Learner, ...]:
    """Two quick models."""
    return (
        Estimator("stump", DecisionTreeClassifier(max_depth=1)),
        Estimator("full", DecisionTreeClassifier()),
    )


def slow_models() -> tuple[Learner, ...]:
    """Models that can be interrupted."""
    return (Slow("slow"), *trees())


def study(models: tuple[Learner, ...], draws: int = 5, count: int = 2) -> Study:
    """A study of toy samples."""
    return Study(samples(count), models, Protocol("toy", lambda: models, draws=draws))


def run_study(study: Study, store: str | os.PathLike[str], **how) -> int:
    """Run a study; how many results were added."""
    return run(protocol=study.protocol, sets=study.samples, store=store, **how)


def rows_of(study: Study, store: str | os.PathLike[str] | None = None, **how) -> list[dict]:
    """The rows of a study, run into a store or into one that is thrown away."""
    with tempfile.TemporaryDirectory() as folder:
        path = store or os.path.join(folder, "results.sqlite")
        run_study(study, path, **how)
        return Results.read(path, study.protocol.key).rows


def without_times(rows: list[dict]) -> list[dict]:
    """Rows without what no two runs agree on."""
    volatile = {"grow_seconds", "prune_seconds", "finished"}
    return [{key: value for key, value in row.items() if key not in volatile} for row in rows]


# Counts of the 25 sets, as the captions of the paper's tables state them: n, real, ordinal,
# nominal, classes.
MIXED = {
    "acute_inflammation": (120, 1, 0, 6, 2),
    "amphibians": (189, 2, 3, 9, 2),
    "heart_disease_cleveland_processed": (303, 5, 1, 7, 5),
    "mushroom": (8124, 0, 0, 22, 2),
    "statlog_german": (1000, 3, 3, 14, 2),
    "zoo": (101, 1, 0, 15, 7),
}


def printed_results(spread: float = 0.0) -> Results:
    """The published figures as if they were a study of two draws, ``spread`` about the mean."""
    figures = published()
    names = sorted({name for name, _, _ in figures})
    datasets, rows = [], []
    for name in names:
        n, real, ordinal, nominal, classes = MIXED.get(name, (200, 4, 0, 0, 2))
        datasets.append(
            {"name": name, "title": name.replace("_", " ").title(), "n_examples": n,
             "n_real": real, "n_ordinal": ordinal, "n_nominal": nominal, "n_classes": classes}
        )  # fmt: skip
    for name in names:
        for model in MODELS:
            for draw in range(2):
                row = dict.fromkeys(QUANTITIES)
                for quantity in QUANTITIES:
                    if (name, model, quantity) in figures:
                        row[quantity] = figures[name, model, quantity][0]
                row["test_accuracy"] += spread * (2 * draw - 1)
                if model == "OG":
                    row["prune_seconds"] = None
                rows.append({**row, "dataset": name, "draw": draw, "model": model, "error": None})
    models = [{"name": name, "oracle": name == "Oracle", "settings": name} for name in MODELS]
    settings = {"name": "paper", "test_fraction": 0.15}
    return Results(StoredStudy("key", "paper", settings, datasets, models), rows)


if __name__ == "__main__":
    run_study(study(slow_models()), sys.argv[1], jobs=int(sys.argv[2]))
