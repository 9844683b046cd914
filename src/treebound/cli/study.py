"""``treebound study``: ``run`` and ``report``; the data sets are in ``cli/data.py``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from treebound.cli import data as _data  # noqa: F401  # registers 'treebound study data'
from treebound.cli.app import command, console, study_app
from treebound.cli.options import Force, Output, Switch
from treebound.cli.output import check_output, write_result

if TYPE_CHECKING:
    from treebound.study.datasets import Schema

Words = Annotated[list[str] | None, Parameter(consume_multiple=True, negative=())]
Format = Literal["terminal", "markdown", "latex", "csv", "html"]


@Parameter(name="*")
@dataclass(frozen=True)
class RunOptions:
    """The models and data sets of a run, and where it runs.

    Parameters
    ----------
    protocol
        "standard": best-gain growth, our pruner next to the usual methods; "paper": the six
        models of the paper as the paper runs them.
    data
        Folder with the raw files of the data sets (else TREEBOUND_DATA, the cache, the network).
    sets
        Data sets: names of the registry, sklearn:NAME, or files as FILE.csv:TARGET (a FILE.toml
        next to it describes the columns). By default the paper's 25.
    models
        Models of the protocol; by default all.
    draws
        Splits of every data set; by default 25.
    jobs
        Worker processes; -1 for one on each core.
    backend
        Place of the work: processes on this machine, or a Dask cluster.
    scheduler
        Address of a Dask scheduler; without one, a local cluster is started.
    timeout
        Seconds after which a model is stopped; its result is then an error.
    store
        The file of results.
    retry
        Run models again that failed before.
    """

    protocol: Literal["standard", "paper"] = "standard"
    data: Path | None = None
    sets: Words = None
    models: Words = None
    draws: int | None = None
    jobs: int = 1
    backend: Literal["local", "dask"] = "local"
    scheduler: str | None = None
    timeout: float = 3600.0
    store: Path = Path("results.sqlite")
    retry: Switch = False


@command(
    "treebound study run --sets sklearn:iris data.csv:label --draws 5 --store mine.sqlite",
    "treebound study run --protocol paper --data raw --jobs 2",
    of=study_app,
    name="run",
)
def run_study(
    *,
    options: RunOptions = RunOptions(),  # frozen
    yes: Annotated[bool, Parameter(name=["--yes", "-y"], negative=())] = False,
) -> None:
    """Run the study of pruners, or go on with one that was stopped.

    Results go to a SQLite file, one transaction each: stop it at any moment and run the same
    command again.

    Parameters
    ----------
    yes
        Accept inferred types without a question.
    """
    from treebound.study import run
    from treebound.study.display import StudyDisplay

    store = options.store
    with _stopped_by_hand(store), StudyDisplay(console) as display:
        inferred = partial(_confirm_types, yes)
        added = run(**vars(options), observer=display, inferred=inferred)
    console.print(f"{added:,} results added to {store}. Next: treebound study report {store}")


@contextmanager
def _stopped_by_hand(store: Path) -> Iterator[None]:
    """Print how to go on if Ctrl-C or SIGTERM stops a run."""
    try:
        yield
    except KeyboardInterrupt as stop:
        state = (
            f"All results so far are in {store}, and 'treebound study report {store}' shows them."
            if store.exists()
            else "There is no result yet."
        )
        stop.args = (f"stopped. {state} Hint: run the same command again to go on.",)
        raise


def _confirm_types(yes: bool, path: Path, schema: Schema) -> None:
    """Show the types that were inferred for a file; on a terminal, wait for a confirmation."""
    console.print(
        f"Types inferred from {path} (declare others in {path.with_suffix('.toml')}):\n{schema}",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
    if yes or not (console.is_terminal and sys.stdin.isatty()):
        return
    if console.input("Is this right? [Y/n] ").strip().lower() not in ("", "y", "yes"):
        raise ValueError("Nothing was run. Hint: declare the columns in a schema file.")


@command(
    "treebound study report mine.sqlite",
    "treebound study report mine.sqlite --as html -o study.html",
    of=study_app,
)
def report(
    store: Path,
    *,
    form: Annotated[Format, Parameter(name=["--as"])] = "terminal",
    table: Words = None,
    protocol: str | None = None,
    output: Output = None,
    force: Force = False,
) -> None:
    """Show the results of a study.

    Parameters
    ----------
    store
        The file of results that 'treebound study run' wrote.
    form
        How: tables for the terminal, Markdown, a LaTeX document, CSV, or one HTML file.
    table
        Which tables: accuracy, cost, differences, wins, ranks, datasets. By default all
        of them, for CSV accuracy alone.
    protocol
        Which study, where the store holds several.
    output
        File to write; by default the standard output (HTML: report.html).
    """
    from treebound.study.page import page
    from treebound.study.results import Results
    from treebound.study.sheets import as_csv, as_latex, as_markdown, as_text, print_sheet
    from treebound.study.summaries import TABLES, sheets_of

    if form == "html":
        output = output or Path("report.html")
    check_output(output, form, reads=[store], force=force)
    results = Results.read(store, protocol)
    if form == "html":
        write_result(page(results), output)
        if str(output) != "-":
            console.print(f"The report is {output}.", soft_wrap=True)
        return
    sheets = sheets_of(results, table or (("accuracy",) if form == "csv" else TABLES))
    if form == "terminal" and output is None and console.is_terminal:
        for sheet in sheets:
            print_sheet(sheet, console)
        return
    if form == "terminal":
        write_result("".join(map(as_text, sheets)), output)
    elif form == "latex":
        write_result(as_latex(sheets), output)
    else:
        each = as_markdown if form == "markdown" else as_csv
        write_result("\n".join(map(each, sheets)), output)
