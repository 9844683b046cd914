"""Tables that are larger than memory: ``treebound fit`` reads them batch by batch."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from treebound.cli.messages import print_message

if TYPE_CHECKING:
    from treebound.cli.options import TableOptions
    from treebound.model import Model
    from treebound.parameters import FitParameters

# A table in memory takes a few times the size of its file.
_TIMES_IN_MEMORY = 6


def must_stream(paths: Sequence[Path], asked: bool) -> bool:
    """Whether files are read batch by batch: if asked for, or too large for the free memory."""
    from treebound.data.formats import files_of, size_in_memory

    limit, named = _free_memory() / _TIMES_IN_MEMORY, [path for path in paths if str(path) != "-"]
    return asked or (bool(named) and size_in_memory(files_of(named), limit) >= limit)


def _free_memory() -> float:
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):  # not known on this system
        return float("inf")


def fit_files(
    parameters: FitParameters,
    paths: Sequence[Path],
    target: str | None,
    options: TableOptions,
    tell: Callable[[str], None],
    checkpoint: Path | None = None,
) -> Model:
    """Fit a tree to files that are read batch by batch; ``tell`` gets a line of progress."""
    from treebound.classifier.not_in_memory import fit_stream
    from treebound.classifier.progress import ProgressLines, Watch
    from treebound.cli.options import no_target
    from treebound.data.files import Source

    schema = options.checked_schema(target)
    source = Source([str(path) for path in paths], schema)
    if schema.target is None:
        raise no_target(source.columns)
    fragments = source.reader.fragments
    lines = ProgressLines(tell, fragments.n_rows() if fragments else None)
    watch = Watch(lines.tell, checkpoint)
    return fit_stream(parameters, source, schema.target, watch=watch)


@contextmanager
def warnings_as_lines(quiet: bool) -> Iterator[None]:
    """Warnings of the block as one plain line each, or not at all."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for warning in () if quiet else caught:
        print_message(f"Warning: {warning.message}")
