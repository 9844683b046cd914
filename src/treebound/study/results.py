"""Results of a study as arrays: data sets x draws x models."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils.arrays import Floats
from treebound.study.measure import QUANTITIES
from treebound.study.store import Store, StoredStudy


@dataclass(frozen=True, eq=False)
class Results:
    """The results of one study.

    Parameters
    ----------
    study : StoredStudy
        Its protocol, models and data sets.
    rows : list of dict
        One for each result.

    Examples
    --------
    >>> results = Results.read("results.sqlite")                    # doctest: +SKIP
    >>> results.means("test_accuracy").shape                        # doctest: +SKIP
    (25, 6)
    """

    study: StoredStudy
    rows: list[dict[str, Any]]

    @classmethod
    def read(cls, store: str | Path, protocol: str | None = None) -> Results:
        """Read a study of a store; the protocol, a name or key, is optional if it has one."""
        with Store(store, must_exist=True) as opened:
            study = opened.study(protocol)
            rows = opened.rows(study.key)
        if not rows:
            raise ValueError(f"The study {study.protocol!r} in {str(store)!r} has no results yet.")
        return cls(study, rows)

    @cached_property
    def models(self) -> list[str]:
        """Names of the models, in the order they were declared."""
        names = {row["model"] for row in self.rows}
        return [model["name"] for model in self.study.models if model["name"] in names]

    @cached_property
    def competitors(self) -> list[str]:
        """The models that do not use the test part."""
        oracles = {model["name"] for model in self.study.models if model["oracle"]}
        return [name for name in self.models if name not in oracles]

    @cached_property
    def oracle(self) -> str | None:
        """The model that uses the test part, if there is one."""
        return next((name for name in self.models if name not in self.competitors), None)

    @cached_property
    def datasets(self) -> list[dict[str, Any]]:
        """The data sets with results, by title."""
        names = {row["dataset"] for row in self.rows}
        return [dataset for dataset in self.study.datasets if dataset["name"] in names]

    @cached_property
    def n_draws(self) -> int:
        """Number of draws with results."""
        return len({row["draw"] for row in self.rows})

    @cached_property
    def failures(self) -> list[dict[str, Any]]:
        """The rows of models that failed."""
        return [row for row in self.rows if row["error"]]

    @property
    def missing(self) -> int:
        """Number of results missing from a complete study."""
        return len(self.datasets) * len(self.models) * self.n_draws - len(self.rows)

    def cube(self, quantity: str) -> Floats:
        """All values of a quantity: (data sets, draws, models), NaN if missing."""
        return np.asarray(self._cubes[QUANTITIES.index(quantity)])

    @cached_property
    def _cubes(self) -> Floats:
        place = {dataset["name"]: at for at, dataset in enumerate(self.datasets)}
        column = {name: at for at, name in enumerate(self.models)}
        step = {draw: at for at, draw in enumerate(sorted({row["draw"] for row in self.rows}))}
        cubes = np.full((len(QUANTITIES), len(place), self.n_draws, len(column)), np.nan)
        for row in self.rows:
            at = place[row["dataset"]], step[row["draw"]], column[row["model"]]
            cubes[:, *at] = np.array([row[name] for name in QUANTITIES], dtype=np.float64)
        return cubes

    def means(self, quantity: str) -> Floats:
        """Means over draws, (data sets, models)."""
        return mean_of_known(self.cube(quantity), 1)

    def deviations(self, quantity: str) -> Floats:
        """Sample standard deviations over draws, as in the paper; 0 for a single draw."""
        cube = self.cube(quantity)
        squares = (cube - self.means(quantity)[:, None]) ** 2
        n = self.counts(quantity)
        return np.sqrt(mean_of_known(squares, 1) * n / np.maximum(n - 1, 1))

    def counts(self, quantity: str) -> NDArray[np.intp]:
        """Number of draws with a value, (data sets, models)."""
        return np.asarray((~np.isnan(self.cube(quantity))).sum(axis=1))


def mean_of_known(values: Floats, axis: int) -> Floats:
    """Means along an axis without what is missing; NaN where everything is."""
    n = (~np.isnan(values)).sum(axis=axis)
    return np.where(n, np.nansum(values, axis=axis) / np.maximum(n, 1), np.nan)
