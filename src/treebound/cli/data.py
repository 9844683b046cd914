"""``treebound study data``: the paper's data sets, where they are and whether they are right."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter
from rich.table import Table

from treebound.cli.app import console, examples, fail, study_app
from treebound.cli.output import print_result
from treebound.study import datasets
from treebound.study.datasets import DatasetError, DatasetInfo, sources

data_app = App(
    name="data",
    help="The 25 data sets of the paper: list, info, fetch, check.",
    help_epilogue=examples(
        "treebound study data list",
        "treebound study data info wine",
        "treebound study data fetch wine zoo --data folder",
        "treebound study data check",
    ),
)
study_app.command(data_app)

Data = Annotated[Path | None, Parameter(help="Folder with the files, NAME/FILE.")]
Accept = Annotated[
    bool,
    Parameter(
        negative="",
        help="Take a file with another checksum where none of UCI's own file was ever recorded.",
    ),
]


@data_app.command(name="list")
def list_(*, data: Data = None) -> None:
    """List the data sets, their counts in the paper, and where they are found (if they are)."""
    table = Table(box=None, pad_edge=False, collapse_padding=True, header_style="bold")
    table.add_column("name", no_wrap=True)
    for heading in ("rows", "real", "ord.", "nom.", "classes"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("found in", no_wrap=True)
    for name in datasets.list():
        entry = datasets.info(name)
        counts = entry.counts
        numbers = (counts.examples, counts.real, counts.ordinal, counts.nominal)
        table.add_row(name, *map(str, numbers), str(len(counts.classes)), _found_in(entry, data))
    console.print(table)


@data_app.command
def info(name: str) -> None:
    """Describe one data set: source, checksum, columns, citation.

    Parameters
    ----------
    name
        The data set.
    """
    entry = datasets.info(name)
    print_result(str(entry))
    print_result("")
    print_result(str(entry.paper))
    if entry.declared != entry.paper:
        changed = [row for row in entry.declared.rows() if row not in entry.paper.rows()]
        print_result('\nOtherwise with typing="declared":')
        for column, kind, categories in changed:
            print_result(f"  {column}  {kind}  {categories}".rstrip())


@data_app.command
def fetch(*names: str, data: Data = None, accept: Accept = False) -> int:
    """Download data sets that are not there yet, and check them.

    Parameters
    ----------
    names
        The data sets; none means all.
    data
        Folder to keep them in; by default the cache.
    """
    return _each(names, lambda name: str(datasets.fetch(name, data=data, accept=accept)))


@data_app.command
def check(*names: str, data: Data = None, accept: Accept = False) -> int:
    """Load what is there without the network, and compare it with checksums and counts.

    Parameters
    ----------
    names
        The data sets; none means all.
    """

    def loaded(name: str) -> str:
        if not _found_in(datasets.info(name), data):
            return "not here"
        table = datasets.load(name, data=data, accept=accept)
        return f"ok, {table.n_examples} examples from {table.source}"

    return _each(names, loaded)


def _found_in(entry: DatasetInfo, data: Path | None) -> str:
    if entry.shipped is not None:
        return "scikit-learn"
    folder = sources.data_folder(data)
    if folder is not None and sources.find_file(entry, folder):
        return "folder"
    return "cache" if sources.find_file(entry, sources.cache_folder()) else ""


def _each(names: Sequence[str], call: Callable[[str], str]) -> int:
    """Print the result of a call for each data set; warnings and errors as one line each."""
    failed = 0
    for name in names or datasets.list():
        datasets.info(name)  # or it is no data set
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                print_result(f"{name}  {call(name)}")
            except DatasetError as error:
                failed = fail(str(error))
        for warning in caught:
            fail(f"warning: {warning.message}")
    return failed
