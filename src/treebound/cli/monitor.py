"""``treebound monitor``: whether a model keeps its promise after deployment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from treebound.cli.app import app
from treebound.cli.messages import print_result
from treebound.cli.options import Data, FileOptions, Model, Target
from treebound.cli.overwrite import check_output

if TYPE_CHECKING:
    from treebound.certificate.monitor import Monitor

__all__ = ["monitor"]

_EXAMPLES = """\
Examples:

    treebound monitor model.json monday.csv --state state.json
    treebound monitor model.json tuesday.csv --state state.json || mail -s "model" me\
"""
ALARM = 3


@app.command(help_epilogue=_EXAMPLES)
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
    """Watch labelled rows, in the order they came, against the certificate of a model.

    The exit code is 3 if there is an alarm, now or before.

    Parameters
    ----------
    state
        A JSON file that keeps what was seen, to go on with later rows.
    alpha
        Probability that there is ever a false alarm.
    plot
        Where to draw the evidence (PNG, SVG or PDF).
    """
    from treebound._files import write_text
    from treebound.cli.models import labelled_rows, loaded_model, percent
    from treebound.data.targets import read_classes

    reads = [model, data, options.schema]
    check_output(state, None, reads=reads)
    check_output(plot, "png", reads=reads, force=True)
    loaded = loaded_model(model, data)
    if loaded.certificate is None:
        raise ValueError(f"The model has no certificate to watch. {loaded.certificate_reason}")
    watched = _continued(state, loaded.certificate.monitor(alpha))
    rows = labelled_rows(loaded, data, options, target)
    true = loaded.classes[read_classes(rows.labels(), loaded.classes)]
    evidence = _watch(watched, true, loaded.predict(rows.table()), plot is not None)
    if state is not None:
        write_text(state, watched.to_json() + "\n")
    if plot is not None:
        _draw(evidence, watched, plot)
    first = watched.streams[0]
    if not watched.alarms:
        print_result(
            f"No alarm: {first.events:,} of {first.seen:,} rows are misclassified; certified: at "
            f"most {percent(first.limit)}."
        )
    for alarm in watched.alarms:
        print_result(str(alarm))
    return ALARM if watched.alarms else 0


def _continued(state: Path | None, fresh: Monitor) -> Monitor:
    """The monitor of a state file; a new one if there is none."""
    from treebound.certificate.monitor import Monitor

    if state is None or not state.exists():
        return fresh
    try:
        found = Monitor.from_json(state.read_bytes())
    except ValueError as error:
        raise ValueError(f"{state}: {error}") from None
    own = [(stream.name, stream.limit, stream.alpha) for stream in fresh.streams]
    if [(stream.name, stream.limit, stream.alpha) for stream in found.streams] != own:
        raise ValueError(
            f"{state} watches other limits or another alpha than this model and command. Hint: "
            "name another file to begin anew."
        )
    return found


def _watch(watched: Monitor, true: Any, answers: Any, in_parts: bool) -> list[float]:
    """Add the rows, in up to 200 parts to draw; the log evidence after each of them."""
    import numpy as np

    parts = np.array_split(np.arange(len(true)), min(len(true), 200) if in_parts else 1)
    evidence = []
    for part in parts:
        watched.update(true[part], answers[part])
        evidence.append(watched.streams[0].log_wealth)
    return evidence


def _draw(evidence: list[float], watched: Monitor, path: Path) -> None:
    """The log evidence against the certified error, and where the alarm is."""
    from math import log

    from treebound._extras import require

    pyplot = require("matplotlib.pyplot", extra="plot", why="Drawing a monitor")
    figure, ax = pyplot.subplots()
    ax.plot(evidence, label=watched.streams[0].name)
    ax.axhline(-log(watched.streams[0].alpha), color="crimson", ls="--", label="alarm")
    ax.set(xlabel="parts of the rows", ylabel="log evidence against the limit")
    ax.legend(frameon=False)
    figure.savefig(path)
    pyplot.close(figure)
