"""``treebound monitor``: whether the certificate of a model still holds after deployment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from treebound.cli.app import command
from treebound.cli.options import Data, FileOptions, Model, Target
from treebound.cli.output import check_output, print_result

if TYPE_CHECKING:
    from treebound.certificate.monitor import Monitor
    from treebound.data.frames import Table
    from treebound.model.model import Model as FittedModel

ALARM = 3
_POINTS = 200  # of the plot


@command(
    "treebound monitor model.json monday.csv --state state.json",
    'treebound monitor model.json tuesday.csv --state state.json || mail -s "model" me',
    "treebound monitor model.json new.csv --no-labels --state leaves.json",
)
def monitor(
    model: Model,
    data: Data,
    /,
    *,
    labels: bool = True,
    state: Path | None = None,
    target: Target = None,
    alpha: float = 0.01,
    plot: Path | None = None,
    options: FileOptions = FileOptions(),  # noqa: B008  # frozen
) -> int:
    """Watch rows, in the order they came, against the certificate of a model.

    The exit code is 3 if there is an alarm, now or before.

    Parameters
    ----------
    labels
        Whether the rows have their labels. Without them the shares of rows in the leaves are
        watched.
    state
        A JSON file that keeps what was seen, to go on with later rows.
    alpha
        Probability that there is ever a false alarm.
    plot
        Where to draw the evidence (PNG, SVG or PDF).
    """
    from treebound._utils.files import write_text
    from treebound.cli.models import loaded_model

    reads = [model, data, options.schema]
    check_output(state, None, reads=reads)
    check_output(plot, "png", reads=reads, force=True)
    loaded = loaded_model(model, data)
    watched = _continued(state, _fresh(loaded, labels, alpha))
    rows = _rows(loaded, data, options, target, labels)
    evidence = _watch(watched, loaded, *rows, parts=1 if plot is None else _POINTS)
    if state is not None:
        write_text(state, watched.to_json() + "\n")
    if plot is not None:
        _draw(evidence, watched, plot)
    for alarm in watched.alarms:
        print_result(str(alarm))
    if not watched.alarms:
        print_result(_no_alarm(watched))
    return ALARM if watched.alarms else 0


def _fresh(model: FittedModel, labels: bool, alpha: float) -> Monitor:
    """Return a monitor of the bounds of a model."""
    if not labels:
        from treebound.model.guarantees import monitor_leaves

        return monitor_leaves(model, alpha)
    if model.abstention is not None:
        return model.abstention.monitor(alpha)
    if model.certificate is None:
        raise ValueError(f"The model has no certificate to watch. {model.certificate_reason}")
    return model.certificate.monitor(alpha)


def _no_alarm(watched: Monitor) -> str:
    from treebound.cli.models import percent

    first = watched.streams[0]
    if watched.leaves:
        return f"No alarm: {first.seen:,} rows reach the {len(watched.leaves):,} leaves as before."
    rows = "rows" if watched.abstains is None else "predicted rows"
    return (
        f"No alarm: {first.events:,} of {first.seen:,} {rows} are misclassified; certified: at "
        f"most {percent(first.limit)}."
    )


def _continued(state: Path | None, fresh: Monitor) -> Monitor:
    """The monitor of a state file; a new one if there is none."""
    from treebound.certificate.monitor import Monitor

    if state is None or not state.exists():
        return fresh
    try:
        kept = Monitor.from_json(state.read_bytes())
    except ValueError as error:
        raise ValueError(f"{state}: {error}") from None
    own, others = (
        [(stream.name, stream.limit, stream.alpha) for stream in each.streams]
        for each in (fresh, kept)
    )
    if own != others:
        raise ValueError(
            f"{state} watches other limits or another alpha than this model and command. Hint: "
            "name another file to begin anew."
        )
    return kept


def _rows(
    model: FittedModel, data: Path, options: FileOptions, target: str | None, labels: bool
) -> tuple[Table, Any]:
    """The rows, and their labels as the classes of the model."""
    from treebound.cli.models import labelled_rows, schema_of
    from treebound.data.files import read_raw
    from treebound.data.targets import read_classes

    if labels:
        table, known = labelled_rows(model, data, options, target)
        return table, model.classes[read_classes(known, model.classes)]
    return read_raw(str(data), schema_of(model, options), unknown="keep").with_rows().table(), None


def _watch(
    watched: Monitor, model: FittedModel, table: Table, labels: Any, *, parts: int
) -> list[list[float]]:
    """Add the rows in parts; after each, the rows so far and the log evidence of each stream."""
    import numpy as np

    rows = np.arange(table.shape[0])
    part_of = rows * parts // len(rows)
    evidence = []
    for part in np.unique(part_of):
        keep = part_of == part
        watched.update_rows(model, table.rows(keep), None if labels is None else labels[keep])
        seen = float(rows[keep][-1] + 1)
        evidence.append([seen, *(stream.log_wealth for stream in watched.streams)])
    return evidence


def _draw(evidence: list[list[float]], watched: Monitor, path: Path) -> None:
    """The log evidence against the limits, of the six with the most, and where it is an alarm."""
    from math import log

    from treebound._utils.extras import require

    pyplot = require("matplotlib.pyplot", extra="plot", why="Drawing a monitor")
    figure, ax = pyplot.subplots(layout="constrained")
    rows, *lines = zip(*evidence, strict=True)
    named = zip(lines, watched.streams, strict=True)
    for line, stream in sorted(named, key=lambda pair: -max(pair[0]))[:6]:
        ax.plot(rows, line, label=stream.name)
    ax.axhline(-log(watched.streams[0].alpha), color="crimson", ls="--", label="alarm")
    ax.set(xlabel="rows of this table", ylabel="log evidence against the limit")
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    figure.savefig(path)
    pyplot.close(figure)
