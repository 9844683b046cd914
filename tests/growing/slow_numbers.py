"""Growing on numbers in exact fractions: every split scored from its definition."""

from __future__ import annotations

from fractions import Fraction

from slow_tree import SlowTree


class SlowNumbers(SlowTree):
    """The tree of squared errors; ``y`` and weights are taken as fractions."""

    def __init__(self, X, y, columns, *, sample_weight=None, **options):
        self.numbers = [Fraction(float(value)).limit_denominator(10**6) for value in y]
        self.rows_of = {value: k for k, value in enumerate(sorted(set(self.numbers)))}
        weight = [1] * len(y) if sample_weight is None else sample_weight
        self.masses = [Fraction(float(w)) for w in weight]
        # a split must gain, as with misclassification; impurities are those below
        labels = [self.rows_of[value] for value in self.numbers]
        super().__init__(
            X, labels, columns, 2, sample_weight=sample_weight, criterion="misclassification",
            **options,
        )  # fmt: skip

    def counts(self, rows):
        return [float(sum(self.masses[i] for i in rows))]

    def sums(self, rows):
        return (
            sum(self.masses[i] for i in rows),
            sum(self.masses[i] * self.numbers[i] for i in rows),
        )

    def impurity(self, rows):
        """The sum of squares around the mean."""
        weight, total = self.sums(rows)
        squares = sum(self.masses[i] * self.numbers[i] ** 2 for i in rows)
        return squares - total**2 / weight

    def gain(self, node, split):
        (n_left, left), (n_right, right) = self.sums(split.left), self.sums(split.right)
        if not n_left or not n_right:
            return Fraction(-1)
        n = n_left + n_right
        return (left * n - (left + right) * n_left) ** 2 / (n * n_left * n_right)

    def priority(self, node):
        return float("inf") if node.forced else self.gain(node, node.split)

    def upper_shares(self, rows):
        weight, total = self.sums(rows)
        return [float(total / weight)]
