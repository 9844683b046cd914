"""The paper's "Ours" against the authors' own code, draw by draw.

    python benchmarks/reference.py --figures authors_code_by_draw.csv [--data FOLDER]

For every data set with all 25 draws in the figures: the tree grown in the paper's order (at most 75
leaves), pruned by the greedy search with the Shawe-Taylor score, the fast growth function, the
prior over shapes and r = 2^-10.5; raised subtrees keep their labels. Printed are how many draws
agree in the grown tree (its leaves and test accuracy), in the leaves of the pruned tree, in its
test accuracy and, to 1 %, in the value of the bound; and what explains the others:

- *grown*: the grown tree is another one already. The authors' growth never tries the last category
  of a nominal column (erratum 16) and takes values closer than ``isclose`` for equal.
- *code*: it is the same with their growth function: m - L terms a node, and one test for a nominal
  column whatever its categories (errata 7 and 8).
- *other*: neither. Equally good splits, or equal scores, broken another way; and their number of
  examples changes when the root is replaced by a child.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cache
from math import comb, factorial, log, perm
from pathlib import Path

import numpy as np

from treebound.bounds.counting import stirling
from treebound.data import Sample
from treebound.landscape import Landscape
from treebound.pruning.greedy import greedy
from treebound.pruning.scores import Objective
from treebound.shapes import TreeShape
from treebound.study.models import StudyDraw
from treebound.study.protocols import paper_options, paper_pruner
from treebound.study.samples import NamedSample, load_sample
from treebound.tree.model import Tree

OURS = paper_pruner()
Figures = dict[str, dict[int, dict[str, str]]]


def read_figures(path: Path) -> dict[str, Figures]:
    """Data set -> model -> draw -> row."""
    figures: dict[str, Figures] = defaultdict(lambda: defaultdict(dict))
    with path.open(newline="") as lines:
        for row in csv.DictReader(lines):
            figures[row["dataset"]][row["model"]][int(row["draw"])] = row
    return figures


# -- the authors' growth function ------------------------------------------------------------------


class AsTheAuthors(Objective):
    """The same objective with the growth function of the authors' code."""

    def log_growth_shape(self, shape: TreeShape) -> float:
        """Its natural log."""
        return authors_log_growth(shape, self.sample, self.n_classes, self.landscape)


def authors_log_growth(shape: TreeShape, m: int, n_classes: int, landscape: Landscape) -> float:
    """``(m - L) (2 ell + 2 omega + nu)`` splits a node, whatever the number of categories."""
    known = landscape.informative
    each = 2 * known.real + 2 * len(known.ordinal) + len(known.nominal)

    @cache
    def parts(shape: TreeShape, c: int, m: int) -> int:
        if c > min(m, shape.leaves):
            return 0
        if c in (1, m):
            return 1
        if m <= shape.leaves or shape.left is None or shape.right is None:
            return stirling(m, c)
        left, right = shape.left, shape.right
        total = sum(
            comb(a, c - b) * comb(b, c - a) * factorial(a + b - c)
            * parts(left, a, m - right.leaves) * parts(right, b, m - left.leaves)
            for a in range(1, c + 1)
            for b in range(max(1, c - a), c + 1)
        )  # fmt: skip
        total *= each * (m - shape.leaves)
        return min(total // 2 if left is right else total, stirling(m, c))

    most = min(n_classes, shape.leaves)
    return log(sum(perm(n_classes, c) * parts(shape, c, m) for c in range(1, most + 1)))


def prune_as_the_authors(tree: Tree, sample: Sample) -> Tree:
    """Greedy pruning with their growth function."""
    objective = AsTheAuthors(**{**vars(OURS.objective(tree)), "growth": "each"})
    return greedy(tree, sample, objective, relabel=False).tree


# -- the comparison --------------------------------------------------------------------------------


@dataclass
class Agreement:
    """Figures shared by the draws of one data set."""

    counts: Counter[str]
    here: list[float]
    theirs: list[float]


def same(share: float, row: dict[str, str], name: str = "test_acc") -> bool:
    """Return True if a share is the one in the figures, which have five digits."""
    return abs(share - float(row[name])) < 1.1e-5


def compare(named: NamedSample, figures: Figures) -> Agreement:
    """Every draw of one data set."""
    agreement = Agreement(Counter(), [], [])
    for number, row in sorted(figures["Ours"].items()):
        draw = StudyDraw(named, int(row["seed"]))
        train, test = draw.part("train"), draw.part("test")
        grown, _ = draw.grown(paper_options())
        unpruned = figures["OG"][number]

        def accuracy(tree: Tree, test: Sample = test) -> float:
            return float(np.mean(tree.label[tree.apply(test.X)] == test.y))

        result = OURS.prune(grown, train)
        agrees = {
            "grown": grown.n_leaves == int(unpruned["leaves"]) and same(accuracy(grown), unpruned),
            "leaves": result.tree.n_leaves == int(row["leaves"]),
            "accuracy": same(accuracy(result.tree), row),
            "bound": abs(result.score / float(row["bound"]) - 1) < 0.01,
        }
        agreement.counts.update(name for name, yes in agrees.items() if yes)
        if not (agrees["leaves"] and agrees["accuracy"]):
            again = prune_as_the_authors(grown, train)
            explained = again.n_leaves == int(row["leaves"]) and same(accuracy(again), row)
            why = "code" if explained else "other"
            agreement.counts[f"because: {why if agrees['grown'] else 'grown'}"] += 1
        agreement.here.append(accuracy(result.tree))
        agreement.theirs.append(float(row["test_acc"]))
    return agreement


def main() -> None:
    """Compare and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--figures", type=Path, required=True, help="authors_code_by_draw.csv")
    parser.add_argument("--data", type=Path, help="folder with the files of the data sets")
    options = parser.parse_args()
    figures = read_figures(options.figures)
    columns = ("grown", "leaves", "accuracy", "bound")
    reasons = ("grown", "code", "other")
    print(f"{'data set':36}" + "".join(f"{name:>10}" for name in columns)
          + "   accuracy here, theirs   others: " + ", ".join(reasons))  # fmt: skip
    total: Counter[str] = Counter()
    for name, one in sorted(figures.items()):
        if len(one["Ours"]) < 25:
            continue
        agreement = compare(load_sample(name, data=options.data), one)
        total += agreement.counts
        why = ", ".join(str(agreement.counts[f"because: {reason}"]) for reason in reasons)
        print(f"{name:36}" + "".join(f"{agreement.counts[name]:>10}" for name in columns)
              + f"{100 * np.mean(agreement.here):12.2f} {100 * np.mean(agreement.theirs):9.2f}"
              + f"{why:>20}", flush=True)  # fmt: skip
    why = ", ".join(str(total[f"because: {reason}"]) for reason in reasons)
    print(f"{'all':36}" + "".join(f"{total[name]:>10}" for name in columns) + f"{why:>42}")


if __name__ == "__main__":
    main()
