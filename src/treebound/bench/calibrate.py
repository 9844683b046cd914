"""Choosing the parameters of the bound pruner by cross-validation, as the paper chose its r.

The paper cross-validates r over inverse powers of two on Wine with five folds and takes the
geometric mean over ten draws; it reports 2^-10.5. Here the folds are those of the training part of
each draw, so that test rows are not used. The weight of the growth term in our own score is chosen
in the same way. Ties go to the value that prunes most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from treebound._validation import OneOf, check
from treebound.bench.models import Draw
from treebound.bench.protocols import paper_options, paper_pruner
from treebound.bench.samples import NamedSample, Parcel, load_samples
from treebound.bench.sheets import Cell, Sheet
from treebound.bench.splits import seeds_of
from treebound.growing.options import GrowOptions

__all__ = ["Calibration", "calibrate", "calibration_sheet"]

Parameter = Literal["error-prior", "weight"]
EXPONENTS = tuple(range(1, 26))
WEIGHTS = tuple(round(0.05 * step, 2) for step in range(2, 31))


@dataclass(frozen=True, eq=False)
class Calibration:
    """Cross-validated errors of the values of a grid."""

    of: Parameter
    grid: tuple[float, ...]
    errors: NDArray[np.float64]
    sets: tuple[str, ...]

    @property
    def chosen(self) -> list[float]:
        """The best value of each draw; on ties the one that prunes most."""
        return [low if self.of == "error-prior" else high for low, high in self.ties]

    @property
    def ties(self) -> list[tuple[float, float]]:
        """The smallest and largest of the best values, for each draw."""
        found = []
        for line in self.errors:
            best = [v for v, error in zip(self.grid, line, strict=True) if error <= line.min()]
            found.append((best[0], best[-1]))
        return found

    @property
    def value(self) -> float:
        """Mean of the chosen values: an exponent (so r is a geometric mean), or a weight."""
        return float(np.mean(self.chosen))


def calibrate(
    of: Parameter = "error-prior",
    *,
    sets: Sequence[str] | Sequence[NamedSample] = ("wine",),
    data: str | Path | None = None,
    draws: int = 10,
    folds: int = 5,
    jobs: int = 1,
) -> Calibration:
    """Cross-validate the paper's r or our weight.

    Parameters
    ----------
    of : {"error-prior", "weight"}
        What to choose: the paper's ``r``, as ``2^-e`` for exponents ``e``, or the weight of the
        tree term in our code length.
    sets : sequence of str or NamedSample
        Data sets, or names as :func:`treebound.bench.load_sample` reads them.
    data : path, optional
        Folder with the raw files of the data sets.
    draws, folds, jobs : int
        Number of splits of each data set, of folds of each split, and of worker processes.

    Returns
    -------
    Calibration
        The error rate of each value, for each draw; ``chosen`` has the best value of each draw.
    """
    import joblib

    check("calibrate", {"of": of}, {"of": OneOf(get_args(Parameter))})
    samples = [
        one if isinstance(one, NamedSample) else load_samples([one], data=data)[0] for one in sets
    ]
    parcels = [Parcel.of(named) for named in samples]
    tasks = [(parcel, seed) for seed in seeds_of(draws) for parcel in parcels]
    found = joblib.Parallel(n_jobs=jobs)(
        joblib.delayed(error_rates)(of, parcel, seed, folds) for parcel, seed in tasks
    )
    errors = np.array(found).reshape(draws, len(samples), -1).mean(axis=1)
    return Calibration(of, _grid(of), errors, tuple(named.name for named in samples))


def error_rates(of: Parameter, parcel: Parcel, seed: int, folds: int) -> list[float]:
    """Cross-validated error rate of each value of the grid on the training part of one draw."""
    from sklearn.model_selection import KFold

    from treebound.growing import grow

    train = Draw(parcel.open(), seed).part("train")
    wrong = np.zeros(len(_grid(of)))
    for inside, outside in KFold(folds, shuffle=True, random_state=seed).split(train.y):
        sample, held_out = train.part(inside), train.part(outside)
        tree = grow(sample, _options(of))
        for at, value in enumerate(_grid(of)):
            pruned = _pruner(of, value).prune(tree, sample).tree
            wrong[at] += np.sum(pruned.label[pruned.apply(held_out.X)] != held_out.y)
    return list((wrong / train.n_rows).tolist())


def _grid(of: Parameter) -> tuple[float, ...]:
    return EXPONENTS if of == "error-prior" else WEIGHTS


def _options(of: Parameter) -> GrowOptions:
    return paper_options() if of == "error-prior" else GrowOptions("entropy")


def _pruner(of: Parameter, value: float) -> Any:
    from treebound.pruning import BoundPruner

    return paper_pruner(value) if of == "error-prior" else BoundPruner(weight=value)


def calibration_sheet(found: Calibration) -> Sheet:
    """The grid, the accuracy of each value, and the chosen one."""
    mean, picks = found.errors.mean(axis=0), found.chosen
    best = mean.min()
    rows = []
    for value, error in zip(found.grid, mean, strict=True):
        name = f"2^-{value:g}" if found.of == "error-prior" else f"{value:g}"
        accuracy = Cell(f"{100 * (1 - error):.2f}", 1 - float(error), bool(error <= best + 1e-12))
        rows.append([Cell(name, value), accuracy, Cell(str(picks.count(value)))])
    if found.of == "error-prior":
        chosen = f"r = 2^-{found.value:.2f} (geometric mean); the paper found 2^-10.5"
        title = "The paper's r by cross-validation"
    else:
        chosen = f"weight {found.value:.3f} (mean)"
        title = "Our weight by cross-validation"
    spans = ", ".join(
        f"{low:g}" if low == high else f"{low:g}-{high:g}" for low, high in found.ties
    )
    notes = [
        f"{chosen}. Choices deviate by {np.std(found.chosen):.2g} over {len(found.errors)} draws, "
        f"on {', '.join(found.sets)}.",
        f"Equally good in each draw: {spans}.",
    ]
    return Sheet("calibration", title, ["Value", "Accuracy (%)", "Chosen"], rows, (), notes)
