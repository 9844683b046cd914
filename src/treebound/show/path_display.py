"""The choice of the size of a tree, and its certificate, as matplotlib figures."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treebound._utils.extras import require
from treebound._utils.quantities import quantity
from treebound.model import Model
from treebound.model.methods import as_model
from treebound.pruning import PruningPath, WeightChoice
from treebound.show.display import CHOSEN, LINE, Display
from treebound.show.words import count, counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MAX_CERTIFIED = 60  # trees of a path


@dataclass(eq=False, repr=False)
class PruningPathDisplay:
    """Score, errors and leaves along a pruning path, with the chosen step.

    Parameters
    ----------
    path : PruningPath
        The path.

    Attributes
    ----------
    axes_ : list of three matplotlib Axes
        For score, errors and leaves.
    figure_ : matplotlib Figure
        Their figure.

    Examples
    --------
    >>> import treebound as tb
    >>> from sklearn.datasets import load_iris
    >>> from treebound.show import PruningPathDisplay
    >>> clf = tb.BoundTreeClassifier().fit(*load_iris(return_X_y=True))
    >>> [ax.get_ylabel() for ax in PruningPathDisplay.from_estimator(clf).axes_]
    ['score', 'errors', 'leaves']
    """

    path: PruningPath
    axes_: list[Axes] = field(init=False)
    figure_: Figure = field(init=False)

    @classmethod
    def from_estimator(cls, estimator: Any) -> PruningPathDisplay:
        """Draw the path along which a fitted classifier was pruned.

        Parameters
        ----------
        estimator : BoundTreeClassifier or Model
            Fitted with pruning.
        """
        return cls(_path_of(estimator, "PruningPathDisplay")[1]).plot()

    def plot(self) -> PruningPathDisplay:
        """Draw the three curves, one above the other, in a new figure."""
        pyplot = require("matplotlib.pyplot", extra="plot", why="Drawing a pruning path")
        self.figure_, axes = pyplot.subplots(3, 1, sharex=True, figsize=(6.4, 5.6))
        self.figure_.subplots_adjust(left=0.14, right=0.97, top=0.93, bottom=0.09, hspace=0.12)
        self.axes_, path = list(axes), self.path
        curves = {"score": path.scores, path.counted: path.errors, "leaves": path.leaves}
        marker = "." if len(path) <= 60 else ""
        for ax, (label, values) in zip(self.axes_, curves.items(), strict=True):
            ax.plot(np.arange(len(values)), values, color=LINE, marker=marker, linewidth=1.2)
            ax.axvline(path.chosen, color=CHOSEN, linewidth=0.8, linestyle=":")
            ax.plot([path.chosen], [values[path.chosen]], "o", color=CHOSEN, markersize=6, zorder=3)
            ax.grid(alpha=0.25)
            ax.set_ylabel(label)
        axes[2].set_yscale("log" if path.leaves.max() > 50 * path.leaves.min() else "linear")
        axes[2].set_xlabel("step")
        axes[2].xaxis.get_major_locator().set_params(integer=True)
        for ax in axes[:2]:
            ax.tick_params(labelbottom=False)
        score, errors, leaves = (float(values[path.chosen]) for values in curves.values())
        unit = path.counted.removesuffix("s") if errors == 1 else path.counted
        words = f"{counted(leaves, 'leaf')}, {count(errors)} {unit}, score {quantity(score)}"
        axes[0].set_title(f"chosen: step {path.chosen}, {words}", fontsize="medium")
        return self


@dataclass(eq=False, repr=False)
class CertificateDisplay(Display):
    """The certified risk and the training error against the number of leaves.

    Parameters
    ----------
    leaves : array-like of int
        Sizes of the trees.
    bounds : array-like of float
        The certified risk of each tree.
    risks : array-like of float
        The training error rate of each tree.
    chosen : int
        Index of the tree that was chosen.
    delta : float, optional
        Probability that the certificate fails.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Those of the drawing.

    Examples
    --------
    >>> from treebound.show import CertificateDisplay
    >>> display = CertificateDisplay([9, 4, 1], [0.6, 0.4, 0.5], [0.0, 0.1, 0.3], chosen=1).plot()
    >>> display.ax_.get_xlabel()
    'leaves'
    """

    leaves: ArrayLike
    bounds: ArrayLike
    risks: ArrayLike
    _: KW_ONLY
    chosen: int
    delta: float | None = None

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> CertificateDisplay:
        """Draw the certificates of trees on the path of a fitted classifier, at most about 60.

        Parameters
        ----------
        estimator : BoundTreeClassifier or Model
            Fitted with pruning.
        ax : matplotlib Axes, optional
            Axes to draw in; by default those of a new figure.
        """
        model, path = _path_of(estimator, "CertificateDisplay")
        steps = spread(path.leaves, int(path.chosen), _MAX_CERTIFIED)
        models = [model.prune_to(step=step) for step in steps]
        risks = [step.tree.errors / float(step.tree.weight[0]) for step in models]
        leaves, chosen = path.leaves[steps], steps.index(path.chosen)
        limits = [step.certificate for step in models]
        bounds = [np.nan if limit is None else limit.risk for limit in limits]
        return cls(leaves, bounds, risks, chosen=chosen, delta=model.evidence.delta).plot(ax=ax)

    def _draw(self, ax: Axes) -> None:
        leaves, bounds = np.asarray(self.leaves), np.asarray(self.bounds, dtype=float)
        order = np.argsort(leaves, kind="stable")
        sure = "" if self.delta is None else f" (probability {1 - self.delta:.4g})"
        marker = "." if len(order) <= 60 else ""
        for values, colour, label in (
            (bounds, LINE, f"certificate{sure}"),
            (np.asarray(self.risks), "#009E73", "training error"),
        ):
            ax.plot(leaves[order], values[order], color=colour, marker=marker, label=label)
        at, limit = leaves[self.chosen], bounds[self.chosen]
        ax.axvline(at, color=CHOSEN, linewidth=0.8, linestyle=":")
        ax.plot([at], [limit], "o", color=CHOSEN, label=f"chosen: {limit:.3g}", zorder=3)
        if leaves.max() > 50:
            ax.set_xscale("log")
        else:
            ax.xaxis.get_major_locator().set_params(integer=True)  # type: ignore[call-arg]
        ax.set_ylim(0, max(1.0, float(np.nanmax(bounds))) * 1.02)
        ax.set_xlabel("leaves")
        ax.set_ylabel("risk")
        ax.grid(alpha=0.25)
        ax.legend()


@dataclass(eq=False, repr=False)
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

    choice: WeightChoice

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
            If no weight was chosen; the message states why.
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
        scale = 100.0 if choice.is_share else 1.0
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
        unit = f"{choice.unit} (%)" if choice.is_share else choice.unit
        ax.set_ylabel(f"{choice.reason} {unit}")
        ax.legend(frameon=False)


def spread(leaves: NDArray[Any], chosen: int, most: int) -> list[int]:
    """About so many steps of a path: first, last, those near the chosen one, others spread out."""
    # half of the others evenly over the logarithm of the leaves, to include small trees
    count = len(leaves)
    if count <= most:
        return list(range(count))
    picked = {*range(max(0, chosen - most // 6), min(count, chosen + most // 6 + 1))}
    room = max(most - len(picked), 4)
    size = np.log(leaves)
    for at in np.linspace(size.max(), size.min(), room // 2).tolist():
        picked.add(int(np.abs(size - at).argmin()))
    far = np.linspace(0, count - 1, max(most - len(picked), 2)).round().astype(int)
    return sorted({*picked, *far.tolist()})


def _path_of(estimator: Any, caller: str) -> tuple[Model, PruningPath]:
    """The model of a classifier, and its pruning path."""
    model = as_model(estimator, f"{caller}.from_estimator")
    if model.path is None:
        raise ValueError(
            f"{caller}.from_estimator needs a classifier with a pruning path. "
            f"Got {estimator!r:.80} instead. Hint: fit it with pruning='bound'."
        )
    return model, model.path
