"""Certificates of regression trees from calibration rows: large errors, and mean errors.

A prediction that is off by more than a tolerance is an event like a wrong class: given the training
rows, the events on calibration rows are independent, and their number is binomial. With a declared
range of the target the absolute and the squared errors are bounded, and their means have bounds by
betting. Certificates from training rows are wider than useful and not offered.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt

import numpy as np

from treebound._utils.arrays import Floats
from treebound._utils.quantities import quantity
from treebound.bounds.risk import binomial_upper
from treebound.certificate.certificate import ROW_OF_GROUP, bound_percent
from treebound.certificate.mean_cost import MeanCost, certify_mean_cost
from treebound.certificate.monitor import Monitor, tolerance_monitor


@dataclass(frozen=True)
class NumberCertificate:
    """Upper bounds on the errors of new predictions; each holds with probability 1 - delta.

    Attributes
    ----------
    share : float
        Bound on the share of new predictions that are off by more than ``tolerance``.
    tolerance : float
        The largest error that does not count.
    exceeded, m : int
        Calibration rows with a larger error, and all of them.
    delta : float
        Probability that the bound is wrong.
    folds : int
        The best of so many folds, which share delta; 1 for held-out rows.
    trees : int
        So many trees share delta.
    mean_error : MeanCost or None
        Bound on the mean absolute error; None without a declared range of the target.
    mean_square : MeanCost or None
        Bound on the mean squared error; None without a declared range.
    grouped : bool
        One row of each group was counted.
    note : str
        A sentence if rows that were used for fitting might not be noticed; else empty.
    """

    share: float
    tolerance: float
    exceeded: int
    m: int
    delta: float
    folds: int = 1
    trees: int = 1
    mean_error: MeanCost | None = None
    mean_square: MeanCost | None = None
    grouped: bool = False
    note: str = ""

    @property
    def kind(self) -> str:
        """The kind of rows: ``"held-out"`` or ``"folds"``."""
        return "held-out" if self.folds == 1 else "folds"

    @property
    def rmse(self) -> float | None:
        """Bound on the root mean squared error; None without a declared range of the target."""
        return None if self.mean_square is None else sqrt(self.mean_square.cost)

    def monitor(self, alpha: float = 0.01) -> Monitor:
        """Watch after deployment whether the share of large errors stays below the certified one.

        Parameters
        ----------
        alpha : float
            Probability that there is ever a false alarm, if the certificate holds.
        """
        return tolerance_monitor(self.share, self.tolerance, alpha=alpha)

    def __str__(self) -> str:
        probability = f"With probability {100 * (1 - self.delta):.6g} %"
        new = f"new predictions{ROW_OF_GROUP}" if self.grouped else "new predictions"
        counted = f"{100 * self.exceeded / self.m:.1f} % of {self.m:,} calibration rows"
        lines = [
            f"{probability}, at most {bound_percent(self.share)} of {new} are off by more than "
            f"{quantity(self.tolerance, upwards=True)} ({counted})."
        ]
        if self.mean_error is not None and self.rmse is not None:
            mae = quantity(self.mean_error.cost, upwards=True)
            rmse = quantity(self.rmse, upwards=True)
            lines.append(
                f"{probability}, their mean absolute error is at most {mae}; with the same "
                f"probability, their RMSE is at most {rmse}."
            )
        if self.note:
            lines.append(self.note)
        return "\n".join(lines)


def certify_numbers(
    errors: Floats,
    tolerance: float,
    delta: float = 0.05,
    *,
    y_range: tuple[float, float] | None = None,
    folds: int = 1,
    trees: int = 1,
    grouped: bool = False,
    note: str = "",
) -> NumberCertificate:
    """Bound the errors of new predictions by the absolute errors of calibration rows.

    ``tolerance`` and ``y_range``, in which predictions are too, were chosen without these rows.
    They are the best of so many ``folds``, and the tree is one of so many: these share ``delta``.
    ``grouped``: there is one row of each group. ``note`` is that of :class:`NumberCertificate`.
    """
    values = np.asarray(errors, dtype=np.float64)
    exceeded, m, shares = int((values > tolerance).sum()), len(values), folds * trees
    mean_error = mean_square = None
    if y_range is not None:
        width = float(y_range[1] - y_range[0])
        mean_error = certify_mean_cost(values, width, delta, log_share=-log(shares))
        mean_square = certify_mean_cost(values**2, width**2, delta, log_share=-log(shares))
    return NumberCertificate(
        float(binomial_upper(m, exceeded, delta / shares)),
        float(tolerance),
        exceeded,
        m,
        float(delta),
        folds,
        trees,
        mean_error,
        mean_square,
        grouped,
        note,
    )
