"""Validated error against the number of leaves, as a matplotlib figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treebound.model_methods import as_model
from treebound.pruning import WeightChoice
from treebound.show.display import CHOSEN, LINE, Display

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class WeightChoiceDisplay(Display):
    """The validated error at each weight that was tried, against the leaves of the tree.

    Parameters
    ----------
    choice : WeightChoice
        How the weight was chosen, as in ``clf.pruning_result_.choice``.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from treebound.pruning import WeightChoice
    >>> from treebound.show import WeightChoiceDisplay
    >>> choice = WeightChoice(0.6, "balanced", "cross-validated", "error", (0.3, 0.6, 1.0),
    ...                       (0.15, 0.14, 0.16), (30, 12, 4), 0.01, 0.4)
    >>> WeightChoiceDisplay(choice).plot().ax_.get_xlabel()
    'leaves'
    """

    def __init__(self, choice: WeightChoice) -> None:
        self.choice = choice

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> WeightChoiceDisplay:
        """Draw how the weight of a fitted classifier was chosen.

        Parameters
        ----------
        estimator : BoundTreeClassifier or Model
            Its weight was chosen by validation.
        ax : matplotlib Axes, optional
            Axes to draw in; by default those of a new figure.

        Raises
        ------
        ValueError
            If no weight was chosen; the message says why.
        """
        pruning = as_model(estimator, "WeightChoiceDisplay").pruning
        choice = None if pruning is None else pruning.choice
        if choice is None or choice.rule is None:
            reason = "" if choice is None else f" {choice.explain()}"
            raise ValueError(
                f"WeightChoiceDisplay needs a weight that was chosen by validation.{reason} "
                "Hint: fit with size='balanced'."
            )
        return cls(choice).plot(ax=ax)

    def _draw(self, ax: Axes) -> None:
        choice = self.choice
        scale = 1.0 if choice.unit == "log-loss" else 100.0
        leaves, losses = np.array(choice.leaves), scale * np.array(choice.losses)
        error = scale * choice.standard_error
        ax.errorbar(leaves, losses, yerr=error, marker="o", color=LINE, capsize=2)
        for rule, marker in (("accurate", "s"), ("balanced", "D"), ("small", "v")):
            at = choice.at(rule)
            ax.plot(leaves[at], losses[at], marker, ms=11, mfc="none", mec="#777777", label=rule)
        at = choice.index
        ax.plot(leaves[at], losses[at], "o", color=CHOSEN, label="chosen", zorder=3)
        ax.axhline(scale * choice.constant, color="#777777", ls=":", lw=1, label="one leaf")
        ax.set_xscale("log")
        ax.set_xlabel("leaves")
        unit = choice.unit if choice.unit == "log-loss" else f"{choice.unit} (%)"
        ax.set_ylabel(f"{choice.reason} {unit}")
        ax.legend(frameon=False)
