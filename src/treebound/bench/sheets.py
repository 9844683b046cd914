"""Tables, and their output for the terminal and as Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

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


def rich_table(sheet: Sheet, columns: Sequence[int] | None = None) -> RichTable:
    """The table for a terminal, with all columns or the first and some others."""
    shown = list(range(1, len(sheet.header))) if columns is None else list(columns)
    table = RichTable(box=SIMPLE_HEAD, pad_edge=False)
    for at in [0, *shown]:
        width = _width(sheet, at)
        table.add_column(
            sheet.header[at], justify="right" if at else "left", width=width, overflow="ellipsis"
        )
    for rows, last in ((sheet.rows, bool(sheet.footer)), (sheet.footer, False)):
        for place, row in enumerate(rows):
            cells = [row[at] for at in [0, *shown]]
            texts = [Text(cell.text, style="bold green" if cell.bold else "") for cell in cells]
            table.add_row(*texts, end_section=last and place == len(rows) - 1)
    return table


def print_sheet(sheet: Sheet, console: Console) -> None:
    """Print the table and its notes; a table that is too wide is split."""
    console.print(Text(sheet.title, style="bold"))
    for columns in _pieces(sheet, console.width):
        console.print(rich_table(sheet, columns))
    for note in sheet.notes:
        console.print(note, style="dim", markup=False, highlight=False)


def _width(sheet: Sheet, at: int) -> int:
    """Width of a column: its longest cell, or the longest word of its name."""
    cells = [len(row[at].text) for row in [*sheet.rows, *sheet.footer]]
    words = [len(word) for word in sheet.header[at].split()]
    needed = max([1, *cells, *words])
    return needed if at else min(needed, 34)


def _pieces(sheet: Sheet, width: int) -> list[list[int]]:
    """Split the columns into pieces that fit the width, with at least one column each.

    As few pieces as possible, of about equal size.
    """
    room = width - _width(sheet, 0) - 2
    needed = {at: _width(sheet, at) + 3 for at in range(1, len(sheet.header))}

    def filled(most: int) -> list[list[int]]:
        pieces: list[list[int]] = [[]]
        for at, own in needed.items():
            last = pieces[-1]
            if last and (len(last) == most or sum(needed[k] for k in last) + own > room):
                pieces.append([])
            pieces[-1].append(at)
        return pieces

    fewest = len(filled(len(needed)))
    sizes = range(1, len(needed) + 1)
    return next((each for most in sizes if len(each := filled(most)) == fewest), [[]])


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
    tables = "\n\n".join(_latex_table(sheet) for sheet in sheets)
    return (
        "\\documentclass{article}\n"
        "\\usepackage[T1]{fontenc}\n\\usepackage[utf8]{inputenc}\n"
        "\\usepackage{booktabs}\n\\usepackage{graphicx}\n"
        "\\usepackage[margin=2cm]{geometry}\n"
        "\\setcounter{totalnumber}{8}\n\\renewcommand{\\topfraction}{0.95}\n"
        "\\begin{document}\n\n"
        f"{tables}\n\n\\end{{document}}\n"
    )


def _latex_table(sheet: Sheet) -> str:
    def line(cells: Sequence[str]) -> str:
        return "    " + " & ".join(cells) + r" \\"

    def marked(cell: Cell) -> str:
        return rf"\textbf{{{escaped(cell.text)}}}" if cell.bold else escaped(cell.text)

    body = [line([escaped(name) for name in sheet.header]), "    \\midrule"]
    body += [line([marked(cell) for cell in row]) for row in sheet.rows]
    if sheet.footer:
        body.append("    \\midrule")
        body += [line([marked(cell) for cell in row]) for row in sheet.footer]
    caption = escaped(" ".join([f"{sheet.title}.", *sheet.notes]))
    columns = "l" + "r" * (len(sheet.header) - 1)
    return "\n".join(
        [
            "\\begin{table}[htbp]",
            "  \\centering\\small",
            f"  \\caption{{{caption}}}",
            "  \\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%",
            f"  \\begin{{tabular}}{{{columns}}}",
            "    \\toprule",
            *body,
            "    \\bottomrule",
            "  \\end{tabular}}",
            "\\end{table}",
        ]
    )
