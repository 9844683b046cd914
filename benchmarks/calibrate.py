"""Choose the paper's r, or our weight, by cross-validation, as the paper chose its r.

    python benchmarks/calibrate.py [--sets wine ...] [--draws 10] [--jobs 2]

The paper cross-validates r over inverse powers of two on Wine with five folds and takes the
geometric mean over ten draws; it reports 2^-10.5. Here the folds are those of the training part of
each draw, so that test rows are not used. Ties go to the value that prunes most. The choices of the
draws are stored in benchmarks/results/calibrate.json.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import joblib
import numpy as np
from evidence import RESULTS, commit, now, save
from sklearn.model_selection import KFold

from treebound.growing import grow
from treebound.growing.options import GrowOptions
from treebound.pruning import BoundPruner
from treebound.study import NamedSample, StudyDraw, datasets, load_sample
from treebound.study.protocols import paper_options, paper_pruner
from treebound.study.splits import seeds_of

EXPONENTS = tuple(range(1, 26))
WEIGHTS = tuple(round(0.05 * step, 2) for step in range(2, 31))


def main() -> None:
    """Print the accuracy of every value, and what the draws choose."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--of", choices=("error-prior", "weight"), default="error-prior")
    parser.add_argument("--sets", nargs="+", default=["wine"], help="names, or all")
    parser.add_argument("--data", type=Path, help="folder with the raw files of the data sets")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    r = options.of == "error-prior"
    grid = EXPONENTS if r else WEIGHTS
    names = datasets.list() if options.sets == ["all"] else options.sets
    samples = [load_sample(name, data=options.data) for name in names]
    losses = joblib.Parallel(n_jobs=options.jobs)(
        joblib.delayed(error_rates)(r, named, seed, options.folds)
        for seed in seeds_of(options.draws)
        for named in samples
    )
    errors = np.array(losses).reshape(options.draws, len(samples), -1).mean(axis=1)
    chosen = [_best(r, grid, line) for line in errors]
    for value, error in zip(grid, errors.mean(axis=0), strict=True):
        name = f"2^-{value:g}" if r else f"{value:g}"
        print(f"{name:8} {100 * (1 - error):6.2f} % correct, best in {chosen.count(value)} draws")
    mean = float(np.mean(chosen))
    print(f"r = 2^-{mean:.2f}; the paper found 2^-10.5" if r else f"weight {mean:.3f}")
    print(f"The choices of the draws deviate by {np.std(chosen):.2g}.")
    path = RESULTS / "calibrate.json"
    results = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    results[f"{options.of}, {' '.join(options.sets)}"] = {
        "date": now(), "commit": commit(), "sets": len(samples), "draws": options.draws,
        "folds": options.folds, "chosen": chosen, "mean": mean,
    }  # fmt: skip
    save(RESULTS, "calibrate", results)


def _best(r: bool, grid: tuple[float, ...], errors: np.ndarray) -> float:
    """The best value of a draw; on ties the one that prunes most."""
    best = [value for value, error in zip(grid, errors, strict=True) if error <= errors.min()]
    return best[0] if r else best[-1]


def error_rates(r: bool, named: NamedSample, seed: int, folds: int) -> list[float]:
    """Cross-validated error rate of each value of the grid on the training part of one draw."""
    train = StudyDraw(named, seed).part("train")
    grid = EXPONENTS if r else WEIGHTS
    pruners = [paper_pruner(value) if r else BoundPruner(weight=value) for value in grid]
    wrong = np.zeros(len(grid))
    for inside, outside in KFold(folds, shuffle=True, random_state=seed).split(train.y):
        sample, held_out = train.part(inside), train.part(outside)
        tree = grow(sample, paper_options() if r else GrowOptions("entropy"))
        for at, pruner in enumerate(pruners):
            pruned = pruner.prune(tree, sample).tree
            wrong[at] += np.sum(pruned.label[pruned.apply(held_out.X)] != held_out.y)
    return list((wrong / train.n_rows).tolist())


if __name__ == "__main__":
    main()
