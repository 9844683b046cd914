"""Tables, and their output for the terminal and as Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from treebound.show.as_latex import escaped


@dataclass(frozen=True)
class Cell:
    """A cell: ``text`` to show, and ``value`` for CSV."""

    text: str
    value: Any = None
    bold: bool = False

    @property
    def raw(self) -> Any:
        """The value, or the text if there is none."""
        return self.text if self.value is None else self.value


@dataclass(frozen=True)
class Sheet:
    """A table: the first column names the rows, the others are numbers."""

    key: str
    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    footer: Sequence[Sequence[Cell]] = ()
    notes: Sequence[str] = field(default_factory=tuple)


def print_sheet(sheet: Sheet, console: Console) -> None:
    """Print the table and its notes; a table that is too wide is split."""
    console.print(Text(sheet.title, style="bold"))
    for columns in _pieces(sheet, console.width):
        console.print(_piece(sheet, [0, *columns]))
    for note in sheet.notes:
        console.print(note, style="dim", markup=False, highlight=False)


def _piece(sheet: Sheet, columns: Sequence[int]) -> RichTable:
    """Some columns of the table for a terminal."""
    table = RichTable(box=SIMPLE_HEAD, pad_edge=False)
    for at in columns:
        justify: Literal["left", "right"] = "right" if at else "left"
        width = _width(sheet, at)
        table.add_column(sheet.header[at], justify=justify, width=width, overflow="ellipsis")
    for rows in (sheet.rows, sheet.footer):
        for row in rows:
            cells = [row[at] for at in columns]
            table.add_row(*(Text(c.text, style="bold green" if c.bold else "") for c in cells))
        table.add_section()
    return table


def _width(sheet: Sheet, at: int) -> int:
    """Width of a column: its longest cell, or the longest word of its name."""
    cells = [len(row[at].text) for row in [*sheet.rows, *sheet.footer]]
    words = [len(word) for word in sheet.header[at].split()]
    needed = max([1, *cells, *words])
    return needed if at else min(needed, 34)


def _pieces(sheet: Sheet, width: int) -> list[list[int]]:
    """The columns after the first, in pieces that fit the width, with at least one column each."""
    room = width - _width(sheet, 0) - 2
    pieces: list[list[int]] = [[]]
    left = room
    for at in range(1, len(sheet.header)):
        needed = _width(sheet, at) + 3
        if pieces[-1] and needed > left:
            pieces.append([])
            left = room
        pieces[-1].append(at)
        left -= needed
    return pieces


def as_text(sheet: Sheet) -> str:
    """The table as it is printed on a terminal that is as wide as any table."""
    stream = io.StringIO()
    print_sheet(sheet, Console(file=stream, width=220))
    return stream.getvalue()


def as_markdown(sheet: Sheet) -> str:
    """The table as GitHub Markdown."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    def marked(cell: Cell) -> str:
        return f"**{cell.text}**" if cell.bold else cell.text.replace("*", "\\*")

    lines = [f"### {sheet.title}", "", line(sheet.header)]
    lines.append("|:---|" + "---:|" * (len(sheet.header) - 1))
    lines += [line([marked(cell) for cell in row]) for row in [*sheet.rows, *sheet.footer]]
    lines += [""] + [f"{note}\n" for note in sheet.notes]
    return "\n".join(lines)


def as_csv(sheet: Sheet) -> str:
    """The table as CSV, with unrounded values."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(sheet.header)
    writer.writerows([cell.raw for cell in row] for row in [*sheet.rows, *sheet.footer])
    return stream.getvalue()


def as_latex(sheets: Sequence[Sheet]) -> str:
    """The tables as a LaTeX document."""
    return "\n\n".join([_LATEX, *map(_latex_table, sheets), "\\end{document}\n"])


# More tables on a page than by default, or LaTeX has too many to place.
_LATEX = r"""\documentclass{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage{booktabs}
\usepackage{graphicx}
\usepackage[margin=2cm]{geometry}
\setcounter{totalnumber}{8}
\renewcommand{\topfraction}{0.95}
\begin{document}"""


def _latex_table(sheet: Sheet) -> str:
    """One table, as wide as a page at most."""

    def row(cells: Sequence[Cell]) -> str:
        texts = [rf"\textbf{{{escaped(c.text)}}}" if c.bold else escaped(c.text) for c in cells]
        return "    " + " & ".join(texts) + r" \\"

    caption = escaped(" ".join([f"{sheet.title}.", *sheet.notes]))
    lines = [
        r"\begin{table}[htbp]",
        r"  \centering\small",
        rf"  \caption{{{caption}}}",
        r"  \resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"  \begin{{tabular}}{{l{'r' * (len(sheet.header) - 1)}}}",
        r"    \toprule",
        row([Cell(name) for name in sheet.header]),
        r"    \midrule",
        *map(row, sheet.rows),
        *([r"    \midrule", *map(row, sheet.footer)] if sheet.footer else []),
        r"    \bottomrule",
        r"  \end{tabular}}",
        r"\end{table}",
    ]
    return "\n".join(lines)
