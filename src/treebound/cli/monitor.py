"""``treebound monitor``: the certificate of a model against labelled rows after deployment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from treebound._utils.validation import WordedError, parts_of
from treebound.cli.app import command
from treebound.cli.options import Data, FileOptions, Model, Target
from treebound.cli.output import check_output, print_result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from treebound.certificate.monitor import Monitor
    from treebound.data.frames import Table
    from treebound.model import RegressionModel
    from treebound.model.model import Model as FittedModel

ALARM = 3
_POINTS = 200  # of the plot


@command(
    "treebound monitor model.json monday.csv --state state.json",
    'treebound monitor model.json tuesday.csv --state state.json || mail -s "model" me',
)
def monitor(
    model: Model,
    data: Data,
    /,
    *,
    state: Path | None = None,
    target: Target = None,
    alpha: float = 0.01,
    plot: Path | None = None,
    options: FileOptions = FileOptions(),  # noqa: B008  # frozen
) -> int:
    """Watch rows, in the order they came, against the certificate of a model.

    The exit code is 3 if there is an alarm, now or before. Rows whose label is not known yet are
    skipped and counted.

    Parameters
    ----------
    state
        A JSON file with the outcomes so far, to continue with later rows.
    alpha
        Probability that there is ever a false alarm.
    plot
        A file for a plot of the evidence (PNG, SVG or PDF).
    """
    from treebound._utils.files import write_text
    from treebound.cli.models import loaded_any, monitored_rows

    reads = [model, data, options.schema]
    check_output(state, None, reads=reads)
    check_output(plot, "png", reads=reads, force=True)
    loaded = loaded_any(model, data)
    watched = _continued(state, _fresh(loaded, alpha))
    table, labels = monitored_rows(loaded, data, options, target)
    evidence = _watch(watched, loaded, table, labels, parts=1 if plot is None else _POINTS)
    if state is not None:
        write_text(state, watched.to_json() + "\n")
    if plot is not None:
        _draw(evidence, watched, plot)
    for alarm in watched.alarms:
        print_result(str(alarm))
    if not watched.alarms:
        print_result(_no_alarm(watched))
    for note in _notes(watched, loaded, labels):
        print_result(note)
    return ALARM if watched.alarms else 0


def _fresh(model: FittedModel | RegressionModel, alpha: float) -> Monitor:
    """Return a monitor of the certificate of a model."""
    from treebound.model import RegressionModel

    if not isinstance(model, RegressionModel) and model.abstention is not None:
        return model.abstention.monitor(alpha)
    if model.certificate is None:
        reason = parts_of(model.certificate_reason)
        raise WordedError("The model has no certificate to watch. ", *reason)
    return model.certificate.monitor(alpha)


def _no_alarm(watched: Monitor) -> str:
    from treebound._utils.quantities import quantity
    from treebound.certificate.certificate import bound_percent

    first = watched.streams[0]
    rows = "rows" if watched.abstains is None else "predicted rows"
    wrong = "is misclassified" if first.events == 1 else "are misclassified"
    if watched.tolerance is not None:
        most = quantity(watched.tolerance, upwards=True)
        verb = "is" if first.events == 1 else "are"
        wrong = f"{verb} predicted with an error of more than {most}"
    return (
        f"No alarm: {first.events:,} of {first.seen:,} {rows} {wrong}; certified: at "
        f"most {bound_percent(first.bound)}."
    )


def _notes(
    watched: Monitor, model: FittedModel | RegressionModel, labels: NDArray[Any]
) -> Iterator[str]:
    """Yield the notes on unknown labels, on dependent rows, and on labels that are no class."""
    from treebound.data.raw import some_names
    from treebound.model import RegressionModel

    if watched.unlabelled:
        rows = "1 row" if watched.unlabelled == 1 else f"{watched.unlabelled:,} rows"
        yield (
            f"Skipped so far: {rows} without a label. Assumption: whether a label is known does "
            "not depend on whether the prediction is right."
        )
    if model.provenance.groups:
        yield (
            "The model was fitted with groups, whose rows are not independent. Hint: watch one row "
            "of each group, as false alarms are bounded for independent rows."
        )
    if isinstance(model, RegressionModel):
        return
    classes = {None, *model.classes.tolist()}
    unknown = [label for label in dict.fromkeys(labels.tolist()) if label not in classes]
    if unknown:
        yield f"Counted as errors: labels that are no class of the model, {some_names(unknown)}."


def _continued(state: Path | None, fresh: Monitor) -> Monitor:
    """Return the monitor of a state file; a new one if there is none."""
    from treebound.certificate.monitor import Monitor

    if state is None or not state.exists():
        return fresh
    try:
        stored = Monitor.from_json(state.read_bytes())
    except ValueError as error:
        raise ValueError(f"{state}: {error}") from None
    settings, stored_settings = (
        [(stream.name, stream.bound, stream.alpha) for stream in each.streams]
        for each in (fresh, stored)
    )
    if settings != stored_settings:
        raise ValueError(
            f"{state} watches other bounds or another alpha than this model and command. Hint: "
            "name another file to begin a new state."
        )
    return stored


def _watch(
    watched: Monitor,
    model: FittedModel | RegressionModel,
    table: Table,
    labels: NDArray[Any],
    *,
    parts: int,
) -> list[list[float]]:
    """Add the rows in parts; return rows so far and log evidence of each stream after each."""
    import numpy as np

    rows = np.arange(table.shape[0])
    part_of = rows * parts // len(rows)
    evidence = []
    for part in np.unique(part_of):
        keep = part_of == part
        watched.update_rows(model, table.rows(keep), labels[keep])
        seen = float(rows[keep][-1] + 1)
        evidence.append([seen, *(stream.log_wealth for stream in watched.streams)])
    return evidence


def _draw(evidence: list[list[float]], watched: Monitor, path: Path) -> None:
    """Plot the log evidence of the six streams with the most, and the level of an alarm."""
    from math import log

    from treebound._utils.extras import require

    pyplot = require("matplotlib.pyplot", extra="plot", why="Drawing a monitor")
    figure, ax = pyplot.subplots(layout="constrained")
    rows, *lines = zip(*evidence, strict=True)
    named = zip(lines, watched.streams, strict=True)
    for line, stream in sorted(named, key=lambda pair: -max(pair[0]))[:6]:
        ax.plot(rows, line, label=stream.name)
    ax.axhline(-log(watched.streams[0].alpha), color="crimson", ls="--", label="alarm")
    ax.set(xlabel="rows of this table", ylabel="log evidence against the bound")
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    figure.savefig(path)
    pyplot.close(figure)
