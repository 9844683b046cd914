"""The standard protocol on data sets of scikit-learn, for ``make demo``."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from treebound.bench.display import display_for
from treebound.bench.page import write_page
from treebound.bench.results import Results
from treebound.bench.runner import run
from treebound.bench.samples import BUNDLED
from treebound.bench.sheets import print_sheet
from treebound.bench.summaries import accuracy_table, cost_table

__all__ = ["demo"]


def demo(
    folder: str | Path = "demo", *, jobs: int = 2, draws: int = 25, console: Console | None = None
) -> Path:
    """Run the study on three small data sets, print its tables and write its page."""
    console = console or Console()
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    store = folder / "results.sqlite"
    with display_for(console) as display:
        run(sets=BUNDLED, store=store, jobs=jobs, draws=draws, observer=display)
    results = Results.read(store, "standard")
    for sheet in (accuracy_table(results), cost_table(results)):
        print_sheet(sheet, console)
    return write_page(results, folder / "index.html")
