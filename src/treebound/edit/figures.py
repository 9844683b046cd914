"""Figures of a tree while it is edited: leaves, errors, mean cost, certificate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from treebound._utils.quantities import quantity
from treebound.certificate.certificate import bound_percent


@dataclass(frozen=True)
class Figures:
    """The figures of a tree.

    Those of the tree as it is now are in :attr:`Editor.figures`.

    Attributes
    ----------
    leaves : int
        Number of leaves.
    training_error : float
        Share of the training weight that is misclassified; of numbers, the root mean squared error
        on the training rows.
    test_error : float or None
        The same for the test rows; None without test rows.
    mean_cost : float or None
        Mean cost of the predictions for the training rows; None if ``fit`` had no costs.
    weighted_error : float or None
        Share of the training rows, by their class weights, that is misclassified; None without
        class weights, or with costs.
    certificate : float or None
        The certified error, or share of predictions of numbers that are off by more than the
        tolerance; None if there is none, or not before the edits end.
    measure : {"error", "RMSE"}
        What the errors are: shares, or root mean squared errors.
    """

    leaves: int
    training_error: float
    test_error: float | None
    mean_cost: float | None
    weighted_error: float | None
    certificate: float | None
    measure: Literal["error", "RMSE"] = "error"

    def lines(self, before: Figures) -> list[tuple[str, str, str]]:
        """Name, value before and value now of each figure, in words.

        Parameters
        ----------
        before : Figures
            Those of another tree.

        Returns
        -------
        list of (str, str, str)
            Without those that neither tree has.
        """
        error = _percent if self.measure == "error" else _rmse
        figures = (
            (f"training {self.measure}", before.training_error, self.training_error, error),
            (f"test {self.measure}", before.test_error, self.test_error, error),
            ("mean cost", before.mean_cost, self.mean_cost, _cost),
            ("weighted error", before.weighted_error, self.weighted_error, _percent),
            ("certificate", before.certificate, self.certificate, _bound),
        )
        return [
            ("leaves", f"{before.leaves:,}", f"{self.leaves:,}"),
            *(
                (name, words(was), words(now))
                for name, was, now, words in figures
                if was is not None or now is not None
            ),
        ]

    def compared_with(self, before: Figures) -> str:
        """The figures, one in each line, each after its value ``before``."""
        return "\n".join(f"{name:<15} {was} -> {now}" for name, was, now in self.lines(before))


def _percent(share: float | None) -> str:
    return "none" if share is None else f"{100 * share:.1f} %"


def _bound(share: float | None) -> str:
    return "none" if share is None else bound_percent(share)


def _cost(cost: float | None) -> str:
    return "none" if cost is None else f"{cost:.4g}"


def _rmse(error: float | None) -> str:
    return "none" if error is None else quantity(error)


def as_frame(rows: list[dict[str, Any]], columns: Sequence[str]) -> Any:
    """A pandas frame of these columns if pandas is installed, else the list."""
    try:
        import pandas
    except ModuleNotFoundError:
        return rows
    return pandas.DataFrame(rows, columns=list(columns))
