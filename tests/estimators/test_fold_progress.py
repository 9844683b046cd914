"""Progress of the trees of folds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treebound as tb


@pytest.mark.parametrize("pruning", ["bound", "mdl"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_trees_of_folds_report_progress_and_can_be_stopped(pruning, n_jobs) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    y = (X[:, 0] + rng.normal(size=3000) > 0).astype(int)
    clf = tb.BoundTreeClassifier(pruning=pruning, n_jobs=n_jobs, certificate="training")
    seen: list[Any] = []
    clf.fit(X, y, callback=seen.append)
    assert {(event.fold, event.folds) for event in seen} == {
        (0, 0),
        *((at, 5) for at in range(1, 6)),
    }
    assert all(event.phase == "growing" for event in seen)

    def stop(event: Any) -> None:
        if event.fold == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        clf.fit(X, y, callback=stop)
