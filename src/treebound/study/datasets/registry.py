"""The registry of the paper's 25 data sets: one TOML file each, in the folder ``uci``.

A file has the source of the data (``[source]``), the layout of the text (``[read]``), the columns
(``[columns]``, as in any schema file) and the paper's statements (``[paper]``: its counts, and
under ``[paper.columns]`` the columns it types differently). The paper's authors took as categories
the texts found, in text order; so does ``typing="paper"``.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any, Literal, get_args

from treebound._utils.validation import OneOf, check, invalid
from treebound.data.schema import Schema, schema_of

Typing = Literal["paper", "declared"]
UCI = "https://archive.ics.uci.edu/"


@dataclass(frozen=True)
class Counts:
    """The counts of a data set in the paper's caption, and the rows of each class."""

    examples: int
    real: int
    ordinal: int
    nominal: int
    classes: tuple[int, ...]


@dataclass(frozen=True)
class Shipped:
    """A copy in scikit-learn that equals UCI's file: its loader, its classes by code."""

    loader: str
    classes: tuple[Any, ...]


@dataclass(frozen=True)
class DatasetInfo:
    """Description of a data set, available before loading."""

    name: str  # for :func:`load`
    title: str  # that of the paper
    citation: str
    page: str  # that describes it
    path: str  # of the file at UCI
    file: str  # its name, in a folder named after the data set
    member: str | None  # of UCI's archive, if the file is in one
    sha256: str
    size: int  # in bytes
    recorded: bool  # whether the checksum is known to be that of UCI's own file
    sheet: str | None  # of an Excel workbook
    rows: int | None  # how many to read, if something follows them
    shipped: Shipped | None  # the copy in scikit-learn
    counts: Counts  # those of the paper
    declared: Schema  # the columns as the file describes them
    paper: Schema  # as the paper types them
    notes: str

    @property
    def url(self) -> str:
        """URL of the file (or of its archive) at UCI."""
        return UCI + self.path

    @property
    def archive(self) -> str | None:
        """Name of the archive that holds the file, if any."""
        return None if self.member is None else self.path.rsplit("/", 1)[-1]

    def schema(self, typing: Typing = "paper") -> Schema:
        """The columns, typed as in the paper or in the description of the file."""
        check("load", {"typing": typing}, {"typing": OneOf(get_args(Typing))})
        return self.paper if typing == "paper" else self.declared

    def __str__(self) -> str:
        counts = self.counts
        features = counts.real + counts.ordinal + counts.nominal
        lines = [
            f"{self.title} ({self.name})",
            f"  {counts.examples} examples, {features} features ({counts.real} real, "
            f"{counts.ordinal} ordinal, {counts.nominal} nominal), {len(counts.classes)} classes",
            f"  file    {self.name}/{self.file}, {self.size} bytes",
            f"  sha256  {self.sha256}"
            + ("" if self.recorded else " (of a mirror; UCI's was never recorded)"),
            f"  from    {self.url}" + (f" (member {self.member})" if self.member else ""),
            f"  page    {self.page}",
            f"  cite    {self.citation}",
        ]
        if self.notes:
            lines.append(f"  notes   {self.notes}")
        return "\n".join(lines)


def names() -> list[str]:
    """Names of the paper's 25 data sets.

    Returns
    -------
    list of str
        In alphabetical order.

    Examples
    --------
    >>> from treebound.study import datasets
    >>> len(datasets.list()), datasets.list()[:2]
    (25, ['acute_inflammation', 'amphibians'])
    """
    folder = files("treebound.study.datasets") / "uci"
    return sorted(f.name[: -len(".toml")] for f in folder.iterdir() if f.name.endswith(".toml"))


def info(name: str) -> DatasetInfo:
    """Description of a data set: source, checksum, columns, citation.

    Parameters
    ----------
    name : str
        One of :func:`list`.

    Raises
    ------
    ValueError
        If there is no data set of that name.

    Examples
    --------
    >>> from treebound.study import datasets
    >>> datasets.info("iris").counts
    Counts(examples=150, real=4, ordinal=0, nominal=0, classes=(50, 50, 50))
    """
    if name not in names():
        hint = f"one of {', '.join(names())}."
        raise invalid("name", "", "a data set of the registry", name, hint)
    return _read(name)


@cache
def _read(name: str) -> DatasetInfo:
    text = (files("treebound.study.datasets") / "uci" / f"{name}.toml").read_text(encoding="utf-8")
    document = tomllib.loads(text)
    source, paper, shipped = document["source"], document["paper"], document.get("sklearn")
    keys = ("page", "path", "file", "member", "sha256", "recorded", "sheet", "rows")
    counts = {key: paper[key] for key in ("examples", "real", "ordinal", "nominal")}
    return DatasetInfo(
        name=name,
        title=document["title"],
        citation=document["citation"],
        size=source["bytes"],
        **{key: source.get(key) for key in keys},
        shipped=shipped and Shipped(shipped["loader"], tuple(shipped["classes"])),
        counts=Counts(**counts, classes=tuple(paper["class_counts"])),
        declared=_schema(document, {}),
        paper=_in_text_order(_schema(document, paper.get("columns", {}))),
        notes=document.get("notes", ""),
    )


def _schema(document: dict[str, Any], changes: dict[str, Any]) -> Schema:
    """The columns of a data set, some of them changed."""
    description: dict[str, Any] = {"missing": [], "undeclared": "ignore"}
    description |= {key: document[key] for key in ("target", "read", "missing") if key in document}
    return schema_of({**description, "columns": {**document["columns"], **changes}})


def _in_text_order(schema: Schema) -> Schema:
    """Nominal categories in the order of their texts, as the paper's authors found them."""
    columns = (
        replace(c, categories=tuple(sorted(c.categories or (), key=str)))
        if c.kind == "nominal"
        else c
        for c in schema.columns
    )
    return replace(schema, columns=tuple(columns))
