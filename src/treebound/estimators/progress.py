"""Progress of a fit, reported after every batch and pass, and its checkpoint."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple

from treebound._utils.progress import Progress, ProgressLines, Report, fold_report
from treebound.growing.checkpoint import check_checkpoint


class Watch(NamedTuple):
    """The function that gets the progress of a fit, and the file of the unfinished tree."""

    progress: Report | None = None
    checkpoint: str | os.PathLike[str] | None = None

    @classmethod
    def of(
        cls,
        verbose: int,
        callback: Report | None,
        checkpoint: str | os.PathLike[str] | None,
    ) -> Watch:
        """Read the arguments of ``fit``; raise an error for a checkpoint that cannot be written."""
        check_checkpoint(checkpoint)
        lines = ProgressLines(print).show if verbose else None
        if lines is None or callback is None:
            return cls(lines or callback, checkpoint)

        def both(event: Progress) -> None:
            lines(event)
            callback(event)

        return cls(both, checkpoint)

    def of_fold(self, fold: int, folds: int) -> Watch:
        """Return the watch of the tree without one of several folds, with another file."""
        progress, checkpoint = self
        if folds == 1:
            return self
        if checkpoint is not None:
            checkpoint = f"{os.fspath(checkpoint)}.fold{fold}"
        return Watch(fold_report(progress, fold, folds), checkpoint)

    def report_search(self) -> Callable[[int], None] | None:
        """Report the runs of a search over trees."""
        progress = self.progress
        if progress is None:
            return None
        return lambda runs: progress(Progress("searching", runs))


# Nothing is reported.
UNWATCHED = Watch()
