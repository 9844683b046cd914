"""Finite distributions of rows with a known true risk, to simulate certificates on."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

CLASSES = np.array(["a", "b", "c"], dtype=object)


@dataclass(frozen=True, eq=False)
class World:
    """Cells of a table, and the probability of each cell with each class."""

    cells: pd.DataFrame
    joint: np.ndarray
    rows: int

    def draw(self, rng, m=None, *, ordered=False):
        """Rows and labels; two classes at least. ``ordered``: sorted by class."""
        while True:
            at = rng.choice(self.joint.size, size=m or self.rows, p=self.joint.ravel())
            cell, label = np.divmod(at, self.joint.shape[1])
            if ordered:
                order = np.argsort(label, kind="stable")
                cell, label = cell[order], label[order]
            if len(set(label.tolist())) > 1:
                return self.cells.iloc[cell].reset_index(drop=True), CLASSES[label]

    def risk(self, predicted, abstains=None):
        """The true risk of predictions for the cells without abstention."""
        covered = np.ones(len(predicted), bool) if abstains is None else predicted != abstains
        right = sum(self.joint[covered & (predicted == name), k].sum() for k, name in self.classes)
        total = self.joint[covered].sum()
        return 1.0 - right / total if total > 0 else 0.0

    def cost(self, predicted, costs):
        """The true mean cost of predictions, if missing a class costs so much."""
        return sum(costs[name] * self.joint[predicted != name, k].sum() for k, name in self.classes
                   if name in costs)  # fmt: skip

    def missed(self, predicted):
        """The true share of missed cases of each class."""
        return {
            name: self.joint[predicted != name, k].sum() / self.joint[:, k].sum()
            for k, name in self.classes
        }

    @property
    def classes(self):
        return list(enumerate(CLASSES[: self.joint.shape[1]]))


def world(columns, shares, of_class, rows):
    """Cells by the product of columns and their shares; ``of_class(row)`` are class chances."""
    names, weights = list(columns), [np.array(shares[name]) for name in columns]
    grid = np.meshgrid(*(np.arange(len(columns[name])) for name in names), indexing="ij")
    codes = [part.ravel() for part in grid]
    cells = pd.DataFrame(
        {n: [columns[n][c] for c in code] for n, code in zip(names, codes, strict=True)}
    )
    chance = np.prod([w[c] / w.sum() for w, c in zip(weights, codes, strict=True)], axis=0)
    classes = np.array([of_class(*row) for row in zip(*codes, strict=True)])
    return World(cells, chance[:, None] * classes, rows)


def worlds():
    """Difficult worlds: rare classes, categories never met, missing values, noise, few rows."""
    numbers = [0.5, 1.25, 2.0, 3.5]
    many = [f"k{i}" for i in range(25)]
    zipf = [1 / (i + 1) for i in range(25)]
    return {
        "rare classes": world(
            {"x": numbers, "z": numbers}, {"x": [3, 3, 3, 1], "z": [1] * 4},
            lambda i, j: [0.93, 0.05, 0.02] if i < 3 else [0.1, 0.7 - 0.1 * j, 0.2 + 0.1 * j], 80,
        ),
        "categories never met": world(
            {"c": many, "x": numbers}, {"c": zipf, "x": [1] * 4},
            lambda i, j: [0.9, 0.1] if (i + (j > 1)) % 3 else [0.2, 0.8], 60,
        ),
        "missing values": world(
            {"x": [*numbers, None], "c": ["u", "v", None]}, {"x": [2, 2, 2, 2, 1], "c": [4, 4, 1]},
            lambda i, j: [0.85, 0.15] if (i < 2) == (j == 0) else [0.15, 0.85], 40,
        ),
        "noise": world(
            {"x": numbers, "z": numbers, "c": ["u", "v", "w"]},
            {"x": [1] * 4, "z": [1] * 4, "c": [1] * 3}, lambda *_: [0.5, 0.5], 60,
        ),
        "few rows": world(
            {"x": numbers, "c": ["u", "v"]}, {"x": [1] * 4, "c": [1, 1]},
            lambda i, j: [0.9, 0.1] if (i < 2) ^ j else [0.3, 0.7], 14,
        ),
    }  # fmt: skip
